"""Runs with results as wanted, written to a real store as the harness writes them."""

from collections.abc import Mapping, Sequence

from passhat.errors import Fault
from passhat.grading.verdict import Verdict
from passhat.harness.records import Run
from passhat.harness.store import Store
from passhat.harness.trials import FinishedTrial, lost_trial, trial_of
from passhat.results import Source, TrialResult

PARTS = {"tasks": "t1", "world": "w1", "policy": "p1", "user": "agenda"}


def source(name: str, rows: Mapping[str, str]) -> Source:
    """Trials written as marks, one a trial: + passed, - failed, ? lost."""
    results = [
        TrialResult(task, number, {"+": True, "-": False}.get(mark), None if mark != "?" else "no")
        for task, marks in rows.items()
        for number, mark in enumerate(marks, 1)
    ]
    return Source(name, results)


def stored_run(
    store: Store,
    name: str,
    rows: Mapping[str, str],
    *,
    parts: Mapping[str, str] = PARTS,
    agent: str = "mine",
    findings: Sequence[str] = (),
    domain: str = "retail",
    seconds: float = 1.0,
) -> Run:
    """A run whose trials went as the marks say; every graded trial has these findings."""
    trials = max(map(len, rows.values()))
    run = store.new_run(
        domain=domain.partition(":")[0],
        agent=agent,
        user="agenda",
        seed=1,
        trials=trials,
        tasks=list(rows),
        name=name,
        conditions={"domain": domain, "agent": agent},
        parts={**parts, "agent": agent},
    )
    verdict = Verdict(
        grader="policy",
        passed=not findings,
        score=float(not findings),
        reason="",
        evidence=tuple({"rule": rule, "event": 0} for rule in findings),
    )
    for task, marks in rows.items():
        for number, mark in enumerate(marks, 1):
            trial = trial_of(run.seed, run.domain, task, number)
            if mark == "?":
                store.record(run, lost_trial(trial, Fault.INFRASTRUCTURE, "the provider is down"))
                continue
            passed = mark == "+"
            fault = None if passed else Fault.AGENT
            store.record(
                run,
                FinishedTrial(
                    trial, float(passed), fault, "", turns=number, seconds=seconds,
                    verdicts=(verdict,), basis=("policy",),
                ),
            )  # fmt: skip
    store.release(run, "finished")
    return run
