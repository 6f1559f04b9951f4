"""Full-text search over all conversations."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import PasshatError, UsageError
from ..index import Hit, words_of
from ..search import Words, expression, snippets
from . import html, number_in, text_in

if TYPE_CHECKING:
    from markupsafe import Markup
    from starlette.requests import Request
    from starlette.responses import Response

    from ..site import Site

PER_PAGE = 20


class Answer(NamedTuple):
    """An event that was found, and the part of it that answers the query."""

    hit: Hit
    column: str
    snippet: Markup
    result: str


def search(site: Site, request: Request) -> Response:
    """What a query finds, the newest first."""
    query, run = text_in(request, "q"), text_in(request, "run")
    before = number_in(request, "before", 0, 1 << 62) or None
    answers: list[Answer] = []
    more, problem = None, ""
    if query:
        try:
            wanted = expression(query)
            hits = site.index.search(wanted, run=run or None, before=before, most=PER_PAGE + 1)
            more = hits[PER_PAGE - 1].row if len(hits) > PER_PAGE else None
            answers = _answers(site, wanted, hits[:PER_PAGE])
        except UsageError as error:
            problem = str(error)
    return html(
        site,
        "search",
        q=query,
        run=run,
        answers=answers,
        more=more,
        before=before,
        problem=problem,
        progress=site.index.progress,
    )


def _answers(site: Site, wanted: str, hits: list[Hit]) -> list[Answer]:
    transcripts: dict[tuple[str, str, int], tuple[str, list[dict[str, Any]]]] = {}
    found: list[tuple[Hit, str, Words]] = []
    for hit in hits:
        key = (hit.run, hit.task, hit.trial)
        if key not in transcripts:
            transcripts[key] = _read(site, *key)
        result, events = transcripts[key]
        words = words_of(events[hit.event]) if hit.event < len(events) else None
        if words is not None:
            found.append((hit, result, words))
    marked = snippets(wanted, [words for _, _, words in found])
    return [
        Answer(hit, words.column, snippet, result)
        for (hit, result, words), snippet in zip(found, marked, strict=True)
    ]


def _read(site: Site, run: str, task: str, trial: int) -> tuple[str, list[dict[str, Any]]]:
    try:
        details = site.store.trial(site.store.run(run), task, trial)
        return details.row.result, json.loads(zlib.decompress(details.packed))
    except (PasshatError, ValueError, zlib.error):  # it is being tried again at this moment
        return "", []
