"""What keeping a finished trial costs, in an empty store and behind many trials."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.harness.attempt import Attempts, Conditions
from passhat.harness.records import Run
from passhat.harness.store import Store, open_store
from passhat.harness.trials import FinishedTrial, trial_of

from .measure import Figure

BEHIND = 20_000
SAMPLE = 500


def figures() -> Iterator[Figure]:
    """CPU per recorded trial (with its verdicts and transcript), first and after many."""
    domain = load_domain("retail")
    task = next(iter(domain.tasks))
    attempts = Attempts(Conditions("retail", "reference"), domain, agent_kind("reference"))
    finished = asyncio.run(attempts.attempt(trial_of(1, "retail", task, 1)))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder) / "store.sqlite", create=True) as store,
    ):
        run = _run(store, task)
        first = _record(store, run, finished, 1, SAMPLE)
        _record(store, run, finished, SAMPLE + 1, BEHIND)
        last = _record(store, run, finished, BEHIND + 1, BEHIND + SAMPLE)
    yield Figure("keep a trial, empty store", first * 1e6, "us")
    yield Figure(f"keep a trial, {BEHIND:,} trials in the store", last * 1e6, "us")
    yield Figure("ratio", last / first, "", "flat")


def _run(store: Store, task: str) -> Run:
    return store.new_run(
        domain="retail",
        agent="reference",
        user="agenda",
        seed=1,
        trials=BEHIND + SAMPLE,
        tasks=[task],
        name="benchmark",
        conditions={"domain": "retail", "agent": "reference"},
        parts={},
    )


def _record(store: Store, run: Run, finished: FinishedTrial, first: int, last: int) -> float:
    """Seconds of CPU per trial, for trials of these numbers."""
    start = time.process_time()
    for number in range(first, last + 1):
        trial = trial_of(run.seed, run.domain, finished.trial.task, number)
        store.record(run, replace(finished, trial=trial))
    return (time.process_time() - start) / (last - first + 1)
