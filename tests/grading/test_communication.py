"""What the customer must hear: facts, refusals with reasons, hand-overs."""

from typing import Any

import pytest

from passhat.grading.communication import grade_communication
from passhat.task import Task
from passhat.transcript import (
    EndingEvent,
    EndReason,
    MessageEvent,
    ToolCallEvent,
    Transcript,
)

from ..library import RENEWAL


def talk(*lines: str, end: EndReason = EndReason.USER_STOP) -> Transcript:
    """An ended conversation in which the agent says these lines."""
    events: list[Any] = [
        MessageEvent(index=n, turn=n, by="agent", content=line) for n, line in enumerate(lines)
    ]
    return Transcript([*events, EndingEvent(index=len(lines), turn=len(lines), reason=end)])


def expecting(**expect: Any) -> Task:
    """A task with these expectations."""
    return Task.model_validate(RENEWAL.model_dump() | {"expect": expect})


@pytest.mark.parametrize(
    ("fact", "line", "found"),
    [
        ("4", "That takes 24 hours.", False),
        ("4", "You have 4.", True),
        ("4", "It costs $4.", True),
        ("4", "At 14:00 for $45 on 2026-04-04", False),
        ("1234.5", "The refund is $1,234.50.", True),
        ("$20", "It is 20 dollars", True),
        ("20", "It is $20.01", False),
        ("tracking number 4471", "Your Tracking Number 4471 is ready", True),
        ("delivered", "It was undelivered", False),
        (["arrived", "delivered"], "It was **delivered** on Monday", True),
        ("#W1234567", "Order #W12345678", False),
    ],
)
def test_facts_are_found_as_numbers_and_whole_words(fact: Any, line: str, found: bool) -> None:
    """Not as substrings, which find 4 in 24."""
    assert grade_communication(expecting(tell=[fact]), talk(line)).passed is found


def test_every_fact_must_be_told_and_the_missing_one_is_named() -> None:
    """Partial credit is the share of what was said."""
    verdict = grade_communication(expecting(tell=["12", "Emma"]), talk("It is Emma"))
    assert not verdict.passed
    assert verdict.reason == "the customer was not told '12'"
    assert verdict.score == pytest.approx(2 / 3)


def test_text_beside_a_tool_call_was_not_told() -> None:
    """The customer never hears it."""
    beside = ToolCallEvent(
        index=0, turn=1, call_id="1", name="find_loan", arguments={}, move=0, beside="It is 12"
    )
    transcript = Transcript([beside, EndingEvent(index=1, turn=1, reason=EndReason.USER_STOP)])
    assert not grade_communication(expecting(tell=["12"]), transcript).passed


REFUSAL = {"about": ["renew"], "because": [["reserved", "somebody waits"]]}


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        (["I can't renew it: it is reserved."], None),
        (["I'm not able to renew that.", "Somebody waits for it."], None),
        (["It is reserved, so I renewed nothing."], "did not refuse ('renew')"),
        (["I'm sorry, I cannot renew that."], "reason was not given: 'reserved' or 'somebody"),
        (["Done!"], "did not refuse"),
    ],
)
def test_a_refusal_needs_clear_words_and_its_reason(lines: list[str], missing: str | None) -> None:
    """A vague apology is not enough, and the reason shows that it was looked up."""
    verdict = grade_communication(expecting(refuse=[REFUSAL]), talk(*lines))
    assert verdict.passed is (missing is None)
    assert (missing or "everything was said") in verdict.reason


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("happened", [True, False])
def test_a_hand_over_happens_exactly_when_it_should(wanted: bool, happened: bool) -> None:
    """Missing and needless hand-overs both fail."""
    end = EndReason.HANDED_OVER if happened else EndReason.USER_STOP
    task = expecting(tell=["12"], hand_over=wanted)
    assert grade_communication(task, talk("12", end=end)).passed is (wanted == happened)


def test_a_task_that_expects_nothing_cannot_be_written() -> None:
    """Doing nothing would pass it."""
    with pytest.raises(ValueError, match="doing nothing would pass"):
        expecting()
