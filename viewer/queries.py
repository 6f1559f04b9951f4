"""What the viewer asks of the store, and what it keeps of the answers while nothing has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Engine, case, func, or_, select

from ..harness.bill import NOTHING, Bill
from ..harness.records import Run
from ..harness.store import Store
from ..harness.tables import RUNS, SPENDING, TRANSCRIPTS, TRIALS, VERDICTS

PER_PAGE: Final = 50
"""Runs on a page."""

AT_ONCE: Final = 20_000
"""Trials of a run that are counted while somebody waits; of more, the page comes first."""

Value = TypeVar("Value")


class Kept:
    """The newest answers, each with the stamp of what it was made from; safe to share by threads.

    Args:
        most: How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, stamp: Hashable, make: Callable[[], Value]) -> Value:
        """What was made under this key and stamp; made now, by one thread, if there is none."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                known = self._kept.get(key)
            if known is not None and known[0] == stamp:
                found: Value = known[1]
                return found
            made = make()
            self._keep(key, stamp, made)
            return made

    def _keep(self, key: Hashable, stamp: Hashable, made: object) -> None:
        with self._lock:
            self._kept[key] = (stamp, made)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                oldest, _ = self._kept.popitem(last=False)
                self._making.pop(oldest, None)

    def has(self, key: Hashable, stamp: Hashable) -> bool:
        """Whether that is there without being made."""
        with self._lock:
            return key in self._kept and self._kept[key][0] == stamp


class Wanted(NamedTuple):
    """Which runs to list; "" means all."""

    domain: str = ""
    agent: str = ""
    status: str = ""
    text: str = ""


class Counts(NamedTuple):
    """How the trials of a run went.

    Attributes:
        passed: Trials that passed.
        failed: Trials that failed.
        lost: Trials tried and lost.
        pass_1: Mean over tasks of the share of scored trials that passed; None if none is scored.
        cost: In dollars, as far as recorded; None if nothing is.
        cost_known: Trials whose cost is recorded.
    """

    passed: int
    failed: int
    lost: int
    pass_1: float | None
    cost: float | None
    cost_known: int

    @property
    def scored(self) -> int:
        """Passed or failed."""
        return self.passed + self.failed

    @property
    def tried(self) -> int:
        """Scored or lost."""
        return self.scored + self.lost


class Stamp(NamedTuple):
    """Changes whenever a trial of a run is added or replaced."""

    trials: int
    last: int
    attempts: int
    finished: str


Key = tuple[str, int]
"""A trial of a run: task and number."""


class Tally(NamedTuple):
    """How the trials of one task went, and what they cost in dollars, as far as recorded."""

    passed: int
    failed: int
    lost: int
    cost: float | None
    cost_known: int

    @property
    def scored(self) -> int:
        """Passed or failed."""
        return self.passed + self.failed

    def of(self, results: Collection[str]) -> int:
        """Trials of these results: "passed", "failed", "lost"."""
        return sum(getattr(self, result) for result in results)


class Light(NamedTuple):
    """A tried trial in numbers: what a `TrialRow` says, without the words."""

    task: str
    trial: int
    reward: float | None
    fault: str | None
    turns: int
    tool_calls: int
    tool_errors: int
    seconds: float
    input_tokens: int | None
    output_tokens: int | None
    cost_dollars: float | None

    @property
    def result(self) -> str:
        """One of "passed", "failed" and "lost"."""
        return result_of(self.reward)


def result_of(reward: float | None) -> str:
    """One of "passed", "failed" and "lost"."""
    return "lost" if reward is None else "passed" if reward == 1.0 else "failed"


class Queries:
    """Questions to the store that no command asks.

    Args:
        engine: Of the store's database.
        store: The store.
    """

    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._kept = Kept(500)

    # --- runs ---

    def runs(self, wanted: Wanted, page: int) -> tuple[list[Run], bool]:
        """A page of runs, newest first, and whether there are more.

        Args:
            wanted: Which.
            page: From 1.
        """
        statement = select(RUNS.c.id).where(*_conditions(wanted))
        statement = statement.order_by(RUNS.c.created.desc(), RUNS.c.id.desc())
        first = (page - 1) * PER_PAGE
        if wanted.status in ("running", "interrupted"):  # only a look at its process tells these
            found = [r for r in map(self._store.run, self._ids(statement)) if _is(r, wanted)]
            return found[first : first + PER_PAGE], len(found) > first + PER_PAGE
        ids = self._ids(statement.offset(first).limit(PER_PAGE + 1))
        return [self._store.run(one) for one in ids[:PER_PAGE]], len(ids) > PER_PAGE

    def _ids(self, statement: Any) -> list[str]:
        with self._engine.connect() as connection:
            return list(connection.execute(statement).scalars())

    def choices(self, column: str) -> list[str]:
        """The different values of a column of the runs, sorted."""
        statement = select(RUNS.c[column]).distinct().order_by(RUNS.c[column])
        with self._engine.connect() as connection:
            return list(connection.execute(statement).scalars())

    def runs_with(self, task: str, domain: str, most: int) -> list[Run]:
        """The newest runs of a domain that a task was planned in."""
        statement = (
            select(RUNS.c.id)
            .where(RUNS.c.domain == domain)
            .order_by(RUNS.c.created.desc(), RUNS.c.id.desc())
            .limit(most)
        )
        return [run for run in map(self._store.run, self._ids(statement)) if task in run.tasks]

    # --- trials of a run ---

    def stamp(self, run: str) -> Stamp:
        """What changes when the run's trials do; cheap, as an index says it."""
        return self.stamps([run])[run]

    def stamps(self, runs: Sequence[str]) -> dict[str, Stamp]:
        """The same for several runs."""
        counted = (
            select(TRIALS.c.run, func.count(), func.max(TRIALS.c.id))
            .where(TRIALS.c.run.in_(runs))
            .group_by(TRIALS.c.run)
        )
        columns = (TRIALS.c.id, TRIALS.c.attempts, TRIALS.c.finished)
        with self._engine.connect() as connection:
            ends = {run: (trials, last) for run, trials, last in connection.execute(counted)}
            where = TRIALS.c.id.in_([last for _, last in ends.values()])
            rows = {row.id: row for row in connection.execute(select(*columns).where(where))}
        found = dict.fromkeys(runs, Stamp(0, 0, 0, ""))
        for run, (trials, last) in ends.items():
            row = rows.get(last)  # not there if it is being tried again at this moment
            found[run] = Stamp(trials, last, *((row.attempts, row.finished) if row else (0, "")))
        return found

    def tallies(self, run: Run, stamp: Stamp | None = None) -> dict[str, Tally]:
        """How the trials of each task went, in plan order.

        Args:
            run: Of which run.
            stamp: Its stamp, if that is known already.
        """
        return self._kept.get(run.id, stamp or self.stamp(run.id), lambda: self._tallies(run))

    def at_hand(self, run: Run) -> bool:
        """Whether `tallies` and `counts` answer at once."""
        return run.planned <= AT_ONCE or self._kept.has(run.id, self.stamp(run.id))

    def counts(self, run: Run, stamp: Stamp | None = None) -> Counts:
        """How the trials of a run went; arguments as for `tallies`."""
        tallies = self.tallies(run, stamp).values()
        shares = [tally.passed / tally.scored for tally in tallies if tally.scored]
        costs = [tally.cost for tally in tallies if tally.cost is not None]
        return Counts(
            passed=sum(tally.passed for tally in tallies),
            failed=sum(tally.failed for tally in tallies),
            lost=sum(tally.lost for tally in tallies),
            pass_1=sum(shares) / len(shares) if shares else None,
            cost=sum(costs) if costs else None,
            cost_known=sum(tally.cost_known for tally in tallies),
        )

    def bill(self, run: Run, counts: Counts) -> Bill:
        """What a run has spent on models, the lost attempts and the warm-up too.

        Args:
            run: Which.
            counts: How its trials went.
        """
        if self._store.schema < 2:
            return NOTHING
        last = select(func.max(SPENDING.c.id)).where(SPENDING.c.run == run.id)
        with self._engine.connect() as connection:
            stamp = connection.execute(last).scalar_one()
        key = ("spending", run.id)
        sides = self._kept.get(key, stamp, lambda: self._store.spending(run))
        specs = {"agent": run.agent, "user": run.user}
        return Bill(sides, specs, counts.tried, counts.passed)

    def _tallies(self, run: Run) -> dict[str, Tally]:
        columns = (
            TRIALS.c.task,
            func.count(),
            func.count(TRIALS.c.reward),
            func.sum(case((TRIALS.c.reward == 1.0, 1), else_=0)),
            func.sum(TRIALS.c.cost_dollars),
            func.count(TRIALS.c.cost_dollars),
        )
        statement = select(*columns).where(TRIALS.c.run == run.id).group_by(TRIALS.c.task)
        with self._engine.connect() as connection:
            found = {
                task: Tally(passed, scored - passed, tried - scored, cost, known)
                for task, tried, scored, passed, cost, known in connection.execute(statement)
            }
        return {task: found.get(task, Tally(0, 0, 0, None, 0)) for task in run.tasks}

    def results(self, run: str, tasks: Sequence[str], numbers: range) -> dict[Key, str]:
        """How the trials of these numbers of some tasks ended, as far as they were tried."""
        statement = select(TRIALS.c.task, TRIALS.c.trial, TRIALS.c.reward).where(
            TRIALS.c.run == run,
            TRIALS.c.task.in_(tasks),
            TRIALS.c.trial.between(numbers.start, numbers.stop - 1),
        )
        with self._engine.connect() as connection:
            return {(t, n): result_of(reward) for t, n, reward in connection.execute(statement)}

    def page(
        self, run: Run, results: Collection[str], task: str, first: int, most: int
    ) -> tuple[list[Key], int]:
        """A part of the tried trials in plan order, and how many there are in all.

        Args:
            run: Of which run.
            results: Only these of "passed", "failed" and "lost".
            task: Only of this task; "": of all.
            first: How many to leave out before.
            most: How many to give.
        """
        tallies = self.tallies(run)
        wanted = [task] if task else list(tallies)
        found: list[Key] = []
        skipped = 0
        for one in wanted:
            here = tallies[one].of(results)
            if skipped + here > first and len(found) < most:
                keys = self._of_task(run.id, one, results)
                found += keys[max(0, first - skipped) :]
            skipped += here
        return found[:most], skipped

    def _of_task(self, run: str, task: str, results: Collection[str]) -> list[Key]:
        statement = (
            select(TRIALS.c.trial, TRIALS.c.reward)
            .where(TRIALS.c.run == run, TRIALS.c.task == task)
            .order_by(TRIALS.c.trial)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(statement).all()
        return [(task, number) for number, reward in rows if result_of(reward) in results]

    def scored(self, run: Run) -> list[Key]:
        """Every scored trial of a run, in no order."""
        statement = select(TRIALS.c.task, TRIALS.c.trial).where(
            TRIALS.c.run == run.id, TRIALS.c.reward.is_not(None)
        )
        with self._engine.connect() as connection:
            return [(task, number) for task, number in connection.execute(statement)]

    def failing(self, run: Run, task: str, number: int, *, back: bool = False) -> Key | None:
        """The next failing trial in plan order, or the one before; None if there is none.

        Args:
            run: Of which run.
            task: Behind or before which trial.
            number: Of that trial; 0 stands before the first one of its task.
            back: Go back.
        """
        past = TRIALS.c.trial < number if back else TRIALS.c.trial > number
        here = self._failing(run.id, [task], past)
        if here:
            return here[-1 if back else 0]
        place, width = run.tasks.index(task), 1
        others = run.tasks[:place][::-1] if back else run.tasks[place + 1 :]
        at = 0
        while at < len(others):
            tasks = others[at : at + width]
            found = self._failing(run.id, tasks)
            for one in tasks:
                keys = [key for key in found if key[0] == one]
                if keys:
                    return keys[-1 if back else 0]
            at, width = at + width, min(2 * width, 64)
        return None

    def _failing(self, run: str, tasks: Sequence[str], *where: ColumnElement[bool]) -> list[Key]:
        statement = (
            select(TRIALS.c.task, TRIALS.c.trial)
            .where(TRIALS.c.run == run, TRIALS.c.task.in_(tasks), TRIALS.c.reward < 1.0, *where)
            .order_by(TRIALS.c.task, TRIALS.c.trial)
        )
        with self._engine.connect() as connection:
            return [(task, number) for task, number in connection.execute(statement)]

    def first_failing(self, run: Run) -> Key | None:
        """The first failing trial in plan order; None if none failed."""
        return self.failing(run, run.tasks[0], 0) if run.tasks else None

    def light(self, run: Run) -> list[Light]:
        """Every tried trial in numbers, in plan order."""
        columns = [TRIALS.c[name] for name in Light._fields]
        with self._engine.connect() as connection:
            rows = connection.execute(select(*columns).where(TRIALS.c.run == run.id)).all()
        places = {task: place for place, task in enumerate(run.tasks)}
        found = [Light._make(row) for row in rows]
        found.sort(key=lambda row: (places.get(row.task, len(places)), row.trial))
        return found

    def lost(self, run: str) -> dict[Key, str]:
        """Why each lost trial was lost."""
        where = (TRIALS.c.run == run, TRIALS.c.reward.is_(None))
        statement = select(TRIALS.c.task, TRIALS.c.trial, TRIALS.c.reason).where(*where)
        with self._engine.connect() as connection:
            return {(t, n): reason for t, n, reason in connection.execute(statement)}

    def lost_by(self, run: str, fault: str) -> list[Key]:
        """The trials that were lost through somebody's fault."""
        statement = select(TRIALS.c.task, TRIALS.c.trial).where(
            TRIALS.c.run == run, TRIALS.c.reward.is_(None), TRIALS.c.fault == fault
        )
        with self._engine.connect() as connection:
            return [(task, number) for task, number in connection.execute(statement)]

    def rows(self, run: str, keys: Iterable[Key]) -> dict[Key, Any]:
        """The rows of some trials as listings show them, by task and number."""
        names = ("task", "trial", "reward", "reason", "fault", "turns", "tool_calls")
        more = ("tool_errors", "seconds", "cost_dollars", "ending", "attempts")
        columns = [TRIALS.c[name] for name in (*names, *more)]
        numbers: dict[str, list[int]] = {}
        for task, number in keys:
            numbers.setdefault(task, []).append(number)
        found = {}
        with self._engine.connect() as connection:
            for task, some in numbers.items():  # task by task, so that the index is used
                where = (TRIALS.c.run == run, TRIALS.c.task == task, TRIALS.c.trial.in_(some))
                for row in connection.execute(select(*columns).where(*where)):
                    found[row.task, row.trial] = row
        return found


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    found = []
    if wanted.domain:
        found.append(RUNS.c.domain == wanted.domain)
    if wanted.agent:
        found.append(RUNS.c.agent == wanted.agent)
    if wanted.status in ("running", "interrupted"):
        found.append(RUNS.c.status.in_(("running", "interrupted")))
    elif wanted.status:
        found.append(RUNS.c.status == wanted.status)
    if wanted.text:
        columns = (RUNS.c.id, RUNS.c.name, RUNS.c.agent, RUNS.c.domain, RUNS.c.user)
        found.append(or_(*(column.icontains(wanted.text, autoescape=True) for column in columns)))
    return found


def _is(run: Run, wanted: Wanted) -> bool:
    return run.status == wanted.status


# --- for the index ------------------------------------------------------------------------------


class Stored(NamedTuple):
    """A trial as the index reads it."""

    id: int
    run: str
    task: str
    trial: int
    attempts: int
    finished: str
    reward: float | None
    basis: str
    packed: bytes | None
    verdicts: list[Any]


def newest(engine: Engine) -> tuple[int, int]:
    """How many trials the store holds, and the largest id."""
    with engine.connect() as connection:
        found = connection.execute(select(func.count(), func.max(TRIALS.c.id))).one()
    return found[0], found[1] or 0


def mark(engine: Engine, trial: int) -> tuple[Any, ...] | None:
    """What tells a trial from another one that later got the same id; None if it is not there."""
    columns = (TRIALS.c.run, TRIALS.c.task, TRIALS.c.trial, TRIALS.c.attempts, TRIALS.c.finished)
    with engine.connect() as connection:
        row = connection.execute(select(*columns).where(TRIALS.c.id == trial)).one_or_none()
    return None if row is None else tuple(row)


def stored_after(engine: Engine, upto: int, most: int) -> list[Stored]:
    """The next trials behind an id, with verdicts and transcripts."""
    names = ("id", "run", "task", "trial", "attempts", "finished", "reward", "basis")
    statement = (
        select(*(TRIALS.c[name] for name in names), TRANSCRIPTS.c.packed)
        .join_from(TRIALS, TRANSCRIPTS, TRANSCRIPTS.c.trial == TRIALS.c.id, isouter=True)
        .where(TRIALS.c.id > upto)
        .order_by(TRIALS.c.id)
        .limit(most)
    )
    with engine.connect() as connection:
        rows = connection.execute(statement).all()
        ids = [row.id for row in rows]
        verdicts: dict[int, list[Any]] = {one: [] for one in ids}
        where = VERDICTS.c.trial.in_(ids)
        order = (VERDICTS.c.trial, VERDICTS.c.position)
        for verdict in connection.execute(select(VERDICTS).where(where).order_by(*order)):
            verdicts[verdict.trial].append(verdict)
    return [Stored._make((*row, verdicts[row.id])) for row in rows]
