"""Lines that no simulated customer may say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.simulator.contract import Contract
from passhat.task import UserScript
from passhat.transcript import UserEnd, UserReply

SCRIPT = UserScript.model_validate(
    {
        "customer": "ana_silva_4471",
        "goals": [{"ask": "Cancel #W1111111", "check": {"refund": "$45.20"}}],
        "knows": {"order date": "2024-05-01"},
    }
)
PROFILE = {"email": "ana@example.com", "zip": "60601"}


def _contract() -> Contract:
    return Contract(SCRIPT, PROFILE)


def _said(text: str, end: UserEnd | None = None) -> UserReply:
    return UserReply(content=text, end=end)


@pytest.mark.parametrize("text", ["", "   \n"])
def test_silence_is_no_line(text: str) -> None:
    """An empty line breaks the contract."""
    assert _contract().check(_said(text)) == "said nothing"


@pytest.mark.parametrize(
    "text",
    [
        "It is order #W2222222.",
        "My e-mail is ana.silva@example.com.",
        "I paid $45.21.",
        "On 2024-05-02.",
        "My zip is 60602.",
        "Use gift_card_1234567.",
    ],
)
def test_facts_from_nowhere_are_invented(text: str) -> None:
    """Ids, e-mails, amounts, dates and long numbers come from script, profile or conversation."""
    assert (_contract().check(_said(text)) or "").startswith("invented")


@pytest.mark.parametrize(
    "text",
    [
        "Order #W1111111, please; I get $45.20 back, don't I?",
        "ANA@example.com, 60601, since 2024-05-01, ana_silva_4471",
        "I have 2 cats and waited 15 minutes.",
        "You did not follow my instructions!",
        "I was told that my order has been cancelled. I can help you find it.",
        "I hope you are not just an automated script.",
        "I have returned your call. My new prescription glasses are the third goal in my life.",
    ],
)
def test_ordinary_lines_pass(text: str) -> None:
    """Known facts, small numbers and odd remarks break nothing."""
    assert _contract().check(_said(text)) is None


def test_what_the_agent_said_may_be_repeated() -> None:
    """A fact heard in the conversation is not invented."""
    contract = _contract()
    contract.hear("I also see order #W3333333 over $1,200.")
    assert contract.check(_said("Right, #W3333333, the one for $1200.00.")) is None


@pytest.mark.parametrize(
    "text",
    [
        "How can I help you today?",
        "I have cancelled your order.",
        "Is there anything else I can assist you with?",
        "I'll transfer you to a colleague.",
    ],
)
def test_a_customer_does_not_speak_as_the_agent(text: str) -> None:
    """Lines that only an agent would say break the contract."""
    assert (_contract().check(_said(text)) or "").startswith("spoke as the agent")


@pytest.mark.parametrize(
    "text",
    [
        "That is not mentioned in my instruction.",
        "My instructions say that I want a refund.",
        "As a simulated user I cannot know.",
        "As an AI language model, I have no orders.",
        "Goal: cancel the order",
        "###STOP###",
    ],
)
def test_the_script_stays_behind_the_scenes(text: str) -> None:
    """Talking about the script or the simulation breaks the contract."""
    assert (_contract().check(_said(text)) or "").startswith("spoke of its script")


def test_goals_met_means_that_all_were_put() -> None:
    """Ending content while a request was never made breaks the contract."""
    contract, reply = _contract(), _said("Bye.", UserEnd.GOALS_MET)
    assert contract.check(reply) is None
    assert "never asked: 'Cancel it'" in (contract.check(reply, never_put=["Cancel it"]) or "")


@given(st.text(max_size=200))
def test_a_fork_hears_for_itself(text: str) -> None:
    """What a fork hears changes nothing for the other."""
    contract = _contract()
    contract.fork().hear(f"{text} #W9999999")
    assert (contract.check(_said("#W9999999")) or "").startswith("invented")
