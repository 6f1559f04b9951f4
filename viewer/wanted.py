"""What a task wants, for people to read: the customer's side, and what must be true at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..task import Task


def script_of(task: Task) -> list[tuple[str, str]]:
    """What the customer wants and knows, as name and text."""
    found = []
    for number, goal in enumerate(task.user.goals, start=1):
        name = "Wants" if len(task.user.goals) == 1 else f"Wants, {number}"
        details = "; ".join(f"{topic}: {answer}" for topic, answer in goal.details.items())
        found.append((name, f"{goal.ask} ({details})" if details else goal.ask))
        if goal.otherwise:
            found.append(("Otherwise", goal.otherwise.ask))
    knows = "; ".join(f"{topic}: {answer}" for topic, answer in task.user.knows.items())
    unknown = ", ".join(task.user.unknown)
    parts = [("Knows", knows), ("Does not know", unknown), ("Told", task.user.instruction)]
    return [*found, *((name, text) for name, text in parts if text)]


def expected_of(task: Task) -> list[tuple[str, list[str]]]:
    """What must be true at the end: a heading and its lines each."""
    expect = task.expect
    found: list[tuple[str, list[str]]] = []
    for number, outcome in enumerate(expect.outcomes, start=1):
        left = "Rows as these calls leave them" if outcome.actions else "These rows"
        name = left if number == 1 else f"or {left.lower()}"
        calls = [f"{one.name} {_arguments(one.arguments)}" for one in outcome.actions]
        rows = [f"{one.table} {one.where}: {one.values or one.count}" for one in outcome.rows]
        found.append((name, [*calls, *rows] or ["as they were"]))
    if not expect.outcomes:
        found.append(("No change", ["to any row"]))
    if expect.tell:
        found.append(("The customer is told", [_any_of(one) for one in expect.tell]))
    if expect.refuse:
        refused = [
            f"{_any_of(one.about)}, because {_because(one.because)}" for one in expect.refuse
        ]
        found.append(("This is refused", refused))
    hand_over = "must hand over to a person" if expect.hand_over else "must not hand over"
    found.append(("The agent", [hand_over]))
    return found


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={given!r}" for name, given in arguments.items())


def _any_of(words: str | list[str]) -> str:
    return words if isinstance(words, str) else " / ".join(words)


def _because(words: Sequence[str | list[str]]) -> str:
    return " and ".join(_any_of(one) for one in words)
