"""Scripted agents: a conversation written as a Python generator, one step a move.

A script says what each of its steps is for (`StepKind`), so that somebody else, such as the
slippery agent, can tell a proposal from a look-up and let one go wrong without the script knowing.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ..transcript import Message, Observation, Stop, ToolCall, ToolCalls, ToolResultEvent
from .agent import Brief


class StepKind(StrEnum):
    """What a step is for."""

    ASK = "ask"
    LOOK_UP = "look up"
    PROPOSE = "propose"
    WRITE = "write"
    REPORT = "report"
    ANSWER = "answer"
    REFUSE = "refuse"
    HAND_OVER = "hand over"
    GOODBYE = "goodbye"


@dataclass(frozen=True)
class Step:
    """One move of a script, and what it is for."""

    kind: StepKind
    action: Message | ToolCalls | Stop

    def noting(self, slip: str) -> Step:
        """The same step, with the name of a slip kept where a transcript shows it."""
        if isinstance(self.action, Stop):
            return replace(self, action=Stop(reason=f"slip: {slip}"))
        return replace(self, action=self.action.model_copy(update={"provider": {"slip": slip}}))


Script = Generator[Step, Observation, None]
"""Yields steps, is sent what happened after each, and returns when the conversation is over."""


class Forgotten(Exception):  # noqa: N818 - nothing went wrong: it is a signal
    """Thrown into a script: the request in hand has slipped the agent's mind."""


class ScriptedAgent:
    """Plays a script.

    A subclass writes `script`, and lets `Forgotten`, raised at any step of a request, end its work
    on that request.
    """

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self._running: Script | None = None

    def script(self, opening: str) -> Script:
        """The whole conversation, given the customer's first words."""
        raise NotImplementedError

    def act(self, observation: Observation) -> Message | ToolCalls | Stop:
        """The next move."""
        return self.resume(observation).action

    def resume(self, observation: Observation) -> Step:
        """The next step, given what happened since the last one."""
        if self._running is None:
            self._running = self.script(observation.user_message or "")
            return next(self._running, _THE_END)
        try:
            return self._running.send(observation)
        except StopIteration:
            return _THE_END

    def forget(self) -> Step:
        """The next step, with the request in hand forgotten."""
        assert self._running is not None, "there is nothing to forget before the first step"
        try:
            return self._running.throw(Forgotten())
        except (StopIteration, Forgotten):
            return _THE_END


_THE_END = Step(StepKind.GOODBYE, Stop(reason="the script is over"))


def say(kind: StepKind, text: str) -> Generator[Step, Observation, str]:
    """Say something; gives the customer's answer."""
    observation = yield Step(kind, Message(content=text))
    return observation.user_message or ""


def call(
    kind: StepKind, name: str, arguments: dict[str, Any]
) -> Generator[Step, Observation, ToolResultEvent | None]:
    """Call one tool; gives its result."""
    action = ToolCalls(calls=(ToolCall(name=name, arguments=arguments),))
    observation = yield Step(kind, action)
    return observation.results[0] if observation.results else None
