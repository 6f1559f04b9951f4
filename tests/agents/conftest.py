"""Plays whole episodes at a desk, without the harness: a loop over `Episode`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.grading.grading import Grading
from passhat.grading.verdict import Grade
from passhat.task import Task
from passhat.transcript import Transcript


@dataclass(frozen=True)
class Played:
    """An episode that has ended, and its grade."""

    transcript: Transcript
    grade: Grade

    @property
    def findings(self) -> list[str]:
        """Every violation of the policy, of any severity."""
        policy = next(v for v in self.grade.verdicts if v.grader == "policy")
        return [f"{found['rule']}: {found['reason']}" for found in policy.evidence]

    @property
    def slips(self) -> list[str]:
        """The slips noted in the transcript."""
        noted = [
            event.provider["slip"]
            for event in self.transcript
            if isinstance(getattr(event, "provider", None), dict)
        ]
        ending = self.transcript.ending
        if ending is not None and ending.detail.startswith("slip: "):
            noted.append(ending.detail.removeprefix("slip: "))
        return noted


Play = Callable[..., Played]


@cache
def grading(domain: str) -> Grading:
    """The graders of a domain, with what they remember of its tasks."""
    return Grading(load_domain(domain))


@pytest.fixture(scope="session")
def retail() -> Domain:
    """The shipped shop."""
    return load_domain("retail")


@pytest.fixture(scope="session")
def airline() -> Domain:
    """The shipped airline."""
    return load_domain("airline")


@pytest.fixture(scope="session")
def brief() -> Callable[..., Brief]:
    """Makes briefs, of the shop unless the task or the caller says otherwise."""

    def make(task: Task | None = None, seed: int = 0, domain: str = "retail") -> Brief:
        desk = load_domain(task.domain if task else domain)
        tools = tuple(tool.schema for tool in desk.tools.values())
        return Brief(desk.name, desk.policy, tools, desk.world.now.isoformat(), seed, task)

    return make


@pytest.fixture(scope="session")
def play(brief: Callable[..., Brief]) -> Play:
    """Plays one task with one agent."""

    def run(spec: str, task: Task, seed: int = 0, max_turns: int = 40) -> Played:
        kind, desk = agent_kind(spec), load_domain(task.domain)
        seen = task if kind.sees_task else None
        agent = kind.make(brief(seen, seed, desk.name))
        with Episode.start(desk, task, seed=seed, max_turns=max_turns) as episode:
            while episode.needs is not None:
                if episode.needs == "user":
                    episode.user_turn()
                else:
                    episode.act(agent.act(episode.observation))
            grade = grading(desk.name).grade(task, episode.transcript, episode.db)
            return Played(Transcript(episode.transcript), grade)

    return run
