"""What a report says, worked out from the store one trial at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Final, NamedTuple

from ...errors import Fault, UsageError
from ...grading.grading import POLICY
from ..bill import Bill, bill_of
from ..curve import Curve, curve_of
from ..failures import Failure, failure_of
from ..records import Run, TrialDetails, TrialRow
from ..store import Store
from ..survival import Life, TurnSurvival, turn_survival

LINKED: Final = 3
"""Violations of a rule that are linked."""


class Violated(NamedTuple):
    """One place where a rule was broken."""

    row: TrialRow
    event: int
    reason: str


@dataclass
class RuleTally:
    """A rule, and how often it was broken.

    Attributes:
        findings: Violations in all.
        trials: Trials with at least one.
        failed: Those of them that failed.
        places: The first few, of failing trials before others.
    """

    rule: str
    section: str
    severity: str
    findings: int = 0
    trials: int = 0
    failed: int = 0
    places: tuple[Violated, ...] = ()

    def add(self, row: TrialRow, events: Sequence[tuple[int, str]]) -> None:
        """Count the violations of one trial."""
        self.findings += len(events)
        self.trials += 1
        self.failed += row.result == "failed"
        found = (*self.places, Violated(row, *events[0]))
        self.places = tuple(sorted(found, key=lambda v: v.row.result != "failed"))[:LINKED]


class UserLines(NamedTuple):
    """What a customer who is played by a model said, and what was kept from the agent."""

    said: int = 0
    discarded: int = 0


class Spread(NamedTuple):
    """A measure over the scored trials: of how many it is known, and what it comes to.

    Attributes:
        known: Trials that say.
        trials: Trials asked.
        total: Of those that say; None if none does. The same holds for the other three.
    """

    known: int
    trials: int
    total: float | None
    mean: float | None
    median: float | None
    most: float | None

    @property
    def complete(self) -> bool:
        """Whether every trial says."""
        return self.known == self.trials > 0


@dataclass(frozen=True)
class Measures:
    """What scored trials took.

    Attributes:
        passed: How many passed.
        seconds: By the clock, grading included.
        turns: Moves of the agent.
        tool_calls: Calls of the agent.
        tool_errors: Those answered with an error.
        input_tokens: Of the models that say.
        output_tokens: Likewise.
        cost: In dollars, likewise.
    """

    passed: int
    seconds: Spread
    turns: Spread
    tool_calls: Spread
    tool_errors: Spread
    input_tokens: Spread
    output_tokens: Spread
    cost: Spread

    @property
    def tool_error_rate(self) -> float | None:
        """Share of calls answered with an error; None if there was no call."""
        calls, errors = self.tool_calls.total, self.tool_errors.total
        return errors / calls if calls and errors is not None else None

    @property
    def cost_per_success(self) -> float | None:
        """Dollars of all scored trials for each that passed; None if one is silent, or none did."""
        if not self.cost.complete or self.cost.total is None or not self.passed:
            return None
        return self.cost.total / self.passed


@dataclass(frozen=True)
class Digest:
    """A run as the report shows it.

    Attributes:
        run: Which.
        curve: Its curve.
        rows: Every tried trial, in plan order.
        failures: Every trial that failed, with its causes.
        lost_by: Lost trials by whose fault.
        not_run: Planned trials that were not tried.
        rules: Rules that were broken, by any trial.
        survival: Over turns; None if no trial had one.
        measures: Of the scored trials.
        bill: What was spent on models, the lost attempts too.
        user_lines: Of the scored trials, if a model plays the customer.
    """

    run: Run
    curve: Curve
    rows: list[TrialRow]
    failures: list[Failure]
    lost_by: dict[Fault, int]
    not_run: int
    rules: list[RuleTally]
    survival: TurnSurvival | None
    measures: Measures
    bill: Bill
    user_lines: UserLines

    @property
    def headline(self) -> str:
        """The line to quote, or why there is none."""
        return headline_of(self.curve, self.not_run)

    @property
    def cost_per_success(self) -> float | None:
        """Dollars of all attempts for each trial that passed; None if one is silent, or none did.

        Of a run from before every attempt was written down: of the scored trials.
        """
        return cost_per_success(self.measures, self.bill)


def headline_of(curve: Curve, not_run: int) -> str:
    """A curve's headline, or why there is none.

    Args:
        curve: Of a run.
        not_run: Trials that were not tried; the curve counts them as lost.
    """
    if curve.headline:
        return curve.headline
    if curve.lost - not_run > not_run:
        return "no headline: too much was lost to quote one"
    return "no headline yet: too much is not run"


def cost_per_success(measures: Measures, bill: Bill) -> float | None:
    """Dollars of all attempts for each trial that passed; see `Digest.cost_per_success`."""
    known = measures.cost_per_success
    return bill.cost_per_success if bill and known is not None else known


def digest(store: Store, run: Run, confidence: float = 0.95) -> Digest:
    """Work a report out. Transcripts are read one by one, and none is kept.

    Raises:
        UsageError: No trial of the run is scored.
    """
    rows = store.trials(run)
    if not any(row.reward is not None for row in rows):
        raise UsageError(_nothing_scored(run, rows))
    failures: list[Failure] = []
    rules: dict[str, RuleTally] = {}
    bill = bill_of(store, run)
    lines = UserLines()
    for row in rows:
        if row.reward is None:
            continue
        details = store.trial(run, row.task, row.trial)
        _count_rules(rules, details)
        if "user" in bill.sides:
            lines = _with_lines(lines, details)
        if row.result == "failed":
            failures.append(failure_of(details))
    curve = curve_of(store.source(run), confidence=confidence)
    lost = Counter(row.fault for row in rows if row.reward is None and row.fault is not None)
    return Digest(
        run=run,
        curve=curve,
        rows=rows,
        failures=failures,
        lost_by=dict(lost.most_common()),
        not_run=run.planned - len(rows),
        rules=sorted(rules.values(), key=lambda r: (r.severity != "breach", -r.findings, r.rule)),
        survival=turn_survival(_lives(rows, failures), confidence=confidence),
        measures=measures(row for row in rows if row.reward is not None),
        bill=bill,
        user_lines=lines,
    )


def _nothing_scored(run: Run, rows: Sequence[TrialRow]) -> str:
    if not rows:
        return f"run {run.id!r} has no trial yet, so there is nothing to report: passhat resume"
    return (
        f"run {run.id!r} has no scored trial, so there is nothing to report; all {len(rows)} that "
        f"were tried are lost, e.g. {rows[0].reason}"
    )


def _count_rules(rules: dict[str, RuleTally], details: TrialDetails) -> None:
    found: dict[str, list[tuple[int, str]]] = {}
    for verdict in details.verdicts:
        for finding in verdict.evidence if verdict.grader == POLICY else ():
            if "rule" not in finding:  # of a grader of your own, by the same name
                continue
            rule = finding["rule"]
            rules.setdefault(rule, RuleTally(rule, finding["section"], finding["severity"]))
            found.setdefault(rule, []).append((finding["event"], finding["reason"]))
    for rule, events in found.items():
        rules[rule].add(details.row, events)


def _with_lines(lines: UserLines, details: TrialDetails) -> UserLines:
    said, discarded = lines
    for event in details.transcript.messages():
        if event.by == "user":
            about = event.provider if isinstance(event.provider, dict) else {}
            said, discarded = said + 1, discarded + len(about.get("discarded") or ())
    return UserLines(said, discarded)


def _lives(rows: Sequence[TrialRow], failures: Sequence[Failure]) -> Iterable[Life]:
    lost_at = {(f.row.task, f.row.trial): f.lost_at for f in failures}
    for row in rows:
        at = lost_at.get((row.task, row.trial))
        yield Life(row.task, row.turns if at is None else at, at is not None)


def measures(rows: Iterable[TrialRow]) -> Measures:
    """What these trials took; what a trial does not say is unknown, never 0."""
    scored = list(rows)

    def of(name: str) -> Spread:
        return _spread([getattr(row, name) for row in scored])

    return Measures(
        passed=sum(row.result == "passed" for row in scored),
        seconds=of("seconds"),
        turns=of("turns"),
        tool_calls=of("tool_calls"),
        tool_errors=of("tool_errors"),
        input_tokens=of("input_tokens"),
        output_tokens=of("output_tokens"),
        cost=of("cost_dollars"),
    )


def _spread(values: Sequence[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(0, len(values), None, None, None, None)
    return Spread(len(known), len(values), sum(known), mean(known), median(known), max(known))
