"""Labels: what people say about trials, kept in the store beside what graders say.

A person has one label for a trial; a later one takes its place. A label is *blind* if neither the
grade nor anybody's label was shown before it was given, so that it can be held against both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, delete, insert, inspect, select
from sqlalchemy.exc import DBAPIError

from ..errors import Fault, UsageError
from .opening import in_one_line, writing
from .tables import LABELS

LONGEST_NAME: Final = 80
LONGEST_NOTE: Final = 20_000
"""Characters of a name and of a note."""


@dataclass(frozen=True)
class Label:
    """What one person says about one trial.

    Attributes:
        run: Id of the run.
        task: Id of the task.
        trial: Number of the trial.
        person: Who says it.
        passed: Whether the agent did its job; None for "unsure".
        fault: Whose fault it is if it did not; None if the person does not say.
        note: In words; "" if there is none.
        blind: Neither the grade nor anybody's label was shown before.
        labelled: ISO date and time, UTC; "" until it is kept.
    """

    run: str
    task: str
    trial: int
    person: str
    passed: bool | None
    fault: Fault | None = None
    note: str = ""
    blind: bool = False
    labelled: str = ""

    @property
    def says(self) -> str:
        """One of "pass", "fail" and "unsure"."""
        return "unsure" if self.passed is None else "pass" if self.passed else "fail"


class Labels:
    """The labels of a store.

    Args:
        engine: Of the store's database.
        name: What messages call the store.
    """

    def __init__(self, engine: Engine, name: str) -> None:
        self.name = name
        self._engine = engine

    def put(self, label: Label) -> None:
        """Keep a label, in the place of an earlier one of the same person on the same trial.

        Raises:
            UsageError: The name is empty or too long, the note is too long, or the store cannot be
                written.
        """
        if not 1 <= len(label.person.strip()) <= LONGEST_NAME:
            raise UsageError(f"a person's name has 1 to {LONGEST_NAME} characters")
        if len(label.note) > LONGEST_NOTE:
            raise UsageError(
                f"a note has at most {LONGEST_NOTE:,} characters, not {len(label.note):,}"
            )
        with self._writing() as connection:
            connection.execute(delete(LABELS).where(*_key(label)))
            connection.execute(insert(LABELS).values(**_values(label)))

    def take_back(self, run: str, task: str, trial: int, person: str) -> None:
        """Forget what a person said about a trial, if they said anything."""
        label = Label(run, task, trial, person, None)
        with self._writing() as connection:
            connection.execute(delete(LABELS).where(*_key(label)))

    def of_trial(self, run: str, task: str, trial: int) -> list[Label]:
        """What everybody says about a trial, by name."""
        return self._found(LABELS.c.run == run, LABELS.c.task == task, LABELS.c.trial == trial)

    def of_run(self, run: str | None = None) -> list[Label]:
        """Every label of a run, or of the store, by trial and name."""
        return self._found(*([] if run is None else [LABELS.c.run == run]))

    def _found(self, *where: Any) -> list[Label]:
        order = (LABELS.c.run, LABELS.c.task, LABELS.c.trial, LABELS.c.person)
        with self._reading() as connection:
            if not self._there(connection):
                return []
            rows = connection.execute(select(LABELS).where(*where).order_by(*order)).all()
        return [_label(row) for row in rows]

    @staticmethod
    def _there(connection: Connection) -> bool:
        """A store of an older schema that is only read may be without the table."""
        return inspect(connection).has_table(LABELS.name)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise in_one_line(error, self.name) from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with writing(self._engine) as connection:
                yield connection
        except DBAPIError as error:
            raise in_one_line(error, self.name) from error


def _key(label: Label) -> tuple[Any, ...]:
    return (
        LABELS.c.run == label.run,
        LABELS.c.task == label.task,
        LABELS.c.trial == label.trial,
        LABELS.c.person == label.person,
    )


def _values(label: Label) -> dict[str, Any]:
    return {
        "run": label.run,
        "task": label.task,
        "trial": label.trial,
        "person": label.person,
        "passed": label.passed,
        "fault": label.fault.value if label.fault else None,
        "note": label.note.replace("\0", "\ufffd").encode("utf-8", "replace").decode(),
        "blind": label.blind,
        "labelled": label.labelled or datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _label(row: Row[Any]) -> Label:
    return Label(
        run=row.run,
        task=row.task,
        trial=row.trial,
        person=row.person,
        passed=row.passed,
        fault=Fault(row.fault) if row.fault else None,
        note=row.note,
        blind=row.blind,
        labelled=row.labelled,
    )
