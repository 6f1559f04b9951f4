"""`passhat show`: a trial in full, the trials of a run, or a conversation that others recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .common import (
    JsonOption,
    StoreOption,
    console,
    one_line,
    plain_table,
    print_json,
    safe,
    show_bill,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..grading.verdict import Verdict
    from ..harness.bill import Bill
    from ..harness.records import Run, TrialDetails, TrialRow
    from ..harness.store import Store
    from ..transcript import Event, RowChange

FOLDED: Final = 400
"""Characters of a tool's arguments or result that are shown unless --full."""

LONG: Final = 10_000
"""The same of words: nobody reads more, and megabytes take minutes to wrap."""

MOST_EVIDENCE: Final = 10

_STYLES: Final = {"user": "cyan", "agent": "green", "call": "yellow", "result": "dim"}


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL|RUN|FILE",
            help="RUN/TASK/NUMBER:EVENT, RUN/TASK/NUMBER, RUN/TASK, or RUN; of recordings FILE, "
            "FILE#TRIAL or FILE#TRIAL:EVENT.",
        ),
    ],
    full: Annotated[bool, typer.Option("--full", help="Do not fold long texts.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Of a run: trials that failed.")] = False,
    lost: Annotated[bool, typer.Option("--lost", help="Of a run: trials that were lost.")] = False,
    passed: Annotated[bool, typer.Option("--passed", help="Of a run: trials that passed.")] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Of recordings: replace personal data first.")
    ] = False,
    agent_speaker: Annotated[
        str,
        typer.Option(metavar="NAME", help="Of plain transcripts: the speaker who is the agent."),
    ] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a trial: conversation, tool calls, rows written, verdicts; or list a run's trials.

    For example:
        passhat show last --failed

        passhat show retail-20260316-js68/cancel-power-bank/3

        passhat show last/cancel-power-bank/3 --full

        passhat show chats.jsonl#17 --redact
    """
    from ..harness.bill import bill_of
    from ..harness.store import open_store
    from .conversations import is_recorded, show_recorded

    chosen = {"failed": failed, "lost": lost, "passed": passed}
    if is_recorded(what):
        show_recorded(
            what,
            full=full,
            redacted=redact,
            agent_speaker=agent_speaker,
            wanted={name for name, on in chosen.items() if on},
            as_json=as_json,
        )
        return
    named, task, number, event = _parts(what)
    with open_store(store) as opened:
        run = opened.find_run(named)
        if number is not None and event is not None:
            _show_event(opened.trial(run, task, number), event, as_json=as_json)
            return
        if number is not None:
            bill = bill_of(opened, run, task, number)
            _show_trial(opened.trial(run, task, number), run, bill, full=full, as_json=as_json)
            return
        _list_trials(opened, run, task, [name for name, on in chosen.items() if on], as_json)


def _parts(what: str) -> tuple[str, str, int | None, int | None]:
    """RUN, TASK, NUMBER and EVENT; "" and None where they are left out."""
    from ..errors import UsageError

    run, _, rest = what.partition("/")
    task, slash, last = rest.rpartition("/") if rest.count("/") else (rest, "", "")
    if not slash:
        return run, task, None, None
    number, colon, event = last.partition(":")
    if not number.isdecimal() or "/" in task or (colon and not event.isdecimal()):
        raise UsageError(
            "a trial is RUN/TASK/NUMBER, an event of it RUN/TASK/NUMBER:EVENT, e.g. "
            f"last/cancel-power-bank/3:7, not {what!r}"
        )
    return run, task, int(number), int(event) if colon else None


# --- lists --------------------------------------------------------------------------------------


def _list_trials(opened: Store, run: Run, task: str, results: Sequence[str], as_json: bool) -> None:
    from ..domains.domain import no_such
    from ..errors import UsageError
    from ..harness.bill import bill_of

    if task and task not in run.tasks:
        raise UsageError(no_such("task", task, run.tasks, f"passhat show {run.id}"))
    found = [row for row in opened.trials(run, results) if task in ("", row.task)]
    if as_json:
        print_json([row.to_json() for row in found])
        return
    out = console()
    title = f"{run.id}: agent {safe(run.agent)}, user {safe(run.user)}, seed {run.seed}"
    out.print(f"{title}, {run.status}")
    if run.note:
        out.print(run.note, style="bold")
    out.print(_trial_table(found, out.width))
    counts = opened.counts(run)
    out.print(", ".join(f"{count} {name}" for name, count in counts.items()))
    show_bill(bill_of(opened, run), out)
    if found:
        out.print(f"passhat show {found[0].address}", soft_wrap=True)


def _trial_table(rows: Sequence[TrialRow], width: int) -> Table:
    why = "trial, and why"
    table = plain_table("result", "moves", "calls", "errors", why, wrapped=why)
    room = max(20, width - 32)
    for row in rows:
        lines = [f"{row.task}/{row.trial}"]
        if row.fault is not None:
            lines.append(f"  {one_line(f'{row.fault}: {row.reason}', room)}")
        numbers = map(str, (row.turns, row.tool_calls, row.tool_errors))
        table.add_row(row.result, *numbers, "\n".join(lines))
    return table


# --- one trial ----------------------------------------------------------------------------------


def _show_trial(details: TrialDetails, run: Run, bill: Bill, *, full: bool, as_json: bool) -> None:
    row = details.row
    if as_json:
        about = row.to_json() | {"agent": run.agent, "user": run.user, "basis": details.basis}
        about |= {"spending": bill.to_json()["sides"] if bill else None}
        verdicts = [verdict.model_dump(mode="json") for verdict in details.verdicts]
        print_json(about | {"verdicts": verdicts, "transcript": details.transcript.dump()})
        return
    out = console()
    out.print(f"{row.address}  {row.result.upper()}", style="bold")
    if run.note:
        out.print(run.note, style="bold")
    out.print(f"agent {safe(run.agent)}, user {safe(run.user)}, seed {row.seed}", style="dim")
    out.print(_measures(row), style="dim")
    for line in bill.sides_lines():
        out.print(line, style="dim")
    out.print()
    print_events(details.transcript, out, full=full)
    out.print()
    print_verdicts(details.verdicts, details.basis, out, full=full)
    if row.fault is not None:
        out.print(f"\n{row.result}; whose fault: {row.fault}")
    if not details.verdicts:
        out.print(safe(row.reason))


def _show_event(details: TrialDetails, event: int, *, as_json: bool) -> None:
    from ..errors import UsageError

    address, events = f"{details.row.address}:{event}", details.transcript
    if event >= len(events):
        raise UsageError(
            f"{details.row.address!r} has no event {event}; it has {len(events)}, from 0"
        )
    if as_json:
        print_json({"address": address} | events[event].model_dump(mode="json"))
        return
    out = console()
    out.print(address, style="bold")
    print_events([events[event]], out, full=True)


def _measures(row: TrialRow) -> str:
    parts = [f"{row.turns} moves", f"{row.tool_calls} tool calls ({row.tool_errors} errors)"]
    parts.append(f"{row.seconds:.3f} s")
    if row.input_tokens is not None or row.output_tokens is not None:
        parts.append(f"{row.input_tokens or 0} + {row.output_tokens or 0} tokens")
    if row.cost_dollars is not None:
        parts.append(f"${row.cost_dollars:.4f}")
    if row.attempts > 1:
        parts.append(f"attempt {row.attempts}")
    return ", ".join(parts)


def print_events(events: Sequence[Event], out: Console, *, full: bool = False) -> None:
    """Print events: number, who, and what was said or done; tool results with the rows written."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for event in events:
        who, text = _described(event, full)
        table.add_row(str(event.index), Text(who, _STYLES.get(who, "bold")), Text(safe(text)))
    out.print(table)


def _described(event: Event, full: bool) -> tuple[str, str]:
    match event.kind:
        case "message":
            return event.by, _folded(event.content, full, LONG)
        case "tool_call":
            call = f"{event.name} {_folded(_json(event.arguments), full)}"
            beside = _folded(event.beside, full, LONG)
            return "call", f"{call}\nbeside it: {beside}" if beside else call
        case "tool_result":
            error = f" [{event.error}]" if event.error else ""
            lines = [f"{_folded(event.content, full)}{error}"]
            return "result", "\n".join([*lines, *(f"wrote {_change(row)}" for row in event.rows)])
        case "ending":
            detail = f": {event.detail}" if event.detail else ""
            return "end", f"{event.reason}{detail}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _folded(text: str, full: bool, most: int = FOLDED) -> str:
    if full or len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most} characters more: --full)"


def _change(row: RowChange) -> str:
    where = f"{row.table}[{', '.join(map(str, row.key))}]"
    if row.before is None:
        return f"{where}: new {_json(row.after)}"
    if row.after is None:
        return f"{where}: deleted"
    changed = (
        f"{name} {row.before.get(name)!r} -> {value!r}"
        for name, value in row.after.items()
        if row.before.get(name) != value
    )
    return f"{where}: {', '.join(changed) or 'written, nothing changed'}"


def print_verdicts(
    verdicts: Sequence[Verdict], basis: Sequence[str], out: Console, *, full: bool = False
) -> None:
    """Print what each grader says, why, and which event it blames."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for verdict in verdicts:
        mark = Text("pass", "green") if verdict.passed else Text("FAIL", "red")
        aside = "" if verdict.grader in basis else " (does not decide)"
        table.add_row(mark, verdict.grader + aside, Text(safe(verdict.reason)))
        for line in _evidence(verdict, full):
            table.add_row("", "", Text(safe(line), "dim"))
    out.print(table)


def _evidence(verdict: Verdict, full: bool) -> list[str]:
    """The events that a verdict blames; row differences are in its reason already."""
    lines = [
        f"event {found['event']}: {found.get('rule', '')} "
        f"({found.get('section', '')}, {found.get('severity', '')}): {found.get('reason', '')}"
        for found in verdict.evidence
        if "event" in found
    ]
    if full or len(lines) <= MOST_EVIDENCE:
        return lines
    return [*lines[:MOST_EVIDENCE], f"... {len(lines) - MOST_EVIDENCE} more: --full"]
