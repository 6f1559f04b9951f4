"""Plans: what the customer of an airline must have heard before a change is made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..language import numbers, plain
from .airline_compensation import TOOL as SEND_CERTIFICATE
from .airline_compensation import amount_cents
from .airline_trips import Leg, legs_of, number_in, objects, trip_before, wanted_keys
from .case import Call, Case
from .consent import in_cents

_BAGS = re.compile(r"\bbag|luggage|suitcase")
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CABINS: Mapping[str, re.Pattern[str]] = {
    "basic_economy": re.compile(r"basic[_ -]economy"),
    "economy": re.compile(r"(?<!basic )(?<!basic_)(?<!basic-)economy"),
    "business": re.compile(r"business"),
}


def unnamed(case: Case, call: Call, plan: str, settled: str) -> Iterator[str]:
    """What a change does that was not said; payment methods and extras may be settled last."""
    if call.name == SEND_CERTIFICATE and amount_cents(call) not in in_cents(plan):
        yield f"${amount_cents(call) / 100:g}"
    if call.name in ("book_reservation", "update_reservation_flights"):
        yield from _unnamed_flights(case, call, plan)
    if call.name in ("book_reservation", "update_reservation_passengers"):
        yield from _unnamed_passengers(case, call, plan)
    if call.text("insurance") == "yes" and "insur" not in settled:
        yield "insurance"
    if call.name == "update_reservation_baggages" or number_in(call, "total_baggages"):
        yield from _unnamed_bags(case, call, settled)
    if charged(case, call) and call.name != "cancel_reservation":
        for method in methods_of(call):
            if not names_payment(case, call, method, settled):
                yield f"payment method {method!r}"


def _unnamed_flights(case: Case, call: Call, plan: str) -> Iterator[str]:
    """Flights that are new, and the cabin if it is new."""
    trip = trip_before(case, call.event, call.text("reservation_id"))
    old = {leg.key for leg in trip.legs} if trip else set()
    for leg in legs_of(case, wanted_keys(call)):
        if leg.key not in old and not _names_flight(leg, plan):
            yield f"flight {leg.number!r}"
    cabin = call.text("cabin")
    changed = trip is None or trip.row["cabin"] != cabin
    if changed and cabin in _CABINS and not _CABINS[cabin].search(plan):
        yield f"cabin {cabin!r}"


def _names_flight(leg: Leg, text: str) -> bool:
    """Whether a text names a flight, by number or by the time it leaves."""
    hour, minute = int(leg.departs[:2]), leg.departs[3:5]
    half = rf"{(hour + 11) % 12 + 1}{'' if minute != '00' else '(?:'}:{minute}"
    half += f"{'' if minute != '00' else ')?'} ?{'ap'[hour >= 12]}\\.?m"
    times = rf"(?<![\d:])(?:{hour:02d}:{minute}|{hour}:{minute}(?! ?p\.?m)|{half})"
    return leg.number.lower() in text or re.search(times, text) is not None


def _unnamed_passengers(case: Case, call: Call, plan: str) -> Iterator[str]:
    """Passengers who are new."""
    where = {"reservation_id": call.text("reservation_id")}
    old = {
        (p["first_name"], p["last_name"])
        for p in case.rows_before(call.event, "passengers", **where)
    }
    for each in objects(call, "passengers"):
        name = str(each.get("first_name")), str(each.get("last_name"))
        if name not in old and not any(plain(part) in plan for part in name):
            yield f"passenger {' '.join(name)!r}"


def _unnamed_bags(case: Case, call: Call, text: str) -> Iterator[str]:
    """How many bags there are, or are added."""
    total = int(number_in(call, "total_baggages"))
    trip = trip_before(case, call.event, call.text("reservation_id"))
    counts = {total, total - trip.row["total_baggages"] if trip else total}
    words = {word for count in counts for word in _COUNTED[count : count + 1]}
    words |= {"a", "an", "another"} if 1 in counts else set()
    said = bool(counts & set(numbers(text))) or bool(words & set(re.findall(r"\w+", text)))
    if not (_BAGS.search(text) and said):
        yield f"{total} bags"


def methods_of(call: Call) -> list[str]:
    """The payment methods of a call."""
    listed = [str(each.get("payment_id")) for each in objects(call, "payment_methods")]
    return listed or [method for method in (call.text("payment_id"),) if method]


def names_payment(case: Case, call: Call, method_id: str, text: str) -> bool:
    """Whether the text names a payment method: by id, by kind, or as the one that paid."""
    if method_id.lower() in text:
        return True
    method = case.row_before(call.event, "payment_methods", payment_method_id=method_id)
    if method is None:
        return False
    words = {
        "credit_card": ("card ending", "credit card", method["brand"], method["last_four"]),
        "gift_card": ("gift card",),
        "certificate": ("certificate", "voucher"),
    }[method["source"]]
    where = {"reservation_id": call.text("reservation_id"), "payment_method_id": method_id}
    if call.text("reservation_id") and case.rows_before(call.event, "payments", **where):
        words += ("original", "same payment", "same method", "same card", "payment method used")
    return any(word and word in text for word in words)


def chooses(case: Case, call: Call, answer: str) -> bool:
    """Whether the answer itself names something that the call then does."""
    names = [
        str(p.get(part))
        for p in objects(call, "passengers")
        for part in ("first_name", "last_name")
    ]
    cabin = _CABINS.get(call.text("cabin"))
    return (
        any(_names_flight(leg, answer) for leg in legs_of(case, wanted_keys(call)))
        or any(names_payment(case, call, method, answer) for method in methods_of(call))
        or any(plain(name) in answer for name in names)
        or bool(cabin and cabin.search(answer))
    )


def charged(case: Case, call: Call) -> int:
    """Cents that a call charged; negative if it refunded."""
    return sum(
        (change.after or {}).get("amount_cents", 0)
        for change in call.rows
        if change.table == "payments" and change.before is None
    )
