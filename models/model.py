"""Model: whatever answers a request. Agents and users see this, never a provider's client.

Messages are in the dialect of Anthropic's Messages API, because it loses nothing: a message is
``{"role": "user" | "assistant", "content": [blocks]}``, and a block is ``text``, ``tool_use``,
``tool_result``, ``thinking`` ... Models of other providers translate at their own door.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from ..errors import RunStoppedError
from ..transcript import NO_USAGE, JsonDict, Usage


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    ``system`` and ``tools`` are the same, to the byte, in every trial of a run: no clock and no ids
    in them, so that a provider's cache serves them all.

    Attributes:
        system: Instructions.
        messages: The conversation so far, oldest first; begins with the user role, and ends with
            the message to be answered.
        tools: One dict a tool: name, description, input_schema. In a fixed order.
        schema: JSON Schema of the text to be answered with; None: any text.
        one_tool_at_a_time: Whether the reply may hold one tool call at most.
        conversation: Names the conversation: the same in all its requests, another one in every
            other trial. Opaque, and of no meaning to the model.
    """

    system: str
    messages: Sequence[JsonDict]
    tools: Sequence[JsonDict] = ()
    schema: JsonDict | None = None
    one_tool_at_a_time: bool = False
    conversation: str = ""


class StopReason(StrEnum):
    """Why a model stopped writing."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    """Cut off by the limit that was asked for: a matter of configuration, not of the model."""
    REFUSAL = "refusal"
    CONTEXT_FULL = "model_context_window_exceeded"
    """The conversation no longer fits."""


@dataclass(frozen=True)
class Reply:
    """What a model answered.

    Attributes:
        content: Blocks, as received. Empty when the context is full, or if the model said nothing.
        stop: Why it stopped.
        usage: Of this reply and of all attempts at it that were paid for.
        model: As the provider calls it; "" if it does not say.
        request_id: As the provider calls it, for their support; None if it does not say.
        seconds: Of the attempt that was answered.
        attempts: How often it was asked, 1 or more.
        detail: What the provider said about a refusal or a full context.
    """

    content: tuple[JsonDict, ...]
    stop: StopReason
    usage: Usage = NO_USAGE
    model: str = ""
    request_id: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    detail: str = ""

    @property
    def text(self) -> str:
        """All that was said; thinking is not."""
        return text_of(self.content)

    @property
    def tool_uses(self) -> Iterator[JsonDict]:
        """The tool calls, as blocks with ``id``, ``name`` and ``input``."""
        return (block for block in self.content if block.get("type") == "tool_use")

    def to_message(self) -> JsonDict:
        """The message to append to the conversation: the blocks unchanged, thinking too."""
        return {"role": "assistant", "content": list(self.content)}


class Model(ABC):
    """A model with its options, good for any number of conversations at once.

    Attributes:
        spec: As the user wrote it, e.g. ``claude:claude-haiku-5-5,effort=low``; holds no secret.
        synthetic: Whether it is no model at all, so that its numbers say nothing about one.
        priced: Whether the cost of its replies is known.
    """

    spec: str
    synthetic: bool = False
    priced: bool = True

    @property
    def identity(self) -> str:
        """Which model it is, whatever its options."""
        return self.spec.partition(",")[0]

    def identity_in(self, conversation: str) -> str:
        """Which model answers in a conversation: its thinking is given back to no other."""
        return self.identity

    @abstractmethod
    async def complete(self, request: Request) -> Reply:
        """Answer one request, after as many attempts as it takes.

        Raises:
            InfrastructureError: The provider did not answer, or not in time, or refused the
                request as malformed.
            RunStoppedError: No request will be answered: bad key, unknown model.
        """

    async def check(self) -> None:  # noqa: B027 - a model with nothing to check is in order
        """Make sure, before the first trial, that requests will be answered.

        Raises:
            RunStoppedError: They will not: no key, a bad key, no such model, no server.
        """

    async def warm_up(self, prefix: Request) -> Usage:
        """Put what all conversations begin with into the provider's cache, if it has one.

        Args:
            prefix: Its ``system`` and ``tools`` are what counts.

        Returns:
            What it cost; empty if there was nothing to do.
        """
        return NO_USAGE

    async def close(self) -> None:  # noqa: B027 - a model with nothing open has nothing to close
        """Close the connections that the running event loop has opened."""


@dataclass(frozen=True)
class ModelUse:
    """Which model a kind of agent or user asks, and how each of its conversations begins.

    Attributes:
        model: The model.
        prefix: What every conversation begins with, for `Model.warm_up`; None: nothing in common.
    """

    model: Model
    prefix: Request | None = field(default=None, repr=False)


def no_such_model(where: str, name: str, known: Sequence[str]) -> RunStoppedError:
    """What to raise when a provider has no model of this name.

    >>> print(no_such_model("http://localhost", "haiku", ["haiku-5-5", "opus"]))
    http://localhost has no model 'haiku'; did you mean 'haiku-5-5'?
    """
    near = get_close_matches(name, known, n=3, cutoff=0.3) or known[:3]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "it has none at all"
    return RunStoppedError(f"{where} has no model {name!r}; {hint}")


def tool_result(tool_use_id: str, content: str, is_error: bool = False) -> JsonDict:
    """The block that answers a tool call.

    >>> tool_result("toolu_1", "done")
    {'type': 'tool_result', 'tool_use_id': 'toolu_1', 'content': 'done'}
    """
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": content,
    }
    if is_error:
        block["is_error"] = True
    return block


def blocks_of(content: Any) -> tuple[JsonDict, ...]:
    """The blocks of a reply that came from outside, as they are.

    Raises:
        TypeError: They are none, or one says or calls nothing: no failure of the model's.

    >>> blocks_of([{"type": "text", "text": "Hello!"}])
    ({'type': 'text', 'text': 'Hello!'},)
    >>> blocks_of([{"type": "tool_use", "id": "toolu_1"}])
    Traceback (most recent call last):
    ...
    TypeError: {'type': 'tool_use', 'id': 'toolu_1'} is no block
    """
    if not isinstance(content, list):
        raise TypeError(f"{content!r:.100} is no list of blocks")
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        needs = {"text": ("text",), "tool_use": ("id", "name")}.get(str(kind), ())
        if kind is None or not all(isinstance(block.get(name), str) for name in needs):
            raise TypeError(f"{block!r:.100} is no block")
    return tuple(content)


def text_of(content: Iterable[JsonDict]) -> str:
    """All that blocks say; thinking is not said."""
    return "".join(block["text"] for block in content if block.get("type") == "text")


def text_block(text: str) -> JsonDict:
    """A block of text."""
    return {"type": "text", "text": text}
