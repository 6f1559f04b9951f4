"""ModelAgent: a language model at the desk, working with its own tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from ..models.account import Channel
from ..models.model import Model, ModelUse, Reply, Request, text_block, tool_result
from ..models.registry import open_model, split_spec
from ..transcript import (
    JsonDict,
    Message,
    Observation,
    Stop,
    ToolCall,
    ToolCalls,
    ToolResultEvent,
)
from .agent import AgentError, AgentKind, Brief
from .dialogue import (
    GO_ON,
    Dialogue,
    arguments_of,
    check_reply,
    clock_line,
    sendable,
    template,
    words,
)
from .options import switch_option

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def model_agent_kind(spec: str) -> AgentKind:
    """Agents played by the model that a spec names, e.g. ``claude:claude-haiku-5-5,effort=low``.

    ``one_tool_at_a_time=yes`` is an option of the agent; all others are the model's.

    Raises:
        UsageError: No such model or option, or a package that is not installed.
    """
    head, options = split_spec(spec)
    one_at_a_time = switch_option(options, "one_tool_at_a_time", f"agent {spec!r}")
    model = open_model(head, options)
    return AgentKind(
        spec,
        make=lambda brief: ModelAgent(brief, model, one_at_a_time),
        synthetic=model.synthetic,
        use=ModelUse(model),
        prefix=lambda brief: prefix(brief, one_at_a_time),
    )


def prefix(brief: Brief, one_tool_at_a_time: bool = False) -> Request:
    """What every conversation in a domain begins with: instructions, policy and tools."""
    system = template("native").substitute(policy=brief.policy)
    return Request(system, (), brief.tools, one_tool_at_a_time=one_tool_at_a_time)


class ModelAgent:
    """One conversation of a model that calls tools by itself.

    Its words go to the customer if it calls no tool in the same reply; beside calls they are kept
    only. It never ends a conversation, except by a tool that hands over.

    Args:
        brief: What it is told.
        model: Who plays it.
        one_tool_at_a_time: Whether it may make one call a move at most.
    """

    def __init__(self, brief: Brief, model: Model, one_tool_at_a_time: bool = False) -> None:
        self._now = brief.now
        self._model = model
        name = f"agent-{brief.seed:x}"
        self._channel = Channel(model, brief.account, "agent", name)
        self._dialogue = Dialogue(model, prefix(brief, one_tool_at_a_time), name)
        self._unanswered: list[str] = []
        self._rebuilt = 0

    async def act(self, observation: Observation) -> Message | ToolCalls:
        """The model's next move.

        Raises:
            AgentError: It refused, said nothing, or the conversation no longer fits.
            FaultError, RunStoppedError: It could not be asked, or its reply was cut off.
        """
        self._hear(observation)
        context = self._dialogue.context
        reply = await self._channel.ask(self._dialogue.request())
        check_reply(reply, self._model)
        self._say(sendable(reply.content))
        return _move(reply, context)

    def observe(self, observation: Observation, taken: Message | ToolCalls | Stop) -> None:
        """Take a recorded move as the model's own.

        Blocks that this model wrote in this very conversation are sent back as they were; of other
        moves only what was said and called, since thinking is of use to its own model only.
        """
        self._hear(observation)
        self._say(self._own_blocks(taken) or self._rebuild(taken))

    # --- what the model is told ------------------------------------------------------------------

    def _hear(self, observation: Observation) -> None:
        heard = [
            *self._results(observation.results),
            *(words(e.content) for e in observation.events if e.kind == "message"),
        ]
        if not self._dialogue.messages:
            heard.insert(0, text_block(clock_line(self._now)))
        self._dialogue.hear(heard or [text_block(GO_ON)])

    def _results(self, results: Sequence[ToolResultEvent]) -> Iterator[JsonDict]:
        """One block for each call of the move before, in order: ids may have been changed since."""
        for call_id, result in zip_longest(self._unanswered, results):
            if call_id is None:
                yield words(f"Result of {result.name}: {result.content}")
            elif result is None:
                yield tool_result(call_id, "No result is known.", is_error=True)
            else:
                yield tool_result(call_id, result.content, is_error=result.error is not None)

    # --- what the model said ---------------------------------------------------------------------

    def _say(self, blocks: list[JsonDict]) -> None:
        self._unanswered = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        self._dialogue.say(blocks)

    def _own_blocks(self, taken: Message | ToolCalls | Stop) -> list[JsonDict]:
        """The blocks of a move that this model made after just these messages; else none."""
        made = taken.provider
        if not isinstance(made, dict) or made.get("context") != self._dialogue.context:
            return []
        return sendable(made["content"])

    def _rebuild(self, taken: Message | ToolCalls | Stop) -> list[JsonDict]:
        if isinstance(taken, Stop):
            return [words(taken.reason, "(I end the conversation.)")]
        said = [text_block(taken.content)] if taken.content.strip() else []
        if isinstance(taken, Message):
            return said or [text_block("(I say nothing.)")]
        return [*said, *(self._rebuild_call(call) for call in taken.calls)]

    def _rebuild_call(self, call: ToolCall) -> JsonDict:
        self._rebuilt += 1
        return {
            "type": "tool_use",
            "id": f"past_{self._rebuilt}",  # recorded ids may repeat, or hold any character
            "name": _NOT_IN_A_NAME.sub("_", call.name)[:64] or "_",
            "input": call.arguments,
        }


def _move(reply: Reply, context: str) -> Message | ToolCalls:
    calls = tuple(
        ToolCall(name=block["name"], arguments=arguments_of(block), id=block["id"])
        for block in reply.tool_uses
    )
    about = about_reply(reply, context)
    if calls:
        return ToolCalls(calls=calls, content=reply.text, **about)
    if not reply.text.strip():
        raise AgentError("the model answered with neither words nor tool calls")
    return Message(content=reply.text.strip(), **about)


def about_reply(reply: Reply, context: str) -> dict[str, Any]:
    """What a move carries of the reply that it was made of.

    Args:
        reply: The reply.
        context: Hash of what was asked, by which the model knows its own blocks again.
    """
    return {
        "seconds": reply.seconds,
        "usage": reply.usage,
        "provider": {
            "model": reply.model,
            "request_id": reply.request_id,
            "stop": reply.stop.value,
            "context": context,
            "content": list(reply.content),
        },
    }
