"""Which part of a reference belongs to which goal of the customer."""

from typing import Any

from passhat.agents.plan import plan
from passhat.task import Task

WRITERS = frozenset({"cancel_pending_order", "modify_pending_order_payment"})


def make_task(goals: list[dict[str, Any]], **expect: Any) -> Task:
    """A task with these goals."""
    return Task.model_validate({"id": "t", "user": {"goals": goals}, "expect": expect})


def cancel(order_id: str) -> dict[str, Any]:
    """A reference action."""
    return {
        "name": "cancel_pending_order",
        "arguments": {"order_id": order_id, "reason": "no longer needed"},
    }


def test_a_write_goes_to_the_goal_that_names_its_ids() -> None:
    """Also when the reference has another order than the customer."""
    goals = [{"ask": "Cancel #W1111111"}, {"ask": "Cancel #W2222222"}]
    actions = [cancel("#W2222222"), cancel("#W1111111")]
    stages = plan(make_task(goals, outcomes=[{"actions": actions}]), WRITERS)
    assert [[w.arguments["order_id"] for w in stage.writes] for stage in stages] == [
        ["#W1111111"],
        ["#W2222222"],
    ]


def test_writes_that_nothing_tells_apart_go_in_order() -> None:
    """One to each goal that asks for a change."""
    goals = [{"ask": "The first"}, {"ask": "How much?", "until_told": ["3"], "confirm": False}]
    goals.append({"ask": "The second"})
    actions = [cancel("#W1111111"), cancel("#W2222222")]
    stages = plan(make_task(goals, outcomes=[{"actions": actions}]), WRITERS)
    assert [len(stage.writes) for stage in stages] == [1, 0, 1]


def test_a_look_up_belongs_to_the_write_after_it_or_to_the_question() -> None:
    """So that it is made when it is needed."""
    goals = [
        {"ask": "Cancel #W1111111"},
        {"ask": "What is left on gift_card_1234567?", "until_told": ["3"], "confirm": False},
    ]
    before = {"name": "get_order_details", "arguments": {"order_id": "#W1111111"}}
    after = {"name": "get_user_details", "arguments": {"user_id": "ana_silva_4471"}}
    outcome = {"actions": [before, cancel("#W1111111"), after]}
    first, second = plan(make_task(goals, outcomes=[outcome], tell=["3"]), WRITERS)
    assert [read.name for read in first.reads] == ["get_order_details"]
    assert [read.name for read in second.reads] == ["get_user_details"]
    assert second.tells == ["3"]


def test_what_is_refused_comes_before_what_is_asked_instead() -> None:
    """And the look-ups of the whole chain come first, since the reason comes from them."""
    goals = [
        {
            "ask": "Take the bike out of #W1111111",
            "confirm": False,
            "otherwise": {"ask": "Then cancel #W1111111"},
        }
    ]
    read = {"name": "get_order_details", "arguments": {"order_id": "#W1111111"}}
    refuse = [{"about": "bike", "because": ["as a whole"]}]
    outcome = {"actions": [read, cancel("#W1111111")]}
    first, second = plan(make_task(goals, outcomes=[outcome], refuse=refuse), WRITERS)
    assert first.refuses
    assert first.refusals[0].about == "bike"
    assert [action.name for action in first.reads] == ["get_order_details"]
    assert not second.refuses
    assert [write.name for write in second.writes] == ["cancel_pending_order"]


def test_a_request_without_anything_expected_is_refused_or_handed_over() -> None:
    """The hand-over takes the goal that nothing else deals with."""
    goals = [{"ask": "Cancel #W1111111"}, {"ask": "Delete my account", "confirm": False}]
    outcomes = [{"actions": [cancel("#W1111111")]}]
    *_, refused = plan(make_task(goals, outcomes=outcomes), WRITERS)
    assert refused.refuses
    *_, handed_over = plan(make_task(goals, outcomes=outcomes, hand_over=True), WRITERS)
    assert handed_over.hand_over
    assert not handed_over.refuses


def test_reservation_numbers_count_as_ids() -> None:
    """And so do the numbers of the flights that a change lists, however deep they stand."""
    goals = [
        {"ask": "Add a bag to 8A3XK2, please"},
        {"ask": "Put me on WRN104 in 8A3XK2, please, and not on the one I have now"},
    ]
    flights = [{"flight_number": "WRN104", "date": "2026-05-20"}]
    change = {"name": "change_flights", "arguments": {"id": "8A3XK2", "flights": flights}}
    bags = {"name": "add_bags", "arguments": {"id": "8A3XK2", "total": 1}}
    task = make_task(goals, outcomes=[{"actions": [change, bags]}])
    stages = plan(task, frozenset({"change_flights", "add_bags"}))
    assert [[w.name for w in s.writes] for s in stages] == [["add_bags"], ["change_flights"]]
    assert stages[1].ids == {"8A3XK2", "WRN104"}
