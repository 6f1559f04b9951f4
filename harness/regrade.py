"""Carrying out recorded conversations again, in our environment, and grading them again.

Every recorded call is made on rows of our own, with tools that behave as the benchmark's; what
comes back is compared with what was recorded. The rows at the end are compared with those that the
task's reference calls leave, and the grade that follows from it with the recorded one.

A lost run stays lost. Nothing here calls a model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from ..domains.documents import ABSENT, parsed, value_differences
from ..domains.packs import BenchmarkTask, Pack, knows, toolset_of
from ..errors import UsageError
from ..language import says
from ..recordings.benchmark_files import read_recording
from ..recordings.benchmark_runs import RecordedRun, Recording
from ..results import Source, TrialResult
from ..transcript import RowChange
from .curve import Curve, curve_of
from .shelf import Shelf

BASES: Final = ("tau-bench", "default")
PEEKED: Final = 20
"""Runs looked at to recognise the domain, and to choose among packs of the same one."""


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


RULES: Final = (
    "the rows must be right, and what had to be told must have been told",
    "where something had to be told only that was checked, otherwise only the rows",
)
"""How tau-bench decided: now, and before its commit 67e6b12 (recordings do not say which)."""


@dataclass(frozen=True)
class Regrade:
    """A whole recording, graded again.

    Attributes:
        name: Of the recording.
        pack: Name of the pack it was carried out in.
        basis: "tau-bench" (the benchmark's own rule) or "default" (ours).
        rule: The rule in words.
        runs: Every run, lost ones included.
        notes: What a reader must know.
    """

    name: str
    pack: str
    basis: str
    rule: str
    runs: Sequence[Regraded] = field(repr=False)
    notes: Sequence[str] = ()

    @property
    def outputs(self) -> Tally:
        """Tool outputs that came out as recorded."""
        return Tally(
            sum(run.outputs.equal for run in self.runs), sum(run.outputs.total for run in self.runs)
        )

    @property
    def state_hashes(self) -> Tally:
        """Hashes of the right end state that came out as recorded."""
        known = [run.hash_equal for run in self.runs if run.hash_equal is not None]
        return Tally(sum(known), len(known))

    @property
    def rewards(self) -> Tally:
        """Recorded rewards that came out equal."""
        tally = Tally()
        for run in self.runs:
            if run.reward is not None and run.after.passed is not None:
                tally.count(abs(run.reward - run.after.passed) <= 1e-6)
        return tally

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Everything that did not come out as recorded."""
        return [difference for run in self.runs for difference in run.differences]

    def curves(self) -> tuple[Curve, Curve]:
        """The curve as recorded, and the one from the new grades."""
        recorded, regraded = ([getattr(run, side) for run in self.runs] for side in _SIDES)
        return (
            curve_of(Source(f"{self.name}, as recorded", recorded)),
            curve_of(Source(f"{self.name}, graded again", regraded)),
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        before, after = (curve.to_json() for curve in self.curves())
        return {
            "source": self.name,
            "pack": self.pack,
            "basis": self.basis,
            "rule": self.rule,
            "notes": list(self.notes),
            "outputs": self.outputs.to_json(),
            "state_hashes": self.state_hashes.to_json(),
            "rewards": self.rewards.to_json(),
            "pass_hat": after["pass_hat"],
            "recorded_pass_hat": before["pass_hat"],
            "planned": after["planned"],
            "scored": after["scored"],
            "lost": after["lost"],
            "lost_because": after["lost_because"],
            "differences": self.differences,
            "trials": [_trial_json(run) for run in self.runs],
        }


_SIDES: Final = ("before", "after")


def _trial_json(run: Regraded) -> dict[str, Any]:
    return {
        "task": run.after.task,
        "trial": run.after.trial,
        "recorded": run.before.passed,
        "regraded": run.after.passed,
        "because": list(run.why),
    }


# --- one run ------------------------------------------------------------------------------------


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
                        "where": _where(call.output, now),
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


def _where(recorded: str, now: str) -> list[str]:
    """Where two outputs differ: paths if both are JSON, else the place in the text."""
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


# --- a whole recording --------------------------------------------------------------------------


def regrade(path: Path, packs: Shelf, domain: str | None = None, basis: str = BASES[0]) -> Regrade:
    """Carry out and grade again everything that a file, or a folder, of results holds.

    Args:
        path: The results.
        packs: Where worlds are.
        domain: A domain (``airline``) or a pack (``airline@tau-bench``), if it must not be guessed.
        basis: One of `BASES`.

    Raises:
        UsageError: No such basis, no results, or no pack for them; one line.
    """
    recording = read_recording(path)
    runs = iter(recording.runs)
    first = list(islice(runs, PEEKED))
    pack = _choose(recording, first, packs, domain)
    regrader = Regrader(pack, basis)
    regraded = [regrader.regrade(run) for run in chain(first, runs)]
    rule, regraded, notes = _settle_rule(regrader, regraded)
    notes += [f"{what} in {count} runs" for what, count in regrader.left_out.items()]
    if basis == "default":
        notes.append("policy rules are not checked: they read this project's own tables")
    return Regrade(recording.name, pack.name, basis, rule, list(map(_explained, regraded)), notes)


def _settle_rule(regrader: Regrader, runs: list[Regraded]) -> tuple[str, list[Regraded], list[str]]:
    """The rule in words, the runs graded by it, and notes.

    Of tau-bench's two rules it is the one under which more recorded rewards come out equal, and
    the present one unless the other does better.
    """
    if regrader.basis == "default":
        return "the rows must be right (25 is 25.0), and every fact must have been told", runs, []
    if regrader.pack.benchmark.name != "tau-bench":
        return "the components that the recording names must all be met", runs, []
    graded = [run for run in runs if run.reward is not None and run.passes_by]
    agreeing = [
        sum(run.passes_by[rule] == run.reward for run in graded) for rule in range(len(RULES))
    ]
    best = agreeing.index(max(agreeing))
    notes = [
        f"under tau-bench's present rule {agreeing[0]} of {len(graded)} rewards would be equal"
    ]
    return RULES[best], [_under(run, best) for run in runs], notes if best else []


def _under(run: Regraded, rule: int) -> Regraded:
    if not run.passes_by:
        return run
    return replace(run, after=run.after._replace(passed=run.passes_by[rule]))


def _explained(run: Regraded) -> Regraded:
    """A run whose grade differs carries that as a difference, with the reasons."""
    if run.reward is None or run.after.passed is None:
        return run
    if abs(run.reward - run.after.passed) <= 1e-6:
        return run
    difference = {
        "task": run.after.task,
        "trial": run.after.trial,
        "kind": "reward",
        "recorded": run.reward,
        "now": float(run.after.passed),
        "because": list(run.because),
    }
    return replace(run, differences=(*run.differences, difference))


def _choose(
    recording: Recording, first: Sequence[RecordedRun], packs: Shelf, domain: str | None
) -> Pack:
    """The pack to carry a recording out in."""
    fitting = packs.names(recording.benchmark)
    wanted = domain or recording.domain
    if "@" in wanted:
        fitting = [name for name in packs.names() if name == wanted]
    else:
        business = wanted or _recognised(recording.benchmark, first, packs)
        fitting = [name for name in fitting if name.partition("@")[0] == business]
        wanted = f"{business}@{recording.benchmark}"
    if not fitting and not knows(wanted.partition("@")[0], recording.benchmark):
        raise UsageError(
            f"{recording.name!r} is of domain {wanted.partition('@')[0]!r}, whose tools in "
            f"{recording.benchmark} nobody here knows"
        )
    if not fitting:
        there = ", ".join(packs.names()) or "none"
        raise UsageError(
            f"{recording.name!r} needs pack {wanted!r}, and {str(packs.where)!r} has {there}; "
            f"passhat import {recording.benchmark} CLONE makes it"
        )
    opened = [packs.open(name) for name in fitting]
    if len(opened) == 1:
        return opened[0]
    return max(opened, key=lambda pack: _agreement(pack, first))


def _recognised(benchmark: str, first: Sequence[RecordedRun], packs: Shelf) -> str:
    """The business whose tools a recording's calls name, or else whose policy it holds."""
    names = packs.names(benchmark)
    businesses = sorted({name.partition("@")[0] for name in names})
    tools = {business: set(toolset_of(business, benchmark).tools) for business in businesses}
    called = {call.name for run in first for call in run.calls}
    called |= {a.name for run in first if run.task for a in run.task.actions or ()}
    votes = {business: len(called & tools[business]) for business in businesses}
    if best := _only_best(votes):
        return best
    held = {name.partition("@")[0]: _holds_policy(packs.open(name), first) for name in names}
    if best := _only_best(held):
        return best
    raise UsageError("cannot tell the domain of these results; name it with --domain")


def _only_best(fits: Mapping[str, int]) -> str | None:
    """The one that fits best; None if nothing fits, or several do alike."""
    best = [name for name, fit in fits.items() if fit and fit == max(fits.values())]
    return best[0] if len(best) == 1 else None


def _holds_policy(pack: Pack, runs: Iterable[RecordedRun]) -> int:
    return sum(pack.policy.strip() in run.policy for run in runs)


def _agreement(pack: Pack, first: Iterable[RecordedRun]) -> int:
    """How many outputs and hashes of some runs a pack reproduces."""
    regrader = Regrader(pack)
    runs = [regrader.regrade(run) for run in first]
    return sum(run.outputs.equal + bool(run.hash_equal) for run in runs)
