"""The retail tools of tau2-bench where they differ from tau-bench's, defects included.

Source of their behaviour: tau2-bench 1.0.1.
"""

from __future__ import annotations

from ..compat import Refused, calculate, tau2_tools, transfer_to_human_agents
from ..database import Database
from ..documents import Document
from . import compat as tau_bench
from .compat import ORDERS, PRODUCTS, TABLES, USERS, order_status, text_of


def get_item_details(db: Database, item_id: str) -> Document:
    """Look one variant of a product up.

    Args:
        item_id: Of the variant; a product has a product id.
    """
    for _, product in PRODUCTS.all(db):
        if item_id in product["variants"]:
            return dict(product["variants"][item_id])
    raise Refused("item not found")


def _check_pending(db: Database, order_id: str) -> None:
    """Refuse an order that is not pending; one whose items were changed still is."""
    if "pending" not in order_status(db, order_id):
        raise Refused("non-pending order cannot be modified")


def _address(
    address1: str, address2: str, city: str, state: str, country: str, zip_code: str
) -> Document:
    """An address with its fields in tau2's order."""
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "country": country,
        "state": state,
        "zip": zip_code,
    }


def modify_pending_order_address(
    db: Database,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Document:
    """Change where a pending order goes.

    Args:
        order_id: With its "#".
        address1: Street and number.
        address2: Flat, suite; may be empty.
        city: Name.
        state: Two letters.
        country: Such as "USA".
        zip: Five digits.
    """
    _check_pending(db, order_id)
    with ORDERS.editing(db, order_id) as order:
        order["address"] = _address(address1, address2, city, state, country, zip)
    return order


def modify_user_address(
    db: Database,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> Document:
    """Change a customer's own address.

    Args:
        user_id: Whose.
        address1: Street and number.
        address2: Flat, suite; may be empty.
        city: Name.
        state: Two letters.
        country: Such as "USA".
        zip: Five digits.
    """
    text_of(USERS, db, user_id, "user")
    with USERS.editing(db, user_id) as user:
        user["address"] = _address(address1, address2, city, state, country, zip)
    return user


def modify_pending_order_payment(db: Database, order_id: str, payment_method_id: str) -> Document:
    """Change how a pending order is paid.

    Args:
        order_id: With its "#".
        payment_method_id: The new one, of the same customer.
    """
    _check_pending(db, order_id)
    return tau_bench.change_payment(db, order_id, payment_method_id)


def modify_pending_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Document:
    """Change items of a pending order to other variants of the same products; only once.

    Args:
        order_id: With its "#".
        item_ids: What to change, an id as often as it is to be changed.
        new_item_ids: To what, in the same order.
        payment_method_id: Pays the difference, or gets it.
    """
    return tau_bench.change_items(
        db, order_id, item_ids, new_item_ids, payment_method_id, tau2=True
    )


def exchange_delivered_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> Document:
    """Ask for items of a delivered order to be exchanged for other variants; no money moves.

    Args:
        order_id: With its "#".
        item_ids: What to exchange, an id as often as it is to be exchanged.
        new_item_ids: For what, in the same order.
        payment_method_id: Will pay the difference, or get it.
    """
    return tau_bench.exchange(
        db, order_id, item_ids, new_item_ids, payment_method_id, full_stop="."
    )


def return_delivered_order_items(
    db: Database, order_id: str, item_ids: list[str], payment_method_id: str
) -> Document:
    """Ask for items of a delivered order to be taken back.

    Args:
        order_id: With its "#".
        item_ids: What to return, an id as often as it is to be returned.
        payment_method_id: Gets the money; the one that paid, or a gift card.
    """
    wrong = "payment method should be the original payment method"
    return tau_bench.take_back(db, order_id, item_ids, payment_method_id, wrong)


TOOLS = tau2_tools(
    TABLES,
    "RetailTools",
    reading=(
        get_item_details,
        calculate,
        tau_bench.find_user_id_by_email,
        tau_bench.find_user_id_by_name_zip,
        tau_bench.get_order_details,
        tau_bench.get_product_details,
        tau_bench.get_user_details,
        tau_bench.list_all_product_types,
        transfer_to_human_agents,
    ),
    writing=(
        exchange_delivered_order_items,
        modify_pending_order_address,
        modify_pending_order_items,
        modify_pending_order_payment,
        modify_user_address,
        return_delivered_order_items,
        tau_bench.cancel_pending_order,
    ),
)
