"""How an agent of the airline behaves: each rule kept by one talk and broken by another.

What may be booked, changed, cancelled and compensated is in `test_airline_limits`.
"""

from __future__ import annotations

from importlib.resources import files
from math import inf, nan

import pytest

from passhat.domains.airline import DOMAIN, tools
from passhat.policies.airline_terms import TERMS
from passhat.policies.engine import anchors, load_rules
from passhat.policies.facts import days

from .small_airline import (
    ANA,
    BACK,
    BASIC,
    BEN,
    BENS,
    BOOKING,
    BUSINESS,
    CANCELLED,
    CARD,
    CHANGE,
    ECONOMY,
    FLOWN,
    GIFT_CARD,
    INSURED,
    LATER_OUT,
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


def test_a_careful_agent_breaks_no_rule(talk):
    """Book, change, add a bag, cancel and compensate, each after a look and a yes."""
    talk.identified(wish="I need a flight from JFK to LAX on May 20.")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent("There is WRN001 at $200, economy. Would you like insurance for $30?").user("Sure.")
    talk.call("calculate", expression="200 + 30")
    talk.agent(BOOKING).user("Yes.").call("book_reservation", **booking())
    talk.agent("It is booked. Anything else?").user(f"Later outbound in {ECONOMY}, please.")
    talk.call("get_reservation_details", reservation_id=ECONOMY)
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(CHANGE).user("Yes.")
    talk.call("update_reservation_flights", **change(LATER_OUT, BACK))
    talk.agent(f"Done. Shall I also add one free bag to {ECONOMY}, so that there are two?")
    talk.user("Yes.").call(
        "update_reservation_baggages",
        reservation_id=ECONOMY,
        total_baggages=2,
        nonfree_baggages=0,
        payment_id=CARD,
    )
    talk.agent("Done.").user(f"You cancelled my flight in {CANCELLED}: I want compensation.")
    talk.call("get_reservation_details", reservation_id=CANCELLED)
    talk.call("get_flight_status", flight_number="WRN002", date="2026-05-18")
    talk.certified(200).agent("You have it.").user("And now cancel that reservation.")
    talk.cancelled(CANCELLED, 400).agent("It is cancelled.").user("Thank you, bye.")
    assert talk.findings == []


# --- who is served ------------------------------------------------------------------------------


def test_a_reservation_is_not_read_before_the_user_id_was_given(talk):
    """A name and a reservation number prove nothing."""
    talk.user(f"I am Ana Silva, what is in {ECONOMY}?")
    talk.call("get_reservation_details", reservation_id=ECONOMY)
    assert talk.broken == ["identifies_the_customer_first"]


def test_a_user_id_that_nobody_has_identifies_nobody(talk):
    """It must exist."""
    talk.user(f"I am ana_silva_9999, what is in {ECONOMY}?")
    talk.call("get_reservation_details", reservation_id=ECONOMY)
    assert talk.broken == ["identifies_the_customer_first"]


def test_flights_may_be_looked_up_for_anybody(talk):
    """What flies is no secret, and a user id may be written in capitals."""
    talk.user("Which flights are there on May 20?").call("list_all_airports")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent("WRN001. May I have your user id?").user("ANA_SILVA_4471")
    talk.call("get_user_details", user_id=ANA)
    assert talk.broken == []


def test_a_user_id_is_not_told_to_who_has_not_given_it(talk):
    """It was read in the reservation, which should not have been read either."""
    talk.user(f"What is in {ECONOMY}?").call("get_reservation_details", reservation_id=ECONOMY)
    talk.agent(f"Are you {ANA}?")
    assert talk.broken == ["identifies_the_customer_first", "tells_no_user_id_that_was_not_given"]


def test_the_customers_own_user_id_may_be_repeated(talk):
    """They know it."""
    talk.identified().agent(f"Thank you, {ANA}.")
    assert talk.broken == []


def test_somebody_elses_reservation_is_neither_changed_nor_told(talk):
    """Reading it is how one finds out whose it is."""
    talk.identified(BENS, wish=f"{BENS}?").agent(f"I am sorry, {BENS} is not in your profile.")
    assert talk.broken == []
    talk.agent("Ben Okoro flies there.")
    assert talk.broken == ["tells_nothing_of_others"]
    talk.user("Cancel it.").cancelled(BENS, 200)
    assert "serves_one_customer" in talk.broken


def test_what_is_in_the_customers_own_reservation_too_is_no_secret(talk):
    """Both fly with WRN002."""
    talk.identified(BENS, CANCELLED, wish=f"{BENS} or {CANCELLED}?")
    talk.agent(f"{BENS} is not yours; in {CANCELLED} you have WRN002.")
    assert talk.broken == []


def test_a_second_profile_is_not_opened(talk):
    """One conversation, one customer."""
    talk.identified(wish=f"My friend is {BEN}.").call("get_user_details", user_id=BEN)
    assert talk.broken == ["serves_one_customer"]


# --- how tools are used -------------------------------------------------------------------------


def test_text_beside_a_call_and_two_calls_at_once_are_a_matter_of_form(talk):
    """The rules that every desk has hold here too."""
    talk.identified().call("list_all_airports", beside="One moment.")
    read = ("get_reservation_details", {"reservation_id": ECONOMY})
    talk.calls(read, ("get_reservation_details", {"reservation_id": BASIC}))
    assert talk.broken == ["writes_no_text_beside_a_call", "makes_one_call_at_a_time"]
    assert {finding.severity for finding in talk.findings} == {"form"}


def test_a_refused_call_is_not_repeated_as_it_was(talk):
    """With other arguments it is another call."""
    read = "get_flight_status"
    talk.user("WRN001 on 2026-05-01 and 2026-05-02?")
    talk.call(read, flight_number="WRN001", date="2026-05-01")
    talk.call(read, flight_number="WRN001", date="2026-05-02")
    assert talk.broken == []
    talk.call(read, flight_number="WRN001", date="2026-05-01")
    assert talk.broken == ["repeats_no_refused_call"]


def test_results_of_calls_that_share_an_id_are_told_apart(talk):
    """Recorded conversations use ids more than once; the first call was refused all the same."""
    talk.identified(BASIC)
    talk.call("cancel_reservation", reservation_id="ABC123")
    call, result = talk.events[-2:]
    talk.events[-2:] = [
        call.model_copy(update={"call_id": "same"}),
        result.model_copy(update={"call_id": "same"}),
    ]
    talk.call("list_all_airports")
    talk.events[-2:] = [each.model_copy(update={"call_id": "same"}) for each in talk.events[-2:]]
    assert [call.done for call in talk.case.calls[-2:]] == [False, True]


def test_days_that_cannot_be_booked_are_not_searched(talk):
    """Flights are sold from tomorrow on."""
    talk.user("JFK to LAX on 2026-05-15 or 2026-05-16?")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-16")
    assert talk.broken == []
    talk.call("search_onestop_flight", origin="JFK", destination="LAX", date="2026-05-15")
    assert talk.broken == ["searches_only_days_that_can_be_booked"]


def test_a_reservation_is_read_before_it_is_changed(talk):
    """The agent cannot know what it cancels."""
    talk.identified(wish=f"Cancel {BUSINESS}, it was $500.").cancelled(BUSINESS, 500)
    assert talk.broken == ["reads_a_reservation_before_changing_it"]


def test_the_profile_is_read_before_bags_are_added(talk):
    """How many are free depends on the membership."""
    talk.user(f"I am {ANA}, a second free bag for {ECONOMY}, please.")
    talk.call("get_reservation_details", reservation_id=ECONOMY)
    talk.agent(f"I add one free bag to {ECONOMY}. Shall I?").user("Yes.")
    arguments = {"reservation_id": ECONOMY, "total_baggages": 2, "nonfree_baggages": 0}
    talk.call("update_reservation_baggages", **arguments, payment_id=CARD)
    assert talk.broken == ["reads_the_profile_before_what_depends_on_it"]


# --- where facts come from ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [
        "Flight WRN001 leaves on May 20 and is $200; reservation ECO1A1 was $400.",
        "Extra bags are $50 each, two are $100.",
        "On 2026-05-21 there is WRN003.",
    ],
)
def test_facts_from_tools_customer_and_policy_may_be_told(talk, told):
    """A day that a search answered for is known, however the customer put it."""
    talk.identified(ECONOMY, wish="What flies the day after?")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-21")
    talk.agent(told)
    assert talk.broken == []


@pytest.mark.parametrize("told", ["Flight WRN077.", "Reservation XYZ123.", "On May 29.", "$17.77"])
def test_facts_from_nowhere_are_a_breach(talk, told):
    """Nobody ever mentioned these."""
    talk.identified(ECONOMY).agent(told)
    assert talk.broken == ["tells_only_facts_that_have_a_source"]


def test_a_made_up_payment_method_or_flight_is_a_breach_however_deep_it_stands(talk):
    """Even if the tool refuses."""
    pays = [{"payment_id": "credit_card_7334000", "amount": 230}]
    talk.identified(wish="Book me JFK to LAX.")
    talk.call("book_reservation", **booking(payment_methods=pays))
    invented = [f.reason for f in talk.findings if f.rule == "calls_only_with_ids_it_was_given"]
    assert [reason.split("'")[1] for reason in invented] == ["WRN001", "credit_card_7334000"]


def test_an_id_may_have_been_written_in_small_letters(talk):
    """The customer writes "eco1a1"."""
    talk.identified(wish="What is in eco1a1?").call(
        "get_reservation_details", reservation_id=ECONOMY
    )
    assert talk.broken == []


# --- asking first -------------------------------------------------------------------------------


def test_a_wish_is_no_yes(talk):
    """The list and the question are missing."""
    talk.identified(BUSINESS).agent(f"{BUSINESS} is business, $500.").user(f"Cancel {BUSINESS}.")
    talk.call("cancel_reservation", reservation_id=BUSINESS)
    assert talk.broken == ["waits_for_a_yes"]


def test_nothing_is_done_after_a_no(talk):
    """Whatever was said before."""
    talk.identified(BUSINESS).cancelled(BUSINESS, 500, "No, wait.")
    assert talk.broken == ["changes_nothing_after_a_no"]


def test_an_attempt_without_a_yes_is_a_matter_of_form(talk):
    """The tool refused it, since a gift card holds too little; it was not agreed to either."""
    talk.identified(BASIC, wish="Business, please, on my gift card.")
    talk.call(
        "update_reservation_flights",
        **change(OUT, reservation_id=BASIC, cabin="business", payment_id=GIFT_CARD),
    )
    assert talk.broken == ["attempts_nothing_without_a_yes"]


def test_an_earlier_yes_does_not_cover_a_bag_that_came_up_later(talk):
    """The yes was to the new flight."""
    talk.identified(ECONOMY, wish="What flies later?")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(CHANGE).user("Yes.")
    talk.call("update_reservation_flights", **change(LATER_OUT, BACK))
    talk.agent("It is changed.").user("Great, and add another bag.")
    arguments = {"reservation_id": ECONOMY, "total_baggages": 2, "nonfree_baggages": 0}
    talk.call("update_reservation_baggages", **arguments, payment_id=CARD)
    assert talk.broken == ["lists_the_details_before_asking"]


def test_the_reservation_may_have_been_named_shortly_before(talk):
    """The word "it" means the one spoken of."""
    talk.identified(BUSINESS).agent(f"In {BUSINESS} you fly business.").user("I want to cancel it.")
    talk.agent("I would cancel it and refund $500 to your credit card. Do you confirm?").user("Yes")
    talk.call("cancel_reservation", reservation_id=BUSINESS)
    assert talk.broken == []


@pytest.mark.parametrize(
    ("said", "instead", "missing"),
    [
        ("WRN001", "something", "flight 'WRN001'"),
        ("economy", "a good seat", "cabin 'economy'"),
        ("Ana Silva", "you", "passenger 'Ana Silva'"),
        ("insurance", "everything", "insurance"),
        ("credit card ending in 4242", "account", f"payment method '{CARD}'"),
        ("book", "arrange", "the action"),
    ],
)
def test_a_booking_must_be_listed_in_full(talk, said, instead, missing):
    """One thing is left out; the reason says which."""
    talk.identified(wish="JFK to LAX on May 20.")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent("Would you like insurance?").user("Yes.")
    talk.agent(BOOKING.replace(said, instead)).user("Yes.").call("book_reservation", **booking())
    (finding,) = talk.findings
    assert finding.rule == "lists_the_details_before_asking"
    assert missing in finding.reason


def test_a_flight_may_be_named_by_the_time_it_leaves(talk):
    """People say "the one at 2 p.m."."""
    talk.identified(ECONOMY, wish="What flies later?")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    talk.agent(CHANGE.replace("flight WRN003", "the flight at 2:00 PM")).user("Yes.")
    talk.call("update_reservation_flights", **change(LATER_OUT, BACK))
    assert talk.broken == []


@pytest.mark.parametrize(
    ("names", "broken"),
    [("Max Stone", []), ("somebody else", ["lists_the_details_before_asking"])],
)
def test_new_passengers_are_named(talk, names, broken):
    """It is they who were not there before."""
    talk.identified(INSURED, wish="Eva takes my place, and Max is Max Stone.")
    talk.agent(f"In {INSURED} the passengers would be Eva and {names}. Shall I?").user("Yes.")
    new = [PEOPLE[2], {"first_name": "Max", "last_name": "Stone", "dob": "1980-01-01"}]
    talk.call("update_reservation_passengers", reservation_id=INSURED, passengers=new)
    assert talk.broken == broken


def test_an_unannounced_charge_is_a_breach_and_an_unannounced_refund_is_form(talk):
    """An upgrade for $300, and a cancellation for $800, both without a figure."""
    talk.identified(BASIC, BUSINESS)
    talk.agent(f"I upgrade {BASIC} to business, credit card. Shall I?").user("Yes.")
    upgrade = change(OUT, reservation_id=BASIC, cabin="business")
    talk.call("update_reservation_flights", **upgrade)
    talk.agent(f"I cancel {BUSINESS}, refund to your credit card. Shall I?").user("Yes.")
    talk.call("cancel_reservation", reservation_id=BUSINESS)
    assert [(f.rule, f.severity) for f in talk.findings] == [
        ("announces_every_charge", "breach"),
        ("announces_every_refund", "form"),
    ]


def test_insurance_is_spoken_of_before_a_booking(talk):
    """It can only be bought with the booking."""
    talk.identified(wish="JFK to LAX on May 20.")
    talk.call("search_direct_flight", origin="JFK", destination="LAX", date="2026-05-20")
    plain = BOOKING.replace(", with insurance; $230", "; $200").replace("with insurance", "")
    talk.agent(plain.replace("insurance; $230", "; $200")).user("Yes.")
    pays = [{"payment_id": CARD, "amount": 200}]
    talk.call("book_reservation", **booking(insurance="no", payment_methods=pays))
    assert talk.broken == ["asks_about_insurance_before_booking"]


# --- handing over -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("I want to talk to a human.", True),
        ("My suitcase got lost.", True),
        ("I need a wheelchair.", True),
        ("Cancel my trip.", False),
        ("My flight was delayed, pay me.", False),
    ],
)
def test_a_hand_over_needs_work_or_a_request_for_a_human(talk, words, needed):
    """Passing everything on without a look is no service."""
    talk.user(words).call("transfer_to_human_agents", summary="Customer wants something.")
    assert talk.broken == ([] if needed else ["hands_over_only_when_needed"])


def test_a_flown_trip_is_looked_at_and_handed_over(talk):
    """That is what the policy asks for."""
    talk.identified(FLOWN, wish="Cancel FLY6F6.")
    talk.call("transfer_to_human_agents", summary="Wants to cancel FLY6F6, partly flown.")
    assert talk.broken == []


# --- robustness, and the document ---------------------------------------------------------------


def test_malformed_arguments_break_no_rule_by_accident(talk):
    """Arguments are whatever a model wrote; a rule that crashes would lose the trial."""
    talk.identified(ECONOMY, wish="WRN001")
    for strange in (None, 3, "x", [None], [{"flight_number": None}], {"a": 1}, nan, inf):
        talk.call("update_reservation_flights", **change(flights=strange, cabin=strange))
        talk.call("book_reservation", **booking(passengers=strange, payment_methods=strange))
        talk.call("book_reservation", **booking(total_baggages=strange, cabin=strange))
        talk.call("update_reservation_passengers", reservation_id=ECONOMY, passengers=strange)
        talk.call("update_reservation_baggages", reservation_id=ECONOMY, total_baggages=strange)
        talk.call("send_certificate", user_id=ANA, amount=[strange])
        talk.call("get_reservation_details", reservation_id=strange)
        talk.call("search_direct_flight", origin=strange, date=strange)
    assert {finding.severity for finding in talk.findings} <= {"form"}


def test_every_rule_cites_a_section_that_the_document_has():
    """A renamed heading must not leave a rule behind."""
    document = (files("passhat") / "policies" / "airline.md").read_text(encoding="utf-8")
    cited = set(load_rules("airline").sections)
    assert cited <= {f"airline.md#{anchor}" for anchor in anchors(document)}


def test_links_inside_the_document_lead_somewhere():
    """An agent that follows one finds the section."""
    document = DOMAIN.policy
    targets = {part.partition(")")[0] for part in document.split("](#")[1:]}
    assert set() < targets <= set(anchors(document))


def test_the_terms_are_those_of_the_document_the_tools_and_the_world():
    """Four places say them, each for its reader; here they are held together."""
    document = DOMAIN.policy
    assert TERMS.free_bags == tools.FREE_BAGS
    assert TERMS.most_paying == tools.MAX_PAYING
    assert TERMS.most_passengers == tools.MAX_PASSENGERS
    assert DOMAIN.world.now == TERMS.now
    assert days(document) == [TERMS.today[5:]]
    assert f"{TERMS.now:%H:%M}" in document
    for membership, by_cabin in TERMS.free_bags.items():
        row = " | ".join([f"`{membership}`", *map(str, by_cabin.values())])
        assert f"| {row} |" in document
    for cents in (TERMS.cancelled_cents, TERMS.delayed_cents, tools.BAG_CENTS):
        assert f"${cents // 100}" in document
    assert f"${tools.INSURANCE_CENTS // 100} for each passenger" in document
