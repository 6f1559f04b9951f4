"""Every statement the tools run. Each is compiled once; what varies is bound by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from .tables import (
    AIRPORTS,
    CABINS,
    CUSTOMERS,
    FLIGHT_DATES,
    FLIGHTS,
    PASSENGERS,
    PAYMENT_METHODS,
    PAYMENTS,
    RESERVATION_FLIGHTS,
    RESERVATIONS,
    SAVED_PASSENGERS,
)

# --- customers ------------------------------------------------------------------------------------

CUSTOMER = select(CUSTOMERS).where(CUSTOMERS.c.user_id == bindparam("user_id"))

# A certificate without value was used up.
WALLET = (
    select(PAYMENT_METHODS)
    .where(
        PAYMENT_METHODS.c.user_id == bindparam("user_id"),
        (PAYMENT_METHODS.c.source != "certificate") | (PAYMENT_METHODS.c.amount_cents > 0),
    )
    .order_by(PAYMENT_METHODS.c.payment_method_id)
)

SAVED_PASSENGERS_OF = (
    select(SAVED_PASSENGERS.c.first_name, SAVED_PASSENGERS.c.last_name, SAVED_PASSENGERS.c.dob)
    .where(SAVED_PASSENGERS.c.user_id == bindparam("user_id"))
    .order_by(SAVED_PASSENGERS.c.number)
)

# A booking made later comes later.
RESERVATIONS_OF = (
    select(RESERVATIONS.c.reservation_id)
    .where(RESERVATIONS.c.user_id == bindparam("user_id"))
    .order_by(RESERVATIONS.c.created_at, RESERVATIONS.c.reservation_id)
)

PAYMENT_METHOD_ID = select(PAYMENT_METHODS.c.payment_method_id).where(
    PAYMENT_METHODS.c.payment_method_id == bindparam("id")
)

ADD_CERTIFICATE = insert(PAYMENT_METHODS).values(
    source="certificate",
    payment_method_id=bindparam("payment_method_id"),
    user_id=bindparam("user_id"),
    amount_cents=bindparam("amount_cents"),
)

_METHOD = update(PAYMENT_METHODS).where(PAYMENT_METHODS.c.payment_method_id == bindparam("method"))

# A credit card has no amount, and stays without.
CHARGE = _METHOD.values(amount_cents=PAYMENT_METHODS.c.amount_cents - bindparam("cents"))

USE_UP = _METHOD.values(amount_cents=0)

# --- flights --------------------------------------------------------------------------------------

AIRPORT_CITIES = select(AIRPORTS.c.code, AIRPORTS.c.city).order_by(AIRPORTS.c.position)

# A flight on one day; the columns of the day are empty if it does not fly then.
FLIGHT_ON = (
    select(FLIGHTS, *(column for column in FLIGHT_DATES.columns if column.name != "flight_number"))
    .outerjoin(
        FLIGHT_DATES,
        (FLIGHT_DATES.c.flight_number == FLIGHTS.c.flight_number)
        & (FLIGHT_DATES.c.date == bindparam("date")),
    )
    .where(FLIGHTS.c.flight_number == bindparam("flight_number"))
)


OFFER = (
    *(column.name for column in FLIGHTS.columns),
    "date",
    "status",
    *(f"{cabin}_seats" for cabin in CABINS),
    *(f"{cabin}_cents" for cabin in CABINS),
)


def _offer(flight: FromClause, day: FromClause) -> list[ColumnElement[Any]]:
    """What a search shows of a flight on a day, in the order of `OFFER`."""
    return [(flight if name in flight.c else day).c[name] for name in OFFER]


DIRECT = (
    select(*_offer(FLIGHTS, FLIGHT_DATES))
    .join(FLIGHT_DATES, FLIGHT_DATES.c.flight_number == FLIGHTS.c.flight_number)
    .where(
        FLIGHTS.c.origin == bindparam("origin"),
        FLIGHTS.c.destination == bindparam("destination"),
        FLIGHT_DATES.c.date == bindparam("date"),
        FLIGHT_DATES.c.status == "available",
    )
    .order_by(FLIGHTS.c.flight_number)
)

_FIRST, _SECOND = FLIGHTS.alias("first"), FLIGHTS.alias("second")
_FIRST_DAY, _SECOND_DAY = FLIGHT_DATES.alias("first_day"), FLIGHT_DATES.alias("second_day")

# The second flight leaves where the first lands, on the day it lands and not before.
ONE_STOP = (
    select(*_offer(_FIRST, _FIRST_DAY), *_offer(_SECOND, _SECOND_DAY))
    .join(_SECOND, _SECOND.c.origin == _FIRST.c.destination)
    .join(_FIRST_DAY, _FIRST_DAY.c.flight_number == _FIRST.c.flight_number)
    .join(_SECOND_DAY, _SECOND_DAY.c.flight_number == _SECOND.c.flight_number)
    .where(
        _FIRST.c.origin == bindparam("origin"),
        _SECOND.c.destination == bindparam("destination"),
        _FIRST.c.arrives <= _SECOND.c.departs,
        _FIRST_DAY.c.date == bindparam("date"),
        _FIRST_DAY.c.status == "available",
        _SECOND_DAY.c.date
        == case(
            (_FIRST.c.arrival_days == 0, bindparam("date")),
            else_=func.date(bindparam("date"), "+1 day"),
        ),
        _SECOND_DAY.c.status == "available",
    )
    .order_by(_FIRST.c.flight_number, _SECOND.c.flight_number)
)

# Taking less than nothing gives seats back. A flight that is not on sale has no seats to count.
TAKE_SEATS = {
    cabin: update(FLIGHT_DATES)
    .where(
        FLIGHT_DATES.c.flight_number == bindparam("number"),
        FLIGHT_DATES.c.date == bindparam("day"),
    )
    .values({f"{cabin}_seats": FLIGHT_DATES.c[f"{cabin}_seats"] - bindparam("taken")})
    for cabin in CABINS
}

# --- reservations ---------------------------------------------------------------------------------

RESERVATION = select(RESERVATIONS).where(
    RESERVATIONS.c.reservation_id == bindparam("reservation_id")
)

LEGS_OF = (
    select(
        RESERVATION_FLIGHTS.c.date,
        RESERVATION_FLIGHTS.c.price_cents,
        FLIGHTS,
        FLIGHT_DATES.c.status,
    )
    .join(FLIGHTS, FLIGHTS.c.flight_number == RESERVATION_FLIGHTS.c.flight_number)
    .join(
        FLIGHT_DATES,
        (FLIGHT_DATES.c.flight_number == RESERVATION_FLIGHTS.c.flight_number)
        & (FLIGHT_DATES.c.date == RESERVATION_FLIGHTS.c.date),
    )
    .where(RESERVATION_FLIGHTS.c.reservation_id == bindparam("reservation_id"))
    .order_by(RESERVATION_FLIGHTS.c.leg)
)

PASSENGERS_OF = (
    select(PASSENGERS.c.first_name, PASSENGERS.c.last_name, PASSENGERS.c.dob)
    .where(PASSENGERS.c.reservation_id == bindparam("reservation_id"))
    .order_by(PASSENGERS.c.number)
)

PAYMENTS_OF = (
    select(PAYMENTS.c.payment_method_id, PAYMENTS.c.amount_cents)
    .where(PAYMENTS.c.reservation_id == bindparam("reservation_id"))
    .order_by(PAYMENTS.c.number)
)

PAID_BY_METHOD = (
    select(PAYMENTS.c.payment_method_id, func.sum(PAYMENTS.c.amount_cents).label("cents"))
    .where(PAYMENTS.c.reservation_id == bindparam("reservation_id"))
    .group_by(PAYMENTS.c.payment_method_id)
    .order_by(func.min(PAYMENTS.c.number))
)

NEXT_PAYMENT = select((func.coalesce(func.max(PAYMENTS.c.number), -1) + 1).label("number")).where(
    PAYMENTS.c.reservation_id == bindparam("reservation_id")
)

_RESERVATION = update(RESERVATIONS).where(RESERVATIONS.c.reservation_id == bindparam("reservation"))

CANCEL = _RESERVATION.values(status="cancelled")
SET_CABIN = _RESERVATION.values(cabin=bindparam("to_cabin"))
SET_BAGGAGE = _RESERVATION.values(
    total_baggages=bindparam("total"), nonfree_baggages=bindparam("nonfree")
)

REMOVE_LEGS = delete(RESERVATION_FLIGHTS).where(
    RESERVATION_FLIGHTS.c.reservation_id == bindparam("reservation_id")
)
REMOVE_PASSENGERS = delete(PASSENGERS).where(
    PASSENGERS.c.reservation_id == bindparam("reservation_id")
)

ADD_RESERVATION = insert(RESERVATIONS).values(
    {column: bindparam(column.name) for column in RESERVATIONS.columns if column.name != "status"}
    | {RESERVATIONS.c.status: "active"}
)
ADD_LEG = insert(RESERVATION_FLIGHTS)
ADD_PASSENGER = insert(PASSENGERS)
ADD_PAYMENT = insert(PAYMENTS)
