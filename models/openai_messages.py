"""Requests and replies as OpenAI's chat completions write them, and many servers after it.

Blocks become messages and calls, and come back as blocks. What a server adds on its own, such as
reasoning beside the content, or signatures on calls, is kept in the blocks and given back to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..transcript import NO_USAGE, JsonDict, Usage
from .model import Reply, Request, StopReason, text_block, text_of
from .prices import Price

SCHEMA_FORMS = ("json_schema", "json_object", "prompt")
_REASONING = ("reasoning_content", "reasoning")
_SIGNED = "thinking_blocks"
"""Where LiteLLM keeps the thinking of providers that sign it."""
_OF_A_CALL = {"id", "type", "index", "function"}

_STOPS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.REFUSAL,
}

_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|exceed_context_size|prompt is too long"
    r"|exceeds? (?:the |this )?(?:available |model'?s? |maximum )*context (?:size|window|length)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ChatSettings:
    """What every request of a model says.

    Attributes:
        model: Its id.
        max_tokens: Where a reply is cut off; None: where the server does.
        limit_name: What the server calls that limit.
        temperature: None: the server's default.
        effort: How much a reasoning model thinks; None: the server's default.
        schema_form: How the server is told a schema: one of `SCHEMA_FORMS`.
    """

    model: str
    max_tokens: int | None = None
    limit_name: str = "max_completion_tokens"
    temperature: float | None = None
    effort: str | None = None
    schema_form: str = "json_schema"


# --- requests -------------------------------------------------------------------------------------


def chat_body(request: Request, settings: ChatSettings) -> JsonDict:
    """The body of a request."""
    body: JsonDict = {
        "model": settings.model,
        "messages": list(_messages(request, settings)),
        "tools": [_tool(tool) for tool in request.tools] or None,
        "parallel_tool_calls": False if request.tools and request.one_tool_at_a_time else None,
        settings.limit_name: settings.max_tokens,
        "temperature": settings.temperature,
        "reasoning_effort": settings.effort,
        "response_format": _response_format(request.schema, settings.schema_form),
    }
    return {name: value for name, value in body.items() if value is not None}


def _tool(tool: JsonDict) -> JsonDict:
    return {
        "type": "function",
        "function": {
            "name": tool["name"],
            "description": tool["description"],
            "parameters": tool["input_schema"],
        },
    }


def _response_format(schema: JsonDict | None, form: str) -> JsonDict | None:
    if schema is None or form == "prompt":
        return None
    if form == "json_object":
        return {"type": "json_object", "schema": schema}
    named = {"name": "answer", "schema": schema, "strict": _can_be_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _can_be_strict(schema: Any) -> bool:
    """Whether every object in a schema names all its properties and requires them."""
    if isinstance(schema, dict):
        named = schema.get("properties")
        if isinstance(named, dict) and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != set(named)
        ):
            return False
        return all(_can_be_strict(inner) for inner in schema.values())
    return not isinstance(schema, list) or all(_can_be_strict(inner) for inner in schema)


def _messages(request: Request, settings: ChatSettings) -> Iterator[JsonDict]:
    system = request.system
    if request.schema is not None and settings.schema_form == "prompt":
        schema = json.dumps(request.schema, ensure_ascii=False)
        system += f"\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"
    if system:
        yield {"role": "system", "content": system}
    for message in request.messages:
        if message["role"] == "assistant":
            yield _assistant(message["content"])
        else:
            yield from _told(message["content"])


def _told(content: Sequence[JsonDict]) -> Iterator[JsonDict]:
    """Results, one message each, and then what was said."""
    for block in content:
        if block["type"] == "tool_result":
            said = block["content"]
            text = said if isinstance(said, str) else text_of(said)
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": text}
    if said := [block["text"] for block in content if block["type"] == "text"]:
        yield {"role": "user", "content": "\n\n".join(said)}


def _assistant(content: Sequence[JsonDict]) -> JsonDict:
    message: JsonDict = {"role": "assistant", "content": text_of(content) or None}
    for block in content:
        if block.get("field") == _SIGNED:
            unnamed = {name: value for name, value in block.items() if name != "field"}
            message.setdefault(_SIGNED, []).append(unnamed)
        elif block["type"] == "thinking" and "field" in block:
            message[block["field"]] = block["thinking"]
    if calls := [_call(block) for block in content if block["type"] == "tool_use"]:
        message["tool_calls"] = calls
    return message


def _call(block: JsonDict) -> JsonDict:
    given = block["input"]
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return {
        "id": block["id"],
        "type": "function",
        "function": {"name": block["name"], "arguments": arguments},
        **block.get("extra", {}),
    }


# --- replies --------------------------------------------------------------------------------------


def chat_reply(
    completion: JsonDict, *, price: Price | None, request_id: str | None = None
) -> Reply:
    """A reply from a completion as the server sends it.

    Args:
        completion: The parsed JSON.
        price: Of the model; None: unknown, and so is the cost.
        request_id: From the headers.

    Raises:
        KeyError, IndexError, TypeError: It is no completion.
    """
    choice = completion["choices"][0]
    message = choice["message"]
    content = tuple(_blocks(message))
    refusal = message.get("refusal") or ""
    return Reply(
        content=content,
        stop=StopReason.REFUSAL if refusal else _stop(choice.get("finish_reason"), content),
        usage=_usage(completion.get("usage"), price),
        model=completion.get("model") or "",
        request_id=request_id or completion.get("id"),
        detail=refusal,
    )


def _stop(finish_reason: str | None, content: Iterable[JsonDict]) -> StopReason:
    """Some servers have reasons of their own, or none; what they wrote tells then."""
    if finish_reason in _STOPS:
        return _STOPS[finish_reason]
    calls = any(block["type"] == "tool_use" for block in content)
    return StopReason.TOOL_USE if calls else StopReason.END_TURN


def _blocks(message: JsonDict) -> Iterator[JsonDict]:
    yield from _thinking(message)
    said = message.get("content") or ""
    if text := said if isinstance(said, str) else text_of(said):
        yield text_block(text)
    for number, call in enumerate(message.get("tool_calls") or (), 1):
        function = call["function"]
        block = {
            "type": "tool_use",
            "id": call.get("id") or f"call_{number}",
            "name": function["name"],
            "input": _parsed(function.get("arguments")),
        }
        extra = {name: value for name, value in call.items() if name not in _OF_A_CALL and value}
        if extra:
            block["extra"] = extra
        yield block


def _thinking(message: JsonDict) -> Iterator[JsonDict]:
    """What a reasoning model thought, with the name of the field that its server keeps it in."""
    if signed := message.get(_SIGNED):
        yield from ({**block, "field": _SIGNED} for block in signed)
        return
    for field in _REASONING:
        if isinstance(thought := message.get(field), str) and thought:
            yield {"type": "thinking", "thinking": thought, "field": field}
            return


def _parsed(arguments: Any) -> Any:
    """The arguments of a call; what is no JSON stays text, for the agent to answer for."""
    if arguments is None or arguments == "":
        return {}
    try:
        is_text = isinstance(arguments, str)
        return json.loads(arguments, parse_constant=no_constant) if is_text else arguments
    except (ValueError, RecursionError):
        return arguments


def no_constant(name: str) -> NoReturn:
    """For reading JSON strictly: ``NaN`` and ``Infinity``, which Python takes, are none."""
    raise ValueError(f"{name} is no JSON")


def _usage(usage: JsonDict | None, price: Price | None) -> Usage:
    """The parts that the server tells; of a cache that it does not speak of nothing is known."""
    if not usage:
        return NO_USAGE
    details = usage.get("prompt_tokens_details") or {}
    read = details.get("cached_tokens")
    written = details.get("cache_write_tokens", details.get("cache_creation_tokens"))
    cached = (read or 0) + (written or 0)  # of which some servers tell more than the whole
    tokens = Usage(
        input_tokens=max(0, (usage.get("prompt_tokens") or 0) - cached),
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.get("completion_tokens"),
    )
    dollars = price.dollars(tokens) if price else None
    return tokens.model_copy(update={"cost_dollars": dollars})


def says_too_long(message: str) -> bool:
    """Whether an error says that the conversation does not fit into the model's context.

    >>> says_too_long("This model's maximum context length is 4096 tokens.")
    True
    """
    return bool(_TOO_LONG.search(message))
