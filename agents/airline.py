"""The words of the airline desk: bookings, changes and flights as a customer reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..transcript import ToolResultEvent
from .notes import Json, LookUp, dollars, in_words, listed, method_words, number_in, value_in

FlightDay = tuple[str, str]
"""Flight number, and the ISO date on which it leaves."""


class AirlineNotes:
    """What the tools of an airline have said so far.

    Attributes:
        profile: The customer, with ``user_id``; None until looked up.
        reservations: Reservation details by number, the latest of each.
        offers: Flights that a search found, by number and date.
    """

    def __init__(self) -> None:
        self.profile: Json | None = None
        self.reservations: dict[str, Json] = {}
        self.offers: dict[FlightDay, Json] = {}

    def read(self, result: ToolResultEvent | None, arguments: Mapping[str, Any]) -> None:
        """Keep what this result says of the customer, a reservation or flights."""
        about = value_in(result)
        if isinstance(about, dict) and "payment_methods" in about:
            self.profile = {"user_id": arguments.get("user_id", ""), **about}
        elif isinstance(about, dict) and "reservation_id" in about:
            self.reservations[about["reservation_id"]] = about
        elif isinstance(about, list):
            for offer in _offers_in(about):
                day = str(offer.get("date", arguments.get("date", "")))
                self.offers[offer["flight_number"], day] = {**offer, "date": day}

    def payment_methods(self) -> dict[str, Json]:
        """The customer's payment methods by id."""
        methods: dict[str, Json] = (self.profile or {}).get("payment_methods", {})
        return methods

    def look_ups_about(self, text: str) -> Iterator[LookUp]:
        """The customer's reservations that the text names."""
        for reservation_id in (self.profile or {}).get("reservations", []):
            if reservation_id in text:
                yield "get_reservation_details", {"reservation_id": reservation_id}

    def look_ups_before(self, name: str, arguments: Json) -> Iterator[LookUp]:
        """What the flights that stay cost today, if they change their cabin."""
        if name != "update_reservation_flights" or self._stays(arguments):
            return
        for flight in self._booked(arguments).values():
            day = {key: flight[key] for key in ("origin", "destination", "date")}
            if (flight["flight_number"], flight["date"]) in map(flight_day, arguments["flights"]):
                yield "search_direct_flight", day

    def price(self, flight: Json, arguments: Json) -> float:
        """What a flight of this booking or change costs each passenger, in dollars."""
        booked = self._booked(arguments).get(flight_day(flight))
        if booked is not None and self._stays(arguments):
            return float(booked["price"])
        prices = self.offers.get(flight_day(flight), {}).get("prices", {})
        return float(prices.get(arguments["cabin"], 0))

    def sum_needed(self, name: str, arguments: Json) -> str | None:
        """The total of a booking, the difference of a change, the price of several bags."""
        match name:
            case "book_reservation":
                return self._total(arguments)
            case "update_reservation_flights":
                new = [self.price(flight, arguments) for flight in arguments["flights"]]
                old = [flight["price"] for flight in self._booked(arguments).values()]
                difference = f"({_added(new)}) - ({_added(old)})"
                heads = self.heads(arguments)
                return difference if heads == 1 else f"({difference}) * {heads}"
            case "update_reservation_baggages":
                charged = self._bags_charged(arguments)
                return f"50 * {charged}" if charged > 1 else None
            case _:
                return None

    def _total(self, arguments: Json) -> str | None:
        """The sum of a booking; None if it is the price of one flight."""
        heads, paid_bags = len(arguments["passengers"]), arguments["nonfree_baggages"]
        fares = _added(self.price(flight, arguments) for flight in arguments["flights"])
        terms = [fares if heads == 1 else f"({fares}) * {heads}"]
        terms += [f"30 * {heads}"] if arguments["insurance"] == "yes" else []
        terms += [f"50 * {paid_bags}"] if paid_bags else []
        added_up = " + ".join(terms)
        return added_up if " " in added_up else None

    def total(self, booking: Json, worked_out: str | None) -> float:
        """What a booking costs, in dollars, given the result of `sum_needed`."""
        return number_in(worked_out) or self.price(booking["flights"][0], booking)

    def heads(self, arguments: Json) -> int:
        """How many passengers the reservation of a change has."""
        return len(self._reservation(arguments).get("passengers", []))

    def change_words(self, name: str, arguments: Json, worked_out: str | None = None) -> str:
        """A change with all its details, as one sentence that begins with a verb."""
        number = arguments.get("reservation_id", "")
        match name:
            case "book_reservation":
                return self._booking(arguments, self.total(arguments, worked_out))
            case "cancel_reservation":
                refunds = self._paid(paid(self._reservation(arguments)))
                return f"cancel reservation {number} as a whole and refund {refunds}"
            case "update_reservation_flights":
                money = self._difference(number_in(worked_out), arguments)
                return f"{self._new_itinerary(arguments)}. {money}"
            case "update_reservation_baggages":
                return self._bags(arguments, number_in(worked_out))
            case "update_reservation_passengers":
                people = listed(map(person_words, arguments["passengers"]))
                return f"change the passengers of reservation {number} to: {people}"
            case "send_certificate":
                return f"send you a certificate of {dollars(arguments['amount'])}"
            case _:
                return in_words(name, arguments)

    # --- pieces -----------------------------------------------------------------------------------

    def _reservation(self, arguments: Json) -> Json:
        return self.reservations.get(str(arguments.get("reservation_id")), {})

    def _booked(self, arguments: Json) -> dict[FlightDay, Json]:
        flights = self._reservation(arguments).get("flights", [])
        return {flight_day(flight): flight for flight in flights}

    def _stays(self, arguments: Json) -> bool:
        """Whether the cabin does."""
        return bool(self._reservation(arguments).get("cabin") == arguments["cabin"])

    def _method(self, method_id: str) -> str:
        return method_words(self.payment_methods(), method_id)

    def _paid(self, shares: Mapping[str, float]) -> str:
        return listed(f"{dollars(share)} to {self._method(m)}" for m, share in shares.items())

    def _flight(self, flight: Json, arguments: Json) -> str:
        """A flight as part of a booking or change, with its price."""
        number, date = flight_day(flight)
        known = self.offers.get((number, date)) or self._booked(arguments).get((number, date), {})
        route = f" from {known['origin']} to {known['destination']}" if known else ""
        leaves = str(known.get("scheduled_departure_time_est", ""))[:5]
        at = f", leaving at {leaves}," if leaves else ""
        each = f"{dollars(self.price(flight, arguments))} a passenger"
        return f"flight {number}{route} on {date}{at} at {each}"

    def _booking(self, arguments: Json, total: float) -> str:
        flights = listed(self._flight(flight, arguments) for flight in arguments["flights"])
        people = listed(map(person_words, arguments["passengers"]))
        shares = listed(
            f"{dollars(payment['amount'])} with {self._method(payment['payment_id'])}"
            for payment in arguments["payment_methods"]
        )
        bags, paid_bags = arguments["total_baggages"], arguments["nonfree_baggages"]
        free = f"{paid_bags} of them at $50 each" if paid_bags else "free of charge"
        insured = arguments["insurance"] == "yes"
        return (
            f"book a {trip_words(arguments['flight_type'])} from {arguments['origin']} to"
            f" {arguments['destination']} in {cabin_words(arguments['cabin'])}: {flights}."
            f" Passengers: {people}."
            f" Checked bags: {f'{bags}, {free}' if bags else 'no bags'}."
            f" Travel insurance: {'yes, at $30 a passenger' if insured else 'no insurance'}."
            f" The total of {dollars(total)} is paid as follows: {shares}"
        )

    def _new_itinerary(self, arguments: Json) -> str:
        number, cabin = arguments["reservation_id"], cabin_words(arguments["cabin"])
        flights = listed(self._flight(flight, arguments) for flight in arguments["flights"])
        if list(map(flight_day, arguments["flights"])) == list(self._booked(arguments)):
            return f"change the cabin of reservation {number} to {cabin}, on {flights}"
        return f"change the flights of reservation {number} to {flights}, in {cabin}"

    def _difference(self, difference: float, arguments: Json) -> str:
        method = self._method(arguments["payment_id"])
        if difference:
            way = "charged" if difference > 0 else "refunded"
            return f"The difference of {dollars(difference)} in all is {way} to {method}"
        return f"There is no price difference; the payment method is {method}"

    def _bags_charged(self, arguments: Json) -> int:
        before = self._reservation(arguments).get("nonfree_baggages", 0)
        return int(arguments["nonfree_baggages"] - before)

    def _bags(self, arguments: Json, total: float) -> str:
        bags = arguments["total_baggages"]
        added = bags - self._reservation(arguments).get("total_baggages", 0)
        noun = "checked bag" if added == 1 else "checked bags"
        plan = (
            f"add {added} {noun} to reservation {arguments['reservation_id']}, which makes {bags}"
        )
        if charged := self._bags_charged(arguments):
            method = self._method(arguments["payment_id"])
            return f"{plan}; {dollars(total or 50 * charged)} is charged to {method}"
        return f"{plan}, free of charge"


def _offers_in(found: Iterable[Any]) -> Iterator[Json]:
    """The flights of a search, those of connections one by one."""
    for entry in found:
        if isinstance(entry, list):
            yield from _offers_in(entry)
        elif isinstance(entry, dict) and "flight_number" in entry:
            yield entry


def flight_day(flight: Mapping[str, Any]) -> FlightDay:
    """What names a flight of an itinerary."""
    return str(flight["flight_number"]), str(flight["date"])


def person_words(person: Mapping[str, Any]) -> str:
    """A passenger by name and date of birth."""
    return f"{person['first_name']} {person['last_name']} (born {person['dob']})"


def cabin_words(cabin: str) -> str:
    """A cabin as it is told.

    >>> cabin_words("basic_economy")
    'basic economy'
    """
    return cabin.replace("_", " ")


def trip_words(flight_type: str) -> str:
    """A kind of trip as it is told.

    >>> trip_words("one_way"), trip_words("round_trip")
    ('one-way trip', 'round trip')
    """
    return "one-way trip" if flight_type == "one_way" else flight_type.replace("_", " ")


def paid(reservation: Json) -> dict[str, float]:
    """What each payment method still has in a reservation, refunds taken off, in dollars."""
    shares: Counter[str] = Counter()
    for entry in reservation.get("payment_history", []):
        shares[entry["payment_id"]] += entry["amount"]
    owed = sum(shares.values())
    for method, share in shares.items():
        shares[method] = max(0, min(share, owed))
        owed -= shares[method]
    return {method: share for method, share in shares.items() if share}


def _added(prices: Iterable[float]) -> str:
    return " + ".join(f"{price:g}" for price in prices)
