"""What the airline lets its agents do: each limit kept by one talk and broken by another."""

from __future__ import annotations

import pytest

from passhat.policies.airline_terms import TERMS

from .small_airline import (
    ANA,
    BACK,
    BASIC,
    BEN,
    BENS,
    BENS_CARD,
    BIG_CERTIFICATE,
    BOOKING,
    BUSINESS,
    CANCELLED,
    CARD,
    CARD_2,
    CERTIFICATE,
    DELAYED,
    ECONOMY,
    FLOWN,
    GONE,
    INSURED,
    LATER_OUT,
    NEW,
    OUT,
    PEOPLE,
    FlightTalk,
    booking,
    change,
)


@pytest.fixture
def talk(flight_talk: FlightTalk) -> FlightTalk:
    """An empty conversation with the airline."""
    return flight_talk


# --- cancelling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reservation", "dollars", "wish"),
    [
        (BUSINESS, 500, "My plans changed."),
        (NEW, 100, "My plans changed."),
        (CANCELLED, 400, "You cancelled my flight."),
        (INSURED, 460, "My daughter is in hospital."),
        (INSURED, 460, "There is a hurricane coming."),
    ],
)
def test_each_of_the_four_grounds_is_enough(talk, reservation, dollars, wish):
    """Business, 24 hours, cancelled by the airline, insured with a reason of health or weather."""
    talk.identified(reservation, wish=wish).cancelled(reservation, dollars)
    assert talk.broken == []


@pytest.mark.parametrize(
    ("reservation", "dollars", "why"),
    [
        (ECONOMY, 400, "economy, not insured"),
        (BASIC, 100, "basic_economy, not insured"),
        (INSURED, 460, "named no reason of health or weather"),
        (FLOWN, 1000, "flight WRN001 of 2026-05-14 is flown"),
    ],
)
def test_no_ground_or_a_flown_flight_is_a_breach(talk, reservation, dollars, why):
    """Business does not help once a flight is flown, nor does gold membership ever."""
    talk.identified(reservation, wish="My plans changed.").cancelled(reservation, dollars)
    (finding,) = talk.findings
    assert finding.rule == "cancels_only_on_a_ground"
    assert why in finding.reason


def test_an_upgrade_opens_no_door_to_a_cancellation_or_a_change(talk):
    """The cabin at the beginning of the conversation decides."""
    talk.identified(BASIC, wish="JFK to LAX later on that day, or nothing.")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(f"I upgrade {BASIC} to business for $400 by credit card. Shall I?").user("Yes.")
    upgrade = change(OUT, reservation_id=BASIC, cabin="business")
    talk.call("update_reservation_flights", **upgrade)
    assert talk.broken == []
    talk.agent(f"I change {BASIC} to WRN003. Shall I?").user("Yes.")
    move = change(LATER_OUT, reservation_id=BASIC, cabin="business")
    talk.call("update_reservation_flights", **move).cancelled(BASIC, 500)
    assert talk.broken == ["changes_flights_only_where_allowed", "cancels_only_on_a_ground"]


def test_a_reservation_is_not_cancelled_twice(talk):
    """The tool refuses it; the agent could have seen it."""
    talk.identified(GONE, wish="I am ill.").cancelled(GONE, 0)
    assert talk.broken == ["attempts_only_what_the_policy_allows"]


# --- changing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reservation", "cabin", "itinerary", "why"),
    [
        (ECONOMY, "economy", [OUT, ("WRN004", "2026-05-22")], "lead from JFK to ORD"),
        (ECONOMY, "economy", [OUT], "lead from JFK to LAX, not JFK to JFK"),
        (ECONOMY, "economy", [OUT, ("WRN006", "2026-05-22")], "does not leave where"),
        (ECONOMY, "economy", [LATER_OUT, ("WRN002", "2026-05-20")], "leaves before"),
        (FLOWN, "business", [OUT, BACK], "is flown and must stay"),
        (FLOWN, "economy", [("WRN001", "2026-05-14"), BACK], "another cabin though"),
        (GONE, "economy", [BACK], "the reservation is cancelled"),
    ],
)
def test_attempting_an_impossible_change_is_a_matter_of_form(
    talk, reservation, cabin, itinerary, why
):
    """The tool refused it, and the agent could have known."""
    numbers = "WRN001 WRN003 WRN004 WRN006"
    talk.identified(reservation, wish=numbers)
    talk.agent(f"Change {reservation} to {numbers}, {cabin}, $0, credit card. Shall I?").user("Yes")
    new = change(*itinerary, reservation_id=reservation, cabin=cabin)
    talk.call("update_reservation_flights", **new)
    (finding,) = talk.findings
    assert (finding.rule, finding.severity) == ("attempts_only_what_the_policy_allows", "form")
    assert why in finding.reason


def test_basic_economy_flights_are_not_changed_though_the_tool_would(talk):
    """The tool leaves this to the policy."""
    talk.identified(BASIC)
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(f"I change {BASIC} to WRN003, same price, credit card. Shall I?").user("Yes.")
    move = change(LATER_OUT, reservation_id=BASIC, cabin="basic_economy")
    talk.call("update_reservation_flights", **move)
    assert talk.broken == ["changes_flights_only_where_allowed"]


def test_a_change_that_a_looser_tool_let_through_is_a_breach(talk):
    """Rules look at the rows, not at what the tool says."""
    talk.identified(ECONOMY)
    talk.agent(f"I change {ECONOMY} to fly out only, $0, credit card. Shall I?").user("Yes.")
    talk.call("update_reservation_flights", **change(OUT))
    talk.events[-1] = talk.events[-1].model_copy(update={"error": None, "content": "{}"})
    assert talk.broken == ["changes_flights_only_where_allowed"]


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("update_reservation_passengers", {"passengers": PEOPLE[:2]}, "2 passengers instead of 1"),
        (
            "update_reservation_baggages",
            {"total_baggages": 0, "nonfree_baggages": 0, "payment_id": CARD},
            "cannot be taken out",
        ),
        (
            "update_reservation_baggages",
            {"total_baggages": 3, "nonfree_baggages": 2, "payment_id": CARD},
            "2 bags to pay for, it should be 0",
        ),
        (
            "update_reservation_baggages",
            {"total_baggages": 4, "nonfree_baggages": 1, "payment_id": CERTIFICATE},
            "a certificate cannot pay for a change",
        ),
        (
            "update_reservation_baggages",
            {"total_baggages": 4, "nonfree_baggages": 1, "payment_id": BENS_CARD},
            "not in the profile",
        ),
    ],
)
def test_wrong_passengers_bags_and_payments_are_not_attempted(talk, tool, arguments, why):
    """One passenger, gold, economy: three bags are free, and one is booked."""
    talk.identified(ECONOMY, wish=f"{BENS_CARD}, for Max too.")
    talk.agent(f"{ECONOMY}: passengers Ana, Max; 0, 3 or 4 bags; {BENS_CARD}. OK?").user("Yes.")
    talk.call(tool, reservation_id=ECONOMY, **arguments)
    (finding,) = talk.findings
    assert (finding.rule, finding.severity) == ("attempts_only_what_the_policy_allows", "form")
    assert why in finding.reason


def test_free_bags_are_counted_by_membership_cabin_and_passengers():
    """The table of the policy."""
    assert TERMS.bags_to_pay("regular", "basic_economy", heads=3, total=1) == 1
    assert TERMS.bags_to_pay("gold", "economy", heads=2, total=7) == 1
    assert TERMS.bags_to_pay("silver", "business", heads=1, total=2) == 0


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"passengers": PEOPLE[:1] * 6}, "6 passengers, at most 5"),
        ({"total_baggages": 1, "nonfree_baggages": 1}, "1 bags to pay for, it should be 0"),
        (
            {
                "payment_methods": [
                    {"payment_id": CERTIFICATE, "amount": 100},
                    {"payment_id": BIG_CERTIFICATE, "amount": 130},
                ]
            },
            "2 certificates, at most 1",
        ),
        (
            {
                "payment_methods": [
                    {"payment_id": CARD, "amount": 100},
                    {"payment_id": CARD_2, "amount": 130},
                ]
            },
            "2 credit_cards, at most 1",
        ),
    ],
)
def test_a_booking_beyond_the_limits_is_not_attempted(talk, more, why):
    """Five passengers, one certificate, one card, and bags as the membership says."""
    talk.identified(wish="JFK to LAX on May 20.")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(BOOKING).user("Yes.").call("book_reservation", **booking(**more))
    (finding,) = talk.findings
    assert finding.rule == "attempts_only_what_the_policy_allows"
    assert why in finding.reason


# --- compensation -------------------------------------------------------------------------------

COMPLAINT = "My flight was {}. I want compensation."


def status(talk: FlightTalk, day: str) -> FlightTalk:
    """The agent asks how WRN002 stands."""
    return talk.call("get_flight_status", flight_number="WRN002", date=day)


def test_a_delay_is_compensated_after_the_cancellation(talk):
    """$50 for one passenger, on a flight that was looked up."""
    talk.identified(DELAYED, wish=COMPLAINT.format("delayed, cancel it"))
    status(talk, "2026-05-15").cancelled(DELAYED, 500).certified(50)
    assert talk.broken == []


def test_a_delay_alone_is_not_compensated(talk):
    """Nothing was changed or cancelled."""
    talk.identified(DELAYED, wish=COMPLAINT.format("delayed"))
    status(talk, "2026-05-15").certified(50)
    assert talk.broken == ["compensates_a_delay_only_after_a_change"]


@pytest.mark.parametrize(
    ("dollars", "why"), [(100, "$50 or $200 is due, not $100"), (300, "$50 or $200 is due")]
)
def test_the_amount_follows_from_the_passengers(talk, dollars, why):
    """$100 for one of two, and $300 for a reservation that was cancelled before."""
    talk.identified(CANCELLED, GONE, wish=COMPLAINT.format("cancelled"))
    status(talk, "2026-05-18").user(f"I want ${dollars}.").certified(dollars)
    (finding,) = talk.findings
    assert finding.rule == "compensates_only_on_a_ground"
    assert why in finding.reason


def test_a_reservation_is_compensated_once(talk):
    """The second certificate is one too many."""
    talk.identified(CANCELLED, wish=COMPLAINT.format("cancelled"))
    status(talk, "2026-05-18").certified(200)
    assert talk.broken == []
    talk.agent("Done.").user("Again, please.").certified(200)
    assert talk.broken == ["compensates_only_on_a_ground"]


def test_a_regular_member_in_economy_without_insurance_gets_none(talk):
    """Though the flight was cancelled."""
    talk.identified(BENS, user_id=BEN, wish=COMPLAINT.format("cancelled"))
    status(talk, "2026-05-18").certified(100, BEN)
    (finding,) = talk.findings
    assert finding.rule == "compensates_only_on_a_ground"
    assert "neither silver nor gold" in finding.reason


def test_facts_are_confirmed_before_a_certificate(talk):
    """The customer's word is not enough."""
    talk.identified(CANCELLED, wish=COMPLAINT.format("cancelled")).certified(200)
    assert talk.broken == ["confirms_the_facts_before_compensating"]


def test_compensation_is_neither_given_nor_offered_unasked(talk):
    """A complaint is no request."""
    talk.identified(CANCELLED, wish="I am very unhappy: my flight was cancelled!")
    status(talk, "2026-05-18").agent("I cannot offer compensation for feelings.").user("Oh.")
    assert talk.broken == []
    talk.agent("As a gold member you can have a certificate of $200 as compensation. Shall I?")
    talk.user("Yes.").call("send_certificate", user_id=ANA, amount=200)
    assert talk.broken == ["offers_no_compensation_unasked", "compensates_only_who_asked"]
