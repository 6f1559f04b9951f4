"""The goals of a customer, and what has become of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ..language import plain, says
from ..task import Goal, Words
from .hearing import acts_in
from .proposals import RECORDS, values


class Stage(Enum):
    """How far a goal has come."""

    WAITING = "not put yet"
    PUT = "put to the agent"
    AGREED = "the agent's proposal was accepted"
    MET = "done"
    REFUSED = "turned down"
    DROPPED = "given up"


OPEN = (Stage.PUT, Stage.AGREED)
"""The stages of a goal that is put and not settled."""


@dataclass(frozen=True, slots=True)
class Pursuit:
    """One goal on the agenda, and what has become of it."""

    goal: Goal
    stage: Stage = Stage.WAITING
    told: frozenset[int] = frozenset()
    insisted: int = 0
    corrected: int = 0
    repeated: int = 0

    @property
    def answered(self) -> bool:
        """Whether it is a question of which every fact has been told."""
        return bool(self.goal.until_told) and len(self.told) == len(self.goal.until_told)


def inline(value: str) -> str:
    """A value as it reads inside a sentence."""
    first, _, rest = value.strip().rstrip(".!").partition(" ")
    return f"{first.lower() if first in _SMALL else first} {rest}".strip()


_SMALL = frozenset(["A", "An", "Both", "It", "Just", "My", "One", "Only", "Please", "The", "Use"])


def wants_human(goal: Goal) -> bool:
    """Whether the customer agrees to being handed over to a human.

    They do if the request speaks of one, if there is a detail "human", "transfer" or "hand over",
    or if the script says nothing about how the agent could deal with the request: no proposal to
    confirm, no detail, no fact to be told, nothing else to ask for.
    """
    asked = any(word in plain(goal.ask) for word in ("human", "real person", "supervisor"))
    told = any(says(key, ["human", "transfer", "hand over"]) for key in goal.details)
    beyond = not (goal.confirm or goal.details or goal.check or goal.until_told or goal.otherwise)
    return asked or told or beyond


def acts_refused(refusal: str) -> frozenset[str]:
    """What a refusal is about; its own "can't" would hide the verb."""
    return acts_in(refusal.replace("can't", "").replace("cannot", "").replace("not ", ""))


def names_another(goal: Goal, report: str) -> bool:
    """Whether the report names orders or reservations, and none of the goal's."""
    text = " ".join([goal.ask, *checked_words(goal)])
    named, own = (
        {one for shape in RECORDS for one in values(shape, said.upper())}  # reports are plain
        for said in (report, text)
    )
    return bool(named and own and not named & own)


def wordings_of(words: Words) -> list[str]:
    """One wording or several, as a list."""
    return [words] if isinstance(words, str) else words


def checked_words(goal: Goal) -> Iterator[str]:
    """Every wording that the goal checks for."""
    for words in goal.check.values():
        yield from wordings_of(words)
