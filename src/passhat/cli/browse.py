"""Commands that list what there is: domains, tasks, agents, users, runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    DomainArgument,
    JsonOption,
    SplitOption,
    StoreOption,
    TagOption,
    console,
    dollars,
    one_line,
    plain_table,
    print_json,
    safe,
    split_commas,
)

if TYPE_CHECKING:
    from ..harness.bill import Bill
    from ..task import Task


def domains(as_json: JsonOption = False) -> None:
    """List the domains: businesses that an agent can be tested in, imported packs included.

    For example:
        passhat domains

        passhat domains --json
    """
    from ..domains.domain import domain_names, load_domain
    from ..domains.packs import pack_names

    found = [load_domain(name) for name in (*domain_names(), *pack_names())]
    rows: list[dict[str, Any]] = [
        {
            "domain": domain.name,
            "tasks": len(domain.tasks),
            "tools": len(domain.tools),
            "now": domain.world.now.isoformat(),
        }
        for domain in found
    ]
    if as_json:
        print_json(rows)
        return
    table = plain_table("domain", "tasks", "tools", "its today")
    for row in rows:
        table.add_row(row["domain"], str(row["tasks"]), str(row["tools"]), row["now"][:10])
    console().print(table)


def tasks(
    domain: DomainArgument,
    task: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="Show this one in full.")
    ] = None,
    tag: TagOption = None,
    split: SplitOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tasks of a domain, or show one in full.

    For example:
        passhat tasks retail

        passhat tasks retail --tag refuse

        passhat tasks retail cancel-power-bank
    """
    from ..harness.attempt import load_domain_of
    from ..harness.selection import select_tasks

    opened = load_domain_of(domain)
    if task is not None:
        _show_task(opened.task(task), as_json)
        return
    names = select_tasks(opened, tags=split_commas(tag), split=split)
    found = [opened.tasks[name] for name in names]
    if as_json:
        print_json([_about(one) for one in found])
        return
    out = console()
    for one in found:
        out.print(one.id, style="bold", end="")
        out.print("".join(f" [{tag}]" for tag in one.tags), style="dim")
        out.print(f"  {one_line(one.purpose or one.user.goals[0].ask, out.width - 2)}")
    out.print(f"{len(found)} of {len(opened.tasks)} tasks; passhat tasks {domain} TASK shows one")


def _about(task: Task) -> dict[str, Any]:
    return {"id": task.id, "purpose": task.purpose, "tags": task.tags, "split": task.split}


def _show_task(task: Task, as_json: bool) -> None:
    if as_json:
        print_json(task.model_dump(mode="json"))
        return
    import yaml

    shown = task.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=78)
    console().print(safe(text), soft_wrap=True)  # a line that breaks anew is other YAML


def agents(as_json: JsonOption = False) -> None:
    """List the agents that --agent can name.

    For example:
        passhat agents

        passhat agents --json
    """
    from ..agents.registry import known_agents

    found = known_agents()
    if as_json:
        print_json([entry._asdict() for entry in found])
        return
    table = plain_table("--agent", "what it is", wrapped="what it is")
    for entry in found:
        table.add_row(entry.spec, entry.description)
    console().print(table)


def users(as_json: JsonOption = False) -> None:
    """List who can play the customer, as --user names them.

    For example:
        passhat users

        passhat users --json
    """
    from ..simulator.model_user.prompts import styles
    from ..simulator.model_user.user import STRATEGIES
    from ..simulator.user import known_users

    found = known_users()
    if as_json:
        listing: dict[str, Any] = {
            "users": [entry._asdict() for entry in found],
            "strategies": {name: one.description for name, one in STRATEGIES.items()},
            "styles": styles(),
        }
        print_json(listing)
        return
    table = plain_table("--user", "what it is", wrapped="what it is")
    for entry in found:
        table.add_row(entry.spec, entry.description)
    out = console()
    out.print(table)
    out.print("after a model, e.g. claude:claude-haiku-5-5,strategy=think,style=terse:")
    out.print(f"  strategy={'|'.join(STRATEGIES)}", soft_wrap=True)
    out.print(f"  style={'|'.join(styles())} (if not given: each script's persona)", soft_wrap=True)


def runs(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the runs in a store, oldest first.

    For example:
        passhat runs

        passhat runs --store team.sqlite --json
    """
    from ..harness.bill import bill_of
    from ..harness.store import open_store

    with open_store(store) as opened:
        found = [(run, opened.counts(run), bill_of(opened, run)) for run in opened.runs()]
    if as_json:
        rows = [(run.to_json() | {"counts": counts}, bill) for run, counts, bill in found]
        print_json([row | {"spending": bill.to_json() if bill else None} for row, bill in rows])
        return
    columns = ["run", "status", "tasks", "passed", "failed", "lost", "owed"]
    paid = any(bill for _, _, bill in found)
    table = plain_table(*columns, *(["cost"] if paid else []), wrapped="run")
    for run, counts, bill in found:
        names = [run.id, *filter(None, [run.name]), f"  {safe(run.agent)}"]
        numbers = [f"{len(run.tasks)} x {run.trials}", *map(str, counts.values())]
        table.add_row("\n".join(names), run.status, *numbers, *([_cost(bill)] if paid else []))
    console().print(table)


def _cost(bill: Bill) -> str:
    if not bill:
        return ""
    return "unknown" if bill.cost is None else dollars(bill.cost)
