"""The retail agent: works out one request after the other from the words and the rows.

It reads English by a few dozen patterns, so it fails where a request is put in an unusual way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from ...language import plain
from ...transcript import Observation
from ..agent import Brief
from ..notes import Json
from ..people import identify
from ..retail import RetailNotes, paid
from ..scripted import Step, StepKind
from . import retail_words as words
from .conversation import Declined, Reply, RuleBasedAgent
from .retail_answers import balance_answer, order_answer, product_answer, products_named
from .retail_words import Wish

_THEIRS = re.compile(r"\b(?:my|order(?:ed)?|sent|shipped|parcel|paid|came|comes? back)\b")
_ALL = re.compile(
    r"\b(?:everything|all (?:of )?(?:it|them|the|items)|whole order|entire order|both)\b"
)


class RetailAgent(RuleBasedAgent[RetailNotes]):
    """Serves a retail customer by rules."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief, RetailNotes())
        self._at_hand = ""
        self._wish = Wish.UNCLEAR

    def _identify(self) -> Generator[Step, Observation, str | None]:
        return (yield from identify(self._heard))

    def _understood(self, text: str) -> Callable[[str], Reply] | None:
        wish = words.wish_in(text)
        if wish is not Wish.GOODBYE and "the same with" in plain(text):
            wish = self._wish
        self._wish = wish
        serves: dict[Wish, Callable[[str], Reply] | None] = {
            Wish.HUMAN: self._hand_over,
            Wish.CANCEL: self._cancel,
            Wish.RETURN: self._return,
            Wish.EXCHANGE: self._swap,
            Wish.ADDRESS: self._order_address,
            Wish.DEFAULT_ADDRESS: self._default_address,
            Wish.PAYMENT: self._payment,
            Wish.QUESTION: self._question,
            Wish.FORBIDDEN: self._forbidden,
            Wish.GOODBYE: None,
        }
        return serves.get(wish, self._unclear)

    # --- what is asked for ------------------------------------------------------------------------

    def _cancel(self, text: str) -> Reply:
        order = yield from self._order(text, "cancel", "pending")
        reason = words.reason_in(text) or words.reason_in(
            (yield from self._ask("May I ask for the reason of the cancellation?"))
        )
        if reason is None:
            raise Declined(
                "I am sorry, I cannot cancel it for that reason: it must be no longer needed, or"
                " ordered by mistake."
            )
        arguments = {"order_id": order["order_id"], "reason": reason}
        return (yield from self._change("cancel_pending_order", arguments))

    def _return(self, text: str) -> Reply:
        order = yield from self._order(text, "return", "delivered")
        items = yield from self._items(order, text)
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item in items],
            "payment_method_id": (yield from self._method(order, text, "receive the refund")),
        }
        return (yield from self._change("return_delivered_order_items", arguments))

    def _swap(self, text: str) -> Reply:
        order = yield from self._order(text, "exchange", "delivered", "pending")
        items = yield from self._items(order, text)
        new_items = []
        for item in items:
            new_items.append((yield from self._new_item(item, text)))
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [item["item_id"] for item in items],
            "new_item_ids": [item["item_id"] for item in new_items],
            "payment_method_id": (yield from self._method(order, text, "settle the difference")),
        }
        pending = order["status"] == "pending"
        name = "modify_pending_order_items" if pending else "exchange_delivered_order_items"
        return (yield from self._change(name, arguments))

    def _order_address(self, text: str) -> Reply:
        order = yield from self._order(text, "change the address of", "pending")
        address = yield from self._address(text, but_not=order["order_id"])
        arguments = {"order_id": order["order_id"], **address}
        return (yield from self._change("modify_pending_order_address", arguments))

    def _default_address(self, text: str) -> Reply:
        address = yield from self._address(text)
        arguments = {"user_id": self._profile["user_id"], **address}
        return (yield from self._change("modify_user_address", arguments))

    def _payment(self, text: str) -> Reply:
        order = yield from self._order(text, "change the payment of", "pending")
        method = yield from self._method(order, text, "pay for the order")
        if method in paid(order):
            raise Declined(f"I cannot do that: order {order['order_id']} is paid with it already.")
        arguments = {"order_id": order["order_id"], "payment_method_id": method}
        return (yield from self._change("modify_pending_order_payment", arguments))

    def _question(self, text: str) -> Reply:
        if "balance" in plain(text) or ("gift card" in plain(text) and "left" in plain(text)):
            yield from self._look_up("get_user_details", {"user_id": self._profile["user_id"]})
            if told := balance_answer(self._profile):
                return (yield from self._answer(told))
        mentioned = any(o in self._orders for o in words.order_ids(text))
        if not mentioned and not _THEIRS.search(plain(text)):
            for product_id in (yield from self._named_products(text)):
                yield from self._look_up("get_product_details", {"product_id": product_id})
                product = self._notes.products.get(product_id, {"name": "it", "variants": {}})
                told = product_answer(text, product)
                return (yield from self._answer(told))
        order = yield from self._order(text, "tell about")
        return (yield from self._answer(order_answer(text, order)))

    def _unclear(self, text: str) -> Reply:
        return (
            yield from self._say(
                StepKind.ASK,
                "How can I help you? I can cancel, change, return or exchange orders, and answer"
                " questions about them.",
            )
        )

    # --- what it needs for that -------------------------------------------------------------------

    @property
    def _orders(self) -> list[str]:
        orders: list[str] = self._profile.get("orders", [])
        return orders

    def _order(self, text: str, to_do: str, *statuses: str) -> Generator[Step, Observation, Json]:
        """The order spoken of, by number or by what is in it, in one of these states."""
        found = yield from self._find_order(text, statuses)
        found = found or self._notes.orders.get(self._at_hand)
        if found is None:
            found = yield from self._find_order(
                (yield from self._ask("Which order is it? Please tell me the order number.")),
                statuses,
            )
        if found is None:
            raise Declined("I am sorry, I cannot find that order in your account.")
        self._at_hand = found["order_id"]
        if statuses and found["status"] not in statuses:
            raise Declined(
                f"I am sorry, I cannot {to_do} order {found['order_id']}: it is {found['status']},"
                f" and would have to be {' or '.join(statuses)}."
            )
        return found

    def _find_order(
        self, text: str, statuses: tuple[str, ...]
    ) -> Generator[Step, Observation, Json | None]:
        numbers = words.order_ids(text)
        for order_id in numbers:
            if order_id in self._orders:
                yield from self._look_up("get_order_details", {"order_id": order_id})
                return self._notes.orders.get(order_id)
        if numbers:
            raise Declined(
                f"I am sorry, I cannot help with {numbers[0]}: it is not in your account."
            )
        for order_id in self._orders:
            yield from self._look_up("get_order_details", {"order_id": order_id})
        about = [
            order
            for order in map(self._notes.orders.get, self._orders)
            if order and any(words.names_product(text, item["name"]) for item in order["items"])
        ]
        fitting = [order for order in about if not statuses or order["status"] in statuses]
        return next(iter(fitting or about), None)

    def _items(self, order: Json, text: str) -> Generator[Step, Observation, list[Json]]:
        """The items of an order that are spoken of."""
        found = _items_named(order, text)
        if not found:
            answer = yield from self._ask("Which items of the order is it about?")
            found = _items_named(order, answer)
        if not found:
            raise Declined("I am sorry, I cannot find that item in this order.")
        return found

    def _new_item(self, item: Json, text: str) -> Generator[Step, Observation, Json]:
        """The variant that is to take an item's place."""
        product_id = item["product_id"]
        yield from self._look_up("get_product_details", {"product_id": product_id})
        product = self._notes.products.get(product_id, {"variants": {}})
        found = words.best_variant(product, item, text)
        if found is None:
            question = f"Which variant would you like instead of the {item['name']}?"
            found = words.best_variant(product, item, (yield from self._ask(question)))
        if found is None:
            raise Declined(f"I am sorry, such a {item['name']} is not available.")
        return found

    def _method(self, order: Json, text: str, purpose: str) -> Reply:
        """The payment method that the customer chooses."""
        methods = self._notes.payment_methods()
        original = next(iter(paid(order)), None)
        found = words.method_in(text, methods, original)
        if found is None:
            answer = yield from self._ask(f"Which payment method should {purpose}?")
            found = words.method_in(answer, methods, original)
        if found is None:
            raise Declined("I am sorry, I cannot use that: it is not in your profile.")
        return found

    def _address(
        self, text: str, but_not: str = ""
    ) -> Generator[Step, Observation, dict[str, Any]]:
        """The address that the customer gives, or points at."""
        found = yield from self._address_in(text, but_not)
        if found is None:
            answer = yield from self._ask("What is the complete new address?")
            found = yield from self._address_in(answer, but_not, answering=True)
        if found is None:
            raise Declined("I am sorry, I cannot use that as an address.")
        return found

    def _address_in(
        self, text: str, but_not: str, answering: bool = False
    ) -> Generator[Step, Observation, dict[str, Any] | None]:
        if written := words.address_in(text):
            return written
        for order_id in words.order_ids(text):
            if order_id != but_not and order_id in self._orders:
                yield from self._look_up("get_order_details", {"order_id": order_id})
                return dict(self._notes.orders.get(order_id, {}).get("address", {})) or None
        if answering and re.search(r"\b(?:default|profile|home)\b", plain(text)):
            return dict(self._profile.get("address", {})) or None
        earlier = (words.address_in(said) for said in reversed(self._heard))
        return next(filter(None, earlier), None) if answering else None

    def _named_products(self, text: str) -> Generator[Step, Observation, list[str]]:
        listed = yield from self._look_up("list_all_product_types", {})
        return list(products_named(text, _table(listed)))


def _items_named(order: Json, text: str) -> list[Json]:
    """Items by id, by name, by name and options, or all of them."""
    items: list[Json] = order["items"]
    if by_id := [item for item in items if item["item_id"] in text]:
        return by_id
    text, _, kept = re.sub(r"\b(?:except|but not|apart from)\b", "\0", text).partition("\0")
    if kept:
        items = [item for item in items if not words.names_product(kept, item["name"])]
    named = [item for item in items if words.names_product(text, item["name"])]
    if re.search(r"\bone of (?:the|my|them)\b", plain(text)):
        return named[:1]
    if not named and (len(order["items"]) == 1 or _ALL.search(plain(text))):
        return items
    exact = [i for i in named if words.options_named(text, map(str, i["options"].values()))]
    return exact if exact and len({item["name"] for item in named}) < len(named) else named


def _table(text: str) -> dict[str, str]:
    """A table of names and ids, as JSON; empty if it is something else."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in entries if isinstance(value, str)}
