"""The shipped shop: made by its generator, in order with itself, and worth searching."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from passhat.domains.database import Database
from passhat.domains.retail import DOMAIN
from passhat.domains.retail.generate import make_world, write_world
from passhat.domains.retail.tables import METADATA, ORDER_STATUSES


@pytest.fixture
def db() -> Iterator[Database]:
    """The shipped world, open."""
    with DOMAIN.world.fork() as db:
        yield db


def _column(db: Database, sql: str) -> list[object]:
    return [row[0] for row in db.connection.execute(sql)]


def test_the_shipped_files_are_what_the_generator_makes(tmp_path: Path) -> None:
    """Whoever changes the generator or its sources ships the files it makes."""
    write_world(tmp_path)
    shipped = files("passhat") / "data" / "retail"
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json*")}
    assert made == {"world.json", *(f"world/{table}.jsonl" for table in METADATA.tables)}
    for path in made:
        text = (shipped / path).read_text(encoding="utf-8")
        assert text == (tmp_path / path).read_text(encoding="utf-8"), f"{path} is out of date"


def test_another_seed_gives_another_world() -> None:
    """Everything that is not a word in the sources comes from the seed."""
    assert make_world(1)["customers"] != make_world(2)["customers"]


def test_the_world_is_large_enough_and_small_enough(db: Database) -> None:
    """500 customers, 50 products, 600 variants, 1,000 orders, in less than a megabyte."""
    counts = {name: len(_column(db, f"SELECT 1 FROM {name}")) for name in METADATA.tables}
    assert counts["customers"] >= 500
    assert counts["products"] >= 50
    assert counts["variants"] >= 600
    assert counts["orders"] >= 1000
    assert len(DOMAIN.world.image) < 1_000_000


def test_every_reference_between_rows_holds(db: Database) -> None:
    """No row names another that is not there."""
    assert db.connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_orders_start_in_every_state_but_modified(db: Database) -> None:
    """Only an agent leaves an order "pending (item modified)"."""
    found = Counter(_column(db, "SELECT status FROM orders"))
    assert set(found) == set(ORDER_STATUSES) - {"pending (item modified)"}
    assert min(found.values()) >= 10


def test_payments_add_up_to_the_items(db: Database) -> None:
    """What is paid and not refunded is what the items cost, or nothing if cancelled."""
    wrong = db.connection.execute("""
        SELECT order_id FROM orders
        JOIN (SELECT order_id, sum(price_cents) AS cost FROM order_items GROUP BY 1)
            USING (order_id)
        JOIN (SELECT order_id, sum(iif(transaction_type = 'payment', 1, -1) * amount_cents) AS paid
              FROM payments GROUP BY 1) USING (order_id)
        WHERE paid != iif(status = 'cancelled', 0, cost)
    """)
    assert wrong.fetchall() == []
    assert set(_column(db, "SELECT order_id FROM orders")) == set(
        _column(db, "SELECT order_id FROM payments")
    )


def test_customers_pay_with_their_own_payment_methods(db: Database) -> None:
    """Every payment, return and exchange names a method of the customer who ordered."""
    for table in ("payments", "returns", "exchanges"):
        strangers = db.connection.execute(f"""
            SELECT 1 FROM {table} JOIN orders o USING (order_id)
            JOIN payment_methods m USING (payment_method_id) WHERE m.user_id != o.user_id
        """)
        assert strangers.fetchall() == []


def test_what_was_sent_is_in_a_parcel_and_nothing_else_is(db: Database) -> None:
    """Every item of a processed or delivered order has a parcel; other orders have none."""
    sent = set(_column(db, "SELECT order_id || line FROM fulfilment_items"))
    due = "SELECT i.order_id || line FROM order_items i JOIN orders USING (order_id) WHERE status"
    assert sent == set(_column(db, f"{due} NOT IN ('pending', 'cancelled')"))


def test_requests_are_those_of_orders_with_a_request(db: Database) -> None:
    """Returned and exchanged items are in the order, new items are of the same product."""
    assert set(_column(db, "SELECT order_id FROM returns")) == set(
        _column(db, "SELECT order_id FROM orders WHERE status = 'return requested'")
    )
    assert set(_column(db, "SELECT order_id FROM exchanges")) == set(
        _column(db, "SELECT order_id FROM orders WHERE status = 'exchange requested'")
    )
    ordered = set(_column(db, "SELECT order_id || item_id FROM order_items"))
    for table in ("return_items", "exchange_items"):
        assert set(_column(db, f"SELECT order_id || item_id FROM {table}")) <= ordered
    pairs = db.connection.execute("""
        SELECT old.product_id = new.product_id FROM exchange_items x
        JOIN variants old USING (item_id) JOIN variants new ON new.item_id = x.new_item_id
    """)
    assert {row[0] for row in pairs} == {1}


def test_a_third_of_the_variants_are_sold_out_and_every_product_has_two(db: Database) -> None:
    """There is something to swap for, and something that cannot be had."""
    available = _column(db, "SELECT available FROM variants")
    assert 0.25 < available.count(0) / len(available) < 0.45
    assert min(_column(db, "SELECT sum(available) FROM variants GROUP BY product_id")) >= 2


def test_variants_of_a_product_differ_in_options_and_price(db: Database) -> None:
    """The cheapest available variant is one, and options name one variant."""
    prices = "SELECT 1 FROM variants GROUP BY product_id, price_cents HAVING count(*) > 1"
    assert _column(db, prices) == []
    for product in _column(db, "SELECT product_id FROM products"):
        shown = json.loads(DOMAIN.call(db, "get_product_details", {"product_id": product}).content)[
            "variants"
        ]
        options = [tuple(variant["options"].items()) for variant in shown.values()]
        assert len(set(options)) == len(options)


def test_names_alone_do_not_identify_but_name_and_zip_do(db: Database) -> None:
    """Namesakes and neighbours exist; nobody shares both."""
    people = "SELECT first_name || ' ' || last_name FROM customers"
    with_zip = f"{people.replace(' FROM', ' || zip FROM')} JOIN addresses ON address_id = user_id"
    zips = "SELECT zip FROM customers JOIN addresses ON address_id = user_id"
    assert max(Counter(_column(db, people)).values()) > 1
    assert max(Counter(_column(db, zips)).values()) > 2
    assert max(Counter(_column(db, with_zip)).values()) == 1


def test_ids_look_as_agents_expect(db: Database) -> None:
    """The shapes that policy, tools and simulated customers rely on."""
    for table, column, shape in (
        ("customers", "user_id", r"[a-z]+_[a-z]+_\d{4}"),
        ("customers", "email", r"[a-z0-9.]+@example\.(com|org|net)"),
        ("orders", "order_id", r"#W\d{7}"),
        ("products", "product_id", r"\d{10}"),
        ("variants", "item_id", r"\d{10}"),
        ("payment_methods", "payment_method_id", r"(credit_card|gift_card|paypal)_\d{7}"),
        ("fulfilments", "tracking_id", r"\d{12}"),
        ("addresses", "zip", r"\d{5}"),
    ):
        for value in _column(db, f"SELECT {column} FROM {table}"):
            assert re.fullmatch(shape, str(value)), (table, value)


def test_customers_have_one_to_four_payment_methods_and_up_to_five_orders(db: Database) -> None:
    """Some cards are empty, some people ordered nothing yet, some ordered an item twice."""
    wallets = _column(db, "SELECT count(*) FROM payment_methods GROUP BY user_id")
    assert set(wallets) == {1, 2, 3, 4}
    orders = (
        "SELECT count(order_id) FROM customers LEFT JOIN orders USING (user_id) GROUP BY user_id"
    )
    assert set(_column(db, orders)) == {0, 1, 2, 3, 4, 5}
    balances = _column(db, "SELECT balance_cents FROM payment_methods WHERE source = 'gift_card'")
    assert 0 in balances
    assert len(set(balances)) > 50
    twice = "SELECT 1 FROM order_items GROUP BY order_id, item_id HAVING count(*) > 1"
    assert len(_column(db, twice)) > 20


def test_every_customer_has_a_profile_that_identifies_them(db: Database) -> None:
    """Name and zip, or the e-mail, as the customer tells them, lead to the user id."""
    for user_id in _column(db, "SELECT user_id FROM customers"):
        told = DOMAIN.profile(db, str(user_id))
        by_name = {
            "first_name": told["first name"].upper(),
            "last_name": told["last name"].upper(),
            "zip": told["zip"],
        }
        assert DOMAIN.call(db, "find_user_id_by_name_zip", by_name).content == user_id
        by_email = {"email": told["email"].upper()}
        assert DOMAIN.call(db, "find_user_id_by_email", by_email).content == user_id
