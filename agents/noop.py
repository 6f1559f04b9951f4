"""Agents that do nothing: what they score is what a score must beat."""

from __future__ import annotations

from ..transcript import Message, Observation, Stop
from .agent import Brief

_LINES = (
    "Hello, and thank you so much for writing to us! How can I help you today?",
    "I am so sorry about that, and I completely understand how you feel. Could you tell me a"
    " little more about it?",
    "Thank you for explaining it so clearly. I am looking into it for you right now.",
    "Good news: everything has been taken care of. Is there anything else on your mind?",
    "I am really sorry, I cannot say more about it at this point. I do appreciate your patience.",
    "It was a pleasure talking to you. Have a wonderful day!",
)


class Noop:
    """Ends the conversation at once, without a word."""

    def __init__(self, brief: Brief) -> None:
        pass

    def act(self, observation: Observation) -> Stop:
        """Stop, whatever was said."""
        return Stop(reason="this agent does nothing")


class ChattyNoop:
    """Is polite, sympathetic and sure that all is well, and never touches a tool."""

    def __init__(self, brief: Brief) -> None:
        self._lines = iter(_LINES)

    def act(self, observation: Observation) -> Message | Stop:
        """The next kind line, whatever was said; then the end."""
        for line in self._lines:
            return Message(content=line)
        return Stop(reason="nothing left to say")
