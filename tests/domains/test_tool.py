"""Tools: schema from the function, three kinds of refusal, and nothing half-written."""

import pytest

from passhat.errors import BrokenToolError
from passhat.transcript import ErrorKind

from ..library import TOOLS, make_library

LIBRARY = make_library()


def test_the_schema_is_the_signature_and_the_docstring() -> None:
    """Names, types, descriptions and what is required; the database is not an argument."""
    assert TOOLS["renew_loan"].schema == {
        "name": "renew_loan",
        "description": "Give a member more time with a book.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "loan_id": {"type": "string", "description": "As printed on the slip."},
                "due_on": {"type": "string", "description": "The new date, YYYY-MM-DD."},
            },
            "required": ["loan_id", "due_on"],
        },
    }


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "says"),
    [
        ("renew_laon", {}, ErrorKind.UNKNOWN_TOOL, "no tool 'renew_laon'; did you mean renew_loan"),
        ("xyz", {}, ErrorKind.UNKNOWN_TOOL, "break_down or fetch_librarian or find_loan"),
        ("find_loan", {}, ErrorKind.BAD_ARGUMENT, "argument 'loan_id' is missing"),
        ("find_loan", {"loan_id": 7}, ErrorKind.BAD_ARGUMENT, "valid string, not 7"),
        (
            "find_loan",
            {"loan_id": "L-1", "loan": 1},
            ErrorKind.BAD_ARGUMENT,
            "argument 'loan' is not known; find_loan takes loan_id",
        ),
        ("find_loan", {"loan_id": "\ud800"}, ErrorKind.BAD_ARGUMENT, "not valid Unicode"),
        (
            "pay_fine",
            {"cents": 2**63},
            ErrorKind.BAD_ARGUMENT,
            "argument 'cents': a number of more",
        ),
        ("find_loan", ["L-1"], ErrorKind.BAD_ARGUMENT, "must be an object"),
        ("find_loan", {"loan_id": "L-9"}, ErrorKind.REFUSED, "Error: no loan 'L-9'"),
    ],
)
def test_each_kind_of_wrong_call_says_what_to_do(
    name: str, arguments: object, kind: ErrorKind, says: str
) -> None:
    """Unknown tool, bad argument and refused request are told apart."""
    with LIBRARY.world.fork() as db:
        outcome = LIBRARY.call(db, name, arguments)
    assert outcome.error is kind
    assert says in outcome.content


def test_a_refused_write_leaves_no_row() -> None:
    """The event written before the refusal is gone."""
    with LIBRARY.world.fork() as db:
        outcome = LIBRARY.call(db, "renew_loan", {"loan_id": "L-9", "due_on": "2026-04-01"})
        assert outcome.error is ErrorKind.REFUSED
        assert db.find("events", {}) == []


def test_a_crash_is_a_broken_tool_and_leaves_no_row() -> None:
    """An exception other than ToolError is our bug, not the agent's."""
    with LIBRARY.world.fork() as db:
        with pytest.raises(BrokenToolError, match="break_down: ZeroDivisionError: oh no"):
            LIBRARY.call(db, "break_down", {})
        assert db.changes() == ()


def test_a_read_that_writes_is_a_broken_tool() -> None:
    """Marked as a read, it must not touch a row."""
    with LIBRARY.world.fork() as db, pytest.raises(BrokenToolError, match="sneaky_read wrote"):
        LIBRARY.call(db, "sneaky_read", {})


def test_a_write_notes_the_rows_it_wrote() -> None:
    """Each row once, with what it was and what it is."""
    with LIBRARY.world.fork() as db:
        outcome = LIBRARY.call(db, "renew_loan", {"loan_id": "L-1", "due_on": "2026-04-01"})
    assert outcome.content == "due 2026-04-01"
    assert [(row.table, row.key) for row in outcome.rows] == [("events", (1,)), ("loans", ("L-1",))]
    assert outcome.rows[0].before is None
    assert outcome.rows[1].after is not None
    assert outcome.rows[1].after["due_on"] == "2026-04-01"


def test_results_are_json_unless_they_are_text() -> None:
    """Objects come out as JSON in the order the tool built them."""
    with LIBRARY.world.fork() as db:
        content = LIBRARY.call(db, "find_loan", {"loan_id": "L-1"}).content
    assert content.startswith('{"loan_id": "L-1", "member_id": "M-1", "title": "Emma"')
