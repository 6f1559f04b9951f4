"""Plays one episode to its end, whatever the agent does."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from ..agents.agent import Agent, AgentError, AgentKind, Brief, ClosingAgent
from ..envs.episode import Need
from ..errors import Fault, FaultError, RunStoppedError, UsageError
from ..transcript import Message, Observation, Stop, ToolCalls, parse_action

Move = Message | ToolCalls | Stop
T = TypeVar("T")

MOST_CHARACTERS: Final = 1_000_000
"""Of one move, as JSON: some 250,000 tokens, more than any model writes at once."""


class Playable(Protocol):
    """What an agent can be driven through: an episode, or what looks like one to its agent."""

    @property
    def needs(self) -> Need | None:
        """Whose turn it is; None when there is nothing more to play."""
        ...

    @property
    def observation(self) -> Observation:
        """What happened since the agent's last move."""
        ...

    def act(self, action: object) -> None:
        """Take the agent's move."""
        ...

    def begin_user_turn(self) -> Awaitable[None] | None:
        """Let the customer speak; what is returned must be awaited."""
        ...

    def agent_crashed(self, detail: str) -> None:
        """The agent failed to make a move."""
        ...

    def lose(self, fault: Fault, detail: str) -> None:
        """It cannot be scored, and it is not the agent's doing."""
        ...


class _FailedError(Exception):
    """The agent failed, in the words that the transcript will hold."""


async def play(
    episode: Playable, kind: AgentKind, brief: Brief, turn_timeout: float | None = None
) -> None:
    """Drive an episode to its end. Close the episode yourself: graders still need its rows.

    Args:
        episode: Just started.
        kind: Makes the agent, so that one that cannot be made is a crash too. An agent that is
            ``blocking`` lives in a thread of its own; the others act right here.
        brief: What the agent is told.
        turn_timeout: Seconds a blocking or asynchronous agent may take for one move; None: for
            ever. A thread that hangs is left behind, and does not keep the process from ending. An
            agent that asks a model through passhat is not timed: the model has limits of its own.

    Whatever the agent raises, or answers that is no action, ends the episode as the agent's crash;
    faults (`FaultError`) as what they say. Only cancellation, KeyboardInterrupt and
    `RunStoppedError` escape.
    """
    with ExitStack() as stack:
        call: _Caller = _call_here
        if kind.blocking:
            thread = _AgentThread()
            stack.callback(thread.close)
            call = thread.call
        player = _Player(kind, brief, call, turn_timeout if kind.use is None else None)
        try:
            while episode.needs is not None:
                if episode.needs == "user":
                    await _user_turn(episode)
                elif (move := await player.move(episode)) is not None:
                    _guarded(episode, Fault.TOOL, partial(episode.act, move))
        finally:
            await player.close(episode.observation)


async def _user_turn(episode: Playable) -> None:
    later = _guarded(episode, Fault.SIMULATOR, episode.begin_user_turn)
    if later is not None:
        await later


def _guarded(episode: Playable, fault: Fault, step: Callable[[], T]) -> T | None:
    """What escapes from our side of the desk loses the trial; the agent is not to blame."""
    try:
        return step()
    except RunStoppedError:
        raise
    except FaultError as error:
        episode.lose(error.fault, str(error))
    except Exception as error:
        episode.lose(fault, _described(error))
    return None


class _Player:
    """The agent's side: asks for moves, and turns what goes wrong into endings."""

    def __init__(
        self, kind: AgentKind, brief: Brief, call: _Caller, turn_timeout: float | None
    ) -> None:
        self._kind = kind
        self._brief = brief
        self._agent: Agent | None = None
        self._call = call
        self._timeout = turn_timeout

    async def move(self, episode: Playable) -> Move | None:
        """The agent's next move; None if it ended the episode by failing to make one."""
        started = time.perf_counter()
        try:
            answer = await self._answer(episode.observation)
            move = parse_action(answer)
            written = move.model_dump_json()  # what no transcript can hold is no action either
            if len(written) > MOST_CHARACTERS:
                raise _FailedError(
                    f"a move of {len(written):,} characters; at most {MOST_CHARACTERS:,} are taken"
                )
        except RunStoppedError:
            raise
        except FaultError as error:
            episode.lose(error.fault, str(error))
        except (_FailedError, AgentError, UsageError) as error:
            episode.agent_crashed(str(error))
        except (Exception, SystemExit) as error:
            episode.agent_crashed(_described(error))
        except asyncio.CancelledError as error:
            if _we_are_cancelled():
                raise
            episode.agent_crashed(_described(error))
        else:
            # Only agents that wait are timed: a scripted trial repeats to the byte.
            if self._kind.blocking and move.seconds is None:
                seconds = round(time.perf_counter() - started, 6)
                return move.model_copy(update={"seconds": seconds})
            return move
        return None

    async def close(self, last: Observation) -> None:
        """Let the agent put down what it holds; what goes wrong then changes no result."""
        if isinstance(self._agent, ClosingAgent):
            with suppress(Exception):
                await self._agent.close(last)

    async def _answer(self, observation: Observation) -> object:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        answer = self._call(partial(self._act, observation))
        while inspect.isawaitable(answer):
            answer = await self._in_time(answer, deadline)
        return answer

    def _act(self, observation: Observation) -> object:
        if self._agent is None:
            self._agent = self._kind.make(self._brief)
        return self._agent.act(observation)

    async def _in_time(self, answer: Awaitable[object], deadline: float | None) -> object:
        future = asyncio.ensure_future(answer)
        future.add_done_callback(_drop)  # we may be cancelled before we can look at it
        try:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            # Not wait_for: it would wait for an agent that does not let itself be cancelled.
            await asyncio.wait({future}, timeout=left)
        finally:
            future.cancel()
        if not future.done() or (future.cancelled() and _too_late(deadline)):
            raise _FailedError(f"no answer within {self._timeout:g} s")
        return future.result()


def _drop(future: asyncio.Future[object]) -> None:
    """Look at the error that nobody waits for any more, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()


def _too_late(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _we_are_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _described(error: BaseException) -> str:
    """What was raised, and the line that raised it: file name only, no folders of this machine."""
    said = " ".join(str(error).encode("utf-8", "replace").decode().split())
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return what
    file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
    return f"{what} ({file}:{frames[-1].lineno} in {frames[-1].name})"


# --- where the agent runs -----------------------------------------------------------------------

_Caller = Callable[[Callable[[], object]], object]


def _call_here(function: Callable[[], object]) -> object:
    return function()


class _AgentThread:
    """One thread for all moves of one agent, which may hold what must not change threads.

    A daemon, unlike the threads of an executor: an agent that hangs for ever must not keep the
    process from ending.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[asyncio.Future[Any], Callable[[], object]] | None]
        self._jobs = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="passhat agent", daemon=True).start()

    def call(self, function: Callable[[], object]) -> asyncio.Future[object]:
        future: asyncio.Future[object] = self._loop.create_future()
        self._jobs.put((future, function))
        return future

    def close(self) -> None:
        self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            future, function = job
            try:
                result, error = function(), None
            except BaseException as raised:
                result, error = None, _as_exception(raised)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_settle, future, result, error)


def _as_exception(raised: BaseException) -> Exception:
    """What a future can carry: StopIteration and exits would be taken for something else there."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return _FailedError(_described(raised))


def _settle(future: asyncio.Future[object], result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
