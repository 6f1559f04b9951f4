"""What an episode costs: reset, fork, step, grade, memory, and what does not grow."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from passhat.agents.agent import Agent, Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.grading.grading import Grading
from passhat.task import Task

from .measure import Figure, per_call


def figures() -> Iterator[Figure]:
    """Reset and fork, then whole graded episodes by the reference agent."""
    domain = load_domain("retail")
    tasks = list(domain.tasks.values())
    domain.world.fork().close()
    yield per_call(
        "reset (rows, customer, opening)",
        lambda: _opened(domain, tasks[0]).close(),
        target="< 300 us",
    )
    with _opened(domain, tasks[0]) as episode:
        yield per_call("fork of a fresh episode", lambda: episode.fork().close(), target="< 300 us")
    with _played(domain, tasks[0]) as episode:
        yield per_call(
            "fork of an ended episode", lambda: episode.fork().close(), target="< 300 us"
        )
    yield from _graded(domain, tasks)
    yield _memory(domain, tasks[0])


def _opened(domain: Domain, task: Task) -> Episode:
    episode = Episode.start(domain, task)
    episode.user_turn()
    return episode


def _agent(domain: Domain, task: Task) -> Agent:
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief(domain.name, domain.policy, tools, domain.world.now.isoformat(), task=task)
    return agent_kind("reference").make(brief)


def _played(domain: Domain, task: Task) -> Episode:
    episode, agent = Episode.start(domain, task), _agent(domain, task)
    while episode.needs:
        if episode.needs == "user":
            episode.user_turn()
        else:
            episode.act(agent.act(episode.observation))
    return episode


def _graded(domain: Domain, tasks: list[Task]) -> Iterator[Figure]:
    grading = Grading(domain)
    for task in tasks:
        grading.check(task)
    seconds: list[float] = []
    events = 0
    for _ in range(5):
        for task in tasks:
            start = time.process_time()
            with _played(domain, task) as episode:
                grade = grading.grade(task, episode.transcript, episode.db)
            seconds.append(time.process_time() - start)
            events += len(episode.transcript)
            assert grade.passed, (task.id, grade.reasons())
    count = len(seconds)
    yield Figure(
        "graded episode, reference agent: mean", statistics.mean(seconds) * 1e3, "ms", "< 5 ms"
    )
    yield Figure("graded episode: slowest task", max(seconds) * 1e3, "ms", "< 5 ms")
    yield Figure("per event of the transcript", sum(seconds) / events * 1e6, "us")
    with _played(domain, tasks[0]) as episode:
        yield per_call(
            "grading alone", lambda: grading.grade(tasks[0], episode.transcript, episode.db)
        )
    assert count == 5 * len(tasks)


def _memory(domain: Domain, task: Task, count: int = 200) -> Figure:
    """Resident memory per episode held open, SQLite's pages included."""
    before = _resident()
    episodes = [_opened(domain, task) for _ in range(count)]
    grown = _resident() - before
    for episode in episodes:
        episode.close()
    return Figure(f"memory per open episode ({count} open)", grown / count / 1e6, "MB")


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096
