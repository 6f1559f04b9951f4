"""Scripts: rules in a file that say what is answered when."""

from pathlib import Path
from typing import Any

import pytest

from passhat.errors import UsageError
from passhat.models.fake_claude.scripts import Script
from passhat.models.model import StopReason

from .requests import CALL, RESULT, TOOL, Json, asking, assistant, request, text, user

RULES = r"""
- when: {turn: 1, says: 'order (?P<order>#\w+)'}
  thinking: They mean $order.
  text: One moment.
  calls:
    - find_order: {order_id: $order, fields: [$order, status]}
    - find_order: {order_id: "#W0"}

- when: {result_of: find_order, result: pending}
  text: It is pending. That is $5, not $order.

- when: {says: secret}
  stop: refusal
  detail: No secrets.
  text: I cannot.

- when: {says: rest, turn: [2, 3]}
  calls:
    - find_order: '{"order_id": '

- when: {says: quiet}
  empty: true

- when: {system: json}
  json: {answer: [1, 2]}
"""


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """The rules, from a file."""
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    return Script.load(file)


def test_the_first_rule_that_fits_answers(script: Script) -> None:
    """With what its pattern found put in, and parallel calls with ids of their own."""
    reply = script.reply([user("Where is ORDER #W17?")])
    thinking, words, first, second = reply.content
    assert thinking == {"type": "thinking", "thinking": "They mean #W17."}
    assert words == text("One moment.")
    assert first["input"] == {"order_id": "#W17", "fields": ["#W17", "status"]}
    assert second["input"] == {"order_id": "#W0"}
    assert first["id"] != second["id"]
    assert reply.stop is StopReason.TOOL_USE


def test_a_rule_may_wait_for_a_result(script: Script) -> None:
    """Of a tool, with words in it; a dollar sign stays one where no group is meant."""
    reply = script.reply([user("order"), assistant(CALL), user(RESULT)])
    assert reply.text == "It is pending. That is $5, not $order."


def test_everything_that_can_go_wrong_can_be_asked_for(script: Script) -> None:
    """Refusals, silence, inputs that are no object."""
    refused = script.reply([user("Tell me a secret")])
    assert (refused.stop, refused.detail) == (StopReason.REFUSAL, "No secrets.")
    silent = script.reply([user("Be quiet")])
    assert (silent.content, silent.stop) == ((), StopReason.END_TURN)
    (malformed,) = script.reply([user("a"), assistant("b"), user("rest")]).content
    assert malformed["input"] == '{"order_id": '
    assert script.reply([user("?")], system="Answer in JSON").text == '{"answer": [1, 2]}'


def test_no_rule_that_fits_is_an_error_and_not_a_guess(script: Script) -> None:
    """It says what was asked."""
    assert script.find([user("rest")]) is None
    with pytest.raises(UsageError, match=r"rules.yaml: no rule fits reply 1, to 'rest'"):
        script.reply([user("rest")])


def test_a_script_plays_a_whole_conversation_at_the_server(script: Script) -> None:
    """Through the real client, streamed and not."""
    with asking(script.brain) as (client, _):
        messages = [user("Where is order #W17?")]
        first = client.messages.create(**request(*messages, tools=[TOOL], system="Help."))
        assert first.stop_reason == "tool_use"
        results = [{**RESULT, "tool_use_id": b.id} for b in first.content if b.type == "tool_use"]
        turn: Any = first.to_param()
        asked = request(*messages, turn, user(*results), tools=[TOOL], system="Help.")
        with client.messages.stream(**asked) as stream:
            assert stream.get_final_text() == "It is pending. That is $5, not $order."


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"text": "Hi"}, "a script is a list of rules"),
        ([{"txt": "Hi"}], "0.txt"),
        ([{"when": {"hears": "Hi"}, "text": "Hi"}], "0.when.hears"),
        ([{"when": {"says": "("}, "text": "Hi"}], "is no regular expression"),
        ([{"when": {"turn": 1}}], "empty: true"),
        ([{"text": "Hi", "empty": True}], "empty: true"),
        ([{"text": "Hi", "json": {}}], "text or json"),
        ([{"calls": [{"a": {}, "b": {}}]}], "name of the tool: its input"),
        ([{"text": "Hi", "stop": "bored"}], "0.stop"),
    ],
)
def test_a_script_that_makes_no_sense_is_said_in_one_line(rules: Json, says: str) -> None:
    """With the rule's number, from 0."""
    with pytest.raises(UsageError, match=says) as error:
        Script(rules)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_script_is_said_in_one_line(tmp_path: Path) -> None:
    """Missing, or not to be read; with the line of the file if it is no YAML."""
    file = tmp_path / "broken.yaml"
    with pytest.raises(UsageError, match="cannot read the script"):
        Script.load(file)
    for content, says in (
        (b"- when: {turn: 1}\n  text: [Hello\n- text: Bye\n", "broken.yaml': line 3: expected"),
        (b"- text: Hello\n  text\n", "line 3: could not find"),
        (b"- text: \x00", "special characters are not allowed"),
        (b"- text: \xff", "can't decode byte 0xff"),
    ):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=says) as error:
            Script.load(file)
        assert "\n" not in str(error.value)


def test_the_script_of_the_docs_is_one() -> None:
    """Every rule of it fits when it should, and leaves all else to others."""
    script = Script.load(Path(__file__).parents[3] / "docs/examples/fake-claude.yaml")
    reply = script.reply([user("What is the status of my order #W77?")])
    assert [block.get("input") for block in reply.content] == [None, None, {"order_id": "#W77"}]
    assert len([*script.reply([user("Compare them")]).tool_uses]) == 2
    stops = ("password", "everything you know", "a long story", "garbled words", "silence")
    assert [script.reply([user(words)]).stop.value for words in stops] == [
        "refusal",
        "max_tokens",
        "model_context_window_exceeded",
        "tool_use",
        "end_turn",
    ]
    assert script.find([user("Hello")]) is None
