"""OpenAI chat: ``{"messages": [...]}`` with tool calls, and the messages alone as a list.

System and developer messages are the system prompt. A refusal is something the agent said. The
``function_call`` of before tool calls is understood. tau-bench writes its messages this way too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...transcript import JsonDict
from ..conversation import Address, Conversation, Format
from .events import Called, Teller, read_arguments, words
from .making import made

SYSTEM: Final = ("system", "developer")
ROLES: Final = frozenset({*SYSTEM, "user", "assistant", "tool", "function"})


def recognises(record: Any) -> bool:
    """Whether a record is a conversation: most of its messages have roles that are known."""
    messages = record.get("messages") if isinstance(record, dict) else record
    return isinstance(messages, list) and sum(map(is_message, messages)) * 2 > len(messages)


def is_message(value: Any) -> bool:
    """Whether a value is one message."""
    role = value.get("role") if isinstance(value, dict) else None
    return isinstance(role, str) and role in ROLES and len(value) > 1


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a record."""
    whole = record if isinstance(record, dict) else {}
    messages = whole["messages"] if whole else record
    teller = Teller()
    tell_messages(teller, messages, "/messages" if whole else "")
    return made(
        teller,
        record,
        address,
        context,
        Format.OPENAI_CHAT,
        system=system_of(messages),
        tools=tuple(whole.get("tools") or whole.get("functions") or ()),
    )


def system_of(messages: Sequence[Any]) -> str:
    """The system prompt: every system and developer message, one after the other."""
    prompts = (
        words(message.get("content"))
        for message in messages
        if isinstance(message, dict) and message.get("role") in SYSTEM
    )
    return "\n\n".join(prompts)


def tell_messages(teller: Teller, messages: Sequence[Any], base: str) -> None:
    """Tell a list of messages; ``base`` is its JSON pointer in the record."""
    for number, message in enumerate(messages):
        place = f"{base}/{number}"
        role = message.get("role") if isinstance(message, dict) else None
        match role:
            case "user":
                teller.said("user", words(message.get("content")), place)
            case "assistant":
                _tell_assistant(teller, message, place)
            case "tool":
                call_id = str(message.get("tool_call_id") or "")
                teller.answered(call_id, words(message.get("content")), place)
            case "function":
                teller.answered("", words(message.get("content")), place)
            case "system" | "developer":
                pass
            case None:
                teller.remark("message without a role")
            case _:
                teller.remark(f"message of an unknown role {role!s:.20}")


def _tell_assistant(teller: Teller, message: Mapping[str, Any], place: str) -> None:
    text = words(message.get("content")) or words(message.get("refusal"))
    if calls := list(_calls(message, place)):
        teller.called("agent", calls, text, message)
    else:
        teller.said("agent", text, place, message)


def _calls(message: Mapping[str, Any], place: str) -> list[Called]:
    if made_before := message.get("function_call"):
        arguments = read_arguments(made_before.get("arguments"))
        return [Called("", str(made_before["name"]), arguments, f"{place}/function_call")]
    calls = []
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or call.get("custom") or {}
        arguments = read_arguments(function.get("arguments", function.get("input")))
        where = f"{place}/tool_calls/{number}"
        calls.append(Called(str(call.get("id") or ""), str(function["name"]), arguments, where))
    return calls
