"""The baseline: what doing nothing scores on the same tasks."""

from __future__ import annotations

from collections.abc import Iterable

from ..agents.registry import agent_kind
from .attempt import Attempts
from .fingerprint import TASK_SET, fingerprint
from .records import Baseline
from .store import Store
from .trials import FinishedTrial, trial_of

DOES_NOTHING = "noop"
USER = "agenda"
"""The customer it is played against, whoever plays the customer of the run: it costs nothing."""


async def baseline_of(
    store: Store, attempts: Attempts, tasks: Iterable[str], parts: dict[str, str]
) -> Baseline:
    """What doing nothing scores; worked out once for each task set, then taken from the store.

    One trial a task: an agent that does nothing has nothing to be lucky with.

    Args:
        store: Where it is kept.
        attempts: The run's; only the agent and the user are other ones.
        tasks: The tasks of the run that can be played.
        parts: Of the run's fingerprint; those of the task set name the baseline.
    """
    name = fingerprint(parts, TASK_SET)
    if (known := store.baseline(name, DOES_NOTHING)) is not None:
        return known
    idle = attempts.with_agent(agent_kind(DOES_NOTHING), USER)
    finished = await _one_each(idle, tasks)
    baseline = Baseline(
        agent=DOES_NOTHING,
        scored=sum(trial.reward is not None for trial in finished),
        passed=sum(trial.reward == 1.0 for trial in finished),
        lost=sum(trial.reward is None for trial in finished),
    )
    store.keep_baseline(name, baseline)
    return baseline


async def _one_each(attempts: Attempts, tasks: Iterable[str]) -> list[FinishedTrial]:
    name = attempts.domain.name
    return [await attempts.attempt(trial_of(0, name, task, 1)) for task in tasks]
