"""The tools every desk has."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table

from passhat.domains import common_tools
from passhat.domains.common_tools import MAX_EXPRESSION, calculate
from passhat.domains.database import Database
from passhat.domains.tool import call_tool, tools_in
from passhat.domains.world import World
from passhat.errors import ToolError
from passhat.transcript import ErrorKind

TOOLS = tools_in(common_tools)


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    """A database without rows: none of these tools looks at it."""
    tables = MetaData()
    Table("shelves", tables, Column("shelf", Integer, primary_key=True))
    with World(tables, {}, datetime(2026, 3, 16)).fork() as db:
        yield db


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2+2", "4.0"),
        (" 2 * (34.90 - 12) ", "45.8"),
        ("-(1 - 2.5) / 3", "0.5"),
        ("10 / 4 / 5", "0.5"),
        ("0.1 + 0.2", "0.3"),
        ("2580 - 5160", "-2580.0"),
        ("--+-1", "-1.0"),
        ("1000000 * 1000000", "1000000000000.0"),
        ("-".join(["1"] * 200), "-198.0"),
    ],
)
def test_arithmetic_is_worked_out_to_two_decimals(
    db: Database, expression: str, result: str
) -> None:
    """As a decimal number, also when it is whole."""
    assert calculate(db, expression) == result


@given(
    st.recursive(
        st.decimals(0, 9999, places=2).map(str),
        lambda parts: st.builds("({} {} {})".format, parts, st.sampled_from("+-*"), parts),
        max_leaves=10,
    )
)
def test_arithmetic_is_python_s(db: Database, expression: str) -> None:
    """Precedence and parentheses mean what they mean everywhere."""
    assert calculate(db, expression) == str(round(float(eval(expression)), 2))


@pytest.mark.parametrize(
    ("expression", "refusal"),
    [
        ("1 / 0", "division by zero"),
        ("1 / (2 - 2)", "division by zero"),
        ("9**9**9", "only numbers"),
        ("7 // 2", "only numbers"),
        ("(1)(2)", "only numbers"),
        ("(1, 2)", "invalid characters"),
        ("()", "only numbers"),
        ("__import__('os')", "invalid characters"),
        ("a.b", "invalid characters"),
        ("1 if 1 else 2", "invalid characters"),
        ("1e5", "invalid characters"),
        ("1\n+1", "invalid characters"),
        ("٣+٤", "invalid characters"),
        ("1,000 + 1", "invalid characters"),
        ("$5 + $6", "invalid characters"),
        ("", "invalid syntax"),
        ("   ", "invalid syntax"),
        ("1 +", "invalid syntax"),
        ("1 2", "invalid syntax"),
        ("007", "invalid syntax"),
        ("(" * 240 + "1" + ")" * 240, "invalid syntax"),
        ("9" * 400, "the result is too large"),
        ("9" * 400 + ".0", "the result is too large"),
        ("9" * 400 + ".0 - " + "9" * 90, "the result is too large"),
        ("1" * (MAX_EXPRESSION + 1), "too long"),
        ("1+" * 5_000_000 + "1", "too long"),
    ],
)
def test_what_is_not_arithmetic_is_refused_at_once(
    db: Database, expression: str, refusal: str
) -> None:
    """Names, calls, attributes, powers and endless input never run."""
    outcome = call_tool(TOOLS, db, "calculate", {"expression": expression})
    assert outcome.error is ErrorKind.REFUSED
    assert refusal in outcome.content


@given(st.text("0123456789+-*/(). ", max_size=60))
def test_any_text_of_allowed_characters_gives_a_number_or_a_refusal(
    db: Database, expression: str
) -> None:
    """Never another exception, never another kind of value."""
    try:
        result = calculate(db, expression)
    except ToolError:
        return
    assert float(result) == round(float(result), 2)


def test_thinking_says_nothing(db: Database) -> None:
    """The thought is in the transcript; there is no answer."""
    outcome = call_tool(TOOLS, db, "think", {"thought": "Which order?"})
    assert (outcome.content, outcome.error) == ("", None)


def test_a_transfer_hands_the_conversation_over(db: Database) -> None:
    """The one tool here that ends it."""
    outcome = call_tool(TOOLS, db, "transfer_to_human_agents", {"summary": "Wants a person."})
    assert outcome.content == "Transfer successful"
    assert [name for name, tool in TOOLS.items() if tool.hands_over] == ["transfer_to_human_agents"]
