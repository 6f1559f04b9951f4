"""The retail tools of tau-bench and tau2-bench as they are, defects included.

The tools of this domain itself do the right thing; these here do what the benchmarks' tools do, to
the last byte, so that what they recorded can be carried out again. Both benchmarks share most of
it; where tau2-bench differs, a function says so. Source of their behaviour: both repositories,
tau-bench at a50b6c1 and 59a200c, tau2-bench at 1.0.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import MetaData

from ..compat import (
    Refused,
    calculate,
    tau_bench_tools,
    think,
    transfer_to_human_agents,
)
from ..database import Database
from ..documents import Collection, Document, parsed

TABLES = MetaData()
ORDERS = Collection(TABLES, "orders")
PRODUCTS = Collection(TABLES, "products")
USERS = Collection(TABLES, "users")

Reason = Literal["no longer needed", "ordered by mistake"]
REASONS = ("no longer needed", "ordered by mistake")


# --- looking things up --------------------------------------------------------------------------


def text_of(collection: Collection, db: Database, key: object, what: str) -> str:
    """A document as text; what it is called when it is not there."""
    text = collection.text(db, key)
    if text is None:
        raise Refused(f"{what} not found")
    return text


def order_status(db: Database, order_id: object) -> str:
    """The status of an order, which must be there."""
    return str(parsed(text_of(ORDERS, db, order_id, "order"))["status"])


def find_user_id_by_email(db: Database, email: str) -> str:
    """Find a customer by e-mail address.

    Args:
        email: Upper or lower case.
    """
    for user_id, user in USERS.all(db):
        if user["email"].lower() == email.lower():
            return user_id
    raise Refused("user not found")


def find_user_id_by_name_zip(db: Database, first_name: str, last_name: str, zip: str) -> str:
    """Find a customer by name and zip code.

    Args:
        first_name: Upper or lower case.
        last_name: Upper or lower case.
        zip: Exactly.
    """
    for user_id, user in USERS.all(db):
        if (
            user["name"]["first_name"].lower() == first_name.lower()
            and user["name"]["last_name"].lower() == last_name.lower()
            and user["address"]["zip"] == zip
        ):
            return user_id
    raise Refused("user not found")


def get_user_details(db: Database, user_id: str) -> str:
    """Look a customer up.

    Args:
        user_id: Such as "sara_doe_496".
    """
    return text_of(USERS, db, user_id, "user")


def get_order_details(db: Database, order_id: str) -> str:
    """Look an order up.

    Args:
        order_id: With its "#", such as "#W0000000".
    """
    return text_of(ORDERS, db, order_id, "order")


def get_product_details(db: Database, product_id: str) -> str:
    """Look a product and its variants up.

    Args:
        product_id: Of the product; a variant has an item id.
    """
    return text_of(PRODUCTS, db, product_id, "product")


def list_all_product_types(db: Database) -> dict[str, str]:
    """List the names of all products with their ids."""
    found = {product["name"]: product["product_id"] for _, product in PRODUCTS.all(db)}
    return dict(sorted(found.items()))


# --- parts of what the writing tools do ---------------------------------------------------------


def payment_method(methods: Document, payment_method_id: Any) -> Document:
    """One of a customer's payment methods, which must be there."""
    if payment_method_id not in methods:
        raise Refused("payment method not found")
    return methods[payment_method_id]  # type: ignore[no-any-return]


def methods_of(db: Database, order: Document) -> Document:
    """The payment methods of an order's customer; for reading only."""
    return parsed(text_of(USERS, db, order["user_id"], "user"))["payment_methods"]  # type: ignore[no-any-return]


def _add_to_gift_card(db: Database, user_id: str, payment_method_id: str, amount: float) -> None:
    """Raise a gift card's balance, rounded to cents; other methods have none."""
    if "gift_card" not in payment_method_id:
        return
    with USERS.editing(db, user_id) as user:
        method = user["payment_methods"][payment_method_id]
        method["balance"] = round(method["balance"] + amount, 2)


def _check_ordered(
    order: Document, item_ids: Sequence[str], missing: Refused | None = None
) -> None:
    ordered = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > ordered.count(item_id):
            raise missing or ValueError(f"{item_id} not found")


def _variants(
    db: Database,
    order: Document,
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    *,
    same_refused: bool,
) -> tuple[list[Document], float]:
    """The variants that items are to become, and what they cost more in all, as it comes out."""
    variants: list[Document] = []
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if same_refused and item_id == new_item_id:
            raise Refused("the new item id should be different from the old item id")
        item = next(item for item in order["items"] if item["item_id"] == item_id)
        product = parsed(text_of(PRODUCTS, db, item["product_id"], "product"))
        variant = product["variants"].get(new_item_id)
        if variant is None or not variant["available"]:
            raise Refused(f"new item {new_item_id} not found or available")
        variants.append(variant)
        difference += variant["price"] - item["price"]
    return variants, difference


def _check_balance(method: Document, amount: float, purpose: str) -> None:
    if method["source"] == "gift_card" and method["balance"] < amount:
        raise Refused(f"insufficient gift card balance to pay for the {purpose}")


def _address(
    address1: str, address2: str, city: str, state: str, country: str, zip_code: str
) -> Document:
    """An address with its fields in tau-bench's order of arguments."""
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip_code,
    }


# --- pending orders -----------------------------------------------------------------------------


def cancel_pending_order(db: Database, order_id: str, reason: Reason) -> Document:
    """Cancel an order that is pending; every entry of its payment history is refunded.

    Args:
        order_id: With its "#".
        reason: Why.
    """
    if order_status(db, order_id) != "pending":
        raise Refused("non-pending order cannot be cancelled")
    if reason not in REASONS:
        raise Refused("invalid reason")
    with ORDERS.editing(db, order_id) as order:
        refunds = []
        for entry in order["payment_history"]:
            method, amount = entry["payment_method_id"], entry["amount"]
            refunds.append(
                {"transaction_type": "refund", "amount": amount, "payment_method_id": method}
            )
            _add_to_gift_card(db, order["user_id"], method, amount)
        order["status"] = "cancelled"
        order["cancel_reason"] = reason
        order["payment_history"].extend(refunds)
    return order


def modify_pending_order_address(
    db: Database,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Document:
    """Change where a pending order goes.

    Args:
        order_id: With its "#".
        address1: Street and number.
        address2: Flat, suite; may be empty.
        city: Name.
        state: Two letters.
        country: Such as "USA".
        zip: Five digits.
    """
    if order_status(db, order_id) != "pending":
        raise Refused("non-pending order cannot be modified")
    with ORDERS.editing(db, order_id) as order:
        order["address"] = _address(address1, address2, city, state, country, zip)
    return order


def modify_pending_order_payment(db: Database, order_id: str, payment_method_id: str) -> Document:
    """Change how a pending order is paid.

    Args:
        order_id: With its "#".
        payment_method_id: The new one, of the same customer.
    """
    if order_status(db, order_id) != "pending":
        raise Refused("non-pending order cannot be modified")
    return change_payment(db, order_id, payment_method_id)


def change_payment(db: Database, order_id: str, new_id: str) -> Document:
    """Pay an order in another way, whatever its status: a payment, then a refund."""
    with ORDERS.editing(db, order_id) as order:
        method = payment_method(methods_of(db, order), new_id)
        history = order["payment_history"]
        if len(history) > 1 or history[0]["transaction_type"] != "payment":
            raise Refused("there should be exactly one payment for a pending order")
        old_id, amount = history[0]["payment_method_id"], history[0]["amount"]
        if old_id == new_id:
            raise Refused("the new payment method should be different from the current one")
        _check_balance(method, amount, "order")
        for kind, method_id in (("payment", new_id), ("refund", old_id)):
            history.append(
                {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}
            )
        _add_to_gift_card(db, order["user_id"], new_id, -amount)
        _add_to_gift_card(db, order["user_id"], old_id, amount)
    return order


def modify_pending_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Document:
    """Change items of a pending order to other variants of the same products; only once.

    The difference goes into the payment history as it comes out, not rounded to cents.

    Args:
        order_id: With its "#".
        item_ids: What to change, an id as often as it is to be changed.
        new_item_ids: To what, in the same order.
        payment_method_id: Pays the difference, or gets it.
    """
    return change_items(db, order_id, item_ids, new_item_ids, payment_method_id)


def change_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
    *,
    tau2: bool = False,
) -> Document:
    """Change items of a pending order.

    tau2 refuses to change an item for itself, and gives every changed item the price and options
    of the last one.
    """
    if order_status(db, order_id) != "pending":
        raise Refused("non-pending order cannot be modified")
    with ORDERS.editing(db, order_id) as order:
        _check_ordered(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Refused("the number of items to be exchanged should match")
        variants, difference = _variants(db, order, item_ids, new_item_ids, same_refused=tau2)
        method = payment_method(methods_of(db, order), payment_method_id)
        _check_balance(method, difference, "new item")
        order["payment_history"].append(
            {
                "transaction_type": "payment" if difference > 0 else "refund",
                "amount": abs(difference),
                "payment_method_id": payment_method_id,
            }
        )
        _add_to_gift_card(db, order["user_id"], payment_method_id, -difference)
        for item_id, variant in zip(item_ids, variants, strict=True):
            item = next(item for item in order["items"] if item["item_id"] == item_id)
            shown = variants[-1] if tau2 else variant
            item["item_id"] = variant["item_id"]
            item["price"] = shown["price"]
            item["options"] = shown["options"]
        order["status"] = "pending (item modified)"
    return order


# --- delivered orders ---------------------------------------------------------------------------


def exchange_delivered_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Document:
    """Ask for items of a delivered order to be exchanged for other variants; no money moves.

    Args:
        order_id: With its "#".
        item_ids: What to exchange, an id as often as it is to be exchanged.
        new_item_ids: For what, in the same order.
        payment_method_id: Will pay the difference, or get it.
    """
    return exchange(db, order_id, item_ids, new_item_ids, payment_method_id, full_stop="")


def exchange(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
    full_stop: str,
) -> Document:
    """Ask for an exchange; ``full_stop`` ends one of the refusals."""
    if order_status(db, order_id) != "delivered":
        raise Refused("non-delivered order cannot be exchanged")
    with ORDERS.editing(db, order_id) as order:
        _check_ordered(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Refused(f"the number of items to be exchanged should match{full_stop}")
        _, difference = _variants(db, order, item_ids, new_item_ids, same_refused=False)
        difference = round(difference, 2)
        method = payment_method(methods_of(db, order), payment_method_id)
        _check_balance(method, difference, "price difference")
        order["status"] = "exchange requested"
        order["exchange_items"] = sorted(item_ids)
        order["exchange_new_items"] = sorted(new_item_ids)
        order["exchange_payment_method_id"] = payment_method_id
        order["exchange_price_difference"] = difference
    return order


def return_delivered_order_items(
    db: Database, order_id: str, item_ids: list[str], payment_method_id: str
) -> Document:
    """Ask for items of a delivered order to be taken back.

    Args:
        order_id: With its "#".
        item_ids: What to return, an id as often as it is to be returned.
        payment_method_id: Gets the money; the one that paid, or a gift card.
    """
    wrong = "payment method should be either the original payment method or a gift card"
    return take_back(db, order_id, item_ids, payment_method_id, wrong)


def take_back(
    db: Database, order_id: str, item_ids: list[str], payment_method_id: str, wrong_method: str
) -> Document:
    """Ask for a return; ``wrong_method`` is the refusal of a payment method."""
    if order_status(db, order_id) != "delivered":
        raise Refused("non-delivered order cannot be returned")
    with ORDERS.editing(db, order_id) as order:
        payment_method(methods_of(db, order), payment_method_id)
        paid_with = order["payment_history"][0]["payment_method_id"]
        if "gift_card" not in payment_method_id and payment_method_id != paid_with:
            raise Refused(wrong_method)
        _check_ordered(order, item_ids, Refused("some item not found"))
        order["status"] = "return requested"
        order["return_items"] = sorted(item_ids)
        order["return_payment_method_id"] = payment_method_id
    return order


def modify_user_address(
    db: Database,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Document:
    """Change a customer's own address.

    Args:
        user_id: Whose.
        address1: Street and number.
        address2: Flat, suite; may be empty.
        city: Name.
        state: Two letters.
        country: Such as "USA".
        zip: Five digits.
    """
    text_of(USERS, db, user_id, "user")
    with USERS.editing(db, user_id) as user:
        user["address"] = _address(address1, address2, city, state, country, zip)
    return user


WRITING = (
    cancel_pending_order,
    exchange_delivered_order_items,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
    return_delivered_order_items,
)
READING = (
    calculate,
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_order_details,
    get_product_details,
    get_user_details,
    list_all_product_types,
    think,
    transfer_to_human_agents,
)
TOOLS = tau_bench_tools(TABLES, READING, WRITING)
