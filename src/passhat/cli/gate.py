"""`passhat gate`: whether a run is good enough, as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ..errors import UsageError
from .common import JsonOption, StoreOption, console, print_json, safe, split_commas

if TYPE_CHECKING:
    from ..harness.comparison import Side
    from ..harness.gate import Gate

EXIT_CODES: Final = {"passed": 0, "failed": 1, "lost": 3}
STYLES: Final = {"pass": "green", "FAIL": "bold red", "LOST": "bold yellow"}


def gate(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help='Its id, its name, "last", or a results file.')
    ],
    k: Annotated[
        int, typer.Option("--pass-hat", "-k", min=1, help="The k of pass^k that is judged.")
    ] = 1,
    at_least: Annotated[
        float | None, typer.Option(help="The lower end of pass^k's interval, at least.")
    ] = None,
    no_worse_than: Annotated[
        str | None,
        typer.Option(metavar="RUN_B", help="Compare pass^k with this run's, task by task."),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(help="How far below RUN_B's pass^k the interval may reach."),
    ] = 0.05,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE=MOST", help="At most so many findings; repeatable."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only tasks with this tag; repeatable.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare although RUN_B measured something else.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML, for CI.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also add Markdown to FILE's end: $GITHUB_STEP_SUMMARY."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the two-sided intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.", min=0)] = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide whether a run is good enough; exit 0 if it is, 1 if not.

    Decides on the lower end of an interval, not on the value: a lucky run does not pass, nor does
    one too small to show what is asked. Exit 2: the request makes no sense; 3: too many trials
    have no grade to decide.

    For example:
        passhat gate last --pass-hat 4 --at-least 0.6

        passhat gate new-prompt --no-worse-than old-prompt --margin 0.05

        passhat gate last -k 4 --at-least 0.6 --rule waits_for_a_yes=0 --tag regression

        passhat gate last --at-least 0.8 --junit gate.xml --markdown "$GITHUB_STEP_SUMMARY"
    """
    from ..harness.comparison import load_side
    from ..harness.gate import Demands, decide, findings, rule_limits

    side = load_side(run, store)
    other = load_side(no_worse_than, store) if no_worse_than is not None else None
    limits = rule_limits(rule or (), side.run)
    demands = Demands(k, at_least, margin, limits, confidence, seed)
    demands.check(compared=other is not None)
    tags = split_commas(tag)
    if tags:
        side, other = _only_tagged(side, other, tags)
    found = decide(
        side,
        demands,
        other=other,
        tags=tags,
        found=findings(side, store) if limits else None,
        anyway=anyway,
    )
    _write(found, junit, markdown)
    if as_json:
        print_json(found.to_json())
    else:
        _show(found, confidence)
    raise typer.Exit(EXIT_CODES[found.decision])


def _only_tagged(side: Side, other: Side | None, tags: list[str]) -> tuple[Side, Side | None]:
    from ..harness.gate import tagged

    if side.run is None:
        raise UsageError("--tag needs a run; a results file does not say which tags its tasks have")
    names = tagged(side.run, tags)
    return side.only(names), other.only(names) if other is not None else None


def _write(found: Gate, junit_file: Path | None, markdown_file: Path | None) -> None:
    from ..harness.gate import junit, markdown

    if junit_file is not None:
        junit_file.write_text(junit(found), encoding="utf-8")
    if markdown_file is not None:
        with markdown_file.open("a", encoding="utf-8") as file:  # CI steps share one summary
            file.write(markdown(found))


def _show(found: Gate, confidence: float) -> None:
    out = console()
    note = f" ({found.note})" if found.note else ""
    tags = f", tagged {' or '.join(found.tags)}" if found.tags else ""
    out.print(f"{safe(found.name)}{note}: {len(found.per_task)} tasks{tags}", style="bold")
    out.print(
        f"{found.scored} of {found.planned} trials graded; decides on the lower ends of "
        f"{confidence:.0%} intervals over tasks"
    )
    for warning in found.warnings:
        out.print(f"warning: {safe(warning)}", style="yellow")
    for condition in found.conditions:
        line = f"{condition.result}  {safe(condition.asks)}: {safe(condition.why)}"
        out.print(line, style=STYLES[condition.result], soft_wrap=True)
    out.print(found.summary(), style="bold")
