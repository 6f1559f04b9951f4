"""Agents on the Claude Agent SDK: its program, against a server that speaks the Messages API."""

import asyncio
import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="pip install 'passhat[agent-sdk]'")

from passhat.agents.agent_sdk import SessionError, failure
from passhat.agents.registry import agent_kind
from passhat.errors import Fault, InfrastructureError, RunStoppedError, UsageError
from passhat.models.fake_claude import serving
from passhat.models.model import Reply, StopReason

from .outside import run_trials

TASK = "telescope-order-home-instead"
MODEL = "claude-haiku-5-5"
JsonDict = dict[str, Any]


# The SDK leaves the pipes of its program to the loop, which in a short test ends before it has
# closed them; the fixture below lets the garbage of each test be collected in that test.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the person who runs the tests is used, and nothing is left to later tests."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-nobody")
    yield
    gc.collect()


def calls(*named: tuple[str, JsonDict]) -> list[JsonDict]:
    """Parallel calls, as a model writes them."""
    return [
        {
            "type": "tool_use",
            "id": f"toolu_{number}_{name[:12]}",
            "name": f"mcp__desk__{name}",
            "input": arguments,
        }
        for number, (name, arguments) in enumerate(named)
    ]


def answered(body: JsonDict) -> int:
    """How many times the model has spoken in this conversation."""
    return sum(message["role"] == "assistant" for message in body["messages"])


@pytest.mark.slow
def test_an_episode_runs_through_the_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its calls are ours, parallel and malformed ones too; its words reach the customer."""

    def brain(body: JsonDict) -> Any:
        match answered(body):
            case 0:
                return "Good day! What is your e-mail address?"
            case 1:
                return calls(
                    ("find_user_id_by_email", {"email": "nobody@example.com"}),
                    ("find_user_id_by_email", {"email": 5}),
                )
            case 2:
                return "One moment."
            case _:
                return calls(("transfer_to_human_agents", {"summary": "Cannot find them."}))

    with serving(brain) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        (one,) = run_trials(tmp_path, f"agent-sdk:{MODEL}", (TASK,))
        bodies = [
            seen.body for seen in server.requests if seen.path == "/v1/messages" and seen.body
        ]
    events = [
        (event.kind, getattr(event, "name", None) or event.content)
        for event in one.transcript
        if event.kind == "tool_call" or (event.kind == "message" and event.by == "agent")
    ]
    assert events == [
        ("message", "Good day! What is your e-mail address?"),
        ("tool_call", "find_user_id_by_email"),
        ("tool_call", "find_user_id_by_email"),
        ("message", "One moment."),
        ("tool_call", "transfer_to_human_agents"),
    ]
    assert one.ending.startswith("handed over")
    results = [event.error for event in one.transcript if event.kind == "tool_result"]
    assert results == ["refused", "bad argument", None]
    usage = next(e.usage for e in one.transcript if e.kind == "message" and e.by == "agent")
    assert usage is not None
    assert usage.output_tokens
    assert usage.cost_dollars
    conversation = [body for body in bodies if body.get("tools")]
    assert {tool["name"].partition("__")[0] for tool in conversation[0]["tools"]} == {"mcp"}
    everything = json.dumps(conversation)
    assert "It is now 2026-03-16T10:00:00." in everything
    assert "Today's date" not in everything  # not the one of this machine
    assert str(tmp_path) not in everything
    assert capfd.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply((), StopReason.REFUSAL), "the model refused to answer"),
        (Reply((), StopReason.CONTEXT_FULL), "no longer fits into the model's context"),
        (" ", "the session ended its turn without a word"),
    ],
    ids=["refusal", "full", "silent"],
)
def test_what_the_model_does_not_do_is_the_agents_failure(
    reply: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is without the SDK."""
    with serving(lambda body: reply) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        (one,) = run_trials(tmp_path, f"agent-sdk:{MODEL}", (TASK,))
    assert one.fault is Fault.AGENT
    assert message in one.ending


@pytest.mark.slow
def test_a_provider_that_does_not_answer_loses_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK tries again by itself; what it was waiting for is told."""
    with serving(lambda body: "Hi", faults=["overloaded=1"]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        (one,) = run_trials(tmp_path, f"agent-sdk:{MODEL},timeout=8", (TASK,))
    assert (one.reward, one.fault) == (None, Fault.INFRASTRUCTURE)
    assert "the API did not answer: overloaded" in one.reason


@pytest.mark.slow
def test_an_unknown_model_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial would fail alike, so that none is played and all are owed."""
    with serving(lambda body: "Hi") as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert run_trials(tmp_path, "agent-sdk:no-such-model", (TASK,), trials=3) == []


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        (("authentication_failed", 401, None, "Invalid API key"), RunStoppedError),
        (("billing_error", None, None, "Credit balance is too low"), RunStoppedError),
        (("unknown", 404, None, "no such model"), RunStoppedError),
        (("rate_limit", 429, None, "slow down"), InfrastructureError),
        (("server_error", 529, None, "Overloaded"), InfrastructureError),
        (("max_output_tokens", None, None, "exceeded the output maximum"), InfrastructureError),
        (("invalid_request", 400, None, "messages: wrong"), InfrastructureError),
        (("invalid_request", 400, None, "Prompt is too long"), SessionError),
        (("invalid_request", None, "refusal", "can't help with this"), SessionError),
        ((None, None, None, "error_max_turns"), SessionError),
    ],
)
def test_whose_fault_a_failed_turn_is(about: tuple[Any, ...], kind: type[Exception]) -> None:
    """As for a model that is asked without the SDK."""
    assert type(failure(*about)) is kind


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("agent-sdk:", "lacks a model after the colon"),
        ("agent-sdk,effort=heroic", "effort must be one of low, medium, high, xhigh, max"),
        ("agent-sdk:x,max_tokens=5", "there is no option 'max_tokens'; there are: effort, timeout"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(spec: str, message: str) -> None:
    """Before the first trial."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", None)
    with pytest.raises(UsageError, match=r"needs a package: pip install 'passhat\[agent-sdk\]'"):
        agent_kind("agent-sdk")


def test_a_run_does_not_begin_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that Claude Code is signed in to is not used."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    check = agent_kind("agent-sdk").check
    assert check is not None
    with pytest.raises(RunStoppedError, match="agent-sdk needs a key in ANTHROPIC_API_KEY"):
        asyncio.run(check())
