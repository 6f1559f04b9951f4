"""From recorded messages to events: turns are counted, calls find their results, losses are said.

Every reader tells its format's messages to a `Teller`, in order, and takes the events from it.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from ...errors import Fault
from ...transcript import (
    EndingEvent,
    EndReason,
    ErrorKind,
    Event,
    JsonDict,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
)
from ..conversation import Label

By = Literal["agent", "user"]

_HALF: Final = re.compile("[\ud800-\udfff]")
NOT_SHOWN: Final = "[{}, not shown]"
"""Stands for a part of a message that is no text, e.g. an image."""


class Called(NamedTuple):
    """One tool call as a recording writes it.

    Attributes:
        id: As recorded; "" if it has none.
        name: Of the tool.
        arguments: As they were given; None if they cannot be read.
        place: JSON pointer of the call in the record.
    """

    id: str
    name: str
    arguments: JsonDict | None
    place: str


class Teller:
    """Collects the events of one conversation.

    Attributes:
        events: What was told so far.
        places: Where each event stands in the record.
        unreadable: Indices of calls whose arguments could not be read.
        labels: What the data set says about events.
    """

    def __init__(self) -> None:
        self.events = Transcript()
        self.places: list[str] = []
        self.unreadable: set[int] = set()
        self.labels: dict[int, Label] = {}
        self._turn = 0
        self._ids: set[str] = set()
        self._open: defaultdict[tuple[By, str], list[int]] = defaultdict(list)
        self._remarks: Counter[str] = Counter()

    def remark(self, what: str, count: int = 1) -> None:
        """Count something that was left out or looks wrong, e.g. "empty message"."""
        self._remarks[what] += count

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks with their counts; calls without a result are among them."""
        remarks = self._remarks.copy()
        if missing := sum(map(len, self._open.values())):
            remarks["tool call without a result"] = missing
        return tuple(f"{count} × {what}" for what, count in sorted(remarks.items()))

    def said(
        self, by: By, content: str, place: str, provider: Any = None, label: Label | None = None
    ) -> None:
        """Somebody said something; for the agent that is a move."""
        self._turn += by == "agent"
        if label is not None:
            self.labels[len(self.events)] = label
        event = MessageEvent(
            index=len(self.events), turn=self._turn, by=by, content=whole(content),
            provider=provider,
        )  # fmt: skip
        self._add(event, place)

    def called(
        self,
        by: By,
        calls: Sequence[Called],
        beside: str = "",
        provider: Any = None,
        label: Label | None = None,
    ) -> None:
        """Somebody made these calls, all in one move."""
        self._turn += by == "agent"
        move = len(self.events)
        for number, call in enumerate(calls):
            index = len(self.events)
            if call.arguments is None:
                self.unreadable.add(index)
                self.remark("tool call with unreadable arguments")
            if label is not None:
                self.labels[index] = label
            first: dict[str, Any] = (
                {} if number else {"beside": whole(beside), "provider": provider}
            )
            event = ToolCallEvent(
                index=index, turn=self._turn, by=by, call_id=self._unique(call.id),
                name=call.name, arguments=call.arguments or {}, move=move, **first,
            )  # fmt: skip
            self._open[by, call.id].append(index)
            self._add(event, call.place)

    def answered(
        self,
        call_id: str,
        content: str,
        place: str,
        error: ErrorKind | None = None,
        by: By = "agent",
    ) -> None:
        """A tool answered a call of this id, in the latest move that has an open one; "" is any."""
        index = self._find(by, call_id)
        if index is None:
            self.remark("tool result without its call")
            return
        call = self.events[index]
        assert isinstance(call, ToolCallEvent)
        event = ToolResultEvent(
            index=len(self.events), turn=self._turn, by=by, call_id=call.call_id, name=call.name,
            content=whole(content), error=error,
        )  # fmt: skip
        self._add(event, place)

    def ended(
        self, reason: EndReason, detail: str = "", fault: Fault | None = None, place: str = ""
    ) -> None:
        """The conversation is over."""
        event = EndingEvent(
            index=len(self.events), turn=self._turn, reason=reason, detail=detail, fault=fault
        )
        self._add(event, place)

    def cut_incomplete_move(self) -> None:
        """Take back the last move if it made calls of which some were never answered."""
        open_calls = [index for indices in self._open.values() for index in indices]
        last = self.events[-1] if self.events else None
        if not open_calls or not isinstance(last, ToolCallEvent | ToolResultEvent):
            return
        call = self.events[max(open_calls)]
        assert isinstance(call, ToolCallEvent)
        if call.turn != self._turn:
            return
        for key, indices in self._open.items():
            self._open[key] = [index for index in indices if index < call.move]
        del self.events[call.move :], self.places[call.move :]
        self.unreadable = {index for index in self.unreadable if index < call.move}
        self.labels = {i: label for i, label in self.labels.items() if i < call.move}
        self._turn -= 1
        self.remark("move at the end cut: its tool calls were not answered")

    def _add(self, event: Event, place: str) -> None:
        self.events.append(event)
        self.places.append(place)

    def _find(self, by: By, call_id: str) -> int | None:
        """Take the first open call of the latest move that has one."""
        names = [(by, call_id)] if call_id else [key for key in self._open if key[0] == by]
        waiting = [(index, key) for key in names for index in self._open.get(key, ())]
        if not waiting:
            return None
        latest = self._move(max(waiting)[0])
        index, key = min(each for each in waiting if self._move(each[0]) == latest)
        self._open[key].remove(index)
        if not self._open[key]:
            del self._open[key]
        return index

    def _move(self, index: int) -> int:
        call = self.events[index]
        assert isinstance(call, ToolCallEvent)
        return call.move

    def _unique(self, call_id: str) -> str:
        if call_id in self._ids:
            self.remark("tool call id used twice")
        name, number = call_id or f"call-{len(self._ids) + 1}", len(self._ids) + 1
        while name in self._ids:
            name, number = f"{call_id or 'call'}~{number}", number + 1
        self._ids.add(name)
        return name


def whole(text: str) -> str:
    r"""Text in which halves of characters, left by a cut through an emoji, are marked as lost.

    >>> whole("Thanks \ud83d") == "Thanks \ufffd"
    True
    """
    return _HALF.sub("\ufffd", text)


def read_arguments(arguments: Any) -> JsonDict | None:
    """Arguments as an object: given as one, or as its JSON text; None if they are neither.

    >>> read_arguments('{"order_id": "7"}'), read_arguments("{"), read_arguments("")
    ({'order_id': '7'}, None, {})
    """
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def words(content: Any) -> str:
    r"""The text of a message's content: a string, nothing, or a list of parts.

    >>> words([{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}])
    'Look:\n[image_url, not shown]'
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_part, content)))
    return json.dumps(content, ensure_ascii=False)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False)
    for name in ("text", "refusal"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return NOT_SHOWN.format(part.get("type") or "part")


def error_in(content: str) -> ErrorKind | None:
    """The kind of error that tau-bench and tau2 report as text."""
    if content.startswith("Unknown action "):
        return ErrorKind.UNKNOWN_TOOL
    return ErrorKind.REFUSED if content.startswith("Error: ") else None
