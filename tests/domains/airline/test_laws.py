"""Laws of seats and money, for whatever an agent may do."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.domains.airline import DOMAIN
from passhat.domains.airline.tables import CABINS, METADATA
from passhat.domains.database import Database
from passhat.domains.world import World

ROUTES = {
    "one_way": ["W04/20", "W01/20 W02/20", "W05/20 W06/21", "W04/21", "W01/20", "W08/20"],
    "round_trip": [
        "W04/20 W03/21",
        "W04/14 W03/21",
        "W01/20 W02/20 W03/22",
        "W04/20 W03/22",
        "W03/20 W04/21",
    ],
}
USERS = st.sampled_from(["ana_silva_1111", "ben_okoye_2222"])
METHODS = st.sampled_from(
    [
        "credit_card_1111111",
        "gift_card_1111111",
        "gift_card_1111112",
        "certificate_1111112",
        "credit_card_2222222",
        "gift_card_2222222",
    ]
)
PEOPLE = st.lists(
    st.fixed_dictionaries(
        {
            "first_name": st.sampled_from(["Ana", "Ben"]),
            "last_name": st.just("Silva"),
            "dob": st.just("2000-01-01"),
        }
    ),
    min_size=1,
    max_size=3,
)
ROUTE = st.sampled_from([route for routes in ROUTES.values() for route in routes])


def _flights(route: str) -> list[dict[str, str]]:
    legs = (leg.split("/") for leg in route.split())
    return [{"flight_number": number, "date": f"2026-05-{day}"} for number, day in legs]


ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "user_id": USERS,
    "reservation_id": st.sampled_from(["ONEWAY", "ROUND1", "FLOWN1", "GONE01", "BASIC1", 0, 1]),
    "origin": st.sampled_from(["JFK", "JFK", "JFK", "LAX"]),
    "destination": st.sampled_from(["LAX", "LAX", "ORD", "JFK"]),
    "flight_type": st.sampled_from(list(ROUTES)),
    "cabin": st.sampled_from(CABINS),
    "flights": ROUTE.map(_flights),
    "passengers": PEOPLE,
    "payment_methods": st.lists(METHODS, min_size=1, max_size=2, unique=True),
    "total_baggages": st.integers(0, 9),
    "nonfree_baggages": st.integers(0, 3),
    "insurance": st.sampled_from(["yes", "no"]),
    "payment_id": METHODS,
    "amount": st.sampled_from([50, 100, 0.25]),
}


@st.composite
def _writes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Any call of a writing tool, sensible or not."""
    name = draw(st.sampled_from([name for name, tool in DOMAIN.tools.items() if tool.writes]))
    fields = DOMAIN.tools[name].arguments.model_fields
    return name, {field: draw(ARGUMENTS[field]) for field in fields}


def _call(db: Database, name: str, arguments: dict[str, Any], booked: list[str]) -> Iterator[Any]:
    """Make the call; what its refusal says is right (price, bags) is then tried as well.

    A reservation named by a number is one that was booked before.
    """
    if isinstance(number := arguments.get("reservation_id"), int):
        arguments = arguments | {"reservation_id": (booked[number:] or ["ONEWAY"])[0]}
    if name == "book_reservation":
        first, *others = arguments["payment_methods"]
        paid = [{"payment_id": method, "amount": 1} for method in (first, *others)]
        arguments = arguments | {"payment_methods": paid}
    for _ in range(3):
        outcome = DOMAIN.call(db, name, arguments)
        yield outcome
        if bags := re.search(r"nonfree bags should be (\d+)", outcome.content):
            arguments = arguments | {"nonfree_baggages": int(bags[1])}
        elif price := re.search(r"total price is (\d+)", outcome.content):
            rest = int(price[1]) - len(arguments["payment_methods"]) + 1
            arguments["payment_methods"][0]["amount"] = rest
        else:
            break
    if name == "book_reservation" and outcome.error is None:
        booked.append(outcome.content[20:26])


def _all_rows(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [tuple(row) for row in db.connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
        for name in METADATA.tables
    }


def _seats(db: Database) -> Counter[tuple[str, str, str]]:
    """Seats of each flight, day and cabin that is on sale: free ones and taken ones together."""
    seats: Counter[tuple[str, str, str]] = Counter()
    for day in db.find("flight_dates", {"status": "available"}):
        for cabin in CABINS:
            seats[day["flight_number"], day["date"], cabin] += day[f"{cabin}_seats"]
    for number, date, cabin in db.connection.execute("""
        SELECT flight_number, f.date, cabin FROM reservations
        JOIN reservation_flights f USING (reservation_id) JOIN passengers USING (reservation_id)
        JOIN flight_dates d USING (flight_number)
        WHERE reservations.status = 'active' AND d.date = f.date AND d.status = 'available'
    """):
        seats[number, date, cabin] += 1
    return seats


def _due(db: Database) -> dict[str, int]:
    """What each reservation costs: fares, insurance and bags, or nothing once it is cancelled."""
    return dict(
        db.connection.execute("""
            SELECT reservation_id, iif(status = 'cancelled', 0,
                (SELECT sum(price_cents) FROM reservation_flights f
                 WHERE f.reservation_id = r.reservation_id) * heads
                + iif(insurance = 'yes', 3000, 0) * heads + 5000 * nonfree_baggages)
            FROM reservations r JOIN
                (SELECT reservation_id, count(*) AS heads FROM passengers GROUP BY 1)
                USING (reservation_id)
        """).fetchall()
    )


def _paid(db: Database, column: str) -> dict[str, int]:
    """Net cents paid, by reservation or by payment method."""
    return dict(
        db.connection.execute(f"SELECT {column}, sum(amount_cents) FROM payments GROUP BY 1")
    )


def _amounts(db: Database, source: str) -> dict[str, int]:
    found = db.find("payment_methods", {"source": source})
    return {row["payment_method_id"]: row["amount_cents"] for row in found}


@settings(max_examples=100, deadline=None)
@given(calls=st.lists(_writes(), max_size=7))
def test_no_sequence_of_writes_makes_or_loses_seats_or_money(
    world: World, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Free and taken seats add up, reservations are paid to the cent.

    Gift cards pay what they lose, certificates never gain, and neither runs below zero. A refused
    call changes no row.
    """
    booked: list[str] = []
    with world.fork() as db:
        seats, paid = _seats(db), _paid(db, "payment_method_id")
        gift_cards, certificates = _amounts(db, "gift_card"), _amounts(db, "certificate")
        for name, arguments in calls:
            before = _all_rows(db)
            for outcome in _call(db, name, arguments, booked):
                assert (outcome.error is None) or _all_rows(db) == before
            assert _seats(db) == seats
            assert _paid(db, "reservation_id") == _due(db)
            spent = _paid(db, "payment_method_id")
            for card, cents in _amounts(db, "gift_card").items():
                assert cents >= 0
                assert cents + spent.get(card, 0) == gift_cards[card] + paid.get(card, 0)
            for certificate, cents in _amounts(db, "certificate").items():
                start = certificates.setdefault(certificate, cents) + paid.get(certificate, 0)
                assert 0 <= cents <= start - spent.get(certificate, 0)


@given(
    name=st.sampled_from([name for name, tool in DOMAIN.tools.items() if not tool.writes]),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_reads_leave_every_row_as_it_was(world: World, name: str, data: st.DataObject) -> None:
    """Any read with any words, found or not."""
    words = st.sampled_from(
        ["ana_silva_1111", "ONEWAY", "JFK", "LAX", "W01", "2026-05-20", "", "'; DROP TABLE flights"]
    )
    with world.fork() as db:
        before = _all_rows(db)
        fields = DOMAIN.tools[name].arguments.model_fields
        DOMAIN.call(db, name, {field: data.draw(words) for field in fields})
        assert _all_rows(db) == before
        assert db.position == 0
