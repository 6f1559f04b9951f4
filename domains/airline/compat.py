"""The airline tools of tau-bench and tau2-bench as they are, defects included.

The tools of this domain itself do the right thing; these here do what the benchmarks' tools do, to
the last byte, so that what they recorded can be carried out again. Source of their behaviour: both
repositories, tau-bench at a50b6c1 and 59a200c, tau2-bench at 1.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from sqlalchemy import MetaData

from ..compat import (
    Refused,
    calculate,
    tau_bench_tools,
    think,
    transfer_to_human_agents,
)
from ..database import Database
from ..documents import Collection, Document, parsed

TABLES = MetaData()
FLIGHTS = Collection(TABLES, "flights", indexed=("origin", "destination"))
RESERVATIONS = Collection(TABLES, "reservations")
USERS = Collection(TABLES, "users")

NOW: Final = "2024-05-15T15:00:00"
NEW_RESERVATIONS: Final = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES: Final = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
INSURANCE: Final = 30  # dollars a passenger
BAG: Final = 50  # dollars each
AIRPORTS: Final = {
    "SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago",
    "DFW": "Dallas", "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami",
    "BOS": "Boston", "PHX": "Phoenix", "IAH": "Houston", "LAS": "Las Vegas", "MCO": "Orlando",
    "EWR": "Newark", "CLT": "Charlotte", "MSP": "Minneapolis", "DTW": "Detroit",
    "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip

Trip = Literal["one_way", "round_trip"]
Cabin = Literal["basic_economy", "economy", "business"]
YesOrNo = Literal["yes", "no"]
Listed = list[dict[str, Any]]


def flight_on(number: Any, date: Any, db: Database) -> tuple[Document, Document]:
    """A flight and its state on a date; for reading only."""
    text = FLIGHTS.text(db, number)
    if text is None:
        raise Refused(f"flight {number} not found")
    flight = parsed(text)
    if date not in flight["dates"]:
        raise Refused(f"flight {number} not found on date {date}")
    return flight, flight["dates"][date]


def seats_on(number: Any, date: Any, cabin: Any, passengers: int, db: Database) -> Document:
    """A flight as part of an itinerary: its price in a cabin, its origin and destination."""
    flight, state = flight_on(number, date, db)
    if state["status"] != "available":
        raise Refused(f"flight {number} not available on date {date}")
    if state["available_seats"][cabin] < passengers:
        raise Refused(f"not enough seats on flight {number}")
    return {
        "price": state["prices"][cabin],
        "origin": flight["origin"],
        "destination": flight["destination"],
    }


def _next_day(date: Any) -> str:
    """The day after in May 2024, written without a leading zero: a defect of both benchmarks."""
    return f"2024-05-{int(date[-2:]) + 1}"


def connections(
    db: Database, origin: object, destination: object, date: Any
) -> Iterator[tuple[Document, Document, str]]:
    """Pairs of flights that connect, with the second one's date; times compare as text."""
    last_legs = FLIGHTS.where(db, "destination", destination)
    for first in FLIGHTS.where(db, "origin", origin):
        for second in last_legs:
            if first["destination"] != second["origin"]:
                continue
            arrival = first["scheduled_arrival_time_est"]
            second_date = _next_day(date) if "+1" in arrival else date
            if arrival > second["scheduled_departure_time_est"]:
                continue
            if is_available(first, date) and is_available(second, second_date):
                yield first, second, second_date


def is_available(flight: Document, date: Any) -> bool:
    """Whether a flight can be booked on a date."""
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _leg(flight: Document, state: Document) -> Document:
    return {name: value for name, value in flight.items() if name != "dates"} | state


# --- tau-bench ----------------------------------------------------------------------------------


def _itself(collection: Collection, db: Database, key: object, missing: str) -> str:
    text = collection.text(db, key)
    if text is None:
        raise Refused(missing)
    return text


def get_user_details(db: Database, user_id: str) -> str:
    """Look a customer up.

    Args:
        user_id: Such as "sara_doe_496".
    """
    return _itself(USERS, db, user_id, "user not found")


def get_reservation_details(db: Database, reservation_id: str) -> str:
    """Look a reservation up.

    Args:
        reservation_id: Six letters and digits.
    """
    return _itself(RESERVATIONS, db, reservation_id, "user not found")  # their word


def list_all_airports(db: Database) -> dict[str, str]:
    """List the airports by code."""
    return dict(AIRPORTS)


def search_direct_flight(db: Database, origin: str, destination: str, date: str) -> Listed:
    """List flights between two cities that can be booked.

    Args:
        origin: Airport code.
        destination: Airport code.
        date: YYYY-MM-DD.
    """
    return [
        _leg(flight, flight["dates"][date])
        for flight in FLIGHTS.where(db, "origin", origin)
        if flight["destination"] == destination and is_available(flight, date)
    ]


def search_onestop_flight(
    db: Database, origin: str, destination: str, date: str
) -> list[list[dict[str, Any]]]:
    """List pairs of flights between two cities with one stop.

    The second leg shows seats and prices of the first one's date, even if it flies a day later.

    Args:
        origin: Airport code.
        destination: Airport code.
        date: YYYY-MM-DD of the first flight.
    """
    return [
        [
            _leg(first, first["dates"][date]) | {"date": date},
            _leg(second, second["dates"][date]) | {"date": second_date},
        ]
        for first, second, second_date in connections(db, origin, destination, date)
    ]


def book_reservation(
    db: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Trip,
    cabin: Cabin,
    flights: Listed,
    passengers: Listed,
    payment_methods: Listed,
    total_baggages: int,
    nonfree_baggages: int,
    insurance: YesOrNo,
) -> Document:
    """Book flights for a customer. No seat is taken.

    Args:
        user_id: Who books.
        origin: Airport code.
        destination: Airport code.
        flight_type: One way, or there and back.
        cabin: Of all flights.
        flights: Each with flight_number and date.
        passengers: Each with first_name, last_name and dob.
        payment_methods: Each with payment_id and amount.
        total_baggages: Bags in all.
        nonfree_baggages: Bags to be paid for.
        insurance: Whether it is wanted.
    """
    if USERS.text(db, user_id) is None:
        raise Refused("user not found")
    # The last id is given whether it is free or not.
    free = (key for key in NEW_RESERVATIONS[:2] if RESERVATIONS.text(db, key) is None)
    reservation_id = next(free, NEW_RESERVATIONS[2])
    reservation: Document = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": [dict(flight) for flight in flights],
        "passengers": passengers,
        "payment_history": payment_methods,
        "created_at": NOW,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    total: Any = 0
    for flight in reservation["flights"]:
        number, date = flight["flight_number"], flight["date"]
        flight |= seats_on(number, date, cabin, len(passengers), db)
        total += flight["price"] * len(passengers)
    if insurance == "yes":
        total += INSURANCE * len(passengers)
    total += BAG * nonfree_baggages
    with USERS.editing(db, user_id) as user:
        methods = user["payment_methods"]
        for payment in payment_methods:
            check_payment(methods, payment["payment_id"], payment["amount"])
        if (paid := sum(payment["amount"] for payment in payment_methods)) != total:
            raise Refused(
                f"payment amount does not add up, total price is {total}, but paid {paid}"
            )
        pay(methods, payment_methods)
        RESERVATIONS.put(db, reservation_id, reservation)
        user["reservations"].append(reservation_id)
    return reservation


def check_payment(methods: Document, payment_id: Any, amount: Any) -> None:
    """Refuse a payment method that is not the customer's, or does not hold the amount."""
    if payment_id not in methods:
        raise Refused(f"payment method {payment_id} not found")
    method = methods[payment_id]
    if method["source"] in ("gift_card", "certificate") and amount > method["amount"]:
        raise Refused(f"not enough balance in payment method {payment_id}")


def pay(methods: Document, payments: Listed) -> None:
    """Take the money: from a gift card the amount, of a certificate everything."""
    for payment in payments:
        method = methods[payment["payment_id"]]
        if method["source"] == "gift_card":
            method["amount"] -= payment["amount"]
        elif method["source"] == "certificate":
            del methods[payment["payment_id"]]


def cancel_reservation(db: Database, reservation_id: str) -> Document:
    """Cancel a reservation, whatever its state; no balance is restored, no seat freed.

    Args:
        reservation_id: Six letters and digits.
    """
    if RESERVATIONS.text(db, reservation_id) is None:
        raise Refused("reservation not found")
    with RESERVATIONS.editing(db, reservation_id) as reservation:
        refund_all(reservation)
        reservation["status"] = "cancelled"
    return reservation


def refund_all(reservation: Document) -> None:
    """Negate every entry of the payment history, earlier refunds too."""
    history = reservation["payment_history"]
    history.extend(
        {"payment_id": entry["payment_id"], "amount": -entry["amount"]} for entry in list(history)
    )


def update_reservation_flights(
    db: Database, reservation_id: str, cabin: Cabin, flights: Listed, payment_id: str
) -> Document:
    """Change the flights of a reservation. The cabin on record stays what it was.

    Args:
        reservation_id: Six letters and digits.
        cabin: Of all flights.
        flights: All of the new itinerary, each with flight_number and date.
        payment_id: Pays the difference, or gets it.
    """
    if RESERVATIONS.text(db, reservation_id) is None:
        raise Refused("reservation not found")
    with RESERVATIONS.editing(db, reservation_id) as reservation:
        passengers = len(reservation["passengers"])
        itinerary = [dict(flight) for flight in flights]
        total: Any = 0
        for flight in itinerary:
            kept = kept_flight(reservation, flight, cabin)
            if kept is not None:
                flight |= {name: kept[name] for name in ("price", "origin", "destination")}
            else:
                number, date = flight["flight_number"], flight["date"]
                flight |= seats_on(number, date, cabin, passengers, db)
            total += flight["price"] * passengers
        total -= sum(flight["price"] for flight in reservation["flights"]) * passengers
        charge(db, reservation, payment_id, total)
        reservation["flights"] = itinerary
        if total != 0:
            reservation["payment_history"].append({"payment_id": payment_id, "amount": total})
    return reservation


def kept_flight(reservation: Document, flight: Document, cabin: object) -> Document | None:
    """The flight of the old itinerary that a new one repeats; it keeps its price."""
    if cabin != reservation["cabin"]:
        return None
    wanted = flight["flight_number"], flight["date"]
    old = reservation["flights"]
    return next((f for f in old if (f["flight_number"], f["date"]) == wanted), None)


def charge(db: Database, reservation: Document, payment_id: Any, amount: Any) -> None:
    """Take an amount, or give it back, with one payment method; certificates are refused."""
    with USERS.editing(db, reservation["user_id"]) as user:
        methods = user["payment_methods"]
        if payment_id not in methods:
            raise Refused("payment method not found")
        method = methods[payment_id]
        if method["source"] == "certificate":
            raise Refused("certificate cannot be used to update reservation")
        if method["source"] == "gift_card":
            if method["amount"] < amount:
                raise Refused("gift card balance is not enough")
            method["amount"] -= amount


def update_reservation_baggages(
    db: Database,
    reservation_id: str,
    total_baggages: int,
    nonfree_baggages: int,
    payment_id: str,
) -> Document:
    """Change how many bags a reservation has.

    Args:
        reservation_id: Six letters and digits.
        total_baggages: Bags in all.
        nonfree_baggages: Bags to be paid for.
        payment_id: Pays the difference.
    """
    if RESERVATIONS.text(db, reservation_id) is None:
        raise Refused("reservation not found")
    with RESERVATIONS.editing(db, reservation_id) as reservation:
        price = BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
        charge(db, reservation, payment_id, price)
        reservation["total_baggages"] = total_baggages
        reservation["nonfree_baggages"] = nonfree_baggages
        if price != 0:
            reservation["payment_history"].append({"payment_id": payment_id, "amount": price})
    return reservation


def update_reservation_passengers(
    db: Database, reservation_id: str, passengers: Listed
) -> Document:
    """Change who flies, but not how many.

    Args:
        reservation_id: Six letters and digits.
        passengers: Each with first_name, last_name and dob.
    """
    if RESERVATIONS.text(db, reservation_id) is None:
        raise Refused("reservation not found")
    with RESERVATIONS.editing(db, reservation_id) as reservation:
        if len(passengers) != len(reservation["passengers"]):
            raise Refused("number of passengers does not match")
        reservation["passengers"] = passengers
    return reservation


def send_certificate(db: Database, user_id: str, amount: int) -> str:
    """Give a customer a certificate as compensation.

    Args:
        user_id: Who gets it.
        amount: Dollars.
    """
    if USERS.text(db, user_id) is None:
        raise Refused("user not found")
    with USERS.editing(db, user_id) as user:
        methods = user["payment_methods"]
        for payment_id in NEW_CERTIFICATES:
            if payment_id not in methods:
                methods[payment_id] = {"source": "certificate", "amount": amount, "id": payment_id}
                return certificate_sent(payment_id, user_id, amount)
    raise RuntimeError("there a fourth certificate crashes the run")


def certificate_sent(payment_id: str, user_id: str, amount: Any) -> str:
    """What the tool answers."""
    return f"Certificate {payment_id} added to user {user_id} with amount {amount}."


WRITING = (
    book_reservation,
    cancel_reservation,
    send_certificate,
    update_reservation_baggages,
    update_reservation_flights,
    update_reservation_passengers,
)
READING = (
    calculate,
    get_reservation_details,
    get_user_details,
    list_all_airports,
    search_direct_flight,
    search_onestop_flight,
    think,
    transfer_to_human_agents,
)
TOOLS = tau_bench_tools(TABLES, READING, WRITING)
