"""What the airline's database itself makes sure of, whoever writes."""

import sqlite3
from typing import Any

import pytest
from sqlalchemy import Integer, Text

from passhat.domains.airline import DOMAIN
from passhat.domains.airline.tables import METADATA
from passhat.domains.database import Database
from passhat.grading.outcome import differences


def test_columns_hold_texts_and_whole_numbers_only() -> None:
    """Rows are read as SQLite hands them out: a type that converts would not be heard."""
    types = {type(column.type) for table in METADATA.tables.values() for column in table.columns}
    assert types == {Integer, Text}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE payment_methods SET amount_cents = -1 WHERE source = 'gift_card'",
        "UPDATE payment_methods SET amount_cents = -1 WHERE source = 'certificate'",
        "UPDATE payment_methods SET amount_cents = 100 WHERE source = 'credit_card'",
        "UPDATE payment_methods SET last_four = NULL WHERE source = 'credit_card'",
        "UPDATE payment_methods SET source = 'cheque'",
        "UPDATE customers SET membership = 'platinum'",
        "UPDATE flights SET destination = origin",
        "UPDATE flights SET arrives = '00:10:00' WHERE arrival_days = 0",
        "UPDATE flights SET arrival_days = 2",
        "UPDATE flights SET origin = 'XYZ'",
        "UPDATE flight_dates SET status = 'lost'",
        "UPDATE flight_dates SET economy_seats = -1 WHERE status = 'available'",
        "UPDATE flight_dates SET business_cents = NULL WHERE status = 'available'",
        "UPDATE flight_dates SET status = 'available' WHERE status = 'landed'",
        "UPDATE reservations SET status = 'lost'",
        "UPDATE reservations SET destination = origin",
        "UPDATE reservations SET cabin = 'first'",
        "UPDATE reservations SET insurance = 'maybe'",
        "UPDATE reservations SET nonfree_baggages = total_baggages + 1",
        "UPDATE reservations SET user_id = 'nobody_at_0000'",
        "UPDATE reservation_flights SET date = '2026-07-01'",
        "UPDATE payments SET amount_cents = 0",
        "UPDATE payments SET payment_method_id = 'cash'",
        "DELETE FROM customers",
    ],
)
def test_the_database_refuses_what_cannot_be(airline: Database, statement: str) -> None:
    """A task's setup or a new tool cannot leave such rows."""
    with pytest.raises(sqlite3.IntegrityError):
        airline.connection.execute(statement)


def test_a_flight_on_sale_can_be_cancelled_or_delayed_by_its_status_alone(
    airline: Database,
) -> None:
    """Which is what a task's setup writes; the seats that were on sale stay as they are."""
    where = {"flight_number": "W04", "date": "2026-05-20"}
    for status in ("cancelled", "delayed"):
        assert airline.set_values("flight_dates", where, {"status": status}) == 1
        assert DOMAIN.call(airline, "get_flight_status", where).content == status
        arguments = {"origin": "JFK", "destination": "LAX", "date": "2026-05-20"}
        assert DOMAIN.call(airline, "search_direct_flight", arguments).content == "[]"


ANA: Any = {"first_name": "Ana", "last_name": "Silva", "dob": "1980-02-29"}
MAX: Any = {"first_name": "Max", "last_name": "Silva", "dob": "2011-07-04"}


def _book(db: Database, number: str, people: list[Any], **amounts: int) -> None:
    arguments = {
        "user_id": "ana_silva_1111",
        "origin": "JFK",
        "destination": "ORD" if number == "W01" else "LAX",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": number, "date": "2026-05-20"}],
        "passengers": people,
        "payment_methods": [{"payment_id": key, "amount": cost} for key, cost in amounts.items()],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    assert DOMAIN.call(db, "book_reservation", arguments).error is None


def test_the_order_of_things_makes_no_difference(airline: Database) -> None:
    """Two bookings, passengers and payments in another order are the same bookings."""
    with airline.fork() as other:
        _book(airline, "W01", [ANA, MAX], credit_card_1111111=102, gift_card_1111111=100)
        _book(airline, "W04", [ANA], credit_card_1111111=104)
        _book(other, "W04", [ANA], credit_card_1111111=104)
        _book(other, "W01", [MAX, ANA], gift_card_1111111=100, credit_card_1111111=102)
        assert differences(METADATA, airline.changes(), other.changes()) == []


def test_another_flight_passenger_or_payment_makes_a_difference(airline: Database) -> None:
    """The rows say what is wrong."""
    with airline.fork() as other:
        _book(airline, "W04", [ANA], credit_card_1111111=104)
        _book(other, "W04", [MAX], credit_card_1111112=104)
        different = differences(METADATA, airline.changes(), other.changes())
        assert {difference.table for difference in different} == {"passengers", "payments"}
