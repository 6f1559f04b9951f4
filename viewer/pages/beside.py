"""Two trials side by side, aligned where they part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import UsageError
from ...harness.failures import causes_of
from ..alignment import MOVES, WORDS, parting
from ..conversation import WINDOW, blames, lines
from . import html, person_of, text_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...harness.records import Run, TrialDetails
    from ..site import Site

OTHER_RUNS: Final = 30
"""Runs that are looked through for trials of the same task."""

BEFORE: Final = 3
"""Events that both have which are shown before they part."""


def trial_at(site: Site, address: str) -> tuple[Run, TrialDetails]:
    """The trial of an address RUN/TASK/NUMBER.

    Raises:
        UsageError: It is none, or there is no such trial.
    """
    run, _, rest = address.partition("/")
    task, _, number = rest.rpartition("/")
    if not (number.isascii() and number.isdecimal()) or len(number) > 9 or not task:
        raise UsageError(f"a trial is RUN/TASK/NUMBER, not {address!r}")
    found = site.store.find_run(run)
    return found, site.store.trial(found, task, int(number))


def beside(site: Site, request: Request) -> Response:
    """The two conversations; or, while there is only one, what can be put beside it."""
    a, b = text_in(request, "a"), text_in(request, "b")
    by = text_in(request, "by") or MOVES
    if by not in (WORDS, MOVES):
        raise UsageError(f"conversations are compared by words or by moves, not by {by!r}")
    if not a:
        raise UsageError("name a trial: /beside?a=RUN/TASK/NUMBER")
    run, details = trial_at(site, a)
    if not b:
        return html(
            site, "beside_choose", run=run, row=details.row, others=_others(site, run, details)
        )
    other_run, other = trial_at(site, b)
    for one, shown in ((run, details.row), (other_run, other.row)):
        site.opened.add((person_of(site, request), one.id, shown.task, shown.trial))
    found = parting(details.transcript, other.transcript, by)
    alike = len(details.transcript) if found is None else found.a
    return html(
        site,
        "beside",
        sides=[
            _side(run, details, alike),
            _side(other_run, other, alike if found is None else found.b),
        ],
        a=a,
        b=b,
        by=by,
        found=found,
        shared=max(0, alike - BEFORE),
        alike=alike,
        same_task=details.row.task == other.row.task,
        before=lines(details.transcript, None, 0, max(0, alike - BEFORE))[:WINDOW],
    )


def _side(run: Run, details: TrialDetails, parts: int) -> dict[str, Any]:
    """One of the two, from shortly before they part on."""
    failed = details.row.result == "failed"
    transcript = details.transcript
    causes = causes_of(details.verdicts, details.basis, transcript) if failed else ()
    first = max(0, parts - BEFORE)
    shown = lines(transcript, blames(details.verdicts, causes), first, first + WINDOW)
    return {
        "run": run,
        "row": details.row,
        "causes": causes,
        "lines": shown,
        "parts": parts,
        "rest": max(0, len(transcript) - first - WINDOW),
    }


def _others(site: Site, run: Run, details: TrialDetails) -> list[tuple[Run, list[tuple[int, str]]]]:
    """Trials of the same task: in this run, and in the newest runs of its domain."""
    task = details.row.task
    runs = [one for one in site.queries.runs_with(task, run.domain, OTHER_RUNS) if one.id != run.id]
    found = []
    for one in (run, *runs):
        keys, _ = site.queries.page(one, ("passed", "failed"), task, 0, 200)
        results = site.queries.results(one.id, [task], range(1, one.trials + 1))
        trials = [
            (number, results[task, number])
            for _, number in keys
            if (one.id, number) != (run.id, details.row.trial)
        ]
        if trials:
            found.append((one, trials))
    return found
