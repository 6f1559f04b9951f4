"""One finished episode as rules read it: who said what before each call, and the rows back then.

Everything here is built in one pass over the transcript, so that a rule costs what it reads.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ..language import agrees, asks_to_confirm, declines
from ..transcript import (
    JsonDict,
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
)

T = TypeVar("T")
Row = dict[str, Any]
Find = Callable[[str, Mapping[str, Any]], list[Row]]

_SENTENCE = re.compile(r"[.;!?\n–—]+|\s-+\s")
REMEMBERED = 6
"""How many answers back a yes may lie; bounds what a rule looks at for each call."""


@dataclass(frozen=True)
class Exchange:
    """An answer of the customer, and the agent's message before it.

    Attributes:
        asked: None if the customer spoke first.
        before: The exchange before this one; None if that was the first, or ended in a no.
    """

    asked: MessageEvent | None
    answer: MessageEvent
    before: Exchange | None = field(default=None, repr=False)

    @property
    def question(self) -> str:
        """The agent's words; empty if the customer spoke first."""
        return self.asked.content if self.asked else ""

    @property
    def text(self) -> str:
        """The words of both."""
        return f"{self.question}\n{self.answer.content}"

    @cached_property
    def says_yes(self) -> bool:
        """Whether the customer agrees to something the agent said."""
        return self.asked is not None and agrees(self.answer.content)

    @cached_property
    def says_no(self) -> bool:
        """Whether the customer declines, or takes a yes back."""
        return self._declines and not self.says_partly

    @cached_property
    def says_partly(self) -> bool:
        """Whether one thing is declined and the rest agreed to, as in "No lamp. Yes, go on"."""
        return self._declines and any(map(agrees, _SENTENCE.split(self.answer.content)))

    @cached_property
    def _declines(self) -> bool:
        return self.asked is not None and not self.says_yes and declines(self.answer.content)

    @cached_property
    def answers(self) -> bool:
        """Whether the customer answers a question, neither declining nor asking back."""
        return (
            self.asked is not None
            and not self.says_no
            and "?" not in self.answer.content
            and ("?" in self.question or asks_to_confirm(self.question))
        )


@dataclass(frozen=True)
class Call:
    """A tool call of the agent, and what had been said when it was made.

    Attributes:
        event: Index of the call in the transcript.
        last: The customer's last answer.
        consents: Answers since the last no, latest first, at most `REMEMBERED`: where a yes may be.
    """

    event: int
    name: str
    arguments: JsonDict
    move: int
    beside: str
    result: ToolResultEvent | None
    last: Exchange | None
    consents: tuple[Exchange, ...]

    @property
    def done(self) -> bool:
        """Whether the tool did what was asked."""
        return self.result is not None and self.result.error is None

    @property
    def refused(self) -> bool:
        """Whether the tool ran, or was asked to, and said no."""
        return self.result is not None and self.result.error is not None

    @property
    def content(self) -> str:
        """What the tool answered; empty if it never did."""
        return self.result.content if self.result else ""

    @property
    def rows(self) -> tuple[RowChange, ...]:
        """The rows it wrote."""
        return self.result.rows if self.result else ()

    def text(self, argument: str) -> str:
        """An argument that should be text; empty if it is missing or something else."""
        value = self.arguments.get(argument)
        return value if isinstance(value, str) else ""

    def texts(self, argument: str) -> list[str]:
        """An argument that should be a list of texts; what else is in it is left out."""
        value = self.arguments.get(argument)
        return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Case:
    """What rules judge.

    Args:
        transcript: The whole episode.
        policy: The document the agent had to obey.
        find: Looks up rows of a table by equal columns, as they are at the END of the episode.
    """

    transcript: Transcript
    policy: str
    find: Find

    @cached_property
    def calls(self) -> list[Call]:
        """Every tool call of the agent, in order."""
        results = {pair.call.index: pair.result for pair in self.transcript.calls()}
        calls: list[Call] = []
        asked: MessageEvent | None = None
        last: Exchange | None = None
        consents: deque[Exchange] = deque(maxlen=REMEMBERED)
        for event in self.transcript:
            if isinstance(event, MessageEvent) and event.by == "agent":
                asked = event
            elif isinstance(event, MessageEvent):
                last, asked = Exchange(asked, event, next(iter(consents), None)), None
                if last.says_no:
                    consents.clear()
                else:
                    consents.appendleft(last)
            elif isinstance(event, ToolCallEvent) and event.by == "agent":
                calls.append(
                    Call(
                        event=event.index,
                        name=event.name,
                        arguments=event.arguments,
                        move=event.move,
                        beside=event.beside,
                        result=results[event.index],
                        last=last,
                        consents=tuple(consents),
                    )
                )
        return calls

    @cached_property
    def _changes(self) -> list[tuple[int, RowChange]]:
        """Every row written, latest first, with the index of the result that tells of it."""
        return [
            (event.index, change)
            for event in reversed(self.transcript)
            if isinstance(event, ToolResultEvent)
            for change in event.rows
        ]

    @cached_property
    def _once(self) -> dict[tuple[Hashable, ...], Any]:
        return {}

    def once(self, function: Callable[..., T], *others: Hashable) -> T:
        """What a function says of this case, asked only once though several rules want to know.

        Args:
            function: Called with this case and the others.
            others: What else it needs.
        """
        key = (function, *others)
        if key not in self._once:
            self._once[key] = function(self, *others)
        value: T = self._once[key]
        return value

    @cached_property
    def _found(self) -> dict[tuple[str, tuple[tuple[str, Any], ...]], list[Row]]:
        return {}

    def rows(self, table: str, **where: Any) -> list[Row]:
        """Rows by equal columns, as they are at the end."""
        key = (table, tuple(where.items()))
        if key not in self._found:
            self._found[key] = self.find(table, where)
        return self._found[key]

    def rows_before(self, event: int, table: str, **where: Any) -> list[Row]:
        """Rows by equal columns, as they were when this event happened.

        The final rows with every change of a later tool result undone, latest first.
        """
        rows = self.rows(table, **where)
        for index, change in self._changes:
            if index < event:
                break
            if change.table != table:
                continue
            rows = [row for row in rows if row != change.after]
            before = change.before
            if before is not None and all(before.get(c) == value for c, value in where.items()):
                rows = [*rows, before]
        return rows

    def row_before(self, event: int, table: str, **where: Any) -> Row | None:
        """The first of `rows_before`, or None."""
        rows = self.rows_before(event, table, **where)
        return rows[0] if rows else None
