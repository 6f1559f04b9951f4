"""A server on this machine that speaks OpenAI's chat completions as it is told to. For tests."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Json = dict[str, Any]


@dataclass
class ChatServer:
    """What it answers, and what it was asked.

    Attributes:
        url: Address to give to a client.
        answers: To completions, in order; the last one is given again and again.
        models: Ids that it lists, or the page instead of a list; None: it has no such page.
        asked: Bodies of the completions asked for.
        keys: What stood in their Authorization header.
    """

    url: str = ""
    answers: Sequence[Json | Response] = ()
    models: Sequence[str] | Response | None = ("model-1",)
    asked: list[Json] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    async def complete(self, request: Request) -> Response:
        """POST /v1/chat/completions."""
        self.asked.append(await request.json())
        self.keys.append(request.headers.get("authorization"))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Response):
            return answer
        return JSONResponse(answer, headers={"x-request-id": f"req_{len(self.asked)}"})

    async def list_models(self, request: Request) -> Response:
        """GET /v1/models."""
        if self.models is None:
            return JSONResponse({"error": {"message": "no such page"}}, 404)
        if isinstance(self.models, Response):
            return self.models
        rows = [{"id": name, "object": "model"} for name in self.models]
        return JSONResponse({"object": "list", "data": rows})


def completion(
    content: str | None = None,
    *calls: tuple[str, str, str],
    finish: str | None = None,
    usage: Json | None = None,
    **message: Any,
) -> Json:
    """A completion: words and calls (id, name, arguments as text)."""
    said: Json = {"role": "assistant", "content": content, **message}
    if calls:
        said["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": name, "arguments": given}}
            for i, name, given in calls
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "model-1-0613",
        "choices": [
            {
                "index": 0,
                "message": said,
                "finish_reason": finish or ("tool_calls" if calls else "stop"),
            }
        ],
        "usage": usage or {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


def error(status: int, message: str, code: str | None = None, **headers: str) -> Response:
    """An error as OpenAI sends it."""
    body = {"error": {"message": message, "type": "error", "code": code, "param": None}}
    return JSONResponse(body, status, {k.replace("_", "-"): v for k, v in headers.items()})


class _Server(uvicorn.Server):
    """Ends when it is told to, instead of looking ten times a second whether it should."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ready = threading.Event()

    async def main_loop(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._over.wait()

    def stop(self) -> None:
        self._ready.wait()
        self._loop.call_soon_threadsafe(self._over.set)


@contextmanager
def chat_server(*answers: Json | Response) -> Iterator[ChatServer]:
    """The server, in a thread, until the context is left."""
    chat = ChatServer(answers=answers)
    app = Starlette(
        routes=[
            Route("/v1/chat/completions", chat.complete, methods=["POST"]),
            Route("/v1/models", chat.list_models),
        ]
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        chat.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        config = uvicorn.Config(app, ws="none", lifespan="off", log_level="error")
        server = _Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield chat
        finally:
            server.stop()
            thread.join()
