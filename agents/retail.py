"""The words of the retail desk: changes, orders and items as a customer reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ..transcript import ToolResultEvent
from .notes import (
    Json,
    LookUp,
    dollars,
    in_words,
    listed,
    method_words,
    number_in,
    object_in,
)


class RetailNotes:
    """What the tools of a shop have said so far.

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
        about = object_in(result)
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

    def look_ups_about(self, text: str) -> Iterator[LookUp]:
        """The customer's orders that the text names."""
        for order_id in (self.profile or {}).get("orders", []):
            if order_id in text:
                yield "get_order_details", {"order_id": order_id}

    def look_ups_before(self, name: str, arguments: Json) -> Iterator[LookUp]:
        """The products of which items are swapped."""
        for item in arguments.get("item_ids", []) if "new_item_ids" in arguments else []:
            product = self.ordered(str(arguments.get("order_id")), item).get("product_id")
            if product is not None:
                yield "get_product_details", {"product_id": product}

    def sum_needed(self, name: str, arguments: Json) -> str | None:
        """The price difference of a swap, or the refund for several items."""
        order = str(arguments.get("order_id"))
        old = [self.ordered(order, item)["price"] for item in arguments.get("item_ids", [])]
        if name == "return_delivered_order_items":
            return " + ".join(f"{price:.2f}" for price in old) if len(old) > 1 else None
        if "new_item_ids" in arguments:
            new = [self.item(item)["price"] for item in arguments["new_item_ids"]]
            pairs = zip(new, old, strict=False)
            terms = [f"{after:.2f} - {before:.2f}" for after, before in pairs]
            return terms[0] if len(terms) == 1 else " + ".join(f"({term})" for term in terms)
        return None

    def change_words(self, name: str, arguments: Json, worked_out: str | None = None) -> str:
        """A change with all its details, as one sentence that begins with a verb."""
        order_id = str(arguments.get("order_id", ""))
        order = self.orders.get(order_id, {})
        method = self._method(str(arguments.get("payment_method_id", "")))
        match name:
            case "cancel_pending_order":
                refunds = listed(
                    f"{dollars(amount)} to {self._method(payer)}"
                    for payer, amount in paid(order).items()
                )
                reason = arguments["reason"]
                return f"cancel order {order_id} (reason: {reason}) and refund {refunds}"
            case "modify_pending_order_address":
                return f"change the address of order {order_id} to {address_words(arguments)}"
            case "modify_user_address":
                return f"change your default address to {address_words(arguments)}"
            case "modify_pending_order_payment":
                amount = dollars(total(order))
                before = listed(map(self._method, paid(order)))
                return (
                    f"change the payment of order {order_id}: {amount} is charged to {method}"
                    f" instead of {before}, which is refunded in full"
                )
            case "modify_pending_order_items" | "exchange_delivered_order_items":
                verb = "change in" if name.startswith("modify") else "exchange from"
                return (
                    f"{verb} order {order_id}: {self._swaps(arguments)}."
                    f" {_difference(worked_out, method)}"
                )
            case "return_delivered_order_items":
                items = [self.ordered(order_id, item) for item in arguments["item_ids"]]
                refund = number_in(worked_out) or sum(item["price"] for item in items)
                return (
                    f"request the return of {listed(map(item_words, items))} from order"
                    f" {order_id}, with a refund of {dollars(refund)} to {method}"
                )
            case _:
                return in_words(name, arguments)

    def _method(self, method_id: str) -> str:
        return method_words(self.payment_methods(), method_id)

    def _swaps(self, arguments: Json) -> str:
        pairs = zip(arguments["item_ids"], arguments["new_item_ids"], strict=False)
        return listed(
            f"{item_words(self.ordered(arguments['order_id'], old))} for"
            f" {item_words(self.item(new))} at {dollars(self.item(new)['price'])}"
            for old, new in pairs
        )


def item_words(item: Json) -> str:
    """An item by name, options and id.

    >>> item_words({"name": "Lamp", "options": {"color": "red"}, "item_id": "1234567890"})
    'Lamp (color: red; item 1234567890)'
    """
    options = ", ".join(f"{name}: {value}" for name, value in item["options"].items())
    return f"{item['name']} ({options + '; ' if options else ''}item {item['item_id']})"


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


def _difference(worked_out: str | None, method: str) -> str:
    difference = number_in(worked_out)
    if difference > 0:
        return f"The price difference of {dollars(difference)} is charged to {method}"
    if difference < 0:
        return f"The price difference of {dollars(difference)} is refunded to {method}"
    return f"There is no price difference; the payment method is {method}"
