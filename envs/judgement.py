"""What is found at a cut: a move beside the recorded one, each check apart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ..domains.tool import ToolOutcome
from ..errors import Fault
from ..language import amounts, asks_to_confirm, ids
from ..policies.engine import Finding
from ..transcript import Message, RowChange, ToolCalls
from .moves import Move, MoveKind, RecordedMove, call_key, canonical


class Agreement(StrEnum):
    """What a move is, beside the recorded one."""

    SAME = "same"
    SAME_OUTCOME = "same outcome"
    DIFFERENT = "different"
    OFF_TAPE = "off tape"


@dataclass(frozen=True)
class Judgement:
    """A move beside the recorded one: each check apart; None where there is nothing to check.

    Attributes:
        move: What the agent did.
        kind: Its kind.
        same_kind: Message, tool call, hand-over or stop, as recorded.
        same_tools: The same tools are called, in any order.
        same_arguments: With the same arguments; 25 and 25.0 are equal.
        same_results: What came back is equal, as JSON where it is JSON.
        same_rows: The rows that were written end equal; None if neither move wrote any.
        row_differences: Where they do not.
        asks_same: Of two messages: both ask for a yes, or neither does.
        same_facts: Of two messages: both name the same ids and amounts of money.
        facts_missing: What only the recorded message names.
        facts_added: What only this one names.
        same_label: Of two messages of which a data set's label is known: it is the same.
        off_tape: Tools called in a way that the recording does not hold, so nobody can know.
        findings: What the policy's rules say against this move.
    """

    move: Move
    kind: MoveKind
    same_kind: bool
    same_tools: bool | None = None
    same_arguments: bool | None = None
    same_results: bool | None = None
    same_rows: bool | None = None
    row_differences: tuple[str, ...] = ()
    asks_same: bool | None = None
    same_facts: bool | None = None
    facts_missing: tuple[str, ...] = ()
    facts_added: tuple[str, ...] = ()
    same_label: bool | None = None
    off_tape: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def agreement(self) -> Agreement:
        """The checks in one word.

        Two messages are the same whatever they say, two hand-overs whatever the person who takes
        over is told: nobody here judges words. A different move has the same outcome if it wrote
        the same rows, or if neither wrote any and the calls gave the same.
        """
        if self.off_tape:
            return Agreement.OFF_TAPE
        if self.same_kind and (self.kind is not MoveKind.TOOL_CALL or self.same_arguments):
            return Agreement.SAME
        if self.same_rows or (self.same_rows is None and self.same_results):
            return Agreement.SAME_OUTCOME
        return Agreement.DIFFERENT


class CutState(StrEnum):
    """What became of a cut."""

    JUDGED = "judged"
    CRASHED = "crashed"
    LOST = "lost"
    DRIFTED = "drifted"
    NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Cut:
    """One cut: the recorded move, and what is known of the other one.

    Attributes:
        position: Of the recorded move in its conversation, from 1.
        event: Index of its first event.
        kind: Its kind.
        tools: The tools it calls.
        state: Judged; or the agent crashed (which is a different move); or lost, drifted or not
            asked, which are not scored.
        judgement: If it was judged.
        on_path: Whether the agent's moves at all earlier cuts that it was asked at agreed.
        reason: Why it was not judged; "" if it was.
        fault: Whose doing that is, where the cut is lost.
    """

    position: int
    event: int
    kind: MoveKind
    tools: tuple[str, ...]
    state: CutState
    judgement: Judgement | None = None
    on_path: bool = True
    reason: str = ""
    fault: Fault | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the move agrees with the recorded one; None if that is not known."""
        if self.state is CutState.CRASHED:
            return False
        if self.judgement is None or self.judgement.agreement is Agreement.OFF_TAPE:
            return None
        return self.judgement.agreement is not Agreement.DIFFERENT


class Came(NamedTuple):
    """What a move came to: an outcome for each call (None: nobody knows), and the rows it wrote."""

    outcomes: Sequence[ToolOutcome | None] = ()
    changes: tuple[RowChange, ...] = ()


def compare(recorded: RecordedMove, move: Move, theirs: Came, ours: Came) -> dict[str, Any]:
    """The checks that need to know neither rows nor policy, as fields of a `Judgement`.

    Args:
        recorded: The recorded move.
        move: The other one.
        theirs: What the recorded one came to.
        ours: What the other one came to.
    """
    one, other = recorded.action, move
    if isinstance(one, ToolCalls) and isinstance(other, ToolCalls):
        return _compare_calls(one, other) | _compare_results(theirs, ours)
    if isinstance(one, Message) and isinstance(other, Message):
        return _compare_words(one.content, other.content)
    return {}


def _compare_calls(recorded: ToolCalls, move: ToolCalls) -> dict[str, Any]:
    theirs, ours = recorded.calls, move.calls
    names = [sorted(call.name for call in calls) for calls in (theirs, ours)]
    same = sorted(map(call_key, theirs)) == sorted(map(call_key, ours))
    return {"same_tools": names[0] == names[1], "same_arguments": same}


def _compare_results(theirs: Came, ours: Came) -> dict[str, Any]:
    one, other = (_contents(side.outcomes) for side in (theirs, ours))
    return {"same_results": one == other if one and other else None}


def _contents(outcomes: Iterable[ToolOutcome | None]) -> list[str] | None:
    """Results as values; None where one is not known, is an error or is empty: that is no fact."""
    contents = []
    for outcome in outcomes:
        if outcome is None or outcome.error is not None or not outcome.content:
            return None
        try:
            contents.append(canonical(json.loads(outcome.content)))
        except (ValueError, RecursionError):
            contents.append(outcome.content)
    return sorted(contents)


def _compare_words(recorded: str, said: str) -> dict[str, Any]:
    theirs, ours = _facts(recorded), _facts(said)
    return {
        "asks_same": asks_to_confirm(recorded) == asks_to_confirm(said),
        "same_facts": theirs == ours,
        "facts_missing": tuple(sorted(theirs - ours)),
        "facts_added": tuple(sorted(ours - theirs)),
    }


def _facts(text: str) -> set[str]:
    """Ids and amounts of money that a text names."""
    return {*ids(text), *(f"${amount.normalize():f}" for amount in amounts(text))}
