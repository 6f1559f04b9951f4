"""What customer and agent have dealt with: what was put, agreed to and reported as done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..language import agrees, asks_to_confirm, declines, ids, plain
from ..task import Goal
from ..transcript import UserEnd
from .due import content_words
from .hearing import Heard, acts_in, hear, sentences
from .proposals import compare, values

Matter = tuple[str, str]
"""An act and the order or reservation that it is done with."""
_NONE: frozenset[Matter] = frozenset()
_TO_CANCEL = re.compile(r"\bcancel\b")
_NO_REQUEST = re.compile(r"\b(?:confirm|been|was|were|did|not|never|without|whether|if)\b|n't\b")
_REQUEST = re.compile(
    r"\b(?:please|(?:can|could|will|would) you|i(?:'d| would)(?: also| still)? like"
    r"|i(?: also| still| just)? (?:want|need)|go ahead)\b"
)
_HUMAN = re.compile(
    r"\b(?:transferr?\w*|human|agents?|representatives?|colleagues?|specialists?|supervisors?"
    r"|escalat\w*|connect\w*|hand(?:ed|ing)? (?:you|this|it) (?:over|off)|team|department)\b"
)
_TELLS_TO_ACT = re.compile(
    r"\b(?:go ahead (?:and|with)|please (?:go ahead|proceed|book|cancel|change|exchange|return"
    r"|process|use|update|upgrade|refund|add|modify)"
    r"|(?:can|could|would) (?:you|we) (?:please |also )?(?!have\b|confirm\b)\w++[^.!?]{0,200}\?)"
)
_ANSWER_ME = re.compile(r"\b(?:please|kindly|reply|respond|answer|type|yes ?/ ?no)\b")
_WORD_SHARE = 0.3
"""A request of which the talk holds less than this share of words has never come up."""
_OTHER_RECORD_SHARE = 0.5
"""... if it names an order or a reservation, which the talk does not."""


class Line(NamedTuple):
    """One line of the talk."""

    text: str
    by_agent: bool


class Dealings:
    """The talk so far, and what has come of it; looked at only when a line calls for it.

    Args:
        goals: Of the script; none if it is free text.
    """

    def __init__(self, goals: Sequence[Goal]) -> None:
        self._goals = goals
        self._lines: list[Line] = []
        self._read = 0
        self._proposed = _NONE
        self._agreed = _NONE
        self._done = _NONE

    def hear(self, text: str) -> None:
        """The agent says this."""
        self._lines.append(Line(text, by_agent=True))

    def say(self, text: str) -> None:
        """The customer says this."""
        self._lines.append(Line(text, by_agent=False))

    def fork(self) -> Dealings:
        """The same talk, to go on differently."""
        twin = object.__new__(Dealings)
        twin.__dict__.update(self.__dict__)
        twin._lines = self._lines.copy()
        return twin

    # --- asked again ------------------------------------------------------------------------------

    def asked_again(self, text: str) -> str | None:
        """What this line asks for although it was agreed to and reported as done.

        Certain are two things: to cancel what is cancelled, and to ask in the very words of before.
        What was returned or changed in part can be asked for again.
        """
        if not _REQUEST.search(plain(text)) or not _records(text):
            return None
        self._catch_up()
        done = self._done - self._proposed  # what the agent asks about again may be answered
        for sentence in sentences(text) if done else ():
            asked = _matters(sentence)
            if asked and asked <= done and self._is_the_same(sentence):
                act, record = min(asked)
                return f"'{act} {record}': it was agreed to and reported as done"
        return None

    def _is_the_same(self, sentence: str) -> bool:
        said = plain(sentence)
        if not _REQUEST.search(said) or _NO_REQUEST.search(said):
            return False
        if _TO_CANCEL.search(said):
            return True
        return any(said in plain(line.text) for line in self._lines if not line.by_agent)

    def _catch_up(self) -> None:
        for line in self._lines[self._read :]:
            if line.by_agent:
                heard = hear(line.text)
                self._done |= _reported(heard) & self._agreed
                self._proposed = _matters(line.text) if heard.asks_yes or heard.offers else _NONE
            elif agrees(line.text):
                self._agreed |= self._proposed | _matters(line.text)
        self._read = len(self._lines)

    # --- ended too early --------------------------------------------------------------------------

    def too_early(self, end: UserEnd, text: str, never_put: Sequence[str]) -> str | None:
        """Why the customer cannot end like this now; None if they can."""
        if end is UserEnd.HANDED_OVER and not self._somebody_else_spoken_of():
            return "ended as if handed over, but nobody else was spoken of"
        if end is not UserEnd.GOALS_MET:
            return None
        if missed := next(iter(never_put), None) or next(self._never_raised(text), None):
            return f"ended as if all goals were met, but never asked: {missed!r}"
        if asked := self._left_open(text):
            return f"ended as if all goals were met, with a question open: {asked!r}"
        if told := _tells_to_act(text):
            return f"ended as if all goals were met, and asked for more: {told!r}"
        return None

    def _somebody_else_spoken_of(self) -> bool:
        return any(_HUMAN.search(plain(line.text)) for line in self._lines if line.by_agent)

    def _never_raised(self, last: str) -> Iterator[str]:
        """Requests of which nothing was ever said by either side."""
        texts = [*(line.text for line in self._lines), last]
        talk = plain("\n".join(texts)) if self._goals else ""
        missing = [goal.ask for goal in self._goals if plain(goal.ask) not in talk]
        if not missing:
            return
        words, acts = content_words(talk), frozenset[str]().union(*map(acts_in, texts))
        for ask in missing:
            own = content_words(plain(ask))
            shared = len(own & words) / len(own) if own else 1.0
            if records := _records(ask):
                if shared < _OTHER_RECORD_SHARE and not any(one in talk for one in records):
                    yield ask
            elif shared < _WORD_SHARE and not acts_in(ask) & acts:
                yield ask

    def _left_open(self, text: str) -> str | None:
        """The agent's last question for a yes to something wanted; a no would have closed it."""
        last = self._lines[-1] if self._lines else None
        if last is None or not last.by_agent or declines(text):
            return None
        heard = hear(last.text)
        if heard.reports or not heard.asks_yes or (heard.anything_else and not heard.before_acting):
            return None
        question = next((part for part in sentences(last.text) if _is_open_question(part)), None)
        return question if question and self._wanted(last.text) else None

    def _wanted(self, proposal: str) -> bool:
        """Whether the proposal is what the customer came for, and not done yet, it seems."""
        acts = acts_in(proposal)
        if _records(proposal) <= {record for _, record in self._matters_reported()}:
            acts -= {act for act, _ in self._matters_reported()}
        if not self._goals:
            own = [line.text for line in self._lines if not line.by_agent]
            return bool(acts & frozenset[str]().union(*map(acts_in, own)))
        fits = [(goal, compare(goal, proposal)) for goal in self._goals_and_alternatives()]
        return any(not fit.other_act and (fit.named or acts & acts_in(g.ask)) for g, fit in fits)

    def _matters_reported(self) -> frozenset[Matter]:
        reports = (_reported(hear(line.text)) for line in self._lines if line.by_agent)
        return _NONE.union(*reports)

    def _goals_and_alternatives(self) -> Iterator[Goal]:
        for first in self._goals:
            goal: Goal | None = first
            while goal is not None:
                yield goal
                goal = goal.otherwise


def _matters(text: str) -> frozenset[Matter]:
    """What the text speaks of doing, with which orders and reservations."""
    records = _records(text)
    return frozenset((act, one) for act in acts_in(text) for one in records) if records else _NONE


def _records(text: str) -> frozenset[str]:
    orders = (one.lower() for one in ids(text) if one.startswith("#"))
    return frozenset({*orders, *values("reservation", text.upper())})


def _reported(heard: Heard) -> frozenset[Matter]:
    """What the agent reports as done; beside a refusal, only what the report itself names."""
    if not heard.reports:
        return _NONE
    return _matters("\n".join(heard.reports) if heard.refusals else heard.text)


def _tells_to_act(text: str) -> str | None:
    """Words that ask for something, which nobody will do any more."""
    found = _TELLS_TO_ACT.search(plain(text))
    return found[0] if found else None


def _is_open_question(sentence: str) -> bool:
    said = plain(sentence)
    return asks_to_confirm(sentence) and (said.endswith("?") or _ANSWER_ME.search(said) is not None)
