"""Makes the airline's world from a seed: ``python -m passhat.domains.airline.generate``.

The words come from ``data/airline/sources/*.yaml``, everything else from one random generator, so
the same seed gives the same bytes in ``data/airline/world/``.
"""

from __future__ import annotations

import string
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import combinations
from math import acos, cos, radians, sin
from pathlib import Path
from typing import Any

from ..seeding import Draft, Row, Rows, data_folder, plain_letters, source_words, write_rows
from .tables import CABINS, METADATA, Cabin
from .tools import BAG_CENTS, FREE_BAGS, INSURANCE_CENTS, RESERVATION_ID

SEED = 20260515
NOW = datetime(2026, 5, 15, 15)
DESCRIPTION = "Wrenfield Air, an invented airline that flies between twenty airports of the USA."
CUSTOMERS = 500
FLIGHTS = 300
RESERVATIONS = 2000
DAYS = [date(2026, 5, day) for day in range(1, 31)]
TODAY = NOW.date()

_FOLDER = data_folder("airline")
_ONE_CITY = {"JFK", "LGA", "EWR"}


def make_world(seed: int = SEED) -> Rows:
    """All rows of the airline, by table name, each table sorted by its primary key."""
    airline = _Airline(seed)
    airline.open_routes()
    airline.fly()
    airline.sign_up_customers()
    airline.take_reservations()
    return airline.finished(METADATA)


def write_world(folder: Path = _FOLDER) -> None:
    """Write ``world.json`` and one ``world/<table>.jsonl`` a table."""
    about = {"now": NOW.isoformat(), "seed": SEED, "description": DESCRIPTION}
    write_rows(folder, make_world(), about)


@dataclass(frozen=True)
class _Flight:
    """One flight of the timetable; times are minutes after midnight of the day of departure."""

    number: str
    origin: str
    destination: str
    departs: int
    minutes: int
    kilometres: float

    @property
    def arrives(self) -> int:
        return self.departs + self.minutes

    def departure(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day) + timedelta(minutes=self.departs)

    def arrival(self, day: date) -> datetime:
        return self.departure(day) + timedelta(minutes=self.minutes)


@dataclass
class _Customer:
    """Who books: what reservations need to know about them."""

    user_id: str
    person: Row
    membership: str
    companions: list[Row] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)
    gift_cards: list[str] = field(default_factory=list)


Leg = tuple[_Flight, date]


class _Airline(Draft):
    """The airline while it is being made up; ``rows`` grows table by table."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.flights: list[_Flight] = []
        self.leaving: defaultdict[str, list[_Flight]] = defaultdict(list)
        self.dollars: dict[tuple[str, date], dict[Cabin, int]] = {}
        self.customers: list[_Customer] = []

    def fresh(self, alphabet: str, length: int, prefix: str = "") -> str:
        """A code nobody has yet."""
        while True:
            code = "".join(self.random.choices(alphabet, k=length))
            if code not in self.taken and code[0] != "0":
                self.taken.add(code)
                return prefix + code

    # --- where and when planes fly ----------------------------------------------------------------

    def open_routes(self) -> None:
        """The timetable: each route there and back, busy ones several times a day."""
        airports = source_words("airline", "airports")
        for position, airport in enumerate(airports):
            self.add("airports", code=airport["code"], city=airport["city"], position=position)
        routes = [
            (a, b) for a, b in combinations(airports, 2) if not {a["code"], b["code"]} <= _ONE_CITY
        ]
        weights = [a["weight"] * b["weight"] for a, b in routes]
        drawn = self.random.choices(routes, weights, k=FLIGHTS // 2)
        directions = [pair for a, b in drawn for pair in ((a, b), (b, a))]
        self.random.shuffle(directions)
        for number, (origin, destination) in enumerate(directions, start=1):
            self._schedule(f"WRN{number:03}", origin, destination)

    def _schedule(self, number: str, origin: Row, destination: Row) -> None:
        kilometres = _kilometres(origin, destination)
        minutes = 5 * round((40 + kilometres / 13 + self.random.uniform(0, 15)) / 5)
        departs = 5 * self.random.randint(66, 270)  # between 05:30 and 22:30
        flight = _Flight(number, origin["code"], destination["code"], departs, minutes, kilometres)
        self.flights.append(flight)
        self.leaving[flight.origin].append(flight)
        self.add(
            "flights",
            flight_number=number,
            origin=flight.origin,
            destination=flight.destination,
            departs=_clock(departs),
            arrives=_clock(flight.arrives),
            arrival_days=flight.arrives // 1440,
        )

    def fly(self) -> None:
        """Every flight on every day of the month, as it stands now."""
        for flight in self.flights:
            for day in DAYS:
                dollars = self.dollars[flight.number, day] = self._prices(flight)
                state = self._state_ahead(dollars) if day > TODAY else self._state(flight, day)
                self.add("flight_dates", flight_number=flight.number, date=str(day), **state)

    def _prices(self, flight: _Flight) -> dict[Cabin, int]:
        """Dollars by cabin, in rising order."""
        basic = (38 + flight.kilometres * 0.03) * self.random.uniform(0.8, 1.35)
        economy = basic * self.random.uniform(1.25, 1.8)
        business = economy * self.random.uniform(2.0, 3.1)
        return {
            "basic_economy": round(basic),
            "economy": round(economy),
            "business": round(business),
        }

    def _state_ahead(self, dollars: dict[Cabin, int]) -> Row:
        if self.chance(0.015):
            return {"status": "cancelled"}
        seats = {
            f"{cabin}_seats": 0 if self.chance(0.07) else self.random.randint(1, 20)
            for cabin in CABINS
        }
        cents = {f"{cabin}_cents": dollars[cabin] * 100 for cabin in CABINS}
        return {"status": "available", **seats, **cents}

    def _state(self, flight: _Flight, day: date) -> Row:
        """What became of a flight so far: late by minutes, today now and then by hours."""
        if self.chance(0.04):
            return {"status": "cancelled"}
        late = self.random.randint(-5, 20)
        if day == TODAY and self.chance(0.35):
            late = 5 * self.random.randint(8, 48)
        departure = flight.departure(day) + timedelta(minutes=late)
        arrival = flight.arrival(day) + timedelta(minutes=late + self.random.randint(-10, 15))
        if arrival <= NOW:
            status = "landed"
        elif departure <= NOW:
            status = "flying"
        elif late > 20 or flight.departure(day) <= NOW:
            status = "delayed"
        else:
            status, departure, arrival = "on time", flight.departure(day), flight.arrival(day)
        return {
            "status": status,
            "departure": departure.isoformat(),
            "arrival": arrival.isoformat(),
        }

    # --- who flies ------------------------------------------------------------------------------

    def sign_up_customers(self) -> None:
        for _ in range(CUSTOMERS):
            self._sign_up(self._person(1945, 2004))

    def _sign_up(self, person: Row) -> None:
        first, last = plain_letters(person["first_name"]), plain_letters(person["last_name"])
        number = self.fresh(string.digits, 4)
        customer = _Customer(
            user_id=f"{first}_{last}_{number}",
            person=person,
            membership=self.weighted({"regular": 40, "silver": 33, "gold": 27}),
        )
        self.customers.append(customer)
        host = self.weighted({"example.com": 5, "example.org": 2, "example.net": 2})
        self.add(
            "customers",
            user_id=customer.user_id,
            email=f"{first}.{last}{number[:3]}@{host}",
            membership=customer.membership,
            **person,
            **self._address(),
        )
        for position in range(self.weighted({0: 20, 1: 30, 2: 25, 3: 15, 4: 10})):
            companion = self._companion(person)
            customer.companions.append(companion)
            self.add("saved_passengers", user_id=customer.user_id, number=position, **companion)
        self._fill_wallet(customer)

    def _person(self, earliest: int, latest: int) -> Row:
        people = source_words("airline", "people")
        firsts = self.random.choice(people)
        lasts = self.random.choice(people) if self.chance(1 / 8) else firsts
        born = date(self.random.randint(earliest, latest), 1, 1)
        return {
            "first_name": self.random.choice(firsts["first"]),
            "last_name": self.random.choice(lasts["last"]),
            "dob": str(born + timedelta(days=self.random.randrange(365))),
        }

    def _companion(self, person: Row) -> Row:
        """Somebody who travels along, more often than not of the same family name."""
        companion = self._person(1940, 2022)
        if self.chance(0.6):
            companion["last_name"] = person["last_name"]
        return companion

    def _address(self) -> Row:
        places = source_words("airline", "places")
        place = self.random.choice(places["cities"])
        second = self.random.choice(places["second_lines"])
        return {
            "address1": f"{self.random.randint(11, 989)} {self.random.choice(places['streets'])} "
            f"{self.random.choice(places['kinds'])}",
            "address2": f"{second} {self.random.randint(1, 499)}" if second else "",
            "city": place["city"],
            "country": "USA",
            "state": place["state"],
            "zip": f"{place['zip']}{self.random.randint(1, 99):02}",
        }

    def _fill_wallet(self, customer: _Customer) -> None:
        """One credit card or gift card at least, since a certificate cannot pay for changes."""
        cards = self.weighted({0: 20, 1: 50, 2: 30})
        for _ in range(cards):
            brand = self.weighted({"visa": 5, "mastercard": 4, "american express": 2})
            last_four = f"{self.random.randrange(10_000):04}"
            customer.cards.append(
                self._method(customer, "credit_card", brand=brand, last_four=last_four)
            )
        for _ in range(self.weighted({0: 30, 1: 35, 2: 22, 3: 13}) or int(not cards)):
            dollars = self.weighted({0: 1, 50: 2, 100: 2, self.random.randint(5, 480): 15})
            customer.gift_cards.append(
                self._method(customer, "gift_card", amount_cents=dollars * 100)
            )
        for _ in range(self.weighted({0: 60, 1: 27, 2: 13})):
            dollars = self.random.choice((50, 100, 100, 150, 200, 250, 500))
            self._method(customer, "certificate", amount_cents=dollars * 100)

    def _method(self, customer: _Customer, source: str, **details: Any) -> str:
        method = self.fresh(string.digits, 7, f"{source}_")
        self.add(
            "payment_methods",
            payment_method_id=method,
            user_id=customer.user_id,
            source=source,
            **details,
        )
        return method

    # --- what was booked ------------------------------------------------------------------------

    def take_reservations(self) -> None:
        weights = [self.random.choice((0, 1, 1, 2, 2, 3, 4)) for _ in self.customers]
        for customer in self.random.choices(self.customers, weights, k=RESERVATIONS):
            self._take_reservation(customer)

    def _take_reservation(self, customer: _Customer) -> None:
        flight_type = self.weighted({"one_way": 45, "round_trip": 55})
        legs, destination = self._itinerary(flight_type == "round_trip")
        cabin = self.weighted({"basic_economy": 34, "economy": 41, "business": 25})
        prices = [self._agreed_dollars(leg, cabin) for leg in legs]
        passengers = self._passengers(customer)
        total_bags, nonfree = self._bags(customer, cabin, len(passengers))
        insured = self.chance(0.35)
        status = "cancelled" if self.chance(0.06) else "active"
        reservation_id = self._reservation_id()
        self.add(
            "reservations",
            reservation_id=reservation_id,
            user_id=customer.user_id,
            origin=legs[0][0].origin,
            destination=destination,
            flight_type=flight_type,
            cabin=cabin,
            created_at=self._booked_at(legs[0]).isoformat(),
            total_baggages=total_bags,
            nonfree_baggages=nonfree,
            insurance="yes" if insured else "no",
            status=status,
        )
        for number, ((flight, day), dollars) in enumerate(zip(legs, prices, strict=True)):
            self.add(
                "reservation_flights",
                reservation_id=reservation_id,
                leg=number,
                flight_number=flight.number,
                date=str(day),
                price_cents=dollars * 100,
            )
        for number, passenger in enumerate(passengers):
            self.add("passengers", reservation_id=reservation_id, number=number, **passenger)
        total = sum(prices) * 100 * len(passengers) + BAG_CENTS * nonfree
        total += INSURANCE_CENTS * len(passengers) * insured
        self._pay(reservation_id, self._split(customer, total, status), status)

    def _reservation_id(self) -> str:
        """A code with letters and digits; one that has only either gets its last sign replaced."""
        code = self.fresh(string.ascii_uppercase + string.digits, 6)
        if RESERVATION_ID.fullmatch(code):
            return code
        others = string.digits if code.isalpha() else string.ascii_uppercase
        start = sum(map(ord, code))
        shifted = (others[(start + n) % len(others)] for n in range(len(others)))
        code = next(new for last in shifted if (new := code[:-1] + last) not in self.taken)
        self.taken.add(code)
        return code

    def _itinerary(self, there_and_back: bool) -> tuple[list[Leg], str]:
        """A trip within the month, and where it leads: direct or with one change each way."""
        while True:
            day = self._day_of_travel()
            first = self.random.choice(self.flights)
            out: list[Leg] | None = [(first, day)]
            if self.chance(0.4):
                second = self.random.choice(self.leaving[first.destination])
                out = self._connection(first, day, second)
            if out is None or out[-1][0].destination == first.origin:
                continue
            destination = out[-1][0].destination
            if not there_and_back:
                return out, destination
            landing = out[-1][0].arrival(out[-1][1]).date()
            back = self._way(destination, first.origin, landing + self._stay())
            if back is not None:
                return out + back, destination

    def _day_of_travel(self) -> date:
        """Past, today or ahead; two days in five, more than chance would give, are not ahead."""
        when = self.weighted({"past": 30, "today": 10, "ahead": 60})
        days = {
            "past": [day for day in DAYS if day < TODAY],
            "today": [TODAY],
            "ahead": [day for day in DAYS if day > TODAY],
        }
        return self.random.choice(days[when])

    def _stay(self) -> timedelta:
        return timedelta(days=self.random.randint(1, 9))

    def _way(self, origin: str, destination: str, day: date) -> list[Leg] | None:
        """A direct flight if there is one, else a pair that connects, if there is one."""
        direct = [f for f in self.leaving[origin] if f.destination == destination]
        if direct:
            return [(self.random.choice(direct), day)] if day in DAYS else None
        pairs = [
            legs
            for first in self.leaving[origin]
            for second in self.leaving[first.destination]
            if second.destination == destination
            and (legs := self._connection(first, day, second)) is not None
        ]
        return self.random.choice(pairs) if pairs else None

    def _connection(self, first: _Flight, day: date, second: _Flight) -> list[Leg] | None:
        """Both flights, if there are one to six hours to change planes on the day of landing."""
        landing = first.arrival(day)
        next_day = landing.date()
        wait = second.departure(next_day) - landing
        if timedelta(hours=1) <= wait <= timedelta(hours=6) and {day, next_day} <= set(DAYS):
            return [(first, day), (second, next_day)]
        return None

    def _agreed_dollars(self, leg: Leg, cabin: Cabin) -> int:
        """The price on the day of booking, which is near today's but seldom the same."""
        flight, day = leg
        return round(self.dollars[flight.number, day][cabin] * self.random.uniform(0.82, 1.12))

    def _passengers(self, customer: _Customer) -> list[Row]:
        """The customer and some companions; now and then only the others."""
        heads = self.weighted({1: 52, 2: 25, 3: 13, 4: 6, 5: 4})
        party = [] if self.chance(0.06) else [customer.person]
        party += self.random.sample(customer.companions, len(customer.companions))
        while len(party) < heads:
            party.append(self._companion(customer.person))
        return party[:heads]

    def _bags(self, customer: _Customer, cabin: Cabin, heads: int) -> tuple[int, int]:
        """All checked bags, and those beyond the allowance."""
        allowance = FREE_BAGS[customer.membership][cabin] * heads
        total = self.random.randint(0, heads * 2)
        if self.chance(0.12):
            total = allowance + self.random.randint(1, 2)
        return total, max(0, total - allowance)

    def _booked_at(self, first: Leg) -> datetime:
        """Before departure and before now; a few on the day before now."""
        latest = min(NOW, first[0].departure(first[1]) - timedelta(hours=3))
        days = 1.0 if self.chance(0.12) else 30.0
        seconds = self.random.randint(60, round(days * 86_400))
        return latest - timedelta(seconds=seconds)

    def _split(self, customer: _Customer, cents: int, status: str) -> list[tuple[str, int]]:
        """Who pays how much: mostly one method, sometimes two of different kinds.

        A certificate that paid is used up; whoever cancelled did not pay with one.
        """
        cards, gift_cards = customer.cards, customer.gift_cards
        way = self.weighted({"one": 72, "gift card first": 14, "certificate first": 14})
        rest = self.random.choice(cards or gift_cards)
        part = min(100 * self.random.choice((50, 75, 100, 150, 200, 250)), cents)
        if way == "gift card first" and cards and gift_cards:
            split = [(self.random.choice(gift_cards), part), (rest, cents - part)]
        elif way == "certificate first" and status == "active":
            split = [(self._method(customer, "certificate", amount_cents=0), part)]
            split.append((rest, cents - part))
        else:
            split = [(self.random.choice(cards + gift_cards), cents)]
        return [(method, amount) for method, amount in split if amount]

    def _pay(self, reservation_id: str, split: list[tuple[str, int]], status: str) -> None:
        refunds = [(method, -cents) for method, cents in split] if status == "cancelled" else []
        for number, (method, cents) in enumerate(split + refunds):
            self.add(
                "payments",
                reservation_id=reservation_id,
                number=number,
                payment_method_id=method,
                amount_cents=cents,
            )


def _clock(minutes: int) -> str:
    """Minutes after midnight as "HH:MM:SS", on whichever day."""
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}:00"


def _kilometres(a: Row, b: Row) -> float:
    """Along the great circle between two airports."""
    north_a, north_b = radians(a["lat"]), radians(b["lat"])
    across = cos(north_a) * cos(north_b) * cos(radians(a["lon"] - b["lon"]))
    return 6371 * acos(sin(north_a) * sin(north_b) + across)


if __name__ == "__main__":
    write_world()
