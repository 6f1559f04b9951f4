"""What agents of many kinds write, and what the customer makes of it."""

from __future__ import annotations

import pytest

from passhat.simulator.hearing import (
    LONGEST,
    acts_in,
    either_will_do,
    hear,
    sentences,
    topics_asked,
    without_refusals,
)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("May I have your e-mail, please?", ["email"]),
        ("What's your zip?", ["zip"]),
        (
            "Could you please provide your email address, or your first and last name along with"
            " your zip code?",
            ["email", "name", "zip"],
        ),
        ("To get started I'll need:\n- your **full name**\n- your **zip code**", ["name", "zip"]),
        ("First, I need to verify your identity.", ["identity"]),
        ("I can look you up by name and zip code. Could you share those details?", ["name", "zip"]),
        ("Which order is this about?", ["order id"]),
        ("Do you have the order number?", ["order id"]),
        ("Why would you like to cancel it?", ["reason"]),
        ("Please confirm the reason: 'no longer needed' or 'ordered by mistake'.", ["reason"]),
        ("How would you like to pay the difference?", ["payment method"]),
        ("Which payment method should get the refund?", ["payment method"]),
        ("Please tell me the full new address (street, city, state, zip code).", ["address"]),
        ("Which items would you like to return?", ["items"]),
        ("Which colour would you prefer?", ["new item"]),
        ("You will receive an email with instructions.", []),
        ("Let me know if you need anything else with your order number.", []),
        ("Your payment has been received.", []),
    ],
)
def test_questions_name_their_topics(text: str, topics: list[str]) -> None:
    """Questions, requests and bulleted lists name topics; statements about them do not."""
    assert topics_asked(hear(text)) == topics


def test_one_of_two_ways_to_identify_is_enough_when_the_agent_says_or() -> None:
    """An "or" between ways to identify is told from an "and"."""
    assert either_will_do(hear("Please give me your e-mail or your name and zip code."))
    assert not either_will_do(hear("Please give me your name and zip code."))


@pytest.mark.parametrize(
    "text",
    [
        "Here's what I'm going to do: cancel #W1. Do you confirm? (yes/no)",
        "I'll return the lamp. Shall I go ahead?",
        "**Details**\n- Order: #W1\n\nDoes everything look correct? Reply **YES** to proceed.",
        "Please confirm if you'd like to proceed.",
        "Is that correct?",
        "To confirm, you want the blue one, correct?",
        "Would you like me to process this return?",
        "**Yes** to proceed, or **no** to stop?",
    ],
)
def test_proposals_ask_for_a_yes(text: str) -> None:
    """Many ways to ask for a yes are heard as that."""
    assert hear(text).asks_yes


@pytest.mark.parametrize(
    "text",
    [
        "Could you confirm your e-mail address?",
        "Please confirm which order you mean.",
        "How can I help you today?",
        "Your return is confirmed.",
        "Would you like to know anything else?",
        "Would you like me to transfer you to a human agent?",
    ],
)
def test_other_questions_do_not_ask_for_a_yes(text: str) -> None:
    """Asking for a fact, for more wishes or about a human is no proposal."""
    assert not hear(text).asks_yes


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but orders that have been delivered cannot be cancelled.",
        "Unfortunately, this item is already out of stock.",
        "I am not able to refund to a different card.",
        "We don't allow that: it is against our policy.",
        "Since it has been processed, I can't change the address.",
    ],
)
def test_refusals_are_heard(text: str) -> None:
    """A refusal with or without "cannot" is heard."""
    assert hear(text).refusals


@pytest.mark.parametrize(
    "text",
    [
        "I couldn't find an account with that e-mail.",
        "I can't proceed without your confirmation.",
        "Once I do this, it cannot be undone.",
        "After that you won't be able to change it any more.",
        "If you can't find it, that is fine.",
        "Your order has been cancelled.",
    ],
)
def test_what_only_sounds_like_a_refusal_is_none(text: str) -> None:
    """Failed look-ups, conditions and warnings turn nothing down."""
    assert not hear(text).refusals


@pytest.mark.parametrize(
    "text",
    [
        "Your order has been cancelled. Is there anything else I can help you with?",
        "I've successfully updated the shipping address.",
        "Done! The refund arrives in 5 to 7 days.",
        "The return for the lamp was requested, and the refund will be issued soon.",
        "All set.",
        "The exchange went through.",
    ],
)
def test_reports_are_heard(text: str) -> None:
    """What has been done is told from what will be done."""
    assert hear(text).reports


@pytest.mark.parametrize(
    "text",
    [
        "I will cancel order #W1 once you agree.",
        "The order will be cancelled and the money refunded.",
        "Has the order been cancelled?",
        "It hasn't been cancelled yet.",
        "Your order was delivered on Monday.",
    ],
)
def test_plans_and_states_are_no_reports(text: str) -> None:
    """Promises, questions and denials report nothing."""
    assert not hear(text).reports


def test_a_human_offered_is_told_from_a_human_called() -> None:
    """An offer is a question; a transfer is a statement."""
    offer = hear("I can't do this. Would you like me to transfer you to a human agent?")
    call = hear("YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON.")
    assert (offer.offers_transfer, offer.transferring) == (True, False)
    assert (call.offers_transfer, call.transferring) == (False, True)


def test_patience_and_more_wishes_are_asked_for() -> None:
    """Both "hold on" and "anything else" are heard."""
    assert hear("Could you hold on while I check?").waits
    assert hear("Is there anything else I can do?").anything_else
    assert hear("Is there anything else before I proceed?").before_acting


def test_what_is_refused_is_not_proposed() -> None:
    """The sentences that refuse are taken out of a proposal."""
    text = "I cannot cancel #W1111111. I can return #W2222222 instead."
    assert "#W1111111" not in without_refusals(text)
    assert acts_in(without_refusals(text)) == {"return"}


def test_bullets_stay_with_their_heading() -> None:
    """A list after a colon is one sentence, other lines are sentences of their own."""
    assert sentences("Please give me:\n* your name\n* your zip\n\nThanks!") == [
        "Please give me: your name, your zip",
        "Thanks!",
    ]


@pytest.mark.parametrize(
    "part", ["a", "a.b-", "you ", "can't ", "\n- x:", "1,", "@", "$", "_a", "do you want ", "é"]
)
def test_a_megabyte_of_anything_is_heard(part: str) -> None:
    """Only a bounded part of a message is read, whatever it consists of."""
    assert len(hear(part * (1_000_000 // len(part))).text) <= LONGEST + 1
