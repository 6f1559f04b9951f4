"""What the generators of worlds share."""

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, Text

from passhat.domains.seeding import Draft, as_lines, plain_letters


def test_rows_are_written_one_compact_object_a_line() -> None:
    """The format the loader reads and a diff shows well."""
    assert as_lines([{"a": 1, "b": "é"}, {"a": 2, "b": None}]) == (
        '{"a":1,"b":"é"}\n{"a":2,"b":null}\n'
    )


@pytest.mark.parametrize(
    ("name", "plain"), [("O'Rourke", "orourke"), ("Łukasz", "lukasz"), ("Núñez-Åse", "nunezase")]
)
def test_names_become_letters_that_fit_an_id(name: str, plain: str) -> None:
    """Also those that Unicode does not take apart."""
    assert plain_letters(name) == plain


def test_a_draft_is_finished_in_order_and_with_every_column() -> None:
    """Tables as the schema has them, rows by primary key, what was not said is NULL."""
    tables = MetaData()
    Table("shelves", tables, Column("number", Integer, primary_key=True), Column("room", Text))
    draft = Draft(1)
    draft.add("shelves", number=2, room="attic")
    draft.add("shelves", number=1)
    assert draft.finished(tables) == {
        "shelves": [{"number": 1, "room": None}, {"number": 2, "room": "attic"}]
    }
    assert [Draft(1).random.random() for _ in range(2)].count(draft.random.random()) == 2
