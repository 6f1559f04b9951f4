"""Bridge: an agent that runs by itself, made into one that is asked for its next move.

An agent outside has a loop of its own: it calls a tool and waits for the result, it says something
and waits for the answer. The bridge keeps it waiting, gives what it wants as the agent's next move,
and brings back what came of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from ..errors import UsageError
from ..transcript import JsonDict, Message, Observation, Stop, ToolCall, ToolCalls, Usage

OVER: Final = "The conversation is over. Nothing more can be said or done; please end now."
"""What an agent reads that still wants something when its conversation has ended."""

Move = Message | ToolCalls | Stop


@dataclass(frozen=True)
class Answer:
    """What the agent outside is answered.

    Attributes:
        text: A tool's result, or the customer's words.
        is_error: Whether the tool refused.
        over: Whether the conversation has ended.
    """

    text: str
    is_error: bool = False
    over: bool = False


@dataclass
class _Wanted:
    """A call, or words to be said, and who waits for what comes of it."""

    what: Message | ToolCall
    answer: asyncio.Future[Answer] = field(default_factory=lambda: _future())

    def settle(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


def _future() -> asyncio.Future[Answer]:
    return asyncio.get_running_loop().create_future()


class Bridge:
    """Between an agent outside, which calls, and the harness, which asks.

    Everything happens in one event loop. The agent outside may want several things at the same
    time: calls that wait together are one move, in the order in which they came.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Wanted] = deque()
        self._asked: list[_Wanted] = []
        self._news = asyncio.Event()
        self._left: Stop | Exception | None = None
        self._over = False

    # --- the side of the agent outside -----------------------------------------------------------

    async def call(self, name: str, arguments: JsonDict) -> Answer:
        """Have a tool called; returns its result."""
        return await self._want(ToolCall(name=name, arguments=arguments))

    async def say(self, text: str, usage: Usage | None = None, provider: Any = None) -> Answer:
        """Say something to the customer; returns the answer."""
        return await self._want(Message(content=text, usage=usage, provider=provider))

    def leave(self, ending: Stop | Exception) -> None:
        """The agent makes no more moves: it stops, or it failed. The first ending holds."""
        self._left = self._left or ending
        self._news.set()

    async def _want(self, what: Message | ToolCall) -> Answer:
        if self._over:
            return Answer(OVER, is_error=True, over=True)
        wanted = _Wanted(what)
        self._waiting.append(wanted)
        self._news.set()
        return await wanted.answer

    # --- the side of the harness -----------------------------------------------------------------

    async def move(self, observation: Observation) -> Move:
        """Bring back what came of the last move, and wait for the next one.

        Raises:
            Exception: The agent left with it.
            UsageError: Somebody else's move was observed.
        """
        self._bring_back(observation)
        while (move := self._next()) is None:
            self._news.clear()
            await self._news.wait()
        return move

    def end(self, last: Observation) -> None:
        """The conversation is over: whoever waits is told so.

        Args:
            last: What happened since the last move.
        """
        self._over = True
        words = last.user_message
        for wanted in (*self._asked, *self._waiting):
            said = isinstance(wanted.what, Message) and words is not None
            wanted.settle(Answer(f"{words}\n\n({OVER})" if said else OVER, not said, over=True))
        self._asked.clear()
        self._waiting.clear()

    def _bring_back(self, observation: Observation) -> None:
        asked, self._asked = self._asked, []
        if not asked:
            return
        if isinstance(asked[0].what, Message):
            words = observation.user_message
            if words is None:
                raise UsageError(_NOT_LED)
            asked[0].settle(Answer(words))
            return
        if [w.what.name for w in asked if isinstance(w.what, ToolCall)] != [
            result.name for result in observation.results
        ]:
            raise UsageError(_NOT_LED)
        for wanted, result in zip(asked, observation.results, strict=True):
            wanted.settle(Answer(result.content, result.error is not None))

    def _next(self) -> Move | None:
        """What is wanted next; None while nothing is. Who no longer waits wants nothing."""
        self._waiting = deque(w for w in self._waiting if not w.answer.done())
        if not self._waiting:
            if isinstance(self._left, Exception):
                raise self._left
            return self._left
        self._asked = [self._waiting.popleft()]
        first = self._asked[0].what
        if isinstance(first, Message):
            return first
        while self._waiting and isinstance(self._waiting[0].what, ToolCall):
            self._asked.append(self._waiting.popleft())
        return ToolCalls(calls=tuple(w.what for w in self._asked if isinstance(w.what, ToolCall)))


_NOT_LED = (
    "an agent that runs by itself cannot be led along moves that somebody else made; replay takes"
    " agents that can be asked at any point"
)
