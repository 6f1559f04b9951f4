"""Certificates: what may be compensated, and whether it was asked for and confirmed.

A claim rests on the reservations as they were when the conversation began, since a change may have
taken the flight out since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..language import plain, refuses
from .airline_terms import TERMS
from .airline_trips import Leg, Trip, number_in, trip_before
from .case import Call, Case
from .conduct import said_before

TOOL = "send_certificate"
_CHANGES = frozenset({"cancel_reservation", "update_reservation_flights"})
_ASKS = re.compile(
    r"\b(?:compensat\w*|vouchers?|goodwill|reimburs\w*|make (?:it|this|that) up"
    r"|(?:travel|flight|account) credit|(?:a|some|any) credit(?! card)"
    r"|for (?:my|the|all this|this) (?:trouble|inconvenience)"
    r"|(?:give|get|offer|send|issue|receive|deserve|want|expect|need)\w*\b[^.?!]{0,40}certificates?)\b"
)
_OFFERS = re.compile(
    r"\b(?:compensat\w*|vouchers?|gesture|goodwill|offer\w*\b.{0,60}\bcertificates?)\b"
)
_SENTENCE = re.compile(r"[.?!\n]+")


@dataclass(frozen=True)
class Claim:
    """One flight that was cancelled or delayed, in a reservation that can have compensation."""

    trip: Trip
    leg: Leg

    @property
    def reservation_id(self) -> str:
        """Number of the reservation."""
        return str(self.trip.row["reservation_id"])

    @property
    def cents(self) -> int:
        """What is due for the whole reservation."""
        cancelled = self.leg.status == "cancelled"
        return (TERMS.cancelled_cents if cancelled else TERMS.delayed_cents) * self.trip.heads


def amount_cents(call: Call) -> int:
    """What a certificate is worth."""
    return round(number_in(call, "amount") * 100)


def claims(case: Case, user_id: str) -> list[Claim]:
    """Everything a customer could be compensated for, whatever their membership."""
    rows = case.rows_before(0, "reservations", user_id=user_id)
    trips = [trip_before(case, 0, row["reservation_id"]) for row in rows]
    return [
        Claim(trip, leg)
        for trip in trips
        if trip is not None and trip.row["status"] != "cancelled"
        for leg in trip.legs
        if leg.status in ("cancelled", "delayed")
    ]


def _due(case: Case, call: Call) -> list[Claim]:
    """The claims that a certificate can be for: eligible, and of its amount."""
    found = case.once(claims, call.text("user_id"))
    return [each for each in found if each.trip.eligible and each.cents == amount_cents(call)]


def _given_before(case: Case, call: Call) -> int:
    """How many certificates of this amount the customer got before in this conversation."""
    return sum(
        each.name == TOOL
        and each.done
        and each.event < call.event
        and each.text("user_id") == call.text("user_id")
        and amount_cents(each) == amount_cents(call)
        for each in case.calls
    )


def no_ground_for_certificate(case: Case, call: Call) -> str | None:
    """No such flight, a customer who can have none, another amount, or one certificate too many."""
    found = case.once(claims, call.text("user_id"))
    if not found:
        return "no flight of this customer is cancelled or delayed"
    eligible = [each for each in found if each.trip.eligible]
    if not eligible:
        return "neither silver nor gold, nor insured, nor business"
    due = {each.reservation_id for each in _due(case, call)}
    if not due:
        sums = " or ".join(f"${cents / 100:g}" for cents in sorted({e.cents for e in eligible}))
        return f"{sums} is due, not ${amount_cents(call) / 100:g}"
    if len(due) <= _given_before(case, call):
        return f"reservation {min(due)!r} has been compensated already"
    return None


def delay_without_change(case: Case, call: Call) -> str | None:
    """Only delayed flights, and none of their reservations was changed or cancelled before."""
    due = _due(case, call)
    if not due or any(each.leg.status == "cancelled" for each in due):
        return None
    done = {
        each.text("reservation_id")
        for each in case.calls
        if each.name in _CHANGES and each.done and each.event < call.event
    }
    if done.isdisjoint(each.reservation_id for each in due):
        return f"reservation {due[0].reservation_id!r} was neither changed nor cancelled"
    return None


def unconfirmed(case: Case, call: Call) -> str | None:
    """The status of no flight that it can be for was asked."""
    due = _due(case, call)
    asked = {
        (each.text("flight_number"), each.text("date"))
        for each in case.calls
        if each.name == "get_flight_status" and each.done and each.event < call.event
    }
    if due and asked.isdisjoint(each.leg.key for each in due):
        return f"the status of flight {due[0].leg.number} was not looked up"
    return None


def unasked(case: Case, call: Call) -> str | None:
    """The customer has not asked for compensation."""
    return None if _ASKS.search(said_before(case, call.event)) else "nobody asked for compensation"


def unasked_offers(case: Case) -> Iterator[tuple[int, str]]:
    """Index and words of every offer that the agent made before the customer asked, or got one."""
    given = next((each.event for each in case.calls if each.name == TOOL and each.done), None)
    for event in case.transcript.messages():
        asked = event.by == "user" and _ASKS.search(plain(event.content))
        if asked or (given is not None and event.index > given):
            return
        if event.by == "agent":
            for sentence in map(plain, _SENTENCE.split(event.content)):
                if _OFFERS.search(sentence) and not refuses(sentence):
                    yield event.index, sentence
                    break
