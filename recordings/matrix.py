"""Run matrices: which trial of which task passed, as CSV or JSON.

CSV has a header that names the columns ``task``, ``trial`` and ``pass``, in any order, among any
others; comma, semicolon or tab separate them. Without a header every line is one task and every
cell one trial. In JSON the same is a list of objects, an object of lists
(``{"task": [1, 0, 1]}``), or a list of lists.

A pass is written 1, true, pass or passed; a failure 0, false, fail or failed; or as a reward, of
which only 1 is a pass. Empty or null is a lost trial.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from ..errors import UsageError
from ..results import TrialResult

PASS: Final = frozenset({"1", "true", "pass", "passed"})
FAIL: Final = frozenset({"0", "false", "fail", "failed"})
COLUMNS: Final = ("task", "trial", "pass")


def csv_matrix(text: str, refuse: Callable[[str], UsageError]) -> list[TrialResult]:
    """Read a matrix written as CSV.

    Args:
        text: The whole file.
        refuse: Makes the error for a file that is no matrix, given what is wrong with it.

    Raises:
        UsageError: From ``refuse``: no header with the three columns, or nothing after it.
    """
    first = text.lstrip().split("\n", 1)[0]
    separator = next((s for s in "\t;" if s in first), ",")
    try:
        lines = [line for line in csv.reader(text.splitlines(), delimiter=separator) if any(line)]
    except csv.Error as error:
        raise refuse(f"not CSV: {error}") from error
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    if header and all(_grade(cell) is not None for cell in header):
        return json_matrix(lines)
    if missing := [column for column in COLUMNS if column not in header]:
        raise refuse(f"its first line lacks the column {missing[0]!r}")
    if len(lines) == 1:
        raise refuse("no trials after the header")
    task, trial, passed = (header.index(column) for column in COLUMNS)
    width = max(task, trial, passed) + 1
    return [
        _from_cells(line[task], line[trial], line[passed], number)
        if len(line) >= width
        else TrialResult("", number, None, "broken line: too few cells")
        for number, line in enumerate(lines[1:], start=2)
    ]


def is_json_matrix(document: Any) -> bool:
    """Whether a parsed JSON document has one of the three shapes of a matrix."""
    if isinstance(document, dict):
        return bool(document) and all(map(_is_row, document.values()))
    if not isinstance(document, list):
        return False
    rows_only = bool(document) and all(map(_is_row, document))
    return rows_only or any(isinstance(r, dict) and {"task", "pass"} <= r.keys() for r in document)


def _is_row(row: Any) -> bool:
    """Whether something can be the trials of a task: a chat's list of messages cannot."""
    return isinstance(row, list) and not any(isinstance(cell, dict | list) for cell in row)


def json_matrix(document: Any) -> list[TrialResult]:
    """Read a matrix of any shape that `is_json_matrix` accepts.

    Tasks of a list of lists are called "row 1", "row 2" and so on.
    """
    if isinstance(document, dict):
        return list(_from_rows(document.items()))
    if all(isinstance(row, list) for row in document):
        return list(_from_rows((f"row {i}", row) for i, row in enumerate(document, start=1)))
    return [
        _from_cells(record.get("task", ""), record.get("trial"), record.get("pass"), number)
        if isinstance(record, dict)
        else TrialResult("", number, None, "broken record: not an object")
        for number, record in enumerate(document, start=1)
    ]


def _from_rows(rows: Iterable[tuple[str, list[Any]]]) -> Iterator[TrialResult]:
    for task, cells in rows:
        for trial, cell in enumerate(cells):
            yield _result(task, trial, cell)


def _from_cells(task: Any, trial: Any, passed: Any, position: int) -> TrialResult:
    name = str(task).strip() if isinstance(task, str | int) else ""
    if not name:
        return TrialResult("", position, None, "broken record: no task")
    try:
        number = int(trial)
    except (TypeError, ValueError):
        # A number of its own: the trial was planned, whatever it was called.
        return TrialResult(name, -position, None, "broken record: trial is not a number")
    return _result(name, number, passed)


def _result(task: str, trial: int, passed: Any) -> TrialResult:
    written = "" if passed is None else str(passed)
    grade = _grade(written)
    if grade is not None:
        return TrialResult(task, trial, grade)
    wrong = "broken record: neither pass nor fail" if written.strip() else "no grade recorded"
    return TrialResult(task, trial, None, wrong)


@lru_cache(maxsize=256)  # large matrices repeat very few words
def _grade(written: str) -> bool | None:
    """Pass, fail, or None for a word that is neither."""
    word = written.strip().lower()
    if word in PASS or word in FAIL:
        return word in PASS
    try:
        reward = float(word)
    except ValueError:
        return None
    return abs(reward - 1) <= 1e-6 if 0 <= reward <= 1 + 1e-6 else None
