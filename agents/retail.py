"""The words of the retail desk: changes, orders and payment methods as a customer reads them.

Everything told comes from `Notes`: what the tools have said in this conversation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..transcript import ToolResultEvent

Json = dict[str, Any]


class Notes:
    """What the tools have said so far.

    Attributes:
        profile: The customer, with ``user_id``; None until looked up.
        orders: Order details by order id, the latest of each.
        products: Product details by product id.
    """

    def __init__(self) -> None:
        self.profile: Json | None = None
        self.orders: dict[str, Json] = {}
        self.products: dict[str, Json] = {}

    def read(self, result: ToolResultEvent | None, arguments: Mapping[str, Any]) -> None:
        """Keep what this result says of the customer, an order or a product."""
        about = _object(result)
        if "payment_methods" in about:
            self.profile = {"user_id": arguments.get("user_id", ""), **about}
        elif "order_id" in about:
            self.orders[about["order_id"]] = about
        elif "product_id" in about and "variants" in about:
            self.products[about["product_id"]] = about

    def payment_methods(self) -> dict[str, Json]:
        """The customer's payment methods by id."""
        methods: dict[str, Json] = (self.profile or {}).get("payment_methods", {})
        return methods

    def item(self, item_id: str) -> Json:
        """A variant by item id, with ``name``: as a product has it, or as an order has it."""
        for product in self.products.values():
            if item_id in product["variants"]:
                return {**product["variants"][item_id], "name": product["name"]}
        for order in self.orders.values():
            for item in order.get("items", []):
                if item["item_id"] == item_id:
                    return dict(item)
        return {"item_id": item_id, "name": "item", "options": {}, "price": 0.0}

    def ordered(self, order_id: str, item_id: str) -> Json:
        """An item as an order has it, at the price it was bought for."""
        items = self.orders.get(order_id, {}).get("items", [])
        return next((i for i in items if i["item_id"] == item_id), self.item(item_id))


def _object(result: ToolResultEvent | None) -> Json:
    if result is None or result.error is not None:
        return {}
    try:
        about = json.loads(result.content)
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


# --- pieces -------------------------------------------------------------------------------------


def dollars(amount: float) -> str:
    """An amount as it is told; which way the money goes is for the words around it.

    >>> dollars(-1234.5)
    '$1234.50'
    """
    return f"${abs(amount):.2f}"


def item_words(item: Json) -> str:
    """An item by name, options and id.

    >>> item_words({"name": "Lamp", "options": {"color": "red"}, "item_id": "1234567890"})
    'Lamp (color: red; item 1234567890)'
    """
    options = ", ".join(f"{name}: {value}" for name, value in item["options"].items())
    return f"{item['name']} ({options + '; ' if options else ''}item {item['item_id']})"


def method_words(notes: Notes, method_id: str) -> str:
    """A payment method as its owner knows it, with its id."""
    method = notes.payment_methods().get(method_id, {})
    match method.get("source"):
        case "credit_card":
            kind = f"{method['brand']} credit card ending in {method['last_four']}"
        case "gift_card":
            kind = "gift card"
        case "paypal":
            kind = "PayPal account"
        case _:
            kind = "payment method"
    return f"your {kind} ({method_id})"


def address_words(address: Mapping[str, Any]) -> str:
    """An address on one line."""
    parts = ("address1", "address2", "city", "state", "country", "zip")
    return ", ".join(str(address[part]) for part in parts if address.get(part))


def paid(order: Json) -> dict[str, float]:
    """What each payment method has paid for an order so far, refunds taken off, in dollars."""
    cents: Counter[str] = Counter()
    for entry in order.get("payment_history", []):
        sign = 1 if entry["transaction_type"] == "payment" else -1
        cents[entry["payment_method_id"]] += sign * round(entry["amount"] * 100)
    return {method: amount / 100 for method, amount in cents.items() if amount > 0}


def total(order: Json) -> float:
    """What is paid for an order, in dollars."""
    return round(sum(paid(order).values()), 2)


# --- changes ------------------------------------------------------------------------------------


def sum_needed(name: str, arguments: Json, notes: Notes) -> str | None:
    """The sum to `calculate` before this change is proposed; None if it needs none."""
    order = str(arguments.get("order_id"))
    old = [notes.ordered(order, item)["price"] for item in arguments.get("item_ids", [])]
    if name == "return_delivered_order_items":
        return " + ".join(f"{price:.2f}" for price in old) if len(old) > 1 else None
    if "new_item_ids" in arguments:
        new = [notes.item(item)["price"] for item in arguments["new_item_ids"]]
        pairs = zip(new, old, strict=False)
        terms = [f"{after:.2f} - {before:.2f}" for after, before in pairs]
        return terms[0] if len(terms) == 1 else " + ".join(f"({term})" for term in terms)
    return None


def change_words(name: str, arguments: Json, notes: Notes, worked_out: str | None = None) -> str:
    """A change with all its details, as one sentence that begins with a verb.

    Args:
        name: The tool.
        arguments: Its arguments.
        notes: What the tools have said.
        worked_out: The result of `sum_needed`, if it was needed.
    """
    order_id = str(arguments.get("order_id", ""))
    order = notes.orders.get(order_id, {})
    method = method_words(notes, str(arguments.get("payment_method_id", "")))
    match name:
        case "cancel_pending_order":
            refunds = _each(
                f"{dollars(amount)} to {method_words(notes, payer)}"
                for payer, amount in paid(order).items()
            )
            return f"cancel order {order_id} (reason: {arguments['reason']}) and refund {refunds}"
        case "modify_pending_order_address":
            return f"change the address of order {order_id} to {address_words(arguments)}"
        case "modify_user_address":
            return f"change your default address to {address_words(arguments)}"
        case "modify_pending_order_payment":
            amount = dollars(total(order))
            before = _each(method_words(notes, payer) for payer in paid(order))
            return (
                f"change the payment of order {order_id}: {amount} is charged to {method} instead"
                f" of {before}, which is refunded in full"
            )
        case "modify_pending_order_items" | "exchange_delivered_order_items":
            verb = "change in" if name.startswith("modify") else "exchange from"
            return (
                f"{verb} order {order_id}: {_swaps(arguments, notes)}."
                f" {_difference(worked_out, method)}"
            )
        case "return_delivered_order_items":
            items = [notes.ordered(order_id, item) for item in arguments["item_ids"]]
            refund = _number(worked_out) or sum(item["price"] for item in items)
            listed = _each(item_words(item) for item in items)
            return (
                f"request the return of {listed} from order {order_id}, with a refund of"
                f" {dollars(refund)} to {method}"
            )
        case _:
            details = ", ".join(f"{key}: {value}" for key, value in arguments.items())
            return f"{name.replace('_', ' ')} ({details})"


def _swaps(arguments: Json, notes: Notes) -> str:
    pairs = zip(arguments["item_ids"], arguments["new_item_ids"], strict=False)
    return _each(
        f"{item_words(notes.ordered(arguments['order_id'], old))} for"
        f" {item_words(notes.item(new))} at {dollars(notes.item(new)['price'])}"
        for old, new in pairs
    )


def _difference(worked_out: str | None, method: str) -> str:
    difference = _number(worked_out)
    if difference > 0:
        return f"The price difference of {dollars(difference)} is charged to {method}"
    if difference < 0:
        return f"The price difference of {dollars(difference)} is refunded to {method}"
    return f"There is no price difference; the payment method is {method}"


def _number(text: str | None) -> float:
    """What `calculate` answered; 0 if it refused."""
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _each(parts: Iterable[str]) -> str:
    return "; and ".join(parts)
