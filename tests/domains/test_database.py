"""One episode's database: isolation, atomicity, the journal, forks."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import bindparam, select

from passhat.domains.database import Database
from passhat.domains.world import World

from ..library import EVENTS, LOANS, METADATA, make_library

LIBRARY = make_library()


def everything(db: Database) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    return {name: db.find(name, {}) for name in METADATA.tables}


WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("renew"), st.sampled_from(["L-1", "L-2"]), st.dates().map(str)),
        st.tuples(st.just("note"), st.sampled_from(["L-1", "L-2"]), st.text(max_size=5)),
        st.tuples(
            st.just("fine"), st.just("M-1"), st.floats(allow_nan=False, allow_infinity=False)
        ),
        st.tuples(st.just("rename"), st.sampled_from(["L-1", "L-2"]), st.sampled_from("xyz")),
        st.tuples(st.just("drop"), st.sampled_from(["L-1", "L-2"]), st.just("")),
    ),
    max_size=12,
)


def write_all(db: Database, writes: list[tuple[str, str, Any]]) -> None:
    """Carry out drawn writes, through tools and directly."""
    for what, key, value in writes:
        if what == "renew":
            LIBRARY.call(db, "renew_loan", {"loan_id": key, "due_on": value})
        elif what == "drop":
            db.connection.execute("DELETE FROM loans WHERE loan_id = ?", (key,))
        elif what == "rename":
            db.connection.execute(
                "UPDATE OR IGNORE loans SET loan_id = ? WHERE loan_id = ?", (value, key)
            )
        elif what == "note":
            db.set_values("loans", {"loan_id": key}, {"note": value})
        else:
            db.set_values("members", {"member_id": key}, {"fines": value})


@given(before=WRITES, parent=WRITES, child=WRITES)
def test_a_fork_and_its_parent_never_affect_each_other(
    before: list[Any], parent: list[Any], child: list[Any]
) -> None:
    """Equal at the fork, to the last digit; afterwards each has its own writes only."""
    with LIBRARY.world.fork() as db:
        write_all(db, before)
        with db.fork() as twin:
            at_fork = everything(db)
            assert everything(twin) == at_fork
            assert twin.changes() == db.changes()
            write_all(twin, child)
            assert everything(db) == at_fork
            after_child = everything(twin)
            write_all(db, parent)
            assert everything(twin) == after_child


@given(writes=WRITES)
def test_a_closed_database_leaves_the_next_one_the_seed(writes: list[Any]) -> None:
    """Connections are reused, rows never."""
    with LIBRARY.world.fork() as db:
        seed = everything(db)
        write_all(db, writes)
    with LIBRARY.world.fork() as db:
        assert everything(db) == seed
        assert db.changes() == ()


@given(writes=WRITES)
def test_changes_are_exactly_the_rows_that_differ_from_the_start(writes: list[Any]) -> None:
    """Applying the net changes to the seed rows gives the rows at the end."""
    with LIBRARY.world.fork() as db:
        start = {
            table: {r[key_of(table)]: r for r in rows} for table, rows in everything(db).items()
        }
        write_all(db, writes)
        for change in db.changes():
            assert start[change.table].get(change.key[0]) == change.before
            assert change.before != change.after
            if change.after is None:
                del start[change.table][change.key[0]]
            else:
                start[change.table][change.key[0]] = change.after
        end = {table: {r[key_of(table)]: r for r in rows} for table, rows in everything(db).items()}
        assert start == end


def key_of(table: str) -> str:
    """The primary key column of a table of the library."""
    return next(iter(METADATA.tables[table].primary_key)).name


def test_a_value_changed_and_changed_back_is_no_change() -> None:
    """Only the net effect of an episode counts."""
    with LIBRARY.world.fork() as db:
        db.set_values("loans", {"loan_id": "L-1"}, {"renewals": 5})
        db.set_values("loans", {"loan_id": "L-1"}, {"renewals": 0})
        assert db.changes() == ()


def test_a_row_replaced_behind_an_insert_is_journalled_too() -> None:
    """INSERT OR REPLACE deletes a row; the journal sees it."""
    with LIBRARY.world.fork() as db:
        db.connection.execute("INSERT OR REPLACE INTO members VALUES ('M-2', 'new@example.com', 0)")
        (change,) = db.changes()
        assert change.before is not None
        assert change.after is not None
        assert (change.before["email"], change.after["email"]) == (
            "pancakes@example.com",
            "new@example.com",
        )


def test_a_block_that_raises_leaves_no_row_written() -> None:
    """Writes inside atomic() happen together or not at all."""
    with LIBRARY.world.fork() as db:
        before = everything(db)

        def half() -> None:
            with db.atomic():
                db.set_values("loans", {}, {"renewals": 9})
                raise KeyError("no")

        with pytest.raises(KeyError):
            half()
        assert everything(db) == before
        assert db.changes() == ()


def test_foreign_keys_hold() -> None:
    """A loan of nobody cannot be written."""
    with LIBRARY.world.fork() as db, pytest.raises(Exception, match="FOREIGN KEY"):
        db.set_values("loans", {"loan_id": "L-1"}, {"member_id": "nobody"})


def test_a_list_parameter_is_refused_with_the_way_out() -> None:
    """`in_` with a bound list cannot be compiled once; the message says what to write."""
    listed = select(LOANS).where(LOANS.c.loan_id.in_(bindparam("ids", expanding=True)))
    with LIBRARY.world.fork() as db, pytest.raises(TypeError, match="json_each"):
        db.rows(listed, ids=["L-1"])


def test_rows_are_read_with_core_statements_by_column_name() -> None:
    """Values with parameters, first row or all rows."""
    statement = select(LOANS.c.title).where(LOANS.c.member_id == bindparam("member"))
    with LIBRARY.world.fork() as db:
        assert [row["title"] for row in db.rows(statement, member="M-1")] == ["Emma", "Dune"]
        assert db.row(statement, member="M-2") is None


def test_a_committed_connection_is_not_handed_out_again() -> None:
    """Somebody who commits spoils only their own rows."""
    library = make_library()
    db = library.world.fork()
    db.set_values("loans", {}, {"renewals": 9})
    db.connection.execute("COMMIT")
    db.close()
    db.close()
    with library.world.fork() as fresh:
        assert {row["renewals"] for row in fresh.find("loans", {})} == {0}


def test_the_seed_can_be_read_with_ordinary_sqlalchemy() -> None:
    """A connection to a copy of the seed, for looking around."""
    with LIBRARY.world.connect() as connection:
        assert len(connection.execute(select(LOANS)).all()) == 2
        assert connection.execute(select(EVENTS)).all() == []


def test_a_row_with_an_unknown_column_makes_no_world() -> None:
    """A typo in a row file is said, not dropped."""
    rows = {"members": [{"member_id": "M-1", "email": "a@example.com", "fines": 0, "age": 4}]}
    with pytest.raises(KeyError, match="'members' has no column 'age'"):
        World(METADATA, rows, datetime(2026, 3, 16)).fork()
