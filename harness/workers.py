"""Worker processes: they attempt trials, and send back what became of them; they keep nothing."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple

from ..errors import Fault, InfrastructureError, RunStoppedError
from ..models.account import Account, Spending
from .attempt import Attempts, Conditions, load_attempts
from .preflight import closing
from .trials import FinishedTrial, Trial, lost_trial

MOST_DEATHS: Final = 5
"""Worker processes that may end one after another, with no trial finished, before we give up."""

LAST_WORDS_SECONDS: Final = 2.0
"""How long a worker may take to say what a trial that is dropped has spent."""


class Drop(NamedTuple):
    """Tells a worker to finish a trial no more."""

    trial: Trial


class Unfinished(NamedTuple):
    """What a worker sends back of a trial that it did not finish.

    Attributes:
        trial: Which.
        spent: On models, by side.
        stopped: Why no trial of this run can go on; "" if the trial was dropped.
    """

    trial: Trial
    spent: Mapping[str, Spending]
    stopped: str = ""


class Workers:
    """Attempts trials in other processes.

    Spawned, not forked: a fork copies threads and locks in whatever state they are. When the parent
    is gone, however it went, its end of the pipe closes and a worker ends by itself.

    Args:
        conditions: What each worker sets up for itself.
        count: How many processes.
    """

    def __init__(self, conditions: Conditions, count: int) -> None:
        self._deaths = 0
        self._links = [_Link(self, conditions) for _ in range(count)]

    async def attempt(self, trial: Trial, account: Account) -> FinishedTrial:
        """One trial, by the process that has least to do.

        Args:
            trial: Which.
            account: Told afterwards what was spent; what may be spent, the process knows itself.

        Raises:
            InfrastructureError: Workers keep ending without a result.
            RunStoppedError: No trial of this run can go on.
        """
        link = min(self._links, key=lambda link: len(link.waiting))
        came = await link.attempt(trial, account)
        _put_down(came, account)
        if isinstance(came, Unfinished):
            raise RunStoppedError(came.stopped)
        return came

    def count_death(self) -> None:
        """One of the processes ended without being asked to."""
        self._deaths += 1

    def count_result(self) -> None:
        """One of the processes finished a trial."""
        self._deaths = 0

    def check(self) -> None:
        """Give up when nothing but deaths comes back."""
        if self._deaths >= MOST_DEATHS:
            raise InfrastructureError(
                f"{self._deaths} worker processes ended one after another without finishing a "
                "trial; run with --workers 1 to see why"
            )

    def close(self) -> None:
        """End every process; trials they are at are dropped."""
        for link in self._links:
            link.close()


class _Link:
    """One worker process, seen from the parent."""

    def __init__(self, workers: Workers, conditions: Conditions) -> None:
        self.waiting: dict[Trial, asyncio.Future[FinishedTrial | Unfinished]] = {}
        self._workers = workers
        self._conditions = conditions
        self._loop = asyncio.get_running_loop()
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_work, args=(self._conditions, theirs), name="passhat worker", daemon=True
        )
        self._process.start()
        theirs.close()
        self._loop.add_reader(self._pipe.fileno(), self._receive)

    async def attempt(self, trial: Trial, account: Account) -> FinishedTrial | Unfinished:
        self._workers.check()
        future = self._ask(trial)
        try:
            # Shielded: what a trial that is dropped has spent comes the same way.
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            with suppress(OSError, TimeoutError):
                self._pipe.send(Drop(trial))
                async with asyncio.timeout(LAST_WORDS_SECONDS):
                    _put_down(await future, account)
            raise

    def _ask(self, trial: Trial) -> asyncio.Future[FinishedTrial | Unfinished]:
        self.waiting[trial] = self._loop.create_future()
        with suppress(OSError):  # it has just ended; `_receive` is about to notice
            self._pipe.send(trial)
        return self.waiting[trial]

    def _receive(self) -> None:
        try:
            came: FinishedTrial | Unfinished = self._pipe.recv()
        except (EOFError, OSError):
            self._mourn()
            return
        self._workers.count_result()
        future = self.waiting.pop(came.trial)
        if not future.done():
            future.set_result(came)

    def _mourn(self) -> None:
        """The process is gone: what it was at is lost, and another takes its place."""
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()
        self._process.join(timeout=5)
        self._workers.count_death()
        reason = f"the worker process ended with exit code {self._process.exitcode}"
        waiting, self.waiting = self.waiting, {}
        for trial, future in waiting.items():
            if not future.done():
                future.set_result(lost_trial(trial, Fault.INFRASTRUCTURE, reason))
        self._start()

    def close(self) -> None:
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _put_down(came: FinishedTrial | Unfinished, account: Account) -> None:
    spent = came.spent if isinstance(came, Unfinished) else came.spending
    for side, spending in spent.items():
        account.add(side, spending.usage, spending.requests)


# --- in the worker ------------------------------------------------------------------------------


def _work(conditions: Conditions, pipe: Connection[Any, Any]) -> None:
    # The terminal sends Ctrl-C to every process; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with redirect_stdout(sys.stderr), suppress(BrokenPipeError):
        asyncio.run(_serve(load_attempts(conditions), pipe))


async def _serve(attempts: Attempts, pipe: Connection[Any, Any]) -> None:
    """Attempt the trials that come through the pipe, until it is closed."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    running: dict[Trial, asyncio.Task[None]] = {}

    async def attempt(trial: Trial) -> None:
        account = attempts.account()
        came: FinishedTrial | Unfinished
        try:
            came = await attempts.attempt(trial, account)
        except RunStoppedError as error:
            came = Unfinished(trial, account.spent, str(error))
        except asyncio.CancelledError:
            came = Unfinished(trial, account.spent)
        try:
            pipe.send(came)
        except OSError:  # the parent is gone
            ended.set()

    def receive() -> None:
        try:
            asked: Trial | Drop = pipe.recv()
        except (EOFError, OSError):
            ended.set()
            return
        if isinstance(asked, Drop):
            if asked.trial in running:
                running[asked.trial].cancel()
            return
        running[asked] = loop.create_task(attempt(asked))
        running[asked].add_done_callback(lambda _: running.pop(asked, None))

    loop.add_reader(pipe.fileno(), receive)
    async with closing(attempts.kind, attempts.user):
        await ended.wait()
    loop.remove_reader(pipe.fileno())
