"""Outcome: the rows an episode left against the rows it should have left.

Both sides are net changes from the same start, so only touched rows are looked at. Columns marked
``info={"compare": False}`` are left out. A table whose primary key has such a column is compared as
a collection: which line of an order a row stands on says nothing about the order. A column that
holds a whole document says in ``info={"differences": function}`` how two of its values differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import MetaData, Table

from ..domains.database import Database
from ..domains.domain import Domain
from ..errors import TaskError
from ..task import Outcome, ReferenceAction, RowAssertion, Task
from ..transcript import RowChange
from .verdict import Verdict


class Difference(NamedTuple):
    """One value that is not what it should be; ``column`` is None for a whole row."""

    table: str
    key: str
    column: str | None
    expected: Any
    found: Any

    def __str__(self) -> str:
        row = f"{self.table}[{self.key}]"
        if self.column is not None:
            return f"{row}.{self.column}: expected {self.expected!r}, found {self.found!r}"
        if self.expected is None:
            return f"{row}: not expected, found {self.found!r}"
        if self.found is None:
            return f"{row}: expected {self.expected!r}, not found"
        return f"{row}: expected {self.expected!r}, found {self.found!r}"


def differences(
    tables: MetaData, expected: Sequence[RowChange], found: Sequence[RowChange]
) -> list[Difference]:
    """Where two sets of net changes from the same start end differently.

    Args:
        tables: The schema, which says what matters.
        expected: Changes of the reference.
        found: Changes of the episode.

    Returns:
        One entry per differing value, or per row that is missing or too many; empty if the two end
        states are equal. 25 and 25.0 are equal.
    """
    result: list[Difference] = []
    names = dict.fromkeys(change.table for change in (*expected, *found))
    for name in names:
        table = tables.tables[name]
        wanted = [change for change in expected if change.table == name]
        got = [change for change in found if change.table == name]
        compare = _collection_differences if _is_collection(table) else _row_differences
        result.extend(compare(table, wanted, got))
    return result


@lru_cache(maxsize=1024)
def _compared(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.info.get("compare", True)]


@lru_cache(maxsize=1024)
def _is_collection(table: Table) -> bool:
    return not all(column.info.get("compare", True) for column in table.primary_key)


def _row_differences(
    table: Table, expected: Sequence[RowChange], found: Sequence[RowChange]
) -> Iterator[Difference]:
    wanted, got = ({change.key: change for change in side} for side in (expected, found))
    columns = _compared(table)
    for key in dict.fromkeys((*wanted, *got)):
        # A row touched on one side only is, on the other, what it was before.
        want = wanted[key].after if key in wanted else got[key].before
        have = got[key].after if key in got else wanted[key].before
        label = ", ".join(map(str, key))
        if want is None or have is None:
            if want != have:
                yield Difference(table.name, label, None, want, have)
            continue
        for column in columns:
            if want[column] == have[column]:
                continue
            inside = table.columns[column].info.get("differences")
            parts = (
                inside(want[column], have[column])
                if inside
                else [(column, want[column], have[column])]
            )
            for name, wanted_value, value in parts:
                yield Difference(table.name, label, name, wanted_value, value)


def _collection_differences(
    table: Table, expected: Sequence[RowChange], found: Sequence[RowChange]
) -> Iterator[Difference]:
    columns = _compared(table)
    surplus = _net_rows(columns, found)
    surplus.subtract(_net_rows(columns, expected))
    keys = [c.name for c in table.primary_key if c.name in columns] or columns[:1]
    for values, count in surplus.items():
        row = dict(zip(columns, values, strict=True))
        label = ", ".join(str(row[name]) for name in keys)
        for _ in range(abs(count)):
            yield Difference(
                table.name, label, None, row if count < 0 else None, row if count > 0 else None
            )


def _net_rows(columns: Sequence[str], changes: Sequence[RowChange]) -> Counter[tuple[Any, ...]]:
    """Rows gained (positive) and lost (negative), as values of the compared columns."""
    net: Counter[tuple[Any, ...]] = Counter()
    for change in changes:
        for row, sign in ((change.after, 1), (change.before, -1)):
            if row is not None:
                net[tuple(row[column] for column in columns)] += sign
    return net


# --- the reference ------------------------------------------------------------------------------


def start_rows(domain: Domain, task: Task) -> Database:
    """The rows an episode of this task starts from: the world, and the task's own changes to it.

    Raises:
        TaskError: A change does not match exactly the rows it names.
    """
    db = domain.world.fork()
    try:
        for write in task.setup:
            if not db.set_values(write.table, write.where, write.values):
                raise TaskError(
                    f"task {task.id!r}: setup matches no row of {write.table!r}: {write.where}"
                )
    except TaskError:
        db.close()
        raise
    except Exception as error:
        db.close()
        raise TaskError(f"task {task.id!r}: setup failed: {error}") from error
    db.begin_episode()
    return db


def carry_out(
    domain: Domain, task: Task, actions: Sequence[ReferenceAction]
) -> tuple[RowChange, ...]:
    """The net changes that reference actions make.

    Raises:
        TaskError: One of them is refused; a reference that fails is a broken task, never "no
            change expected".
    """
    with start_rows(domain, task) as db:
        for action in actions:
            outcome = domain.call(db, action.name, action.arguments)
            if outcome.error is not None:
                raise TaskError(
                    f"task {task.id!r}: its reference action {action.name} fails: {outcome.content}"
                )
        return db.changes()


class OutcomeGrader:
    """Passes if the rows end as one of the task's accepted outcomes says.

    The changes each reference makes are worked out once per task and kept.
    """

    name = "outcome"

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._references: dict[int, tuple[Task, list[tuple[RowChange, ...]]]] = {}

    def accepted(self, task: Task) -> list[tuple[RowChange, ...]]:
        """Net changes of each accepted outcome; no outcome given means no change."""
        kept = self._references.get(id(task))
        if kept is None:
            outcomes = task.expect.outcomes or [Outcome()]
            changes = [carry_out(self.domain, task, outcome.actions) for outcome in outcomes]
            kept = self._references[id(task)] = (task, changes)
        return kept[1]

    def grade(self, task: Task, db: Database) -> Verdict:
        """Compare the rows of `db` with each accepted outcome; the nearest one gives the reason."""
        found = db.changes()
        outcomes = task.expect.outcomes or [Outcome()]
        nearest: list[Difference] | None = None
        total = 0
        for outcome, expected in zip(outcomes, self.accepted(task), strict=True):
            wrong = self._wrong(outcome, expected, found, db)
            if not wrong:
                return _right(expected or found)
            if nearest is None or len(wrong) < len(nearest):
                nearest, total = wrong, len(expected)
        assert nearest is not None
        return Verdict(
            grader=self.name,
            passed=False,
            score=_share_right(total, nearest),
            reason="; ".join(map(str, nearest[:5])) + ("; ..." if len(nearest) > 5 else ""),
            evidence=tuple(d._asdict() for d in nearest),
        )

    def _wrong(
        self,
        outcome: Outcome,
        expected: Sequence[RowChange],
        found: Sequence[RowChange],
        db: Database,
    ) -> list[Difference]:
        asserted = {assertion.table for assertion in outcome.rows}
        wrong = differences(
            self.domain.tables,
            [change for change in expected if change.table not in asserted],
            [change for change in found if change.table not in asserted],
        )
        for assertion in outcome.rows:
            wrong.extend(_assertion_differences(assertion, db))
        return wrong


def _assertion_differences(assertion: RowAssertion, db: Database) -> Iterator[Difference]:
    rows = db.find(assertion.table, assertion.where)
    label = ", ".join(f"{name}={value}" for name, value in assertion.where.items())
    if assertion.count is not None and len(rows) != assertion.count:
        yield Difference(assertion.table, label, "count", assertion.count, len(rows))
    if assertion.values and not rows:
        yield Difference(assertion.table, label, None, assertion.values, None)
    for row in rows:
        for column, value in assertion.values.items():
            if row[column] != value:
                yield Difference(assertion.table, label, column, value, row[column])


def _right(changes: Sequence[RowChange]) -> Verdict:
    count = len(changes)
    reason = f"every row as expected ({count} written)" if count else "no row changed, as expected"
    return Verdict(grader=OutcomeGrader.name, passed=True, score=1.0, reason=reason)


def _share_right(expected_rows: int, wrong: Sequence[Difference]) -> float:
    """Share of rows that are right, of those expected or touched: never 1 when something is off."""
    wrong_rows = len({(d.table, d.key) for d in wrong})
    return max(0.0, 1 - wrong_rows / max(expected_rows, wrong_rows, 1)) if expected_rows else 0.0
