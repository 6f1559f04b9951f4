"""The outcome grader: rows against rows, with the difference in words."""

from typing import Any

import pytest

from passhat.domains.database import Database
from passhat.errors import TaskError
from passhat.grading.outcome import OutcomeGrader, start_rows
from passhat.grading.verdict import Verdict
from passhat.task import Task

from ..library import RENEWAL, make_library

LIBRARY = make_library()
RENEW = {"name": "renew_loan", "arguments": {"loan_id": "L-1", "due_on": "2026-04-01"}}


def task(**changes: Any) -> Task:
    """The renewal task, changed."""
    return Task.model_validate(RENEWAL.model_dump() | changes)


def renew(db: Database, loan_id: str = "L-1", due_on: str = "2026-04-01") -> None:
    """Renew a loan through the tool."""
    LIBRARY.call(db, "renew_loan", {"loan_id": loan_id, "due_on": due_on})


def judge(problem: Task, *renewals: tuple[str, str]) -> Verdict:
    """The verdict after these renewals."""
    with start_rows(LIBRARY, problem) as db:
        for loan_id, due_on in renewals:
            renew(db, loan_id, due_on)
        return OutcomeGrader(LIBRARY).grade(problem, db)


def test_the_reference_rows_pass() -> None:
    """The same call leaves the same rows."""
    verdict = judge(RENEWAL, ("L-1", "2026-04-01"))
    assert (verdict.passed, verdict.score) == (True, 1.0)
    assert verdict.reason == "every row as expected (2 written)"


def test_nothing_done_fails_and_says_what_is_missing() -> None:
    """The reason names table, row, column, expected and found."""
    verdict = judge(RENEWAL)
    assert not verdict.passed
    assert verdict.score == 0.0
    assert "loans[L-1].due_on: expected '2026-04-01', found '2026-03-20'" in verdict.reason
    assert (
        "events[L-1]: expected {'loan_id': 'L-1', 'what': 'renewed'}, not found" in verdict.reason
    )


def test_a_wrong_value_and_a_row_too_many_are_both_named() -> None:
    """Another date, and another loan renewed beside it."""
    verdict = judge(RENEWAL, ("L-1", "2026-04-02"), ("L-2", "2026-04-01"))
    assert "loans[L-1].due_on: expected '2026-04-01', found '2026-04-02'" in verdict.reason
    assert "loans[L-2].renewals: expected 0, found 1" in verdict.reason
    assert "events[L-2]: not expected, found" in verdict.reason


def test_lines_of_a_collection_may_come_in_any_order() -> None:
    """The number of an event is where it stands, not what it is."""
    both = task(
        expect={
            "outcomes": [
                {
                    "actions": [
                        RENEW,
                        {
                            "name": "renew_loan",
                            "arguments": {"loan_id": "L-2", "due_on": "2026-04-01"},
                        },
                    ]
                }
            ]
        }
    )
    assert judge(both, ("L-2", "2026-04-01"), ("L-1", "2026-04-01")).passed


def test_a_column_marked_irrelevant_is_not_compared() -> None:
    """A note on the loan changes nothing about the outcome."""
    with start_rows(LIBRARY, RENEWAL) as db:
        renew(db)
        db.set_values("loans", {"loan_id": "L-1"}, {"note": "called twice"})
        assert OutcomeGrader(LIBRARY).grade(RENEWAL, db).passed


def test_whole_numbers_equal_their_decimals() -> None:
    """25 and 25.0 are one number."""
    fine = {"table": "members", "where": {"member_id": "M-2"}, "values": {"fines": 25}}
    fined = task(expect={"outcomes": [{"rows": [fine]}]})
    with start_rows(LIBRARY, fined) as db:
        db.set_values("members", {"member_id": "M-2"}, {"fines": 25.0})
        assert OutcomeGrader(LIBRARY).grade(fined, db).passed


def test_any_accepted_outcome_passes_and_a_third_end_fails() -> None:
    """Two dates are fine; another one is measured against the nearest."""
    other = {"name": "renew_loan", "arguments": {"loan_id": "L-1", "due_on": "2026-04-08"}}
    either = task(expect={"outcomes": [{"actions": [RENEW]}, {"actions": [other]}]})
    assert judge(either, ("L-1", "2026-04-01")).passed
    assert judge(either, ("L-1", "2026-04-08")).passed
    assert not judge(either, ("L-1", "2026-04-09")).passed


def test_row_assertions_leave_their_table_free_and_guard_the_others() -> None:
    """Only what is asserted counts there; elsewhere nothing may change."""
    asserted = task(
        expect={
            "outcomes": [
                {
                    "rows": [
                        {"table": "loans", "where": {"loan_id": "L-1"}, "values": {"renewals": 1}},
                        {"table": "events", "where": {"what": "renewed"}, "count": 1},
                    ]
                }
            ]
        }
    )
    assert judge(asserted, ("L-1", "2027-01-01")).passed
    twice = judge(asserted, ("L-1", "2027-01-01"), ("L-1", "2027-01-02"))
    assert "events[what=renewed].count: expected 1, found 2" in twice.reason
    with start_rows(LIBRARY, asserted) as db:
        renew(db)
        db.set_values("members", {"member_id": "M-1"}, {"fines": 3})
        verdict = OutcomeGrader(LIBRARY).grade(asserted, db)
    assert verdict.reason == "members[M-1].fines: expected 0.1, found 3.0"


def test_grading_twice_gives_the_same_verdict_and_changes_no_row() -> None:
    """Grading only reads."""
    grader = OutcomeGrader(LIBRARY)
    with start_rows(LIBRARY, RENEWAL) as db:
        renew(db)
        before = db.changes()
        assert grader.grade(RENEWAL, db) == grader.grade(RENEWAL, db)
        assert db.changes() == before


def test_setup_is_where_the_episode_starts_not_what_it_did() -> None:
    """The task's own changes to the world are no changes of the episode."""
    prepared = task(
        setup=[{"table": "loans", "where": {"loan_id": "L-1"}, "values": {"renewals": 4}}]
    )
    with start_rows(LIBRARY, prepared) as db:
        assert db.changes() == ()
        assert db.find("loans", {"loan_id": "L-1"})[0]["renewals"] == 4
    assert judge(prepared, ("L-1", "2026-04-01")).passed


def test_a_setup_that_matches_nothing_is_a_broken_task() -> None:
    """A typo in a task is never the agent's failure."""
    broken = task(
        setup=[{"table": "loans", "where": {"loan_id": "L-77"}, "values": {"renewals": 1}}]
    )
    with pytest.raises(TaskError, match="setup matches no row"):
        start_rows(LIBRARY, broken)
    broken = task(setup=[{"table": "lones", "where": {}, "values": {"renewals": 1}}])
    with pytest.raises(TaskError, match="lones"):
        start_rows(LIBRARY, broken)


def test_a_reference_that_is_refused_is_a_broken_task() -> None:
    """It is never taken to mean that nothing should change."""
    wrong = {"name": "renew_loan", "arguments": {"loan_id": "L-9", "due_on": "2026-04-01"}}
    broken = task(expect={"outcomes": [{"actions": [wrong]}]})
    with pytest.raises(TaskError, match="reference action renew_loan fails: Error: no loan 'L-9'"):
        OutcomeGrader(LIBRARY).accepted(broken)
