"""The airline agent: works out one request after the other from the words, the rows and the policy.

It reads English by a few dozen patterns, so it fails where a request is put in an unusual way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from datetime import datetime, timedelta
from typing import Any

from ...language import ids, plain
from ...transcript import Observation
from ..agent import Brief
from ..airline import AirlineNotes, flight_day, paid
from ..notes import Json, dollars, number_in
from ..scripted import Step
from . import airline_words as words
from .airline_answers import offers_answer, reservation_answer, wallet_answer
from .airline_words import Wish
from .conversation import Declined, Reply, RuleBasedAgent

CABINS = ("basic_economy", "economy", "business")
_ELIGIBLE = ("silver", "gold")

Got = Generator[Step, Observation, Any]
"""A part of the conversation that gives something it found out."""


class AirlineAgent(RuleBasedAgent[AirlineNotes]):
    """Serves an airline's customer by rules."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief, AirlineNotes())
        self._free = words.free_bags(brief.policy)
        self._at_hand = ""
        self._changed: set[str] = set()

    def _identify(self) -> Generator[Step, Observation, str | None]:
        question = "May I have your user id, please?"
        for _ in range(3):
            for user_id in ids(" ".join(self._heard)):
                if (yield from self._look_up("get_user_details", {"user_id": user_id})):
                    return user_id
            yield from self._ask(question)
            question = "I could not find that. Could you give me your user id once more?"
        return None

    def _understood(self, text: str) -> Callable[[str], Reply] | None:
        serves: dict[Wish, Callable[[str], Reply] | None] = {
            Wish.HUMAN: self._hand_over,
            Wish.FORBIDDEN: self._forbidden,
            Wish.COMPENSATION: self._compensate,
            Wish.CANCEL: self._cancel,
            Wish.PASSENGERS: self._passengers,
            Wish.BAGS: self._bags,
            Wish.CABIN: self._cabin,
            Wish.BOOK: self._book,
            Wish.FLIGHTS: self._flights,
            Wish.QUESTION: self._question,
            Wish.GOODBYE: None,
        }
        return serves.get(words.wish_in(text), self._unclear)

    def _unclear(self, text: str) -> Reply:
        return (
            yield from self._ask(
                "How can I help you? I can book flights, change or cancel reservations, add bags,"
                " and answer questions about them."
            )
        )

    # --- what is asked for ------------------------------------------------------------------------

    def _book(self, text: str) -> Reply:
        airports = yield from self._airports(text)
        if len(airports) < 2:
            airports = yield from self._airports((yield from self._ask("From where to where?")))
        days = words.days_in(text, self._today) or words.days_in(
            (yield from self._ask("On which date would you like to fly?")), self._today
        )
        if len(airports) < 2 or not days:
            raise Declined("I am sorry, I cannot book a trip without knowing from where to where.")
        cabin = words.cabin_in(text) or words.cabin_in(
            (yield from self._ask("Which cabin: basic economy, economy or business?"))
        )
        back = len(days) > 1
        there, home = airports[:2], airports[1::-1]
        flights = [(yield from self._flight(there, days[0], cabin or "economy", text))]
        if back:
            flights.append((yield from self._flight(home, days[1], cabin or "economy", text)))
        people = yield from self._people()
        bags = words.count_in((yield from self._ask("How many bags will you check?"))) or 0
        insured = yield from self._ask("Would you like travel insurance for $30 a passenger?")
        arguments = {
            "user_id": self._profile["user_id"],
            "origin": airports[0],
            "destination": airports[1],
            "flight_type": "round_trip" if back else "one_way",
            "cabin": cabin or "economy",
            "flights": flights,
            "passengers": people,
            "payment_methods": [],
            "total_baggages": bags,
            "nonfree_baggages": max(0, bags - self._allowed(cabin or "economy", len(people))),
            "insurance": "yes" if plain(insured).startswith("yes") else "no",
        }
        worked_out = yield from self._worked_out("book_reservation", arguments)
        total = self._notes.total(arguments, worked_out)
        arguments["payment_methods"] = yield from self._payments(text, total)
        return (yield from self._change("book_reservation", arguments))

    def _cancel(self, text: str) -> Reply:
        reservation = yield from self._open_reservation(text)
        number, cabin = reservation["reservation_id"], reservation["cabin"]
        reason = yield from self._ask("May I ask for the reason of the cancellation?")
        statuses = yield from self._statuses(reservation)
        if any(status in ("flying", "landed") for status in statuses):
            return (yield from self._hand_over(text))
        insured = reservation["insurance"] == "yes"
        if not (
            self._is_fresh(reservation)
            or "cancelled" in statuses
            or cabin == "business"
            or (insured and words.is_health_or_weather(reason))
        ):
            covered = (
                "its insurance covers health and weather only" if insured else "it has no insurance"
            )
            raise Declined(
                f"I am sorry, I cannot cancel reservation {number}: it was booked more than 24"
                f" hours ago in {cabin.replace('_', ' ')}, and {covered}."
            )
        self._changed.add(number)
        return (yield from self._change("cancel_reservation", {"reservation_id": number}))

    def _flights(self, text: str) -> Reply:
        reservation = yield from self._open_reservation(text)
        if reservation["cabin"] == "basic_economy":
            raise Declined(
                "I am sorry, I cannot change the flights: the reservation is in basic economy."
            )
        legs, cabin = reservation["flights"], reservation["cabin"]
        first, last = words.legs_meant(reservation, text)
        replaced = legs[first:last] or legs
        day = replaced[0]["date"]
        days = words.days_in(text, self._today, day)
        if not days:
            answer = yield from self._ask("To which date and which flight should I change it?")
            text = f"{text} {answer}"
            days = words.days_in(answer, self._today, day)
        route = [replaced[0]["origin"], replaced[-1]["destination"]]
        booked = replaced[0]["flight_number"] if len(replaced) == 1 else ""
        new = yield from self._flight(route, next(iter(days), day), cabin, text, booked)
        flights = [*legs[:first], new, *legs[last:]]
        return (yield from self._new_itinerary(reservation, cabin, flights, text))

    def _cabin(self, text: str) -> Reply:
        reservation = yield from self._open_reservation(text)
        cabin = words.cabin_in(text) or words.cabin_in((yield from self._ask("Which cabin?")))
        if cabin is None:
            raise Declined("I am sorry, I cannot tell which cabin you would like.")
        if any(s in ("flying", "landed") for s in (yield from self._statuses(reservation))):
            raise Declined("I am sorry, I cannot change the cabin: a flight is flown already.")
        return (yield from self._new_itinerary(reservation, cabin, reservation["flights"], text))

    def _new_itinerary(
        self, reservation: Json, cabin: str, flights: list[Json], text: str
    ) -> Reply:
        name = "update_reservation_flights"
        arguments = {
            "reservation_id": reservation["reservation_id"],
            "cabin": cabin,
            "flights": list(map(_choice, flights)),
            "payment_id": (yield from self._method(text, "settle the difference")),
        }
        for look_up in self._notes.look_ups_before(name, arguments):
            yield from self._look_up(*look_up)
        difference = number_in((yield from self._worked_out(name, arguments)))
        most = words.most_dollars_in(text)
        if most is not None and difference > most:
            raise Declined(f"That costs {dollars(difference)} more, so I leave it as it is.")
        self._changed.add(reservation["reservation_id"])
        return (yield from self._change(name, arguments))

    def _bags(self, text: str) -> Reply:
        reservation = yield from self._open_reservation(text)
        added = words.bags_in(text)
        if not added:
            added = words.count_in((yield from self._ask("How many bags should I add?"))) or 1
        heads, booked = len(reservation["passengers"]), reservation["total_baggages"]
        free = booked - reservation["nonfree_baggages"]
        left = max(0, self._allowed(reservation["cabin"], heads) - free)
        arguments = {
            "reservation_id": reservation["reservation_id"],
            "total_baggages": booked + added,
            "nonfree_baggages": reservation["nonfree_baggages"] + max(0, added - left),
            "payment_id": (yield from self._method(text, "pay for the bags")),
        }
        return (yield from self._change("update_reservation_baggages", arguments))

    def _passengers(self, text: str) -> Reply:
        reservation = yield from self._open_reservation(text)
        answer = yield from self._ask("Who are the passengers to be, with their dates of birth?")
        people = [dict(person) for person in reservation["passengers"]]
        changed = words.people_after(people, f"{text} {answer}", self._saved)
        if changed is None:
            raise Declined("I am sorry, I cannot tell who is to fly instead of whom.")
        arguments = {"reservation_id": reservation["reservation_id"], "passengers": changed}
        return (yield from self._change("update_reservation_passengers", arguments))

    def _compensate(self, text: str) -> Reply:
        reservation = yield from self._reservation(text)
        statuses = yield from self._statuses(reservation)
        member = self._profile.get("membership", "regular")
        if not (
            member in _ELIGIBLE
            or reservation["insurance"] == "yes"
            or reservation["cabin"] == "business"
        ):
            raise Declined(
                f"I am sorry, I cannot give you compensation: your membership is {member}, and the"
                " reservation is neither insured nor in business."
            )
        amount = self._due(reservation, statuses)
        arguments = {"user_id": self._profile["user_id"], "amount": amount}
        return (yield from self._change("send_certificate", arguments))

    def _due(self, reservation: Json, statuses: list[str]) -> int:
        heads = len(reservation["passengers"])
        if "cancelled" in statuses:
            return 100 * heads
        if "delayed" not in statuses:
            raise Declined(
                f"I am sorry, I cannot give you compensation: the flight is {statuses[0]}."
                if statuses
                else "I am sorry, I cannot give you compensation for it."
            )
        if reservation["reservation_id"] not in self._changed:
            raise Declined(
                "I am sorry, I cannot give you compensation: the flight is delayed, but there is a"
                " certificate only if you change or cancel the reservation for it."
            )
        return 50 * heads

    def _question(self, text: str) -> Reply:
        said = plain(text)
        if "gift card" in said or "certificate" in said:
            return (yield from self._answer(wallet_answer(self._notes.payment_methods())))
        airports = yield from self._airports(text)
        days = words.days_in(text, self._today)
        if len(airports) > 1 and days:
            offers = yield from self._direct(airports[0], airports[1], days[0])
            return (yield from self._answer(offers_answer(offers, text)))
        reservation = yield from self._reservation(text)
        statuses = yield from self._statuses(reservation)
        allowed = self._allowed(reservation["cabin"], len(reservation["passengers"]))
        told = reservation_answer(reservation, statuses, allowed, paid(reservation))
        return (yield from self._answer(told))

    # --- what it needs for that -------------------------------------------------------------------

    @property
    def _today(self) -> str:
        return self.brief.now[:10]

    @property
    def _own(self) -> list[str]:
        numbers: list[str] = self._profile.get("reservations", [])
        return numbers

    @property
    def _saved(self) -> list[Json]:
        people: list[Json] = self._profile.get("saved_passengers", [])
        return people

    def _allowed(self, cabin: str, heads: int) -> int:
        """Free bags of so many passengers, by the policy's table."""
        row = self._free.get(self._profile.get("membership", ""), (0, 0, 0))
        return row[CABINS.index(cabin)] * heads if cabin in CABINS else 0

    def _is_fresh(self, reservation: Json) -> bool:
        """Whether it was booked within the last 24 hours."""
        try:
            booked = datetime.fromisoformat(reservation["created_at"])
            return datetime.fromisoformat(self.brief.now) - booked <= timedelta(hours=24)
        except (ValueError, TypeError):
            return False

    def _reservation(self, text: str) -> Got:
        """The reservation spoken of: by number, the one at hand, or the one asked for."""
        number = words.reservation_in(text, self._own)
        stranger = words.strange_reservation_in(text, self._own)
        if number is None and stranger:
            raise Declined(
                f"I am sorry, I cannot help with reservation {stranger}: it is not in your profile."
            )
        number = number or self._at_hand
        if not number:
            answer = yield from self._ask("Which reservation is it? Please tell me its number.")
            number = words.reservation_in(answer, self._own) or ""
        yield from self._look_up("get_reservation_details", {"reservation_id": number})
        if number not in self._notes.reservations:
            raise Declined("I am sorry, I cannot find that reservation in your profile.")
        self._at_hand = number
        return self._notes.reservations[number]

    def _open_reservation(self, text: str) -> Got:
        """The same, if anything in it can still be changed."""
        reservation = yield from self._reservation(text)
        if reservation.get("status") == "cancelled" or not reservation["flights"]:
            number = reservation["reservation_id"]
            raise Declined(f"I am sorry, I cannot change {number}: it has been cancelled.")
        return reservation

    def _statuses(self, reservation: Json) -> Got:
        """How each flight of a reservation stands."""
        statuses = []
        for flight in reservation["flights"]:
            statuses.append((yield from self._look_up("get_flight_status", _choice(flight))))
        return statuses

    def _airports(self, text: str) -> Got:
        listed = yield from self._look_up("list_all_airports", {})
        return words.airports_in(text, _table(listed))

    def _direct(self, origin: str, destination: str, day: str) -> Got:
        """The direct flights of a day."""
        route = {"origin": origin, "destination": destination, "date": day}
        yield from self._look_up("search_direct_flight", route)
        return [
            offer
            for offer in self._notes.offers.values()
            if all(offer.get(key) == value for key, value in route.items())
        ]

    def _flight(self, route: list[str], day: str, cabin: str, text: str, booked: str = "") -> Got:
        """The flight that the customer chooses on a day."""
        offers = yield from self._direct(route[0], route[1], day)
        if not offers:
            raise Declined(f"I am sorry, there is no direct flight that I can offer on {day}.")
        found = words.chosen_flight(offers, text, cabin, booked)
        if found is None:
            listed = offers_answer(offers, "")
            answer = yield from self._ask(f"{listed} Which flight would you like?")
            found = words.chosen_flight(offers, answer, cabin, booked)
        if found is None:
            raise Declined("I am sorry, I cannot offer such a flight with a free seat.")
        most = words.most_dollars_in(text)
        if most is not None and found["prices"][cabin] > most:
            price = dollars(found["prices"][cabin])
            raise Declined(f"It would cost {price}, which is more than that, so I book nothing.")
        return {"flight_number": found["flight_number"], "date": day}

    def _people(self) -> Got:
        """Who is to fly: the customer, saved passengers, or both."""
        answer = yield from self._ask("Who will be the passengers?")
        people = [p for p in self._saved if f"{p['first_name']} {p['last_name']}" in answer]
        if not people or words.includes_me(answer):
            name = self._profile.get("name", {})
            me = {**name, "dob": self._profile.get("dob", "")}
            people = [{key: me.get(key, "") for key in ("first_name", "last_name", "dob")}, *people]
        return people

    def _payments(self, text: str, total: float) -> Got:
        """Which methods pay how much: each what it holds, the last one the rest."""
        wallet = self._notes.payment_methods()
        named = words.methods_in(text, wallet) or words.methods_in(
            (yield from self._ask("Which payment method should pay, and how much each?")), wallet
        )
        shares: dict[str, float] = {}
        for method_id in named:
            holds = wallet[method_id].get("amount")
            share = total if holds is None else min(total, float(holds))
            if share > 0:
                shares[method_id] = share
                total -= share
        if total > 0 or not shares:
            raise Declined("I am sorry, I cannot book it: those methods do not hold enough.")
        return [{"payment_id": m, "amount": share} for m, share in shares.items()]

    def _method(self, text: str, purpose: str) -> Reply:
        """The one payment method that the customer chooses."""
        wallet = self._notes.payment_methods()
        usable = {m: about for m, about in wallet.items() if about.get("source") != "certificate"}
        found = words.methods_in(text, usable)
        if not found:
            answer = yield from self._ask(f"Which payment method should {purpose}?")
            found = words.methods_in(answer, usable)
        if not found:
            raise Declined("I am sorry, I cannot use that: certificates cannot pay for a change.")
        return found[0]


def _choice(flight: Json) -> Json:
    """A flight as the tools take it."""
    number, date = flight_day(flight)
    return {"flight_number": number, "date": date}


def _table(text: str) -> dict[str, str]:
    """A table of codes and names, as JSON; empty if it is something else."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    entries: Iterable[tuple[str, Any]] = found.items() if isinstance(found, dict) else ()
    return {code: city for code, city in entries if isinstance(city, str)}
