"""Why trials failed: causes found by rules, from the verdicts first, then from the transcript.

A failing trial can have several causes. They are kept in the order of `Category`, which puts what
explains other things first: a conversation that broke off explains the rows it left, a wrong
argument explains a yes that was not to it. The first one is the main cause, under which the trial
is counted. Rules see what verdicts and events say, and no more: a cause is where to begin to read.

Most categories belong to a class of MAST (Cemri et al. 2025, arXiv:2503.13657). That taxonomy is of
systems of several agents; here the other agent is the customer. Where no class fits, none is given.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from ..grading.communication import NAME as COMMUNICATION
from ..grading.grading import ENDING, POLICY
from ..grading.outcome import OutcomeGrader
from ..grading.verdict import Verdict
from ..language import plain, refuses
from ..transcript import (
    EndReason,
    MessageEvent,
    RowChange,
    ToolCallEvent,
    ToolResultEvent,
    Transcript,
    UserEnd,
)
from .records import TrialDetails, TrialRow


class Category(StrEnum):
    """What went wrong, in the order in which one cause explains another."""

    CRASHED = "crashed"
    LOOP = "loop"
    CUT_OFF = "cut off"
    WRONG_HAND_OVER = "wrong hand-over"
    INVENTED_FACT = "invented fact"
    WRONG_TOOL = "wrong tool"
    WRONG_ARGUMENT = "wrong argument"
    UNWANTED_WRITE = "unwanted write"
    SAID_NOT_DONE = "said, not done"
    STOPPED_EARLY = "stopped early"
    WRONG_REFUSAL = "wrong refusal"
    MISSING_REFUSAL = "missing refusal"
    MISSING_HAND_OVER = "missing hand-over"
    UNCONFIRMED_WRITE = "unconfirmed write"
    IDENTITY = "identity not respected"
    NOT_LOOKED_UP = "acted without looking"
    AGAINST_POLICY = "against the policy"
    GOAL_PARTLY_MET = "goal partly met"
    GOAL_NOT_MET = "goal not met"
    NOT_TOLD = "fact not told"
    GAVE_UP = "customer gave up"
    OTHER = "other"


class Mast(NamedTuple):
    """A class of MAST: its number, its name, and the group it is in."""

    code: str
    name: str
    group: str


_DESIGN, _MISALIGNED, _VERIFICATION = (
    "system design issues",
    "inter-agent misalignment",
    "task verification",
)
_DISOBEYS: Final = Mast("FM-1.1", "Disobey task specification", _DESIGN)
_OUT_OF_ROLE: Final = Mast("FM-1.2", "Disobey role specification", _DESIGN)
_REPEATS: Final = Mast("FM-1.3", "Step repetition", _DESIGN)
_NEVER_ENDS: Final = Mast("FM-1.5", "Unaware of termination conditions", _DESIGN)
_DOES_NOT_ASK: Final = Mast("FM-2.2", "Fail to ask for clarification", _MISALIGNED)
_DERAILED: Final = Mast("FM-2.3", "Task derailment", _MISALIGNED)
_WITHHOLDS: Final = Mast("FM-2.4", "Information withholding", _MISALIGNED)
_IGNORES: Final = Mast("FM-2.5", "Ignored other agent's input", _MISALIGNED)
_MISMATCH: Final = Mast("FM-2.6", "Reasoning-action mismatch", _MISALIGNED)
_ENDS_EARLY: Final = Mast("FM-3.1", "Premature termination", _VERIFICATION)
_UNVERIFIED: Final = Mast("FM-3.2", "No or incomplete verification", _VERIFICATION)


class Meaning(NamedTuple):
    """What a category says, and the class of MAST it belongs to; None where none fits."""

    says: str
    mast: Mast | None


MEANINGS: Final[dict[Category, Meaning]] = {
    Category.CRASHED: Meaning("the agent raised, timed out, or answered with no action", None),
    Category.LOOP: Meaning("the same call or the same message three times", _REPEATS),
    Category.CUT_OFF: Meaning("the conversation came to no end within its turns", _NEVER_ENDS),
    Category.WRONG_HAND_OVER: Meaning("handed over though the agent could help", _ENDS_EARLY),
    Category.INVENTED_FACT: Meaning("told or used something that no source says", _UNVERIFIED),
    Category.WRONG_TOOL: Meaning("another kind of change than the one that was due", _MISMATCH),
    Category.WRONG_ARGUMENT: Meaning("the right kind of change, with a wrong value", _MISMATCH),
    Category.UNWANTED_WRITE: Meaning("a change that nobody was to make", _DERAILED),
    Category.SAID_NOT_DONE: Meaning("reported a change that was never made", _MISMATCH),
    Category.STOPPED_EARLY: Meaning("the agent ended it with something still owed", _ENDS_EARLY),
    Category.WRONG_REFUSAL: Meaning("refused what was to be done", _DISOBEYS),
    Category.MISSING_REFUSAL: Meaning("did not refuse, or did not say why", _DISOBEYS),
    Category.MISSING_HAND_OVER: Meaning("did not hand over what a human must do", _OUT_OF_ROLE),
    Category.UNCONFIRMED_WRITE: Meaning("changed something without a yes to it", _DOES_NOT_ASK),
    Category.IDENTITY: Meaning("served or told somebody who was not identified", _DISOBEYS),
    Category.NOT_LOOKED_UP: Meaning("changed something without reading it first", _UNVERIFIED),
    Category.AGAINST_POLICY: Meaning("broke another rule of the policy", _DISOBEYS),
    Category.GOAL_PARTLY_MET: Meaning("made some of the changes that were due", _IGNORES),
    Category.GOAL_NOT_MET: Meaning("made none of the changes that were due", _IGNORES),
    Category.NOT_TOLD: Meaning("did not say what the customer had to be told", _WITHHOLDS),
    Category.GAVE_UP: Meaning("the customer gave up", _IGNORES),
    Category.OTHER: Meaning("no rule knows this; the verdicts say what it was", None),
}

RULES: Final[dict[str, Category]] = {
    "identifies_the_customer_first": Category.IDENTITY,
    "serves_one_customer": Category.IDENTITY,
    "tells_nothing_of_others": Category.IDENTITY,
    "looks_people_up_by_what_they_said": Category.IDENTITY,
    "tells_no_user_id_that_was_not_given": Category.IDENTITY,
    "tells_only_facts_that_have_a_source": Category.INVENTED_FACT,
    "calls_only_with_ids_it_was_given": Category.INVENTED_FACT,
    "changes_nothing_after_a_no": Category.UNCONFIRMED_WRITE,
    "waits_for_a_yes": Category.UNCONFIRMED_WRITE,
    "lists_the_details_before_asking": Category.UNCONFIRMED_WRITE,
    "announces_every_charge": Category.UNCONFIRMED_WRITE,
    "asks_about_insurance_before_booking": Category.UNCONFIRMED_WRITE,
    "reads_an_order_before_changing_it": Category.NOT_LOOKED_UP,
    "reads_a_reservation_before_changing_it": Category.NOT_LOOKED_UP,
    "reads_the_profile_before_what_depends_on_it": Category.NOT_LOOKED_UP,
    "confirms_the_facts_before_compensating": Category.NOT_LOOKED_UP,
    "hands_over_only_when_needed": Category.WRONG_HAND_OVER,
}
"""Breaches by the rule that found them; those of every other rule are `AGAINST_POLICY`."""

_SAID: Final = (  # how the communication grader begins its reasons
    ("the customer was not told", Category.NOT_TOLD),
    ("the agent did not refuse", Category.MISSING_REFUSAL),
    ("the refusal's reason was not given", Category.MISSING_REFUSAL),
    ("the customer was not handed over", Category.MISSING_HAND_OVER),
    ("the customer was handed over", Category.WRONG_HAND_OVER),
)
_LOOPS_AT: Final = 3
_DONE = re.compile(
    r"\b(?:is|are|was|were|has been|have been|i have|i've|we have|we've)(?: now| just|"
    r" successfully)* (?:cancell?ed|changed|updated|modified|exchanged|returned|booked|processed|"
    r"refunded|submitted|added|removed|completed?|done)\b"
    r"|^done\b"
)


class Cause(NamedTuple):
    """One thing that went wrong.

    Attributes:
        category: What kind of thing.
        event: The event to read first, an index into the transcript; None if there is none.
        turn: The agent's move it belongs to, from 1.
        why: In words.
    """

    category: Category
    event: int | None
    turn: int
    why: str


@dataclass(frozen=True)
class Failure:
    """A failing trial and its causes, the main one first; there is at least one."""

    row: TrialRow
    causes: tuple[Cause, ...]

    @property
    def main(self) -> Cause:
        """The cause under which it is counted."""
        return self.causes[0]

    @property
    def lost_at(self) -> int:
        """The first turn at which something was wrong."""
        return min(cause.turn for cause in self.causes)


def failure_of(details: TrialDetails) -> Failure:
    """Why a trial failed, by the verdicts that decided it."""
    return Failure(details.row, causes_of(details.verdicts, details.basis, details.transcript))


def causes_of(
    verdicts: Sequence[Verdict], basis: Sequence[str], transcript: Transcript
) -> tuple[Cause, ...]:
    """What went wrong in a trial that failed, the main cause first, each category once.

    Args:
        verdicts: All verdicts; only those of the basis count.
        basis: Names of the graders that decided.
        transcript: Of the trial; empty if the conversation never began.
    """
    failed = {v.grader: v for v in verdicts if v.grader in basis and not v.passed}
    talk = _Talk(transcript)
    found = [
        *_from_ending(failed, talk),
        *_from_policy(failed.get(POLICY)),
        *_from_outcome(failed.get(OutcomeGrader.name), talk),
        *_from_communication(failed.get(COMMUNICATION), talk),
    ]
    known = {ENDING, POLICY, OutcomeGrader.name, COMMUNICATION}
    found += [_Found(Category.OTHER, None, v.reason) for g, v in failed.items() if g not in known]
    if found:
        found += _from_transcript(talk)
    else:
        found = [_Found(Category.OTHER, None, "; ".join(v.reason for v in failed.values()))]
    order = list(Category)
    found.sort(key=lambda one: order.index(one.category))
    first = {one.category: one for one in reversed(found)}
    return tuple(talk.cause(first[category]) for category in order if category in first)


class _Found(NamedTuple):
    """A cause before its place in the conversation is known; no event: it shows at the end."""

    category: Category
    event: int | None
    why: str


class _Talk:
    """A transcript, with the questions that the rules below ask of it."""

    def __init__(self, transcript: Transcript) -> None:
        self.events = transcript
        self.ending = transcript.ending
        self.writes: list[tuple[int, RowChange]] = [
            (event.index, change)
            for event in transcript
            if isinstance(event, ToolResultEvent) and event.by == "agent"
            for change in event.rows
        ]

    def cause(self, found: _Found) -> Cause:
        """The cause at its event; at the last one if it names none."""
        last = len(self.events) - 1
        event = last if found.event is None else min(found.event, last)
        if event < 0:
            return Cause(found.category, None, 1, found.why)
        return Cause(found.category, event, max(1, self.events[event].turn), found.why)

    @property
    def last_call(self) -> int | None:
        """The agent's last call; None if it made none."""
        calls = (e.index for e in self.events if isinstance(e, ToolCallEvent) and e.by == "agent")
        return max(calls, default=None)

    def said(self) -> Iterator[MessageEvent]:
        """The agent's messages."""
        return (event for event in self.events.messages() if event.by == "agent")

    def write_of(self, table: str, key: str) -> tuple[int, RowChange] | None:
        """The last write of a row that a difference names; its key may be a part of the whole."""
        wanted = set(key.split(", "))
        for event, change in reversed(self.writes):
            row = change.after or change.before or {}
            if change.table == table and wanted <= {*map(str, change.key), *map(str, row.values())}:
                return event, change
        return None


# --- from verdicts ------------------------------------------------------------------------------


def _from_ending(failed: dict[str, Verdict], talk: _Talk) -> Iterator[_Found]:
    ending = talk.ending
    if ending is None:
        return
    owed = OutcomeGrader.name in failed or COMMUNICATION in failed
    if ENDING in failed:
        crashed = ending.reason is EndReason.AGENT_CRASHED
        category = Category.CRASHED if crashed else Category.CUT_OFF
        yield _Found(category, ending.index, failed[ENDING].reason)
    elif ending.reason is EndReason.AGENT_STOP and owed:
        why = f"the agent ended the conversation: {ending.detail or 'it did not say why'}"
        yield _Found(Category.STOPPED_EARLY, ending.index, why)
    elif ending.user_end is UserEnd.GAVE_UP:
        yield _Found(Category.GAVE_UP, ending.index, "the customer gave up")


def _from_policy(verdict: Verdict | None) -> Iterator[_Found]:
    for finding in verdict.evidence if verdict else ():
        if finding.get("severity") == "breach":
            rule = finding["rule"]
            category = RULES.get(rule, Category.AGAINST_POLICY)
            yield _Found(category, finding["event"], f"{rule}: {finding['reason']}")


def _from_communication(verdict: Verdict | None, talk: _Talk) -> Iterator[_Found]:
    for missing in verdict.evidence if verdict else ():
        why = missing.get("missing", verdict.reason if verdict else "")
        category = next((c for start, c in _SAID if why.startswith(start)), Category.OTHER)
        event = talk.last_call if category is Category.WRONG_HAND_OVER else None
        yield _Found(category, event, why)


class _Off(NamedTuple):
    """A difference of rows, and the event that wrote the row; None if nothing did."""

    table: str
    why: str
    event: int | None


def _from_outcome(verdict: Verdict | None, talk: _Talk) -> Iterator[_Found]:
    if verdict is None:
        return
    owed: list[_Off] = []  # was to be written, and was not
    extra: list[_Off] = []  # was written, and was not to be
    wrong: list[_Off] = []  # was to be written, and was written otherwise
    for difference in verdict.evidence:
        if "table" not in difference:  # of a grader of your own, by the same name
            continue
        off, kind = _difference(difference, talk)
        {"owed": owed, "extra": extra, "wrong": wrong}[kind].append(off)
    tables = {off.table for off in owed}
    swapped = [off for off in extra if off.table in tables]
    if wrong or swapped:
        yield _found(Category.WRONG_ARGUMENT, [*wrong, *swapped])
    elif extra and owed:
        yield _found(Category.WRONG_TOOL, extra)
    elif extra:
        yield _found(Category.UNWANTED_WRITE, extra)
    elif owed:
        yield _not_done(owed[0], talk)
    else:
        yield _Found(Category.OTHER, None, verdict.reason)


def _difference(difference: dict[str, Any], talk: _Talk) -> tuple[_Off, str]:
    table, key, column = difference["table"], str(difference["key"]), difference["column"]
    expected, found = difference["expected"], difference["found"]
    write = talk.write_of(table, key)
    event = write[0] if write else None
    row = f"{table}[{key}]"
    if column is not None:
        off = _Off(
            table, f"{row}.{column}: expected {_short(expected)}, not {_short(found)}", event
        )
        if write is None:
            return off, "owed"
        untouched = (write[1].before or {}).get(column, _NOTHING) == expected
        return off, "extra" if untouched else "wrong"
    if found is None:
        return _Off(table, f"{row}: expected, and not there", event), "owed"
    if write is None:
        return _Off(table, f"{row}: expected to go, and still there", event), "owed"
    return _Off(table, f"{row}: not expected", event), "extra"


_NOTHING: Final = object()


def _found(category: Category, offs: Iterable[_Off]) -> _Found:
    """The cause at the first write among these."""
    first = min(offs, key=lambda off: (off.event is None, off.event))
    return _Found(category, first.event, first.why)


def _not_done(owed: _Off, talk: _Talk) -> _Found:
    claim = _false_claim(talk)
    if claim is not None:
        return _Found(Category.SAID_NOT_DONE, claim, owed.why)
    refusal = next((event.index for event in talk.said() if refuses(event.content)), None)
    ended = talk.ending.user_end if talk.ending else None
    if refusal is not None and (ended is UserEnd.REFUSED or not talk.writes):
        return _Found(Category.WRONG_REFUSAL, refusal, owed.why)
    category = Category.GOAL_PARTLY_MET if talk.writes else Category.GOAL_NOT_MET
    return _Found(category, None, owed.why)


def _false_claim(talk: _Talk) -> int | None:
    """The first message that reports a change although none was made since the last report."""
    written = {event for event, _ in talk.writes}
    done = False
    for event in talk.events:
        done |= event.index in written
        if isinstance(event, MessageEvent) and event.by == "agent" and claims(event.content):
            if not done:
                return event.index
            done = False
    return None


def claims(text: str) -> bool:
    """Whether these words report a change as made.

    >>> claims("Your order #W1 has been cancelled."), claims("I've updated the address.")
    (True, True)
    >>> claims("Shall I cancel it?"), claims("It was already cancelled."), claims("If it is done")
    (False, False, False)
    """
    said = plain(text)
    return any(
        _DONE.search(sentence) and not re.search(r"\b(?:already|if|once|after|when)\b", sentence)
        for sentence in re.split(r"[.;!?\n]+\s*", said)
        if sentence
    )


# --- from the transcript ------------------------------------------------------------------------


def _from_transcript(talk: _Talk) -> Iterator[_Found]:
    """Repetition, wherever the conversation ended: a cause beside others, never alone."""
    seen: Counter[str] = Counter()
    for event in talk.events:
        done = _does(event)
        if done is None:
            continue
        seen[done] += 1
        if seen[done] == _LOOPS_AT:
            yield _Found(Category.LOOP, event.index, f"for the third time: {_short(done)}")
            return


def _does(event: object) -> str | None:
    if isinstance(event, ToolCallEvent) and event.by == "agent":
        return f"{event.name} {json.dumps(event.arguments, sort_keys=True, default=str)}"
    if isinstance(event, MessageEvent) and event.by == "agent":
        return event.content.strip()
    return None


def _short(value: object, width: int = 80) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= width else f"{text[: width - 1]}…"


# --- counted ------------------------------------------------------------------------------------


class CategoryRow(NamedTuple):
    """Failing trials of one category: those it is the main cause of, and those it is seen in."""

    category: Category
    meaning: Meaning
    main: int
    seen: int
    examples: tuple[TrialRow, ...]


EXAMPLES: Final = 3
"""Failing trials of a category that are named."""


def by_category(failures: Sequence[Failure]) -> list[CategoryRow]:
    """Failures by category, most frequent first; categories that never occur are left out."""
    main = Counter(failure.main.category for failure in failures)
    seen = Counter(cause.category for failure in failures for cause in failure.causes)
    examples: dict[Category, list[TrialRow]] = {}
    for failure in failures:
        shown = examples.setdefault(failure.main.category, [])
        if len(shown) < EXAMPLES:
            shown.append(failure.row)
    rows = [
        CategoryRow(c, MEANINGS[c], main[c], seen[c], tuple(examples.get(c, ())))
        for c in Category
        if c in seen
    ]
    return sorted(rows, key=lambda row: (-row.main, -row.seen))


def by_mast(failures: Sequence[Failure]) -> dict[Mast | None, int]:
    """Failing trials by the MAST class of their main cause, in its order; None: no class."""
    counts = Counter(MEANINGS[failure.main.category].mast for failure in failures)
    return dict(sorted(counts.items(), key=lambda pair: pair[0].code if pair[0] else "~"))
