"""tau2-bench simulations as conversations; grades and losses are read as `results` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...errors import Fault
from ...results import TrialResult
from ...transcript import EndReason, ErrorKind, JsonDict
from ..conversation import Address, Conversation, Format
from ..results import AGENT_ENDINGS, LOST_ENDINGS, tau2_results
from ..tau2_runs import instruction_of
from .events import By, Called, Teller, error_in, read_arguments, words
from .making import lost, made

_ENDINGS: Final = {
    "user_stop": EndReason.USER_STOP,
    "agent_stop": EndReason.AGENT_STOP,
    "max_steps": EndReason.TURN_LIMIT,
}


def recognises(record: Any) -> bool:
    """Whether a record is one simulation."""
    return isinstance(record, dict) and "task_id" in record and "termination_reason" in record


def result_of(record: Any) -> TrialResult:
    """What became of a simulation."""
    return tau2_results({"simulations": [record]})[0]


def context_of(head: Mapping[str, Any], tasks: Mapping[str, Any], task_id: str) -> JsonDict:
    """What a results file says beside a simulation.

    Args:
        head: The members of the file.
        tasks: Its tasks by id.
        task_id: Of the simulation.
    """
    context = {name: head[name] for name in head if name not in ("simulations", "tasks")}
    return context | ({"task": tasks[task_id]} if task_id in tasks else {})


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a simulation.

    Args:
        record: The simulation.
        address: Where it stands.
        context: As `context_of` gives it; may be empty.
    """
    result = result_of(record)
    info = context.get("info") or {}
    about = info.get("environment_info") or {}
    scenario = (context.get("task") or {}).get("user_scenario") or {}
    known: dict[str, Any] = {
        "task": result.task,
        "domain": str(about.get("domain_name") or ""),
        "system": str(about.get("policy") or record.get("policy") or ""),
        "tools": tuple(about.get("tool_defs") or ()),
        "script": instruction_of(scenario.get("instructions")),
    }
    graded = record.get("reward_info") or {}
    if not record.get("messages"):
        why = result.lost or "no conversation recorded"
        return lost(why, record, address, context, Format.TAU2, result.fault, **known)
    teller = Teller()
    for number, message in enumerate(record["messages"]):
        _tell(teller, message, f"/messages/{number}")
    ending = str(record.get("termination_reason"))
    lost_trial = result.lost if ending in LOST_ENDINGS else None
    if result.lost and lost_trial is None and record.get("reward_info") is not None:
        teller.remark(result.lost)
    _tell_ending(teller, ending, lost_trial, result.fault)
    reward = graded.get("reward") if result.passed is not None else None
    return made(
        teller,
        record,
        address,
        context,
        Format.TAU2,
        reward=None if reward is None else float(reward),
        passed=result.passed,
        lost=lost_trial,
        **known,
    )


def _tell(teller: Teller, message: Mapping[str, Any], place: str) -> None:
    text = words(message.get("content"))
    match message.get("role"):
        case "assistant" | "user" as role:
            by: By = "agent" if role == "assistant" else "user"
            if calls := _calls(message, place):
                teller.called(by, calls, text, message)
            else:
                teller.said(by, text, place, message)
        case "tool":
            for inner in message.get("tool_messages") or (message,):
                _tell_result(teller, inner, place)
        case "system":
            pass
        case _:
            teller.remark("message of an unknown role")


def _calls(message: Mapping[str, Any], place: str) -> list[Called]:
    return [
        Called(
            str(call.get("id") or ""),
            str(call["name"]),
            read_arguments(call.get("arguments")),
            f"{place}/tool_calls/{number}",
        )
        for number, call in enumerate(message.get("tool_calls") or ())
    ]


def _tell_result(teller: Teller, message: Mapping[str, Any], place: str) -> None:
    text = words(message.get("content"))
    error = (error_in(text) or ErrorKind.REFUSED) if message.get("error") else None
    by: By = "user" if message.get("requestor") == "user" else "agent"
    teller.answered(str(message.get("id") or ""), text, place, error, by)


def _tell_ending(teller: Teller, ending: str, why: str | None, fault: Fault | None) -> None:
    if why is not None:
        teller.ended(EndReason.LOST, why, fault)
    elif ending in _ENDINGS:
        teller.ended(_ENDINGS[ending])
    elif ending in AGENT_ENDINGS:
        teller.ended(EndReason.AGENT_CRASHED, ending, Fault.AGENT)
    else:
        teller.remark("no ending recorded")
