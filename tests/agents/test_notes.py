"""How scripted agents put what they do into words, and what they work out for it."""

import json
from typing import Any

import pytest

from passhat.agents.airline import AirlineNotes, paid
from passhat.agents.notes import notes_for
from passhat.agents.retail import RetailNotes
from passhat.domains.domain import load_domain
from passhat.transcript import ToolResultEvent

PROFILE = {
    "payment_methods": {
        "credit_card_1234567": {"source": "credit_card", "brand": "visa", "last_four": "0262"},
        "certificate_1234567": {"source": "certificate", "amount": 250},
    },
    "reservations": ["8A3XK2", "7B2YL9"],
}
RESERVATION = {
    "reservation_id": "8A3XK2",
    "cabin": "economy",
    "flights": [
        {"flight_number": "WRN104", "date": "2026-05-20", "origin": "DEN", "destination": "PHX",
         "price": 90},
        {"flight_number": "WRN105", "date": "2026-05-24", "origin": "PHX", "destination": "DEN",
         "price": 70},
    ],
    "passengers": [{"first_name": "Ana"}, {"first_name": "Bob"}],
    "payment_history": [
        {"payment_id": "credit_card_1234567", "amount": 320},
        {"payment_id": "credit_card_1234567", "amount": -20},
    ],
    "total_baggages": 2,
    "nonfree_baggages": 0,
}  # fmt: skip
OFFERS = [
    {
        "flight_number": "WRN104",
        "origin": "DEN",
        "destination": "PHX",
        "scheduled_departure_time_est": "06:30:00",
        "prices": {"basic_economy": 60, "economy": 99, "business": 200},
    }
]
ANA = {"first_name": "Ana", "last_name": "Silva", "dob": "1990-04-12"}
CHANGE = {"reservation_id": "8A3XK2", "payment_id": "credit_card_1234567"}


def result(value: Any) -> ToolResultEvent:
    """What a tool answers."""
    content = value if isinstance(value, str) else json.dumps(value)
    return ToolResultEvent(index=0, turn=0, call_id="", name="", content=content)


@pytest.fixture
def notes() -> AirlineNotes:
    """A customer, a reservation, and a flight that was found."""
    notes = AirlineNotes()
    notes.read(result(PROFILE), {"user_id": "ana_silva_4471"})
    notes.read(result(RESERVATION), {"reservation_id": "8A3XK2"})
    notes.read(result(OFFERS), {"date": "2026-05-20"})
    return notes


def test_the_notes_are_those_of_the_business() -> None:
    """Told by the tools; a business nobody knows is treated like a shop."""
    assert isinstance(notes_for(load_domain("airline").tools), AirlineNotes)
    assert isinstance(notes_for(load_domain("retail").tools), RetailNotes)
    assert isinstance(notes_for([]), RetailNotes)


def test_a_booking_is_told_in_full_and_added_up(notes: AirlineNotes) -> None:
    """Flights, cabin, passengers, bags, insurance, total, and who pays how much."""
    booking = {
        "origin": "DEN", "destination": "PHX", "flight_type": "one_way", "cabin": "economy",
        "flights": [{"flight_number": "WRN104", "date": "2026-05-20"}], "passengers": [ANA, ANA],
        "payment_methods": [
            {"payment_id": "certificate_1234567", "amount": 250},
            {"payment_id": "credit_card_1234567", "amount": 58},
        ],
        "total_baggages": 3, "nonfree_baggages": 1, "insurance": "yes",
    }  # fmt: skip
    assert notes.sum_needed("book_reservation", booking) == "(99) * 2 + 30 * 2 + 50 * 1"
    words = notes.change_words("book_reservation", booking, "308.0")
    for part in (
        "one-way trip", "economy", "WRN104", "2026-05-20", "06:30", "Ana Silva (born 1990-04-12)",
        "3, 1 of them at $50", "insurance: yes", "$308.00", "$250.00 with your certificate",
        "$58.00 with your visa credit card ending in 0262",
    ):  # fmt: skip
        assert part in words


def test_a_change_of_flights_keeps_the_price_of_what_stays(notes: AirlineNotes) -> None:
    """Only the new flight costs what it costs today."""
    flights = [{"flight_number": "WRN104", "date": "2026-05-20"}, RESERVATION["flights"][1]]
    arguments = CHANGE | {"cabin": "economy", "flights": flights}
    name = "update_reservation_flights"
    assert notes.sum_needed(name, arguments) == "((90 + 70) - (90 + 70)) * 2"
    assert list(notes.look_ups_before(name, arguments)) == []
    assert "no price difference" in notes.change_words(name, arguments, "0.0")


def test_another_cabin_needs_the_prices_of_today(notes: AirlineNotes) -> None:
    """Every flight is looked up, and costs what it costs now."""
    arguments = CHANGE | {"cabin": "business", "flights": RESERVATION["flights"]}
    name = "update_reservation_flights"
    assert [arguments["date"] for _, arguments in notes.look_ups_before(name, arguments)] == [
        "2026-05-20",
        "2026-05-24",
    ]
    notes.read(result([OFFERS[0] | {"flight_number": "WRN105"}]), {"date": "2026-05-24"})
    assert notes.sum_needed(name, arguments) == "((200 + 200) - (90 + 70)) * 2"
    words = notes.change_words(name, arguments, "480.0")
    assert words.startswith("change the cabin of reservation 8A3XK2 to business")
    assert "$480.00 in all is charged to your visa" in words
    assert "refunded" in notes.change_words(name, arguments, "-480.0")


def test_bags_are_told_by_how_many_are_added(notes: AirlineNotes) -> None:
    """With what they cost, or that they cost nothing."""
    name = "update_reservation_baggages"
    free = CHANGE | {"total_baggages": 3, "nonfree_baggages": 0}
    assert notes.sum_needed(name, free) is None
    assert notes.change_words(name, free) == (
        "add 1 checked bag to reservation 8A3XK2, which makes 3, free of charge"
    )
    charged = CHANGE | {"total_baggages": 5, "nonfree_baggages": 2}
    assert notes.sum_needed(name, charged) == "50 * 2"
    words = notes.change_words(name, charged, "100.0")
    assert "add 3 checked bags" in words
    assert "$100.00 is charged" in words


def test_the_other_changes_are_told_with_what_matters(notes: AirlineNotes) -> None:
    """A refund goes to who paid it; people are named; a certificate has its amount."""
    cancel = notes.change_words("cancel_reservation", {"reservation_id": "8A3XK2"})
    assert "refund $300.00 to your visa credit card" in cancel
    people = {"reservation_id": "8A3XK2", "passengers": [ANA]}
    assert "Ana Silva" in notes.change_words("update_reservation_passengers", people)
    certificate = notes.change_words("send_certificate", {"user_id": "x", "amount": 150})
    assert certificate == "send you a certificate of $150.00"
    assert notes.change_words("sing_a_song", {"key": "C"}) == "sing a song (key: C)"


def test_only_the_customers_reservations_are_looked_up(notes: AirlineNotes) -> None:
    """What a text names and the profile does not list is somebody else's."""
    found = list(notes.look_ups_about("Not 9C1ZM4 but 7B2YL9"))
    assert found == [("get_reservation_details", {"reservation_id": "7B2YL9"})]


def test_each_method_gets_back_what_it_still_has_in_it() -> None:
    """Together never more than is paid."""
    history = [("a", 100), ("b", 50), ("b", -70)]
    entries = [{"payment_id": method, "amount": amount} for method, amount in history]
    assert paid({"payment_history": entries}) == {"a": 80}
    assert paid({}) == {}
