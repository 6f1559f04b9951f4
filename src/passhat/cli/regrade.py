"""`passhat regrade`: recorded conversations carried out and graded again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .common import JsonOption, console, one_line, plain_table, print_json, safe

if TYPE_CHECKING:
    from rich.console import Console

    from ..harness.curve import Curve
    from ..harness.regrade import Regrade

MOST_SHOWN: Final = 20  # differences, before "and so many more"
MOST_REASONS: Final = 5  # of one difference


def regrade(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS", help="Results of tau-bench or tau2-bench: a file, or a folder."
        ),
    ],
    packs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder of packs, a pack, or a clone of the benchmark. "
            "[default: $PASSHAT_PACKS, else your data folder]",
        ),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(help="E.g. airline, or airline@tau-bench; by default it is recognised."),
    ] = None,
    basis: Annotated[
        str, typer.Option(help="Whose rule decides: tau-bench (the benchmark's own), or default.")
    ] = "tau-bench",
    trials: Annotated[
        bool, typer.Option("--trials", help="List every trial: old verdict, new one, and why.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Carry out recorded conversations again, and compare outputs, end states and rewards.

    Nothing calls a model. Crashed and half-written trials count as lost, never as failed.

    For example:
        passhat regrade gpt-4o-airline.json

        passhat regrade results.json --packs ~/tau2-bench --trials

        passhat regrade results.json --basis default --json
    """
    from ..harness.regrade import regrade as regrade_all
    from ..harness.shelf import shelf

    result = regrade_all(results, shelf(packs), domain, basis)
    if as_json:
        print_json(result.to_json())
        return
    out = console()
    _show(result, out)
    if trials:
        _show_trials(result, out)


def _show(result: Regrade, out: Console) -> None:
    before, after = result.curves()
    out.print(safe(f"{result.name}, carried out again in {result.pack}"))
    out.print(f"  tool outputs   {result.outputs}")
    out.print(f"  state hashes   {_or_none(result.state_hashes)}")
    out.print(f"  rewards        {_or_none(result.rewards)}")
    out.print(f"  basis {result.basis}: {result.rule}")
    out.print(f"  {after.planned} trials, {after.scored} graded again, {after.lost} lost")
    for reason, count in list(after.lost_because.items())[:MOST_SHOWN]:
        out.print(safe(f"  lost: {count} x {reason}"))
    for note in (*result.notes, *after.warnings):
        out.print(safe(f"  note: {note}"))
    _show_curves(before, after, out)
    _show_differences(result.differences, out)


def _or_none(tally: Any) -> str:
    return str(tally) if tally.total else "none recorded"


def _show_curves(before: Curve, after: Curve, out: Console) -> None:
    table = plain_table("k", "pass^k recorded", "pass^k graded again", "tasks")
    for k, point in enumerate(after.pass_hat, start=1):
        recorded = before.pass_hat[k - 1] if k <= len(before.pass_hat) else "-"
        table.add_row(str(k), str(recorded), str(point), str(point.tasks))
    out.print(table)


def _show_differences(differences: list[dict[str, Any]], out: Console) -> None:
    if not differences:
        out.print("no difference")
        return
    kinds = Counter(_what(difference) for difference in differences)
    out.print(safe("different: " + ", ".join(f"{n} x {what}" for what, n in kinds.items())))
    room = max(60, out.width) * 2
    for difference in differences[:MOST_SHOWN]:
        where = f"task {difference['task']} trial {difference['trial']}"
        out.print(safe(f"{where}: {_what(difference)}"))
        if "where" not in difference:
            for side in ("recorded", "now"):
                out.print(f"  {side:9}{one_line(difference[side], room)}")
        for name in ("where", "because"):
            for reason in difference.get(name, ())[:MOST_REASONS]:
                out.print(f"  {name:9}{one_line(reason, room)}")
    if len(differences) > MOST_SHOWN:
        out.print(f"and {len(differences) - MOST_SHOWN} more; --json has all")


def _what(difference: Mapping[str, Any]) -> str:
    return " of ".join(str(difference[key]) for key in ("kind", "tool") if key in difference)


def _show_trials(result: Regrade, out: Console) -> None:
    table = plain_table("task", "trial", "recorded", "graded again", "why", wrapped="why")
    for run in result.runs:
        before, after = run.before, run.after
        why = "\n".join(one_line(reason, 200) for reason in run.why)
        table.add_row(safe(after.task), str(after.trial), _verdict(before), _verdict(after), why)
    out.print(table)


def _verdict(result: Any) -> str:
    return {True: "pass", False: "fail", None: "-"}[result.passed]
