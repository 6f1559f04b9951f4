"""Who may ask, and what a page may do: headers on every answer, checks on every question.

The viewer has no password: it trusts whoever can reach its port, which is this machine unless told
otherwise. A page of another site, open in the same browser, can reach the port as well, so

- the Host header must be one of ours: otherwise a name that is made to point at 127.0.0.1 (DNS
  rebinding) would give that site our pages to read;
- whatever writes is a POST from a page of ours: the browser says where it comes from (Origin,
  Sec-Fetch-Site), and the form holds a token that only our pages show;
- no page of ours can be framed, and none loads or runs anything that is not ours.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    # Not "no-referrer": with that a browser hides the origin of our own forms from us.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
MOST_BYTES: Final = 256 * 1024
"""Of a form."""


class Guard:
    """Checks what comes in, and adds the headers to what goes out.

    Args:
        app: What answers.
        names: Host names by which the viewer may be called.
        addresses: Whether any IP address will do, too: it can be no name that was made to point
            here.
    """

    def __init__(self, app: App, names: frozenset[str], *, addresses: bool) -> None:
        self._app = app
        self._names = names
        self._addresses = addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(guarded, *refusal)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        if not self._known(host_name(host)):
            return 421, f"this viewer is not called {host!r}; open the address that it printed"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return 405, f"{scope['method']} is not understood"
        length = headers.get(b"content-length", "")
        if not length.isdecimal():
            return 411, "a form must say how long it is"
        if int(length) > MOST_BYTES:
            return 413, f"a form has at most {MOST_BYTES:,} bytes"
        if not same_origin(host, headers.get(b"origin"), headers.get(b"sec-fetch-site")):
            return 403, "only pages of this viewer may write"
        return None

    def _known(self, name: str) -> bool:
        return name in self._names or (self._addresses and is_address(name))


def host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> host_name("localhost:8642"), host_name("[::1]:8642"), host_name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def is_address(name: str) -> bool:
    """Whether a name is an IP address.

    >>> is_address("192.0.2.7"), is_address("evil.example")
    (True, False)
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(host: str, origin: str | None, site: str | None) -> bool:
    """Whether a request comes from a page of ours, by what the browser says.

    A program that is no browser says nothing; it has to know the token all the same.

    >>> same_origin("localhost:1", "http://localhost:1", None), same_origin("a", "null", None)
    (True, False)
    """
    if site is not None and site not in ("same-origin", "none"):
        return False
    return origin is None or origin in (f"http://{host}", f"https://{host}")


def same_token(ours: str, given: str) -> bool:
    """Whether a form holds our token."""
    return hmac.compare_digest(ours.encode(), given.encode("utf-8", "replace"))


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = f"passhat: {why}\n".encode("utf-8", "replace")
    await send({"type": "http.response.body", "body": body})
