"""HTTP, which aiohttp speaks: requests as the app reads them, responses as clients get them."""

from __future__ import annotations

from contextlib import suppress
from logging import LogRecord, getLogger

from aiohttp import web
from aiohttp.http import HttpProcessingError

from .app import FakeClaude, Seen
from .responses import Response

KEEP_ALIVE_SECONDS = 3600.0
"""How long a connection may be idle: longer than clients keep one, so that they close it first."""


def http_server(app: FakeClaude) -> web.Server:
    """A server that has an app answer; it must be made where an event loop runs."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if headers.get("expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await _body(request, app.max_body_bytes)
        seen = Seen(request.method, request.rel_url.raw_path, headers)
        return await _sent(await app.handle(seen, request.query, body), request)

    return web.Server(
        answer,
        handler_cancellation=True,  # nobody waits for the answer when the client has gone
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        logger=_LOG,
        access_log=None,
    )


def _is_our_fault(record: LogRecord) -> bool:
    """Not what a client sent that is no HTTP: it is told so, and the log need not be."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, web.RequestPayloadError))


_LOG = getLogger("passhat.fake_claude.http")
_LOG.addFilter(_is_our_fault)


async def _body(request: web.BaseRequest, at_most: int) -> bytes | None:
    """All of a body; None if it is too long.

    It is read to its end all the same, so that the client hears what is wrong.
    """
    body = bytearray()
    try:
        async for piece in request.content.iter_any():
            if len(body) <= at_most:
                body += piece
    except web.RequestPayloadError as error:
        raise web.HTTPBadRequest(text=str(error)) from None
    return bytes(body) if len(body) <= at_most else None


async def _sent(response: Response, request: web.BaseRequest) -> web.StreamResponse:
    """What aiohttp is to send, or has sent already."""
    headers = {"content-type": response.kind, **response.headers}
    if response.whole and isinstance(response.body, bytes):
        return web.Response(body=response.body, status=response.status, headers=headers)
    answer = web.StreamResponse(status=response.status, headers=headers)
    if response.status:
        await _send(answer, response, request)
    if not response.whole and request.transport is not None:
        request.transport.close()
    return answer


async def _send(answer: web.StreamResponse, response: Response, request: web.BaseRequest) -> None:
    pieces = [response.body] if isinstance(response.body, bytes) else response.body
    with suppress(ConnectionError):  # the client has gone in the midst of it, as it may
        await answer.prepare(request)
        for piece in pieces:
            await answer.write(piece)
