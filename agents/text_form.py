"""How models without tool calls write their turns as text, and how these are read.

A turn holds exactly one action: a JSON object with ``name`` and ``arguments``. What can be read in
one way only is read; anything else is refused with the reason, and nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..models.openai_messages import no_constant
from ..transcript import JsonDict, Message, MessageEvent, Stop, ToolCall, ToolCalls, ToolResultEvent

RESPOND = "respond"
"""The action that is words for the customer."""

_ACTION_LINE = re.compile(r"^[ \t]*\**Action\**:\**", re.MULTILINE)
_FENCE = re.compile(r"```(json)?\s*$")
_BEGINS = re.compile(r"\{\s*[\"}]")
_SEVERAL = "it has several actions; write one, and wait for its result"
_ASKED_FOR = '{"name": ..., "arguments": {...}}'


class UnreadableError(Exception):
    """A turn that is not exactly one action; says what is wrong, for the model to read."""


class TextTurn(NamedTuple):
    """One turn: the text up to the end of its action, what stands before that, and the action."""

    text: str
    beside: str
    name: str
    arguments: JsonDict


# --- reading ------------------------------------------------------------------------------------


def read_turn(text: str) -> TextTurn:
    """The one action in a text, and what stands before it.

    What comes after the action is dropped: models that wait for nobody make up its result there.

    Raises:
        UnreadableError: There is none, there are several, or it lacks something.

    >>> read_turn('{"name": "respond", "arguments": {"content": "Hi"}}').arguments
    {'content': 'Hi'}
    """
    marks = list(_ACTION_LINE.finditer(text))
    if len(marks) > 1:
        raise UnreadableError(_SEVERAL)
    found = list(_objects(text, marks[0].end() if marks else 0))
    actions = [one for one in found if {"name", "arguments"} <= one.value.keys()]
    if len(actions) > 1:
        raise UnreadableError(_SEVERAL)
    if not actions:
        lacking = "its JSON object lacks name or arguments" if found else "it has no JSON object"
        raise UnreadableError(lacking)
    action = actions[0]
    beside = text[: marks[0].start() if marks else action.start]
    name, arguments = _checked(action.value)
    return TextTurn(text[: action.end], _FENCE.sub("", beside).strip(), name, arguments)


class _Found(NamedTuple):
    start: int
    end: int
    value: JsonDict


def _objects(text: str, start: int) -> Iterator[_Found]:
    """Every JSON object that stands in a text by itself.

    Raises:
        UnreadableError: One is broken; an object inside it would be read for the whole.
    """
    decoder = json.JSONDecoder(strict=False, parse_constant=no_constant)
    while begins := _BEGINS.search(text, start):
        try:
            value, start = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"its JSON is broken: {error}") from None
        yield _Found(begins.start(), start, value)


def _checked(action: JsonDict) -> tuple[str, JsonDict]:
    name, arguments = action["name"], action["arguments"]
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise UnreadableError("name must be a string and arguments an object")
    if name == RESPOND:
        content = arguments.get("content")
        if set(arguments) != {"content"} or not isinstance(content, str) or not content.strip():
            raise UnreadableError(f"{RESPOND} takes one argument: content, what you write")
    return name, arguments


def _object_in(text: str) -> object:
    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return None


def complaint(problem: str) -> str:
    """What a model reads about a turn of its own that could not be read."""
    return (
        f"Your answer could not be read, and nothing was done: {problem}. "
        f"Answer again, with one JSON object: {_ASKED_FOR}"
    )


def as_action(turn: TextTurn, about: Mapping[str, Any]) -> Message | ToolCalls:
    """The move that a turn is.

    Args:
        turn: The turn.
        about: What the move carries beside its meaning.
    """
    if turn.name == RESPOND:
        return Message(content=turn.arguments["content"], **about)
    call = ToolCall(name=turn.name, arguments=turn.arguments)
    return ToolCalls(calls=(call,), content=turn.beside, **about)


# --- writing ------------------------------------------------------------------------------------


def write_action(name: str, arguments: Mapping[str, Any]) -> str:
    """An action as a model is asked to write it.

    >>> write_action("respond", {"content": "Hi"})
    '{"name": "respond", "arguments": {"content": "Hi"}}'
    """
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def write_turns(move: Message | ToolCalls | Stop, mark: str) -> list[str]:
    """A move as turns of one action each.

    Args:
        move: The move; what stood beside its calls is put before the first of them.
        mark: What stands before each action, e.g. ``Action: ``.
    """
    if not isinstance(move, ToolCalls):
        words = move.content if isinstance(move, Message) else move.reason
        return [mark + write_action(RESPOND, {"content": words})]
    turns = [mark + write_action(call.name, call.arguments) for call in move.calls]
    if move.content.strip():
        turns[0] = f"{move.content.strip()}\n{turns[0]}"
    return turns


def write_event(event: MessageEvent | ToolResultEvent) -> str:
    """What the model is told, beginning with whose it is."""
    if isinstance(event, MessageEvent):
        return customer_says(event.content)
    return result_of(event.name, event.content)


def customer_says(words: str) -> str:
    """Words of the customer."""
    return f"The customer says:\n{words}"


UNKNOWN_RESULT = "No result is known."


def result_of(name: str, content: str) -> str:
    """What a tool answered."""
    return f"Result of {name}:\n{content}"


def write_tools(tools: Iterable[JsonDict]) -> str:
    """Tools for a prompt: one JSON object a line, with the schema of the arguments."""
    return "\n".join(
        json.dumps(
            {
                "name": tool["name"],
                "description": tool["description"],
                "arguments": tool["input_schema"],
            },
            ensure_ascii=False,
        )
        for tool in tools
    )


# --- examples -----------------------------------------------------------------------------------


def read_examples(file: Path, at_most: int) -> list[str]:
    """The first conversations of a file, as text for a prompt.

    Args:
        file: JSON or JSON lines. A conversation is a list of messages as OpenAI's chat knows them,
            or an object with such a list as ``messages`` or ``traj``; where it has a ``reward``,
            this must be 1, so that failures set no example.
        at_most: How many to take.

    Raises:
        UsageError: The file cannot be read, or holds no conversation that will do.
    """
    try:
        conversations = _conversations(file.read_text(encoding="utf-8"))
        written = [_write_example(c) for c in conversations if _sets_an_example(c)][:at_most]
    except OSError as error:
        raise UsageError(f"examples={file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"examples={file}: no conversations in OpenAI's chat form, as JSON or JSON lines"
            f" ({type(error).__name__}: {error})"
        ) from None
    if not written:
        raise UsageError(f"examples={file}: it holds no conversation that passed")
    return written


def _conversations(text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    one = isinstance(whole, dict) or (whole and "role" in whole[0])
    return [whole] if one else whole


def _sets_an_example(conversation: Any) -> bool:
    return isinstance(conversation, list) or float(conversation.get("reward", 1)) == 1.0


def _write_example(conversation: Any) -> str:
    if isinstance(conversation, dict):
        conversation = conversation.get("messages") or conversation["traj"]
    blocks = list(_example_blocks(conversation))
    while blocks and blocks[-1][0] != "you":
        blocks.pop()
    lines = [f"[{who}]\n{text}" for who, text in blocks]
    return "\n".join(["<conversation>", *lines, "</conversation>"])


def _example_blocks(messages: Sequence[JsonDict]) -> Iterator[tuple[str, str]]:
    """Whose turn it is, and its text; every call is followed by its own result."""
    results: defaultdict[str, deque[str]] = defaultdict(deque)
    for message in messages:
        if message["role"] == "tool":
            results[message["tool_call_id"]].append(message["content"])
    for message in messages:
        if message["role"] == "user":
            yield "message", customer_says(message["content"])
        elif message["role"] == "assistant":
            yield from _example_turns(message, results)


def _example_turns(
    message: JsonDict, results: Mapping[str, deque[str]]
) -> Iterator[tuple[str, str]]:
    calls = message.get("tool_calls") or []
    if not calls and message["content"]:
        yield "you", write_action(RESPOND, {"content": message["content"]})
    for call in calls:
        name = call["function"]["name"]
        yield "you", write_action(name, json.loads(call["function"]["arguments"]))
        if answered := results[call["id"]]:
            yield "message", result_of(name, answered.popleft())
