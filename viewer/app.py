"""The application: which address is answered by which page, and what happens when one cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..errors import InfrastructureError, PasshatError
from .guard import App, Guard
from .pages import beside, html, labels, replays, run, runs, search, trial
from .rendering import STATIC, static
from .site import Site

if TYPE_CHECKING:
    from .pages import Page

_TRIAL = "/trial/{run}/{task:path}/{number:int}"

PAGES: dict[str, Page] = {
    "/": runs.runs,
    "/run/{run}": run.run_page,
    "/run/{run}/entry": runs.one_entry,
    "/run/{run}/state": run.state,
    "/run/{run}/figures": run.figures,
    "/run/{run}/causes": run.causes,
    "/run/{run}/heat": run.heat,
    "/run/{run}/trials": run.trials,
    f"{_TRIAL}/events": trial.events,
    f"{_TRIAL}/whole": trial.whole,
    _TRIAL: trial.trial,
    "/policy/{domain}": trial.policy,
    "/beside": beside.beside,
    "/search": search.search,
    "/queue/{run}": labels.queue,
    "/agreement": labels.agreement,
    "/replays": replays.replays,
    "/replays/{file:int}": replays.replay,
    "/replays/{file:int}/{place:int}": replays.conversation,
}
FORMS: dict[str, Callable[[Site, Request, dict[str, str]], Response]] = {
    "/person": labels.set_person,
    "/label": labels.save,
}
MOST_FIELDS = 20


def make_app(site: Site, names: frozenset[str], *, addresses: bool = False) -> App:
    """The application for a site.

    Args:
        site: What it shows.
        names: Host names by which it may be called.
        addresses: Whether any IP address will do, too.
    """
    routes: list[BaseRoute] = [Route(path, _page(site, page)) for path, page in PAGES.items()]
    routes += [Route(path, _form(site, form), methods=["POST"]) for path, form in FORMS.items()]
    routes.append(Route("/static/{name}", _static))
    handlers: dict[Any, Any] = {
        PasshatError: _told(site),
        HTTPException: _missing(site),
        Exception: _broken(site),
    }
    return Guard(Starlette(routes=routes, exception_handlers=handlers), names, addresses=addresses)


def _page(site: Site, page: Page) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        site.check()
        return _unkept(page(site, request))

    return answer


def _form(
    site: Site, form: Callable[[Site, Request, dict[str, str]], Response]
) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        site.check()
        return _unkept(await run_in_threadpool(form, site, request, fields))

    return answer


def _unkept(answer: Response) -> Response:
    """An answer that no cache keeps: the next one may be another."""
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    kept = {"Cache-Control": "max-age=31536000, immutable"}
    return Response(static()[name], media_type=STATIC[name], headers=kept)


# --- what goes wrong ----------------------------------------------------------------------------


def _told(site: Site) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, InfrastructureError):
            status = 503
        else:
            status = 404 if request.method in ("GET", "HEAD") else 400
        return _unkept(html(site, "error", status=status, said=str(error)))

    return answer


def _missing(site: Site) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = f"there is nothing at {request.url.path!r}"
        return _unkept(html(site, "error", status=error.status_code, said=said))

    return answer


def _broken(site: Site) -> Callable[[Request, Exception], Response]:
    def answer(request: Request, error: Exception) -> Response:
        said = f"a bug in passhat: {type(error).__name__}; the terminal says more"
        return _unkept(html(site, "error", status=500, said=said))

    return answer
