"""Serving the pages: an address on this machine, and a browser that opens it."""

from __future__ import annotations

import errno
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from .guard import is_address
from .site import Site

if TYPE_CHECKING:
    from uvicorn import Server

PACKAGES: Final = ("uvicorn", "starlette")
PORT: Final = 8642
TRIES: Final = 20
"""Ports that are tried, from `PORT` on, if none was asked for."""

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def need_packages() -> None:
    """Make sure that what serves pages is installed, before anything is made for it.

    Raises:
        UsageError: It is not; says how to get it.
    """
    for name in PACKAGES:
        if find_spec(name) is None:
            raise UsageError(f"passhat view needs {name!r}: pip install 'passhat[web]'")


def open_port(host: str, port: int | None) -> socket.socket:
    """A socket that listens.

    Args:
        host: A name or an address of this machine.
        port: Which; None: the first free one from `PORT` on.

    Raises:
        UsageError: It is taken, or there is no such address here.
    """
    for number in [port] if port is not None else range(PORT, PORT + TRIES):
        try:
            return _listening(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UsageError(f"cannot listen on {host!r}: {error.strerror}") from error
    if port is not None:
        raise UsageError(f"port {port} is taken; another --port, or none: then a free one is found")
    raise UsageError(f"ports {PORT} to {PORT + TRIES - 1} are all taken; name another with --port")


def _listening(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise UsageError(f"there is no host {host!r}: {error.strerror}") from error
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two programs have one port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock


def check_host(host: str, *, allow_remote: bool) -> None:
    """Refuse what others can reach, unless that is meant.

    Raises:
        UsageError: The host is not this machine alone.
    """
    if host not in LOOPBACK and not allow_remote:
        raise UsageError(
            f"--host {host} lets other machines read every conversation, without a password; "
            "add --allow-remote if that is meant"
        )


def serve(
    site: Site,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    allow_remote: bool = False,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Show the site until it is interrupted.

    Args:
        site: What is shown.
        host: Where to listen.
        port: Which port; None: the first free one.
        allow_remote: Whether other machines may ask.
        browser: Whether to open a browser, if there is a display.
        say: Is told the address.

    Raises:
        UsageError: The address cannot be used, or a package is missing.
    """
    check_host(host, allow_remote=allow_remote)
    server = make_server(site, _names(host, allow_remote), addresses=allow_remote)
    with closing(open_port(host, port)) as sock:
        address = f"http://{_written(host)}:{sock.getsockname()[1]}/"
        site.index.start()
        site.warm()
        say(address)
        if browser and has_display():
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):  # the way to end it
            server.run(sockets=[sock])


def make_server(site: Site, names: frozenset[str] = LOOPBACK, *, addresses: bool = False) -> Server:
    """What answers for a site, on whichever sockets it is given.

    Args:
        site: What is shown.
        names: Host names by which it may be called.
        addresses: Whether any IP address will do, too.

    Raises:
        UsageError: A package is missing.
    """
    need_packages()
    import uvicorn

    from .app import make_app

    return uvicorn.Server(
        uvicorn.Config(
            make_app(site, names, addresses=addresses),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )


def _names(host: str, allow_remote: bool) -> frozenset[str]:
    return LOOPBACK | {host.lower(), socket.gethostname().lower()} if allow_remote else LOOPBACK


def _written(host: str) -> str:
    """A host as it stands in an address."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - it is compared, not bound
        return "localhost"
    return f"[{host}]" if is_address(host) and ":" in host else host


def has_display() -> bool:
    """Whether a browser could show itself."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
