"""A conversation as OpenAI chat: messages with roles, tool arguments as JSON text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...transcript import JsonDict, MessageEvent, ToolCallEvent, ToolResultEvent
from ..conversation import Conversation
from .moves import Moved, moves_of


def record_of(conversation: Conversation) -> JsonDict:
    """The record: messages, and the tools that were offered, where they are known."""
    messages = [{"role": "system", "content": conversation.system}] if conversation.system else []
    for move in moves_of(conversation.events):
        messages += _messages(move)
    tools = [tool for tool in map(_tool, conversation.tools) if tool is not None]
    return {"messages": messages} | ({"tools": tools} if tools else {})


def _messages(move: Moved) -> Sequence[JsonDict]:
    if isinstance(move, MessageEvent):
        role = "assistant" if move.by == "agent" else "user"
        return [{"role": role, "content": move.content}]
    calls = [_call(event) for event in move if isinstance(event, ToolCallEvent)]
    if calls:
        beside = move[0].beside if isinstance(move[0], ToolCallEvent) else ""
        return [{"role": "assistant", "content": beside or None, "tool_calls": calls}]
    return [
        {
            "role": "tool",
            "tool_call_id": event.call_id,
            "name": event.name,
            "content": event.content,
        }
        for event in move
        if isinstance(event, ToolResultEvent)
    ]


def _call(event: ToolCallEvent) -> JsonDict:
    function = {"name": event.name, "arguments": json.dumps(event.arguments)}
    return {"id": event.call_id, "type": "function", "function": function}


def _tool(tool: Any) -> JsonDict | None:
    """A tool's definition in OpenAI's form; None if it is in none that is known."""
    if not isinstance(tool, dict):
        return None
    if tool.get("type") == "function":
        return tool
    if "input_schema" in tool:
        function = {
            "name": tool.get("name"),
            "description": tool.get("description") or "",
            "parameters": tool["input_schema"],
        }
        return {"type": "function", "function": function}
    return None
