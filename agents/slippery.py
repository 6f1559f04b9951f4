"""The slippery agent: a scripted agent that makes seeded, realistic mistakes. Synthetic.

It sits between a script and the customer. At every move it slips with probability p: it changes the
step that the script wanted, leaves it out (the script is told what it expects to hear), forgets the
request in hand, stops, or hands over. What it did is noted with the move, as ``{"slip": ...}``, or
in the reason of a stop. A move that no slip fits is made as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from ..language import amounts
from ..transcript import (
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCalls,
    ToolResultEvent,
)
from .agent import Brief
from .plan import HAND_OVER
from .scripted import ScriptedAgent, Step, StepKind

_STARTS = {StepKind.PROPOSE, StepKind.ANSWER, StepKind.REFUSE, StepKind.HAND_OVER}
"""Steps that begin to deal with a request."""
_OPEN = _STARTS | {StepKind.ASK}
"""Steps at which a request is still open."""


class SlipperyAgent:
    """Plays another agent's script, and slips now and then.

    Args:
        base: Whose script it plays.
        p: Probability of a slip at each move.
        brief: Its ``seed`` decides when and how.
    """

    def __init__(self, base: ScriptedAgent, p: float, brief: Brief) -> None:
        self._base = base
        self._p = p
        self._random = Random(f"slippery {brief.seed}")  # noqa: S311 - nothing secret
        self._results: list[Any] = []

    def act(self, observation: Observation) -> Message | ToolCalls | Stop:
        """The next move: the script's, or a slip."""
        self._results.extend(_as_json(result.content) for result in observation.results)
        step = self._base.resume(observation)
        if self._random.random() < self._p:
            step = self._slip(step)
        return step.action

    def _slip(self, step: Step) -> Step:
        names = list(SLIPS)
        self._random.shuffle(names)
        for name in names:
            slipped = SLIPS[name](self, step)
            if slipped is not None:
                return slipped.noting(name)
        return step

    # --- the slips: each gives the step it makes of another, or None if it does not fit -----------

    def skip_confirmation(self, step: Step) -> Step | None:
        """Acts without asking, as if the customer had said yes."""
        return self._leave_out("Yes, please.") if step.kind is StepKind.PROPOSE else None

    def only_say_so(self, step: Step) -> Step | None:
        """Reports a change that it never made."""
        return self._leave_out("") if step.kind is StepKind.WRITE else None

    def wrong_item(self, step: Step) -> Step | None:
        """Changes another item than agreed, or to another variant; takes another flight."""
        return self._other_value(step, ("new_item_ids", "item_ids", "flights"))

    def wrong_payment_method(self, step: Step) -> Step | None:
        """Uses another payment method of the customer than agreed."""
        return self._other_value(step, ("payment_method_id", "payment_id", "payment_methods"))

    def wrong_amount(self, step: Step) -> Step | None:
        """Tells an amount that is off."""
        if step.kind is not StepKind.ANSWER or not isinstance(step.action, Message):
            return None
        said = step.action.content
        amount = next((str(a) for a in amounts(said) if f"${a}" in said), None)
        if amount is None:
            return None
        digits = "".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in amount)
        return replace(step, action=Message(content=said.replace(f"${amount}", f"${digits}")))

    def forget_request(self, step: Step) -> Step | None:
        """Drops the request in hand, and goes on to the next."""
        return self._base.forget() if step.kind in _STARTS else None

    def stop_early(self, step: Step) -> Step | None:
        """Ends the conversation with a request still open."""
        return replace(step, action=Stop()) if step.kind in _OPEN else None

    def hand_over_needlessly(self, step: Step) -> Step | None:
        """Passes the customer on to a human instead of going on."""
        if step.kind not in _OPEN:
            return None
        summary = {"summary": "The customer needs help."}
        return replace(step, action=ToolCalls(calls=(ToolCall(name=HAND_OVER, arguments=summary),)))

    # --- how they do it ---------------------------------------------------------------------------

    def _leave_out(self, pretended: str) -> Step:
        """The step after the script's, which is told that it went well."""
        heard: MessageEvent | ToolResultEvent
        if pretended:
            heard = MessageEvent(index=0, turn=0, by="user", content=pretended)
        else:
            heard = ToolResultEvent(index=0, turn=0, call_id="", name="", content="")
        return self._base.resume(Observation(events=(heard,)))

    def _other_value(self, step: Step, arguments: tuple[str, ...]) -> Step | None:
        """The same write with one of these arguments replaced by something it was seen next to."""
        if step.kind is not StepKind.WRITE or not isinstance(step.action, ToolCalls):
            return None
        (wanted,) = step.action.calls
        for argument in arguments:
            value = wanted.arguments.get(argument)
            values = value if isinstance(value, list) else [value]
            taken = {id for each in values if (id := _id_of(each)) is not None}
            first = _id_of(values[0]) if values else None
            others = sorted(set(self._seen_next_to(first)) - taken)
            if others:
                other = _with_id(values[0], self._random.choice(others))
                changed = [other, *values[1:]] if isinstance(value, list) else other
                call = ToolCall(name=wanted.name, arguments={**wanted.arguments, argument: changed})
                return replace(step, action=ToolCalls(calls=(call,)))
        return None

    def _seen_next_to(self, value: object) -> Iterator[str]:
        """Ids that some tool result listed in one list or table with this one."""
        for result in self._results:
            for group in _groups(result):
                if value in group:
                    yield from group


SLIPS: dict[str, Callable[[SlipperyAgent, Step], Step | None]] = {
    "skips the confirmation": SlipperyAgent.skip_confirmation,
    "says it is done, and does nothing": SlipperyAgent.only_say_so,
    "wrong item": SlipperyAgent.wrong_item,
    "wrong payment method": SlipperyAgent.wrong_payment_method,
    "wrong amount": SlipperyAgent.wrong_amount,
    "forgets a request": SlipperyAgent.forget_request,
    "stops early": SlipperyAgent.stop_early,
    "hands over for no reason": SlipperyAgent.hand_over_needlessly,
}
"""Every slip by the name that transcripts show."""


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


_ID_KEYS = ("item_id", "flight_number", "payment_id")


def _id_of(value: Any) -> str | None:
    """The id in an argument or a result: the text itself, or what names an object."""
    if isinstance(value, dict):
        return next((str(value[key]) for key in _ID_KEYS if key in value), None)
    return value if isinstance(value, str) else None


def _with_id(value: Any, id: str) -> Any:
    """The same argument with another id."""
    if isinstance(value, dict):
        return {**value, next(key for key in _ID_KEYS if key in value): id}
    return id


def _groups(value: Any) -> Iterator[list[str]]:
    """Every list or table of things with ids, as their ids; what is not available is left out.

    Flights are grouped by where they lead, so that one is taken for another of the same route.
    """
    if isinstance(value, dict):
        entries = [(key, entry) for key, entry in value.items() if isinstance(entry, dict)]
        yield [key for key, entry in entries if entry.get("available", True)]
    if isinstance(value, list):
        routes: dict[object, list[str]] = {}
        for entry in value:
            if isinstance(entry, dict) and (id := _id_of(entry)) is not None:
                routes.setdefault((entry.get("origin"), entry.get("destination")), []).append(id)
        yield from routes.values()
    for child in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _groups(child)
