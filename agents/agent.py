"""Agent: who is evaluated. Reads an observation, answers with an action, knows only its brief."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ..errors import PasshatError
from ..models.account import Account
from ..models.model import ModelUse, Request
from ..task import Task
from ..transcript import Message, Observation, Stop, ToolCalls

AnyAction = Message | ToolCalls | Stop | dict[str, Any]


@dataclass(frozen=True)
class Brief:
    """What an agent is told before the conversation.

    Attributes:
        domain: Name of the business.
        policy: The document it must obey, as Markdown.
        tools: One dict a tool: name, description, input_schema (JSON Schema).
        now: The world's clock, ISO date and time.
        seed: For agents that draw random numbers.
        task: Only for agents that declare ``sees_task`` (the reference and what is built on it);
            None for every agent under test.
        account: Where what is spent on models is written down, and its limits.
    """

    domain: str
    policy: str
    tools: tuple[dict[str, Any], ...]
    now: str
    seed: int = 0
    task: Task | None = None
    account: Account = field(default_factory=Account, repr=False, compare=False)


class AgentError(PasshatError):
    """An agent under test made no move, by its own doing; the message says what happened."""


class Agent(Protocol):
    """One conversation's agent. Made anew for each episode, so it may keep state."""

    def act(self, observation: Observation) -> AnyAction | Awaitable[AnyAction]:
        """The next move, given what happened since the last one."""
        ...


@runtime_checkable
class FollowingAgent(Protocol):
    """An agent that can take a past which somebody else made as its own, as replay gives it.

    An agent without it can be replayed too: it is asked at every move of the recorded agent and its
    answer is dropped, so what it remembers is its own answers and not what was really done.
    """

    def act(self, observation: Observation) -> AnyAction | Awaitable[AnyAction]:
        """The next move, given what happened since the last one."""
        ...

    def observe(self, observation: Observation, taken: Message | ToolCalls | Stop) -> None:
        """Remember what was observed and the move that was made then, without making one.

        Called for each move of the past, in order, on an agent just made, before its first `act`.

        Args:
            observation: What happened since the move before; empty if the agent simply went on.
            taken: The move that was made. Its ``provider`` holds the blocks of whatever model made
                it, as received: pass them on to the same model only.
        """
        ...


@runtime_checkable
class ClosingAgent(Protocol):
    """An agent that holds something open while its conversation lasts: a process, a connection."""

    async def close(self, last: Observation) -> None:
        """The conversation is over, however it ended: let go of everything.

        Args:
            last: What happened since the agent's last move, e.g. the customer's last words.
        """
        ...


@dataclass(frozen=True)
class AgentKind:
    """How to make agents of one kind.

    Attributes:
        spec: As the user wrote it, e.g. ``slippery:0.05``.
        make: Takes a brief, gives an agent.
        sees_task: Whether the brief holds the task: a cheat, for references and demos only.
        synthetic: Whether its numbers say nothing about a real agent; shown wherever they appear.
        blocking: Whether ``act`` may wait (the network, a person), so that it needs a thread.
        use: The model it asks; None if it asks none through passhat. Such an agent is not timed by
            the harness: how long its provider takes is not its doing, and the model has limits of
            its own.
        prefix: What every conversation with that model begins with, given a brief; for
            `Model.warm_up`. The same for all tasks and seeds of a domain. None: nothing in common.
        check: Makes sure, before the first trial, that agents of this kind can be reached. Raises
            `RunStoppedError` if they cannot. None: there is nothing to make sure of.
    """

    spec: str
    make: Callable[[Brief], Agent]
    sees_task: bool = False
    synthetic: bool = False
    blocking: bool = False
    use: ModelUse | None = None
    prefix: Callable[[Brief], Request] | None = None
    check: Callable[[], Awaitable[None]] | None = None
