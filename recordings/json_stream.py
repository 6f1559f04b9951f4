"""JSON files read a piece at a time, so that a file of any size needs the memory of one record.

A file that breaks off, or is damaged somewhere, gives what stands before that place and then a
`Damage` that says where it is.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from ..errors import UsageError

CHUNK: Final = 1 << 18  # characters read at once
MAX_RECORD: Final = 1 << 28
"""Characters that one record may have; beyond, the file is taken for damaged."""
_MARGIN: Final = 16  # a token cut off at the end of what was read is reported up to so far before

_IN_NUMBERS: Final = "0123456789.eE+-"


class Damage(NamedTuple):
    """Where a file stops being readable, and why."""

    reason: str


class _Damaged(Exception):  # noqa: N818 - caught here, turned into a Damage
    pass


class _Text:
    """A window that moves over a file."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.text = ""
        self.at = 0
        self.before = 0  # characters that were thrown away

    def more(self) -> bool:
        """Read on, as much again as is held; False at the end of the file."""
        self.text, self.before, self.at = self.text[self.at :], self.before + self.at, 0
        if len(self.text) > MAX_RECORD:
            raise _Damaged(f"no record ends within {MAX_RECORD} characters")
        try:
            read = self.file.read(max(CHUNK, len(self.text)))
        except UnicodeDecodeError as error:
            raise _Damaged(f"not UTF-8 text: {error.reason}") from error
        self.text += read
        return bool(read)

    def peek(self) -> str:
        """The next character that is no white space; "" at the end. It is not taken."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in " \t\r\n":
                    return self.text[self.at]
                self.at += 1
            if not self.more():
                return ""

    def take(self, wanted: str) -> str:
        """Take the next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            what = repr(found) if found else "the end of the file"
            raise _Damaged(f"{what} at character {self.before + self.at}, not {wanted!r}")
        self.at += 1
        return found

    def value(self) -> Any:
        """Take one whole value."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                raise _Damaged("nested too deeply") from None
            except ValueError as error:
                if not self._cut_off(error) or not self.more():
                    raise _Damaged(
                        f"{error.args[0].split(':')[0]} (character {self.before + self.at})"
                    ) from None
                continue
            if len(self.text) - end < _MARGIN and not self.text[end:].strip(_IN_NUMBERS):
                # A number may go on in what was not read yet.
                length = end - self.at
                if self.more():
                    continue
                end = self.at + length
            self.at = end
            return value

    def _cut_off(self, error: ValueError) -> bool:
        if not isinstance(error, json.JSONDecodeError):
            return False
        unfinished = error.msg.startswith(("Unterminated string", "Invalid \\"))
        return unfinished or error.pos >= len(self.text) - _MARGIN


_DECODER = json.JSONDecoder()


def check_file(path: Path) -> None:
    """Refuse what gives its content only once, or never ends: readers here start over.

    Raises:
        UsageError: It is a pipe or a device.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"{str(path)!r} is a pipe or a device; save what it gives in a file first")


def _open(path: Path) -> IO[str]:
    check_file(path)
    try:
        return path.open(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error


def first_character(path: Path) -> str:
    """The first character of a file that is no white space; "" if it has none.

    Raises:
        UsageError: It cannot be read, or is not text.
    """
    with _open(path) as file:
        try:
            return _Text(file).peek()
        except _Damaged as damage:
            raise UsageError(f"{str(path)!r} is no JSON file: {damage}") from None


def list_items(path: Path) -> Iterator[Any]:
    """The values of a file that is one JSON list.

    Yields:
        Each value, and a last `Damage` if the list is not complete.
    """
    with _open(path) as file:
        text = _Text(file)
        try:
            yield from _items(text)
        except _Damaged as damage:
            yield Damage(str(damage))


def _items(text: _Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield text.value()
        if text.take(",]") == "]":
            return


def members(path: Path, *streamed: str) -> Iterator[tuple[str, Any]]:
    """The members of a file that is one JSON object, the values of some lists each on its own.

    Args:
        path: The file.
        *streamed: Names of the members whose lists are given value by value.

    Yields:
        Name and value; for ``streamed``, one pair per value of its list. A last pair of "" and a
        `Damage` if the object is not complete.
    """
    with _open(path) as file:
        text = _Text(file)
        try:
            yield from _members(text, streamed)
        except _Damaged as damage:
            yield "", Damage(str(damage))


def _members(text: _Text, streamed: Container[str]) -> Iterator[tuple[str, Any]]:
    text.take("{")
    if text.peek() == "}":
        return
    while True:
        text.peek()
        name = text.value()
        text.take(":")
        if name in streamed and text.peek() == "[":
            for value in _items(text):
                yield name, value
        else:
            yield str(name), text.value()
        if text.take(",}") == "}":
            return
