"""Which agents there are, and how what the user writes after ``--agent`` names one."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

from ..errors import UsageError
from ..models.registry import known_models
from .agent import Agent, AgentKind, Brief


class AgentEntry(NamedTuple):
    """One kind of agent for a listing: how it is written, and what it is, in one line."""

    spec: str
    description: str


def agent_kind(spec: str) -> AgentKind:
    """The kind of agent that a text such as ``slippery:0.05`` names.

    Args:
        spec: A name of `known_agents`, with what belongs to it after a colon.

    Raises:
        UsageError: No such agent, or something is wrong with what follows its name.

    >>> agent_kind("slippery:0.05").synthetic
    True
    """
    head, colon, rest = spec.partition(":")
    name = head.partition(",")[0]
    if name not in _KINDS:
        near = get_close_matches(name.lower(), _KINDS, n=2, cutoff=0.5) or list(_KINDS)
        raise UsageError(f"no agent {spec!r}; did you mean {' or '.join(map(repr, near))}?")
    return _KINDS[name].parse(spec, rest if colon else None)


def known_agents() -> list[AgentEntry]:
    """Every kind of agent that `agent_kind` knows, in the order in which to show them."""
    return [AgentEntry(kind.spec, kind.description) for kind in _KINDS.values()]


# --- one function a kind: imports only what that kind needs ---------------------------------------


def _plain(
    make: Callable[[Brief], Agent],
    spec: str,
    rest: str | None,
    *,
    sees_task: bool = False,
    synthetic: bool = False,
) -> AgentKind:
    """A kind of agent that takes nothing after its name, options neither."""
    name = spec.partition(":")[0].partition(",")[0]
    if rest is not None or spec != name:
        raise UsageError(f"agent {spec!r}: {name!r} takes nothing after its name, and no options")
    return AgentKind(spec, make, sees_task=sees_task, synthetic=synthetic)


def _reference(spec: str, rest: str | None) -> AgentKind:
    from .reference import ReferenceAgent

    return _plain(ReferenceAgent, spec, rest, sees_task=True, synthetic=True)


def _rule_based(spec: str, rest: str | None) -> AgentKind:
    from .rule_based import rule_based_agent

    return _plain(rule_based_agent, spec, rest)


def _noop(spec: str, rest: str | None) -> AgentKind:
    from .noop import Noop

    return _plain(Noop, spec, rest)


def _chatty_noop(spec: str, rest: str | None) -> AgentKind:
    from .noop import ChattyNoop

    return _plain(ChattyNoop, spec, rest)


def _slippery(spec: str, rest: str | None) -> AgentKind:
    from .scripted import ScriptedAgent
    from .slippery import SlipperyAgent

    probability, _, base_spec = (rest or "").partition(":")
    p = _probability(probability, spec)
    base_spec = base_spec or "reference"
    if base_spec not in _SCRIPTED:
        raise UsageError(
            f"agent {spec!r}: {base_spec!r} cannot slip; {' and '.join(map(repr, _SCRIPTED))} can"
        )
    base = agent_kind(base_spec)

    def make(brief: Brief) -> Agent:
        scripted = base.make(brief)
        assert isinstance(scripted, ScriptedAgent)
        return SlipperyAgent(scripted, p, brief)

    return AgentKind(spec, make, sees_task=base.sees_task, synthetic=True)


def _probability(text: str, spec: str) -> float:
    try:
        p = float(text)
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise UsageError(
            f"agent {spec!r}: {text!r} must be the chance of a slip at each move, from 0 to 1,"
            " e.g. 'slippery:0.05'"
        )
    return p


def _python(spec: str, rest: str | None) -> AgentKind:
    from .python_agent import python_agent_kind

    return python_agent_kind(spec)


def _http(spec: str, rest: str | None) -> AgentKind:
    from .http_agent import http_agent_kind

    return http_agent_kind(spec)


def _mcp(spec: str, rest: str | None) -> AgentKind:
    from .mcp_agent import mcp_agent_kind

    return mcp_agent_kind(spec)


def _agent_sdk(spec: str, rest: str | None) -> AgentKind:
    from .agent_sdk import agent_sdk_kind

    return agent_sdk_kind(spec)


def _model(spec: str, rest: str | None) -> AgentKind:
    from .model_agent import model_agent_kind

    return model_agent_kind(spec)


def _text(spec: str, rest: str | None) -> AgentKind:
    from .text_agents import text_agent_kind

    return text_agent_kind(spec)


_SCRIPTED = ("reference", "rule-based")


class _Kind(NamedTuple):
    spec: str
    description: str
    parse: Callable[[str, str | None], AgentKind]


_KINDS = {
    "reference": _Kind(
        "reference", "sees the task and carries out its reference: must pass", _reference
    ),
    "rule-based": _Kind(
        "rule-based", "works from the conversation alone, by rules, without a model", _rule_based
    ),
    "noop": _Kind("noop", "ends the conversation at once: must fail", _noop),
    "chatty-noop": _Kind("chatty-noop", "talks kindly and does nothing: must fail", _chatty_noop),
    "slippery": _Kind(
        "slippery:P[:BASE]",
        "synthetic: a scripted agent that slips with chance P at each move (slippery:0.05)",
        _slippery,
    ),
    "python": _Kind(
        "python:MODULE:CALLABLE",
        "your own: the callable takes a Brief, returns an object with act(observation)",
        _python,
    ),
    "http": _Kind(
        "http:URL[,protocol=openai]",
        "your own, behind an address: one POST a move, also as chat completions",
        _http,
    ),
    "mcp": _Kind(
        "mcp:COMMAND", "your own program, run once a trial, which calls the tools over MCP", _mcp
    ),
    "agent-sdk": _Kind("agent-sdk[:MODEL]", "Claude Agent SDK, given the tools", _agent_sdk),
    "act": _Kind(
        "act:MODELSPEC", "a model without tool calls: answers with one action as JSON", _text
    ),
    "react": _Kind(
        "react:MODELSPEC", "a model without tool calls: writes a thought, then an action", _text
    ),
    "few-shot": _Kind(
        "few-shot:MODELSPEC[,examples=FILE]",
        "a model without tool calls: as act, after conversations shown as examples",
        _text,
    ),
    **{
        entry.spec.partition(":")[0]: _Kind(entry.spec, entry.description, _model)
        for entry in (AgentEntry(*model) for model in known_models())
    },
}
