"""What tests of runs share."""

import sys
from pathlib import Path

from kiosk import TASKS

from passhat.harness.attempt import Conditions
from passhat.harness.records import Run
from passhat.harness.run import Plan
from passhat.harness.store import Store, open_store
from passhat.harness.trials import FinishedTrial

SLIPPERY = "slippery:0.2"


class Log:
    """A watcher that remembers what it was told."""

    def __init__(self) -> None:
        self.owed = 0
        self.said: list[str] = []
        self.trials: list[FinishedTrial] = []

    def begin(self, run: Run, owed: int) -> None:
        """Remember how much is owed."""
        self.owed = owed

    def finished(self, trial: FinishedTrial) -> None:
        """Remember the trial."""
        self.trials.append(trial)

    def say(self, line: str) -> None:
        """Remember the line."""
        self.said.append(line)

    def end(self) -> None:
        """Nothing to remember."""


class Traced(Log):
    """Writes down every trial that was kept, where a killed process leaves it."""

    def finished(self, trial: FinishedTrial) -> None:
        """Print its name."""
        print(f"{trial.trial.task}/{trial.trial.number}", file=sys.__stdout__, flush=True)


def kiosk_plan(
    agent: str = SLIPPERY, trials: int = 3, tasks: tuple[str, ...] = TASKS, seed: int = 1
) -> Plan:
    """Some trials at the kiosk."""
    return Plan(Conditions("kiosk:DOMAIN", agent, turn_timeout=0.5), tasks, trials, seed)


def new_store(folder: Path) -> Store:
    """An empty store."""
    return open_store(folder / "store.sqlite", create=True)


def contents(store: Store, run: Run) -> dict[str, object]:
    """Everything that a run's trials are, but for what a clock says."""
    found: dict[str, object] = {}
    for row in store.trials(run):
        details = store.trial(run, row.task, row.trial)
        found[f"{row.task}/{row.trial}"] = (
            row.seed,
            row.reward,
            row.fault,
            row.reason,
            details.verdicts,
            details.transcript.dump(),
        )
    return found
