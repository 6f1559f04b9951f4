"""A small retail agent without a model. It never sees the task, only what it is told.

It identifies the customer, works out one request after the other, looks up what it needs, proposes,
waits for a yes, writes, and reports. It reads English by a few dozen patterns, so it fails where a
request is put in an unusual way; that makes it a baseline, not a benchmark's ceiling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from ...language import agrees, plain
from ...transcript import Observation
from ..agent import Brief
from ..people import identify
from ..retail import Json, Notes, change_words, paid, sum_needed
from ..scripted import Forgotten, Script, ScriptedAgent, Step, StepKind, call, say
from . import words
from .answers import balance_answer, order_answer, product_answer, products_named
from .words import Wish

MOST_REQUESTS = 15
"""Requests, answered or not, after which it gives up."""

_MORE = "Is there anything else I can help you with?"
_THEIRS = re.compile(r"\b(?:my|order(?:ed)?|sent|shipped|parcel|paid|came|comes? back)\b")
_ALL = re.compile(
    r"\b(?:everything|all (?:of )?(?:it|them|the|items)|whole order|entire order|both)\b"
)

Reply = Generator[Step, Observation, str]
"""A part of the conversation; gives what the customer said last."""


class Declined(Exception):  # noqa: N818 - a turn of the conversation, not a mistake
    """The request in hand cannot go on; carries what to tell the customer."""

    def __init__(self, told: str, kind: StepKind = StepKind.REFUSE) -> None:
        super().__init__(told)
        self.kind = kind


class Corrected(Exception):  # noqa: N818 - a turn of the conversation, not a mistake
    """The customer did not agree to a proposal; carries what they said."""


class RuleBasedAgent(ScriptedAgent):
    """Serves a retail customer by rules."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._notes = Notes()
        self._heard: list[str] = []
        self._answers: dict[str, str] = {}
        self._at_hand = ""

    def script(self, opening: str) -> Script:
        """Identify the customer, then deal with requests until there are no more."""
        self._heard.append(opening)
        user_id = yield from identify(self._heard)
        if user_id is None:
            sorry = "I am sorry, I cannot help without finding your account. Goodbye."
            yield from say(StepKind.GOODBYE, sorry)
            return
        yield from self._look_up("get_user_details", {"user_id": user_id})
        request, wish = " ".join(self._heard), None
        for _ in range(MOST_REQUESTS):
            last, wish = wish, words.wish_in(request)
            if wish is Wish.GOODBYE:
                break
            if last is not None and "the same with" in plain(request):
                wish = last
            request = yield from self._request(wish, request)
        yield from say(StepKind.GOODBYE, "Thank you for writing to us. Have a nice day!")

    def _request(self, wish: Wish, text: str, corrected: bool = False) -> Reply:
        """Deal with one request, again if corrected; gives what the customer says next."""
        serve: Callable[[str], Reply] = {
            Wish.HUMAN: self._hand_over,
            Wish.CANCEL: self._cancel,
            Wish.RETURN: self._return,
            Wish.EXCHANGE: self._swap,
            Wish.ADDRESS: self._order_address,
            Wish.DEFAULT_ADDRESS: self._default_address,
            Wish.PAYMENT: self._payment,
            Wish.QUESTION: self._question,
            Wish.FORBIDDEN: self._forbidden,
        }.get(wish, self._unclear)
        try:
            return (yield from serve(text))
        except Declined as declined:
            return (yield from self._say(declined.kind, f"{declined} {_MORE}"))
        except Corrected as correction:
            if corrected:
                kept = f"Then I leave everything as it is. {_MORE}"
                return (yield from self._say(StepKind.REPORT, kept))
            return (yield from self._request(wish, f"{text} {correction}", corrected=True))
        except Forgotten:
            return (yield from self._say(StepKind.REPORT, f"That is noted. {_MORE}"))

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
                return (yield from self._say(StepKind.ANSWER, f"{told} {_MORE}"))
        mentioned = any(o in self._orders for o in words.order_ids(text))
        if not mentioned and not _THEIRS.search(plain(text)):
            for product_id in (yield from self._named_products(text)):
                yield from self._look_up("get_product_details", {"product_id": product_id})
                product = self._notes.products.get(product_id, {"name": "it", "variants": {}})
                told = product_answer(text, product)
                return (yield from self._say(StepKind.ANSWER, f"{told} {_MORE}"))
        order = yield from self._order(text, "tell about")
        return (yield from self._say(StepKind.ANSWER, f"{order_answer(text, order)} {_MORE}"))

    def _forbidden(self, text: str) -> Reply:
        raise Declined("I am sorry, I cannot do that: our policy does not allow it.")
        yield  # a generator like the others

    def _hand_over(self, text: str) -> Reply:
        summary = {"summary": f"The customer says: {text}"}
        yield from call(StepKind.HAND_OVER, "transfer_to_human_agents", summary)
        return ""

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
    def _profile(self) -> Json:
        return self._notes.profile or {"user_id": ""}

    @property
    def _orders(self) -> list[str]:
        orders: list[str] = self._profile.get("orders", [])
        return orders

    def _say(self, kind: StepKind, text: str) -> Reply:
        answer = yield from say(kind, text)
        self._heard.append(answer)
        return answer

    def _ask(self, question: str) -> Reply:
        return (yield from self._say(StepKind.ASK, question))

    def _look_up(self, name: str, arguments: Json) -> Generator[Step, Observation, str]:
        """What a tool answers; empty if it refuses. Nothing is asked twice between two changes."""
        key = json.dumps([name, arguments])
        if key not in self._answers:
            result = yield from call(StepKind.LOOK_UP, name, arguments)
            self._notes.read(result, arguments)
            self._answers[key] = result.content if result and result.error is None else ""
        return self._answers[key]

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

    def _change(self, name: str, arguments: Json) -> Reply:
        """Propose a change, wait for a yes, make it, report; gives what the customer says next."""
        worked_out = None
        if expression := sum_needed(name, arguments, self._notes):
            worked_out = yield from self._look_up("calculate", {"expression": expression})
        plan = change_words(name, arguments, self._notes, worked_out)
        proposal = f"I will {plan}. Do you want me to go ahead? (yes/no)"
        answer = yield from self._say(StepKind.PROPOSE, proposal)
        if not agrees(answer):
            raise Corrected(answer)
        result = yield from call(StepKind.WRITE, name, arguments)
        self._answers.clear()
        self._notes.read(result, arguments)
        if result is not None and result.error is not None:
            raise Declined(f"I am sorry, that was not possible: {result.content}.")
        return (yield from self._say(StepKind.REPORT, f"Done. As agreed: {plan}. {_MORE}"))


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
