"""Plain transcripts: who said what, as CSV or JSON rows, and nothing else.

The columns are found by their names. Which speaker is the agent is found by the speakers' names,
or said by whoever reads the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ...transcript import JsonDict
from ..conversation import Address, Conversation, Format
from .events import By, Teller, words
from .making import lost, made

SPEAKER: Final = ("speaker", "role", "from", "sender", "author", "participant", "who", "party")
TEXT: Final = ("text", "message", "content", "utterance", "body", "words", "msg")
CONVERSATION: Final = (
    "conversation_id", "conversation", "conv_id", "dialogue_id", "dialogue", "dialog_id", "dialog",
    "session_id", "session", "thread_id", "chat_id", "ticket_id", "call_id", "transcript_id",
)  # fmt: skip
TURNS: Final = (
    "turns", "messages", "transcript", "utterances", "dialogue", "dialog", "conversation", "log",
)  # fmt: skip

AGENTS: Final = frozenset({
    "agent", "assistant", "bot", "chatbot", "ai", "support", "representative", "rep", "operator",
    "advisor", "adviser", "csr", "clerk", "employee", "staff", "service", "helpdesk", "model",
    "wizard",
})  # fmt: skip
CUSTOMERS: Final = frozenset({
    "customer", "user", "client", "caller", "human", "visitor", "guest", "consumer", "shopper",
    "member", "passenger", "buyer",
})  # fmt: skip

WHICH_AGENT: Final = "which speaker is the agent?"


class Columns(NamedTuple):
    """Names of the columns, as the file writes them; "" for no column of conversations."""

    speaker: str
    text: str
    conversation: str


def columns_of(names: Iterable[Any]) -> Columns | None:
    """Which columns hold what; None if there is no speaker or no text.

    >>> columns_of(["time", "From", "Message"])
    Columns(speaker='From', text='Message', conversation='')
    """
    return _columns_of(tuple(name for name in names if isinstance(name, str)))


@lru_cache(maxsize=256)
def _columns_of(names: tuple[str, ...]) -> Columns | None:
    known = {name.strip().lower(): name for name in names}
    speaker, text, conversation = (
        next((known[name] for name in wanted if name in known), "")
        for wanted in (SPEAKER, TEXT, CONVERSATION)
    )
    return Columns(speaker, text, conversation) if speaker and text else None


def is_row(value: Any) -> bool:
    """Whether a value is one row."""
    return isinstance(value, dict) and columns_of(value) is not None


def turns_name(record: Any) -> str | None:
    """The member of a record that holds its rows; None if it has none."""
    if not isinstance(record, dict):
        return None
    return next(
        (
            name
            for name in TURNS
            if isinstance(record.get(name), list) and any(map(is_row, record[name]))
        ),
        None,
    )


def recognises(record: Any) -> bool:
    """Whether a record is a transcript of rows."""
    return turns_name(record) is not None or (
        isinstance(record, list) and bool(record) and any(map(is_row, record))
    )


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a list of rows, or of an object that holds one.

    Args:
        record: The rows.
        address: Where they stand.
        context: ``{"agent_speaker": ...}`` names the agent where its name does not.
    """
    name = turns_name(record)
    rows = record if name is None else record[name]
    columns = columns_of(next(row for row in rows if is_row(row)))
    assert columns is not None
    speakers = [str(row.get(columns.speaker) or "").strip() for row in rows if is_row(row)]
    sides = sides_of(speakers, str(context.get("agent_speaker") or ""))
    if "agent" not in sides.values():
        found = ", ".join(repr(speaker) for speaker in list(dict.fromkeys(speakers))[:6])
        why = f"{WHICH_AGENT} found are {found:.200}; name it with --agent-speaker"
        return lost(why, record, address, context, Format.PLAIN)
    teller = Teller()
    for number, row in enumerate(rows):
        side = sides.get(str(row.get(columns.speaker) or "").strip()) if is_row(row) else None
        if side is None:
            teller.remark("turn of an unknown speaker left out")
            continue
        place = f"/{number}" if name is None else f"/{name}/{number}"
        teller.said(side, words(row[columns.text]), place)
    return made(teller, record, address, context, Format.PLAIN)


def sides_of(speakers: Sequence[str], agent: str = "") -> dict[str, By]:
    """Which side each speaker is on.

    Args:
        speakers: Names as recorded.
        agent: The agent's name, if it is known; everybody else is the customer then.

    Returns:
        The side of each speaker that is known. Where there are two and one is known, so is the
        other.

    >>> sides_of(["Agent (Mia)", "Bo", "Bo"])
    {'Agent (Mia)': 'agent', 'Bo': 'user'}
    """
    different = list(dict.fromkeys(speaker for speaker in speakers if speaker))
    if agent:
        wanted = agent.strip().casefold()
        if all(speaker.casefold() != wanted for speaker in different):
            return {}
        return {name: "agent" if name.casefold() == wanted else "user" for name in different}
    sides = {name: side for name in different if (side := _side(name)) is not None}
    if len(different) == 2 and len(sides) == 1:
        (known,) = sides.values()
        other = next(name for name in different if name not in sides)
        sides[other] = "user" if known == "agent" else "agent"
    return sides


def _side(speaker: str) -> By | None:
    found = set(re.findall("[a-z]+", speaker.lower()))
    if found & CUSTOMERS and not found & AGENTS:
        return "user"
    return "agent" if found & AGENTS and not found & CUSTOMERS else None


def conversation_of(row: Mapping[str, Any], columns: Columns) -> str:
    """The conversation a row belongs to; "" if the rows do not say."""
    return str(row.get(columns.conversation) or "").strip() if columns.conversation else ""
