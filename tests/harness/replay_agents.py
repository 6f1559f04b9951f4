"""Agents to be replayed, importable by name (``python:replay_agents:Reader``)."""

import os
import signal
from collections.abc import Sequence

from passhat.agents.agent import Brief
from passhat.envs.moves import RecordedMove
from passhat.transcript import Message, Observation, Stop, ToolCalls

Move = Message | ToolCalls | Stop


class Oracle:
    """Knows what the recorded agent did, and does it; takes any past as its own."""

    def __init__(self, moves: Sequence[RecordedMove]) -> None:
        self.moves = moves
        self.seen: list[tuple[str, str]] = []

    def observe(self, observation: Observation, taken: Move) -> None:
        """Remember what was seen and done."""
        self.seen.append((observation.text, taken.type))

    def act(self, observation: Observation) -> Move:
        """The recorded move at this point."""
        before = [(move.observation.text, move.action.type) for move in self.moves]
        assert before[: len(self.seen)] == self.seen
        assert before[len(self.seen)][0] == observation.text
        return self.moves[len(self.seen)].action


class Reader:
    """Takes a past as its own, and tells how much it was given."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self.past = 0

    def observe(self, observation: Observation, taken: Move) -> None:
        """Count."""
        self.past += 1

    def act(self, observation: Observation) -> str:
        """Say how long the past is."""
        self.past += 1
        return f"I have seen {self.past} turns."


class Brittle(Reader):
    """Crashes at every third turn."""

    def act(self, observation: Observation) -> str:
        """Say something, or not."""
        if self.past % 3 == 2:
            raise ValueError("no idea")
        return super().act(observation)


class Forgetful:
    """Cannot be given a past; crashes at its second turn."""

    def __init__(self, brief: Brief) -> None:
        self.turns = 0

    def act(self, observation: Observation) -> str:
        """Say something once."""
        self.turns += 1
        if self.turns == 2:
            raise ValueError("what was it about?")
        return "Hello!"


class Interrupting(Reader):
    """Says something to one customer; at the next, somebody presses Ctrl-C."""

    def act(self, observation: Observation) -> str:
        """Say something, or be interrupted."""
        if "chair" in observation.text:
            os.kill(os.getpid(), signal.SIGINT)
        return super().act(observation)
