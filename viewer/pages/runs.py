"""The list of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..queries import PER_PAGE, Stamp, Wanted
from . import html, number_in, text_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...harness.records import Run
    from ..site import Site

STATUSES: Final = ("running", "finished", "interrupted")


def runs(site: Site, request: Request) -> Response:
    """A page of runs, newest first, and the fields to choose by."""
    wanted = Wanted(*(text_in(request, name) for name in Wanted._fields))
    page = max(1, number_in(request, "page", 1, 1_000_000))
    found, more = site.queries.runs(wanted, page)
    stamps = site.queries.stamps([run.id for run in found])
    entries = [entry(site, run, stamps[run.id], at_once=site.queries.at_hand(run)) for run in found]
    return html(
        site,
        "runs",
        entries=entries,
        wanted=wanted,
        page=page,
        more=more,
        per_page=PER_PAGE,
        domains=site.queries.choices("domain"),
        agents=site.queries.choices("agent"),
        statuses=STATUSES,
    )


def one_entry(site: Site, request: Request) -> Response:
    """A run of the list whose trials took a moment to count."""
    run = site.store.run(request.path_params["run"])
    made = entry(site, run, site.queries.stamp(run.id), at_once=True)
    return html(site, "part_run_entry", entry=made)


def entry(site: Site, run: Run, stamp: Stamp, *, at_once: bool) -> dict[str, Any]:
    """A run as the list shows it; its counts are None if they are to come later."""
    counts = site.queries.counts(run, stamp) if at_once else None
    bill = site.queries.bill(run, counts) if counts else None
    return {"run": run, "counts": counts, "bill": bill}
