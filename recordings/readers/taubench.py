"""tau-bench results as conversations; grades and crashes are read as `results` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...results import TrialResult
from ...transcript import EndReason, JsonDict, ToolCallEvent
from ..conversation import Address, Conversation, Format
from ..results import tau_bench_results
from ..taubench_runs import OUTPUT, RESPOND, STOP, TRANSFER, written_call
from .events import Called, Teller, error_in, words
from .making import lost, made
from .openai_chat import system_of, tell_messages

_BASE: Final = "/traj"


def recognises(record: Any) -> bool:
    """Whether a record is a run of tau-bench."""
    return isinstance(record, dict) and "task_id" in record and "reward" in record


def result_of(record: Any) -> TrialResult:
    """What became of a run."""
    return tau_bench_results([record])[0]


def read(record: Any, address: Address, context: JsonDict) -> Conversation:
    """The conversation of a run."""
    result, messages = result_of(record), record.get("traj")
    task = (record.get("info") or {}).get("task") or {}
    about: dict[str, Any] = {
        "task": result.task,
        "script": str(task.get("instruction") or ""),
    }
    if not messages or (record.get("info") or {}).get("error") is not None:
        why = result.lost or "crashed: no conversation recorded"
        return lost(why, record, address, context, Format.TAU_BENCH, result.fault, **about)
    teller = Teller()
    if _calls_as_text(messages):
        _tell_text(teller, messages)
    else:
        tell_messages(teller, messages, _BASE)
    _mark_errors(teller)
    teller.ended(_ending(teller, messages))
    if result.lost:
        teller.remark(result.lost)
    return made(
        teller,
        record,
        address,
        context,
        Format.TAU_BENCH,
        system=system_of(messages),
        reward=None if result.passed is None else float(record["reward"]),
        passed=result.passed,
        **about,
    )


def _calls_as_text(messages: Sequence[Any]) -> bool:
    """Whether the agent wrote its calls as text, so that their results came as user messages."""
    return not any(message.get("tool_calls") for message in messages) and any(
        message["role"] == "user" and words(message.get("content")).startswith(OUTPUT)
        for message in messages
    )


def _tell_text(teller: Teller, messages: Sequence[Any]) -> None:
    called = False
    for number, message in enumerate(messages):
        place, text = f"{_BASE}/{number}", words(message.get("content"))
        if message["role"] == "user":
            if called and text.startswith(OUTPUT):
                teller.answered("", text.removeprefix(OUTPUT), place)
            else:
                teller.said("user", text, place)
            called = False
        elif message["role"] == "assistant":
            name, arguments = written_call(text)
            called = name != RESPOND
            if called:
                given = arguments if isinstance(arguments, dict) else None
                teller.called("agent", [Called("", name, given, place)], "", message)
            else:
                teller.said("agent", str(arguments.get("content", "")), place, message)


def _mark_errors(teller: Teller) -> None:
    for index, event in enumerate(teller.events):
        if event.kind == "tool_result" and (error := error_in(event.content)):
            teller.events[index] = event.model_copy(update={"error": error})


def _ending(teller: Teller, messages: Sequence[Any]) -> EndReason:
    if messages[-1]["role"] == "user" and STOP in words(messages[-1].get("content")):
        return EndReason.USER_STOP
    calls = [event for event in teller.events[-2:] if isinstance(event, ToolCallEvent)]
    return EndReason.HANDED_OVER if any(c.name == TRANSFER for c in calls) else EndReason.TURN_LIMIT
