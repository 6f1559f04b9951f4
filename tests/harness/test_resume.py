"""Runs that are cut short, by whatever: nothing finished is lost, and resume completes them."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers import SLIPPERY, Log, contents, kiosk_plan, new_store

from passhat.errors import Fault, UsageError
from passhat.harness.attempt import Conditions
from passhat.harness.records import Run
from passhat.harness.run import Effort, Plan, resume_run, start_run
from passhat.harness.store import Store, open_store
from passhat.harness.trials import FinishedTrial

SCRIPT = Path(__file__).with_name("killed_run.py")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


class StopsAfter(Log):
    """A watcher that sends this process a signal after some trials."""

    def __init__(self, trials: int, signals: tuple[int, ...] = (signal.SIGINT,)) -> None:
        super().__init__()
        self._after = trials
        self._signals = signals

    def finished(self, trial: FinishedTrial) -> None:
        """Count, and interrupt."""
        super().finished(trial)
        if len(self.trials) == self._after:
            for number in self._signals:
                os.kill(os.getpid(), number)


def begin(store: Path, agent: str, trials: int = 20, workers: int = 1) -> subprocess.Popen[str]:
    """Start or resume a run in a process of its own; its stdout names each trial it kept."""
    arguments = [sys.executable, str(SCRIPT), str(store), agent, str(trials), str(workers)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def the_run(store: Store) -> Run:
    """The only run there is."""
    (run,) = store.runs()
    return run


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_stops_cleanly_and_resume_completes(store: Store, number: int) -> None:
    """In the end everything is as if nobody had interrupted."""
    whole = start_run(store, kiosk_plan(), Log()).run
    ended = start_run(store, kiosk_plan(), StopsAfter(5, (number,)))
    assert ended.interrupted
    assert ended.run.status == "interrupted"
    counts = store.counts(ended.run)
    assert counts["owed"] == 18 - 5
    log = Log()
    again = resume_run(store, ended.run, log)
    assert not again.interrupted
    assert again.run.status == "finished"
    assert len(log.trials) == 13
    assert contents(store, whole) == contents(store, again.run)


class StopsAtOnce(Log):
    """A watcher that interrupts before the first trial."""

    def begin(self, run: Run, owed: int) -> None:
        """Interrupt."""
        super().begin(run, owed)
        os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_before_the_first_trial_is_no_crash(store: Store) -> None:
    """The run is there, everything is owed, and resume plays it."""
    watcher = StopsAtOnce()
    ended = start_run(store, kiosk_plan(trials=1), watcher)
    assert ended.interrupted
    assert watcher.said[-1].startswith("stopping: ")
    assert store.counts(ended.run)["owed"] == 6
    assert not resume_run(store, ended.run, Log()).interrupted


def test_trials_under_way_are_finished_after_the_first_signal(store: Store) -> None:
    """What was begun is not thrown away."""
    watcher = StopsAfter(1)
    plan = kiosk_plan("python:kiosk:slow", trials=4)
    ended = start_run(store, plan, watcher, Effort(concurrency=4))
    assert ended.interrupted
    assert len(watcher.trials) == 4


def test_a_second_signal_abandons_what_hangs(store: Store) -> None:
    """A trial that was abandoned is owed, not failed."""
    patient = Conditions("kiosk:DOMAIN", "python:kiosk:stuck", turn_timeout=None)
    plan = Plan(patient, ("zone-1", "zone-2"))
    watcher = Log()

    def interrupt() -> None:
        for _ in range(2):
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    ended = start_run(store, plan, watcher)
    thread.join()
    assert ended.interrupted
    assert watcher.trials == []
    assert store.counts(ended.run)["owed"] == 2


def test_the_signal_handlers_are_put_back(store: Store) -> None:
    """After a run, Ctrl-C means what it meant before."""
    before = signal.getsignal(signal.SIGINT)
    start_run(store, kiosk_plan(trials=1), Log())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_works_in_any_thread(store: Store) -> None:
    """Only the main thread can listen to signals; elsewhere a run goes without."""
    found: list[int] = []

    def work() -> None:
        with open_store(store.name, create=True) as own:
            found.append(own.counts(start_run(own, kiosk_plan(trials=1), Log()).run)["owed"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0]


# --- what is owed ---------------------------------------------------------------------------------


def test_lost_trials_are_owed_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the provider is back, resume plays them with the seeds they had."""
    run = start_run(store, kiosk_plan("python:kiosk:offline", trials=2), Log()).run
    lost = store.trials(run, ["lost"])
    assert [(row.task, row.fault) for row in lost] == [("zone-2", Fault.INFRASTRUCTURE)] * 2
    monkeypatch.setenv("KIOSK_ONLINE", "1")
    log = Log()
    resume_run(store, run, log)
    assert [trial.trial.task for trial in log.trials] == ["zone-2", "zone-2"]
    played = [row for row in store.trials(run) if row.task == "zone-2"]
    assert [(row.result, row.attempts) for row in played] == [("passed", 2)] * 2
    assert [row.seed for row in played] == [row.seed for row in lost]


def test_a_finished_run_owes_nothing(store: Store) -> None:
    """Resuming it plays nothing and changes nothing."""
    run = start_run(store, kiosk_plan(trials=1), Log()).run
    before, log = contents(store, run), Log()
    assert not resume_run(store, run, log).interrupted
    assert log.trials == []
    assert contents(store, run) == before


def test_a_run_whose_measure_has_changed_is_not_mixed(store: Store) -> None:
    """Trials before and after a change of policy are two different things."""
    run = start_run(store, kiosk_plan(trials=1), Log()).run
    with store._writing() as connection:
        connection.exec_driver_sql("UPDATE runs SET parts = replace(parts, 'policy', 'politics')")
    with pytest.raises(UsageError, match=r"since it began, policy changed.*start a new run"):
        resume_run(store, store.run(run.id), Log())


@pytest.mark.slow
def test_two_resumes_at_once_play_no_trial_twice(store: Store) -> None:
    """The second one is told who is at it."""
    run = start_run(store, kiosk_plan("python:kiosk:slow", trials=8), StopsAfter(1)).run
    where = Path(store.name)
    first = begin(where, "resume")
    assert first.stdout is not None
    kept = [first.stdout.readline().strip()]
    with pytest.raises(UsageError, match=f"carried on by process {first.pid}"):
        resume_run(store, run, Log())
    kept += [line.strip() for line in first.stdout]
    assert first.wait() == 0
    first.stdout.close()
    assert len(kept) == len(set(kept)) == 47
    assert {row.attempts for row in store.trials(run)} == {1}


# --- kill -9 --------------------------------------------------------------------------------------


def killed(store: Path, agent: str, after: int, delay: float, workers: int = 1) -> set[str]:
    """Kill a run after so many trials and a little more; returns the trials it said it kept."""
    process = begin(store, agent, workers=workers)
    assert process.stdout is not None
    kept = [process.stdout.readline() for _ in range(after)]
    time.sleep(delay)
    process.kill()
    kept += process.stdout.readlines()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return {line.strip() for line in kept if line.endswith("\n")}


def test_kill_9_loses_no_finished_trial(tmp_path: Path) -> None:
    """All that was reported as kept is there, whole; resume completes the rest."""
    where = tmp_path / "store.sqlite"
    kept = killed(where, SLIPPERY, after=10, delay=0.01)
    with open_store(where, write=True) as store:
        run = the_run(store)
        assert run.status == "interrupted"
        there = contents(store, run)
        assert kept <= set(there)
        assert len(there) < run.planned
        resume_run(store, run, Log())
        whole = start_run(store, kiosk_plan(trials=run.trials), Log()).run
        assert contents(store, run) == contents(store, whole)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "times"), [(1, 8), (2, 3)])
def test_kill_9_many_times_at_random_moments(tmp_path: Path, workers: int, times: int) -> None:
    """A run that is killed again and again ends as one that was left in peace."""
    where = tmp_path / "store.sqlite"
    chance = random.Random(workers)
    kept = killed(where, "python:kiosk:slow", 3, chance.random() / 4, workers)
    for _ in range(times):
        kept |= killed(where, "resume", chance.randrange(1, 6), chance.random() / 4, workers)
        with open_store(where) as store:
            assert kept <= set(contents(store, the_run(store)))
    with open_store(where, write=True) as store:
        run = the_run(store)
        resume_run(store, run, Log())
        assert store.counts(run) == {"passed": 120, "failed": 0, "lost": 0, "owed": 0}
        assert {row.attempts for row in store.trials(run)} == {1}


@pytest.mark.slow
def test_first_runs_at_once_share_a_new_store(tmp_path: Path) -> None:
    """Each waits for the others to make the tables and to write; all of them finish."""
    where = tmp_path / "store.sqlite"
    processes = [begin(where, SLIPPERY, trials=5) for _ in range(4)]
    for process in processes:
        assert len(process.communicate()[0].splitlines()) == 30
        assert process.returncode == 0
    with open_store(where) as store:
        found = [contents(store, run) for run in store.runs()]
    assert len(found) == 4
    assert all(one == found[0] for one in found)


# --- a full disk ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    """One line says so; what was finished is there, and resume goes on when there is room."""
    where = tmp_path / "store.sqlite"

    def fill(limit: int) -> Callable[[], None]:
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with open_store(where, create=True):
        pass
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from helpers import *\nfrom passhat.harness.run import start_run\n"
        "from passhat.errors import InfrastructureError\n"
        "store = open_store(sys.argv[1], create=True)\n"
        "try:\n    start_run(store, kiosk_plan(trials=200), Traced())\n"
        "except InfrastructureError as error:\n    print('FULL', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(where), str(SCRIPT.parent)],
                          stdout=subprocess.PIPE, text=True, check=True,
                          preexec_fn=fill(300_000))  # fmt: skip
    *kept, last = done.stdout.splitlines()
    assert last.startswith("FULL store")
    assert "finished trials are kept, make room and resume" in last
    with open_store(where, write=True) as store:
        run = the_run(store)
        assert kept
        assert set(kept) == set(contents(store, run))
        with store._writing() as connection:  # fewer are enough to see that it goes on
            connection.exec_driver_sql("UPDATE runs SET trials = 20")
        resume_run(store, store.run(run.id), Log())
        assert store.counts(store.run(run.id))["owed"] == 0
