"""One story in every format: Mina Okafor cancels the order of a kettle. Nobody real is in it."""

import json
from pathlib import Path
from typing import Any

from passhat.recordings.conversation import Conversation
from passhat.recordings.readers import read_conversations

ORDER = {"order_id": "K-77"}
FOUND = '{"order_id": "K-77", "status": "pending"}'

OPENAI = {
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Please cancel my kettle K-77."},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get_order", "arguments": json.dumps(ORDER)},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "get_time", "arguments": "{}"},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "noon"},
        {"role": "tool", "tool_call_id": "c1", "content": FOUND},
        {"role": "assistant", "content": "It is pending. Shall I cancel it?", "annotations": []},
        {"role": "user", "content": [{"type": "text", "text": "Yes."}], "name": "mina"},
    ],
    "tools": [{"type": "function", "function": {"name": "get_order", "parameters": {}}}],
    "x_trace": {"region": "eu"},
}

ANTHROPIC = {
    "model": "some-model",
    "system": [{"type": "text", "text": "Be kind."}],
    "tools": [{"name": "get_order", "description": "", "input_schema": {"type": "object"}}],
    "messages": [
        {"role": "user", "content": "Please cancel my kettle K-77."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "an order id", "signature": "c2ln"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "get_order", "input": ORDER},
                {"type": "tool_use", "id": "c2", "name": "get_time", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": "noon"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": FOUND}],
                },
            ],
        },
        {"role": "assistant", "content": "It is pending. Shall I cancel it?"},
        {"role": "user", "content": "Yes."},
    ],
}


def write(folder: Path, content: Any, name: str = "file") -> Path:
    """Write a file: text or bytes as they are, anything else as JSON."""
    file = folder / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        file.write_text(text, encoding="utf-8")
    return file


def lines(*values: Any) -> str:
    """Values as JSONL."""
    return "".join(f"{json.dumps(value)}\n" for value in values)


def read(folder: Path, content: Any, **options: Any) -> list[Conversation]:
    """The conversations of a file whose name says nothing."""
    return list(read_conversations(write(folder, content), **options))


def read_one(folder: Path, content: Any, **options: Any) -> Conversation:
    """The one conversation of such a file."""
    (conversation,) = read(folder, content, **options)
    return conversation


def told(conversation: Conversation) -> list[tuple[Any, ...]]:
    """The events in short: who, what."""
    short: list[tuple[Any, ...]] = []
    for event in conversation.events:
        match event.kind:
            case "message":
                short.append((event.by, event.content))
            case "tool_call":
                short.append(("call", event.name, event.arguments))
            case "tool_result":
                short.append(("result", event.name, event.content))
            case "ending":
                short.append(("end", str(event.reason)))
    return short


STORY = [
    ("user", "Please cancel my kettle K-77."),
    ("call", "get_order", ORDER),
    ("call", "get_time", {}),
    ("result", "get_time", "noon"),
    ("result", "get_order", FOUND),
    ("agent", "It is pending. Shall I cancel it?"),
    ("user", "Yes."),
]
