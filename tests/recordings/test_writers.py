"""Writing conversations: lossless in their own format, the same events in another."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.recordings.conversation import Address, Conversation, Format
from passhat.recordings.readers import read_conversations
from passhat.recordings.readers.events import Called, Teller
from passhat.recordings.writers import record_of, write_conversations

from .conversations import ANTHROPIC, OPENAI, STORY, lines, read, read_one, told
from .test_agent_sdk import STREAM
from .test_benchmark_conversations import STOP, TALK, results, run, simulation
from .test_human_dialogues import CHAT, DIALOGUE, ROWS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """A conversation of a few moves: words, and calls answered in any order or not at all."""
    teller = Teller()
    number = 0
    for kind in draw(st.lists(st.sampled_from(["user", "agent", "calls"]), max_size=6)):
        if kind != "calls":
            teller.said(kind, draw(TEXT), "")  # type: ignore[arg-type]
            continue
        calls = [
            Called(f"id-{number + i}", draw(st.sampled_from(["f", "g"])), draw(ARGUMENTS), "")
            for i in range(draw(st.integers(1, 3)))
        ]
        number += len(calls)
        teller.called("agent", calls, draw(TEXT))
        for call in draw(st.permutations(calls))[: draw(st.integers(0, len(calls)))]:
            teller.answered(call.id, draw(TEXT), "")
    return Conversation(
        address=Address("made.json", "1"),
        format=Format.PLAIN,
        events=teller.events,
        record=None,
        places=tuple(teller.places),
        system=draw(TEXT),
    )


def essence(conversation: Conversation) -> list[dict[str, Any]]:
    """The events without what a provider sent."""
    return [
        {key: value for key, value in event.items() if key != "provider"}
        for event in conversation.events.dump()
    ]


@pytest.mark.parametrize("form", [Format.OPENAI_CHAT, Format.ANTHROPIC_MESSAGES])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conversation=conversations())
def test_events_written_in_a_chat_format_are_read_back_the_same(
    tmp_path: Path, form: Format, conversation: Conversation
) -> None:
    """Parallel calls, missing results, text beside calls; any words, any arguments."""
    write_conversations([conversation], tmp_path / "out", form)
    if not conversation.events:
        return  # no message, no conversation
    (read_back,) = read_conversations(tmp_path / "out")
    assert essence(read_back) == essence(conversation)
    assert read_back.system == conversation.system


FIELDS = st.dictionaries(TEXT.map("x_".__add__), JSON, max_size=3)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outer=FIELDS, inner=FIELDS)
def test_unknown_fields_survive_a_round_trip(tmp_path: Path, outer: Any, inner: Any) -> None:
    """Beside the messages and inside them, in every format that is written."""
    openai = outer | OPENAI | {"messages": [inner | m for m in OPENAI["messages"]]}
    anthropic = outer | ANTHROPIC | {"messages": [inner | m for m in ANTHROPIC["messages"]]}
    taubench = run([inner | message for message in [*OPENAI["messages"], STOP]]) | outer
    tau2 = simulation([inner | message for message in TALK]) | outer
    for form, records, content in (
        (Format.OPENAI_CHAT, [openai], [openai]),
        (Format.ANTHROPIC_MESSAGES, [anthropic], [anthropic]),
        (Format.TAU_BENCH, [taubench], [taubench]),
        (Format.TAU2, [tau2], results(tau2) | outer),
    ):
        write_conversations(read(tmp_path, content), tmp_path / "out", form)
        back = list(read_conversations(tmp_path / "out"))
        assert [conversation.record for conversation in back] == records
        written = json.loads((tmp_path / "out").read_text(encoding="utf-8"))
        if form is Format.TAU2:
            assert written == content


def test_one_chat_format_becomes_the_other(tmp_path: Path) -> None:
    """With the system prompt, and the tools in the other's form."""
    openai = record_of(read_one(tmp_path, ANTHROPIC), Format.OPENAI_CHAT)
    assert told(read_one(tmp_path, openai)) == STORY
    assert openai["messages"][0] == {"role": "system", "content": "Be kind."}
    assert openai["tools"][0]["function"]["parameters"] == {"type": "object"}
    anthropic = record_of(read_one(tmp_path, OPENAI), Format.ANTHROPIC_MESSAGES)
    assert told(read_one(tmp_path, anthropic)) == STORY
    assert anthropic["system"] == "Be kind."
    assert anthropic["tools"][0]["input_schema"] == {"type": "object", "properties": {}}


def test_a_benchmarks_format_is_not_made_up(tmp_path: Path) -> None:
    """A conversation has no reward of its own."""
    with pytest.raises(UsageError, match="is openai-chat and cannot be written as tau-bench"):
        record_of(read_one(tmp_path, OPENAI), Format.TAU_BENCH)


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ([{"type": "summary", "summary": "x"}, *STREAM], Format.AGENT_SDK),
        (DIALOGUE, Format.STAR),
        ([CHAT], Format.ABCD),
        ({"id": 3, "turns": ROWS}, Format.PLAIN),
        (ROWS, Format.PLAIN),
    ],
    ids=["agent sdk", "star", "abcd", "plain object", "plain rows"],
)
def test_every_format_can_be_written_as_it_was_read(
    tmp_path: Path, content: Any, form: Format
) -> None:
    """A list of records, from which the same conversations come back."""
    conversation = read_one(tmp_path, content)
    write_conversations([conversation], tmp_path / "out", form)
    assert json.loads((tmp_path / "out").read_bytes()) == [conversation.record]
    (back,) = read_conversations(tmp_path / "out")
    assert (back.record, back.format, told(back)) == (
        conversation.record,
        form,
        told(conversation),
    )


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    """Who writes a damaged log leaves its losses out knowingly."""
    good, bad = read(tmp_path, lines(OPENAI) + "{")
    with pytest.raises(UsageError, match="could not be read: the file is damaged here"):
        write_conversations([good, bad], tmp_path / "out", Format.OPENAI_CHAT)
    assert write_conversations([good], tmp_path / "out", Format.OPENAI_CHAT) == 1
