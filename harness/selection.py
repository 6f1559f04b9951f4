"""Which tasks of a domain are meant: by id or pattern, by tag, by split."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ..domains.domain import Domain, no_such
from ..errors import UsageError


def select_tasks(
    domain: Domain,
    patterns: Sequence[str] = (),
    tags: Sequence[str] = (),
    split: str | None = None,
) -> tuple[str, ...]:
    """Ids of the tasks that are meant, each once, in the domain's order.

    Args:
        domain: Whose tasks.
        patterns: Ids, or patterns such as ``cancel-*``; none: all.
        tags: A task must have one of them; none: any.
        split: A task must belong to it; None: any.

    Raises:
        UsageError: There are no tasks, a pattern matches nothing, there is no such tag or split, or
            nothing is left.
    """
    tasks = domain.tasks
    if not tasks:
        raise UsageError(f"{domain.name!r} has no tasks, only a world: import a clone with some")
    listing = f"passhat tasks {domain.name}"
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in tasks):
            raise UsageError(no_such("task", pattern, tasks, listing))
    known_tags = sorted({tag for task in tasks.values() for tag in task.tags})
    for tag in tags:
        if tag not in known_tags:
            raise UsageError(no_such("tag", tag, known_tags, listing))
    known_splits = sorted({task.split for task in tasks.values()})
    if split is not None and split not in known_splits:
        raise UsageError(f"no split {split!r}; there are: {', '.join(map(repr, known_splits))}")
    meant = tuple(
        name
        for name, task in tasks.items()
        if (not patterns or any(fnmatchcase(name, pattern) for pattern in patterns))
        and (not tags or any(tag in task.tags for tag in tags))
        and (split is None or task.split == split)
    )
    if not meant:
        raise UsageError(f"no task of {domain.name!r} is left; {listing} lists them")
    return meant
