"""The rules of retail.md as checks, beside the rules of conduct that hold at every desk.

Rules read what was said, what was called, and the rows as they were before a call; so they judge
what the agent did, whether or not a tool stopped it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from ..language import plain
from ..transcript import MessageEvent
from .case import Call, Case, Row
from .conduct import rules_of_conduct, unread
from .consent import changes, in_cents
from .desk import Desk
from .engine import Violation, rule

FINDS = frozenset({"find_user_id_by_email", "find_user_id_by_name_zip"})
READS = frozenset({"get_user_details", "get_order_details"})
ACTIONS: Mapping[str, re.Pattern[str]] = {
    "cancel_pending_order": re.compile(r"cancel"),
    "modify_pending_order_address": re.compile(r"address|ship|deliver|send"),
    "modify_pending_order_items": re.compile(r"chang|modif|swap|switch|replac|exchang|updat|→|->"),
    "modify_pending_order_payment": re.compile(
        r"pay|card|charge|visa|amex|american express|ending in"
    ),
    "modify_user_address": re.compile(r"address"),
    "return_delivered_order_items": re.compile(r"return|refund|send(?:ing)? back"),
    "exchange_delivered_order_items": re.compile(r"exchang|swap|switch|replac|chang|→|->"),
}
"""Every tool that writes, and the words that say what it does."""

REASONS: Mapping[str, re.Pattern[str]] = {
    "no longer needed": re.compile(
        r"no longer|(?:n't|not) (?:need|want)|changed? (?:my|your) mind"
    ),
    "ordered by mistake": re.compile(r"mistake|accident|by error|in error"),
}
_ALL = re.compile(r"\b(?:all|everything|entire|whole|both|full)\b")
_OUTSIDE = re.compile(
    r"\b(?:lost|missing|stolen|late|delay\w*|damag\w*|broken|trac(?:e|k|king|ing)"
    r"|never (?:arrived|came|got)|(?:not|n't) (?:arrived?|received?|come|get)"
    r"|match\w*|cheaper|invoices?|tax|vat|delet\w+"
    r"|clos(?:e|ing)|e-?mail|my name|add|complain\w*|complaint|rude|legal|lawyer|sue|charged?)\b"
)


# --- who is served ------------------------------------------------------------------------------


def _identifications(case: Case) -> list[tuple[int, str]]:
    """Every customer who was found: the event of the call, and the user id."""
    return [
        (call.event, call.content.strip())
        for call in case.calls
        if call.name in FINDS and call.done
    ]


def _names_an_order(text: str) -> bool:
    return "#W" in text


def _owner(case: Case, order_id: str) -> str | None:
    orders = case.rows("orders", order_id=order_id)
    return orders[0]["user_id"] if orders else None


def _whose(case: Case, call: Call) -> str:
    if call.name in FINDS:
        return call.content.strip()
    if call.name in ACTIONS and call.text("order_id"):
        return _owner(case, call.text("order_id")) or ""
    return call.text("user_id") if call.name in READS or call.name in ACTIONS else ""


def _secrets(call: Call) -> Iterator[str]:
    """What only the owner of an order may hear: items, parcels, payment methods, street, name."""
    order = json.loads(call.content)
    for item in order.get("items", ()):
        yield from (item["item_id"], item["name"])
    for parcel in order.get("fulfillments", ()):
        yield from parcel["tracking_id"]
    for payment in order.get("payment_history", ()):
        yield payment["payment_method_id"]
    yield from (order["address"]["address1"], order["user_id"])


# --- what a proposal has to name ----------------------------------------------------------------


def _unnamed(case: Case, call: Call, plan: str, settled: str) -> Iterator[str]:
    """Items, payment method, address and reason that were not said.

    The payment method and the reason may also have been settled in the last answer.
    """
    method = call.text("payment_method_id")
    for item in _unnamed_items(case, call, plan):
        yield f"item {item!r}"
    if method and not _names_payment(case, call, method, settled):
        yield f"payment method {method!r}"
    for part in ("address1", "zip"):
        if call.text(part) and plain(call.text(part)) not in plan:
            yield f"{part} {call.text(part)!r}"
    if (reason := REASONS.get(call.text("reason"))) and not reason.search(settled):
        yield f"the reason {call.text('reason')!r}"


def _unnamed_items(case: Case, call: Call, plan: str) -> Iterator[str]:
    """Items that the plan does not name: old by id or product, new by id or options."""
    old_items, new_items = call.texts("item_ids"), call.texts("new_item_ids")
    lines = case.rows("order_items", order_id=call.text("order_id"))
    whole_order = not new_items and len(old_items) == len(lines) and _ALL.search(plan)
    for item in [] if whole_order else old_items:
        if item not in plan and not _names_product(case, item, plan):
            yield item
    for old, new in zip(old_items, new_items, strict=False):
        if new not in plan and not _names_options(case, old, new, plan):
            yield new


def _names_product(case: Case, item: str, plan: str) -> bool:
    variant = next(iter(case.rows("variants", item_id=item)), None)
    product = variant and next(iter(case.rows("products", product_id=variant["product_id"])), None)
    if not product:
        return False
    name = plain(product["name"])
    return any(word in plan for word in (name, name.split()[-1].removesuffix("s")))


def _names_options(case: Case, old: str, new: str, plan: str) -> bool:
    """Whether the plan says every option in which the new item differs, or the new item's price."""
    variant = next(iter(case.rows("variants", item_id=new)), None)
    if variant and variant["price_cents"] in in_cents(plan):
        return True
    before = {(row["name"], row["value"]) for row in case.rows("variant_options", item_id=old)}
    after = {(row["name"], row["value"]) for row in case.rows("variant_options", item_id=new)}
    return bool(after - before) and all(_says_value(plan, value) for _, value in after - before)


def _says_value(plan: str, value: str) -> bool:
    words = re.escape(plain(value).replace("-", " "))
    return re.search(rf"(?<!\w){words}(?!\w)", plan.replace("-", " ")) is not None


def _names_payment(case: Case, call: Call, method_id: str, text: str) -> bool:
    """Whether the text names a payment method: by id, by kind, or as the one that paid."""
    if method_id in text:
        return True
    method = next(iter(case.rows("payment_methods", payment_method_id=method_id)), None)
    if method is None:
        return False
    words = {
        "credit_card": ("card ending", "credit card", method["brand"], method["last_four"]),
        "gift_card": ("gift card",),
        "paypal": ("paypal",),
    }[method["source"]]
    paid = case.rows_before(call.event, "payments", order_id=call.text("order_id"))
    if paid and paid[0]["payment_method_id"] == method_id:
        words += ("original", "same payment", "same method", "same card", "payment method used")
    return any(word and word in text for word in words)


def _chooses(case: Case, call: Call, answer: str) -> bool:
    """Whether the answer itself names something that is then done."""
    method = call.text("payment_method_id")
    old_items, new_items = call.texts("item_ids"), call.texts("new_item_ids")
    values = (call.text("address1"), *old_items, *new_items)

    def names_options(old: str, new: str) -> bool:
        return _names_options(case, old, new, answer)

    return (
        any(value and plain(value) in answer for value in values)
        or bool(method and _names_payment(case, call, method, answer))
        or any(_names_product(case, item, answer) for item in old_items)
        or any(map(names_options, old_items, new_items))
    )


def _charged(case: Case, call: Call) -> int:
    """Cents that a cancellation, swap or return charges; negative if it refunds, 0 for the rest."""
    if call.name == "modify_pending_order_payment":
        return 0
    cents = 0
    for change in call.rows:
        row: Row = change.after or {}
        if change.table == "payments":
            cents += row["amount_cents"] * (1 if row["transaction_type"] == "payment" else -1)
        elif change.table == "exchanges":
            cents += row["price_difference_cents"]
        elif change.table == "return_items":
            line = {"order_id": row["order_id"], "item_id": row["item_id"]}
            cents -= case.rows("order_items", **line)[0]["price_cents"] * row["quantity"]
    return cents


# --- what may be changed ------------------------------------------------------------------------


def _forbidden(case: Case, call: Call) -> str | None:
    """The first condition of the policy that this change does not meet, or None."""
    order_id = call.text("order_id")
    order = case.row_before(call.event, "orders", order_id=order_id) if order_id else None
    if order is None:
        return None
    wanted = "delivered" if "delivered" in call.name else "pending"
    if order["status"] != wanted:
        return f"order {order_id!r} is {order['status']!r}, not {wanted!r}"
    if call.name == "cancel_pending_order" and call.text("reason") not in REASONS:
        return f"{call.arguments.get('reason')!r} is not an accepted reason"
    return (
        _wrong_items(case, call)
        or _wrong_swap(case, call)
        or (_wrong_payment(case, call, order) if call.text("payment_method_id") else None)
    )


def _wrong_items(case: Case, call: Call) -> str | None:
    lines = case.rows_before(call.event, "order_items", order_id=call.text("order_id"))
    extra = Counter(call.texts("item_ids")) - Counter(line["item_id"] for line in lines)
    return f"items {sorted(extra)} are not in the order" if extra else None


def _wrong_swap(case: Case, call: Call) -> str | None:
    if "new_item_ids" not in call.arguments:
        return None
    old_items, new_items = call.texts("item_ids"), call.texts("new_item_ids")
    if len(old_items) != len(new_items):
        return f"{len(old_items)} items cannot be swapped for {len(new_items)}"
    for old, new in zip(old_items, new_items, strict=True):
        variants = [next(iter(case.rows("variants", item_id=i)), None) for i in (old, new)]
        before, after = variants
        if before is None or after is None or before["product_id"] != after["product_id"]:
            return f"{new!r} is not a variant of the same product as {old!r}"
        if not after["available"]:
            return f"{new!r} is not available"
    return None


def _wrong_payment(case: Case, call: Call, order: Row) -> str | None:
    method_id = call.text("payment_method_id")
    method = case.row_before(call.event, "payment_methods", payment_method_id=method_id)
    if method is None or method["user_id"] != order["user_id"]:
        return f"{method_id!r} is not a payment method of the order's owner"
    payments = case.rows_before(call.event, "payments", order_id=order["order_id"])
    due = _due(case, call, payments)
    if method["source"] == "gift_card" and due > method["balance_cents"]:
        return f"{method_id!r} holds ${method['balance_cents'] / 100:.2f} of ${due / 100:.2f}"
    first = payments[0]["payment_method_id"] if payments else None
    if call.name == "modify_pending_order_payment" and (len(payments) != 1 or first == method_id):
        return (
            f"paid with {first!r} in {len(payments)} steps; one change to another method is allowed"
        )
    if call.name.startswith("return") and method["source"] != "gift_card" and first != method_id:
        return f"a refund goes to {first!r} or a gift card, not to {method_id!r}"
    return None


def _due(case: Case, call: Call, payments: list[Row]) -> int:
    """Cents that the payment method has to pay; negative if it receives."""
    if call.name == "modify_pending_order_payment":
        return int(payments[0]["amount_cents"]) if payments else 0
    if "new_item_ids" not in call.arguments:
        return 0
    lines = case.rows_before(call.event, "order_items", order_id=call.text("order_id"))
    prices = {line["item_id"]: line["price_cents"] for line in lines}
    new = sum(
        case.rows("variants", item_id=i)[0]["price_cents"] for i in call.texts("new_item_ids")
    )
    return int(new - sum(prices[item] for item in call.texts("item_ids")))


# --- the rules ------------------------------------------------------------------------------------

DESK = Desk(
    document="retail.md",
    noun="order",
    subject="order_id",
    shows="get_order_details",
    finds=FINDS,
    reads=READS,
    actions=ACTIONS,
    needs_a_human=_OUTSIDE,
    identifications=_identifications,
    names_a_subject=_names_an_order,
    tells_a_plan=_names_an_order,
    owner=_owner,
    whose=_whose,
    secrets=_secrets,
    unnamed=_unnamed,
    chooses=_chooses,
    charged=_charged,
    forbidden=_forbidden,
    limits="orders",
)
CONDUCT = rules_of_conduct(DESK)


@rule("retail.md#identify-the-customer", severity="breach")
def looks_people_up_by_what_they_said(case: Case) -> Iterator[Violation]:
    """E-mail, name and zip of a look-up are what the customer said before."""
    said = ""
    calls = {call.event: call for call in case.calls if call.name in FINDS}
    for event in case.transcript:
        if isinstance(event, MessageEvent) and event.by == "user":
            said += f" {plain(event.content)}"
        elif event.index in calls:
            for value in calls[event.index].arguments.values():
                if isinstance(value, str) and plain(value) not in said:
                    yield Violation(event.index, f"the customer never said {value!r}")


@rule("retail.md#look-before-you-change", severity="breach")
def reads_an_order_before_changing_it(case: Case) -> Iterator[Violation]:
    """Every order that is written was read before."""
    yield from unread(case, DESK)


@rule("retail.md#orders", severity="breach")
def changes_only_what_the_policy_allows(case: Case) -> Iterator[Violation]:
    """Every change that went through met its conditions."""
    for call in changes(case, DESK):
        if problem := _forbidden(case, call):
            yield Violation(call.event, f"{call.name}: {problem}")
