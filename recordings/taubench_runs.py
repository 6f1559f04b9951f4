"""Runs in tau-bench's results format: a JSON list of records, read one at a time.

Both kinds of agents are understood: those that call tools, and those that write their calls as
text (``Action: {"name": ..., "arguments": ...}``), whose tool results come back as user messages
that begin with ``API output: ``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..domains.packs import BenchmarkTask
from ..results import TrialResult
from ..task import ReferenceAction
from .benchmark_runs import RecordedCall, RecordedRun, text
from .json_stream import Damage, list_items
from .results import tau_bench_results

STOP: Final = "###STOP###"
OUTPUT: Final = "API output: "
TRANSFER: Final = "transfer_to_human_agents"
RESPOND: Final = "respond"


def tau_bench_runs(path: Path) -> Iterator[RecordedRun]:
    """The runs of a tau-bench results file; memory holds one record at a time."""
    seen: Counter[str] = Counter()
    for position, record in enumerate(list_items(path), start=1):
        if isinstance(record, Damage):
            reason = f"the file is damaged here: {record.reason}"
            yield RecordedRun(TrialResult("", position, None, reason))
            return
        yield _run(record, position, seen)


def _run(record: Any, position: int, seen: Counter[str]) -> RecordedRun:
    (result,) = tau_bench_results([record])
    if not result.task:
        return RecordedRun(result._replace(trial=position))
    if not isinstance(record.get("trial"), int):
        result = result._replace(trial=seen[result.task])
    seen[result.task] += 1
    if result.passed is None:
        return RecordedRun(result)
    try:
        return _conversation(record, result)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"broken record: {type(error).__name__}: {' '.join(str(error).split()):.80}"
        return RecordedRun(TrialResult(result.task, result.trial, None, reason))


def _conversation(record: dict[str, Any], result: TrialResult) -> RecordedRun:
    messages, info = record["traj"], record["info"]
    called = any(message.get("tool_calls") for message in messages)
    as_text = not called and any(
        message["role"] == "user" and _text(message).startswith(OUTPUT) for message in messages
    )
    calls, said = _text_calls(messages) if as_text else _native_calls(messages)
    reward_info = (info.get("reward_info") or {}).get("info") or {}
    last = messages[-1]
    return RecordedRun(
        result=result,
        calls=tuple(calls),
        said=tuple(said),
        ended=(last["role"] == "user" and STOP in _text(last))
        or (bool(calls) and calls[-1].name == TRANSFER and calls[-1].message >= len(messages) - 2),
        task=task_of(info["task"], result.task),
        state_hash=reward_info.get("gt_data_hash"),
        reward=float(record["reward"]),
        policy=_text(messages[0]) if messages[0]["role"] == "system" else "",
    )


def task_of(record: dict[str, Any], task_id: str, split: str = "test") -> BenchmarkTask:
    """A task as a recording, or a task file, writes it.

    Raises:
        KeyError: It has no actions.
        ValueError: An action is malformed.
    """
    return BenchmarkTask(
        id=task_id,
        split=split,
        user_id=str(record.get("user_id") or ""),
        instruction=str(record.get("instruction") or ""),
        actions=tuple(_action(action) for action in record["actions"]),
        tell=tuple(str(output) for output in record.get("outputs") or ()),
        record=record,
    )


def _action(action: dict[str, Any]) -> ReferenceAction:
    arguments = action["kwargs"] if "kwargs" in action else action["arguments"]
    return ReferenceAction(name=action["name"], arguments=arguments)


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _native_calls(messages: Sequence[dict[str, Any]]) -> tuple[list[RecordedCall], list[str]]:
    """Calls and words of an agent that calls tools. Only a move's first call was carried out."""
    calls, said = [], []
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        if made := message.get("tool_calls"):
            function = made[0]["function"]
            answer = messages[place + 1] if place + 1 < len(messages) else {"role": ""}
            output = _text(answer) if answer["role"] == "tool" else None
            arguments = json.loads(function["arguments"])
            calls.append(RecordedCall(text(function["name"]), arguments, output, place))
        else:
            said.append(_text(message))
    return calls, said


def _text_calls(messages: Sequence[dict[str, Any]]) -> tuple[list[RecordedCall], list[str]]:
    """Calls and words of an agent that writes its calls; what is no call is said as it stands."""
    calls, said = [], []
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        name, arguments = written_call(_text(message))
        if name == RESPOND:
            said.append(str(arguments.get("content", "")))
            continue
        answer = _text(messages[place + 1]) if place + 1 < len(messages) else ""
        output = answer.removeprefix(OUTPUT) if answer.startswith(OUTPUT) else None
        calls.append(RecordedCall(name, arguments, output, place))
    return calls, said


def written_call(text: str) -> tuple[str, Any]:
    """Name and arguments of a call that was written as text; what is no call responds."""
    written = text.split("Action:")[-1].strip()
    try:
        call = json.loads(written)
        return str(call["name"]), call["arguments"]
    except (ValueError, KeyError, TypeError):
        return RESPOND, {"content": written}
