"""Recorded conversations on the terminal: those of a file, one of them, or one of its events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from .common import console, one_line, plain_table, print_json, safe

if TYPE_CHECKING:
    from ..recordings.conversation import Address, Conversation, Label


def is_recorded(what: str) -> bool:
    """Whether this names a file, or a conversation in one, and not a run of the store."""
    file, mark, _ = what.partition("#")
    if mark and Path(file).suffix:
        return True
    return what != "last" and Path(what.rpartition("#")[0] or what).exists()


def show_recorded(
    what: str, *, full: bool, redacted: bool, agent_speaker: str, wanted: set[str], as_json: bool
) -> None:
    """Show what an address names, or list the conversations of a file.

    Args:
        what: FILE, FILE#TRIAL or FILE#TRIAL:EVENT.
        full: Do not fold long texts.
        redacted: Replace personal data first.
        agent_speaker: For plain transcripts: who is the agent.
        wanted: Of a file: only conversations with one of these results; empty is all.
        as_json: Print JSON.
    """
    from ..recordings.conversation import Address
    from ..recordings.readers import find_conversation, read_conversations
    from ..recordings.redact import redact

    if Path(what).exists():
        every = read_conversations(Path(what), agent_speaker)
        chosen = (c for c in every if not wanted or _result(c) in wanted)
        _list(what, (redact(c)[0] for c in chosen) if redacted else chosen, as_json)
        return
    address = Address.parse(what)
    conversation = find_conversation(address, agent_speaker)
    if redacted:
        conversation, report = redact(conversation)
        console(stderr=True).print(str(report), style="dim", soft_wrap=True)
    if address.event is None:
        _show(conversation, full=full, as_json=as_json)
    else:
        _show_event(conversation, address, as_json=as_json)


def _result(conversation: Conversation) -> str:
    if conversation.lost is not None:
        return "lost"
    return {True: "passed", False: "failed", None: "-"}[conversation.passed]


def _list(file: str, conversations: Iterable[Conversation], as_json: bool) -> None:
    if as_json:
        print_json([_about(conversation) for conversation in conversations])
        return
    out = console()
    table = plain_table("conversation", "format", "result", "events", "why", wrapped="why")
    count = 0
    for count, conversation in enumerate(conversations, start=1):  # noqa: B007 - used below
        why = conversation.lost or "; ".join(conversation.notes)
        table.add_row(
            safe(conversation.address.trial),
            str(conversation.format),
            _result(conversation),
            str(len(conversation.events)),
            one_line(why, 80),
        )
    out.print(table)
    out.print(f"{count} conversations; open one with passhat show '{safe(file)}#CONVERSATION'")


def _about(conversation: Conversation) -> dict[str, object]:
    return {
        "address": str(conversation.address),
        "format": str(conversation.format),
        "domain": conversation.domain,
        "task": conversation.task,
        "result": _result(conversation),
        "lost": conversation.lost,
        "events": len(conversation.events),
        "notes": list(conversation.notes),
    }


def _show(conversation: Conversation, *, full: bool, as_json: bool) -> None:
    if as_json:
        print_json(_finite(conversation.dump()))
        return
    from .show import print_events

    out = console()
    result = _result(conversation).upper().replace("-", "not graded")
    out.print(f"{safe(conversation.address)}  {result}", style="bold")
    known = {"domain": conversation.domain, "task": conversation.task}
    named = ", ".join(f"{name} {safe(value)}" for name, value in known.items() if value)
    out.print(f"{conversation.format}{f', {named}' if named else ''}", style="dim")
    for note in (*conversation.notes, *(("personal data replaced",) * conversation.redacted)):
        out.print(safe(note), style="dim")
    out.print()
    print_events(conversation.events, out, full=full)
    if conversation.lost is not None:
        out.print(f"\nlost: {safe(conversation.lost)}")


def _show_event(conversation: Conversation, address: Address, *, as_json: bool) -> None:
    assert address.event is not None
    event = conversation.event(address.event)
    place = conversation.places[address.event]
    label = conversation.labels.get(address.event)
    if as_json:
        about = {"address": str(conversation.address.of(address.event)), "place": place}
        print_json(_finite(event.model_dump(mode="json") | about | {"label": _label(label)}))
        return
    from .show import print_events

    out = console()
    out.print(safe(conversation.address.of(address.event)), style="bold")
    out.print(f"turn {event.turn}, read from {place or 'what ended the file'}\n", style="dim")
    print_events([event], out, full=True)
    if label is not None:
        out.print(f"\nlabel: {safe(json.dumps(_label(label), ensure_ascii=False))}")


def _label(label: Label | None) -> dict[str, object] | None:
    from dataclasses import asdict

    return None if label is None else asdict(label)


def _finite(value: object) -> object:
    """A value as every JSON parser reads it: NaN and infinities, which Python writes, are null."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value
