"""`passhat diff`: two runs, task by task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from .common import JsonOption, StoreOption, console, one_line, plain_table, print_json, safe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..harness.comparison import Comparison, Cost, SignFlip

NAMED: Final = 8  # tasks named in a line before "and 12 more"
WIDEST_NAME: Final = 80


def diff(
    a: Annotated[str, typer.Argument(metavar="RUN_A", help="What was: a run, or a file.")],
    b: Annotated[str, typer.Argument(metavar="RUN_B", help="What is to be judged, likewise.")],
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", min=1, help="Of pass^k; default: the largest both sides have."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare runs that did not measure the same.")
    ] = False,
    tasks: Annotated[bool, typer.Option("--tasks", help="List every task that changed.")] = False,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Annotated[
        int, typer.Option(help="Of the bootstrap and of random sign flips.", min=0)
    ] = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs task by task: is the second better, worse, or is it luck?

    Differences are B minus A over the tasks that both have graded. The interval is a paired
    bootstrap over tasks; p comes from flipping the signs of the tasks' differences. Runs that
    differ in more than the agent are refused.

    For example:
        passhat diff old-prompt new-prompt

        passhat diff old-prompt new-prompt -k 4 --tasks

        passhat diff gpt-4o.json mine.json --json
    """
    from ..harness.comparison import compare, load_side

    found = compare(
        load_side(a, store),
        load_side(b, store),
        k=k,
        confidence=confidence,
        seed=seed,
        anyway=anyway,
    )
    if as_json:
        print_json(found.to_json())
    else:
        _show(found, console(), every_task=tasks)


def _show(found: Comparison, out: Console, *, every_task: bool) -> None:
    for letter, side in (("A", found.a), ("B", found.b)):
        note = f" ({side.note})" if side.note else ""
        out.print(f"{letter}  {safe(side.name)}{note}: {side.scored} of {side.planned} scored")
    for warning in found.warnings:
        out.print(f"warning: {safe(warning)}", style="yellow")
    out.print()
    out.print(_table(found))
    out.print()
    confidence = found.a.confidence
    out.print(f"{confidence:.0%} intervals over {len(found.pairs)} tasks, B minus A")
    if found.too_much_lost:
        out.print(found.verdict(), style="bold")
    else:
        for each in found.differences:
            out.print(f"pass^{each.k}: {each.says(confidence)}", style="bold")
    _show_tasks(found, out, every_task=every_task)
    if found.costs:
        out.print()
        out.print(_table_of_costs(found.costs))


def _table(found: Comparison) -> Table:
    table = plain_table("", "A", "B", "B - A", "p")
    for each in found.differences:
        low, high = each.estimate.low, each.estimate.high
        interval = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
        difference = f"{each.b - each.a:+.3f}{interval}"
        p = _p(each.test)
        table.add_row(f"pass^{each.k}", f"{each.a:.3f}", f"{each.b:.3f}", difference, p)
    return table


def _p(test: SignFlip) -> str:
    if test.exact:
        return f"{test.p:.3g} (exact)"
    return f"{test.p:.3g} (random flips, resolution {test.resolution:.1g})"


def _show_tasks(found: Comparison, out: Console, *, every_task: bool) -> None:
    lists = {"won": found.won, "lost": found.lost, "flipped": found.flipped}
    out.print(f"tasks: {len(found.unchanged)} unchanged")
    for what, names in lists.items():
        out.print(f"  {what} {len(names)}{_some(names)}")
    for side, names in (("A", found.only_a), ("B", found.only_b)):
        if names:
            out.print(f"  only in {side}, left out: {len(names)}{_some(names)}")
    if every_task and found.won + found.lost:
        table = plain_table("task", "A", "B", wrapped="task")
        for pair in found.pairs:
            if pair.sign:
                a, b = (f"{t.passed} of {t.scored}" for t in (pair.a, pair.b))
                table.add_row(one_line(pair.task, WIDEST_NAME), a, b)
        out.print()
        out.print(table)


def _some(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f": {', '.join(one_line(name, WIDEST_NAME) for name in names[:NAMED])}{more}"


def _table_of_costs(costs: list[Cost]) -> Table:
    table = plain_table("per trial", "A", "B", "B - A")
    for cost in costs:
        ends = "" if cost.low is None else f" [{cost.low:+.4g}, {cost.high:+.4g}]"
        table.add_row(cost.what, f"{cost.a:.4g}", f"{cost.b:.4g}", f"{cost.b - cost.a:+.4g}{ends}")
    return table
