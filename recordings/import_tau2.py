"""A clone of tau2-bench (or of its corrected tasks) as packs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from ..domains.documents import document_rows
from ..domains.packs import BenchmarkTask, knows, make_pack
from ..errors import UsageError
from .importing import Report, counted, with_refusals
from .tau2_documents import DATABASES, completed
from .tau2_runs import task_of

BENCHMARK: Final = "tau2"
PLACES: Final = ("data/tau2/domains", "tau2/domains", "domains", ".")
"""Where the domains are: in a clone, in its data folder, in a part of that, or right here."""


def domains_folder(clone: Path) -> Path | None:
    """The folder of domains of a clone of tau2-bench; None if it is something else."""
    folders = (clone / place for place in PLACES)
    return next((f for f in folders if f.is_dir() and any(f.glob("*/tasks.json"))), None)


def read_tau2(clone: Path, label: str = BENCHMARK, world: Path | None = None) -> list[Report]:
    """Every domain of a clone, with what was and was not read.

    Args:
        clone: The repository's folder, or its data folder.
        label: What stands behind the "@" of the packs' names.
        world: Another clone, for the databases of domains that have none here: sets of corrected
            tasks come without.

    Raises:
        UsageError: One of them is no clone of tau2-bench.
    """
    rows_from = None if world is None else _domains(world)
    return [
        _domain(folder, clone, label, rows_from)
        for folder in sorted(_domains(clone).iterdir())
        if folder.is_dir()
    ]


def _domains(clone: Path) -> Path:
    folder = domains_folder(clone)
    if folder is None:
        raise UsageError(
            f"{str(clone)!r} is no clone of tau2-bench: it has no folder {PLACES[0]} with tasks"
        )
    return folder


def _domain(folder: Path, clone: Path, label: str, rows_from: Path | None) -> Report:
    report = Report(folder.name)
    if not knows(folder.name, BENCHMARK) or folder.name not in DATABASES:
        report.not_understood.append(f"domain {folder.name!r}: nobody here knows its tools")
        return report
    if rows_from is None or (folder / "db.json").exists():
        database = report.json(folder / "db.json", clone)
    else:
        database = report.json(rows_from / folder.name / "db.json", rows_from)
    policy = report.text(folder / "policy.md", clone)
    tasks = list(_tasks(folder, clone, report))
    sections = _sections(folder.name, database, report)
    if sections is None:
        return report
    about = {"source": "tau2-bench", "label": label}
    name = f"{folder.name}@{label}"
    pack = make_pack(name, BENCHMARK, document_rows(sections), policy, tasks, about)
    report.pack = with_refusals(pack)
    return report


def _sections(domain: str, database: Any, report: Report) -> dict[str, Any] | None:
    if not isinstance(database, dict):
        return None
    sections = {}
    for section, model in DATABASES[domain].items():
        try:
            sections[section] = completed(database[section], model)
        except KeyError:
            report.missing.append(f"section {section!r} of db.json")
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            report.not_understood.append(f"db.json: {section}.{where}: {first['msg']}")
        else:
            report.read.append(f"{len(sections[section])} {section}")
    return sections if len(sections) == len(DATABASES[domain]) else None


def _tasks(folder: Path, clone: Path, report: Report) -> Iterator[BenchmarkTask]:
    records = report.json(folder / "tasks.json", clone)
    splits = report.json(folder / "split_tasks.json", clone)
    read = 0
    for index, record in enumerate(records if isinstance(records, list) else ()):
        try:
            task = task_of(record, _split(splits, record["id"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            said = " ".join(str(error).split())
            report.not_understood.append(f"tasks.json: task {index}: {said:.100}")
            continue
        if record.get("initial_state"):
            report.not_understood.append(f"tasks.json: task {task.id!r} has a state of its own")
            continue
        read += 1
        yield task
    report.read.append(counted(read, "task"))


def _split(splits: Any, task_id: str) -> str:
    """The part a task belongs to: test or train where it is in one, else any that names it."""
    if not isinstance(splits, dict):
        return "test"
    holding = [name for name, ids in splits.items() if isinstance(ids, list) and task_id in ids]
    return next((name for name in ("test", "train") if name in holding), (holding or ["test"])[0])
