"""What a customer lets pass in a proposal, and what not."""

from __future__ import annotations

import pytest

from passhat.simulator.proposals import compare, misnamed, shape_of
from passhat.task import Goal

EXCHANGE = Goal(
    ask="I'd like to exchange the lamp from order #W1111111.",
    check={
        "order": "#W1111111",
        "item": ["1000000001", "brass"],
        "new item": ["1000000002", "black"],
        "payment method": ["credit_card_7777777", "Visa"],
    },
)
CANCEL = Goal(ask="Cancel #W1111111.", check={"order": "#W1111111", "reason": "ordered by mistake"})
RETURN = Goal(
    ask="I want to return the mug.",
    check={"order": "#W1111111", "items": "1000000001", "refund": "$45.20"},
)


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (
            EXCHANGE,
            "Exchange in #W1111111: item 1000000001 for 1000000002, on credit_card_7777777.",
        ),
        (
            EXCHANGE,
            "- Order: #W1111111\n- Old: 1000000001\n- New: 1000000002\n- Visa ending in 1234",
        ),
        (EXCHANGE, "I will swap the brass lamp of #W1111111 for the black one."),
        (
            EXCHANGE,
            "Exchange 1000000001 for 1000000002 in #W1111111.\nUnchanged: mug (1000000009).",
        ),
        (CANCEL, "I will cancel #W1111111 because it was ordered by mistake."),
        (CANCEL, "Cancel order #W1111111? The refund of $20.00 goes to gift_card_1234567."),
        (RETURN, "Return 1000000001 from #W1111111, $45.20 back to paypal_1234567."),
        (RETURN, "Return the mug (price $50.00, you get $45.20)."),
    ],
)
def test_a_proposal_that_names_what_is_wanted_fits(goal: Goal, text: str) -> None:
    """The values to check are named, and nothing speaks against them."""
    fit = compare(goal, text)
    assert fit.good
    assert fit.named


@pytest.mark.parametrize(
    ("goal", "text", "wrong"),
    [
        (EXCHANGE, "Exchange 1000000001 for 1000000003 in #W1111111.", ["new item"]),
        (EXCHANGE, "Exchange 1000000001 for 1000000002 in #W2222222.", ["order"]),
        (
            EXCHANGE,
            "Exchange the brass lamp for the black one, on paypal_1111111.",
            ["payment method"],
        ),
        (
            EXCHANGE,
            "Exchange the lamp for the black one, charged to your PayPal.",
            ["payment method"],
        ),
        (EXCHANGE, "Exchange 1000000001 and 1000000008 for 1000000002 in #W1111111.", ["item"]),
        (CANCEL, "I will cancel #W1111111 (reason: no longer needed).", ["reason"]),
        (CANCEL, "I will cancel #W1111111 and #W2222222.", ["order"]),
        (RETURN, "Return 1000000001 from #W1111111, you get $54.20.", ["refund"]),
        (RETURN, "Return 1000000001 and 1000000005 from #W1111111.", ["items"]),
    ],
)
def test_another_value_of_the_same_shape_is_wrong(goal: Goal, text: str, wrong: list[str]) -> None:
    """The topic that the proposal gets wrong is named, a missing value before an extra one."""
    assert compare(goal, text).wrong[:1] == wrong


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (CANCEL, "I will return the items of order #W1111111. Proceed?"),
        (RETURN, "I will exchange the mug for another size."),
        (Goal(ask="How much was #W1111111?", until_told=["$4"]), "Shall I cancel #W1111111?"),
    ],
)
def test_something_else_is_done_than_was_asked(goal: Goal, text: str) -> None:
    """The verb of the proposal is none of the goal's."""
    assert compare(goal, text).other_act


def test_values_of_other_goals_do_no_harm() -> None:
    """A proposal for two goals at once fits each of them."""
    other = "Cancel #W2222222 as well"
    assert compare(CANCEL, "I will cancel #W1111111 and #W2222222.", [other]).good


def test_values_have_the_shape_of_their_kind() -> None:
    """Ids, money, zip codes and streets are told apart; plain words have no shape."""
    found = [
        shape_of(value)
        for value in (
            "#W1234567", "1234567890", "paypal_1234567", "ana_silva_4471", "$1,234.50", "60601",
            "12 Oak Hill Lane", "a@b.org", "2024-05-15", "ending in 4466",
        )
    ]  # fmt: skip
    assert found == [
        "order", "item", "payment", "person", "money", "zip", "street", "email", "date", None,
    ]  # fmt: skip


def test_the_customer_notices_being_taken_for_somebody_else() -> None:
    """A wrong name, e-mail or zip code is noticed, the right one is not."""
    facts = {"name": "Ana Silva", "email": "ana@example.com", "zip": "60601"}
    assert misnamed("So your email is bob@example.com?", facts) == ["email"]
    assert misnamed("Your name is Bob Stone and your zip code is 10001.", facts) == ["name", "zip"]
    assert misnamed("Am I speaking with Ana Silva? Your email: ana@example.com", facts) == []
