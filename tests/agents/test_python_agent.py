"""Agents of the user's own: a callable that is given the brief."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.errors import UsageError
from passhat.transcript import Message, MessageEvent, Observation, Stop, ToolCalls

HEARD = Observation(events=(MessageEvent(index=0, turn=0, by="user", content="Hello!"),))

MY_AGENT = """
from passhat.transcript import Stop

number = 3

def make(brief):
    def act(observation):
        if "lamp" in observation.text:
            return {"type": "tool_calls", "calls": [{"name": "list_all_product_types"}]}
        return f"{brief.domain}: {observation.text}"
    return act

class Polite:
    def __init__(self, brief):
        self.domain = brief.domain
    async def act(self, observation):
        return f"Dear customer of {self.domain}"

def gives(value):
    return lambda brief: lambda observation: value

stopping = gives(Stop(reason="enough"))
typeless = gives({"content": "Hi"})
silent = gives(None)
misspelt = gives({"type": "tool_call", "calls": []})

def not_a_factory(observation):
    return "Hello"

def takes_two(brief, other):
    return make(brief)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with agents in it, as the current one."""
    (tmp_path / "my_agent.py").write_text(MY_AGENT)
    (tmp_path / "broken_agent.py").write_text("raise ValueError('no key is\\nset')")
    (tmp_path / "leaving_agent.py").write_text("raise SystemExit(3)")
    (tmp_path / "needy_agent.py").write_text("import a_module_that_is_nowhere")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.endswith("_agent"):
            del sys.modules[name]


def act(name: str, brief: Callable[..., Brief], text: str = "Hello!") -> object:
    """What one agent of my_agent.py answers to one line."""
    heard = Observation(events=(MessageEvent(index=0, turn=0, by="user", content=text),))
    return agent_kind(f"python:my_agent:{name}").make(brief()).act(heard)


def test_a_function_that_returns_a_function_is_an_agent(brief: Callable[..., Brief]) -> None:
    """Its strings are said to the customer, its dicts are actions."""
    assert act("make", brief) == Message(content="retail: Hello!")
    answer = act("make", brief, "a lamp")
    assert isinstance(answer, ToolCalls)
    assert answer.calls[0].name == "list_all_product_types"


def test_a_class_with_act_is_an_agent_and_act_may_wait(brief: Callable[..., Brief]) -> None:
    """A coroutine function is awaited before its answer is read."""

    async def wait() -> object:
        return await act("Polite", brief)  # type: ignore[misc]

    assert asyncio.run(wait()) == Message(content="Dear customer of retail")


def test_an_action_object_is_passed_on(brief: Callable[..., Brief]) -> None:
    """Stop stays Stop."""
    assert act("stopping", brief) == Stop(reason="enough")


def test_agents_of_ones_own_may_block() -> None:
    """They get a thread, since nobody knows what they wait for; and never see the task."""
    kind = agent_kind("python:my_agent:make")
    assert (kind.blocking, kind.sees_task, kind.synthetic) == (True, False, False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("typeless", "Unable to extract tag using discriminator 'type'"),
        ("silent", "got None"),
        ("misspelt", "does not match any of the expected tags"),
    ],
)
def test_an_answer_that_is_no_action_is_told_what_is_wrong(
    name: str, message: str, brief: Callable[..., Brief]
) -> None:
    """The message names the fault and what an action looks like."""
    with pytest.raises(UsageError, match="an action is a dict with type") as raised:
        act(name, brief)
    assert message in str(raised.value)


def test_a_function_of_the_observation_given_as_factory_is_explained(
    brief: Callable[..., Brief],
) -> None:
    """The easiest mistake has an answer that says what to return."""
    with pytest.raises(
        UsageError, match=r"my_agent:not_a_factory returned 'Hello'.*takes the brief"
    ):
        agent_kind("python:my_agent:not_a_factory").make(brief())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("python:no_such_agent:make", "there is no module 'no_such_agent'"),
        ("python:my_agent.inner:make", "there is no module 'my_agent.inner'"),
        ("python:needy_agent:make", "No module named 'a_module_that_is_nowhere'"),
        ("python:broken_agent:make", "importing 'broken_agent' failed: ValueError: no key is set"),
        ("python:leaving_agent:make", "importing 'leaving_agent' failed: SystemExit: 3"),
        ("python:my_agent:mkae", "there is no 'mkae', but "),
        ("python:my_agent:number", "'number' is 3, which cannot be called"),
        ("python:my_agent:takes_two", "it must take 1 argument: the brief"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_line(spec: str, message: str) -> None:
    """Before the first trial, and without a traceback."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
