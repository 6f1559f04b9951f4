"""The engine: rules are found, findings are ordered, crashes are named, cost is linear."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.errors import GraderError
from passhat.policies.case import Case
from passhat.policies.engine import Rule, Rulebook, Violation, load_rules, rule, rules_in
from passhat.policies.facts import unfounded
from passhat.transcript import Transcript

PENDING = "#W1000001"


def _case() -> Case:
    return Case(Transcript(), "", lambda table, where: [])


@rule("library.md#late", severity="form")
def complains_late(case: Case) -> Iterator[Violation]:
    """Nothing happens late."""
    yield Violation(7, "late")
    yield Violation(2, "less late")


@rule("library.md#early", severity="breach")
def complains_early(case: Case) -> Iterator[Violation]:
    """Nothing happens early."""
    yield Violation(3, "early")


@rule("library.md#early", severity="breach")
def stumbles(case: Case) -> Iterator[Violation]:
    """This rule has a bug."""
    yield Violation(0, "found before the crash")
    raise KeyError("gone")


def _book(*functions) -> Rulebook:
    module = ModuleType("rules")
    vars(module).update({function.__name__: function for function in functions})
    return rules_in(module)


def test_findings_come_in_the_order_of_events():
    """Whatever the order of the rules."""
    found = _book(complains_late, complains_early).check(_case())
    assert [(f.event, f.rule, f.severity) for f in found] == [
        (2, "complains_late", "form"),
        (3, "complains_early", "breach"),
        (7, "complains_late", "form"),
    ]


def test_a_rule_knows_its_name_section_and_what_is_right():
    """All from the function itself."""
    (found,) = _book(complains_early).rules
    assert (found.name, found.says) == ("complains_early", "Nothing happens early.")
    assert _book(complains_early).sections == {"library.md#early": [found]}


def test_a_crashing_rule_is_a_grader_error_that_names_it():
    """Neither a pass nor a fail."""
    with pytest.raises(GraderError, match=r"rule stumbles: KeyError: 'gone'"):
        _book(complains_early, stumbles).check(_case())


def test_a_rule_without_a_docstring_is_refused():
    """Nobody could say what is right."""

    def nameless(case: Case) -> Iterator[Violation]:
        yield Violation(0, "")

    with pytest.raises(TypeError, match="'nameless' needs a docstring"):
        rule("library.md#late", severity="form")(nameless)


def test_a_domain_without_rules_has_an_empty_book():
    """It is not an error: everything is allowed there."""
    assert load_rules("no_such_domain") == Rulebook()
    assert load_rules("no_such_domain").check(_case()) == []


def test_the_shop_has_rules_of_both_severities():
    """Found by name, in the order in which they are written."""
    rules = load_rules("retail").rules
    assert all(isinstance(each, Rule) for each in rules)
    assert {each.severity for each in rules} == {"breach", "form"}
    assert rules[0].name == "identifies_the_customer_first"


_ACTIONS = st.sampled_from(
    [
        ("cancel_pending_order", {"order_id": PENDING, "reason": "no longer needed"}),
        (
            "modify_pending_order_payment",
            {"order_id": PENDING, "payment_method_id": "paypal_3333333"},
        ),
        (
            "modify_pending_order_items",
            {
                "order_id": PENDING,
                "item_ids": ["2000000011"],
                "new_item_ids": ["2000000012"],
                "payment_method_id": "gift_card_2222222",
            },
        ),
        ("get_order_details", {"order_id": PENDING}),
    ]
)


@given(actions=st.lists(_ACTIONS, max_size=5))
@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_before_an_event_are_the_rows_there_were(shop, talk, actions):
    """Undoing the recorded changes gives back every earlier state."""
    tables = {
        "orders": {"order_id": PENDING},
        "order_items": {"order_id": PENDING},
        "payments": {"order_id": PENDING},
        "payment_methods": {"user_id": "ana_silva_4471"},
    }
    with shop.fork() as db:
        session = type(talk)(db)
        snapshots = []
        for name, arguments in actions:
            rows = {table: db.find(table, where) for table, where in tables.items()}
            snapshots.append((len(session.events), rows))
            session.call(name, **arguments)
        case = session.case
        for event, rows in snapshots:
            for table, where in tables.items():
                found = case.rows_before(event, table, **where)
                assert sorted(map(repr, found)) == sorted(map(repr, rows[table]))


def test_a_function_asked_once_is_run_once():
    """Rules that share a question share the answer."""
    case, asked = _case(), []
    for _ in range(2):
        case.once(asked.append)
    assert asked == [case]


def test_each_unfounded_fact_is_reported_where_it_first_appears(talk):
    """Repeating it is no second invention."""
    talk.agent("It is $17.77.").user("Really?").agent("Yes, $17.77, and #W7654321.")
    assert [(fact.event, fact.value) for fact in unfounded(talk.case)] == [
        (0, "$17.77"),
        (2, "#W7654321"),
    ]


def _work(talk, rounds: int) -> int:
    """Python calls and row look-ups that it takes to check a talk of so many rounds."""
    session = type(talk)(talk.db)
    session.identified(PENDING)
    for _ in range(rounds):
        session.agent(f"Shall I look at {PENDING} for $40.00?").user("Yes, do.")
        session.call("get_order_details", order_id=PENDING)
    case, book, calls = session.case, load_rules("retail"), 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        book.check(case)
    finally:
        sys.setprofile(None)
    return calls


def test_the_cost_of_checking_is_linear_in_the_transcript(talk):
    """Twice the events cost at most twice the calls (counted, not timed)."""
    _work(talk, 2)
    small, large = _work(talk, 40), _work(talk, 80)
    assert large < 2.2 * small
