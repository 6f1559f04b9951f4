"""Full-text queries as people write them, and snippets of what they find.

A query is made of words, "quoted phrases", prefixes*, AND, OR, NOT and parentheses; several words
side by side must all be there. ``user:``, ``agent:``, ``call:`` and ``result:`` before a word look
only there. Whatever stands in a word (``#W8240155``, ``gift-card``) is looked for as it stands: no
character but these has a meaning.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from markupsafe import Markup

from ..errors import UsageError
from ..harness.report.page import said

COLUMNS: Final = ("user", "agent", "call", "result")
"""Where words can stand: what was said by whom, in a tool call, in what it gave."""

TOKENS: Final = "unicode61 remove_diacritics 2"
LONGEST: Final = 1_000
MOST_WORDS: Final = 60
"""Of a query: its characters and its words."""

_PART = re.compile(r'(?P<column>user|agent|call|result):(?=\S)|"(?P<phrase>[^"]*)"(?P<star>\*?)|'
                   r'(?P<paren>[()])|(?P<quote>")|(?P<word>[^\s()"]+)')  # fmt: skip
_OPERATORS: Final = ("AND", "OR", "NOT")
_OPEN, _CLOSE = "\x02", "\x03"  # around what was found, until it is markup
_LONGEST_PIECE: Final = 160


_MARKS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def searchable(text: str) -> str:
    r"""Text as it is looked for: without marks that nobody sees, some of which pass for letters.

    >>> searchable("a\u2066b\0")
    'a b '
    """
    return _MARKS.sub(" ", text).encode("utf-8", "replace").decode()


def expression(query: str) -> str:
    """The query in the words of FTS5.

    Raises:
        UsageError: It has no words, or cannot be understood; says why.

    >>> expression('refund gift-card* OR user:"my card"')
    '("refund" AND "gift-card"*) OR {user} : "my card"'
    """
    if len(query) > LONGEST:
        raise UsageError(f"a query has at most {LONGEST:,} characters, not {len(query):,}")
    parts = list(_parts(searchable(query)))
    if not any(part.startswith(('"', "{")) for part in parts):
        raise UsageError("there is no word in the query to look for")
    if len(parts) > MOST_WORDS:
        raise UsageError(f"a query has at most {MOST_WORDS} words and signs, not {len(parts)}")
    return _Reader(parts).whole()


def _parts(query: str) -> Iterable[str]:
    column = ""
    for found in _PART.finditer(query):
        if found["quote"]:
            raise UsageError('a quotation mark is not closed: write "two of them"')
        if found["column"]:
            column = f"{{{found['column']}}} : "
        elif found["paren"] or found["word"] in _OPERATORS:
            if column:
                raise UsageError(f"a word must follow {column.strip('{} :')!r}:")
            yield found["paren"] or found["word"]
        else:
            word, star = found["word"], found["star"] or ""
            if word is None:
                word = found["phrase"]
            elif word.endswith("*"):
                word, star = word.rstrip("*"), "*"
            if any(map(str.isalnum, word)):
                yield f'{column}"{word}"{star}'
            column = ""


class _Reader:
    """Reads a query: OR binds least, then AND, then NOT; words side by side are joined by AND."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = [*parts]

    def whole(self) -> str:
        read = self._either()
        if self._parts:
            raise UsageError("a parenthesis is closed that was never opened")
        return read

    def _either(self) -> str:
        sides = [self._all()]
        while self._take("OR"):
            sides.append(self._all())
        if len(sides) == 1:
            return sides[0]
        return " OR ".join(f"({side})" if " AND " in side else side for side in sides)

    def _all(self) -> str:
        sides = [self._without()]
        while self._parts and self._parts[0] not in ("OR", ")"):
            self._take("AND")
            sides.append(self._without())
        return " AND ".join(sides)

    def _without(self) -> str:
        read = self._one()
        while self._take("NOT"):
            read = f"({read} NOT {self._one()})"
        return read

    def _one(self) -> str:
        if self._take("("):
            inside = self._either()
            if not self._take(")"):
                raise UsageError("a parenthesis is not closed")
            return f"({inside})"
        if not self._parts or self._parts[0] in (*_OPERATORS, ")"):
            found = repr(self._parts[0]) if self._parts else "the end"
            raise UsageError(f"a word is missing before {found}: AND, OR and NOT stand between two")
        return self._parts.pop(0)

    def _take(self, part: str) -> bool:
        if self._parts and self._parts[0] == part:
            self._parts.pop(0)
            return True
        return False


# --- snippets -----------------------------------------------------------------------------------


class Words(NamedTuple):
    """The words of an event: the column they stand in, and the text."""

    column: str
    text: str


def snippets(wanted: str, found: Sequence[Words]) -> list[Markup]:
    """The part of each text that answers an expression, with what was found marked.

    Args:
        wanted: What `expression` made.
        found: Texts that hold it, `searchable`.
    """
    with closing(sqlite3.connect(":memory:")) as memory:
        make_table(memory, "words")
        for row, words in enumerate(found):
            memory.execute(
                f"INSERT INTO words(rowid, {words.column}) VALUES (?, ?)",  # noqa: S608
                (row, words.text),
            )
        rows = memory.execute(
            "SELECT rowid, snippet(words, -1, ?, ?, ' … ', 28) FROM words WHERE words MATCH ?",
            (_OPEN, _CLOSE, wanted),
        )
        marked = {row: _marked(text) for row, text in rows}
    return [marked.get(row, said(words.text, 200)) for row, words in enumerate(found)]


def make_table(connection: sqlite3.Connection, name: str, *, contentless: bool = False) -> None:
    """Make the full-text table."""
    options = [*COLUMNS, f"tokenize='{TOKENS}'", *(["content=''"] if contentless else [])]
    connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({', '.join(options)})")


def _marked(text: str) -> Markup:
    pieces = []
    for place, piece in enumerate(re.split(f"[{_OPEN}{_CLOSE}]", text)):
        shown = said(_shortened(piece))
        pieces.append(Markup("<mark>{}</mark>").format(shown) if place % 2 else shown)
    return Markup().join(pieces)


def _shortened(piece: str) -> str:
    """A piece of a snippet; the middle of an endless word is left out."""
    half = _LONGEST_PIECE // 2
    return piece if len(piece) <= _LONGEST_PIECE else f"{piece[:half]} … {piece[-half:]}"
