"""Questions about orders, gift cards and products, answered from what the tools said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...language import plain
from ..notes import Json, dollars
from ..retail import item_words, total
from .retail_words import options_named


def order_answer(text: str, order: Json) -> str:
    """What the customer wants to know about an order: parcels, items, payment; else its status."""
    said, order_id = plain(text), order["order_id"]
    parts = [f"Order {order_id} is {order['status']}."]
    if "cancel_reason" in order:
        parts.append(f"The reason was: {order['cancel_reason']}.")
    if re.search(r"\b(?:track\w*|parcel|shipment)\b", said):
        numbers = [n for parcel in order["fulfillments"] for n in parcel["tracking_id"]]
        parts.append(f"Tracking: {', '.join(numbers) or 'there is no parcel yet'}.")
    if re.search(r"\b(?:how much|total|cost|pa(?:y|id)|price|refund|back|charged?)\b", said):
        payments = order["payment_history"]
        methods = ", ".join(dict.fromkeys(p["payment_method_id"] for p in payments))
        amount = total(order) or (payments[0]["amount"] if payments else 0.0)
        parts.append(f"It came to {dollars(amount)}, paid with {methods}.")
    if re.search(r"\b(?:items?|what|which|in it|many|contain)\b", said):
        listed = "; ".join(f"{item_words(i)} at {dollars(i['price'])}" for i in order["items"])
        parts.append(f"It holds {len(order['items'])} items: {listed}.")
    if re.search(r"\b(?:address|where|go(?:es|ing)? to)\b", said):
        address = order["address"]
        parts.append(f"It goes to {address['address1']}, {address['city']}, {address['zip']}.")
    return " ".join(parts)


def balance_answer(profile: Json) -> str | None:
    """What the gift cards hold; None if there are none."""
    cards = {
        method_id: method["balance"]
        for method_id, method in profile.get("payment_methods", {}).items()
        if method["source"] == "gift_card"
    }
    if not cards:
        return None
    return "; ".join(f"{card} holds {dollars(held)}" for card, held in cards.items()) + "."


def product_answer(text: str, product: Json) -> str:
    """What there is of a product, narrowed down to the options named, and the cheapest of it."""
    variants = list(product["variants"].values())
    values = {value for v in variants for value in v["options"].values()}
    named = set(options_named(text, values))
    fitting = [v for v in variants if named <= set(v["options"].values())]
    available = sorted((v for v in fitting if v["available"]), key=lambda v: v["price"])
    described = f"{product['name']}{' ' + '/'.join(sorted(named)) if named else ''}"
    if not available:
        return f"We have {len(fitting)} variants of {described}, and none is available now."
    return (
        f"We have {len(fitting)} variants of {described}; {len(available)} available now. The"
        f" cheapest is {_variant_words(product, available[0])}, the dearest"
        f" {_variant_words(product, available[-1])}."
    )


def _variant_words(product: Json, variant: Json) -> str:
    return f"{item_words({**variant, 'name': product['name']})} at {dollars(variant['price'])}"


def products_named(text: str, names: dict[str, str]) -> Iterator[str]:
    """Product ids of the products whose whole name the text says, in singular or plural."""
    said = plain(text).replace("-", " ")
    for name, product_id in names.items():
        if plain(name).replace("-", " ").removesuffix("s") in said:
            yield product_id
