"""Runs in tau2-bench's formats: a results file, a results folder, or single simulations.

The simulations of a file are read one at a time; its tasks, which say what is expected, are kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from ..domains.packs import BenchmarkTask
from ..errors import UsageError
from ..results import TrialResult
from ..task import ReferenceAction
from .benchmark_runs import RecordedCall, RecordedRun, text
from .json_stream import Damage, members
from .results import tau2_results

PROPER: Final = frozenset({"user_stop", "agent_stop"})
DEFAULT_BASIS: Final = ("DB", "COMMUNICATE")


def tau2_head(path: Path) -> dict[str, Any]:
    """Everything of a results file but its simulations, which are skipped over.

    Raises:
        UsageError: The file breaks off before its simulations.
    """
    head: dict[str, Any] = {}
    for name, value in members(path, "simulations"):
        if isinstance(value, Damage) and not head:
            raise UsageError(f"{str(path)!r} is not complete JSON: {value.reason}")
        if name == "simulations":
            head.setdefault(name, [])
            if {"info", "tasks"} <= head.keys():
                break
        elif not isinstance(value, Damage):
            head[name] = value
    return head


def tau2_runs(path: Path, head: Mapping[str, Any]) -> Iterator[RecordedRun]:
    """The runs of a tau2 results file; trials that were planned and never run come last, lost."""
    simulations = (
        value
        for name, value in members(path, "simulations")
        if name == "simulations" or isinstance(value, Damage)
    )
    yield from runs_of(simulations, head)


def runs_of(simulations: Iterable[Any], head: Mapping[str, Any]) -> Iterator[RecordedRun]:
    """Simulations as runs.

    Args:
        simulations: As recorded; a `Damage` among them is a lost run.
        head: The rest of the results file: ``info`` and ``tasks``; may be empty.
    """
    defined = _tasks(head)
    seen: Counter[str] = Counter()
    held = set()
    for position, record in enumerate(simulations, start=1):
        run = _run(record, position, seen, defined)
        held.add(run.result[:2])
        yield run
    planned: dict[str, Any] = {
        "info": head.get("info"),
        "tasks": head.get("tasks"),
        "simulations": [],
    }
    for result in tau2_results(planned):
        if result[:2] not in held:
            yield RecordedRun(result)


def _tasks(head: Mapping[str, Any]) -> dict[str, BenchmarkTask | None]:
    """The tasks by id; None for one that cannot be read, so that its runs are lost."""
    tasks: dict[str, BenchmarkTask | None] = {}
    listed = head.get("tasks")
    for record in listed if isinstance(listed, list) else ():
        if isinstance(record, dict) and "id" in record:
            try:
                tasks[str(record["id"])] = task_of(record)
            except (KeyError, TypeError, ValueError, AttributeError):
                tasks[str(record["id"])] = None
    return tasks


def task_of(record: Mapping[str, Any], split: str = "test") -> BenchmarkTask:
    """A task as a results file, or a task file, writes it.

    Raises:
        KeyError: It has no id, or an action no name.
        ValueError: An action is malformed.
    """
    criteria = record.get("evaluation_criteria") or {}
    actions = criteria.get("actions")
    scenario = record.get("user_scenario") or {}
    instructions = scenario.get("instructions")
    return BenchmarkTask(
        id=str(record["id"]),
        split=split,
        instruction=instruction_of(instructions),
        actions=None if actions is None else tuple(map(_action, actions)),
        tell=tuple(map(str, criteria.get("communicate_info") or ())),
        basis=tuple(criteria.get("reward_basis") or DEFAULT_BASIS),
        record=dict(record),
    )


def _action(action: Mapping[str, Any]) -> ReferenceAction:
    return ReferenceAction(name=action["name"], arguments=action.get("arguments") or {})


def instruction_of(instructions: Any) -> str:
    """What a customer is told, in words; "" if nothing is."""
    if isinstance(instructions, str):
        return instructions
    parts = ("reason_for_call", "known_info", "unknown_info", "task_instructions")
    if not isinstance(instructions, Mapping):
        return ""
    return "\n\n".join(str(instructions[part]) for part in parts if instructions.get(part))


def _run(
    record: Any,
    position: int,
    seen: Counter[str],
    defined: Mapping[str, BenchmarkTask | None],
) -> RecordedRun:
    if isinstance(record, Damage):
        reason = f"the file is damaged here: {record.reason}"
        return RecordedRun(TrialResult("", position, None, reason))
    (result,) = tau2_results({"simulations": [record]})
    if not result.task:
        return RecordedRun(result._replace(trial=position))
    if not isinstance(record.get("trial"), int):
        result = result._replace(trial=seen[result.task])
    seen[result.task] += 1
    never_graded = record.get("reward_info") is None and record.get("messages")
    if result.passed is None and not never_graded:
        return RecordedRun(result)
    try:
        return _conversation(record, result, defined)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"broken record: {type(error).__name__}: {' '.join(str(error).split()):.80}"
        return RecordedRun(TrialResult(result.task, result.trial, None, reason))


def _conversation(
    record: Mapping[str, Any],
    result: TrialResult,
    defined: Mapping[str, BenchmarkTask | None],
) -> RecordedRun:
    messages = record["messages"]
    graded = record.get("reward_info") or {}
    task = defined.get(result.task)
    if task is None and result.task in defined:
        raise ValueError("its task cannot be read")
    return RecordedRun(
        result=result,
        calls=tuple(_calls(messages)),
        said=tuple(
            text(message["content"])
            for message in messages
            if message["role"] == "assistant" and message.get("content")
        ),
        ended=record.get("termination_reason") in PROPER,
        task=task,
        reward=None if graded.get("reward") is None else float(graded["reward"]),
        components={
            name: float(reward) for name, reward in (graded.get("reward_breakdown") or {}).items()
        },
        basis=tuple(map(text, graded.get("reward_basis") or ())),
    )


def _calls(messages: Iterable[Mapping[str, Any]]) -> Iterator[RecordedCall]:
    """Every call with its output: that of the next tool message of its id, else the next one."""
    made: list[tuple[str, RecordedCall]] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            index = next((i for i, (id_, _) in enumerate(made) if id_ == message.get("id")), 0)
            if made:
                _, call = made.pop(index)
                yield RecordedCall(
                    call.name,
                    call.arguments,
                    text(message.get("content") or ""),
                    call.message,
                    call.by,
                )
            continue
        yield from (call for _, call in made)
        by: Literal["agent", "user"] = "agent" if message["role"] == "assistant" else "user"
        made = [
            (call.get("id", ""), RecordedCall(text(call["name"]), _object(call), None, place, by))
            for call in message.get("tool_calls") or ()
        ]
    yield from (call for _, call in made)


def _object(call: Mapping[str, Any]) -> Any:
    arguments = call.get("arguments") or {}
    return json.loads(arguments) if isinstance(arguments, str) else arguments
