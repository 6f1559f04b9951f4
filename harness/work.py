"""The work of a run: trials played several at once, each kept as soon as it is finished."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Final, Protocol

from ..errors import Fault, InfrastructureError, RunStoppedError, UsageError
from ..models.account import Account, Budget, Spending
from ..transcript import NO_USAGE
from .attempt import Attempts
from .interrupts import Interrupts
from .preflight import prefixes
from .records import Run
from .store import CLAIM_SECONDS, Store
from .trials import FinishedTrial, Trial, lost_trial
from .workers import Workers

Attempt = Callable[[Trial, Account], Awaitable[FinishedTrial]]


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


MOST_WORKERS = 256


@dataclass(frozen=True)
class Effort:
    """How much happens at once; it changes how long a run takes, and nothing else.

    Attributes:
        concurrency: Trials under way at once. Helps where agents wait; None: 50 where a model is
            asked, else 1.
        workers: Processes. Helps where agents compute; 1: everything in this one.
    """

    concurrency: int | None = None
    workers: int = 1

    def check(self) -> None:
        """Make sure that both are 1 or more, and that the processes are not beyond all reason.

        Raises:
            UsageError: One is not.
        """
        for what, count in asdict(self).items():
            if count is not None and count < 1:
                raise UsageError(f"{what} must be 1 or more, not {count!r}")
        if self.workers > MOST_WORKERS:
            raise UsageError(f"workers are processes: at most {MOST_WORKERS}, not {self.workers!r}")

    def lanes(self, attempts: Attempts) -> int:
        """Trials under way at once."""
        asked = self.concurrency or (CONCURRENCY_OF_MODELS if attempts.uses else 1)
        return max(asked, self.workers)


USUAL: Final = Effort()
"""What is done unless somebody says otherwise."""

CONCURRENCY_OF_MODELS: Final = 50
"""Trials at once where a model is asked; how many requests it takes at once, its driver finds out.
"""


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        run: Which.
        interrupted: Whether it was stopped, so that trials are still owed.
        stopped: Why it could not go on; "" if it could have.
        limit: The limit of `Conditions` that stopped it, e.g. ``max_dollars``; "" if none did.
    """

    run: Run
    interrupted: bool
    stopped: str = ""
    limit: str = ""


_WARM_UP: Final = "warm-up"
"""The side that pays for what no trial asked."""


async def carry_out(
    store: Store,
    run: Run,
    attempts: Attempts,
    broken: dict[str, str],
    watcher: Watcher,
    effort: Effort,
) -> Ended:
    """Play what a run owes, and give its claim back.

    Args:
        store: Where it is kept.
        run: Which; claimed by this process.
        attempts: Makes its trials.
        broken: Tasks that cannot be played, with the reason; their trials are lost.
        watcher: Is told how it goes.
        effort: How much happens at once.

    Raises:
        InfrastructureError: The store can no longer be written, or worker processes keep dying.
    """
    interrupted = True
    try:
        work = _Work(store, run, attempts, watcher)
        with Interrupts(work.stop, work.abandon):
            _lose_broken(store, run, broken)
            owed = [trial for trial in store.owed(run) if trial.task not in broken]
            watcher.begin(run, len(owed))
            try:
                interrupted = await work.do(owed, effort)
            finally:
                watcher.end()
    finally:
        store.release(run, "interrupted" if interrupted else "finished")
    return Ended(store.run(run.id), interrupted, work.stopped, work.limit)


def _lose_broken(store: Store, run: Run, broken: dict[str, str]) -> None:
    for task, reason in broken.items():
        for number in range(1, run.trials + 1):
            trial = run.planned_trial(task, number)
            store.record(run, lost_trial(trial, Fault.TASK, reason))


MOST_LOST_IN_A_ROW: Final = 50
"""Trials lost to infrastructure one after another before a run stops: the provider is down."""


class _Work:
    """Plays trials, several at once, and keeps each as soon as it is finished.

    Attributes:
        stopped: Why nothing can go on; "" while it can.
        limit: The limit that is reached; "" if none is.
    """

    def __init__(self, store: Store, run: Run, attempts: Attempts, watcher: Watcher) -> None:
        self.stopped = self.limit = ""
        self._store = store
        self._run = run
        self._attempts = attempts
        self._watcher = watcher
        self._account = Account(attempts.conditions.run_budget, spent=store.spending(run))
        self._left = self._lost_in_a_row = 0
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()

    async def do(self, owed: Sequence[Trial], effort: Effort) -> bool:
        """Everything, or what there is time and money for; returns whether it was interrupted."""
        self._left = len(owed)
        trials = iter(owed)
        most = max(len(owed), 1)
        count = min(effort.lanes(self._attempts), most)
        beside = [asyncio.create_task(self._beat()), asyncio.create_task(self._watch_clock())]
        try:
            if count > 1:
                await self._all([self._warm_up()])
            if not self._stopping:
                async with _attempt_of(self._attempts, min(effort.workers, most)) as attempt:
                    await self._all(self._lane(trials, attempt) for _ in range(count))
        finally:
            await _cancelled(beside)
        return self._stopping and self._left > 0

    async def _all(self, works: Iterable[Coroutine[Any, Any, None]]) -> None:
        self._tasks = [asyncio.create_task(work) for work in works]
        try:
            await all_of(self._tasks)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
        except RunStoppedError as error:
            self._stopping = True
            self.limit = self._limit_reached()
            self.stopped = str(error)

    async def _lane(self, trials: Iterator[Trial], attempt: Attempt) -> None:
        for trial in trials:  # shared by all lanes
            if self._stopping:
                return
            self._check_budget()
            account = self._attempts.account(self._account)
            try:
                finished = await _attempted(attempt, trial, account)
            except BaseException:
                self._store.record_spending(self._run, trial, account.spent)
                raise
            self._keep(finished)
            await asyncio.sleep(0)  # scripted trials never wait; let others and signals in

    def _keep(self, finished: FinishedTrial) -> None:
        self._left -= 1
        if self._store.record(self._run, finished):
            self._watcher.finished(finished)
        lost = finished.fault is Fault.INFRASTRUCTURE and finished.reward is None
        self._lost_in_a_row = self._lost_in_a_row + 1 if lost else 0
        if self._lost_in_a_row >= MOST_LOST_IN_A_ROW:
            raise InfrastructureError(
                f"the last {self._lost_in_a_row} trials were all lost: {finished.reason}; what was "
                f"finished is kept; once that is mended: passhat resume {self._run.id}"
            )

    # --- money and time -----------------------------------------------------------------------

    async def _warm_up(self) -> None:
        """Let the cache hold what all conversations begin with before they all pay for it."""
        self._check_budget()
        for use in prefixes(self._attempts.uses):
            assert use.prefix is not None, "prefixes gives no others"
            try:
                usage = await use.model.warm_up(use.prefix)
            except InfrastructureError as error:
                self._watcher.say(f"note: nothing was put into the cache beforehand: {error}")
                continue
            if usage != NO_USAGE:
                self._account.add(_WARM_UP, usage)
                spending = {_WARM_UP: Spending(1, usage)}
                self._store.record_spending(self._run, None, spending)

    def _check_budget(self) -> None:
        if self._account.budget and (spent := self._account.exceeded()):
            raise RunStoppedError(f"the run has spent {spent}")

    def _limit_reached(self) -> str:
        account = self._account
        for field in fields(Budget):
            limit = Budget(**{field.name: getattr(account.budget, field.name)})
            if limit and replace(account, budget=limit).exceeded():
                return f"max_{field.name}"
        return ""

    async def _watch_clock(self) -> None:
        """End what waits when the time of the run is over."""
        seconds = self._account.budget.seconds
        if seconds is None:
            return
        await asyncio.sleep(seconds)
        self._stopping = True
        self.limit, self.stopped = "max_seconds", f"the run has spent its {seconds:g} seconds"
        self._drop()

    # --- life ---------------------------------------------------------------------------------

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
        self._loop.call_soon_threadsafe(partial(self._watcher.say, line))

    def abandon(self) -> None:
        """Drop the trials under way, too; they are owed."""
        self._loop.call_soon_threadsafe(self._drop)

    def _drop(self) -> None:
        for task in self._tasks:
            task.cancel()


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


async def _attempted(attempt: Attempt, trial: Trial, account: Account) -> FinishedTrial:
    try:
        return await attempt(trial, account)
    except (InfrastructureError, RunStoppedError):
        raise
    except Exception as error:  # ours: one trial must not take the others with it
        reason = f"passhat itself failed: {type(error).__name__}: {error}"
        lost = lost_trial(trial, Fault.INFRASTRUCTURE, reason)
        return replace(lost, spending=dict(account.spent))


async def all_of(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Wait for all; once one fails, or we are cancelled, the others are cancelled too."""
    try:
        await asyncio.gather(*tasks)
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
