"""The store: runs, trials, verdicts and transcripts in one SQLAlchemy database.

An SQLite file by default, a PostgreSQL URL for a team. A finished trial is one committed
transaction, so what was finished survives whatever happens next. What a transaction costs does not
grow with what is there: every statement goes through an index, and transcripts, which are large,
have a table of their own that listings and curves never touch.

One process at a time carries a run on. It holds a claim, a random name with a heartbeat; whoever
else wants the run is told so, until the claim is given back, its process is gone, or its heart has
stopped for `CLAIM_SECONDS`. Should two nevertheless hold one run (a laptop slept), the key on
(run, task, trial) still lets only one result of a trial in.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    Connection,
    CursorResult,
    Engine,
    Row,
    bindparam,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from ..domains.domain import no_such
from ..errors import UsageError
from ..grading.verdict import Verdict
from ..models.account import Spending
from ..results import Source, TrialResult
from .opening import in_one_line, open_engine, writing
from .records import (
    TRIAL_COLUMNS,
    Baseline,
    Run,
    TrialDetails,
    TrialRow,
    run_of,
    spending_of,
    trial_result,
    trial_row,
    verdict_of,
)
from .tables import (
    BASELINES,
    LABELS,
    META,
    METADATA,
    RUNS,
    SCHEMA,
    SPENDING,
    TOKENS,
    TRANSCRIPTS,
    TRIALS,
    VERDICTS,
)
from .trials import FinishedTrial, Trial, plan

Sides = dict[str, Spending]
"""What each side spent: ``agent``, ``user``, ``warm-up``."""

DEFAULT_STORE: Final = "passhat.sqlite"
CLAIM_SECONDS: Final = 60.0
"""How long a silent claim of a process on another machine is respected."""

# --- opening ------------------------------------------------------------------------------------


def open_store(
    where: str | Path | None = None, *, write: bool = False, create: bool = False
) -> Store:
    """The store in a file, or behind a database URL.

    Args:
        where: A path, or a URL such as ``postgresql+psycopg://user@host/name``; by default what
            the environment variable PASSHAT_STORE says, else ``passhat.sqlite`` here.
        write: Expect to write. Otherwise a store that cannot be written can still be read.
        create: Make it if it is not there; means ``write`` too.

    Raises:
        UsageError: Not there, no store, of a newer schema, or not to be opened; says what to do.
        InfrastructureError: The database does not answer.
    """
    text = where_store(where)
    store = Store(*open_engine(text, write=write or create, create=create))
    try:
        store.prepare(create)
    except BaseException:
        store.close()
        raise
    return store


def where_store(where: str | Path | None = None) -> str:
    """The path or URL that `open_store` opens."""
    return str(where or os.environ.get("PASSHAT_STORE") or DEFAULT_STORE)


class Store:
    """An open store. Made by `open_store`; belongs to one process and one thread.

    Args:
        engine: Of the database.
        name: What messages call it.

    Attributes:
        schema: Version of its tables; an older one than ours if it cannot be written, and then what
            was not kept in those days is not known.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self.schema = SCHEMA
        self._engine = engine
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._in_words(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._in_words(), writing(self._engine) as connection:
            yield connection

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise in_one_line(error, self.name) from error

    def prepare(self, create: bool) -> None:
        """Make the tables if they are to be made; check that they are ones we know.

        The tables of an older passhat are brought up to date; where they cannot be written, they
        can still be read.

        Raises:
            UsageError: No store, or of a newer schema.
        """
        with self._reading() as connection:
            tables = set(inspect(connection).get_table_names())
        if META.name not in tables:
            if tables & set(METADATA.tables) or (tables and self._engine.name == "sqlite"):
                raise UsageError(f"{self.name!r} is a database, but no store of passhat")
            if not create:
                raise UsageError(f"{self.name!r} holds no store yet; passhat run makes one")
            self._make_tables()
        with self._reading() as connection:
            self.schema = _schema(connection)
        if self.schema > SCHEMA:
            raise UsageError(
                f"store {self.name!r} was written by a newer passhat (schema {self.schema}, this "
                f"one knows {SCHEMA}): upgrade passhat"
            )
        if self.schema < SCHEMA:
            with suppress(UsageError):  # it cannot be written
                self._upgrade()

    def _upgrade(self) -> None:
        with self._writing() as connection:
            if _schema(connection) < SCHEMA:  # nobody else was quicker
                METADATA.create_all(connection, [SPENDING, LABELS])
                connection.execute(update(META).values(schema=SCHEMA))
        self.schema = SCHEMA

    def _make_tables(self) -> None:
        if self._engine.name == "sqlite":
            with self._reading() as connection:  # kept in the file; readers and writer do not wait
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        with self._writing() as connection:
            # Two first runs at once: the second one waits for the lock, and finds them made.
            if not inspect(connection).has_table(META.name):
                METADATA.create_all(connection)
                connection.execute(insert(META).values(schema=SCHEMA))

    # --- runs -------------------------------------------------------------------------------

    def new_run(
        self,
        *,
        domain: str,
        agent: str,
        user: str,
        seed: int,
        trials: int,
        tasks: Sequence[str],
        synthetic: bool = False,
        name: str | None = None,
        conditions: dict[str, Any] | None = None,
        fingerprint: str = "",
        parts: dict[str, str] | None = None,
        versions: dict[str, str] | None = None,
        baseline: Baseline | None = None,
    ) -> Run:
        """Write a run down, claimed by this process, before its first trial.

        Raises:
            UsageError: The name is taken.
        """
        if name is not None:
            with self._reading() as connection:
                taken = connection.execute(select(RUNS.c.id).where(RUNS.c.name == name)).scalar()
            if taken is not None:
                raise UsageError(f"run {taken!r} is called {name!r} already; choose another --name")
        now = datetime.now(UTC)
        values = {
            "name": name,
            "created": now.isoformat(timespec="seconds"),
            "status": "running",
            "domain": domain,
            "agent": agent,
            "user": user,
            "seed": seed,
            "trials": trials,
            "tasks": json.dumps(list(tasks)),
            "synthetic": synthetic,
            "conditions": json.dumps(conditions or {}),
            "fingerprint": fingerprint,
            "parts": json.dumps(parts or {}),
            "versions": json.dumps(versions or {}),
            "baseline": json.dumps(asdict(baseline)) if baseline else None,
            "claim": self._owner,
            "heartbeat": time.time(),
        }
        for run_id in run_ids(domain, now):
            try:
                with self._writing() as connection:
                    connection.execute(insert(RUNS).values(id=run_id, **values))
            except IntegrityError:  # another process began one in the same moment
                continue
            return self.run(run_id)
        raise AssertionError("run_ids never ends")

    def run(self, run_id: str) -> Run:
        """The run of exactly this id.

        Raises:
            UsageError: There is none.
        """
        with self._reading() as connection:
            row = connection.execute(select(RUNS).where(RUNS.c.id == run_id)).one_or_none()
        if row is None:
            raise UsageError(f"no run {run_id!r} in store {self.name!r}")
        return _run(row)

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        with self._reading() as connection:
            rows = connection.execute(select(RUNS).order_by(RUNS.c.created, RUNS.c.id)).all()
        return [_run(row) for row in rows]

    def find_run(self, text: str) -> Run:
        """The run that a person means: its id, the beginning of its id, its name, or "last".

        Raises:
            UsageError: None or several; names the near ones.
        """
        with self._reading() as connection:
            known = connection.execute(
                select(RUNS.c.id, RUNS.c.name).order_by(RUNS.c.created, RUNS.c.id)
            ).all()
        ids = [run_id for run_id, _ in known]
        if text == "last" and ids:
            return self.run(ids[-1])
        for run_id, name in known:
            if text in (run_id, name):
                return self.run(run_id)
        meant = [run_id for run_id in ids if text and run_id.startswith(text)]
        if len(meant) == 1:
            return self.run(meant[0])
        if meant:
            raise UsageError(f"{text!r} is the beginning of {_some(meant)}; write more of it")
        names = [*ids, *(name for _, name in known if name)]
        raise UsageError(f"{no_such('run', text, names, 'passhat runs')} (store {self.name!r})")

    # --- claims -----------------------------------------------------------------------------

    def claim(self, run: Run, conditions: dict[str, Any] | None = None) -> None:
        """Take a run over, to carry it on.

        Args:
            run: Which.
            conditions: What it is carried on under from now on; None: as it was begun.

        Raises:
            UsageError: Another process is at it.
        """
        with self._writing() as connection:
            held = connection.execute(
                select(RUNS.c.claim, RUNS.c.heartbeat).where(RUNS.c.id == run.id).with_for_update()
            ).one()
            if held.claim not in (None, self._owner) and _alive(held.claim, held.heartbeat):
                host, pid, _ = held.claim.rsplit(":", 2)
                raise UsageError(
                    f"run {run.id!r} is being carried on by process {pid} on {host!r}; stop it "
                    "first, or wait for it"
                )
            values = {} if conditions is None else {"conditions": json.dumps(conditions)}
            self._update_run(
                connection, run.id, claim=self._owner, heartbeat=time.time(), status="running",
                **values,
            )  # fmt: skip

    def keep_claim(self, run: Run) -> bool:
        """Say that this process is still at it; False if somebody else took the run over."""
        with self._writing() as connection:
            kept = connection.execute(
                update(RUNS)
                .where(RUNS.c.id == run.id, RUNS.c.claim == self._owner)
                .values(heartbeat=time.time())
            )
        return kept.rowcount == 1

    def release(self, run: Run, status: str) -> None:
        """Give the claim back, and say how it went; somebody else's claim is left alone."""
        with self._writing() as connection:
            connection.execute(
                update(RUNS)
                .where(RUNS.c.id == run.id, RUNS.c.claim == self._owner)
                .values(claim=None, heartbeat=None, status=status)
            )

    @staticmethod
    def _update_run(connection: Connection, run_id: str, **values: Any) -> None:
        connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(**values))

    # --- trials -----------------------------------------------------------------------------

    def record(self, run: Run, finished: FinishedTrial) -> bool:
        """Keep a finished trial and what it spent, in one transaction.

        A lost trial is replaced by a later attempt; a scored one never is. What was spent is kept
        of every attempt.

        Returns:
            False if the trial was scored before: nothing but what was spent is written.

        Raises:
            InfrastructureError: It cannot be written, e.g. because the disk is full; everything
                that was recorded before is still there.
        """
        trial, usage = finished.trial, finished.usage
        values = {
            "run": run.id,
            "task": trial.task,
            "trial": trial.number,
            "seed": trial.seed,
            "attempts": 1,
            "reward": finished.reward,
            "fault": finished.fault.value if finished.fault else None,
            "reason": _storable(finished.reason),
            "ending": finished.ending,
            "turns": finished.turns,
            "tool_calls": finished.tool_calls,
            "tool_errors": finished.tool_errors,
            "seconds": finished.seconds,
            "input_tokens": usage.all_input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_dollars": usage.cost_dollars,
            "basis": json.dumps(finished.basis),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            with self._writing() as connection:
                self._insert(connection, values, finished)
        except IntegrityError:  # it was tried before: seldom, so not looked up every time
            return self._replace(values, finished)
        return True

    def _replace(self, values: dict[str, Any], finished: FinishedTrial) -> bool:
        key = {"r": values["run"], "t": values["task"], "n": values["trial"]}
        with self._writing() as connection:
            earlier = connection.execute(_EARLIER, key).one()
            if earlier.reward is not None:
                _spend(connection, values["run"], finished.trial, finished.spending)
                return False
            for statement in _FORGET:
                connection.execute(statement, {"i": earlier.id})
            again = {**values, "attempts": earlier.attempts + 1}
            self._insert(connection, again, finished)
        return True

    @staticmethod
    def _insert(connection: Connection, values: dict[str, Any], finished: FinishedTrial) -> None:
        trial_id = _new_id(connection.execute(_INSERT_TRIAL, values))
        if rows := _verdict_rows(trial_id, finished.verdicts):
            connection.execute(_INSERT_VERDICT, rows)
        if finished.transcript:
            packed = {"trial": trial_id, "packed": finished.transcript}
            connection.execute(_INSERT_TRANSCRIPT, packed)
        _spend(connection, values["run"], finished.trial, finished.spending)

    def record_spending(
        self, run: Run, trial: Trial | None, spending: Mapping[str, Spending]
    ) -> None:
        """Keep what was spent on a trial that did not finish, or (None) on no trial of its own."""
        if spending:
            with self._writing() as connection:
                _spend(connection, run.id, trial, spending)

    def spending(self, run: Run, task: str | None = None, number: int | None = None) -> Sides:
        """What was spent on models, by side: every attempt at every trial, the lost ones too.

        Args:
            run: On this run.
            task: Only on this task.
            number: Only on the trial of this number.

        Returns:
            Empty if no model was asked, or if the store is of a time when nobody wrote it down.
        """
        if self.schema < 2:
            return {}
        where = [SPENDING.c.run == run.id]
        where += [] if task is None else [SPENDING.c.task == task]
        where += [] if number is None else [SPENDING.c.trial == number]
        with self._reading() as connection:
            return spending_of(connection.execute(_SPENT.where(*where)).all())

    def scored(self, run: Run) -> set[tuple[str, int]]:
        """(task, trial) of every trial that needs no further attempt."""
        statement = select(TRIALS.c.task, TRIALS.c.trial).where(
            TRIALS.c.run == run.id, TRIALS.c.reward.is_not(None)
        )
        with self._reading() as connection:
            return {(task, trial) for task, trial in connection.execute(statement)}

    def owed(self, run: Run) -> list[Trial]:
        """The trials that are not scored, in plan order, with the seeds they always had."""
        done = self.scored(run)
        planned = plan(run.seed, run.domain, run.tasks, run.trials, run.user_seeds)
        return [trial for trial in planned if (trial.task, trial.number) not in done]

    def counts(self, run: Run) -> dict[str, int]:
        """How many trials passed, failed, were lost, and are not yet tried."""
        statement = select(
            func.count(), func.count(TRIALS.c.reward), func.sum(TRIALS.c.reward)
        ).where(TRIALS.c.run == run.id)
        with self._reading() as connection:
            tried, scored, passed = connection.execute(statement).one()
        passed = int(passed or 0)
        return {
            "passed": passed,
            "failed": scored - passed,
            "lost": tried - scored,
            "owed": run.planned - tried,
        }

    def trial_results(self, run: Run) -> list[TrialResult]:
        """Every planned trial: scored, lost with whose fault, or not run yet (lost so far)."""
        columns = (TRIALS.c.task, TRIALS.c.trial, TRIALS.c.reward, TRIALS.c.fault, TRIALS.c.reason)
        with self._reading() as connection:
            rows = connection.execute(select(*columns).where(TRIALS.c.run == run.id)).all()
        tried = {(task, trial): (reward, fault, why) for task, trial, reward, fault, why in rows}
        return [
            trial_result(task, number, tried.get((task, number)), run.user_seeds)
            for task in run.tasks
            for number in range(1, run.trials + 1)
        ]

    def source(self, run: Run) -> Source:
        """The run as `curve_of` takes it, with what must be said beside its numbers."""
        return Source(run.name or run.id, self.trial_results(run), run.note)

    def trials(self, run: Run, results: Iterable[str] = ()) -> list[TrialRow]:
        """The tried trials of a run in plan order, without transcripts.

        Args:
            run: Which run.
            results: Only these of "passed", "failed" and "lost"; empty: all.
        """
        columns = [TRIALS.c[name] for name in TRIAL_COLUMNS]
        with self._reading() as connection:
            rows = connection.execute(select(*columns).where(TRIALS.c.run == run.id)).all()
        order = {task: position for position, task in enumerate(run.tasks)}
        found = [trial_row(row) for row in rows]
        wanted = set(results) or {"passed", "failed", "lost"}
        return sorted(
            (row for row in found if row.result in wanted),
            key=lambda row: (order.get(row.task, len(order)), row.trial),
        )

    def trial(self, run: Run, task: str, number: int) -> TrialDetails:
        """Everything kept about one trial.

        Raises:
            UsageError: It is not in the run, or was not played yet; says which.
        """
        self._check_planned(run, task, number)
        where = (TRIALS.c.run == run.id, TRIALS.c.task == task, TRIALS.c.trial == number)
        with self._reading() as connection:
            row = connection.execute(select(TRIALS).where(*where)).one_or_none()
            if row is None:
                raise UsageError(
                    f"trial {run.id}/{task}/{number} was not played yet: passhat resume {run.id}"
                )
            verdicts = connection.execute(
                select(VERDICTS).where(VERDICTS.c.trial == row.id).order_by(VERDICTS.c.position)
            ).all()
            packed = connection.execute(
                select(TRANSCRIPTS.c.packed).where(TRANSCRIPTS.c.trial == row.id)
            ).scalar()
        return TrialDetails(
            row=trial_row(row),
            verdicts=tuple(map(verdict_of, verdicts)),
            basis=tuple(json.loads(row.basis)),
            packed=packed or b"",
        )

    @staticmethod
    def _check_planned(run: Run, task: str, number: int) -> None:
        if task not in run.tasks:
            raise UsageError(no_such("task", task, run.tasks, f"passhat show {run.id}"))
        if not 1 <= number <= run.trials:
            raise UsageError(
                f"task {task!r} has trials 1 to {run.trials} in run {run.id!r}, not {number}"
            )

    # --- baselines --------------------------------------------------------------------------

    def baseline(self, fingerprint: str, agent: str) -> Baseline | None:
        """What this agent scored on the task set of that fingerprint, if it was worked out."""
        where = (BASELINES.c.fingerprint == fingerprint, BASELINES.c.agent == agent)
        with self._reading() as connection:
            row = connection.execute(select(BASELINES).where(*where)).one_or_none()
        return None if row is None else Baseline(row.agent, row.scored, row.passed, row.lost)

    def keep_baseline(self, fingerprint: str, baseline: Baseline) -> None:
        """Keep a baseline for every later run on the same task set."""
        values = asdict(baseline) | {
            "fingerprint": fingerprint,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            with self._writing() as connection:
                connection.execute(insert(BASELINES).values(**values))
        except IntegrityError:  # another process worked out the same
            return


# --- statements ----------------------------------------------------------------------------------

_EARLIER = (
    select(TRIALS.c.id, TRIALS.c.reward, TRIALS.c.attempts)
    .where(TRIALS.c.run == bindparam("r"))
    .where(TRIALS.c.task == bindparam("t"))
    .where(TRIALS.c.trial == bindparam("n"))
    .with_for_update()
)
_FORGET = (
    delete(VERDICTS).where(VERDICTS.c.trial == bindparam("i")),
    delete(TRANSCRIPTS).where(TRANSCRIPTS.c.trial == bindparam("i")),
    delete(TRIALS).where(TRIALS.c.id == bindparam("i")),
)
_INSERT_TRIAL = insert(TRIALS)
_INSERT_VERDICT = insert(VERDICTS)
_INSERT_TRANSCRIPT = insert(TRANSCRIPTS)


_INSERT_SPENDING = insert(SPENDING)

_UNKNOWN_COST = SPENDING.c.cost_dollars.is_(None)
_SPENT = (
    select(
        SPENDING.c.side,
        *(func.sum(SPENDING.c[name]).label(name) for name in ("requests", *TOKENS, "cost_dollars")),
    )
    # Apart, because the sum of a known and an unknown cost is unknown, and SQL's is not.
    .group_by(SPENDING.c.side, _UNKNOWN_COST)
    .order_by(SPENDING.c.side, _UNKNOWN_COST)
)


def _schema(connection: Connection) -> int:
    return connection.execute(select(func.max(META.c.schema))).scalar_one() or 0


def _spend(
    connection: Connection, run_id: str, trial: Trial | None, spending: Mapping[str, Spending]
) -> None:
    if not spending:
        return
    about = {
        "run": run_id,
        "task": trial.task if trial else "",
        "trial": trial.number if trial else 0,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    rows = [
        about | {"side": side, "requests": spent.requests} | spent.usage.model_dump()
        for side, spent in spending.items()
    ]
    connection.execute(_INSERT_SPENDING, rows)


def _new_id(written: CursorResult[Any]) -> int:
    key = written.inserted_primary_key
    assert key is not None, "one row was inserted"
    return int(key[0])


def _storable(text: str) -> str:
    """Text that every database takes: PostgreSQL refuses NUL, and nothing encodes half a pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _verdict_rows(trial_id: int, verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [
        {
            "trial": trial_id,
            "position": position,
            "grader": verdict.grader,
            "passed": verdict.passed,
            "score": verdict.score,
            "reason": _storable(verdict.reason),
            "evidence": json.dumps(verdict.evidence, default=str),
        }
        for position, verdict in enumerate(verdicts)
    ]


# --- small things --------------------------------------------------------------------------------

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u; sorts as it counts
_TICKS = 12  # per second: four digits of base 32 just hold a day of them


def run_ids(domain: str, now: datetime) -> Iterator[str]:
    """Ids for a run begun now, one after another in case the first are taken.

    >>> next(run_ids("retail", datetime(2026, 3, 16, 14, 15, 2, tzinfo=UTC)))
    'retail-20260316-js68'
    """
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    tick = int((now - midnight).total_seconds() * _TICKS)
    while True:
        digits = "".join(_DIGITS[tick >> shift & 31] for shift in (15, 10, 5, 0))
        yield f"{domain}-{now:%Y%m%d}-{digits}"
        tick += 1


def _run(row: Row[Any]) -> Run:
    return run_of(row, alive=_alive(row.claim, row.heartbeat))


def _alive(claim: str | None, heartbeat: float | None) -> bool:
    """Whether a claim is held by somebody: a fresh heartbeat, and on this machine a process."""
    if claim is None or time.time() - (heartbeat or 0.0) > CLAIM_SECONDS:
        return False
    host, pid, _ = claim.rsplit(":", 2)
    return host != socket.gethostname() or _runs(int(pid))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _some(names: Sequence[str]) -> str:
    shown = " and ".join(map(repr, names[-3:]))
    return f"{len(names) - 3} more, {shown}" if len(names) > 3 else shown
