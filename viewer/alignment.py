"""Two conversations side by side: alike up to a point, and from there each on its own."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from ..transcript import Event, MessageEvent, ToolCallEvent, ToolResultEvent, Transcript

WORDS: Final = "words"
MOVES: Final = "moves"
"""What must be alike: every word; or what is done, so that messages only count as such.

Models seldom say the same twice, so two of their conversations part at the first message by words,
and where one does something else by moves.
"""


class Parting(NamedTuple):
    """Where two conversations part.

    Attributes:
        a: The first event of the one that the other does not have; its length if it has all.
        b: The same of the other.
    """

    a: int
    b: int


def parting(a: Transcript, b: Transcript, by: str = MOVES) -> Parting | None:
    """Where two conversations part; None if they do not.

    Args:
        a: The one.
        b: The other.
        by: What must be alike, `WORDS` or `MOVES`.
    """
    for at, (one, other) in enumerate(zip(a, b, strict=False)):
        if alike(one, by) != alike(other, by):
            return Parting(at, at)
    if len(a) == len(b):
        return None
    shorter = min(len(a), len(b))
    return Parting(shorter, shorter)


def alike(event: Event, by: str = MOVES) -> tuple[str, ...]:
    """What two events have in common if they are alike."""
    if isinstance(event, MessageEvent):
        return ("message", event.by, *([event.content] if by == WORDS else []))
    if isinstance(event, ToolCallEvent):
        arguments = json.dumps(event.arguments, sort_keys=True, default=str)
        return ("call", event.by, event.name, arguments)
    if isinstance(event, ToolResultEvent):
        return ("result", event.by, event.name, event.content, event.error or "")
    return ("end", event.reason.value, event.detail if by == WORDS else "")
