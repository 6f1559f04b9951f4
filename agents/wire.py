"""What an agent behind an address is sent, and how its answer is read: one class a protocol.

Both send the whole conversation with every request, so that a server need not remember anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import UsageError
from ..models.model import text_block, tool_result
from ..transcript import (
    JsonDict,
    Message,
    Observation,
    Stop,
    ToolCall,
    ToolCalls,
    Usage,
    parse_action,
)
from .agent import Brief
from .dialogue import GO_ON, arguments_of, clock_line, template

Move = Message | ToolCalls | Stop


class Conversation:
    """One conversation so far, from the agent's side of the desk.

    Attributes:
        id: Opaque, and like that of no other conversation.
        brief: What the agent was told.
        past: Each observation with the move that answered it.
        now: What has not been answered yet.
    """

    def __init__(self, name: str, brief: Brief) -> None:
        self.id = name
        self.brief = brief
        self.past: list[tuple[Observation, Move]] = []
        self.now = Observation(events=())

    def hear(self, observation: Observation) -> None:
        """Something happened since the last move; its calls get the ids that they were given."""
        self.now = observation
        if self.past and isinstance(last := self.past[-1][1], ToolCalls):
            ids = [result.call_id for result in observation.results]
            calls = [*last.calls]
            calls[: len(ids)] = [
                call.model_copy(update={"id": name}) for call, name in zip(calls, ids, strict=False)
            ]
            self.past[-1] = (self.past[-1][0], last.model_copy(update={"calls": tuple(calls)}))

    def answered(self, move: Move) -> None:
        """The agent has made its move."""
        self.past.append((self.now, move))


class Wire(Protocol):
    """A protocol: what is posted, and what an answer means."""

    def body(self, conversation: Conversation) -> JsonDict:
        """The request for the next move, as JSON."""
        ...

    def headers(self, conversation: Conversation) -> dict[str, str]:
        """What is said outside the body."""
        ...

    def read(self, answer: object) -> Move:
        """The move that an answer stands for.

        Raises:
            UsageError: It stands for none; says why.
        """
        ...


# --- passhat's own --------------------------------------------------------------------------------


class PasshatWire:
    """A protocol of few words: everything about the conversation in, one action out."""

    def body(self, conversation: Conversation) -> JsonDict:
        """All that the agent may know; ``messages`` are in the dialect of the Messages API."""
        brief = conversation.brief
        return {
            "conversation": conversation.id,
            "move": len(conversation.past) + 1,
            "seed": brief.seed,
            "domain": brief.domain,
            "now": brief.now,
            "policy": brief.policy,
            "tools": list(brief.tools),
            "observation": _observed(conversation.now),
            "messages": [
                *(m for pair in conversation.past for m in _as_blocks(*pair)),
                _heard(conversation.now),
            ],
        }

    def headers(self, conversation: Conversation) -> dict[str, str]:
        """None: the body says it all."""
        return {}

    def read(self, answer: object) -> Move:
        """An action, or a plain string, which is said to the customer."""
        return Message(content=answer) if isinstance(answer, str) else parse_action(answer)


def _observed(observation: Observation) -> list[JsonDict]:
    return [
        {"type": "message", "content": event.content}
        if event.kind == "message"
        else {
            "type": "tool_result",
            "id": event.call_id,
            "name": event.name,
            "content": event.content,
            "is_error": event.error is not None,
        }
        for event in observation.events
    ]


def _heard(observation: Observation) -> JsonDict:
    blocks = [
        text_block(event.content)
        if event.kind == "message"
        else tool_result(event.call_id, event.content, event.error is not None)
        for event in observation.events
    ]
    return {"role": "user", "content": blocks or [text_block(GO_ON)]}


def _as_blocks(observation: Observation, move: Move) -> Iterable[JsonDict]:
    yield _heard(observation)
    match move:
        case Message():
            yield {"role": "assistant", "content": [text_block(move.content)]}
        case ToolCalls():
            said = [text_block(move.content)] if move.content else []
            calls = [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
                for call in move.calls
            ]
            yield {"role": "assistant", "content": [*said, *calls]}


# --- OpenAI's chat completions --------------------------------------------------------------------


class OpenAIWire:
    """Chat completions as OpenAI defined them: the policy as system message, tools as functions.

    Args:
        model: What to send as ``model``.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, conversation: Conversation) -> JsonDict:
        """A request of chat completions."""
        brief = conversation.brief
        system = template("native").substitute(policy=brief.policy)
        return {
            "model": self._model,
            "messages": [
                {"role": "system", "content": f"{system}\n{clock_line(brief.now)}"},
                *(m for pair in conversation.past for m in _as_chat(*pair)),
                *_heard_in_chat(conversation.now),
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": tool["name"],
                        "description": tool["description"],
                        "parameters": tool["input_schema"],
                    },
                }
                for tool in brief.tools
            ],
        }

    def headers(self, conversation: Conversation) -> dict[str, str]:
        """Which conversation it is: the body has no place for it that every server accepts."""
        return {
            "Passhat-Conversation": conversation.id,
            "Passhat-Seed": str(conversation.brief.seed),
        }

    def read(self, answer: object) -> Move:
        """The first choice: its tool calls, or its words if it makes none."""
        try:
            completion = _Completion.model_validate(answer)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "answer"
            raise UsageError(
                f"no chat completion: {where}: {first['msg']} (got {answer!r:.200})"
            ) from None
        said = completion.choices[0].message
        usage = None if completion.usage is None else completion.usage.usage
        if said.tool_calls:
            calls = tuple(call.as_tool_call() for call in said.tool_calls)
            return ToolCalls(calls=calls, content=said.text, usage=usage)
        if not said.text.strip():
            raise UsageError(f"it neither says anything nor calls a tool (got {answer!r:.200})")
        return Message(content=said.text, usage=usage)


def _heard_in_chat(observation: Observation) -> list[JsonDict]:
    return [
        {"role": "user", "content": event.content}
        if event.kind == "message"
        else {"role": "tool", "tool_call_id": event.call_id, "content": event.content}
        for event in observation.events
    ] or [{"role": "user", "content": GO_ON}]


def _as_chat(observation: Observation, move: Move) -> Iterable[JsonDict]:
    yield from _heard_in_chat(observation)
    match move:
        case Message():
            yield {"role": "assistant", "content": move.content}
        case ToolCalls():
            yield {
                "role": "assistant",
                "content": move.content or None,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                    }
                    for call in move.calls
                ],
            }


class _Read(BaseModel):
    """Whatever else a server sends is its own affair."""

    model_config = ConfigDict(extra="ignore")


class _Function(_Read):
    name: str
    arguments: str | JsonDict = ""


class _Call(_Read):
    id: str | None = None
    function: _Function

    def as_tool_call(self) -> ToolCall:
        given: object = self.function.arguments or {}
        if isinstance(given, str):
            with suppress(ValueError):
                given = json.loads(given)
        arguments = arguments_of({"input": given})
        return ToolCall(name=self.function.name, arguments=arguments, id=self.id or "")


class _Part(_Read):
    type: str
    text: str = ""


class _Said(_Read):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None

    @property
    def text(self) -> str:
        """What is said, be it in parts."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content if part.type == "text")
        return self.content or self.refusal or ""


class _Choice(_Read):
    message: _Said


class _Details(_Read):
    cached_tokens: int | None = None


class _Spent(_Read):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None

    @property
    def usage(self) -> Usage:
        """In our words: what was read from a cache is not input read afresh."""
        details, afresh = self.prompt_tokens_details, self.prompt_tokens
        cached = None if details is None else details.cached_tokens
        if afresh is not None and cached:
            afresh = max(0, afresh - cached)
        return Usage(
            input_tokens=afresh, cache_read_tokens=cached, output_tokens=self.completion_tokens
        )


class _Completion(_Read):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Spent | None = None
