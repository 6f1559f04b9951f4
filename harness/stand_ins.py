"""Stand-ins: scripted agents and users that answer in place of a model, as blocks of its replies.

The server `models.fake_claude` asks them, so that a whole run goes through the real client and real
HTTP, costs nothing, and comes out the same each time. What a stand-in does follows from the
conversation in the request and from ``metadata.user_id`` alone, so a server that was restarted in
the midst of a run goes on as if nothing had happened.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from inspect import isawaitable
from typing import Any

from ..agents.agent import Agent, AgentKind, Brief
from ..agents.dialogue import EMPTY, read_clock
from ..agents.registry import agent_kind
from ..errors import UsageError
from ..models.fake_claude.answers import thinks
from ..models.fake_claude.scripts import Script, system_text
from ..models.model import Reply, StopReason, text_block
from ..models.waiting import wait_for
from ..simulator.model_user.protocol import JUDGEMENT_SCHEMA, Answer, Judgement, parse_script
from ..simulator.user import Setting, User, UserKind, user_kind
from ..transcript import (
    ErrorKind,
    JsonDict,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCalls,
    ToolResultEvent,
    UserReply,
    parse_action,
)

GOODBYE = "Goodbye."
"""What an agent says who would end the conversation, which a model cannot."""
_SEED = re.compile(r"(?:agent|user)-([0-9a-f]+)")


class StandIns:
    """Answers requests of agents and of users that are played by a model.

    Args:
        agent: Spec of the agent that answers requests with tools.
        user: Spec of the user that answers requests with a script of `simulator.model_user`.
        script: Whose rules go first.
        conversations: How many are kept ready to go on; others are played again from the start.

    Raises:
        UsageError: No such agent or user, or one that cannot stand in for a model.
    """

    def __init__(
        self,
        agent: str = "rule-based",
        user: str = "agenda",
        script: Script | None = None,
        conversations: int = 4096,
    ) -> None:
        self._agent = _without_a_model(agent_kind(agent))
        self._user = _without_a_model(user_kind(user))
        self._script = script
        self._conversations = conversations
        self._seats: OrderedDict[str, _Seat] = OrderedDict()

    def brain(self, body: JsonDict) -> Reply:
        """The answer to the body of a request to ``/v1/messages``.

        Raises:
            UsageError: It is neither an agent's request nor a user's.
        """
        if self._script and (reply := self._script.find(body["messages"], system_text(body))):
            return reply
        schema = _schema(body)
        if schema == JUDGEMENT_SCHEMA:
            return _in_words(body, Judgement(problem="", good=True).model_dump_json())
        if schema is not None:
            return self._resume(body, lambda: _UserSeat(self._user, body)).answer
        if body.get("tools"):
            return self._resume(body, lambda: _AgentSeat(self._agent, body)).answer
        raise UsageError(
            "messages: nobody here can answer this: it is neither an agent's request, which has "
            "tools, nor a simulated customer's, which has an output format"
        )

    def _resume(self, body: JsonDict, take: Callable[[], _Seat]) -> _Seat:
        """Whoever plays this conversation, having heard all of it."""
        key = user_id(body) or json.dumps(body["messages"][0])
        seat = self._seats.pop(key, None)
        if seat is None or not seat.remembers(body["messages"]):
            seat = take()
        seat.catch_up(body)
        self._seats[key] = seat
        if len(self._seats) > self._conversations:
            self._seats.popitem(last=False)
        return seat


def _without_a_model(kind: Any) -> Any:
    if kind.use is not None or getattr(kind, "sees_task", False):
        reason = "sees the task" if kind.use is None else "asks a model itself"
        raise UsageError(f"{kind.spec!r} cannot stand in for a model: it {reason}")
    return kind


def user_id(body: JsonDict) -> str:
    """What names the conversation of a request; "" if nothing does."""
    return (body.get("metadata") or {}).get("user_id") or ""


def seed_of(name: str) -> int:
    """The seed of a conversation, from its name.

    Names that passhat gives hold the seed of the agent or user, so that a stand-in does what it
    would do without a server between.

    >>> seed_of("agent-ff")
    255
    """
    found = _SEED.fullmatch(name)
    if found:
        return int(found[1], 16)
    return int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=6).digest(), "big")


def _schema(body: JsonDict) -> JsonDict | None:
    form = (body.get("output_config") or {}).get("format")
    return form["schema"] if form else None


def _in_words(body: JsonDict, text: str) -> Reply:
    thought = [_thought("I answer in the form that is asked for.")] if thinks(body) else []
    return Reply((*thought, text_block(text)), StopReason.END_TURN)


def _thought(text: str) -> JsonDict:
    return {"type": "thinking", "thinking": text}


# --- who sits there -------------------------------------------------------------------------------


class _Seat(ABC):
    """One side of one conversation.

    Attributes:
        answer: To the newest message.
    """

    answer: Reply

    def __init__(self) -> None:
        self._heard: list[Any] = []

    def remembers(self, messages: Sequence[JsonDict]) -> bool:
        """Whether a conversation begins with what was heard here."""
        told = [self._told(message) for message in messages if message["role"] == "user"]
        return told[: len(self._heard)] == self._heard

    def catch_up(self, body: JsonDict) -> None:
        """Hear what is new, and answer each message of it."""
        messages = body["messages"]
        places = [place for place, each in enumerate(messages) if each["role"] == "user"]
        for place in places[len(self._heard) :]:
            self.answer = self._hear(messages, place, body)
            self._heard.append(self._told(messages[place]))

    @abstractmethod
    def _told(self, message: JsonDict) -> Any:
        """What of a message counts."""

    @abstractmethod
    def _hear(self, messages: Sequence[JsonDict], place: int, body: JsonDict) -> Reply:
        """Answer the message at this place."""


class _AgentSeat(_Seat):
    def __init__(self, kind: AgentKind, body: JsonDict) -> None:
        super().__init__()
        first = _blocks(body["messages"][0])
        now = next((clock for block in first if (clock := read_clock(_text(block)))), "")
        brief = Brief(
            domain="",  # no request says
            policy=system_text(body),
            tools=tuple(body["tools"]),
            now=now,
            seed=seed_of(user_id(body)),
        )
        self._agent: Agent = kind.make(brief)

    def _told(self, message: JsonDict) -> Any:
        return message["content"]

    def _hear(self, messages: Sequence[JsonDict], place: int, body: JsonDict) -> Reply:
        before = messages[place - 1] if place else None
        observation = _observation(messages[place], before)
        action = _waited_for(self._agent.act(observation))
        return _as_reply(parse_action(action), thinks(body))


def _observation(message: JsonDict, before: JsonDict | None) -> Observation:
    """What a message tells an agent whose calls stand in the message before."""
    calls = {
        block["id"]: block["name"]
        for block in (_blocks(before) if before else ())
        if block["type"] == "tool_use"
    }
    return Observation(events=tuple(_events(_blocks(message), calls)))


def _events(
    blocks: Sequence[JsonDict], calls: dict[str, str]
) -> Iterator[MessageEvent | ToolResultEvent]:
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result":
            id = block["tool_use_id"]
            yield ToolResultEvent(
                index=index,
                turn=0,
                call_id=id,
                name=calls.get(id, ""),
                content=_result(block),
                error=ErrorKind.REFUSED if block.get("is_error") else None,
            )
        elif (said := _text(block)) and read_clock(said) is None:
            words = "" if said == EMPTY else said
            yield MessageEvent(index=index, turn=0, by="user", content=words)


def _as_reply(action: Message | ToolCalls | Stop, thinking: bool) -> Reply:
    if isinstance(action, ToolCalls):
        names = ", ".join(call.name for call in action.calls)
        said = [text_block(action.content)] if action.content.strip() else []
        calls = [
            {"type": "tool_use", "name": call.name, "input": call.arguments}
            for call in action.calls
        ]
        thought = [_thought(f"I need {names} now.")] if thinking else []
        return Reply((*thought, *said, *calls), StopReason.TOOL_USE)
    text = action.content if isinstance(action, Message) else GOODBYE
    thought = [_thought("I write to the customer.")] if thinking else []
    return Reply((*thought, text_block(text)), StopReason.END_TURN)


class _UserSeat(_Seat):
    def __init__(self, kind: UserKind, body: JsonDict) -> None:
        super().__init__()
        script, profile = parse_script(self._told(body["messages"][0]))
        self._user: User = kind.make(script, Setting(profile, seed_of(user_id(body))))

    def _told(self, message: JsonDict) -> Any:
        """The first block: others are remarks about answers that were discarded."""
        return _text(_blocks(message)[0])

    def _hear(self, messages: Sequence[JsonDict], place: int, body: JsonDict) -> Reply:
        heard = self._told(messages[place]) if place else None
        reply: UserReply = _waited_for(self._user.reply(heard))
        return _in_words(body, Answer.of(reply).dump(_schema(body)))


def _waited_for(answer: Any) -> Any:
    """What an agent or user of somebody's own comes to, who may be asynchronous."""
    return wait_for(answer) if isawaitable(answer) else answer


# --- blocks ---------------------------------------------------------------------------------------


def _blocks(message: JsonDict) -> Sequence[JsonDict]:
    content = message["content"]
    return [text_block(content)] if isinstance(content, str) else content


def _text(block: JsonDict) -> str:
    return block["text"] if block["type"] == "text" else ""


def _result(block: JsonDict) -> str:
    content = block.get("content") or ""
    return content if isinstance(content, str) else "\n".join(map(_text, content))
