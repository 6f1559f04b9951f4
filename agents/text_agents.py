"""Agents played by models without tool calls: the tools stand in the prompt, calls are text.

Three strategies: ``act`` (one action as JSON), ``react`` (a thought, then an action), ``few-shot``
(as act, after conversations that show how it is done).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

from ..errors import UsageError
from ..models.account import Channel
from ..models.model import Model, ModelUse, Reply, Request, text_block, text_of
from ..models.registry import Options, open_model, split_spec
from ..transcript import Message, Observation, Stop, ToolCalls
from .agent import AgentError, AgentKind, Brief
from .dialogue import EMPTY, GO_ON, Dialogue, check_reply, clock_line, template
from .model_agent import about_reply
from .options import switch_option
from .text_form import (
    UNKNOWN_RESULT,
    TextTurn,
    UnreadableError,
    as_action,
    complaint,
    customer_says,
    read_examples,
    read_turn,
    write_event,
    write_tools,
    write_turns,
)

RETRIES = 2
"""How often a turn that cannot be read is put back to the model."""

SHOTS = 3
"""Examples taken from a file, unless said otherwise."""


@dataclass(frozen=True)
class Strategy:
    """How a model is asked to write its turns.

    Attributes:
        prompt: Name of the template.
        mark: What stands before each action.
        examples: Conversations to show, as text.
    """

    prompt: str
    mark: str = ""
    examples: tuple[str, ...] = ()

    def prefix(self, brief: Brief) -> Request:
        """What every conversation in a domain begins with."""
        tools = write_tools(brief.tools)
        system = template(self.prompt).substitute(policy=brief.policy, tools=tools)
        if self.examples:
            system += template("examples").substitute(examples="\n".join(self.examples))
        return Request(system, ())


def text_agent_kind(spec: str) -> AgentKind:
    """Agents of a text strategy, e.g. ``react:openai:qwen3-8b``.

    ``few-shot`` takes ``examples=FILE`` and ``shots=N``; all other options are the model's.

    Raises:
        UsageError: No such model or option, a package that is not installed, or examples that
            cannot be read.
    """
    name, _, model_spec = spec.partition(":")
    if not model_spec:
        raise UsageError(f"agent {spec!r} lacks a model, e.g. '{name}:openai:qwen3-8b'")
    head, options = split_spec(model_spec)
    switch_option(options, "one_tool_at_a_time", f"agent {spec!r}")  # it is always so
    strategy = _strategy(name, options)
    model = open_model(head, options)
    return AgentKind(
        spec,
        make=lambda brief: TextAgent(brief, model, strategy),
        synthetic=model.synthetic,
        use=ModelUse(model),
        prefix=strategy.prefix,
    )


def _strategy(name: str, options: Options) -> Strategy:
    """The strategy of that name; takes its options out."""
    if name == "react":
        return Strategy("react", mark="Action: ")
    if name == "act":
        return Strategy("act")
    shots = options.pop("shots", str(SHOTS))
    if not shots.isdecimal() or not int(shots):
        raise UsageError(f"option shots must be a number of examples, not {shots!r}")
    if file := options.pop("examples", None):
        return Strategy("act", examples=tuple(read_examples(Path(file), int(shots))))
    with as_file(files(__package__) / "prompts" / "examples.json") as built_in:
        return Strategy("act", examples=tuple(read_examples(built_in, int(shots))))


class TextAgent:
    """One conversation of a model that writes its tool calls as text.

    It makes one call a move. A turn that cannot be read is put back to the model with what is wrong
    with it, at most twice; the failed tries are forgotten afterwards.

    Args:
        brief: What it is told.
        model: Who plays it.
        strategy: How it is asked.
    """

    def __init__(self, brief: Brief, model: Model, strategy: Strategy) -> None:
        self._now = brief.now
        self._model = model
        self._strategy = strategy
        name = f"agent-{brief.seed:x}"
        self._channel = Channel(model, brief.account, "agent", name)
        self._dialogue = Dialogue(model, strategy.prefix(brief), name)
        self._later: list[str] = []

    async def act(self, observation: Observation) -> Message | ToolCalls:
        """The model's next move.

        Raises:
            AgentError: It refused, could not be read, or the conversation no longer fits.
            FaultError, RunStoppedError: It could not be asked, or its reply was cut off.
        """
        self._hear(observation)
        context = self._dialogue.context
        reply, turn, discarded = await self._readable(self._dialogue.request())
        self._dialogue.say([text_block(turn.text)])
        about = about_reply(reply, context)
        if discarded:
            about["provider"]["discarded"] = discarded
        return as_action(turn, about)

    async def _readable(self, request: Request) -> tuple[Reply, TextTurn, list[str]]:
        """A reply that can be read, paid for with those that could not; and why they could not."""
        reply = await self._ask(request)
        discarded: list[str] = []
        while True:
            try:
                return reply, read_turn(reply.text), discarded
            except UnreadableError as error:
                discarded.append(str(error))
            if len(discarded) > RETRIES:
                raise AgentError(
                    f"the model's answer could not be read, {len(discarded)} times:"
                    f" {discarded[-1]}; it was {reply.text!r:.200}"
                )
            put_back = (
                {"role": "assistant", "content": [text_block(reply.text.strip() or "(nothing)")]},
                {"role": "user", "content": [text_block(complaint(discarded[-1]))]},
            )
            request = replace(request, messages=(*request.messages, *put_back))
            again = await self._ask(request)
            reply = replace(
                again, usage=reply.usage + again.usage, seconds=reply.seconds + again.seconds
            )

    async def _ask(self, request: Request) -> Reply:
        reply = await self._channel.ask(request)
        check_reply(reply, self._model)
        return reply

    def observe(self, observation: Observation, taken: Message | ToolCalls | Stop) -> None:
        """Take a recorded move as the model's own; parallel calls become one call a turn."""
        self._hear(observation)
        first, *self._later = self._own_text(taken) or write_turns(taken, self._strategy.mark)
        self._dialogue.say([text_block(first)])

    def _own_text(self, taken: Message | ToolCalls | Stop) -> list[str]:
        """What this model wrote after just these messages; else nothing."""
        made = taken.provider
        if not isinstance(made, dict) or made.get("context") != self._dialogue.context:
            return []
        return [read_turn(text_of(made["content"])).text]

    def _hear(self, observation: Observation) -> None:
        *before, last = self._heard(observation)
        for call, told in zip(self._later, before, strict=True):
            self._dialogue.hear([text_block(text) for text in told])
            self._dialogue.say([text_block(call)])
        self._later = []
        if not self._dialogue.messages:
            last.insert(0, clock_line(self._now))
        self._dialogue.hear([text_block(text) for text in last or [GO_ON]])

    def _heard(self, observation: Observation) -> Iterator[list[str]]:
        """What the model is told: the result of each call but the last, then all that is left."""
        results = list(observation.results)
        for _ in self._later:
            yield [write_event(results.pop(0)) if results else UNKNOWN_RESULT]
        words = [event for event in observation.events if event.kind == "message"]
        yield [
            *(write_event(result) for result in results),
            *(write_event(e) if e.content.strip() else customer_says(EMPTY) for e in words),
        ]
