"""What both importers share: a report of what was read, and reading a clone's files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..domains.database import Database
from ..domains.packs import Pack
from ..task import ReferenceAction


@dataclass
class Report:
    """What became of one domain of a clone.

    Attributes:
        domain: Its name in the clone.
        pack: What was made of it; None if there is not enough for a world.
        read: What was read, in words.
        missing: What was looked for and is not there.
        not_understood: What is there and could not be read, each with where and why.
    """

    domain: str
    pack: Pack | None = None
    read: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "domain": self.domain,
            "pack": self.pack.name if self.pack else None,
            "read": self.read,
            "missing": self.missing,
            "not_understood": self.not_understood,
        }

    def text(self, file: Path, root: Path) -> str:
        """A file's text; "" and a note in the report if it cannot be had."""
        name = file.relative_to(root).as_posix()
        try:
            return file.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            self.missing.append(name)
        except (OSError, UnicodeDecodeError) as error:
            self.not_understood.append(f"{name}: {error}")
        return ""

    def json(self, file: Path, root: Path) -> Any:
        """A file's JSON value; None and a note in the report if it cannot be had."""
        text = self.text(file, root)
        if not text:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            name = file.relative_to(root).as_posix()
            self.not_understood.append(f"{name}: {' '.join(str(error).split())}")
            return None


def with_refusals(pack: Pack) -> Pack:
    """The same pack, with the reference calls marked that their own tools refuse."""
    marked = {}
    for task in pack.benchmark_tasks.values():
        with pack.world.fork() as db:
            refused = tuple(
                index
                for index, action in enumerate(task.actions or ())
                if _refuses(pack, db, action)
            )
        marked[task.id] = task.model_copy(update={"refused": refused})
    return replace(pack, benchmark_tasks=marked)


def _refuses(pack: Pack, db: Database, action: ReferenceAction) -> bool:
    return pack.call(db, action.name, action.arguments).error is not None


def counted(count: int, what: str) -> str:
    """A count with its noun.

    >>> counted(1, "task"), counted(2, "task")
    ('1 task', '2 tasks')
    """
    return f"{count} {what if count == 1 else what + 's'}"
