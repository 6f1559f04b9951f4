"""The index: what is found by reading transcripts, in a file of its own beside the store.

For every trial: the words of each event (SQLite FTS5, without the texts themselves), the causes of
a failure, and the rules that were broken. It is made and brought up to date in the background while
the viewer runs, a batch of trials a transaction, so it can be interrupted at any moment; a run that
is going on is followed. It holds nothing that the store does not, so it may be deleted.

A row of words is found by ``trial id * EVENTS + event``, which also makes the newest come first.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from sqlalchemy import Engine

from ..errors import InfrastructureError, PasshatError
from ..grading.grading import POLICY
from ..harness.failures import Category, Cause, causes_of
from ..harness.records import verdict_of
from ..transcript import Transcript
from .queries import Key, Stored, mark, newest, stored_after
from .search import Words, make_table, searchable

EVENTS: Final = 1 << 20
"""More events than a conversation has."""

BATCH: Final = 50
"""Trials of a transaction: a tenth of a second or so, in which nothing else can be written."""

LOOK_SECONDS: Final = 1.5
"""How often the store is asked whether it has more."""

BREATH_SECONDS: Final = 0.02
"""Between two batches, in which pages come first."""

_OURS: Final = 0x70686174  # "phat", https://www.sqlite.org/fileformat2.html, section 1.3.19
_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE trials (
    id INTEGER PRIMARY KEY, run TEXT, task TEXT, trial INTEGER, attempts INTEGER, finished TEXT,
    failed INTEGER, UNIQUE (run, task, trial)
);
CREATE TABLE causes (
    trial INTEGER, position INTEGER, category TEXT, event INTEGER, turn INTEGER, why TEXT,
    PRIMARY KEY (trial, position)
) WITHOUT ROWID;
CREATE INDEX causes_by_category ON causes (category, position);
CREATE TABLE findings (
    trial INTEGER, position INTEGER, rule TEXT, section TEXT, severity TEXT, event INTEGER,
    reason TEXT, PRIMARY KEY (trial, position)
) WITHOUT ROWID;
CREATE INDEX findings_by_rule ON findings (rule);
"""

_FOUND: Final = "t.task, t.trial, f.rule, f.section, f.severity, f.event, f.reason"

_log = logging.getLogger(__name__)


class Hit(NamedTuple):
    """An event that holds what was looked for."""

    row: int
    run: str
    task: str
    trial: int
    event: int


class Found(NamedTuple):
    """A rule that was broken: by which trial, and at which event."""

    task: str
    trial: int
    rule: str
    section: str
    severity: str
    event: int
    reason: str


class Progress(NamedTuple):
    """How far the index is.

    Attributes:
        done: Trials that are in it.
        trials: Trials that the store holds.
        note: What a reader must know, e.g. that it stopped; "" if nothing.
    """

    done: int
    trials: int
    note: str

    @property
    def complete(self) -> bool:
        """Whether every trial is in it."""
        return self.done >= self.trials


class Index:
    """The index of one store; any thread may ask it.

    Args:
        engine: Of the store's database.
        path: Of the index; see `index_file`.
        note: What a reader must know about that place.
    """

    def __init__(self, engine: Engine, path: Path, note: str = "") -> None:
        self.path = path
        self.engine = engine
        self._note = note
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._trials = 0
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            if not _is_damaged(error):
                raise InfrastructureError(self._unreadable(error)) from error
            self._make_anew()

    def _prepare(self) -> None:
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with _transaction(connection):
                if connection.execute("PRAGMA user_version").fetchone()[0] != _VERSION:
                    _make(connection)

    def _make_anew(self) -> None:
        """Put an empty index in the place of a damaged one."""
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        _usable(self.path)
        self._prepare()

    # --- following the store ---

    def start(self) -> None:
        """Follow the store in the background until `close`."""
        self._thread = threading.Thread(target=self._follow, name="index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.catch_up()
                self._stop.wait(LOOK_SECONDS)
            except Exception as error:  # the pages work without it, and say so
                if _is_damaged(error):
                    with suppress(OSError, sqlite3.Error):
                        self._make_anew()
                        continue
                said = " ".join(str(error).split())
                self._note = f"the index does not grow: {type(error).__name__}: {said:.200}"
                self._stop.wait(10 * LOOK_SECONDS)

    def catch_up(self) -> None:
        """Read all that the store holds by now, unless it is closed meanwhile."""
        with self._open() as connection:
            while not self._stop.is_set() and self.step(connection):
                self._stop.wait(BREATH_SECONDS)

    def step(self, connection: sqlite3.Connection) -> bool:
        """Read the next batch; whether there was any."""
        with _transaction(connection):  # of two viewers of one store, the second one waits
            self._trials, _ = newest(self.engine)
            upto = self._checked(connection)
            batch = stored_after(self.engine, upto, BATCH)
            for trial in batch:
                _put(connection, trial)
        return bool(batch)

    def _checked(self, connection: sqlite3.Connection) -> int:
        """The last trial that is in here, once it is certain that it is still the same one.

        A lost trial that is tried again can get the id it had, if it was the last one; and the
        store may be another one by the same name.
        """
        done, upto = connection.execute("SELECT count(*), max(id) FROM trials").fetchone()
        if not done:
            return 0
        columns = "run, task, trial, attempts, finished"
        known = connection.execute(f"SELECT {columns} FROM trials WHERE id = ?", (upto,))  # noqa: S608
        ours, theirs = known.fetchone(), mark(self.engine, upto)
        if ours == theirs:
            return int(upto)
        if theirs is not None and ours[0] != theirs[0]:
            _make(connection)
            return 0
        if theirs is None and self._another(connection):
            _make(connection)
            return 0
        _forget(connection, upto)
        return int(upto) - 1

    def _another(self, connection: sqlite3.Connection) -> bool:
        """Whether the store is not the one that was read: the first trial differs, too."""
        first = connection.execute(
            "SELECT id, run, task, trial, attempts, finished FROM trials ORDER BY id LIMIT 1"
        ).fetchone()
        return bool(mark(self.engine, first[0]) != first[1:])

    @property
    def progress(self) -> Progress:
        """How far it is."""
        done = self._all("SELECT count(*) FROM trials")[0][0]
        return Progress(done, max(self._trials, done), self._note)

    # --- asking ---

    def done(self, run: str) -> int:
        """Trials of a run that are in it."""
        return int(self._all("SELECT count(*) FROM trials WHERE run = ?", run)[0][0])

    def causes(self, run: str) -> dict[Key, tuple[Cause, ...]]:
        """Why trials of a run failed, by task and number."""
        rows = self._all(
            "SELECT t.task, t.trial, c.category, c.event, c.turn, c.why FROM trials t "
            "JOIN causes c ON c.trial = t.id WHERE t.run = ? ORDER BY t.id, c.position",
            run,
        )
        found: dict[Key, tuple[Cause, ...]] = {}
        for task, trial, category, event, turn, why in rows:
            cause = Cause(Category(category), event, turn, why)
            found[task, trial] = (*found.get((task, trial), ()), cause)
        return found

    def main_causes(self, run: str, keys: Iterable[Key]) -> dict[Key, Cause]:
        """Why some trials of a run failed, each with its main cause only."""
        statement = (
            "SELECT c.category, c.event, c.turn, c.why FROM trials t JOIN causes c "
            "ON c.trial = t.id AND c.position = 0 WHERE t.run = ? AND t.task = ? AND t.trial = ?"
        )
        found = {}
        with self._reading() as connection:
            for task, trial in keys:
                row = connection.execute(statement, (run, task, trial)).fetchone()
                if row is not None:
                    found[task, trial] = Cause(Category(row[0]), *row[1:])
        return found

    def with_cause(self, run: str, category: Category, *, main: bool) -> dict[Key, int | None]:
        """The trials that have a cause of a category, as the main one or at all, and its event."""
        rows = self._all(
            "SELECT t.task, t.trial, c.event FROM causes c CROSS JOIN trials t ON t.id = c.trial "
            "WHERE c.category = ? AND c.position <= ? AND t.run = ?",
            *(category.value, 0 if main else len(Category), run),
        )
        return {(task, trial): event for task, trial, event in rows}

    def findings(self, run: str) -> list[Found]:
        """Rules that were broken in a run, in the order in which trials were finished."""
        rows = self._all(
            f"SELECT {_FOUND} FROM trials t JOIN findings f ON f.trial = t.id "  # noqa: S608
            "WHERE t.run = ? ORDER BY t.id, f.position",
            run,
        )
        return [Found(*row) for row in rows]

    def broken(self, run: str, rule: str) -> list[Found]:
        """Where a rule was broken in a run."""
        rows = self._all(
            f"SELECT {_FOUND} FROM findings f CROSS JOIN trials t ON t.id = f.trial "  # noqa: S608
            "WHERE f.rule = ? AND t.run = ?",
            *(rule, run),
        )
        return [Found(*row) for row in rows]

    def search(
        self, wanted: str, *, run: str | None = None, before: int | None = None, most: int = 20
    ) -> list[Hit]:
        """The newest events that hold what an expression asks for.

        Args:
            wanted: What `search.expression` made.
            run: Only of this run.
            before: Only behind this row in the list; None: from the beginning.
            most: How many.
        """
        low, high = 0, (1 << 62) if before is None else before
        if run is not None:
            ends = self._all("SELECT min(id), max(id) FROM trials WHERE run = ?", run)[0]
            if ends[0] is None:
                return []
            low, high = ends[0] * EVENTS, min(high, (ends[1] + 1) * EVENTS)
        rows = self._all(
            "SELECT w.rowid, t.run, t.task, t.trial FROM words w JOIN trials t "
            "ON t.id = w.rowid / ? WHERE words MATCH ? AND w.rowid >= ? AND w.rowid < ? "
            "AND (? IS NULL OR t.run = ?) ORDER BY w.rowid DESC LIMIT ?",
            *(EVENTS, wanted, low, high, run, run, most),
        )
        return [Hit._make((*row, row[0] % EVENTS)) for row in rows]

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._reading() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._open() as connection:
                yield connection
        except sqlite3.Error as error:
            raise InfrastructureError(self._unreadable(error)) from error

    def _unreadable(self, error: sqlite3.Error) -> str:
        return (
            f"the index {str(self.path)!r} cannot be read: {error}; if that lasts, delete it: it "
            "is made again"
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection


# --- where it is --------------------------------------------------------------------------------


def index_file(engine: Engine) -> tuple[Path, str]:
    """Where the index of a store goes, and what must be said about that; "" if nothing.

    Beside a store that is a file; in the user's cache for a database server. If neither can be
    written, or something else is there by that name, a file that goes when the computer likes.
    """
    path = _beside(engine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _usable(path):
            return path, ""
        why = f"{str(path)!r} is there and is no index of passhat"
    except (OSError, sqlite3.Error) as error:
        why = f"{str(path)!r} cannot be written: {error}"
    folder = Path(tempfile.mkdtemp(prefix="passhat-"))
    return folder / path.name, f"{why}; the index is made again each time"


def store_file(engine: Engine) -> Path | None:
    """The file that a store is; None if it is on a database server."""
    if engine.url.get_backend_name() != "sqlite":
        return None
    database = engine.url.database or ""
    if database.startswith("file:"):  # as `open_engine` names what is read-only
        database = unquote(database.removeprefix("file:"))
    return Path(database).absolute()


def _beside(engine: Engine) -> Path:
    store, url = store_file(engine), engine.url
    if store is not None:
        return store.with_name(f"{store.name}.search")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = sha256(url.render_as_string(hide_password=True).encode()).hexdigest()[:16]
    return Path(cache) / "passhat" / f"{name}.search"


def _is_damaged(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says which kind
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _usable(path: Path) -> bool:
    """Whether a file is ours, or was not there and now is, readable by its owner alone."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if path.is_symlink() or not os.access(path, os.W_OK):
        return False
    if path.stat().st_size == 0:
        return True
    with closing(sqlite3.connect(path)) as connection:
        try:
            return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _OURS)
        except sqlite3.DatabaseError:  # damaged: its first bytes may still say whose it is
            with path.open("rb") as file:
                head = file.read(100)
            return head.startswith(b"SQLite format 3\0") and head[68:72] == _OURS.to_bytes(4)


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables, in the place of those that are there."""
    for name in ("trials", "causes", "findings", "words"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    make_table(connection, "words", contentless=True)
    connection.execute(f"PRAGMA application_id = {_OURS}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# --- what a trial says --------------------------------------------------------------------------


def _put(connection: sqlite3.Connection, trial: Stored) -> None:
    """Take a trial in; what cannot be read of it is left out, and the trial is in all the same."""
    events = _events(trial)
    causes, findings = _causes(trial, events), _findings(trial)
    old = connection.execute(
        "SELECT id FROM trials WHERE run = ? AND task = ? AND trial = ?",
        (trial.run, trial.task, trial.trial),
    ).fetchone()
    if old is not None:  # it was lost, and tried again
        _forget(connection, old[0])
    connection.execute(
        "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*trial[:6], trial.reward is not None and trial.reward != 1.0),
    )
    connection.executemany(
        "INSERT INTO causes VALUES (?, ?, ?, ?, ?, ?)",
        [(trial.id, n, cause.category.value, *cause[1:]) for n, cause in enumerate(causes)],
    )
    connection.executemany(
        "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(trial.id, number, *finding) for number, finding in enumerate(findings)],
    )
    for event, words in _words(events):
        connection.execute(
            f"INSERT INTO words(rowid, {words.column}) VALUES (?, ?)",  # noqa: S608
            (trial.id * EVENTS + event, words.text),
        )


def _forget(connection: sqlite3.Connection, trial: int) -> None:
    """Leave a trial out. Its words stay, as a table without texts cannot forget; no trial has them.

    If its id is used again, words of both are found; the snippet then shows that there is nothing.
    """
    connection.execute("DELETE FROM trials WHERE id = ?", (trial,))
    connection.execute("DELETE FROM causes WHERE trial = ?", (trial,))
    connection.execute("DELETE FROM findings WHERE trial = ?", (trial,))


def _events(trial: Stored) -> list[dict[str, Any]]:
    try:
        found = json.loads(zlib.decompress(trial.packed)) if trial.packed else []
    except (ValueError, zlib.error):
        _log.warning("trial %s/%s/%s cannot be read", trial.run, trial.task, trial.trial)
        return []
    return list(found)


def _causes(trial: Stored, events: list[dict[str, Any]]) -> Sequence[Cause]:
    if trial.reward is None or trial.reward == 1.0:
        return ()
    try:
        transcript = Transcript.load(events)
        return causes_of(
            [verdict_of(v) for v in trial.verdicts], json.loads(trial.basis), transcript
        )
    except (PasshatError, ValueError, LookupError, TypeError, AttributeError):
        return (Cause(Category.OTHER, None, 1, "its causes cannot be worked out"),)


def _findings(trial: Stored) -> Iterator[tuple[str, str, str, int, str]]:
    if trial.reward is None:
        return
    for verdict in trial.verdicts:
        for found in json.loads(verdict.evidence) if verdict.grader == POLICY else ():
            if isinstance(found, dict) and "rule" in found:
                section, severity = str(found.get("section", "")), str(found.get("severity", ""))
                event = int(found.get("event", 0))
                yield str(found["rule"]), section, severity, event, str(found.get("reason", ""))


def _words(events: Iterable[dict[str, Any]]) -> Iterator[tuple[int, Words]]:
    for event in events:
        words = words_of(event)
        if words is not None:
            yield event["index"], words


def words_of(event: dict[str, Any]) -> Words | None:
    """The words of an event as it is stored; None if it has none."""
    kind = event.get("kind")
    if kind == "message":
        return Words(str(event["by"]), searchable(event["content"]))
    if kind == "tool_call":
        arguments = json.dumps(event["arguments"], ensure_ascii=False)
        return Words("call", searchable(f"{event['name']} {arguments} {event.get('beside', '')}"))
    if kind == "tool_result":
        return Words("result", searchable(_readable(event["content"])))
    return None


def _readable(content: str) -> str:
    r"""Content with what JSON writes as \u... as the letters they are."""
    if "\\u" not in content:
        return content
    try:
        return json.dumps(json.loads(content), ensure_ascii=False)
    except ValueError:
        return content
