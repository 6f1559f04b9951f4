"""Requests to the fake server, in order unless a test changes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic

from passhat.models.fake_claude import Brain, FakeClaude, serving

Json = dict[str, Any]

MODEL = "claude-sonnet-5-5"
TOOL: Json = {
    "name": "find_order",
    "description": "Find an order.",
    "input_schema": {"type": "object", "properties": {"order_id": {"type": "string"}}},
}
CALL: Json = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "find_order",
    "input": {"order_id": "#W1"},
}
RESULT: Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "pending"}


def user(*content: Json | str) -> Json:
    """A message of the user: blocks, or one text."""
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def assistant(*content: Json | str) -> Json:
    """A message of the assistant: blocks, or one text."""
    return {**user(*content), "role": "assistant"}


def text(words: str, **more: Any) -> Json:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def request(*messages: Json, **changes: Any) -> Json:
    """The body of a request."""
    asked = {"model": MODEL, "max_tokens": 1000, "messages": [*messages] or [user("Hello")]}
    return {**asked, **changes}


@contextmanager
def asking(brain: Brain, **settings: Any) -> Iterator[tuple[anthropic.Anthropic, FakeClaude]]:
    """The real client, and the server that it talks to."""
    with (
        serving(brain, **settings) as server,
        anthropic.Anthropic(base_url=server.url, api_key="anything", max_retries=0) as client,
    ):
        yield client, server
