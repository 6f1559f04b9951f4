"""`passhat power`: how small a difference a plan can see."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..errors import UsageError
from .common import JsonOption, StoreOption, console, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from ..harness.power import Plan, PowerAnswer, Spread, Wanted
    from ..harness.variance import VarianceSplit


def power(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SOURCE]", help="A run or a file whose tasks' spread to go by."),
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=2, help="Planned; default: as many as SOURCE has.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Planned of each task; default: as many as SOURCE has."),
    ] = None,
    difference: Annotated[
        float | None, typer.Option("--difference", "-d", help="Wanted, e.g. -0.05: what it takes.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Of pass^k, what differs.")] = 1,
    passes: Annotated[
        float | None, typer.Option("--pass", help="Without SOURCE: share of trials that pass.")
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(help="Without SOURCE: how far tasks differ in it, as standard deviation."),
    ] = None,
    chance: Annotated[
        float, typer.Option("--power", help="Chance wanted that a difference shows.")
    ] = 0.8,
    level: Annotated[float, typer.Option(help="Chance that luck alone shows one.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the simulation.", min=0)] = 0,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how small a difference between two runs a plan of tasks x trials can see.

    Two agents play the same plan; the spread between tasks comes from SOURCE or is given. Plans
    are simulated, so that the answer takes seconds, not formulas.

    For example:
        passhat power last

        passhat power last --difference -0.05

        passhat power last --trials 16 -k 4

        passhat power --pass 0.8 --spread 0.15 --tasks 60 --trials 8 --difference 0.03
    """
    from ..harness.power import Plan, answer

    known = _given(passes, spread, tasks, trials) if source is None else _measured(source, store)
    if source is not None and (passes is not None or spread is not None):
        raise UsageError(f"--pass and --spread come from {source!r}; leave them out")
    plan = Plan(tasks or known.tasks, trials or known.trials, k, chance, level, seed)
    found = answer(plan, known.spread, difference)
    if as_json:
        split = known.split.to_json() if known.split else None
        print_json(found.to_json() | {"variance_of_one_trial": split})
    else:
        _show(found, known.split, console())


class _Known(NamedTuple):
    """The spread to go by, the plan unless another one is given, and what the spread comes from."""

    spread: Spread
    tasks: int
    trials: int
    split: VarianceSplit | None = None


def _given(
    passes: float | None, spread: float | None, tasks: int | None, trials: int | None
) -> _Known:
    from ..harness.power import Spread

    if passes is None or spread is None:
        raise UsageError("name a SOURCE, or give --pass and --spread, e.g. 0.8 and 0.15")
    if tasks is None or trials is None:
        raise UsageError("without a SOURCE, the plan is --tasks and --trials, e.g. 60 and 8")
    return _Known(Spread.of(passes, spread), tasks, trials)


def _measured(name: str, store: str | None) -> _Known:
    from ..harness.curve import curve_of
    from ..harness.power import spread_of
    from ..harness.sources import load_source
    from ..harness.variance import variance_of

    source = load_source(name, store)
    curve = curve_of(source)
    tried = sum(tally.scored > 0 for tally in curve.per_task)
    return _Known(spread_of(source), tried, curve.headline_k, variance_of(source.results))


def _show(found: PowerAnswer, split: VarianceSplit | None, out: Console) -> None:
    plan, spread = found.plan, found.spread
    of = "" if plan.k == 1 else f", pass^{plan.k} {found.value:.3f}"
    out.print(f"plan: {plan.tasks} tasks x {plan.trials} trials, played by each of two agents")
    out.print(
        f"tasks pass {spread.mean:.3f} of the time{of}; between tasks that differs by "
        f"{sqrt(spread.between):.3f} (standard deviation)"
    )
    out.print(
        f"variance of one run's pass^1: {found.tasks_share:.0%} from which tasks were chosen, "
        f"{1 - found.tasks_share:.0%} from the luck of the trials; the first part cancels out "
        "between two runs on the same tasks"
    )
    if split is not None:
        out.print(
            f"variance of one trial: {split.share(split.tasks):.0%} between tasks, "
            f"{split.share(split.users):.0%} between customers of a task, "
            f"{split.share(split.luck):.0%} the agent's own luck ({split.cells} customers met "
            "several times)"
        )
    out.print(
        f"\nsmallest difference in pass^{plan.k} seen with {plan.power:.0%} power at the "
        f"{plan.level:.0%} level:",
        style="bold",
    )
    out.print(f"  a fall of {_size(found.fall)}, or a rise of {_size(found.rise)}")
    if found.wanted is not None:
        _show_wanted(found.wanted, plan, out)
    out.print(
        "\nfor a change that moves all tasks alike; one that also hurts some takes more",
        style="dim",
    )


def _size(difference: float | None) -> str:
    return "any size is too small to see" if difference is None else f"{difference:.3f}"


def _show_wanted(wanted: Wanted, plan: Plan, out: Console) -> None:
    from ..harness.power import MOST_TASKS, MOST_TRIALS

    out.print(f"\na difference of {wanted.difference:+g}:", style="bold")
    out.print(f"  this plan shows it with {wanted.power:.0%} power")
    trials = f"more than {MOST_TRIALS}" if wanted.trials is None else wanted.trials
    tasks = f"more than {MOST_TASKS}" if wanted.tasks is None else wanted.tasks
    out.print(
        f"  {plan.power:.0%} takes {trials} trials of each of the {plan.tasks} tasks, or {tasks} "
        f"tasks of {plan.trials} trials"
    )
