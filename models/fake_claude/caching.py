"""The prompt cache: which beginnings of requests are kept, how long, and what a request reads."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from .prompts import Prompt

LOOKBACK = 20
"""How many blocks before a mark are searched for something kept."""


class CacheUse(NamedTuple):
    """Input tokens by what the cache did with them.

    Attributes:
        afresh: Neither read nor written.
        read: Taken from the cache.
        written_5m: Put into it for five minutes.
        written_1h: Put into it for an hour.
    """

    afresh: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0


class PromptCache:
    """Keeps the beginnings of requests that are marked.

    Args:
        clock: Gives seconds.
        entries: How many are kept at most; the one not used for longest goes first.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, entries: int = 200_000) -> None:
        self._clock = clock
        self._entries = entries
        self._kept: OrderedDict[bytes, tuple[float, float, int]] = OrderedDict()

    def use(self, prompt: Prompt, floor: int, ready_after: float = 0.0) -> CacheUse:
        """Read what is kept of a request, and keep what it marks.

        Args:
            prompt: The request.
            floor: Shorter beginnings are not kept, in tokens.
            ready_after: Seconds until others can read what is written now.
        """
        now = self._clock()
        read_to = max((self._found(prompt, place, now) for place, _ in prompt.marks), default=0)
        at, written = read_to, {300: 0, 3600: 0}
        for place, ttl in prompt.marks:
            tokens = prompt.tokens_before(place + 1)
            if place + 1 > at and tokens >= floor:
                written[ttl] += tokens - prompt.tokens_before(at)
                at = place + 1
                self._keep(prompt.hash_at(place), now + ready_after, now, ttl)
        read = prompt.tokens_before(read_to)
        afresh = prompt.tokens - prompt.tokens_before(at)
        return CacheUse(afresh, read, written[300], written[3600])

    def _found(self, prompt: Prompt, mark: int, now: float) -> int:
        """How many blocks up to a mark are kept; uses what it finds, which keeps it longer."""
        for place in range(mark, max(-1, mark - LOOKBACK), -1):
            entry = self._kept.get(prompt.hash_at(place))
            if entry is not None and entry[0] <= now < entry[1]:
                self._keep(prompt.hash_at(place), entry[0], now, entry[2])
                return place + 1
        return 0

    def _keep(self, key: bytes, ready: float, now: float, ttl: int) -> None:
        self._kept[key] = (ready, now + ttl, ttl)
        self._kept.move_to_end(key)
        if len(self._kept) > self._entries:
            self._kept.popitem(last=False)
