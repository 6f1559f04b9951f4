"""Doing nothing must fail every task, whether in silence or in kind words."""

import pytest

from passhat.domains.domain import load_domain
from passhat.task import Task
from passhat.transcript import EndReason, ToolCallEvent

from .conftest import Play

TASKS = [*load_domain("retail").tasks.values(), *load_domain("airline").tasks.values()][::3]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.parametrize("agent", ["noop", "chatty-noop"])
def test_doing_nothing_fails(agent: str, task: Task, play: Play) -> None:
    """A third of the tasks, those of the domains' own tests being all: and no tool is called."""
    played = play(agent, task)
    assert played.grade.reward == 0.0
    assert not any(isinstance(event, ToolCallEvent) for event in played.transcript)


def test_noop_says_nothing(play: Play) -> None:
    """It stops at its first move."""
    played = play("noop", TASKS[0])
    assert played.transcript.text_by("agent") == []
    assert played.transcript.ending is not None
    assert played.transcript.ending.reason is EndReason.AGENT_STOP


def test_chatty_noop_talks_kindly_and_ends_by_itself(play: Play) -> None:
    """It never runs into the turn limit."""
    for task in TASKS:
        transcript = play("chatty-noop", task).transcript
        assert "sorry" in " ".join(transcript.text_by("agent"))
        assert transcript.ending is not None
        assert transcript.ending.reason is not EndReason.TURN_LIMIT
