"""Words for the pages: other people's text made harmless, values made readable, addresses."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup

from ..harness.curve import count
from ..harness.report.page import dollars, number, percent, said
from ..harness.sources import printable

WHOLE: Final = {"message": 6_000, "value": 3_000, "reason": 800, "name": 120, "line": 160}
"""Characters that are shown of a text, by what it is; a link shows the rest."""

_MOST_PARSED: Final = 200_000  # characters of a tool's answer that are laid out as JSON

__all__ = [
    "FILTERS",
    "WHOLE",
    "count",
    "dollars",
    "event_url",
    "laid_out",
    "number",
    "one_line",
    "percent",
    "printable",
    "query",
    "run_url",
    "said",
    "trial_url",
    "value",
]


def run_url(run: str, part: str = "", **values: object) -> str:
    """The address of a run's page, or of a part of it."""
    return f"/run/{quote(run, safe='')}{'/' if part else ''}{part}{query(**values)}"


def trial_url(run: str, task: str, number: int, **values: object) -> str:
    """The address of a trial's page.

    >>> trial_url("retail-1", "a/b?", 3, at=7)
    '/trial/retail-1/a%2Fb%3F/3?at=7'
    """
    return f"/trial/{quote(run, safe='')}/{quote(task, safe='')}/{number}{query(**values)}"


def event_url(run: str, task: str, number: int, event: int, **values: object) -> str:
    """The address of an event: the page that holds it, and its place there."""
    return f"{trial_url(run, task, number, at=event, **values)}#e{event}"


def query(**values: object) -> str:
    """The query part of an address; what is empty is left out."""
    given = {name: value for name, value in values.items() if value not in ("", None)}
    return f"?{urlencode(given)}" if given else ""


def value(found: object, most: int = 200) -> str:
    """A value of a row as people read it, on one line.

    >>> value("W1"), value(""), value(None), value([1.5])
    ('W1', '(empty)', '(none)', '[1.5]')
    """
    if found is None or found == "":
        return "(none)" if found is None else "(empty)"
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most]}…"


def laid_out(found: object) -> str:
    """A value as JSON over several lines; text that is JSON is laid out as well."""
    if isinstance(found, str):
        if found[:1] not in ("{", "[") or len(found) > _MOST_PARSED:
            return found
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return str(found)
    try:
        return json.dumps(found, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return str(found)


def one_line(arguments: dict[str, Any], most: int = 140) -> str:
    """A call's arguments, as far as they fit on a line.

    >>> one_line({"order_id": "#W1", "reason": "no longer needed"})
    'order_id #W1, reason no longer needed'
    """
    parts, room = [], most
    for name, given in arguments.items():
        part = f"{name} {value(given, 60)}"
        parts.append(part)
        room -= len(part)
        if room < 0:
            break
    text = " ".join(", ".join(parts).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def when(iso: str) -> Markup:
    """A moment, to the minute."""
    shown = iso[:16].replace("T", " ")
    return Markup('<time datetime="{}">{}</time>').format(iso, shown)


FILTERS: Final = {
    "said": said,
    "line": printable,
    "number": number,
    "count": count,
    "percent": percent,
    "dollars": dollars,
    "value": value,
    "when": when,
}
