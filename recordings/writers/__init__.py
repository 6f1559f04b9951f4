"""Writes conversations: as received in their own format, as OpenAI chat or Anthropic Messages else.

Files are written one conversation at a time, so that any number of them needs little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...errors import UsageError
from ...transcript import JsonDict
from ..conversation import Conversation, Format
from . import anthropic_messages, openai_chat

_CONVERTERS: Final[Mapping[Format, Callable[[Conversation], JsonDict]]] = {
    Format.OPENAI_CHAT: openai_chat.record_of,
    Format.ANTHROPIC_MESSAGES: anthropic_messages.record_of,
}


def record_of(conversation: Conversation, form: Format) -> Any:
    """A conversation as a record of a format; in its own, exactly what was read.

    Raises:
        UsageError: The format needs more than a conversation holds (a reward, a task), or nothing
            could be read here.
    """
    if conversation.format is Format.UNREADABLE:
        raise UsageError(f"{str(conversation.address)!r} could not be read: {conversation.lost}")
    if conversation.format is form:
        return conversation.record
    if form not in _CONVERTERS:
        able = ", ".join(_CONVERTERS)
        raise UsageError(
            f"{str(conversation.address)!r} is {conversation.format} and cannot be written as "
            f"{form}; every conversation can be written as {able}, and in its own format"
        )
    return _CONVERTERS[form](conversation)


def write_conversations(conversations: Iterable[Conversation], path: Path, form: Format) -> int:
    """Write a file: JSONL for OpenAI chat, an object for tau2, a JSON list for the others.

    Returns:
        How many conversations were written.

    Raises:
        UsageError: A conversation cannot be written in this format.
    """
    write = {Format.OPENAI_CHAT: _lines, Format.TAU2: _tau2}.get(form, _list)
    count = 0

    def counted() -> Iterator[Conversation]:
        nonlocal count
        for conversation in conversations:
            count += 1
            yield conversation

    with path.open("w", encoding="utf-8") as file:
        file.writelines(write(counted(), form))
    return count


def _lines(conversations: Iterable[Conversation], form: Format) -> Iterator[str]:
    for conversation in conversations:
        yield f"{json.dumps(record_of(conversation, form))}\n"


def _list(conversations: Iterable[Conversation], form: Format) -> Iterator[str]:
    yield "["
    yield from _joined(json.dumps(record_of(c, form), indent=1) for c in conversations)
    yield "]\n"


def _tau2(conversations: Iterable[Conversation], form: Format) -> Iterator[str]:
    """Simulations first: what the file says of all of them is known when the last is written."""
    head: JsonDict = {}
    tasks: dict[str, Any] = {}

    def simulations() -> Iterator[str]:
        for conversation in conversations:
            head.update({k: v for k, v in conversation.context.items() if k != "task"})
            if "task" in conversation.context:
                tasks.setdefault(conversation.task, conversation.context["task"])
            yield json.dumps(record_of(conversation, form), indent=1)

    yield '{"simulations": ['
    yield from _joined(simulations())
    yield f'],\n"tasks": {json.dumps(list(tasks.values()), indent=1)}'
    yield from (f",\n{json.dumps(name)}: {json.dumps(head[name], indent=1)}" for name in head)
    yield "}\n"


def _joined(texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield ",\n" if number else "\n"
        yield text
    yield "\n"
