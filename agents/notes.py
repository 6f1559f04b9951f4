"""Notes: what the tools have said, and what a scripted agent makes of it in one line of business.

Everything told comes from the notes, so nothing is told that no tool has said. `notes_for` is the
one place that knows which businesses there are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Protocol

from ..transcript import ToolResultEvent

Json = dict[str, Any]
LookUp = tuple[str, Json]
"""A tool that reads, and its arguments."""


class Notes(Protocol):
    """What the tools have said in one conversation.

    Attributes:
        profile: The customer, with ``user_id``; None until looked up.
    """

    profile: Json | None

    def read(self, result: ToolResultEvent | None, arguments: Mapping[str, Any]) -> None:
        """Keep what this result says."""
        ...

    def look_ups_about(self, text: str) -> Iterator[LookUp]:
        """How to read what the customer has with the business, as far as the text names it."""
        ...

    def look_ups_before(self, name: str, arguments: Json) -> Iterator[LookUp]:
        """What must be read before this change can be put into words."""
        ...

    def sum_needed(self, name: str, arguments: Json) -> str | None:
        """The sum to `calculate` before this change is proposed; None if it needs none."""
        ...

    def change_words(self, name: str, arguments: Json, worked_out: str | None = None) -> str:
        """A change with all its details, as one sentence that begins with a verb.

        Args:
            name: The tool.
            arguments: Its arguments.
            worked_out: The result of `sum_needed`, if it was needed.
        """
        ...


def notes_for(tools: Collection[str]) -> Notes:
    """Empty notes for the business that has these tools; those of a shop if it is none we know."""
    if sells_flights(tools):
        from .airline import AirlineNotes

        return AirlineNotes()
    from .retail import RetailNotes

    return RetailNotes()


def sells_flights(tools: Collection[str]) -> bool:
    """Whether these are the tools of an airline."""
    return "get_reservation_details" in tools


# --- pieces of wording ----------------------------------------------------------------------------


def object_in(result: ToolResultEvent | None) -> Json:
    """The JSON object that a tool answered; empty if it answered something else."""
    about = value_in(result)
    return about if isinstance(about, dict) else {}


def value_in(result: ToolResultEvent | None) -> Any:
    """The JSON value that a tool answered; None if it refused or answered in words."""
    if result is None or result.error is not None:
        return None
    try:
        return json.loads(result.content)
    except ValueError:
        return None


def dollars(amount: float) -> str:
    """An amount as it is told; which way the money goes is for the words around it.

    >>> dollars(-1234.5)
    '$1234.50'
    """
    return f"${abs(amount):.2f}"


def method_words(methods: Mapping[str, Json], method_id: str) -> str:
    """A payment method as its owner knows it, with its id."""
    method = methods.get(method_id, {})
    match method.get("source"):
        case "credit_card":
            kind = f"{method['brand']} credit card ending in {method['last_four']}"
        case "gift_card":
            kind = "gift card"
        case "paypal":
            kind = "PayPal account"
        case "certificate":
            kind = "certificate"
        case _:
            kind = "payment method"
    return f"your {kind} ({method_id})"


def in_words(name: str, arguments: Json) -> str:
    """A change that nobody has found words for."""
    details = ", ".join(f"{key}: {value}" for key, value in arguments.items())
    return f"{name.replace('_', ' ')} ({details})"


def listed(parts: Iterable[str]) -> str:
    """Several things in one sentence."""
    return "; and ".join(parts)


def number_in(text: str | None) -> float:
    """What `calculate` answered; 0 if it refused."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
