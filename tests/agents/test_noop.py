"""Doing nothing must fail every task, whether in silence or in kind words."""

import pytest

from passhat.domains.domain import Domain, load_domain
from passhat.transcript import EndReason, ToolCallEvent

from .conftest import Play

TASKS = sorted(load_domain("retail").tasks)


@pytest.mark.parametrize("task_id", TASKS)
@pytest.mark.parametrize("agent", ["noop", "chatty-noop"])
def test_doing_nothing_fails(agent: str, task_id: str, play: Play, retail: Domain) -> None:
    """No task may be passed without a tool, a fact or a refusal; and nobody else is to blame."""
    played = play(agent, retail.task(task_id))
    assert played.grade.reward == 0.0
    assert not any(isinstance(event, ToolCallEvent) for event in played.transcript)


def test_noop_says_nothing(play: Play, retail: Domain) -> None:
    """It stops at its first move."""
    played = play("noop", retail.task(TASKS[0]))
    assert played.transcript.text_by("agent") == []
    assert played.transcript.ending is not None
    assert played.transcript.ending.reason is EndReason.AGENT_STOP


def test_chatty_noop_talks_kindly_and_ends_by_itself(play: Play, retail: Domain) -> None:
    """It never runs into the turn limit."""
    for task_id in TASKS:
        transcript = play("chatty-noop", retail.task(task_id)).transcript
        assert "sorry" in " ".join(transcript.text_by("agent"))
        assert transcript.ending is not None
        assert transcript.ending.reason is not EndReason.TURN_LIMIT
