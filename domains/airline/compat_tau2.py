"""The airline tools of tau2-bench where they differ from tau-bench's, defects included.

Source of their behaviour: tau2-bench 1.0.1.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..compat import Refused, calculate, tau2_tools, transfer_to_human_agents
from ..database import Database
from ..documents import Collection, Document
from . import compat as tau_bench
from .compat import (
    AIRPORTS,
    BAG,
    FLIGHTS,
    INSURANCE,
    NEW_CERTIFICATES,
    NEW_RESERVATIONS,
    NOW,
    RESERVATIONS,
    TABLES,
    USERS,
    Cabin,
    Listed,
    Trip,
    YesOrNo,
    flight_on,
    is_available,
    seats_on,
)

# Named as theirs are: their names are part of the answer when an argument does not fit.


class FlightInfo(BaseModel):
    """A flight to be booked."""

    flight_number: str
    date: str


class Passenger(BaseModel):
    """Somebody who flies."""

    first_name: str
    last_name: str
    dob: str


class Payment(BaseModel):
    """A payment, in whole dollars."""

    payment_id: str
    amount: int


def _text_of(collection: Collection, db: Database, key: object, what: str) -> str:
    text = collection.text(db, key)
    if text is None:
        raise Refused(f"{what} {key} not found")
    return text


def get_user_details(db: Database, user_id: str) -> str:
    """Look a customer up.

    Args:
        user_id: Such as "sara_doe_496".
    """
    return _text_of(USERS, db, user_id, "user")


def get_reservation_details(db: Database, reservation_id: str) -> str:
    """Look a reservation up.

    Args:
        reservation_id: Six letters and digits.
    """
    return _text_of(RESERVATIONS, db, reservation_id, "reservation")


def get_flight_status(db: Database, flight_number: str, date: str) -> str:
    """Look up whether a flight is on time, delayed, cancelled ...

    Args:
        flight_number: Such as "HAT001".
        date: YYYY-MM-DD.
    """
    _, state = flight_on(flight_number, date, db)
    return str(state["status"])


def list_all_airports(db: Database) -> list[dict[str, str]]:
    """List the airports with their codes."""
    return [{"iata": code, "city": city} for code, city in AIRPORTS.items()]


def _bookable(flight: Document, state_date: str, shown_date: str | None) -> Document:
    """A flight as the searches show it."""
    state = flight["dates"][state_date]
    return {
        "flight_number": flight["flight_number"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "status": state["status"],
        "scheduled_departure_time_est": flight["scheduled_departure_time_est"],
        "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
        "date": shown_date,
        "available_seats": state["available_seats"],
        "prices": state["prices"],
    }


def search_direct_flight(db: Database, origin: str, destination: str, date: str) -> Listed:
    """List flights between two cities that can be booked. They come without their date.

    Args:
        origin: Airport code.
        destination: Airport code.
        date: YYYY-MM-DD.
    """
    return [
        _bookable(flight, date, None)
        for flight in FLIGHTS.where(db, "origin", origin)
        if flight["destination"] == destination and is_available(flight, date)
    ]


def search_onestop_flight(
    db: Database, origin: str, destination: str, date: str
) -> list[list[dict[str, Any]]]:
    """List pairs of flights between two cities with one stop.

    Args:
        origin: Airport code.
        destination: Airport code.
        date: YYYY-MM-DD of the first flight.
    """
    return [
        [_bookable(first, date, date), _bookable(second, second_date, second_date)]
        for first, second, second_date in tau_bench.connections(db, origin, destination, date)
    ]


def book_reservation(
    db: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Trip,
    cabin: Cabin,
    flights: list[FlightInfo],
    passengers: list[Passenger],
    payment_methods: list[Payment],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: YesOrNo,
) -> Document:
    """Book flights for a customer; the seats are taken.

    Args:
        user_id: Who books.
        origin: Airport code.
        destination: Airport code.
        flight_type: One way, or there and back.
        cabin: Of all flights.
        flights: With their dates.
        passengers: Who flies.
        payment_methods: Who pays how much.
        total_baggages: Bags in all.
        nonfree_baggages: Bags to be paid for.
        insurance: Whether it is wanted.
    """
    wanted = [_checked(FlightInfo, flight) for flight in flights]
    people = [_checked(Passenger, passenger) for passenger in passengers]
    payments = [_checked(Payment, payment) for payment in payment_methods]
    _text_of(USERS, db, user_id, "user")
    reservation_id = _new_id(db)
    reservation: Document = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": [],
        "passengers": people,
        "payment_history": payments,
        "created_at": NOW,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
        "status": None,
    }
    total = 0
    for flight in wanted:
        number, date = flight["flight_number"], flight["date"]
        found = seats_on(number, date, cabin, len(people), db)
        reservation["flights"].append(_segment(number, date, found))
        total += found["price"] * len(people)
    if insurance == "yes":
        total += INSURANCE * len(people)
    total += BAG * nonfree_baggages
    with USERS.editing(db, user_id) as user:
        methods = user["payment_methods"]
        for payment in payments:
            tau_bench.check_payment(methods, payment["payment_id"], payment["amount"])
        if (paid := sum(payment["amount"] for payment in payments)) != total:
            raise Refused(
                f"payment amount does not add up, total price is {total}, but paid {paid}"
            )
        tau_bench.pay(methods, payments)
        for flight in wanted:
            _take_seats(db, flight, cabin, len(people))
        RESERVATIONS.put(db, reservation_id, reservation)
        user["reservations"].append(reservation_id)
    return reservation


def _checked(model: type[BaseModel], given: Any) -> Document:
    """An argument's object, with the model's fields only."""
    return (model(**given) if isinstance(given, dict) else given).model_dump()


def _new_id(db: Database) -> str:
    for reservation_id in NEW_RESERVATIONS:
        if RESERVATIONS.text(db, reservation_id) is None:
            return reservation_id
    raise Refused("too many reservations")


def _segment(number: str, date: str, found: Document) -> Document:
    return {
        "flight_number": number,
        "origin": found["origin"],
        "destination": found["destination"],
        "date": date,
        "price": found["price"],
    }


def _take_seats(db: Database, flight: Document, cabin: str, passengers: int) -> None:
    with FLIGHTS.editing(db, flight["flight_number"]) as stored:
        stored["dates"][flight["date"]]["available_seats"][cabin] -= passengers


def cancel_reservation(db: Database, reservation_id: str) -> Document:
    """Cancel a reservation, whatever its state; no balance is restored, no seat freed.

    Args:
        reservation_id: Six letters and digits.
    """
    _text_of(RESERVATIONS, db, reservation_id, "reservation")
    return tau_bench.cancel_reservation(db, reservation_id)


def update_reservation_flights(
    db: Database, reservation_id: str, cabin: Cabin, flights: list[FlightInfo], payment_id: str
) -> Document:
    """Change the flights and the cabin of a reservation; no seat is taken or freed.

    Args:
        reservation_id: Six letters and digits.
        cabin: Of all flights.
        flights: All of the new itinerary, with their dates.
        payment_id: Pays the difference, or gets it.
    """
    wanted = [_checked(FlightInfo, flight) for flight in flights]
    _text_of(RESERVATIONS, db, reservation_id, "reservation")
    with RESERVATIONS.editing(db, reservation_id) as reservation:
        passengers = len(reservation["passengers"])
        itinerary = []
        for flight in wanted:
            number, date = flight["flight_number"], flight["date"]
            kept = tau_bench.kept_flight(reservation, flight, cabin)
            found = kept or seats_on(number, date, cabin, passengers, db)
            itinerary.append(_segment(number, date, found))
        total = sum(flight["price"] for flight in itinerary) * passengers
        total -= sum(flight["price"] for flight in reservation["flights"]) * passengers
        tau_bench.charge(db, reservation, payment_id, total)
        if total != 0:
            reservation["payment_history"].append({"payment_id": payment_id, "amount": total})
        reservation["flights"] = itinerary
        reservation["cabin"] = cabin
    return reservation


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
    _text_of(RESERVATIONS, db, reservation_id, "reservation")
    return tau_bench.update_reservation_baggages(
        db, reservation_id, total_baggages, nonfree_baggages, payment_id
    )


def update_reservation_passengers(
    db: Database, reservation_id: str, passengers: list[Passenger]
) -> Document:
    """Change who flies, but not how many.

    Args:
        reservation_id: Six letters and digits.
        passengers: Who flies.
    """
    people = [_checked(Passenger, passenger) for passenger in passengers]
    _text_of(RESERVATIONS, db, reservation_id, "reservation")
    return tau_bench.update_reservation_passengers(db, reservation_id, people)


def send_certificate(db: Database, user_id: str, amount: int) -> str:
    """Give a customer a certificate as compensation.

    Args:
        user_id: Who gets it.
        amount: Dollars.
    """
    _text_of(USERS, db, user_id, "user")
    with USERS.editing(db, user_id) as user:
        methods = user["payment_methods"]
        for payment_id in NEW_CERTIFICATES:
            if payment_id not in methods:
                value = float(amount)  # a number with a fraction in their record, whole or not
                methods[payment_id] = {"source": "certificate", "id": payment_id, "amount": value}
                return tau_bench.certificate_sent(payment_id, user_id, amount)
    raise Refused("too many certificates")


TOOLS = tau2_tools(
    TABLES,
    "AirlineTools",
    reading=(
        get_flight_status,
        get_reservation_details,
        get_user_details,
        list_all_airports,
        search_direct_flight,
        search_onestop_flight,
        calculate,
        transfer_to_human_agents,
    ),
    writing=(
        book_reservation,
        cancel_reservation,
        send_certificate,
        update_reservation_baggages,
        update_reservation_flights,
        update_reservation_passengers,
    ),
)
