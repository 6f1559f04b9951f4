"""Grading a whole recording again: in which pack, by which rule, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ..domains.packs import Pack, knows, toolset_of
from ..errors import UsageError
from ..recordings.benchmark_files import read_recording
from ..recordings.benchmark_runs import RecordedRun, Recording
from ..results import Source
from .curve import Curve, curve_of
from .regrader import BASES, Regraded, Regrader, Tally
from .shelf import Shelf

PEEKED: Final = 20
"""Runs looked at to recognise the domain, and to choose among packs of the same one."""

ENOUGH: Final = 10
"""Outputs from which on it can be told that a recording comes from another world."""

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
        return _outputs(self.runs)

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
            "warnings": after["warnings"],
            "differences": self.differences,
            "trials": [_trial_json(run) for run in self.runs],
        }


_SIDES: Final = ("before", "after")


def _outputs(runs: Iterable[Regraded]) -> Tally:
    tallies = [run.outputs for run in runs]
    return Tally(sum(tally.equal for tally in tallies), sum(tally.total for tally in tallies))


def _trial_json(run: Regraded) -> dict[str, Any]:
    return {
        "task": run.after.task,
        "trial": run.after.trial,
        "recorded": run.before.passed,
        "regraded": run.after.passed,
        "because": list(run.why),
    }


def regrade(path: Path, packs: Shelf, domain: str | None = None, basis: str = BASES[0]) -> Regrade:
    """Carry out and grade again everything that a file, or a folder, of results holds.

    Args:
        path: The results.
        packs: Where worlds are.
        domain: A domain (``airline``) or a pack (``airline@tau-bench``), if it must not be guessed.
        basis: One of `BASES`.

    Raises:
        UsageError: No such basis, no results, no pack for them, or the pack is of another world,
            so that any grade would be a wrong one; one line.
    """
    recording = read_recording(path)
    runs = iter(recording.runs)
    first = list(islice(runs, PEEKED))
    pack = _choose(recording, first, packs, domain)
    regrader = Regrader(pack, basis)
    regraded = [regrader.regrade(run) for run in first]
    if domain != pack.name:
        _check_world(recording.name, pack.name, regraded)
    regraded += map(regrader.regrade, runs)
    rule, regraded, notes = _settle_rule(regrader, regraded)
    notes += [f"{what} in {count} runs" for what, count in regrader.left_out.items()]
    if basis == "default":
        notes.append("policy rules are not checked: they read this project's own tables")
    return Regrade(recording.name, pack.name, basis, rule, list(map(_explained, regraded)), notes)


def _check_world(name: str, pack: str, first: Iterable[Regraded]) -> None:
    """Refuse a pack in which most of the first outputs come out different."""
    outputs = _outputs(first)
    if outputs.total >= ENOUGH and outputs.equal < outputs.total / 2:
        raise UsageError(
            f"{name!r} was not recorded in the world of {pack}: only {outputs.equal} of its "
            f"first {outputs.total} tool outputs come out equal; name other packs with --packs, or "
            f"insist with --domain {pack}"
        )


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
