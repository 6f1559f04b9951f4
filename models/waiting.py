"""Waiting for a model in code that is not asynchronous, such as a Gymnasium env."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from functools import cache
from typing import TypeVar

T = TypeVar("T")


def wait_for(answer: Awaitable[T]) -> T:
    """What an awaitable comes to. Works inside a running event loop too, which then stands still.

    >>> async def answer() -> int:
    ...     return 42
    >>> wait_for(answer())
    42
    """
    return asyncio.run_coroutine_threadsafe(_awaited(answer), _loop()).result()


async def _awaited(answer: Awaitable[T]) -> T:
    return await answer


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The one loop for all who wait: connections to a provider are kept from call to call."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="passhat models", daemon=True).start()
    return loop
