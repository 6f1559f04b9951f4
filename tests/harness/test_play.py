"""Playing one episode: whatever an agent does, the episode ends and says whose fault it was."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from kiosk import Clerk, make_kiosk

from passhat.agents.agent import Agent, AgentKind, Brief
from passhat.envs.episode import Episode
from passhat.errors import Fault, InfrastructureError
from passhat.harness.play import play
from passhat.transcript import EndReason, Message, Observation, Stop, Transcript

KIOSK = make_kiosk()
BRIEF = Brief(domain="kiosk", policy=KIOSK.policy, tools=(), now="2026-03-16T10:00:00")
Act = Callable[[Observation], Any]


class Acts:
    """An agent made of one function."""

    def __init__(self, act: Act) -> None:
        self.act = act


def played(
    make: Callable[[Brief], Any], *, blocking: bool = True, timeout: float | None = 5.0
) -> Transcript:
    """The transcript of one conversation at the kiosk."""
    kind = AgentKind("test", make, blocking=blocking)
    with Episode.start(KIOSK, KIOSK.tasks["zone-1"], max_turns=9) as episode:
        asyncio.run(play(episode, kind, BRIEF, timeout))
        return episode.transcript


def ending(make: Callable[[Brief], Any], **about: Any) -> tuple[EndReason, Fault | None, str]:
    """How that conversation ended."""
    event = played(make, **about).ending
    assert event is not None
    return event.reason, event.fault, event.detail


def acting(act: Act) -> Callable[[Brief], Agent]:
    """Makes agents that do just this."""
    return lambda brief: Acts(act)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_conversation_is_played_to_its_end(blocking: bool) -> None:
    """In a thread or not, the same things happen."""
    proposal = Message(content="I will change ticket T-1 to zone Z2. Do you confirm?")
    moves = iter([proposal, Stop(reason="shift over")])
    reason, fault, detail = ending(acting(lambda _: next(moves)), blocking=blocking)
    assert (reason, fault, detail) == (EndReason.AGENT_STOP, None, "shift over")


@pytest.mark.parametrize("blocking", [True, False])
def test_an_agent_may_be_asynchronous(blocking: bool) -> None:
    """A coroutine is awaited, wherever it was made."""

    async def act(observation: Observation) -> Stop:
        await asyncio.sleep(0)
        return Stop(reason="awaited")

    assert ending(acting(act), blocking=blocking)[2] == "awaited"


def test_an_agent_stays_in_one_thread() -> None:
    """It may hold what must not change threads, such as a database connection."""
    threads = []

    def act(observation: Observation) -> dict[str, str]:
        threads.append(threading.current_thread())
        return {"type": "message", "content": "Tell me more."}

    played(acting(act))
    assert len(threads) > 1
    assert len(set(threads)) == 1
    assert threads[0] is not threading.main_thread()


@pytest.mark.parametrize("blocking", [True, False])
def test_a_crash_is_told_with_its_line(blocking: bool) -> None:
    """The message and the place are kept; no folder of the machine is."""

    def act(observation: Observation) -> None:
        raise ValueError("no\nidea")

    reason, fault, detail = ending(acting(act), blocking=blocking)
    assert (reason, fault) == (EndReason.AGENT_CRASHED, Fault.AGENT)
    assert detail.startswith("ValueError: no idea (test_play.py:")
    assert detail.endswith(" in act)")


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(), asyncio.CancelledError()])
def test_an_agent_cannot_end_more_than_its_own_trial(error: BaseException, blocking: bool) -> None:
    """Exits and cancellations of the agent are crashes like any other."""

    def act(observation: Observation) -> None:
        raise error

    reason, fault, detail = ending(acting(act), blocking=blocking)
    assert (reason, fault) == (EndReason.AGENT_CRASHED, Fault.AGENT)
    assert type(error).__name__ in detail


def test_what_an_agent_shouts_does_not_spoil_the_transcript() -> None:
    """Half a surrogate pair in an error message is made fit to be kept."""

    def act(observation: Observation) -> None:
        raise OSError("no file \udcff")

    assert ending(acting(act))[2].startswith("OSError: no file ? (")


def test_an_agent_that_cannot_be_made_is_a_crash() -> None:
    """A constructor may fail like any move."""

    def make(brief: Brief) -> None:
        raise KeyError("API key")

    reason, _, detail = ending(make)
    assert reason is EndReason.AGENT_CRASHED
    assert "KeyError: 'API key'" in detail


@pytest.mark.parametrize(
    "answer",
    [
        None,
        42,
        "plain text",
        {"type": "massage", "content": "hi"},
        {"type": "tool_calls", "calls": []},
        {"type": "tool_calls", "calls": [{"name": "x", "arguments": {"a": object()}}]},
        {"type": "message", "content": "half a character: \ud83d"},
    ],
    ids=[
        "nothing",
        "a number",
        "text",
        "a typo",
        "no call",
        "an object inside",
        "half a character",
    ],
)
def test_what_is_no_action_is_a_crash(answer: object) -> None:
    """Nothing is guessed, and nothing gets in that no transcript can hold."""
    reason, fault, detail = ending(acting(lambda _: answer))
    assert (reason, fault) == (EndReason.AGENT_CRASHED, Fault.AGENT)
    assert detail


def test_an_agent_that_hangs_is_left_behind() -> None:
    """Its thread cannot be stopped; the episode goes on without it."""
    release = threading.Event()
    try:
        reason, _, detail = ending(acting(lambda _: release.wait()), timeout=0.05)
    finally:
        release.set()
    assert (reason, detail) == (EndReason.AGENT_CRASHED, "no answer within 0.05 s")


@pytest.mark.parametrize("blocking", [True, False])
def test_a_coroutine_that_hangs_is_cancelled(blocking: bool) -> None:
    """The limit holds for both kinds of waiting."""

    async def act(observation: Observation) -> None:
        await asyncio.sleep(60)

    detail = ending(acting(act), timeout=0.05, blocking=blocking)[2]
    assert detail == "no answer within 0.05 s"


def test_a_fault_of_the_provider_loses_the_trial() -> None:
    """What an agent cannot help is not its failure."""

    def act(observation: Observation) -> None:
        raise InfrastructureError("529, overloaded")

    assert ending(acting(act)) == (EndReason.LOST, Fault.INFRASTRUCTURE, "529, overloaded")


def test_only_agents_that_wait_are_timed() -> None:
    """A scripted trial repeats to the byte."""

    def seconds(blocking: bool) -> list[float | None]:
        make = acting(lambda _: Message(content="Tell me more."))
        return [e.seconds for e in played(make, blocking=blocking).messages() if e.by == "agent"]

    assert all(time is not None for time in seconds(blocking=True))
    assert set(seconds(blocking=False)) == {None}


def test_cancelling_the_play_is_not_the_agents_crash() -> None:
    """A second Ctrl-C abandons a trial; it does not fail it."""

    async def act(observation: Observation) -> None:
        await asyncio.sleep(60)

    async def cancelled(episode: Episode) -> None:
        task = asyncio.create_task(play(episode, AgentKind("t", acting(act)), BRIEF))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Episode.start(KIOSK, KIOSK.tasks["zone-1"]) as episode:
        asyncio.run(cancelled(episode))
        assert episode.transcript.ending is None


def test_a_crash_of_ours_loses_the_trial() -> None:
    """A bug on our side of the desk is never the agent's failure."""
    with Episode.start(KIOSK, KIOSK.tasks["zone-1"]) as episode:
        episode.db.close()  # as if the database were gone
        kind = AgentKind("t", lambda brief: Clerk(brief))  # type: ignore[arg-type, return-value]
        asyncio.run(play(episode, kind, BRIEF))
        end = episode.transcript.ending
    assert end is not None
    assert end.fault is Fault.TOOL
