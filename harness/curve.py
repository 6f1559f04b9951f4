"""The curve: what a set of trials says about reliability, and how sure one can be of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..errors import UsageError
from ..results import Source, TrialResult
from .statistics import Floats, Ints, MeanCurve, mean_curve, pass_at_k, pass_hat_k, resample

__all__ = [
    "Curve",
    "Estimate",
    "TaskTally",
    "TrialResult",
    "count",
    "curve_of",
    "different_tasks",
]

MAX_LOST: Final = 0.1
"""Share of planned trials that may be lost before the headline is refused.

Lost trials are seldom a fair sample (long conversations meet more time-outs). With a share x
lost, the true pass^1 can differ from the one computed by up to x, so beyond a tenth the loss may
outweigh the usual interval.
"""

FEW_TASKS: Final = 10
"""Below this many tasks a bootstrap over tasks is known to be too narrow; the curve says so."""

CONTRADICTION: Final = "recorded more than once, with different grades"


def count(value: int, word: str) -> str:
    """A count with its noun.

    >>> count(1, "trial"), count(1200, "trial")
    ('1 trial', '1,200 trials')
    """
    return f"{value:,} {word}" if value == 1 else f"{value:,} {word}s"


@dataclass(frozen=True, slots=True)
class TaskTally:
    """One task's trials: ``scored`` of them were graded, ``passed`` of those passed."""

    task: str
    scored: int
    passed: int
    lost: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """One point of a curve.

    Attributes:
        value: The mean over tasks; None if no task has enough trials.
        low: Lower end of the interval; None if fewer than two tasks are behind the point.
        high: Upper end, likewise.
        tasks: How many tasks are behind it.
        method: How the interval was made; None if there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    tasks: int
    method: str | None

    def __str__(self) -> str:
        """The value and its interval as people read them, e.g. "0.420 [0.305, 0.535]"."""
        if self.value is None:
            return "-"
        if self.low is None or self.high is None:
            return f"{self.value:.3f} [no interval]"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Curve:
    """pass^k and pass@k of one source, with all that must be known to read them.

    Attributes:
        name: What the source is called.
        note: What must be said beside the numbers, e.g. "synthetic agent"; "" if nothing.
        per_task: One tally per task, in the order the tasks first appear.
        planned: Trials planned; always ``scored + lost``.
        scored: Trials graded, pass or fail.
        lost: Trials without a grade.
        lost_because: How many were lost for each reason.
        lost_by: How many were lost through whose fault; "unknown" if nobody can say.
        pass_hat: pass^k; element k - 1 belongs to k.
        pass_at: pass@k, likewise.
        confidence: Of all intervals, e.g. 0.95.
        seed: Of the bootstrap.
        warnings: Sentences a reader needs, most important first.
    """

    name: str
    note: str
    per_task: list[TaskTally]
    planned: int
    scored: int
    lost: int
    lost_because: dict[str, int]
    lost_by: dict[str, int]
    pass_hat: list[Estimate]
    pass_at: list[Estimate]
    confidence: float
    seed: int
    warnings: list[str]

    @property
    def never(self) -> list[str]:
        """Tasks that were tried and never passed."""
        return [t.task for t in self.per_task if t.scored and t.passed == 0]

    @property
    def always(self) -> list[str]:
        """Tasks that passed every time they were tried."""
        return [t.task for t in self.per_task if t.scored and t.passed == t.scored]

    @property
    def too_much_lost(self) -> bool:
        """Whether more than `MAX_LOST` of the planned trials have no grade."""
        return self.lost > MAX_LOST * self.planned

    @property
    def simulator_problems(self) -> dict[str, int]:
        """Of the trials lost through the simulated customer, how many by which kind of problem."""
        from ..simulator.contract import ProblemKind

        found: Counter[str] = Counter()
        for reason, trials in self.lost_because.items():
            if kind := ProblemKind.of(reason):
                found[kind.value] += trials
        return dict(found.most_common())

    @property
    def headline_k(self) -> int:
        """The largest k that at least nine in ten of the tried tasks have enough trials for."""
        behind = [point.tasks for point in self.pass_hat]
        return sum(tasks >= (1 - MAX_LOST) * behind[0] for tasks in behind) if behind else 0

    @property
    def headline(self) -> str | None:
        """The one line to quote; None if too much was lost, or nothing was scored."""
        if self.too_much_lost or not self.scored:
            return None
        ks = sorted({1, self.headline_k})
        points = ", ".join(f"pass^{k} {self.pass_hat[k - 1]}" for k in ks)
        return f"{points} over {count(self.pass_hat[0].tasks, 'task')}"

    def to_json(self) -> dict[str, Any]:
        """The curve as plain JSON values; undefined numbers are null, never NaN."""
        return {
            "source": self.name,
            "note": self.note,
            "headline": self.headline,
            "warnings": self.warnings,
            "tasks": len(self.per_task),
            "planned": self.planned,
            "scored": self.scored,
            "lost": self.lost,
            "lost_because": self.lost_because,
            "lost_by": self.lost_by,
            "simulator_problems": self.simulator_problems,
            "confidence": self.confidence,
            "seed": self.seed,
            "pass_hat": _points_json(self.pass_hat),
            "pass_at": _points_json(self.pass_at),
            "never": self.never,
            "always": self.always,
            "per_task": [
                {"task": t.task, "scored": t.scored, "passed": t.passed, "lost": t.lost}
                for t in self.per_task
            ],
        }


def curve_of(
    source: Source, *, max_k: int | None = None, confidence: float = 0.95, seed: int = 0
) -> Curve:
    """Compute the curve of a source.

    Args:
        source: The trials. If a task's trial number comes more than once, a grade replaces a
            loss, equal grades count once, and grades that contradict each other make the trial
            lost; the curve's warnings say so.
        max_k: The last k; by default the most trials that any task has scored.
        confidence: Of the intervals, above 0 and below 1.
        seed: Of the bootstrap; equal seeds give equal intervals.

    Raises:
        UsageError: ``max_k`` or ``confidence`` makes no sense, or there are no trials at all.
    """
    if not source.results:
        raise UsageError(f"{source.name!r} holds no trials")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence must lie between 0 and 1, e.g. 0.95, not {confidence!r}")
    if max_k is not None and max_k < 1:
        raise UsageError(f"k must be 1 or more, not {max_k!r}")
    results, repeated = _one_per_trial(source.results)
    per_task = _tallies(results)
    lost = [r for r in results if r.passed is None]
    hat, at = _estimates(per_task, max_k, confidence, seed)
    curve = Curve(
        name=source.name,
        note=source.note,
        per_task=per_task,
        planned=len(results),
        scored=len(results) - len(lost),
        lost=len(lost),
        lost_because=_counted(r.lost or "no reason recorded" for r in lost),
        lost_by=_counted(r.fault.value if r.fault else "unknown" for r in lost),
        pass_hat=hat,
        pass_at=at,
        confidence=confidence,
        seed=seed,
        warnings=[],
    )
    curve.warnings.extend(_warnings(curve, repeated))
    return curve


def different_tasks(curves: list[Curve]) -> str | None:
    """A warning if curves shown side by side are not about the same tasks."""
    first = {t.task for t in curves[0].per_task}
    others = [c.name for c in curves[1:] if {t.task for t in c.per_task} != first]
    if not others:
        return None
    return f"not the same tasks as in {curves[0].name!r}: {', '.join(map(repr, others))}"


def _one_per_trial(results: list[TrialResult]) -> tuple[list[TrialResult], int]:
    """Settle trials that come more than once; also how many records were surplus."""
    if len({result[:2] for result in results}) == len(results):
        return results, 0
    settled: dict[tuple[str, int], TrialResult] = {}
    nameless = [r for r in results if not r.task]
    for result in results:
        if result.task:
            key = (result.task, result.trial)
            known = settled.setdefault(key, result)
            if known is not result:
                settled[key] = _settle(known, result)
    kept = [*settled.values(), *nameless]
    return kept, len(results) - len(kept)


def _settle(known: TrialResult, again: TrialResult) -> TrialResult:
    if again.passed is None or again.passed == known.passed:
        return known
    if known.passed is None and known.lost != CONTRADICTION:
        return again
    return TrialResult(known.task, known.trial, None, lost=CONTRADICTION)


def _tallies(results: list[TrialResult]) -> list[TaskTally]:
    counts: dict[str, list[int]] = {}
    for result in results:
        if result.task:
            count = counts.setdefault(result.task, [0, 0, 0])
            if result.passed is None:
                count[2] += 1
            else:
                count[0] += 1
                count[1] += result.passed
    return [TaskTally(task, *count) for task, count in counts.items()]


def _estimates(
    per_task: list[TaskTally], max_k: int | None, confidence: float, seed: int
) -> tuple[list[Estimate], list[Estimate]]:
    pairs = Counter((t.scored, t.passed) for t in per_task if t.scored)
    last = max_k or max((n for n, _ in pairs), default=0)
    if not pairs:
        nothing = [Estimate(None, None, None, 0, None)] * last
        return nothing, nothing
    n, c = np.array(sorted(pairs), dtype=np.int64).T
    weights: Ints = np.array([pairs[pair] for pair in sorted(pairs)], dtype=np.int64)
    hat, at = pass_hat_k(n, c, last), pass_at_k(n, c, last)
    draws = resample(weights, seed)
    return (
        _points(mean_curve(hat, weights, draws, confidence)),
        _points(mean_curve(at, weights, draws, confidence)),
    )


def _points(mean: MeanCurve) -> list[Estimate]:
    value, low, high = _or_none(mean.value), _or_none(mean.low), _or_none(mean.high)
    tasks = mean.tasks.tolist()
    return [
        Estimate(value[i], low[i], high[i], tasks[i], mean.method(i + 1)) for i in range(len(tasks))
    ]


def _or_none(numbers: Floats) -> list[float | None]:
    """As plain floats of 12 significant digits, so that 3/5 reads 0.6, not 0.6000000000000001."""
    return [None if x != x else float(f"{x:.12g}") for x in numbers.tolist()]


def _points_json(points: list[Estimate]) -> dict[str, dict[str, Any]]:
    return {
        str(k): {
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "tasks": point.tasks,
            "method": point.method,
        }
        for k, point in enumerate(points, start=1)
    }


def _counted(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common())


def _warnings(curve: Curve, repeated: int) -> list[str]:
    warnings = []
    if curve.too_much_lost:
        warnings.append(
            f"no headline: {curve.lost} of {curve.planned} planned trials have no grade, more "
            f"than {MAX_LOST:.0%}; the numbers are of the remaining ones only"
        )
    if repeated:
        warnings.append(f"surplus records of trials already there, counted once: {repeated}")
    tried = [t.scored for t in curve.per_task if t.scored]
    if tried and min(tried) != max(tried):
        warnings.append(
            f"tasks have from {min(tried)} to {max(tried)} scored trials; each k is averaged "
            "over the tasks that have at least k"
        )
    if len(tried) < FEW_TASKS:
        warnings.append(
            f"{count(len(tried), 'task')} {'is' if len(tried) == 1 else 'are'} few: "
            "intervals over tasks "
            + ("need at least two" if len(tried) < 2 else "are too narrow below ten")
        )
    return warnings
