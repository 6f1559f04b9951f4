"""Events as moves: what a chat format writes as one message each."""

from __future__ import annotations

from collections.abc import Iterator

from ...transcript import MessageEvent, ToolCallEvent, ToolResultEvent, Transcript

Moved = MessageEvent | list[ToolCallEvent] | list[ToolResultEvent]


def moves_of(events: Transcript) -> Iterator[Moved]:
    """What the agent could see: messages, the calls of each of its moves, results that follow.

    The customer's own tool calls are left out: the agent never saw them. Calls of one move stand
    together, whatever was answered between them.
    """
    calls: dict[int, list[ToolCallEvent]] = {}
    for event in events:
        if isinstance(event, ToolCallEvent) and event.by == "agent":
            calls.setdefault(event.move, []).append(event)
    results: list[ToolResultEvent] = []
    for event in events:
        if isinstance(event, ToolResultEvent):
            results += [event] if event.by == "agent" else []
            continue
        starts_move = isinstance(event, ToolCallEvent) and event.index == event.move
        if results and (starts_move or isinstance(event, MessageEvent)):
            yield results
            results = []
        if isinstance(event, MessageEvent):
            yield event
        elif event.index in calls:
            yield calls[event.index]
    if results:
        yield results
