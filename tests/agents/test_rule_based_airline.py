"""The rule-based agent of the airline: reads requests, rows and the policy, and never breaks."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.agent import Brief
from passhat.agents.rule_based.airline_words import (
    Wish,
    airports_in,
    cabin_in,
    chosen_flight,
    days_in,
    free_bags,
    methods_in,
    people_after,
    reservation_in,
    strange_reservation_in,
    wish_in,
)
from passhat.domains.airline.tools import FREE_BAGS
from passhat.domains.domain import Domain
from passhat.transcript import ErrorKind

from .conftest import Play
from .fuzzing import play_at_random


def test_it_is_a_useful_middle(play: Play, airline: Domain) -> None:
    """It passes some shipped tasks and fails some: neither a reference nor silence."""
    tasks = list(airline.tasks.values())
    passed = sum(play("rule-based", task).grade.passed for task in tasks)
    assert 0.3 <= passed / len(tasks) <= 0.8


def test_it_repeats_exactly(play: Play, airline: Domain) -> None:
    """The same task and seed give the same transcript."""
    task = next(iter(airline.tasks.values()))
    first, second = (play("rule-based", task, seed=2).transcript.dump() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("I'd like to book a one-way flight from Denver to Phoenix", Wish.BOOK),
        ("Please cancel reservation 8A3XK2.", Wish.CANCEL),
        ("Could you move 8A3XK2 to the day after?", Wish.FLIGHTS),
        ("Upgrade 8A3XK2 to business, please.", Wish.CABIN),
        ("Add two checked bags to 8A3XK2.", Wish.BAGS),
        ("Please let Ana fly instead of Bob in 8A3XK2", Wish.PASSENGERS),
        ("My flight is late. I want compensation.", Wish.COMPENSATION),
        ("I'd like to insure 8A3XK2 after all.", Wish.FORBIDDEN),
        ("When does the first flight leave?", Wish.QUESTION),
        ("I will need a wheelchair.", Wish.HUMAN),
        ("That is all. Bye.", Wish.GOODBYE),
        ("Hm.", Wish.UNCLEAR),
    ],
)
def test_it_hears_what_a_request_is_for(text: str, wish: Wish) -> None:
    """One wish for each request."""
    assert wish_in(text) is wish


def test_it_tells_its_own_reservations_from_those_of_others() -> None:
    """Flight numbers and years look alike and are none."""
    text = "Not ABCDEF but 8A3XK2, flight WRN104, in 202612"
    assert reservation_in(text, ["8A3XK2"]) == "8A3XK2"
    assert reservation_in("my trip", ["8A3XK2"]) is None
    assert strange_reservation_in(text, ["8A3XK2"]) == "ABCDEF"
    assert strange_reservation_in("flight WRN104 in 202612", []) is None


def test_it_reads_airports_by_code_and_by_city() -> None:
    """In the order in which they are named; a code decides where a city has several airports."""
    names = {"JFK": "New York", "LGA": "LaGuardia", "DFW": "Dallas", "DEN": "Denver"}
    assert airports_in("from Denver to New York JFK", names) == ["DEN", "JFK"]
    assert airports_in("to Dallas from LGA", names) == ["DFW", "LGA"]
    assert airports_in("nowhere", names) == []


def test_it_reads_days_as_dates_and_from_the_day_booked() -> None:
    """A date that is written goes first."""
    assert days_in("on 2026-05-20, back on 2026-05-24", "2026-05-15") == [
        "2026-05-20",
        "2026-05-24",
    ]
    assert days_in("tomorrow", "2026-05-15") == ["2026-05-16"]
    assert days_in("one day later", "2026-05-15", "2026-05-31") == ["2026-06-01"]
    assert days_in("the day before", "2026-05-15", "2026-05-30") == ["2026-05-29"]
    assert days_in("some day", "2026-05-15", "2026-05-30") == []


def test_it_picks_the_flight_that_is_described() -> None:
    """Only among flights with a seat in the cabin."""
    offers = [
        {
            "flight_number": number,
            "scheduled_departure_time_est": leaves,
            "available_seats": {"economy": seats},
            "prices": {"economy": price},
        }
        for number, leaves, seats, price in (
            ("WRN001", "06:30:00", 4, 120),
            ("WRN002", "12:10:00", 4, 90),
            ("WRN003", "20:30:00", 0, 60),
        )
    ]

    def chosen(text: str, booked: str = "") -> str | None:
        found = chosen_flight(offers, text, "economy", booked)
        return found and str(found["flight_number"])

    assert chosen("the cheapest one") == "WRN002"
    assert chosen("the one early in the morning") == "WRN001"
    assert chosen("the latest") == "WRN002"
    assert chosen("WRN001, please") == "WRN001"
    assert chosen("the same flight", "WRN002") == "WRN002"
    assert chosen("the one at three") is None


def test_it_reads_cabins_methods_and_people() -> None:
    """The cabin that is wanted, methods in the order named, and who takes whose place."""
    assert cabin_in("economy instead of basic economy") == "economy"
    assert cabin_in("Basic economy, please") == "basic_economy"
    wallet = {
        "credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "4466"},
        "credit_card_2": {"source": "credit_card", "brand": "visa", "last_four": "0262"},
        "gift_card_1": {"source": "gift_card", "amount": 60},
    }
    assert methods_in("My gift card, the rest on my Visa ending in 0262", wallet) == [
        "gift_card_1",
        "credit_card_2",
    ]
    assert methods_in("cash", wallet) == []
    ana = {"first_name": "Ana", "last_name": "Silva", "dob": "1990-01-01"}
    bob = {"first_name": "Bob", "last_name": "Stone", "dob": "1980-02-02"}
    assert people_after([ana], "Bob Stone instead of Ana Silva", [bob]) == [bob]
    renamed = people_after([ana], "Anna Silva instead of Ana Silva", [])
    assert renamed == [{**ana, "first_name": "Anna"}]
    assert people_after([ana], "somebody else", [bob]) is None


def test_it_reads_the_free_bags_from_the_policy(airline: Domain) -> None:
    """The table of the document is the one that the tools charge by."""
    assert free_bags(airline.policy) == {
        tier: tuple(bags.values()) for tier, bags in FREE_BAGS.items()
    }


WORDS = st.sampled_from(
    """Hi! yes no cancel move book upgrade add two bags to my 8A3XK2 from Denver Phoenix JFK on
    2026-05-20 tomorrow economy business ana_silva_4471 just me Bob Stone instead of Ana cheapest
    WRN104 gift card visa compensation one day later without insurance same bye human""".split()  # noqa: SIM905
)
LINES = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=40))
FLIGHT = {"flight_number": "WRN104", "date": "2026-05-20", "origin": "DEN", "destination": "PHX"}
OFFER = FLIGHT | {
    "scheduled_departure_time_est": "06:30:00",
    "scheduled_arrival_time_est": "08:30:00",
    "status": "available",
    "available_seats": {"basic_economy": 3, "economy": 0, "business": 1},
    "prices": {"basic_economy": 60, "economy": 99, "business": 200.5},
}
RESERVATION = {
    "reservation_id": "8A3XK2",
    "user_id": "ana_silva_4471",
    "origin": "DEN",
    "destination": "PHX",
    "flight_type": "round_trip",
    "cabin": "economy",
    "flights": [FLIGHT | {"price": 90}],
    "passengers": [{"first_name": "Ana", "last_name": "Silva", "dob": "1990-01-01"}],
    "payment_history": [{"payment_id": "gift_card_1234567", "amount": 90}],
    "created_at": "2026-05-15T08:00:00",
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "insurance": "yes",
}
PROFILE = {
    "name": {"first_name": "Ana", "last_name": "Silva"},
    "dob": "1990-01-01",
    "payment_methods": {
        "gift_card_1234567": {"source": "gift_card", "amount": 50},
        "credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "4466"},
    },
    "saved_passengers": [{"first_name": "Bob", "last_name": "Stone", "dob": "1980-02-02"}],
    "membership": "gold",
    "reservations": ["8A3XK2"],
}
RESULTS = st.sampled_from(
    [
        ("Error: not found", ErrorKind.REFUSED),
        ("", None),
        ("delayed", None),
        ("landed", None),
        ("12.5", None),
        ("[]", None),
        ("[[]]", None),
        (json.dumps(PROFILE), None),
        (json.dumps(RESERVATION), None),
        (json.dumps(RESERVATION | {"status": "cancelled"}), None),
        (json.dumps(RESERVATION | {"flights": []}), None),
        (json.dumps([OFFER]), None),
        (json.dumps([[OFFER, OFFER]]), None),
        (json.dumps({"DEN": "Denver", "PHX": "Phoenix", "JFK": "New York"}), None),
    ]
)


@pytest.mark.parametrize("spec", ["rule-based", "slippery:0.3:rule-based"])
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_words_and_no_tool_results_break_it(
    spec: str, brief: Callable[..., Brief], data: st.DataObject
) -> None:
    """Whatever it hears, it makes a proper move, and comes to an end."""
    seed = data.draw(st.integers(0, 99))
    play_at_random(spec, brief(seed=seed, domain="airline"), data, LINES, RESULTS)
