"""A shop small enough to read, with every state an order can start in."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from passhat.domains.database import Database
from passhat.domains.retail.tables import METADATA
from passhat.domains.world import World

ADDRESS = {
    "address1": "12 Larkspur Lane",
    "address2": "Apt 3",
    "city": "Chicago",
    "country": "USA",
    "state": "IL",
    "zip": "60604",
}
# item id: product, cents, available, colour
VARIANTS = {
    "red": ("mug", 1000, 1),
    "blue": ("mug", 1250, 1),
    "green": ("mug", 999, 0),
    "gold": ("mug", 25_000, 1),
    "small": ("lamp", 3500, 1),
    "large": ("lamp", 4010, 1),
}
WALLETS: dict[str, dict[str, dict[str, Any]]] = {
    "ana_silva_1111": {
        "credit_card_1111111": {"brand": "visa", "last_four": "4242"},
        "gift_card_1111111": {"balance_cents": 10_000},
        "paypal_1111111": {},
    },
    "ana_silva_2222": {"gift_card_2222222": {"balance_cents": 500}},
}
# order id: customer, status, items, how it was paid
ORDERS = {
    "#W0000001": ("ana_silva_1111", "pending", ["red", "red", "small"], "paypal_1111111"),
    "#W0000002": ("ana_silva_1111", "delivered", ["red", "blue", "red"], "credit_card_1111111"),
    "#W0000003": ("ana_silva_1111", "processed", ["large"], "paypal_1111111"),
    "#W0000004": ("ana_silva_1111", "pending", ["small"], "gift_card_1111111"),
    "#W0000005": ("ana_silva_2222", "pending", ["blue", "red"], "gift_card_2222222"),
    "#W0000006": ("ana_silva_2222", "delivered", ["small"], "gift_card_2222222"),
}
PARCELS = {"#W0000002": [0, 0, 1], "#W0000003": [0], "#W0000006": [0]}


def _rows() -> dict[str, list[dict[str, Any]]]:
    """The tables above, as rows."""
    customers = [
        ("ana_silva_1111", "Ana", "Silva", "ana.silva@example.com"),
        ("ana_silva_2222", "Ana", "Silva", "Ana.Maria@example.org"),
    ]
    names = ("user_id", "first_name", "last_name", "email")
    return {
        "addresses": [
            *({"address_id": key} | ADDRESS for key in ("ana_silva_1111", *ORDERS)),
            {"address_id": "ana_silva_2222"} | ADDRESS | {"city": "Boise", "zip": "83719"},
        ],
        "customers": [dict(zip(names, customer, strict=True)) for customer in customers],
        "payment_methods": [
            {"brand": None, "last_four": None, "balance_cents": None}
            | {"payment_method_id": key, "user_id": user, "source": key.rpartition("_")[0]}
            | details
            for user, wallet in WALLETS.items()
            for key, details in wallet.items()
        ],
        "products": [{"product_id": "mug", "name": "Mug"}, {"product_id": "lamp", "name": "Lamp"}],
        "variants": [
            {"item_id": key, "product_id": product, "price_cents": cents, "available": available}
            for key, (product, cents, available) in VARIANTS.items()
        ],
        "variant_options": [
            {"item_id": key, "position": position, "name": name, "value": value}
            for key in VARIANTS
            for position, (name, value) in enumerate((("style", key), ("finish", "matte")))
        ],
        "orders": [
            {"order_id": key, "user_id": user, "status": status, "cancel_reason": None}
            for key, (user, status, _, _) in ORDERS.items()
        ],
        "order_items": [
            {"order_id": key, "line": line, "item_id": item, "price_cents": VARIANTS[item][1]}
            for key, (_, _, items, _) in ORDERS.items()
            for line, item in enumerate(items)
        ],
        "fulfilments": [
            {"order_id": key, "number": number, "tracking_id": f"90000000000{number}"}
            for key, parcels in PARCELS.items()
            for number in sorted(set(parcels))
        ],
        "fulfilment_items": [
            {"order_id": key, "line": line, "number": number}
            for key, parcels in PARCELS.items()
            for line, number in enumerate(parcels)
        ],
        "payments": [
            {
                "order_id": key,
                "number": 0,
                "transaction_type": "payment",
                "amount_cents": sum(VARIANTS[item][1] for item in items),
                "payment_method_id": method,
            }
            for key, (_, _, items, method) in ORDERS.items()
        ],
    }


@pytest.fixture(scope="session")
def world() -> World:
    """The small shop."""
    return World(METADATA, _rows(), datetime(2026, 3, 16, 10))


@pytest.fixture
def shop(world: World) -> Iterator[Database]:
    """An open database of the small shop."""
    with world.fork() as db:
        yield db
