"""A customer played by a language model, whose every line is checked before the agent hears it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import NamedTuple, Self, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ...errors import InfrastructureError, SimulatorError, UsageError
from ...models.account import Channel
from ...models.model import ModelUse, Reply, Request, StopReason, text_block
from ...models.registry import Options, open_model, spec_of, split_spec
from ...task import Persona, UserScript
from ...transcript import NO_USAGE, JsonDict, Usage, UserReply
from ..contract import Contract
from ..due import is_free_text
from ..hearing import topic_of
from ..user import Setting, UserKind
from . import prompts
from .protocol import (
    JUDGEMENT_SCHEMA,
    PRIVATE,
    Answer,
    Judgement,
    Private,
    answer_schema,
    script_block,
)

RETRIES = 2
"""How often a line that may not be said is written anew, unless said otherwise."""
_MOST_RETRIES = 10
_SILENCE = "(The agent sends an empty message.)"
_OWN_TAG = re.compile(r"<(?=/?(?:script|remark)\b)")
_FENCED = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
Parsed = TypeVar("Parsed", bound=BaseModel)


class Strategy(NamedTuple):
    """How a model comes to a line.

    Attributes:
        description: In one line.
        private: What it writes before the line; nobody hears it.
        judged: Whether a second call judges the line.
    """

    description: str
    private: tuple[Private, ...] = ()
    judged: bool = False


STRATEGIES: Mapping[str, Strategy] = {
    "plain": Strategy("one call a line"),
    "think": Strategy("thinks, then speaks, in one call", private=("thought",)),
    "verify": Strategy("a second call judges each line", judged=True),
    "reflect": Strategy(
        "drafts, criticises the draft, then speaks, in one call", private=("draft", "thought")
    ),
}


@dataclass(frozen=True)
class Manner:
    """How a model plays customers.

    Attributes:
        strategy: A name of `STRATEGIES`.
        style: A name of `styles`; "" for the persona of each script.
        retries: How often a line that may not be said is written anew.
    """

    strategy: str = "plain"
    style: str = ""
    retries: int = RETRIES

    @classmethod
    def from_options(cls, options: Options) -> Self:
        """Take what is about the manner out of a spec's options.

        Raises:
            UsageError: No such strategy or style, or no such number of retries.
        """
        strategy = _one_of(STRATEGIES, "strategy", options.pop("strategy", "plain"))
        style = options.pop("style", "")
        retries = options.pop("retries", str(RETRIES))
        if not (retries.isdecimal() and int(retries) <= _MOST_RETRIES):
            raise UsageError(f"option retries must be 0 to {_MOST_RETRIES}, not {retries!r}")
        return cls(
            strategy, style and _one_of(prompts.styles(), "style", style), retries=int(retries)
        )

    @property
    def prefix(self) -> Request:
        """What every conversation begins with; the same for all scripts, seeds and styles."""
        private = STRATEGIES[self.strategy].private
        return Request(prompts.instructions(private), (), schema=answer_schema(*private))


def _one_of(known: Mapping[str, object], what: str, name: str) -> str:
    if name in known:
        return name
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    raise UsageError(f"no {what} {name!r}; {hint}")


def model_user_kind(spec: str) -> UserKind:
    """Users played by the model that a spec names, e.g. ``claude:claude-haiku-5-5,style=terse``.

    ``strategy``, ``style`` and ``retries`` are options of the user; all others are the model's.

    Raises:
        UsageError: No such model or option, or a package that is not installed.
    """
    head, options = split_spec(spec)
    canonical = spec_of(head, options)
    manner = Manner.from_options(options)
    model = open_model(head, options)

    def make(script: UserScript, setting: Setting) -> ModelUser:
        channel = Channel(model, setting.account, "user", f"user-{setting.seed:x}")
        return ModelUser(script, setting.profile, channel, setting.now, manner)

    return UserKind(canonical, make, use=ModelUse(model, manner.prefix))


class ModelUser:
    """One customer, in one conversation.

    Args:
        script: What they want, know and do not know.
        profile: What their row in the world says about them, by topic. A script in free text is
            played without it: its author has decided what the customer remembers.
        channel: The way to the model.
        now: The world's clock, ISO date and time; "" if nobody says.
        manner: How the model plays.

    Attributes:
        facts: What the customer knows about themselves, by topic.
    """

    def __init__(
        self,
        script: UserScript,
        profile: Mapping[str, str],
        channel: Channel,
        now: str = "",
        manner: Manner | None = None,
    ) -> None:
        self._channel = channel
        self._manner = manner or Manner()
        self._contract = Contract(script, profile, now)
        own = {} if is_free_text(script) else _without(profile, script.unknown)
        self.facts: Mapping[str, str] = {**own, **script.knows}
        style = self._manner.style or script.persona
        self._script = script_block(_shown(script, style), own, now)
        begins = prompts.opening(style, self._script, is_free_text(script))
        self._messages: list[JsonDict] = [_message("user", begins)]
        self._lines: list[str] = []  # the same conversation, as a judge reads it

    @property
    def never_put(self) -> Sequence[str]:
        """Nothing: the contract looks at the words themselves for what was never put."""
        return ()

    def fork(self) -> Self:
        """The same user at the same point; what is shared is never written to."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._contract = self._contract.fork()
        twin._messages = self._messages.copy()
        twin._lines = self._lines.copy()
        return twin

    async def reply(self, heard: str | None) -> UserReply:
        """Answer the agent's words; None opens the conversation.

        Raises:
            SimulatorError: The model wrote no line that may be said, or the conversation has grown
                too long for it.
            InfrastructureError, RunStoppedError: It could not be asked, or was cut off.
        """
        self._hear(heard)
        attempt = _Attempt(self._channel)
        for _ in range(1 + self._manner.retries):
            reply = await attempt.ask(self._request(attempt.discarded))
            try:
                answer = _parse(reply, Answer)
                await self._check(answer, attempt)
            except _BadLineError as error:
                attempt.discard(reply, str(error))
            else:
                self._say(answer)
                return attempt.line(answer, reply)
        last = attempt.discarded[-1]["problem"]
        raise SimulatorError(f"{last} (no line that may be said in {len(attempt.discarded)} tries)")

    def observe(self, heard: str | None, said: str) -> None:
        """Take a turn of a recorded customer as one's own, without asking the model.

        Args:
            heard: The agent's words before it; None at the start.
            said: The customer's.
        """
        self._hear(heard)
        answer = Answer(action="say", text=said)
        self._contract.check(answer.to_reply())  # It has been said, whatever the contract thinks.
        self._say(answer)

    # --- the conversation ------------------------------------------------------------------------

    def _hear(self, heard: str | None) -> None:
        if heard is None:
            return
        self._contract.hear(heard)
        words = _OWN_TAG.sub("‹", heard) if heard.strip() else _SILENCE
        self._messages.append(_message("user", words))
        self._lines.append(f"Agent: {words}")

    def _say(self, answer: Answer) -> None:
        self._messages.append(_message("assistant", answer.dump()))
        self._lines.append(_line(answer))

    def _request(self, discarded: Sequence[Mapping[str, str]]) -> Request:
        """What to ask now; that answers were discarded is told, and not kept."""
        *before, last = self._messages
        if discarded:
            told = text_block(prompts.remark(discarded))
            last = {**last, "content": [*last["content"], told]}
        return replace(self._manner.prefix, messages=(*before, last))

    # --- what may be said ------------------------------------------------------------------------

    async def _check(self, answer: Answer, attempt: _Attempt) -> None:
        """Make sure that the agent may hear it.

        Raises:
            _BadLineError: It may not.
        """
        contract = self._contract.fork()  # which takes a line that passes as said
        if problem := contract.check(answer.to_reply()):
            raise _BadLineError(str(problem))
        if STRATEGIES[self._manner.strategy].judged:
            await self._judge(answer, attempt)
        self._contract = contract

    async def _judge(self, answer: Answer, attempt: _Attempt) -> None:
        # One block a line: what the judge was shown a turn ago is a prefix that a cache still has.
        shown = [text_block(text) for text in (self._script, *self._lines, _line(answer))]
        asked = {"role": "user", "content": shown}
        request = Request(prompts.judge_instructions(), (asked,), schema=JUDGEMENT_SCHEMA)
        reply = await attempt.ask(request)
        try:
            judgement = _parse(reply, Judgement)
        except _BadLineError as error:
            raise _BadLineError(f"the line could not be judged: {error}") from None
        if not judgement.good:
            raise _BadLineError(judgement.problem or "the line was judged to be bad")


@dataclass
class _Attempt:
    """All that it takes to come to one line.

    Attributes:
        channel: The way to the model.
        usage: Of all replies.
        seconds: Of all replies.
        discarded: What could not be said: the ``answer`` and the ``problem`` of each.
    """

    channel: Channel
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    discarded: list[dict[str, str]] = field(default_factory=list)

    async def ask(self, request: Request) -> Reply:
        reply = await self.channel.ask(request)
        self.usage += reply.usage
        self.seconds += reply.seconds
        if reply.stop is StopReason.CONTEXT_FULL:
            raise SimulatorError("the conversation no longer fits into the customer's model")
        if reply.stop is StopReason.MAX_TOKENS:
            raise InfrastructureError(
                f"configuration: a line of the customer's model {self.channel.model.spec} was cut"
                f" off by max_tokens; raise it, e.g. {self.channel.model.identity},max_tokens=32000"
            )
        return reply

    def discard(self, reply: Reply, problem: str) -> None:
        self.discarded.append({"answer": reply.text, "problem": problem})

    def line(self, answer: Answer, reply: Reply) -> UserReply:
        about = {
            "model": reply.model,
            "request_id": reply.request_id,
            "stop": reply.stop.value,
            "discarded": self.discarded,
        }
        private = {name: said for name in PRIVATE if (said := getattr(answer, name))}
        return answer.to_reply().model_copy(
            update={
                "usage": None if self.usage == NO_USAGE else self.usage,
                "seconds": self.seconds,
                "provider": {**about, **private},
            }
        )


class _BadLineError(Exception):
    """A line that the agent must not hear; says why."""


def _parse(reply: Reply, kind: type[Parsed]) -> Parsed:
    """What a model answered.

    Raises:
        _BadLineError: It refused, said nothing, or did not keep to the schema.
    """
    if reply.stop is StopReason.REFUSAL:
        raise _BadLineError(f"the model refused to answer: {reply.detail or 'it gave no reason'}")
    text = reply.text
    if not text.strip():
        raise _BadLineError("said nothing")
    fenced = _FENCED.fullmatch(text)
    try:
        return kind.model_validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise _BadLineError(f"no JSON of the schema: {where}{first['msg']}") from None


def _message(role: str, text: str) -> JsonDict:
    return {"role": role, "content": [text_block(text)]}


def _line(answer: Answer) -> str:
    leaves = f" (leaves, {answer.reason.value})" if answer.reason else ""
    return f"Customer{leaves}: {answer.text}"


def _shown(script: UserScript, style: str) -> UserScript:
    """The script as the model is shown it.

    The persona is the one nearest to the style. The customer's id is left out: it is a fact of
    their row, if they know it.
    """
    persona = style if style in get_args(Persona) else "plain"
    return script.model_copy(update={"persona": persona, "customer": ""})


def _without(profile: Mapping[str, str], unknown: Sequence[str]) -> dict[str, str]:
    """What the customer remembers of their profile."""
    forgotten = {topic_of(topic) for topic in unknown}
    return {topic: said for topic, said in profile.items() if topic_of(topic) not in forgotten}
