"""What the tests of the Claude driver share: a model at a server, and requests to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiohttp import web

from passhat.models.claude import ClaudeModel
from passhat.models.claude_messages import ClaudeSettings
from passhat.models.model import Request, text_block
from passhat.models.prices import price_of
from passhat.models.retrying import Patience

T = TypeVar("T")

HAIKU = "claude-haiku-5-5"
HASTY = Patience(attempts=10, first_wait=0.001, longest_wait=0.01)
"""As patient as by default, without the waiting."""


def claude(url: str, model: str = HAIKU, **options: Any) -> ClaudeModel:
    """A model at a server; settings and arguments of the driver by name."""
    names = ClaudeSettings.__dataclass_fields__
    settings = {name: options.pop(name) for name in list(options) if name in names}
    arguments = {"price": price_of(model, "anthropic"), "patience": HASTY, **options}
    return ClaudeModel(ClaudeSettings(model, **settings), base_url=url, **arguments)


def question(text: str = "Hi", conversation: str = "one", **parts: Any) -> Request:
    """A request of one message."""
    messages = [{"role": "user", "content": [text_block(text)]}]
    return Request("Be brief.", messages, conversation=conversation, **parts)


def run(model: ClaudeModel, work: Callable[[ClaudeModel], Coroutine[Any, Any, T]]) -> T:
    """Do something with a model in an event loop of its own, and close it there."""

    async def all_of_it() -> T:
        try:
            return await work(model)
        finally:
            await model.close()

    return asyncio.run(all_of_it())


@asynccontextmanager
async def gateway(answer: Callable[[str, Any], web.Response]) -> AsyncIterator[str]:
    """The address of a server that is not Anthropic's, in the running event loop.

    Args:
        answer: Takes a path and the parsed body (None without one).
    """

    async def handle(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        return answer(request.path, body)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site.name
    finally:
        await runner.cleanup()
