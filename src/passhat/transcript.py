"""The words every room shares: what an agent does, what it sees, and what is kept of it.

- Actions, from the agent: `Message`, `ToolCalls` (a list of `ToolCall`), `Stop`.
- `UserReply`, from whoever plays the customer.
- Events, in order, make a `Transcript`: `MessageEvent`, `ToolCallEvent`, `ToolResultEvent`,
  `EndingEvent`.
- `Observation`: the events since the agent's last action, as the agent may see them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from .errors import Fault, UsageError

TRANSCRIPT_VERSION = 1

JsonDict = dict[str, Any]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


_Tokens = Annotated[int, Field(ge=0, le=10**15)]
_Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]


class Usage(_Frozen):
    """Tokens and money that replies of a model cost; None means unknown, never zero.

    Attributes:
        input_tokens: Read afresh: neither taken from a cache nor put into one.
        cache_read_tokens: Input taken from a cache.
        cache_write_tokens: Input put into a cache for five minutes.
        cache_write_1h_tokens: Input put into a cache for an hour.
        output_tokens: Written, thinking included.
        cost_dollars: What all of it costs; None if the price of the model is not known.
    """

    input_tokens: _Tokens | None = None
    cache_read_tokens: _Tokens | None = None
    cache_write_tokens: _Tokens | None = None
    cache_write_1h_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cost_dollars: _Amount | None = None

    def __add__(self, other: Usage) -> Usage:
        """Both together. A cost that is unknown on one side is unknown of both.

        >>> Usage(input_tokens=5, output_tokens=1) + Usage(input_tokens=2)
        Usage(input_tokens=7, output_tokens=1)
        """
        tokens = {name: _total(getattr(self, name), getattr(other, name)) for name in _TOKEN_FIELDS}
        costs = [usage.cost_dollars for usage in (self, other) if usage != NO_USAGE]
        known = [cost for cost in costs if cost is not None]
        return Usage(**tokens, cost_dollars=sum(known) if costs and known == costs else None)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Only what is known."""
        return ((name, value) for name, value in self if value is not None)

    @property
    def all_input_tokens(self) -> int | None:
        """Input read afresh, from a cache and into one; None if nothing is known."""
        parts = (getattr(self, name) for name in _TOKEN_FIELDS if name != "output_tokens")
        known = [part for part in parts if part is not None]
        return sum(known) if known else None

    @property
    def all_tokens(self) -> int:
        """All input and all output, as far as known."""
        return (self.all_input_tokens or 0) + (self.output_tokens or 0)

    @property
    def cache_share(self) -> float | None:
        """How much of the input was taken from a cache, 0 to 1; None if nothing says.

        >>> Usage(input_tokens=100, cache_read_tokens=900).cache_share
        0.9
        """
        total = self.all_input_tokens
        if not total or self.cache_read_tokens is None:
            return None
        return self.cache_read_tokens / total


_TOKEN_FIELDS = tuple(name for name in Usage.model_fields if name != "cost_dollars")
NO_USAGE = Usage()
"""Nothing was asked of a model, so that there is nothing to pay either."""


def _total(a: int | None, b: int | None) -> int | None:
    return a if b is None else b if a is None else a + b


# --- what the agent does ------------------------------------------------------------------------


class _Move(_Frozen):
    """What any move may carry beside its meaning: what it cost, and the provider's own blocks."""

    seconds: _Amount | None = None
    usage: Usage | None = None
    provider: Any = None


class Message(_Move):
    """Words for the customer."""

    type: Literal["message"] = "message"
    content: str


class ToolCall(_Frozen):
    """One call of one tool; an empty ``id`` is filled in by the episode (``call-1``, ...)."""

    name: str
    arguments: JsonDict = Field(default_factory=dict)
    id: str = ""


class ToolCalls(_Move):
    """One or several tool calls made at once; all are executed, in order.

    ``content`` is text that stood beside the calls. It is kept, and never said to the customer.
    """

    type: Literal["tool_calls"] = "tool_calls"
    calls: tuple[ToolCall, ...] = Field(min_length=1)
    content: str = ""


class Stop(_Move):
    """The agent ends the conversation."""

    type: Literal["stop"] = "stop"
    reason: str = ""


Action = Annotated[Message | ToolCalls | Stop, Field(discriminator="type")]
_ACTIONS: TypeAdapter[Message | ToolCalls | Stop] = TypeAdapter(Action)


def parse_action(action: object) -> Message | ToolCalls | Stop:
    """Take an action object, or a dict of the same shape.

    Raises:
        UsageError: It is neither; a plain string is refused too, since guessing whether text
            "is" a call is how transcripts go wrong.

    >>> parse_action({"type": "message", "content": "Hello!"}).content
    'Hello!'
    """
    if isinstance(action, (Message, ToolCalls, Stop)):
        return action
    try:
        return _ACTIONS.validate_python(action)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "action"
        raise UsageError(
            f"not an action: {where}: {first['msg']} (got {action!r:.200}); an action is a dict "
            "with type 'message', 'tool_calls' or 'stop'"
        ) from None


# --- what the customer does ---------------------------------------------------------------------


class UserEnd(StrEnum):
    """Why the customer ends the conversation."""

    GOALS_MET = "goals met"
    REFUSED = "refused"
    HANDED_OVER = "handed over"
    GAVE_UP = "gave up"


class UserReply(_Move):
    """One turn of the customer: words, and whether these are the last ones."""

    content: str
    end: UserEnd | None = None


# --- what is kept -------------------------------------------------------------------------------


class RowChange(_Frozen):
    """One row that was written: ``before`` is None for an insert, ``after`` for a delete."""

    table: str
    key: tuple[Any, ...]
    before: JsonDict | None
    after: JsonDict | None


class ErrorKind(StrEnum):
    """Why a tool call did not do what was asked."""

    UNKNOWN_TOOL = "unknown tool"
    BAD_ARGUMENT = "bad argument"
    REFUSED = "refused"


class EndReason(StrEnum):
    """How a conversation ended."""

    USER_STOP = "user stop"
    AGENT_STOP = "agent stop"
    HANDED_OVER = "handed over"
    TURN_LIMIT = "turn limit"
    AGENT_CRASHED = "agent crashed"
    LOST = "lost"


class _Event(_Frozen):
    """Every event: its place in the transcript, and the turn (agent moves so far) it belongs to."""

    index: int
    turn: int
    seconds: float | None = None
    usage: Usage | None = None


class MessageEvent(_Event):
    """Words from the agent to the customer, or from the customer to the agent."""

    kind: Literal["message"] = "message"
    by: Literal["agent", "user"]
    content: str
    provider: Any = None


class ToolCallEvent(_Event):
    """The agent (or, in domains with user tools, the customer) calls a tool.

    ``move`` is the index of the first call made in the same move, so that parallel calls share it;
    ``beside`` is text that stood beside the calls, kept on the first of them.
    """

    kind: Literal["tool_call"] = "tool_call"
    by: Literal["agent", "user"] = "agent"
    call_id: str
    name: str
    arguments: JsonDict
    move: int
    beside: str = ""
    provider: Any = None


class ToolResultEvent(_Event):
    """What a tool answered, and the rows it wrote (always empty when ``error`` is set)."""

    kind: Literal["tool_result"] = "tool_result"
    by: Literal["agent", "user"] = "agent"
    call_id: str
    name: str
    content: str
    error: ErrorKind | None = None
    rows: tuple[RowChange, ...] = ()


class EndingEvent(_Event):
    """The last event: how the conversation ended, and whose fault it is if it broke."""

    kind: Literal["ending"] = "ending"
    reason: EndReason
    detail: str = ""
    user_end: UserEnd | None = None
    fault: Fault | None = None


Event = Annotated[
    MessageEvent | ToolCallEvent | ToolResultEvent | EndingEvent, Field(discriminator="kind")
]
_EVENTS: TypeAdapter[list[MessageEvent | ToolCallEvent | ToolResultEvent | EndingEvent]] = (
    TypeAdapter(list[Event])
)


class CallPair(_Frozen):
    """A tool call with its result; ``result`` is None when the episode ended before it ran."""

    call: ToolCallEvent
    result: ToolResultEvent | None


class Transcript(list[MessageEvent | ToolCallEvent | ToolResultEvent | EndingEvent]):
    """What happened, in order: a list of events with the questions that graders ask of it.

    >>> Transcript([MessageEvent(index=0, turn=0, by="user", content="Hi")]).text_by("user")
    ['Hi']
    """

    def messages(self) -> Iterator[MessageEvent]:
        """Every message, in order."""
        return (event for event in self if isinstance(event, MessageEvent))

    def text_by(self, speaker: Literal["agent", "user"]) -> list[str]:
        """The words of one speaker, one string a message."""
        return [event.content for event in self.messages() if event.by == speaker]

    def calls(self, by: Literal["agent", "user"] = "agent") -> Iterator[CallPair]:
        """Every tool call with its result, in the order the calls were made."""
        # Recorded conversations use an id for several calls, so results are taken in order.
        results: defaultdict[str, deque[ToolResultEvent]] = defaultdict(deque)
        for event in self:
            if isinstance(event, ToolResultEvent) and event.by == by:
                results[event.call_id].append(event)
        for event in self:
            if isinstance(event, ToolCallEvent) and event.by == by:
                answered = results[event.call_id]
                yield CallPair(call=event, result=answered.popleft() if answered else None)

    @property
    def ending(self) -> EndingEvent | None:
        """The ending, or None while the conversation goes on."""
        last = self[-1] if self else None
        return last if isinstance(last, EndingEvent) else None

    def dump(self) -> list[JsonDict]:
        """The transcript as JSON-ready dicts; `load` reads them back, nothing lost."""
        return [event.model_dump(mode="json", exclude_defaults=False) for event in self]

    @classmethod
    def load(cls, events: list[JsonDict]) -> Transcript:
        """The transcript that `dump` wrote."""
        return cls(_EVENTS.validate_python(events))


class Observation(_Frozen):
    """What happened since the agent's last action.

    After a message (and at the start): the customer's words, as one `MessageEvent`.
    After tool calls: one `ToolResultEvent` per call, in order.
    What whoever plays the customer did not say, such as a model's thought, is taken out of it.
    """

    events: tuple[MessageEvent | ToolResultEvent, ...]

    @field_validator("events")
    @classmethod
    def _as_heard(
        cls, events: tuple[MessageEvent | ToolResultEvent, ...]
    ) -> tuple[MessageEvent | ToolResultEvent, ...]:
        if all(getattr(event, "provider", None) is None for event in events):
            return events
        unsaid = {"provider": None}
        return tuple(e.model_copy(update=unsaid if e.kind == "message" else {}) for e in events)

    @property
    def text(self) -> str:
        """The same as plain text, for people and for text-only agents."""
        return "\n".join(event.content for event in self.events)

    @property
    def user_message(self) -> str | None:
        """The customer's words, or None when this observation holds tool results."""
        for event in self.events:
            if isinstance(event, MessageEvent):
                return event.content
        return None

    @property
    def results(self) -> tuple[ToolResultEvent, ...]:
        """The tool results; empty when this observation holds the customer's words."""
        return tuple(event for event in self.events if isinstance(event, ToolResultEvent))
