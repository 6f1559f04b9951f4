"""Tools that behave as a benchmark's do: the parts that all of them share."""

from pathlib import Path

import pytest

from passhat.domains.packs import Pack
from passhat.transcript import ErrorKind

from ..clones import pack


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """tau-bench's shop."""
    return pack(tmp_path_factory.mktemp("clone"), "retail@tau-bench")


def say(shop: Pack, name: str, arguments: object) -> str:
    """What a call is answered on fresh rows."""
    with shop.world.fork() as db:
        return shop.call(db, name, arguments).content


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("1 + 2 * 3", "7.0"),
        ("-(10/4)", "-2.5"),
        ("7 // 2 ** 2", "1.0"),
        ("1/3", "0.33"),
        ("  2", "2.0"),
        ("2 + x", "Error: invalid characters in expression"),
        ("1/0", "Error: division by zero"),
        ("1 +", "Error: invalid syntax (<string>, line 1)"),
        ("2(3)", "Error: 'int' object is not callable"),
        ("()", "Error: float() argument must be a string or a real number, not 'tuple'"),
        ("", "Error: invalid syntax (<string>, line 0)"),
    ],
)
def test_arithmetic_is_that_of_python(shop: Pack, expression: str, answer: str) -> None:
    """Results and errors alike, without evaluating anything."""
    assert say(shop, "calculate", {"expression": expression}) == answer


def test_a_power_that_would_hang_is_refused(shop: Pack) -> None:
    """There it stops the whole program; that one defect is not reproduced."""
    answer = say(shop, "calculate", {"expression": "9**9**9"})
    assert answer == "Error: the result is too large"


def test_missing_and_unknown_arguments_are_answered_in_their_words(
    shop: Pack, tmp_path: Path
) -> None:
    """Python's own message, with the names that the functions have there."""
    missing = say(shop, "cancel_pending_order", {"order_id": "#W1"})
    assert missing == (
        "Error: CancelPendingOrder.invoke() missing 1 required positional argument: 'reason'"
    )
    surplus = say(pack(tmp_path, "retail@tau2"), "get_order_details", {"order_id": "#W1", "ID": 1})
    assert surplus == (
        "Error: RetailTools.get_order_details() got an unexpected keyword argument 'ID'"
    )


def test_arguments_of_any_kind_are_taken(shop: Pack) -> None:
    """They are not validated: what does not fit is not found, or Python complains."""
    assert say(shop, "get_order_details", {"order_id": 7}) == "Error: order not found"
    assert say(shop, "get_order_details", {"order_id": ["#W1"]}).startswith("Error: unhashable")
    assert say(shop, "get_order_details", "#W1").startswith("Error: ")


def test_an_unknown_tool_is_answered_as_there(shop: Pack, tmp_path: Path) -> None:
    """And counts as an unknown tool."""
    with shop.world.fork() as db:
        outcome = shop.call(db, "fly", {})
    assert outcome.content == "Unknown action fly"
    assert outcome.error is ErrorKind.UNKNOWN_TOOL


def test_a_refusal_is_an_error_of_the_agent(shop: Pack) -> None:
    """So that it is counted as one, and shown as one."""
    with shop.world.fork() as db:
        outcome = shop.call(db, "get_user_details", {"user_id": "nobody"})
    assert outcome.content == "Error: user not found"
    assert outcome.error is ErrorKind.REFUSED


def test_tools_have_schemas_for_an_agent(shop: Pack) -> None:
    """A pack can be played: every argument is described."""
    for tool in shop.tools.values():
        assert tool.description
        for described in tool.input_schema["properties"].values():
            assert described["description"]
