"""Our tools against what tau-bench's own tools returned, on its data, call by call."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from passhat.domains.airline import DOMAIN
from passhat.domains.airline.tables import CABINS, METADATA
from passhat.domains.world import World

from ...reference_data import reference


def _flight_rows(flight: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    arrives, _, days = flight["scheduled_arrival_time_est"].partition("+")
    key = {"flight_number": flight["flight_number"]}
    yield (
        "flights",
        key
        | {
            "origin": flight["origin"],
            "destination": flight["destination"],
            "departs": flight["scheduled_departure_time_est"],
            "arrives": arrives,
            "arrival_days": int(days or 0),
        },
    )
    for date, day in flight["dates"].items():
        seats, prices = day.get("available_seats", {}), day.get("prices", {})
        times = {
            name: day.get(f"actual_{name}_time_est", day.get(f"estimated_{name}_time_est"))
            for name in ("departure", "arrival")
        }
        yield (
            "flight_dates",
            key
            | {"date": date, "status": day["status"], **times}
            | {f"{cabin}_seats": seats.get(cabin) for cabin in CABINS}
            | {f"{cabin}_cents": prices[cabin] * 100 if prices else None for cabin in CABINS},
        )


def _user_rows(user_id: str, user: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    key = {"user_id": user_id}
    details = {name: user[name] for name in ("email", "dob", "membership")}
    yield "customers", key | user["name"] | user["address"] | details
    for number, passenger in enumerate(user["saved_passengers"]):
        yield "saved_passengers", key | {"number": number} | passenger
    for method_id, method in user["payment_methods"].items():
        amount = method.get("amount")
        yield (
            "payment_methods",
            key
            | {
                "payment_method_id": method_id,
                "source": method["source"],
                "brand": method.get("brand"),
                "last_four": method.get("last_four"),
                "amount_cents": None if amount is None else amount * 100,
            },
        )


def _reservation_rows(stored: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    key = {"reservation_id": stored["reservation_id"]}
    columns = METADATA.tables["reservations"].columns
    yield "reservations", {c.name: stored.get(c.name, "active") for c in columns}
    for number, flight in enumerate(stored["flights"]):
        leg = {"flight_number": flight["flight_number"], "date": flight["date"], "leg": number}
        yield "reservation_flights", key | leg | {"price_cents": flight["price"] * 100}
    for number, passenger in enumerate(stored["passengers"]):
        yield "passengers", key | {"number": number} | passenger
    for number, payment in enumerate(stored["payment_history"]):
        method = {"payment_method_id": payment["payment_id"], "number": number}
        yield "payments", key | method | {"amount_cents": payment["amount"] * 100}


def _rows(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """tau-bench's three JSON files as rows of our tables, but for trips that lead nowhere."""
    users, flights, reservations = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("users", "flights", "reservations")
    )
    airports = {flight["origin"]: None for flight in flights.values()}
    for position, code in enumerate(airports):
        yield "airports", {"code": code, "city": code, "position": position}
    for flight in flights.values():
        yield from _flight_rows(flight)
    for user_id, user in users.items():
        yield from _user_rows(user_id, user)
    for stored in reservations.values():
        if stored["origin"] != stored["destination"]:
            yield from _reservation_rows(stored)


@pytest.fixture(scope="module")
def tau_bench() -> World:
    """tau-bench's airline in our tables."""
    folder = reference("tau-bench-head/tau_bench/envs/airline/data")
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, row in _rows(folder):
        rows.setdefault(table, []).append(row)
    return World(METADATA, rows, datetime(2024, 5, 15, 15))


CABIN_IS_STORED = """
    2.0 2.2 2.3 2.4 4.0 4.1 4.2 5.0 5.1 5.2 6.0 7.0 22.3 22.4 26.5 33.17 33.18 33.19 34.4
"""
NEW_IDS_WITHOUT_END = "0.0 8.1 9.1 9.2 9.3 10.1 11.0 16.1 25.0 32.3 45.2 46.3"
LEADS_NOWHERE = "1.0 2.1 28.2 28.4 28.9 29.2 29.4"

# "task.call": what differs. Each is a fault of tau-bench's tools or data that is none here.
EXPLAINED: dict[str, object] = (
    dict.fromkeys(CABIN_IS_STORED.split(), ("cabin",))
    | dict.fromkeys(NEW_IDS_WITHOUT_END.split(), ("id",))
    # Reservations from an airport to the same airport are not in our rows.
    | dict.fromkeys(LEADS_NOWHERE.split(), "Error: reservation not found")
    | dict.fromkeys(["28.0", "29.0"], ("reservations",))
    | {
        # One refund of what a method paid in all, not one for each payment.
        "34.5": ("cabin", "payment_history"),
        # The reference flies home to another airport, and charges bags that are free.
        "19.1": "Error: flights do not lead from DTW to LGA and back",
        "19.2": "Error: number of nonfree bags should be 0, not 1",
        "23.4": "Error: number of nonfree bags should be 0, not 2",
    }
)


def _parsed(content: str) -> Any:
    """A result to compare, without the order in which reservations are shown."""
    if content.startswith("Certificate"):
        _, new_id, rest = content.split(" ", maxsplit=2)
        return {"id": new_id, "rest": rest}
    if content[:1] not in ("{", "["):
        return content
    result = json.loads(content)
    if "reservations" in result:
        result["reservations"].sort()
    if "reservation_id" in result:
        result["id"] = result.pop("reservation_id")
    return result


def _difference(ours: str, theirs: str) -> object:
    """None if the two results say the same; else the keys that differ, or what ours says."""
    one, other = _parsed(ours), _parsed(theirs)
    if one == other:
        return None
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ours
    return tuple(key for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key))


def test_reference_calls_return_what_they_returned_in_tau_bench(tau_bench: World) -> None:
    """Every call of every reference gives the recorded result, but for the listed faults."""
    recorded = reference("tau-bench-reference-calls/airline_test.json")
    found: dict[str, object] = {}
    for task in json.loads(recorded.read_text(encoding="utf-8"))["tasks"]:
        with tau_bench.fork() as db:
            for number, (name, arguments, output) in enumerate(task["calls"]):
                difference = _difference(DOMAIN.call(db, name, arguments).content, output)
                if difference is not None:
                    found[f"{task['task']}.{number}"] = difference
    assert found == EXPLAINED
