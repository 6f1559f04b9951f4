"""`passhat reliability`: what single steps must be worth for a whole task to succeed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from ..harness.compounding import Reliability, Retries

LENGTHS: Final = (1, 2, 5, 10, 20, 50, 100)


def reliability(
    step: Annotated[
        float | None, typer.Option(help="Chance that one attempt at a step is right.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps in a task.")] = None,
    target: Annotated[
        float | None, typer.Option(help="Chance wanted that a whole task succeeds.")
    ] = None,
    retries: Annotated[
        int, typer.Option(help="Attempts after the first, each after a rejection.")
    ] = 0,
    sensitivity: Annotated[
        float, typer.Option(help="Chance that the verifier rejects a wrong attempt.")
    ] = 1.0,
    specificity: Annotated[
        float, typer.Option(help="Chance that the verifier accepts a right attempt.")
    ] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show how the reliability of single steps compounds over a task.

    Give two of --step, --steps and --target; the third is worked out.
    The model takes steps as independent and equally hard: a task of n steps
    succeeds with chance p^n, where p is the chance that a step ends right.

    For example:

        passhat reliability --step 0.99 --steps 20

        passhat reliability --target 0.9 --steps 20

        passhat reliability --step 0.99 --target 0.9

    A verifier that rejects attempts, and two more attempts when it does:

        passhat reliability --step 0.95 --steps 20 --retries 2 --sensitivity 0.9 --specificity 0.95
    """
    from ..harness.compounding import Retries, solve

    solution = solve(step, steps, target, Retries(retries, sensitivity, specificity))
    if as_json:
        typer.echo(json.dumps(solution.to_json(), indent=2, allow_nan=False))
    else:
        _show(solution)


def _show(solution: Reliability) -> None:
    from ..harness.compounding import NO_RETRIES, checked_step

    step, steps, target = solution.step, solution.steps, solution.target
    length = "any number of" if steps is None else f"at most {steps}"
    answers = {
        "target": f"{steps} steps of {step:g} all succeed with chance {target:.4f}",
        "step": f"{target:g} over {steps} steps needs steps of {_rounded_up(step)}",
        "steps": f"steps of {step:g} reach {target:g} over {length} steps",
    }
    typer.echo(answers[solution.solved])
    if solution.checking != NO_RETRIES:
        one = checked_step(step, solution.checking)
        typer.echo(
            f"a verified step: right {one.right:.4f}, wrong and unnoticed {one.wrong:.4f}, "
            f"given up {one.given_up:.4f}; {one.attempts:.2f} attempts on average"
        )
    _show_table(solution)


def _rounded_up(chance: float) -> str:
    """Four decimals, upwards: rounded down, the step would miss the target."""
    return f"{math.ceil(chance * 10_000 - 1e-6) / 10_000:.4f}"


def _show_table(solution: Reliability) -> None:
    """The same question for other lengths of task, with and without the verifier."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from ..harness.compounding import NO_RETRIES

    ways = {"one attempt each": NO_RETRIES}
    if solution.checking != NO_RETRIES:
        ways["verified"] = solution.checking
    asked = "step needed" if solution.solved == "step" else "task succeeds"
    table = Table("steps", box=box.SIMPLE_HEAD, pad_edge=False)
    for way in ways:
        table.add_column(f"{asked}, {way}", justify="right")
    for length in sorted({*LENGTHS, *([solution.steps] if solution.steps else [])}):
        cells = [_cell(solution, length, way) for way in ways.values()]
        table.add_row(str(length), *cells, style="bold" if length == solution.steps else None)
    Console(highlight=False).print(table)


def _cell(solution: Reliability, length: int, way: Retries) -> str:
    from ..errors import UsageError
    from ..harness.compounding import step_needed, task_success

    if solution.solved != "step":
        return f"{task_success(solution.step, length, way):.4f}"
    try:
        return _rounded_up(step_needed(solution.target, length, way))
    except UsageError:
        return "out of reach"
