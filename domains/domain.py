"""Domain: one business, found by its folder: tables, tools, world, policy document, tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pkgutil import iter_modules
from typing import Any

import yaml
from pydantic import ValidationError
from sqlalchemy import MetaData

from ..errors import UsageError
from ..task import Task
from .database import Database
from .tool import Tool, ToolOutcome, call_tool
from .world import World

_PACKAGE = __package__.rpartition(".")[0]


@dataclass(frozen=True)
class Domain:
    """One business an agent can be tested in.

    ``policies/<name>.md``, ``data/<name>/world`` and ``data/<name>/tasks/*.yaml`` belong to it by
    name. A domain of your own folder is the same object with ``world``, ``policy`` and ``tasks``
    given.

    Attributes:
        name: Folder name; also names the policy document and the data.
        tables: The schema, as SQLAlchemy metadata.
        tools: The agent's tools by name.
        profile: What a customer knows about themselves, by topic in plain words (``name``,
            ``email``, ``zip`` ...), read from the rows of the customer with this id.
        user_tools: Tools of the customer, in domains where both sides act.
    """

    name: str
    tables: MetaData
    tools: Mapping[str, Tool]
    profile: Callable[[Database, str], dict[str, str]]
    user_tools: Mapping[str, Tool] = field(default_factory=dict)

    @cached_property
    def world(self) -> World:
        """The rows and the clock that every episode starts from."""
        return World.shipped(self.name, self.tables)

    @cached_property
    def policy(self) -> str:
        """The document the agent must obey, as Markdown."""
        return (files(_PACKAGE) / "policies" / f"{self.name}.md").read_text(encoding="utf-8")

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        """Every task of the domain by id, in file order."""
        folder = files(_PACKAGE) / "data" / self.name / "tasks"
        tasks: dict[str, Task] = {}
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            if file.name.endswith(".yaml"):
                for task in read_tasks(file, self.name):
                    if task.id in tasks:
                        raise UsageError(f"{file.name}: task id {task.id!r} is taken already")
                    tasks[task.id] = task
        return tasks

    def task(self, task_id: str) -> Task:
        """One task by id.

        Raises:
            UsageError: There is none; the message names the nearest ids.
        """
        if task_id not in self.tasks:
            raise UsageError(no_such("task", task_id, self.tasks, f"passhat tasks {self.name}"))
        return self.tasks[task_id]

    def call(self, db: Database, name: str, arguments: object) -> ToolOutcome:
        """Run one of the agent's tools on an open database."""
        return call_tool(self.tools, db, name, arguments)


def no_such(what: str, name: str, known: Any, listing: str) -> str:
    """The line that says that a name is not known, and which ones are near.

    >>> no_such("domain", "retial", ["retail"], "passhat domains")
    "no domain 'retial'; did you mean 'retail'? passhat domains lists them"
    """
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ";"
    return f"no {what} {name!r}{hint} {listing} lists them"


def read_tasks(file: Traversable, domain: str) -> list[Task]:
    """The tasks of one YAML file.

    Raises:
        UsageError: Not YAML, not a list of tasks, or a task with a wrong field; names the file, the
            task and the field.
    """
    try:
        loaded = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(loaded, list):
        raise UsageError(f"{file}: must be a list of tasks")
    return [_task(entry, file, domain) for entry in loaded]


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _task(entry: object, file: Traversable, domain: str) -> Task:
    name = entry.get("id", "?") if isinstance(entry, dict) else "?"
    try:
        return Task.model_validate({"domain": domain} | entry if isinstance(entry, dict) else entry)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{file}: task {name!r}: {where}: {first['msg']}") from None


def domain_names() -> list[str]:
    """Every folder of ``domains/`` is a domain."""
    package = import_module(f"{_PACKAGE}.domains")
    return sorted(module.name for module in iter_modules(package.__path__) if module.ispkg)


def load_domain(name: str) -> Domain:
    """The domain of that name; with an "@" in it, the pack of that name: see `packs`.

    Raises:
        UsageError: There is none.
    """
    if "@" in name:
        from .packs import load_pack

        return load_pack(name)
    if name not in domain_names():
        raise UsageError(no_such("domain", name, domain_names(), "passhat domains"))
    domain = import_module(f"{_PACKAGE}.domains.{name}").DOMAIN
    assert isinstance(domain, Domain)
    return domain
