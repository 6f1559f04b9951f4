"""A gate: conditions that a run must meet before a change to the agent may go on.

Every condition on reliability is decided on the end of an interval, never on the value: "pass^4 at
least 0.6" means that the interval's lower end is 0.6 or more, so that a lucky run does not open the
gate. A run too small to show what is asked does not pass, and is told so. Conditions on rules are
counts, and need no interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from ..domains.domain import no_such
from ..errors import UsageError
from ..grading.grading import POLICY
from ..policies.engine import load_rules
from .attempt import load_domain_of
from .comparison import Comparison, Side, compare
from .curve import MAX_LOST, Curve, TaskTally, curve_of
from .records import Run
from .selection import select_tasks
from .sources import printable
from .store import open_store


@dataclass(frozen=True)
class Demands:
    """What a run must show.

    Attributes:
        k: Of pass^k, for ``at_least`` and ``margin``.
        at_least: Lower end of pass^k's interval, at least; None: not asked for.
        margin: How much lower than the other run's pass^k may be, where there is another run.
        rules: How many findings of a rule are allowed, by the rule's name.
        confidence: Of the two-sided intervals.
        seed: Of their bootstrap.
    """

    k: int = 1
    at_least: float | None = None
    margin: float = 0.05
    rules: Mapping[str, int] = field(default_factory=dict)
    confidence: float = 0.95
    seed: int = 0

    def check(self, *, compared: bool) -> None:
        """Refuse demands that make no sense, or none at all.

        Raises:
            UsageError: Says which, and what would be right.
        """
        if self.at_least is None and not compared and not self.rules:
            raise UsageError(
                "nothing is asked of the run; add --at-least 0.6, --no-worse-than RUN or "
                "--rule waits_for_a_yes=0"
            )
        if self.at_least is not None and not 0 < self.at_least <= 1:
            raise UsageError(f"--at-least is above 0 and up to 1, not {self.at_least!r}")
        if not 0 <= self.margin < 1:
            raise UsageError(f"--margin is 0 or more and below 1, not {self.margin!r}")


@dataclass(frozen=True)
class Condition:
    """One thing that was asked for.

    Attributes:
        asks: E.g. "pass^4 at least 0.6".
        met: Whether it holds; None if too much was lost to say.
        why: With the numbers that decided.
    """

    asks: str
    met: bool | None
    why: str

    @property
    def result(self) -> str:
        """One of "pass", "FAIL" and "LOST"."""
        return "LOST" if self.met is None else "pass" if self.met else "FAIL"


@dataclass(frozen=True)
class Gate:
    """What a run was asked, and what it showed.

    Attributes:
        name: Of the run.
        note: What must be said beside its numbers; "" if nothing.
        tags: Only tasks with one of these were looked at; empty: all.
        per_task: Their tallies.
        planned: Their trials planned.
        scored: Of those, graded.
        conditions: In the order in which they were asked for.
        warnings: Sentences a reader needs.
    """

    name: str
    note: str
    tags: tuple[str, ...]
    per_task: list[TaskTally] = field(repr=False)
    planned: int
    scored: int
    conditions: list[Condition]
    warnings: list[str]

    @property
    def decision(self) -> str:
        """One of "passed", "failed" and "lost": too much was lost to decide."""
        results = {condition.met for condition in self.conditions}
        return "lost" if None in results else "failed" if False in results else "passed"

    def summary(self) -> str:
        """The decision, in one line."""
        met = sum(condition.met is True for condition in self.conditions)
        counts = f"{met} of {len(self.conditions)} conditions met"
        if self.decision == "lost":
            return f"gate: no decision, too many trials have no grade; {counts}"
        return f"gate: {self.decision}; {counts}"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "source": self.name,
            "note": self.note,
            "decision": self.decision,
            "tags": list(self.tags),
            "tasks": len(self.per_task),
            "planned": self.planned,
            "scored": self.scored,
            "conditions": [asdict(condition) for condition in self.conditions],
            "warnings": self.warnings,
        }


# --- deciding -----------------------------------------------------------------------------------


def decide(
    side: Side,
    demands: Demands,
    *,
    other: Side | None = None,
    tags: Sequence[str] = (),
    found: Mapping[str, int] | None = None,
    anyway: bool = False,
) -> Gate:
    """Judge a run.

    Args:
        side: The run, or a results file.
        demands: What it must show.
        other: What it must not be worse than; None: nothing.
        tags: Which tasks were kept (see `tagged`), to be said beside the result.
        found: Findings by rule, from `findings`; needed if rules are asked for.
        anyway: Compare with ``other`` although it measured something else.

    Raises:
        UsageError: The demands make no sense, or the plan has too few trials for k.
    """
    demands.check(compared=other is not None)
    curve = curve_of(side.source, confidence=demands.confidence, seed=demands.seed)
    conditions = []
    warnings = curve.warnings
    if demands.at_least is not None:
        conditions.append(_at_least(curve, demands.k, demands.at_least))
    if other is not None:
        condition, more = _no_worse(side, other, curve, demands, anyway)
        conditions.append(condition)
        warnings = [*warnings, *more]
    for rule, allowed in demands.rules.items():
        conditions.append(_kept(curve, rule, allowed, (found or {}).get(rule, 0)))
    return Gate(
        name=side.source.name,
        note=side.source.note,
        tags=tuple(tags),
        per_task=curve.per_task,
        planned=curve.planned,
        scored=curve.scored,
        conditions=conditions,
        warnings=list(dict.fromkeys(warnings)),
    )


def _check_trials(curve: Curve, k: int) -> None:
    """Refuse a k that the plan never had trials for; losses are another matter.

    Raises:
        UsageError: Fewer than nine in ten tasks have k trials planned.
    """
    planned = [tally.scored + tally.lost for tally in curve.per_task]
    enough = sum(trials >= k for trials in planned)
    if enough < (1 - MAX_LOST) * len(planned):
        raise UsageError(
            f"pass^{k} needs {k} trials of each task; in {curve.name!r} {enough} of "
            f"{len(planned)} tasks have so many"
        )


def _lost(curve: Curve, k: int) -> str | None:
    """Why too much was lost to judge pass^k; None if it was not."""
    if curve.too_much_lost:
        return f"{curve.lost} of {curve.planned} trials have no grade, more than {MAX_LOST:.0%}"
    if k > curve.headline_k:
        left = curve.pass_hat[k - 1].tasks if k <= len(curve.pass_hat) else 0
        return (
            f"only {left} of {len(curve.per_task)} tasks have {k} graded trials, the others lost "
            "some"
        )
    return None


def _at_least(curve: Curve, k: int, wanted: float) -> Condition:
    asks = f"pass^{k} at least {wanted:g}"
    _check_trials(curve, k)
    if lost := _lost(curve, k):
        return Condition(asks, None, lost)
    point = curve.pass_hat[k - 1]
    if point.low is None or point.value is None:
        return Condition(asks, False, f"{point}: an interval takes two tasks or more")
    met = point.low >= wanted
    why = f"{point}: its lower end {point.low:.4f} is {'not ' if met else ''}below {wanted:g}"
    if not met and point.value >= wanted:
        why += ", though the value is not; more tasks or trials would tell (passhat power)"
    return Condition(asks, met, why)


def _no_worse(
    side: Side, other: Side, curve: Curve, demands: Demands, anyway: bool
) -> tuple[Condition, list[str]]:
    """The condition, and what else a reader must know of the comparison."""
    k, margin = demands.k, demands.margin
    asks = f"pass^{k} no worse than in {other.source.name} by more than {margin:g}"
    settings: dict[str, Any] = {"confidence": demands.confidence, "seed": demands.seed}
    of_other = curve_of(other.source, **settings)
    for each in (curve, of_other):
        _check_trials(each, k)
        if lost := _lost(each, k):
            return Condition(asks, None, f"{each.name}: {lost}"), []
    compared = compare(other, side, k=k, anyway=anyway, **settings)
    return _within(compared, asks, margin), compared.warnings


def _within(compared: Comparison, asks: str, margin: float) -> Condition:
    found = compared.differences[-1]
    low, high = found.estimate.low, found.estimate.high
    if low is None or high is None:
        return Condition(asks, False, "no interval: that takes two tasks or more")
    met = low >= -margin
    why = (
        f"{found.b:.3f} against {found.a:.3f}, difference {found.b - found.a:+.3f} "
        f"[{low:+.3f}, {high:+.3f}]: its lower end {low:+.4f} is "
        f"{'not ' if met else ''}below {-margin:+g}"
    )
    if not met and high >= -margin:
        why += ", its upper end is not; more tasks or trials would tell (passhat power)"
    return Condition(asks, met, why)


def _kept(curve: Curve, rule: str, allowed: int, found: int) -> Condition:
    asks = f"rule {rule} broken at most {allowed} times" if allowed else f"rule {rule} never broken"
    if curve.too_much_lost:
        return Condition(asks, None, f"{curve.lost} of {curve.planned} trials have no grade")
    return Condition(asks, found <= allowed, f"found {found} times in {curve.scored} trials")


# --- from a run ---------------------------------------------------------------------------------


def tagged(run: Run, tags: Sequence[str]) -> list[str]:
    """Those of a run's tasks that have one of the tags.

    Raises:
        UsageError: No such tag in the domain, or none of the run's tasks has it.
    """
    domain = load_domain_of(run.conditions["domain"])
    meant = set(select_tasks(domain, tags=tags))
    kept = [task for task in run.tasks if task in meant]
    if not kept:
        raise UsageError(f"run {run.id!r} has no task tagged {' or '.join(map(repr, tags))}")
    return kept


def findings(side: Side, store: str | Path | None = None) -> dict[str, int]:
    """How often each rule was found broken in a side's graded trials, as the store keeps it.

    Raises:
        UsageError: The side is no run, so that there are no verdicts.
    """
    if side.run is None:
        raise UsageError(f"{side.source.name!r} holds no verdicts on rules; only a run does")
    found: Counter[str] = Counter()
    with open_store(store) as opened:
        for row in side.trials:
            if row.reward is None:
                continue
            for verdict in opened.trial(side.run, row.task, row.trial).verdicts:
                if verdict.grader == POLICY:
                    found.update(str(finding.get("rule")) for finding in verdict.evidence)
    return dict(found)


def rule_limits(limits: Sequence[str], run: Run | None) -> dict[str, int]:
    """Read limits such as "waits_for_a_yes=0"; a name may be written with hyphens.

    Args:
        limits: As given.
        run: Whose domain's rules are meant.

    Raises:
        UsageError: Not of that form, no such rule, or no run, hence no rules.
    """
    if not limits:
        return {}
    if run is None:
        raise UsageError("--rule needs a run; a results file holds no verdicts on rules")
    domain = load_domain_of(run.conditions["domain"]).name
    known = [rule.name for rule in load_rules(domain).rules]
    read = {}
    for limit in limits:
        name, _, count = limit.partition("=")
        name = name.strip().replace("-", "_")
        if not count.strip().isdecimal():
            raise UsageError(f"a rule's limit reads waits_for_a_yes=0, not {limit!r}")
        if name not in known:
            raise UsageError(no_such("rule", name, known, f"policies/{domain}.py"))
        read[name] = int(count)
    return read


# --- reports for machines -----------------------------------------------------------------------


def junit(gate: Gate) -> str:
    """The gate as JUnit XML, which CI systems show as tests.

    One suite holds the conditions, which pass, fail or (too much lost) end in an error. A second
    one lists the tasks with their counts, for reading; a task never fails, because a gate is about
    all of them together, and one without graded trials is skipped.

    Source: the elements that common readers agree on, https://github.com/testmoapp/junitxml.
    """
    root = ElementTree.Element("testsuites", name=_clean(f"passhat gate {gate.name}"))
    conditions = ElementTree.SubElement(root, "testsuite", name="conditions")
    for condition in gate.conditions:
        case = _case(conditions, "passhat.gate", condition.asks)
        if condition.met is None:
            ElementTree.SubElement(case, "error", message=_clean(condition.why))
        elif not condition.met:
            ElementTree.SubElement(case, "failure", message=_clean(condition.why))
        else:
            ElementTree.SubElement(case, "system-out").text = _clean(condition.why)
    tasks = ElementTree.SubElement(root, "testsuite", name="tasks")
    for tally in gate.per_task:
        case = _case(tasks, "passhat.tasks", tally.task)
        if tally.scored:
            counts = f"passed {tally.passed} of {tally.scored} trials, {tally.lost} lost"
            ElementTree.SubElement(case, "system-out").text = counts
        else:
            ElementTree.SubElement(case, "skipped", message="no trial was graded")
    for suite in (conditions, tasks):
        suite.set("tests", str(len(suite)))
        for attribute, element in _COUNTED.items():
            suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_COUNTED: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=group, name=_clean(name), time="0")


def _clean(text: str) -> str:
    """Without characters that XML 1.0 has no way to write."""
    return printable(text)


def markdown(gate: Gate) -> str:
    """The gate as a section of Markdown, for the summary page of a CI job."""
    about = f"{len(gate.per_task)} tasks, {gate.scored} of {gate.planned} trials graded"
    if gate.tags:
        about += f", tags: {', '.join(gate.tags)}"
    lines = [
        f"## {_text(gate.name)}: {gate.decision}",
        "",
        _text(f"{about}{f'; {gate.note}' if gate.note else ''}"),
        "",
        "| | condition | why |",
        "|---|---|---|",
        *(f"| {c.result} | {_text(c.asks)} | {_text(c.why)} |" for c in gate.conditions),
    ]
    never = [tally.task for tally in gate.per_task if tally.scored and not tally.passed]
    if never:
        lines += ["", f"Never passed: {', '.join(map(_text, never))}"]
    lines += [line for warning in gate.warnings for line in ("", f"Warning: {_text(warning)}")]
    return "\n".join(lines) + "\n"


_MARKED: Final = str.maketrans({char: f"\\{char}" for char in "\\`*_[]|~#"})


def _text(text: str) -> str:
    """Text that Markdown shows as it stands, also in a table."""
    return escape(printable(text).translate(_MARKED), quote=False)
