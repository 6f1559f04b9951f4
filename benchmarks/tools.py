"""What one call of each retail tool costs, through the dispatcher, on a warm database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passhat.domains.domain import Domain, load_domain

from .measure import Figure, per_call


def figures() -> Iterator[Figure]:
    """One figure per tool; a write is undone by forking the database anew for each call."""
    domain = load_domain("retail")
    with domain.world.fork() as db:
        yield per_call("fork of untouched rows (included in writes)", lambda: db.fork().close())
        for name, arguments in sample_calls(domain).items():
            if domain.tools[name].writes:
                call = _on_fork(domain, name, arguments)
            else:
                call = lambda name=name, arguments=arguments: domain.call(db, name, arguments)  # noqa: E731
            assert domain.call(db.fork(), name, arguments).error is None, name
            yield per_call(name, call)


def _on_fork(domain: Domain, name: str, arguments: dict[str, Any]) -> Any:
    def call() -> None:
        with domain.world.fork() as db:
            domain.call(db, name, arguments)

    return call


def sample_calls(domain: Domain) -> dict[str, dict[str, Any]]:
    """One call of every tool that goes through, taken from the references of the shipped tasks."""
    calls: dict[str, dict[str, Any]] = {
        "think": {"thought": "first the order"},
        "transfer_to_human_agents": {"summary": "wants a person"},
        "calculate": {"expression": "12.50 + 3 * (4 - 1.25)"},
        "list_all_product_types": {},
    }
    with domain.world.fork() as db:
        customer = db.find("customers", {})[0]
        calls["find_user_id_by_email"] = {"email": customer["email"]}
        calls["find_user_id_by_name_zip"] = {
            "first_name": customer["first_name"],
            "last_name": customer["last_name"],
            "zip": db.find("addresses", {"address_id": customer["user_id"]})[0]["zip"],
        }
        calls["get_user_details"] = {"user_id": customer["user_id"]}
        calls["get_item_details"] = {"item_id": db.find("variants", {})[0]["item_id"]}
    for task in domain.tasks.values():
        if not task.setup:
            for action in task.expect.outcomes[0].actions if task.expect.outcomes else ():
                calls.setdefault(action.name, action.arguments)
    return {name: calls[name] for name in domain.tools if name in calls}
