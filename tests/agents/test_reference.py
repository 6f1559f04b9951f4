"""The reference agent passes every task that is shipped, and breaks no rule of any severity."""

from collections.abc import Callable
from zlib import crc32

import pytest

from passhat.agents.agent import Brief
from passhat.agents.reference import ReferenceAgent
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.errors import UsageError
from passhat.grading.grading import Grading
from passhat.task import Task

from ..library import RENEWAL, make_library
from .conftest import Play

TASKS = [*load_domain("retail").tasks.values(), *load_domain("airline").tasks.values()]
PERSONAS = ("plain", "terse", "chatty", "impatient", "forgetful")


def with_persona(task: Task, persona: str) -> Task:
    """The same task, brought by a customer who talks in another way."""
    return task.model_copy(update={"user": task.user.model_copy(update={"persona": persona})})


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_it_passes_as_written_and_in_two_other_tones(task: Task, play: Play) -> None:
    """Whoever brings the task, with whatever seed: the outcome is right and no rule is broken."""
    chance = crc32(task.id.encode())
    for number, persona in enumerate(
        (task.user.persona, PERSONAS[chance % 5], PERSONAS[chance // 5 % 5])
    ):
        played = play("reference", with_persona(task, persona), seed=chance + number)
        assert played.grade.passed, (persona, played.grade.reasons())
        assert played.findings == []


def test_it_repeats_exactly(play: Play, retail: Domain) -> None:
    """The same task and seed give the same transcript, to the byte."""
    task = next(iter(retail.tasks.values()))
    first, second = (play("reference", task, seed=5).transcript.dump() for _ in range(2))
    assert first == second


def test_it_works_in_a_domain_it_knows_nothing_of() -> None:
    """It looks up what the arguments name, proposes, waits for a yes, and writes."""
    library = make_library()
    tools = tuple(tool.schema for tool in library.tools.values())
    agent = ReferenceAgent(Brief("library", library.policy, tools, "2026-03-16", task=RENEWAL))
    with Episode.start(library, RENEWAL) as episode:
        while episode.needs is not None:
            if episode.needs == "user":
                episode.user_turn()
            else:
                episode.act(agent.act(episode.observation))
        assert [pair.call.name for pair in episode.transcript.calls()] == [
            "find_loan",
            "renew_loan",
        ]
        assert Grading(library).grade(RENEWAL, episode.transcript, episode.db).passed


def test_it_needs_the_task(brief: Callable[..., Brief]) -> None:
    """A brief without one is the caller's mistake."""
    with pytest.raises(UsageError, match="with the task in it"):
        ReferenceAgent(brief())
