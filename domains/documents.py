"""Worlds made of documents: other benchmarks' databases, kept as they wrote them.

Each section of such a database (users, orders, ...) is a table whose rows hold a document as JSON
text, with its id and its place in the file. So key order, extra keys and the difference between 25
and 25.0 survive, the journal tells which documents an episode touched, and the benchmark's own hash
of the whole database can be computed from our rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from ..transcript import RowChange
from .database import Database
from .world import World

Document = dict[str, Any]


@lru_cache(maxsize=4096)
def parsed(text: str) -> Any:
    """A document's text as an object that callers share: read it, never change it."""
    return json.loads(text)


class Collection:
    """One section of a database of documents: a table, and what tools do with it.

    Args:
        metadata: The schema that the table joins.
        name: Of the section, as in the files.
        indexed: Top-level fields that `where` looks for.
    """

    def __init__(self, metadata: MetaData, name: str, indexed: Sequence[str] = ()) -> None:
        self.name = name
        self.table = table = Table(
            name,
            metadata,
            Column("id", Text, primary_key=True),
            Column("position", Integer, nullable=False, index=True, info={"compare": False}),
            Column("document", Text, nullable=False, info={"differences": text_differences}),
        )
        fields = {field: _extract(table, field) for field in indexed}
        for field, extract in fields.items():
            Index(f"{name}_{field}", extract)
        by_id = table.c.id == bindparam("key")
        everything = select(table.c.id, table.c.document).order_by(table.c.position)
        self._one = select(table.c.document).where(by_id)
        self._all = everything
        self._where = {
            field: everything.where(extract == bindparam("value"))
            for field, extract in fields.items()
        }
        self._update = update(table).values(document=bindparam("text")).where(by_id)
        self._insert = insert(table).values(
            id=bindparam("key"),
            position=select(func.coalesce(func.max(table.c.position), 0) + 1).scalar_subquery(),
            document=bindparam("text"),
        )
        self._delete = delete(table).where(by_id)

    def text(self, db: Database, key: object) -> str | None:
        """A document as text; None if there is none of that id, or the id is not a string.

        Raises:
            TypeError: The id is a list or an object, as a look-up in a dict would raise.
        """
        hash(key)
        row = db.row(self._one, key=key) if isinstance(key, str) else None
        return None if row is None else row[0]

    def get(self, db: Database, key: object) -> Document | None:
        """A document of the caller's own; changing it changes no row."""
        text = self.text(db, key)
        return None if text is None else json.loads(text)

    def all(self, db: Database) -> Iterator[tuple[str, Document]]:
        """Every id with its document, in file order; for reading only."""
        return ((key, parsed(text)) for key, text in db.rows(self._all))

    def where(self, db: Database, field: str, value: object) -> list[Document]:
        """Documents whose indexed field equals a value, in file order; for reading only."""
        if not isinstance(value, str):
            return []
        return [parsed(text) for _, text in db.rows(self._where[field], value=value)]

    def put(self, db: Database, key: str, document: Document) -> None:
        """Write a document: over the one of that id, or as the last one."""
        text = json.dumps(document)
        if not db.write(self._update, key=key, text=text):
            db.write(self._insert, key=key, text=text)

    def remove(self, db: Database, key: str) -> None:
        """Delete a document."""
        db.write(self._delete, key=key)

    @contextmanager
    def editing(self, db: Database, key: str) -> Iterator[Document]:
        """Change a document in place; what was changed before an error stays changed.

        That is how tools behave that work on objects in memory.
        """
        text = self.text(db, key)
        assert text is not None
        document = json.loads(text)
        try:
            yield document
        finally:
            if json.dumps(document) != text:
                self.put(db, key, document)


def _extract(table: Table, field: str) -> Any:
    return func.json_extract(table.c.document, literal_column(f"'$.{field}'"))


def document_rows(sections: Mapping[str, Mapping[str, Document]]) -> dict[str, list[Document]]:
    """Sections of documents as rows of the tables that `Collection` makes.

    >>> document_rows({"users": {"ana": {"age": 30}}})
    {'users': [{'id': 'ana', 'position': 1, 'document': '{"age": 30}'}]}
    """
    return {
        name: [
            {"id": key, "position": position, "document": json.dumps(document)}
            for position, (key, document) in enumerate(section.items(), start=1)
        ]
        for name, section in sections.items()
    }


# --- hashes of a whole database -----------------------------------------------------------------


class HashStyle(NamedTuple):
    """How a benchmark writes its database down before hashing it.

    Attributes:
        document: One document as text, from the document.
        entry: One entry of a section or of the database, from its key and its value's text.
        join: All entries as one text.
    """

    document: Callable[[Document], str]
    entry: Callable[[str, str], str]
    join: Callable[[Iterable[str]], str]


def _sorted_pairs(value: Any) -> Any:
    """Dicts as tuples of pairs sorted by key, lists as tuples, all the way down."""
    if isinstance(value, dict):
        return tuple((key, _sorted_pairs(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return tuple(map(_sorted_pairs, value))
    return value


def _tuple_text(items: Iterable[str]) -> str:
    listed = list(items)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


TAU_BENCH_HASH = HashStyle(
    document=lambda document: str(_sorted_pairs(document)),
    entry=lambda key, text: f"({key!r}, {text})",
    join=_tuple_text,
)
"""SHA-256 of the database as nested tuples of sorted pairs, in Python's notation."""

TAU2_HASH = HashStyle(
    document=lambda document: json.dumps(document, sort_keys=True),
    entry=lambda key, text: f"{json.dumps(key)}: {text}",
    join=lambda entries: f"{{{', '.join(entries)}}}",
)
"""SHA-256 of the database as JSON with sorted keys."""


class StateHash:
    """A benchmark's hash of its whole database, worked out from the documents that changed.

    Args:
        world: The seed documents.
        style: Whose hash.
    """

    def __init__(self, world: World, style: HashStyle) -> None:
        self.style = style
        with world.fork() as db:
            self._seed = {
                name: {
                    row["id"]: self._entry(row["id"], row["document"]) for row in db.find(name, {})
                }
                for name in sorted(world.tables.tables)
            }
        self._whole = {name: self._section(name, {}) for name in self._seed}

    def _entry(self, key: str, text: str) -> str:
        return self.style.entry(key, self.style.document(json.loads(text)))

    def _section(self, name: str, changed: Mapping[str, str | None]) -> str:
        entries: dict[str, str | None] = {**self._seed[name], **changed}
        kept = (entries[key] for key in sorted(entries))
        return self.style.entry(name, self.style.join(e for e in kept if e is not None))

    def of(self, changes: Iterable[RowChange] = ()) -> str:
        """The hash, in hexadecimal, of the seed with these net changes."""
        changed: dict[str, dict[str, str | None]] = {}
        for change in changes:
            (key,) = change.key
            entry = None if change.after is None else self._entry(key, change.after["document"])
            changed.setdefault(change.table, {})[key] = entry
        sections = (
            self._section(name, changed[name]) if name in changed else whole
            for name, whole in self._whole.items()
        )
        return sha256(self.style.join(sections).encode()).hexdigest()


# --- differences between two documents ----------------------------------------------------------


class ValueDifference(NamedTuple):
    """One value of a document that is not what it should be; ABSENT where it is not there."""

    path: str
    expected: Any
    found: Any


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


def value_differences(
    expected: Any, found: Any, *, exact: bool = False, path: str = ""
) -> Iterator[ValueDifference]:
    """Where two JSON values differ, as paths such as ``.items[0].price``.

    Args:
        expected: What should be there.
        found: What is there.
        exact: Tell 25 from 25.0, as hashes of text do.
        path: Where the two values stand.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in dict.fromkeys((*expected, *found)):
            pair = expected.get(key, ABSENT), found.get(key, ABSENT)
            yield from value_differences(*pair, exact=exact, path=f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        for index in range(max(len(expected), len(found))):
            pair = _at(expected, index), _at(found, index)
            yield from value_differences(*pair, exact=exact, path=f"{path}[{index}]")
    elif not _equal(expected, found, exact):
        yield ValueDifference(path, expected, found)


def text_differences(expected: str, found: str) -> Iterator[tuple[str, Any, Any]]:
    """Where two documents' texts differ as values: name of the part, what it should be, what it is.

    25 and 25.0 are one number; what is not there is None.
    """
    for path, wanted, value in value_differences(parsed(expected), parsed(found)):
        yield path.removeprefix("."), _or_none(wanted), _or_none(value)


def _or_none(value: Any) -> Any:
    return None if value is ABSENT else value


def _at(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def _equal(expected: Any, found: Any, exact: bool) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool) or exact:
        return type(expected) is type(found) and bool(expected == found)
    return bool(expected == found)
