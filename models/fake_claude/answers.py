"""Answers: what a brain says, as the message or the stream of events that a client receives."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from inspect import isawaitable
from typing import Any

from ..model import Reply, StopReason
from .caching import CacheUse
from .catalogue import MODELS, FakeModel
from .prompts import CHARACTERS_A_TOKEN, Prompt, PromptReader, as_json, hashed, tokens_in

Json = dict[str, Any]
Answer = Reply | str | Sequence[Json]
"""What a brain says: a reply, its blocks, or only words. Ids, signatures and usage are added."""
Brain = Callable[[Json], Answer | Awaitable[Answer]]
"""Answers the body of a request to ``/v1/messages``."""

TOO_FEW_TOKENS = 1
"""With so few, nothing can be said: the request only fills the cache."""
_PIECES = 4
"""Into how many pieces a stream cuts a block."""


def thinks(body: Json) -> bool:
    """Whether a request is to be answered with a thinking block first."""
    model = MODELS.get(body["model"])
    told = (body.get("thinking") or {}).get("type")
    if told is None:
        return model is not None and model.thinks != "if told"
    return told in ("adaptive", "enabled")


async def ask(brain: Brain, body: Json) -> Reply:
    """What a brain says to a request."""
    answer = brain(body)
    if isawaitable(answer):
        answer = await answer
    if isinstance(answer, Reply):
        return answer
    blocks = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer
    calls = any(block.get("type") == "tool_use" for block in blocks)
    return Reply(tuple(blocks), StopReason.TOOL_USE if calls else StopReason.END_TURN)


def compose(
    reply: Reply, body: Json, model: FakeModel, prompt: Prompt, used: CacheUse, reader: PromptReader
) -> Json:
    """The message that a client receives.

    Args:
        reply: What the brain said.
        body: The request.
        model: The one that is asked.
        prompt: The request's prompt.
        used: What the cache did with it.
        reader: Signs thinking.
    """
    wanted = [*_finished(reply.content, body, prompt, reader)]
    blocks = _fitting(wanted, body["max_tokens"])
    stop = reply.stop if blocks == wanted else StopReason.MAX_TOKENS
    if body["max_tokens"] <= TOO_FEW_TOKENS:
        stop = StopReason.MAX_TOKENS
    return {
        "id": f"msg_{prompt.key.hex()}",
        "type": "message",
        "role": "assistant",
        "model": model.id,
        "content": blocks,
        "stop_reason": stop.value,
        "stop_sequence": None,
        "stop_details": _details(reply) if stop is StopReason.REFUSAL else None,
        "usage": _usage(used, blocks, body["max_tokens"]),
    }


def _finished(
    blocks: Sequence[Json], body: Json, prompt: Prompt, reader: PromptReader
) -> Iterator[Json]:
    """The blocks with ids and signatures; without further calls where one may be made."""
    one_call = (body.get("tool_choice") or {}).get("disable_parallel_tool_use", False)
    called = False
    for place, block in enumerate(blocks):
        match block["type"]:
            case "tool_use":
                if not (called and one_call):
                    call_id = f"toolu_{hashed(prompt.key, str(place)).hex()[:24]}"
                    yield {"id": call_id, **block}
                called = True
            case "thinking":
                yield {"signature": reader.sign(prompt.spoken, block["thinking"]), **block}
            case "text" if not block["text"]:
                pass  # the API never says nothing in a block
            case _:
                yield block


def _size(block: Json) -> int:
    """Tokens of a block of an answer."""
    return tokens_in(len(as_json(block)))


def _fitting(blocks: list[Json], max_tokens: int) -> list[Json]:
    """As much of an answer as may be written: text is cut, other blocks are left out."""
    kept = []
    for block in blocks:
        size = _size(block)
        if size > max_tokens:
            if block["type"] == "text" and max_tokens:
                kept.append({**block, "text": block["text"][: max_tokens * CHARACTERS_A_TOKEN]})
            break
        max_tokens -= size
        kept.append(block)
    return kept


def _details(reply: Reply) -> Json:
    return {"type": "refusal", "category": None, "explanation": reply.detail or None}


def _usage(used: CacheUse, blocks: list[Json], max_tokens: int) -> Json:
    thought = sum(_size(block) for block in blocks if block["type"] == "thinking")
    written = sum(map(_size, blocks)) if blocks else 1
    return {
        "input_tokens": used.afresh,
        "cache_creation_input_tokens": used.written_5m + used.written_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": used.written_5m,
            "ephemeral_1h_input_tokens": used.written_1h,
        },
        "cache_read_input_tokens": used.read,
        "output_tokens": min(written, max_tokens),
        "output_tokens_details": {"thinking_tokens": thought},
        "server_tool_use": None,
        "service_tier": "standard",
    }


# --- streams --------------------------------------------------------------------------------------


def events(message: Json) -> Iterator[bytes]:
    """A message as server-sent events, one at a time."""
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "stop_details": None}
    yield _event("message_start", message={**start, "usage": {**usage, "output_tokens": 1}})
    yield _event("ping")
    for index, block in enumerate(message["content"]):
        yield _event("content_block_start", index=index, content_block=_emptied(block))
        for delta in _deltas(block):
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    delta = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    told = {name: value for name, value in usage.items() if name in _DELTA_USAGE}
    yield _event("message_delta", delta=delta, usage=told)
    yield _event("message_stop")


_DELTA_USAGE = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
    "output_tokens_details",
    "server_tool_use",
)


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def _emptied(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {**block, "text": ""}
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case _:
            return {**block, "input": {}}


def _deltas(block: Json) -> Iterator[Json]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": p} for p in _pieces(block["text"]))
        case "thinking":
            for piece in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            given = block["input"]
            written = given if isinstance(given, str) else json.dumps(given)
            yield from ({"type": "input_json_delta", "partial_json": p} for p in _pieces(written))


def _pieces(text: str) -> Iterator[str]:
    size = max(1, -(-len(text) // _PIECES))
    return (text[start : start + size] for start in range(0, len(text), size))
