"""Faults on purpose: which requests go wrong and how, the same ones in every run with one seed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from ...errors import UsageError
from .prompts import hashed


class _Kind(NamedTuple):
    meaning: str
    seconds: float


KINDS = {
    "rate-limit": _Kind("429, try again after SECONDS", 0.05),
    "overloaded": _Kind("529", 0.0),
    "error": _Kind("500", 0.0),
    "cut": _Kind("the connection is closed before, or in the midst of, the answer", 0.0),
    "empty": _Kind("an answer without content", 0.0),
    "slow": _Kind("the answer begins SECONDS later", 2.0),
    "expired": _Kind("an entry of a batch is not processed in time", 0.0),
}
"""Every fault by name, what it does, and its seconds unless others are given."""


@dataclass(frozen=True)
class FaultRate:
    """How often a fault happens.

    Attributes:
        kind: One of `KINDS`.
        rate: Chance at each request, 0 to 1.
        seconds: What belongs to the kind.
    """

    kind: str
    rate: float
    seconds: float


def parse_fault(text: str) -> FaultRate:
    """A fault as the command line names it.

    Raises:
        UsageError: No such fault, or no such rate.

    >>> parse_fault("slow=0.2:30")
    FaultRate(kind='slow', rate=0.2, seconds=30.0)
    """
    kind, equals, numbers = text.partition("=")
    if kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=1) or list(KINDS)
        raise UsageError(f"no fault {kind!r}; did you mean {' or '.join(map(repr, near))}?")
    rate, colon, seconds = numbers.partition(":")
    try:
        found = FaultRate(kind, float(rate), float(seconds) if colon else KINDS[kind].seconds)
    except ValueError:
        found = FaultRate(kind, -1.0, 0.0)
    if not (equals and 0 <= found.rate <= 1 and found.seconds >= 0):
        raise UsageError(
            f"fault {text!r} must be KIND=RATE or KIND=RATE:SECONDS, with a rate from 0 to 1, "
            "e.g. overloaded=0.2"
        )
    return found


class FaultPlan:
    """Says what happens to a request, by its content and how often it was asked.

    Args:
        seed: Other seeds hit other requests.
        remembered: Of how many requests it is known how often they were asked.
    """

    def __init__(self, seed: int, remembered: int = 200_000) -> None:
        self._seed = str(seed)
        self._remembered = remembered
        self._asked: OrderedDict[bytes, int] = OrderedDict()

    def strike(self, faults: Sequence[FaultRate], key: bytes) -> list[FaultRate]:
        """The faults that hit this request now: one at most that spoils it, and ``slow``.

        Args:
            faults: Those that may happen.
            key: Hash of the request.
        """
        if not faults:
            return []
        asked = self._asked.pop(key, 0)
        self._asked[key] = asked + 1
        if len(self._asked) > self._remembered:
            self._asked.popitem(last=False)
        hit = [fault for fault in faults if self.draw(fault.kind, key, asked) < fault.rate]
        spoiling = [fault for fault in hit if fault.kind != "slow"]
        return spoiling[:1] + [fault for fault in hit if fault.kind == "slow"]

    def draw(self, what: str, key: bytes, asked: int = 0) -> float:
        """A number from 0 to 1, below 1, that is the same whenever this is asked."""
        drawn = hashed(self._seed, what, key, str(asked))
        return int.from_bytes(drawn[:6], "big") / 2**48
