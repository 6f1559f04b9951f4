"""Two runs compared task by task: how much better or worse is the second one, and is it luck?

Both sides were measured on the same tasks, so every number here is a difference within tasks, B
minus A. That some tasks are harder than others, mostly the largest part of a curve's interval,
cancels out.

The interval resamples tasks, each with both its sides (paired percentile bootstrap, Efron &
Tibshirani 1993, An Introduction to the Bootstrap, chapter 13). The test asks how often the mean
difference would be as large as it is if it were chance which side of a task is called A: it flips
the signs of the tasks' differences in all possible ways (Fisher 1935, The Design of Experiments,
section 21). With equally many trials on both sides of each task that is exact for any k.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil, comb, gcd, lcm, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np

from ..errors import UsageError
from ..results import Source
from .curve import FEW_TASKS, MAX_LOST, Curve, Estimate, TaskTally, curve_of
from .records import Run, TrialRow
from .sources import FILE_ENDINGS, load_source
from .statistics import RESAMPLES, Floats, Ints, mean_curve, pass_hat_k, resample
from .store import open_store

SIGN_FLIPS: Final = 20_000
"""Random flips where not all can be counted; p is then never below 1 / (flips + 1)."""

EXACT_STEPS: Final = 50_000_000
"""Additions that an exact test may take: about a tenth of a second."""

POWER: Final = 0.8
"""Of the smallest difference that a comparison is said to see."""

NOT_COMPARED: Final = frozenset({"agent"})
"""Parts of a fingerprint that may differ: comparing agents is what this is for."""

# --- what is compared ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of the two things compared.

    Attributes:
        source: Its trials.
        run: The run they are of; None for a results file.
        trials: The tried trials with their costs; empty for a results file.
    """

    source: Source
    run: Run | None = None
    trials: Sequence[TrialRow] = ()

    def only(self, tasks: Iterable[str]) -> Side:
        """The same side, with these tasks only."""
        kept = set(tasks)
        results = [r for r in self.source.results if r.task in kept]
        source = Source(self.source.name, results, self.source.note)
        return Side(source, self.run, [t for t in self.trials if t.task in kept])


def load_side(name: str, store: str | Path | None = None) -> Side:
    """Find what ``name`` means: a results file, or a run in the store, then with its costs.

    Raises:
        UsageError: There is no such file and no such run, or the file cannot be understood.
    """
    if Path(name).exists() or Path(name).suffix.lower() in FILE_ENDINGS or "/" in name:
        return Side(load_source(name, store))
    with open_store(store) as opened:
        run = opened.find_run(name)
        return Side(opened.source(run), run, opened.trials(run))


def unlike(a: Run, b: Run) -> list[str]:
    """Parts of the fingerprints that differ, the agent's left out; empty if comparable."""
    names = [*a.parts, *(name for name in b.parts if name not in a.parts)]
    return [n for n in names if a.parts.get(n) != b.parts.get(n) and n not in NOT_COMPARED]


# --- the result ---------------------------------------------------------------------------------


class SignFlip(NamedTuple):
    """Result of the permutation test.

    Attributes:
        p: Share of sign flips that give a mean at least as far from 0; two-sided.
        exact: Whether all flips were counted; otherwise `SIGN_FLIPS` random ones.
        resolution: The smallest p that could have come out.
    """

    p: float
    exact: bool
    resolution: float


@dataclass(frozen=True)
class Difference:
    """The difference at one k, B minus A, over the tasks that have k trials on both sides.

    Attributes:
        k: Of pass^k.
        a: Mean over those tasks on side A.
        b: The same on side B.
        estimate: Their difference with its interval.
        test: Against no difference.
        visible: Difference that a pair of runs with this spread and size shows with 80% power;
            None where all tasks differ alike, which says nothing about the spread.
    """

    k: int
    a: float
    b: float
    estimate: Estimate
    test: SignFlip
    visible: float | None

    @property
    def shown(self) -> bool:
        """Whether the interval leaves 0 out."""
        low, high = self.estimate.low, self.estimate.high
        return low is not None and high is not None and (low > 0 or high < 0)

    def says(self, confidence: float) -> str:
        """What it shows, in one sentence."""
        if self.estimate.low is None:
            return "no interval, so nothing is shown: that takes two tasks or more"
        significant = self.test.p <= 1 - confidence
        doubt = f"; borderline, as p = {self.test.p:.3g}" if self.shown != significant else ""
        if self.shown:
            return f"B is {'better' if self.estimate.low > 0 else 'worse'}{doubt}"
        hidden = f"; less than about {self.visible:.3f} can hide" if self.visible else ""
        return f"no difference shown at this size{hidden}{doubt}"


@dataclass(frozen=True)
class TaskPair:
    """One task on both sides."""

    a: TaskTally
    b: TaskTally

    @property
    def task(self) -> str:
        """Its id."""
        return self.a.task

    @property
    def sign(self) -> int:
        """1 if B passed it more often, -1 if less often, 0 if equally often."""
        left, right = self.b.passed * self.a.scored, self.a.passed * self.b.scored
        return (left > right) - (left < right)

    @property
    def flipped(self) -> bool:
        """Whether it always passed on one side and never on the other."""
        shares = {self.a.passed / self.a.scored, self.b.passed / self.b.scored}
        return shares == {0.0, 1.0}


@dataclass(frozen=True)
class Cost:
    """A cost of the trials: its mean over the trials of a task, averaged over the same tasks.

    Attributes:
        what: E.g. "seconds".
        a: On side A.
        b: On side B.
        low: Lower end of the interval of b - a; None for fewer than two tasks.
        high: Upper end, likewise.
        tasks: That have it on both sides.
    """

    what: str
    a: float
    b: float
    low: float | None
    high: float | None
    tasks: int


@dataclass(frozen=True)
class Comparison:
    """All that two sides show about each other, B minus A.

    Attributes:
        a: The curve of side A, over the shared tasks.
        b: The curve of side B, over the shared tasks.
        differences: At k = 1 and at the largest k asked for.
        pairs: The tasks scored on both sides, in A's order.
        only_a: Tasks that only A has graded trials of; left out.
        only_b: Likewise.
        costs: Those that both sides know.
        warnings: Sentences a reader needs.
    """

    a: Curve
    b: Curve
    differences: list[Difference]
    pairs: list[TaskPair] = field(repr=False)
    only_a: list[str]
    only_b: list[str]
    costs: list[Cost]
    warnings: list[str]

    @property
    def won(self) -> list[str]:
        """Tasks that B passed more often than A."""
        return [pair.task for pair in self.pairs if pair.sign > 0]

    @property
    def lost(self) -> list[str]:
        """Tasks that B passed less often than A."""
        return [pair.task for pair in self.pairs if pair.sign < 0]

    @property
    def unchanged(self) -> list[str]:
        """Tasks passed equally often."""
        return [pair.task for pair in self.pairs if pair.sign == 0]

    @property
    def flipped(self) -> list[str]:
        """Tasks that went from always to never, or back; they are among the won and the lost."""
        return [pair.task for pair in self.pairs if pair.flipped]

    @property
    def too_much_lost(self) -> bool:
        """Whether a side lost too many trials to be quoted."""
        return self.a.too_much_lost or self.b.too_much_lost

    def verdict(self) -> str:
        """What is shown, in one line."""
        if self.too_much_lost:
            return f"no verdict: more than {MAX_LOST:.0%} of a side's trials have no grade"
        confidence = self.a.confidence
        return "; ".join(f"pass^{d.k}: {d.says(confidence)}" for d in self.differences)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; differences are B minus A."""
        confidence = self.a.confidence
        return {
            "a": _side_json(self.a),
            "b": _side_json(self.b),
            "verdict": self.verdict(),
            "warnings": self.warnings,
            "tasks": len(self.pairs),
            "confidence": confidence,
            "seed": self.a.seed,
            "differences": {
                str(d.k): {"a": d.a, "b": d.b, "difference": d.estimate.value}
                | {"low": d.estimate.low, "high": d.estimate.high, "tasks": d.estimate.tasks}
                | {"method": d.estimate.method, "shown": d.shown, "says": d.says(confidence)}
                | {"visible": d.visible, "test": d.test._asdict()}
                for d in self.differences
            },
            "won": self.won,
            "lost": self.lost,
            "unchanged": self.unchanged,
            "flipped": self.flipped,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "costs": {cost.what: asdict(cost) for cost in self.costs},
            "per_task": [
                {"task": pair.task, "a": _tally_json(pair.a), "b": _tally_json(pair.b)}
                for pair in self.pairs
            ],
        }


def _side_json(curve: Curve) -> dict[str, Any]:
    counts = {"planned": curve.planned, "scored": curve.scored, "lost": curve.lost}
    return {"source": curve.name, "note": curve.note, **counts}


def _tally_json(tally: TaskTally) -> dict[str, int]:
    return {"scored": tally.scored, "passed": tally.passed}


# --- comparing ----------------------------------------------------------------------------------


def compare(
    a: Side,
    b: Side,
    *,
    k: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    anyway: bool = False,
) -> Comparison:
    """Compare two sides on the tasks that both have graded.

    Args:
        a: What was.
        b: What is to be judged.
        k: Of pass^k, beside pass^1; by default the largest k that nine in ten of the shared tasks
            have enough trials for on both sides.
        confidence: Of the intervals, above 0 and below 1.
        seed: Of the bootstrap and of random sign flips.
        anyway: Compare runs although they measured different things.

    Raises:
        UsageError: The runs measured different things, no task is shared, or no shared task has k
            trials; says which.
    """
    warnings = _likeness(a, b, anyway)
    whole_a, whole_b = (curve_of(side.source, max_k=1) for side in (a, b))
    scored_b = {tally.task: tally for tally in whole_b.per_task if tally.scored}
    scored_a = [tally for tally in whole_a.per_task if tally.scored]
    pairs = [TaskPair(t, scored_b[t.task]) for t in scored_a if t.task in scored_b]
    names = {pair.task for pair in pairs}
    if not pairs:
        raise UsageError(f"{a.source.name!r} and {b.source.name!r} share no task that was graded")
    kept_a, kept_b = a.only(names), b.only(names)
    wanted = _checked_k(pairs, k)
    curves = [
        curve_of(side.source, max_k=wanted, confidence=confidence, seed=seed)
        for side in (kept_a, kept_b)
    ]
    differences = [
        difference(pairs, each, confidence=confidence, seed=seed) for each in sorted({1, wanted})
    ]
    return Comparison(
        a=curves[0],
        b=curves[1],
        differences=differences,
        pairs=pairs,
        only_a=[tally.task for tally in scored_a if tally.task not in names],
        only_b=[task for task in scored_b if task not in names],
        costs=_costs(kept_a.trials, kept_b.trials, confidence, seed),
        warnings=[*warnings, *_warnings(curves, pairs)],
    )


def _likeness(a: Side, b: Side, anyway: bool) -> list[str]:
    """What must be said about whether both measured the same.

    Raises:
        UsageError: They did not, and ``anyway`` is False.
    """
    if a.run is None or b.run is None:
        return ["a results file carries no fingerprint: that both measured the same is not checked"]
    parts = unlike(a.run, b.run)
    if not parts:
        return []
    text = (
        f"{a.source.name!r} and {b.source.name!r} did not measure the same: they differ in "
        f"{', '.join(map(repr, parts))}"
    )
    if not anyway:
        raise UsageError(f"{text}; --anyway compares them all the same")
    return [text]


def _checked_k(pairs: list[TaskPair], k: int | None) -> int:
    smaller = sorted((min(p.a.scored, p.b.scored) for p in pairs), reverse=True)
    if k is None:
        return smaller[ceil(len(smaller) * (1 - MAX_LOST)) - 1]
    if not 1 <= k <= smaller[0]:
        raise UsageError(
            f"k must be 1 to {smaller[0]}, the most trials that both sides have of a task, not {k}"
        )
    return k


def _warnings(curves: list[Curve], pairs: list[TaskPair]) -> list[str]:
    warnings = [
        f"{curve.lost} of {curve.planned} trials of {curve.name!r} have no grade"
        for curve in curves
        if curve.lost
    ]
    if any(pair.a.scored != pair.b.scored for pair in pairs):
        warnings.append("tasks with more trials on one side than on the other: p is approximate")
    if len(pairs) < FEW_TASKS:
        warnings.append(f"{len(pairs)} tasks are few: intervals over tasks are too narrow")
    return warnings


def difference(
    pairs: Sequence[TaskPair], k: int, *, confidence: float = 0.95, seed: int = 0
) -> Difference:
    """The difference in pass^k, B minus A, over tasks with k trials or more on both sides.

    Tasks that read the same on both sides are one row with a weight, as in `statistics.resample`.
    The interval is that of `mean_curve`, which knows means in [0, 1], so that differences, which
    lie in [-1, 1], are halved and moved there and back.

    Args:
        pairs: The shared tasks.
        k: Of pass^k; at least one task must have k trials on both sides.
        confidence: Of the interval.
        seed: Of the bootstrap and of random sign flips.
    """
    tallies = Counter(
        (p.a.scored, p.a.passed, p.b.scored, p.b.passed)
        for p in pairs
        if min(p.a.scored, p.b.scored) >= k
    )
    rows = sorted(tallies)
    weights: Ints = np.array([tallies[row] for row in rows], dtype=np.int64)
    n_a, c_a, n_b, c_b = np.array(rows, dtype=np.int64).T
    a, b = pass_hat_k(n_a, c_a, k)[:, -1], pass_hat_k(n_b, c_b, k)[:, -1]
    mean = mean_curve((1 + b - a)[:, None] / 2, weights, resample(weights, seed), confidence)
    low, high = (None if np.isnan(e) else _rounded(2 * e - 1) for e in (mean.low[0], mean.high[0]))
    tasks = int(weights.sum())
    mean_a, mean_b = float(weights @ a / tasks), float(weights @ b / tasks)
    estimate = Estimate(_rounded(mean_b - mean_a), low, high, tasks, mean.method(1))
    return Difference(
        k=k,
        a=_rounded(mean_a),
        b=_rounded(mean_b),
        estimate=estimate,
        test=sign_flip_test(_as_whole_numbers(rows, k), weights.tolist(), seed),
        visible=_visible(b - a, weights, confidence),
    )


def _rounded(number: float) -> float:
    """To 12 significant digits, and never -0.0."""
    return float(f"{number:.12g}") + 0.0


def _visible(differences: Floats, weights: Ints, confidence: float) -> float | None:
    """(z of the level + z of the power) standard errors of the mean difference.

    Source: Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, section 2.
    """
    tasks = int(weights.sum())
    if tasks < 2:
        return None
    centred = differences - weights @ differences / tasks
    spread = sqrt(float(weights @ centred**2) / (tasks - 1))
    normal = NormalDist()
    z = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    return z * spread / sqrt(tasks) if spread > 1e-12 else None


# --- the test -----------------------------------------------------------------------------------


def _as_whole_numbers(rows: Sequence[tuple[int, int, int, int]], k: int) -> list[int]:
    """The tasks' differences in pass^k, B minus A, times a number that makes them all whole."""
    common = lcm(*(comb(n, k) for n_a, _, n_b, _ in rows for n in (n_a, n_b)))
    whole = [
        comb(c_b, k) * (common // comb(n_b, k)) - comb(c_a, k) * (common // comb(n_a, k))
        for n_a, c_a, n_b, c_b in rows
    ]
    divisor = gcd(*whole) or 1
    return [number // divisor for number in whole]


def sign_flip_test(
    differences: Sequence[int], weights: Sequence[int] | None = None, seed: int = 0
) -> SignFlip:
    """How often random signs make the sum of differences at least as large as it is; two-sided.

    The sum of flipped differences is 2 Y - S, where S is the sum of their sizes and Y adds up
    those that got a plus. The chances of all values of Y are built up task by task, which takes
    (tasks x S) additions and counts all 2^tasks flips. Where S is too large for that, signs are
    drawn at random, and the sum as it is counts as one more draw, so that p is never 0 (Phipson &
    Smyth 2010, doi:10.2202/1544-6115.1585).

    Args:
        differences: Whole numbers, one per row; only their proportions matter.
        weights: How many tasks each row stands for; by default one.
        seed: Of the random signs.

    >>> sign_flip_test([1, 1, 1, 1])
    SignFlip(p=0.125, exact=True, resolution=0.125)
    """
    counts = weights or [1] * len(differences)
    each = [abs(d) for d, count in zip(differences, counts, strict=True) for _ in range(count)]
    sizes = [size for size in each if size]
    seen = abs(sum(d * count for d, count in zip(differences, counts, strict=True)))
    if not sizes:
        return SignFlip(1.0, True, 1.0)
    if len(sizes) * sum(sizes) <= EXACT_STEPS:
        return SignFlip(_all_flips(sizes, seen), True, 2.0 ** (1 - len(sizes)))
    return SignFlip(_random_flips(sizes, seen, seed), False, 1 / (SIGN_FLIPS + 1))


def _all_flips(sizes: list[int], seen: int) -> float:
    total = sum(sizes)
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    for size in sizes:
        chances *= 0.5
        chances[size:] += chances[:-size].copy()
    sums = 2 * np.arange(total + 1) - total
    return min(1.0, float(chances[np.abs(sums) >= seen].sum()))


def _random_flips(sizes: list[int], seen: int, seed: int) -> float:
    largest = max(sizes)  # whole numbers may be too large for a float; their shares are not
    shares = np.array([size / largest for size in sizes])
    generator = np.random.default_rng(seed)
    beyond = 0
    for block in np.array_split(np.arange(SIGN_FLIPS), -(-SIGN_FLIPS * len(sizes) // 4_000_000)):
        plus = generator.integers(0, 2, size=(block.size, len(sizes)), dtype=np.int8)
        sums = np.abs(2.0 * (plus @ shares) - shares.sum())
        beyond += int((sums >= seen / largest * (1 - 1e-9)).sum())
    return (beyond + 1) / (SIGN_FLIPS + 1)


# --- costs --------------------------------------------------------------------------------------

COSTS: Final = {
    "turns": "turns",
    "tool calls": "tool_calls",
    "tool errors": "tool_errors",
    "seconds": "seconds",
    "input tokens": "input_tokens",
    "output tokens": "output_tokens",
    "dollars": "cost_dollars",
}
"""What is compared per trial, and the field of `TrialRow` that holds it."""


def _costs(
    a: Sequence[TrialRow], b: Sequence[TrialRow], confidence: float, seed: int
) -> list[Cost]:
    costs = []
    for what, name in COSTS.items():
        means_a, means_b = _means(a, name), _means(b, name)
        shared = [task for task in means_a if task in means_b]
        if shared:
            of_a = np.array([means_a[task] for task in shared])
            of_b = np.array([means_b[task] for task in shared])
            low, high = _interval(of_b - of_a, confidence, seed)
            costs.append(Cost(what, float(of_a.mean()), float(of_b.mean()), low, high, len(shared)))
    return costs


def _means(trials: Sequence[TrialRow], name: str) -> dict[str, float]:
    """Per task, the mean over its graded trials that know the number."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        value = getattr(trial, name)
        if trial.reward is not None and value is not None:
            found.setdefault(trial.task, []).append(value)
    return {task: sum(values) / len(values) for task, values in found.items()}


def _interval(
    differences: Floats, confidence: float, seed: int
) -> tuple[float | None, float | None]:
    """Percentile bootstrap over tasks of a mean that knows no bounds."""
    if len(differences) < 2:
        return None, None
    generator = np.random.default_rng(seed)
    means = [
        differences[generator.integers(0, len(differences), len(differences))].mean()
        for _ in range(RESAMPLES)
    ]
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)
