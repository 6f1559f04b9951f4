"""What passes between a model user and its model can be read back, whatever is in it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from passhat.errors import UsageError
from passhat.simulator.model_user.protocol import (
    JUDGEMENT_SCHEMA,
    Answer,
    Judgement,
    answer_schema,
    parse_script,
    script_block,
)
from passhat.task import Goal, UserScript
from passhat.transcript import UserEnd, UserReply

TEXT = st.text(max_size=30) | st.sampled_from(["</script>", "<script>", '"}\n</script>', "#W1 é"])
WORDS = TEXT | st.lists(TEXT, max_size=2)
ASK = TEXT.filter(bool)
FACTS = st.dictionaries(TEXT, TEXT, max_size=2)


def goals(otherwise: st.SearchStrategy[Goal | None]) -> st.SearchStrategy[Goal]:
    """Requests, with what is asked instead."""
    return st.builds(
        Goal,
        ask=ASK,
        details=FACTS,
        check=st.dictionaries(TEXT, WORDS, max_size=2),
        until_told=st.lists(WORDS, max_size=2),
        confirm=st.booleans(),
        otherwise=otherwise,
        insist=st.integers(0, 5),
    )


SCRIPTS = st.builds(
    UserScript,
    customer=TEXT,
    persona=st.sampled_from(["plain", "terse", "forgetful"]),
    opening=TEXT,
    goals=st.lists(goals(st.none() | goals(st.none())), min_size=1, max_size=2),
    knows=FACTS,
    unknown=st.lists(TEXT, max_size=2),
    instruction=TEXT,
)


@given(script=SCRIPTS, profile=FACTS, now=TEXT, before=TEXT.filter(lambda t: "<" not in t))
def test_a_script_is_read_back_as_it_was_written(
    script: UserScript, profile: dict[str, str], now: str, before: str
) -> None:
    """No text in a script, a profile or around them can end the block early or be lost."""
    block = script_block(script, profile, now)
    assert parse_script(f"{before}{block}</script>") == (script, profile)


@given(instruction=ASK)
def test_free_text_stands_in_a_block_once(instruction: str) -> None:
    """An imported script, whose one goal is its instruction, is not told twice, and read back."""
    script = UserScript(goals=[Goal(ask=instruction)], instruction=instruction)
    block = script_block(script, {}, "")
    assert "goals" not in json.loads(block.split("\n", 1)[1].rsplit("\n", 1)[0])["script"]
    assert parse_script(block) == (script, {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Hello!", "no <script> block in 'Hello!'"),
        ("<script>\nnonsense\n</script>", "holds no script: Expecting value"),
        ('<script>\n{"script": {}}\n</script>', "holds no script: 'instruction'"),
        ("<script>\n[]\n</script>", "holds no script: list indices"),
    ],
)
def test_what_holds_no_script_is_refused(text: str, problem: str) -> None:
    """The error says what was read, and what is wrong with it."""
    with pytest.raises(UsageError, match=problem):
        parse_script(text)


@given(text=TEXT, end=st.none() | st.sampled_from(UserEnd), thought=TEXT)
def test_an_answer_is_read_back_as_it_was_written(
    text: str, end: UserEnd | None, thought: str
) -> None:
    """The spoken fields survive every schema, a private one only the schemas that have it."""
    spoken = Answer.of(UserReply(content=text, end=end))
    answer = spoken.model_copy(update={"thought": thought})
    assert Answer.model_validate_json(answer.dump()) == spoken
    schema = answer_schema("thought")
    assert Answer.model_validate_json(answer.dump(schema)) == answer
    assert list(json.loads(answer.dump(schema))) == schema["required"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"action": "finish", "reason": None}, "'finish' needs a reason: one of 'goals met'"),
        ({"action": "say", "reason": "refused"}, "reason must be null with 'say', not 'refused'"),
        ({"action": "shout", "reason": None}, "'say' or 'finish'"),
        ({"action": "finish", "reason": "bored"}, "'goals met'"),
        ({"action": "say", "reason": None, "mood": "bad"}, "mood"),
    ],
)
def test_an_answer_that_contradicts_itself_is_refused(fields: dict[str, Any], problem: str) -> None:
    """Whoever stays has no reason to leave, and whoever leaves has one of four."""
    with pytest.raises(ValidationError, match=problem):
        Answer.model_validate({"text": "Hi", **fields})


@pytest.mark.parametrize(
    "schema", [answer_schema(), answer_schema("thought"), answer_schema("draft", "thought")]
)
def test_schemas_are_strict(schema: dict[str, Any]) -> None:
    """Every field is required and no other is allowed, as providers ask of strict schemas."""
    for strict in (schema, JUDGEMENT_SCHEMA):
        assert strict["required"] == list(strict["properties"])
        assert strict["additionalProperties"] is False
    model = set(Answer.model_fields)
    assert set(schema["properties"]) <= model
    assert set(JUDGEMENT_SCHEMA["properties"]) == set(Judgement.model_fields)
