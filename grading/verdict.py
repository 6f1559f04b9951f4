"""Verdict: what a grader says of an episode; Grade: all verdicts, the reward, and whose fault."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..errors import Fault


class Verdict(BaseModel):
    """One grader's judgement.

    Attributes:
        grader: Name of the grader.
        passed: Whether its condition holds.
        score: Partial credit in [0, 1]; 1.0 exactly when passed.
        reason: Why, in words for a person.
        evidence: What it rests on: row differences, findings, each with the event it blames.
    """

    model_config = ConfigDict(frozen=True)

    grader: str
    passed: bool
    score: float = Field(ge=0, le=1)
    reason: str
    evidence: tuple[dict[str, Any], ...] = ()


class Grade(BaseModel):
    """The result of an episode.

    Attributes:
        reward: 1.0 exactly if every verdict in the basis passed, else 0.0; None when the trial is
            lost (``fault`` is set and is not the agent): it is then neither a pass nor a fail.
        fault: Whose fault it is that the trial did not pass; None for a pass.
        verdicts: One per grader, also those outside the basis.
        basis: Names of the graders that decide.
    """

    model_config = ConfigDict(frozen=True)

    reward: float | None
    fault: Fault | None
    verdicts: tuple[Verdict, ...]
    basis: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the trial counts as a success."""
        return self.reward == 1.0

    @property
    def partial(self) -> float:
        """Mean score of the verdicts in the basis, in [0, 1]: the dense signal; 0 when lost."""
        scores = [v.score for v in self.verdicts if v.grader in self.basis]
        return sum(scores) / len(scores) if scores and self.reward is not None else 0.0

    def reasons(self) -> list[str]:
        """Why it did not pass: one line per failed verdict of the basis."""
        return [
            f"{v.grader}: {v.reason}"
            for v in self.verdicts
            if v.grader in self.basis and not v.passed
        ]
