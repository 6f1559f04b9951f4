"""Templates into pages: every text that a page is given is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..harness.report.charts import bar
from . import words

STATIC: Final = {
    "viewer.css": "text/css; charset=utf-8",
    "viewer.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files that pages load, and what they are."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page, or a part of one."""
    return _environment().get_template(f"{template}.html.j2").render(values)


def compile_all() -> None:
    """Compile every template, so that the first reader does not wait for it."""
    for name in _environment().list_templates():
        _environment().get_template(name)


@cache
def static() -> Mapping[str, bytes]:
    """The files that pages load."""
    folder = files(__package__).joinpath("static")
    return {name: folder.joinpath(name).read_bytes() for name in STATIC}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(words.FILTERS)
    environment.globals.update(
        bar=bar,
        whole=words.WHOLE,
        run_url=words.run_url,
        trial_url=words.trial_url,
        event_url=words.event_url,
        query=words.query,
        static=_static_url,
    )
    return environment


@cache
def _static_url(name: str) -> str:
    return f"/static/{name}?v={sha256(static()[name]).hexdigest()[:12]}"
