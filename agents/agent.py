"""Agent: who is evaluated. Reads an observation, answers with an action, knows only its brief."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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
    """

    domain: str
    policy: str
    tools: tuple[dict[str, Any], ...]
    now: str
    seed: int = 0
    task: Task | None = None


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


@dataclass(frozen=True)
class AgentKind:
    """How to make agents of one kind.

    Attributes:
        spec: As the user wrote it, e.g. ``slippery:0.05``.
        make: Takes a brief, gives an agent.
        sees_task: Whether the brief holds the task: a cheat, for references and demos only.
        synthetic: Whether its numbers say nothing about a real agent; shown wherever they appear.
        blocking: Whether ``act`` may wait (the network, a person), so that it needs a thread.
    """

    spec: str
    make: Callable[[Brief], Agent]
    sees_task: bool = False
    synthetic: bool = False
    blocking: bool = False
