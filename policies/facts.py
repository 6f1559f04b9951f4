"""Where the agent has its facts from: every id, amount and date it uses needs a source.

A source is what the customer said before, what a tool answered before, or the policy. Amounts may
also follow from such amounts: see `_Known.explains`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, islice
from typing import Any, Generic, Literal, TypeVar

from ..language import amounts, ids, numbers
from ..transcript import JsonDict, MessageEvent, ToolCallEvent, ToolResultEvent
from .case import Case

Kind = Literal["id", "amount", "date"]
FindIds = Callable[[str], list[str]]

MOST_TERMS = 8
"""How many amounts listed together are tried in all sums; 3^8 sums are cheap, 3^16 are not."""

MOST_AMOUNTS = 100
"""How many unknown amounts of a message are looked into: more is no talk, and takes hours."""

_EXAMPLE = re.compile(  # "your order number, like #W0000000": a shape, not a fact
    r"\b(?:e\.g\.|for example|such as)[^)\]\n]*|\b(?:like|start(?:s|ing) with)[ :'\"“‘(*`]*#?\w+"
)
_PLACEHOLDER = re.compile(r"[^1-9]+")
_ROUGHLY = re.compile(
    r"(?:[~≈]|\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|over|under|below|least"
    r"|most|than|up to) ?)\**[-+]?\$[\d,.]+|\$[\d,]+ ?[-–] ?\$[\d,]+(?!\.?\d)",
    re.IGNORECASE,
)
V = TypeVar("V")
_WORD = re.compile(r"#?\w+")
_JSON_TEXT = re.compile(r'"([^"]*)"')
_JSON_NUMBER = re.compile(r"[ :\[-](\d+(?:\.\d+)?)(?=[,}\]]|$)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_MONTH_NAME = re.compile("|".join(_MONTHS))
_ISO_DAY = re.compile(r"\d{4}-(\d\d)-(\d\d)")
_MONTH_DAY = re.compile(rf"({_MONTH})\.? ([0-3]?\d)(?![\d:$.]\d)")
_DAY_MONTH = re.compile(rf"([0-3]?\d)(?:st|nd|rd|th)? (?:of )?({_MONTH})\b")
_MONTH_IN_SMALL = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*")


@dataclass(frozen=True)
class Unfounded:
    """A fact without a source: where it was used, and whether it was told or put into a call."""

    event: int
    kind: Kind
    value: str
    told: bool


def days(text: str) -> list[str]:
    """Every day of a year as month and day: ISO dates, then English ones with the month's name.

    >>> days("April 2nd, or the 3rd of May; today is 2026-03-16")
    ['03-16', '04-02', '05-03']
    """
    named = []
    if _MONTH_NAME.search(text):  # a cheap look before the careful ones
        named += [(m, d) for m, d in _MONTH_DAY.findall(text)]
        named += [(m, d) for d, m in _DAY_MONTH.findall(text)]
    iso = _ISO_DAY.findall(text) if "-" in text else []
    return [f"{month}-{day}" for month, day in iso] + [
        f"{_MONTHS.index(month[:3]) + 1:02d}-{int(day):02d}" for month, day in named
    ]


def _days_heard(text: str) -> list[str]:
    """The same in a customer's words, who may write "march 3"."""
    return days(text) + days(_MONTH_IN_SMALL.sub(lambda found: found[0].title(), text))


def unfounded(case: Case, ids_in: FindIds = ids) -> list[Unfounded]:
    """Every id, amount and date that the agent told, and every id it called with, from nowhere.

    Each value is reported once, where it first appears.

    Args:
        case: Whose transcript is looked through.
        ids_in: Finds the ids of the domain in a text.
    """
    known = _Known(case.policy, ids_in)
    missing: dict[tuple[Kind, str, bool], Unfounded] = {}
    asked: dict[str, ToolCallEvent] = {}
    for event in case.transcript:
        if isinstance(event, ToolResultEvent):
            known.read(event.content)
            if event.error is None and event.call_id in asked:
                known.ask(asked[event.call_id].arguments)
        elif isinstance(event, MessageEvent) and event.by == "user":
            known.hear(event.content)
        elif isinstance(event, MessageEvent):
            for kind, value in known.not_explained(event.content):
                missing.setdefault(
                    (kind, value, True), Unfounded(event.index, kind, value, told=True)
                )
        elif isinstance(event, ToolCallEvent) and event.by == "agent":
            asked[event.call_id] = event
            for value in _whole_ids(event.arguments, ids_in):
                if not known.has_id(value):
                    missing.setdefault(
                        ("id", value, False), Unfounded(event.index, "id", value, told=False)
                    )
    return list(missing.values())


def _whole_ids(arguments: JsonDict, ids_in: FindIds) -> Iterator[str]:
    """The arguments that are ids as a whole; ids inside longer texts are not looked for."""
    return (value for value in _texts_in(arguments) if ids_in(value) == [value])


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in an argument, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)


def _cents(values: Iterable[Decimal]) -> list[int]:
    return [abs(int(value * 100)) for value in values]


def _cents_in(content: str) -> list[int]:
    return [round(float(number) * 100) for number in _JSON_NUMBER.findall(f" {content}")]


def _words_in(text: str) -> list[str]:
    """Words in lower case: people write ids as they like."""
    return (_JSON_TEXT if text[:1] in ("{", "[") else _WORD).findall(text.lower())


def _lists_in(content: str) -> list[tuple[int, ...]]:
    """The amounts of each JSON list in a tool's answer, at most `MOST_TERMS` of each."""
    lists: list[tuple[int, ...]] = []

    def amounts_in(value: Any) -> list[int]:
        if isinstance(value, (int, float)):
            return [round(abs(value) * 100)]
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, str) or value is None:
            return []
        found = [cents for part in parts for cents in amounts_in(part)]
        if isinstance(value, list) and len(found) > 1:
            lists.append(tuple(found[:MOST_TERMS]))
        return found

    with suppress(ValueError):  # Not every answer is JSON.
        amounts_in(json.loads(content))
    return lists


class _Gathered(Generic[V]):
    """Values of one kind in all texts so far, each text looked through only when somebody asks."""

    def __init__(self, find: Callable[[str], Iterable[V]], known: Iterable[V] = ()) -> None:
        self.find = find
        self.pending: list[str] = []
        self.found: set[V] = set(known)

    @property
    def values(self) -> set[V]:
        """All of them."""
        for text in self.pending:
            self.found.update(self.find(text))
        self.pending.clear()
        return self.found


@lru_cache(maxsize=32)
def _policy_facts(
    policy: str, ids_in: FindIds
) -> tuple[frozenset[str], frozenset[int], frozenset[str]]:
    words = (word.lower() for word in ids_in(policy))
    return frozenset(words), frozenset(_cents(amounts(policy))), frozenset(days(policy))


class _Known:
    """What the agent can know so far: words (ids among them), amounts in cents, days."""

    def __init__(self, policy: str, ids_in: FindIds) -> None:
        words, cents, dates = _policy_facts(policy, ids_in)
        self.ids_in = ids_in
        self.words = _Gathered(_words_in, words)
        self.cents = _Gathered(_cents_in, cents)
        self.days = _Gathered(days, dates)
        self.lists = _Gathered(_lists_in)  # Amounts that a tool listed together.

    def hear(self, text: str) -> None:
        """The customer said this."""
        self.words.pending.append(text)
        self.cents.found.update(_cents(numbers(text)))
        self.days.found.update(_days_heard(text))

    def read(self, content: str) -> None:
        """A tool answered this."""
        for gathered in (self.words, self.cents, self.days, self.lists):
            gathered.pending.append(content)

    def ask(self, arguments: JsonDict) -> None:
        """A tool answered a call with these arguments: what it told is true of these days."""
        for text in _texts_in(arguments):
            self.days.pending.append(text)

    def has_id(self, value: str) -> bool:
        """Whether this id was given, be it without the "#W" of order numbers."""
        low = value.lower()
        same = (low, low.removeprefix("#"), low.lstrip("#w"))
        return not self.words.values.isdisjoint(same)

    def not_explained(self, text: str) -> Iterator[tuple[Kind, str]]:
        """The ids, days and amounts in the agent's words that have no source.

        Examples of what an id looks like and amounts called rough are not facts.
        """
        if any(not self.has_id(value) for value in self.ids_in(text)):
            for value in self.ids_in(_EXAMPLE.sub("", text)):
                if not (self.has_id(value) or _PLACEHOLDER.fullmatch(value)):
                    yield "id", value
        for day in days(text):
            if day not in self.days.values:
                yield "date", day
        told = set(_cents(amounts(text)))
        if not self.cents.values.issuperset(told):
            said = [c for c in _cents(numbers(text)) if c % 100 or c in told]
            certain = dict.fromkeys(_cents(amounts(_ROUGHLY.sub("", text))))
            unknown = (cents for cents in certain if cents not in self.cents.values)
            for cents in islice(unknown, MOST_AMOUNTS):
                if not self.explains(cents, said):
                    yield "amount", f"${cents / 100:.2f}"

    def explains(self, cents: int, said: list[int]) -> bool:
        """Whether an amount follows from known ones, so that it counts as known from here on.

        It does if it is a small multiple of a known amount, the sum or difference of two of them, a
        sum of amounts that a tool listed together (some items of an order), or made by adding and
        subtracting known amounts that the same message says right before or right after it.
        """
        known = self.cents.values
        at = said.index(cents) if cents in said else len(said)
        before, after = said[:at][::-1], said[at + 1 :]
        followed = (
            any(cents % times == 0 and cents // times in known for times in range(2, 10))
            or any(cents - other in known or cents + other in known for other in known)
            or any(cents in _sums(listed) for listed in self.lists.values)
            or follows_from(cents, [other for other in before if other in known])
            or follows_from(cents, [other for other in after if other in known])
        )
        if followed:
            known.add(cents)
        return followed


@lru_cache(maxsize=64)
def _sums(listed: tuple[int, ...]) -> set[int]:
    """Every sum of some of these amounts."""
    return {sum(some) for size in range(2, len(listed) + 1) for some in combinations(listed, size)}


def follows_from(cents: int, told: list[int]) -> bool:
    """Whether an amount is made by adding and subtracting others, at most `MOST_TERMS` of them.

    >>> follows_from(300, [1000, 500, 200]), follows_from(1000, [1000, 500, 200])
    (True, False)
    """
    reached = {0}
    for other in [c for c in dict.fromkeys(told) if c != cents][:MOST_TERMS]:
        reached |= {r + other for r in reached} | {r - other for r in reached}
    return cents != 0 and cents in reached
