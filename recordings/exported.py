"""What both writers share: an ended trial of ours, and a JSON file written a record at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..task import Task
from ..transcript import (
    EndReason,
    MessageEvent,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
)


@dataclass(frozen=True)
class ExportedTrial:
    """One graded trial, as far as other people's formats have room for it.

    Attributes:
        task: What was wanted and expected.
        trial: Its number, from 0.
        reward: 0 or 1.
        rows_right: Whether the rows ended as expected; None if that was not looked at.
        told: Whether everything was said that had to be; None if that was not looked at.
        transcript: What happened.
        seed: Of the trial.
        seconds: How long it took.
        finished: ISO date and time.
    """

    task: Task
    trial: int
    reward: float
    rows_right: bool | None
    told: bool | None
    transcript: Transcript = field(repr=False)
    seed: int = 0
    seconds: float = 0.0
    finished: str = ""

    @property
    def how_it_ended(self) -> EndReason | None:
        """The ending's reason."""
        ending = self.transcript.ending
        return None if ending is None else ending.reason


Said = MessageEvent | list[ToolCallEvent]


def turns(transcript: Transcript) -> Iterator[tuple[Said, list[ToolResultEvent]]]:
    """The conversation move by move: a message with no results, or calls made at once with theirs.

    Calls of the customer's own tools come as moves of their own.
    """
    results = {(e.by, e.call_id): e for e in transcript if isinstance(e, ToolResultEvent)}
    calls: list[ToolCallEvent] = []
    for event in transcript:
        if isinstance(event, ToolCallEvent) and (not calls or calls[0].move == event.move):
            calls.append(event)
            continue
        if calls and not isinstance(event, ToolResultEvent):
            yield calls, _results(calls, results)
            calls = []
        if isinstance(event, MessageEvent):
            yield event, []
        elif isinstance(event, ToolCallEvent):
            calls = [event]
    if calls:
        yield calls, _results(calls, results)


def _results(calls: Sequence[ToolCallEvent], results: dict[Any, Any]) -> list[ToolResultEvent]:
    keys = [(call.by, call.call_id) for call in calls]
    return [results[key] for key in keys if key in results]


def words_to_tell(task: Task) -> list[str]:
    """The facts that must be told, one wording of each: those formats have room for no more."""
    return [fact if isinstance(fact, str) else fact[0] for fact in task.expect.tell]


def reference_actions(task: Task) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the first accepted outcome: those formats have room for one."""
    outcomes = task.expect.outcomes[:1]
    return [(a.name, a.arguments) for outcome in outcomes for a in outcome.actions]


def write_list(file: Path, records: Iterable[Any], before: str = "[", after: str = "]") -> int:
    """Write records as a JSON list, one at a time; returns how many.

    Raises:
        UsageError: The file cannot be written.
    """
    count = 0
    try:
        with file.open("w", encoding="utf-8") as out:
            out.write(before)
            for record in records:
                out.write(",\n" if count else "\n")
                out.write(json.dumps(record))
                count += 1
            out.write(f"\n{after}\n")
    except OSError as error:
        raise UsageError(f"cannot write {str(file)!r}: {error.strerror}") from error
    return count
