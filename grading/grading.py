"""Grading an ended episode: run the graders, decide the reward, say whose fault a failure is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..domains.database import Database
from ..domains.domain import Domain
from ..errors import Fault, FaultError, GraderError, UsageError
from ..plugins import load_callable
from ..policies.engine import Case, Finding, Rulebook, load_rules
from ..task import Task
from ..transcript import EndReason, Transcript
from .communication import NAME as COMMUNICATION
from .communication import grade_communication
from .outcome import OutcomeGrader
from .verdict import Grade, Verdict

POLICY = "policy"
ENDING = "ending"
BASES: Mapping[str, tuple[str, ...]] = {
    "default": (OutcomeGrader.name, COMMUNICATION, POLICY, ENDING),
    "tau-bench": (OutcomeGrader.name, COMMUNICATION, ENDING),
}
"""Which verdicts decide the reward. Every verdict is given and shown, whatever the basis."""

OwnGrader = Callable[[Task, Transcript, Database], Verdict]
"""A grader of your own: task, transcript and final rows in, verdict out."""


def own_grader(spec: str) -> OwnGrader:
    """The grader that ``python:module:callable`` names.

    Raises:
        UsageError: There is none, or it cannot be loaded or called with three arguments.
    """
    takes = ("the task", "the transcript", "the final rows")
    return load_callable(spec, f"grader {spec!r}", takes)


class Grading:
    """Grades the episodes of one domain; keeps what it works out about each task.

    Args:
        domain: The business.
        basis: Name of a basis in `BASES`.
        graders: Graders of your own (``python:module:callable``) that join the basis of every task,
            as those that a task lists in its ``graders`` join the basis of that task.

    Raises:
        UsageError: No such basis or grader.
    """

    def __init__(self, domain: Domain, basis: str = "default", graders: Sequence[str] = ()) -> None:
        if basis not in BASES:
            raise UsageError(f"no grading basis {basis!r}; the bases are {', '.join(BASES)}")
        self.domain = domain
        self.basis = BASES[basis]
        self.rules: Rulebook = load_rules(domain.name)
        self.outcome = OutcomeGrader(domain)
        self.graders = tuple(graders)
        self._own = {spec: own_grader(spec) for spec in self.graders}

    def check(self, task: Task) -> None:
        """Make sure a task can be graded before anyone plays it.

        Raises:
            TaskError: Its setup or its reference cannot be carried out.
            UsageError: It asks for a grader that is not there.
        """
        self.own_graders(task)
        self.outcome.accepted(task)

    def own_graders(self, task: Task) -> dict[str, OwnGrader]:
        """The graders of your own that judge a task, by the words that name them.

        Raises:
            UsageError: One of them is not there.
        """
        specs = dict.fromkeys((*self.graders, *task.graders))
        for spec in specs:
            if spec not in self._own:
                self._own[spec] = own_grader(spec)
        return {spec: self._own[spec] for spec in specs}

    def grade(self, task: Task, transcript: Transcript, db: Database) -> Grade:
        """All verdicts on an ended episode; the rows are only read, so grading twice is fine.

        A grader that crashes makes the trial lost (fault ``grader`` or ``task``), never failed.
        """
        ending = transcript.ending
        basis = (*self.basis, *dict.fromkeys((*self.graders, *task.graders)))
        if ending is None:
            raise UsageError("the episode has not ended, so there is nothing to grade yet")
        if ending.fault is not None and ending.fault is not Fault.AGENT:
            lost = Verdict(grader=ENDING, passed=False, score=0.0, reason=ending.detail)
            return Grade(reward=None, fault=ending.fault, verdicts=(lost,), basis=basis)
        try:
            verdicts = tuple(self._verdicts(task, transcript, db))
        except FaultError as error:
            crash = Verdict(grader=ENDING, passed=False, score=0.0, reason=str(error))
            return Grade(reward=None, fault=error.fault, verdicts=(crash,), basis=basis)
        passed = all(v.passed for v in verdicts if v.grader in basis)
        return Grade(
            reward=float(passed),
            fault=None if passed else Fault.AGENT,
            verdicts=verdicts,
            basis=basis,
        )

    def _verdicts(self, task: Task, transcript: Transcript, db: Database) -> list[Verdict]:
        graders: dict[str, Callable[[], Verdict]] = {
            OutcomeGrader.name: lambda: self.outcome.grade(task, db),
            COMMUNICATION: lambda: grade_communication(task, transcript),
            POLICY: lambda: self._grade_policy(task, transcript, db),
            ENDING: lambda: grade_ending(transcript),
        }
        for spec, own in self.own_graders(task).items():
            graders[spec] = partial(_own_verdict, spec, own, task, transcript, db)
        return [_guarded(name, grader) for name, grader in graders.items()]

    def _grade_policy(self, task: Task, transcript: Transcript, db: Database) -> Verdict:
        if not self.rules.rules:
            unchecked = f"not checked: no policy rules are known for {self.domain.name}"
            return Verdict(grader=POLICY, passed=True, score=1.0, reason=unchecked)
        case = Case(transcript=transcript, policy=self.domain.policy, find=db.find)
        return policy_verdict(self.rules.check(case))


def _own_verdict(
    spec: str, grader: OwnGrader, task: Task, transcript: Transcript, db: Database
) -> Verdict:
    """What it says, under the name it goes by in the basis."""
    verdict: object = grader(task, transcript, db)
    if not isinstance(verdict, Verdict):
        raise TypeError(f"it must return a Verdict, not {verdict!r:.60}")
    return verdict.model_copy(update={"grader": spec})


def _guarded(name: str, grader: Callable[[], Verdict]) -> Verdict:
    try:
        return grader()
    except FaultError:
        raise
    except (Exception, SystemExit) as error:  # a grader of your own may do anything
        raise GraderError(f"grader {name!r} crashed: {type(error).__name__}: {error}") from error


def policy_verdict(findings: list[Finding]) -> Verdict:
    """Passes if no rule was breached; violations of form are shown and cost nothing."""
    breaches = [finding for finding in findings if finding.severity == "breach"]
    reason = "; ".join(f"{f.rule}: {f.reason}" for f in breaches[:3])
    return Verdict(
        grader=POLICY,
        passed=not breaches,
        score=1 / (1 + len(breaches)),
        reason=reason or f"no rule breached ({len(findings)} of form)",
        evidence=tuple(_evidence(finding) for finding in findings),
    )


def _evidence(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "section": finding.section,
        "severity": finding.severity,
        "event": finding.event,
        "reason": finding.reason,
    }


_PROPER = {EndReason.USER_STOP, EndReason.AGENT_STOP, EndReason.HANDED_OVER}


def grade_ending(transcript: Transcript) -> Verdict:
    """Passes if the conversation came to an end of its own: not cut off, and no crash."""
    ending = transcript.ending
    passed = ending is not None and ending.reason in _PROPER
    detail = "not ended" if ending is None else f"{ending.reason}: {ending.detail}".rstrip(": ")
    return Verdict(grader=ENDING, passed=passed, score=float(passed), reason=detail)
