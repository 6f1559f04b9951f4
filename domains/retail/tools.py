"""What an agent of the shop can do.

Names, arguments, results and refusals are those of tau-bench's retail desk, so that what was
recorded there can be replayed. Where that desk loses money or pairs, this one keeps them.

Every refusal comes before the first write, and money moves in whole cents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from sqlite3 import Row
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from ...errors import ToolError
from ..database import Database
from ..tool import tool
from . import queries as q
from .tables import CANCEL_REASONS, CancelReason

JsonDict = dict[str, Any]
ItemIds = Annotated[list[str], Field(min_length=1)]


# --- looking things up --------------------------------------------------------------------------


@tool()
def find_user_id_by_email(db: Database, email: str) -> str:
    """Find a customer's user id by e-mail address, in upper or lower case.

    Args:
        email: E.g. "someone@example.com".

    Raises:
        ToolError: Nobody has this address.
    """
    customer = db.row(q.CUSTOMER_BY_EMAIL, email=email.lower())
    if customer is None:
        raise ToolError("user not found")
    return str(customer["user_id"])


@tool()
def find_user_id_by_name_zip(db: Database, first_name: str, last_name: str, zip: str) -> str:
    """Find a customer's user id by full name, in upper or lower case, and zip code.

    Args:
        first_name: E.g. "Jane".
        last_name: E.g. "Doe".
        zip: Of the customer's own address, e.g. "60611".

    Raises:
        ToolError: Nobody of this name lives there.
    """
    asked = (first_name.lower(), last_name.lower())
    for customer in db.rows(q.CUSTOMERS_BY_ZIP, zip=zip):
        if (customer["first_name"].lower(), customer["last_name"].lower()) == asked:
            return str(customer["user_id"])
    raise ToolError("user not found")


@tool()
def get_user_details(db: Database, user_id: str) -> JsonDict:
    """Show a customer's name, address, e-mail, payment methods (balances in dollars) and orders.

    Args:
        user_id: E.g. "jane_doe_1234".

    Raises:
        ToolError: No such customer.
    """
    customer = db.row(q.CUSTOMER, user_id=user_id)
    if customer is None:
        raise ToolError("user not found")
    wallet = db.rows(q.WALLET, user_id=user_id)
    return {
        "name": {"first_name": customer["first_name"], "last_name": customer["last_name"]},
        "address": _address(customer),
        "email": customer["email"],
        "payment_methods": {row["payment_method_id"]: _payment_method(row) for row in wallet},
        "orders": [row["order_id"] for row in db.rows(q.ORDERS_OF, user_id=user_id)],
    }


@tool()
def get_order_details(db: Database, order_id: str) -> JsonDict:
    """Show an order: address, items, parcels, status and payments. Amounts are dollars.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".

    Raises:
        ToolError: No such order.
    """
    order = _order(db, order_id)
    details = {
        "order_id": order_id,
        "user_id": order["user_id"],
        "address": _address(order),
        "items": _items(db.rows(q.LINES_WITH_OPTIONS, order_id=order_id)),
        "fulfillments": _parcels(db.rows(q.PARCELS, order_id=order_id)),
        "status": order["status"],
        "payment_history": [
            {
                "transaction_type": row["transaction_type"],
                "amount": _dollars(row["amount_cents"]),
                "payment_method_id": row["payment_method_id"],
            }
            for row in db.rows(q.PAYMENTS_OF, order_id=order_id)
        ],
    }
    if order["cancel_reason"] is not None:
        details["cancel_reason"] = order["cancel_reason"]
    if order["status"] == "return requested":
        details |= _return(db, order_id)
    if order["status"] == "exchange requested":
        details |= _exchange(db, order_id)
    return details


@tool()
def get_product_details(db: Database, product_id: str) -> JsonDict:
    """Show a product with all its variants: item id, options, availability and price in dollars.

    Args:
        product_id: Ten digits, not the id of one item.

    Raises:
        ToolError: No such product.
    """
    product = db.row(q.PRODUCT, product_id=product_id)
    if product is None:
        raise ToolError("product not found")
    variants = _variants(db.rows(q.VARIANTS_OF, product_id=product_id))
    return {"name": product["name"], "product_id": product_id, "variants": variants}


@tool()
def get_item_details(db: Database, item_id: str) -> JsonDict:
    """Show one variant of a product: options, availability and price in dollars.

    Args:
        item_id: Ten digits, not the id of a product.

    Raises:
        ToolError: No such item.
    """
    found = _variants(db.rows(q.VARIANT, item_id=item_id))
    if item_id not in found:
        raise ToolError("item not found")
    return found[item_id]


@tool()
def list_all_product_types(db: Database) -> dict[str, str]:
    """List the products of the shop by name, each with its product id."""
    return {row["name"]: row["product_id"] for row in db.rows(q.PRODUCT_NAMES)}


# --- pending orders -----------------------------------------------------------------------------


@tool(writes=True)
def cancel_pending_order(db: Database, order_id: str, reason: CancelReason) -> JsonDict:
    """Cancel a pending order and refund what was paid for it to where it came from.

    Explain this and get the customer's explicit yes first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        reason: The customer's reason.

    Raises:
        ToolError: No such order, not pending, or another reason.
    """
    order = _order(db, order_id)
    if order["status"] != "pending":
        raise ToolError("non-pending order cannot be cancelled")
    if reason not in CANCEL_REASONS:
        raise ToolError("invalid reason")
    for payment_method_id, cents in _refunds_due(db, order_id):
        _move_money(db, order_id, payment_method_id, -cents)
    db.write(q.CANCEL, order=order_id, reason=reason)
    return get_order_details(db, order_id)


@tool(writes=True)
def modify_pending_order_address(
    db: Database,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> JsonDict:
    """Change where a pending order is sent. The customer's own address stays as it is.

    Explain this and get the customer's explicit yes first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        address1: Street and number.
        address2: Apartment or suite; may be empty.
        city: E.g. "Chicago".
        state: E.g. "IL".
        country: E.g. "USA".
        zip: E.g. "60611".

    Raises:
        ToolError: No such order, or not pending.
    """
    _modifiable(db, order_id)
    db.write(
        q.SET_ADDRESS,
        owner=order_id,
        address1=address1,
        address2=address2,
        city=city,
        state=state,
        country=country,
        zip=zip,
    )
    return get_order_details(db, order_id)


@tool(writes=True)
def modify_pending_order_payment(db: Database, order_id: str, payment_method_id: str) -> JsonDict:
    """Pay for a pending order by another method; the first one is refunded in full.

    Explain this and get the customer's explicit yes first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        payment_method_id: Of the customer's profile, e.g. "credit_card_0000000".

    Raises:
        ToolError: No such order or method, not pending, changed before, the same method again, or a
            gift card that holds too little.
    """
    order = _modifiable(db, order_id)
    method = _wallet_entry(db, order["user_id"], payment_method_id)
    history = db.rows(q.PAYMENTS_OF, order_id=order_id)
    if [row["transaction_type"] for row in history] != ["payment"]:
        raise ToolError("there should be exactly one payment for a pending order")
    paid = history[0]
    if paid["payment_method_id"] == payment_method_id:
        raise ToolError("the new payment method should be different from the current one")
    if not _covers(method, paid["amount_cents"]):
        raise ToolError("insufficient gift card balance to pay for the order")
    _move_money(db, order_id, payment_method_id, paid["amount_cents"])
    _move_money(db, order_id, paid["payment_method_id"], -paid["amount_cents"])
    return get_order_details(db, order_id)


@tool(writes=True)
def modify_pending_order_items(
    db: Database,
    order_id: str,
    item_ids: ItemIds,
    new_item_ids: ItemIds,
    payment_method_id: str,
) -> JsonDict:
    """Swap items of a pending order for other variants of the same products.

    This works once per order, which can neither be modified nor cancelled afterwards: make sure
    that every item to be swapped is in the list. Explain this and get the customer's explicit yes
    first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        item_ids: Items to give up; an item ordered twice may be named twice.
        new_item_ids: What takes their place, in the same order.
        payment_method_id: Pays or receives the difference in price, e.g. "gift_card_0000000".

    Raises:
        ToolError: No such order, item, new item or method, not pending, lists of unequal length,
            the same item again, or a gift card that holds too little.
    """
    order = _modifiable(db, order_id)
    swaps = _swaps(db, order_id, item_ids, new_item_ids)
    method = _wallet_entry(db, order["user_id"], payment_method_id)
    difference = sum(swap.difference_cents for swap in swaps)
    if not _covers(method, difference):
        raise ToolError("insufficient gift card balance to pay for the new item")
    _move_money(db, order_id, payment_method_id, difference)
    for swap in swaps:
        db.write(
            q.SET_ITEM,
            order=order_id,
            at_line=swap.line,
            item_id=swap.new_item_id,
            price_cents=swap.new_price_cents,
        )
    db.write(q.SET_STATUS, order=order_id, status="pending (item modified)")
    return get_order_details(db, order_id)


# --- delivered orders ---------------------------------------------------------------------------


@tool(writes=True)
def return_delivered_order_items(
    db: Database, order_id: str, item_ids: ItemIds, payment_method_id: str
) -> JsonDict:
    """Ask to return items of a delivered order. The customer gets an e-mail about how to send them.

    Explain this and get the customer's explicit yes first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        item_ids: Items to send back; an item ordered twice may be named twice.
        payment_method_id: Receives the refund: the one that paid for the order, or a gift card.

    Raises:
        ToolError: No such order, item or method, not delivered, or a method that may not be used.
    """
    order = _order(db, order_id)
    if order["status"] != "delivered":
        raise ToolError("non-delivered order cannot be returned")
    method = _wallet_entry(db, order["user_id"], payment_method_id)
    first_payment = db.rows(q.PAYMENTS_OF, order_id=order_id)[0]
    if method["source"] != "gift_card" and payment_method_id != first_payment["payment_method_id"]:
        raise ToolError(
            "payment method should be either the original payment method or a gift card"
        )
    ordered = Counter(row["item_id"] for row in db.rows(q.LINES, order_id=order_id))
    returned = Counter(item_ids)
    if not returned <= ordered:
        raise ToolError("some item not found")
    db.write(q.ADD_RETURN, order_id=order_id, payment_method_id=payment_method_id)
    for item_id, quantity in returned.items():
        db.write(q.ADD_RETURN_ITEM, order_id=order_id, item_id=item_id, quantity=quantity)
    db.write(q.SET_STATUS, order=order_id, status="return requested")
    return get_order_details(db, order_id)


@tool(writes=True)
def exchange_delivered_order_items(
    db: Database,
    order_id: str,
    item_ids: ItemIds,
    new_item_ids: ItemIds,
    payment_method_id: str,
) -> JsonDict:
    """Ask to exchange items of a delivered order for other variants of the same products.

    This works once per order: make sure that every item to be exchanged is in the list. The
    customer gets an e-mail about how to send the items back. Explain this and get the customer's
    explicit yes first.

    Args:
        order_id: With the leading "#", e.g. "#W0000000".
        item_ids: Items to give back; an item ordered twice may be named twice.
        new_item_ids: What takes their place, in the same order.
        payment_method_id: Pays or receives the difference in price, e.g. "gift_card_0000000".

    Raises:
        ToolError: No such order, item, new item or method, not delivered, lists of unequal length,
            the same item again, or a gift card that holds too little.
    """
    order = _order(db, order_id)
    if order["status"] != "delivered":
        raise ToolError("non-delivered order cannot be exchanged")
    swaps = _swaps(db, order_id, item_ids, new_item_ids)
    difference = sum(swap.difference_cents for swap in swaps)
    method = _wallet_entry(db, order["user_id"], payment_method_id)
    if not _covers(method, difference):
        raise ToolError("insufficient gift card balance to pay for the price difference")
    db.write(
        q.ADD_EXCHANGE,
        order_id=order_id,
        payment_method_id=payment_method_id,
        price_difference_cents=difference,
    )
    pairs = Counter((swap.item_id, swap.new_item_id) for swap in swaps)
    for (item_id, new_item_id), quantity in pairs.items():
        db.write(
            q.ADD_EXCHANGE_ITEM,
            order_id=order_id,
            item_id=item_id,
            new_item_id=new_item_id,
            quantity=quantity,
        )
    db.write(q.SET_STATUS, order=order_id, status="exchange requested")
    return get_order_details(db, order_id)


# --- customers ----------------------------------------------------------------------------------


@tool(writes=True)
def modify_user_address(
    db: Database,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> JsonDict:
    """Change a customer's own address. Orders already placed keep theirs.

    Explain this and get the customer's explicit yes first.

    Args:
        user_id: E.g. "jane_doe_1234".
        address1: Street and number.
        address2: Apartment or suite; may be empty.
        city: E.g. "Chicago".
        state: E.g. "IL".
        country: E.g. "USA".
        zip: E.g. "60611".

    Raises:
        ToolError: No such customer.
    """
    if db.row(q.CUSTOMER, user_id=user_id) is None:
        raise ToolError("user not found")
    db.write(
        q.SET_ADDRESS,
        owner=user_id,
        address1=address1,
        address2=address2,
        city=city,
        state=state,
        country=country,
        zip=zip,
    )
    return get_user_details(db, user_id)


# --- what the checks share ----------------------------------------------------------------------


def _order(db: Database, order_id: str) -> Row:
    order = db.row(q.ORDER, order_id=order_id)
    if order is None:
        raise ToolError("order not found")
    return order


def _modifiable(db: Database, order_id: str) -> Row:
    order = _order(db, order_id)
    if order["status"] != "pending":
        raise ToolError("non-pending order cannot be modified")
    return order


def _wallet_entry(db: Database, user_id: str, payment_method_id: str) -> Row:
    """One payment method of that customer, not just of anybody."""
    method = db.row(q.PAYMENT_METHOD, user_id=user_id, payment_method_id=payment_method_id)
    if method is None:
        raise ToolError("payment method not found")
    return method


def _covers(method: Row, cents: int) -> bool:
    """Whether a payment method can be charged so much; only a gift card has a limit."""
    return method["source"] != "gift_card" or int(method["balance_cents"]) >= cents


class _Swap(NamedTuple):
    """One line of an order, and the variant that is to take its place."""

    line: int
    item_id: str
    new_item_id: str
    price_cents: int
    new_price_cents: int

    @property
    def difference_cents(self) -> int:
        return self.new_price_cents - self.price_cents


def _swaps(
    db: Database, order_id: str, item_ids: list[str], new_item_ids: list[str]
) -> list[_Swap]:
    """Match each old item with a line of the order as it is now, and with its new variant."""
    lines = db.rows(q.LINES, order_id=order_id)
    ordered = Counter(row["item_id"] for row in lines)
    asked = Counter(item_ids)
    for item_id in item_ids:
        if asked[item_id] > ordered[item_id]:
            raise ToolError(f"{item_id} not found")
    if len(item_ids) != len(new_item_ids):
        raise ToolError("the number of items to be exchanged should match")
    found = db.rows(q.VARIANTS_ASKED, item_ids=json.dumps(new_item_ids))
    variants = {row["item_id"]: row for row in found}
    swaps = []
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        line = lines.pop(next(i for i, row in enumerate(lines) if row["item_id"] == item_id))
        new = variants.get(new_item_id)
        if new is None or new["product_id"] != line["product_id"] or not new["available"]:
            raise ToolError(f"new item {new_item_id} not found or available")
        if new_item_id == item_id:
            raise ToolError(f"new item equals old item: {item_id}")
        prices = (line["price_cents"], new["price_cents"])
        swaps.append(_Swap(line["line"], item_id, new_item_id, *prices))
    return swaps


# --- money --------------------------------------------------------------------------------------


def _dollars(cents: int) -> float:
    return cents / 100


def _refunds_due(db: Database, order_id: str) -> Iterator[tuple[str, int]]:
    """What each payment method has still paid, in cents, and together never more than is paid."""
    balances = db.rows(q.PAID_BY_METHOD, order_id=order_id)
    owed = sum(row["cents"] for row in balances)
    for row in balances:
        cents = min(row["cents"], owed)
        if cents > 0:
            owed -= cents
            yield row["payment_method_id"], cents


def _move_money(db: Database, order_id: str, payment_method_id: str, cents: int) -> None:
    """Charge a payment method for an order, or refund it when cents is negative or zero."""
    number = db.rows(q.NEXT_PAYMENT, order_id=order_id)[0]["number"]
    db.write(
        q.ADD_PAYMENT,
        order_id=order_id,
        number=number,
        transaction_type="payment" if cents > 0 else "refund",
        amount_cents=abs(cents),
        payment_method_id=payment_method_id,
    )
    db.write(q.CHARGE_GIFT_CARD, card=payment_method_id, cents=cents)


# --- rows as JSON -------------------------------------------------------------------------------


def _address(row: Row) -> JsonDict:
    return {
        "address1": row["address1"],
        "address2": row["address2"],
        "city": row["city"],
        "country": row["country"],
        "state": row["state"],
        "zip": row["zip"],
    }


def _payment_method(row: Row) -> JsonDict:
    details: JsonDict = {"source": row["source"]}
    if row["source"] == "credit_card":
        details |= {"brand": row["brand"], "last_four": row["last_four"]}
    if row["source"] == "gift_card":
        details["balance"] = _dollars(row["balance_cents"])
    return details | {"id": row["payment_method_id"]}


def _items(rows: Iterable[Row]) -> list[JsonDict]:
    """The items of an order, from one row per option of each line."""
    items: dict[int, JsonDict] = {}
    for line, name, product_id, item_id, cents, option, value in rows:
        if line not in items:
            items[line] = {
                "name": name,
                "product_id": product_id,
                "item_id": item_id,
                "price": _dollars(cents),
                "options": {},
            }
        if option is not None:
            items[line]["options"][option] = value
    return list(items.values())


def _variants(rows: Iterable[Row]) -> dict[str, JsonDict]:
    """Variants by item id, from one row per option of each variant."""
    variants: dict[str, JsonDict] = {}
    for item_id, cents, available, option, value in rows:
        if item_id not in variants:
            variants[item_id] = {
                "item_id": item_id,
                "options": {},
                "available": bool(available),
                "price": _dollars(cents),
            }
        if option is not None:
            variants[item_id]["options"][option] = value
    return variants


def _parcels(rows: Iterable[Row]) -> list[JsonDict]:
    """The parcels of an order, from one row per item sent."""
    parcels: dict[int, JsonDict] = {}
    for row in rows:
        parcel = {"tracking_id": [row["tracking_id"]], "item_ids": []}
        parcels.setdefault(row["number"], parcel)["item_ids"].append(row["item_id"])
    return list(parcels.values())


def _return(db: Database, order_id: str) -> JsonDict:
    request = db.rows(q.RETURN, order_id=order_id)[0]
    rows = db.rows(q.RETURN_ITEMS_OF, order_id=order_id)
    return {
        "return_items": [row["item_id"] for row in rows for _ in range(row["quantity"])],
        "return_payment_method_id": request["payment_method_id"],
    }


def _exchange(db: Database, order_id: str) -> JsonDict:
    """What is exchanged, old and new items in the same order: the nth goes for the nth."""
    request = db.rows(q.EXCHANGE, order_id=order_id)[0]
    rows = db.rows(q.EXCHANGE_ITEMS_OF, order_id=order_id)
    pairs = [row for row in rows for _ in range(row["quantity"])]
    return {
        "exchange_items": [row["item_id"] for row in pairs],
        "exchange_new_items": [row["new_item_id"] for row in pairs],
        "exchange_payment_method_id": request["payment_method_id"],
        "exchange_price_difference": _dollars(request["price_difference_cents"]),
    }
