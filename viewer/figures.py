"""The figures of a run: what `harness.report` works out, from rows and the index instead."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from ..errors import Fault, UsageError
from ..harness.curve import Curve, curve_of
from ..harness.failures import CategoryRow, Failure, Mast, by_category, by_mast
from ..harness.records import Run, TrialRow, trial_result
from ..harness.report.digest import Measures, RuleTally, headline_of, measures
from ..harness.survival import Life, TurnSurvival, turn_survival
from ..results import Source
from .index import Found, Index
from .queries import Kept, Key, Light, Queries, Stamp

MOST_K: Final = 32
"""The curve ends here: further out it says little, and takes long."""


@dataclass(frozen=True)
class Figures:
    """What the rows of a run say.

    Attributes:
        curve: None if nothing is scored.
        why_none: Why there is no curve; "" if there is one.
        lost_by: Lost trials by whose fault.
        not_run: Planned trials that were not tried.
        measures: Of the scored trials.
        seconds: What it took to work out.
    """

    curve: Curve | None
    why_none: str
    lost_by: dict[Fault, int]
    not_run: int
    measures: Measures
    seconds: float

    @property
    def headline(self) -> str:
        """The line to quote, or why there is none."""
        return headline_of(self.curve, self.not_run) if self.curve else self.why_none


@dataclass(frozen=True)
class Causes:
    """What the transcripts of a run say.

    Attributes:
        failures: Trials that failed, as far as they are read.
        categories: Those by category.
        mast: Those by class of MAST.
        rules: Rules that were broken, by any trial.
        survival: Over turns; None if no trial had one.
        done: Trials that are read.
        trials: Trials that were tried.
        seconds: What it took to work out.
    """

    failures: int
    categories: list[CategoryRow]
    mast: dict[Mast | None, int]
    rules: list[RuleTally]
    survival: TurnSurvival | None
    done: int
    trials: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every trial that was tried is read."""
        return self.done >= self.trials


class Desk:
    """Works figures out, and keeps them until trials are added.

    Args:
        queries: On the store.
        index: Of it.
    """

    def __init__(self, queries: Queries, index: Index) -> None:
        self._queries = queries
        self._index = index
        self._kept = Kept(64)
        self._rows_kept = Kept(2)

    def figures(self, run: Run) -> Figures:
        """What the rows say."""
        stamp = self._queries.stamp(run.id)
        return self._kept.get(("figures", run.id), stamp, lambda: self._figures(run))

    def ready(self, run: Run) -> bool:
        """Whether `figures` and `causes` are there without working."""
        stamp = self._queries.stamp(run.id)
        return self._kept.has(("figures", run.id), stamp) and self._kept.has(
            ("causes", run.id), (stamp, self._index.done(run.id))
        )

    def causes(self, run: Run) -> Causes:
        """What the transcripts say, as far as they are read."""
        stamp, done = self._queries.stamp(run.id), self._index.done(run.id)
        return self._kept.get(
            ("causes", run.id), (stamp, done), lambda: self._causes(run, stamp, done)
        )

    def findings(self, run: Run, rule: str) -> list[Found]:
        """Where a rule was broken, in plan order."""
        places = {task: place for place, task in enumerate(run.tasks)}
        found = (one for one in self._index.broken(run.id, rule) if one.task in places)
        return sorted(found, key=lambda one: (places[one.task], one.trial, one.event))

    def _rows(self, run: Run) -> list[Light]:
        stamp = self._queries.stamp(run.id)
        return self._rows_kept.get(run.id, stamp, lambda: self._queries.light(run))

    def _source(self, run: Run, rows: list[Light]) -> Source:
        """What `Store.source` gives, from rows that are here already."""
        tried = {(row.task, row.trial): (row.reward, row.fault) for row in rows}
        lost = self._queries.lost(run.id)
        results = []
        for task in run.tasks:
            for number in range(1, run.trials + 1):
                key = (task, number)
                known = (*tried[key], lost.get(key, "")) if key in tried else None
                results.append(trial_result(task, number, known))
        return Source(run.name or run.id, results, run.note)

    def _figures(self, run: Run) -> Figures:
        started = time.perf_counter()
        rows = self._rows(run)
        scored = [row for row in rows if row.reward is not None]
        curve, why = None, ""
        if scored:
            most = min(run.trials, MOST_K)
            try:
                curve = curve_of(self._source(run, rows), max_k=most)
            except UsageError as error:  # trials were lost meanwhile
                why = str(error)
        else:
            why = "no trial is scored yet" if not rows else "every trial that was tried is lost"
        lost = Counter(Fault(row.fault) for row in rows if row.reward is None and row.fault)
        return Figures(
            curve=curve,
            why_none=why,
            lost_by=dict(lost.most_common()),
            not_run=run.planned - len(rows),
            measures=measures(cast("list[TrialRow]", scored)),
            seconds=time.perf_counter() - started,
        )

    def _causes(self, run: Run, stamp: Stamp, done: int) -> Causes:
        started = time.perf_counter()
        rows = self._rows(run)
        by_key = {(row.task, row.trial): row for row in rows}
        failures = [
            Failure(cast("TrialRow", by_key[key]), causes)
            for key, causes in self._index.causes(run.id).items()
            if key in by_key and by_key[key].result == "failed"
        ]
        order = {key: place for place, key in enumerate(by_key)}
        failures.sort(key=lambda failure: order[failure.row.task, failure.row.trial])
        return Causes(
            failures=len(failures),
            categories=by_category(failures),
            mast=by_mast(failures),
            rules=_rules(self._index.findings(run.id), by_key),
            survival=turn_survival(_lives(rows, failures)) if done >= stamp.trials else None,
            done=done,
            trials=stamp.trials,
            seconds=time.perf_counter() - started,
        )


def _rules(findings: list[Found], rows: Mapping[Key, Light]) -> list[RuleTally]:
    tallies: dict[str, RuleTally] = {}
    events: dict[tuple[str, str, int], list[tuple[int, str]]] = {}
    for found in findings:
        if (found.task, found.trial) in rows:
            tallies.setdefault(found.rule, RuleTally(found.rule, found.section, found.severity))
            key = (found.rule, found.task, found.trial)
            events.setdefault(key, []).append((found.event, found.reason))
    for (rule, task, trial), broken in events.items():
        tallies[rule].add(cast("TrialRow", rows[task, trial]), broken)
    return sorted(tallies.values(), key=lambda r: (r.severity != "breach", -r.findings, r.rule))


def _lives(rows: list[Light], failures: list[Failure]) -> list[Life]:
    lost_at = {(f.row.task, f.row.trial): f.lost_at for f in failures}
    lives = []
    for row in rows:
        at = lost_at.get((row.task, row.trial))
        lives.append(Life(row.task, row.turns if at is None else at, at is not None))
    return lives
