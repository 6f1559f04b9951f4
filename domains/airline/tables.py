"""The airline's database: who flies, what is flown, what was booked, and how it was paid.

Money is whole US cents. Clock times are Eastern Standard Time everywhere, whatever the airport.
Only texts and whole numbers are stored, so rows can be read as SQLite hands them out. The columns
marked ``compare: False`` say where a row is shown, not what it is: grading leaves them out and
compares the rows of such a table as a collection.
"""

from __future__ import annotations

from typing import Literal, get_args

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.schema import SchemaItem

METADATA = MetaData()

Cabin = Literal["basic_economy", "economy", "business"]
CABINS: tuple[Cabin, ...] = get_args(Cabin)
FlightType = Literal["one_way", "round_trip"]
FLIGHT_TYPES: tuple[FlightType, ...] = get_args(FlightType)
Insurance = Literal["yes", "no"]
MEMBERSHIPS = ("regular", "silver", "gold")
FLIGHT_STATUSES = ("available", "delayed", "on time", "flying", "landed", "cancelled")
RESERVATION_STATUSES = ("active", "cancelled")


def _table(name: str, *parts: SchemaItem) -> Table:
    """A table kept in the order of its primary key, which then needs no index of its own."""
    return Table(name, METADATA, *parts, sqlite_with_rowid=False)


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """The column holds one of these values."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})")


def _text(name: str, *parts: SchemaItem) -> Column[str]:
    return Column(name, Text, *parts, nullable=False)


def _whole(name: str, *parts: SchemaItem) -> Column[int]:
    return Column(name, Integer, *parts, nullable=False)


def _position(name: str) -> Column[int]:
    """Part of a key that says where a row is shown, not what it is."""
    return Column(name, Integer, primary_key=True, info={"compare": False})


CUSTOMERS = _table(
    "customers",
    Column("user_id", Text, primary_key=True),
    _text("first_name"),
    _text("last_name"),
    _text("dob"),
    _text("email"),
    _text("address1"),
    _text("address2"),
    _text("city"),
    _text("country"),
    _text("state"),
    _text("zip"),
    _text("membership"),
    _one_of("membership", MEMBERSHIPS),
)

SAVED_PASSENGERS = _table(
    "saved_passengers",
    Column("user_id", Text, ForeignKey("customers.user_id"), primary_key=True),
    _position("number"),
    _text("first_name"),
    _text("last_name"),
    _text("dob"),
)

# A certificate that paid is worth nothing from then on and is no longer shown; its row stays, since
# payments name it. A refund brings it back with what it paid, not with what was forfeited.
PAYMENT_METHODS = _table(
    "payment_methods",
    Column("payment_method_id", Text, primary_key=True),
    _text("user_id", ForeignKey("customers.user_id")),
    _text("source"),
    Column("brand", Text),
    Column("last_four", Text),
    Column("amount_cents", Integer),
    _one_of("source", ("credit_card", "gift_card", "certificate")),
    CheckConstraint("(source = 'credit_card') = (brand IS NOT NULL)"),
    CheckConstraint("(source = 'credit_card') = (last_four IS NOT NULL)"),
    CheckConstraint("(source != 'credit_card') = (amount_cents IS NOT NULL)"),
    CheckConstraint("amount_cents >= 0"),
    Index("payment_methods_by_user", "user_id"),
)

AIRPORTS = _table(
    "airports",
    Column("code", Text, primary_key=True),
    _text("city"),
    _whole("position"),
    Index("airports_by_position", "position", unique=True),
)

# Scheduled times are "HH:MM:SS"; ``arrival_days`` is 1 for an arrival on the next day.
FLIGHTS = _table(
    "flights",
    Column("flight_number", Text, primary_key=True),
    _text("origin", ForeignKey("airports.code")),
    _text("destination", ForeignKey("airports.code")),
    _text("departs"),
    _text("arrives"),
    _whole("arrival_days"),
    CheckConstraint("origin != destination"),
    CheckConstraint("arrival_days IN (0, 1)"),
    CheckConstraint("arrival_days = 1 OR departs < arrives"),
    # Holds all columns, so that a search for a route reads nothing else of this table.
    Index("flights_by_route", "origin", "destination", "departs", "arrives", "arrival_days"),
)

# One row per flight and day. ``departure`` and ``arrival`` are ISO times, estimated as long as they
# lie ahead; a flight on sale has none yet, but seats and prices. Seats that have stopped being sold
# stay as they are.
FLIGHT_DATES = _table(
    "flight_dates",
    Column("flight_number", Text, ForeignKey("flights.flight_number"), primary_key=True),
    Column("date", Text, primary_key=True),
    _text("status"),
    Column("departure", Text),
    Column("arrival", Text),
    *(Column(f"{cabin}_seats", Integer) for cabin in CABINS),
    *(Column(f"{cabin}_cents", Integer) for cabin in CABINS),
    _one_of("status", FLIGHT_STATUSES),
    *(CheckConstraint(f"{cabin}_seats >= 0 AND {cabin}_cents > 0") for cabin in CABINS),
    *(
        CheckConstraint(
            f"status != 'available' OR ({cabin}_seats IS NOT NULL AND {cabin}_cents IS NOT NULL)"
        )
        for cabin in CABINS
    ),
)

RESERVATIONS = _table(
    "reservations",
    Column("reservation_id", Text, primary_key=True),
    _text("user_id", ForeignKey("customers.user_id")),
    _text("origin", ForeignKey("airports.code")),
    _text("destination", ForeignKey("airports.code")),
    _text("flight_type"),
    _text("cabin"),
    _text("created_at"),
    _whole("total_baggages"),
    _whole("nonfree_baggages"),
    _text("insurance"),
    _text("status"),
    CheckConstraint("origin != destination"),
    _one_of("flight_type", FLIGHT_TYPES),
    _one_of("cabin", CABINS),
    CheckConstraint("nonfree_baggages BETWEEN 0 AND total_baggages"),
    _one_of("insurance", get_args(Insurance)),
    _one_of("status", RESERVATION_STATUSES),
    Index("reservations_by_user", "user_id", "created_at"),
)

# In travel order, both directions in one list. The price is per passenger, as it was agreed.
RESERVATION_FLIGHTS = _table(
    "reservation_flights",
    Column("reservation_id", Text, ForeignKey("reservations.reservation_id"), primary_key=True),
    _position("leg"),
    _text("flight_number"),
    _text("date"),
    _whole("price_cents"),
    ForeignKeyConstraint(
        ["flight_number", "date"], ["flight_dates.flight_number", "flight_dates.date"]
    ),
    CheckConstraint("price_cents > 0"),
)

PASSENGERS = _table(
    "passengers",
    Column("reservation_id", Text, ForeignKey("reservations.reservation_id"), primary_key=True),
    _position("number"),
    _text("first_name"),
    _text("last_name"),
    _text("dob"),
)

# A negative amount went back to the payment method.
PAYMENTS = _table(
    "payments",
    Column("reservation_id", Text, ForeignKey("reservations.reservation_id"), primary_key=True),
    _position("number"),
    _text("payment_method_id", ForeignKey("payment_methods.payment_method_id")),
    _whole("amount_cents"),
    CheckConstraint("amount_cents != 0"),
)
