"""STAR: service dialogues between people, one JSON object each.

The wizard is the agent: picked and free replies are what it says, queries are its tool calls, and
what the knowledge base returned is their result. Which reply was picked, out of which, and what
the wizard had typed to find it, are the labels. Source: Mosig et al. 2020, arXiv:2010.11853.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...transcript import EndReason, JsonDict
from ..conversation import Address, Conversation, Format, Label
from .events import Called, Teller, words
from .making import made


def recognises(record: Any) -> bool:
    """Whether a record is a STAR dialogue."""
    return isinstance(record, dict) and isinstance(record.get("Events"), list)


def name_of(record: Mapping[str, Any]) -> str:
    """The dialogue's id; "" if it has none."""
    return str(record.get("DialogueID") or "")


class Apis:
    """Schemas of the APIs, as they stand beside the folder of a file of dialogues."""

    def __init__(self, file: Path) -> None:
        beside = file.parent.parent / "apis"
        self._folders = (beside, beside / "apis")
        self._known: dict[str, JsonDict | None] = {}

    def of(self, dialogue: Mapping[str, Any]) -> JsonDict:
        """The context of a dialogue: the schemas of its tasks' APIs, where they are found."""
        scenario = dialogue.get("Scenario")
        parts = scenario.get("WizardCapabilities") if isinstance(scenario, dict) else None
        parts = parts if isinstance(parts, list) else []
        tasks = [str(part.get("Task")) for part in parts if isinstance(part, dict)]
        found = [schema for task in tasks if (schema := self._schema(task)) is not None]
        return {"apis": found} if found else {}

    def _schema(self, task: str) -> JsonDict | None:
        if task not in self._known and task.isidentifier():  # no way out of the folder
            file = next((f for d in self._folders if (f := d / f"{task}.json").is_file()), None)
            self._known[task] = None if file is None else _schema_of(file, task)
        return self._known.get(task)


def _schema_of(file: Path, task: str) -> JsonDict | None:
    try:
        schema = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return {"name": task, **schema} if isinstance(schema, dict) else None


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a dialogue.

    Args:
        record: The dialogue.
        address: Where it stands.
        context: ``{"apis": [...]}``, the schemas of the APIs, where they are known.
    """
    teller = Teller()
    intent, asked, orders = "", 0, []
    for number, event in enumerate(record["Events"]):
        place = f"/Events/{number}"
        match event.get("Agent"), event.get("Action"):
            case "User", "utter":
                teller.said("user", words(event.get("Text")), place)
            case "User", "complete":
                teller.ended(EndReason.USER_STOP, place=place)
            case "Wizard", "request_suggestions":
                intent = words(event.get("Text"))
            case "Wizard", "pick_suggestion" | "utter":
                label = _label(event, intent)
                teller.said("agent", words(event.get("Text")), place, label=label)
                intent = ""
            case "Wizard", "query":
                asked += 1
                call = Called(f"query-{asked}", str(event["APIName"]), constraints(event), place)
                teller.called("agent", [call])
            case "KnowledgeBase", "return_item":
                teller.answered(f"query-{asked}", _item(event), place)
            case "UserGuide", "instruct":
                orders.append(words(event.get("Text")))
            case "Wizard", "select_primary" | "select_secondary" | "select_topic":
                teller.remark("click of the wizard left out")
            case _:
                teller.remark("event of an unknown kind left out")
    scenario = record.get("Scenario") or {}
    tasks = [part.get("Task") for part in scenario.get("WizardCapabilities") or ()]
    return made(
        teller,
        record,
        address,
        context,
        Format.STAR,
        system=words(scenario.get("WizardTask")),
        tools=tuple(context.get("apis") or ()),
        domain=",".join(map(str, scenario.get("Domains") or ())),
        task=",".join(map(str, filter(None, tasks))),
        script="\n\n".join(filter(None, [words(scenario.get("UserTask")), *orders])),
    )


def constraints(query: Mapping[str, Any]) -> JsonDict:
    """What a query asked for, by name: strings without their quotes, operators as written.

    Where a name is given twice, the later value counts, as in the set's own API.

    >>> constraints({"Constraints": [{"Name": '"Hilton Hotel"'}, {"Room": "301"}]})
    {'Name': 'Hilton Hotel', 'Room': '301'}
    """
    return {
        name: _unquoted(value)
        for constraint in query.get("Constraints") or ()
        for name, value in constraint.items()
    }


def _unquoted(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return json.loads(value)
        except ValueError:
            return value[1:-1]
    return value


def _label(event: Mapping[str, Any], intent: str) -> Label | None:
    options = tuple(map(str, event.get("ActionLabelOptions") or ()))
    label = Label(str(event.get("ActionLabel") or ""), options, intent)
    return label if label != Label() else None


def _item(event: Mapping[str, Any]) -> str:
    """What came back: the item, or null, and how many there are (-1: the set does not say)."""
    found = {"Item": event.get("Item"), "TotalItems": event.get("TotalItems")}
    return json.dumps(found, ensure_ascii=False)
