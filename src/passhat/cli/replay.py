"""`passhat replay`: recorded conversations, an agent asked at every cut, and what it does there."""

from __future__ import annotations

import time
from pathlib import Path
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
from .progress import LINE_SECONDS
from .run import INTERRUPTED, TOO_MUCH_LOST, QuietOption, with_options
from .stdout import clean_stdout

if TYPE_CHECKING:
    from rich.console import Console

    from ..envs.judgement import Cut
    from ..harness.replay import Replayed
    from ..harness.replay_report import ReplayReport, Tally

MOST_SHOWN: Final = 15  # rows of a table, before "and so many more"
MOST_DEPARTURES: Final = 5
CUTS_IN_BATCHES: Final = 5_000
"""At once: each holds its conversation in memory, some 50 kB, until its batch has ended."""


def replay(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file or folder of conversations, FILE#TRIAL, RUN, RUN/TASK or RUN/TASK/NUMBER.",
        ),
    ],
    agent: Annotated[str, typer.Option(metavar="SPEC", help="passhat agents lists them.")],
    cut: Annotated[
        str, typer.Option(metavar="all|last|N", help="Before which moves the agent is asked.")
    ] = "all",
    domain: Annotated[
        str | None,
        typer.Option(
            help="Whose tools carry the calls out: retail, module:OBJECT, airline@tau-bench. "
            "Without one, results come from the recording, unless a pack fits."
        ),
    ] = None,
    packs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of packs, a pack, or a clone of a benchmark."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Conversations at most; by default all.")
    ] = None,
    play_on: Annotated[
        bool,
        typer.Option("--continue", help="Let the agent play on from each cut, and grade the end."),
    ] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace personal data in all that is shown.")
    ] = False,
    agent_speaker: Annotated[
        str, typer.Option(metavar="NAME", help="Of plain transcripts: who is the agent.")
    ] = "",
    seed: Annotated[
        int, typer.Option(min=0, help="For the agent, where the recording has none.")
    ] = 0,
    turn_timeout: Annotated[
        float, typer.Option(help="Seconds an agent may take for one move.")
    ] = 300.0,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            "-c",
            min=1,
            help="Conversations at once. [default: 50 where a model is asked, else 1]",
        ),
    ] = None,
    agent_option: Annotated[
        list[str] | None,
        typer.Option("--agent-option", "-A", metavar="KEY=VALUE", help="Of the agent's model."),
    ] = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Ask Claude at all cuts at once, in Message Batches: half the price, and time.",
        ),
    ] = False,
    show_cuts: Annotated[
        bool, typer.Option("--cuts", help="List every cut at which the agent does not agree.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Give an agent the beginning of recorded conversations, and judge what it does next.

    At each cut it has seen what the recorded agent had seen. Its move is carried out on a fork of
    the rebuilt database and compared; the recorded move is what happens.

    For example:
        passhat replay last --agent rule-based

        passhat replay chats.jsonl --domain retail --agent python:my_agent:make

        passhat replay gpt-4o-airline.json --packs ~/tau-bench --agent rule-based --cut last

        passhat replay last/cancel-power-bank/3 --agent reference --continue --json

        passhat replay last --agent claude:claude-haiku-5-5 --batch
    """
    from ..errors import UsageError
    from ..harness.bill import Bill
    from ..harness.replay import Asking, parse_cuts, replay_all
    from ..harness.replay_report import ReplayReport
    from ..harness.replay_sources import Where, open_source
    from ..harness.work import CONCURRENCY_OF_MODELS

    cuts = parse_cuts(cut)
    where = Where(store, domain, packs, agent_speaker, limit, seed, redact)
    watching = _Watching(quiet=quiet or as_json)
    interrupted = False
    agent = with_options(agent, agent_option)
    spec = with_options(agent, [f"batch={_ledger(agent, store)}"]) if batch else agent
    with open_source(source, spec, where) as opened:
        asking = Asking(opened.kind, cuts, play_on, turn_timeout, ahead=batch)
        most = CUTS_IN_BATCHES if batch else CONCURRENCY_OF_MODELS if opened.kind.use else 1
        try:
            with clean_stdout():
                replayed = replay_all(
                    opened.sessions, asking, concurrency=concurrency or most, watch=watching.done
                )
        except KeyboardInterrupt:
            if not watching.replayed:
                raise
            replayed, interrupted = watching.replayed, True
    report = ReplayReport(
        source=opened.name,
        agent=agent,
        synthetic=opened.kind.synthetic,
        cut=cuts,
        world=opened.world,
        conversations=replayed,
        notes=opened.notes,
    )
    if not report.cuts and not any(one.lost for one in replayed):
        raise UsageError(
            f"{opened.name!r} has no move of an agent at cut {cut}; nothing was judged"
        )
    bill = Bill(asking.account.spent, {"agent": agent})
    if as_json:
        print_json(report.to_json() | ({"spending": bill.to_json()} if bill else {}))
    else:
        _show(report, show_cuts)
        show_bill(bill, console())
    if interrupted:
        line = f"interrupted; this is what the {len(replayed)} conversations replayed so far show"
        typer.echo(f"passhat: {line}", err=True)
        raise typer.Exit(INTERRUPTED)
    if report.too_much_lost:
        typer.echo("passhat: too many conversations or cuts were lost to rely on this", err=True)
        raise typer.Exit(TOO_MUCH_LOST)


def _ledger(agent: str, store: str | None) -> Path:
    """Where batches are noted, so that the same command finds them again: beside the store."""
    from ..errors import UsageError
    from ..harness.store import where_store
    from ..models.registry import is_model

    if not is_model(agent):
        raise UsageError(f"--batch is for agents that ask Claude, e.g. claude:MODEL, not {agent!r}")
    text = where_store(store)
    place = Path("passhat") if "://" in text else Path(text)
    return place.with_suffix(".batches.jsonl")


class _Watching:
    """Keeps what was replayed, in case of an interruption, and says now and then how much it is."""

    def __init__(self, *, quiet: bool) -> None:
        self.replayed: list[Replayed] = []
        self._quiet = quiet
        self._spoke = time.monotonic()

    def done(self, one: Replayed) -> None:
        """Take one that is done."""
        self.replayed.append(one)
        if not self._quiet and time.monotonic() - self._spoke > LINE_SECONDS:
            self._spoke = time.monotonic()
            typer.echo(f"passhat: {len(self.replayed):,} conversations replayed", err=True)


def _show(report: ReplayReport, show_cuts: bool) -> None:
    out = console()
    _show_head(report, out)
    _show_checks(report, out)
    _show_survival(report, out)
    _show_tools(report, out)
    _show_rules(report, out)
    _show_departures(report, out)
    _show_continued(report, out)
    if show_cuts:
        _show_cuts(report, out)


def _show_head(report: ReplayReport, out: Console) -> None:
    counts, about = report.counts, report.conversation_counts
    where = f"calls carried out in {report.world}" if report.world else "calls answered from tape"
    synthetic = " (SYNTHETIC)" if report.synthetic else ""
    out.print(safe(f"{report.source}: agent {report.agent}{synthetic}, {where}"), soft_wrap=True)
    for note in report.notes:
        out.print(safe(f"note: {note}"), style="dim", soft_wrap=True)
    out.print(
        f"{about['read']} conversations, {about['lost']} lost, {about['drifted']} drifted; "
        f"{counts['planned']} cuts"
    )
    if report.world:
        out.print(f"recorded results: {_listed(report.outputs)}")
    parts = {name.replace("_", " "): n for name, n in counts.items() if name != "planned" and n}
    out.print(f"moves: {_listed(parts) or 'none'}")
    out.print(f"agrees at {_tally(report.agreement)} scored cuts", style="bold")
    kinds = ", ".join(f"{t.equal:,} of {t.total:,} {k}s" for k, t in report.by_kind().items())
    if kinds:
        out.print(f"by kind of the recorded move: {kinds}")
    if counts["off_tape"]:
        alike = report.off_tape["same_kind"].equal, report.off_tape["same_tools"].equal
        out.print(
            f"off tape: {counts['off_tape']:,} moves, not scored; {alike[0]:,} of the recorded "
            f"kind, {alike[1]:,} with the recorded tools"
        )
    if report.answers_dropped:
        out.print(
            "This agent cannot be given a past (it has no observe), so it was asked at every move "
            f"and its answers were dropped. While it had not departed: {_tally(report.on_path)}."
        )
    for reason, count in list(report.lost_because.items())[:MOST_SHOWN]:
        out.print(safe(f"  not scored: {count} x {reason}"))


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _tally(tally: Tally) -> str:
    share = f" ({tally.share:.3f})" if tally.share is not None else ""
    return f"{tally.equal:,} of {tally.total:,}{share}"


_CHECKED: Final = {
    "same_kind": "kind of move",
    "same_tools": "tool",
    "same_arguments": "arguments",
    "same_results": "result",
    "same_rows": "rows written",
    "asks_same": "asks for a yes, or not",
    "same_facts": "ids and amounts told",
    "same_label": "reply label",
}


def _show_checks(report: ReplayReport, out: Console) -> None:
    table = plain_table("check", "equal", "of")
    for check, tally in report.checks.items():
        if tally.total:
            table.add_row(_CHECKED[check], f"{tally.equal:,}", f"{tally.total:,}")
    out.print()
    out.print(table)


def _show_survival(report: ReplayReport, out: Console) -> None:
    steps = report.survival()
    if not steps:
        return
    agreed = report.by_position()
    table = plain_table("cut", "agree", "of", "still with the recording", "in it")
    for step in steps[:MOST_SHOWN]:
        tally = agreed[step.position]
        bar = "█" * round(step.survival * 20)
        table.add_row(
            str(step.position),
            f"{tally.equal:,}",
            f"{tally.total:,}",
            f"{step.survival:.3f} {bar}",
            f"{step.at_risk:,}",
        )
    out.print()
    out.print(table)
    _more(len(steps), "positions", out)


def _show_tools(report: ReplayReport, out: Console) -> None:
    rows = report.by_tool()
    if not rows:
        return
    taped = any(row.off_tape for row in rows)
    names = ("cuts", "same", "outcome", "other", *(["off tape"] if taped else []))
    table = plain_table("recorded tool", *names, "instead")
    longest = max(len(row.tool) for row in rows)
    room = max(12, out.width - longest - sum(len(name) + 2 for name in names) - 3)
    for row in rows[:MOST_SHOWN]:
        instead = ", ".join(f"{n} {what}" for what, n in row.instead.items())
        numbers = [row.cuts, row.same, row.same_outcome, row.different]
        numbers += [row.off_tape] if taped else []
        table.add_row(safe(row.tool), *(f"{n:,}" for n in numbers), one_line(instead, room))
    out.print()
    out.print(table)
    _more(len(rows), "tools", out)


def _show_rules(report: ReplayReport, out: Console) -> None:
    rows = report.by_rule()
    if not rows:
        return
    table = plain_table("rule", "severity", "this agent", "recorded")
    for row in rows[:MOST_SHOWN]:
        table.add_row(row.rule, row.severity, f"{row.agent:,}", f"{row.recorded:,}")
    out.print()
    out.print(table)
    _more(len(rows), "rules", out)


def _show_departures(report: ReplayReport, out: Console) -> None:
    departures = report.departures()
    if not departures:
        return
    found = report.to_json()["departures"]
    where = ", ".join(f"{n} at {position}" for position, n in found["by_position"].items())
    out.print(
        f"\n{len(departures)} recorded runs fail where others of their task pass. They depart from "
        f"those at move {found['median_position']:g} (median): {where}"
    )
    for departure in departures[:MOST_DEPARTURES]:
        instead = " | ".join(what or "the end" for what in departure.instead)
        out.print(safe(f"  {departure.event}"), soft_wrap=True)
        out.print(f"    {one_line(departure.did or 'the end', out.width - 4)}", style="dim")
        out.print(f"    instead of {one_line(instead, out.width - 15)}", style="dim")
    if len(departures) > MOST_DEPARTURES:
        out.print(f"and {len(departures) - MOST_DEPARTURES} more; --json has all", style="dim")


def _show_continued(report: ReplayReport, out: Console) -> None:
    ends = report.continued
    if ends["played"]:
        out.print(
            f"\nplayed on {ends['played']:,} times: {ends['passed']:,} passed, "
            f"{ends['failed']:,} failed, {ends['lost']:,} lost"
        )
    for reason, count in ends["not_continued"].items():
        out.print(safe(f"not played on: {count} x {reason}"), soft_wrap=True)


def _show_cuts(report: ReplayReport, out: Console) -> None:
    out.print()
    for one in report.conversations:
        for cut in one.cuts:
            if not cut.agrees:
                _show_cut(one, cut, out)


def _show_cut(one: Replayed, cut: Cut, out: Console) -> None:
    recorded = ", ".join(cut.tools) or cut.kind.value
    out.print(safe(f"{one.address}:{cut.event}  {recorded}"), style="bold", soft_wrap=True)
    if cut.judgement is None:
        out.print(safe(f"  {cut.state.value}: {one_line(cut.reason, 200)}"), soft_wrap=True)
        return
    did = one_line(_did(cut.judgement.move), 200)
    out.print(safe(f"  {cut.judgement.agreement.value}: {did}"), soft_wrap=True)
    for difference in cut.judgement.row_differences[:3]:
        out.print(f"  {one_line(difference, 200)}", style="dim", soft_wrap=True)
    for finding in cut.judgement.findings:
        out.print(f"  {finding.rule}: {one_line(finding.reason, 200)}", soft_wrap=True)


def _did(move: Any) -> str:
    calls = getattr(move, "calls", None)
    if calls is not None:
        return "; ".join(f"{call.name} {call.arguments}" for call in calls)
    return str(getattr(move, "content", None) or f"stop {move.reason}")


def _more(count: int, what: str, out: Console) -> None:
    if count > MOST_SHOWN:
        out.print(f"and {count - MOST_SHOWN} more {what}; --json has all", style="dim")
