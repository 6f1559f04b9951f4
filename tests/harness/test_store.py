"""The store: what goes in comes out, once, and whatever is wrong is said in one line."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers import new_store
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, event, text

from passhat.errors import Fault, UsageError
from passhat.grading.verdict import Verdict
from passhat.harness.attempt import pack_transcript
from passhat.harness.opening import open_engine
from passhat.harness.records import Baseline, Run
from passhat.harness.store import CLAIM_SECONDS, Store, open_store, run_ids
from passhat.harness.trials import FinishedTrial, lost_trial, trial_of
from passhat.models.account import Spending
from passhat.transcript import EndingEvent, EndReason, MessageEvent, Transcript, Usage

TALK = Transcript(
    [
        MessageEvent(index=0, turn=0, by="user", content="Grüß Gott \x1b[31m 🎫"),
        EndingEvent(index=1, turn=0, reason=EndReason.USER_STOP),
    ]
)
VERDICTS = (
    Verdict(grader="outcome", passed=False, score=0.5, reason="T-1", evidence=({"event": 1},)),
    Verdict(grader="ending", passed=True, score=1.0, reason="user stop"),
)
PAID = Spending(2, Usage(input_tokens=4, cache_read_tokens=6, cost_dollars=0.25))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


def new_run(store: Store, name: str | None = None, **about: object) -> Run:
    """A run of two trials of two tasks."""
    values = {"domain": "kiosk", "agent": "noop", "user": "agenda", "seed": 1, "trials": 2}
    return store.new_run(tasks=["a", "b"], name=name, **(values | about))  # type: ignore[arg-type]


def finished(task: str = "a", number: int = 1, reward: float | None = 0.0) -> FinishedTrial:
    """A trial as it is handed to the store."""
    fault = {None: Fault.SIMULATOR, 0.0: Fault.AGENT, 1.0: None}[reward]
    return FinishedTrial(
        trial=trial_of(1, "kiosk", task, number),
        reward=reward,
        fault=fault,
        reason="" if fault is None else "why",
        ending="user stop",
        turns=3,
        tool_calls=2,
        tool_errors=1,
        seconds=0.5,
        spending={"agent": PAID},
        verdicts=VERDICTS,
        basis=("outcome",),
        transcript=pack_transcript(TALK),
    )


# --- trials ---------------------------------------------------------------------------------------


def test_a_trial_comes_back_as_it_went_in(store: Store) -> None:
    """Row, verdicts with their evidence, and the transcript to the last character."""
    run = new_run(store)
    assert store.record(run, finished())
    details = store.trial(run, "a", 1)
    assert details.transcript == TALK
    assert details.verdicts == VERDICTS
    assert details.basis == ("outcome",)
    assert details.row.address == f"{run.id}/a/1"
    assert details.row.result == "failed"
    assert (details.row.input_tokens, details.row.output_tokens) == (10, None)
    assert details.row.seed == trial_of(1, "kiosk", "a", 1).seed


def test_a_scored_trial_is_never_replaced(store: Store) -> None:
    """Whoever comes second, with whatever result, changes nothing."""
    run = new_run(store)
    assert store.record(run, finished(reward=1.0))
    assert not store.record(run, finished(reward=0.0))
    assert not store.record(run, finished(reward=None))
    assert store.trial(run, "a", 1).row.result == "passed"


def test_a_lost_trial_is_replaced_and_its_attempts_are_counted(store: Store) -> None:
    """A loss is owed again; of its earlier attempts only the number stays."""
    run = new_run(store)
    store.record(run, finished(reward=None))
    store.record(run, lost_trial(trial_of(1, "kiosk", "a", 1), Fault.TASK, "broken"))
    assert [t.number for t in store.owed(run) if t.task == "a"] == [1, 2]
    assert store.record(run, finished(reward=1.0))
    assert [t.number for t in store.owed(run) if t.task == "a"] == [2]
    details = store.trial(run, "a", 1)
    assert (details.row.attempts, details.row.result) == (3, "passed")
    assert len(details.verdicts) == 2


# --- what was spent -------------------------------------------------------------------------------


def test_what_every_attempt_spent_is_kept(store: Store) -> None:
    """Of those lost, of one that came too late, and of one that was dropped."""
    run = new_run(store)
    trial = trial_of(1, "kiosk", "a", 1)
    lost = replace(finished(reward=None), spending={"agent": PAID, "user": PAID})
    for attempt in (lost, finished(reward=1.0), finished(reward=0.0)):
        store.record(run, attempt)
    store.record_spending(run, trial, {"agent": PAID})
    store.record_spending(run, None, {"warm-up": PAID})
    twice = PAID + PAID
    assert store.spending(run) == {"agent": twice + twice, "user": PAID, "warm-up": PAID}
    assert store.spending(run, "a", 1) == {"agent": twice + twice, "user": PAID}
    assert store.spending(run, "b") == {}
    assert store.trial(run, "a", 1).row.cost_dollars == 0.25


def test_where_nothing_is_spent_nothing_is_written(store: Store) -> None:
    """Agents without a model cost no row."""
    run = new_run(store)
    store.record(run, replace(finished(), spending={}))
    store.record_spending(run, trial_of(1, "kiosk", "a", 1), {})
    assert store.spending(run) == {}
    with store._reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM spending")).scalar() == 0
    row = store.trial(run, "a", 1).row
    assert (row.input_tokens, row.output_tokens, row.cost_dollars) == (None, None, None)


counts = st.none() | st.integers(0, 1000)
usages = st.builds(
    Usage,
    input_tokens=counts,
    cache_read_tokens=counts,
    output_tokens=counts,
    cost_dollars=st.none() | st.integers(0, 64).map(lambda n: n / 64),
)


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(["agent", "user"]), usages), max_size=8))
def test_sums_in_the_store_are_sums_of_usage(spent: list[tuple[str, Usage]]) -> None:
    """A cost that is unknown once is unknown of the side, and nothing spent is not unknown."""
    expected: dict[str, Spending] = {}
    with memory_store() as store:
        run = new_run(store)
        for side, usage in spent:
            store.record_spending(run, None, {side: Spending(1, usage)})
            expected[side] = expected.get(side, Spending()) + Spending(1, usage)
        assert store.spending(run) == expected


def memory_store() -> Store:
    """A store that is gone when it is closed."""
    store = Store(create_engine("sqlite://"), "memory")
    store.prepare(create=True)
    return store


# --- listings -------------------------------------------------------------------------------------


def test_every_planned_trial_is_in_the_results(store: Store) -> None:
    """Those not run count as lost so far, those lost say whose fault it was."""
    run = new_run(store)
    store.record(run, finished("a", 1, 1.0))
    store.record(run, finished("b", 2, None))
    results = {(r.task, r.trial): (r.passed, r.lost, r.fault) for r in store.trial_results(run)}
    assert results == {
        ("a", 1): (True, None, None),
        ("a", 2): (None, "not run yet", None),
        ("b", 1): (None, "not run yet", None),
        ("b", 2): (None, "why", Fault.SIMULATOR),
    }
    assert store.counts(run) == {"passed": 1, "failed": 0, "lost": 1, "owed": 2}


def test_trials_are_listed_in_the_order_of_the_plan(store: Store) -> None:
    """Whatever order they finished in."""
    run = new_run(store)
    for task, number in (("b", 2), ("a", 2), ("b", 1), ("a", 1)):
        store.record(run, finished(task, number, float(number == 1)))
    assert [f"{r.task}{r.trial}" for r in store.trials(run)] == ["a1", "a2", "b1", "b2"]
    assert [f"{r.task}{r.trial}" for r in store.trials(run, ["failed"])] == ["a2", "b2"]


def test_recording_looks_at_nothing_but_indexes(store: Store) -> None:
    """Every statement of the hot path is a search by key, so that a big store is no slower."""
    run = new_run(store)
    store.record(run, finished(reward=None))
    raw = sqlite3.connect(store.name)
    for statement in (
        "SELECT id FROM trials WHERE run = 'x' AND task = 'a' AND trial = 1",
        "DELETE FROM verdicts WHERE trial = 1",
        "DELETE FROM transcripts WHERE trial = 1",
        "SELECT reward FROM trials WHERE run = 'x'",
    ):
        plan = " ".join(row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}"))
        assert "SEARCH" in plan
        assert "SCAN" not in plan
    raw.close()


def test_what_was_not_planned_is_not_found(store: Store) -> None:
    """A wrong address is answered with the right ones."""
    run = new_run(store)
    with pytest.raises(UsageError, match="no task 'aa'; did you mean 'a'"):
        store.trial(run, "aa", 1)
    with pytest.raises(UsageError, match="trials 1 to 2"):
        store.trial(run, "a", 3)
    with pytest.raises(UsageError, match="not played yet: passhat resume"):
        store.trial(run, "a", 2)


# --- runs -----------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_went_in(store: Store) -> None:
    """Conditions, fingerprint, versions and baseline included."""
    baseline = Baseline("noop", 4, 1, 0)
    run = new_run(store, conditions={"x": 1}, parts={"tasks": "t"}, baseline=baseline)
    assert store.run(run.id) == run
    assert (run.planned, run.conditions, run.parts) == (4, {"x": 1}, {"tasks": "t"})
    assert run.baseline == baseline
    assert run.baseline.pass_rate == 0.25


def test_ids_sort_by_age() -> None:
    """Within a domain the later run has the greater id, and ids of one moment differ."""
    early = run_ids("retail", datetime(2026, 3, 16, 0, 0, 0, tzinfo=UTC))
    late = run_ids("retail", datetime(2026, 3, 16, 23, 59, 59, tzinfo=UTC))
    ids = [next(early), next(early), next(late), next(late)]
    assert ids == sorted(set(ids))
    assert ids[0] == "retail-20260316-0000"


def test_two_runs_of_one_moment_get_two_ids(store: Store) -> None:
    """Nobody's run is written over."""
    assert len({new_run(store).id for _ in range(5)}) == 5


def test_a_run_is_found_by_whatever_names_it(store: Store) -> None:
    """Its id, the beginning of its id, its name, and the last one as such."""
    first, last = new_run(store, "first"), new_run(store, domain="other")
    assert store.find_run(first.id) == first
    assert store.find_run("first") == first
    assert store.find_run("kiosk-") == first
    assert store.find_run("last") == last


def test_what_names_no_run_or_several_is_refused(store: Store) -> None:
    """The message says which ones are near."""
    first = new_run(store, "first")
    new_run(store)
    with pytest.raises(UsageError, match=f"no run 'fist'; did you mean 'first'.*{store.name}"):
        store.find_run("fist")
    with pytest.raises(UsageError, match=f"is the beginning of '{first.id}' and"):
        store.find_run("kiosk")
    with pytest.raises(UsageError, match="no run ''"):
        store.find_run("")


def test_a_name_is_given_once(store: Store) -> None:
    """Otherwise it would name nothing."""
    run = new_run(store, "nightly")
    with pytest.raises(UsageError, match=f"run '{run.id}' is called 'nightly' already"):
        new_run(store, "nightly")


def test_a_synthetic_run_says_so_wherever_its_numbers_go(store: Store) -> None:
    """The source of the curve carries the note."""
    run = new_run(store, synthetic=True)
    assert store.source(run).note == "SYNTHETIC agent noop"


# --- claims ---------------------------------------------------------------------------------------


def test_a_claimed_run_is_not_carried_on_by_another(store: Store, tmp_path: Path) -> None:
    """Not until its holder gives it back."""
    run = new_run(store)
    with new_store(tmp_path) as other:
        with pytest.raises(UsageError, match=f"carried on by process {os.getpid()}"):
            other.claim(run)
        store.release(run, "interrupted")
        assert other.run(run.id).status == "interrupted"
        other.claim(run)
        assert not store.keep_claim(run)
        store.release(run, "finished")
        assert other.run(run.id).status == "running"


def test_the_claim_of_a_dead_process_is_void(store: Store, tmp_path: Path) -> None:
    """After a kill -9 nobody has to wait."""
    run = new_run(store)
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    raw = sqlite3.connect(store.name)
    with raw:
        raw.execute(
            f"UPDATE runs SET claim = replace(claim, ':{os.getpid()}:', ':{int(child.stdout)}:')"
        )
    raw.close()
    assert store.run(run.id).status == "interrupted"
    with new_store(tmp_path) as other:
        other.claim(run)


def test_a_claim_without_a_heartbeat_is_void(store: Store, tmp_path: Path) -> None:
    """A process on another machine cannot be asked; silence means that it is gone."""
    run = new_run(store)
    raw = sqlite3.connect(store.name)
    with raw:
        raw.execute("UPDATE runs SET claim = 'elsewhere:1:aa'")
    with new_store(tmp_path) as other:
        with pytest.raises(UsageError, match="process 1 on 'elsewhere'"):
            other.claim(run)
        with raw:
            raw.execute(f"UPDATE runs SET heartbeat = heartbeat - {CLAIM_SECONDS + 1}")
        other.claim(run)
    raw.close()


def test_two_stores_write_one_file_at_once(store: Store, tmp_path: Path) -> None:
    """Each waits for the other's transaction instead of failing."""
    with new_store(tmp_path) as other:
        first, second = new_run(store), new_run(other)
        for number in (1, 2):
            assert store.record(first, finished("a", number))
            assert other.record(second, finished("a", number))
        assert not other.record(first, finished("a", 1))
        assert len(other.trials(first)) == len(store.trials(second)) == 2


# --- baselines ------------------------------------------------------------------------------------


def test_a_baseline_is_kept_by_task_set_and_agent(store: Store) -> None:
    """The first one stays."""
    store.keep_baseline("f", Baseline("noop", 4, 1, 0))
    store.keep_baseline("f", Baseline("noop", 4, 2, 0))
    assert store.baseline("f", "noop") == Baseline("noop", 4, 1, 0)
    assert store.baseline("g", "noop") is None


# --- opening --------------------------------------------------------------------------------------


def test_a_store_is_made_only_when_asked_for(tmp_path: Path) -> None:
    """Looking into a store that is not there leaves nothing behind."""
    with pytest.raises(UsageError, match=r"there is no store .*passhat run makes one"):
        open_store(tmp_path / "none.sqlite")
    assert not list(tmp_path.iterdir())


def test_the_environment_names_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PASSHAT_STORE, else a file in the current folder."""
    monkeypatch.setenv("PASSHAT_STORE", str(tmp_path / "mine.sqlite"))
    open_store(create=True).close()
    monkeypatch.delenv("PASSHAT_STORE")
    monkeypatch.chdir(tmp_path)
    open_store(create=True).close()
    assert {p.name for p in tmp_path.glob("*.sqlite")} == {"mine.sqlite", "passhat.sqlite"}


def test_a_newer_schema_is_refused(store: Store) -> None:
    """Guessing at tables of the future would spoil them."""
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE passhat_store SET schema = 99"))
    with pytest.raises(UsageError, match=r"newer passhat \(schema 99, this one knows 2\): upgrade"):
        open_store(store.name)


SCHEMA_1 = (Path(__file__).parents[1] / "fixtures/store/schema-1.sql").read_text()


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A store of the time before anybody wrote down what was spent, with a run of one trial."""
    where = tmp_path / "old.sqlite"
    with sqlite3.connect(where) as raw:
        raw.executescript(SCHEMA_1)
        raw.execute("INSERT INTO passhat_store VALUES (1)")
        raw.execute(
            "INSERT INTO runs VALUES ('kiosk-1', 'old', '2026-03-16T10:00:00+00:00', 'finished',"
            " 'kiosk', 'noop', 'agenda', 1, 2, '[\"a\"]', 0, '{}', '', '{}', '{}', NULL,"
            " NULL, NULL)"
        )
        raw.execute(
            "INSERT INTO trials VALUES (1, 'kiosk-1', 'a', 1, 7, 1, 1.0, NULL, '', 'user stop', 3,"
            " 2, 1, 0.5, 10, NULL, 0.25, '[]', '2026-03-16T10:00:01+00:00')"
        )
    raw.close()
    return where


def test_an_older_store_is_brought_up_to_date(old_store: Path) -> None:
    """What is in it stays, and from now on what is spent is kept."""
    with open_store(old_store) as store:
        run = store.find_run("old")
        assert (store.schema, store.spending(run)) == (2, {})
        assert store.trial(run, "a", 1).row.cost_dollars == 0.25
        assert store.record(run, finished(number=2))
        assert store.spending(run) == {"agent": PAID}
    with open_store(old_store) as again:
        assert again.schema == 2
        with again._reading() as connection:
            assert connection.execute(text("SELECT * FROM passhat_store")).all() == [(2,)]
            assert connection.execute(text("SELECT * FROM labels")).all() == []


def test_an_older_store_that_cannot_be_written_is_read(old_store: Path) -> None:
    """Of what was spent nothing is known; all the rest is there."""
    engine, name = open_engine(str(old_store), write=False, create=False)
    event.listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = ON"))
    with Store(engine, name) as store:
        store.prepare(create=False)
        run = store.find_run("old")
        assert (store.schema, store.spending(run)) == (1, {})
        assert store.counts(run) == {"passed": 1, "failed": 0, "lost": 0, "owed": 1}


@pytest.mark.parametrize("create", [False, True])
def test_what_is_no_store_is_left_alone(tmp_path: Path, create: bool) -> None:
    """Neither a text file nor somebody else's database is written to."""
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Sir or Madam, " * 100)
    with pytest.raises(UsageError, match="no store of passhat"):
        open_store(letter, create=create)
    assert letter.read_text() == "Dear Sir or Madam, " * 100
    other = tmp_path / "other.sqlite"
    raw = sqlite3.connect(other)
    raw.execute("CREATE TABLE recipes (name)")
    raw.commit()
    raw.close()
    before = other.read_bytes()
    with pytest.raises(UsageError, match="no store of passhat"):
        open_store(other, create=create)
    assert other.read_bytes() == before


def test_a_place_where_no_store_can_be_is_named(tmp_path: Path) -> None:
    """A folder, a missing folder, a folder below a file, a file system that takes no files."""
    (tmp_path / "file").write_text("x")
    for place, why in {
        tmp_path: "is a folder",
        tmp_path / "none" / "x.sqlite": "there is no folder",
        tmp_path / "file" / "x.sqlite": "there is no folder",
        Path("/proc/x.sqlite"): "cannot be",
    }.items():
        with pytest.raises(UsageError, match=why):
            open_store(place, create=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_store_that_cannot_be_written_can_be_read(store: Store, tmp_path: Path) -> None:
    """From read-only media too; a run there is refused."""
    run = new_run(store)
    store.close()
    Path(store.name).chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with open_store(store.name) as reader:
            assert reader.find_run("last").id == run.id
        for place in (Path(store.name), tmp_path / "new.sqlite"):
            with pytest.raises(UsageError, match="cannot be written"):
                open_store(place, create=True)
    finally:
        tmp_path.chmod(0o755)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """As mktemp leaves one."""
    (tmp_path / "empty").touch()
    with open_store(tmp_path / "empty", create=True) as store:
        assert store.runs() == []


def test_a_password_is_never_shown() -> None:
    """Messages name the database without it."""
    for url in ("nosuch://u:secret@host/x", "postgresql+nosuch://u:secret@host/x"):
        with pytest.raises(UsageError) as caught:
            open_store(url)
        assert "secret" not in str(caught.value)


def test_a_lost_transcript_is_an_empty_one(store: Store) -> None:
    """A trial that never began has nothing to show, and that is no error."""
    run = new_run(store)
    store.record(run, replace(finished(reward=None), transcript=b"", verdicts=()))
    assert store.trial(run, "a", 1).transcript == []


def test_text_that_no_database_takes_is_made_fit(store: Store) -> None:
    """A NUL or half a surrogate pair in a reason does not cost the trial."""
    run = new_run(store)
    bad = Verdict(grader="x", passed=False, score=0.0, reason="nul \0, half \ud83d")
    assert store.record(run, replace(finished(), reason=bad.reason, verdicts=(bad,)))
    details = store.trial(run, "a", 1)
    assert details.row.reason == details.verdicts[0].reason == "nul \ufffd, half ?"


@pytest.mark.skipif("PASSHAT_TEST_DATABASE" not in os.environ, reason="needs a database server")
def test_a_database_server_serves_as_a_store() -> None:
    """PASSHAT_TEST_DATABASE names one, e.g. postgresql+psycopg://postgres@localhost/test."""
    url = os.environ["PASSHAT_TEST_DATABASE"]
    with open_store(url, create=True) as store, open_store(url, create=True) as other:
        run = new_run(store)
        assert store.record(run, finished(reward=None))
        with pytest.raises(UsageError, match="carried on by"):
            other.claim(run)
        assert store.record(run, replace(finished(reward=1.0), reason="nul \0"))
        assert not other.record(run, finished(reward=0.0))
        details = other.trial(run, "a", 1)
        assert (details.row.attempts, details.row.result) == (2, "passed")
        assert details.transcript == TALK
        store.release(run, "interrupted")
        other.claim(run)
        assert len(other.owed(run)) == 3
