"""Limiter: how many requests may be under way at a provider, found out from its answers.

It begins with a few and doubles them in each round of replies, until the provider says that it is
too much. From then on it cuts by a quarter at each such answer, and adds a few in each round in
which there was none (additive increase, multiplicative decrease, as in TCP).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

FIRST_LIMIT = 50
CEILING = 1000
INCREASE_PER_ROUND = 4.0
CUT = 0.75
LONGEST_PAUSE = 60.0
"""Seconds that all wait at most when one request is told to; it may have to wait for longer."""


@dataclass(frozen=True)
class Slot:
    """Leave to have one request under way.

    Attributes:
        cuts: How often the limit had been cut when the leave was given.
    """

    cuts: int


class Limiter:
    """Leave for requests, in the order in which it was asked for. Belongs to one event loop.

    Args:
        ceiling: Never more requests under way than this.
        first: How many at the beginning.
    """

    def __init__(self, ceiling: int = CEILING, first: int = FIRST_LIMIT) -> None:
        self.ceiling = ceiling
        self.under_way = 0
        self._limit = float(first)
        self._starting = True
        self._cuts = 0
        self._paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """How many requests may be under way now; 1 or more."""
        return max(1, min(int(self._limit), self.ceiling))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for leave, and give it back at the end."""
        await self._enter()
        try:
            yield Slot(self._cuts)
        finally:
            self.under_way -= 1
            self._let_in()

    def went_well(self) -> None:
        """A request was answered."""
        # An unused limit says nothing about what the provider can take.
        if 2 * self.under_way >= self._limit and self._limit < self.ceiling:
            self._limit += 1.0 if self._starting else INCREASE_PER_ROUND / self._limit
            self._let_in()

    def was_too_much(self, slot: Slot, pause: float = 0.0) -> None:
        """The provider refused a request because there were too many.

        Args:
            slot: Of that request. Requests that were under way together count once.
            pause: Seconds for which no further request is let in.
        """
        if slot.cuts == self._cuts:
            self._limit = max(1.0, min(self._limit, self.ceiling) * CUT)
            self._starting = False
            self._cuts += 1
        if pause > 0:
            loop = asyncio.get_running_loop()
            until = loop.time() + min(pause, LONGEST_PAUSE)
            if until > self._paused_until:
                self._paused_until = until
                loop.call_at(until, self._let_in)

    async def _enter(self) -> None:
        if not self._waiting and self._open():
            self.under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in and given up at the same moment
                self.under_way -= 1
            self._let_in()
            raise

    def _open(self) -> bool:
        if self.under_way >= self.limit:
            return False
        return not self._paused_until or asyncio.get_running_loop().time() >= self._paused_until

    def _let_in(self) -> None:
        while self._waiting and (self._waiting[0].done() or self._open()):
            turn = self._waiting.popleft()
            if not turn.done():
                self.under_way += 1
                turn.set_result(None)


def affordable(ceiling: int) -> int:
    """So many requests, or fewer if the system allows this process fewer connections.

    Each has a file of its own; the databases of the trials and other models need some too.
    """
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return ceiling
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ceiling if files == resource.RLIM_INFINITY else max(1, min(ceiling, files // 3))


_LIMITERS: WeakKeyDictionary[Any, dict[str, Limiter]] = WeakKeyDictionary()


def limiter_of(name: str, ceiling: int = CEILING) -> Limiter:
    """The limiter that everybody in the running event loop shares.

    Args:
        name: Of what has limits of its own: a provider's address and a model.
        ceiling: The lowest one ever asked for holds.
    """
    limiters = _LIMITERS.setdefault(asyncio.get_running_loop(), {})
    limiter = limiters.setdefault(name, Limiter(ceiling))
    limiter.ceiling = min(limiter.ceiling, ceiling)
    return limiter
