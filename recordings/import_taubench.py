"""A clone of tau-bench as packs.

Its databases are JSON, its policy is Markdown, and its tasks are Python files. These are read, not
run: only literal values and calls of ``Task`` and ``Action`` with literal keywords are understood,
anything else is reported with its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..domains.documents import document_rows
from ..domains.packs import BenchmarkTask, knows, make_pack
from ..errors import UsageError
from .importing import Report, counted, with_refusals
from .taubench_runs import task_of

BENCHMARK: Final = "tau-bench"
SECTIONS: Final = {
    "airline": ("flights", "reservations", "users"),
    "retail": ("orders", "products", "users"),
}
TASK_FILE: Final = re.compile(r"tasks(?:_(\w+))?\.py")
UNREADABLE: Final[dict[str, Any]] = {}
MOST_NAMED: Final = 5  # faults of one file that are told apart


def is_tau_bench(clone: Path) -> bool:
    """Whether a folder looks like a clone of tau-bench."""
    return (clone / "tau_bench" / "envs").is_dir()


def read_tau_bench(clone: Path, label: str = BENCHMARK) -> list[Report]:
    """Every domain of a clone, with what was and was not read.

    Args:
        clone: The repository's folder.
        label: What stands behind the "@" of the packs' names.

    Raises:
        UsageError: It is no clone of tau-bench.
    """
    if not is_tau_bench(clone):
        raise UsageError(
            f"{str(clone)!r} is no clone of tau-bench: it has no folder tau_bench/envs"
        )
    folders = sorted(f for f in (clone / "tau_bench" / "envs").iterdir() if (f / "data").is_dir())
    return [_domain(folder, clone, label) for folder in folders]


def _domain(folder: Path, clone: Path, label: str) -> Report:
    report = Report(folder.name)
    if not knows(folder.name, BENCHMARK):
        report.not_understood.append(f"domain {folder.name!r}: nobody here knows its tools")
        return report
    sections = {}
    for section in SECTIONS[folder.name]:
        documents = report.json(folder / "data" / f"{section}.json", clone)
        if isinstance(documents, dict):
            sections[section] = documents
            report.read.append(f"{len(documents)} {section}")
    policy = report.text(folder / "wiki.md", clone)
    tasks = list(_tasks(folder, clone, report))
    if len(sections) < len(SECTIONS[folder.name]):
        return report
    about = {"source": BENCHMARK, "label": label}
    name = f"{folder.name}@{label}"
    pack = make_pack(name, BENCHMARK, document_rows(sections), policy, tasks, about)
    report.pack = with_refusals(pack)
    return report


def _tasks(folder: Path, clone: Path, report: Report) -> Iterator[BenchmarkTask]:
    files = {f.name: f for f in sorted(folder.glob("tasks*.py")) if TASK_FILE.fullmatch(f.name)}
    if "tasks_test.py" in files:
        files.pop("tasks.py", None)  # an older version of the same
    if not files:
        report.missing.append(f"{folder.relative_to(clone).as_posix()}/tasks_*.py")
    for name, file in files.items():
        match = TASK_FILE.fullmatch(name)
        assert match is not None
        split = match.group(1) or "test"
        found, faults = read_task_file(report.text(file, clone))
        read = []
        for index, record in enumerate(found):
            if record == UNREADABLE:
                continue
            try:
                read.append(task_of(record, f"{split}-{index}", split))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                faults.append(f"task {index}: {type(error).__name__}: {error}")
        report.read.append(f"{counted(len(read), 'task')} of split {split!r}")
        where = file.relative_to(clone).as_posix()
        report.not_understood.extend(f"{where}: {fault}" for fault in faults[:MOST_NAMED])
        if len(faults) > MOST_NAMED:
            report.not_understood.append(f"{where}: and {len(faults) - MOST_NAMED} more")
        yield from read


def read_task_file(source: str) -> tuple[list[Any], list[str]]:
    """The tasks of a Python file, without running it.

    Args:
        source: The file's text.

    Returns:
        The records of its longest list, calls of ``Task`` and ``Action`` as dicts of their
        keywords, and what could not be read. An element that could not be read is not in the list;
        the ones after it keep their number by an empty record in its place.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [], [f"no Python that can be read: {error}"]
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List)
    ]
    if not lists:
        return [], ["no list of tasks"]
    records, faults = [], []
    for element in max(lists, key=lambda node: len(node.elts)).elts:
        try:
            records.append(_literal(element))
        except (_NotLiteral, RecursionError) as error:
            records.append(UNREADABLE)
            faults.append(f"line {element.lineno}: {error}")
    return records, faults


class _NotLiteral(Exception):  # noqa: N818 - reported, never raised out of here
    pass


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.List(items) | ast.Tuple(items):
            return [_literal(item) for item in items]
        case ast.Dict(keys, values) if all(key is not None for key in keys):
            pairs = zip(keys, values, strict=True)
            return {_literal(key): _literal(value) for key, value in pairs if key is not None}
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
            return -number
        case ast.BinOp(left, ast.Add(), right):
            return _joined(_literal(left), _literal(right), node)
        case ast.Call(ast.Name("Task" | "Action"), [], keywords):
            if all(keyword.arg for keyword in keywords):
                return {str(keyword.arg): _literal(keyword.value) for keyword in keywords}
    raise _NotLiteral(f"{type(node).__name__} in line {node.lineno} is no literal value")


def _joined(left: Any, right: Any, node: ast.expr) -> str:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    raise _NotLiteral(f"a sum in line {node.lineno} is no literal value")
