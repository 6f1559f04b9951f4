"""The pages, a module for each kind: a function takes the site and a request, and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import UsageError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ..site import Site

    Page: TypeAlias = Callable[[Site, Request], Response]


def html(site: Site, template: str, *, status: int = 200, **values: Any) -> Response:
    """A page, or a part of one."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(site.render(template, **values), status)


def number_in(request: Request, name: str, default: int, most: int = 1 << 40) -> int:
    """A number from 0 in the query of a request.

    Raises:
        UsageError: It is none.
    """
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 15 or int(text) > most:
        raise UsageError(f"{name} must be a number from 0 to {most:,}, not {text!r}")
    return int(text)


def text_in(request: Request, name: str) -> str:
    """A text in the query of a request, "" if it is not there."""
    return request.query_params.get(name, "").strip()


def person_of(site: Site, request: Request) -> str:
    """Who sits at the browser; "" if nobody said."""
    from urllib.parse import unquote

    return site.person or unquote(request.cookies.get(PERSON, ""))


PERSON = "passhat_person"
"""The cookie with a person's name."""
