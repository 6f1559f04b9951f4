"""Trials of ours as a tau2-bench results file, which its own metrics read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from ..task import Task
from ..transcript import EndReason, MessageEvent
from .exported import ExportedTrial, reference_actions, turns, words_to_tell, write_list

TERMINATIONS: Final = {
    EndReason.USER_STOP: "user_stop",
    EndReason.AGENT_STOP: "agent_stop",
    EndReason.HANDED_OVER: "agent_stop",
    EndReason.TURN_LIMIT: "max_steps",
    EndReason.AGENT_CRASHED: "agent_error",
}
BASIS: Final = ("DB", "COMMUNICATE")


@dataclass(frozen=True)
class RunFacts:
    """What a tau2 results file says about a run as a whole.

    Attributes:
        id: Of the run.
        created: ISO date and time.
        domain: Its name.
        policy: The document.
        agent: Who was evaluated.
        user: Who played the customer.
        trials: Planned per task.
        max_turns: Moves of the agent before a conversation is cut off.
        seed: Of the run.
    """

    id: str
    created: str
    domain: str
    policy: str
    agent: str
    user: str
    trials: int
    max_turns: int
    seed: int


def export_tau2(
    trials: Iterable[ExportedTrial], tasks: Sequence[Task], facts: RunFacts, file: Path
) -> int:
    """Write a results file; returns how many trials are in it.

    Raises:
        UsageError: The file cannot be written.
    """
    head = {
        "timestamp": facts.created,
        "info": _info(facts),
        "tasks": [_task(task) for task in tasks],
    }
    before = json.dumps(head)[:-1] + ', "simulations": ['
    return write_list(file, (_simulation(t, facts) for t in trials), before, "]}")


def _info(facts: RunFacts) -> dict[str, Any]:
    return {
        "git_commit": "unknown",
        "num_trials": facts.trials,
        "max_steps": facts.max_turns,
        "max_errors": facts.max_turns,
        "user_info": {
            "implementation": facts.user,
            "llm": None,
            "llm_args": None,
            "global_simulation_guidelines": None,
        },
        "agent_info": {"implementation": facts.agent, "llm": None, "llm_args": None},
        "environment_info": {
            "domain_name": facts.domain,
            "policy": facts.policy,
            "tool_defs": None,
        },
        "seed": facts.seed,
    }


def _task(task: Task) -> dict[str, Any]:
    actions = [
        {
            "action_id": f"{task.id}_{number}",
            "requestor": "assistant",
            "name": name,
            "arguments": arguments,
            "info": None,
            "compare_args": None,
        }
        for number, (name, arguments) in enumerate(reference_actions(task))
    ]
    return {
        "id": task.id,
        "description": {"purpose": task.purpose, "relevant_policies": None, "notes": None},
        "user_scenario": {
            "persona": task.user.persona,
            "instructions": task.user.instruction or "\n".join(g.ask for g in task.user.goals),
        },
        "ticket": None,
        "initial_state": None,
        "evaluation_criteria": {
            "actions": actions,
            "env_assertions": None,
            "communicate_info": words_to_tell(task),
            "nl_assertions": None,
            "reward_basis": list(BASIS),
        },
    }


def _simulation(trial: ExportedTrial, facts: RunFacts) -> dict[str, Any]:
    ended = trial.how_it_ended
    return {
        "id": str(uuid5(NAMESPACE_URL, f"passhat:{facts.id}/{trial.task.id}/{trial.trial}")),
        "task_id": trial.task.id,
        "timestamp": trial.finished,
        "start_time": trial.finished,
        "end_time": trial.finished,
        "duration": trial.seconds,
        "termination_reason": TERMINATIONS.get(ended, "unexpected_error") if ended else None,
        "agent_cost": None,
        "user_cost": None,
        "reward_info": _reward_info(trial),
        "messages": list(_messages(trial)),
        "trial": trial.trial,
        "seed": trial.seed,
    }


def _reward_info(trial: ExportedTrial) -> dict[str, Any]:
    """Their components are ours of the same meaning; the reward is ours, policy rules included."""
    rows, told = float(bool(trial.rows_right)), float(bool(trial.told))
    return {
        "reward": trial.reward,
        "db_check": {"db_match": bool(rows), "db_reward": rows},
        "env_assertions": [],
        "action_checks": None,
        "nl_assertions": None,
        "communicate_checks": None,
        "reward_basis": list(BASIS),
        "reward_breakdown": {"DB": rows, "COMMUNICATE": told},
        "info": {"note": "graded by passhat"},
    }


def _messages(trial: ExportedTrial) -> Iterator[Mapping[str, Any]]:
    turn = 0
    for made, results in turns(trial.transcript):
        if isinstance(made, MessageEvent):
            role = "assistant" if made.by == "agent" else "user"
            yield {"role": role, "content": made.content, "tool_calls": None, "turn_idx": turn}
        else:
            by = "assistant" if made[0].by == "agent" else "user"
            calls = [
                {"id": c.call_id, "name": c.name, "arguments": c.arguments, "requestor": by}
                for c in made
            ]
            beside = made[0].beside or None
            yield {"role": by, "content": beside, "tool_calls": calls, "turn_idx": turn}
            for result in results:
                turn += 1
                yield {
                    "id": result.call_id,
                    "role": "tool",
                    "content": result.content,
                    "requestor": by,
                    "error": result.error is not None,
                    "turn_idx": turn,
                }
        turn += 1
