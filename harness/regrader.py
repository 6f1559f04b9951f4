"""Carrying out one recorded conversation again, in our environment, and grading it again.

Every recorded call is made on rows of our own, with tools that behave as the benchmark's; what
comes back is compared with what was recorded. The rows at the end are compared with those that the
task's reference calls leave, and the grade that follows from it with the recorded one.

A lost run stays lost. Nothing here calls a model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..domains.documents import ABSENT, parsed, value_differences
from ..domains.packs import BenchmarkTask, Pack
from ..errors import UsageError
from ..language import says
from ..recordings.benchmark_runs import RecordedRun
from ..results import TrialResult
from ..transcript import RowChange

BASES: Final = ("tau-bench", "default")


@dataclass
class Tally:
    """How many of how many came out equal."""

    equal: int = 0
    total: int = 0

    def count(self, equal: bool) -> None:
        """One more."""
        self.equal += equal
        self.total += 1

    def __str__(self) -> str:
        return f"{self.equal:,} of {self.total:,} equal"

    def to_json(self) -> dict[str, int]:
        """As plain JSON values."""
        return {"equal": self.equal, "total": self.total}


@dataclass(frozen=True)
class Regraded:
    """One run, carried out and graded again.

    Attributes:
        before: What the recording says.
        after: What we say.
        reward: The recorded reward; None if there is none.
        outputs: How many outputs came out as recorded.
        hash_equal: Whether the hash of the right end state is the recorded one; None if there is
            none recorded.
        differences: What did not come out as recorded, each with what explains it.
        because: What is not as it should be: rows that differ, facts that were not told.
        passes_by: Whether it passes under each rule the benchmark had; see `RULES`.
    """

    before: TrialResult
    after: TrialResult
    reward: float | None = None
    outputs: Tally = field(default_factory=Tally)
    hash_equal: bool | None = None
    differences: tuple[dict[str, Any], ...] = ()
    because: tuple[str, ...] = ()
    passes_by: tuple[bool, ...] = ()

    @property
    def why(self) -> tuple[str, ...]:
        """Why it does not pass now, or why it is lost; empty for a pass."""
        if self.after.passed is None:
            return (self.after.lost or "no reason recorded",)
        return () if self.after.passed else self.because


class Regrader:
    """Grades runs again in one pack; keeps what each reference leaves.

    Args:
        pack: The world, the tools, and the tasks for recordings that only name theirs.
        basis: One of `BASES`.

    Raises:
        UsageError: No such basis.
    """

    def __init__(self, pack: Pack, basis: str = "tau-bench") -> None:
        if basis not in BASES:
            raise UsageError(f"no grading basis {basis!r}; the bases are {', '.join(BASES)}")
        self.pack = pack
        self.basis = basis
        self.left_out: Counter[str] = Counter()
        self._references: dict[str, tuple[RowChange, ...]] = {}
        self._hashes: dict[str, str] = {}

    def regrade(self, run: RecordedRun) -> Regraded:
        """One run, carried out and graded again; a lost one stays lost."""
        never_graded = run.result.passed is None and bool(run.calls or run.said)
        if run.result.passed is None and not never_graded:
            return Regraded(run.result, run.result)
        task = run.task or self.pack.benchmark_tasks.get(run.result.task)
        if task is None:
            reason = f"{self.pack.name} has no task {run.result.task!r}"
            return Regraded(run.result, run.result._replace(passed=None, lost=reason))
        outputs = Tally()
        differences: list[dict[str, Any]] = []
        found = self._carry_out(run, outputs, differences)
        hash_equal = self._compare_hash(run, task, differences)
        return self._graded(run, task, found, outputs, hash_equal, differences)

    def _carry_out(
        self, run: RecordedRun, outputs: Tally, differences: list[dict[str, Any]]
    ) -> tuple[RowChange, ...]:
        """Make the recorded calls; net changes of rows, and outputs compared on the way."""
        with self.pack.world.fork() as db:
            for number, call in enumerate(run.calls, start=1):
                now = self.pack.call(db, call.name, call.arguments).content
                if call.output is None:
                    continue
                outputs.count(now == call.output)
                if now != call.output:
                    about = {
                        "call": number,
                        "message": call.message,
                        "tool": call.name,
                        "where": where_different(call.output, now),
                    }
                    differences.append(_difference(run, "output", call.output, now) | about)
            return db.changes()

    def _compare_hash(
        self, run: RecordedRun, task: BenchmarkTask, differences: list[dict[str, Any]]
    ) -> bool | None:
        if run.state_hash is None:
            return None
        key = _key(task)
        if key not in self._hashes:
            self._hashes[key] = self.pack.state_hash.of(self.reference(task))
        now = self._hashes[key]
        if now != run.state_hash:
            differences.append(_difference(run, "state hash", run.state_hash, now))
        return now == run.state_hash

    def reference(self, task: BenchmarkTask) -> tuple[RowChange, ...]:
        """The net changes that a task's reference calls make; refused ones make none."""
        key = _key(task)
        if key not in self._references:
            with self.pack.world.fork() as db:
                for action in task.actions or ():
                    known = self.pack.tools.get(action.name)
                    if known is not None and not known.hands_over:
                        known.run(db, action.arguments)
                self._references[key] = db.changes()
        return self._references[key]

    def _graded(
        self,
        run: RecordedRun,
        task: BenchmarkTask,
        found: tuple[RowChange, ...],
        outputs: Tally,
        hash_equal: bool | None,
        differences: list[dict[str, Any]],
    ) -> Regraded:
        exact, basis = self.basis == "tau-bench", self._components(run, task)
        compared = task.actions is not None and "DB" in basis
        wrong = _row_differences(self.reference(task), found, exact) if compared else []
        facts = task.tell if "COMMUNICATE" in basis else ()
        untold = [fact for fact in facts if not self._told(fact, run.said)]
        because = [*wrong, *(f"the customer was not told {fact!r}" for fact in untold)]
        if not run.ended:
            because.insert(0, "the conversation was cut off")
        rows, told = not wrong, not untold
        passes: tuple[bool, ...]
        if self.basis == "default":
            passes = (rows and told,)
        elif self.pack.benchmark.name == "tau-bench":
            passes = (rows and told, told if task.tell else rows)
        else:
            passes = (self._others_pass(run, basis, because) and rows and told,)
        passes = tuple(run.ended and passed for passed in passes)
        return Regraded(
            before=run.result,
            after=run.result._replace(passed=passes[0], lost=None, fault=None),
            reward=run.reward,
            outputs=outputs,
            hash_equal=hash_equal,
            differences=tuple(differences),
            because=tuple(because),
            passes_by=passes,
        )

    def _told(self, fact: str, said: Sequence[str]) -> bool:
        if self.basis == "default":
            return any(says(text, fact) for text in said)
        return any(fact.lower() in text.lower().replace(",", "") for text in said)

    def _components(self, run: RecordedRun, task: BenchmarkTask) -> Sequence[str]:
        """What decides, in tau2's words; tau-bench and our own rule look at rows and words."""
        if self.basis == "default" or self.pack.benchmark.name == "tau-bench":
            return _WORKED_OUT
        return run.basis or task.basis

    def _others_pass(self, run: RecordedRun, basis: Sequence[str], because: list[str]) -> bool:
        """Whether the components pass that are not worked out here, as far as it is recorded."""
        passes = True
        for component in basis:
            if component in _WORKED_OUT:
                continue
            if component not in run.components:
                self.left_out[f"{component} is not checked"] += 1
                continue
            self.left_out[f"{component} is taken from the recording"] += 1
            if run.components[component] < 1:
                because.append(f"{component} as recorded")
                passes = False
        return passes


_WORKED_OUT: Final = ("DB", "COMMUNICATE")


def _key(task: BenchmarkTask) -> str:
    return json.dumps([action.model_dump() for action in task.actions or ()])


def _difference(run: RecordedRun, kind: str, recorded: Any, now: Any) -> dict[str, Any]:
    return {
        "task": run.result.task,
        "trial": run.result.trial,
        "kind": kind,
        "recorded": recorded,
        "now": now,
    }


def where_different(recorded: str, now: str) -> list[str]:
    """Where two outputs differ: paths if both are JSON, else the place in the text.

    >>> where_different('{"a": {"b": 1}}', '{"a": {"b": 2}}')
    ['.a.b: recorded 1, now 2']
    """
    try:
        values = json.loads(recorded), json.loads(now)
    except (ValueError, RecursionError):
        pairs = enumerate(zip(recorded, now, strict=False))
        place = next((i for i, (a, b) in pairs if a != b), min(len(recorded), len(now)))
        start = max(0, place - 20)
        sides = (_shown(text[start : start + 80]) for text in (recorded, now))
        return ["from character {}: recorded {}, now {}".format(place, *sides)]
    lines = [
        f"{path or 'all'}: recorded {_shown(before)}, now {_shown(after)}"
        for path, before, after in value_differences(*values, exact=True)
    ]
    return lines or ["only spaces, order of keys or spelling of numbers"]


def _row_differences(
    expected: Iterable[RowChange], found: Iterable[RowChange], exact: bool
) -> list[str]:
    """Where two sets of net changes end differently, value by value."""
    wanted, got = ({(c.table, c.key[0]): c for c in side} for side in (expected, found))
    lines = []
    for table, key in dict.fromkeys((*wanted, *got)):
        want, have = wanted.get((table, key)), got.get((table, key))
        # A document touched on one side only is, on the other, what it was before.
        before = want.before if want is not None else have.before if have is not None else None
        sides = (_document(change.after if change else before) for change in (want, have))
        for difference in value_differences(*sides, exact=exact, path=f"{table}[{key}]"):
            path, right, wrong = difference
            lines.append(f"{path}: expected {_shown(right)}, found {_shown(wrong)}")
    return lines


def _document(row: dict[str, Any] | None) -> Any:
    return ABSENT if row is None else parsed(row["document"])


def _shown(value: Any, width: int = 160) -> str:
    text = repr(value)
    return text if len(text) <= width else f"{text[: width - 3]}..."
