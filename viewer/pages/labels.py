"""Labels that people give: on a trial's page, blind in a queue, and how far they agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...errors import Fault, UsageError
from ...harness.agreement import agreements, krippendorff_alpha
from ...harness.labels import LONGEST_NAME, Label
from ..conversation import lines, window
from ..guard import same_token
from ..policies import spec_of
from ..queries import Key
from ..wanted import script_of
from ..words import query, trial_url
from . import PERSON, html, number_in, person_of, text_in
from .run import run_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from ...harness.records import Run
    from ..site import Site

SAYS: Final = {"pass": True, "fail": False, "unsure": None}
AMONG: Final = ("all", "labelled")
MOST_APART: Final = 200
Form = Mapping[str, str]


def _redirect(where: str) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(where, status_code=303)


def _checked(site: Site, form: Form) -> None:
    if not same_token(site.token, form.get("token", "")):
        raise UsageError("this form is of an earlier viewer: load the page again, and send it anew")


def _back(form: Form, default: str) -> str:
    """Where a form came from; only a place of ours."""
    where = form.get("back", "")
    ours = where.startswith("/") and not where.startswith("//") and "\\" not in where
    return where if ours and where.isprintable() and where.isascii() else default


# --- who ----------------------------------------------------------------------------------------


def set_person(site: Site, request: Request, form: Form) -> Response:
    """Remember in the browser who sits at it."""
    _checked(site, form)
    name = " ".join(form.get("person", "").split())
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(f"a name has 1 to {LONGEST_NAME} characters, not {name!r:.40}")
    answer = _redirect(_back(form, "/"))
    answer.set_cookie(
        PERSON, quote(name), max_age=365 * 86_400, httponly=True, samesite="strict", path="/"
    )
    return answer


# --- labelling ----------------------------------------------------------------------------------


def save(site: Site, request: Request, form: Form) -> Response:
    """Keep a label, or take it back.

    Raises:
        UsageError: The form is not complete, nobody says who they are, or the store is read-only.
    """
    _checked(site, form)
    if site.why_no_labels:
        raise UsageError(f"labels cannot be kept: {site.why_no_labels}")
    person = person_of(site, request)
    if not person:
        raise UsageError("say who you are before you label")
    number = form.get("number", "")
    if not (number.isascii() and number.isdecimal()) or len(number) > 9:
        raise UsageError(f"a trial has a number, not {number!r:.40}")
    run = site.store.run(form.get("run", ""))
    row = site.store.trial(run, form.get("task", ""), int(number)).row
    back = _back(form, trial_url(run.id, row.task, row.trial))
    if form.get("says") == "nothing":
        site.labels.take_back(run.id, row.task, row.trial, person)
        return _redirect(back)
    seen = (row.task, row.trial) in site.seen_by(person, run.id)
    blind = form.get("blind") == "yes" and not seen
    site.labels.put(_label(form, run, (row.task, row.trial), person, blind=blind))
    return _redirect(back)


def _label(form: Form, run: Run, key: Key, person: str, *, blind: bool) -> Label:
    says, fault = form.get("says", ""), form.get("fault", "")
    if says not in SAYS:
        raise UsageError(f"a label says pass, fail or unsure, not {says!r:.40}")
    if fault and fault not in {one.value for one in Fault}:
        raise UsageError(f"nobody is called {fault!r:.40}")
    return Label(
        run=run.id,
        task=key[0],
        trial=key[1],
        person=person,
        passed=SAYS[says],
        fault=Fault(fault) if fault and says != "pass" else None,
        note=form.get("note", "").strip(),
        blind=blind,
    )


# --- the queue ----------------------------------------------------------------------------------


def queue(site: Site, request: Request) -> Response:
    """The next trial that this person has not labelled, without grade, verdicts or labels."""
    run, person = run_of(site, request), person_of(site, request)
    seed, among = text_in(request, "seed") or "0", text_in(request, "among") or "all"
    if among not in AMONG:
        raise UsageError(f"trials are taken among all or those labelled, not {among!r:.40}")
    if not person:
        return html(site, "queue_who", run=run, seed=seed, among=among, person="")
    labels = site.labels.of_run(run.id)
    mine = {(label.task, label.trial) for label in labels if label.person == person}
    theirs = {(label.task, label.trial) for label in labels if label.person != person}
    order = site.orders.get(
        (run.id, seed), site.queries.stamp(run.id), lambda: _shuffled(site, run, seed)
    )
    opened = site.seen_by(person, run.id)
    among_these = order if among == "all" else {key: order[key] for key in theirs if key in order}
    done = sum(key in among_these for key in mine)
    passed_over = sum(key in among_these for key in opened - mine)
    left = len(among_these) - done - passed_over
    about: dict[str, Any] = {
        "run": run,
        "seed": seed,
        "among": among,
        "person": person,
        "done": done,
    }
    if not left:
        total = len(among_these)
        return html(site, "queue_done", total=total, opened=passed_over, **about)
    if among == "all":
        task, number = next(key for key in order if key not in mine and key not in opened)
    else:
        task, number = min(among_these.keys() - mine - opened, key=lambda key: order[key])
    transcript = site.store.trial(run, task, number).transcript
    first, last = window(len(transcript), None, number_in(request, "first", 0))
    known = site.policies.task(spec_of(run), task)
    return html(
        site,
        "queue",
        **about,
        left=left,
        row={"run": run.id, "task": task, "trial": number},
        conversation={
            "lines": lines(transcript, None, first, last),
            "first": first,
            "last": last,
            "events": len(transcript),
            "cuts": {},
            "blind": True,
        },
        script=known and script_of(known),
        back=f"/queue/{quote(run.id, safe='')}{query(seed=seed, among=among)}",
        policy=bool(site.policies.sections(spec_of(run))),
    )


def _shuffled(site: Site, run: Run, seed: str) -> dict[Key, int]:
    """The scored trials in an order that the seed decides, and the place of each in it.

    Trials that are scored later come in between, and change nothing else.
    """

    def place(key: Key) -> bytes:
        text = f"{seed}\0{run.id}\0{key[0]}\0{key[1]}"
        return blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()

    return {key: rank for rank, key in enumerate(sorted(site.queries.scored(run), key=place))}


# --- agreement ----------------------------------------------------------------------------------


def agreement(site: Site, request: Request) -> Response:
    """How far people agree, with each other and with the graders."""
    name, blind = text_in(request, "run"), bool(text_in(request, "blind"))
    run = site.store.find_run(name) if name else None
    labels = site.labels.of_run(run.id if run else None)
    kept = [label for label in labels if label.blind or not blind]
    grades = _grades(site, kept)
    return html(
        site,
        "agreement",
        run=run,
        blind=blind,
        labels=len(labels),
        kept=len(kept),
        blind_ones=sum(label.blind for label in labels),
        pairs=agreements(kept, grades),
        alpha=krippendorff_alpha(_units(kept)),
        people=_people(kept),
        most=MOST_APART,
        runs=sorted({label.run for label in labels}),
    )


def _grades(site: Site, labels: Sequence[Label]) -> dict[tuple[str, str, int], bool]:
    wanted: dict[str, set[Key]] = defaultdict(set)
    for label in labels:
        wanted[label.run].add((label.task, label.trial))
    found = {}
    for run, keys in wanted.items():
        for (task, number), row in site.queries.rows(run, sorted(keys)).items():
            if row.reward is not None:
                found[run, task, number] = row.reward == 1.0
    return found


def _units(labels: Sequence[Label]) -> list[list[bool]]:
    units: dict[tuple[str, str, int], list[bool]] = defaultdict(list)
    for label in labels:
        if label.passed is not None:
            units[label.run, label.task, label.trial].append(label.passed)
    return list(units.values())


def _people(labels: Sequence[Label]) -> dict[str, dict[str, int]]:
    """What each person said how often."""
    people: dict[str, dict[str, int]] = {}
    for label in labels:
        said = people.setdefault(label.person, dict.fromkeys((*SAYS, "blind"), 0))
        said[label.says] += 1
        said["blind"] += label.blind
    return dict(sorted(people.items()))
