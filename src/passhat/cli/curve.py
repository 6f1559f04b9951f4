"""`passhat curve`: pass^k and pass@k of runs and recordings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from .common import console, show_bill

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..harness.curve import Curve, Estimate

WIDEST_PLOT: Final = 100
FEW: Final = 20  # up to so many rows are shown without being asked for
NAMED: Final = 8  # tasks named in a line before "and 12 more"
BESIDE: Final = (40, 12)  # side by side: columns for the source and its counts, and for each k


def curve(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="A run, or a file: tau-bench results, tau2 results, or a run matrix "
            "(CSV or JSON with task, trial, pass).",
        ),
    ],
    plot: Annotated[
        Path | None, typer.Option(help="Also save the plot: FILE.png, .svg or .pdf.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object; a list for several sources.")
    ] = False,
    max_k: Annotated[
        int | None, typer.Option("--max-k", "-k", help="The last k; default: all there are.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the bootstrap over tasks.", min=0)] = 0,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="List every task, however many there are.")
    ] = False,
    store: Annotated[
        str | None, typer.Option(help="The store that runs are in; default: $PASSHAT_STORE.")
    ] = None,
) -> None:
    """Show how reliable an agent is: pass^k and pass@k for every k.

    pass^k is the chance that all of k trials of a task pass, pass@k that
    at least one does; the intervals come from a bootstrap over tasks.
    Trials without a grade count as lost, never as failed.

    For example:

        passhat curve results.json

        passhat curve matrix.csv --plot curve.png

        passhat curve before.json after.json --json
    """
    from ..harness.bill import find_bill
    from ..harness.curve import curve_of, different_tasks
    from ..harness.sources import load_source

    curves = [
        curve_of(load_source(source, store), max_k=max_k, confidence=confidence, seed=seed)
        for source in sources
    ]
    if warning := different_tasks(curves):
        curves[0].warnings.append(warning)
    if plot is not None:
        from ..harness.plots import save_plot

        save_plot(curves, plot)
    bills = [find_bill(source, store) for source in sources]
    if as_json:
        shown = [
            one.to_json() | ({"spending": bill.to_json()} if bill else {})
            for one, bill in zip(curves, bills, strict=True)
        ]
        typer.echo(json.dumps(shown[0] if len(shown) == 1 else shown, indent=2, allow_nan=False))
        return
    from rich.console import Console

    show_curves(curves, Console(highlight=False), every_task=tasks)
    for one, bill in zip(curves, bills, strict=True):
        show_bill(bill, console(), of=one.name if len(curves) > 1 else "")
    if plot is not None:
        typer.echo(f"plot saved to {plot}")


def show_curves(curves: list[Curve], console: Console, *, every_task: bool = False) -> None:
    """Print curves for a person: the headline, the plot, the tables.

    Args:
        curves: One is shown in full; several side by side, without their tasks.
        console: Where to; its width and encoding are respected.
        every_task: List every task of a single curve.
    """
    from ..harness.plots import terminal_plot

    plain = not console.encoding.lower().startswith("utf")
    for one in curves:
        _show_headline(one, console)
    plot = terminal_plot(curves, min(console.width, WIDEST_PLOT), plain=plain)
    console.print(f"\n{plot}\n", markup=False, no_wrap=True, crop=False, overflow="ignore")
    if len(curves) > 1:
        console.print(_side_by_side(curves, console.width))
        return
    console.print(_table_of_k(curves[0]))
    _show_tasks(curves[0], console, every_task=every_task)


def _show_headline(one: Curve, console: Console) -> None:
    from ..harness.curve import count
    from ..harness.sources import printable

    note = f" ({one.note})" if one.note else ""
    console.print(f"{one.name}{note}", style="bold", markup=False)
    counts = f"{count(one.planned, 'trial')} planned, {one.scored} scored, {one.lost} lost"
    _print_inset(console, one.headline or "no headline")
    _print_inset(console, f"{counts}; {one.confidence:.0%} intervals over tasks")
    if one.simulator_problems:
        kinds = ", ".join(f"{kind} {times}" for kind, times in one.simulator_problems.items())
        _print_inset(console, f"lost through the simulated customer: {kinds}", "dim")
    for reason, times in list(one.lost_because.items())[:NAMED]:
        _print_inset(console, f"lost: {times} x {printable(reason)}", "dim")
    for warning in one.warnings:
        _print_inset(console, f"warning: {printable(warning)}", "yellow")


def _print_inset(console: Console, line: str, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(Padding(Text(line, style), (0, 0, 0, 2), expand=False))


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=number > 0)
    return table


def _table_of_k(one: Curve) -> Table:
    mark = " *" if one.too_much_lost else ""
    table = _table("k", f"pass^k{mark}", f"pass@k{mark}", "tasks")
    for k in _ks(len(one.pass_hat), FEW):
        hat, at = one.pass_hat[k - 1], one.pass_at[k - 1]
        table.add_row(str(k), *(str(p).replace("[", r"\[") for p in (hat, at)), str(hat.tasks))
    if one.too_much_lost:
        table.caption = "* too much was lost to quote these"
    return table


def _side_by_side(curves: list[Curve], width: int) -> Table:
    """One row per source; of pass^k only what nearly all its tasks have trials for."""
    from ..harness.sources import printable

    last = max(one.headline_k for one in curves)
    ks = _ks(last, max(2, (width - BESIDE[0]) // BESIDE[1]))
    table = _table("source", "scored", "lost", *(f"pass^{k}" for k in ks))
    for one in curves:
        points = [one.pass_hat[k - 1] if k <= one.headline_k else None for k in ks]
        mark = " *" if one.too_much_lost else ""
        cells = [_stacked(p) if p else "-" for p in points]
        name = printable(one.name).replace("[", r"\[")
        table.add_row(name + mark, str(one.scored), str(one.lost), *cells)
    if any(one.too_much_lost for one in curves):
        table.caption = "* too much was lost to quote these"
    return table


def _stacked(point: Estimate) -> str:
    """The value above its interval: narrower than on one line."""
    if point.value is None or point.low is None or point.high is None:
        return str(point).split(" [")[0]
    return f"{point.value:.3f}\n{point.low:.2f}-{point.high:.2f}"


def _ks(last: int, most: int) -> list[int]:
    """All k up to ``last``, or at most ``most`` of them (2 or more), dense where curves bend."""
    if last <= most:
        return list(range(1, last + 1))
    steps = {round(last ** (i / (most - 1))) for i in range(most)}
    return sorted(steps)


def _show_tasks(one: Curve, console: Console, *, every_task: bool) -> None:
    from ..harness.curve import count
    from ..harness.sources import printable

    if every_task or len(one.per_task) <= FEW:
        table = _table("task", "passed", "scored", "lost")
        for task in one.per_task:
            name = printable(task.task).replace("[", r"\[")
            table.add_row(name, str(task.passed), str(task.scored), str(task.lost))
        console.print(table)
    else:
        tallies = Counter((t.scored, t.passed) for t in one.per_task)
        table = _table("passed of scored", "tasks")
        for scored, passed in sorted(tallies)[:FEW]:
            table.add_row(f"{passed} of {scored}", str(tallies[scored, passed]))
        if len(tallies) > FEW:
            rest = sum(tasks for _, tasks in sorted(tallies.items())[FEW:])
            table.add_row("others", str(rest))
        console.print(table)
    for what, names in (("nobody passes", one.never), ("everybody passes", one.always)):
        console.print(
            f"{what}: {len(names)} of {count(len(one.per_task), 'task')}{_some(names)}",
            markup=False,
        )
    if not every_task and len(one.per_task) > FEW:
        console.print("every task: --tasks", style="dim")


def _some(names: list[str]) -> str:
    from ..harness.sources import printable

    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f": {', '.join(printable(name) for name in names[:NAMED])}{more}"
