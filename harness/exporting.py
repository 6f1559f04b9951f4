"""A run in the store as a results file of another benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..grading.communication import NAME as COMMUNICATION
from ..grading.outcome import OutcomeGrader
from ..recordings.export_tau2 import RunFacts, export_tau2
from ..recordings.export_taubench import export_tau_bench
from ..recordings.exported import ExportedTrial
from .attempt import load_domain_of
from .records import Run, TrialDetails
from .store import Store

FORMATS: Final = ("tau-bench", "tau2")


def export_run(store: Store, run: Run, format_name: str, file: Path) -> tuple[int, int]:
    """Write a run's graded trials to a file.

    Lost trials are left out: those formats know no loss, and would count a failure.

    Returns:
        How many trials were written, and how many planned ones were left out.

    Raises:
        UsageError: No such format, a task that is no longer there, or a file that cannot be
            written.
    """
    if format_name not in FORMATS:
        raise UsageError(f"no format {format_name!r}; there are {', '.join(FORMATS)}")
    domain = load_domain_of(run.conditions["domain"])
    tasks = {task_id: domain.task(task_id) for task_id in run.tasks}

    def trials() -> Iterator[ExportedTrial]:
        for row in store.trials(run, ["passed", "failed"]):
            details = store.trial(run, row.task, row.trial)
            yield ExportedTrial(
                task=tasks[row.task],
                trial=row.trial - 1,  # ours count from 1, theirs from 0
                reward=float(row.reward or 0),
                rows_right=_verdict(details, OutcomeGrader.name),
                told=_verdict(details, COMMUNICATION),
                transcript=details.transcript,
                seed=row.seed,
                seconds=row.seconds,
                finished=row.finished,
            )

    if format_name == "tau-bench":
        written = export_tau_bench(trials(), domain.policy, run.tasks, file)
    else:
        written = export_tau2(trials(), list(tasks.values()), _facts(run, domain.policy), file)
    return written, run.planned - written


def _verdict(details: TrialDetails, grader: str) -> bool | None:
    return next((v.passed for v in details.verdicts if v.grader == grader), None)


def _facts(run: Run, policy: str) -> RunFacts:
    return RunFacts(
        id=run.id,
        created=run.created,
        domain=run.domain.partition("@")[0],
        policy=policy,
        agent=run.agent,
        user=run.user,
        trials=run.trials,
        max_turns=int(run.conditions.get("max_turns", 0)),
        seed=run.seed,
    )
