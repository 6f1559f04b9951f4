"""`passhat run` and `passhat resume`: play trials, keep them, and say what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from .common import (
    DomainArgument,
    JsonOption,
    SplitOption,
    StoreOption,
    TagOption,
    console,
    print_json,
    safe,
    show_bill,
    split_commas,
)
from .stdout import clean_stdout

if TYPE_CHECKING:
    from ..harness.bill import Bill
    from ..harness.curve import Curve
    from ..harness.records import Baseline, Run
    from ..harness.run import Ended
    from ..harness.store import Store

TOO_MUCH_LOST = OUT_OF_BUDGET = 3
STOPPED = 2
INTERRUPTED = 130

ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency", "-c", min=1,
        help="Trials at once; for agents that wait. [default: 50 where a model is asked, else 1]",
    ),
]  # fmt: skip
WorkersOption = Annotated[
    int, typer.Option("--workers", "-w", min=1, help="Processes; for agents that compute.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
MaxDollarsOption = Annotated[
    float | None, typer.Option(help="Stop the run when so much is spent; passhat resume goes on.")
]
MaxTokensOption = Annotated[int | None, typer.Option(help="Likewise, input and output of all.")]
MaxSecondsOption = Annotated[
    float | None, typer.Option(help="Likewise, by the clock, from when it is begun or resumed.")
]
TrialDollarsOption = Annotated[float | None, typer.Option(help="Lose a trial that spends so much.")]
TrialTokensOption = Annotated[int | None, typer.Option(help="Likewise, input and output of all.")]
TrialSecondsOption = Annotated[float | None, typer.Option(help="Likewise, by the clock.")]


def run(
    domain: DomainArgument,
    agent: Annotated[str, typer.Option(metavar="SPEC", help="passhat agents lists them.")],
    user: Annotated[str, typer.Option(metavar="SPEC", help="Who plays the customer.")] = "agenda",
    agent_option: Annotated[
        list[str] | None,
        typer.Option("--agent-option", "-A", metavar="KEY=VALUE", help="Of the agent's model."),
    ] = None,
    user_option: Annotated[
        list[str] | None,
        typer.Option("--user-option", "-U", metavar="KEY=VALUE", help="Of the user's model."),
    ] = None,
    one_tool_at_a_time: Annotated[
        bool, typer.Option("--one-tool-at-a-time", help="The agent makes no parallel calls.")
    ] = False,
    trials: Annotated[int, typer.Option("--trials", "-k", min=1, help="Of each task.")] = 1,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "--tasks", help="Only these: ids or patterns (cancel-*), commas."),
    ] = None,
    tag: TagOption = None,
    split: SplitOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal trials.")] = 0,
    user_seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Customers of each task, met in turn; by default one a trial."),
    ] = None,
    concurrency: ConcurrencyOption = None,
    workers: WorkersOption = 1,
    max_dollars: MaxDollarsOption = None,
    max_tokens: MaxTokensOption = None,
    max_seconds: MaxSecondsOption = None,
    trial_dollars: TrialDollarsOption = None,
    trial_tokens: TrialTokensOption = None,
    trial_seconds: TrialSecondsOption = None,
    max_turns: Annotated[
        int, typer.Option(min=1, help="Moves of the agent before a conversation is cut off.")
    ] = 40,
    turn_timeout: Annotated[
        float, typer.Option(help="Seconds an agent may take for one move.")
    ] = 300.0,
    basis: Annotated[
        str, typer.Option(help="Which verdicts decide: default, or tau-bench.")
    ] = "default",
    grader: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="One of your own, too: python:my_code:polite."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the run.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play every chosen task several times with an agent, and show its pass^k curve.

    A finished trial is kept at once, whatever happens next. Ctrl-C stops after the trials under
    way; passhat resume goes on from there.

    For example:
        passhat run retail --agent slippery:0.05 --trials 8 --seed 1

        passhat run retail --agent rule-based --task "cancel-*" --trials 4

        passhat run retail --agent python:my_agent:make --trials 8 --concurrency 16

        passhat run retail --agent reference --workers 2 --json

        passhat run retail --agent claude:claude-sonnet-5-5 --trials 8 --max-dollars 20
    """
    from ..harness.attempt import Conditions, load_domain_of
    from ..harness.run import Effort, Plan, start_run
    from ..harness.selection import select_tasks
    from ..harness.store import open_store
    from .progress import watcher

    tasks = select_tasks(load_domain_of(domain), split_commas(task), split_commas(tag), split)
    graders = tuple(split_commas(grader))
    conditions = Conditions(
        domain,
        with_options(agent, agent_option, one_tool_at_a_time=one_tool_at_a_time),
        with_options(user, user_option),
        basis,
        max_turns,
        turn_timeout,
        graders,
        user_seeds,
        max_tokens=max_tokens,
        max_dollars=max_dollars,
        max_seconds=max_seconds,
        trial_tokens=trial_tokens,
        trial_dollars=trial_dollars,
        trial_seconds=trial_seconds,
    )
    plan = Plan(conditions, tasks, trials, seed, name)
    plan.check()
    with open_store(store, create=True) as opened:
        watching = watcher(quiet=quiet or as_json)
        with clean_stdout():
            ended = start_run(opened, plan, watching, Effort(concurrency, workers))
        _report(opened, ended, store, as_json)


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help='Its id, its name, or "last".')],
    concurrency: ConcurrencyOption = None,
    workers: WorkersOption = 1,
    max_dollars: MaxDollarsOption = None,
    max_tokens: MaxTokensOption = None,
    max_seconds: MaxSecondsOption = None,
    trial_dollars: TrialDollarsOption = None,
    trial_tokens: TrialTokensOption = None,
    trial_seconds: TrialSecondsOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Play what a run still owes: trials that were not played, and those that were lost.

    Limits are as they were unless they are given anew; what was spent before counts.

    For example:
        passhat resume last

        passhat resume last --max-dollars 40

        passhat resume retail-20260316-js68 --concurrency 16
    """
    from ..harness.run import Effort, resume_run
    from ..harness.store import open_store
    from .progress import watcher

    with open_store(store, write=True) as opened:
        meant = opened.find_run(run)
        watching = watcher(quiet=quiet or as_json)
        given = {
            "max_tokens": max_tokens,
            "max_dollars": max_dollars,
            "max_seconds": max_seconds,
            "trial_tokens": trial_tokens,
            "trial_dollars": trial_dollars,
            "trial_seconds": trial_seconds,
        }
        limits = {name: limit for name, limit in given.items() if limit is not None}
        with clean_stdout():
            ended = resume_run(opened, meant, watching, Effort(concurrency, workers), limits)
        _report(opened, ended, store, as_json)


def with_options(spec: str, options: list[str] | None, *, one_tool_at_a_time: bool = False) -> str:
    """A spec with options of the command line; one of a model in the one way of writing it.

    Raises:
        UsageError: What is given is no option, or stands in the spec already.

    >>> with_options("claude:claude-haiku-5-5,max_tokens=500", ["effort=low"])
    'claude:claude-haiku-5-5,effort=low,max_tokens=500'
    """
    from ..models.registry import is_model, spec_of, split_spec

    given = [*(options or ()), *(["one_tool_at_a_time=yes"] if one_tool_at_a_time else [])]
    if not (given or is_model(spec)):
        return spec
    return spec_of(*split_spec(",".join([spec, *given])))


def _report(opened: Store, ended: Ended, store: str | None, as_json: bool) -> None:
    """Print what the run shows, or, if it was stopped, how to go on."""
    from ..harness.bill import bill_of
    from ..harness.curve import curve_of

    bill = bill_of(opened, ended.run)
    if ended.interrupted and ended.stopped:
        _say_stopped(opened, ended, store)
    if ended.interrupted:
        counts = opened.counts(ended.run)
        owed = counts["owed"] + counts["lost"]
        typer.echo(
            f"passhat: interrupted; {owed} of {ended.run.planned} trials are owed, the others are "
            f"kept; go on with: passhat resume {ended.run.id}{_store_option(store)}",
            err=True,
        )
        raise typer.Exit(INTERRUPTED)
    curve = curve_of(opened.source(ended.run))
    if as_json:
        print_json(_as_json(ended.run, curve) | {"spending": bill.to_json() if bill else None})
    else:
        _show(opened, ended.run, curve, bill, store)
    if curve.too_much_lost:
        typer.echo(
            "passhat: too many trials were lost for a headline; once the cause is mended: "
            f"passhat resume {ended.run.id}{_store_option(store)}",
            err=True,
        )
        raise typer.Exit(TOO_MUCH_LOST)


def _say_stopped(opened: Store, ended: Ended, store: str | None) -> NoReturn:
    """Why the run cannot go on as it is, and what would make it."""
    run, option = ended.run, _store_option(store)
    counts = opened.counts(run)
    kept = f"{counts['passed'] + counts['failed']} of {run.planned} trials are kept"
    if ended.limit:
        more = f"--{ended.limit.replace('_', '-')} N goes on"
        line, code = f"passhat resume {run.id}{option} {more}", OUT_OF_BUDGET
    else:
        line, code = f"once that is mended: passhat resume {run.id}{option}", STOPPED
    typer.echo(f"passhat: {safe(ended.stopped)}; {kept}; {line}", err=True)
    raise typer.Exit(code)


def _as_json(run: Run, curve: Curve) -> dict[str, Any]:
    """The curve, and what it is of; ``seed`` is the run's, the curve's own is renamed."""
    from ..harness.caveats import caveats

    numbers = curve.to_json()
    return {
        "run": run.id,
        "name": run.name,
        "created": run.created,
        "domain": run.domain,
        "agent": run.agent,
        "user": run.user,
        "seed": run.seed,
        "trials": run.trials,
        "synthetic": run.synthetic,
        "fingerprint": run.fingerprint,
        "notes": caveats(run.domain, run.user),
        "baseline": run.baseline.to_json() if run.baseline else None,
        "bootstrap_seed": numbers.pop("seed"),
        **numbers,
    }


def _show(opened: Store, run: Run, curve: Curve, bill: Bill, store: str | None) -> None:
    from rich.console import Console

    from ..harness.caveats import caveats
    from .curve import show_curves

    out = console()
    out.print(f"run {run.id}: agent {run.agent}, user {run.user}, seed {run.seed}")
    out.print(describe_baseline(run.baseline))
    for note in caveats(run.domain, run.user):
        out.print(safe(f"note: {note}"), soft_wrap=True)
    show_curves([curve], Console(highlight=False))
    show_bill(bill, out)
    option = _store_option(store)
    out.print("\nnext:")
    out.print(f"  passhat curve {run.id}{option} --plot curve.png")
    failures = opened.trials(run, ["failed"])
    shown = failures[0].address if failures else run.id
    out.print(f"  passhat show {shown}{option}", soft_wrap=True)


def describe_baseline(baseline: Baseline | None) -> str:
    """What doing nothing scores, in one line."""
    from ..harness.curve import count

    if baseline is None or baseline.pass_rate is None:
        return "doing nothing: no score, none of its trials could be graded"
    return (
        f"doing nothing ({baseline.agent}) scores {baseline.pass_rate:.3f} at every k: "
        f"it passes {baseline.passed} of the same {count(baseline.scored, 'task')}"
    )


def _store_option(store: str | None) -> str:
    from shlex import quote

    return f" --store {quote(store)}" if store else ""
