"""The rule-based agent: works from the conversation alone, and never breaks."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.agent import Brief
from passhat.agents.rule_based.retail_words import (
    Wish,
    address_in,
    best_variant,
    method_in,
    reason_in,
    wish_in,
)
from passhat.domains.domain import Domain
from passhat.transcript import ErrorKind

from .conftest import Play
from .fuzzing import play_at_random


def test_it_is_a_useful_middle(play: Play, retail: Domain) -> None:
    """It passes some shipped tasks and fails some: neither a reference nor silence."""
    tasks = list(retail.tasks.values())
    passed = sum(play("rule-based", task).grade.passed for task in tasks)
    assert 0.4 <= passed / len(tasks) <= 0.8


def test_it_repeats_exactly(play: Play, retail: Domain) -> None:
    """The same task and seed give the same transcript."""
    task = next(iter(retail.tasks.values()))
    first, second = (play("rule-based", task, seed=2).transcript.dump() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("I'd like to cancel order #W3324879, please.", Wish.CANCEL),
        ("I want to return the boots from #W7773238", Wish.RETURN),
        ("Could I exchange the lamp for a black one?", Wish.EXCHANGE),
        ("The hammock in #W9199897 in forest green, please", Wish.EXCHANGE),
        ("Please put order #W8802305 on PayPal.", Wish.PAYMENT),
        ("Order #W2975085 has to go to the new place.", Wish.ADDRESS),
        ("Please update the default address in my profile", Wish.DEFAULT_ADDRESS),
        ("How much did I pay for #W7408280?", Wish.QUESTION),
        ("Let me talk to a human", Wish.HUMAN),
        ("Take the bike out of my order", Wish.FORBIDDEN),
        ("No, thanks. Bye!", Wish.GOODBYE),
        ("Hm.", Wish.UNCLEAR),
    ],
)
def test_it_hears_what_a_request_is_for(text: str, wish: Wish) -> None:
    """One wish for each request."""
    assert wish_in(text) is wish


def test_it_reads_the_two_reasons_and_no_other() -> None:
    """A third reason is none."""
    assert reason_in("I changed my mind") == "no longer needed"
    assert reason_in("ordered by accident") == "ordered by mistake"
    assert reason_in("it is cheaper elsewhere") is None


def test_it_reads_an_address_with_and_without_a_second_line() -> None:
    """As the tools take it."""
    short = address_in("402 Kestrel Lane, Boise, ID 83704, USA.")
    assert short is not None
    assert (short["address1"], short["address2"], short["zip"]) == ("402 Kestrel Lane", "", "83704")
    long = address_in("to 59 Lanternmoor Avenue, Suite 12, Tampa, FL 33611")
    assert long is not None
    assert (long["address2"], long["city"], long["state"]) == ("Suite 12", "Tampa", "FL")
    assert address_in("the same as before") is None


def test_it_picks_the_payment_method_that_is_named() -> None:
    """By kind, brand, last digits or id; an ambiguous name picks none."""
    methods = {
        "credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "4466"},
        "gift_card_1": {"source": "gift_card", "balance": 10.0},
        "gift_card_2": {"source": "gift_card", "balance": 20.0},
    }
    assert method_in("My Visa", methods) == "credit_card_1"
    assert method_in("the card ending in 4466", methods) == "credit_card_1"
    assert method_in("gift_card_2 please", methods) == "gift_card_2"
    assert method_in("my gift card", methods) is None
    assert method_in("either gift card will do", methods) == "gift_card_1"
    assert method_in("the original one", methods, "credit_card_1") == "credit_card_1"


def test_it_picks_the_variant_that_is_described() -> None:
    """Options not named stay as they are, sold out variants are left, "cheapest" means price."""
    options = (("red", "S"), ("red", "M"), ("blue", "M"), ("green", "M"))
    variants = {
        str(n): {
            "item_id": str(n),
            "options": {"color": color, "size": size},
            "available": color != "green",
            "price": 10.0 - n,
        }
        for n, (color, size) in enumerate(options)
    }
    product, item = {"variants": variants}, variants["0"]
    assert best_variant(product, item, "in blue, please")["item_id"] == "2"  # type: ignore[index]
    assert best_variant(product, item, "the same in M.")["item_id"] == "1"  # type: ignore[index]
    assert best_variant(product, item, "the cheapest one")["item_id"] == "2"  # type: ignore[index]
    assert best_variant(product, item, "another one") is None


WORDS = st.sampled_from(
    """Hi! yes no cancel return exchange the lamp my order #W1234567 #W7654321 address default gift
    card paypal 12 Main Street, Apt 3, Boise, ID 83704 ana@example.com I'm Ana Silva 60601 how much
    is it? cheapest by mistake all of them except one of the boots in red same bye human""".split()  # noqa: SIM905
)
LINES = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=40))
ORDER = {
    "order_id": "#W1234567",
    "user_id": "ana_silva_4471",
    "address": {"address1": "12 Main Street", "city": "Boise", "zip": "83704"},
    "items": [
        {
            "name": "Desk Lamp",
            "product_id": "1111111111",
            "item_id": "2222222222",
            "price": 10.0,
            "options": {"color": "red"},
        }
    ],
    "fulfillments": [],
    "status": "pending",
    "payment_history": [],
}
PROFILE = {
    "name": {"first_name": "Ana", "last_name": "Silva"},
    "address": {"address1": "12 Main Street"},
    "payment_methods": {"gift_card_1234567": {"source": "gift_card", "balance": 5.0}},
    "orders": ["#W1234567"],
}
RESULTS = st.sampled_from(
    [
        ("Error: not found", ErrorKind.REFUSED),
        ("ana_silva_4471", None),
        ("", None),
        (json.dumps(PROFILE), None),
        (json.dumps(ORDER), None),
        (json.dumps({"name": "Desk Lamp", "product_id": "1111111111", "variants": {}}), None),
        (json.dumps({"Desk Lamp": "1111111111"}), None),
        ("12.5", None),
    ]
)


@pytest.mark.parametrize("spec", ["rule-based", "slippery:0.3:rule-based"])
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_words_and_no_tool_results_break_it(
    spec: str, brief: Callable[..., Brief], data: st.DataObject
) -> None:
    """Whatever it hears, it makes a proper move, and comes to an end."""
    play_at_random(spec, brief(seed=data.draw(st.integers(0, 99))), data, LINES, RESULTS)
