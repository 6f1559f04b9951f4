"""Compares what an agent proposes with what the customer is ready to accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache

from ..language import amounts, dates, emails, plain, says
from ..task import Goal, Words
from .hearing import acts_in, topic_of

# --- shapes: values that can be told from other values of their kind -----------------------------

SHAPES: dict[str, re.Pattern[str]] = {
    "order": re.compile(r"#[A-Za-z]+\d{3,}"),
    "flight": re.compile(r"\b[A-Z]{3}\d{3}\b"),
    "reservation": re.compile(
        r"\b(?![A-Z]{3}\d{3}\b)(?=\d*[A-Z])(?=[A-Z]*\d)[A-Z\d]{6}\b"  # letters alone are a word
    ),
    "payment": re.compile(r"\b(?:credit_card|gift_card|paypal|debit_card|certificate)_\d{3,}\b"),
    "person": re.compile(r"\b[a-z]+_[a-z]+_\d{3,}\b"),
    "item": re.compile(r"(?<![\w#])\d{10}\b"),
    "zip": re.compile(r"(?<![\w#.,$-])\d{5}(?![\w,]|\.\d)"),
    "street": re.compile(
        r"\b\d{1,5} (?:[A-Z]\w+\.? ){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard"
        r"|Blvd|Court|Ct|Way|Place|Pl|Terrace|Circle|Parkway)\b"
    ),
}
RECORDS = ("order", "reservation")
"""Shapes of the ids of what a customer has with the business."""
CONTRASTS: tuple[tuple[str, ...], ...] = (
    ("paypal", "gift card", "credit card", "debit card"),
    ("no longer needed", "ordered by mistake"),
    ("basic_economy", "economy", "business"),
)
"""Words of which, in one proposal, one rules the others out."""


@lru_cache(maxsize=4096)
def shape_of(value: str) -> str | None:
    """The shape of a whole value, or None for plain words.

    >>> shape_of("#W9911223"), shape_of("$45.20"), shape_of("gift_card_1234567"), shape_of("blue")
    ('order', 'money', 'payment', None)
    """
    bare = value.strip()
    if re.fullmatch(r"-?\$\s?[\d,]+(?:\.\d+)?", bare):
        return "money"
    if emails(bare) == [bare.lower()]:
        return "email"
    if dates(bare) == [bare]:
        return "date"
    return next((shape for shape, pattern in SHAPES.items() if pattern.fullmatch(bare)), None)


def values(shape: str, text: str) -> set[str]:
    """Every value of a shape that the text names, in the form in which values are compared."""
    if shape == "money":
        return {_money(amount) for amount in amounts(text)}
    if shape == "email":
        return set(emails(text))
    if shape == "date":
        return set(dates(text))
    found = SHAPES[shape].findall(text)
    if shape == "person":
        found = [one for one in found if not SHAPES["payment"].fullmatch(one)]
    return {one.lower() for one in found}


def _money(amount: Decimal) -> str:
    return f"{abs(amount):.2f}"


@lru_cache(maxsize=4096)
def _compared(value: str, shape: str) -> str:
    return next(iter(values(shape, value)), value.strip().lower())


# --- what is said beside the point ---------------------------------------------------------------

_STAYS = re.compile(r"\b(?:unchanged|not affected|other items?|stays?|remain|keep)", re.IGNORECASE)
_WAS = re.compile(  # what stands after such a word in its clause is what was, not what is proposed
    r"\b(?:kept|old|from|(?:original|current|previous)(?:ly)?|paid (?:with|by|using|via)"
    r"|instead of|rather than|product|available|balance)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[\n;]|(?<=[.!?])\s|, | to | with | for |→|->|=>| and ")


def _aside(value: str, text: str) -> bool:
    """Whether every mention of the value stands in a clause about what was or stays."""
    mentions = [clause for clause in _clauses(text) if value in clause.lower()]
    return bool(mentions) and all(
        _STAYS.search(clause) or _WAS.search(clause[: clause.lower().index(value)])
        for clause in mentions
    )


def _clauses(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if _STAYS.search(line):
            yield line
        else:
            yield from _CLAUSE.split(line)


# --- the verdict on one goal ---------------------------------------------------------------------


@dataclass(slots=True)
class Fit:
    """How a proposal compares with one goal.

    Attributes:
        named: Topics to check for which it names what is wanted.
        missing: Topics whose values have a shape, so that it ought to name one, and does not.
        wrong: Topics for which it names another value.
        other_act: It is about doing something else.
    """

    named: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    other_act: bool = False

    @property
    def good(self) -> bool:
        """Nothing in the proposal speaks against a yes."""
        return not self.wrong and not self.other_act


def compare(goal: Goal, text: str, harmless: Iterable[str] = ()) -> Fit:
    """Compare a proposal with a goal.

    Args:
        goal: What the customer wants; its ``check`` holds what must not differ.
        text: The agent's words.
        harmless: Texts whose values may be named beside the ones to check: other goals and the
            customer's own facts.

    >>> goal = Goal(ask="Cancel order #W1111111", check={"order id": "#W1111111"})
    >>> compare(goal, "I will cancel order #W1111111. Proceed?").good
    True
    >>> compare(goal, "I will cancel order #W2222222. Proceed?").wrong
    ['order id']
    >>> compare(goal, "I will return the items of order #W1111111. Proceed?").other_act
    True
    """
    beside: list[str] = []
    fit = Fit(other_act=_other_act(goal, text))
    own = _by_shape(goal.check)
    for topic, words in goal.check.items():
        wordings = [words] if isinstance(words, str) else words
        shaped = [wording for wording in wordings if shape_of(wording)]
        verdict = _shaped_verdict(own, shaped, text) if shaped else None
        if verdict is False and shape_of(shaped[0]) == "date":
            verdict = says(text, wordings) or None  # "May 20" beside a date of birth
        if verdict is None:
            verdict = _worded_verdict(wordings, text)
        if verdict is not None:
            (fit.named if verdict else fit.wrong).append(topic)
        elif shaped:
            fit.missing.append(topic)
        if verdict and shaped and _strangers(goal, own, shaped[0], text, harmless):
            beside.append(topic)
    fit.wrong += [] if fit.wrong else beside
    return fit


def _shaped_verdict(own: dict[str, set[str]], shaped: list[str], text: str) -> bool | None:
    """True: an allowed value is named; False: another one instead; None: none at all."""
    shape = shape_of(shaped[0]) or ""
    allowed = {_compared(wording, shape) for wording in shaped if shape_of(wording) == shape}
    found = values(shape, text)
    if found & allowed:
        return True
    return False if found - own[shape] else None


def _by_shape(check: Mapping[str, Words]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for words in check.values():
        for wording in [words] if isinstance(words, str) else words:
            if shape := shape_of(wording):
                found.setdefault(shape, set()).add(_compared(wording, shape))
    return found


def _strangers(
    goal: Goal, own: dict[str, set[str]], value: str, text: str, harmless: Iterable[str]
) -> bool:
    """Whether orders or items are named that neither the customer nor the context accounts for.

    What an item is replaced by or a payment moved from is named beside the value to check as a
    matter of course, so it counts only if the script says which item is given up.
    """
    shape = shape_of(value) or ""
    if shape not in (*RECORDS, "item") or not (others := values(shape, text) - own[shape]):
        return False
    if shape == "item" and "alter" in acts_in(text) and "items" not in map(topic_of, goal.check):
        return False
    known = values(shape, " ".join([goal.ask, *goal.details.values(), *harmless]))
    return any(not _aside(value, text) for value in others - known)


def _spelled(wording: str) -> str:
    """A wording in words: the kind of payment, for the id of one."""
    return _with_cabins(plain(wording).replace("_", " "))


def _with_cabins(text: str) -> str:
    """The text with "basic economy" as one word, so that it does not say "economy"."""
    return text.replace("basic economy", "basic_economy")


def _worded_verdict(wordings: list[str], text: str) -> bool | None:
    """True: one wording is said; False: a word that rules it out; None: neither."""
    said, lines = _with_cabins(plain(text)), _with_cabins(text.lower())
    if says(said, [_with_cabins(plain(wording)) for wording in wordings]):
        return True
    for group in CONTRASTS:
        mine = [word for word in group if any(_has(_spelled(w), word) for w in wordings)]
        if any(_has(said, word) for word in mine):
            return True
        if mine and any(_has(said, word) and not _aside(word, lines) for word in group):
            return False
    return None


def _has(text: str, word: str) -> bool:
    """Whether the word stands in the text, be it in the plural."""
    return re.search(rf"(?<!\w){word}", text) is not None


def _other_act(goal: Goal, text: str) -> bool:
    """Whether the text is about doing something, and about nothing that the goal speaks of."""
    proposed = acts_in(text)
    wanted = acts_in(" ".join([goal.ask, *goal.details, *goal.details.values()]))
    if not proposed:
        return False
    return bool(goal.until_told or wanted) and not (proposed & wanted)


# --- who the customer is -------------------------------------------------------------------------

_CALLED = re.compile(
    r"(?:[Yy]our (?:full )?name is|[Yy]ou(?:'| a)re|(?:speaking|talking) (?:to|with)|[Ii]s this)"
    r"(?: (?:Mr|Ms|Mrs)\.?)? ([A-Z][\w'-]+ [A-Z][\w'-]+)"
)
_YOUR_EMAIL = re.compile(
    r"your e-?mail(?: address)?(?: on file)?(?: is|:|\)? ?\(?)\s*\**([\w.+-]+@[\w.-]+\w)",
    re.IGNORECASE,
)
_YOUR_ZIP = re.compile(r"your zip(?: code)?(?: is|:)\s*\**(\d{5})\b", re.IGNORECASE)


def misnamed(text: str, facts: Mapping[str, str]) -> list[str]:
    """What the agent gets wrong about the customer: ``name``, ``email``, ``zip``.

    >>> misnamed("Am I speaking with Bob Stone?", {"name": "Ana Silva"})
    ['name']
    """
    wrong = []
    for topic, pattern in (("name", _CALLED), ("email", _YOUR_EMAIL), ("zip", _YOUR_ZIP)):
        own = facts.get(topic)
        heard = {found.lower() for found in pattern.findall(text)}
        if own and heard and not any(_same(one, own.lower()) for one in heard):
            wrong.append(topic)
    return wrong


def _same(heard: str, own: str) -> bool:
    return heard == own or bool({*heard.split()} & {*own.split()})
