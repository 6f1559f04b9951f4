"""The shop's database: who buys, what is sold, what was ordered, and how it was paid.

Money is whole US cents. Only texts and whole numbers are stored, so rows can be read as SQLite
hands them out. The columns marked ``compare: False`` say where a row is shown, not what it is:
grading leaves them out and compares the rows of such a table as a collection.
"""

from __future__ import annotations

from typing import Literal, get_args

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
)
from sqlalchemy.schema import SchemaItem

METADATA = MetaData()

ORDER_STATUSES = (
    "pending",
    "pending (item modified)",
    "processed",
    "delivered",
    "cancelled",
    "return requested",
    "exchange requested",
)
CancelReason = Literal["no longer needed", "ordered by mistake"]
CANCEL_REASONS: tuple[str, ...] = get_args(CancelReason)


def _table(name: str, *parts: SchemaItem) -> Table:
    """A table kept in the order of its primary key, which then needs no index of its own."""
    return Table(name, METADATA, *parts, sqlite_with_rowid=False)


def _one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """The column holds one of these values (or nothing, where nothing is allowed)."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})")


def _text(name: str, *parts: SchemaItem) -> Column[str]:
    return Column(name, Text, *parts, nullable=False)


def _whole(name: str, *parts: SchemaItem) -> Column[int]:
    return Column(name, Integer, *parts, nullable=False)


# A customer and an order each have one address, whose key is the key of its owner.
ADDRESSES = _table(
    "addresses",
    Column("address_id", Text, primary_key=True),
    _text("address1"),
    _text("address2"),
    _text("city"),
    _text("country"),
    _text("state"),
    _text("zip"),
    Index("addresses_by_zip", "zip"),
)

CUSTOMERS = _table(
    "customers",
    Column("user_id", Text, ForeignKey("addresses.address_id"), primary_key=True),
    _text("first_name"),
    _text("last_name"),
    _text("email"),
)
Index("customers_by_email", func.lower(CUSTOMERS.c.email), unique=True)

PAYMENT_METHODS = _table(
    "payment_methods",
    Column("payment_method_id", Text, primary_key=True),
    _text("user_id", ForeignKey("customers.user_id")),
    _text("source"),
    Column("brand", Text),
    Column("last_four", Text),
    Column("balance_cents", Integer),
    _one_of("source", ("credit_card", "gift_card", "paypal")),
    CheckConstraint("(source = 'credit_card') = (brand IS NOT NULL)"),
    CheckConstraint("(source = 'credit_card') = (last_four IS NOT NULL)"),
    CheckConstraint("(source = 'gift_card') = (balance_cents IS NOT NULL)"),
    CheckConstraint("balance_cents >= 0"),
    Index("payment_methods_by_user", "user_id"),
)

PRODUCTS = _table(
    "products",
    Column("product_id", Text, primary_key=True),
    _text("name"),
    Index("products_by_name", "name", unique=True),
)

VARIANTS = _table(
    "variants",
    Column("item_id", Text, primary_key=True),
    _text("product_id", ForeignKey("products.product_id")),
    _whole("price_cents"),
    _whole("available"),
    CheckConstraint("price_cents >= 0"),
    CheckConstraint("available IN (0, 1)"),
    # Unique tells SQLite that the options of a product's variants come in order without sorting.
    Index("variants_by_product", "product_id", "item_id", unique=True),
)

VARIANT_OPTIONS = _table(
    "variant_options",
    Column("item_id", Text, ForeignKey("variants.item_id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    _text("name"),
    _text("value"),
)

ORDERS = _table(
    "orders",
    Column("order_id", Text, ForeignKey("addresses.address_id"), primary_key=True),
    _text("user_id", ForeignKey("customers.user_id")),
    _text("status"),
    Column("cancel_reason", Text),
    _one_of("status", ORDER_STATUSES),
    _one_of("cancel_reason", CANCEL_REASONS),
    CheckConstraint("cancel_reason IS NULL OR status = 'cancelled'"),
    Index("orders_by_user", "user_id"),
)

# The price is the one agreed when the item was ordered, whatever the variant costs today.
ORDER_ITEMS = _table(
    "order_items",
    Column("order_id", Text, ForeignKey("orders.order_id"), primary_key=True),
    Column("line", Integer, primary_key=True, info={"compare": False}),
    _text("item_id", ForeignKey("variants.item_id")),
    _whole("price_cents"),
    CheckConstraint("price_cents >= 0"),
)

FULFILMENTS = _table(
    "fulfilments",
    Column("order_id", Text, ForeignKey("orders.order_id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    _text("tracking_id"),
)

FULFILMENT_ITEMS = _table(
    "fulfilment_items",
    Column("order_id", Text, primary_key=True),
    Column("line", Integer, primary_key=True),
    _whole("number"),
    ForeignKeyConstraint(["order_id", "line"], ["order_items.order_id", "order_items.line"]),
    ForeignKeyConstraint(["order_id", "number"], ["fulfilments.order_id", "fulfilments.number"]),
)

PAYMENTS = _table(
    "payments",
    Column("order_id", Text, ForeignKey("orders.order_id"), primary_key=True),
    Column("number", Integer, primary_key=True, info={"compare": False}),
    _text("transaction_type"),
    _whole("amount_cents"),
    _text("payment_method_id", ForeignKey("payment_methods.payment_method_id")),
    _one_of("transaction_type", ("payment", "refund")),
    CheckConstraint("amount_cents >= 0"),
)

RETURNS = _table(
    "returns",
    Column("order_id", Text, ForeignKey("orders.order_id"), primary_key=True),
    _text("payment_method_id", ForeignKey("payment_methods.payment_method_id")),
)

RETURN_ITEMS = _table(
    "return_items",
    Column("order_id", Text, ForeignKey("returns.order_id"), primary_key=True),
    Column("item_id", Text, ForeignKey("variants.item_id"), primary_key=True),
    _whole("quantity"),
    CheckConstraint("quantity > 0"),
)

# A negative difference is owed to the customer.
EXCHANGES = _table(
    "exchanges",
    Column("order_id", Text, ForeignKey("orders.order_id"), primary_key=True),
    _text("payment_method_id", ForeignKey("payment_methods.payment_method_id")),
    _whole("price_difference_cents"),
)

# One row per pair of old and new item, so that it stays known what is swapped for what.
EXCHANGE_ITEMS = _table(
    "exchange_items",
    Column("order_id", Text, ForeignKey("exchanges.order_id"), primary_key=True),
    Column("item_id", Text, ForeignKey("variants.item_id"), primary_key=True),
    Column("new_item_id", Text, ForeignKey("variants.item_id"), primary_key=True),
    _whole("quantity"),
    CheckConstraint("quantity > 0"),
)
