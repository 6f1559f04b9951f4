"""What customers of an airline make of agents of many styles."""

from __future__ import annotations

from typing import Any

import pytest

from passhat.simulator.agenda import AgendaUser
from passhat.simulator.contract import Contract
from passhat.simulator.hearing import acts_in, hear, topics_asked, with_extras
from passhat.simulator.proposals import compare, shape_of
from passhat.task import Goal, UserScript
from passhat.transcript import UserEnd, UserReply

PROFILE = {
    "user id": "ana_silva_4471",
    "name": "Ana Silva",
    "date of birth": "1990-04-12",
    "address": "12 Oak Street, Chicago, IL 60601",
}
BOOK: dict[str, Any] = {
    "ask": "I'd like to book the early flight from Denver to Phoenix on 2026-05-20.",
    "details": {
        "flight": "The early one.",
        "cabin": "Economy, please.",
        "passengers": "Just me.",
        "bags": "One bag.",
        "insurance": "Without insurance, please.",
        "payment method": "My Visa.",
    },
    "check": {
        "flight": "WRN176",
        "date": ["2026-05-20", "May 20"],
        "cabin": "economy",
        "payment method": ["credit_card_7777777", "Visa"],
    },
}
CANCEL: dict[str, Any] = {
    "ask": "Please cancel reservation 8A3XK2.",
    "details": {"reason": "I am ill."},
    "check": {"reservation": "8A3XK2"},
}
QUESTION: dict[str, Any] = {
    "ask": "How many bags do I have in it?",
    "until_told": ["3"],
    "confirm": False,
}


def _user(*goals: dict[str, Any], seed: int = 0) -> AgendaUser:
    script = UserScript.model_validate({"goals": goals, "persona": "plain"})
    user = AgendaUser(script, PROFILE, seed)
    user.reply(None)
    return user


def _says(user: AgendaUser, heard: str) -> str:
    return user.reply(heard).content


# --- what is asked for ----------------------------------------------------------------------------


def test_all_that_a_booking_needs_is_told_at_once() -> None:
    """Each question of the list gets the script's answer, extras among them."""
    asked = (
        "To book this I need a few details:\n"
        "1. Which cabin would you like (basic economy, economy or business)?\n"
        "2. What are the names and dates of birth of the passengers?\n"
        "3. How many checked bags will you have?\n"
        "4. Would you like to add travel insurance for $30?\n"
        "5. Which payment method would you like to use?"
    )
    assert _says(_user(BOOK), asked) == (
        "Economy, please. Just me. One bag. Without insurance, please. My Visa."
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Would you like travel insurance for $30 a passenger?", "Without insurance, please."),
        ("Do you want to add travel insurance?", "Without insurance, please."),
        ("Will you be checking any bags?", "One bag."),
        ("Do you have any luggage to check in?", "One bag."),
        ("Which flight would you prefer?", "The early one."),
        ("Who will be travelling?", "Just me."),
    ],
)
def test_an_offer_of_extras_is_a_question(text: str, answer: str) -> None:
    """To say yes to insurance that nobody wants would be the customer's mistake."""
    assert _says(_user(BOOK), text) == answer


def test_an_offer_is_an_offer_where_the_script_has_nothing_to_say() -> None:
    """The customer who wants a reservation cancelled has no opinion about bags."""
    heard = hear("Would you like to add bags?")
    assert with_extras(heard, frozenset({"reason"})) == heard
    assert not with_extras(heard, frozenset({"bags"})).offers


def test_a_proposal_that_names_extras_is_still_a_proposal() -> None:
    """A yes is due when all fits, although bags and insurance are spoken of."""
    proposal = (
        "I will book WRN176 on May 20 in economy, with one checked bag and without insurance, and"
        " charge $99 to your Visa. Would you like me to go ahead?"
    )
    assert _says(_user(BOOK), proposal).startswith("Yes")


def test_which_would_you_like_is_no_yes_or_no_question() -> None:
    """An open question that the script does not answer gets the request again, never a yes."""
    said = _says(_user(CANCEL), "Which date would you like to fly on?")
    assert "8A3XK2" in said


@pytest.mark.parametrize(
    "text",
    [
        "What is your reservation number?",
        "May I have the booking reference, please?",
        "Which reservation would you like to cancel?",
        "Could you provide the confirmation code?",
    ],
)
def test_the_reservation_number_is_given_when_asked_for(text: str) -> None:
    """It stands in what is checked, or in the request."""
    assert "8A3XK2" in _says(_user(CANCEL), text)


def test_a_later_question_is_about_the_reservation_of_before() -> None:
    """The reservation spoken of has a number, and the customer has not forgotten it."""
    user = _user(CANCEL, QUESTION)
    _says(user, "I will cancel reservation 8A3XK2. Do you confirm?")
    assert "bags" in _says(user, "8A3XK2 has been cancelled. Is there anything else?")
    assert "8A3XK2" in _says(user, "Which reservation do you mean?")


def test_short_questions_for_the_user_id_are_heard() -> None:
    """Not every agent speaks in whole sentences."""
    assert "ana_silva_4471" in _says(_user(CANCEL), "Your user id please?")


def test_a_city_of_departure_is_no_address() -> None:
    """Only the script's own word for it is answered."""
    assert topics_asked(hear("What is your departure city?")) == []
    assert topics_asked(hear("What is your departure city?"), frozenset({"origin"})) == ["origin"]
    assert topics_asked(hear("Which city do you live in? And your zip?")) != []


# --- what is proposed -----------------------------------------------------------------------------


def test_basic_economy_is_another_cabin_than_economy() -> None:
    """The one does not stand for the other, in whichever way it is written."""
    economy = Goal(ask="Book it", check={"cabin": "economy"})
    basic = Goal(ask="Book it", check={"cabin": ["basic economy", "basic_economy"]})
    for text in ("in basic economy", "Cabin: basic_economy", "**Cabin:** Basic Economy"):
        assert compare(economy, text).wrong == ["cabin"]
        assert compare(basic, text).named == ["cabin"]
    assert compare(economy, "from basic economy to economy").named == ["cabin"]
    assert compare(basic, "in economy").wrong == ["cabin"]
    assert compare(economy, "in business").wrong == ["cabin"]


def test_a_date_may_be_written_in_words() -> None:
    """Another ISO date beside it, such as one of birth, is not taken for a wrong one."""
    goal = Goal(ask="Book it", check={"date": ["2026-05-20", "May 20"]})
    assert compare(goal, "on May 20 for Ana (born 1990-04-12)").named == ["date"]
    assert compare(goal, "for Ana (born 1990-04-12)").good


def test_another_reservation_is_corrected() -> None:
    """Numbers of letters and digits are told apart, and a flight is no reservation."""
    assert [shape_of(text) for text in ("8A3XK2", "WRN104", "PLEASE")] == [
        "reservation",
        "flight",
        None,
    ]
    user = _user(CANCEL)
    said = _says(user, "I will cancel reservation 7B2YL9. Shall I proceed?")
    assert "8A3XK2" in said
    assert _says(user, "I will cancel 8A3XK2 (flight WRN104). Shall I proceed?").startswith("Yes")


def test_the_report_about_another_reservation_settles_nothing() -> None:
    """Done is what was agreed to."""
    user = _user(CANCEL)
    _says(user, "I will cancel reservation 8A3XK2. Shall I proceed?")
    reply = user.reply("Reservation 7B2YL9 has been cancelled. Anything else?")
    assert reply.end is None
    assert user.reply("Reservation 8A3XK2 has been cancelled.").end is UserEnd.GOALS_MET


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("I will book a round trip; the return flight leaves at 15:10", {"book"}),
        ("I will add two checked bags", {"add bags"}),
        ("I can send you a $100 certificate", {"compensate"}),
        ("I can move you to the evening flight", {"alter"}),
        ("upgrade your cabin", {"alter"}),
        ("your booking reference", set()),
        ("the certificate pays $100", set()),
    ],
)
def test_what_an_airline_does_is_told_apart(text: str, acts: set[str]) -> None:
    """A return flight is nothing to be returned, a booking nothing to be booked."""
    assert acts_in(text) == acts


# --- what is said ---------------------------------------------------------------------------------


def test_reservation_numbers_cannot_be_invented() -> None:
    """Where there are any; elsewhere six signs may be a size."""
    goals = [CANCEL]
    travelling = Contract(UserScript.model_validate({"goals": goals}), PROFILE)
    invented = travelling.check(UserReply(content="It is 7B2YL9."))
    assert invented is not None
    assert "7b2yl9" in invented
    travelling.hear("I see 7B2YL9, too.")
    assert travelling.fork().check(UserReply(content="It is 7B2YL9.")) is None
    shopping = Contract(UserScript.model_validate({"goals": [{"ask": "A jug, please"}]}), {})
    assert shopping.check(UserReply(content="The one of 1000ML.")) is None
