"""The shipped airline: made by its generator, in order with itself, and worth searching."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from passhat.domains.airline import DOMAIN
from passhat.domains.airline.generate import make_world, write_world
from passhat.domains.airline.tables import (
    CABINS,
    FLIGHT_STATUSES,
    FLIGHT_TYPES,
    MEMBERSHIPS,
    METADATA,
    RESERVATION_STATUSES,
)
from passhat.domains.airline.tools import FREE_BAGS, MAX_PASSENGERS, MAX_PAYING, RESERVATION_ID
from passhat.domains.database import Database

NOW = "2026-05-15T15:00:00"


@pytest.fixture
def db() -> Iterator[Database]:
    """The shipped world, open."""
    with DOMAIN.world.fork() as db:
        yield db


def _rows(db: Database, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in db.connection.execute(sql)]


def _column(db: Database, sql: str) -> list[Any]:
    return [row[0] for row in _rows(db, sql)]


def _trips(db: Database) -> dict[str, list[dict[str, Any]]]:
    """The legs of each reservation in order, with their scheduled times."""
    trips: dict[str, list[dict[str, Any]]] = {}
    for row in db.connection.execute("""
        SELECT r.*, l.leg, l.flight_number, l.date, f.origin AS leaves_from,
               f.destination AS lands_at, f.departs, f.arrives, f.arrival_days
        FROM reservations r JOIN reservation_flights l USING (reservation_id)
        JOIN flights f USING (flight_number) ORDER BY reservation_id, leg
    """):
        leg = dict(row)
        day = datetime.fromisoformat(leg["date"] + "T00:00:00") + timedelta(leg["arrival_days"])
        leg["departure"] = f"{leg['date']}T{leg['departs']}"
        leg["arrival"] = f"{day.date()}T{leg['arrives']}"
        trips.setdefault(leg["reservation_id"], []).append(leg)
    return trips


def test_the_shipped_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    """Whoever changes the generator or its sources ships the files it makes."""
    write_world(tmp_path)
    shipped = files("passhat") / "data" / "airline"
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json*")}
    assert made == {"world.json", *(f"world/{table}.jsonl" for table in METADATA.tables)}
    for path in made:
        text = (shipped / path).read_text(encoding="utf-8")
        assert text == (tmp_path / path).read_text(encoding="utf-8"), f"{path} is out of date"


def test_another_seed_gives_another_world(db: Database) -> None:
    """Everything that is not a word in the sources comes from the seed."""
    for table, rows in make_world(1).items():
        assert table == "airports" or rows != db.find(table, {})


def test_reservation_numbers_are_told_from_words_and_flights(db: Database) -> None:
    """Each has letters and digits, and none is formed like a flight number."""
    numbers = [row["reservation_id"] for row in db.find("reservations", {})]
    assert all(RESERVATION_ID.fullmatch(number) for number in numbers)
    for other in ("PLEASE", "202605", "WRN104", "8a3xk2"):
        assert not RESERVATION_ID.fullmatch(other)


def test_the_world_is_large_enough_and_small_enough(db: Database) -> None:
    """500 customers, 300 flights on 30 days, 2,000 reservations, in less than two megabytes."""
    counts = {name: len(_column(db, f"SELECT 1 FROM {name}")) for name in METADATA.tables}
    assert counts["customers"] == 500
    assert counts["airports"] == 20
    assert counts["flights"] == 300
    assert counts["flight_dates"] == 300 * 30
    assert counts["reservations"] == 2000
    assert len(DOMAIN.world.image) < 2_000_000


def test_every_reference_between_rows_holds(db: Database) -> None:
    """No row names another that is not there."""
    assert _rows(db, "PRAGMA foreign_key_check") == []


def test_flights_and_reservations_start_in_every_state(db: Database) -> None:
    """And of every kind, often enough to search for."""
    for sql, values, least in (
        ("SELECT status FROM flight_dates", FLIGHT_STATUSES, 30),
        ("SELECT status FROM reservations", RESERVATION_STATUSES, 50),
        ("SELECT flight_type FROM reservations", FLIGHT_TYPES, 500),
        ("SELECT cabin FROM reservations", CABINS, 300),
        ("SELECT insurance FROM reservations", ("yes", "no"), 500),
        ("SELECT membership FROM customers", MEMBERSHIPS, 100),
        ("SELECT source FROM payment_methods", MAX_PAYING, 100),
    ):
        found = Counter(_column(db, sql))
        assert set(found) == set(values)
        assert min(found.values()) >= least, found


def test_flights_stand_as_they_must_at_this_hour(db: Database) -> None:
    """What is over has its times in the past, what lies ahead in the future, and sales after."""
    today = NOW[:10]
    for status, departure, arrival, date in _rows(
        db, "SELECT status, departure, arrival, date FROM flight_dates"
    ):
        assert (departure is None) == (arrival is None) == (status in ("available", "cancelled"))
        if status == "available":
            assert date > today
        elif status == "landed":
            assert departure < arrival <= NOW
        elif status == "flying":
            assert departure <= NOW < arrival
        elif status != "cancelled":
            assert date == today
            assert NOW < departure < arrival
    ahead = f"SELECT 1 FROM flight_dates WHERE status = 'cancelled' AND date > '{today}'"
    assert len(_column(db, ahead)) > 30


def test_a_delayed_flight_leaves_after_its_time(db: Database) -> None:
    """And one on time at it."""
    late = _rows(
        db,
        """
        SELECT status, departure > date || 'T' || departs, departure < date || 'T' || departs
        FROM flight_dates JOIN flights USING (flight_number) WHERE status IN ('delayed', 'on time')
        """,
    )
    assert set(late) == {("delayed", 1, 0), ("on time", 0, 0)}


def test_prices_rise_with_the_cabin_and_some_cabins_are_full(db: Database) -> None:
    """Whole dollars; the cheapest flight is worth looking for."""
    days = db.find("flight_dates", {"status": "available"})
    for day in days:
        prices = [day[f"{cabin}_cents"] for cabin in CABINS]
        assert prices == sorted(set(prices))
        assert all(cents % 100 == 0 for cents in prices)
    for cabin in CABINS:
        seats = [day[f"{cabin}_seats"] for day in days]
        assert 0.03 < seats.count(0) / len(seats) < 0.12


def test_every_airport_is_left_and_reached(db: Database) -> None:
    """In the order of the list, which starts with San Francisco."""
    airports = DOMAIN.call(db, "list_all_airports", {}).content
    codes = list(json.loads(airports))
    assert codes[:3] == ["SFO", "JFK", "LAX"]
    for side in ("origin", "destination"):
        assert set(_column(db, f"SELECT {side} FROM flights")) == set(codes)
    next_day = _column(db, "SELECT arrival_days FROM flights").count(1)
    assert 15 < next_day < 60


def test_trips_lead_where_they_say_without_a_gap(db: Database) -> None:
    """From origin to destination, and back on a round trip, with an hour to change planes."""
    trips = _trips(db)
    assert len(trips) == 2000
    for trip in trips.values():
        first, last = trip[0], trip[-1]
        assert first["origin"] != first["destination"]
        assert first["leaves_from"] == first["origin"]
        back = first["flight_type"] == "round_trip"
        assert last["lands_at"] == first["origin" if back else "destination"]
        assert first["destination"] in [leg["lands_at"] for leg in trip]
        assert [leg["leaves_from"] for leg in trip[1:]] == [leg["lands_at"] for leg in trip[:-1]]
        for before, after in pairwise(trip):
            landing = datetime.fromisoformat(before["arrival"])
            assert datetime.fromisoformat(after["departure"]) - landing >= timedelta(hours=1)


def test_reservations_were_made_before_departure_and_before_now(db: Database) -> None:
    """Some of them within the last day, and long enough before it to tell."""
    trips = _trips(db)
    for trip in trips.values():
        assert trip[0]["created_at"] < min(trip[0]["departure"], NOW)
    yesterday = "2026-05-14T15:00:00"
    recent = [trip for trip in trips.values() if trip[0]["created_at"] > yesterday]
    assert len([trip for trip in recent if trip[0]["departure"] > NOW]) > 40


def test_trips_are_past_ahead_under_way_and_broken(db: Database) -> None:
    """There is something to cancel, to change, to refuse and to apologise for."""
    kinds: Counter[str] = Counter()
    statuses = {
        (day["flight_number"], day["date"]): day["status"] for day in db.find("flight_dates", {})
    }
    for trip in _trips(db).values():
        if trip[0]["status"] == "active":
            found = [statuses[leg["flight_number"], leg["date"]] for leg in trip]
            kinds.update(set(found))
            flown = [status in ("flying", "landed") for status in found]
            kinds["over" if all(flown) else "under way" if any(flown) else "not begun"] += 1
    assert {kind for kind, count in kinds.items() if count >= 20} == {
        *FLIGHT_STATUSES,
        "over",
        "under way",
        "not begun",
    }


def test_payments_add_up_to_fares_insurance_and_bags(db: Database) -> None:
    """Or to nothing, if cancelled."""
    wrong = _rows(
        db,
        """
        SELECT reservation_id FROM reservations r
        JOIN (SELECT reservation_id, sum(price_cents) AS fares FROM reservation_flights GROUP BY 1)
            USING (reservation_id)
        JOIN (SELECT reservation_id, count(*) AS heads FROM passengers GROUP BY 1)
            USING (reservation_id)
        JOIN (SELECT reservation_id, sum(amount_cents) AS paid FROM payments GROUP BY 1)
            USING (reservation_id)
        WHERE paid != iif(status = 'cancelled', 0,
            (fares + iif(insurance = 'yes', 3000, 0)) * heads + 5000 * nonfree_baggages)
        """,
    )
    assert wrong == []
    assert set(_column(db, "SELECT reservation_id FROM payments")) == set(
        _column(db, "SELECT reservation_id FROM reservations")
    )


def test_reservations_keep_to_the_limits(db: Database) -> None:
    """Five passengers, free bags by membership and cabin, one certificate, one card, three gifts.

    A certificate that paid is used up, and everybody pays with methods of their own.
    """
    heads = dict(_rows(db, "SELECT reservation_id, count(*) FROM passengers GROUP BY 1"))
    assert set(heads.values()) == set(range(1, MAX_PASSENGERS + 1))
    for reservation_id, membership, cabin, total, nonfree in _rows(
        db,
        "SELECT reservation_id, membership, cabin, total_baggages, nonfree_baggages "
        "FROM reservations JOIN customers USING (user_id)",
    ):
        allowance = FREE_BAGS[membership][cabin] * heads[reservation_id]
        assert nonfree == max(0, total - allowance)
    paying: Counter[tuple[str, str]] = Counter()
    for reservation_id, source, cents, own in _rows(
        db,
        "SELECT reservation_id, source, m.amount_cents, r.user_id = m.user_id "
        "FROM payments p JOIN payment_methods m USING (payment_method_id) "
        "JOIN reservations r USING (reservation_id) WHERE p.amount_cents > 0",
    ):
        assert own
        assert source != "certificate" or cents == 0
        paying[reservation_id, source] += 1
    assert all(count <= MAX_PAYING[source] for (_, source), count in paying.items())
    assert {source for _, source in paying} == set(MAX_PAYING)
    assert len({reservation for reservation, _ in paying}) < len(paying)


def test_everybody_can_pay_for_a_change(db: Database) -> None:
    """One credit card or gift card at least, which a certificate cannot replace."""
    can = "SELECT DISTINCT user_id FROM payment_methods WHERE source != 'certificate'"
    assert set(_column(db, can)) == set(_column(db, "SELECT user_id FROM customers"))


def test_ids_look_as_agents_expect(db: Database) -> None:
    """The shapes that policy, tools and simulated customers rely on."""
    for table, column, shape in (
        ("customers", "user_id", r"[a-z]+_[a-z]+_\d{4}"),
        ("customers", "email", r"[a-z]+\.[a-z]+\d{3}@example\.(com|org|net)"),
        ("customers", "dob", r"\d{4}-\d{2}-\d{2}"),
        ("customers", "zip", r"\d{5}"),
        ("reservations", "reservation_id", r"[A-Z0-9]{6}"),
        ("flights", "flight_number", r"WRN\d{3}"),
        ("payment_methods", "payment_method_id", r"(credit_card|gift_card|certificate)_\d{7}"),
    ):
        for value in _column(db, f"SELECT {column} FROM {table}"):
            assert re.fullmatch(shape, str(value)), (table, value)
    emails = _column(db, "SELECT email FROM customers")
    assert len(set(emails)) == len(emails)


def test_there_are_direct_flights_and_changes_of_planes_to_find(db: Database) -> None:
    """Between most cities there is a way on most days, often more than one."""
    codes = _column(db, "SELECT code FROM airports ORDER BY position")[:8]
    found: Counter[str] = Counter()
    for origin in codes:
        for destination in codes:
            arguments = {"origin": origin, "destination": destination, "date": "2026-05-22"}
            for name in ("search_direct_flight", "search_onestop_flight"):
                ways = json.loads(DOMAIN.call(db, name, arguments).content)
                assert origin != destination or name != "search_direct_flight" or not ways
                found[name] += bool(ways)
                found["choice"] += len(ways) > 1
    assert found["search_direct_flight"] > 25
    assert found["search_onestop_flight"] > 45
    assert found["choice"] > 40


def test_every_customer_has_a_profile(db: Database) -> None:
    """Which agrees with what an agent sees."""
    for user_id in _column(db, "SELECT user_id FROM customers"):
        told = DOMAIN.profile(db, user_id)
        shown = json.loads(DOMAIN.call(db, "get_user_details", {"user_id": user_id}).content)
        assert told["name"] == f"{shown['name']['first_name']} {shown['name']['last_name']}"
        assert (told["email"], told["date of birth"]) == (shown["email"], shown["dob"])
        assert told["membership"] == shown["membership"]
