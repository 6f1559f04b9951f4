"""What a customer can only say if somebody has told them: ids, dates, amounts, names.

A line is searched for what cannot be said by chance, and each find is compared with all that its
speaker has read or heard. What a person works out from that (a sum, the day after, "around $500")
is theirs to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

from ..language import amounts, dates, emails, ids, numbers
from .proposals import values

_LONG_NUMBER = re.compile(r"(?<![\w.,])\d{5,}(?![\w.,]\d|\w)")
_CODE = re.compile(r"(?<![\w#@.-])[A-Z]{2}[A-Z\d-]*+(?![\w@])")
_IS_NUMBERED = re.compile(r"\d\d\d")
_TRAVEL = re.compile(r"\b(?:flights?|reservations?|bookings?)\b", re.IGNORECASE)
_TOLD = re.compile(r"[\d@]")  # all but names has one of these in it
_ROUGHLY = re.compile(  # before an amount: it is a wish or a guess, not a fact
    r"\b(?:around|about|roughly|approximately|nearly|almost|like|least|most|up to|over|under|than"
    r"|within|between|minimum|maximum|budget|limit|compensation|to pay|demand|range|hop(?:ed|ing)"
    r"|expect(?:ed|ing)?|deserve|how about)\b[^.!?$]{0,30}"
    r"\$[\d,.]*(?:\s?(?:-|–|to|and|or)\s?\$?[\d,.]*)?$"
)
_SHARES = re.compile(r"\b(?:each|apiece|per|half|split|for (?:both|all)|total|altogether|in all)\b")
_FEW = 9
"""An amount may be shared among as many as that: travellers, items."""
_AMOUNT = re.compile(r"\$\s?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2})?(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th)?(?![\w:]|[.,]\d)"
_DAYS = re.compile(
    rf"\b({_MONTH}) {_ORDINAL}(?:\s?(?:-|–|to|and|or|through|until|,)\s?{_ORDINAL})?"
    rf"|(?<![\w.,/-]){_ORDINAL}(?: of)? ({_MONTH})(?!\w)"
)
_COUNTS_DAYS = re.compile(
    r"\b(?:days?|weeks?|tomorrow|yesterday|tonight|nights?|earlier|later|next|previous|before"
    r"|after)\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_CENTS = re.compile(r"\d+\.\d\d")


class Known:
    """All that one customer has read or heard; the two sides of a fork never affect each other.

    Args:
        read: What they knew before the conversation.

    Example:
        >>> known = Known("My order #W1111111 of May 20, paid with $45.20")
        >>> line = "Order #W1111111 for $45.21, of 2024-05-20."
        >>> known.stranger(line, known.told(line))
        '45.21'
    """

    def __init__(self, read: str) -> None:
        self._codes_are_ids, self._start = _known_at_the_start(read)
        self._read = read
        self._heard: list[str] = []
        self._learned: set[str] = set()
        self._understood = 0

    def hear(self, text: str) -> None:
        """From now on they know this too. It is looked at when it matters."""
        self._heard.append(text)

    def fork(self) -> Known:
        """The same knowledge, for another customer."""
        twin = object.__new__(Known)
        twin._codes_are_ids, twin._start, twin._read = self._codes_are_ids, self._start, self._read
        twin._heard, twin._learned = self._heard.copy(), self._learned.copy()
        twin._understood = self._understood
        return twin

    def stranger(self, text: str, tokens: Sequence[str]) -> str | None:
        """The first thing in this line that they cannot know; None if there is none.

        Args:
            text: The line.
            tokens: What `told` finds in it.
        """
        for token in tokens:
            if not self.can_tell(token, text):
                return token.removeprefix(_DAY)
        return next(self._strange_names(text), None)

    def can_tell(self, token: str, text: str) -> bool:
        """Whether they know this token of a line, or can work it out."""
        return token in self or self._worked_out(token, text)

    def told(self, text: str) -> list[str]:
        """What this line tells that cannot be said by chance, names aside."""
        return list(_told(text, self._codes_are_ids)) if _TOLD.search(text) else []

    def has_heard(self, token: str) -> bool:
        """Whether a token of `told` was named in the conversation."""
        for text in self._heard[self._understood :]:
            self._learned.update(_learned(text, self._codes_are_ids))
        self._understood = len(self._heard)
        return token in self._learned

    def __contains__(self, token: str) -> bool:
        return token in self._start or self.has_heard(token)

    def _worked_out(self, token: str, text: str) -> bool:
        """Whether an unknown date or amount follows from known ones, or is a wish."""
        if token.startswith(_DAY):
            return self._is_near(token[-5:], text)
        if _ISO.fullmatch(token):
            return _IN_WORDS + token[5:] in self or self._is_near(token, text)
        if _CENTS.fullmatch(token):
            amount = Decimal(token)
            return (
                _is_rough(token, text)
                or self._sums_up(amount)
                or (_SHARES.search(text.lower()) is not None and self._is_share(amount))
            )
        return False

    def _is_near(self, day: str, text: str) -> bool:
        """Whether a day is close to a known one, where the line or the script counts days."""
        days = 7 if _COUNTS_DAYS.search(text) else 2 if _COUNTS_DAYS.search(self._read) else 0
        reach = timedelta(days=days)
        asked = _date(day)
        known = _known_days(self._all(), with_year=len(day) > 5)
        return asked is not None and any(abs(asked - one) <= reach for one in known)

    def _sums_up(self, amount: Decimal) -> bool:
        """Whether it is a known number without its cents, or the sum or difference of two."""
        known = {Decimal(one) for one in self._all() if _CENTS.fullmatch(one)}
        if amount == int(amount) and any(abs(amount - one) < 1 for one in known):
            return True
        return any(amount - one in known or amount + one in known for one in known)

    def _is_share(self, amount: Decimal) -> bool:
        """Whether it is a known amount shared among a few, or as often as that."""
        known = {Decimal(one) for one in self._all() if _CENTS.fullmatch(one)}
        near = Decimal(1) if amount == int(amount) else Decimal("0.01")
        return amount >= 1 and any(
            abs(amount * few - one) < near * few or amount == one * few
            for one in known
            for few in range(2, _FEW + 1)
        )

    def _all(self) -> Iterable[str]:
        yield from self._start
        yield from self._learned

    def _strange_names(self, text: str) -> Iterator[str]:
        if not _CAPITALISED.search(text):  # most lines, and this is quick to see
            return
        for found in _INTRODUCED.finditer(text):
            introduced = next(group for group in found.groups() if group)
            names = re.findall(r"[A-Z][a-z]+", introduced)
            if not _NO_NAMES.intersection(names):
                yield from (name for name in names if not self._has_word(name))
        for found in _OWNED.finditer(text):
            if not any(self._has_word(word) for word in found.groups()):
                yield " ".join(found.groups())

    def _has_word(self, name: str) -> bool:
        pattern = re.compile(rf"(?<![a-z]){re.escape(name.lower())}(?![a-z])")
        return any(pattern.search(text.lower()) for text in (self._read, *self._heard))


@lru_cache(maxsize=1024)
def _known_at_the_start(text: str) -> tuple[bool, frozenset[str]]:
    """Whether somebody has reservation numbers, and all they can name: the same in all trials."""
    has_reservations = bool(values("reservation", text) or _TRAVEL.search(text))
    return has_reservations, frozenset(_learned(text, has_reservations))


def _learned(text: str, codes_are_ids: bool) -> Iterator[str]:
    """All that may be named by somebody who knows this text."""
    if not _TOLD.search(text):
        return
    yield from _told(text, codes_are_ids)
    yield from re.findall(r"\d{5,}", text)
    yield from map(_amount, numbers(text))
    for day in dates(text):
        yield _DAY + day[5:]
    for found in _DAYS.finditer(text):
        yield from (_IN_WORDS + day for day in _days(found, between=True))
        yield from (_DAY + day for day in _days(found, between=True))


def _told(text: str, codes_are_ids: bool) -> Iterator[str]:
    """What cannot be said by chance: ids, e-mails, dates, amounts of money, long numbers."""
    for token in (*ids(text), *emails(text), *dates(text)):
        yield token.lower()
        yield from re.findall(r"\d{5,}", token)
    yield from map(_amount, amounts(text))
    yield from _LONG_NUMBER.findall(text)
    for code in _CODE.findall(text):  # HAT123, XR-4711
        if _IS_NUMBERED.search(code):
            yield code.strip("-").lower()
    if codes_are_ids:  # elsewhere, "1000ML" is a size
        yield from values("reservation", text)
    for found in _DAYS.finditer(text):
        yield from (_DAY + day for day in _days(found, between=False))


def _amount(number: Decimal) -> str:
    return f"{abs(number):.2f}"


def _is_rough(token: str, text: str) -> bool:
    """Whether each mention of the amount is one of about, of a limit or of a wish, or of "$28k"."""
    mentions = [m for m in _AMOUNT.finditer(text) if token in map(_amount, amounts(m[0]))]
    return all(
        _ROUGHLY.search(text[max(0, m.start() - 60) : m.end()].lower())
        or text[m.end() : m.end() + 1].lower() == "k"
        for m in mentions
    )


# --- days ----------------------------------------------------------------------------------------

_DAY, _IN_WORDS = "day ", "in words "


def _days(found: re.Match[str], *, between: bool) -> Iterator[str]:
    """The days that a match of `_DAYS` names, as month and day; also those between the two."""
    month_first, first, last, only, month_last = found.groups()
    month = _MONTHS.index((month_first or month_last)[:3].lower()) + 1
    start = int(first or only)
    end = int(last) if last and start < int(last) <= 31 else start
    inner = range(start, end + 1) if between else {start, end}
    yield from (f"{month:02}-{day:02}" for day in sorted(inner) if _is_day(month, day))


def _is_day(month: int, day: int) -> bool:
    return _date(f"{month:02}-{day:02}") is not None


def _known_days(known: Iterable[str], *, with_year: bool) -> Iterator[date]:
    """The days among known tokens; those without a year are put into one that has all days."""
    for token in known:
        if _ISO.fullmatch(token) if with_year else token.startswith(_DAY):
            day = _date(token if with_year else token.removeprefix(_DAY))
            if day is not None:
                yield day


def _date(day: str) -> date | None:
    """A day as written in tokens, with its year or without; None if there is none like it."""
    try:
        return date.fromisoformat(day if len(day) > 5 else f"2000-{day}")
    except ValueError:
        return None


# --- names ---------------------------------------------------------------------------------------

_NAME = r"[A-Z][a-z'’]+(?:-[A-Z][a-z]+)?"
_RELATION = (
    "wife|husband|spouse|partner|son|daughter|child|kid|brother|sister|mother|father|mom|mum|dad"
    "|friend|boyfriend|girlfriend|fianc[eé]e?|colleague|coworker|boss|assistant|roommate|neighbou?r"
    "|cousin|uncle|aunt|nephew|niece|grand(?:mother|father|son|daughter)"
)
_CAPITALISED = re.compile(r"[a-z:,-]\s+[A-Z][a-z]")
_INTRODUCED = re.compile(
    rf"\b(?i:my (?:full |first |last |sur)?name(?:'s|’s| is)|name:|(?:first|last) name(?: is|:| -))"
    rf" ({_NAME}(?: {_NAME})?)"
    rf"|\b(?i:i am|i'm|i’m|this is) ({_NAME} {_NAME})"
    rf"|\b(?i:my|his|her|our|their) (?:{_RELATION})(?:'s name is| is called|,? named|,)? ({_NAME}"
    rf"(?: {_NAME})?)"
    rf"|\b(?i:passengers?(?: is| are| named|:)?|under (?:the )?name(?: of)?|on behalf of)"
    rf" ({_NAME} {_NAME})"
)
"""Words that introduce a person, and who it is; other capitalised words may be anything."""
_OWNED = re.compile(
    r"\b[Mm]y (?!(?:New|San|Santa|Los|Las|Saint|North|South|East|West|American|Apple|Google|Visa"
    r"|Master|Amazon)\b)([A-Z][a-z]+) ([A-Z][a-z]+)\b"
)
"""A thing with a name of two words, as makers give them; places and cards aside."""
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "A An And But Gold Silver Regular Platinum Member Sure Thanks Thank Yes No Not The My I It"
        " Can Could Please One Two Three Four Passenger First Last Name Date Also Then If For"
        " Still Just Very So Really Quite Extremely Business Economy Basic Class",
    )
)
"""What stands capitalised where a name would, and is none."""
