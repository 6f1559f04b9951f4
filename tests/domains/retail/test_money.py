"""Laws of the shop's money, for whatever an agent may do."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.domains.database import Database
from passhat.domains.retail import DOMAIN
from passhat.domains.retail.tables import METADATA
from passhat.domains.world import World

ORDERS = st.sampled_from([f"#W000000{n}" for n in range(1, 8)])
ITEMS = st.lists(
    st.sampled_from(["red", "blue", "green", "gold", "small", "large", "pink"]),
    min_size=1,
    max_size=3,
)
METHODS = st.sampled_from(
    ["credit_card_1111111", "gift_card_1111111", "paypal_1111111", "gift_card_2222222"]
)
ARGUMENTS = {
    "order_id": ORDERS,
    "item_ids": ITEMS,
    "new_item_ids": ITEMS,
    "payment_method_id": METHODS,
    "reason": st.sampled_from(["no longer needed", "ordered by mistake"]),
    "user_id": st.sampled_from(["ana_silva_1111", "ana_silva_2222"]),
}


@st.composite
def _writes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Any call of a writing tool, sensible or not."""
    name = draw(st.sampled_from([name for name, tool in DOMAIN.tools.items() if tool.writes]))
    fields = DOMAIN.tools[name].arguments.model_fields
    return name, {field: draw(ARGUMENTS.get(field, st.just("Elsewhere"))) for field in fields}


def _all_rows(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [tuple(row) for row in db.connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]
        for name in METADATA.tables
    }


def _paid(db: Database, column: str) -> dict[str, int]:
    """Net cents paid, by order or by payment method."""
    return dict(
        db.connection.execute(f"""
            SELECT {column}, sum(iif(transaction_type = 'payment', 1, -1) * amount_cents)
            FROM payments GROUP BY 1
        """).fetchall()
    )


def _due(db: Database) -> Iterator[tuple[str, int]]:
    """What each order costs: its items, or nothing once it is cancelled."""
    for order_id, status, cents in db.connection.execute("""
        SELECT order_id, status, sum(price_cents) FROM orders JOIN order_items USING (order_id)
        GROUP BY 1
    """):
        yield order_id, 0 if status == "cancelled" else cents


def _gift_cards(db: Database) -> dict[str, int]:
    return dict(
        db.connection.execute("""
            SELECT payment_method_id, balance_cents FROM payment_methods WHERE source = 'gift_card'
        """).fetchall()
    )


@settings(max_examples=150, deadline=None)
@given(calls=st.lists(_writes(), max_size=8))
def test_no_sequence_of_writes_makes_or_loses_money(
    world: World, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Orders are paid to the cent, gift cards pay what they lose and never run below zero.

    A refused call changes no row.
    """
    with world.fork() as db:
        paid, cards = _paid(db, "payment_method_id"), _gift_cards(db)
        for name, arguments in calls:
            before = _all_rows(db)
            outcome = DOMAIN.call(db, name, arguments)
            assert (outcome.error is None) or _all_rows(db) == before
            assert _paid(db, "order_id") == dict(_due(db))
            spent = _paid(db, "payment_method_id")
            for card, cents in _gift_cards(db).items():
                assert cents >= 0
                assert cents + spent.get(card, 0) == cards[card] + paid.get(card, 0)


@given(
    name=st.sampled_from([name for name, tool in DOMAIN.tools.items() if not tool.writes]),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_reads_leave_every_row_as_it_was(world: World, name: str, data: st.DataObject) -> None:
    """Any read with any ids, found or not."""
    ids = st.sampled_from(["ana_silva_1111", "#W0000001", "mug", "red", "", "'; DROP TABLE orders"])
    with world.fork() as db:
        before = _all_rows(db)
        fields = DOMAIN.tools[name].arguments.model_fields
        DOMAIN.call(db, name, {field: data.draw(ids) for field in fields})
        assert _all_rows(db) == before
        assert db.position == 0
