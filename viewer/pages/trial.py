"""The page of a trial: the conversation, and beside it what the graders say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UsageError
from ...grading.grading import POLICY
from ...grading.outcome import OutcomeGrader
from ...harness.failures import Cause, causes_of
from ...transcript import ToolResultEvent, Transcript
from ..conversation import blames, lines, text_of, window
from ..policies import Section, as_html, spec_of
from ..queries import Key
from ..replays import event_of
from ..wanted import expected_of, script_of
from . import html, number_in, person_of, text_in
from .run import Choice, choice_in, chosen, run_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...grading.verdict import Verdict
    from ...harness.records import Run, TrialDetails
    from ..site import Site


def details_of(site: Site, request: Request) -> tuple[Run, TrialDetails]:
    """The trial that a page is about.

    Raises:
        UsageError: There is none.
    """
    run, parameters = run_of(site, request), request.path_params
    return run, site.store.trial(run, parameters["task"], parameters["number"])


def trial(site: Site, request: Request) -> Response:
    """The page; the conversation around an event, if the query names one."""
    run, details = details_of(site, request)
    row, transcript = details.row, details.transcript
    causes = _causes(details)
    person, choice = person_of(site, request), choice_in(request)
    site.opened.add((person, run.id, row.task, row.trial))
    at = number_in(request, "at", 0) if text_in(request, "at") else None
    begin = number_in(request, "first", 0) if text_in(request, "first") else None
    first, last = window(len(transcript), at, begin)
    before, after = _neighbours(site, run, choice, (row.task, row.trial))
    task = site.policies.task(spec_of(run), row.task)
    return html(
        site,
        "trial",
        run=run,
        row=row,
        details=details,
        causes=causes,
        conversation={
            "lines": lines(transcript, blames(details.verdicts, causes), first, last),
            "first": first,
            "last": last,
            "events": len(transcript),
            "cuts": _cuts(site, run, details),
            "blind": False,
        },
        before=before,
        after=after,
        choice=choice,
        verdicts=_verdicts(details),
        cited=_cited(site, run, details.verdicts),
        task=task,
        script=task and script_of(task),
        expected=task and expected_of(task),
        ending=transcript.ending,
        spending=site.store.spending(run, row.task, row.trial),
        labels=site.labels.of_trial(run.id, row.task, row.trial),
        person=person,
        others=[n for n in range(1, run.trials + 1) if n != row.trial],
        replayed=site.replays.of(_addresses(run, row.task, row.trial)),
    )


def _causes(details: TrialDetails) -> Sequence[Cause]:
    if details.row.result != "failed":
        return ()
    return causes_of(details.verdicts, details.basis, details.transcript)


def events(site: Site, request: Request) -> Response:
    """The next events of a conversation, as a part of its page."""
    run, details = details_of(site, request)
    blind = bool(text_in(request, "blind"))
    first, last = window(len(details.transcript), None, number_in(request, "first", 0))
    blamed = {} if blind else blames(details.verdicts, _causes(details))
    return html(
        site,
        "part_events",
        run=run,
        row=details.row,
        conversation={
            "lines": lines(details.transcript, blamed, first, last),
            "first": first,
            "last": last,
            "events": len(details.transcript),
            "cuts": {} if blind else _cuts(site, run, details),
            "blind": blind,
        },
    )


def whole(site: Site, request: Request) -> Response:
    """The whole of a text of which a page shows the beginning."""
    _, details = details_of(site, request)
    part, event = text_in(request, "part") or "text", number_in(request, "event", 0)
    text = text_of(details.transcript, event, part)
    return html(site, "part_text", text=text)


def _neighbours(site: Site, run: Run, choice: Choice, here: Key) -> tuple[Key | None, Key | None]:
    """The failing trials before and after this one; within the category or rule one came from."""
    found = chosen(site, run, choice)
    if found is None:
        return site.queries.failing(run, *here, back=True), site.queries.failing(run, *here)
    places = {task: place for place, task in enumerate(run.tasks)}
    keys = [key for key, _ in found]
    before = [k for k in keys if (places[k[0]], k[1]) < (places[here[0]], here[1])]
    after = [k for k in keys if (places[k[0]], k[1]) > (places[here[0]], here[1])]
    return (before[-1] if before else None), (after[0] if after else None)


def _addresses(run: Run, task: str, number: int) -> list[str]:
    return [f"{name}/{task}/{number}" for name in (run.id, run.name) if name]


def _cuts(site: Site, run: Run, details: TrialDetails) -> dict[int, list[tuple[Any, Any]]]:
    """The cuts of replays that are shown beside, by the event before which each stands."""
    found: dict[int, list[tuple[Any, Any]]] = {}
    for place in site.replays.of(_addresses(run, details.row.task, details.row.trial)):
        _, conversation = site.replays.at(*place)
        for cut in conversation["cuts"]:
            event = event_of(cut)
            if event is not None:
                found.setdefault(event, []).append((place, cut))
    return found


# --- what the graders say -----------------------------------------------------------------------


class Difference(NamedTuple):
    """A row that is not as it should be; the event that wrote it, if one did."""

    row: str
    expected: Any
    found: Any
    event: int | None


class Finding(NamedTuple):
    """A rule that was broken at an event."""

    rule: str
    severity: str
    section: str
    event: int
    reason: str


class Shown(NamedTuple):
    """A verdict with its evidence, sorted by kind."""

    verdict: Verdict
    counts: bool
    differences: list[Difference]
    findings: list[Finding]
    missing: list[str]


def _verdicts(details: TrialDetails) -> list[Shown]:
    """The verdicts: failing ones first, and those that decide before others."""
    shown = [
        Shown(
            verdict,
            verdict.grader in details.basis,
            _differences(verdict, details.transcript),
            _findings(verdict),
            [str(one["missing"]) for one in verdict.evidence if "missing" in one],
        )
        for verdict in details.verdicts
    ]
    return sorted(shown, key=lambda one: (one.verdict.passed, not one.counts))


def _differences(verdict: Verdict, transcript: Transcript) -> list[Difference]:
    if verdict.grader != OutcomeGrader.name:
        return []
    found = []
    for one in verdict.evidence:
        if "table" in one:
            table, key, column = one["table"], str(one.get("key", "")), one.get("column")
            row = f"{table}[{key}]" + (f".{column}" if column is not None else "")
            event = _writer(transcript, str(table), key)
            found.append(Difference(row, one.get("expected"), one.get("found"), event))
    return found


def _writer(transcript: Transcript, table: str, key: str) -> int | None:
    """The last event that wrote a row that a difference names; its key may be a part of it."""
    wanted = set(key.split(", "))
    for event in reversed(transcript):
        for change in event.rows if isinstance(event, ToolResultEvent) else ():
            row = change.after or change.before or {}
            if change.table == table and wanted <= {*map(str, change.key), *map(str, row.values())}:
                return event.index
    return None


def _findings(verdict: Verdict) -> list[Finding]:
    if verdict.grader != POLICY:
        return []
    return [
        Finding(
            str(one["rule"]),
            str(one.get("severity", "")),
            str(one.get("section", "")),
            int(one.get("event", 0)),
            str(one.get("reason", "")),
        )
        for one in verdict.evidence
        if "rule" in one
    ]


class Cited(NamedTuple):
    """A section of the policy that a verdict cites."""

    name: str
    section: Section
    text: Any


def _cited(site: Site, run: Run, verdicts: Sequence[Verdict]) -> Mapping[str, Cited]:
    found = {}
    for verdict in verdicts:
        for one in _findings(verdict):
            section = site.policies.section(spec_of(run), one.section)
            if section is not None:
                found[one.section] = Cited(one.section, section, as_html(section.text))
    return found


def policy(site: Site, request: Request) -> Response:
    """A policy document.

    Raises:
        UsageError: It is not known here.
    """
    domain = request.path_params["domain"]
    found = site.policies.sections(domain)
    if not found:
        raise UsageError(f"the policy of {domain!r} is not known here")
    return html(site, "policy", domain=domain, sections=[(one, as_html(one.text)) for one in found])
