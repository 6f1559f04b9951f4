"""Opening the store's database, and saying in one line what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from ..errors import InfrastructureError, UsageError

BUSY_SECONDS: Final = 30.0
"""How long a writer waits for another one; a transaction here takes about a millisecond."""


def open_engine(text: str, *, write: bool, create: bool) -> tuple[Engine, str]:
    """An engine for a path or a database URL, and what to call it in messages.

    Args:
        text: A path, or a URL such as ``postgresql+psycopg://user@host/name``.
        write: Whether it must be writable; otherwise read-only media will do.
        create: Whether a file may be missing.

    Raises:
        UsageError: It cannot be opened like that; says what to do. Nothing is created yet.
    """
    url = _url_of(text)
    name = _shown(url)
    if url.get_backend_name() == "sqlite":
        _check_file(Path(url.database or ""), write, create)
    try:
        return _engine(url, write), name
    except ModuleNotFoundError as error:
        raise UsageError(
            f"store {name!r} needs a package that is not here: pip install {error.name}"
        ) from None
    except NoSuchModuleError:
        raise UsageError(f"store {name!r}: no such kind of database") from None


def _url_of(text: str) -> URL:
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        return make_url(text)
    except ArgumentError:
        raise UsageError(
            f"store {text.split('@')[-1]!r} is neither a path nor a database URL, e.g. "
            "postgresql+psycopg://user@host/name"
        ) from None


def _shown(url: URL) -> str:
    """How messages call the store: never with a password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)


def _check_file(path: Path, write: bool, create: bool) -> None:
    """Say what is wrong with a path in words better than SQLite's "unable to open"."""
    if path.is_dir():
        raise UsageError(
            f"store {str(path)!r} is a folder; name a file, e.g. {path}/passhat.sqlite"
        )
    if not path.parent.is_dir():
        raise UsageError(f"store {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not path.exists() and not create:
        raise UsageError(
            f"there is no store {str(path)!r}; passhat run makes one, --store names another"
        )
    if write and not (_writable(path) if path.exists() else _writable(path.parent)):
        raise UsageError(f"store {str(path)!r} cannot be written; --store names another place")


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK)


def _engine(url: URL, write: bool) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url)
    path = Path(url.database or "")
    readable_only = not (_writable(path) and _writable(path.parent))
    if not write and readable_only and not Path(f"{path}-wal").exists():
        # Beside a file with a log even a reader wants to write, unless told that nobody does.
        quoted = path.absolute().as_uri().removeprefix("file://")
        url = url.set(database=f"file:{quoted}", query={"immutable": "1", "uri": "true"})
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _on_connect)
    return engine


def _on_connect(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_writing` says, not at a guess
    connection.execute("PRAGMA foreign_keys = ON")
    # With a write-ahead log this loses nothing when a process is killed, and saves a disk flush
    # per trial; a power cut may cost the last trials, which are then owed again.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -65536")  # up to 64 MiB: big runs are read whole


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that writes, committed at its end."""
    with engine.begin() as connection:
        if engine.name == "sqlite":
            # A transaction that reads first and writes later is refused when another one wrote in
            # between; taking the write lock at the start makes it wait instead.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


def in_one_line(error: DBAPIError, store: str) -> UsageError | InfrastructureError:
    """What the database said, as what a person can do about it."""
    said = " ".join(str(error.orig).split())
    text = said.lower()
    if "readonly" in text or "read-only" in text or "permission denied" in text:
        return UsageError(f"store {store!r} cannot be written: {said}")
    if "unable to open" in text:
        return UsageError(f"store {store!r} cannot be opened: {said}")
    if "not a database" in text or "malformed" in text or "no such table" in text:
        return UsageError(f"{store!r} is no store of passhat, or a damaged one: {said}")
    if "full" in text or "disk i/o" in text or "no space" in text:
        return InfrastructureError(
            f"store {store!r} cannot grow: {said}; finished trials are kept, make room and resume"
        )
    if "locked" in text:
        return InfrastructureError(f"store {store!r} is busy: another process keeps it locked")
    return InfrastructureError(f"store {store!r}: {said}")
