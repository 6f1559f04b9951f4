"""The bill: what a run spent on models, side by side, and what a trial and a success came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import Any

from ..models.account import Spending
from ..transcript import NO_USAGE, Usage
from .records import Run
from .store import Store, open_store


@dataclass(frozen=True)
class Bill:
    """What was spent on models.

    Attributes:
        sides: By side: ``agent``, ``user``, ``warm-up``.
        specs: Who is behind a side, to say whose price is not known.
        trials: Trials that were tried.
        passed: Those that passed.
    """

    sides: Mapping[str, Spending]
    specs: Mapping[str, str]
    trials: int = 0
    passed: int = 0

    def __bool__(self) -> bool:
        """Whether any model was asked."""
        return bool(self.sides)

    @property
    def total(self) -> Spending:
        """Of all sides."""
        return sum(self.sides.values(), Spending())

    @property
    def usage(self) -> Usage:
        """Of all sides."""
        return self.total.usage

    @property
    def cost(self) -> float | None:
        """In dollars; None if the price of a model is not known."""
        return self.usage.cost_dollars

    @property
    def cost_per_trial(self) -> float | None:
        """Dollars for each trial that was tried, lost attempts paid for too."""
        return self.cost / self.trials if self.cost is not None and self.trials else None

    @property
    def cost_per_success(self) -> float | None:
        """Dollars for each trial that passed, all others paid for too; None if none did."""
        return self.cost / self.passed if self.cost is not None and self.passed else None

    @property
    def unpriced(self) -> list[str]:
        """Who was asked though nobody knows the price."""
        names = (
            self.specs[side]
            for side, spent in self.sides.items()
            if side in self.specs and spent.usage.cost_dollars is None and spent.usage != NO_USAGE
        )
        return list(dict.fromkeys(names))

    def lines(self) -> list[str]:
        """For people: a line a side, and one that sums up; none if no model was asked."""
        if not self:
            return []
        return [*self.sides_lines(), self.summary]

    def sides_lines(self) -> list[str]:
        """A line a side: requests, tokens, dollars."""
        width = max(map(len, self.sides), default=0)
        return [f"{side:<{width}}  {tokens(spent)}" for side, spent in sorted(self.sides.items())]

    @property
    def summary(self) -> str:
        """What it cost, in one line."""
        if self.cost is None:
            names = ", ".join(self.unpriced)
            return f"cost unknown: {f'no price for {names}' if names else 'no model says'}"
        parts = [f"cost {dollars(self.cost)}"]
        if self.cost_per_trial is not None:
            parts.append(f"{dollars(self.cost_per_trial)} a trial")
        if self.cost_per_success is not None:
            parts.append(f"{dollars(self.cost_per_success)} a success")
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; what is unknown is null."""
        return {
            "sides": {side: _side_json(spent) for side, spent in self.sides.items()},
            "total": _side_json(self.total),
            "cost_per_trial": self.cost_per_trial,
            "cost_per_success": self.cost_per_success,
            "unpriced": self.unpriced,
        }


NOTHING = Bill({}, {})


def bill_of(store: Store, run: Run, task: str | None = None, number: int | None = None) -> Bill:
    """What a run, or one of its trials, has spent so far; every attempt counts."""
    sides = store.spending(run, task, number)
    specs = {"agent": run.agent, "user": run.user}
    if not sides or task is not None:
        return Bill(sides, specs)
    counts = store.counts(run)
    return Bill(sides, specs, run.planned - counts["owed"], counts["passed"])


def find_bill(name: str, store: str | Path | None = None) -> Bill:
    """The same of a source as `load_source` takes it; empty for a file."""
    if Path(name).exists():
        return NOTHING
    with open_store(store) as opened:
        return bill_of(opened, opened.find_run(name))


def tokens(spent: Spending) -> str:
    """Requests and tokens in words.

    >>> tokens(Spending(2, Usage(input_tokens=100, cache_read_tokens=900, output_tokens=50)))
    '2 requests, 1,000 tokens in (90% read from cache), 50 out'
    """
    usage, requests = spent.usage, "request" if spent.requests == 1 else "requests"
    share = usage.cache_share
    cached = "" if share is None else f" ({floor(100 * share)}% read from cache)"
    read = "unknown" if usage.all_input_tokens is None else f"{usage.all_input_tokens:,}"
    written = "unknown" if usage.output_tokens is None else f"{usage.output_tokens:,}"
    cost = "" if usage.cost_dollars is None else f", {dollars(usage.cost_dollars)}"
    return f"{spent.requests:,} {requests}, {read} tokens in{cached}, {written} out{cost}"


def dollars(amount: float) -> str:
    """Money with as many digits as it takes to see some.

    >>> dollars(12.3456), dollars(0.004321), dollars(0.0000412), dollars(0.0)
    ('$12.35', '$0.0043', '$0.000041', '$0.00')
    """
    digits = 2 if amount == 0 or amount >= 1 else max(4, 1 - floor(log10(amount)))
    return f"${amount:,.{digits}f}"


def _side_json(spent: Spending) -> dict[str, Any]:
    about = {"requests": spent.requests} | spent.usage.model_dump()
    return about | {
        "all_input_tokens": spent.usage.all_input_tokens,
        "cache_share": spent.usage.cache_share,
    }
