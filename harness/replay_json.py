"""A replayed conversation as plain JSON values; docs/replay.md explains the keys."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from ..envs.judgement import Cut, Judgement
from ..transcript import Message, Stop
from .regrader import where_different
from .replay import Replayed

CHECKS: Final = (
    "same_kind",
    "same_tools",
    "same_arguments",
    "same_results",
    "same_rows",
    "asks_same",
    "same_facts",
    "same_label",
)
"""The checks of a `Judgement` that are true, false, or not to be made."""

_FOLDED: Final = 200  # characters of a value that a reason or a difference shows


def conversation_json(one: Replayed) -> dict[str, Any]:
    """One conversation as plain JSON values."""
    return {
        "address": one.address,
        "task": one.task,
        "passed": one.passed,
        "lost": one.lost,
        "follows": one.follows,
        "drift": _drift_json(one),
        "cuts": [_cut_json(cut, one.address) for cut in one.cuts],
        "continued": [
            {"position": end.position, "reward": end.reward, "reason": end.reason}
            for end in one.continued
        ],
    }


def _drift_json(one: Replayed) -> dict[str, Any] | None:
    if one.drift is None:
        return None
    event, tool, recorded, rebuilt = one.drift
    return {
        "address": f"{one.address}:{event}",
        "tool": tool,
        "recorded": folded(recorded),
        "rebuilt": folded(rebuilt),
        "where": where_different(recorded, rebuilt),
    }


def _cut_json(cut: Cut, address: str) -> dict[str, Any]:
    about: dict[str, Any] = {
        "address": f"{address}:{cut.event}",
        "position": cut.position,
        "recorded": {"kind": cut.kind.value, "tools": list(cut.tools)},
        "state": cut.state.value,
        "on_path": cut.on_path,
        "agrees": cut.agrees,
        "reason": cut.reason,
    }
    return about if cut.judgement is None else about | _judgement_json(cut.judgement)


def _judgement_json(judgement: Judgement) -> dict[str, Any]:
    return {
        "agreement": judgement.agreement.value,
        "move": move_json(judgement),
        "checks": {check: getattr(judgement, check) for check in CHECKS},
        "row_differences": list(judgement.row_differences),
        "facts_missing": list(judgement.facts_missing),
        "facts_added": list(judgement.facts_added),
        "off_tape": list(judgement.off_tape),
        "findings": [
            {"rule": f.rule, "section": f.section, "severity": f.severity, "reason": f.reason}
            for f in judgement.findings
        ],
    }


def move_json(judgement: Judgement) -> dict[str, Any]:
    """What the agent did, without what its provider sent along."""
    move, kind = judgement.move, judgement.kind.value
    if isinstance(move, Message):
        return {"kind": kind, "content": move.content}
    if isinstance(move, Stop):
        return {"kind": kind, "reason": move.reason}
    calls = [{"name": c.name, "arguments": _finite(c.arguments)} for c in move.calls]
    return {"kind": kind, "calls": calls}


def _finite(value: Any) -> Any:
    """A value with the numbers that JSON cannot hold as text."""
    if isinstance(value, float) and not isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


def folded(text: str, width: int = _FOLDED) -> str:
    """The beginning of a text."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
