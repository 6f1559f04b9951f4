"""A transcript as pages show it: words, calls with what they gave and wrote, the ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..grading.verdict import Verdict
from ..harness.failures import Cause
from ..transcript import (
    EndingEvent,
    Event,
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
)
from .words import laid_out, one_line

WINDOW: Final = 150
"""Events that are shown at once; the next ones come when one scrolls to the end."""


class Column(NamedTuple):
    """A column of a row that was written: its value before and after; None on one side of a row."""

    name: str
    before: Any
    after: Any


class Written(NamedTuple):
    """A row that was written: "new", "changed", "deleted", or "unchanged" after all."""

    row: str
    how: str
    columns: list[Column]


class Blame(NamedTuple):
    """What an event is blamed for, and in whose words."""

    what: str
    why: str


@dataclass(frozen=True)
class Result:
    """What a call gave.

    Attributes:
        event: Its index.
        text: Laid out.
        error: Why the call was refused; "" if it was not.
        written: The rows it wrote.
        blame: What it is blamed for.
    """

    event: int
    text: str
    error: str
    written: Sequence[Written]
    blame: Sequence[Blame]


@dataclass(frozen=True)
class Line:
    """One entry of a conversation.

    Attributes:
        event: Index of its event.
        turn: The agent's move it belongs to.
        who: "user", "agent", "call", "result" (of a call that is not here) or "end".
        by: Who calls, or speaks.
        name: Of the tool; "" where there is none.
        text: What was said, given to the tool, or how it ended.
        short: A call's arguments on one line.
        beside: Text that stood beside a call.
        result: What the call gave; None if it did not run, or there is no call.
        blame: What the event is blamed for.
        usage: What a model spent on it, in words; "" if nothing says.
        seconds: What it took; None if nothing says.
    """

    event: int
    turn: int
    who: str
    by: str
    name: str = ""
    text: str = ""
    short: str = ""
    beside: str = ""
    result: Result | None = None
    blame: Sequence[Blame] = ()
    usage: str = ""
    seconds: float | None = None

    @property
    def events(self) -> tuple[int, ...]:
        """The events it shows."""
        return (self.event,) if self.result is None else (self.event, self.result.event)

    @property
    def blamed(self) -> bool:
        """Whether anything in it is blamed."""
        return bool(self.blame or (self.result and self.result.blame))


def blames(verdicts: Sequence[Verdict], causes: Sequence[Cause]) -> dict[int, list[Blame]]:
    """What each event is blamed for: by the causes of the failure, and by rules."""
    found: dict[int, list[Blame]] = {}
    for cause in causes:
        if cause.event is not None:
            found.setdefault(cause.event, []).append(Blame(cause.category.value, cause.why))
    for verdict in verdicts:
        for finding in verdict.evidence:
            event, rule = finding.get("event"), finding.get("rule")
            if not isinstance(event, int) or not isinstance(rule, str):
                continue
            said = f"{rule}: {finding.get('reason', '')}"
            if not any(blame.why == said for blame in found.get(event, ())):
                found.setdefault(event, []).append(Blame(rule, str(finding.get("reason", ""))))
    return found


def lines(
    transcript: Transcript,
    blamed: Mapping[int, Sequence[Blame]] | None = None,
    first: int = 0,
    last: int | None = None,
) -> list[Line]:
    """The entries of a part of a conversation.

    A result is shown with its call, wherever that stands.

    Args:
        transcript: The whole conversation.
        blamed: What events are blamed for.
        first: Index of the first event of the part.
        last: Index behind its last event; None: to the end.
    """
    results: dict[int, ToolResultEvent] = {}
    for by in ("agent", "user"):
        for pair in transcript.calls(by):
            if pair.result is not None:
                results[pair.call.index] = pair.result
    answered = {result.index for result in results.values()}
    found = []
    for event in transcript[first:last]:
        if event.index not in answered:
            found.append(_line(event, results.get(event.index), blamed or {}))
    return found


def _line(
    event: Event, result: ToolResultEvent | None, blamed: Mapping[int, Sequence[Blame]]
) -> Line:
    about: dict[str, Any] = {
        "event": event.index,
        "turn": event.turn,
        "blame": blamed.get(event.index, ()),
        "usage": _usage(event),
        "seconds": event.seconds,
    }
    if isinstance(event, MessageEvent):
        return Line(who=event.by, by=event.by, text=event.content, **about)
    if isinstance(event, ToolCallEvent):
        return Line(
            who="call",
            by=event.by,
            name=event.name,
            text=laid_out(event.arguments),
            short=one_line(event.arguments),
            beside=event.beside,
            result=None if result is None else _result(result, blamed),
            **about,
        )
    if isinstance(event, ToolResultEvent):
        shown = _result(event, blamed)
        return Line(who="result", by=event.by, name=event.name, result=shown, **about)
    return Line(who="end", by="", text=ended(event), **about)


def _result(event: ToolResultEvent, blamed: Mapping[int, Sequence[Blame]]) -> Result:
    return Result(
        event=event.index,
        text=laid_out(event.content),
        error=event.error.value if event.error else "",
        written=[written(change) for change in event.rows],
        blame=blamed.get(event.index, ()),
    )


def ended(event: EndingEvent) -> str:
    """How a conversation ended, in words."""
    parts = [event.reason.value]
    if event.user_end is not None:
        parts.append(f"the customer: {event.user_end.value}")
    return ": ".join([", ".join(parts), *filter(None, [event.detail])])


def written(change: RowChange) -> Written:
    """A row that was written, column by column; of a changed row only what changed."""
    row = f"{change.table}[{', '.join(map(str, change.key))}]"
    if change.before is None:
        after = change.after or {}
        return Written(row, "new", [Column(name, None, given) for name, given in after.items()])
    if change.after is None:
        return Written(row, "deleted", [Column(n, had, None) for n, had in change.before.items()])
    columns = [
        Column(name, change.before.get(name), given)
        for name, given in change.after.items()
        if change.before.get(name) != given
    ]
    return Written(row, "changed" if columns else "unchanged", columns)


def _usage(event: Event) -> str:
    usage = event.usage
    if usage is None or not usage.all_tokens:
        return ""
    return f"{usage.all_input_tokens or 0:,} + {usage.output_tokens or 0:,} tokens"


# --- which part of it ---------------------------------------------------------------------------


def window(events: int, at: int | None, first: int | None = None) -> tuple[int, int]:
    """Which events to show: from one on, those around one, or the beginning.

    >>> window(1000, None), window(1000, 500), window(1000, None, first=900)
    ((0, 150), (490, 640), (900, 1000))
    """
    if first is None:
        first = 0 if at is None or at < WINDOW else at - 10
    start = max(0, min(first, events))
    return start, min(start + WINDOW, events)


def text_of(transcript: Transcript, event: int, part: str) -> str:
    """The whole of a text of which a page shows the beginning; "" if there is none.

    Args:
        transcript: The conversation.
        event: Index of the event.
        part: "text", or "beside": the text beside a call.
    """
    if not 0 <= event < len(transcript):
        return ""
    found = transcript[event]
    if isinstance(found, ToolCallEvent):
        return found.beside if part == "beside" else laid_out(found.arguments)
    if isinstance(found, EndingEvent):
        return ended(found)
    return laid_out(found.content) if isinstance(found, ToolResultEvent) else found.content
