"""Runs: plan trials, check everything first, play what is owed, keep it, stop cleanly, go on."""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from typing import Protocol

from ..envs.episode import Episode
from ..errors import Fault, FaultError, InfrastructureError, PasshatError, UsageError
from .attempt import Attempts, Conditions, load_attempts
from .baseline import baseline_of
from .fingerprint import fingerprint, fingerprint_parts, versions
from .interrupts import Interrupts
from .records import Run
from .store import CLAIM_SECONDS, Store
from .trials import FinishedTrial, Trial, lost_trial, trial_of
from .workers import Workers

Attempt = Callable[[Trial], Awaitable[FinishedTrial]]


class Watcher(Protocol):
    """Is told how a run goes, e.g. to draw progress."""

    def begin(self, run: Run, owed: int) -> None:
        """A run, or the rest of one, begins: so many trials are still to be played."""
        ...

    def finished(self, trial: FinishedTrial) -> None:
        """A trial was played and kept."""
        ...

    def say(self, line: str) -> None:
        """Something a person should know."""
        ...

    def end(self) -> None:
        """No more trials."""
        ...


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        conditions: Under which every trial is played.
        tasks: Ids of the tasks, in order.
        trials: How many of each.
        seed: Of the run; equal seeds give equal trials.
        name: What to call the run; None: only its id.
    """

    conditions: Conditions
    tasks: tuple[str, ...]
    trials: int = 1
    seed: int = 0
    name: str | None = None

    def check(self) -> None:
        """Make sure that it makes sense.

        Raises:
            UsageError: It does not; says why.
        """
        if not self.tasks:
            raise UsageError("no tasks to run")
        if self.trials < 1:
            raise UsageError(f"trials must be 1 or more, not {self.trials!r}")
        if (planned := self.trials * len(self.tasks)) > MOST_TRIALS:
            raise UsageError(
                f"{self.trials} trials of {len(self.tasks)} tasks are {planned}; a run has at most"
                f" {MOST_TRIALS}"
            )
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"seed must be from 0 to 2^63 - 1, not {self.seed!r}")
        if self.conditions.max_turns < 1:
            raise UsageError(f"max turns must be 1 or more, not {self.conditions.max_turns!r}")
        timeout = self.conditions.turn_timeout
        if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
            raise UsageError(f"turn timeout must be more than 0 seconds, not {timeout!r}")
        if self.name is not None and (self.name == "last" or not _NAME.fullmatch(self.name)):
            raise UsageError(
                f"name {self.name!r} must be 1 to 60 letters, digits, '.', '_' or '-', not 'last'"
            )


MOST_TRIALS = 1_000_000
"""Of one run: all that is owed is planned in memory, some 100 MB for so many."""

MOST_WORKERS = 256

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@dataclass(frozen=True)
class Effort:
    """How much happens at once; it changes how long a run takes, and nothing else.

    Attributes:
        concurrency: Trials under way at once. Helps where agents wait.
        workers: Processes. Helps where agents compute; 1: everything in this one.
    """

    concurrency: int = 1
    workers: int = 1

    def check(self) -> None:
        """Make sure that both are 1 or more, and that the processes are not beyond all reason.

        Raises:
            UsageError: One is not.
        """
        for what, count in asdict(self).items():
            if count < 1:
                raise UsageError(f"{what} must be 1 or more, not {count!r}")
        if self.workers > MOST_WORKERS:
            raise UsageError(f"workers are processes: at most {MOST_WORKERS}, not {self.workers!r}")


@dataclass(frozen=True)
class Ended:
    """How a run ended: ``interrupted`` if somebody stopped it, so that trials are still owed."""

    run: Run
    interrupted: bool


def start_run(store: Store, plan: Plan, watcher: Watcher, effort: Effort = Effort()) -> Ended:
    """Play every trial of a plan.

    Everything that can be wrong is looked for before the run is written down. What the agents print
    goes to stderr: stdout is for results.

    Raises:
        UsageError: The plan names what does not exist or cannot be.
        InfrastructureError: The store can no longer be written; what was finished is kept.
    """
    plan.check()
    effort.check()
    with redirect_stdout(sys.stderr):
        attempts = load_attempts(plan.conditions)
        broken = find_broken(attempts, plan.tasks)
        _report_broken(broken, plan.tasks, watcher)
        _check_agent(attempts, plan.tasks)
        parts = fingerprint_parts(attempts.domain, plan.tasks, plan.conditions)
        playable = [task for task in plan.tasks if task not in broken]
        run = store.new_run(
            domain=attempts.domain.name,
            agent=plan.conditions.agent,
            user=plan.conditions.user,
            seed=plan.seed,
            trials=plan.trials,
            tasks=plan.tasks,
            synthetic=attempts.kind.synthetic,
            name=plan.name,
            conditions=asdict(plan.conditions),
            fingerprint=fingerprint(parts),
            parts=parts,
            versions=versions(),
            baseline=baseline_of(store, attempts, playable, parts),
        )
        return _carry_out(store, run, attempts, broken, watcher, effort)


def resume_run(store: Store, run: Run, watcher: Watcher, effort: Effort = Effort()) -> Ended:
    """Play what a run still owes: trials not played, and those lost, with the seeds they had.

    Raises:
        UsageError: Another process is at it, or what it measures has changed since it began.
        InfrastructureError: As `start_run`.
    """
    effort.check()
    conditions = Conditions(**run.conditions)
    with redirect_stdout(sys.stderr):
        attempts = load_attempts(conditions)
        _check_unchanged(run, attempts)
        if run.versions != versions():
            watcher.say(f"note: the run was begun with {_listed(run.versions)}")
        broken = find_broken(attempts, run.tasks)
        _report_broken(broken, run.tasks, watcher)
        _check_agent(attempts, run.tasks)
        store.claim(run)
        return _carry_out(store, run, attempts, broken, watcher, effort)


# --- checks -------------------------------------------------------------------------------------


def find_broken(attempts: Attempts, tasks: Sequence[str]) -> dict[str, str]:
    """Tasks that cannot be set up or graded, each with the reason in one line.

    Raises:
        UsageError: No such task, or no such user simulator.
    """
    broken: dict[str, str] = {}
    for name in tasks:
        task = attempts.domain.task(name)
        try:
            attempts.grading.check(task)
            Episode.start(attempts.domain, task, user=attempts.conditions.user).close()
        except FaultError as error:
            broken[name] = str(error)
    return broken


def _report_broken(broken: dict[str, str], tasks: Sequence[str], watcher: Watcher) -> None:
    if len(broken) == len(tasks):
        raise UsageError(f"every task is broken, so there is nothing to run: {broken[tasks[0]]}")
    for name, reason in broken.items():
        watcher.say(f"{reason}; the trials of {name!r} count as lost")


def _check_agent(attempts: Attempts, tasks: Sequence[str]) -> None:
    """Make one agent, so that what can make none ends here and not as a crash in every trial."""
    brief = attempts.brief(attempts.domain.task(tasks[0]), seed=0)
    try:
        attempts.kind.make(brief)
    except PasshatError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"agent {attempts.kind.spec!r} cannot be made: {type(error).__name__}: {error}"
        ) from error


def _check_unchanged(run: Run, attempts: Attempts) -> None:
    parts = fingerprint_parts(attempts.domain, run.tasks, attempts.conditions)
    changed = [name for name, value in parts.items() if run.parts.get(name) != value]
    if changed:
        raise UsageError(
            f"run {run.id!r} cannot go on: since it began, {' and '.join(changed)} changed, "
            "and its trials would no longer be of one kind; start a new run"
        )


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


# --- the work -----------------------------------------------------------------------------------


def _carry_out(
    store: Store,
    run: Run,
    attempts: Attempts,
    broken: dict[str, str],
    watcher: Watcher,
    effort: Effort,
) -> Ended:
    interrupted = True
    work = _Work(store, run, watcher)
    try:
        with Interrupts(work.stop, work.abandon):
            _lose_broken(store, run, broken)
            owed = [trial for trial in store.owed(run) if trial.task not in broken]
            watcher.begin(run, len(owed))
            try:
                interrupted = asyncio.run(work.do(owed, attempts, effort))
            finally:
                watcher.end()
    finally:
        store.release(run, "interrupted" if interrupted else "finished")
    return Ended(store.run(run.id), interrupted)


def _lose_broken(store: Store, run: Run, broken: dict[str, str]) -> None:
    for task, reason in broken.items():
        for number in range(1, run.trials + 1):
            trial = trial_of(run.seed, run.domain, task, number)
            store.record(run, lost_trial(trial, Fault.TASK, reason))


class _Work:
    """Plays trials, several at once, and keeps each as soon as it is finished."""

    def __init__(self, store: Store, run: Run, watcher: Watcher) -> None:
        self._store = store
        self._run = run
        self._watcher = watcher
        self._left = 0
        self._stopping = False
        self._lanes: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def do(self, owed: Sequence[Trial], attempts: Attempts, effort: Effort) -> bool:
        """Everything, or what there is time for; returns whether it was interrupted."""
        self._loop = asyncio.get_running_loop()
        self._left = len(owed)
        trials = iter(owed)
        workers = min(effort.workers, max(len(owed), 1))
        async with _attempt_of(attempts, workers) as attempt:
            count = min(max(effort.concurrency, effort.workers), max(len(owed), 1))
            self._lanes = [asyncio.create_task(self._lane(trials, attempt)) for _ in range(count)]
            heart = asyncio.create_task(self._beat())
            try:
                await asyncio.gather(*self._lanes)
            except asyncio.CancelledError:
                if not self._stopping:
                    raise
            finally:
                await _cancelled([heart, *self._lanes])
        return self._stopping and self._left > 0

    async def _lane(self, trials: Iterator[Trial], attempt: Attempt) -> None:
        for trial in trials:  # shared by all lanes
            if self._stopping:
                return
            self._keep(await _attempted(attempt, trial))
            await asyncio.sleep(0)  # scripted trials never wait; let others and signals in

    def _keep(self, finished: FinishedTrial) -> None:
        self._left -= 1
        if self._store.record(self._run, finished):
            self._watcher.finished(finished)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(CLAIM_SECONDS / 6)
            if not self._store.keep_claim(self._run):
                self._watcher.say("another process has taken this run over; stopping")
                self._stopping = True

    def stop(self) -> None:
        """Begin no more trials. May be called at any moment, by a signal."""
        self._stopping = True
        line = "stopping: trials under way are finished first; once more abandons them"
        self._soon(partial(self._watcher.say, line))

    def abandon(self) -> None:
        """Drop the trials under way, too; they are owed."""
        self._soon(lambda: [lane.cancel() for lane in self._lanes])

    def _soon(self, call: Callable[[], object]) -> None:
        if self._loop is None or self._loop.is_closed():
            call()
        else:
            self._loop.call_soon_threadsafe(call)


@asynccontextmanager
async def _attempt_of(attempts: Attempts, count: int) -> AsyncIterator[Attempt]:
    if count == 1:
        yield attempts.attempt
        return
    workers = Workers(attempts.conditions, count)
    try:
        yield workers.attempt
    finally:
        workers.close()


async def _attempted(attempt: Attempt, trial: Trial) -> FinishedTrial:
    try:
        return await attempt(trial)
    except InfrastructureError:
        raise
    except Exception as error:  # ours: one trial must not take the others with it
        reason = f"passhat itself failed: {type(error).__name__}: {error}"
        return lost_trial(trial, Fault.INFRASTRUCTURE, reason)


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
