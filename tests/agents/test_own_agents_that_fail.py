"""Agents in Python that go wrong in a run: each hurts its own trial only, and says how."""

import asyncio
import sys
from pathlib import Path

import pytest

from passhat.agents.agent import AgentKind, AnyAction, Brief
from passhat.domains.domain import load_domain
from passhat.envs.episode import Episode
from passhat.errors import Fault
from passhat.harness.play import MOST_CHARACTERS, play
from passhat.transcript import Message, Observation, Stop

from .outside import run_trials

TASK = "moved-within-new-york"

FAILING = f"""
import os, sys, threading, time

made = []

def crash(observation): raise ValueError("oh no\\nnot again")
def leave(observation): sys.exit(3)
def nothing(observation): return None
def number(observation): return 5
def bytes_(observation): return b"hello"
def calls(observation): return {{"type": "tool_calls", "calls": [{{"name": 5}}]}}
def later(observation): time.sleep(1.5); return "too late"
def huge(observation): return "x" * {2 * MOST_CHARACTERS}
def lone(observation): return "\\ud800"
def deep(observation): return deep(observation)
def fine(observation): return {{"type": "stop", "reason": "enough"}}

WAYS = [crash, leave, nothing, number, bytes_, calls, later, huge, lone, deep, fine]

def make(brief):
    if not made:
        made.append("the one that is made to see whether one can be")
        return fine
    made.append(brief)
    return WAYS[len(made) - 2]
"""
MESSAGES = (
    "ValueError: oh no not again (failing_agent.py:6 in crash)",
    "SystemExit: 3",
    "not an action",
    "not an action",
    "not an action",
    "not an action: tool_calls.calls.0.name",
    "no answer within 1 s",
    "a move of 2,000,",
    "",
    "RecursionError",
)


def test_every_way_to_fail_hurts_one_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crashes, exits, nonsense, answers that are too late or too long; the last one is fine."""
    (tmp_path / "failing_agent.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    ran = run_trials(
        tmp_path, "python:failing_agent:make", (TASK,), trials=len(MESSAGES) + 1, turn_timeout=1
    )
    sys.modules.pop("failing_agent")
    *failed, last = ran
    for one, message in zip(failed, MESSAGES, strict=True):
        assert one.fault is Fault.AGENT
        assert one.ending.startswith("agent crashed: ")
        assert message in one.ending
        assert "\n" not in one.ending
        assert len(one.ending) < 700
    assert last.ending == "agent stop: enough"


@pytest.mark.parametrize("failing", [False, True], ids=["a stop", "a crash"])
def test_an_agent_is_told_when_its_conversation_is_over(failing: bool) -> None:
    """However it ended, and even if what it does then goes wrong."""
    closed: list[str | None] = []

    class Holding:
        """Holds something open."""

        async def act(self, observation: Observation) -> AnyAction:
            """Speak once."""
            if failing:
                raise ValueError
            return Message(content="Goodbye.") if not observation.results else Stop()

        async def close(self, last: Observation) -> None:
            """Remember the last words, and fail."""
            closed.append(last.user_message)
            raise OSError("it is closed already")

    desk = load_domain("retail")
    brief = Brief(desk.name, desk.policy, (), desk.world.now.isoformat())
    with Episode.start(desk, desk.task(TASK), max_turns=2) as episode:
        asyncio.run(play(episode, AgentKind("holding", lambda brief: Holding()), brief))
        assert episode.needs is None
    assert len(closed) == 1
    assert isinstance(closed[0], str)
