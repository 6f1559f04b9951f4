"""What became of each trial: all that the statistics need to know about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import Fault


class TrialResult(NamedTuple):
    """One planned trial, scored or lost.

    Attributes:
        task: The task's id; "" if a broken record does not say.
        trial: The trial's number within its task.
        passed: The grade; None if the trial was lost, that is, never graded.
        lost: Why it was lost, in words; None for a scored trial.
        fault: Whose doing the loss was; None if it was not lost, or if nobody can say.
        customer: Number of the customer whom it met, where those of a task come in turn; None: its
            own, or nobody knows.
    """

    task: str
    trial: int
    passed: bool | None
    lost: str | None = None
    fault: Fault | None = None
    customer: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Trials that belong together, and what to call them.

    Attributes:
        name: For titles and legends, e.g. a file's name or a run's.
        results: Every planned trial, in any order.
        note: What a reader must know of these numbers, e.g. "synthetic agent"; "" if nothing.
    """

    name: str
    results: list[TrialResult] = field(repr=False)
    note: str = ""
