"""Where the spread of results comes from: the tasks, the customers' words, or the agent's luck.

Three layers: task t has customers u (user seeds: the same script in other words), and each is met
in trials r. Their variances come from the trials by moments, each estimate unbiased:

    luck   p (1 - p) of one trial; within a cell of n trials with the share q of passes,
           n / (n - 1) q (1 - q) estimates it
    users  the variance of q between the customers of a task, less what luck adds to it
    tasks  the variance of the tasks' means, less what customers and luck add to it

Source: the nested analysis of variance by moments, Searle, Casella & McCulloch 1992, "Variance
Components", chapter 3, with the residual variance of each cell estimated in that cell, because that
of a coin depends on its chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, variance
from typing import Any

from ..results import TrialResult


@dataclass(frozen=True)
class VarianceSplit:
    """Variance of one trial's result (0 or 1), by where it comes from.

    Attributes:
        tasks: Of the chance to pass, between tasks.
        users: Of that chance, between user seeds of one task.
        luck: Within one user seed of one task: the agent's own.
        cells: Pairs of task and user seed that it was worked out from.
    """

    tasks: float
    users: float
    luck: float
    cells: int

    @property
    def total(self) -> float:
        """Of all three."""
        return self.tasks + self.users + self.luck

    def share(self, of: float) -> float:
        """How much of the whole a part is, 0 to 1; 0 if nothing varies."""
        return of / self.total if self.total else 0.0

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def variance_of(results: Iterable[TrialResult]) -> VarianceSplit | None:
    """The split of a run whose trials met the same customers several times; None of any other."""
    cells: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
    for result in results:
        if result.passed is not None and result.customer is not None:
            cells[result.task, result.customer].append(result.passed)
    return split_variance(cells)


def split_variance(
    cells: Mapping[tuple[str, int], Sequence[bool]],
) -> VarianceSplit | None:
    """Split the variance of results that met the same customer several times.

    Args:
        cells: Whether each trial passed, by task and user seed. Cells with fewer than two trials,
            and tasks with fewer than two cells left, say nothing and are left out.

    Returns:
        The split, none of its parts below 0; None if fewer than two tasks are left.

    >>> kind, rude = [True, True], [False, False]
    >>> split = split_variance({("a", 1): kind, ("a", 2): rude, ("b", 1): kind, ("b", 2): rude})
    >>> (split.tasks, split.users, split.luck)
    (0.0, 0.5, 0.0)
    """
    by_task: dict[str, list[Sequence[bool]]] = {}
    for (task, _), trials in cells.items():
        if len(trials) >= 2:
            by_task.setdefault(task, []).append(trials)
    tasks = [_Task.of(own) for own in by_task.values() if len(own) >= 2]
    if len(tasks) < 2:
        return None
    users = fmean(task.between - task.noise for task in tasks)
    between = variance([task.mean for task in tasks])
    return VarianceSplit(
        tasks=max(0.0, between - fmean(task.between / task.users for task in tasks)),
        users=max(0.0, users),
        luck=fmean(task.luck for task in tasks),
        cells=sum(task.users for task in tasks),
    )


@dataclass(frozen=True)
class _Task:
    """What the cells of one task come to."""

    users: int
    mean: float
    between: float
    noise: float  # what luck adds to `between`
    luck: float

    @classmethod
    def of(cls, cells: Iterable[Sequence[bool]]) -> _Task:
        shares, noises, lucks = [], [], []
        for trials in cells:
            n = len(trials)
            share = fmean(trials)
            noises.append(share * (1 - share) / (n - 1))
            lucks.append(share * (1 - share) * n / (n - 1))
            shares.append(share)
        return cls(len(shares), fmean(shares), variance(shares), fmean(noises), fmean(lucks))
