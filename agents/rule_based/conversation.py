"""How a rule-based agent talks: one request after the other, a proposal and a yes before a change.

What a request means and what is looked up for it is for the agent of each business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from ...language import agrees
from ...transcript import Observation
from ..agent import Brief
from ..notes import Json, Notes
from ..scripted import Forgotten, Script, ScriptedAgent, Step, StepKind, call, say

MOST_REQUESTS = 15
"""Requests, answered or not, after which it gives up."""
MORE = "Is there anything else I can help you with?"

Reply = Generator[Step, Observation, str]
"""A part of the conversation; gives what the customer said last."""
N = TypeVar("N", bound=Notes)


class Declined(Exception):  # noqa: N818 - a turn of the conversation, not a mistake
    """The request in hand cannot go on; carries what to tell the customer."""


class Corrected(Exception):  # noqa: N818 - a turn of the conversation, not a mistake
    """The customer did not agree to a proposal; carries what they said."""


class RuleBasedAgent(ScriptedAgent, Generic[N]):
    """Serves a customer by rules; a subclass knows the business.

    Args:
        brief: What it is told before the conversation.
        notes: Empty notes for the business.
    """

    def __init__(self, brief: Brief, notes: N) -> None:
        super().__init__(brief)
        self._notes = notes
        self._heard: list[str] = []
        self._answers: dict[str, str] = {}

    def script(self, opening: str) -> Script:
        """Identify the customer, then deal with requests until there are no more."""
        self._heard.append(opening)
        user_id = yield from self._identify()
        if user_id is None:
            sorry = "I am sorry, I cannot help without finding your account. Goodbye."
            yield from say(StepKind.GOODBYE, sorry)
            return
        yield from self._look_up("get_user_details", {"user_id": user_id})
        request = " ".join(self._heard)
        for _ in range(MOST_REQUESTS):
            serve = self._understood(request)
            if serve is None:
                break
            request = yield from self._request(serve, request)
        yield from say(StepKind.GOODBYE, "Thank you for writing to us. Have a nice day!")

    def _identify(self) -> Generator[Step, Observation, str | None]:
        """Ask until the customer is found; gives the user id, or None after a few tries."""
        raise NotImplementedError

    def _understood(self, text: str) -> Callable[[str], Reply] | None:
        """What deals with a request; None if the customer says goodbye."""
        raise NotImplementedError

    # --- one request ------------------------------------------------------------------------------

    def _request(self, serve: Callable[[str], Reply], text: str) -> Reply:
        """Deal with one request; gives what the customer says next."""
        try:
            return (yield from self._serve(serve, text))
        except Corrected as correction:
            return (yield from self._once_more(serve, f"{text} {correction}"))
        except Forgotten:
            return (yield from self._say(StepKind.REPORT, f"That is noted. {MORE}"))

    def _once_more(self, serve: Callable[[str], Reply], text: str) -> Reply:
        """The request with what the customer said against the first proposal."""
        try:
            return (yield from self._serve(serve, text))
        except (Corrected, Forgotten):
            kept = f"Then I leave everything as it is. {MORE}"
            return (yield from self._say(StepKind.REPORT, kept))

    def _serve(self, serve: Callable[[str], Reply], text: str) -> Reply:
        try:
            return (yield from serve(text))
        except Declined as declined:
            return (yield from self._say(StepKind.REFUSE, f"{declined} {MORE}"))

    def _forbidden(self, text: str) -> Reply:
        raise Declined("I am sorry, I cannot do that: our policy does not allow it.")
        yield  # a generator like the others

    def _hand_over(self, text: str) -> Reply:
        summary = {"summary": f"The customer says: {text}"}
        yield from call(StepKind.HAND_OVER, "transfer_to_human_agents", summary)
        return ""

    # --- talking, looking up, changing ------------------------------------------------------------

    @property
    def _profile(self) -> Json:
        return self._notes.profile or {"user_id": ""}

    def _say(self, kind: StepKind, text: str) -> Reply:
        answer = yield from say(kind, text)
        self._heard.append(answer)
        return answer

    def _ask(self, question: str) -> Reply:
        return (yield from self._say(StepKind.ASK, question))

    def _answer(self, told: str) -> Reply:
        return (yield from self._say(StepKind.ANSWER, f"{told} {MORE}"))

    def _look_up(self, name: str, arguments: Json) -> Generator[Step, Observation, str]:
        """What a tool answers; empty if it refuses. Nothing is asked twice between two changes."""
        key = json.dumps([name, arguments])
        if key not in self._answers:
            result = yield from call(StepKind.LOOK_UP, name, arguments)
            self._notes.read(result, arguments)
            self._answers[key] = result.content if result and result.error is None else ""
        return self._answers[key]

    def _worked_out(self, name: str, arguments: Json) -> Generator[Step, Observation, str | None]:
        """The sum that a change needs, if it needs one."""
        if expression := self._notes.sum_needed(name, arguments):
            return (yield from self._look_up("calculate", {"expression": expression}))
        return None

    def _change(self, name: str, arguments: Json) -> Reply:
        """Propose a change, wait for a yes, make it, report; gives what the customer says next."""
        worked_out = yield from self._worked_out(name, arguments)
        plan = self._notes.change_words(name, arguments, worked_out)
        proposal = f"I will {plan}. Do you want me to go ahead? (yes/no)"
        answer = yield from self._say(StepKind.PROPOSE, proposal)
        if not agrees(answer):
            raise Corrected(answer)
        result = yield from call(StepKind.WRITE, name, arguments)
        self._answers.clear()
        self._notes.read(result, arguments)
        if result is not None and result.error is not None:
            raise Declined(f"I am sorry, that was not possible: {result.content}.")
        return (yield from self._say(StepKind.REPORT, f"Done. As agreed: {plan}. {MORE}"))
