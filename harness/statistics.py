"""pass@k and pass^k with intervals, from how often each task was tried and passed.

Everything a task contributes is in two counts: n trials scored, c of them passed. With trials
drawn without replacement from those n, the unbiased estimates per task are

    pass^k = C(c, k) / C(n, k)            all k pass        (Yao et al. 2024, arXiv:2406.12045)
    pass@k = 1 - C(n - c, k) / C(n, k)    at least one does (Chen et al. 2021, arXiv:2107.03374)

and the curve is their mean over tasks. A task with fewer than k trials says nothing about k: it
is NaN there, never 0 or 1, and each k is told with the number of tasks behind it.

The intervals answer: how far could this mean be off, had other tasks of the same kind been drawn?
They therefore resample tasks, not trials (percentile bootstrap, Efron 1979); the luck of the
trials is inside each task's value and carried along. With fewer than about ten tasks such an
interval is known to be too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES: Final = 2000
BOOTSTRAP: Final = "bootstrap over tasks"
EXACT: Final = "exact, every task alike"

_CELLS_AT_ONCE = 4_000_000  # of 8 bytes each; bounds the memory of one bootstrap block


def pass_hat_k(n: ArrayLike, c: ArrayLike, max_k: int) -> Floats:
    """Chance, per task, that k trials drawn from its n all pass, for k = 1 to ``max_k``.

    C(c, k) / C(n, k) is built as the running product of (c - i) / (n - i), so that no binomial
    coefficient is ever formed and nothing overflows, however large n is.

    Args:
        n: Shape (tasks,), trials scored per task.
        c: Shape (tasks,), how many of them passed, 0 <= c <= n.
        max_k: The last k, at least 1.

    Returns:
        Shape (tasks, max_k); column k - 1 belongs to k; NaN where n < k.

    Source: Yao et al. 2024, arXiv:2406.12045.

    >>> pass_hat_k([4, 2], [3, 2], 3).tolist()
    [[0.75, 0.5, 0.25], [1.0, 1.0, nan]]
    """
    trials, passes = _counts(n, c, max_k)
    drawn = np.arange(max_k)
    left = trials[:, None] - drawn
    all_pass = np.cumprod(np.maximum(passes[:, None] - drawn, 0) / np.maximum(left, 1), axis=1)
    return np.where(left > 0, all_pass, np.nan)


def pass_at_k(n: ArrayLike, c: ArrayLike, max_k: int) -> Floats:
    """Chance, per task, that at least one of k trials drawn from its n passes.

    The complement of "all k fail". Arguments and shape as for `pass_hat_k`.

    Source: Chen et al. 2021, arXiv:2107.03374.

    >>> pass_at_k([4, 2], [1, 0], 3).tolist()
    [[0.25, 0.5, 0.75], [0.0, 0.0, nan]]
    """
    trials, passes = _counts(n, c, max_k)
    return 1.0 - pass_hat_k(trials, trials - passes, max_k)


def _counts(n: ArrayLike, c: ArrayLike, max_k: int) -> tuple[Ints, Ints]:
    trials, passes = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    if max_k < 1:
        raise ValueError(f"max_k must be at least 1, not {max_k!r}")
    if trials.shape != passes.shape or trials.ndim != 1:
        raise ValueError(f"n and c must be one list each, not {trials.shape} and {passes.shape}")
    if ((passes < 0) | (passes > trials)).any():
        raise ValueError("every task needs 0 <= c <= n")
    return trials, passes


@dataclass(frozen=True)
class MeanCurve:
    """A mean over tasks for each k, with its interval; arrays of shape (max_k,).

    Attributes:
        value: The mean over the tasks that have at least k trials; NaN if none has.
        low: Lower end of the interval; NaN if fewer than two tasks are behind k.
        high: Upper end, likewise.
        tasks: How many tasks are behind each k.
        exact: True where every task has the same value, so that resampling tasks would claim a
            width of zero and `alike_interval` was used instead.
    """

    value: Floats
    low: Floats
    high: Floats
    tasks: Ints
    exact: NDArray[np.bool_]

    def method(self, k: int) -> str | None:
        """How the interval at ``k`` was made; None if there is none."""
        if np.isnan(self.low[k - 1]):
            return None
        return EXACT if self.exact[k - 1] else BOOTSTRAP


def resample(weights: Ints, seed: int) -> Floats:
    """Draw as many tasks as there are, with replacement, `RESAMPLES` times.

    Tasks with equal (n, c) are interchangeable, so they are one row with a weight, and a resample
    is one multinomial draw over the rows: its cost depends on how many different (n, c) there
    are, not on the number of trials.

    Args:
        weights: Shape (rows,), how many tasks each row stands for, all positive.
        seed: Equal seeds give equal draws.

    Returns:
        Shape (RESAMPLES, rows), how often a task of each row was drawn.
    """
    total = int(weights.sum())
    drawn = np.random.default_rng(seed).multinomial(total, weights / total, size=RESAMPLES)
    return drawn.astype(np.float64)


def mean_curve(values: Floats, weights: Ints, draws: Floats, confidence: float) -> MeanCurve:
    """Average over tasks and bootstrap over tasks, for all k at once.

    Args:
        values: Shape (rows, max_k), from `pass_hat_k` or `pass_at_k`; NaN where undefined.
        weights: Shape (rows,), how many tasks each row stands for, all positive.
        draws: From `resample` of the same weights. The same draws serve every k, and should
            serve both curves, so that their intervals fit together.
        confidence: Of the interval, e.g. 0.95.
    """
    defined = ~np.isnan(values)
    filled = np.where(defined, values, 0.0)
    tasks = weights @ defined
    with np.errstate(invalid="ignore"):
        value = (weights @ filled) / tasks
    alike = _alike(values, defined)
    low, high = alike_interval(value, tasks, confidence)
    for columns in _blocks(np.flatnonzero(~alike)):
        low[columns], high[columns] = _percentiles(
            filled[:, columns].T @ draws.T, defined[:, columns].T @ draws.T, confidence
        )
    low[tasks < 2] = high[tasks < 2] = np.nan
    return MeanCurve(value, low, high, tasks, alike)


def _alike(values: Floats, defined: NDArray[np.bool_]) -> NDArray[np.bool_]:
    highest = np.where(defined, values, -np.inf).max(axis=0)
    lowest = np.where(defined, values, np.inf).min(axis=0)
    # Equal fractions, e.g. 1/3 and 2/6, may differ by rounding.
    return np.asarray(highest - lowest < 1e-12)


def alike_interval(value: Floats, tasks: Ints, confidence: float) -> tuple[Floats, Floats]:
    """Interval for the mean when all tasks drawn show the same value.

    If a share q of all tasks had another value, T tasks would all be alike with probability
    (1 - q)^T; with a = 1 - confidence, shares q above 1 - (a / 2)^(1 / T) are refuted. The other
    tasks may lie anywhere from 0 to 1, which bounds the mean by value * (1 - q) and that plus q.
    For all-0 and all-1 this is the Clopper-Pearson interval over tasks.

    Args:
        value: Any shape, the common value.
        tasks: Same shape, how many tasks share it, T.
        confidence: Of the interval, e.g. 0.95.

    Source: Clopper & Pearson 1934, Biometrika 26(4), for the two ends; the middle as derived here.

    >>> low, high = alike_interval(np.array([1.0]), np.array([10]), confidence=0.95)
    >>> round(float(low[0]), 4), float(high[0])
    (0.6915, 1.0)
    """
    alike = ((1 - confidence) / 2) ** (1 / np.maximum(tasks, 1))
    return value * alike, value * alike + (1 - alike)


def _blocks(columns: Ints) -> list[Ints]:
    return np.array_split(columns, -(-columns.size * RESAMPLES // _CELLS_AT_ONCE) or 1)


def _percentiles(sums: Floats, counts: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Ends of the middle ``confidence`` of the resampled means, per row.

    A resample that happened to draw no task with k trials has no mean at k and is left out.
    """
    with np.errstate(invalid="ignore"):
        means = sums / counts
    tail = (1 - confidence) / 2
    quantile = np.nanquantile if (counts == 0).any() else np.quantile
    low, high = quantile(means, [tail, 1 - tail], axis=1)
    return low, high
