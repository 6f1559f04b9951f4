"""Claude Agent SDK: message streams (as sent, or dumped from the SDK's classes), session JSONL.

What the customer and the agent saw of it:

- pieces of one API message (they share its id) are one message of the agent;
- messages of subagents are left out, and so are injected turns: those the SDK marks as synthetic
  or meta, and those whose origin is somebody other than a human;
- a user message that holds only tool results is no turn of the customer;
- ``mcp__server__tool`` is the tool ``tool``;
- a move at the end whose tool calls were not all answered (a crash, a deferral) is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from ...errors import Fault
from ...transcript import EndReason, JsonDict
from ..conversation import Address, Conversation, Format
from .anthropic_messages import block_kind, tell_assistant, tell_user
from .events import Teller, words
from .making import made

Kind = Literal["user", "assistant", "system", "result", "other"]

_SUBAGENT: Final = ("parent_tool_use_id", "parent_agent_id", "isSidechain")
_INJECTED: Final = ("isMeta", "isSynthetic", "isCompactSummary", "isVisibleInTranscriptOnly")


class _Line(NamedTuple):
    """One message of a stream, whatever it was dumped by."""

    kind: Kind
    content: Any
    id: str
    raw: Mapping[str, Any]
    place: str  # JSON pointer of what holds the content


def is_message(value: Any) -> bool:
    """Whether a value is one message of a stream."""
    return isinstance(value, dict) and _kind(value) != "other"


def session_of(message: Mapping[str, Any]) -> str:
    """The session a message belongs to; "" if it does not say."""
    for name in ("session_id", "sessionId"):
        if isinstance(message.get(name), str):
            return str(message[name])
    return ""


def tool_name(name: str) -> str:
    """The domain's name of a tool.

    >>> tool_name("mcp__shop__cancel_order"), tool_name("Read")
    ('cancel_order', 'Read')
    """
    parts = name.split("__", 2)
    return parts[2] if parts[0] == "mcp" and len(parts) == 3 and parts[2] else name


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of one session: a list of its messages in order."""
    teller = Teller()
    merged: dict[str, list[tuple[Any, str]]] = {}
    lines = list(_seen_by_the_customer(record, teller))
    for line in lines:
        if line.kind == "assistant" and line.id:
            blocks = line.content if isinstance(line.content, list) else [line.content]
            pieces = merged.setdefault(line.id, [])
            known = [block for block, _ in pieces]
            pieces += [
                (block, f"{line.place}/content/{number}")
                for number, block in enumerate(blocks)
                if block_kind(block) == "text" or block not in known
            ]
    for line in lines:
        _tell(teller, line, merged)
    teller.cut_incomplete_move()
    if not teller.events.text_by("user"):
        teller.remark("stream without the customer's words: log the prompts beside it")
    why, fault = _loss(record, lines)
    if why is not None:
        teller.ended(EndReason.LOST, why, fault)
    elif _last_result(record).get("subtype") == "error_max_turns":
        teller.ended(EndReason.TURN_LIMIT)
    first: Mapping[str, Any] = next((m for m in record if _kind(m) == "system"), {})
    told = first.get("data") if isinstance(first.get("data"), dict) else first
    return made(
        teller,
        record,
        address,
        context,
        Format.AGENT_SDK,
        tools=tuple((told or {}).get("tools") or ()),
        lost=why,
    )


def _kind(message: Any) -> Kind:
    if not isinstance(message, dict):
        return "other"
    match message.get("type"):
        case "user" if "message" in message or "content" in message:
            return "user"
        case "assistant" if "message" in message or "content" in message:
            return "assistant"
        case "system" if "subtype" in message:
            return "system"
        case "result" if "subtype" in message:
            return "result"
        case None if "role" not in message:
            return _kind_of_dump(message)
    return "other"


def _kind_of_dump(message: Mapping[str, Any]) -> Kind:
    """What a dump of one of the SDK's classes is; they do not say."""
    if {"subtype", "num_turns"} <= message.keys():
        return "result"
    if {"subtype", "data"} <= message.keys():
        return "system"
    if {"content", "model"} <= message.keys():
        return "assistant"
    return "user" if {"content", "parent_tool_use_id"} <= message.keys() else "other"


def _seen_by_the_customer(record: list[Any], teller: Teller) -> Iterator[_Line]:
    for number, raw in enumerate(record):
        kind = _kind(raw)
        if kind not in ("user", "assistant"):
            continue
        if any(raw.get(sign) for sign in _SUBAGENT):
            teller.remark("message of a subagent left out")
            continue
        inner = raw.get("message")
        body = inner if isinstance(inner, dict) else raw
        place = f"/{number}/message" if body is inner else f"/{number}"
        identity = raw.get("message_id") or (body.get("id") if kind == "assistant" else None)
        yield _Line(kind, body.get("content"), str(identity or ""), raw, place)


def _tell(teller: Teller, line: _Line, merged: dict[str, list[tuple[Any, str]]]) -> None:
    if line.kind == "user":
        _tell_user(teller, line)
        return
    if line.raw.get("error") or line.raw.get("isApiErrorMessage"):
        teller.remark("message about a failed API call left out")
        return
    if not line.id:
        tell_assistant(teller, line.content, line.place, _kept(line.content), tool_name)
    elif pieces := merged.pop(line.id, None):
        blocks, places = [block for block, _ in pieces], [place for _, place in pieces]
        tell_assistant(teller, blocks, line.place, _kept(blocks), tool_name, places)


def _kept(content: Any) -> JsonDict:
    return {"role": "assistant", "content": content}


def _tell_user(teller: Teller, line: _Line) -> None:
    blocks = line.content if isinstance(line.content, list) else [line.content]
    origin = line.raw.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    if any(line.raw.get(sign) for sign in _INJECTED) or kind not in (None, "human"):
        if any(not block_kind(block).endswith("tool_result") for block in blocks):
            teller.remark("injected turn left out")
        results = [block for block in blocks if block_kind(block).endswith("tool_result")]
        if results:
            tell_user(teller, results, line.place)
        return
    tell_user(teller, line.content if isinstance(line.content, list) else words(line.content),
              line.place)  # fmt: skip


def _last_result(record: list[Any]) -> Mapping[str, Any]:
    return next((m for m in reversed(record) if _kind(m) == "result"), {})


def _loss(record: list[Any], lines: list[_Line]) -> tuple[str | None, Fault | None]:
    """Why the session broke, if it did; a failed API call is not the agent's doing."""
    answers = [line.raw for line in lines if line.kind == "assistant"]
    last = answers[-1] if answers else {}
    if error := last.get("error"):
        return f"the API call failed: {error!s:.60}", Fault.INFRASTRUCTURE
    result = _last_result(record)
    if not result.get("is_error") or result.get("subtype") == "error_max_turns":
        return None, None
    status = result.get("api_error_status")
    if status is not None:
        return f"the API call failed: {status!s:.60}", Fault.INFRASTRUCTURE
    return f"the session ended with an error: {result.get('subtype')!s:.60}", None
