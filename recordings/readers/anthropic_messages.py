"""Anthropic Messages: ``{"system": ..., "tools": [...], "messages": [...]}``, content in blocks.

Thinking is not said to anybody; it is kept, as all blocks are, in the ``provider`` of the agent's
events. Text beside tool calls is kept there and as ``beside``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...transcript import ErrorKind, JsonDict
from ..conversation import Address, Conversation, Format
from .events import NOT_SHOWN, Called, Teller, read_arguments, words
from .making import made

THINKING: Final = ("thinking", "redacted_thinking")
_DECISIVE: Final = frozenset({"tool_use", "tool_result", "server_tool_use", *THINKING})


def recognises(record: Any) -> bool:
    """Whether a record is written as the Messages API takes it, and cannot be OpenAI's."""
    whole = record if isinstance(record, dict) else {}
    messages = whole.get("messages") if whole else record
    if not isinstance(messages, list) or not messages:
        return False
    if "system" in whole or any("input_schema" in t for t in _dicts(whole.get("tools"))):
        return True
    return any(
        block_kind(block) in _DECISIVE
        for message in _dicts(messages)
        for block in _dicts(message.get("content"))
    )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a record."""
    whole = record if isinstance(record, dict) else {}
    messages = whole["messages"] if whole else record
    teller = Teller()
    for number, message in enumerate(messages):
        place = f"{'/messages' if whole else ''}/{number}"
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            tell_assistant(teller, message.get("content"), place, message)
        elif role == "user":
            tell_user(teller, message.get("content"), place)
        elif role not in ("system", "developer"):
            teller.remark("message of neither user nor assistant")
    prompts = [words(whole.get("system"))] if whole.get("system") else []
    prompts += [words(m.get("content")) for m in _dicts(messages) if m.get("role") == "system"]
    return made(
        teller,
        record,
        address,
        context,
        Format.ANTHROPIC_MESSAGES,
        system="\n\n".join(prompts),
        tools=tuple(whole.get("tools") or ()),
    )


def block_kind(block: Any) -> str:
    """What a block is: by its type, or, where a dump has left that out, by its fields."""
    if not isinstance(block, dict):
        return "text" if isinstance(block, str) else ""
    if isinstance(block.get("type"), str):
        return str(block["type"])
    for sign, kind in (
        ("tool_use_id", "tool_result"),
        ("input", "tool_use"),
        ("thinking", "thinking"),
        ("text", "text"),
    ):
        if sign in block:
            return kind
    return ""


def tell_assistant(
    teller: Teller,
    content: Any,
    place: str,
    provider: Any,
    named: Callable[[str], str] = str,
    places: Sequence[str] | None = None,
) -> None:
    """Tell a message of the agent: one move, or two if tools ran in the middle of it.

    Args:
        teller: Who is told.
        content: A string, or blocks.
        place: JSON pointer of the message.
        provider: What is kept as received.
        named: Gives the tool's name from the one recorded.
        places: JSON pointer of each block, where they do not follow from ``place``.
    """
    blocks = content if isinstance(content, list) else [words(content)]
    where = places or [f"{place}/content/{number}" for number in range(len(blocks))]
    calls: list[Called] = []
    results: list[tuple[Mapping[str, Any], str]] = []
    beside: list[str] = []
    after: list[str] = []
    for block, at in zip(blocks, where, strict=True):
        kind = block_kind(block)
        if kind.endswith("tool_use"):
            name, call_id = named(str(block["name"])), str(block.get("id") or "")
            calls.append(Called(call_id, name, read_arguments(block.get("input")), at))
            beside, after = beside + after, []
        elif kind.endswith("tool_result"):
            results.append((block, at))
        elif kind not in THINKING:
            after.append(words([block]))
    if not calls:
        teller.said("agent", "\n".join(filter(None, after)), place, provider)
        return
    answered = len(results) >= len(calls)
    beside = beside if answered else beside + after
    teller.called("agent", calls, "\n".join(filter(None, beside)), provider)
    for block, at in results:
        tell_result(teller, block, at)
    if answered and any(after):
        teller.said("agent", "\n".join(filter(None, after)), place, provider)


def tell_user(teller: Teller, content: Any, place: str) -> None:
    """Tell a message in the user's role: tool results, and what the customer said, if anything."""
    blocks = content if isinstance(content, list) else [words(content)]
    said = []
    for number, block in enumerate(blocks):
        if block_kind(block).endswith("tool_result"):
            tell_result(teller, block, f"{place}/content/{number}")
        else:
            said.append(words([block]))
    if said or not blocks:
        teller.said("user", "\n".join(filter(None, said)), place)


def tell_result(teller: Teller, block: Mapping[str, Any], place: str) -> None:
    """Tell one tool result."""
    error = ErrorKind.REFUSED if block.get("is_error") else None
    content = _result_text(block.get("content"))
    teller.answered(str(block.get("tool_use_id") or ""), content, place, error)


def _result_text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    if all(part is None or isinstance(part, str) or "text" in part for part in parts):
        return words(content)
    if all(isinstance(part, dict) and part.get("type") == "image" for part in parts):
        return NOT_SHOWN.format("image")
    return json.dumps(content, ensure_ascii=False)
