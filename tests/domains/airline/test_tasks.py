"""The airline's tasks: fair to an honest agent, and passed by nobody who does nothing."""

import re
from collections import Counter

import pytest

from passhat.domains.airline.tables import (
    CUSTOMERS,
    FLIGHTS,
    PAYMENT_METHODS,
    RESERVATIONS,
)
from passhat.domains.airline.tools import FREE_BAGS, RESERVATION_ID
from passhat.grading.outcome import start_rows
from passhat.language import dates, says
from passhat.task import ReferenceAction, Task

from ..task_checks import TaskChecks, TaskSet, goals_of

DESK = TaskSet("airline")
AIRLINE = DESK.domain


class TestAirlineTasks(TaskChecks):
    """What holds for the tasks of every domain."""

    shelf = DESK
    least_tasks = 70
    least_customers = 45

    def unasked(self, task: Task) -> ReferenceAction:
        """A certificate of one dollar."""
        arguments = {"user_id": task.user.customer, "amount": 1}
        return ReferenceAction(name="send_certificate", arguments=arguments)


@pytest.mark.parametrize(
    ("task_id", "changed"),
    [
        (
            "either-late-morning-flight",  # leaves at 12:50, which is not before noon
            {
                "flights": [{"flight_number": "WRN053", "date": "2026-05-20"}],
                "payment_methods": [{"payment_id": "credit_card_1251632", "amount": 248}],
            },
        ),
        (
            "either-late-morning-flight",
            {"payment_methods": [{"payment_id": "credit_card_2597020", "amount": 136}]},
        ),
        (
            "either-morning-will-do",  # the right day, another flight
            {"flights": [{"flight_number": "WRN224", "date": "2026-05-26"}]},
        ),
        ("one-business-trip-too-many", {"reservation_id": "8ZCLQ4"}),
        ("a-bag-on-either-card", {"total_baggages": 9, "nonfree_baggages": 4}),
    ],
)
def test_a_third_end_fails(task_id: str, changed: dict[str, object]) -> None:
    """What fits the request only nearly is not one of the two accepted outcomes."""
    assert not DESK.accepts_changed(task_id, **changed)


def test_all_kinds_of_trips_are_booked() -> None:
    """One way and back, direct and with a change of planes, paid with all kinds of methods."""
    bookings = [
        write.arguments
        for task in DESK.tasks
        for write in DESK.writes_of(task)[0]
        if write.name == "book_reservation"
    ]
    assert {booking["flight_type"] for booking in bookings} == {"one_way", "round_trip"}
    assert any(b["flight_type"] == "one_way" and len(b["flights"]) == 2 for b in bookings)
    assert {booking["insurance"] for booking in bookings} == {"yes", "no"}
    methods = [p["payment_id"] for booking in bookings for p in booking["payment_methods"]]
    kinds = {method.rpartition("_")[0] for method in methods}
    assert kinds == {"credit_card", "gift_card", "certificate"}
    assert len(methods) > len(bookings)


def test_new_reservations_get_numbers_that_can_be_told_apart() -> None:
    """Letters and digits, like those of the world."""
    for task in DESK.tagged("book_reservation"):
        booked = re.findall(r'"reservation_id": "(\w+)"', DESK.tool_results(task))
        assert booked, task.id
        assert all(RESERVATION_ID.fullmatch(number) for number in booked), task.id


def test_the_number_of_free_bags_is_right() -> None:
    """Told is what the membership of the customer allows in the cabin, for all passengers."""
    (task,) = DESK.tagged("count")
    with start_rows(AIRLINE, task) as db:
        (customer,) = db.find("customers", {"user_id": task.user.customer})
        (reservation,) = db.find("reservations", {"reservation_id": "Y5ZHBA"})
        heads = len(db.find("passengers", {"reservation_id": "Y5ZHBA"}))
    free = FREE_BAGS[customer["membership"]][reservation["cabin"]] * heads
    assert says(str(free), task.expect.tell[0])


def test_every_id_exists() -> None:
    """Nothing in a script points to rows that the world does not have."""
    known = DESK.known(
        CUSTOMERS.c.user_id,
        RESERVATIONS.c.reservation_id,
        FLIGHTS.c.flight_number,
        PAYMENT_METHODS.c.payment_method_id,
    )
    for task in DESK.tasks:
        assert DESK.named_ids(task) <= known, task.id


def test_customers_speak_of_what_is_theirs() -> None:
    """Reservations and payment methods are their own, unless that is what the task is about."""
    everybodys = DESK.known(RESERVATIONS.c.reservation_id, PAYMENT_METHODS.c.payment_method_id)
    for task in DESK.tasks:
        with start_rows(AIRLINE, task) as db:
            mine = {"user_id": task.user.customer}
            own = {row["reservation_id"] for row in db.find("reservations", mine)}
            own |= {row["payment_method_id"] for row in db.find("payment_methods", mine)}
        said = DESK.customers_words(task).replace(".", " ").replace(",", " ").replace("?", " ")
        named = everybodys & {*DESK.named_ids(task), *said.split()}
        assert (named <= own) == ("somebody-else" not in task.tags), task.id


def test_a_claimed_membership_is_not_the_one_on_file() -> None:
    """Tagged are the customers who say that they have another membership than they do."""
    for task in DESK.tasks:
        with start_rows(AIRLINE, task) as db:
            (customer,) = db.find("customers", {"user_id": task.user.customer})
        claimed = task.user.knows.get("membership", customer["membership"])
        is_claim = claimed != customer["membership"]
        assert is_claim == ("membership-claim" in task.tags), task.id


def test_only_days_that_can_be_booked_are_searched() -> None:
    """The reference keeps the rule: from tomorrow on."""
    for task in DESK.tasks:
        for action in task.expect.outcomes[0].actions:
            if action.name.startswith("search_"):
                assert action.arguments["date"] > AIRLINE.world.now.date().isoformat(), task.id


def test_cancellations_come_with_a_reason() -> None:
    """A customer who wants to cancel can say why when asked, as the policy demands."""
    for task in DESK.tagged("cancel_reservation"):
        cancels = [g for g in goals_of(task) if g.confirm and re.search(r"(?i)\bcancel\b", g.ask)]
        assert cancels, task.id
        assert all("reason" in goal.details for goal in cancels), task.id


def test_setups_make_the_difference() -> None:
    """Without the changed flight the same end is another one's, or no ground exists."""
    setups = [task for task in DESK.tasks if task.setup]
    assert Counter("setup" in task.tags for task in setups) == Counter({True: len(setups)})
    assert len(setups) >= 2
    for task in setups:
        for write in task.setup:
            flight = write.where["flight_number"], write.where["date"]
            assert dates(flight[1]) == [flight[1]]
            with start_rows(AIRLINE, task.model_copy(update={"setup": []})) as db:
                (before,) = db.find("flight_dates", write.where)
                assert before["status"] != write.values["status"], task.id
