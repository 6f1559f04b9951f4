"""Survival over turns: how far into a conversation trials get before they are lost.

A turn is a move of the agent. A failing trial is lost at the first turn that a cause blames; what
is only known at the end, such as a change that was never made, is lost at the last turn. A trial
that passes leaves at its last turn without having been lost, and so does one that was lost through
no fault of the agent. The curve is Kaplan and Meier's.

Beside it stands the compounding model (`harness.compounding`): every turn goes right with the same
chance p, independently, so that p^t are left after t turns. Where turns are counted one by one, the
likelihood of that is p^(turns survived) (1 - p)^(trials lost), which is largest at

    p = 1 - trials lost / turns at risk.

A measured curve below the fitted one at late turns says that long conversations are harder than
their length alone explains.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from .compounding import step_needed, task_success
from .replay_report import Fate, Step
from .replay_report import survival as kaplan_meier
from .statistics import Ints, resample

REACHED: Final = 10
"""A turn that fewer trials reach says little: a single loss there would halve the curve."""

TARGET: Final = 0.9
"""The share of conversations for which `TurnSurvival` says what a turn would need."""


class Life(NamedTuple):
    """One trial: its task, the last turn it was followed to, and whether it was lost there."""

    task: str
    turns: int
    lost: bool


@dataclass(frozen=True)
class TurnSurvival:
    """A survival curve, and the compounding model fitted to it.

    Attributes:
        steps: One per turn, from 1.
        lives: How many trials are behind it.
        lost: How many of them were lost.
        turn: Chance that one turn goes right, fitted, p.
        low: Lower end of its interval (bootstrap over tasks); None below two tasks.
        high: Upper end, likewise.
        confidence: Of the interval.
        length: Median turns of a trial that was not lost; None if all were.
    """

    steps: tuple[Step, ...]
    lives: int
    lost: int
    turn: float
    low: float | None
    high: float | None
    confidence: float
    length: int | None

    @property
    def firm(self) -> tuple[Step, ...]:
        """The steps that at least `REACHED` trials reach; all of them if not even the first is."""
        return tuple(step for step in self.steps if step.at_risk >= REACHED) or self.steps

    def fitted(self, turns: int) -> float:
        """Share left after that many turns if every turn has the same chance."""
        return task_success(self.turn, turns) if turns else 1.0

    @property
    def needed(self) -> float | None:
        """What a turn needs for `TARGET` of the conversations of median length to come through."""
        return step_needed(TARGET, self.length) if self.length else None

    @property
    def worst(self) -> Step | None:
        """The turn at which most are lost; None if none is."""
        losing = [step for step in self.steps if step.departed]
        return max(losing, key=lambda step: step.departed, default=None)


def turn_survival(
    lives: Iterable[Life], *, confidence: float = 0.95, seed: int = 0
) -> TurnSurvival | None:
    """The curve of these trials; None if there are none with a turn.

    Args:
        lives: One per trial; those without any turn say nothing and are left out.
        confidence: Of the interval of the fitted chance.
        seed: Of the bootstrap.

    >>> found = turn_survival([Life("a", 2, True), Life("b", 4, False), Life("c", 4, False)])
    >>> found.turn, [round(step.survival, 2) for step in found.steps]
    (0.9, [1.0, 0.67, 0.67, 0.67])
    """
    known = [life for life in lives if life.turns > 0]
    if not known:
        return None
    lost, at_risk = _per_task(known)
    low, high = _interval(lost, at_risk, confidence, seed)
    through = [life.turns for life in known if not life.lost]
    return TurnSurvival(
        steps=tuple(kaplan_meier(Fate(life.turns, life.lost) for life in known)),
        lives=len(known),
        lost=int(lost.sum()),
        turn=float(1 - lost.sum() / at_risk.sum()),
        low=low,
        high=high,
        confidence=confidence,
        length=round(median(through)) if through else None,
    )


def _per_task(lives: list[Life]) -> tuple[Ints, Ints]:
    """Trials lost and turns at risk of each task."""
    totals: dict[str, list[int]] = {}
    for life in lives:
        total = totals.setdefault(life.task, [0, 0])
        total[0] += life.lost
        total[1] += life.turns
    lost, at_risk = np.array(list(totals.values()), dtype=np.int64).T
    return lost, at_risk


def _interval(
    lost: Ints, at_risk: Ints, confidence: float, seed: int
) -> tuple[float | None, float | None]:
    """Percentile bootstrap over tasks, as for the curve; a task brings all its trials along."""
    if len(lost) < 2:
        return None, None
    draws = resample(np.ones(len(lost), dtype=np.int64), seed)
    chances = 1 - (draws @ lost) / (draws @ at_risk)
    tail = (1 - confidence) / 2
    low, high = np.quantile(chances, [tail, 1 - tail])
    return float(low), float(high)
