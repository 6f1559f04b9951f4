"""Runs: plan trials, check everything first, play what is owed, keep it, stop cleanly, go on."""

from __future__ import annotations

import asyncio
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from ..envs.episode import Episode
from ..errors import FaultError, PasshatError, UsageError
from .attempt import Attempts, Conditions, load_attempts
from .baseline import baseline_of
from .fingerprint import fingerprint, fingerprint_parts, versions
from .preflight import answering, check_prices
from .records import Run
from .store import Store
from .work import USUAL, Effort, Ended, Watcher, carry_out

__all__ = ["Effort", "Ended", "Plan", "Watcher", "find_broken", "resume_run", "start_run"]


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
        customers = self.conditions.user_seeds
        if customers is not None and not 1 <= customers <= self.trials:
            raise UsageError(
                f"user seeds must be 1 to {self.trials}, the trials of a task, not {customers!r}"
            )
        if self.conditions.max_turns < 1:
            raise UsageError(f"max turns must be 1 or more, not {self.conditions.max_turns!r}")
        timeout = self.conditions.turn_timeout
        if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
            raise UsageError(f"turn timeout must be more than 0 seconds, not {timeout!r}")
        check_limits(self.conditions)
        if self.name is not None and (self.name == "last" or not _NAME.fullmatch(self.name)):
            raise UsageError(
                f"name {self.name!r} must be 1 to 60 letters, digits, '.', '_' or '-', not 'last'"
            )


LIMITS: Final = (
    "max_tokens", "max_dollars", "max_seconds", "trial_tokens", "trial_dollars", "trial_seconds",
)  # fmt: skip
"""Of `Conditions`: what a run and its trials may spend."""


def check_limits(conditions: Conditions) -> None:
    """Make sure that something may be spent.

    Raises:
        UsageError: A limit is not above 0.
    """
    for name in LIMITS:
        limit = getattr(conditions, name)
        if limit is not None and not (limit > 0 and math.isfinite(limit)):
            raise UsageError(f"{name.replace('_', ' ')} must be more than 0, not {limit!r}")


MOST_TRIALS = 1_000_000
"""Of one run: all that is owed is planned in memory, some 100 MB for so many."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def start_run(store: Store, plan: Plan, watcher: Watcher, effort: Effort = USUAL) -> Ended:
    """Play every trial of a plan.

    Everything that can be wrong is looked for before the run is written down: models are asked
    whether they will answer, too. What the agents print goes to stderr: stdout is for results.

    Raises:
        UsageError: The plan names what does not exist or cannot be.
        InfrastructureError: The store can no longer be written; what was finished is kept. Or a
            model does not answer before the first trial.
    """
    plan.check()
    effort.check()
    with redirect_stdout(sys.stderr):
        attempts = load_attempts(plan.conditions)
        broken = _check_all(attempts, plan.tasks, watcher)
        return asyncio.run(_start(store, plan, attempts, broken, watcher, effort))


async def _start(
    store: Store,
    plan: Plan,
    attempts: Attempts,
    broken: dict[str, str],
    watcher: Watcher,
    effort: Effort,
) -> Ended:
    parts = _parts(attempts, plan.tasks)
    playable = [task for task in plan.tasks if task not in broken]
    synthetic = attempts.kind.use is not None and attempts.kind.use.model.synthetic
    async with answering(attempts.kind, attempts.user):
        run = store.new_run(
            domain=attempts.domain.name,
            agent=plan.conditions.agent,
            user=plan.conditions.user,
            seed=plan.seed,
            trials=plan.trials,
            tasks=plan.tasks,
            synthetic=attempts.kind.synthetic or synthetic,
            name=plan.name,
            conditions=asdict(plan.conditions),
            fingerprint=fingerprint(parts),
            parts=parts,
            versions=versions(attempts.uses),
            baseline=await baseline_of(store, attempts, playable, parts),
        )
        return await carry_out(store, run, attempts, broken, watcher, effort)


def resume_run(
    store: Store,
    run: Run,
    watcher: Watcher,
    effort: Effort = USUAL,
    limits: Mapping[str, Any] | None = None,
) -> Ended:
    """Play what a run still owes: trials not played, and those lost, with the seeds they had.

    Args:
        store: Where it is kept.
        run: Which.
        watcher: Is told how it goes.
        effort: How much happens at once.
        limits: What it may spend from now on, by the names of `LIMITS`; the others stay as they
            were. What was spent before counts.

    Raises:
        UsageError: Another process is at it, or what it measures has changed since it began.
        InfrastructureError: As `start_run`.
    """
    effort.check()
    conditions = replace(Conditions(**run.conditions), **(limits or {}))
    check_limits(conditions)
    with redirect_stdout(sys.stderr):
        attempts = load_attempts(conditions)
        _check_unchanged(run, attempts)
        if run.versions != (now := versions(attempts.uses)):
            changed = {name: it for name, it in run.versions.items() if now.get(name) != it}
            watcher.say(f"note: the run was begun with {_listed(changed or run.versions)}")
        broken = _check_all(attempts, run.tasks, watcher)
        return asyncio.run(_resume(store, run, attempts, broken, watcher, effort))


async def _resume(
    store: Store,
    run: Run,
    attempts: Attempts,
    broken: dict[str, str],
    watcher: Watcher,
    effort: Effort,
) -> Ended:
    async with answering(attempts.kind, attempts.user):
        store.claim(run, asdict(attempts.conditions))
        return await carry_out(store, run, attempts, broken, watcher, effort)


# --- checks -------------------------------------------------------------------------------------


def _check_all(attempts: Attempts, tasks: Sequence[str], watcher: Watcher) -> dict[str, str]:
    """Look for what can be wrong before anything is asked of a model; gives the broken tasks."""
    broken = find_broken(attempts, tasks)
    _report_broken(broken, tasks, watcher)
    _check_agent(attempts, tasks)
    check_prices(attempts)
    return broken


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
            Episode.start(attempts.domain, task, user=attempts.user).close()
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
    parts = _parts(attempts, run.tasks)
    changed = [name for name, value in parts.items() if run.parts.get(name) != value]
    if changed:
        raise UsageError(
            f"run {run.id!r} cannot go on: since it began, {' and '.join(changed)} changed, "
            "and its trials would no longer be of one kind; start a new run"
        )


def _parts(attempts: Attempts, tasks: Sequence[str]) -> dict[str, str]:
    asks = attempts.kind.use is not None
    return fingerprint_parts(attempts.domain, tasks, attempts.conditions, asks)


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
