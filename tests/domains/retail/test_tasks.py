"""The shop's tasks: fair to an honest agent, and passed by nobody who does nothing."""

import re
from pathlib import Path

import pytest
from sqlalchemy import func, select

from passhat.domains.domain import read_tasks
from passhat.domains.retail.tables import (
    CUSTOMERS,
    ORDERS,
    PAYMENT_METHODS,
    PRODUCTS,
    VARIANTS,
)
from passhat.grading.outcome import start_rows
from passhat.language import says
from passhat.task import ReferenceAction, Task

from ..task_checks import TaskChecks, TaskSet

SHOP = TaskSet("retail")
RETAIL = SHOP.domain
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "tasks.md"
ELSEWHERE = {
    "address1": "1 Nowhere Street", "address2": "", "city": "Boise", "state": "ID",
    "country": "USA", "zip": "83701",
}  # fmt: skip


class TestShopTasks(TaskChecks):
    """What holds for the tasks of every domain."""

    shelf = SHOP
    least_tasks = 64
    least_customers = 50

    def unasked(self, task: Task) -> ReferenceAction:
        """A new default address."""
        arguments = ELSEWHERE | {"user_id": task.user.customer}
        return ReferenceAction(name="modify_user_address", arguments=arguments)


@pytest.mark.parametrize(
    ("task_id", "changed"),
    [
        ("either-piston-pen", {"new_item_ids": ["3590059215"]}),  # amber, but a medium nib
        ("either-piston-pen", {"payment_method_id": "paypal_9678422"}),
        ("larger-rain-coat-in-either-color", {"new_item_ids": ["4749647444"]}),  # navy, but short
        ("larger-rain-coat-in-either-color", {"payment_method_id": "credit_card_7404113"}),
        ("right-handed-mouse-on-either-gift-card", {"new_item_ids": ["4593311573"]}),  # left-handed
    ],
)  # fmt: skip
def test_a_third_end_fails(task_id: str, changed: dict[str, object]) -> None:
    """What fits the request only nearly is not one of the two accepted outcomes."""
    assert not SHOP.accepts_changed(task_id, **changed)


def test_the_count_is_right() -> None:
    """The pianos in stock, and the cheapest of those with 88 keys, counted in the rows."""
    piano = select(PRODUCTS.c.product_id).where(PRODUCTS.c.name == "Digital Piano")
    in_stock = select(VARIANTS).where(VARIANTS.c.product_id == piano.scalar_subquery())
    with RETAIL.world.connect() as rows:
        stock = rows.execute(in_stock.where(VARIANTS.c.available == 1)).all()
    task = RETAIL.task("how-many-pianos-can-i-choose-from")
    assert says(str(len(stock)), task.expect.tell[0])
    assert says(SHOP.tool_results(task), task.expect.tell[1])


def test_every_id_exists() -> None:
    """Nothing in a script points to rows that the world does not have."""
    known = SHOP.known(
        CUSTOMERS.c.user_id,
        ORDERS.c.order_id,
        VARIANTS.c.item_id,
        PAYMENT_METHODS.c.payment_method_id,
    )
    for task in SHOP.tasks:
        assert SHOP.named_ids(task) <= known, task.id


def test_customers_speak_of_what_is_theirs() -> None:
    """Orders and payment methods are the customer's own, unless that is what the task is about."""
    for task in SHOP.tasks:
        with start_rows(RETAIL, task) as db:
            own = {row["order_id"] for row in db.find("orders", {"user_id": task.user.customer})}
            methods = db.find("payment_methods", {"user_id": task.user.customer})
            own |= {row["payment_method_id"] for row in methods}
        kinds = ("#W", "credit_card_", "gift_card_", "paypal_")
        named = {one for one in SHOP.named_ids(task) if one.startswith(kinds)}
        assert (named <= own) == ("somebody-else" not in task.tags), task.id


def test_customers_can_be_identified() -> None:
    """By their e-mail address, or by name and zip code when they do not have the one on file."""
    for task in SHOP.tasks:
        with start_rows(RETAIL, task) as db:
            facts = RETAIL.profile(db, task.user.customer)
            way = ("find_user_id_by_email", {"email": facts["email"]})
            no_email = "email" in {*task.user.unknown, *task.user.knows}
            if no_email:
                name_zip = {"first_name": facts["first name"], "last_name": facts["last name"]}
                way = ("find_user_id_by_name_zip", {**name_zip, "zip": facts["zip"]})
            assert RETAIL.call(db, *way).content == task.user.customer, task.id
        assert no_email == ("name-and-zip" in task.tags), task.id


def test_the_namesake_tag_is_true() -> None:
    """Tagged are the tasks of customers who share their full name with somebody."""
    full_name = CUSTOMERS.c.first_name + " " + CUSTOMERS.c.last_name
    shared = select(full_name).group_by(full_name).having(func.count() > 1)
    with RETAIL.world.connect() as rows:
        found = rows.execute(select(CUSTOMERS.c.user_id).where(full_name.in_(shared)))
        namesakes = set(found.scalars())
    for task in SHOP.tasks:
        assert ("namesake" in task.tags) == (task.user.customer in namesakes), task.id


def test_the_example_of_the_guide_is_a_task() -> None:
    """The worked example of docs/tasks.md can be graded as it stands."""
    (block,) = re.findall(r"```yaml\n(- id:.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    (task,) = read_tasks(_Text(block), "retail")
    SHOP.grading.check(task)
    assert SHOP.accepts(task, SHOP.writes_of(task)[0])


class _Text:
    """A text that can be read like a file."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_text(self, encoding: str) -> str:
        return self._text
