"""Packs: another benchmark's domain (world, policy, tasks), imported from a user's own clone.

A pack is a domain called ``retail@tau-bench``: the business, and the benchmark whose tools it uses.
On disk it is a folder of that name::

    pack.json           what it is, where it came from, what was read
    policy.md
    world/users.jsonl   one row a line: id, position, document (as JSON text)
    tasks.jsonl         one task a line, with the benchmark's own record of it
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

from ..errors import TaskError, UsageError
from ..task import Expected, Goal, Outcome, ReferenceAction, Task, UserScript
from .compat import Toolset, call_compat
from .database import Database
from .documents import TAU2_HASH, TAU_BENCH_HASH, HashStyle, StateHash, parsed
from .domain import Domain, no_such
from .tool import ToolOutcome
from .world import World

PACK_VERSION: Final = 1
NAME: Final = re.compile(r"[a-z0-9_]+@[a-z0-9][a-z0-9_-]*")
NOW: Final = datetime(2024, 5, 15, 15)  # both benchmarks, in their policies
_HERE: Final = __package__


@dataclass(frozen=True)
class Benchmark:
    """A benchmark whose tools are known.

    Attributes:
        name: As in the names of packs.
        module: Of its tools, in each domain's folder.
        hash_style: How it hashes a database.
    """

    name: str
    module: str
    hash_style: HashStyle


BENCHMARKS: Final = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("tau-bench", "compat", TAU_BENCH_HASH),
        Benchmark("tau2", "compat_tau2", TAU2_HASH),
    )
}


def knows(domain: str, benchmark: str) -> bool:
    """Whether there are tools that behave as this benchmark's do in this domain."""
    if not re.fullmatch(r"[a-z0-9_]+", domain) or find_spec(f"{_HERE}.{domain}") is None:
        return False
    return find_spec(f"{_HERE}.{domain}.{BENCHMARKS[benchmark].module}") is not None


def toolset_of(domain: str, benchmark: str) -> Toolset:
    """The tools that behave as this benchmark's do in this domain; `knows` says if there are."""
    toolset = import_module(f"{_HERE}.{domain}.{BENCHMARKS[benchmark].module}").TOOLS
    assert isinstance(toolset, Toolset)
    return toolset


class BenchmarkTask(BaseModel):
    """A task as its benchmark defines it.

    Attributes:
        id: Unique in the pack; ``test-7`` in tau-bench, whose splits number their tasks apart.
        split: Which part of the benchmark it belongs to.
        user_id: The customer; "" if the record does not say.
        instruction: What the simulated customer is told.
        actions: The reference calls; None means that the database is not compared.
        tell: What the agent must have said.
        basis: Names of the components that decide; empty where the benchmark has one fixed rule.
        refused: Which reference calls their own tools refuse; these change nothing.
        record: The benchmark's own record, unknown fields included.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    split: str = "test"
    user_id: str = ""
    instruction: str = ""
    actions: tuple[ReferenceAction, ...] | None = ()
    tell: tuple[str, ...] = ()
    basis: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()
    record: dict[str, Any] = {}

    def as_task(self, domain: str) -> Task:
        """The same task as one of ours, to be played: the whole instruction is the one request."""
        instruction = self.instruction or "(the benchmark gives no instruction)"
        kept = [a for i, a in enumerate(self.actions or ()) if i not in self.refused]
        return _ImportedTask(
            id=self.id,
            domain=domain,
            purpose=instruction,
            user=UserScript(
                customer=self.user_id, goals=[Goal(ask=instruction)], instruction=instruction
            ),
            expect=Expected(outcomes=[Outcome(actions=kept)], tell=list(self.tell)),
            split=self.split,
        )


class _ImportedTask(Task):
    """Theirs may expect that nothing happens, so that doing nothing passes."""

    @model_validator(mode="after")
    def _expects_something(self) -> _ImportedTask:
        return self


@dataclass(frozen=True, kw_only=True)
class Pack(Domain):
    """A benchmark's domain: its documents, its policy, its tasks, tools that behave as its own.

    Attributes:
        benchmark: Whose it is.
        sections: The documents, as rows by table.
        document: The policy.
        benchmark_tasks: The tasks by id.
        about: What pack.json says of the import.
        unknown: What a call of a tool that is not there is answered, with ``{name}`` in it.
    """

    benchmark: Benchmark
    sections: Mapping[str, Sequence[Mapping[str, Any]]] = field(repr=False)
    document: str = field(repr=False)
    benchmark_tasks: Mapping[str, BenchmarkTask] = field(repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    unknown: str

    @property
    def business(self) -> str:
        """The domain's name without the benchmark's."""
        return self.name.partition("@")[0]

    @cached_property
    def world(self) -> World:
        """The documents that every episode starts from."""
        return World(self.tables, self.sections, NOW)

    @cached_property
    def policy(self) -> str:
        """The benchmark's own policy document."""
        return self.document

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks as ours, to be played."""
        return {t.id: t.as_task(self.name) for t in self.benchmark_tasks.values()}

    @cached_property
    def state_hash(self) -> StateHash:
        """The benchmark's hash of the whole database."""
        return StateHash(self.world, self.benchmark.hash_style)

    def call(self, db: Database, name: str, arguments: object) -> ToolOutcome:
        """Run one tool; names and arguments are taken as loosely as the benchmark takes them."""
        return call_compat(self.tools, db, name, arguments, self.unknown)


def make_pack(
    name: str,
    benchmark: str,
    sections: Mapping[str, Sequence[Mapping[str, Any]]],
    policy: str,
    tasks: Sequence[BenchmarkTask],
    about: Mapping[str, Any] | None = None,
) -> Pack:
    """A pack from its parts.

    Raises:
        UsageError: The name does not fit, or nobody knows this benchmark's tools in this domain.
    """
    if not NAME.fullmatch(name):
        raise UsageError(f"not the name of a pack: {name!r}; one looks like retail@tau-bench")
    if benchmark not in BENCHMARKS:
        raise UsageError(f"no benchmark {benchmark!r}; known are {', '.join(BENCHMARKS)}")
    business = name.partition("@")[0]
    if not knows(business, benchmark):
        raise UsageError(f"no tools that behave as those of {benchmark} in domain {business!r}")
    toolset = toolset_of(business, benchmark)
    return Pack(
        name=name,
        tables=toolset.tables,
        tools=toolset.tools,
        profile=_profile,
        benchmark=BENCHMARKS[benchmark],
        sections=sections,
        document=policy,
        benchmark_tasks={task.id: task for task in tasks},
        about=about or {},
        unknown=toolset.unknown,
    )


def _profile(db: Database, customer: str) -> dict[str, str]:
    """What a customer of either business knows about themselves."""
    found = db.find("users", {"id": customer})
    if not found:
        raise TaskError(f"no customer {customer!r} in this pack")
    user = parsed(found[0]["document"])
    first, last, address = user["name"]["first_name"], user["name"]["last_name"], user["address"]
    return {
        "user id": customer,
        "name": f"{first} {last}",
        "first name": first,
        "last name": last,
        "email": user["email"],
        "zip": address["zip"],
        "address": ", ".join(str(line) for line in address.values() if line),
    }


# --- on disk ------------------------------------------------------------------------------------


def packs_folder() -> Path:
    """Where packs are kept: $PASSHAT_PACKS, else the user's data folder."""
    if given := os.environ.get("PASSHAT_PACKS"):
        return Path(given)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "passhat" / "packs"


def save_pack(pack: Pack, into: Path) -> Path:
    """Write a pack into a folder of packs, over an older one of its name; returns its own folder.

    Raises:
        UsageError: The folder cannot be written, or something else has that name.
    """
    folder = into / pack.name
    if folder.exists() and not (folder / "pack.json").is_file():
        raise UsageError(f"{str(folder)!r} exists and is no pack")
    try:
        (folder / "world").mkdir(parents=True, exist_ok=True)
        for table in pack.tables.tables:
            _write_lines(folder / "world" / f"{table}.jsonl", pack.sections.get(table, ()))
        tasks = [task.model_dump(mode="json") for task in pack.benchmark_tasks.values()]
        _write_lines(folder / "tasks.jsonl", tasks)
        (folder / "policy.md").write_text(pack.document, encoding="utf-8")
        about = {
            "format": PACK_VERSION,
            "name": pack.name,
            "benchmark": pack.benchmark.name,
            **pack.about,
        }
        (folder / "pack.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(folder)!r}: {error.strerror}") from error
    return folder


def _write_lines(file: Path, values: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(value) + "\n" for value in values)


def open_pack(folder: Path) -> Pack:
    """Read a pack from its folder.

    Raises:
        UsageError: It is no pack, of a newer format, or damaged; one line.
    """
    try:
        about = _about(folder)
        tables = _toolset_tables(about)
        sections = {table: _lines(folder / "world" / f"{table}.jsonl") for table in tables}
        tasks = [BenchmarkTask.model_validate(line) for line in _lines(folder / "tasks.jsonl")]
        policy = (folder / "policy.md").read_text(encoding="utf-8")
        return make_pack(about["name"], about["benchmark"], sections, policy, tasks, about)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def pack_benchmark(folder: Path) -> str:
    """Whose a pack is, by its folder.

    Raises:
        UsageError: It is no pack, of a newer format, or damaged.
    """
    try:
        return str(_about(folder)["benchmark"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def _about(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / "pack.json").read_text(encoding="utf-8"))
    if about["format"] > PACK_VERSION:
        raise UsageError(f"{str(folder)!r} is a pack of a newer passhat")
    return about


def _damaged(folder: Path, error: Exception) -> UsageError:
    said = " ".join(str(error).split())
    return UsageError(
        f"the pack in {str(folder)!r} is damaged ({type(error).__name__}: {said:.100}); "
        "import it again"
    )


def _toolset_tables(about: Mapping[str, Any]) -> list[str]:
    business = about["name"].partition("@")[0]
    if about["benchmark"] not in BENCHMARKS or not knows(business, about["benchmark"]):
        raise UsageError(
            f"pack {about['name']!r}: no tools of {about['benchmark']!r} in domain {business!r}"
        )
    return list(toolset_of(business, about["benchmark"]).tables.tables)


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def pack_names(where: Path | None = None) -> list[str]:
    """The packs in a folder of packs, sorted; none if there is no such folder."""
    folder = where or packs_folder()
    if not folder.is_dir():
        return []
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if NAME.fullmatch(entry.name) and (entry / "pack.json").is_file()
    )


def load_pack(name: str, where: Path | None = None) -> Pack:
    """The pack of that name.

    Args:
        name: Such as ``retail@tau-bench``.
        where: The folder of packs; by default `packs_folder`.

    Raises:
        UsageError: There is none, or it is damaged.
    """
    folder = where or packs_folder()
    if name not in pack_names(folder):
        listing = f"passhat import makes packs; {str(folder)!r}"
        raise UsageError(no_such("pack", name, pack_names(folder), listing))
    return open_pack(folder / name)
