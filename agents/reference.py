"""The reference agent: sees the task and carries out its reference as a polite conversation.

It must pass every task, with every customer, and break no rule; if it does not, the task, the
customer, a rule or a grader is wrong. Everything it tells or does comes from the conversation and
the tools all the same: it looks up, proposes, waits for a yes, and only then writes.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from typing import Any, TypeGuard

from ..errors import UsageError
from ..language import agrees, ids, plain, says
from ..task import ReferenceAction, Words
from ..transcript import Observation, ToolResultEvent
from .agent import Brief
from .notes import dollars, notes_for
from .people import identify
from .plan import HAND_OVER, Stage, plan
from .scripted import Forgotten, Script, ScriptedAgent, Step, StepKind, call, say

ANYTHING_ELSE = "Is there anything else I can help you with?"
_NOT_ALLOWED = "I am sorry, but I cannot do that: our policy does not allow it."
MOST_PROPOSALS = 4
"""How often one change is proposed to a customer who does not say yes."""


class ReferenceAgent(ScriptedAgent):
    """Carries out the reference of the task in its brief.

    Raises:
        UsageError: The brief holds no task.
    """

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        if brief.task is None:
            raise UsageError("the reference agent needs a brief with the task in it")
        self.task = brief.task
        self._tools = {tool["name"] for tool in brief.tools}
        self._reads = set(filter(_is_read, self._tools))
        self._readers = dict(_readers(brief.tools))
        self._notes = notes_for(self._tools)
        self._results: list[Any] = []
        self._answers: dict[str, ToolResultEvent | None] = {}
        self._heard: list[str] = []

    def script(self, opening: str) -> Script:
        """Identify the customer, deal with every goal in its order, say goodbye."""
        self._heard.append(opening)
        stages = plan(self.task, frozenset(self._tools - self._reads - {HAND_OVER}))
        if self.task.user.customer:
            yield from self._identify()
        for stage in stages:
            try:
                yield from self._hear_request(stage)
                yield from self._deal_with(stage)
            except Forgotten:
                yield from self._say(StepKind.REPORT, f"That is noted. {ANYTHING_ELSE}")
        yield from self._say(StepKind.GOODBYE, f"Glad to help. {ANYTHING_ELSE}")
        yield from self._say(StepKind.GOODBYE, "Thank you for writing to us. Have a nice day!")

    def _identify(self) -> Script:
        """Find the customer as the domain's tools allow, and read their profile."""
        user_id = None
        if "find_user_id_by_email" in self._tools:
            user_id = yield from identify(self._heard)
        elif "user_id" in self._readers:
            user_id = next(iter(ids(" ".join(self._heard))), None)
            if user_id is None:
                said = yield from self._say(StepKind.ASK, "May I have your user id, please?")
                user_id = next(iter(ids(said)), None)
        if user_id is not None and "user_id" in self._readers:
            yield from self._look_up(self._readers["user_id"], {"user_id": user_id})

    def _hear_request(self, stage: Stage) -> Script:
        """Make sure that the customer has put this request."""
        words = set(plain(stage.goal.ask).split())
        heard = set(plain(" ".join(self._heard)).split())
        if len(words & heard) * 2 < len(words):
            yield from self._say(StepKind.ASK, "How can I help you?")

    def _deal_with(self, stage: Stage) -> Script:
        yield from self._look_ups(stage)
        if stage.refuses:
            yield from self._refuse(stage)
        if stage.writes:
            yield from self._change(stage)
        elif stage.tells:
            yield from self._say(StepKind.ANSWER, f"{self._answer(stage.tells)} {ANYTHING_ELSE}")
        if stage.hand_over:
            summary = f"The customer asks: {stage.goal.ask}"
            yield from call(StepKind.HAND_OVER, HAND_OVER, {"summary": summary})

    # --- looking up -------------------------------------------------------------------------------

    def _look_up(
        self, name: str, arguments: dict[str, Any]
    ) -> Generator[Step, Observation, ToolResultEvent | None]:
        """What a tool answers that only reads; nothing is asked twice between two changes."""
        key = json.dumps([name, arguments], sort_keys=True)
        if key not in self._answers:
            self._answers[key] = yield from call(StepKind.LOOK_UP, name, arguments)
            self._read(arguments, self._answers[key])
        return self._answers[key]

    def _read(self, arguments: dict[str, Any], result: ToolResultEvent | None) -> None:
        self._notes.read(result, arguments)
        if result is not None and result.error is None:
            self._results.append(_as_json(result.content))

    def _look_ups(self, stage: Stage) -> Script:
        """Read what the reference reads, what the request is about, and what a change needs."""
        for read in stage.reads:
            if read.name != "calculate":
                yield from self._look_up(read.name, read.arguments)
        for look_up in self._notes.look_ups_about(stage.text):
            yield from self._look_up(*look_up)
        for write in stage.writes:
            yield from self._look_ups_for(write)
        for read in stage.reads:
            if read.name == "calculate":
                yield from self._look_up(read.name, read.arguments)

    def _look_ups_for(self, write: ReferenceAction) -> Script:
        for argument, value in write.arguments.items():
            if argument in self._readers and isinstance(value, str):
                yield from self._look_up(self._readers[argument], {argument: value})
        for look_up in self._notes.look_ups_before(write.name, write.arguments):
            yield from self._look_up(*look_up)

    # --- talking ----------------------------------------------------------------------------------

    def _say(self, kind: StepKind, text: str) -> Generator[Step, Observation, str]:
        answer = yield from say(kind, text)
        self._heard.append(answer)
        return answer

    def _refuse(self, stage: Stage) -> Script:
        """Refuse in clear words, with the reason, as often as the customer insists."""
        said = " ".join(_refusal(r.about, r.because) for r in stage.refusals) or _NOT_ALLOWED
        if "reason" in stage.goal.details:
            yield from self._ask_details(stage, "reason")
        for _ in range(stage.goal.insist + 1):
            yield from self._say(StepKind.REFUSE, f"{said} {ANYTHING_ELSE}")

    def _change(self, stage: Stage) -> Script:
        """Propose everything that this goal needs, wait for a yes, do it, report."""
        yield from self._ask_details(stage)
        plans = []
        for write in stage.writes:
            plans.append((yield from self._planned(write)))
        proposal = f"I will {_listed(plans)}. Do you want me to go ahead? (yes/no)"
        for _ in range(MOST_PROPOSALS):
            answer = yield from self._say(StepKind.PROPOSE, proposal)
            if agrees(answer):
                break
        else:
            return
        for write in stage.writes:
            result = yield from call(StepKind.WRITE, write.name, write.arguments)
            self._answers.clear()
            self._read(write.arguments, result)
            if result is not None and result.error is not None:
                failed = f"I am sorry, that did not work: {result.content}. {ANYTHING_ELSE}"
                yield from self._say(StepKind.REPORT, failed)
                return
        facts = f" {self._answer(stage.tells)}" if stage.tells else ""
        report = f"Done. As agreed: {_listed(plans)}. This is now complete.{facts}"
        yield from self._say(StepKind.REPORT, f"{report} {ANYTHING_ELSE}")

    def _ask_details(self, stage: Stage, *only: str) -> Script:
        """Ask for what only the customer knows and has not said yet."""
        open_topics = [
            topic
            for topic, value in stage.goal.details.items()
            if topic in (only or (topic,)) and not any(says(text, value) for text in self._heard)
        ]
        if open_topics:
            topics = " and ".join(f"the {topic}" for topic in open_topics)
            yield from self._say(StepKind.ASK, f"Could you please tell me {topics} for this?")

    def _planned(self, write: ReferenceAction) -> Generator[Step, Observation, str]:
        """The change in words, its sums worked out first."""
        worked_out = None
        if expression := self._notes.sum_needed(write.name, write.arguments):
            result = yield from self._look_up("calculate", {"expression": expression})
            worked_out = result.content if result else None
        return self._notes.change_words(write.name, write.arguments, worked_out)

    def _answer(self, facts: list[Words]) -> str:
        return f"Here is what you asked for: {'; '.join(map(self._fact, facts))}."

    def _fact(self, fact: Words) -> str:
        """A fact with the name that a tool gave it, if a tool gave it."""
        wordings = [fact] if isinstance(fact, str) else fact
        for wording in wordings:
            for result in reversed(self._results):
                for name, value in _leaves(result, ""):
                    money = isinstance(value, float) or wording.startswith("$")
                    text = dollars(value) if money and _is_number(value) else str(value)
                    if says(text, wording):
                        return f"{name}: {text}" if name else text
        return wordings[0]


def _is_read(name: str) -> bool:
    return name in ("calculate", "think") or name.startswith(("get_", "find_", "list_", "search_"))


def _readers(tools: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, str]]:
    """Every argument that is all a look-up needs, with the look-up: ``order_id`` ..."""
    for tool in tools:
        required = tool["input_schema"].get("required", [])
        if len(required) == 1 and tool["name"].startswith(("get_", "find_")):
            yield required[0], tool["name"]


def _refusal(about: Words, because: list[Words]) -> str:
    """Tasks put the wording first that fits here: "cancel the order", "it was delivered"."""
    reasons = " and ".join(map(_first, because))
    return f"I am sorry, but I cannot {_first(about)}: {reasons}."


def _first(words: Words) -> str:
    return words if isinstance(words, str) else words[0]


def _listed(plans: list[str]) -> str:
    if len(plans) == 1:
        return plans[0]
    return "; ".join(f"({number}) {text}" for number, text in enumerate(plans, 1))


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every single value in a JSON value, with the key it stands under."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, key.replace("_", " "))
    elif isinstance(value, list):
        for child in value:
            yield from _leaves(child, name)
    else:
        yield name, value


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
