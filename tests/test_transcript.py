"""Transcripts: what graders ask of them."""

from typing import Any

import pytest

from passhat.errors import UsageError
from passhat.transcript import ToolCallEvent, ToolResultEvent, Transcript, parse_action


def test_a_call_id_used_twice_pairs_calls_and_results_in_order() -> None:
    """Recorded conversations do that; a call without a result has none."""
    call, result = ToolCallEvent, ToolResultEvent
    transcript = Transcript(
        [
            call(index=0, turn=1, call_id="same", name="read", arguments={}, move=0),
            result(index=1, turn=1, call_id="same", name="read", content="first"),
            call(index=2, turn=2, call_id="same", name="read", arguments={}, move=2),
            result(index=3, turn=2, call_id="same", name="read", content="second"),
            call(index=4, turn=3, call_id="same", name="read", arguments={}, move=4),
        ]
    )
    results = [pair.result for pair in transcript.calls()]
    assert [r and r.content for r in results] == ["first", "second", None]


@pytest.mark.parametrize(
    "carried",
    [
        {"usage": {"input_tokens": -5}},
        {"usage": {"output_tokens": 10**30}},
        {"usage": {"cost_dollars": -0.5}},
        {"usage": {"cost_dollars": float("inf")}},
        {"seconds": float("nan")},
    ],
)
def test_a_move_that_cost_less_than_nothing_is_none(carried: dict[str, Any]) -> None:
    """What nobody can add up, or show, or keep, is the fault of the agent that says it."""
    with pytest.raises(UsageError):
        parse_action({"type": "message", "content": "Hi", **carried})
