"""ABCD: customer service chats between people, in which the agent pressed buttons.

A button is a tool call: its name and its values come from the targets, its result is the line that
the agent saw. The customer's wish is named (flow and subflow), not told.
Source: Chen et al. 2021, arXiv:2104.00783.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...transcript import JsonDict
from ..conversation import Address, Conversation, Format, Label
from .events import Called, Teller, words
from .making import made


def recognises(record: Any) -> bool:
    """Whether a record is an ABCD chat."""
    return isinstance(record, dict) and "convo_id" in record and "original" in record


def name_of(record: Mapping[str, Any]) -> str:
    """The chat's id."""
    return str(record["convo_id"])


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a chat. A button's values are its argument ``values``, in order."""
    teller = Teller()
    marked = record.get("delexed") or []
    turns = record["original"]
    if marked and len(marked) != len(turns):
        teller.remark("turn list of another length than the targets")
        marked = []
    for number, (speaker, text) in enumerate(turns):
        place = f"/original/{number}"
        targets = marked[number].get("targets") if marked else None
        match speaker:
            case "customer":
                teller.said("user", words(text), place)
            case "agent":
                teller.said("agent", words(text), place, label=_label(targets))
            case "action":
                name, values = (targets[2], targets[3]) if targets else (None, None)
                arguments = None if values is None else {"values": values}
                call = Called(f"button-{number}", str(name or ""), arguments, place)
                teller.called("agent", [call], label=_label(targets))
                teller.answered(call.id, words(text), place)
            case _:
                teller.remark("turn of an unknown speaker left out")
    scenario = record.get("scenario") or {}
    wish = [str(scenario[name]) for name in ("flow", "subflow") if scenario.get(name)]
    return made(
        teller,
        record,
        address,
        context,
        Format.ABCD,
        task=" / ".join(wish),
    )


def _label(targets: Any) -> Label | None:
    return Label(intent=str(targets[0])) if targets and targets[0] else None
