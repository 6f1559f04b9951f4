"""World: the rows every episode of a domain starts from, with a clock of its own."""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table, create_engine
from sqlalchemy.pool import StaticPool

from .database import Database, journal_ddl

MAX_IDLE = 64
"""Connections kept ready for the next episode; more than are open at once in most runs."""


class World:
    """The seed rows of a domain; `fork` gives an episode a database of its own.

    Args:
        tables: The schema.
        rows: Table name to rows, each a dict of column values.
        now: The world's clock: "today" for tools and policy, never the machine's.

    A fork takes an idle connection that already holds the seed (about 10 us), or copies the seed
    image into a new one (one memory copy of the database).
    """

    def __init__(
        self, tables: MetaData, rows: Mapping[str, Iterable[Mapping[str, Any]]], now: datetime
    ) -> None:
        self.tables = tables
        self.now = now
        self._rows = rows
        self._idle: deque[sqlite3.Connection] = deque()
        weakref.finalize(self, _close_all, self._idle)

    @classmethod
    def shipped(cls, domain: str, tables: MetaData) -> World:
        """The world in ``data/<domain>/world/``: one JSON object a line, one file a table."""
        folder = files(__package__.rpartition(".")[0]) / "data" / domain
        about = json.loads((folder / "world.json").read_text(encoding="utf-8"))
        return cls(tables, _RowFiles(folder / "world"), datetime.fromisoformat(about["now"]))

    @cached_property
    def image(self) -> bytes:
        """The seed database as SQLite's own bytes, journal and triggers included."""
        with closing(_connect()) as connection:
            self.tables.create_all(_engine_on(connection))
            connection.execute("BEGIN")
            for table in self.tables.sorted_tables:
                _insert(connection, table, self._rows.get(table.name, ()))
            connection.execute("COMMIT")
            for statement in journal_ddl(self.tables):
                connection.execute(statement)
            connection.execute("VACUUM")
            return connection.serialize()

    def fork(self) -> Database:
        """A database that holds the seed and is shared with nobody."""
        try:
            connection = self._idle.pop()
        except IndexError:
            image = self.image
            connection = _connect()
            connection.deserialize(image)
            connection.execute("PRAGMA foreign_keys = ON")
            # Without this, INSERT OR REPLACE deletes rows behind the journal's back.
            connection.execute("PRAGMA recursive_triggers = ON")
        return Database(self, connection)

    def take_back(self, connection: sqlite3.Connection) -> None:
        """Undo everything done on a connection and keep it for the next fork."""
        if connection.in_transaction and len(self._idle) < MAX_IDLE:
            connection.execute("ROLLBACK")
            self._idle.append(connection)
        else:  # Somebody committed: these rows are no longer the seed.
            connection.close()

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A SQLAlchemy connection to a copy of the seed, to look around; gone afterwards."""
        with closing(_connect()) as raw:
            raw.deserialize(self.image)
            with _engine_on(raw).connect() as connection:
                yield connection


def _close_all(connections: deque[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, check_same_thread=False, cached_statements=512
    )
    connection.row_factory = sqlite3.Row
    return connection


def _insert(
    connection: sqlite3.Connection, table: Table, rows: Iterable[Mapping[str, Any]]
) -> None:
    """Insert rows as they are; a column that a row does not name is NULL.

    Raises:
        KeyError: A row names a column that the table does not have.
    """
    names = [column.name for column in table.columns]
    marks = ", ".join("?" * len(names))
    rows = list(rows)
    for stranger in {name for row in rows for name in row}.difference(names):
        raise KeyError(f"table {table.name!r} has no column {stranger!r}; it has {names}")
    connection.executemany(
        f'INSERT INTO "{table.name}" VALUES ({marks})',  # noqa: S608
        ([row.get(name) for name in names] for row in rows),
    )


def _engine_on(connection: sqlite3.Connection) -> Engine:
    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)


class _RowFiles(Mapping[str, list[dict[str, Any]]]):
    """The row files of a world folder, read when asked for."""

    def __init__(self, folder: Traversable) -> None:
        self.folder = folder

    def __getitem__(self, table: str) -> list[dict[str, Any]]:
        file = self.folder / f"{table}.jsonl"
        if not file.is_file():
            raise KeyError(table)
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def __iter__(self) -> Any:
        return (f.name.removesuffix(".jsonl") for f in self.folder.iterdir())

    def __len__(self) -> int:
        return sum(1 for _ in self)
