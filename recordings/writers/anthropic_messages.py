"""A conversation as the Anthropic Messages API takes it: content in blocks, results together."""

from __future__ import annotations

from typing import Any

from ...transcript import JsonDict, MessageEvent, ToolCallEvent
from ..conversation import Conversation
from .moves import Moved, moves_of


def record_of(conversation: Conversation) -> JsonDict:
    """The record: system prompt and tools where they are known, and the messages."""
    tools = [tool for tool in map(_tool, conversation.tools) if tool is not None]
    return {
        "system": conversation.system,
        **({"tools": tools} if tools else {}),
        "messages": [_message(move) for move in moves_of(conversation.events)],
    }


def _message(move: Moved) -> JsonDict:
    if isinstance(move, MessageEvent):
        role = "assistant" if move.by == "agent" else "user"
        return {"role": role, "content": move.content}
    blocks: list[JsonDict] = []
    for event in move:
        if isinstance(event, ToolCallEvent):
            blocks += [{"type": "text", "text": event.beside}] if event.beside else []
            use = {"id": event.call_id, "name": event.name, "input": event.arguments}
            blocks.append({"type": "tool_use", **use})
        else:
            result = {"type": "tool_result", "tool_use_id": event.call_id, "content": event.content}
            blocks.append(result | ({"is_error": True} if event.error else {}))
    called = isinstance(move[0], ToolCallEvent)
    return {"role": "assistant" if called else "user", "content": blocks}


def _tool(tool: Any) -> JsonDict | None:
    """A tool's definition in Anthropic's form; None if it is in none that is known."""
    if not isinstance(tool, dict):
        return None
    if "input_schema" in tool:
        return tool
    function = tool.get("function")
    if not isinstance(function, dict):
        return None
    return {
        "name": function.get("name"),
        "description": function.get("description") or "",
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
    }
