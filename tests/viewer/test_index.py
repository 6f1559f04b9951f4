"""The index follows its store, whatever happens to either, and leaves other files alone."""

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from viewing import Open, conversation, keep, lose, new_run, says

from passhat.errors import InfrastructureError
from passhat.harness.opening import open_engine
from passhat.harness.store import open_store
from passhat.viewer.index import BATCH, Index, index_file
from passhat.viewer.search import expression


def hits(index: Index, query: str) -> int:
    """How many events hold a query."""
    return len(index.search(expression(query), most=10_000))


def test_the_index_stands_beside_the_store(store_file: Path, opening: Open) -> None:
    """For its owner alone, as conversations are; a second viewer finds it made."""
    index = opening(store_file).index
    assert index.path == store_file.with_name("store.sqlite.search")
    assert index.path.stat().st_mode & 0o077 == 0
    assert index.progress.complete
    assert opening(store_file).index.progress.done == 16


def test_trials_that_come_later_are_taken_in(store_file: Path, opening: Open) -> None:
    """Of a run that goes on, in batches, in the background."""
    site = opening(store_file)
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["a"], 2 * BATCH)
        for number in range(1, 2 * BATCH + 1):
            keep(store, run, "a", number, conversation(says("user", "hippopotamus")))
    assert hits(site.index, "hippopotamus") == 0
    site.index.catch_up()
    assert hits(site.index, "hippopotamus") == 2 * BATCH
    assert site.index.done(run.id) == 2 * BATCH


def test_the_background_follows_the_store(store_file: Path) -> None:
    """Started, it reads what is there, and stops when it is told."""
    engine, _ = open_engine(str(store_file), write=True, create=False)
    index = Index(engine, *index_file(engine))
    index.start()
    for _ in range(600):
        if index.progress.done == 16:
            break
        time.sleep(0.05)
    index.close()
    engine.dispose()
    assert index.progress.done == 16


def test_a_lost_trial_that_is_tried_again_counts_once(store_file: Path, opening: Open) -> None:
    """Also if the new attempt gets the id of the old one."""
    site = opening(store_file)
    with open_store(store_file, write=True) as store:
        run = new_run(store, ["a", "b"])
        lose(store, run, "a", 1)
        site.index.catch_up()
        keep(store, run, "a", 1, conversation(says("user", "hippopotamus")))
        site.index.catch_up()
        assert (hits(site.index, "hippopotamus"), site.index.done(run.id)) == (1, 1)
        assert ("a", 1) in site.index.causes(run.id)


def test_another_store_of_the_same_name_is_read_anew(store_file: Path, opening: Open) -> None:
    """Nothing of the old one is found any more."""
    site = opening(store_file)
    assert hits(site.index, "refund") > 0
    site.close()
    store_file.unlink()
    with open_store(store_file, create=True) as store:
        run = new_run(store, ["a"], 20)
        for number in range(1, 21):
            keep(store, run, "a", number, conversation(says("user", "hippopotamus")))
    again = opening(store_file)
    assert (hits(again.index, "refund"), hits(again.index, "hippopotamus")) == (0, 20)
    assert again.index.progress.done == 20


def test_a_smaller_store_of_the_same_name_is_read_anew(store_file: Path, opening: Open) -> None:
    """Even if the last trial that was read is not in it."""
    opening(store_file).close()
    store_file.unlink()
    with open_store(store_file, create=True) as store:
        run = new_run(store, ["a"])
        keep(store, run, "a", 1, conversation(says("user", "hippopotamus")))
    again = opening(store_file)
    assert (hits(again.index, "refund"), again.index.progress.done) == (0, 1)


@pytest.mark.parametrize("content", [b"my own notes", b""])
def test_a_file_of_somebody_else_is_left_alone(
    store_file: Path, opening: Open, content: bytes
) -> None:
    """Then the index is made elsewhere, and says so; an empty file is taken."""
    beside = store_file.with_name("store.sqlite.search")
    beside.write_bytes(content)
    site = opening(store_file)
    assert (site.index.path == beside) is (content == b"")
    assert site.index.progress.complete
    if content:
        assert beside.read_bytes() == content
        assert "is no index of passhat" in site.index.progress.note


def test_another_database_is_left_alone(store_file: Path, opening: Open) -> None:
    """SQLite or not, what is not ours is not touched."""
    beside = store_file.with_name("store.sqlite.search")
    with closing(sqlite3.connect(beside)) as other:
        other.execute("CREATE TABLE notes (text)")
    before = beside.read_bytes()
    assert opening(store_file).index.path != beside
    assert beside.read_bytes() == before


def test_a_damaged_index_is_said_and_can_be_deleted(store_file: Path, opening: Open) -> None:
    """A page says so in a line; once the file is gone, it is made again."""
    site = opening(store_file)
    site.close()
    damage(site.index.path)
    with pytest.raises(InfrastructureError, match="delete it"):
        site.index.causes("any")
    with pytest.raises(InfrastructureError, match="delete it"):
        assert site.index.progress
    site.index.path.unlink()
    assert opening(store_file).index.progress.done == 16


def damage(index: Path) -> None:
    """Leave the beginning, which says whose file it is, and nothing else."""
    index.write_bytes(index.read_bytes()[:100] + b"x" * 5000)


def test_a_damaged_index_is_made_anew_at_the_next_start(store_file: Path, opening: Open) -> None:
    """It holds nothing that the store does not, so nobody has to be asked."""
    site = opening(store_file)
    site.close()
    damage(site.index.path)
    again = opening(store_file).index
    assert (again.path, again.progress.done, again.progress.note) == (site.index.path, 16, "")
    assert hits(again, "refund") > 0


def test_an_index_that_is_damaged_meanwhile_is_made_anew(store_file: Path, opening: Open) -> None:
    """While the viewer runs, and without a word from anybody."""
    index = opening(store_file).index
    damage(index.path)
    index.start()
    for _ in range(600):
        with suppress(InfrastructureError):
            if index.progress.done == 16:
                break
        time.sleep(0.05)
    index.close()
    assert index.progress.done == 16


def test_a_store_on_read_only_media_is_called_by_its_path(tmp_path: Path) -> None:
    """Its engine names it as an address, with what is odd in it quoted."""
    path = tmp_path / "a store%.sqlite"
    engine = create_engine(f"sqlite:///{path.as_uri()[:5]}{path.as_uri()[7:]}?immutable=1&uri=true")
    assert index_file(engine) == (tmp_path / "a store%.sqlite.search", "")


def test_a_damaged_transcript_stops_nothing(store_file: Path, opening: Open) -> None:
    """Its trial is in the index without words; the others are found."""
    with closing(sqlite3.connect(store_file)) as store:
        store.execute("UPDATE transcripts SET packed = x'00' WHERE trial = 1")
        store.commit()
    site = opening(store_file)
    assert site.index.progress.done == 16
    assert hits(site.index, "refund") > 0
