"""What a fake Claude answers at the kiosk: it works from the messages alone and gets it right."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from passhat.models.fake_claude import FakeClaude, serving

HAIKU = "claude:claude-haiku-5-5"


def clerk(body: dict[str, Any]) -> str | list[dict[str, Any]]:
    """Proposes the change, makes it after the answer, and says so."""
    said = " ".join(text for message in body["messages"] for text in _texts(message["content"]))
    found = re.search(r"T-\d", said)
    ticket = found.group() if found else ""
    moves = sum(message["role"] == "assistant" for message in body["messages"])
    if moves == 0:
        return f"I will change ticket {ticket} to zone Z2. Do you confirm (yes/no)?"
    if moves == 1:
        call = {"ticket_id": ticket, "zone": "Z2"}
        return [{"type": "tool_use", "id": "toolu_1", "name": "change_zone", "input": call}]
    return f"Done: your ticket {ticket} is now valid in zone Z2."


def _texts(content: str | list[dict[str, Any]]) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


@contextmanager
def claude(
    monkeypatch: pytest.MonkeyPatch, brain: Any = clerk, **about: Any
) -> Iterator[FakeClaude]:
    """A fake Claude that the environment points to."""
    with serving(brain, **about) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "anything")
        yield server


def asked(server: FakeClaude) -> int:
    """Messages that were answered, other than to warm a cache."""
    return sum(
        seen.path == "/v1/messages" and seen.body["max_tokens"] > 0 for seen in server.requests
    )
