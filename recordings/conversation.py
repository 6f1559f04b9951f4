"""A conversation that somebody else recorded, whatever format it came in.

Its events are this package's own (`MessageEvent`, `ToolCallEvent`, `ToolResultEvent`,
`EndingEvent`), so that whatever reads a transcript reads a recording. The record it was read from
is kept as received, unknown fields included: writing it back in its own format loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from ..errors import UsageError
from ..transcript import Event, JsonDict, Transcript

_EVENT: Final = re.compile(r"(.+):(\d+)", re.DOTALL)


class Format(StrEnum):
    """Formats of recorded conversations."""

    TAU_BENCH = "tau-bench"
    TAU2 = "tau2"
    OPENAI_CHAT = "openai-chat"
    ANTHROPIC_MESSAGES = "anthropic-messages"
    AGENT_SDK = "agent-sdk"
    STAR = "star"
    ABCD = "abcd"
    PLAIN = "plain"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a conversation, or one of its events, stands: ``file#trial`` or ``file#trial:event``.

    It stays the same as long as the file does. The trial is what the format names a conversation
    by: TASK/NUMBER in results of tau-bench and tau2, the line in a JSONL file, the conversation's
    own id elsewhere.

    >>> str(Address("runs.json", "12/0", 3))
    'runs.json#12/0:3'
    """

    file: str
    trial: str
    event: int | None = None

    def __str__(self) -> str:
        where = f"{self.file}#{self.trial}"
        return where if self.event is None else f"{where}:{self.event}"

    def of(self, event: int) -> Address:
        """The address of one event of this conversation, counted from 0."""
        return replace(self, event=event)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address. Where several ``#`` could end the file's name, a file that exists wins.

        Raises:
            UsageError: It is no address.

        >>> Address.parse("runs.json#12/0:3").event
        3
        """
        cuts = [place for place, character in enumerate(text) if character == "#"]
        cuts = [cut for cut in cuts if cut and cut + 1 < len(text)]
        if not cuts:
            raise UsageError(f"an address is FILE#TRIAL or FILE#TRIAL:EVENT, not {text!r}")
        cut = next((cut for cut in cuts if Path(text[:cut]).exists()), cuts[0])
        file, trial = text[:cut], text[cut + 1 :]
        if event := _EVENT.fullmatch(trial):
            return cls(file, event[1], int(event[2]))
        return cls(file, trial)


@dataclass(frozen=True, slots=True)
class Label:
    """What a data set says about one event of the agent.

    Attributes:
        reply: Name of the reply that was chosen; "" if the set has none here.
        options: The replies that were offered.
        intent: What the agent wanted, in the set's words.
    """

    reply: str = ""
    options: tuple[str, ...] = ()
    intent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One recorded conversation.

    Attributes:
        address: Where it stands; ``address.of(i)`` is that of ``events[i]``.
        format: What it was read as.
        events: What happened, as far as the customer and the agent could see it. Parallel calls
            share their ``move``; results stand in the order in which they came.
        record: As received, everything in it.
        context: What the file says for all its conversations (policy, tools, task), as received.
        places: For each event, the JSON pointer of what it was read from in ``record``; "" for an
            ending that was inferred.
        system: The system prompt or policy that the agent was given; "" if it is not recorded.
        tools: Definitions of the tools that were offered, as received.
        domain: The business, as far as the recording names it; "" if it does not.
        task: Its task's id; "" if there is none.
        script: What the customer was told to want, in words; "" if it is not recorded.
        reward: As recorded; None where nobody graded.
        passed: Whether the recorded trial passed; None if it was not graded, or lost.
        lost: Why this trial is lost (it crashed, it breaks off, it is no conversation); None if
            it is not. A lost conversation is never a failure.
        notes: What was left out or looks wrong, e.g. "1 tool call without a result".
        unreadable: Indices of tool calls whose arguments could not be read; nothing can be
            compared with them.
        labels: What a data set says about single events, by index.
        redacted: Personal data was replaced: ids differ from those of any database.
    """

    address: Address
    format: Format
    events: Transcript
    record: Any
    context: JsonDict = field(default_factory=dict)
    places: tuple[str, ...] = ()
    system: str = ""
    tools: tuple[Any, ...] = ()
    domain: str = ""
    task: str = ""
    script: str = ""
    reward: float | None = None
    passed: bool | None = None
    lost: str | None = None
    notes: tuple[str, ...] = ()
    unreadable: frozenset[int] = frozenset()
    labels: Mapping[int, Label] = field(default_factory=dict)
    redacted: bool = False

    def event(self, index: int) -> Event:
        """One event.

        Raises:
            UsageError: It has no such event.
        """
        if not 0 <= index < len(self.events):
            raise UsageError(
                f"{str(self.address)!r} has no event {index}; it has {len(self.events)}, from 0"
            )
        return self.events[index]

    def dump(self) -> JsonDict:
        """Everything as JSON-ready values."""
        return {
            "address": str(self.address),
            "format": str(self.format),
            "domain": self.domain,
            "task": self.task,
            "script": self.script,
            "reward": self.reward,
            "passed": self.passed,
            "lost": self.lost,
            "notes": list(self.notes),
            "unreadable": sorted(self.unreadable),
            "redacted": self.redacted,
            "system": self.system,
            "tools": list(self.tools),
            "labels": {
                str(index): {
                    "reply": label.reply,
                    "options": list(label.options),
                    "intent": label.intent,
                }
                for index, label in self.labels.items()
            },
            "events": [
                event | {"address": str(self.address.of(index)), "place": place}
                for index, (event, place) in enumerate(
                    zip(self.events.dump(), self.places, strict=True)
                )
            ],
            "record": self.record,
            "context": self.context,
        }
