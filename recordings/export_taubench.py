"""Trials of ours as a tau-bench results file, which its own metrics read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..task import Task
from ..transcript import EndReason, MessageEvent
from .exported import ExportedTrial, reference_actions, turns, words_to_tell, write_list
from .taubench_runs import STOP


def export_tau_bench(
    trials: Iterable[ExportedTrial], policy: str, task_ids: Sequence[str], file: Path
) -> int:
    """Write a results file; returns how many trials are in it.

    tau-bench numbers its tasks; ours are numbered by their place in ``task_ids``, unless the ids
    are those of a tau-bench pack, which hold the numbers. tau-bench knows no calls made at once and
    no agent that ends the conversation: such calls become calls in a row, such an end becomes a
    last line of the customer.

    Raises:
        UsageError: The file cannot be written.
    """
    numbers = _numbers(task_ids)
    return write_list(file, (_record(t, policy, numbers[t.task.id]) for t in trials))


def _numbers(task_ids: Sequence[str]) -> Mapping[str, int]:
    matches = [re.fullmatch(r"(\w+)-(\d+)", task_id) for task_id in task_ids]
    named = [match.groups() for match in matches if match]
    if len(named) == len(task_ids) and len({split for split, _ in named}) == 1:
        return {i: int(number) for i, (_, number) in zip(task_ids, named, strict=True)}
    return {task_id: number for number, task_id in enumerate(task_ids)}


def _record(trial: ExportedTrial, policy: str, number: int) -> dict[str, Any]:
    task = _task(trial.task)
    cut_off = trial.how_it_ended in (EndReason.TURN_LIMIT, EndReason.AGENT_CRASHED)
    return {
        "task_id": number,
        "reward": trial.reward,
        "info": {
            "task": task,
            "source": "user",
            "user_cost": None,
            "reward_info": None if cut_off else _reward_info(trial, task),
        },
        "traj": [{"role": "system", "content": policy}, *_messages(trial)],
        "trial": trial.trial,
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "user_id": task.user.customer,
        "actions": [{"name": name, "kwargs": kwargs} for name, kwargs in reference_actions(task)],
        "instruction": task.user.instruction or "\n".join(g.ask for g in task.user.goals),
        "outputs": words_to_tell(task),
        "id": task.id,
    }


def _reward_info(trial: ExportedTrial, task: Mapping[str, Any]) -> dict[str, Any]:
    outputs = task["outputs"]
    if outputs:
        told = bool(trial.told)
        info: dict[str, Any] = {
            "r_outputs": float(told),
            "outputs": dict.fromkeys(outputs, told),
        }
    else:
        info = {"r_actions": float(bool(trial.rows_right)), "gt_data_hash": None}
    return {"reward": trial.reward, "info": info, "actions": task["actions"]}


def _messages(trial: ExportedTrial) -> Iterator[dict[str, Any]]:
    last_by_user = trial.how_it_ended is EndReason.USER_STOP
    moves = list(turns(trial.transcript))
    for place, (made, results) in enumerate(moves):
        if isinstance(made, MessageEvent):
            role = "assistant" if made.by == "agent" else "user"
            ends = last_by_user and role == "user" and place == len(moves) - 1
            yield {"role": role, "content": f"{made.content} {STOP}" if ends else made.content}
            continue
        contents = {result.call_id: result.content for result in results}
        for call in made:
            function = {"name": call.name, "arguments": json.dumps(call.arguments)}
            tool_call = {"id": call.call_id, "type": "function", "function": function}
            yield {"role": "assistant", "content": call.beside or None, "tool_calls": [tool_call]}
            if call.call_id in contents:
                yield {
                    "role": "tool",
                    "tool_call_id": call.call_id,
                    "name": call.name,
                    "content": contents[call.call_id],
                }
    if trial.how_it_ended is EndReason.AGENT_STOP:
        yield {"role": "user", "content": STOP}
