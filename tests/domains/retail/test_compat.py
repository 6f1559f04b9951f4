"""The retail tools of tau-bench and tau2-bench, defects included."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from passhat.domains.database import Database
from passhat.domains.packs import Pack

from ...clones import pack


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pack]:
    """Both benchmarks' shops."""
    names = ("retail@tau-bench", "retail@tau2")
    return {name: pack(tmp_path_factory.mktemp("clone") / "c", name) for name in names}


class Desk:
    """One episode's rows, and the tools on them."""

    def __init__(self, pack: Pack, db: Database) -> None:
        self.pack, self.db = pack, db

    def say(self, name: str, **arguments: Any) -> str:
        """What a call is answered."""
        return self.pack.call(self.db, name, arguments).content

    def get(self, name: str, **arguments: Any) -> Any:
        """What a call is answered, as an object."""
        return json.loads(self.say(name, **arguments))

    def balance(self, method: str) -> float:
        """Of a gift card."""
        user = self.get("get_user_details", user_id="ada_bell_1000")
        return float(user["payment_methods"][method]["balance"])


@pytest.fixture
def tau_bench(packs: dict[str, Pack]) -> Iterator[Desk]:
    """tau-bench's desk."""
    shop = packs["retail@tau-bench"]
    with shop.world.fork() as db:
        yield Desk(shop, db)


@pytest.fixture
def tau2(packs: dict[str, Pack]) -> Iterator[Desk]:
    """tau2's desk."""
    shop = packs["retail@tau2"]
    with shop.world.fork() as db:
        yield Desk(shop, db)


def test_customers_are_found(tau_bench: Desk) -> None:
    """By e-mail in any case, by name in any case with the zip code as it is."""
    assert tau_bench.say("find_user_id_by_email", email="ADA@example.com") == "ada_bell_1000"
    by_name = {"first_name": "bo", "last_name": "COLE", "zip": "04263"}
    assert tau_bench.say("find_user_id_by_name_zip", **by_name) == "bo_cole_2000"
    assert tau_bench.say("find_user_id_by_email", email="x") == "Error: user not found"


def test_refusals_are_worded_by_each(tau_bench: Desk, tau2: Desk) -> None:
    """The same sentence, once without and once with a capital letter."""
    asked = {"order_id": "#W3", "reason": "no longer needed"}
    refusal = "Error: non-pending order cannot be cancelled"
    assert tau_bench.say("cancel_pending_order", **asked) == refusal
    assert tau2.say("cancel_pending_order", **asked) == refusal.replace("non", "Non")


def test_products_are_listed_by_name(tau_bench: Desk) -> None:
    """Name to id."""
    assert tau_bench.say("list_all_product_types") == '{"Lamp": "1"}'


def test_an_item_is_looked_up_only_in_tau2(tau_bench: Desk, tau2: Desk) -> None:
    """tau-bench has no such tool."""
    assert tau2.get("get_item_details", item_id="11")["price"] == 22.25
    assert tau2.say("get_item_details", item_id="99") == "Error: Item not found"
    assert tau_bench.say("get_item_details", item_id="11") == "Unknown action get_item_details"


def test_cancelling_refunds_every_entry_refunds_too(tau_bench: Desk) -> None:
    """After a change of payment three entries are refunded: 60 - 50.6 + 50.6 + 50.6 and so on."""
    tau_bench.say("modify_pending_order_payment", order_id="#W1", payment_method_id="gift_card_2")
    assert tau_bench.balance("gift_card_2") == 9.4
    order = tau_bench.get("cancel_pending_order", order_id="#W1", reason="ordered by mistake")
    assert len(order["payment_history"]) == 6
    assert tau_bench.balance("gift_card_2") == 60.0
    assert list(order)[-1] == "cancel_reason"


@pytest.mark.parametrize(
    ("method", "refusal"),
    [
        ("gift_card_9", "payment method not found"),
        ("credit_card_1", "the new payment method should be different from the current one"),
        ("gift_card_3", "insufficient gift card balance to pay for the order"),
    ],
)
def test_a_payment_cannot_be_changed_to(tau_bench: Desk, method: str, refusal: str) -> None:
    """A method that is not there, the same one, one that holds too little."""
    asked = {"order_id": "#W1", "payment_method_id": method}
    assert tau_bench.say("modify_pending_order_payment", **asked) == f"Error: {refusal}"


def test_the_difference_of_changed_items_is_not_rounded(tau_bench: Desk) -> None:
    """It stands in the history as the subtraction left it."""
    order = tau_bench.get(
        "modify_pending_order_items",
        order_id="#W1",
        item_ids=["13"],
        new_item_ids=["10"],
        payment_method_id="gift_card_2",
    )
    last = order["payment_history"][-1]
    assert last["transaction_type"] == "refund"
    assert last["amount"] == abs(20.5 - 30.1) != 9.6
    assert order["status"] == "pending (item modified)"
    assert tau_bench.balance("gift_card_2") == 69.6


def _change(desk: Desk, items: list[str], new_items: list[str], **more: Any) -> Any:
    asked = {"order_id": "#W1", "item_ids": items, "new_item_ids": new_items}
    return desk.say(
        "modify_pending_order_items", **asked | {"payment_method_id": "credit_card_1"} | more
    )


def test_tau2_gives_every_changed_item_the_last_ones_price(tau_bench: Desk, tau2: Desk) -> None:
    """A defect of tau2 alone."""
    swap = (["10", "13"], ["11", "10"])
    prices = [
        [item["price"] for item in json.loads(_change(desk, *swap))["items"]]
        for desk in (tau_bench, tau2)
    ]
    assert prices == [[22.25, 20.5], [20.5, 20.5]]


def test_an_item_changed_for_itself_is_refused_by_tau2_only(tau_bench: Desk, tau2: Desk) -> None:
    """tau-bench locks the order for nothing."""
    assert '"pending (item modified)"' in _change(tau_bench, ["10"], ["10"])
    refusal = "Error: The new item id should be different from the old item id"
    assert _change(tau2, ["10"], ["10"]) == refusal


@pytest.mark.parametrize(
    ("items", "new_items", "method", "refusal"),
    [
        (["10", "10"], ["11", "11"], "credit_card_1", "10 not found"),
        (["x1"], ["11"], "credit_card_1", "x1 not found"),
        (["10"], [], "credit_card_1", "the number of items to be exchanged should match"),
        (["10"], ["12"], "credit_card_1", "new item 12 not found or available"),
        (["10"], ["11"], "nothing", "payment method not found"),
        (
            ["10"],
            ["11"],
            "gift_card_3",
            "insufficient gift card balance to pay for the new item",
        ),
    ],
)
def test_items_cannot_be_changed_if(
    tau_bench: Desk, items: list[str], new_items: list[str], method: str, refusal: str
) -> None:
    """The checks, in their order, word for word; and nothing is written."""
    answer = _change(tau_bench, items, new_items, payment_method_id=method)
    assert answer == f"Error: {refusal}"
    assert tau_bench.db.changes() == ()


def test_the_name_of_an_item_is_not_capitalised(tau2: Desk) -> None:
    """tau2's capital letter is for its own sentences."""
    assert _change(tau2, ["x1"], ["11"]) == "Error: x1 not found"


def test_a_changed_order_is_still_pending_for_tau2(tau_bench: Desk, tau2: Desk) -> None:
    """Its address can be changed after its items; in tau-bench it cannot."""
    place = {"address1": "2 Elm", "address2": "", "city": "York", "state": "ME", "country": "USA"}
    answers = []
    for desk in (tau_bench, tau2):
        _change(desk, ["10"], ["11"])
        answers.append(
            desk.say("modify_pending_order_address", order_id="#W1", zip="04000", **place)
        )
    assert answers[0] == "Error: non-pending order cannot be modified"
    address = json.loads(answers[1])["address"]
    assert list(address) == ["address1", "address2", "city", "country", "state", "zip"]


def test_an_exchange_loses_which_item_becomes_which(tau_bench: Desk) -> None:
    """Both lists are sorted, each for itself; no money moves."""
    order = tau_bench.get(
        "exchange_delivered_order_items",
        order_id="#W2",
        item_ids=["11", "10"],
        new_item_ids=["10", "13"],
        payment_method_id="gift_card_2",
    )
    assert order["exchange_items"] == ["10", "11"]
    assert order["exchange_new_items"] == ["10", "13"]
    assert order["exchange_price_difference"] == 7.85
    assert tau_bench.balance("gift_card_2") == 60.0


def test_a_return_goes_to_a_gift_card_or_to_what_paid(tau_bench: Desk, tau2: Desk) -> None:
    """Each benchmark has its own words for the refusal."""
    asked = {"order_id": "#W2", "item_ids": ["10"], "payment_method_id": "credit_card_1"}
    wrong = "payment method should be"
    assert tau_bench.say("return_delivered_order_items", **asked) == (
        f"Error: {wrong} either the original payment method or a gift card"
    )
    assert tau2.say("return_delivered_order_items", **asked) == (
        "Error: Payment method should be the original payment method"
    )
    order = tau_bench.get(
        "return_delivered_order_items", **asked | {"payment_method_id": "gift_card_3"}
    )
    assert order["return_items"] == ["10"]
    assert order["status"] == "return requested"


def test_an_address_keeps_the_order_of_tau_benchs_arguments(tau_bench: Desk) -> None:
    """Its keys come out as they were given."""
    place = {"address1": "2 Elm", "address2": "", "city": "York", "state": "ME", "country": "USA"}
    user = tau_bench.get("modify_user_address", user_id="ada_bell_1000", zip="04000", **place)
    assert list(user["address"]) == ["address1", "address2", "city", "state", "country", "zip"]
