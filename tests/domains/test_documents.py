"""Worlds made of documents: what they keep, how they hash, how they differ."""

import json
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import MetaData

from passhat.domains.database import Database
from passhat.domains.documents import (
    TAU2_HASH,
    TAU_BENCH_HASH,
    Collection,
    StateHash,
    document_rows,
    value_differences,
)
from passhat.domains.world import World

METADATA = MetaData()
SHELVES = Collection(METADATA, "shelves", indexed=("room",))
SECTIONS = {
    "shelves": {
        "b": {"room": "hall", "books": 3, "price": 25.0},
        "a": {"room": "attic", "price": 25, "note": {"é": [True, None]}},
    }
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=12,
)

SMALL = st.dictionaries(
    st.sampled_from("ab"),
    st.recursive(
        st.sampled_from([0, 1, 0.0, 1.0, True, None, ""]),
        lambda values: (
            st.lists(values, max_size=2)
            | st.dictionaries(st.sampled_from("ab"), values, max_size=2)
        ),
        max_leaves=3,
    ),
    max_size=2,
)
"""Values so few that two of them are often equal."""


def world(sections: dict[str, dict[str, Any]] = SECTIONS) -> World:
    """The shelves."""
    return World(METADATA, document_rows(sections), datetime(2026, 3, 1))


@pytest.fixture
def db() -> Iterator[Database]:
    """The shelves, opened."""
    with world().fork() as opened:
        yield opened


def test_a_document_comes_back_as_it_was_written(db: Database) -> None:
    """Key order, kinds of numbers and file order survive."""
    assert SHELVES.text(db, "b") == json.dumps(SECTIONS["shelves"]["b"])
    assert [key for key, _ in SHELVES.all(db)] == ["b", "a"]


def test_an_id_of_another_kind_finds_nothing(db: Database) -> None:
    """A number is not the text of that number; a list cannot be looked up at all."""
    SHELVES.put(db, "7", {"room": "cellar"})
    assert SHELVES.text(db, 7) is None
    assert SHELVES.text(db, None) is None
    with pytest.raises(TypeError, match="list"):
        SHELVES.text(db, ["7"])


def test_a_new_document_stands_last(db: Database) -> None:
    """As it does in a dict; writing over an old one moves nothing."""
    SHELVES.put(db, "0", {"room": "hall"})
    SHELVES.put(db, "b", {"room": "attic"})
    assert [key for key, _ in SHELVES.all(db)] == ["b", "a", "0"]
    SHELVES.remove(db, "b")
    assert [key for key, _ in SHELVES.all(db)] == ["a", "0"]


def test_documents_are_found_by_an_indexed_field(db: Database) -> None:
    """Only by text, and in file order."""
    assert SHELVES.where(db, "room", "hall") == [SECTIONS["shelves"]["b"]]
    assert SHELVES.where(db, "room", None) == []


def test_what_was_edited_before_an_error_stays(db: Database) -> None:
    """That is how tools behave that work on objects in memory."""

    def stumble() -> None:
        with SHELVES.editing(db, "b") as shelf:
            shelf["books"] = 4
            raise ValueError("half way")

    with pytest.raises(ValueError, match="half"):
        stumble()
    found = SHELVES.get(db, "b")
    assert found is not None
    assert found["books"] == 4


def test_an_edit_that_changes_nothing_writes_nothing(db: Database) -> None:
    """The journal holds what was touched, and nothing else."""
    with SHELVES.editing(db, "b") as shelf:
        shelf["books"] = 3
    assert db.changes() == ()


def _by_definition(sections: dict[str, Any]) -> str:
    """tau-bench's hash, as its definition reads."""

    def hashable(value: Any) -> Any:
        if isinstance(value, dict):
            return tuple((key, hashable(item)) for key, item in sorted(value.items()))
        return tuple(map(hashable, value)) if isinstance(value, list) else value

    return sha256(str(hashable(sections)).encode()).hexdigest()


def test_the_hash_is_that_of_the_whole_database() -> None:
    """However it was worked out; a section of one document has the comma of a tuple of one."""
    one = {"shelves": {"a": SECTIONS["shelves"]["a"]}}
    for sections in (SECTIONS, one, {"shelves": {}}):
        assert StateHash(world(sections), TAU_BENCH_HASH).of() == _by_definition(sections)
    as_json = json.dumps(SECTIONS, sort_keys=True).encode()
    assert StateHash(world(), TAU2_HASH).of() == sha256(as_json).hexdigest()


def test_the_hash_follows_changes(db: Database) -> None:
    """A document changed, one added and one deleted give the hash of what is then there."""
    with SHELVES.editing(db, "b") as shelf:
        shelf["books"] = 9
    SHELVES.put(db, "aa", {"room": "hall"})
    SHELVES.remove(db, "a")
    now = {"shelves": dict(SHELVES.all(db))}
    assert StateHash(db.world, TAU_BENCH_HASH).of(db.changes()) == _by_definition(now)


@settings(suppress_health_check=[HealthCheck.too_slow])  # the first text draws a table of Unicode
@given(JSON)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    """Neither as it is nor after a round trip through text."""
    again = json.loads(json.dumps(value))
    assert list(value_differences(value, again, exact=True)) == []


@settings(max_examples=60)
@given(SMALL, SMALL)
def test_two_values_differ_exactly_if_their_hashed_texts_do(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """The exact comparison and the hash never disagree."""
    differ = any(value_differences(one, other, exact=True))
    assert differ == (_by_definition(one) != _by_definition(other))


def test_a_difference_says_where() -> None:
    """By keys and positions; what is not there is called nothing."""
    expected = {"items": [{"price": 1}], "status": "new"}
    found = {"items": [{"price": 2}, 3]}
    lines = [str(tuple(d)) for d in value_differences(expected, found, path="orders[7]")]
    assert lines == [
        "('orders[7].items[0].price', 1, 2)",
        "('orders[7].items[1]', nothing, 3)",
        "('orders[7].status', 'new', nothing)",
    ]


def test_numbers_are_numbers_unless_exactness_is_asked_for() -> None:
    """25 is 25.0, and True is not 1."""
    assert list(value_differences(25, 25.0)) == []
    assert len(list(value_differences(25, 25.0, exact=True))) == 1
    assert len(list(value_differences(True, 1))) == 1
