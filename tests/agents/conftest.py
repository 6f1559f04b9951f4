"""Plays whole episodes of the retail desk, without the harness: a loop over `Episode`."""

from collections.abc import Callable
from dataclasses import dataclass

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


@pytest.fixture(scope="session")
def retail() -> Domain:
    """The shipped domain."""
    return load_domain("retail")


@pytest.fixture(scope="session")
def brief(retail: Domain) -> Callable[..., Brief]:
    """Makes briefs of the retail desk."""
    tools = tuple(tool.schema for tool in retail.tools.values())

    def make(task: Task | None = None, seed: int = 0) -> Brief:
        return Brief("retail", retail.policy, tools, retail.world.now.isoformat(), seed, task)

    return make


@pytest.fixture(scope="session")
def play(retail: Domain, brief: Callable[..., Brief]) -> Play:
    """Plays one task with one agent."""
    grading = Grading(retail)

    def run(spec: str, task: Task, seed: int = 0, max_turns: int = 40) -> Played:
        kind = agent_kind(spec)
        agent = kind.make(brief(task if kind.sees_task else None, seed))
        with Episode.start(retail, task, seed=seed, max_turns=max_turns) as episode:
            while episode.needs is not None:
                if episode.needs == "user":
                    episode.user_turn()
                else:
                    episode.act(agent.act(episode.observation))
            grade = grading.grade(task, episode.transcript, episode.db)
            return Played(Transcript(episode.transcript), grade)

    return run
