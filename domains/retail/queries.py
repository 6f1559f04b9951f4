"""Every statement the tools run. Each is compiled once; what varies is bound by name."""

from __future__ import annotations

from sqlalchemy import bindparam, case, func, insert, select, update

from .tables import (
    ADDRESSES,
    CUSTOMERS,
    EXCHANGE_ITEMS,
    EXCHANGES,
    FULFILMENT_ITEMS,
    FULFILMENTS,
    ORDER_ITEMS,
    ORDERS,
    PAYMENT_METHODS,
    PAYMENTS,
    PRODUCTS,
    RETURN_ITEMS,
    RETURNS,
    VARIANT_OPTIONS,
    VARIANTS,
)

_ADDRESS = [column for column in ADDRESSES.columns if column.name != "address_id"]

# --- customers ------------------------------------------------------------------------------------

CUSTOMER_BY_EMAIL = select(CUSTOMERS.c.user_id).where(
    func.lower(CUSTOMERS.c.email) == bindparam("email")
)

CUSTOMERS_BY_ZIP = (
    select(CUSTOMERS)
    .join(ADDRESSES, CUSTOMERS.c.user_id == ADDRESSES.c.address_id)
    .where(ADDRESSES.c.zip == bindparam("zip"))
    .order_by(CUSTOMERS.c.user_id)
)

CUSTOMER = (
    select(CUSTOMERS, *_ADDRESS)
    .join(ADDRESSES, CUSTOMERS.c.user_id == ADDRESSES.c.address_id)
    .where(CUSTOMERS.c.user_id == bindparam("user_id"))
)

WALLET = (
    select(PAYMENT_METHODS)
    .where(PAYMENT_METHODS.c.user_id == bindparam("user_id"))
    .order_by(PAYMENT_METHODS.c.payment_method_id)
)

PAYMENT_METHOD = select(PAYMENT_METHODS).where(
    PAYMENT_METHODS.c.payment_method_id == bindparam("payment_method_id"),
    PAYMENT_METHODS.c.user_id == bindparam("user_id"),
)

ORDERS_OF = (
    select(ORDERS.c.order_id)
    .where(ORDERS.c.user_id == bindparam("user_id"))
    .order_by(ORDERS.c.order_id)
)

SET_ADDRESS = (
    update(ADDRESSES)
    .where(ADDRESSES.c.address_id == bindparam("owner"))
    .values({column: bindparam(column.name) for column in _ADDRESS})
)

CHARGE_GIFT_CARD = (
    update(PAYMENT_METHODS)
    .where(
        PAYMENT_METHODS.c.payment_method_id == bindparam("card"),
        PAYMENT_METHODS.c.source == "gift_card",
    )
    .values(balance_cents=PAYMENT_METHODS.c.balance_cents - bindparam("cents"))
)

# --- products -------------------------------------------------------------------------------------

PRODUCT_NAMES = select(PRODUCTS).order_by(PRODUCTS.c.name)

PRODUCT = select(PRODUCTS).where(PRODUCTS.c.product_id == bindparam("product_id"))

_WITH_OPTIONS = select(
    VARIANTS.c.item_id,
    VARIANTS.c.price_cents,
    VARIANTS.c.available,
    VARIANT_OPTIONS.c.name.label("option"),
    VARIANT_OPTIONS.c.value,
).outerjoin(VARIANT_OPTIONS, VARIANTS.c.item_id == VARIANT_OPTIONS.c.item_id)

VARIANTS_OF = _WITH_OPTIONS.where(VARIANTS.c.product_id == bindparam("product_id")).order_by(
    VARIANTS.c.item_id, VARIANT_OPTIONS.c.position
)

VARIANT = _WITH_OPTIONS.where(VARIANTS.c.item_id == bindparam("item_id")).order_by(
    VARIANT_OPTIONS.c.position
)

_ASKED = func.json_each(bindparam("item_ids")).table_valued("value")

VARIANTS_ASKED = select(VARIANTS).join(_ASKED, VARIANTS.c.item_id == _ASKED.c.value)

# --- orders ---------------------------------------------------------------------------------------

ORDER = (
    select(ORDERS, *_ADDRESS)
    .join(ADDRESSES, ORDERS.c.order_id == ADDRESSES.c.address_id)
    .where(ORDERS.c.order_id == bindparam("order_id"))
)

LINES = (
    select(ORDER_ITEMS, VARIANTS.c.product_id)
    .join(VARIANTS, ORDER_ITEMS.c.item_id == VARIANTS.c.item_id)
    .where(ORDER_ITEMS.c.order_id == bindparam("order_id"))
    .order_by(ORDER_ITEMS.c.line)
)

LINES_WITH_OPTIONS = (
    select(
        ORDER_ITEMS.c.line,
        PRODUCTS.c.name,
        PRODUCTS.c.product_id,
        ORDER_ITEMS.c.item_id,
        ORDER_ITEMS.c.price_cents,
        VARIANT_OPTIONS.c.name.label("option"),
        VARIANT_OPTIONS.c.value,
    )
    .join(VARIANTS, ORDER_ITEMS.c.item_id == VARIANTS.c.item_id)
    .join(PRODUCTS, VARIANTS.c.product_id == PRODUCTS.c.product_id)
    .outerjoin(VARIANT_OPTIONS, VARIANTS.c.item_id == VARIANT_OPTIONS.c.item_id)
    .where(ORDER_ITEMS.c.order_id == bindparam("order_id"))
    .order_by(ORDER_ITEMS.c.line, VARIANT_OPTIONS.c.position)
)

PARCELS = (
    select(FULFILMENTS.c.number, FULFILMENTS.c.tracking_id, ORDER_ITEMS.c.item_id)
    .join(
        FULFILMENT_ITEMS,
        (FULFILMENT_ITEMS.c.order_id == FULFILMENTS.c.order_id)
        & (FULFILMENT_ITEMS.c.number == FULFILMENTS.c.number),
    )
    .join(
        ORDER_ITEMS,
        (ORDER_ITEMS.c.order_id == FULFILMENT_ITEMS.c.order_id)
        & (ORDER_ITEMS.c.line == FULFILMENT_ITEMS.c.line),
    )
    .where(FULFILMENTS.c.order_id == bindparam("order_id"))
    .order_by(FULFILMENTS.c.number, FULFILMENT_ITEMS.c.line)
)

PAYMENTS_OF = (
    select(PAYMENTS).where(PAYMENTS.c.order_id == bindparam("order_id")).order_by(PAYMENTS.c.number)
)

_PAID = func.sum(
    case((PAYMENTS.c.transaction_type == "payment", 1), else_=-1) * PAYMENTS.c.amount_cents
)

PAID_BY_METHOD = (
    select(PAYMENTS.c.payment_method_id, _PAID.label("cents"))
    .where(PAYMENTS.c.order_id == bindparam("order_id"))
    .group_by(PAYMENTS.c.payment_method_id)
    .order_by(func.min(PAYMENTS.c.number))
)

NEXT_PAYMENT = select((func.coalesce(func.max(PAYMENTS.c.number), -1) + 1).label("number")).where(
    PAYMENTS.c.order_id == bindparam("order_id")
)

RETURN = select(RETURNS).where(RETURNS.c.order_id == bindparam("order_id"))

RETURN_ITEMS_OF = (
    select(RETURN_ITEMS)
    .where(RETURN_ITEMS.c.order_id == bindparam("order_id"))
    .order_by(RETURN_ITEMS.c.item_id)
)

EXCHANGE = select(EXCHANGES).where(EXCHANGES.c.order_id == bindparam("order_id"))

EXCHANGE_ITEMS_OF = (
    select(EXCHANGE_ITEMS)
    .where(EXCHANGE_ITEMS.c.order_id == bindparam("order_id"))
    .order_by(EXCHANGE_ITEMS.c.item_id, EXCHANGE_ITEMS.c.new_item_id)
)

SET_STATUS = (
    update(ORDERS).where(ORDERS.c.order_id == bindparam("order")).values(status=bindparam("status"))
)

CANCEL = (
    update(ORDERS)
    .where(ORDERS.c.order_id == bindparam("order"))
    .values(status="cancelled", cancel_reason=bindparam("reason"))
)

SET_ITEM = (
    update(ORDER_ITEMS)
    .where(ORDER_ITEMS.c.order_id == bindparam("order"), ORDER_ITEMS.c.line == bindparam("at_line"))
    .values(item_id=bindparam("item_id"), price_cents=bindparam("price_cents"))
)

ADD_PAYMENT = insert(PAYMENTS)
ADD_RETURN = insert(RETURNS)
ADD_RETURN_ITEM = insert(RETURN_ITEMS)
ADD_EXCHANGE = insert(EXCHANGES)
ADD_EXCHANGE_ITEM = insert(EXCHANGE_ITEMS)
