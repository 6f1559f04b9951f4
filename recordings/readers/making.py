"""What all readers share: a conversation made of a record and its events, or lost with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...errors import Fault
from ...transcript import EndReason, JsonDict
from ..conversation import Address, Conversation, Format
from .events import Teller

Reader = Callable[[Any, Address, JsonDict], Conversation]
"""Makes a conversation of a record; its context is what the file says for all of them."""

MOST_NESTED: Final = 100
"""Levels of a record; beyond, it is taken for broken, since not everything could print it."""


def made(
    teller: Teller, record: Any, address: Address, context: JsonDict, form: Format, **about: Any
) -> Conversation:
    """The conversation of these events."""
    return Conversation(
        address=address,
        format=form,
        events=teller.events,
        record=record,
        context=context,
        places=tuple(teller.places),
        notes=teller.notes + about.pop("notes", ()),
        unreadable=frozenset(teller.unreadable),
        labels=teller.labels,
        **about,
    )


def lost(
    why: str,
    record: Any,
    address: Address,
    context: JsonDict,
    form: Format,
    fault: Fault | None = None,
    **about: Any,
) -> Conversation:
    """A conversation that cannot be read: no events but the loss."""
    teller = Teller()
    teller.ended(EndReason.LOST, why, fault)
    return made(teller, record, address, context, form, lost=why, **about)


def safely(read: Reader, form: Format) -> Reader:
    """A reader that turns whatever is wrong with a record into a loss of that record."""

    def reader(record: Any, address: Address, context: JsonDict) -> Conversation:
        try:
            if too_deep(record):
                raise ValueError(f"nested more than {MOST_NESTED} levels deep")
            return read(record, address, context)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as bad:
            why = f"broken record: {type(bad).__name__}: {' '.join(str(bad).split()):.120}"
            kept = None if too_deep(record) else record
            return lost(why, kept, address, context, form)

    return reader


def too_deep(value: Any) -> bool:
    """Whether a value is nested more than `MOST_NESTED` levels deep."""
    level = [value]
    for _ in range(MOST_NESTED):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
