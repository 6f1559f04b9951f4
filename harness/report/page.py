"""The page: a digest and the conversations of failing trials, as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, Final, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from ...errors import UsageError
from ...transcript import Event, RowChange
from .. import bill
from ..curve import count
from ..failures import Category, Failure, by_category, by_mast
from ..records import Run, TrialDetails, TrialRow
from ..sources import printable
from ..store import Store
from ..survival import REACHED, TARGET
from .charts import bar, curve_chart, survival_chart
from .digest import Digest, Violated, digest

BUDGET: Final = 2_000_000
"""Bytes of HTML that conversations may take, so that the page stays under 3 MB."""

MOST_LISTED: Final = 1_000
"""Failing trials that are listed; of more, a command lists the rest."""

WHOLE: Final = {"message": 4_000, "arguments": 1_500, "result": 1_500, "value": 200, "reason": 600}
"""Characters that are shown of a text, by what it is; what is beyond is said, not shown."""

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What no page can hold, and what turns the direction of text.

An isolate that is opened and not closed takes the closing of the <bdi> around it for its own, and
then the direction leaks into the page; letters and marks of either direction cannot do that.
"""


class Written(NamedTuple):
    """A report that was written.

    Attributes:
        path: Where it is.
        size: In bytes.
        digest: What it says.
        inside: Failing trials whose conversations are in it.
    """

    path: Path
    size: int
    digest: Digest
    inside: int


def write_report(store: Store, run: Run, path: Path, *, budget: int = BUDGET) -> Written:
    """Write the report of a run; the file is whole or, if anything fails, as it was before.

    Args:
        store: Where the run is kept.
        run: Which.
        path: Where the page goes.
        budget: Bytes that conversations may take.

    Raises:
        UsageError: No trial is scored, or the file cannot be written.
    """
    with _atomically(path) as file:
        found = digest(store, run)
        page, inside = render(store, found, budget)
        content = page.encode("utf-8", "replace")
        file.write(content)
    return Written(path, len(content), found, inside)


@contextmanager
def _atomically(path: Path) -> Iterator[IO[bytes]]:
    """A file beside ``path`` that takes its place once all of it is written."""
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write {str(path)!r}: it is no file")
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror}") from error
    finally:
        beside.unlink(missing_ok=True)


# --- rendering ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A failing trial as the page lists it.

    Attributes:
        anchor: Its id in the page.
        failure: The trial and its causes.
        conversation: As HTML; None if it is not in the page.
    """

    anchor: str
    failure: Failure
    conversation: Markup | None


class Cell(NamedTuple):
    """One trial in the heat map; ``anchor`` leads to it, "" if it is not listed."""

    number: int
    result: str
    anchor: str


class MapRow(NamedTuple):
    """One task in the heat map."""

    task: str
    passed: int
    scored: int
    cells: list[Cell]


def render(store: Store, found: Digest, budget: int = BUDGET) -> tuple[str, int]:
    """The page, and how many conversations are in it."""
    environment = _environment()
    listed = found.failures[:MOST_LISTED]
    anchors = {_key(failure.row): f"t{number}" for number, failure in enumerate(listed)}
    conversations = _conversations(environment, store, found.run, listed, anchors, budget)
    entries = [Entry(anchors[k := _key(f.row)], f, conversations.get(k)) for f in listed]
    style = _resource("report.css")
    baseline = found.run.baseline.pass_rate if found.run.baseline else None
    page = environment.from_string(_resource("report.html.j2")).render(
        found=found,
        run=found.run,
        curve=found.curve,
        note=found.run.note,
        baseline=baseline,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=_hash(style),
        curve_svg=curve_chart(found.curve, baseline),
        survival_svg=survival_chart(found.survival, found.run.note) if found.survival else None,
        categories=by_category(found.failures),
        mast=by_mast(found.failures),
        entries=entries,
        inside=len(conversations),
        anchors=anchors,
        inside_anchors={key: anchors[key] for key in conversations},
        heat=_heat_map(found, anchors),
        target=TARGET,
        reached=REACHED,
    )
    return page, len(conversations)


def _conversations(
    environment: Environment,
    store: Store,
    run: Run,
    listed: Sequence[Failure],
    anchors: Mapping[tuple[str, int], str],
    budget: int,
) -> dict[tuple[str, int], Markup]:
    """Conversations as HTML, as many as the budget allows, every category before any twice."""
    template = environment.from_string(_resource("conversation.html.j2"))
    made: dict[tuple[str, int], Markup] = {}
    for failure in _every_category_first(listed):
        key = _key(failure.row)
        details = store.trial(run, *key)
        html = template.render(
            anchor=anchors[key], failure=failure, details=details, events=_events(failure, details)
        )
        budget -= len(html.encode("utf-8", "replace"))
        if budget < 0:
            break
        made[key] = Markup(html)  # noqa: S704 - rendered with everything escaped
    return made


def _every_category_first(failures: Sequence[Failure]) -> list[Failure]:
    ranks: dict[Category, int] = {}

    def rank(failure: Failure) -> int:
        ranks[failure.main.category] = ranks.get(failure.main.category, 0) + 1
        return ranks[failure.main.category]

    return sorted(failures, key=rank)


def _heat_map(found: Digest, anchors: Mapping[tuple[str, int], str]) -> list[MapRow]:
    """The tasks, those passed least often first, untried ones last; every planned trial of each."""
    tried = {_key(row): row.result for row in found.rows}
    rows = []
    for tally in found.curve.per_task:
        keys = [(tally.task, number) for number in range(1, found.run.trials + 1)]
        cells = [Cell(k[1], tried.get(k, "not run"), anchors.get(k, "")) for k in keys]
        rows.append(MapRow(tally.task, tally.passed, tally.scored, cells))
    return sorted(rows, key=lambda row: row.passed / row.scored if row.scored else 2)


def _key(row: TrialRow) -> tuple[str, int]:
    return row.task, row.trial


# --- events -------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One event as the page shows it.

    Attributes:
        event: Its index.
        who: "user", "agent", "call", "result" or "end".
        name: Of the tool; "" where there is none.
        text: What was said, done or answered.
        whole: Characters of it that are shown.
        beside: Text that stood beside a call.
        error: Why a call was refused; "" if it was not.
        writes: The rows it wrote.
        blamed: What the event is blamed for.
    """

    event: int
    who: str
    name: str
    text: str
    whole: int
    beside: str
    error: str
    writes: list[str]
    blamed: str


def _events(failure: Failure, details: TrialDetails) -> list[Line]:
    blamed: dict[int | None, list[str]] = {}
    for cause in failure.causes:
        blamed.setdefault(cause.event, []).append(cause.category)
    return [_line(event, ", ".join(blamed.get(event.index, ()))) for event in details.transcript]


def _line(event: Event, blamed: str) -> Line:
    match event.kind:
        case "message":
            who = event.by
            return Line(event.index, who, "", event.content, WHOLE["message"], "", "", [], blamed)
        case "tool_call":
            arguments = json.dumps(event.arguments, ensure_ascii=False, default=str)
            whole, beside = WHOLE["arguments"], event.beside
            return Line(event.index, "call", event.name, arguments, whole, beside, "", [], blamed)
        case "tool_result":
            writes, error = [_written(change) for change in event.rows], event.error or ""
            whole = WHOLE["result"]
            return Line(event.index, "result", "", event.content, whole, "", error, writes, blamed)
    said = f"{event.reason}: {event.detail}".rstrip(": ")
    return Line(event.index, "end", "", said, WHOLE["reason"], "", "", [], blamed)


def _written(change: RowChange) -> str:
    row = f"{change.table}[{', '.join(map(str, change.key))}]"
    if change.before is None:
        return f"{row}: new row {_value(change.after)}"
    if change.after is None:
        return f"{row}: row deleted"
    changed = [
        f"{column}: {_value(change.before.get(column))} → {_value(value)}"
        for column, value in change.after.items()
        if change.before.get(column) != value
    ]
    return f"{row}: {'; '.join(changed) or 'unchanged'}"


def _value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= WHOLE["value"] else f"{text[: WHOLE['value']]}…"


# --- the template's words -----------------------------------------------------------------------


def _environment() -> Environment:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        said=said, line=printable, number=number, count=count, percent=percent, dollars=dollars
    )
    environment.globals.update(bar=bar, whole=WHOLE, where=_where)
    return environment


def said(text: object, whole: int | None = None) -> Markup:
    """Somebody else's words: escaped, their direction isolated, shortened with a note.

    >>> said("<b>hi</b>")
    Markup('<bdi>&lt;b&gt;hi&lt;/b&gt;</bdi>')
    """
    words = str(text)
    more = len(words) - whole if whole is not None else 0
    shown = escape(_UNSEEN.sub("\N{REPLACEMENT CHARACTER}", words[:whole] if more > 0 else words))
    cut = Markup('<span class="more"> … {} more characters</span>').format(f"{more:,}")
    return Markup("<bdi>{}</bdi>{}").format(shown, cut if more > 0 else "")


def number(value: float | None, digits: int = 1) -> str:
    """A number, or that it is unknown.

    >>> number(1234.5678), number(None)
    ('1,234.6', 'unknown')
    """
    return "unknown" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent, or that it is unknown."""
    return "unknown" if value is None else f"{value:.1%}"


def dollars(value: float | None) -> str:
    """Money as a bill writes it, or that it is unknown."""
    return "unknown" if value is None else bill.dollars(value)


def _where(place: Violated, anchors: Mapping[tuple[str, int], str]) -> str:
    """The id of the event at which a rule was broken; "" if its trial is not in the page."""
    anchor = anchors.get(_key(place.row))
    return f"{anchor}-e{place.event}" if anchor else ""


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
