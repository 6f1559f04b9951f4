"""The tools of the shop, one by one: what they show, what they write, what they refuse."""

import json
from typing import Any

import pytest

from passhat.domains.database import Database
from passhat.domains.retail import DOMAIN, tools
from passhat.errors import BrokenToolError, TaskError, ToolError
from passhat.transcript import ErrorKind

ANA, MARIA = "ana_silva_1111", "ana_silva_2222"
PENDING, DELIVERED, PROCESSED, BY_GIFT_CARD = "#W0000001", "#W0000002", "#W0000003", "#W0000004"
CARD, GIFT, PAYPAL = "credit_card_1111111", "gift_card_1111111", "paypal_1111111"
OF_MARIA, MARIAS_GIFT = "#W0000005", "gift_card_2222222"
ELSEWHERE = {
    "address1": "9 Zephyr Road",
    "address2": "",
    "city": "Reno",
    "state": "NV",
    "country": "USA",
    "zip": "89501",
}


def balance(shop: Database, card: str = GIFT) -> float:
    """What is left on a gift card of Ana or Maria, in dollars."""
    owner = ANA if card == GIFT else MARIA
    left: float = tools.get_user_details(shop, owner)["payment_methods"][card]["balance"]
    return left


def history(order: dict[str, Any]) -> list[tuple[str, float, str]]:
    """An order's payments, as short as can be."""
    return [tuple(payment.values()) for payment in order["payment_history"]]


def item_ids(order: dict[str, Any]) -> list[str]:
    """The items of an order, in order."""
    return [item["item_id"] for item in order["items"]]


# --- the desk as a whole --------------------------------------------------------------------------


def test_the_desk_has_the_seventeen_tools() -> None:
    """Names as in tau-bench's retail desk, and tau2's get_item_details."""
    assert list(DOMAIN.tools) == [
        "calculate",
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "find_user_id_by_email",
        "find_user_id_by_name_zip",
        "get_item_details",
        "get_order_details",
        "get_product_details",
        "get_user_details",
        "list_all_product_types",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
        "think",
        "transfer_to_human_agents",
    ]


def test_seven_tools_write_and_one_hands_over() -> None:
    """The marks that policy checks and replay rely on."""
    assert {name for name, tool in DOMAIN.tools.items() if tool.writes} == {
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    }
    assert [name for name, tool in DOMAIN.tools.items() if tool.hands_over] == [
        "transfer_to_human_agents"
    ]


@pytest.mark.parametrize("name", DOMAIN.tools)
def test_every_tool_and_argument_is_described(name: str) -> None:
    """The schema an agent reads says what the tool does and what each argument is."""
    schema = DOMAIN.tools[name].schema
    assert schema["description"]
    properties = schema["input_schema"]["properties"]
    assert all(described.get("description") for described in properties.values())
    assert schema["input_schema"].get("required", []) == list(properties)


def test_a_reason_that_is_not_listed_is_a_bad_argument(shop: Database) -> None:
    """The agent is told which reasons there are, before the tool runs."""
    outcome = DOMAIN.call(
        shop, "cancel_pending_order", {"order_id": PENDING, "reason": "too expensive"}
    )
    assert outcome.error is ErrorKind.BAD_ARGUMENT
    assert "'no longer needed' or 'ordered by mistake'" in outcome.content


# --- looking things up ------------------------------------------------------------------------


def test_a_customer_is_found_by_email_in_any_case(shop: Database) -> None:
    """Neither how it is stored nor how it is told matters."""
    assert tools.find_user_id_by_email(shop, "ANA.SILVA@example.com") == ANA
    assert tools.find_user_id_by_email(shop, "ana.maria@example.org") == MARIA


def test_a_customer_is_found_by_name_in_any_case_and_exact_zip(shop: Database) -> None:
    """Two customers of one name are told apart by their zip."""
    assert tools.find_user_id_by_name_zip(shop, "ana", "SILVA", "60604") == ANA
    assert tools.find_user_id_by_name_zip(shop, "Ana", "Silva", "83719") == MARIA


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        ("find_user_id_by_email", {"email": "nobody@example.com"}, "user not found"),
        (
            "find_user_id_by_name_zip",
            {"first_name": "Ana", "last_name": "Silva", "zip": "60605"},
            "user not found",
        ),
        (
            "find_user_id_by_name_zip",
            {"first_name": "Ana", "last_name": "Silvia", "zip": "60604"},
            "user not found",
        ),
        ("get_user_details", {"user_id": "ana_silva_3333"}, "user not found"),
        ("get_order_details", {"order_id": "W0000001"}, "order not found"),
        ("get_product_details", {"product_id": "red"}, "product not found"),
        ("get_item_details", {"item_id": "mug"}, "item not found"),
    ],
)
def test_what_is_not_there_is_not_found(
    shop: Database, name: str, arguments: dict[str, str], refusal: str
) -> None:
    """Each look-up names the kind of thing it did not find."""
    outcome = DOMAIN.call(shop, name, arguments)
    assert (outcome.error, outcome.content) == (ErrorKind.REFUSED, f"Error: {refusal}")


def test_a_customer_is_shown_with_wallet_and_orders(shop: Database) -> None:
    """The whole result, key order included."""
    assert DOMAIN.call(shop, "get_user_details", {"user_id": ANA}).content == json.dumps(
        {
            "name": {"first_name": "Ana", "last_name": "Silva"},
            "address": {
                "address1": "12 Larkspur Lane",
                "address2": "Apt 3",
                "city": "Chicago",
                "country": "USA",
                "state": "IL",
                "zip": "60604",
            },
            "email": "ana.silva@example.com",
            "payment_methods": {
                CARD: {"source": "credit_card", "brand": "visa", "last_four": "4242", "id": CARD},
                GIFT: {"source": "gift_card", "balance": 100.0, "id": GIFT},
                PAYPAL: {"source": "paypal", "id": PAYPAL},
            },
            "orders": [PENDING, DELIVERED, PROCESSED, BY_GIFT_CARD],
        }
    )


def test_an_order_is_shown_with_items_parcels_and_payments(shop: Database) -> None:
    """The whole result, key order included; items of one parcel stand together."""
    mug = {"name": "Mug", "product_id": "mug"}
    red = {"item_id": "red", "price": 10.0, "options": {"style": "red", "finish": "matte"}}
    blue = {"item_id": "blue", "price": 12.5, "options": {"style": "blue", "finish": "matte"}}
    assert DOMAIN.call(shop, "get_order_details", {"order_id": DELIVERED}).content == json.dumps(
        {
            "order_id": DELIVERED,
            "user_id": ANA,
            "address": {
                "address1": "12 Larkspur Lane",
                "address2": "Apt 3",
                "city": "Chicago",
                "country": "USA",
                "state": "IL",
                "zip": "60604",
            },
            "items": [mug | red, mug | blue, mug | red],
            "fulfillments": [
                {"tracking_id": ["900000000000"], "item_ids": ["red", "blue"]},
                {"tracking_id": ["900000000001"], "item_ids": ["red"]},
            ],
            "status": "delivered",
            "payment_history": [
                {"transaction_type": "payment", "amount": 32.5, "payment_method_id": CARD}
            ],
        }
    )


def test_a_product_is_shown_with_all_its_variants(shop: Database) -> None:
    """The whole result, key order included, sold-out variants too."""
    assert DOMAIN.call(shop, "get_product_details", {"product_id": "lamp"}).content == json.dumps(
        {
            "name": "Lamp",
            "product_id": "lamp",
            "variants": {
                "large": {
                    "item_id": "large",
                    "options": {"style": "large", "finish": "matte"},
                    "available": True,
                    "price": 40.1,
                },
                "small": {
                    "item_id": "small",
                    "options": {"style": "small", "finish": "matte"},
                    "available": True,
                    "price": 35.0,
                },
            },
        }
    )
    assert tools.get_product_details(shop, "mug")["variants"]["green"]["available"] is False


def test_an_item_is_shown_as_in_its_product(shop: Database) -> None:
    """get_item_details needs no product id."""
    assert DOMAIN.call(shop, "get_item_details", {"item_id": "green"}).content == json.dumps(
        {
            "item_id": "green",
            "options": {"style": "green", "finish": "matte"},
            "available": False,
            "price": 9.99,
        }
    )


def test_products_are_listed_by_name(shop: Database) -> None:
    """Name to product id, sorted by name."""
    content = DOMAIN.call(shop, "list_all_product_types", {}).content
    assert content == '{"Lamp": "lamp", "Mug": "mug"}'


# --- cancelling -----------------------------------------------------------------------------------


def test_cancelling_refunds_the_payment_and_keeps_the_reason(shop: Database) -> None:
    """The status, the reason and one refund of what was paid."""
    order = tools.cancel_pending_order(shop, PENDING, "ordered by mistake")
    assert order["status"] == "cancelled"
    assert list(order)[-1] == "cancel_reason"
    assert order["cancel_reason"] == "ordered by mistake"
    assert history(order) == [("payment", 55.0, PAYPAL), ("refund", 55.0, PAYPAL)]


def test_cancelling_puts_money_back_on_a_gift_card(shop: Database) -> None:
    """The balance rises by what the card paid."""
    tools.cancel_pending_order(shop, BY_GIFT_CARD, "no longer needed")
    assert balance(shop) == 135.0


def test_cancelling_after_a_payment_change_refunds_only_what_is_still_paid(shop: Database) -> None:
    """The first method got its money back already."""
    tools.modify_pending_order_payment(shop, BY_GIFT_CARD, PAYPAL)
    order = tools.cancel_pending_order(shop, BY_GIFT_CARD, "no longer needed")
    assert history(order) == [
        ("payment", 35.0, GIFT),
        ("payment", 35.0, PAYPAL),
        ("refund", 35.0, GIFT),
        ("refund", 35.0, PAYPAL),
    ]
    assert balance(shop) == 135.0


def test_cancelling_never_refunds_more_than_is_paid_in_all(shop: Database) -> None:
    """If another method received a part already, the payer gets the rest."""
    tools._move_money(shop, PENDING, GIFT, -2000)
    order = tools.cancel_pending_order(shop, PENDING, "no longer needed")
    assert history(order)[-1] == ("refund", 35.0, PAYPAL)


def test_a_reason_of_another_kind_is_refused_by_the_function_too(shop: Database) -> None:
    """Whoever calls the tool as a function is checked as well."""
    with pytest.raises(ToolError, match="invalid reason"):
        tools.cancel_pending_order(shop, PENDING, "too expensive")  # type: ignore[arg-type]


# --- modifying ------------------------------------------------------------------------------------


def test_an_order_is_sent_elsewhere_while_the_customer_stays(shop: Database) -> None:
    """Only the order's address changes, and the order stays pending."""
    order = tools.modify_pending_order_address(shop, PENDING, **ELSEWHERE)
    assert order["address"] == ELSEWHERE
    assert order["status"] == "pending"
    assert tools.get_user_details(shop, ANA)["address"]["city"] == "Chicago"
    assert tools.modify_pending_order_address(shop, PENDING, **ELSEWHERE) == order


def test_a_customer_moves_while_the_orders_stay(shop: Database) -> None:
    """Only the customer's own address changes, and look-ups follow it."""
    assert tools.modify_user_address(shop, ANA, **ELSEWHERE)["address"] == ELSEWHERE
    assert tools.get_order_details(shop, PENDING)["address"]["city"] == "Chicago"
    assert tools.find_user_id_by_name_zip(shop, "Ana", "Silva", "89501") == ANA


def test_another_method_pays_and_the_first_is_refunded(shop: Database) -> None:
    """First the new payment, then the refund; the gift card pays; the order stays pending."""
    order = tools.modify_pending_order_payment(shop, PENDING, GIFT)
    assert order["status"] == "pending"
    assert history(order) == [
        ("payment", 55.0, PAYPAL),
        ("payment", 55.0, GIFT),
        ("refund", 55.0, PAYPAL),
    ]
    assert balance(shop) == 45.0


def test_items_are_swapped_and_the_difference_is_paid(shop: Database) -> None:
    """The first red mug becomes blue, the lamp large; 7.60 is charged; the order is locked."""
    order = tools.modify_pending_order_items(
        shop, PENDING, ["red", "small"], ["blue", "large"], GIFT
    )
    assert item_ids(order) == ["blue", "red", "large"]
    assert order["status"] == "pending (item modified)"
    assert history(order) == [("payment", 55.0, PAYPAL), ("payment", 7.6, GIFT)]
    assert balance(shop) == 92.4


def test_a_cheaper_item_gives_a_refund(shop: Database) -> None:
    """To the gift card at once, in whole cents."""
    order = tools.modify_pending_order_items(shop, OF_MARIA, ["blue"], ["red"], MARIAS_GIFT)
    assert history(order)[-1] == ("refund", 2.5, MARIAS_GIFT)
    assert balance(shop, MARIAS_GIFT) == 7.5


def test_chained_swaps_take_the_items_as_they_were_ordered(shop: Database) -> None:
    """Red to blue and blue to red: each ordered item is swapped once."""
    order = tools.modify_pending_order_items(
        shop, OF_MARIA, ["red", "blue"], ["blue", "red"], MARIAS_GIFT
    )
    assert item_ids(order) == ["red", "blue"]
    order = tools.modify_pending_order_items(
        shop, PENDING, ["red", "red"], ["blue", "gold"], PAYPAL
    )
    assert item_ids(order) == ["blue", "gold", "small"]


# --- returning and exchanging ---------------------------------------------------------------------


def test_items_are_returned_to_the_card_that_paid(shop: Database) -> None:
    """The request is noted, sorted, repeated items too; no money moves yet."""
    order = tools.return_delivered_order_items(shop, DELIVERED, ["red", "blue", "red"], CARD)
    assert order["status"] == "return requested"
    assert list(order)[-2:] == ["return_items", "return_payment_method_id"]
    assert order["return_items"] == ["blue", "red", "red"]
    assert order["return_payment_method_id"] == CARD
    assert history(order) == [("payment", 32.5, CARD)]


def test_a_refund_may_go_to_a_gift_card(shop: Database) -> None:
    """Even one that did not pay; its balance waits for the items."""
    order = tools.return_delivered_order_items(shop, DELIVERED, ["blue"], GIFT)
    assert order["return_payment_method_id"] == GIFT
    assert balance(shop) == 100.0


def test_an_exchange_keeps_which_item_goes_for_which(shop: Database) -> None:
    """Old and new items stand in the same order; the difference is exact and not yet charged."""
    order = tools.exchange_delivered_order_items(
        shop, DELIVERED, ["red", "blue", "red"], ["gold", "red", "blue"], CARD
    )
    assert order["status"] == "exchange requested"
    assert list(order)[-4:] == [
        "exchange_items",
        "exchange_new_items",
        "exchange_payment_method_id",
        "exchange_price_difference",
    ]
    pairs = zip(order["exchange_items"], order["exchange_new_items"], strict=True)
    assert list(pairs) == [("blue", "red"), ("red", "blue"), ("red", "gold")]
    assert order["exchange_price_difference"] == 240.0
    assert item_ids(order) == ["red", "blue", "red"]
    assert history(order) == [("payment", 32.5, CARD)]


def test_the_order_in_which_pairs_are_given_makes_no_difference(shop: Database) -> None:
    """Two ways to ask for the same exchange leave the same rows."""
    with shop.fork() as other:
        arguments = (DELIVERED, ["red", "blue"], ["blue", "red"], GIFT)
        turned = (DELIVERED, ["blue", "red"], ["red", "blue"], GIFT)
        assert tools.exchange_delivered_order_items(
            shop, *arguments
        ) == tools.exchange_delivered_order_items(other, *turned)


# --- refusals -------------------------------------------------------------------------------------

REFUSED = [
    (
        "cancel_pending_order",
        (PROCESSED, "no longer needed"),
        "non-pending order cannot be cancelled",
    ),
    ("cancel_pending_order", ("#W9", "no longer needed"), "order not found"),
    ("modify_pending_order_address", ("#W9", *ELSEWHERE.values()), "order not found"),
    (
        "modify_pending_order_address",
        (DELIVERED, *ELSEWHERE.values()),
        "non-pending order cannot be modified",
    ),
    ("modify_user_address", ("nobody_at_0000", *ELSEWHERE.values()), "user not found"),
    ("modify_pending_order_payment", ("#W9", GIFT), "order not found"),
    ("modify_pending_order_payment", (PROCESSED, GIFT), "non-pending order cannot be modified"),
    ("modify_pending_order_payment", (PENDING, MARIAS_GIFT), "payment method not found"),
    (
        "modify_pending_order_payment",
        (PENDING, PAYPAL),
        "the new payment method should be different from the current one",
    ),
    ("modify_pending_order_items", ("#W9", ["red"], ["blue"], GIFT), "order not found"),
    (
        "modify_pending_order_items",
        (DELIVERED, ["red"], ["blue"], GIFT),
        "non-pending order cannot be modified",
    ),
    ("modify_pending_order_items", (PENDING, ["red"] * 3, ["blue"], GIFT), "red not found"),
    ("modify_pending_order_items", (PENDING, ["large"], ["small"], GIFT), "large not found"),
    (
        "modify_pending_order_items",
        (PENDING, ["red", "red"], ["blue"], GIFT),
        "the number of items to be exchanged should match",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["green"], GIFT),
        "new item green not found or available",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["large"], GIFT),
        "new item large not found or available",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["pink"], GIFT),
        "new item pink not found or available",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["red"], GIFT),
        "new item equals old item: red",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["blue"], MARIAS_GIFT),
        "payment method not found",
    ),
    (
        "modify_pending_order_items",
        (PENDING, ["red"], ["gold"], GIFT),
        "insufficient gift card balance to pay for the new item",
    ),
    ("return_delivered_order_items", ("#W9", ["red"], GIFT), "order not found"),
    (
        "return_delivered_order_items",
        (PENDING, ["red"], GIFT),
        "non-delivered order cannot be returned",
    ),
    (
        "return_delivered_order_items",
        (DELIVERED, ["red"], MARIAS_GIFT),
        "payment method not found",
    ),
    (
        "return_delivered_order_items",
        (DELIVERED, ["red"], PAYPAL),
        "payment method should be either the original payment method or a gift card",
    ),
    ("return_delivered_order_items", (DELIVERED, ["red"] * 3, CARD), "some item not found"),
    ("return_delivered_order_items", (DELIVERED, ["red", "small"], CARD), "some item not found"),
    ("exchange_delivered_order_items", ("#W9", ["red"], ["blue"], GIFT), "order not found"),
    (
        "exchange_delivered_order_items",
        (PENDING, ["red"], ["blue"], GIFT),
        "non-delivered order cannot be exchanged",
    ),
    ("exchange_delivered_order_items", (DELIVERED, ["small"], ["large"], GIFT), "small not found"),
    (
        "exchange_delivered_order_items",
        (DELIVERED, ["red"], ["blue", "blue"], GIFT),
        "the number of items to be exchanged should match",
    ),
    (
        "exchange_delivered_order_items",
        (DELIVERED, ["red"], ["green"], GIFT),
        "new item green not found or available",
    ),
    (
        "exchange_delivered_order_items",
        (DELIVERED, ["blue"], ["blue"], GIFT),
        "new item equals old item: blue",
    ),
    (
        "exchange_delivered_order_items",
        (DELIVERED, ["red"], ["blue"], "paypal_9999999"),
        "payment method not found",
    ),
    (
        "exchange_delivered_order_items",
        (DELIVERED, ["red"], ["gold"], GIFT),
        "insufficient gift card balance to pay for the price difference",
    ),
]


@pytest.mark.parametrize(("name", "values", "refusal"), REFUSED)
def test_a_refusal_says_why_and_changes_no_row(
    shop: Database, name: str, values: tuple[Any, ...], refusal: str
) -> None:
    """Word for word, and the world stays as it was."""
    tool = DOMAIN.tools[name]
    arguments = dict(zip(tool.arguments.model_fields, values, strict=True))
    outcome = DOMAIN.call(shop, name, arguments)
    assert (outcome.error, outcome.content) == (ErrorKind.REFUSED, f"Error: {refusal}")
    assert shop.changes() == ()
    assert outcome.rows == ()


def test_a_gift_card_that_holds_too_little_cannot_take_over_an_order(shop: Database) -> None:
    """The card would be overdrawn."""
    tools.modify_pending_order_items(shop, BY_GIFT_CARD, ["small"], ["large"], GIFT)
    with pytest.raises(ToolError, match="non-pending order cannot be modified"):
        tools.modify_pending_order_payment(shop, BY_GIFT_CARD, PAYPAL)
    shop.set_values("payment_methods", {"payment_method_id": GIFT}, {"balance_cents": 5499})
    with pytest.raises(ToolError, match="insufficient gift card balance to pay for the order"):
        tools.modify_pending_order_payment(shop, PENDING, GIFT)


def test_the_payment_changes_once(shop: Database) -> None:
    """After that the history has more than one payment."""
    tools.modify_pending_order_payment(shop, PENDING, CARD)
    with pytest.raises(ToolError, match="there should be exactly one payment for a pending order"):
        tools.modify_pending_order_payment(shop, PENDING, GIFT)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("modify_pending_order_items", (PENDING, ["red"], ["blue"], PAYPAL)),
        ("modify_pending_order_payment", (PENDING, CARD)),
        ("modify_pending_order_address", (PENDING, *ELSEWHERE.values())),
        ("cancel_pending_order", (PENDING, "no longer needed")),
    ],
)
def test_an_order_with_modified_items_is_locked(
    shop: Database, name: str, values: tuple[Any, ...]
) -> None:
    """It can neither be modified again nor cancelled."""
    tools.modify_pending_order_items(shop, PENDING, ["red"], ["blue"], PAYPAL)
    with pytest.raises(ToolError, match="non-pending order cannot be"):
        DOMAIN.tools[name].function(shop, *values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("return_delivered_order_items", (DELIVERED, ["blue"], CARD)),
        ("exchange_delivered_order_items", (DELIVERED, ["blue"], ["red"], CARD)),
    ],
)
def test_a_delivered_order_takes_one_request(
    shop: Database, name: str, values: tuple[Any, ...]
) -> None:
    """After a return or an exchange neither is possible."""
    for first in ("return", "exchange"):
        with shop.fork() as db:
            if first == "return":
                tools.return_delivered_order_items(db, DELIVERED, ["red"], CARD)
            else:
                tools.exchange_delivered_order_items(db, DELIVERED, ["red"], ["blue"], CARD)
            with pytest.raises(ToolError, match="non-delivered order cannot be"):
                DOMAIN.tools[name].function(db, *values)


@pytest.mark.parametrize(
    "name", [name for name in DOMAIN.tools if name.startswith(("return", "exchange"))]
)
def test_an_empty_list_of_items_is_a_bad_argument(shop: Database, name: str) -> None:
    """A request for nothing would close the order for every other request."""
    fields = DOMAIN.tools[name].arguments.model_fields
    values = {"order_id": DELIVERED, "payment_method_id": CARD}
    arguments = {field: values.get(field, []) for field in fields}
    assert DOMAIN.call(shop, name, arguments).error is ErrorKind.BAD_ARGUMENT


def test_a_write_that_breaks_half_way_leaves_nothing(shop: Database) -> None:
    """Rows written before a failure are taken back with it."""
    arguments = {"order_id": PENDING, "reason": "no longer needed"}
    shop.connection.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON orders BEGIN SELECT raise(FAIL, 'disk full'); END"
    )
    with pytest.raises(BrokenToolError, match="disk full"):
        DOMAIN.call(shop, "cancel_pending_order", arguments)
    assert shop.changes() == ()


# --- the customer's side --------------------------------------------------------------------------


def test_customers_know_themselves(shop: Database) -> None:
    """Topics in plain words; an empty second line of the address is left out."""
    tools.modify_user_address(shop, ANA, **ELSEWHERE)
    assert DOMAIN.profile(shop, ANA) == {
        "user id": ANA,
        "name": "Ana Silva",
        "first name": "Ana",
        "last name": "Silva",
        "email": "ana.silva@example.com",
        "zip": "89501",
        "address": "9 Zephyr Road, Reno, NV 89501",
    }


def test_a_customer_who_is_not_there_is_the_fault_of_the_task(shop: Database) -> None:
    """The message names the id."""
    with pytest.raises(TaskError, match="'ana_silva_3333'"):
        DOMAIN.profile(shop, "ana_silva_3333")
