"""Wrong and hostile files: one line, or a counted loss; never a traceback, never a wrong event."""

import json
import tracemalloc
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.errors import PasshatError, UsageError
from passhat.recordings.conversation import Format
from passhat.recordings.readers import read_conversations
from passhat.recordings.readers.files import lines as jsonl_values
from passhat.recordings.redact import redact

from .conversations import ANTHROPIC, OPENAI, STORY, lines, read, read_one, told, write
from .test_agent_sdk import STREAM
from .test_benchmark_conversations import TALK, results, run, simulation
from .test_human_dialogues import CHAT, DIALOGUE, ROWS


@pytest.mark.parametrize(
    "content",
    [
        "",
        "   \n",
        "{",
        "[",
        '{"messages": [',
        "[1, 2, 3]",
        "{}",
        "[]",
        '{"name": "kettle"}',
        "Dear Mina,\nyour kettle is ready.\n",
        "a,b\n1,2\n",
        b"\xff\xfe{\x00}\x00",
        b"\x00\x01\x02",
        b"\xe9t\xe9,text\n",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_a_file_that_is_something_else_is_refused_in_one_line(tmp_path: Path, content: Any) -> None:
    """Whatever it is."""
    with pytest.raises(UsageError) as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    """A missing file, and a folder without recordings."""
    with pytest.raises(UsageError, match="cannot read"):
        read_conversations(tmp_path / "nothing.json")
    with pytest.raises(UsageError, match="holds no JSON, JSONL or CSV file"):
        read_conversations(tmp_path)


def test_a_damaged_line_is_lost_and_no_other(tmp_path: Path) -> None:
    """Half a line, bytes that are no text, a value that is no conversation."""
    good = lines(OPENAI).encode()
    hostile = good[:40] + b"\n" + good + b'{"messages": "\xff"}\n' + b"17\n" + good
    conversations = read(tmp_path, hostile)
    assert [c.lost is None for c in conversations] == [False, True, False, False, True]
    assert [c.address.trial for c in conversations] == ["1", "2", "3", "4", "5"]
    assert conversations[2].lost
    assert "not UTF-8" in conversations[2].lost
    assert conversations[3].lost == "not a conversation in a format that is understood"
    assert [told(c) for c in conversations if c.lost is None] == [STORY, STORY]


def test_a_list_that_breaks_off_gives_what_stood_before(tmp_path: Path) -> None:
    """And one lost conversation for the rest."""
    whole = json.dumps([OPENAI, ANTHROPIC, OPENAI])
    first, second, third = read(tmp_path, whole[:-50])
    assert (first.lost, second.lost) == (None, None)
    assert third.lost
    assert third.lost.startswith("the file is damaged here")


def nested(levels: int) -> dict[str, Any]:
    """An object in an object in an object."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"in": value}
    return value


def test_deep_nesting_is_a_loss_and_kept_out_of_everything(tmp_path: Path) -> None:
    """Nothing that prints or stores a conversation has to survive it."""
    deep = OPENAI | {"x": nested(300)}
    first, second = read(tmp_path, lines(deep, OPENAI))
    assert first.lost
    assert "levels deep" in first.lost
    assert first.record is None
    json.dumps(first.dump())
    assert told(second) == STORY


@pytest.mark.slow
def test_ten_megabytes_in_one_message_are_read(tmp_path: Path) -> None:
    """In JSONL, in a list, and in a CSV field."""
    long = "kettle " * 1_500_000
    talk = {"messages": [{"role": "user", "content": long}, {"role": "assistant", "content": ""}]}
    for content in (lines(talk), [talk], f'speaker,text\nuser,"{long}"\nagent,ok\n'):
        assert read_one(tmp_path, content).events.text_by("user") == [long]


def test_a_line_without_end_is_given_up(tmp_path: Path) -> None:
    """The next one is read."""
    file = write(tmp_path, f'"{"x" * 1000}"\n{{"a": 1}}\n')
    (_, damage), (number, value) = jsonl_values(file, limit=100)
    assert damage.reason == "line longer than 100 bytes"
    assert (number, value) == (2, {"a": 1})


def test_half_a_character_is_marked_and_loses_nothing_else(tmp_path: Path) -> None:
    """A log that cut through an emoji; no store takes such text."""
    talk = '{"messages": [{"role": "user", "content": "Thanks \\ud83d"}]}\n'
    assert read_one(tmp_path, talk).events.text_by("user") == ["Thanks \ufffd"]


@pytest.mark.parametrize(
    "broken",
    [
        run(17),
        run([17]),
        run([{"role": "assistant", "tool_calls": [{}]}]),
        run(TALK, info=7),
        simulation("talk"),
        simulation([{"role": "assistant", "tool_calls": [{"id": 1}]}]),
        {"messages": [{"role": "assistant", "tool_calls": 3}], "tools": []},
        ANTHROPIC | {"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]},
        DIALOGUE | {"Events": [None]},
        DIALOGUE | {"Events": [{"Agent": "Wizard", "Action": "query"}]},
        CHAT | {"original": ["hello"]},
        CHAT | {"original": 5},
    ],
)
def test_a_broken_record_loses_its_conversation_with_a_reason(tmp_path: Path, broken: Any) -> None:
    """Its record is kept, its neighbours are read."""
    first, second = read(tmp_path, lines(broken, OPENAI))
    assert first.lost
    assert first.lost.startswith("broken record: ")
    assert "\n" not in first.lost
    assert first.record == broken
    assert told(second) == STORY


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
EXAMPLES = [
    OPENAI,
    ANTHROPIC,
    STREAM,
    DIALOGUE,
    [CHAT],
    ROWS,
    [run([*OPENAI["messages"]])],
    results(simulation(TALK)),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = [(*path, key) for key, _ in inner] if isinstance(value, dict | list) else []
    for key in [place[-1] for place in found]:
        if isinstance(value[key], dict | list):
            found += places(value[key], (*path, key))
    return found


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), example=st.sampled_from(EXAMPLES), other=JSON)
def test_whatever_stands_in_a_field_is_read_or_refused(
    tmp_path: Path, data: st.DataObject, example: Any, other: Any
) -> None:
    """One value of a good file replaced by any other: never an error of ours, also redacted."""
    changed = json.loads(json.dumps(example))
    *path, last = data.draw(st.sampled_from(places(changed)))
    holder = changed
    for key in path:
        holder = holder[key]
    holder[last] = other
    try:
        conversations = read(tmp_path, changed)
    except PasshatError:
        return
    for conversation in conversations:
        json.dumps(redact(conversation)[0].dump())


@pytest.mark.slow
def test_memory_holds_one_conversation_not_the_file(tmp_path: Path) -> None:
    """3 MB of conversations are read within 2 MB, as JSONL and as a list."""
    padded = OPENAI | {"pad": "x" * 10_000}
    for content in (lines(*[padded] * 300), [padded] * 300):
        file = write(tmp_path, content)
        tracemalloc.start()
        count = sum(1 for _ in read_conversations(file))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == 300
        assert peak < 2_000_000


def test_reading_goes_on_only_as_far_as_is_asked(tmp_path: Path) -> None:
    """The first conversation is there before the last line has been looked at."""
    conversations = read_conversations(write(tmp_path, lines(OPENAI, OPENAI) + "{"))
    assert [c.format for c in islice(conversations, 1)] == [Format.OPENAI_CHAT]
