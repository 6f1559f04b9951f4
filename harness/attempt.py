"""One trial from start to finish: episode, agent, grade, and what is kept of them."""

from __future__ import annotations

import asyncio
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
from ..models.account import Account, Budget
from ..models.model import ModelUse
from ..plugins import load_object
from ..simulator.user import UserKind, user_kind
from ..task import Task
from ..transcript import Event, ToolCallEvent, ToolResultEvent, Transcript
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
        user_seeds: Customers of each task, whom its trials meet in turn; None: each trial has one
            of its own.
        max_tokens: The run stops when its trials have spent so many; None: no limit.
        max_dollars: Likewise.
        max_seconds: The run, or what is resumed of it, stops after so many by the clock.
        trial_tokens: A trial that spends so many is lost; None: no limit.
        trial_dollars: Likewise.
        trial_seconds: Likewise, by the clock.
    """

    domain: str
    agent: str
    user: str = "agenda"
    basis: str = "default"
    max_turns: int = MAX_TURNS
    turn_timeout: float | None = TURN_TIMEOUT
    graders: Sequence[str] = ()
    user_seeds: int | None = None
    max_tokens: int | None = None
    max_dollars: float | None = None
    max_seconds: float | None = None
    trial_tokens: int | None = None
    trial_dollars: float | None = None
    trial_seconds: float | None = None

    @property
    def run_budget(self) -> Budget:
        """What all trials together may spend."""
        return Budget(self.max_tokens, self.max_dollars, self.max_seconds)

    @property
    def trial_budget(self) -> Budget:
        """What each trial may spend."""
        return Budget(self.trial_tokens, self.trial_dollars, self.trial_seconds)


class Attempts:
    """Makes attempts under one set of conditions.

    Args:
        conditions: As words.
        domain: The domain they name, opened.
        kind: The agent they name.
        user: The user simulator they name; by default made from its spec.

    Raises:
        UsageError: No such user, grading basis or grader.
    """

    def __init__(
        self,
        conditions: Conditions,
        domain: Domain,
        kind: AgentKind,
        user: UserKind | None = None,
    ) -> None:
        self.conditions = conditions
        self.domain = domain
        self.kind = kind
        self.user = user_kind(conditions.user) if user is None else user
        self.grading = Grading(domain, conditions.basis, conditions.graders)
        self._tools = tuple(tool.schema for tool in domain.tools.values())
        self._now = domain.world.now.isoformat()

    def with_agent(self, kind: AgentKind, user: str) -> Attempts:
        """The same for another agent and another user."""
        conditions = replace(self.conditions, agent=kind.spec, user=user)
        return Attempts(conditions, self.domain, kind)

    @property
    def uses(self) -> list[ModelUse]:
        """Each model that is asked, with what the conversations with it begin with."""
        found: list[ModelUse] = []
        for kind in (self.kind, self.user):
            if kind.use is None:
                continue
            use = kind.use
            if isinstance(kind, AgentKind) and kind.prefix is not None:
                use = replace(use, prefix=kind.prefix(self.brief(None, 0)))
            found.append(use)
        return found

    def account(self, run: Account | None = None) -> Account:
        """For one trial."""
        return Account(self.conditions.trial_budget, run)

    def brief(self, task: Task | None, seed: int, account: Account | None = None) -> Brief:
        """What an agent of this kind is told before the conversation."""
        return Brief(
            domain=self.domain.name,
            policy=self.domain.policy,
            tools=self._tools,
            now=self._now,
            seed=seed,
            task=task if self.kind.sees_task else None,
            account=account or Account(),
        )

    async def attempt(self, trial: Trial, account: Account | None = None) -> FinishedTrial:
        """Play and grade one trial. Faults make it a lost one; they never escape.

        Args:
            trial: Which.
            account: Where what is spent on models is written down; by default one of its own.

        Raises:
            RunStoppedError: No trial of this run can go on.
        """
        account = account or self.account()
        task = self.domain.task(trial.task)
        started = time.perf_counter()
        try:
            episode = Episode.start(
                self.domain,
                task,
                user=self.user,
                seed=trial.user_seed,
                max_turns=self.conditions.max_turns,
                account=account,
            )
        except FaultError as error:
            return lost_trial(trial, error.fault, str(error))
        except Exception as error:
            reason = f"the episode does not start: {type(error).__name__}: {error}"
            return lost_trial(trial, Fault.TASK, reason)
        with episode:
            await self._play(episode, self.brief(task, trial.agent_seed, account))
            grade = self.grading.grade(task, episode.transcript, episode.db)
        _take_reported(account, episode.transcript)
        seconds = time.perf_counter() - started
        return _finished(trial, episode.transcript, grade, seconds, account)

    async def _play(self, episode: Episode, brief: Brief) -> None:
        seconds = self.conditions.trial_seconds
        try:
            async with asyncio.timeout(seconds):
                await play(episode, self.kind, brief, self.conditions.turn_timeout)
        except TimeoutError:
            spent = f"the trial's budget of {seconds:g} seconds is spent"
            episode.lose(Fault.INFRASTRUCTURE, spent)


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


def _take_reported(account: Account, transcript: Transcript) -> None:
    """Put on the account what a side says it used that asked no model through passhat."""
    silent = {"agent", "user"} - account.spent.keys()
    for event in transcript:
        side = getattr(event, "by", "agent")
        if event.usage is not None and side in silent:
            account.add(side, event.usage)


def _finished(
    trial: Trial, transcript: Transcript, grade: Grade, seconds: float, account: Account
) -> FinishedTrial:
    results = [event for event in transcript if isinstance(event, ToolResultEvent)]
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
        spending=dict(account.spent),
        verdicts=grade.verdicts,
        basis=grade.basis,
        transcript=pack_transcript(transcript),
    )


def _reasons(grade: Grade) -> Iterable[str]:
    if grade.reward is None:  # lost: the one verdict there is says why
        return [verdict.reason for verdict in grade.verdicts]
    # A conversation that broke off explains the rows it left, so that comes first.
    return sorted(grade.reasons(), key=lambda reason: not reason.startswith(f"{ENDING}: "))


def pack_transcript(transcript: Transcript) -> bytes:
    """A transcript as compressed JSON; the same events always give the same bytes."""
    return zlib.compress(_EVENTS.dump_json(transcript), level=1)


def unpack_transcript(packed: bytes) -> Transcript:
    """What `pack_transcript` packed."""
    return Transcript.load(json.loads(zlib.decompress(packed))) if packed else Transcript()
