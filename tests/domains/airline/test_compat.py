"""The airline tools of tau-bench and tau2-bench, defects included."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from passhat.domains.database import Database
from passhat.domains.packs import Pack

from ...clones import pack


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pack]:
    """Both benchmarks' airlines."""
    names = ("airline@tau-bench", "airline@tau2")
    return {name: pack(tmp_path_factory.mktemp("clone") / "c", name) for name in names}


class Desk:
    """One episode's rows, and the tools on them."""

    def __init__(self, pack: Pack, db: Database) -> None:
        self.pack, self.db = pack, db

    def say(self, name: str, **arguments: Any) -> str:
        """What a call is answered."""
        return self.pack.call(self.db, name, arguments).content

    def get(self, name: str, **arguments: Any) -> Any:
        """What a call is answered, as an object."""
        return json.loads(self.say(name, **arguments))

    def methods(self) -> Any:
        """The customer's payment methods."""
        return self.get("get_user_details", user_id="ada_bell_1000")["payment_methods"]


@pytest.fixture
def tau_bench(packs: dict[str, Pack]) -> Iterator[Desk]:
    """tau-bench's desk."""
    with packs["airline@tau-bench"].world.fork() as db:
        yield Desk(packs["airline@tau-bench"], db)


@pytest.fixture
def tau2(packs: dict[str, Pack]) -> Iterator[Desk]:
    """tau2's desk."""
    with packs["airline@tau2"].world.fork() as db:
        yield Desk(packs["airline@tau2"], db)


ADA = {"first_name": "Ada", "last_name": "Bell", "dob": "1980-01-02"}
BOOKING: dict[str, Any] = {
    "user_id": "ada_bell_1000",
    "origin": "JFK",
    "destination": "SEA",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"flight_number": "HAT3", "date": "2024-05-20"}],
    "passengers": [ADA],
    "payment_methods": [{"payment_id": "credit_card_1", "amount": 400}],
    "total_baggages": 0,
    "nonfree_baggages": 0,
    "insurance": "no",
}


def test_a_missing_reservation_is_called_a_user_by_tau_bench(tau_bench: Desk, tau2: Desk) -> None:
    """Its wrong noun is kept; tau2 names what is missing."""
    assert tau_bench.say("get_reservation_details", reservation_id="X") == "Error: user not found"
    answer = tau2.say("get_reservation_details", reservation_id="X")
    assert answer == "Error: Reservation X not found"


def test_flights_that_can_be_booked_are_found(tau_bench: Desk, tau2: Desk) -> None:
    """With seats and prices of the day; tau2 adds an empty date."""
    asked = {"origin": "JFK", "destination": "SEA", "date": "2024-05-20"}
    (flight,) = tau_bench.get("search_direct_flight", **asked)
    assert list(flight)[-3:] == ["status", "available_seats", "prices"]
    (flight,) = tau2.get("search_direct_flight", **asked)
    assert list(flight)[-3:] == ["date", "available_seats", "prices"]
    assert flight["date"] is None
    assert tau_bench.say("search_direct_flight", **asked | {"date": "2024-05-09"}) == "[]"
    assert tau_bench.say("search_direct_flight", **asked | {"origin": None}) == "[]"


def test_a_leg_after_midnight_is_priced_by_the_first_date_in_tau_bench(
    tau_bench: Desk, tau2: Desk
) -> None:
    """The second leg flies on the 21st for 85, and tau-bench shows the 20th's 80."""
    asked = {"origin": "JFK", "destination": "SEA", "date": "2024-05-20"}
    for desk, price in ((tau_bench, 80), (tau2, 85)):
        by_day, by_night = desk.get("search_onestop_flight", **asked)
        assert [leg["flight_number"] for leg in by_day] == ["HAT1", "HAT2"]
        assert by_night[1]["date"] == "2024-05-21"
        assert by_night[1]["prices"]["basic_economy"] == price


def test_the_status_of_a_flight_can_be_asked_in_tau2(tau_bench: Desk, tau2: Desk) -> None:
    """tau-bench has no tool for it."""
    asked = {"flight_number": "HAT1", "date": "2024-05-09"}
    assert tau2.say("get_flight_status", **asked) == "landed"
    missing = tau2.say("get_flight_status", **asked | {"date": "2024-06-01"})
    assert missing == "Error: Flight HAT1 not found on date 2024-06-01"
    assert tau_bench.say("get_flight_status", **asked) == "Unknown action get_flight_status"


def test_tau_bench_keeps_what_the_caller_gave(tau_bench: Desk) -> None:
    """Extra keys and their order too; price, origin and destination are added last."""
    flights = [{"date": "2024-05-20", "seat": "1A", "flight_number": "HAT3"}]
    booked = tau_bench.get("book_reservation", **BOOKING | {"flights": flights})
    assert list(booked["flights"][0]) == [
        "date", "seat", "flight_number", "price", "origin", "destination",
    ]  # fmt: skip
    assert "status" not in booked
    assert booked["reservation_id"] == "HATHAT"


def test_only_tau2_takes_the_seats(tau_bench: Desk, tau2: Desk) -> None:
    """Nine before, eight after."""
    for desk, left in ((tau_bench, 9), (tau2, 8)):
        assert "HATHAT" in desk.say("book_reservation", **BOOKING)
        asked = {"origin": "JFK", "destination": "SEA", "date": "2024-05-20"}
        (flight,) = desk.get("search_direct_flight", **asked)
        assert flight["available_seats"]["economy"] == left


def test_a_fourth_booking_overwrites_the_third_in_tau_bench(tau_bench: Desk, tau2: Desk) -> None:
    """There are three ids; tau2 refuses a fourth booking."""
    for _ in range(4):
        last = tau_bench.say("book_reservation", **BOOKING)
        refused = tau2.say("book_reservation", **BOOKING)
    assert json.loads(last)["reservation_id"] == "HATHAV"
    assert refused == "Error: Too many reservations"


def test_a_certificate_is_spent_whole_and_a_gift_card_in_part(tau_bench: Desk) -> None:
    """The remainder of the certificate is lost."""
    payments = [
        {"payment_id": "certificate_3", "amount": 300},
        {"payment_id": "gift_card_2", "amount": 100},
    ]
    tau_bench.say("book_reservation", **BOOKING | {"payment_methods": payments})
    assert "certificate_3" not in tau_bench.methods()
    assert tau_bench.methods()["gift_card_2"]["amount"] == 50


def test_a_certificate_listed_twice_fails_half_way(tau2: Desk) -> None:
    """What was written before the error stays: the certificate is gone, nothing is booked."""
    payments = [{"payment_id": "certificate_3", "amount": 200}] * 2
    answer = tau2.say("book_reservation", **BOOKING | {"payment_methods": payments})
    assert answer == "Error: 'certificate_3'"
    assert "certificate_3" not in tau2.methods()
    assert "HATHAT" not in tau2.say("get_user_details", user_id="ada_bell_1000")


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"user_id": "x"}, "user not found"),
        ({"flights": [{"flight_number": "X", "date": "d"}]}, "flight X not found"),
        (
            {"flights": [{"flight_number": "HAT1", "date": "2024-05-09"}]},
            "flight HAT1 not available on date 2024-05-09",
        ),
        (
            {
                "flights": [{"flight_number": "HAT1", "date": "2024-05-21"}],
                "passengers": [ADA, ADA],
            },
            "not enough seats on flight HAT1",
        ),
        ({"cabin": "first"}, "'first'"),
        ({"insurance": "yes"}, "payment amount does not add up, total price is 430, but paid 400"),
        (
            {"payment_methods": [{"payment_id": "x", "amount": 400}]},
            "payment method x not found",
        ),
        (
            {"payment_methods": [{"payment_id": "gift_card_2", "amount": 400}]},
            "not enough balance in payment method gift_card_2",
        ),
    ],
)
def test_a_booking_is_refused_if(tau_bench: Desk, changed: dict[str, Any], refusal: str) -> None:
    """Word for word, and nothing is written."""
    assert tau_bench.say("book_reservation", **BOOKING | changed) == f"Error: {refusal}"
    assert tau_bench.db.changes() == ()


def test_a_second_cancellation_negates_everything_again(tau_bench: Desk) -> None:
    """180, -180, then -180 and 180."""
    tau_bench.say("cancel_reservation", reservation_id="AAAAAA")
    twice = tau_bench.get("cancel_reservation", reservation_id="AAAAAA")
    assert [p["amount"] for p in twice["payment_history"]] == [180, -180, -180, 180]
    assert tau_bench.methods()["gift_card_2"]["amount"] == 150


def test_the_cabin_on_record_stays_in_tau_bench(tau_bench: Desk, tau2: Desk) -> None:
    """Only tau2 writes the new one down; the difference is paid in both."""
    asked = {
        "reservation_id": "AAAAAA",
        "cabin": "business",
        "flights": [{"flight_number": "HAT1", "date": "2024-05-20"}],
        "payment_id": "credit_card_1",
    }
    for desk, cabin in ((tau_bench, "economy"), (tau2, "business")):
        changed = desk.get("update_reservation_flights", **asked)
        assert changed["cabin"] == cabin
        assert changed["payment_history"][-1] == {"payment_id": "credit_card_1", "amount": 120}


def test_a_flight_that_stays_keeps_its_price(tau_bench: Desk) -> None:
    """In the same cabin, whatever it costs today; then nothing is paid."""
    changed = tau_bench.get(
        "update_reservation_flights",
        reservation_id="AAAAAA",
        cabin="economy",
        flights=[{"flight_number": "HAT1", "date": "2024-05-20"}],
        payment_id="gift_card_2",
    )
    assert changed["flights"][0]["price"] == 180
    assert len(changed["payment_history"]) == 1


@pytest.mark.parametrize(
    ("method", "refusal"),
    [
        ("x", "payment method not found"),
        ("certificate_3", "certificate cannot be used to update reservation"),
        ("gift_card_2", "gift card balance is not enough"),
    ],
)
def test_bags_cannot_be_paid_with(tau_bench: Desk, method: str, refusal: str) -> None:
    """What is not there, a certificate, a gift card that holds too little."""
    asked = {"reservation_id": "AAAAAA", "total_baggages": 5, "nonfree_baggages": 4}
    answer = tau_bench.say("update_reservation_baggages", payment_id=method, **asked)
    assert answer == f"Error: {refusal}"


def test_bags_are_paid_by_the_piece(tau_bench: Desk) -> None:
    """Fifty dollars each, from the gift card."""
    asked = {"reservation_id": "AAAAAA", "total_baggages": 3, "nonfree_baggages": 2}
    changed = tau_bench.get("update_reservation_baggages", payment_id="gift_card_2", **asked)
    assert changed["payment_history"][-1]["amount"] == 100
    assert tau_bench.methods()["gift_card_2"]["amount"] == 50


def test_passengers_are_replaced_but_not_counted_anew(tau_bench: Desk, tau2: Desk) -> None:
    """tau-bench stores what it is given, tau2 what it knows of it."""
    person = ADA | {"seat": "1A"}
    for desk, kept in ((tau_bench, person), (tau2, ADA)):
        asked = {"reservation_id": "AAAAAA", "passengers": [person]}
        changed = desk.get("update_reservation_passengers", **asked)
        assert changed["passengers"] == [kept]
    refused = tau_bench.say("update_reservation_passengers", reservation_id="AAAAAA", passengers=[])
    assert refused == "Error: number of passengers does not match"


def test_certificates_have_three_ids(tau_bench: Desk, tau2: Desk) -> None:
    """A fourth is refused by tau2, and crashes tau-bench's run."""
    for number in (2, 3, 4):
        sent = tau_bench.say("send_certificate", user_id="ada_bell_1000", amount=50)
        tau2.say("send_certificate", user_id="ada_bell_1000", amount=50)
        assert sent == (
            f"Certificate certificate_322132{number} added to user ada_bell_1000 with amount 50."
        )
    assert json.dumps(tau_bench.methods()["certificate_3221322"]["amount"]) == "50"
    assert json.dumps(tau2.methods()["certificate_3221322"]["amount"]) == "50.0"
    fourth = tau2.say("send_certificate", user_id="ada_bell_1000", amount=50)
    assert fourth == "Error: Too many certificates"
