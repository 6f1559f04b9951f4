"""The tools of the airline, one by one: what they show, what they write, what they refuse."""

import json
from typing import Any

import pytest

from passhat.domains.airline import DOMAIN, tools
from passhat.domains.database import Database
from passhat.errors import BrokenToolError, TaskError, ToolError
from passhat.transcript import ErrorKind

ANA, BEN = "ana_silva_1111", "ben_okoye_2222"
ONEWAY, ROUND, FLOWN, GONE, BASIC = "ONEWAY", "ROUND1", "FLOWN1", "GONE01", "BASIC1"
CARD, OTHER_CARD = "credit_card_1111111", "credit_card_1111112"
GIFT, SMALL_GIFT = "gift_card_1111111", "gift_card_1111112"
CERTIFICATE, OTHER_CERTIFICATE, USED = (f"certificate_111111{n}" for n in (1, 2, 9))
BENS_CARD, BENS_GIFT = "credit_card_2222222", "gift_card_2222222"
ANA_FLIES = {"first_name": "Ana", "last_name": "Silva", "dob": "1980-02-29"}
MAX_FLIES = {"first_name": "Max", "last_name": "Silva", "dob": "2011-07-04"}
DAY, NEXT, LAST = "2026-05-20", "2026-05-21", "2026-05-22"


def flights(*legs: str) -> list[Any]:
    """Choices of flights as agents give them, from "number/day of May"."""
    return [
        {"flight_number": number, "date": f"2026-05-{day}"}
        for number, day in (leg.split("/") for leg in legs)
    ]


def pays(**amounts: float) -> list[Any]:
    """Payments as agents give them."""
    return [{"payment_id": name, "amount": amount} for name, amount in amounts.items()]


def booking(**changes: Any) -> dict[str, Any]:
    """Arguments of a booking that works: JFK to LAX by W04 on the 20th, economy, 104 dollars."""
    return {
        "user_id": ANA,
        "origin": "JFK",
        "destination": "LAX",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": flights("W04/20"),
        "passengers": [ANA_FLIES],
        "payment_methods": pays(credit_card_1111111=104),
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    } | changes


def seats(db: Database, number: str, date: str = DAY, cabin: str = "economy") -> int:
    """What can still be booked."""
    day = db.find("flight_dates", {"flight_number": number, "date": date})[0]
    left: int = day[f"{cabin}_seats"]
    return left


def amount(db: Database, method: str) -> float | None:
    """What a gift card or certificate of Ana or Ben is worth, in dollars; None if not shown."""
    owner = BEN if method.endswith("2222222") else ANA
    shown = tools.get_user_details(db, owner)["payment_methods"].get(method, {})
    left: float | None = shown.get("amount")
    return left


def history(reservation: dict[str, Any]) -> list[tuple[str, float]]:
    """A reservation's payments, as short as can be."""
    return [tuple(payment.values()) for payment in reservation["payment_history"]]


def legs(reservation: dict[str, Any]) -> list[tuple[str, str, float]]:
    """A reservation's flights, as short as can be."""
    return [(leg["flight_number"], leg["date"], leg["price"]) for leg in reservation["flights"]]


# --- the desk as a whole --------------------------------------------------------------------------


def test_the_desk_has_the_fifteen_tools() -> None:
    """Names as in tau-bench's airline desk, and tau2's get_flight_status."""
    assert list(DOMAIN.tools) == [
        "book_reservation",
        "calculate",
        "cancel_reservation",
        "get_flight_status",
        "get_reservation_details",
        "get_user_details",
        "list_all_airports",
        "search_direct_flight",
        "search_onestop_flight",
        "send_certificate",
        "think",
        "transfer_to_human_agents",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    ]


def test_six_tools_write_and_one_hands_over() -> None:
    """The marks that policy checks and replay rely on."""
    assert [name for name, tool in DOMAIN.tools.items() if tool.writes] == [
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    ]
    assert [name for name, tool in DOMAIN.tools.items() if tool.hands_over] == [
        "transfer_to_human_agents"
    ]


@pytest.mark.parametrize("name", DOMAIN.tools)
def test_every_tool_and_argument_is_described(name: str) -> None:
    """The schema an agent reads says what the tool does and what each argument is."""
    schema = DOMAIN.tools[name].schema
    assert schema["description"]
    properties = schema["input_schema"]["properties"]
    assert all(described.get("description") for described in properties.values())
    assert schema["input_schema"].get("required", []) == list(properties)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cabin": "first"}, "argument 'cabin': input should be 'basic_economy', 'economy' or"),
        ({"flight_type": "return"}, "argument 'flight_type': input should be 'one_way' or"),
        ({"insurance": True}, "argument 'insurance': input should be 'yes' or 'no', not True"),
        ({"flights": []}, "argument 'flights': list should have at least 1 item"),
        ({"flights": flights("W04/5")}, "argument 'flights.0.date': string should match pattern"),
        ({"passengers": []}, "argument 'passengers': list should have at least 1 item"),
        ({"passengers": [{"first_name": "Ana"}]}, "argument 'passengers.0.last_name' is missing"),
        ({"passengers": [ANA_FLIES | {"seat": "4A"}]}, "argument 'passengers.0.seat' is not known"),
        (
            {"payment_methods": pays(credit_card_1111111=-104)},
            "argument 'payment_methods.0.amount': input should be greater than 0, not -104",
        ),
        (
            {"payment_methods": pays(credit_card_1111111=float("nan"))},
            "argument 'payment_methods.0.amount': input should be a finite number",
        ),
        ({"total_baggages": -1}, "argument 'total_baggages': input should be greater than or"),
        ({"nonfree_baggages": 1.5}, "argument 'nonfree_baggages': input should be a valid int"),
    ],
)
def test_an_argument_of_another_kind_never_reaches_the_tool(
    airline: Database, changes: dict[str, Any], said: str
) -> None:
    """The agent is told which argument is wrong, and nothing is written."""
    outcome = DOMAIN.call(airline, "book_reservation", booking(**changes))
    assert outcome.error is ErrorKind.BAD_ARGUMENT
    assert said in outcome.content
    assert airline.changes() == ()


# --- looking things up ------------------------------------------------------------------------


def test_a_customer_is_shown_with_wallet_companions_and_reservations(airline: Database) -> None:
    """The whole result, key order included; whole dollars are whole numbers; used up is gone."""
    assert DOMAIN.call(airline, "get_user_details", {"user_id": ANA}).content == json.dumps(
        {
            "name": {"first_name": "Ana", "last_name": "Silva"},
            "address": {
                "address1": "12 Finch Lane",
                "address2": "",
                "city": "Boston",
                "country": "USA",
                "state": "MA",
                "zip": "02101",
            },
            "email": "ana@example.com",
            "dob": "1980-02-29",
            "payment_methods": {
                CERTIFICATE: {"source": "certificate", "amount": 100, "id": CERTIFICATE},
                OTHER_CERTIFICATE: {
                    "source": "certificate",
                    "amount": 250,
                    "id": OTHER_CERTIFICATE,
                },
                CARD: {"source": "credit_card", "brand": "visa", "last_four": "4242", "id": CARD},
                OTHER_CARD: {
                    "source": "credit_card",
                    "brand": "mastercard",
                    "last_four": "1881",
                    "id": OTHER_CARD,
                },
                GIFT: {"source": "gift_card", "amount": 300, "id": GIFT},
                SMALL_GIFT: {"source": "gift_card", "amount": 50.5, "id": SMALL_GIFT},
                "gift_card_1111113": {
                    "source": "gift_card",
                    "amount": 50,
                    "id": "gift_card_1111113",
                },
                "gift_card_1111114": {
                    "source": "gift_card",
                    "amount": 50,
                    "id": "gift_card_1111114",
                },
            },
            "saved_passengers": [MAX_FLIES],
            "membership": "gold",
            "reservations": [ONEWAY, ROUND],
        }
    )


def test_a_reservation_is_shown_with_flights_passengers_and_payments(airline: Database) -> None:
    """The whole result, key order included; a status only once it is cancelled."""
    details = {
        "reservation_id": ROUND,
        "user_id": ANA,
        "origin": "JFK",
        "destination": "LAX",
        "flight_type": "round_trip",
        "cabin": "economy",
        "flights": [
            {
                "origin": "JFK",
                "destination": "LAX",
                "flight_number": "W04",
                "date": DAY,
                "price": 100,
            },
            {
                "origin": "LAX",
                "destination": "JFK",
                "flight_number": "W03",
                "date": LAST,
                "price": 120,
            },
        ],
        "passengers": [ANA_FLIES],
        "payment_history": [
            {"payment_id": USED, "amount": 50},
            {"payment_id": GIFT, "amount": 200},
        ],
        "created_at": "2026-05-02T09:30:00",
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "yes",
    }
    call = DOMAIN.call(airline, "get_reservation_details", {"reservation_id": ROUND})
    assert call.content == json.dumps(details)
    gone = tools.get_reservation_details(airline, GONE)
    assert list(gone) == [*details, "status"]
    assert gone["status"] == "cancelled"


def test_airports_are_listed_in_their_order(airline: Database) -> None:
    """Code and city."""
    content = DOMAIN.call(airline, "list_all_airports", {}).content
    assert content == '{"JFK": "New York", "ORD": "Chicago", "LAX": "Los Angeles"}'


@pytest.mark.parametrize(
    ("number", "date", "status"),
    [
        ("W01", "2026-05-15", "landed"),
        ("W02", "2026-05-15", "flying"),
        ("W03", "2026-05-15", "cancelled"),
        ("W05", "2026-05-15", "on time"),
        ("W08", "2026-05-15", "delayed"),
        ("W08", DAY, "available"),
    ],
)
def test_the_status_of_a_flight_is_told(
    airline: Database, number: str, date: str, status: str
) -> None:
    """In every state, so that a claim can be checked."""
    call = DOMAIN.call(airline, "get_flight_status", {"flight_number": number, "date": date})
    assert (call.error, call.content) == (None, status)


def test_direct_flights_are_shown_with_seats_and_prices(airline: Database) -> None:
    """The whole result, key order included; the day's own prices."""
    arguments = {"origin": "JFK", "destination": "ORD", "date": NEXT}
    assert DOMAIN.call(airline, "search_direct_flight", arguments).content == json.dumps(
        [
            {
                "flight_number": number,
                "origin": "JFK",
                "destination": "ORD",
                "scheduled_departure_time_est": departs,
                "scheduled_arrival_time_est": arrives,
                "status": "available",
                "available_seats": {"basic_economy": 4, "economy": 6, "business": 2},
                "prices": {"basic_economy": basic, "economy": basic + 50, "business": basic + 250},
            }
            for number, departs, arrives, basic in (
                ("W01", "08:00:00", "10:00:00", 61),
                ("W05", "22:00:00", "00:30:00+1", 65),
            )
        ]
    )


@pytest.mark.parametrize(
    ("origin", "destination", "date"),
    [
        ("JFK", "XYZ", DAY),
        ("JFK", "ORD", "2026-05-15"),
        ("JFK", "ORD", "2026-06-20"),
        ("JFK", "JFK", DAY),
        ("JFK", "ORD", "2026-02-30"),
    ],
)
def test_what_cannot_be_booked_is_not_found(
    airline: Database, origin: str, destination: str, date: str
) -> None:
    """Unknown airports, today's flights and days without flights give an empty list."""
    assert tools.search_direct_flight(airline, origin, destination, date) == []
    assert tools.search_onestop_flight(airline, origin, destination, date) == []


def test_a_change_of_planes_gives_time_to_change(airline: Database) -> None:
    """W02 leaves after W01 has landed, W07 before; W05 lands the day after, in time for W06."""
    pairs = tools.search_onestop_flight(airline, "JFK", "LAX", DAY)
    found = [[(leg["flight_number"], leg["date"]) for leg in pair] for pair in pairs]
    assert found == [
        [("W01", DAY), ("W02", DAY)],
        [("W05", DAY), ("W02", NEXT)],
        [("W05", DAY), ("W06", NEXT)],
        [("W05", DAY), ("W07", NEXT)],
    ]


def test_a_second_flight_on_the_next_day_has_the_prices_of_that_day(airline: Database) -> None:
    """Seats too: both legs are shown as the direct search shows them, with their date."""
    tools.book_reservation(
        airline,
        **booking(
            origin="ORD", flights=flights("W06/21"), payment_methods=pays(credit_card_1111111=116)
        ),
    )
    pair = tools.search_onestop_flight(airline, "JFK", "LAX", DAY)[2]
    for leg, (origin, destination, date) in zip(
        pair, (("JFK", "ORD", DAY), ("ORD", "LAX", NEXT)), strict=True
    ):
        direct = tools.search_direct_flight(airline, origin, destination, date)
        assert leg in [shown | {"date": date} for shown in direct]
        assert list(leg)[-1] == "date"
    assert pair[1]["available_seats"]["economy"] == 5


def test_a_connection_needs_both_flights_on_sale(airline: Database) -> None:
    """W06 is cancelled on the 22nd, and the 23rd has no flights at all."""
    pairs = tools.search_onestop_flight(airline, "JFK", "LAX", NEXT)
    assert [leg["flight_number"] for pair in pairs for leg in pair] == [
        "W01", "W02", "W05", "W02", "W05", "W07",
    ]  # fmt: skip
    pairs = tools.search_onestop_flight(airline, "JFK", "LAX", LAST)
    assert [leg["flight_number"] for pair in pairs for leg in pair] == ["W01", "W02"]


# --- booking --------------------------------------------------------------------------------------


def test_a_booking_is_stored_paid_and_seated(airline: Database) -> None:
    """The whole result but its id; the world's clock; the customer's list; two seats less."""
    arguments = booking(
        passengers=[ANA_FLIES, MAX_FLIES],
        total_baggages=7,
        nonfree_baggages=1,
        insurance="yes",
        payment_methods=pays(
            certificate_1111112=200, gift_card_1111111=18, credit_card_1111112=100
        ),
    )
    made = json.loads(DOMAIN.call(airline, "book_reservation", arguments).content)
    new = made.pop("reservation_id")
    assert len(new) == 6
    assert made == {
        "user_id": ANA,
        "origin": "JFK",
        "destination": "LAX",
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [
            {
                "origin": "JFK",
                "destination": "LAX",
                "flight_number": "W04",
                "date": DAY,
                "price": 104,
            }
        ],
        "passengers": [ANA_FLIES, MAX_FLIES],
        "payment_history": [
            {"payment_id": OTHER_CERTIFICATE, "amount": 200},
            {"payment_id": GIFT, "amount": 18},
            {"payment_id": OTHER_CARD, "amount": 100},
        ],
        "created_at": "2026-05-15T15:00:00",
        "total_baggages": 7,
        "nonfree_baggages": 1,
        "insurance": "yes",
    }
    assert tools.get_user_details(airline, ANA)["reservations"] == [ONEWAY, ROUND, new]
    assert seats(airline, "W04") == 4
    assert amount(airline, GIFT) == 282
    assert amount(airline, OTHER_CERTIFICATE) is None


def test_a_round_trip_leads_there_and_back(airline: Database) -> None:
    """With a change of planes on the way there, on the night between two days."""
    made = tools.book_reservation(
        airline,
        **booking(
            flight_type="round_trip",
            flights=flights("W05/20", "W06/21", "W03/22"),
            payment_methods=pays(credit_card_1111111=105 + 116 + 123),
        ),
    )
    assert [leg[0] for leg in legs(made)] == ["W05", "W06", "W03"]
    assert [leg[2] for leg in legs(made)] == [105, 116, 123]


def test_every_booking_gets_an_id_of_its_own(airline: Database) -> None:
    """Any number of bookings, the same trip many times; the ids are the same in every run."""
    with airline.fork() as twin:
        ids = [
            [tools.book_reservation(db, **booking())["reservation_id"] for _ in range(6)]
            for db in (airline, twin)
        ]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 6
    assert set(tools.get_user_details(airline, ANA)["reservations"]) == {ONEWAY, ROUND, *ids[0]}


def test_cents_are_paid_to_the_cent(airline: Database) -> None:
    """A gift card with 50.50 pays all of it, and a fraction of a cent is refused."""
    paid = pays(gift_card_1111112=50.5, credit_card_1111111=53.5)
    made = tools.book_reservation(airline, **booking(payment_methods=paid))
    assert history(made) == [(SMALL_GIFT, 50.5), (CARD, 53.5)]
    assert amount(airline, SMALL_GIFT) == 0
    with pytest.raises(ToolError, match=r"no fractions of a cent, not 103\.999"):
        tools.book_reservation(
            airline, **booking(payment_methods=pays(credit_card_1111111=103.999))
        )


@pytest.mark.parametrize(
    ("customer", "cabin", "free"),
    [
        (BEN, "basic_economy", 0),
        (BEN, "economy", 1),
        (BEN, "business", 2),
        (ANA, "basic_economy", 2),
        (ANA, "economy", 3),
        (ANA, "business", 3),
    ],
)
def test_free_bags_depend_on_membership_and_cabin(
    airline: Database, customer: str, cabin: str, free: int
) -> None:
    """One bag more costs 50 dollars, and the refusal of another count says the right one."""
    fare = {"basic_economy": 54, "economy": 104, "business": 304}[cabin]
    card = BENS_CARD if customer == BEN else CARD
    arguments = booking(
        user_id=customer, cabin=cabin, total_baggages=free + 1, payment_methods=pays(**{card: fare})
    )
    with pytest.raises(ToolError, match="number of nonfree bags should be 1, not 0"):
        tools.book_reservation(airline, **arguments)
    with pytest.raises(ToolError, match="number of nonfree bags should be 1, not 2"):
        tools.book_reservation(airline, **arguments | {"nonfree_baggages": 2})
    paid = {"nonfree_baggages": 1, "payment_methods": pays(**{card: fare + 50})}
    assert tools.book_reservation(airline, **arguments | paid)["total_baggages"] == free + 1


def test_silver_members_have_one_bag_more_than_regular_ones(airline: Database) -> None:
    """The third row of the table."""
    airline.set_values("customers", {"user_id": BEN}, {"membership": "silver"})
    for cabin, free, fare in (("basic_economy", 1, 54), ("economy", 2, 104), ("business", 3, 304)):
        tools.book_reservation(
            airline,
            **booking(
                user_id=BEN,
                cabin=cabin,
                total_baggages=free,
                payment_methods=pays(credit_card_2222222=fare),
            ),
        )


BOOKING_REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"user_id": "ana_silva_9999"}, "user not found"),
    ({"passengers": [ANA_FLIES] * 6}, "at most 5 passengers can fly, not 6"),
    ({"flights": flights("W99/20")}, "flight W99 not found"),
    ({"flights": flights("W04/25")}, "flight W04 not found on date 2026-05-25"),
    ({"flights": flights("W05/15")}, "flight W05 not available on date 2026-05-15"),
    ({"flights": flights("W04/14")}, "flight W04 not available on date 2026-05-14"),
    (
        {"cabin": "business", "passengers": [ANA_FLIES] * 3},
        "not enough seats on flight W04",
    ),
    ({"destination": "JFK"}, "origin and destination must be different"),
    ({"destination": "ORD"}, "flights lead from JFK to LAX, not JFK to ORD"),
    ({"origin": "ORD"}, "flights lead from JFK to LAX, not ORD to LAX"),
    (
        {"flights": flights("W04/20", "W06/21")},
        "flight W06 leaves from ORD, not from LAX, where flight W04 lands",
    ),
    (
        {"flights": flights("W01/20", "W07/20")},
        "flight W07 on date 2026-05-20 leaves before flight W01 lands",
    ),
    (
        {"flights": flights("W05/20", "W02/20")},
        "flight W02 on date 2026-05-20 leaves before flight W05 lands",
    ),
    (
        {"flights": flights("W01/21", "W02/20")},
        "flight W02 on date 2026-05-20 leaves before flight W01 lands",
    ),
    (
        {"flights": flights("W04/20", "W03/21")},
        "flights lead from JFK to JFK, not JFK to LAX",
    ),
    (
        {"flight_type": "round_trip"},
        "flights do not lead from JFK to LAX and back",
    ),
    (
        {"flight_type": "round_trip", "destination": "ORD", "flights": flights("W04/20", "W03/21")},
        "flights do not lead from JFK to ORD and back",
    ),
    ({"payment_methods": []}, "payment amount does not add up, total price is 104, but paid 0"),
    (
        {"payment_methods": pays(credit_card_1111111=103.5)},
        "payment amount does not add up, total price is 104, but paid 103.5",
    ),
    (
        {"payment_methods": pays(credit_card_2222222=104)},
        "payment method credit_card_2222222 not found",
    ),
    (
        {"payment_methods": pays(certificate_1111119=104)},
        "payment method certificate_1111119 not found",
    ),
    (
        {"payment_methods": pays(certificate_1111111=104)},
        "not enough balance in payment method certificate_1111111",
    ),
    (
        {"payment_methods": pays(gift_card_1111113=50.01)},
        "not enough balance in payment method gift_card_1111113",
    ),
    (
        {"payment_methods": [*pays(gift_card_1111113=50), *pays(gift_card_1111113=50)]},
        "payment method gift_card_1111113 is listed twice",
    ),
    (
        {"payment_methods": pays(certificate_1111111=52, certificate_1111112=52)},
        "at most 1 certificate can pay for a booking, not 2",
    ),
    (
        {"payment_methods": pays(credit_card_1111111=52, credit_card_1111112=52)},
        "at most 1 credit_card can pay for a booking, not 2",
    ),
    (
        {"payment_methods": pays(**{f"gift_card_111111{n}": 26 for n in (1, 2, 3, 4)})},
        "at most 3 gift_card can pay for a booking, not 4",
    ),
]


@pytest.mark.parametrize(("changes", "refusal"), BOOKING_REFUSED)
def test_a_booking_that_cannot_be_says_why_and_changes_no_row(
    airline: Database, changes: dict[str, Any], refusal: str
) -> None:
    """Word for word, and the world stays as it was."""
    outcome = DOMAIN.call(airline, "book_reservation", booking(**changes))
    assert (outcome.error, outcome.content) == (ErrorKind.REFUSED, f"Error: {refusal}")
    assert airline.changes() == ()


# --- cancelling -----------------------------------------------------------------------------------


def test_cancelling_refunds_every_method_and_frees_every_seat(airline: Database) -> None:
    """The gift card gets its money, the certificate what it paid, each flight its seats."""
    gone = tools.cancel_reservation(airline, ROUND)
    assert gone["status"] == "cancelled"
    assert history(gone) == [(USED, 50), (GIFT, 200), (USED, -50), (GIFT, -200)]
    assert amount(airline, GIFT) == 500
    assert amount(airline, USED) == 50
    assert (seats(airline, "W04"), seats(airline, "W03", LAST)) == (7, 7)


def test_what_was_left_on_a_certificate_stays_forfeited(airline: Database) -> None:
    """A certificate of 250 that paid 104 comes back with 104."""
    made = tools.book_reservation(airline, **booking(payment_methods=pays(certificate_1111112=104)))
    tools.cancel_reservation(airline, made["reservation_id"])
    assert amount(airline, OTHER_CERTIFICATE) == 104
    assert seats(airline, "W04") == 6


def test_a_reservation_is_cancelled_once(airline: Database) -> None:
    """The second time changes nothing."""
    tools.cancel_reservation(airline, ONEWAY)
    position = airline.position
    outcome = DOMAIN.call(airline, "cancel_reservation", {"reservation_id": ONEWAY})
    assert outcome.content == "Error: reservation is already cancelled"
    assert airline.position == position


def test_cancelling_refunds_what_is_paid_after_all_changes(airline: Database) -> None:
    """A difference that went to another method already is not refunded twice."""
    tools.update_reservation_flights(
        airline, ONEWAY, "basic_economy", flights("W01/20", "W02/20"), GIFT
    )
    assert amount(airline, GIFT) == 300 + 2 * (90 + 80 - 51 - 52)
    gone = tools.cancel_reservation(airline, ONEWAY)
    assert history(gone) == [(CARD, 390), (GIFT, -134), (CARD, -256)]
    assert seats(airline, "W01", DAY, "basic_economy") == 4


def test_a_flight_that_was_flown_has_no_seats_to_give_back(airline: Database) -> None:
    """Whether such a trip may be cancelled is for the policy; the day's row stays as it is."""
    tools.cancel_reservation(airline, FLOWN)
    days = [change.key for change in airline.changes() if change.table == "flight_dates"]
    assert days == [("W03", DAY)]


# --- changing flights -----------------------------------------------------------------------------


def test_flights_that_stay_keep_their_price(airline: Database) -> None:
    """Only the way back changes; its difference is paid, its seats are swapped."""
    changed = tools.update_reservation_flights(
        airline, ROUND, "economy", flights("W04/20", "W03/21"), CARD
    )
    assert legs(changed) == [("W04", DAY, 100), ("W03", NEXT, 113)]
    assert history(changed)[2:] == [(CARD, -7)]
    assert (seats(airline, "W04"), seats(airline, "W03", LAST), seats(airline, "W03", NEXT)) == (
        6, 7, 5,
    )  # fmt: skip


def test_another_cabin_prices_all_flights_anew_and_is_stored(airline: Database) -> None:
    """Both passengers move to business, and a second change keeps the new prices."""
    choice = flights("W01/20", "W02/20")
    changed = tools.update_reservation_flights(airline, ONEWAY, "business", choice, CARD)
    assert changed["cabin"] == "business"
    assert legs(changed) == [("W01", DAY, 301), ("W02", DAY, 302)]
    assert history(changed)[1:] == [(CARD, 2 * (301 + 302 - 90 - 80))]
    assert (seats(airline, "W01"), seats(airline, "W01", cabin="business")) == (8, 0)
    position = airline.position
    assert tools.update_reservation_flights(airline, ONEWAY, "business", choice, CARD) == changed
    assert airline.changes(position) == ()


def test_a_gift_card_pays_or_receives_the_difference(airline: Database) -> None:
    """Its amount goes down by what is due, and up by what is owed."""
    tools.update_reservation_flights(airline, ROUND, "business", flights("W04/20", "W03/22"), CARD)
    assert amount(airline, GIFT) == 300
    tools.update_reservation_flights(airline, ROUND, "economy", flights("W04/20", "W03/21"), GIFT)
    assert amount(airline, GIFT) == 300 + (304 + 323) - (104 + 113)


def test_a_flown_flight_stays_while_the_way_back_changes(airline: Database) -> None:
    """It keeps its price and is not checked again."""
    changed = tools.update_reservation_flights(
        airline, FLOWN, "basic_economy", flights("W04/14", "W03/21"), BENS_CARD
    )
    assert legs(changed) == [("W04", "2026-05-14", 50), ("W03", NEXT, 63)]
    assert history(changed)[1:] == [(BENS_CARD, 3)]


def test_a_direct_flight_may_become_two(airline: Database) -> None:
    """Origin and destination are what stays."""
    changed = tools.update_reservation_flights(
        airline, ROUND, "economy", flights("W01/20", "W02/20", "W03/22"), CARD
    )
    assert [leg[0] for leg in legs(changed)] == ["W01", "W02", "W03"]


FLIGHTS_REFUSED: list[tuple[tuple[Any, ...], str]] = [
    (("NOWHER", "economy", flights("W01/20"), CARD), "reservation not found"),
    ((GONE, "business", flights("W01/21"), BENS_CARD), "reservation is already cancelled"),
    ((ROUND, "economy", flights("W99/20", "W03/22"), CARD), "flight W99 not found"),
    (
        (ROUND, "economy", flights("W04/30", "W03/22"), CARD),
        "flight W04 not found on date 2026-05-30",
    ),
    (
        (ROUND, "economy", flights("W04/14", "W03/22"), CARD),
        "flight W04 not available on date 2026-05-14",
    ),
    (
        (FLOWN, "economy", flights("W04/14", "W03/20"), BENS_CARD),
        "flight W04 not available on date 2026-05-14",
    ),
    (
        (FLOWN, "basic_economy", flights("W04/20", "W03/21"), BENS_CARD),
        "flight W04 on date 2026-05-14 has left and must stay",
    ),
    (
        (ONEWAY, "economy", flights("W01/20"), CARD),
        "flights lead from JFK to ORD, not JFK to LAX",
    ),
    (
        (ROUND, "economy", flights("W04/20"), CARD),
        "flights do not lead from JFK to LAX and back",
    ),
    (
        (ROUND, "economy", flights("W04/22", "W03/22"), CARD),
        "flight W03 on date 2026-05-22 leaves before flight W04 lands",
    ),
    ((ROUND, "economy", flights("W04/20", "W03/21"), BENS_CARD), "payment method not found"),
    ((ROUND, "economy", flights("W04/20", "W03/21"), USED), "payment method not found"),
    (
        (ROUND, "economy", flights("W04/20", "W03/21"), CERTIFICATE),
        "certificate cannot be used to update reservation",
    ),
    (
        (ROUND, "business", flights("W04/20", "W03/22"), GIFT),
        "gift card balance is not enough",
    ),
]


@pytest.mark.parametrize(("values", "refusal"), FLIGHTS_REFUSED)
def test_a_change_of_flights_that_cannot_be_says_why_and_changes_no_row(
    airline: Database, values: tuple[Any, ...], refusal: str
) -> None:
    """Word for word, and the world stays as it was."""
    _refused(airline, "update_reservation_flights", values, refusal)


def _refused(db: Database, name: str, values: tuple[Any, ...], refusal: str) -> None:
    tool = DOMAIN.tools[name]
    arguments = dict(zip(tool.arguments.model_fields, values, strict=True))
    outcome = DOMAIN.call(db, name, arguments)
    assert (outcome.error, outcome.content) == (ErrorKind.REFUSED, f"Error: {refusal}")
    assert outcome.rows == ()
    assert db.changes() == ()


def test_a_change_needs_seats_in_the_new_cabin(airline: Database) -> None:
    """For every passenger."""
    airline.set_values("flight_dates", {"flight_number": "W02", "date": DAY}, {"business_seats": 1})
    with pytest.raises(ToolError, match="not enough seats on flight W02"):
        tools.update_reservation_flights(
            airline, ONEWAY, "business", flights("W01/20", "W02/20"), CARD
        )


# --- bags, passengers, certificates ---------------------------------------------------------------


def test_bags_within_the_allowance_are_free(airline: Database) -> None:
    """Gold, economy, one passenger: three of them, and no payment is noted."""
    changed = tools.update_reservation_baggages(airline, ROUND, 3, 0, CARD)
    assert (changed["total_baggages"], changed["nonfree_baggages"]) == (3, 0)
    assert len(changed["payment_history"]) == 2


def test_bags_beyond_the_allowance_are_charged(airline: Database) -> None:
    """50 dollars each, to the gift card; bags paid before are not paid again."""
    changed = tools.update_reservation_baggages(airline, ONEWAY, 9, 3, GIFT)
    assert history(changed)[1:] == [(GIFT, 100)]
    assert amount(airline, GIFT) == 200


def test_bags_keep_their_price_when_the_cabin_changes(airline: Database) -> None:
    """Free ones stay free after a downgrade; paid ones stay paid after an upgrade."""
    tools.update_reservation_baggages(airline, ROUND, 3, 0, CARD)
    down = flights("W04/20", "W03/22")
    tools.update_reservation_flights(airline, ROUND, "basic_economy", down, CARD)
    changed = tools.update_reservation_baggages(airline, ROUND, 4, 1, CARD)
    assert history(changed)[-1] == (CARD, 50)

    tools.update_reservation_baggages(airline, BASIC, 1, 1, BENS_CARD)
    tools.update_reservation_flights(airline, BASIC, "economy", flights("W01/21"), BENS_CARD)
    changed = tools.update_reservation_baggages(airline, BASIC, 2, 1, BENS_CARD)
    assert (changed["total_baggages"], changed["nonfree_baggages"]) == (2, 1)


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        (("NOWHER", 1, 1, CARD), "reservation not found"),
        ((GONE, 2, 0, BENS_CARD), "reservation is already cancelled"),
        ((ONEWAY, 6, 0, CARD), "bags can only be added, 7 are booked already"),
        ((ONEWAY, 8, 1, CARD), "number of nonfree bags should be 2, not 1"),
        ((ROUND, 2, 2, CARD), "number of nonfree bags should be 0, not 2"),
        ((ONEWAY, 8, 2, BENS_CARD), "payment method not found"),
        ((ONEWAY, 8, 2, CERTIFICATE), "certificate cannot be used to update reservation"),
        ((BASIC, 1, 1, BENS_GIFT), "gift card balance is not enough"),
    ],
)
def test_bags_that_cannot_be_added_are_refused(
    airline: Database, values: tuple[Any, ...], refusal: str
) -> None:
    """Word for word, and the world stays as it was."""
    _refused(airline, "update_reservation_baggages", values, refusal)


def test_passengers_are_replaced(airline: Database) -> None:
    """In the order given; nothing else changes."""
    changed = tools.update_reservation_passengers(airline, ROUND, [MAX_FLIES])  # type: ignore[list-item]
    assert changed["passengers"] == [MAX_FLIES]
    assert {change.table for change in airline.changes()} == {"passengers"}


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        (("NOWHER", [ANA_FLIES]), "reservation not found"),
        ((GONE, [ANA_FLIES]), "reservation is already cancelled"),
        ((ROUND, [ANA_FLIES, MAX_FLIES]), "number of passengers does not match"),
        ((ONEWAY, [ANA_FLIES]), "number of passengers does not match"),
    ],
)
def test_passengers_that_do_not_fit_are_refused(
    airline: Database, values: tuple[Any, ...], refusal: str
) -> None:
    """Word for word, and the world stays as it was."""
    _refused(airline, "update_reservation_passengers", values, refusal)


def test_a_certificate_is_sent_and_can_pay(airline: Database) -> None:
    """The sentence names it, the profile shows it, a booking uses it up."""
    said = tools.send_certificate(airline, BEN, 54)
    new = said.split()[1]
    assert said == f"Certificate {new} added to user {BEN} with amount 54."
    shown = tools.get_user_details(airline, BEN)["payment_methods"][new]
    assert shown == {"source": "certificate", "amount": 54, "id": new}
    arguments = {"user_id": BEN, "cabin": "basic_economy", "payment_methods": pays(**{new: 54})}
    tools.book_reservation(airline, **booking(**arguments))
    assert new not in tools.get_user_details(airline, BEN)["payment_methods"]


def test_any_number_of_certificates_can_be_sent_in_any_order(airline: Database) -> None:
    """Ten have ten ids, and which came first is not seen in the rows."""
    with airline.fork() as twin:
        for _ in range(5):
            tools.send_certificate(airline, ANA, 50)
            tools.send_certificate(airline, ANA, 100.25)
        for dollars in (100.25, 50.0):
            for _ in range(5):
                tools.send_certificate(twin, ANA, dollars)
        wallet = tools.get_user_details(airline, ANA)["payment_methods"]
        assert len(wallet) == 18
        assert tools.get_user_details(twin, ANA)["payment_methods"] == wallet


def test_a_certificate_for_nobody_is_refused(airline: Database) -> None:
    """Or of no value, or of fractions of a cent."""
    _refused(airline, "send_certificate", ("ana_silva_9999", 50), "user not found")
    outcome = DOMAIN.call(airline, "send_certificate", {"user_id": ANA, "amount": 0})
    assert outcome.error is ErrorKind.BAD_ARGUMENT
    with pytest.raises(ToolError, match="no fractions of a cent"):
        tools.send_certificate(airline, ANA, 0.001)


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        ("get_user_details", {"user_id": "ana_silva_9999"}, "user not found"),
        ("get_reservation_details", {"reservation_id": "NOWHER"}, "reservation not found"),
        ("get_flight_status", {"flight_number": "W99", "date": DAY}, "flight W99 not found"),
        (
            "get_flight_status",
            {"flight_number": "W01", "date": "2026-06-01"},
            "flight W01 not found on date 2026-06-01",
        ),
        ("cancel_reservation", {"reservation_id": "NOWHER"}, "reservation not found"),
        ("cancel_reservation", {"reservation_id": GONE}, "reservation is already cancelled"),
    ],
)
def test_what_is_not_there_is_not_found(
    airline: Database, name: str, arguments: dict[str, str], refusal: str
) -> None:
    """Each refusal names the kind of thing that is missing."""
    _refused(airline, name, tuple(arguments.values()), refusal)


# --- the rest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["payments", "passengers", "reservation_flights"])
def test_a_write_that_breaks_half_way_leaves_nothing(airline: Database, table: str) -> None:
    """Rows written before a failure are taken back with it."""
    airline.connection.execute(
        f"CREATE TRIGGER full BEFORE INSERT ON {table} BEGIN SELECT raise(ABORT, 'disk full'); END"
    )
    with pytest.raises(BrokenToolError, match="disk full"):
        DOMAIN.call(airline, "book_reservation", booking())
    assert airline.changes() == ()
    assert seats(airline, "W04") == 6


def test_a_customer_knows_who_they_are(airline: Database) -> None:
    """Topics in plain words."""
    assert DOMAIN.profile(airline, ANA) == {
        "user id": ANA,
        "name": "Ana Silva",
        "first name": "Ana",
        "last name": "Silva",
        "email": "ana@example.com",
        "date of birth": "1980-02-29",
        "zip": "02101",
        "address": "12 Finch Lane, Boston, MA 02101",
        "membership": "gold",
    }
    with pytest.raises(TaskError, match="no customer 'nobody'"):
        DOMAIN.profile(airline, "nobody")
