"""The rules of airline.md as checks, beside the rules of conduct that hold at every desk.

The airline's tools leave much of the policy to the agent, so most rules look at what a call did to
the rows there were before it. The numbers are in `airline_terms`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from ..language import ids, plain
from .airline_compensation import (
    delay_without_change,
    no_ground_for_certificate,
    unasked,
    unasked_offers,
    unconfirmed,
)
from .airline_plans import charged, chooses, unnamed
from .airline_terms import TERMS
from .airline_trips import (
    no_ground_to_cancel,
    wrong_bags,
    wrong_new_cabin,
    wrong_new_flights,
    wrong_passengers,
    wrong_payment,
)
from .case import Call, Case
from .conduct import rules_of_conduct, same_call, unread
from .consent import changes, consented, heard
from .desk import Desk
from .engine import Violation, rule

READS = frozenset({"get_user_details", "get_reservation_details"})
ACTIONS: Mapping[str, re.Pattern[str]] = {
    "book_reservation": re.compile(r"book|reserv|purchas"),
    "cancel_reservation": re.compile(r"cancel"),
    "update_reservation_flights": re.compile(
        r"chang|modif|updat|switch|upgrad|downgrad|mov|re-?book|replac|cabin|→|->"
    ),
    "update_reservation_baggages": re.compile(r"\bbag|luggage|suitcase"),
    "update_reservation_passengers": re.compile(r"passenger|name|travell?er"),
    "send_certificate": re.compile(r"certificate|voucher|compensat"),
}
"""Every tool that writes, and the words that say what it does."""

Condition = Callable[[Case, Call], str | None]
CONDITIONS: Mapping[str, tuple[Condition, ...]] = {
    "book_reservation": (wrong_passengers, wrong_bags, wrong_payment),
    "cancel_reservation": (no_ground_to_cancel,),
    "update_reservation_flights": (wrong_new_flights, wrong_new_cabin, wrong_payment),
    "update_reservation_baggages": (wrong_bags, wrong_payment),
    "update_reservation_passengers": (wrong_passengers,),
    "send_certificate": (no_ground_for_certificate, delay_without_change),
}
"""What must hold when a tool is called."""

BY_MEMBERSHIP = frozenset({"book_reservation", "update_reservation_baggages", "send_certificate"})
_NEEDS_A_HUMAN = re.compile(
    r"\b(?:lost|missing|stolen|damag\w*|broken|luggage (?:did|never|has)|seats?|meals?|pets?"
    r"|dog|cat|wheelchair|unaccompanied|miles|points|delet\w+|clos(?:e|ing)|e-?mail"
    r"|my (?:name|address)|receipts?|invoices?|complain\w*|complaint|rude|legal|lawyer|sue"
    r"|add\w* (?:a|another|my) (?:new )?(?:\w+ )?(?:card|payment)|charged?)\b"
)
_NUMBERED = re.compile(r"\b(?=\d*[A-Z])(?=[A-Z]*\d)[A-Z\d]{6}\b")
_FLIGHT = re.compile(r"[A-Z]{3}\d{3}")


# --- who is served ------------------------------------------------------------------------------


def _identifications(case: Case) -> list[tuple[int, str]]:
    """Every user id that the customer gave and that exists, with the event of the message."""
    return [
        (event.index, user_id)
        for event in case.transcript.messages()
        if event.by == "user"
        for user_id in ids(plain(event.content))
        if case.rows("customers", user_id=user_id)
    ]


def _ids_in(text: str) -> list[str]:
    """People and payment methods, reservations and flights; those of letters alone are words."""
    return [*ids(text), *_NUMBERED.findall(text)]


def _names_a_reservation(text: str) -> bool:
    return any(not _FLIGHT.fullmatch(found) for found in _NUMBERED.findall(text))


def _tells_a_plan(text: str) -> bool:
    """Whether a reservation, a flight or an amount of money is named."""
    return "$" in text or _NUMBERED.search(text) is not None


def _owner(case: Case, reservation_id: str) -> str | None:
    rows = case.rows("reservations", reservation_id=reservation_id)
    return rows[0]["user_id"] if rows else None


def _whose(case: Case, call: Call) -> str:
    if call.name in ACTIONS and call.text("reservation_id"):
        return _owner(case, call.text("reservation_id")) or ""
    return call.text("user_id") if call.name in READS or call.name in ACTIONS else ""


def _secrets(call: Call) -> Iterator[str]:
    """What only the owner of a reservation may hear: flights, passengers, payment methods."""
    reservation = json.loads(call.content)
    yield reservation["user_id"]
    for flight in reservation["flights"]:
        yield flight["flight_number"]
    for passenger in reservation["passengers"]:
        yield f"{passenger['first_name']} {passenger['last_name']}"
        yield passenger["dob"]
    for payment in reservation["payment_history"]:
        yield payment["payment_id"]


def _forbidden(case: Case, call: Call) -> str | None:
    """The first condition of the policy that this change does not meet, or None."""
    return next(filter(None, (holds(case, call) for holds in CONDITIONS[call.name])), None)


# --- the rules ------------------------------------------------------------------------------------

DESK = Desk(
    document="airline.md",
    noun="reservation",
    subject="reservation_id",
    shows="get_reservation_details",
    reads=READS,
    actions=ACTIONS,
    needs_a_human=_NEEDS_A_HUMAN,
    identifications=_identifications,
    names_a_subject=_names_a_reservation,
    tells_a_plan=_tells_a_plan,
    owner=_owner,
    whose=_whose,
    secrets=_secrets,
    unnamed=unnamed,
    chooses=chooses,
    charged=charged,
    forbidden=_forbidden,
    limits="refuse",
    ids_in=_ids_in,
)
CONDUCT = rules_of_conduct(DESK)


@rule("airline.md#identify-the-customer", severity="breach")
def tells_no_user_id_that_was_not_given(case: Case) -> Iterator[Violation]:
    """A user id is told only to who has said it before."""
    given: set[str] = set()
    for event in case.transcript.messages():
        if event.by == "user":
            given.update(ids(plain(event.content)))
            continue
        for user_id in ids(event.content):
            if user_id not in given and case.rows("customers", user_id=user_id):
                yield Violation(event.index, f"told {user_id!r}, which the customer never gave")


@rule("airline.md#tool-calls", severity="form")
def repeats_no_refused_call(case: Case) -> Iterator[Violation]:
    """A call that was refused is not made again while no row changes."""
    refused: set[str] = set()
    for call in case.calls:
        if same_call(call) in refused:
            yield Violation(call.event, f"{call.name} repeated after {call.content!r:.100}")
        if call.refused:
            refused.add(same_call(call))
        if call.rows:
            refused.clear()


@rule("airline.md#look-before-you-change", severity="breach")
def reads_a_reservation_before_changing_it(case: Case) -> Iterator[Violation]:
    """Every reservation that is written was read before."""
    yield from unread(case, DESK)


@rule("airline.md#look-before-you-change", severity="breach")
def reads_the_profile_before_what_depends_on_it(case: Case) -> Iterator[Violation]:
    """Bookings, bags and certificates follow a look at the membership."""
    read: set[str] = set()
    for call in case.calls:
        whose = _whose(case, call)
        if call.done and call.name in BY_MEMBERSHIP and whose not in read:
            yield Violation(call.event, f"{call.name} without reading the profile of {whose!r}")
        if call.done and call.name == "get_user_details":
            read.add(whose)


@rule("airline.md#what-counts-as-a-yes", severity="form")
def attempts_nothing_without_a_yes(case: Case) -> Iterator[Violation]:
    """A change that a tool refused had been agreed to, too."""
    for call in case.calls:
        if call.refused and call.name in ACTIONS and not consented(case, DESK, call):
            yield Violation(
                call.event, f"{call.name} attempted without a yes; last heard {heard(call)}"
            )


@rule("airline.md#flights", severity="form")
def searches_only_days_that_can_be_booked(case: Case) -> Iterator[Violation]:
    """Flights are searched from tomorrow on."""
    for call in case.calls:
        if call.name.startswith("search_") and "" < call.text("date") <= TERMS.today:
            yield Violation(call.event, f"searched {call.text('date')!r}; it is {TERMS.today}")


@rule("airline.md#extras", severity="breach")
def asks_about_insurance_before_booking(case: Case) -> Iterator[Violation]:
    """Insurance was spoken of before every booking."""
    spoken = False
    calls = {call.event: call for call in changes(case, DESK) if call.name == "book_reservation"}
    for event in case.transcript:
        if event.kind == "message":
            spoken = spoken or "insur" in event.content.lower()
        elif event.index in calls and not spoken:
            yield Violation(event.index, "booked without a word about insurance")


# --- what may be done -----------------------------------------------------------------------------


def _unmet(case: Case, condition: Condition, *tools: str) -> Iterator[Violation]:
    """Changes by these tools that went through although a condition was not met."""
    for call in changes(case, DESK):
        if call.name in tools and (problem := condition(case, call)):
            yield Violation(call.event, f"{call.name}: {problem}")


@rule("airline.md#cancel-a-reservation", severity="breach")
def cancels_only_on_a_ground(case: Case) -> Iterator[Violation]:
    """No flight is flown, and the policy knows a ground for the cancellation."""
    yield from _unmet(case, no_ground_to_cancel, "cancel_reservation")


@rule("airline.md#change-flights", severity="breach")
def changes_flights_only_where_allowed(case: Case) -> Iterator[Violation]:
    """Not in basic economy, from and to the same places, and around flown flights."""
    yield from _unmet(case, wrong_new_flights, "update_reservation_flights")


@rule("airline.md#change-the-cabin", severity="breach")
def changes_no_cabin_of_a_flown_trip(case: Case) -> Iterator[Violation]:
    """The cabin changes for all flights at once, so none may be flown."""
    yield from _unmet(case, wrong_new_cabin, "update_reservation_flights")


@rule("airline.md#change-passengers", severity="breach")
def keeps_the_number_of_passengers(case: Case) -> Iterator[Violation]:
    """At most five are booked, and their number stays."""
    yield from _unmet(case, wrong_passengers, "book_reservation", "update_reservation_passengers")


@rule("airline.md#checked-bags", severity="breach")
def charges_bags_as_the_membership_says(case: Case) -> Iterator[Violation]:
    """Free bags are free, the others are not, and none is taken out."""
    yield from _unmet(case, wrong_bags, "book_reservation", "update_reservation_baggages")


@rule("airline.md#payment", severity="breach")
def pays_only_as_allowed(case: Case) -> Iterator[Violation]:
    """One certificate, one card, three gift cards at most, all of the customer's profile."""
    yield from _unmet(
        case,
        wrong_payment,
        "book_reservation",
        "update_reservation_flights",
        "update_reservation_baggages",
    )


@rule("airline.md#compensation", severity="breach")
def compensates_only_on_a_ground(case: Case) -> Iterator[Violation]:
    """A flight was cancelled or delayed, the customer is eligible, and the sum is right."""
    yield from _unmet(case, no_ground_for_certificate, "send_certificate")


@rule("airline.md#compensation", severity="breach")
def compensates_a_delay_only_after_a_change(case: Case) -> Iterator[Violation]:
    """For a delay, the reservation was changed or cancelled first."""
    yield from _unmet(case, delay_without_change, "send_certificate")


@rule("airline.md#compensation", severity="breach")
def compensates_only_who_asked(case: Case) -> Iterator[Violation]:
    """The customer asked for compensation before the certificate."""
    yield from _unmet(case, unasked, "send_certificate")


@rule("airline.md#compensation", severity="breach")
def confirms_the_facts_before_compensating(case: Case) -> Iterator[Violation]:
    """How the flight stands was looked up before the certificate."""
    yield from _unmet(case, unconfirmed, "send_certificate")


@rule("airline.md#compensation", severity="form")
def offers_no_compensation_unasked(case: Case) -> Iterator[Violation]:
    """Compensation is not brought up by the agent."""
    for event, words in unasked_offers(case):
        yield Violation(event, f"offered unasked: {words!r:.120}")
