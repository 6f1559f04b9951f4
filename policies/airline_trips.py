"""Trips: reservations as the rules of the airline read them, and what may be done with them.

Every function here returns the first condition of airline.md that a call does not meet, or None.
What a tool alone can know (an unknown flight, no seat left) is left to the tool.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from math import isfinite
from typing import Any

from ..transcript import JsonDict
from .airline_terms import TERMS
from .case import Call, Case, Row
from .conduct import said_before

HEALTH_OR_WEATHER = re.compile(
    r"\b(?:ill(?:ness)?|sick\w*|health\w*|unwell|fever|flu|covid\w*|medical\w*|doctors?|hospital\w*"
    r"|surgery|injur\w+|pregnan\w+|diagnos\w+|migraines?|broke (?:my|his|her) \w+"
    r"|weather|storms?|hurricanes?|snow\w*|blizzards?|tornado\w*|typhoons?|flood\w*|heat ?wave)\b"
)


@dataclass(frozen=True)
class Leg:
    """One flight on one day, by schedule."""

    number: str
    day: str
    status: str
    origin: str
    destination: str
    departs: str
    arrives: str
    arrival_days: int

    @property
    def key(self) -> tuple[str, str]:
        """What names it."""
        return self.number, self.day

    @property
    def flown(self) -> bool:
        """Whether it has left."""
        return self.status in ("flying", "landed")

    def leaves_before_landing_of(self, other: Leg) -> bool:
        """Whether nobody who flies the other leg can reach this one."""
        days = (date.fromisoformat(self.day) - date.fromisoformat(other.day)).days
        return (days, self.departs) < (other.arrival_days, other.arrives)


@dataclass(frozen=True)
class Trip:
    """A reservation at some time, with its flights in travel order.

    Attributes:
        row: Of the table of reservations.
        heads: How many passengers it has.
        membership: Of the customer who booked it.
    """

    row: Row
    legs: tuple[Leg, ...]
    heads: int
    membership: str

    @property
    def eligible(self) -> bool:
        """Whether its owner can have compensation for it."""
        gold = self.membership in ("silver", "gold")
        return gold or self.row["insurance"] == "yes" or self.row["cabin"] == "business"


def trip_before(case: Case, event: int, reservation_id: str) -> Trip | None:
    """A reservation as it was when this event happened; None if there was none."""
    row = case.row_before(event, "reservations", reservation_id=reservation_id)
    if row is None:
        return None
    flights = case.rows_before(event, "reservation_flights", reservation_id=reservation_id)
    keys = [(each["flight_number"], each["date"]) for each in sorted(flights, key=_by_leg)]
    heads = len(case.rows_before(event, "passengers", reservation_id=reservation_id))
    return Trip(row, tuple(legs_of(case, keys)), heads, membership(case, row["user_id"]))


def _by_leg(row: Row) -> int:
    return int(row["leg"])


def legs_of(case: Case, keys: Iterable[tuple[str, str]]) -> Iterator[Leg]:
    """The flights of these numbers and days; those that do not exist are left out."""
    for number, day in keys:
        flights = case.rows("flights", flight_number=number)
        days = case.rows("flight_dates", flight_number=number, date=day)
        if flights and days:
            where = {name: flights[0][name] for name in ("origin", "destination")}
            when = {name: flights[0][name] for name in ("departs", "arrives", "arrival_days")}
            yield Leg(number, day, days[0]["status"], **where, **when)


def membership(case: Case, user_id: str) -> str:
    """Membership of a customer; regular if nobody has this id."""
    customers = case.rows("customers", user_id=user_id)
    return customers[0]["membership"] if customers else "regular"


def objects(call: Call, argument: str) -> list[JsonDict]:
    """An argument that should be a list of objects; what else is in it is left out."""
    value = call.arguments.get(argument)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number_in(call: Call, argument: str) -> float:
    """An argument that should be a number; 0 if it is none that one can count with."""
    value = call.arguments.get(argument)
    return value if isinstance(value, (int, float)) and isfinite(value) else 0


def wanted_keys(call: Call) -> list[tuple[str, str]]:
    """Number and day of every flight in a call."""
    return [(str(f.get("flight_number")), str(f.get("date"))) for f in objects(call, "flights")]


# --- cancelling -----------------------------------------------------------------------------------


def no_ground_to_cancel(case: Case, call: Call) -> str | None:
    """Flown flights, cancelled before, or none of the four grounds."""
    trip = trip_before(case, call.event, call.text("reservation_id"))
    if trip is None:
        return None
    if trip.row["status"] == "cancelled":
        return "it is cancelled already"
    if flown := [leg for leg in trip.legs if leg.flown]:
        return f"flight {flown[0].number} of {flown[0].day} is flown"
    booked = datetime.fromisoformat(trip.row["created_at"])
    if TERMS.now - booked <= TERMS.free_to_cancel:
        return None
    if any(leg.status == "cancelled" for leg in trip.legs):
        return None
    if (cabin := cabin_at_start(case, trip)) == "business":
        return None
    if trip.row["insurance"] != "yes":
        return f"{cabin}, not insured, booked {trip.row['created_at']}"
    if not HEALTH_OR_WEATHER.search(said_before(case, call.event)):
        return "insured, but the customer named no reason of health or weather"
    return None


def cabin_at_start(case: Case, trip: Trip) -> str:
    """The cabin when the conversation began, which decides what the reservation allows."""
    start = case.row_before(0, "reservations", reservation_id=trip.row["reservation_id"])
    return str((start or trip.row)["cabin"])


# --- flights and cabin ----------------------------------------------------------------------------


def wrong_new_flights(case: Case, call: Call) -> str | None:
    """Basic economy, other ends, a gap, or a flown flight that does not stay."""
    trip = trip_before(case, call.event, call.text("reservation_id"))
    if trip is None:
        return None
    if trip.row["status"] == "cancelled":
        return "the reservation is cancelled"
    keys = wanted_keys(call)
    old = [leg.key for leg in trip.legs]
    if keys == old:
        return None
    if cabin_at_start(case, trip) == "basic_economy":
        return "basic economy flights cannot be changed"
    if lost := [leg for leg in trip.legs if leg.flown and leg.key not in keys]:
        return f"flight {lost[0].number} of {lost[0].day} is flown and must stay"
    legs = list(legs_of(case, keys))
    if len(legs) != len(keys):
        return None
    if late := [leg for leg in legs if leg.key not in old and leg.day <= TERMS.today]:
        return f"flight {late[0].number} of {late[0].day} cannot be booked any more"
    return _gap(legs) or _other_ends(legs, trip)


def _gap(legs: Sequence[Leg]) -> str | None:
    for before, after in pairwise(legs):
        if after.origin != before.destination:
            return f"flight {after.number} does not leave where flight {before.number} lands"
        if after.leaves_before_landing_of(before):
            return f"flight {after.number} leaves before flight {before.number} lands"
    return None


def _other_ends(legs: Sequence[Leg], trip: Trip) -> str | None:
    """Whether the new flights lead elsewhere; the flights decide, not the columns."""
    if not legs or not trip.legs:
        return None
    old, new = _ends(trip.legs), _ends(legs)
    if old != new:
        return f"flights lead from {new[0]} to {new[1]}, not {old[0]} to {old[1]}"
    turns = any(trip.row["destination"] == leg.destination for leg in legs[:-1])
    if trip.row["flight_type"] == "round_trip" and old[0] == old[1] and not turns:
        return f"flights do not lead to {trip.row['destination']}"
    return None


def _ends(legs: Sequence[Leg]) -> tuple[str, str]:
    return legs[0].origin, legs[-1].destination


def wrong_new_cabin(case: Case, call: Call) -> str | None:
    """Another cabin though a flight is flown."""
    trip = trip_before(case, call.event, call.text("reservation_id"))
    if trip is None or call.text("cabin") == trip.row["cabin"]:
        return None
    if flown := [leg for leg in trip.legs if leg.flown]:
        return f"another cabin though flight {flown[0].number} of {flown[0].day} is flown"
    return None


# --- passengers, bags, payment --------------------------------------------------------------------


def wrong_passengers(case: Case, call: Call) -> str | None:
    """More than a booking may have, or another number than was booked."""
    heads = len(objects(call, "passengers"))
    if call.name == "book_reservation":
        most = TERMS.most_passengers
        return f"{heads} passengers, at most {most} can fly" if heads > most else None
    trip = trip_before(case, call.event, call.text("reservation_id"))
    if trip is None or heads == trip.heads:
        return None
    return f"{heads} passengers instead of {trip.heads}"


def wrong_bags(case: Case, call: Call) -> str | None:
    """Bags taken out, or another number of bags to pay for than the membership says."""
    total, given = number_in(call, "total_baggages"), number_in(call, "nonfree_baggages")
    if call.name == "book_reservation":
        tier, heads = membership(case, call.text("user_id")), len(objects(call, "passengers"))
        if call.text("cabin") not in TERMS.free_bags[tier]:
            return None
        right = TERMS.bags_to_pay(tier, call.text("cabin"), heads, int(total))
    else:
        trip = trip_before(case, call.event, call.text("reservation_id"))
        if trip is None:
            return None
        if (before := trip.row["total_baggages"]) > total:
            return f"{total:g} bags, but {before} are booked and bags cannot be taken out"
        right = _bags_to_pay_after(trip, int(total))
    return f"{given:g} bags to pay for, it should be {right}" if given != right else None


def _bags_to_pay_after(trip: Trip, total: int) -> int:
    """Bags that cost something once there are so many; those booked before keep their price."""
    allowed = TERMS.free_bags[trip.membership][trip.row["cabin"]] * trip.heads
    booked, paid = trip.row["total_baggages"], trip.row["nonfree_baggages"]
    free_left = max(0, allowed - (booked - paid))
    return int(paid + max(0, total - booked - free_left))


def wrong_payment(case: Case, call: Call) -> str | None:
    """Somebody else's payment method, too many of a kind, or a certificate for a change."""
    if call.name == "book_reservation":
        used = [str(each.get("payment_id")) for each in objects(call, "payment_methods")]
        owner: Any = call.text("user_id")
    else:
        used = [call.text("payment_id")]
        row = case.row_before(
            call.event, "reservations", reservation_id=call.text("reservation_id")
        )
        owner = row and row["user_id"]
    methods = [_method(case, call, method_id) for method_id in used]
    for method_id, method in zip(used, methods, strict=True):
        if owner and (method is None or method["user_id"] != owner):
            return f"{method_id!r} is not in the profile of {owner!r}"
    kinds = Counter(method["source"] for method in methods if method)
    if call.name != "book_reservation":
        return "a certificate cannot pay for a change" if kinds["certificate"] else None
    for kind, most in TERMS.most_paying.items():
        if kinds[kind] > most:
            return f"{kinds[kind]} {kind}s, at most {most} can pay"
    return None


def _method(case: Case, call: Call, method_id: str) -> Row | None:
    return case.row_before(call.event, "payment_methods", payment_method_id=method_id)
