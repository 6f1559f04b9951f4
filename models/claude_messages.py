"""Requests and replies as Anthropic's Messages API writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..transcript import JsonDict, Usage
from .model import Reply, Request, StopReason, blocks_of, text_block
from .prices import Price

DEFAULT_MAX_TOKENS = 16_000
"""Room for thinking before a long answer, and less than what the SDK insists on streaming."""

_PREFIX_MARK = {"type": "ephemeral", "ttl": "1h"}
_MARK = {"type": "ephemeral"}
_MARK_WITHIN = 15
"""A mark finds what the request before has left up to 20 blocks behind it; the API takes four."""
_UNMARKABLE = ("thinking", "redacted_thinking")

_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (?:the )?context (?:limit|window)|context_length_exceeded", re.I
)


@dataclass(frozen=True)
class ClaudeSettings:
    """What every request of a model says.

    Attributes:
        model: Its id.
        max_tokens: Where a reply is cut off, thinking included.
        effort: low, medium, high, xhigh or max; None: the provider's default.
        thinking: As the API takes it; None: the provider's default.
        cache: Whether the provider's cache is used.
    """

    model: str
    max_tokens: int = DEFAULT_MAX_TOKENS
    effort: str | None = None
    thinking: JsonDict | None = None
    cache: bool = True


def request_body(request: Request, settings: ClaudeSettings) -> JsonDict:
    """The body of a request, with the marks that make the provider's cache work.

    One mark for an hour stands behind tools and system, which all conversations share. One for five
    minutes moves along at the end of the conversation; where a single turn has brought so many
    blocks that the end of the turn before is out of its reach, another one stands in between.
    """
    body: JsonDict = {
        "model": settings.model,
        "max_tokens": settings.max_tokens,
        "tools": list(request.tools),
        "system": [text_block(request.system)] if request.system else [],
        "messages": list(request.messages),
        "tool_choice": _tool_choice(request),
        "thinking": settings.thinking,
        "output_config": _output_config(request, settings),
        "metadata": {"user_id": request.conversation} if request.conversation else None,
    }
    if settings.cache:
        _mark_prefix(body)
        body["messages"] = marked(request.messages)
        body["cache_control"] = _MARK
    return {name: value for name, value in body.items() if value}


def warm_up_body(prefix: Request, settings: ClaudeSettings) -> JsonDict:
    """The body of a request that puts tools and system into the cache, and nothing else."""
    messages = [{"role": "user", "content": [text_block("Ready?")]}]
    body = request_body(
        Request(prefix.system, messages, prefix.tools, schema=prefix.schema), settings
    )
    for name in ("cache_control", "thinking"):  # they concern the messages only
        body.pop(name, None)
    # No answer is wanted; but nothing says that a schema goes together with no answer at all.
    return body | {"max_tokens": 1 if prefix.schema else 0}


def marked(messages: Sequence[JsonDict]) -> list[JsonDict]:
    """The messages, with a mark among the newest blocks if there are too many of them.

    The messages themselves are left as they are. New are the last two: the model's last reply, and
    the answer to it.
    """
    result = list(messages)
    new = [
        (at, block)
        for at in range(max(0, len(messages) - 2), len(messages))
        for block in range(len(messages[at]["content"]))
    ]
    if len(new) <= _MARK_WITHIN or len(messages) < 3:
        return result
    for at, block in reversed(new[:_MARK_WITHIN]):
        content = list(messages[at]["content"])
        if content[block].get("type") not in _UNMARKABLE:
            content[block] = {**content[block], "cache_control": _MARK}
            result[at] = {**messages[at], "content": content}
            break
    return result


def _mark_prefix(body: JsonDict) -> None:
    for part in ("system", "tools"):
        if blocks := body[part]:
            body[part] = [*blocks[:-1], {**blocks[-1], "cache_control": _PREFIX_MARK}]
            return


def _tool_choice(request: Request) -> JsonDict | None:
    if request.tools and request.one_tool_at_a_time:
        return {"type": "auto", "disable_parallel_tool_use": True}
    return None


def _output_config(request: Request, settings: ClaudeSettings) -> JsonDict:
    config: JsonDict = {}
    if settings.effort:
        config["effort"] = settings.effort
    if request.schema is not None:
        config["format"] = {"type": "json_schema", "schema": request.schema}
    return config


# --- replies --------------------------------------------------------------------------------------

_STOPS = {reason.value: reason for reason in StopReason} | {"stop_sequence": StopReason.END_TURN}


def reply_of(
    message: JsonDict, *, price: Price | None, share: float = 1.0, request_id: str | None = None
) -> Reply:
    """A reply from a message as the API sends it; its blocks are kept as they are.

    Args:
        message: The parsed JSON.
        price: Of the model; None: unknown, and so is the cost.
        share: Of the price that is paid.
        request_id: From the headers.

    Raises:
        KeyError: It stopped for a reason that is not known here.
        TypeError: Its content is no list of blocks.
    """
    return Reply(
        content=blocks_of(message["content"]),
        stop=_STOPS[message["stop_reason"]],
        usage=usage_of(message["usage"], price, share),
        model=message.get("model", ""),
        request_id=request_id,
        detail=_detail(message.get("stop_details") or {}),
    )


def usage_of(usage: JsonDict, price: Price | None, share: float = 1.0) -> Usage:
    """The five parts, and what they cost. Writes that are not split are of five minutes."""
    written = usage.get("cache_creation_input_tokens") or 0
    written_1h = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    tokens = Usage(
        input_tokens=usage.get("input_tokens") or 0,
        cache_read_tokens=usage.get("cache_read_input_tokens") or 0,
        cache_write_tokens=max(0, written - written_1h),
        cache_write_1h_tokens=written_1h,
        output_tokens=usage.get("output_tokens") or 0,
    )
    dollars = price.dollars(tokens, share) if price else None
    return tokens.model_copy(update={"cost_dollars": dollars})


def says_too_long(message: str) -> bool:
    """Whether an error of the API says that the conversation does not fit into the context.

    >>> says_too_long("prompt is too long: 209375 tokens > 200000 maximum")
    True
    """
    return bool(_TOO_LONG.search(message))


def _detail(stop_details: JsonDict) -> str:
    parts = (stop_details.get("category"), stop_details.get("explanation"))
    return ": ".join(part for part in parts if part)


class StreamedMessage:
    """A message put together from the events of a stream.

    Attributes:
        message: As it would have come in one piece; None before the first event.
        complete: Whether the last event has come.
    """

    def __init__(self) -> None:
        self.message: JsonDict | None = None
        self.complete = False
        self._inputs: dict[int, str] = {}

    def add(self, event: JsonDict) -> None:
        """Take in the next event."""
        kind = event.get("type")
        if kind == "message_start":
            self.message = event["message"]
        elif kind == "message_stop":
            self.complete = True
        elif self.message is None:
            return
        elif kind == "content_block_start":
            self.message["content"].append(event["content_block"])
        elif kind == "content_block_delta":
            self._extend(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._finish(event["index"])
        elif kind == "message_delta":
            self.message.update(event["delta"])
            self.message["usage"].update(
                {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
            )

    def _extend(self, index: int, delta: JsonDict) -> None:
        assert self.message is not None
        block = self.message["content"][index]
        match delta.get("type"):
            case "text_delta":
                block["text"] += delta["text"]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                self._inputs[index] = self._inputs.get(index, "") + delta["partial_json"]
            case "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta["citation"]]

    def _finish(self, index: int) -> None:
        assert self.message is not None
        if text := self._inputs.pop(index, ""):
            self.message["content"][index]["input"] = _parsed(text)


def _parsed(text: str) -> Any:
    """The input of a tool; what is no JSON stays text, for the agent to answer for."""
    try:
        return json.loads(text)
    except ValueError:
        return text
