"""One trial from start to finish: episode, agent, grade, and what is kept of them."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from ..agents.agent import AgentKind, Brief
from ..agents.registry import agent_kind
from ..domains.domain import Domain, load_domain
from ..envs.episode import MAX_TURNS, Episode
from ..errors import Fault, FaultError, UsageError
from ..grading.grading import ENDING, Grading
from ..grading.verdict import Grade
from ..plugins import load_object
from ..task import Task
from ..transcript import Event, ToolCallEvent, ToolResultEvent, Transcript, Usage
from .play import play
from .trials import FinishedTrial, Trial, lost_trial

TURN_TIMEOUT = 300.0
"""Seconds an agent may take for one move, unless said otherwise."""

_EVENTS: TypeAdapter[list[Any]] = TypeAdapter(list[Event])


@dataclass(frozen=True)
class Conditions:
    """Everything that decides how the trials of a run go, as words: any process can set it up.

    Attributes:
        domain: A domain's name, or ``module:OBJECT`` for one of your own.
        agent: Spec of the agent.
        user: Spec of the user simulator.
        basis: Name of the grading basis.
        max_turns: Moves of the agent before a conversation is cut off.
        turn_timeout: Seconds an agent may take for one move; None: for ever.
        graders: Graders of your own that join the basis of every task.
    """

    domain: str
    agent: str
    user: str = "agenda"
    basis: str = "default"
    max_turns: int = MAX_TURNS
    turn_timeout: float | None = TURN_TIMEOUT
    graders: Sequence[str] = ()


class Attempts:
    """Makes attempts under one set of conditions.

    Args:
        conditions: As words.
        domain: The domain they name, opened.
        kind: The agent they name.

    Raises:
        UsageError: No such grading basis or grader.
    """

    def __init__(self, conditions: Conditions, domain: Domain, kind: AgentKind) -> None:
        self.conditions = conditions
        self.domain = domain
        self.kind = kind
        self.grading = Grading(domain, conditions.basis, conditions.graders)
        self._tools = tuple(tool.schema for tool in domain.tools.values())
        self._now = domain.world.now.isoformat()

    def with_agent(self, kind: AgentKind, user: str) -> Attempts:
        """The same for another agent and another user."""
        conditions = replace(self.conditions, agent=kind.spec, user=user)
        return Attempts(conditions, self.domain, kind)

    def brief(self, task: Task, seed: int) -> Brief:
        """What an agent of this kind is told before the conversation."""
        return Brief(
            domain=self.domain.name,
            policy=self.domain.policy,
            tools=self._tools,
            now=self._now,
            seed=seed,
            task=task if self.kind.sees_task else None,
        )

    async def attempt(self, trial: Trial) -> FinishedTrial:
        """Play and grade one trial. Faults make it a lost one; they never escape."""
        task = self.domain.task(trial.task)
        started = time.perf_counter()
        try:
            episode = Episode.start(
                self.domain,
                task,
                user=self.conditions.user,
                seed=trial.user_seed,
                max_turns=self.conditions.max_turns,
            )
        except FaultError as error:
            return lost_trial(trial, error.fault, str(error))
        except Exception as error:
            reason = f"the episode does not start: {type(error).__name__}: {error}"
            return lost_trial(trial, Fault.TASK, reason)
        with episode:
            brief = self.brief(task, trial.agent_seed)
            await play(episode, self.kind, brief, self.conditions.turn_timeout)
            grade = self.grading.grade(task, episode.transcript, episode.db)
        return _finished(trial, episode.transcript, grade, time.perf_counter() - started)


def load_domain_of(spec: str) -> Domain:
    """The domain of that name, or the object that ``module:OBJECT`` names.

    The module may be installed, or a file in the current directory.

    Raises:
        UsageError: There is none, or it is no domain.
    """
    if ":" not in spec:
        return load_domain(spec)
    domain = load_object(spec, f"domain {spec!r}")
    if not isinstance(domain, Domain):
        raise UsageError(f"domain {spec!r} is {domain!r:.60}, no Domain")
    return domain


def load_attempts(conditions: Conditions) -> Attempts:
    """Set up what the conditions name.

    Raises:
        UsageError: No such domain, agent, basis or grader.
    """
    domain = load_domain_of(conditions.domain)
    return Attempts(conditions, domain, agent_kind(conditions.agent))


def _finished(trial: Trial, transcript: Transcript, grade: Grade, seconds: float) -> FinishedTrial:
    results = [event for event in transcript if isinstance(event, ToolResultEvent)]
    usages = [event.usage for event in transcript if event.usage is not None]
    ending = transcript.ending
    assert ending is not None, "a graded episode has ended"
    return FinishedTrial(
        trial=trial,
        reward=grade.reward,
        fault=grade.fault,
        reason="" if grade.passed else "; ".join(_reasons(grade)),
        ending=ending.reason.value,
        turns=ending.turn,
        tool_calls=sum(isinstance(e, ToolCallEvent) and e.by == "agent" for e in transcript),
        tool_errors=sum(r.error is not None and r.by == "agent" for r in results),
        seconds=seconds,
        input_tokens=_sum(usages, "input_tokens"),
        output_tokens=_sum(usages, "output_tokens"),
        cost_dollars=_sum(usages, "cost_dollars"),
        verdicts=grade.verdicts,
        basis=grade.basis,
        transcript=pack_transcript(transcript),
    )


def _reasons(grade: Grade) -> Iterable[str]:
    if grade.reward is None:  # lost: the one verdict there is says why
        return [verdict.reason for verdict in grade.verdicts]
    # A conversation that broke off explains the rows it left, so that comes first.
    return sorted(grade.reasons(), key=lambda reason: not reason.startswith(f"{ENDING}: "))


def _sum(usages: Iterable[Usage], what: str) -> Any:
    known = [value for usage in usages if (value := getattr(usage, what)) is not None]
    return sum(known) if known else None


def pack_transcript(transcript: Transcript) -> bytes:
    """A transcript as compressed JSON; the same events always give the same bytes."""
    return zlib.compress(_EVENTS.dump_json(transcript), level=1)


def unpack_transcript(packed: bytes) -> Transcript:
    """What `pack_transcript` packed."""
    return Transcript.load(json.loads(zlib.decompress(packed))) if packed else Transcript()
