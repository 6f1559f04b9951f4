"""A SQLite database for one episode: forked from a world, journalled, thrown away at the end.

Statements are SQLAlchemy Core, compiled once and then run on the raw connection, which costs a
tenth of what a SQLAlchemy connection costs per statement. A journal kept by triggers notes every
row written, so that a fork and the outcome cost what the episode wrote, not what the world holds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import MetaData, Table
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql import Executable
from sqlalchemy.sql.elements import ClauseElement

from ..transcript import RowChange

if TYPE_CHECKING:
    from .world import World

_DIALECT = SQLiteDialect_pysqlite(paramstyle="named")
JOURNAL = "_journal"


@lru_cache(maxsize=2048)
def _compiled(statement: Executable) -> tuple[str, dict[str, Any]]:
    """SQL text and default parameters of a Core statement, compiled once per statement object."""
    assert isinstance(statement, ClauseElement)
    compiled = statement.compile(dialect=_DIALECT)
    sql = str(compiled)
    if "POSTCOMPILE" in sql:
        raise TypeError(
            "a list parameter cannot be compiled once; join json_each(:ids) instead of .in_(ids): "
            + sql
        )
    return sql, dict(compiled.params)


class Database:
    """One episode's rows. Made by `World.fork`, never shared, given back with `close`.

    Everything happens inside one transaction that is never committed, so giving the connection back
    is a rollback: it costs what was written, and the next episode finds the seed world.
    """

    _CLOSED: ClassVar[sqlite3.Connection]
    """What a closed database holds, so that using it says "closed database"."""

    def __init__(self, world: World, connection: sqlite3.Connection) -> None:
        self.world = world
        self.connection = connection
        self._start = 0
        connection.execute("BEGIN")

    # --- statements -------------------------------------------------------------------------

    def rows(self, statement: Executable, **values: Any) -> list[sqlite3.Row]:
        """All rows of a Core select, readable by column name."""
        sql, defaults = _compiled(statement)
        return self.connection.execute(sql, defaults | values).fetchall()

    def row(self, statement: Executable, **values: Any) -> sqlite3.Row | None:
        """The first row of a Core select, or None."""
        sql, defaults = _compiled(statement)
        row: sqlite3.Row | None = self.connection.execute(sql, defaults | values).fetchone()
        return row

    def write(self, statement: Executable, **values: Any) -> int:
        """Run a Core insert, update or delete; returns the number of rows it touched."""
        sql, defaults = _compiled(statement)
        return self.connection.execute(sql, defaults | values).rowcount

    def find(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of one table, by equal columns: for row assertions, rules and tests.

        Raises:
            KeyError: No such table or column.
        """
        columns = self.world.tables.tables[table].columns
        names = [columns[name].name for name in where]
        sql = " AND ".join(f'"{name}" IS ?' for name in names) or "1"
        found = self.connection.execute(f'SELECT * FROM "{table}" WHERE {sql}', (*where.values(),))
        return [dict(row) for row in found.fetchall()]

    def set_values(self, table: str, where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
        """Change rows of one table, found by equal columns; returns how many: for task setups.

        Raises:
            KeyError: No such table or column.
        """
        columns = self.world.tables.tables[table].columns
        pairs = ", ".join(f'"{columns[name].name}" = ?' for name in values)
        sql = " AND ".join(f'"{columns[name].name}" IS ?' for name in where) or "1"
        cursor = self.connection.execute(
            f'UPDATE "{table}" SET {pairs} WHERE {sql}', (*values.values(), *where.values())
        )
        return cursor.rowcount

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Everything in the block happens, or, when it raises, nothing of it does."""
        self.connection.execute("SAVEPOINT atomic")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK TO atomic")
            raise
        finally:
            self.connection.execute("RELEASE atomic")

    # --- the journal ------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """How many row writes the journal holds; a position to ask `changes` from."""
        last = self.connection.execute(f"SELECT max(seq) FROM {JOURNAL}").fetchone()[0]
        return int(last or 0)

    def begin_episode(self) -> None:
        """What was written so far is setup: `changes` counts from here."""
        self._start = self.position

    def changes(self, since: int | None = None) -> tuple[RowChange, ...]:
        """Net changes per row since a `position` (default: since the episode began).

        A row changed and changed back is no change. Ordered by first write.
        """
        net: dict[tuple[str, tuple[Any, ...]], list[dict[str, Any] | None]] = {}
        for table, before, after in self._journal(self._start if since is None else since):
            for key, old, new in _per_key(table, before, after):
                net.setdefault((table.name, key), [old, None])[1] = new
        # Not validated: these are the database's own values.
        return tuple(
            RowChange.model_construct(table=table, key=key, before=first, after=last)
            for (table, key), (first, last) in net.items()
            if first != last
        )

    def _journal(
        self, since: int
    ) -> Iterator[tuple[Table, dict[str, Any] | None, dict[str, Any] | None]]:
        """Writes since a position: table, row before (None: insert), row after (None: delete)."""
        written = self.connection.execute(
            f"SELECT * FROM {JOURNAL} WHERE seq > ? ORDER BY seq", (since,)
        )
        for entry in written.fetchall():
            _, name, event, *values = entry
            table = self.world.tables.tables[name]
            columns = _columns(table)
            middle = len(values) // 2
            before = dict(zip(columns, values, strict=False))
            after = dict(zip(columns, values[middle:], strict=False))
            yield table, None if event == "INSERT" else before, None if event == "DELETE" else after

    # --- life ---------------------------------------------------------------------------------

    def fork(self) -> Database:
        """An independent copy. Costs what was written here, not the size of the world."""
        twin = self.world.fork()
        for table, before, after in self._journal(0):
            _replay(twin.connection, table, before, after)
        twin._start = self._start
        return twin

    def close(self) -> None:
        """Throw the rows away and give the connection back to the world. Closing twice is fine."""
        if self.connection is not Database._CLOSED:
            connection, self.connection = self.connection, Database._CLOSED
            self.world.take_back(connection)

    def __del__(self) -> None:
        self.close()  # somebody forgot to

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _per_key(
    table: Table, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any] | None, dict[str, Any] | None]]:
    """One write as changes to keys: an update that moves the key is a delete and an insert."""
    if before is not None and after is not None and _key(table, before) == _key(table, after):
        yield _key(table, before), before, after
        return
    if before is not None:
        yield _key(table, before), before, None
    if after is not None:
        yield _key(table, after), None, after


def _closed_connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.close()
    return connection


def _key(table: Table, row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.primary_key)


# --- triggers -----------------------------------------------------------------------------------


def journal_ddl(tables: MetaData) -> Iterator[str]:
    """The journal table and three triggers per table of the domain.

    The journal's columns have no type, so that each value is kept as it is, to the last bit.
    """
    width = max((len(table.columns) for table in tables.sorted_tables), default=1)
    old, new = ([f"{side}{n}" for n in range(width)] for side in ("old", "new"))
    yield f"CREATE TABLE {JOURNAL} (seq INTEGER PRIMARY KEY, tbl, event, {', '.join(old + new)})"
    for table in tables.sorted_tables:
        if not table.primary_key:
            raise TypeError(f"table {table.name!r} needs a primary key to be journalled")
        columns = _columns(table)
        sides = {
            "OLD": dict(zip(old, (f'OLD."{name}"' for name in columns), strict=False)),
            "NEW": dict(zip(new, (f'NEW."{name}"' for name in columns), strict=False)),
        }
        for event, rows in (("INSERT", ["NEW"]), ("UPDATE", ["OLD", "NEW"]), ("DELETE", ["OLD"])):
            values = {target: value for row in rows for target, value in sides[row].items()}
            yield (
                f'CREATE TRIGGER "{JOURNAL}_{table.name}_{event}" AFTER {event} ON "{table.name}" '
                f"BEGIN INSERT INTO {JOURNAL} (tbl, event, {', '.join(values)}) "
                f"VALUES ('{table.name}', '{event}', {', '.join(values.values())}); END"
            )


@lru_cache(maxsize=1024)
def _columns(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


# --- replaying a journal on a fork --------------------------------------------------------------


@lru_cache(maxsize=1024)
def _replay_sql(table: Table) -> tuple[str, str, str]:
    names = _columns(table)
    where = " AND ".join(f'"{column.name}" = ?' for column in table.primary_key)
    quoted = [f'"{name}"' for name in names]
    return (
        f'INSERT INTO "{table.name}" ({", ".join(quoted)}) VALUES ({", ".join("?" * len(names))})',
        f'UPDATE "{table.name}" SET {", ".join(f"{q} = ?" for q in quoted)} WHERE {where}',
        f'DELETE FROM "{table.name}" WHERE {where}',
    )


def _replay(
    connection: sqlite3.Connection,
    table: Table,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    insert, update, delete = _replay_sql(table)
    values: Sequence[Any] = tuple(after.values()) if after else ()
    if before is None:
        connection.execute(insert, values)
    elif after is None:
        connection.execute(delete, _key(table, before))
    else:
        connection.execute(update, (*values, *_key(table, before)))


Database._CLOSED = _closed_connection()
