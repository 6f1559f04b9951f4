"""What a customer of an airline wants, as far as a few rules can tell from the words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date as calendar_date
from datetime import timedelta
from enum import StrEnum

from ...language import amounts, dates, plain
from ..notes import Json
from .patterns import GOODBYE, any_word


class Wish(StrEnum):
    """What a request is for."""

    HUMAN = "human"
    FORBIDDEN = "forbidden"
    COMPENSATION = "compensation"
    CANCEL = "cancel"
    PASSENGERS = "passengers"
    BAGS = "bags"
    CABIN = "cabin"
    BOOK = "book"
    FLIGHTS = "flights"
    QUESTION = "question"
    GOODBYE = "goodbye"
    UNCLEAR = "unclear"


_WISHES: dict[Wish, re.Pattern[str]] = {
    Wish.HUMAN: any_word(
        "human", "real person", "supervisor", "lawyer", "legal", "complaint", "invoice", "receipt",
        "wheelchair", "pets?", "dog", "cat", "delete",
        "(?:luggage|suitcase|bag) (?:never|was lost)", "lost (?:luggage|suitcase)",
        "miles", "seat number", r"change my (?:e-?mail|name)",
    ),
    Wish.FORBIDDEN: any_word(
        "insure", r"(?:add|take out|remove|cancel) (?:the |an? )?(?:travel )?insurance",
        "(?:add|book) an? (?:second|third|fourth|fifth|additional|another) passenger",
        "bags? (?:less|fewer)", "fewer bags", r"(?:take|remove) .{1,30} out",
    ),
    Wish.COMPENSATION: any_word(r"compensat\w*", "voucher", "make up for"),
    Wish.CANCEL: any_word(r"cancel\b(?!led)", "call off my"),
    Wish.BAGS: any_word(
        r"(?:add|more|extra|another|check)\b.{0,40}\b(?:bags?|suitcases?)", "checked bags?"
    ),
    Wish.PASSENGERS: any_word(
        r"passengers?\b(?=.*\b(?:change|replace|instead|correct))", "date of birth", "misspel\\w+",
        "typing error", r"fly instead of", r"flies instead of", "in my place", "is called",
    ),
    Wish.CABIN: any_word(
        r"upgrade\w*", r"downgrade\w*", "(?:another|different|better) cabin",
        r"in (?:economy|business) instead", r"make .{1,30} (?:economy|business)",
    ),
    Wish.BOOK: any_word(
        r"book\b", r"(?:need|like|love|want) to (?:get|fly|travel) (?:from|to)", "want a seat"
    ),
    Wish.FLIGHTS: any_word(
        r"mov(?:e|ing)", r"chang(?:e|ing)", "put (?:me|us)", "other flight", "fly (?:out )?one day",
        "rebook", "way back", "leave (?:later|earlier)", r"(?:later|earlier) flight", "switch",
    ),
}  # fmt: skip
_QUESTION = re.compile(
    r"(?:^|[.!:,] )(?:what|which|when|where|how|is|are|do|does|did|has|have|will)\b[^?]*\?"
    r"|\b(?:how (?:much|many|long)|what(?:'s| is| was| do| did)|which|when|would it cost|tell me"
    r"|do i have|is there|are there)\b"
)
_ASKS_TO_DO = any_word("please (?:book|cancel|add|move|put|change|upgrade|let)", "i want", "expect")


def wish_in(text: str) -> Wish:
    """What the customer asks for.

    >>> wish_in("Please cancel 8A3XK2"), wish_in("Which of my flights is late?")
    (<Wish.CANCEL: 'cancel'>, <Wish.QUESTION: 'question'>)
    """
    said = plain(text)
    found = [wish for wish, pattern in _WISHES.items() if pattern.search(said)]
    if Wish.HUMAN in found:
        return Wish.HUMAN
    if _QUESTION.search(said) and Wish.COMPENSATION not in found and not _ASKS_TO_DO.search(said):
        return Wish.QUESTION
    if found:
        return found[0]
    return Wish.GOODBYE if GOODBYE.search(said) else Wish.UNCLEAR


# --- details ------------------------------------------------------------------------------------

_NUMBERED = re.compile(r"\b[A-Z\d]{6}\b")
_FLIGHT = re.compile(r"\b[A-Z]{3}\d{3}\b")
_COUNTS = {
    "no": 0, "none": 0, "a": 1, "an": 1, "one": 1, "another": 1, "two": 2, "three": 3, "four": 4,
    "five": 5, "six": 6,
}  # fmt: skip


def reservation_in(text: str, own: Iterable[str]) -> str | None:
    """The customer's reservation that is named last; None if there is none."""
    numbers = _NUMBERED.findall(text)
    return next((number for number in reversed(numbers) if number in set(own)), None)


def strange_reservation_in(text: str, own: Iterable[str]) -> str | None:
    """Something that looks like a reservation number and is not the customer's."""
    known = set(own)
    for number in _NUMBERED.findall(text):
        if number not in known and not number.isdigit() and not _FLIGHT.fullmatch(number):
            return str(number)
    return None


def airports_in(text: str, names: Mapping[str, str]) -> list[str]:
    """Airport codes in the order in which the text names them, by code or city."""
    places: dict[str, int] = {}
    for code, city in names.items():
        for name in (rf"\b{code}\b", rf"\b{re.escape(city)}\b(?! {_codes(names, city, code)})"):
            if found := re.search(name, text):
                places[code] = min(found.start(), places.get(code, len(text)))
    return sorted(places, key=lambda code: places[code])


def _codes(names: Mapping[str, str], city: str, but_not: str) -> str:
    """A pattern for the codes of the other airports of a city."""
    others = [code for code, name in names.items() if name == city and code != but_not]
    return rf"(?:{'|'.join(others) or '!'})\b"


def cabin_in(text: str) -> str | None:
    """The cabin that is named; of several, the one that is wanted.

    >>> cabin_in("in economy instead of basic economy"), cabin_in("hm")
    ('economy', None)
    """
    said = plain(text).partition("instead of")[0]
    found = re.findall(r"\b(basic economy|economy|business)\b", said)
    return found[0].replace(" ", "_") if found else None


def days_in(text: str, today: str, booked: str | None = None) -> list[str]:
    """Days that are named, or told from the day that is booked, as ISO dates."""
    if found := dates(text):
        return found
    said = plain(text)
    if "tomorrow" in said:
        return [_shifted(today, 1)]
    if booked is None:
        return []
    if re.search(r"\b(?:day (?:after|later)|one day later|next day)\b", said):
        return [_shifted(booked, 1)]
    if re.search(r"\b(?:day (?:before|earlier)|one day earlier)\b", said):
        return [_shifted(booked, -1)]
    return [booked] if "same day" in said or "that day" in said else []


def _shifted(day: str, by: int) -> str:
    try:
        return (calendar_date.fromisoformat(day) + timedelta(days=by)).isoformat()
    except (ValueError, OverflowError):
        return day


def bags_in(text: str) -> int | None:
    """How many bags a request speaks of.

    >>> bags_in("Two things: add one more checked bag"), bags_in("Add bags to 8A3XK2")
    (1, None)
    """
    found = re.search(r"(\w+)(?: (?:more|extra|checked|further|additional))* bags?\b", plain(text))
    return count_in(found[1]) if found else None


def count_in(text: str) -> int | None:
    """The first count in an answer.

    >>> count_in("Two bags in all."), count_in("No checked bags"), count_in("Yes")
    (2, 0, None)
    """
    for word in re.findall(r"[a-z]+|\d+", plain(text)):
        if word in _COUNTS:
            return _COUNTS[word]
        if word.isdigit() and len(word) == 1:
            return int(word)
    return None


def most_dollars_in(text: str) -> int | None:
    """The most that the customer will pay, if there is a limit.

    >>> most_dollars_in("only if that is less than 600 dollars more"), most_dollars_in("two")
    (600, None)
    """
    found = re.search(
        r"(?:less than|under|at most|more than|below|up to) \$?(\d+)(?: dollars)?", plain(text)
    )
    limits = [int(amount) for amount in amounts(text)]
    return int(found[1]) if found else next(iter(limits), None)


def legs_meant(reservation: Json, text: str) -> tuple[int, int]:
    """Which flights of a reservation are to be replaced: from this place to before that one."""
    legs, said = reservation["flights"], plain(text)
    goal = reservation["destination"]
    turn = next((n for n, leg in enumerate(legs) if leg["destination"] == goal), len(legs) - 1)
    stays = re.search(r"keep the way back|way back can stay", said)
    if reservation["flight_type"] == "round_trip" and "way back" in said and not stays:
        return turn + 1, len(legs)
    return 0, turn + 1


def chosen_flight(offers: list[Json], text: str, cabin: str, booked: str = "") -> Json | None:
    """The flight that the customer's words single out of those found; None if they do not."""
    said = plain(text)
    fits = [o for o in offers if o["available_seats"].get(cabin, 0) > 0]
    if named := [o for o in fits if o["flight_number"] in text]:
        return named[0]
    if booked and re.search(r"\bsame (?:flight|number)|flight number can stay\b", said):
        return next((o for o in fits if o["flight_number"] == booked), None)
    fits.sort(key=lambda o: str(o["scheduled_departure_time_est"]))
    if "cheapest" in said:
        return min(fits, key=lambda o: float(o["prices"][cabin]), default=None)
    if re.search(r"\b(?:early|earliest|first)\b", said):
        return next(iter(fits), None)
    if re.search(r"\b(?:late|latest|last|evening|night)\b", said):
        return next(reversed(fits), None)
    if re.search(r"\b(?:any|whichever|just pick|don't mind)\b", said) or len(fits) == 1:
        return next(iter(fits), None)
    return None


def methods_in(text: str, wallet: Mapping[str, Json]) -> list[str]:
    """The payment methods that are named, in the order in which they are named."""
    said = plain(text)
    places: dict[str, int] = {}
    for method_id, method in wallet.items():
        for word in (method_id, _digits(method), *_kinds(method)):
            if word in said:
                places[method_id] = min(said.index(word), places.get(method_id, len(said)))
    named = sorted(places, key=lambda method_id: places[method_id])
    exact = [m for m in named if _digits(wallet[m]) in said or m in said]
    if exact:
        kinds = {_kinds(wallet[m]) for m in exact}
        named = [m for m in named if m in exact or _kinds(wallet[m]) not in kinds]
    return named


def _digits(method: Json) -> str:
    return str(method.get("last_four") or "no digits")


def _kinds(method: Json) -> tuple[str, ...]:
    if method.get("source") == "credit_card":
        return (str(method.get("brand")),)
    return (str(method.get("source")).replace("_", " "),)


_HEALTH_OR_WEATHER = any_word(
    "ill", "sick", r"health\w*", r"doctors?", r"hospital\w*", "flu", "surgery", "injured",
    "weather", "storms?", "snow", "hurricane",
)  # fmt: skip


def is_health_or_weather(text: str) -> bool:
    """Whether a reason for a cancellation is one that insurance covers."""
    return _HEALTH_OR_WEATHER.search(plain(text)) is not None


def free_bags(policy: str) -> dict[str, tuple[int, int, int]]:
    """Free bags for each passenger by membership: basic economy, economy, business.

    >>> free_bags("| `gold` | 2 | 3 | 3 |")
    {'gold': (2, 3, 3)}
    """
    rows = re.findall(r"^\| `?(\w+)`? +\| (\d+) +\| (\d+) +\| (\d+) +\|", policy, re.MULTILINE)
    return {tier: (int(basic), int(main), int(best)) for tier, basic, main, best in rows}


# --- people -------------------------------------------------------------------------------------


def includes_me(text: str) -> bool:
    """Whether the customer is among the passengers they name.

    >>> includes_me("Asuka Bishara and me."), includes_me("Only Hadassah Jensen.")
    (True, False)
    """
    return re.search(r"\b(?:i|me|myself|alone)\b", plain(text)) is not None


_NAME = r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?"
_INSTEAD = re.compile(rf"({_NAME})(?:, born [\d-]+,)? (?:instead of|for|in place of) ({_NAME})")


def people_after(people: list[Json], text: str, saved: Iterable[Json]) -> list[Json] | None:
    """The passengers after what the text asks for; None if that is not clear.

    Args:
        people: Who is booked.
        text: The customer's words, with a name instead of another and dates of birth.
        saved: People whom the profile knows.
    """
    born = dates(text)
    for new, old in _INSTEAD.findall(text):
        for place, person in enumerate(people):
            if person["first_name"] == old.split()[0]:
                return [*people[:place], _renamed(person, new, born, saved), *people[place + 1 :]]
    return None


def _renamed(person: Json, name: str, born: list[str], saved: Iterable[Json]) -> Json:
    first, _, last = name.partition(" ")
    for known in saved:
        if known["first_name"] == first and (not last or known["last_name"] == last):
            return dict(known)
    last = last or str(person["last_name"])
    return {"first_name": first, "last_name": last, "dob": born[-1] if born else person["dob"]}
