"""What a thousand conversations at once cost: the Claude driver, and the SDK as it comes.

Both talk to the server of this package, which runs in a process of its own and takes a second for
each reply, with the policy and the tools of the retail shop before each conversation.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import anthropic

from passhat.domains.domain import load_domain
from passhat.models.claude import ClaudeModel
from passhat.models.claude_messages import ClaudeSettings, request_body
from passhat.models.model import Request, text_block
from passhat.models.prices import price_of

from .measure import Figure

CONVERSATIONS = 1000
TURNS = 3
LATENCY = 1.0
SECONDS_AT_MOST = 45.0
"""For either side; what was answered by then counts."""
MODEL = "claude-haiku-5-5"

_SERVER = """
import sys
from passhat.models.fake_claude import serving

with serving(lambda body: "Let me look that up for you.", latency=float(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

Ask = Callable[[Request], Awaitable[Any]]


class Talked(NamedTuple):
    """What talking came to: replies in a second, CPU in seconds for each, failures by name."""

    rate: float
    cpu: float
    errors: Counter[str]


def figures() -> Iterator[Figure]:
    """Replies per second and errors of both, side by side, and CPU per request."""
    os.environ.setdefault("ANTHROPIC_API_KEY", "anything")
    prefix = _prefix()
    with _server(LATENCY) as url:
        ours = asyncio.run(_ours(url, prefix, CONVERSATIONS, TURNS))
        theirs = asyncio.run(_theirs(url, prefix, CONVERSATIONS, TURNS))
    with _server(0.0) as url:
        few = asyncio.run(_ours(url, prefix, conversations=20, turns=20))
        theirs_few = asyncio.run(_theirs(url, prefix, conversations=20, turns=20))
    many = f"{CONVERSATIONS:,} conversations"
    yield Figure(f"{many}, ours", ours.rate, "replies/s")
    yield Figure(f"{many}, the SDK as it comes", theirs.rate, "replies/s")
    yield Figure("ratio", ours.rate / theirs.rate, "", ">= 2.5")
    yield Figure(f"errors, ours{_told(ours)}", ours.errors.total(), "", "0")
    yield Figure(f"errors, the SDK as it comes{_told(theirs)}", theirs.errors.total(), "")
    yield Figure(f"CPU of a reply, {many}, ours", ours.cpu * 1e3, "ms")
    yield Figure(f"CPU of a reply, {many}, the SDK", theirs.cpu * 1e3, "ms")
    yield Figure("CPU of a reply, 20 conversations, ours", few.cpu * 1e3, "ms")
    yield Figure("CPU of a reply, 20 conversations, the SDK", theirs_few.cpu * 1e3, "ms")


def _told(talked: Talked) -> str:
    names = ", ".join(f"{name} {count}" for name, count in talked.errors.items())
    return f" ({names})" if names else ""


def _prefix() -> Request:
    domain = load_domain("retail")
    return Request(domain.policy, (), tuple(tool.schema for tool in domain.tools.values()))


async def _ours(url: str, prefix: Request, conversations: int, turns: int) -> Talked:
    model = ClaudeModel(ClaudeSettings(MODEL), base_url=url, price=price_of(MODEL, "anthropic"))
    try:
        return await _talk(model.complete, prefix, conversations, turns)
    finally:
        await model.close()


async def _theirs(url: str, prefix: Request, conversations: int, turns: int) -> Talked:
    async with anthropic.AsyncAnthropic(base_url=url) as client:

        async def ask(request: Request) -> Any:
            return await client.messages.create(**request_body(request, ClaudeSettings(MODEL)))

        return await _talk(ask, prefix, conversations, turns)


async def _talk(ask: Ask, prefix: Request, conversations: int, turns: int) -> Talked:
    """Hold conversations, all at once; a turn that fails is counted, and the next one tried."""
    errors: Counter[str] = Counter()
    answered = 0

    async def conversation(number: int) -> None:
        nonlocal answered
        messages: list[dict[str, Any]] = []
        for turn in range(turns):
            words = f"Conversation {number}, turn {turn}: where is my order?"
            messages.append({"role": "user", "content": [text_block(words)]})
            request = Request(
                prefix.system, tuple(messages), prefix.tools, conversation=f"c{number}"
            )
            try:
                await ask(request)
                answered += 1
            except Exception as error:
                errors[type(error).__name__] += 1
            messages.append({"role": "assistant", "content": [text_block("I will see.")]})

    await ask(Request(prefix.system, [{"role": "user", "content": [text_block("Hi")]}]))
    started, cpu = time.perf_counter(), time.process_time()
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS_AT_MOST):
            await asyncio.gather(*map(conversation, range(conversations)))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return Talked(answered / seconds, cpu / max(answered, 1), errors)


@contextmanager
def _server(latency: float) -> Iterator[str]:
    command = [sys.executable, "-c", _SERVER, str(latency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
