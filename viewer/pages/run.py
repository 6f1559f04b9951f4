"""The page of a run: its figures, why trials failed, and every trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...domains.domain import no_such
from ...errors import UsageError
from ...harness.failures import Category
from ...harness.report.charts import curve_chart, survival_chart
from ...harness.report.digest import cost_per_success
from ...harness.survival import REACHED, TARGET
from ..figures import MOST_K
from ..policies import spec_of
from ..queries import Key, Tally, result_of
from . import html, number_in, text_in

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...harness.records import Run
    from ..site import Site

MAP_ROWS: Final = 100
MAP_COLUMNS: Final = 32
"""Of the map of trials, at once."""

PER_PAGE: Final = 100
"""Trials on a page of a list."""

GROWN: Final = 0.02
"""A run that is going on has its figures worked out again when it has grown by so much."""

RESULTS: Final = ("failed", "lost", "passed")


def run_of(site: Site, request: Request) -> Run:
    """The run that a page is about; "last" is the newest.

    Raises:
        UsageError: There is none.
    """
    name = request.path_params["run"]
    return site.store.find_run(name) if name == "last" else site.store.run(name)


def run_page(site: Site, request: Request) -> Response:
    """The page; of a big run or a new one, the parts that take long come after it."""
    run = run_of(site, request)
    ready = site.desk.ready(run)
    at_hand = ready or site.queries.at_hand(run)
    return html(
        site,
        "run",
        run=run,
        figures=_figures(site, run) if ready else None,
        causes=_causes(site, run) if ready else None,
        heat=_heat(site, run, 0, 0) if at_hand else None,
        state=_state(site, run, None) if at_hand else None,
    )


def state(site: Site, request: Request) -> Response:
    """How far the run is; asks the other parts to come again once it has grown enough."""
    run = run_of(site, request)
    seen = number_in(request, "seen", 0)
    found = _state(site, run, seen)
    answer = html(site, "part_state", run=run, state=found)
    if found["seen"] != seen:
        answer.headers["HX-Trigger"] = "trials-changed"
    return answer


def _state(site: Site, run: Run, seen: int | None) -> dict[str, Any]:
    counts = site.queries.counts(run)
    live, follows = run.status == "running", seen is not None
    if seen is None or (not live) or counts.tried >= seen + max(1, GROWN * counts.tried):
        seen = counts.tried
    return {
        "counts": counts,
        "live": live,
        "follows": follows,
        "seen": seen,
        "first": site.queries.first_failing(run) if counts.failed else None,
    }


def figures(site: Site, request: Request) -> Response:
    """What the rows say."""
    run = run_of(site, request)
    return html(site, "part_figures", run=run, figures=_figures(site, run))


def _figures(site: Site, run: Run) -> dict[str, Any]:
    found = site.desk.figures(run)
    bill = site.queries.bill(run, site.queries.counts(run))
    baseline = run.baseline.pass_rate if run.baseline else None
    return {
        "found": found,
        "baseline": baseline,
        "chart": curve_chart(found.curve, baseline) if found.curve else None,
        "most_k": MOST_K,
        "spending": bill.sides,
        "success": cost_per_success(found.measures, bill),
    }


def causes(site: Site, request: Request) -> Response:
    """What the transcripts say."""
    run = run_of(site, request)
    return html(site, "part_causes", run=run, causes=_causes(site, run))


def _causes(site: Site, run: Run) -> dict[str, Any]:
    found = site.desk.causes(run)
    return {
        "scored": site.queries.counts(run).scored,
        "found": found,
        "says": site.policies.says(spec_of(run)),
        "chart": survival_chart(found.survival, run.note) if found.survival else None,
        "note": "" if found.complete else site.index.progress.note,
        "target": TARGET,
        "reached": REACHED,
    }


# --- the map ------------------------------------------------------------------------------------


class MapRow(NamedTuple):
    """A task of the map, and how each of its trials that are shown ended."""

    task: str
    tally: Tally
    cells: list[tuple[int, str]]


def heat(site: Site, request: Request) -> Response:
    """A part of the map of trials."""
    run = run_of(site, request)
    rows, columns = number_in(request, "rows", 0), number_in(request, "columns", 0)
    return html(site, "part_heat", run=run, heat=_heat(site, run, rows, columns))


def _heat(site: Site, run: Run, rows: int, columns: int) -> dict[str, Any]:
    tallies = site.queries.tallies(run)
    ranked = sorted(tallies, key=lambda task: _share(tallies[task]))
    tasks = ranked[rows * MAP_ROWS : (rows + 1) * MAP_ROWS]
    first = columns * MAP_COLUMNS + 1
    numbers = range(first, min(first + MAP_COLUMNS, run.trials + 1))
    results = site.queries.results(run.id, tasks, numbers) if numbers else {}
    return {
        "rows": [
            MapRow(task, tallies[task], [(n, results.get((task, n), "not run")) for n in numbers])
            for task in tasks
        ],
        "numbers": numbers,
        "row": rows,
        "column": columns,
        "row_pages": -(-len(ranked) // MAP_ROWS),
        "column_pages": -(-run.trials // MAP_COLUMNS),
        "never": [t for t, tally in tallies.items() if tally.scored and not tally.passed],
        "always": [t for t, tally in tallies.items() if tally.scored and not tally.failed],
    }


def _share(tally: Tally) -> float:
    """Those passed least come first, untried ones last."""
    return tally.passed / tally.scored if tally.scored else 2


# --- lists of trials ----------------------------------------------------------------------------


class Choice(NamedTuple):
    """Which trials of a run are meant; "" means all.

    Attributes:
        result: "passed", "failed" or "lost".
        category: Of the main cause.
        seen: Of any cause.
        rule: That was broken.
        task: Of which task.
        fault: Whose fault a loss is.
    """

    result: str = ""
    category: str = ""
    seen: str = ""
    rule: str = ""
    task: str = ""
    fault: str = ""

    @property
    def around(self) -> dict[str, str]:
        """What leads from trial to trial within it."""
        around = {"category": self.category, "seen": self.seen, "rule": self.rule}
        return {name: given for name, given in around.items() if given}


def choice_in(request: Request) -> Choice:
    """The choice that the query of a request makes.

    Raises:
        UsageError: There is no such result or category.
    """
    choice = Choice(*(text_in(request, name) for name in Choice._fields))
    if choice.result and choice.result not in RESULTS:
        raise UsageError(f"a trial is passed, failed or lost, not {choice.result!r}")
    for category in filter(None, (choice.category, choice.seen)):
        if category not in {c.value for c in Category}:
            raise UsageError(f"there is no category {category!r}")
    return choice


def chosen(site: Site, run: Run, choice: Choice) -> list[tuple[Key, int | None]] | None:
    """The trials of a category or a rule in plan order, each with the event to read.

    None if the choice names neither: then rows alone say which are meant.
    """
    if choice.rule:
        found = site.desk.findings(run, choice.rule)
        events = {(one.task, one.trial): one.event for one in reversed(found)}
        return [(key, events[key]) for key in _in_order(run, events)]
    category = choice.category or choice.seen
    if not category:
        return None
    main = bool(choice.category)
    found_in = site.index.with_cause(run.id, Category(category), main=main)
    return [(key, found_in[key]) for key in _in_order(run, found_in)]


def _in_order(run: Run, keys: Any) -> list[Key]:
    places = {task: place for place, task in enumerate(run.tasks)}
    return sorted((k for k in keys if k[0] in places), key=lambda key: (places[key[0]], key[1]))


class Entry(NamedTuple):
    """A trial of a list: the event to read first, and its row."""

    task: str
    trial: int
    event: int | None
    row: Any
    result: str
    category: str
    why: str


def trials(site: Site, request: Request) -> Response:
    """A list of trials."""
    run, choice = run_of(site, request), choice_in(request)
    if choice.task and choice.task not in run.tasks:
        raise UsageError(no_such("task", choice.task, run.tasks, f"the page of {run.id}"))
    page = max(1, number_in(request, "page", 1, 1_000_000))
    first = (page - 1) * PER_PAGE
    listed, total = _listed(site, run, choice, first)
    rows = site.queries.rows(run.id, [key for key, _ in listed])
    causes = site.index.main_causes(run.id, rows)
    tallies = site.queries.tallies(run)
    entries = []
    for key, event in listed:
        row = rows.get(key)
        if row is None:  # it is being tried again at this moment
            continue
        main = causes.get(key)
        entries.append(
            Entry(
                *key,
                event=event if event is not None else main.event if main else None,
                row=row,
                result=result_of(row.reward),
                category=main.category.value if main else "",
                why=main.why if main else row.reason,
            )
        )
    return html(
        site,
        "trials",
        run=run,
        choice=choice,
        entries=entries,
        total=total,
        page=page,
        pages=max(1, -(-total // PER_PAGE)),
        says=site.policies.says(spec_of(run)).get(choice.rule, ""),
        reading=site.index.done(run.id) < sum(tallies[t].of(RESULTS) for t in tallies),
    )


def _listed(
    site: Site, run: Run, choice: Choice, first: int
) -> tuple[Sequence[tuple[Key, int | None]], int]:
    found = chosen(site, run, choice)
    if found is None and choice.fault and choice.fault != "agent":
        keys = _in_order(run, site.queries.lost_by(run.id, choice.fault))
        found = [(key, None) for key in keys]
    if found is not None:
        found = [one for one in found if choice.task in ("", one[0][0])]
        return found[first : first + PER_PAGE], len(found)
    results = ("failed",) if choice.fault else (choice.result,) if choice.result else RESULTS
    keys, total = site.queries.page(run, results, choice.task, first, PER_PAGE)
    return [(key, None) for key in keys], total
