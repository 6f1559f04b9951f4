"""Dialogue: one conversation as a model is sent it. Grows only at its end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Template

from ..errors import InfrastructureError
from ..models.model import Model, Reply, Request, StopReason, text_block
from ..transcript import JsonDict
from .agent import AgentError

GO_ON = "(The customer has written nothing more. Go on.)"
EMPTY = "(The customer sends an empty message.)"
_CLOCK = "It is now "


def clock_line(now: str) -> str:
    """What the first message of a conversation begins with, as a block of its own.

    >>> clock_line("2026-03-16T15:00:00")
    'It is now 2026-03-16T15:00:00.'
    """
    return f"{_CLOCK}{now}."


def read_clock(line: str) -> str | None:
    """The time in a `clock_line`; None if it is none.

    >>> read_clock("It is now 2026-03-16T15:00:00.")
    '2026-03-16T15:00:00'
    """
    return line[len(_CLOCK) : -1] if line.startswith(_CLOCK) and line.endswith(".") else None


@cache
def template(name: str) -> Template:
    """A prompt of `prompts/`, with ``$policy`` and whatever else it leaves open."""
    return Template(_prompt(name).replace("$duties", _prompt("duties")))


def _prompt(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8")


class Dialogue:
    """The messages of one conversation with a model.

    Args:
        model: Who is asked.
        prefix: What comes before the messages.
        conversation: Its name.

    Attributes:
        messages: Oldest first, the two roles in turns.
    """

    def __init__(self, model: Model, prefix: Request, conversation: str) -> None:
        self.messages: list[JsonDict] = []
        self._prefix = prefix
        self._hash = hashlib.sha256(model.identity_in(conversation).encode())
        self._note([prefix.system, list(prefix.tools)])

    def hear(self, blocks: Sequence[JsonDict]) -> None:
        """Append what the model is told."""
        self._append("user", blocks)

    def say(self, blocks: Sequence[JsonDict]) -> None:
        """Append what the model answered, or what stands for it."""
        self._append("assistant", blocks)

    def _append(self, role: str, blocks: Sequence[JsonDict]) -> None:
        message = {"role": role, "content": list(blocks)}
        self.messages.append(message)
        self._note(message)

    def _note(self, content: object) -> None:
        self._hash.update(json.dumps(content, sort_keys=True).encode())

    @property
    def context(self) -> str:
        """A hash of the model and of all that it has been sent: equal if the next request is."""
        return self._hash.hexdigest()[:16]

    def request(self) -> Request:
        """What to ask now."""
        return replace(self._prefix, messages=tuple(self.messages))


def words(text: str, instead: str = EMPTY) -> JsonDict:
    """A block of text; providers refuse one that is blank, so something must stand for it."""
    return text_block(text if text.strip() else instead)


def sendable(blocks: Iterable[JsonDict]) -> list[JsonDict]:
    """Blocks of a reply as they may be sent back: unchanged, where a provider takes them."""
    return [
        {**block, "input": arguments_of(block)} if block.get("type") == "tool_use" else block
        for block in blocks
        if block.get("type") != "text" or block["text"].strip()
    ]


def arguments_of(tool_use: JsonDict) -> JsonDict:
    """The arguments of a call; what is no object becomes one that every tool refuses.

    >>> arguments_of({"type": "tool_use", "input": '{"order_id": '})
    {'malformed': '{"order_id": '}
    """
    given = tool_use["input"]
    return given if isinstance(given, dict) else {"malformed": given}


def check_reply(reply: Reply, model: Model) -> None:
    """Make sure that a reply came to its end.

    Raises:
        AgentError: The model refused, or the conversation no longer fits.
        InfrastructureError: It was cut off: that is a matter of configuration.
    """
    detail = f": {reply.detail}" if reply.detail else ""
    if reply.stop is StopReason.REFUSAL:
        raise AgentError(f"the model refused to answer{detail}")
    if reply.stop is StopReason.CONTEXT_FULL:
        raise AgentError(f"the conversation no longer fits into the model's context{detail}")
    if reply.stop is StopReason.MAX_TOKENS:
        raise InfrastructureError(
            f"configuration: a reply of {model.spec} was cut off by max_tokens; raise it, e.g."
            f" {model.identity},max_tokens=32000"
        )
