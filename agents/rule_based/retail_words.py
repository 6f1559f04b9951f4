"""What a customer wants, as far as a few rules can tell from the words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from ...language import ids, plain
from ..notes import Json
from .patterns import GOODBYE, any_word


class Wish(StrEnum):
    """What a request is for."""

    HUMAN = "human"
    CANCEL = "cancel"
    RETURN = "return"
    EXCHANGE = "exchange"
    ADDRESS = "address of an order"
    DEFAULT_ADDRESS = "default address"
    PAYMENT = "payment"
    QUESTION = "question"
    FORBIDDEN = "forbidden"
    GOODBYE = "goodbye"
    UNCLEAR = "unclear"


_WISHES: dict[Wish, re.Pattern[str]] = {
    Wish.HUMAN: any_word(
        "human", "real person", "representative", "supervisor", "manager", "invoice", "lawyer",
        "legal", "complain", "complaint", "(?:delete|close) (?:my|the) account", "trac(?:e|ing)",
        "never (?:arrived|came|reached)", "(?:got|is|was) lost", "damaged", "broken", "price match",
        "match (?:the|that|their) price", r"change (?:my|the) (?:e-?mail|(?:last |first )?name)",
        "new (?:credit )?card to my", "charged? (?:me|twice)", "charge (?:i|that|on)",
    ),
    Wish.FORBIDDEN: any_word(
        "discount", "voucher", "coupon", "compensation", "goodwill", "new order", "undo",
        "reinstate", r"my \w+'s (?:order|account)", "split", "add (?:an?|another|one more)",
        "(?:take|remove|drop) .{1,60} (?:out|from)", "back in motion",
    ),
    Wish.DEFAULT_ADDRESS: any_word(
        r"(?:update|change|make|put|set)\b.*\b(?:default|profile)", "my own address"
    ),
    Wish.RETURN: any_word(
        "return(?:ing)?", "send(?:ing)? (?:(?:it|them|this|these) )?back", "take back", "go back",
    ),
    Wish.EXCHANGE: any_word(
        r"exchang\w*", r"swap\w*", r"replac\w*", "(?:different|another) (?:size|color|one|variant)",
        "instead of the", "upgrade",
        r"(?:change|modify|switch) (?:the|my|it|an?)\b(?!.*\b(?:address|pay|card|paypal)\b)",
    ),
    Wish.PAYMENT: any_word(
        r"pay(?:ing|ment)?", "paypal", "gift card", "credit card", "mastercard", "visa", "charge"
    ),
    Wish.ADDRESS: any_word(
        "address", "(?:delivered|ship|shipped|sent|come|go|goes) to", r"sen[dt] (?:it|#\w+) to",
        "apartment", "apt", "unit", "suite",
    ),
    Wish.CANCEL: any_word(r"cancel\w*"),
}  # fmt: skip
_QUESTION = re.compile(
    r"^(?:(?:and|also|so|then|hi|hello),? )*"
    r"(?:what|which|when|where|how|is|are|do|does|did|has|have)\b"
    r"|\b(?:how (?:much|many|long)|what(?:'s| is| was)|which|when|where(?:'s| is)|tell me"
    r"|do you (?:have|sell)|is there|are there|status|tracking)\b"
)
_WANTS = any_word(
    "please", "want", "like to", "need to", "(?:could|can) (?:you|i)", "let's", "i'd", "cancel",
    "return", "exchange",
)  # fmt: skip


def wish_in(text: str) -> Wish:
    """What the customer asks for.

    >>> wish_in("Please cancel #W1234567"), wish_in("How much did I pay for it?")
    (<Wish.CANCEL: 'cancel'>, <Wish.QUESTION: 'question'>)
    """
    said = plain(text)
    found = [wish for wish, pattern in _WISHES.items() if pattern.search(said)]
    if Wish.HUMAN in found or Wish.FORBIDDEN in found:
        return found[0]
    if _QUESTION.search(said) and not (found and _WANTS.search(said)):
        return Wish.QUESTION
    if Wish.CANCEL in found and "if" not in said.split():
        return Wish.CANCEL
    if found:
        return found[0]
    if GOODBYE.search(said):
        return Wish.GOODBYE
    return Wish.EXCHANGE if order_ids(text) else Wish.UNCLEAR  # "the lamp in #W1234567 in red"


# --- details ------------------------------------------------------------------------------------


def order_ids(text: str) -> list[str]:
    """Order ids, with their "#", also where the customer left it out."""
    found = [each for each in ids(text) if each.startswith("#W")]
    return found or [f"#{each}" for each in re.findall(r"\bW\d{7}\b", text)]


def reason_in(text: str) -> str | None:
    """One of the two accepted reasons for a cancellation.

    >>> reason_in("Oh, I clicked by accident"), reason_in("It is too dear")
    ('ordered by mistake', None)
    """
    said = plain(text)
    if re.search(r"\b(?:mistake|accident\w*|error|wrong (?:thing|one|item|button)|twice)\b", said):
        return "ordered by mistake"
    if re.search(r"\b(?:no longer|(?:don't|do not|not) (?:need|want)|changed my mind)\b", said):
        return "no longer needed"
    return None


_ADDRESS = re.compile(
    r"(?P<address1>\d+ [^,;\n]+), "
    r"(?:(?P<address2>(?:Apt|Apartment|Suite|Unit|Floor|Room|#)[^,;\n]*), )?"
    r"(?P<city>[A-Z][^,;\n\d]+), (?P<state>[A-Z]{2}),? (?P<zip>\d{5})\b"
)


def address_in(text: str) -> Json | None:
    """An address written on one line, as the tools take it."""
    found = _ADDRESS.search(text)
    if found is None:
        return None
    parts = {name: (value or "").strip() for name, value in found.groupdict().items()}
    return {**parts, "country": "USA"}


def method_in(text: str, methods: dict[str, Json], original: str | None = None) -> str | None:
    """The payment method that the customer names, if exactly one fits.

    Args:
        text: The customer's words.
        methods: Payment methods of the profile by id.
        original: What paid for the order, for "the original one".
    """
    said = plain(text)
    if named := [method_id for method_id in methods if method_id in said]:
        return named[-1]
    fitting = [m for m, about in methods.items() if _names(said, about)]
    if not fitting and original and re.search(r"\b(?:original|same|paid with|used)\b", said):
        return original
    if fitting and re.search(r"\b(?:either|any|whichever|you choose|don't (?:care|mind))\b", said):
        return fitting[0]
    cards = [m for m in methods if m.startswith("credit_card")]
    if not fitting and re.search(r"\bcard\b", said) and "gift" not in said and len(cards) == 1:
        return cards[0]
    return fitting[0] if len(fitting) == 1 else None


def _names(said: str, method: Json) -> bool:
    match method.get("source"):
        case "gift_card":
            return "gift card" in said
        case "paypal":
            return "paypal" in said
        case _:
            words = (str(method.get("brand", "")), str(method.get("last_four", "")), "credit card")
            return any(word and word in said for word in words)


def names_product(text: str, name: str) -> bool:
    """Whether a product is spoken of: by its name, or by the last word of it.

    >>> names_product("the two lamps", "Desk Lamp"), names_product("a desk", "Desk Lamp")
    (True, False)
    """
    said, whole = plain(text), plain(name)
    last = whole.split()[-1] if whole else whole
    return (
        bool(whole)
        and re.search(rf"\b{re.escape(last.removesuffix('s'))}(?:s|es)?\b", said) is not None
    )


def options_named(text: str, options: Iterable[str]) -> list[str]:
    """Which of these option values the text names."""
    said = _bare(text)
    return [option for option in options if _bare(option) in said]


def _bare(text: str) -> str:
    """Words without punctuation, but for the point in a number, with a space at either end."""
    words = re.sub(r"[^a-z0-9. ]|\.(?!\d)", " ", plain(text)).split()
    return f" {' '.join(words)} "


def best_variant(product: Json, item: Json, text: str) -> Json | None:
    """The available variant that the customer's words fit best; None if they fit no variant.

    Args:
        product: Product details.
        item: The item to be replaced, whose options stay where the text names no others.
        text: The customer's words.
    """
    variants = [
        v
        for v in product["variants"].values()
        if v["available"] and v["item_id"] != item["item_id"]
    ]
    if wanted := [v for v in variants if v["item_id"] in text]:
        return dict(wanted[0])
    named = set(options_named(text, {o for v in variants for o in v["options"].values()}))
    named -= {value for value in item["options"].values() if f"not {plain(value)}" in plain(text)}
    best = sorted(variants, key=lambda v: (-_fit(v, item, named), v["price"]))
    if re.search(r"\bcheapest\b", plain(text)):
        matching = [v for v in variants if named <= set(v["options"].values())] or variants
        best = sorted(matching, key=lambda v: v["price"])
    elif not named:
        return None
    return dict(best[0]) if best else None


def _fit(variant: Json, item: Json, named: set[str]) -> int:
    """Options named count most, then those that stay as they were."""
    options: dict[str, Any] = variant["options"]
    kept = [name for name, value in options.items() if item["options"].get(name) == value]
    return 10 * len(named & set(options.values())) + len(kept)
