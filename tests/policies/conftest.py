"""Talks in a tiny shop and with a tiny airline."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from passhat.domains.retail import DOMAIN
from passhat.domains.world import World

from .small_airline import FlightTalk, make_airline
from .talk import Talk

ANA, BEN = "ana_silva_4471", "ben_okoro_2280"
PENDING, DELIVERED, PROCESSED, BENS = "#W1000001", "#W1000002", "#W1000003", "#W2000001"
BLACK_LAMP, WHITE_LAMP, RED_LAMP = "2000000001", "2000000002", "2000000003"
MUG, BIG_MUG = "2000000011", "2000000012"
CARD, GIFT_CARD, PAYPAL, BENS_PAYPAL = (
    "credit_card_1111111",
    "gift_card_2222222",
    "paypal_3333333",
    "paypal_4444444",
)


def _address(owner: str, street: str, zip_code: str) -> dict[str, object]:
    return {
        "address_id": owner,
        "address1": street,
        "address2": "",
        "city": "Springfield",
        "country": "USA",
        "state": "IL",
        "zip": zip_code,
    }


def _method(method: str, owner: str, source: str, **more: object) -> dict[str, object]:
    empty = {"brand": None, "last_four": None, "balance_cents": None}
    return {"payment_method_id": method, "user_id": owner, "source": source} | empty | more


def _variant(item: str, product: str, cents: int, available: int = 1) -> dict[str, object]:
    return {
        "item_id": item,
        "product_id": product,
        "price_cents": cents,
        "available": available,
    }


def _rows() -> dict[str, list[dict[str, object]]]:
    orders = [
        (PENDING, ANA, "pending", [(BLACK_LAMP, 3000), (MUG, 1000)], CARD),
        (DELIVERED, ANA, "delivered", [(BLACK_LAMP, 3000), (MUG, 1000)], CARD),
        (PROCESSED, ANA, "processed", [(MUG, 1000)], CARD),
        (BENS, BEN, "delivered", [(MUG, 1000)], BENS_PAYPAL),
    ]
    options = {BLACK_LAMP: "black", WHITE_LAMP: "white", RED_LAMP: "red", MUG: "small"}
    return {
        "addresses": [
            _address(ANA, "12 Maple Road", "62701"),
            _address(BEN, "9 Birch Lane", "62702"),
            *(_address(order, "12 Maple Road", "62701") for order, *_ in orders[:3]),
            _address(BENS, "77 Secret Street", "62702"),
        ],
        "customers": [
            {"user_id": ANA, "first_name": "Ana", "last_name": "Silva", "email": "ana@example.com"},
            {"user_id": BEN, "first_name": "Ben", "last_name": "Okoro", "email": "ben@example.com"},
        ],
        "payment_methods": [
            _method(CARD, ANA, "credit_card", brand="visa", last_four="4242"),
            _method(GIFT_CARD, ANA, "gift_card", balance_cents=300),
            _method(PAYPAL, ANA, "paypal"),
            _method(BENS_PAYPAL, BEN, "paypal"),
        ],
        "products": [
            {"product_id": "1000000001", "name": "Desk Lamp"},
            {"product_id": "1000000002", "name": "Mug"},
        ],
        "variants": [
            _variant(BLACK_LAMP, "1000000001", 3000),
            _variant(WHITE_LAMP, "1000000001", 3525),
            _variant(RED_LAMP, "1000000001", 2000, available=0),
            _variant(MUG, "1000000002", 1000),
            _variant(BIG_MUG, "1000000002", 1200),
        ],
        "variant_options": [
            {"item_id": item, "position": 0, "name": "kind", "value": value}
            for item, value in (options | {BIG_MUG: "big"}).items()
        ],
        "orders": [
            {"order_id": order, "user_id": owner, "status": status, "cancel_reason": None}
            for order, owner, status, _, _ in orders
        ],
        "order_items": [
            {"order_id": order, "line": line, "item_id": item, "price_cents": cents}
            for order, _, _, items, _ in orders
            for line, (item, cents) in enumerate(items)
        ],
        "payments": [
            {
                "order_id": order,
                "number": 0,
                "transaction_type": "payment",
                "amount_cents": sum(cents for _, cents in items),
                "payment_method_id": method,
            }
            for order, _, _, items, method in orders
        ],
    }


class ShopTalk(Talk):
    """A conversation with the shop."""

    domain = DOMAIN

    def identified(self, *orders: str) -> ShopTalk:
        """The customer is found by e-mail, and their profile and these orders are read."""
        self.user("Hello, I am ana@example.com and need help.")
        self.call("find_user_id_by_email", email="ana@example.com")
        self.call("get_user_details", user_id=ANA)
        for order in orders:
            self.call("get_order_details", order_id=order)
        return self

    def cancelled(self, plan: str, answer: str, order: str = PENDING) -> ShopTalk:
        """The agent proposes, the customer answers, and the agent cancels."""
        self.agent(plan).user(answer)
        return self.call("cancel_pending_order", order_id=order, reason="no longer needed")


@pytest.fixture(scope="session")
def shop() -> World:
    """Two customers, two products, four orders."""
    return World(DOMAIN.tables, _rows(), datetime(2026, 3, 16))


@pytest.fixture
def talk(shop: World) -> Iterator[ShopTalk]:
    """An empty conversation on a database of its own."""
    with shop.fork() as db:
        yield ShopTalk(db)


@pytest.fixture(scope="session")
def airline() -> World:
    """Two customers, six flights, ten reservations."""
    return make_airline()


@pytest.fixture
def flight_talk(airline: World) -> Iterator[FlightTalk]:
    """An empty conversation with the airline, on a database of its own."""
    with airline.fork() as db:
        yield FlightTalk(db)
