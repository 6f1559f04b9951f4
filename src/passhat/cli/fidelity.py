"""`passhat fidelity`: does a simulated customer do what recorded ones did?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from .common import JsonOption, StoreOption, console, one_line, plain_table, print_json, safe

if TYPE_CHECKING:
    from rich.console import Console

    from ..harness.fidelity import Cut, FidelityReport, Share

MOST_SHOWN: Final = 5  # reasons, and other acts


def fidelity(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...", help="Files or folders of conversations, or runs of the store."
        ),
    ],
    user: Annotated[
        str, typer.Option(metavar="SPEC", help="The simulator; passhat users lists them.")
    ] = "agenda",
    domain: Annotated[
        str | None,
        typer.Option(help="Whose tasks the conversations in files are of, if they are ours."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Conversations at most; by default all.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="For the simulator, where the recording has none.")
    ] = 0,
    concurrency: Annotated[
        int, typer.Option("--concurrency", "-c", min=1, help="Conversations at once.")
    ] = 8,
    show_cuts: Annotated[
        bool, typer.Option("--cuts", help="List every turn at which the two do not do the same.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask a simulated customer at every turn of recorded ones, and compare the lines.

    What they do, which facts they tell, how long and how polite they are. The agenda user needs
    scripts with goals: runs of the store, or --domain. A model can play instructions in words.

    For example:
        passhat fidelity last

        passhat fidelity gpt-4o-airline.json --user claude:claude-haiku-5-5

        passhat fidelity last --user claude:claude-haiku-5-5,style=terse --json
    """
    from ..harness.bill import Bill
    from ..harness.fidelity import FidelityReport, compare_talks
    from ..harness.fidelity_sources import find_talks
    from ..models.account import Account
    from ..simulator.user import user_kind

    kind, account = user_kind(user), Account()
    found = find_talks(sources, kind, store=store, domain=domain, limit=limit, seed=seed)
    compared = compare_talks(found.talks, kind, concurrency=concurrency, account=account)
    report = FidelityReport(tuple(sources), kind.spec, compared, found.skipped)
    bill = Bill(account.spent, {"user": kind.spec})
    if as_json:
        print_json(report.to_json() | {"spent": bill.to_json()})
        return
    out = console()
    _show(report, out)
    for line in bill.lines():
        out.print(safe(line), style="dim")
    if show_cuts:
        _show_cuts(report, out)


def _show(report: FidelityReport, out: Console) -> None:
    out.print(safe(f"{', '.join(report.sources)}: user {report.user}"), soft_wrap=True)
    out.print(
        f"{len(report.compared):,} conversations, {report.cuts:,} turns, "
        f"{report.answered:,} answered; {report.confidence:.0%} intervals over conversations"
    )
    for why, number in report.skipped.items():
        out.print(safe(f"not used: {number:,} x {why}"), style="dim", soft_wrap=True)
    for why, number in list(report.not_answered.items())[:MOST_SHOWN]:
        out.print(safe(f"not answered: {number:,} x {why}"), style="dim", soft_wrap=True)
    _show_shares(report, out)
    _show_distances(report, out)
    _show_acts(report, out)


def _show_shares(report: FidelityReport, out: Console) -> None:
    table = plain_table("the same", "equal", "of", "share", "interval")
    rows = {
        "act": report.same_act,
        "facts, where either tells one": report.same_facts,
        "facts of the recorded one, told": report.facts_told,
        "facts of the simulated one, true there": report.facts_shared,
    }
    for name, share in rows.items():
        table.add_row(name, f"{share.equal:,}", f"{share.total:,}", *_shown(share))
    out.print()
    out.print(table)


def _shown(share: Share) -> tuple[str, str]:
    value = "-" if share.value is None else f"{share.value:.3f}"
    return value, _interval(share.low, share.high, 3)


def _interval(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return "-"
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def _show_distances(report: FidelityReport, out: Console) -> None:
    from ..harness.fidelity import DISTANCES

    table = plain_table("per turn", "recorded", "simulated", "difference", "interval")
    for what in DISTANCES:
        one = report.distance(what)
        if one.recorded is None or one.simulated is None or one.difference is None:
            continue
        numbers = f"{one.recorded:.2f}", f"{one.simulated:.2f}", f"{one.difference:+.2f}"
        table.add_row(what, *numbers, _interval(one.low, one.high, 2))
    out.print()
    out.print(table)


def _show_acts(report: FidelityReport, out: Console) -> None:
    names = ("recorded act", "equal", "of", "share", "simulated instead")
    table = plain_table(*names, wrapped=names[-1])
    for act, owns in report.instead().items():
        share = report.same_act_of(act)
        others = [f"{number:,} {own.value}" for own, number in owns.items() if own is not act]
        row = f"{share.equal:,}", f"{share.total:,}", _shown(share)[0]
        table.add_row(act.value, *row, ", ".join(others[:MOST_SHOWN]))
    out.print()
    out.print(table)


def _show_cuts(report: FidelityReport, out: Console) -> None:
    for one in report.compared:
        for cut in one.cuts:
            if cut.simulated is None or cut.simulated.act is not cut.recorded.act:
                out.print()
                out.print(safe(f"{one.address}, turn {cut.turn}"), style="bold", soft_wrap=True)
                _show_cut(cut, out)


def _show_cut(cut: Cut, out: Console) -> None:
    recorded = f"  recorded   {cut.recorded.act.value}: {one_line(cut.said, 160)}"
    out.print(safe(recorded), soft_wrap=True)
    if cut.simulated is None or cut.answer is None:
        simulated = f"  not answered: {one_line(cut.why_not, 160)}"
    else:
        simulated = f"  simulated  {cut.simulated.act.value}: {one_line(cut.answer, 160)}"
    out.print(safe(simulated), soft_wrap=True)
