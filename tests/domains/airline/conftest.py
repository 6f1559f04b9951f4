"""An airline small enough to read, with a flight in every state."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from passhat.domains.airline.tables import CABINS, METADATA
from passhat.domains.database import Database
from passhat.domains.world import World

# flight number: origin, destination, departs, arrives, days later
FLIGHTS = {
    "W01": ("JFK", "ORD", "08:00:00", "10:00:00", 0),
    "W02": ("ORD", "LAX", "11:00:00", "13:30:00", 0),
    "W03": ("LAX", "JFK", "09:00:00", "14:00:00", 0),
    "W04": ("JFK", "LAX", "07:00:00", "12:00:00", 0),
    "W05": ("JFK", "ORD", "22:00:00", "00:30:00", 1),
    "W06": ("ORD", "LAX", "06:00:00", "08:30:00", 0),
    "W07": ("ORD", "LAX", "09:30:00", "12:00:00", 0),
    "W08": ("LAX", "ORD", "10:00:00", "14:00:00", 0),
}
ON_SALE = ("2026-05-20", "2026-05-21", "2026-05-22")
STATES = {
    ("W01", "2026-05-15"): "landed",
    ("W02", "2026-05-15"): "flying",
    ("W03", "2026-05-15"): "cancelled",
    ("W05", "2026-05-15"): "on time",
    ("W08", "2026-05-15"): "delayed",
    ("W04", "2026-05-14"): "landed",
    ("W06", "2026-05-22"): "cancelled",
}
SEATS = {"basic_economy": 4, "economy": 6, "business": 2}
WALLETS: dict[str, dict[str, dict[str, Any]]] = {
    "ana_silva_1111": {
        "certificate_1111111": {"amount_cents": 10_000},
        "certificate_1111112": {"amount_cents": 25_000},
        "certificate_1111119": {"amount_cents": 0},
        "credit_card_1111111": {"brand": "visa", "last_four": "4242"},
        "credit_card_1111112": {"brand": "mastercard", "last_four": "1881"},
        "gift_card_1111111": {"amount_cents": 30_000},
        "gift_card_1111112": {"amount_cents": 5_050},
        "gift_card_1111113": {"amount_cents": 5_000},
        "gift_card_1111114": {"amount_cents": 5_000},
    },
    "ben_okoye_2222": {
        "credit_card_2222222": {"brand": "visa", "last_four": "9999"},
        "gift_card_2222222": {"amount_cents": 4_000},
    },
}
ANA_FLIES = {"first_name": "Ana", "last_name": "Silva", "dob": "1980-02-29"}
MAX_FLIES = {"first_name": "Max", "last_name": "Silva", "dob": "2011-07-04"}
BEN_FLIES = {"first_name": "Ben", "last_name": "Okoye", "dob": "1999-12-31"}
# reservation id: customer, route, type, cabin, bags, insured, flights, passengers, payments, status
RESERVATIONS: dict[str, tuple[Any, ...]] = {
    "ONEWAY": (
        "ana_silva_1111", "JFK", "LAX", "one_way", "economy", (7, 1), "no",
        [("W01", "2026-05-20", 9000), ("W02", "2026-05-20", 8000)], [ANA_FLIES, MAX_FLIES],
        [("credit_card_1111111", 39_000)], "active",
    ),
    "ROUND1": (
        "ana_silva_1111", "JFK", "LAX", "round_trip", "economy", (0, 0), "yes",
        [("W04", "2026-05-20", 10_000), ("W03", "2026-05-22", 12_000)], [ANA_FLIES],
        [("certificate_1111119", 5_000), ("gift_card_1111111", 20_000)], "active",
    ),
    "FLOWN1": (
        "ben_okoye_2222", "JFK", "LAX", "round_trip", "basic_economy", (0, 0), "no",
        [("W04", "2026-05-14", 5000), ("W03", "2026-05-20", 6000)], [BEN_FLIES],
        [("credit_card_2222222", 11_000)], "active",
    ),
    "GONE01": (
        "ben_okoye_2222", "JFK", "ORD", "one_way", "business", (1, 0), "no",
        [("W01", "2026-05-21", 30_000)], [BEN_FLIES],
        [("credit_card_2222222", 30_000), ("credit_card_2222222", -30_000)], "cancelled",
    ),
    "BASIC1": (
        "ben_okoye_2222", "JFK", "ORD", "one_way", "basic_economy", (0, 0), "no",
        [("W01", "2026-05-21", 4500)], [BEN_FLIES], [("gift_card_2222222", 4500)], "active",
    ),
}  # fmt: skip


def fare_cents(number: str, date: str, cabin: str) -> int:
    """What a flight on sale costs: every flight, day and cabin something else."""
    start = {"basic_economy": 5000, "economy": 10_000, "business": 30_000}[cabin]
    return start + 100 * int(number[1:]) + 1000 * (int(date[-2:]) - 20)


def _flight_dates() -> Iterator[dict[str, Any]]:
    nothing = {f"{cabin}_{what}": None for cabin in CABINS for what in ("seats", "cents")}
    for (number, date), status in STATES.items():
        times = {"departure": f"{date}T08:00:00", "arrival": f"{date}T23:00:00"}
        times = dict.fromkeys(times) if status == "cancelled" else times  # type: ignore[assignment]
        yield {"flight_number": number, "date": date, "status": status, **times, **nothing}
    for number in FLIGHTS:
        for date in ON_SALE:
            if (number, date) not in STATES:
                yield {
                    "flight_number": number,
                    "date": date,
                    "status": "available",
                    "departure": None,
                    "arrival": None,
                    **{f"{cabin}_seats": SEATS[cabin] for cabin in CABINS},
                    **{f"{cabin}_cents": fare_cents(number, date, cabin) for cabin in CABINS},
                }


def _customer(user_id: str, person: dict[str, str], membership: str) -> dict[str, Any]:
    return {
        "user_id": user_id,
        **person,
        "email": f"{person['first_name'].lower()}@example.com",
        "address1": "12 Finch Lane",
        "address2": "",
        "city": "Boston",
        "country": "USA",
        "state": "MA",
        "zip": "02101",
        "membership": membership,
    }


def _reservation_rows() -> Iterator[tuple[str, dict[str, Any]]]:
    for key, values in RESERVATIONS.items():
        user, origin, destination, kind, cabin, bags, insured, legs, people, paid, status = values
        yield (
            "reservations",
            {
                "reservation_id": key,
                "user_id": user,
                "origin": origin,
                "destination": destination,
                "flight_type": kind,
                "cabin": cabin,
                "created_at": "2026-05-02T09:30:00",
                "total_baggages": bags[0],
                "nonfree_baggages": bags[1],
                "insurance": insured,
                "status": status,
            },
        )
        for table, position, names, rows in (
            ("reservation_flights", "leg", ("flight_number", "date", "price_cents"), legs),
            (
                "passengers",
                "number",
                ("first_name", "last_name", "dob"),
                [p.values() for p in people],
            ),
            ("payments", "number", ("payment_method_id", "amount_cents"), paid),
        ):
            for number, row in enumerate(rows):
                start = {"reservation_id": key, position: number}
                yield table, start | dict(zip(names, row, strict=True))


def _rows() -> dict[str, list[dict[str, Any]]]:
    """The tables above, as rows."""
    cities = {"JFK": "New York", "ORD": "Chicago", "LAX": "Los Angeles"}
    names = ("origin", "destination", "departs", "arrives", "arrival_days")
    rows: dict[str, list[dict[str, Any]]] = {
        "airports": [
            {"code": code, "city": city, "position": position}
            for position, (code, city) in enumerate(cities.items())
        ],
        "flights": [
            {"flight_number": number, **dict(zip(names, values, strict=True))}
            for number, values in FLIGHTS.items()
        ],
        "flight_dates": list(_flight_dates()),
        "customers": [
            _customer("ana_silva_1111", ANA_FLIES, "gold"),
            _customer("ben_okoye_2222", BEN_FLIES, "regular"),
        ],
        "saved_passengers": [{"user_id": "ana_silva_1111", "number": 0, **MAX_FLIES}],
        "payment_methods": [
            {"brand": None, "last_four": None, "amount_cents": None}
            | {"payment_method_id": key, "user_id": user, "source": key.rpartition("_")[0]}
            | details
            for user, wallet in WALLETS.items()
            for key, details in wallet.items()
        ],
    }
    for table, row in _reservation_rows():
        rows.setdefault(table, []).append(row)
    return rows


@pytest.fixture(scope="session")
def world() -> World:
    """The small airline, on an afternoon in May."""
    return World(METADATA, _rows(), datetime(2026, 5, 15, 15))


@pytest.fixture
def airline(world: World) -> Iterator[Database]:
    """An open database of the small airline."""
    with world.fork() as db:
        yield db
