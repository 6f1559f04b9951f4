"""Moves of a recorded agent: what it did at each of its turns, and what it had seen by then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..transcript import (
    EndingEvent,
    EndReason,
    Event,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCallEvent,
    ToolCalls,
    ToolResultEvent,
    Transcript,
)

Move = Message | ToolCalls | Stop


class MoveKind(StrEnum):
    """What a move is, before looking at what is in it."""

    MESSAGE = "message"
    TOOL_CALL = "tool call"
    HAND_OVER = "hand-over"
    STOP = "stop"


@dataclass(frozen=True)
class RecordedMove:
    """One move of the recorded agent. The cut before it is where another agent is asked instead.

    Attributes:
        position: Which move of the conversation it is, from 1; 0 for an opening, that is, a move
            made before anybody had said anything, which answers nothing.
        event: Index of its first event; the events before it are the prefix.
        action: The move itself; messages sent in a row are one.
        observation: What came between the move before and this one.
        labels: What the data set calls these messages, if it does.
    """

    position: int
    event: int
    action: Move
    observation: Observation = field(repr=False)
    labels: tuple[str, ...] = ()


def moves_of(transcript: Transcript, labels: Mapping[int, str] | None = None) -> list[RecordedMove]:
    """Every move of the agent in a recorded conversation, in order.

    Parallel calls are one move, and so are messages in a row. What the customer wrote in several
    messages is one message of the observation, as an agent would have it.

    Args:
        transcript: The conversation; the index of an event is its place.
        labels: What a data set calls single messages, by index.
    """
    labels = labels or {}
    moves: list[RecordedMove] = []
    start = index = 0
    opened = 1
    while index < len(transcript):
        events = _move_at(transcript, index)
        if not events:
            index += 1
            continue
        observation = _observation(transcript[start:index])
        if not moves and not observation.events:
            opened = 0
        moves.append(
            RecordedMove(
                position=len(moves) + opened,
                event=index,
                action=_action(events),
                observation=observation,
                labels=tuple(labels[e.index] for e in events if e.index in labels),
            )
        )
        start, index = index, index + len(events)
    return moves


def _move_at(transcript: Transcript, index: int) -> list[Event]:
    """The events of the move that begins here, results left out; none if none begins here."""
    first = transcript[index]
    if isinstance(first, MessageEvent) and first.by == "agent":
        return list(_while_agent_speaks(transcript, index))
    if isinstance(first, ToolCallEvent) and first.by == "agent":
        return list(_same_move(transcript, index, first.move))
    if isinstance(first, EndingEvent) and first.reason is EndReason.AGENT_STOP:
        return [first]
    return []


def _while_agent_speaks(transcript: Transcript, index: int) -> Iterator[Event]:
    for event in transcript[index:]:
        if not isinstance(event, MessageEvent) or event.by != "agent":
            return
        yield event


def _same_move(transcript: Transcript, index: int, move: int) -> Iterator[Event]:
    """The calls of a move and, where calls and results alternate, the results between them."""
    between: list[Event] = []
    for event in transcript[index:]:
        if isinstance(event, ToolResultEvent) and event.by == "agent":
            between.append(event)
        elif isinstance(event, ToolCallEvent) and event.by == "agent" and event.move == move:
            yield from between
            between.clear()
            yield event
        else:
            return


def _action(events: Sequence[Event]) -> Move:
    first = events[0]
    if isinstance(first, EndingEvent):
        return Stop(reason=first.detail)
    if isinstance(first, MessageEvent):
        said = "\n".join(e.content for e in events if isinstance(e, MessageEvent))
        return Message(content=said, provider=first.provider)
    calls = [event for event in events if isinstance(event, ToolCallEvent)]
    return ToolCalls(
        calls=tuple(ToolCall(name=c.name, arguments=c.arguments, id=c.call_id) for c in calls),
        content=calls[0].beside,
        provider=calls[0].provider,
    )


def _observation(events: Sequence[Event]) -> Observation:
    seen: list[MessageEvent | ToolResultEvent] = []
    for event in events:
        if isinstance(event, ToolResultEvent) and event.by == "agent":
            seen.append(event)
        elif isinstance(event, MessageEvent) and event.by == "user":
            last = seen[-1] if seen else None
            if isinstance(last, MessageEvent):
                both = f"{last.content}\n{event.content}"
                seen[-1] = last.model_copy(update={"content": both})
            else:
                seen.append(event)
    return Observation(events=tuple(seen))


# --- comparing ----------------------------------------------------------------------------------


def canonical(value: Any) -> str:
    """A JSON value as text that is equal for equal values: 25 is 25.0, "25" and true are not.

    >>> canonical({"b": 25.0, "a": True}) == canonical({"a": True, "b": 25})
    True
    >>> canonical("25") == canonical(25)
    False
    """
    return json.dumps(_canonical(value), sort_keys=True, default=repr)


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(inner) for inner in value]
    return value


def call_key(call: ToolCall | ToolCallEvent) -> tuple[str, str]:
    """A call as a value: its name and its canonical arguments."""
    return call.name, canonical(call.arguments)


def json_equal(one: str, other: str) -> bool:
    """Whether two texts are JSON of the same value.

    >>> json_equal('{"a": 1, "b": 2.0}', '{"b":2,"a":1}'), json_equal("a", "a ")
    (True, False)
    """
    try:
        return canonical(json.loads(one)) == canonical(json.loads(other))
    except (ValueError, RecursionError):
        return False


def signature(move: RecordedMove, handing_over: frozenset[str] = frozenset()) -> str:
    """A move as a value two recordings can share: calls by name and arguments, words by kind only.

    Args:
        move: The move.
        handing_over: Names of the tools that hand over; what they are told is words, too.
    """
    action = move.action
    if not isinstance(action, ToolCalls):
        return action.type
    calls = (call.name if call.name in handing_over else call_key(call) for call in action.calls)
    return ", ".join(sorted(c if isinstance(c, str) else " ".join(c) for c in calls))
