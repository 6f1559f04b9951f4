"""A tiny airline with a reservation for every case that its policy knows, and talks in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from passhat.domains.airline import DOMAIN
from passhat.domains.airline.tables import CABINS
from passhat.domains.world import World

from .talk import Talk

ANA, BEN = "ana_silva_4471", "ben_okoro_2280"
CARD, CARD_2, GIFT_CARD = "credit_card_1111111", "credit_card_1111112", "gift_card_2222222"
CERTIFICATE, BIG_CERTIFICATE = "certificate_3333331", "certificate_3333332"
BENS_CARD = "credit_card_4444444"
ECONOMY, INSURED, BASIC, BUSINESS, NEW = "ECO1A1", "INS2B2", "BAS3C3", "BUS4D4", "NEW5E5"
FLOWN, CANCELLED, DELAYED, GONE, BENS = "FLY6F6", "CAN7G7", "DEL8H8", "OLD9J9", "BEN1K1"

_ROUTES = {
    "WRN001": ("JFK", "LAX", "08:00:00", "11:00:00"),
    "WRN002": ("LAX", "JFK", "12:00:00", "20:00:00"),
    "WRN003": ("JFK", "LAX", "14:00:00", "17:00:00"),
    "WRN004": ("LAX", "ORD", "12:30:00", "18:00:00"),
    "WRN005": ("JFK", "ORD", "08:30:00", "10:30:00"),
    "WRN006": ("ORD", "LAX", "11:30:00", "13:00:00"),
}
_STATES = {
    ("WRN001", "2026-05-14"): "landed",
    ("WRN002", "2026-05-15"): "delayed",
    ("WRN002", "2026-05-18"): "cancelled",
}
_ON_SALE = ("2026-05-20", "2026-05-21", "2026-05-22")
_FARES = {"basic_economy": 10_000, "economy": 20_000, "business": 50_000}
OLD, RECENT = "2026-05-02", "2026-05-15"
_OUT, _BACK = ("WRN001", "2026-05-20"), ("WRN002", "2026-05-22")
# owner, cabin, insured, flights, passengers, bags, booked, status
_RESERVATIONS: dict[str, tuple[Any, ...]] = {
    ECONOMY: (ANA, "economy", "no", [_OUT, _BACK], 1, (1, 0), OLD, "active"),
    INSURED: (ANA, "economy", "yes", [("WRN001", "2026-05-21")], 2, (0, 0), OLD, "active"),
    BASIC: (ANA, "basic_economy", "no", [_OUT], 1, (0, 0), OLD, "active"),
    BUSINESS: (ANA, "business", "no", [("WRN003", "2026-05-20")], 1, (0, 0), OLD, "active"),
    NEW: (ANA, "basic_economy", "no", [_OUT], 1, (0, 0), RECENT, "active"),
    FLOWN: (ANA, "business", "no", [("WRN001", "2026-05-14"), _BACK], 1, (0, 0), OLD, "active"),
    CANCELLED: (ANA, "economy", "no", [("WRN002", "2026-05-18")], 2, (0, 0), OLD, "active"),
    DELAYED: (ANA, "business", "no", [("WRN002", "2026-05-15")], 1, (0, 0), OLD, "active"),
    GONE: (ANA, "economy", "yes", [("WRN002", "2026-05-18")], 3, (0, 0), OLD, "cancelled"),
    BENS: (BEN, "economy", "no", [("WRN002", "2026-05-18")], 1, (0, 0), OLD, "active"),
}  # fmt: skip
PEOPLE = [
    {"first_name": first, "last_name": last, "dob": "1980-01-01"}
    for first, last in (("Ana", "Silva"), ("Max", "Silva"), ("Eva", "Silva"))
]
BENS_PEOPLE = [{"first_name": "Ben", "last_name": "Okoro", "dob": "1990-01-01"}]


def _flight_dates() -> list[dict[str, Any]]:
    days = _STATES | {(number, day): "available" for number in _ROUTES for day in _ON_SALE}
    return [
        {"flight_number": number, "date": day, "status": status, "departure": None, "arrival": None}
        | {f"{cabin}_seats": 9 for cabin in CABINS}
        | {f"{cabin}_cents": _FARES[cabin] for cabin in CABINS}
        for (number, day), status in days.items()
    ]


def _customer(user_id: str, membership: str) -> dict[str, Any]:
    first, last, _ = user_id.split("_")
    home = {"address1": "1 Elm Row", "address2": "", "city": "Boston", "country": "USA"}
    return {
        "user_id": user_id,
        "first_name": first.title(),
        "last_name": last.title(),
        "dob": "1980-01-01",
        "email": f"{first}@example.com",
        "state": "MA",
        "zip": "02101",
        "membership": membership,
    } | home


def _method(method_id: str, owner: str, **more: object) -> dict[str, Any]:
    source = method_id.rpartition("_")[0]
    empty = {"brand": None, "last_four": None, "amount_cents": None}
    return {"payment_method_id": method_id, "user_id": owner, "source": source} | empty | more


def _reservation_rows() -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("reservations", "reservation_flights", "passengers", "payments")
    }
    for key, values in _RESERVATIONS.items():
        owner, cabin, insured, flights, heads, bags, booked, status = values
        origin, destination = _ROUTES[flights[0][0]][:2]
        people = PEOPLE if owner == ANA else BENS_PEOPLE
        rows["reservations"].append(
            {
                "reservation_id": key,
                "user_id": owner,
                "origin": origin,
                "destination": destination,
                "flight_type": "one_way" if len(flights) == 1 else "round_trip",
                "cabin": cabin,
                "created_at": f"{booked}T09:00:00",
                "total_baggages": bags[0],
                "nonfree_baggages": bags[1],
                "insurance": insured,
                "status": status,
            }
        )
        for leg, (number, day) in enumerate(flights):
            flight = {"flight_number": number, "date": day, "price_cents": _FARES[cabin]}
            rows["reservation_flights"].append({"reservation_id": key, "leg": leg} | flight)
        for number, person in enumerate(people[:heads]):
            rows["passengers"].append({"reservation_id": key, "number": number} | person)
        cents = _FARES[cabin] * len(flights) * heads + 3000 * heads * (insured == "yes")
        paid = {"payment_method_id": CARD if owner == ANA else BENS_CARD, "amount_cents": cents}
        rows["payments"].append({"reservation_id": key, "number": 0} | paid)
    return rows


def make_airline() -> World:
    """Ana is gold, Ben is regular; it is the afternoon of 15 May 2026."""
    names = ("origin", "destination", "departs", "arrives")
    rows = {
        "airports": [
            {"code": code, "city": city, "position": position}
            for position, (code, city) in enumerate(
                (("JFK", "New York"), ("LAX", "Los Angeles"), ("ORD", "Chicago"))
            )
        ],
        "flights": [
            {"flight_number": number, "arrival_days": 0} | dict(zip(names, route, strict=True))
            for number, route in _ROUTES.items()
        ],
        "flight_dates": _flight_dates(),
        "customers": [_customer(ANA, "gold"), _customer(BEN, "regular")],
        "payment_methods": [
            _method(CARD, ANA, brand="visa", last_four="4242"),
            _method(CARD_2, ANA, brand="mastercard", last_four="1881"),
            _method(GIFT_CARD, ANA, amount_cents=5000),
            _method(CERTIFICATE, ANA, amount_cents=10_000),
            _method(BIG_CERTIFICATE, ANA, amount_cents=25_000),
            _method(BENS_CARD, BEN, brand="visa", last_four="9999"),
        ],
    }
    return World(DOMAIN.tables, rows | _reservation_rows(), datetime(2026, 5, 15, 15))


class FlightTalk(Talk):
    """A conversation with the airline."""

    domain = DOMAIN

    def identified(self, *reservations: str, user_id: str = ANA, wish: str = "") -> FlightTalk:
        """The customer gives their user id; the profile and these reservations are read."""
        self.user(f"Hello, my user id is {user_id}. {wish}")
        self.call("get_user_details", user_id=user_id)
        for reservation in reservations:
            self.call("get_reservation_details", reservation_id=reservation)
        return self

    def cancelled(self, reservation: str, dollars: int, answer: str = "Yes.") -> FlightTalk:
        """The agent proposes to cancel, the customer answers, and the agent cancels."""
        self.agent(
            f"I would cancel reservation {reservation}; ${dollars} go back to your credit card "
            "within 5 to 7 business days. Shall I go ahead?"
        ).user(answer)
        self.call("cancel_reservation", reservation_id=reservation)
        return self

    def certified(self, dollars: int, user_id: str = ANA) -> FlightTalk:
        """The agent proposes a certificate, the customer agrees, and it is sent."""
        self.agent(f"I can give you a certificate of ${dollars}. Shall I?").user("Yes, please.")
        self.call("send_certificate", user_id=user_id, amount=dollars)
        return self


# --- arguments and words that tests vary ---------------------------------------------------------

OUT, LATER_OUT = ("WRN001", "2026-05-20"), ("WRN003", "2026-05-20")
BACK = ("WRN002", "2026-05-22")


def flights(*keys: tuple[str, str]) -> list[dict[str, str]]:
    """An itinerary as the tools take it."""
    return [{"flight_number": number, "date": day} for number, day in keys]


def change(*keys: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Arguments that change the flights of the economy reservation."""
    itinerary = {"reservation_id": ECONOMY, "cabin": "economy", "flights": flights(*keys)}
    return itinerary | {"payment_id": CARD} | more


def booking(**more: Any) -> dict[str, Any]:
    """Arguments that book one seat from JFK to LAX for $230, insured."""
    trip = {"origin": "JFK", "destination": "LAX", "flight_type": "one_way", "cabin": "economy"}
    bags = {"total_baggages": 0, "nonfree_baggages": 0, "insurance": "yes"}
    pays = [{"payment_id": CARD, "amount": 230}]
    who = {"user_id": ANA, "flights": flights(OUT), "passengers": PEOPLE[:1]}
    return trip | bags | who | {"payment_methods": pays} | more


BOOKING = (
    "I would book WRN001 on 2026-05-20 from JFK to LAX in economy for Ana Silva, without bags, "
    "with insurance; $230 are charged to your credit card ending in 4242. Shall I go ahead?"
)
CHANGE = (
    f"I would change reservation {ECONOMY} to flight WRN003 on May 20 (the way back stays). The "
    "price stays the same, and your credit card pays. Shall I go ahead?"
)
