"""Trials lost through the simulated customer, by what it did wrong."""

from passhat.errors import Fault
from passhat.harness.curve import curve_of
from passhat.results import Source, TrialResult
from passhat.simulator.contract import Problem, ProblemKind


def _lost(number: int, reason: str) -> TrialResult:
    return TrialResult("a", number, None, lost=reason, fault=Fault.SIMULATOR)


def test_lost_trials_are_counted_by_kind_of_problem() -> None:
    """Two invented facts are one kind, whatever they were; other losses are none of these."""
    results = [
        TrialResult("a", 1, passed=True),
        _lost(2, Problem(ProblemKind.INVENTED, " '#w1': it is in no script")),
        _lost(3, "invented '#w2': it is in no script (no line that may be said in 3 tries)"),
        _lost(4, Problem(ProblemKind.PREMATURE, ": ended as if all goals were met")),
        _lost(5, "the conversation no longer fits into the customer's model"),
    ]
    curve = curve_of(Source("run", results))
    assert curve.simulator_problems == {"invented": 2, "premature": 1}
    assert curve.to_json()["simulator_problems"] == curve.simulator_problems
