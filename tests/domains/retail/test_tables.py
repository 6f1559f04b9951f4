"""What the shop's database itself makes sure of, whoever writes."""

import sqlite3

import pytest
from sqlalchemy import Integer, Text

from passhat.domains.database import Database
from passhat.domains.retail import tools
from passhat.domains.retail.tables import METADATA
from passhat.grading.outcome import differences


def test_columns_hold_texts_and_whole_numbers_only() -> None:
    """Rows are read as SQLite hands them out: a type that converts would not be heard."""
    types = {type(column.type) for table in METADATA.tables.values() for column in table.columns}
    assert types == {Integer, Text}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE payment_methods SET balance_cents = -1 WHERE source = 'gift_card'",
        "UPDATE payment_methods SET balance_cents = 100 WHERE source = 'paypal'",
        "UPDATE payment_methods SET last_four = NULL WHERE source = 'credit_card'",
        "UPDATE payment_methods SET source = 'cheque'",
        "UPDATE orders SET status = 'lost'",
        "UPDATE orders SET cancel_reason = 'no longer needed' WHERE status = 'delivered'",
        "UPDATE orders SET status = 'cancelled', cancel_reason = 'too expensive'",
        "UPDATE orders SET user_id = 'nobody_at_0000'",
        "UPDATE order_items SET item_id = 'pink'",
        "UPDATE payments SET amount_cents = -1",
        "UPDATE payments SET transaction_type = 'gift'",
        "UPDATE variants SET available = 2",
        "UPDATE customers SET email = 'ANA.MARIA@example.org' WHERE user_id = 'ana_silva_1111'",
        "DELETE FROM addresses",
        "INSERT INTO returns VALUES ('#W0000009', 'paypal_1111111')",
    ],
)
def test_the_database_refuses_what_cannot_be(shop: Database, statement: str) -> None:
    """A task's setup or a new tool cannot leave such rows."""
    with pytest.raises(sqlite3.IntegrityError):
        shop.connection.execute(statement)


def test_which_of_two_equal_lines_is_swapped_makes_no_difference(shop: Database) -> None:
    """The lines end in another order, and are still the same order."""
    with shop.fork() as other:
        one = tools.modify_pending_order_items(
            shop, "#W0000001", ["red", "red"], ["blue", "gold"], "paypal_1111111"
        )
        turned = tools.modify_pending_order_items(
            other, "#W0000001", ["red", "red"], ["gold", "blue"], "paypal_1111111"
        )
        assert one != turned
        assert differences(METADATA, shop.changes(), other.changes()) == []


def test_a_different_swap_makes_a_difference(shop: Database) -> None:
    """The rows say which item is wrong, and the payment that goes with it."""
    with shop.fork() as other:
        arguments = ("#W0000001", ["red"], ["blue"], "paypal_1111111")
        tools.modify_pending_order_items(shop, *arguments)
        tools.modify_pending_order_items(other, "#W0000001", ["red"], ["gold"], "paypal_1111111")
        different = differences(METADATA, shop.changes(), other.changes())
        assert {difference.table for difference in different} == {"order_items", "payments"}
