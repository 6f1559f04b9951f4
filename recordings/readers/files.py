"""Values of a file, one at a time: items of a JSON list, lines of JSONL, rows of CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from ...errors import UsageError
from ..json_stream import MAX_RECORD, Damage, check_file, list_items

T = TypeVar("T")

Values = Callable[[], Iterator[tuple[int, Any]]]
"""Reads a file from its start: values with their positions (item or line, from 1), or `Damage`."""

_BOM: Final = b"\xef\xbb\xbf"


def first_byte(path: Path) -> str:
    """The first character of a file that is no white space; "" if there is none, "?" if no ASCII.

    Raises:
        UsageError: It cannot be read.
    """
    check_file(path)
    try:
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(_BOM).lstrip()
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error
    return "" if not start else chr(start[0]) if start[0] < 128 else "?"


def items(path: Path) -> Iterator[tuple[int, Any]]:
    """The items of a JSON list."""
    yield from enumerate(list_items(path), start=1)


def lines(path: Path, limit: int = MAX_RECORD) -> Iterator[tuple[int, Any]]:
    """The values of a JSONL file; a line that is no JSON is a `Damage`, and the next goes on.

    Args:
        path: The file.
        limit: Bytes that one line may have.
    """
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(limit + 1):
            number += 1
            if len(raw) > limit:
                while not raw.endswith(b"\n") and (raw := file.readline(limit)):
                    pass
                yield number, Damage(f"line longer than {limit} bytes")
            elif line := raw.removeprefix(_BOM if number == 1 else b"").strip():
                yield number, parsed(line)


def parsed(text: bytes) -> Any:
    """The value of a JSON text, or `Damage`."""
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Damage(f"not UTF-8 text: {error.reason} at byte {error.start}")
    except RecursionError:
        return Damage("nested too deeply")
    except ValueError as error:
        return Damage(str(error))


def rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a CSV file (comma, semicolon or tab), as objects named by its first line."""
    before = csv.field_size_limit(min(MAX_RECORD, sys.maxsize))
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = file.readline()
            separator = next((s for s in "\t;" if s in head), ",")
            file.seek(0)
            for number, row in enumerate(csv.DictReader(file, delimiter=separator), start=1):
                yield number, {name: value for name, value in row.items() if name is not None}
    except UnicodeDecodeError as error:
        yield number + 1, Damage(f"not UTF-8 text: {error.reason}")
    except csv.Error as error:
        yield number + 1, Damage(f"not CSV: {error}")
    finally:
        csv.field_size_limit(before)


def sessions(path: Path, session_of: Callable[[Any], str]) -> Iterator[tuple[str, list[Any]]]:
    """The values of a JSONL file, session by session, in the order in which sessions begin.

    The file is read twice, so that memory holds one session at a time, however they are mixed.

    Args:
        path: The file.
        session_of: Names the session of a value; "" where it does not say.
    """
    with path.open("rb") as file:
        for session, places in by_session(_places(file, session_of)).items():
            yield session, [_at(file, place) for place in places]


def by_session(named: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Things by session; one that names none belongs to the session before it, or to the first.

    >>> by_session([("", 1), ("a", 2), ("b", 3), ("", 4)])
    {'a': [1, 2], 'b': [3, 4]}
    """
    grouped: dict[str, list[T]] = {}
    last = ""
    for session, thing in named:
        last = session or last
        grouped.setdefault(last, []).append(thing)
    unnamed = grouped.pop("", [])
    if unnamed:
        first = next(iter(grouped), "")
        grouped[first] = unnamed + grouped.get(first, [])
    return grouped


def _places(file: IO[bytes], session_of: Callable[[Any], str]) -> Iterator[tuple[str, int]]:
    """For each line that is not empty: its session, and where it starts."""
    start = 0
    for raw in file:
        if text := raw.removeprefix(_BOM).strip():
            value = parsed(text)
            yield ("" if isinstance(value, Damage) else session_of(value)), start
        start += len(raw)


def _at(file: IO[bytes], place: int) -> Any:
    file.seek(place)
    return parsed(file.readline().removeprefix(_BOM).strip())
