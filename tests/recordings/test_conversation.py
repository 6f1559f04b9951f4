"""The conversation itself: addresses, places, what a dump holds."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.recordings.conversation import Address
from passhat.recordings.readers import find_conversation, read_conversations

from .conversations import OPENAI, STORY, lines, read_one, told, write


@given(
    st.text(st.characters(exclude_characters="#", exclude_categories=["Cs"]), min_size=1),
    st.from_regex(r"[^:#\x00]+", fullmatch=True),
    st.none() | st.integers(0, 10**6),
)
def test_an_address_is_read_back_from_what_it_prints(
    file: str, trial: str, event: int | None
) -> None:
    """Whatever stands in it but the two marks."""
    address = Address(file.replace("\x00", ""), trial, event)
    if address.file:
        assert Address.parse(str(address)) == address


def test_a_file_that_exists_decides_where_its_name_ends(tmp_path: Path) -> None:
    """File names may hold the mark, and so may trials."""
    file = write(tmp_path, OPENAI, "log #3.json")
    assert Address.parse(f"{file}#1:2") == Address(str(file), "1", 2)
    assert Address.parse("a.json#order #W12/0").trial == "order #W12/0"
    assert Address.parse("a.json#[x]a[PERSONA:None]/0") == Address("a.json", "[x]a[PERSONA:None]/0")


@pytest.mark.parametrize("text", ["", "file", "#1", "file#"])
def test_what_is_no_address_is_refused_with_the_shape_of_one(text: str) -> None:
    """In one line."""
    with pytest.raises(UsageError, match="FILE#TRIAL:EVENT"):
        Address.parse(text)


def test_every_event_has_an_address_and_a_place_in_the_record(tmp_path: Path) -> None:
    """The place is a JSON pointer; following it finds what the event says."""
    conversation = read_one(tmp_path, OPENAI)
    assert told(conversation) == STORY
    assert conversation.places == (
        "/messages/1",
        "/messages/2/tool_calls/0",
        "/messages/2/tool_calls/1",
        "/messages/3",
        "/messages/4",
        "/messages/5",
        "/messages/6",
    )
    dumped = conversation.dump()["events"][3]
    assert dumped["address"] == f"{tmp_path / 'file'}#1:3"
    assert dumped["place"] == "/messages/3"
    assert conversation.event(3).kind == "tool_result"
    with pytest.raises(UsageError, match="has no event 7; it has 7, from 0"):
        conversation.event(7)


def test_a_line_keeps_its_address_when_lines_are_added(tmp_path: Path) -> None:
    """JSONL conversations are named by their line, blank lines counted."""
    before = write(tmp_path, lines(OPENAI) + "\n" + lines(OPENAI))
    names = [c.address.trial for c in read_conversations(before)]
    assert names == ["1", "3"]
    write(tmp_path, lines(OPENAI) + "\n" + lines(OPENAI, OPENAI))
    assert [c.address.trial for c in read_conversations(before)] == ["1", "3", "4"]


def test_a_conversation_is_found_by_its_address(tmp_path: Path) -> None:
    """One that is not there is refused, with some that are."""
    file = write(tmp_path, lines(OPENAI, OPENAI))
    assert find_conversation(Address(str(file), "2")).address.trial == "2"
    with pytest.raises(UsageError, match=r"has no conversation '9'; .* lists its 2$"):
        find_conversation(Address(str(file), "9"))


def test_turns_count_the_agents_moves(tmp_path: Path) -> None:
    """The opening is turn 0; parallel calls are one move and share it with their results."""
    conversation = read_one(tmp_path, OPENAI)
    assert [event.turn for event in conversation.events] == [0, 1, 1, 1, 1, 2, 2]
    moves = [event.move for event in conversation.events if event.kind == "tool_call"]
    assert moves == [1, 1]
