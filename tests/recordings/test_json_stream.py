"""Reading JSON a piece at a time."""

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.recordings import json_stream
from passhat.recordings.json_stream import Damage, first_character, list_items, members
from passhat.recordings.readers import read_conversations

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=10,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A place for a file."""
    return tmp_path / "file.json"


@settings(max_examples=50)
@given(values=st.lists(VALUES), chunk=st.integers(1, 40), indent=st.sampled_from([None, 2]))
def test_a_list_is_read_as_it_is_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], chunk: int, indent: int | None
) -> None:
    """No value is lost or changed where one piece ends and the next begins."""
    file = tmp_path_factory.getbasetemp() / "cut.json"
    file.write_text(json.dumps(values, indent=indent), encoding="utf-8")
    whole, json_stream.CHUNK = json_stream.CHUNK, chunk  # type: ignore[misc]
    try:
        assert list(list_items(file)) == values
    finally:
        json_stream.CHUNK = whole  # type: ignore[misc]


def test_an_objects_streamed_list_comes_value_by_value(file: Path) -> None:
    """The other members come whole, in the order of the file."""
    file.write_text('{"info": {"a": 1}, "runs": [1, [2]], "runs_too": [3], "empty": {}}')
    pairs = [("info", {"a": 1}), ("runs", 1), ("runs", [2]), ("runs_too", [3]), ("empty", {})]
    assert list(members(file, "runs")) == pairs
    file.write_text('{"runs": []}')
    assert list(members(file, "runs")) == []


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('[{"a": 1}, {"a": 2', 1),
        ('[{"a": 1}, {"a": "b', 1),
        ('[{"a": 1}, {"a": 2}', 2),
        ('[{"a": 1}, {"a" 2}, {"a": 3}]', 1),
        ('[{"a": 1} {"a": 2}]', 1),
        ('[{"a": 1}, nonsense]', 1),
        ("[", 0),
        ("[1, 2,", 2),
    ],
)
def test_a_damaged_list_gives_what_stands_before(file: Path, text: str, read: int) -> None:
    """And then says where it is damaged."""
    file.write_text(text)
    *values, last = list_items(file)
    assert isinstance(last, Damage)
    assert len(values) == read


def test_nesting_without_end_is_damage(file: Path) -> None:
    """Not a crash."""
    file.write_text("[1, " + "[" * 200_000)
    first, damage = list_items(file)
    assert first == 1
    assert damage == Damage("nested too deeply")


def test_bytes_that_are_no_text_are_damage(file: Path) -> None:
    """From there on; what stands before is read."""
    file.write_bytes(b"[1, " + b" " * 300_000 + b"\xff]")
    first, damage = list_items(file)
    assert first == 1
    assert "not UTF-8" in damage.reason
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no JSON file"):
        first_character(file)


def test_a_large_file_needs_the_memory_of_one_record(file: Path) -> None:
    """Thirty megabytes are read with less than four."""
    record = json.dumps({"text": "x" * 100_000})
    with file.open("w") as out:
        out.write("[" + ",".join([record] * 300) + "]")
    tracemalloc.start()
    assert sum(1 for _ in list_items(file)) == 300
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_nobody_waits_for_it(file: Path) -> None:
    """Readers start a file over; a pipe gives its content once, or never."""
    os.mkfifo(file)
    for opening in (first_character, read_conversations):
        with pytest.raises(UsageError, match="is a pipe or a device; save"):
            opening(file)
