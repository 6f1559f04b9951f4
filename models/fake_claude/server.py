"""Running the server: in a thread of this process, or as all that a process does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from .answers import Brain
from .app import FakeClaude
from .catalogue import MODELS, FakeModel
from .faults import FaultRate, parse_fault

HOST = "127.0.0.1"
SECONDS_TO_END = 0.05
"""How long a server that ends waits for answers under way, before it cuts them off."""


@asynccontextmanager
async def listening(app: FakeClaude, port: int = 0) -> AsyncIterator[FakeClaude]:
    """Let an app answer on a port of this machine, until the context is left.

    Args:
        app: Its ``url`` is set.
        port: 0: any that is free.

    Raises:
        OSError: The port is taken.
    """
    from aiohttp import web  # slow to import, and scripts are played without a server, too

    from .http import http_server

    runner = web.ServerRunner(http_server(app), shutdown_timeout=SECONDS_TO_END)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port, backlog=2048).start()
        app.url = f"http://{HOST}:{runner.addresses[0][1]}"
        yield app
    finally:
        await app.close()
        await runner.cleanup()


def known_models(more: Iterable[str] = ()) -> dict[str, FakeModel]:
    """The models of the catalogue, and these as well.

    Args:
        more: Ids; nothing else is known of them, so that they are taken to be of the newest kind.
    """
    return MODELS | {id: FakeModel(id, id, "1970-01-01") for id in more}


@contextmanager
def serving(
    brain: Brain,
    *,
    faults: Sequence[FaultRate | str] = (),
    latency: float = 0.0,
    seed: int = 0,
    models: Iterable[str] = (),
    port: int = 0,
    **settings: Any,
) -> Iterator[FakeClaude]:
    """Run the server in a thread of this process.

    Args:
        brain: Takes the body of a request, gives what is to be answered: a `Reply`, or its blocks,
            or only words.
        faults: What goes wrong, e.g. ``"overloaded=0.2"``.
        latency: Seconds that every answer takes at least.
        seed: Of the faults.
        models: Ids of further models.
        port: 0: any that is free.
        settings: Others of `FakeClaude`.

    Yields:
        The server: its ``url``, the ``requests`` it has seen, and settings that may be changed.

    >>> import anthropic
    >>> with serving(lambda body: "Hello!") as server:
    ...     with anthropic.Anthropic(base_url=server.url, api_key="anything") as client:
    ...         client.messages.create(
    ...             model="claude-haiku-5-5",
    ...             max_tokens=100,
    ...             messages=[{"role": "user", "content": "Hi"}],
    ...         ).content[0].text
    'Hello!'
    """
    app = FakeClaude(
        brain,
        faults=[parse_fault(fault) if isinstance(fault, str) else fault for fault in faults],
        latency=latency,
        seed=seed,
        models=known_models(models),
        **settings,
    )
    thread = _ServerThread(app, port)
    thread.start()
    try:
        thread.wait_until_ready()
        yield app
    finally:
        thread.stop()


class _ServerThread(threading.Thread):
    def __init__(self, app: FakeClaude, port: int) -> None:
        super().__init__(name="passhat fake-claude", daemon=True)
        self._app = app
        self._port = port
        self._ready = threading.Event()
        self._error: OSError | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self._error = error
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with listening(self._app, self._port):
            self._ready.set()
            await self._over.wait()

    def wait_until_ready(self) -> None:
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        if self._error is None:
            self._loop.call_soon_threadsafe(self._over.set)
        self.join()
