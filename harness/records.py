"""What the store gives back: runs, trials, baselines, as plain objects."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any

from sqlalchemy import Row

from ..errors import Fault
from ..grading.verdict import Verdict
from ..models.account import Spending
from ..results import TrialResult
from ..transcript import Transcript, Usage
from .trials import Trial, customer_of, trial_of


@dataclass(frozen=True)
class Baseline:
    """What doing nothing scores on a set of tasks.

    Attributes:
        agent: Spec of the agent that does nothing.
        scored: Tasks that could be graded, one trial each.
        passed: Tasks that it passes.
        lost: Tasks that could not be graded.
    """

    agent: str
    scored: int
    passed: int
    lost: int

    @property
    def pass_rate(self) -> float | None:
        """Share of tasks passed; None if none was graded."""
        return self.passed / self.scored if self.scored else None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"pass_rate": self.pass_rate}


@dataclass(frozen=True)
class Run:
    """A run: what was planned and under which conditions.

    Attributes:
        id: E.g. "retail-20260316-js68": domain, day (UTC), time of day. Sorts by age.
        name: Given by the user; None if they gave none.
        created: ISO date and time, UTC.
        status: "running", "finished" or "interrupted".
        domain: Name of the domain.
        agent: Spec of the agent.
        user: Spec of the user simulator.
        seed: Of the run.
        trials: Planned per task.
        tasks: Ids, in the order they are played.
        synthetic: Whether the agent's numbers say nothing about a real agent.
        conditions: What `Conditions` holds.
        fingerprint: One hash of everything that decides what is measured.
        parts: The hashes or words it is made of, by what they are of.
        versions: Of passhat and what it ran on.
        baseline: What doing nothing scores on the same tasks, if that was worked out.
    """

    id: str
    name: str | None
    created: str
    status: str
    domain: str
    agent: str
    user: str
    seed: int
    trials: int
    tasks: tuple[str, ...]
    synthetic: bool
    conditions: dict[str, Any] = field(repr=False)
    fingerprint: str
    parts: dict[str, str] = field(repr=False)
    versions: dict[str, str] = field(repr=False)
    baseline: Baseline | None = None

    @property
    def planned(self) -> int:
        """Trials planned in all."""
        return self.trials * len(self.tasks)

    @property
    def user_seeds(self) -> int | None:
        """Customers of each task, who come in turn; None: each trial has its own."""
        return self.conditions.get("user_seeds")

    def planned_trial(self, task: str, number: int) -> Trial:
        """The trial of that number, with its seeds."""
        return trial_of(self.seed, self.domain, task, number, self.user_seeds)

    @property
    def note(self) -> str:
        """What must be said beside its numbers; "" if nothing."""
        return f"SYNTHETIC agent {self.agent}" if self.synthetic else ""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        baseline = self.baseline.to_json() if self.baseline else None
        return asdict(self) | {"tasks": list(self.tasks), "baseline": baseline}


@dataclass(frozen=True)
class TrialRow:
    """One trial as listings show it; the fields mean what they mean in `FinishedTrial`.

    Attributes:
        attempts: How often it was tried, losses included.
        input_tokens: What all sides read in the last attempt, from caches too; None if no model was
            asked, or none says.
        output_tokens: What they wrote, likewise.
        cost_dollars: What it cost, likewise; None if the price of one is not known.
        finished: ISO date and time, UTC.
    """

    run: str
    task: str
    trial: int
    seed: int
    attempts: int
    reward: float | None
    fault: Fault | None
    reason: str
    ending: str
    turns: int
    tool_calls: int
    tool_errors: int
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    cost_dollars: float | None
    finished: str

    @property
    def address(self) -> str:
        """What `passhat show` takes."""
        return f"{self.run}/{self.task}/{self.trial}"

    @property
    def result(self) -> str:
        """One of "passed", "failed" and "lost"."""
        if self.reward is None:
            return "lost"
        return "passed" if self.reward == 1.0 else "failed"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"address": self.address, "result": self.result} | asdict(self)


NOT_RUN = "not run yet"
"""Why a planned trial that was never tried has no grade."""


@dataclass(frozen=True)
class TrialDetails:
    """Everything kept about one trial; its transcript is unpacked when somebody reads it."""

    row: TrialRow
    verdicts: tuple[Verdict, ...]
    basis: tuple[str, ...]
    packed: bytes = field(repr=False)

    @cached_property
    def transcript(self) -> Transcript:
        """The conversation; empty if it never began."""
        from .attempt import unpack_transcript

        return unpack_transcript(self.packed)


# --- from rows ---

TRIAL_COLUMNS = tuple(f.name for f in fields(TrialRow))


def run_of(row: Row[Any], *, alive: bool) -> Run:
    """A row of the runs table; one that runs no more without having said so was interrupted."""
    status = row.status
    if status == "running" and not alive:
        status = "interrupted"
    return Run(
        id=row.id,
        name=row.name,
        created=row.created,
        status=status,
        domain=row.domain,
        agent=row.agent,
        user=row.user,
        seed=row.seed,
        trials=row.trials,
        tasks=tuple(json.loads(row.tasks)),
        synthetic=row.synthetic,
        conditions=json.loads(row.conditions),
        fingerprint=row.fingerprint,
        parts=json.loads(row.parts),
        versions=json.loads(row.versions),
        baseline=Baseline(**json.loads(row.baseline)) if row.baseline else None,
    )


def trial_row(row: Row[Any]) -> TrialRow:
    """A row of the trials table."""
    values = {name: getattr(row, name) for name in TRIAL_COLUMNS}
    values["fault"] = Fault(row.fault) if row.fault else None
    return TrialRow(**values)


def spending_of(rows: Iterable[Row[Any]]) -> dict[str, Spending]:
    """What each side spent, from rows of the spending table, or from sums of them."""
    spent: dict[str, Spending] = {}
    for row in rows:
        numbers = {name: getattr(row, name) for name in Usage.model_fields}
        tokens = {n: v if v is None else int(v) for n, v in numbers.items() if n != "cost_dollars"}
        usage = Usage(**tokens, cost_dollars=numbers["cost_dollars"])
        spent[row.side] = spent.get(row.side, Spending()) + Spending(int(row.requests), usage)
    return spent


def verdict_of(row: Row[Any]) -> Verdict:
    """A row of the verdicts table."""
    return Verdict(
        grader=row.grader,
        passed=row.passed,
        score=row.score,
        reason=row.reason,
        evidence=tuple(json.loads(row.evidence)),
    )


def trial_result(
    task: str, number: int, tried: tuple[Any, ...] | None, user_seeds: int | None = None
) -> TrialResult:
    """A planned trial for the statistics, from what was tried: (reward, fault, reason), or None."""
    if tried is None:
        return TrialResult(task, number, None, lost=NOT_RUN)
    reward, fault, reason = tried
    if reward is None:
        return TrialResult(task, number, None, lost=reason, fault=Fault(fault))
    customer = None if user_seeds is None else customer_of(number, user_seeds)
    return TrialResult(task, number, reward == 1.0, customer=customer)
