"""How a run is watched: a bar on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from .common import console, dollars, safe

if TYPE_CHECKING:
    from ..harness.records import Run
    from ..harness.run import Watcher
    from ..harness.trials import FinishedTrial

LINE_SECONDS: Final = 5.0


def watcher(*, quiet: bool) -> Watcher:
    """What fits where we are; everything it says goes to stderr."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


class Silent:
    """Says only what a person must know; counts what passed, failed, was lost and was paid."""

    def __init__(self) -> None:
        self.owed = self.passed = self.failed = self.lost = 0
        self.dollars = 0.0
        self._began = time.monotonic()

    @property
    def done(self) -> int:
        """Trials played so far."""
        return self.passed + self.failed + self.lost

    def begin(self, run: Run, owed: int) -> None:
        """Remember how much there is to do."""
        self.owed = owed
        self._began = time.monotonic()

    def finished(self, trial: FinishedTrial) -> None:
        """Count."""
        self.dollars += trial.usage.cost_dollars or 0.0
        if trial.passed is None:
            self.lost += 1
        elif trial.passed:
            self.passed += 1
        else:
            self.failed += 1

    def say(self, line: str) -> None:
        """Pass it on."""
        print(f"passhat: {safe(line)}", file=sys.stderr)

    def end(self) -> None:
        """Nothing more to say."""

    def counts(self) -> str:
        """Where things stand, in words."""
        rate = self.done / max(time.monotonic() - self._began, 1e-9)
        cost = f"; {dollars(self.dollars)}" if self.dollars else ""
        counts = f"{self.passed} passed, {self.failed} failed, {self.lost} lost"
        return f"{counts}; {rate:.1f} a second{cost}"


class Lines(Silent):
    """A line every few seconds: for logs."""

    def __init__(self) -> None:
        super().__init__()
        self._said = time.monotonic()

    def begin(self, run: Run, owed: int) -> None:
        """Say which run it is: whoever stops it needs to know."""
        super().begin(run, owed)
        self.say(f"run {run.id}: {owed} of {run.planned} trials to play")

    def finished(self, trial: FinishedTrial) -> None:
        """Count, and say so now and then."""
        super().finished(trial)
        if time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            self.say(f"{self.done} of {self.owed} trials: {self.counts()}")

    def end(self) -> None:
        """Say how far it came."""
        self.say(f"{self.done} of {self.owed} trials: {self.counts()}")


class Bar(Silent):
    """A progress bar with counts, rate and the time that is left."""

    def __init__(self) -> None:
        super().__init__()
        self._progress: Any = None
        self._task: Any = None

    def begin(self, run: Run, owed: int) -> None:
        """Draw it."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as TimeLeft

        super().begin(run, owed)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeLeft(),
            TextColumn("{task.fields[counts]}", markup=False),
            console=console(stderr=True),
        )
        self._task = self._progress.add_task(run.id, total=owed, counts="")
        self._progress.start()

    def finished(self, trial: FinishedTrial) -> None:
        """Move it on."""
        super().finished(trial)
        self._progress.update(self._task, advance=1, counts=self.counts())

    def say(self, line: str) -> None:
        """Say it above the bar."""
        if self._progress is None:
            super().say(line)
        else:
            self._progress.console.print(f"passhat: {safe(line)}")

    def end(self) -> None:
        """Leave it as it is."""
        self._progress.stop()
        self._progress = None
