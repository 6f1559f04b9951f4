"""What an agent of the airline can do.

Names, arguments, results and refusals are those of tau-bench's airline desk and tau2's
get_flight_status, so that what was recorded there can be replayed. Where that desk loses seats,
money or the cabin, this one keeps them:

- Booked seats are taken, and given back by a cancellation or a change.
- A cancellation refunds each payment method what it still paid, gift cards and certificates
  included; it happens once. What was left on a certificate when it paid stays forfeited.
- An itinerary leads from origin to destination (and back) without a gap, and a change keeps both.
- Extra bags are charged by membership and cabin. Bags that are booked keep their price.

Whether a customer may cancel, change basic economy or be compensated is for the policy: these tools
do as the agent says. Every refusal comes before the first write, and money moves in whole cents.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date as calendar_date
from itertools import count, pairwise
from sqlite3 import Row
from typing import Annotated, Any, NamedTuple

from pydantic import Field
from typing_extensions import TypedDict

from ...errors import ToolError
from ..database import Database
from ..tool import tool
from . import queries as q
from .tables import CABINS, Cabin, FlightType, Insurance

JsonDict = dict[str, Any]

MAX_PASSENGERS = 5
MAX_PAYING = {"certificate": 1, "credit_card": 1, "gift_card": 3}
INSURANCE_CENTS = 3000
"""For each passenger."""
BAG_CENTS = 5000
"""For each bag that is not free."""
FREE_BAGS = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 3},
}
"""For each passenger, by membership of the customer who booked."""

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
RESERVATION_ID = re.compile(r"(?![A-Z]{3}\d{3})(?=\d*[A-Z])(?=[A-Z]*\d)[A-Z\d]{6}")
"""Letters and digits, so that no number is taken for a word, an amount or a flight."""

Date = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Bags = Annotated[int, Field(ge=0)]
Dollars = Annotated[float, Field(gt=0, lt=10**9, allow_inf_nan=False)]


class FlightChoice(TypedDict):
    """One flight of an itinerary."""

    flight_number: Annotated[str, Field(description='E.g. "WRN001".')]
    date: Annotated[Date, Field(description="Day of departure, YYYY-MM-DD.")]


class Passenger(TypedDict):
    """Somebody who flies."""

    first_name: str
    last_name: str
    dob: Annotated[Date, Field(description="Date of birth, YYYY-MM-DD.")]


class Payment(TypedDict):
    """What one payment method pays."""

    payment_id: Annotated[str, Field(description='Of the profile, e.g. "credit_card_0000000".')]
    amount: Annotated[Dollars, Field(description="Dollars.")]


Flights = Annotated[list[FlightChoice], Field(min_length=1)]
Passengers = Annotated[list[Passenger], Field(min_length=1)]


# --- looking things up --------------------------------------------------------------------------


@tool()
def get_user_details(db: Database, user_id: str) -> JsonDict:
    """Show a customer's profile: payment methods (amounts in dollars), membership, reservations.

    Args:
        user_id: E.g. "jane_doe_1234".

    Raises:
        ToolError: No such customer.
    """
    customer = _customer(db, user_id)
    wallet = db.rows(q.WALLET, user_id=user_id)
    return {
        "name": {"first_name": customer["first_name"], "last_name": customer["last_name"]},
        "address": {
            line: customer[line]
            for line in ("address1", "address2", "city", "country", "state", "zip")
        },
        "email": customer["email"],
        "dob": customer["dob"],
        "payment_methods": {row["payment_method_id"]: _payment_method(row) for row in wallet},
        "saved_passengers": [dict(row) for row in db.rows(q.SAVED_PASSENGERS_OF, user_id=user_id)],
        "membership": customer["membership"],
        "reservations": [
            row["reservation_id"] for row in db.rows(q.RESERVATIONS_OF, user_id=user_id)
        ],
    }


@tool()
def get_reservation_details(db: Database, reservation_id: str) -> JsonDict:
    """Show a reservation: flights, passengers, payments, bags. Prices are dollars per passenger.

    Args:
        reservation_id: Six letters and digits, e.g. "AB12CD".

    Raises:
        ToolError: No such reservation.
    """
    reservation = _reservation(db, reservation_id)
    details = {
        "reservation_id": reservation_id,
        "user_id": reservation["user_id"],
        "origin": reservation["origin"],
        "destination": reservation["destination"],
        "flight_type": reservation["flight_type"],
        "cabin": reservation["cabin"],
        "flights": [
            {
                "origin": leg["origin"],
                "destination": leg["destination"],
                "flight_number": leg["flight_number"],
                "date": leg["date"],
                "price": _dollars(leg["price_cents"]),
            }
            for leg in db.rows(q.LEGS_OF, reservation_id=reservation_id)
        ],
        "passengers": [
            dict(row) for row in db.rows(q.PASSENGERS_OF, reservation_id=reservation_id)
        ],
        "payment_history": [
            {"payment_id": row["payment_method_id"], "amount": _dollars(row["amount_cents"])}
            for row in db.rows(q.PAYMENTS_OF, reservation_id=reservation_id)
        ],
        "created_at": reservation["created_at"],
        "total_baggages": reservation["total_baggages"],
        "nonfree_baggages": reservation["nonfree_baggages"],
        "insurance": reservation["insurance"],
    }
    if reservation["status"] != "active":
        details["status"] = reservation["status"]
    return details


@tool()
def list_all_airports(db: Database) -> dict[str, str]:
    """List the airports the airline flies to: IATA code and city."""
    return {row["code"]: row["city"] for row in db.rows(q.AIRPORT_CITIES)}


@tool()
def get_flight_status(db: Database, flight_number: str, date: Date) -> str:
    """Tell how a flight stands on a day.

    One of: available (can be booked), on time or delayed (leaves today), flying, landed, cancelled.

    Args:
        flight_number: E.g. "WRN001".
        date: Day of departure, YYYY-MM-DD.

    Raises:
        ToolError: No such flight, or it does not fly on that day.
    """
    return str(_flight_on(db, flight_number, date)["status"])


@tool()
def search_direct_flight(db: Database, origin: str, destination: str, date: Date) -> list[JsonDict]:
    """List the flights between two airports that can be booked for a day, with seats and prices.

    Args:
        origin: IATA code, e.g. "JFK".
        destination: IATA code, e.g. "LAX".
        date: Day of departure, YYYY-MM-DD.
    """
    found = db.rows(q.DIRECT, origin=origin, destination=destination, date=date)
    return [_offer(row) for row in found]


@tool()
def search_onestop_flight(
    db: Database, origin: str, destination: str, date: Date
) -> list[list[JsonDict]]:
    """List the pairs of flights that lead from one airport to another with one change of planes.

    The second flight leaves on the day the first one lands.

    Args:
        origin: IATA code, e.g. "JFK".
        destination: IATA code, e.g. "LAX".
        date: Day of the first departure, YYYY-MM-DD.
    """
    found = db.rows(q.ONE_STOP, origin=origin, destination=destination, date=date)
    middle = len(q.OFFER)
    return [
        [_offer(leg) | {"date": leg[_OFFERED_DATE]} for leg in (pair[:middle], pair[middle:])]
        for pair in found
    ]


# --- booking and cancelling ---------------------------------------------------------------------


@tool(writes=True)
def book_reservation(
    db: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: FlightType,
    cabin: Cabin,
    flights: Flights,
    passengers: Passengers,
    payment_methods: list[Payment],
    total_baggages: Bags,
    nonfree_baggages: Bags,
    insurance: Insurance,
) -> JsonDict:
    """Book flights for a customer and charge their payment methods.

    List the details and get the customer's explicit yes first.

    Args:
        user_id: Who books and pays, e.g. "jane_doe_1234".
        origin: IATA code, e.g. "JFK".
        destination: IATA code, e.g. "LAX".
        flight_type: One way, or there and back.
        cabin: The same for all flights and passengers.
        flights: The whole itinerary in travel order, the way back included.
        passengers: Everybody who flies.
        payment_methods: Who pays how much; together exactly the total price. A certificate is used
            up, whatever it pays.
        total_baggages: All checked bags of all passengers.
        nonfree_baggages: Those of them that cost $50 each.
        insurance: Whether every passenger is insured for $30.

    Raises:
        ToolError: No such customer, flight, seat or payment method, an itinerary with a gap, too
            many passengers, a wrong number of bags that cost, or payments that do not add up.
    """
    customer = _customer(db, user_id)
    if len(passengers) > MAX_PASSENGERS:
        raise ToolError(f"at most {MAX_PASSENGERS} passengers can fly, not {len(passengers)}")
    legs = [_new_leg(db, flight, cabin, len(passengers)) for flight in flights]
    _check_route(legs, origin, destination, flight_type)
    allowance = FREE_BAGS[customer["membership"]][cabin] * len(passengers)
    _check_nonfree(nonfree_baggages, max(0, total_baggages - allowance))
    charges = _charges(db, user_id, payment_methods)
    total = sum(leg.price_cents for leg in legs) * len(passengers)
    total += INSURANCE_CENTS * len(passengers) * (insurance == "yes")
    total += BAG_CENTS * nonfree_baggages
    paid = sum(charge.cents for charge in charges)
    if paid != total:
        raise ToolError(
            f"payment amount does not add up, total price is {_dollars(total)}, "
            f"but paid {_dollars(paid)}"
        )
    reservation_id = _new_reservation_id(db, user_id, origin, destination, legs[0].date)
    db.write(
        q.ADD_RESERVATION,
        reservation_id=reservation_id,
        user_id=user_id,
        origin=origin,
        destination=destination,
        flight_type=flight_type,
        cabin=cabin,
        created_at=db.world.now.isoformat(),
        total_baggages=total_baggages,
        nonfree_baggages=nonfree_baggages,
        insurance=insurance,
    )
    _add_legs(db, reservation_id, legs)
    _add_passengers(db, reservation_id, passengers)
    _take_seats(db, legs, cabin, len(passengers))
    for charge in charges:
        _move_money(db, reservation_id, charge.payment_method_id, charge.cents)
        if charge.source == "certificate":
            db.write(q.USE_UP, method=charge.payment_method_id)
    return get_reservation_details(db, reservation_id)


@tool(writes=True)
def cancel_reservation(db: Database, reservation_id: str) -> JsonDict:
    """Cancel a whole reservation, and refund what was paid for it to where it came from.

    List the details and get the customer's explicit yes first.

    Args:
        reservation_id: Six letters and digits, e.g. "AB12CD".

    Raises:
        ToolError: No such reservation, or cancelled before.
    """
    reservation = _active(db, reservation_id)
    for payment_method_id, cents in _refunds_due(db, reservation_id):
        _move_money(db, reservation_id, payment_method_id, -cents)
    _take_seats(db, _legs(db, reservation_id), reservation["cabin"], -_heads(db, reservation_id))
    db.write(q.CANCEL, reservation=reservation_id)
    return get_reservation_details(db, reservation_id)


# --- changing -----------------------------------------------------------------------------------


@tool(writes=True)
def update_reservation_flights(
    db: Database, reservation_id: str, cabin: Cabin, flights: Flights, payment_id: str
) -> JsonDict:
    """Change the flights of a reservation, its cabin, or both, and charge or refund the difference.

    A flight that stays in the same cabin keeps its price; every other costs what it costs today.
    List the details and get the customer's explicit yes first.

    Args:
        reservation_id: Six letters and digits, e.g. "AB12CD".
        cabin: Of all flights from now on; the present one if it stays.
        flights: The whole new itinerary in travel order, flights that stay included.
        payment_id: Pays or receives the difference, e.g. "gift_card_0000000".

    Raises:
        ToolError: No such reservation, flight, seat or payment method, cancelled, an itinerary with
            a gap or between other airports, a flight left out that was flown, or a gift card that
            holds too little.
    """
    reservation = _active(db, reservation_id)
    old, heads = _legs(db, reservation_id), _heads(db, reservation_id)
    kept = {leg.key: leg for leg in old} if cabin == reservation["cabin"] else {}
    new = [
        kept.get((flight["flight_number"], flight["date"])) or _new_leg(db, flight, cabin, heads)
        for flight in flights
    ]
    _check_route(new, reservation["origin"], reservation["destination"], reservation["flight_type"])
    remain = {leg.key for leg in new}
    for leg in old:
        if leg.status in ("flying", "landed") and leg.key not in remain:
            raise ToolError(f"flight {leg.flight_number} on date {leg.date} has left and must stay")
    difference = sum(leg.price_cents for leg in new) - sum(leg.price_cents for leg in old)
    method = _chargeable(db, reservation["user_id"], payment_id, difference * heads)
    _take_seats(db, old, reservation["cabin"], -heads)
    _take_seats(db, new, cabin, heads)
    db.write(q.REMOVE_LEGS, reservation_id=reservation_id)
    _add_legs(db, reservation_id, new)
    db.write(q.SET_CABIN, reservation=reservation_id, to_cabin=cabin)
    _move_money(db, reservation_id, method, difference * heads)
    return get_reservation_details(db, reservation_id)


@tool(writes=True)
def update_reservation_baggages(
    db: Database,
    reservation_id: str,
    total_baggages: Bags,
    nonfree_baggages: Bags,
    payment_id: str,
) -> JsonDict:
    """Add checked bags to a reservation and charge those that are not free.

    List the details and get the customer's explicit yes first.

    Args:
        reservation_id: Six letters and digits, e.g. "AB12CD".
        total_baggages: All checked bags of all passengers, those booked before included.
        nonfree_baggages: Those of them that cost $50 each, those paid before included.
        payment_id: Pays for them, e.g. "gift_card_0000000".

    Raises:
        ToolError: No such reservation or payment method, cancelled, fewer bags than before, a wrong
            number of bags that cost, or a gift card that holds too little.
    """
    reservation = _active(db, reservation_id)
    added = total_baggages - reservation["total_baggages"]
    if added < 0:
        raise ToolError(
            f"bags can only be added, {reservation['total_baggages']} are booked already"
        )
    membership = _customer(db, reservation["user_id"])["membership"]
    allowance = FREE_BAGS[membership][reservation["cabin"]] * _heads(db, reservation_id)
    free_before = reservation["total_baggages"] - reservation["nonfree_baggages"]
    charged = max(0, added - max(0, allowance - free_before))
    _check_nonfree(nonfree_baggages, reservation["nonfree_baggages"] + charged)
    method = _chargeable(db, reservation["user_id"], payment_id, BAG_CENTS * charged)
    db.write(
        q.SET_BAGGAGE, reservation=reservation_id, total=total_baggages, nonfree=nonfree_baggages
    )
    _move_money(db, reservation_id, method, BAG_CENTS * charged)
    return get_reservation_details(db, reservation_id)


@tool(writes=True)
def update_reservation_passengers(
    db: Database, reservation_id: str, passengers: Passengers
) -> JsonDict:
    """Correct or replace the passengers of a reservation; their number stays.

    List the details and get the customer's explicit yes first.

    Args:
        reservation_id: Six letters and digits, e.g. "AB12CD".
        passengers: Everybody who flies, those who stay included.

    Raises:
        ToolError: No such reservation, cancelled, or another number of passengers.
    """
    _active(db, reservation_id)
    if len(passengers) != _heads(db, reservation_id):
        raise ToolError("number of passengers does not match")
    db.write(q.REMOVE_PASSENGERS, reservation_id=reservation_id)
    _add_passengers(db, reservation_id, passengers)
    return get_reservation_details(db, reservation_id)


@tool(writes=True)
def send_certificate(db: Database, user_id: str, amount: Dollars) -> str:
    """Give a customer a certificate that can pay for a later booking.

    Args:
        user_id: E.g. "jane_doe_1234".
        amount: Dollars.

    Raises:
        ToolError: No such customer, or fractions of a cent.
    """
    _customer(db, user_id)
    cents = _cents(amount)
    payment_method_id = _new_certificate_id(db, user_id, cents)
    db.write(
        q.ADD_CERTIFICATE, payment_method_id=payment_method_id, user_id=user_id, amount_cents=cents
    )
    return f"Certificate {payment_method_id} added to user {user_id} with amount {_dollars(cents)}."


# --- what the checks share ----------------------------------------------------------------------


def _customer(db: Database, user_id: str) -> Row:
    customer = db.row(q.CUSTOMER, user_id=user_id)
    if customer is None:
        raise ToolError("user not found")
    return customer


def _reservation(db: Database, reservation_id: str) -> Row:
    reservation = db.row(q.RESERVATION, reservation_id=reservation_id)
    if reservation is None:
        raise ToolError("reservation not found")
    return reservation


def _active(db: Database, reservation_id: str) -> Row:
    reservation = _reservation(db, reservation_id)
    if reservation["status"] == "cancelled":
        raise ToolError("reservation is already cancelled")
    return reservation


def _heads(db: Database, reservation_id: str) -> int:
    """How many passengers a reservation has."""
    return len(db.rows(q.PASSENGERS_OF, reservation_id=reservation_id))


def _check_nonfree(given: int, right: int) -> None:
    if given != right:
        raise ToolError(f"number of nonfree bags should be {right}, not {given}")


def _flight_on(db: Database, flight_number: str, date: str) -> Row:
    flight = db.row(q.FLIGHT_ON, flight_number=flight_number, date=date)
    if flight is None:
        raise ToolError(f"flight {flight_number} not found")
    if flight["status"] is None:
        raise ToolError(f"flight {flight_number} not found on date {date}")
    return flight


# --- itineraries --------------------------------------------------------------------------------


class _Leg(NamedTuple):
    """One flight of an itinerary, at the price that was or is to be agreed."""

    flight_number: str
    date: str
    price_cents: int
    origin: str
    destination: str
    departs: str
    arrives: str
    arrival_days: int
    status: str

    @property
    def key(self) -> tuple[str, str]:
        return self.flight_number, self.date

    def leaves_before_landing_of(self, other: _Leg) -> bool:
        """Whether nobody who flies the other leg can reach this one; by schedule."""
        days = (
            calendar_date.fromisoformat(self.date) - calendar_date.fromisoformat(other.date)
        ).days
        return (days, self.departs) < (other.arrival_days, other.arrives)


def _leg(row: Row, price_cents: int) -> _Leg:
    named = {name: row[name] for name in _Leg._fields if name != "price_cents"}
    return _Leg(price_cents=price_cents, **named)


def _legs(db: Database, reservation_id: str) -> list[_Leg]:
    rows = db.rows(q.LEGS_OF, reservation_id=reservation_id)
    return [_leg(row, row["price_cents"]) for row in rows]


def _new_leg(db: Database, choice: FlightChoice, cabin: Cabin, heads: int) -> _Leg:
    """A flight as it can be booked today."""
    number, date = choice["flight_number"], choice["date"]
    flight = _flight_on(db, number, date)
    if flight["status"] != "available":
        raise ToolError(f"flight {number} not available on date {date}")
    if flight[f"{cabin}_seats"] < heads:
        raise ToolError(f"not enough seats on flight {number}")
    return _leg(flight, flight[f"{cabin}_cents"])


def _check_route(
    legs: Sequence[_Leg], origin: str, destination: str, flight_type: FlightType
) -> None:
    """The legs lead from origin to destination, and back on a round trip, without a gap."""
    if origin == destination:
        raise ToolError("origin and destination must be different")
    for before, after in pairwise(legs):
        if after.origin != before.destination:
            raise ToolError(
                f"flight {after.flight_number} leaves from {after.origin}, "
                f"not from {before.destination}, where flight {before.flight_number} lands"
            )
        if after.leaves_before_landing_of(before):
            raise ToolError(
                f"flight {after.flight_number} on date {after.date} leaves before "
                f"flight {before.flight_number} lands"
            )
    ends = (legs[0].origin, legs[-1].destination)
    if flight_type == "one_way" and ends != (origin, destination):
        raise ToolError(f"flights lead from {ends[0]} to {ends[1]}, not {origin} to {destination}")
    turns = any(leg.destination == destination for leg in legs[:-1])
    if flight_type == "round_trip" and (ends != (origin, origin) or not turns):
        raise ToolError(f"flights do not lead from {origin} to {destination} and back")


def _add_legs(db: Database, reservation_id: str, legs: Iterable[_Leg]) -> None:
    for number, leg in enumerate(legs):
        db.write(
            q.ADD_LEG,
            reservation_id=reservation_id,
            leg=number,
            flight_number=leg.flight_number,
            date=leg.date,
            price_cents=leg.price_cents,
        )


def _add_passengers(db: Database, reservation_id: str, passengers: Iterable[Passenger]) -> None:
    for number, passenger in enumerate(passengers):
        db.write(q.ADD_PASSENGER, reservation_id=reservation_id, number=number, **passenger)


def _take_seats(db: Database, legs: Iterable[_Leg], cabin: Cabin, heads: int) -> None:
    for leg in legs:
        db.write(q.TAKE_SEATS[cabin], number=leg.flight_number, day=leg.date, taken=heads)


# --- money --------------------------------------------------------------------------------------


def _dollars(cents: int) -> float:
    """Whole dollars as a whole number, since that is how the airline's prices read."""
    return cents / 100 if cents % 100 else cents // 100


def _cents(dollars: float) -> int:
    cents = round(dollars * 100)
    if abs(cents - dollars * 100) > 0.001:
        raise ToolError(f"amounts have no fractions of a cent, not {dollars!r}")
    return cents


class _Charge(NamedTuple):
    """What one payment method is to pay."""

    payment_method_id: str
    source: str
    cents: int


def _charges(db: Database, user_id: str, payments: Iterable[Payment]) -> list[_Charge]:
    """The payments of a booking, each from another method of the customer that can bear it."""
    wallet = {row["payment_method_id"]: row for row in db.rows(q.WALLET, user_id=user_id)}
    charges: list[_Charge] = []
    for payment in payments:
        method_id, cents = payment["payment_id"], _cents(payment["amount"])
        if method_id not in wallet:
            raise ToolError(f"payment method {method_id} not found")
        if method_id in {charge.payment_method_id for charge in charges}:
            raise ToolError(f"payment method {method_id} is listed twice")
        method = wallet[method_id]
        if not _covers(method, cents):
            raise ToolError(f"not enough balance in payment method {method_id}")
        charges.append(_Charge(method_id, method["source"], cents))
    used = Counter(charge.source for charge in charges)
    for source, most in MAX_PAYING.items():
        if used[source] > most:
            raise ToolError(f"at most {most} {source} can pay for a booking, not {used[source]}")
    return charges


def _covers(method: Row, cents: int) -> bool:
    """Whether a payment method can be charged so much; a credit card has no limit."""
    return method["source"] == "credit_card" or int(method["amount_cents"]) >= cents


def _chargeable(db: Database, user_id: str, payment_method_id: str, cents: int) -> str:
    """A payment method of the customer that may pay, or receive, so much for a change."""
    wallet = {row["payment_method_id"]: row for row in db.rows(q.WALLET, user_id=user_id)}
    if payment_method_id not in wallet:
        raise ToolError("payment method not found")
    if wallet[payment_method_id]["source"] == "certificate":
        raise ToolError("certificate cannot be used to update reservation")
    if not _covers(wallet[payment_method_id], cents):
        raise ToolError("gift card balance is not enough")
    return payment_method_id


def _refunds_due(db: Database, reservation_id: str) -> Iterator[tuple[str, int]]:
    """What each payment method has still paid, in cents, and together never more than is paid."""
    balances = db.rows(q.PAID_BY_METHOD, reservation_id=reservation_id)
    owed = sum(row["cents"] for row in balances)
    for row in balances:
        cents = min(row["cents"], owed)
        if cents > 0:
            owed -= cents
            yield row["payment_method_id"], cents


def _move_money(db: Database, reservation_id: str, payment_method_id: str, cents: int) -> None:
    """Charge a payment method for a reservation, or refund it when cents is negative."""
    if cents == 0:
        return
    number = db.rows(q.NEXT_PAYMENT, reservation_id=reservation_id)[0]["number"]
    db.write(
        q.ADD_PAYMENT,
        reservation_id=reservation_id,
        number=number,
        payment_method_id=payment_method_id,
        amount_cents=cents,
    )
    db.write(q.CHARGE, method=payment_method_id, cents=cents)


# --- new ids ------------------------------------------------------------------------------------
# Made from what they name, so that two agents who do the same things in another order leave the
# same rows. Whatever is taken is followed by the next, without end.


def _digests(*parts: object) -> Iterator[int]:
    """A series of large numbers that depends on these parts alone."""
    for attempt in count():
        text = "\n".join(map(str, (*parts, attempt)))
        yield int.from_bytes(hashlib.sha256(text.encode()).digest())


def _new_reservation_id(db: Database, *trip: str) -> str:
    ids = (
        "".join(_ALPHABET[digest // len(_ALPHABET) ** place % len(_ALPHABET)] for place in range(6))
        for digest in _digests("reservation", *trip)
    )
    telling = filter(RESERVATION_ID.fullmatch, ids)
    return next(id for id in telling if db.row(q.RESERVATION, reservation_id=id) is None)


def _new_certificate_id(db: Database, user_id: str, cents: int) -> str:
    ids = (
        f"certificate_{10**6 + digest % (9 * 10**6)}"
        for digest in _digests("certificate", user_id, cents)
    )
    return next(id for id in ids if db.row(q.PAYMENT_METHOD_ID, id=id) is None)


# --- rows as JSON -------------------------------------------------------------------------------


def _payment_method(row: Row) -> JsonDict:
    details: JsonDict = {"source": row["source"]}
    if row["source"] == "credit_card":
        details |= {"brand": row["brand"], "last_four": row["last_four"]}
    else:
        details["amount"] = _dollars(row["amount_cents"])
    return details | {"id": row["payment_method_id"]}


_OFFERED_DATE = q.OFFER.index("date")


def _offer(values: Sequence[Any]) -> JsonDict:
    """A flight that can be booked, from the columns of `queries.OFFER`."""
    number, origin, destination, departs, arrives, days, _, status, *numbers = values
    seats, cents = numbers[: len(CABINS)], numbers[len(CABINS) :]
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": departs,
        "scheduled_arrival_time_est": f"{arrives}+{days}" if days else arrives,
        "status": status,
        "available_seats": dict(zip(CABINS, seats, strict=True)),
        "prices": dict(zip(CABINS, map(_dollars, cents), strict=True)),
    }
