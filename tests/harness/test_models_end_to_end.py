"""Whole runs of a shop through the real SDK and real HTTP, with stand-ins where the models are."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from claude_at_the_kiosk import claude
from helpers import Log, new_store

from passhat.harness.attempt import Conditions
from passhat.harness.bill import bill_of
from passhat.harness.curve import curve_of
from passhat.harness.records import Run
from passhat.harness.run import Effort, Plan, resume_run, start_run
from passhat.harness.stand_ins import StandIns
from passhat.harness.store import Store, open_store

AGENT = "claude:claude-sonnet-5-5"
USER = "claude:claude-haiku-5-5"
STAND_IN = "slippery:0.15:rule-based"
TASKS = ("cancel-power-bank", "cancel-skillet-keep-sleeping-bag", "cancel-jacket-already-sent")
FAULTS = ("rate-limit", "overloaded", "error", "cut", "slow=0.2:0.1", "empty")


def plan(agent: str = AGENT, user: str = USER, tasks: tuple[str, ...] = TASKS) -> Plan:
    """Two trials of some retail tasks."""
    return Plan(Conditions("retail", agent, user), tasks, trials=2, seed=5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


def results(store: Store, run: Run) -> dict[str, object]:
    """What each trial came to, and what was said and done in it."""
    found: dict[str, object] = {}
    for row in store.trials(run):
        events = store.trial(run, row.task, row.trial).transcript.dump()
        said = [(e["kind"], e.get("content"), e.get("name"), e.get("arguments")) for e in events]
        found[f"{row.task}/{row.trial}"] = (row.result, row.fault, row.reason, row.ending, said)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Run]]:
    """A run to which nothing happened."""
    with (
        new_store(tmp_path_factory.mktemp("undisturbed")) as store,
        pytest.MonkeyPatch.context() as patched,
        claude(patched, StandIns(STAND_IN).brain),
    ):
        yield store, start_run(store, plan(), Log()).run


def test_a_run_through_the_sdk_is_the_run_of_the_stand_ins(
    store: Store, undisturbed: tuple[Store, Run]
) -> None:
    """Word for word, but that no model can end a conversation."""
    direct = start_run(store, plan(STAND_IN, "agenda"), Log()).run
    stopped = {f"{t.task}/{t.trial}" for t in store.trials(direct) if t.ending == "agent stop"}
    here, there = results(store, direct), results(*undisturbed)
    assert len(stopped) < len(here) == len(there) == 6
    assert {t: r for t, r in here.items() if t not in stopped} == {
        t: r for t, r in there.items() if t not in stopped
    }


def test_one_seed_gives_one_curve(
    store: Store, undisturbed: tuple[Store, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every time, whatever the order in which answers come, and some trials fail."""
    with claude(monkeypatch, StandIns(STAND_IN).brain):
        again = start_run(store, plan(), Log(), Effort(concurrency=3)).run
    assert results(store, again) == results(*undisturbed)
    before, run = undisturbed
    assert curve_of(store.source(again)).pass_hat == curve_of(before.source(run)).pass_hat
    assert {row.result for row in store.trials(again)} == {"passed", "failed"}


def test_most_of_the_input_comes_from_the_cache(undisturbed: tuple[Store, Run]) -> None:
    """Policy and tools are written once, by the warm-up; both sides are paid for."""
    store, run = undisturbed
    bill = bill_of(store, run)
    assert set(bill.sides) == {"agent", "user", "warm-up"}
    for side in ("agent", "user"):
        assert (bill.sides[side].usage.cache_share or 0) >= 0.9
    assert bill.cost == pytest.approx(
        sum(side.usage.cost_dollars or 0 for side in bill.sides.values())
    )
    rows = store.trials(run)
    trials = sum(row.cost_dollars or 0 for row in rows)
    warm_up = bill.sides["warm-up"].usage.cost_dollars or 0
    assert trials + warm_up == pytest.approx(bill.cost)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_change_nothing(
    store: Store, undisturbed: tuple[Store, Run], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A fifth of all requests goes wrong; no trial is lost, and none ends in another way."""
    rate = fault if "=" in fault else f"{fault}=0.2"
    with claude(monkeypatch, StandIns(STAND_IN).brain, faults=[rate]) as server:
        run = start_run(store, plan(), Log()).run
        hit = sum(bool(seen.faults) for seen in server.requests)
    assert hit >= 5
    assert results(store, run) == results(*undisturbed)


@pytest.mark.slow
def test_a_run_that_is_killed_comes_to_the_same_end(
    undisturbed: tuple[Store, Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Kill -9 in the midst of conversations: resume plays the rest, with a server that forgot."""
    whole = results(*undisturbed)
    where = tmp_path / "killed.sqlite"
    command = [
        sys.executable, "-m", "passhat", "run", "retail", "--agent", AGENT, "--user", USER,
        "--trials", "2", "--seed", "5", "--store", str(where), "--concurrency", "2",
        *(part for task in TASKS for part in ("--task", task)),
    ]  # fmt: skip
    with claude(monkeypatch, StandIns(STAND_IN).brain, latency=0.01):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for_trials(where, 2)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    with open_store(where, write=True) as killed:
        run = killed.find_run("last")
        kept = {f"{row.task}/{row.trial}" for row in killed.trials(run)}
        assert 2 <= len(kept) < 6
        paid = killed.spending(run)["agent"].requests
        with claude(monkeypatch, StandIns(STAND_IN).brain):
            log = Log()
            run = resume_run(killed, run, log).run
        assert {f"{t.trial.task}/{t.trial.number}" for t in log.trials} == set(whole) - kept
        assert results(killed, run) == whole
        assert killed.spending(run)["agent"].requests > paid > 0


def wait_for_trials(where: Path, count: int) -> None:
    """Until a store holds so many trials."""
    for _ in range(600):
        time.sleep(0.05)
        if where.exists():
            try:
                with open_store(where) as store:
                    runs = store.runs()
                    if runs and len(store.trials(runs[-1])) >= count:
                        return
            except Exception:
                continue
    raise AssertionError(f"no {count} trials within 30 s")
