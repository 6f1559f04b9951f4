"""What is measured, as hashes: two runs may be compared when theirs are equal."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from ..domains.domain import Domain, domain_names
from ..grading.grading import own_grader
from ..models.model import ModelUse
from .attempt import Conditions

TASK_SET = (
    "domain", "tasks", "world", "policy", "rules", "tools", "grading", "simulator", "basis",
    "max_turns",
)  # fmt: skip
"""Parts that make a score on a set of tasks what it is, whoever the agent is."""


PACKAGES: Final = {"claude": "anthropic", "openai": "openai", "litellm": "litellm"}
"""The package that speaks to a kind of model."""


def fingerprint_parts(
    domain: Domain, tasks: Sequence[str], conditions: Conditions, agent_asks: bool = False
) -> dict[str, str]:
    """Everything that decides what a run measures, by what it is of.

    Long contents are hashed (SHA-256), short ones stand as they are. An agent of somebody's own is
    known by its spec only: passhat cannot see when its code, or the model behind it, changes.

    Args:
        domain: The business.
        tasks: Ids of those that are played.
        conditions: Under which.
        agent_asks: Whether the agent asks a model through passhat, so that our prompts are a part
            of it.
    """
    parts = {
        "domain": domain.name,
        "tasks": _digest(domain.task(task).model_dump_json() for task in tasks),
        "world": _digest(_world(domain)),
        "policy": _digest([domain.policy]),
        "rules": _digest(_rules(domain)),
        "tools": _digest(_tools(domain)),
        "grading": _digest([*_package("grading"), *_own_graders(domain, tasks, conditions)]),
        "simulator": _digest(_package("simulator", endings=("",))),
        "agent": f"{conditions.agent} {_agent_code()}" if agent_asks else conditions.agent,
        "user": conditions.user,
        "basis": conditions.basis,
        "max_turns": str(conditions.max_turns),
    }
    if conditions.user_seeds is not None:
        parts["user_seeds"] = str(conditions.user_seeds)
    return parts


def fingerprint(parts: dict[str, str], names: Iterable[str] | None = None) -> str:
    """One hash of all parts, or of those named."""
    wanted = sorted(parts if names is None else names)
    return _digest(f"{name}={parts[name]}" for name in wanted)


def versions(uses: Iterable[ModelUse] = ()) -> dict[str, str]:
    """What the run runs on; not part of the fingerprint, but kept beside it.

    Args:
        uses: The models that are asked; the packages that speak to them are named too.
    """
    kinds = [use.model.spec.partition(":")[0] for use in uses]
    asked = sorted({PACKAGES[kind] for kind in kinds if kind in PACKAGES})
    return {
        "passhat": metadata.version("passhat"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{package: metadata.version(package) for package in asked},
    }


def _digest(texts: Iterable[str]) -> str:
    total = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        total.update(len(raw).to_bytes(8, "big"))  # so that ["ab"] is not ["a", "b"]
        total.update(raw)
    return total.hexdigest()


def _world(domain: Domain) -> Iterable[str]:
    """The rows rather than the database's bytes, which differ between versions of SQLite."""
    yield domain.world.now.isoformat()
    with domain.world.fork() as db:
        for name in sorted(domain.tables.tables):
            yield name
            rows = (json.dumps(row, sort_keys=True, default=str) for row in db.find(name, {}))
            yield from sorted(rows)


def _tools(domain: Domain) -> Iterable[str]:
    """What the agent reads about each tool, and the code of the files that the tools are in."""
    every = [*domain.tools.values(), *domain.user_tools.values()]
    for tool in every:
        yield json.dumps(tool.schema, sort_keys=True)
    yield from _sources(tool.function for tool in every)


def _rules(domain: Domain) -> Iterable[str]:
    """The code of this domain's rules and of all that rules are made of; not of other domains'."""
    others = set(domain_names()) - {domain.name}
    return _package("policies", without=tuple(others))


def _own_graders(domain: Domain, tasks: Sequence[str], conditions: Conditions) -> Iterable[str]:
    """Graders of the user's own that decide: their names, and the code of the files they are in."""
    specs = [*conditions.graders]
    for task in tasks:
        specs.extend(domain.task(task).graders)
    every = sorted(set(specs))
    return [*every, *map(_source_of, every)]


def _source_of(spec: str) -> str:
    """The code of the module that ``python:module:callable`` names; "" if it has no file."""
    own_grader(spec)  # imports it
    file = getattr(sys.modules[spec.split(":")[1]], "__file__", None)
    return Path(file).read_text(encoding="utf-8") if file and file.endswith(".py") else ""


def _package(
    room: str, without: tuple[str, ...] = (), endings: tuple[str, ...] = (".py", ".json")
) -> Iterable[str]:
    """The code of a room, with the language rules that all rooms share."""
    found = {**_files(_ROOT / room), "language.py": _ROOT / "language.py"}
    for name in sorted(found):
        if name.endswith(endings) and not name.startswith(without):
            yield found[name].read_text(encoding="utf-8")


_ROOT = files(__package__.rpartition(".")[0])


def _agent_code() -> str:
    """What makes an agent of a model: what it is told, and how its answers are read."""
    found = _files(_ROOT / "agents")
    ours = sorted(name for name in found if name.startswith(_OF_MODEL_AGENTS))
    return _digest(found[name].read_text(encoding="utf-8") for name in ours)[:12]


_OF_MODEL_AGENTS: Final = ("dialogue", "model_agent", "prompts/", "text_")


def _files(folder: Traversable, prefix: str = "") -> dict[str, Traversable]:
    """Every file in and below a folder that somebody wrote, by its path in it."""
    found: dict[str, Traversable] = {}
    for entry in folder.iterdir():
        if entry.name.startswith((".", "__pycache__")):
            continue
        if entry.is_dir():
            found |= _files(entry, f"{prefix}{entry.name}/")
        else:
            found[prefix + entry.name] = entry
    return found


def _sources(functions: Iterable[Any]) -> Iterable[str]:
    paths = {Path(inspect.getfile(inspect.unwrap(function))) for function in functions}
    return sorted(path.read_text(encoding="utf-8") for path in paths if path.is_file())
