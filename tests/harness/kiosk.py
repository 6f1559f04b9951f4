"""A tiny domain for the harness: a ticket kiosk, its tasks, and agents of every temper.

Imported by name (``kiosk:DOMAIN``, ``python:kiosk:careful``), also in processes that tests start.
"""

import os
import random
import sys
import time
from datetime import datetime
from types import SimpleNamespace

from sqlalchemy import Column, Integer, MetaData, Table, Text, bindparam, insert, select, update

from passhat.agents.agent import Brief
from passhat.domains.database import Database
from passhat.domains.domain import Domain
from passhat.domains.tool import tool, tools_in
from passhat.domains.world import World
from passhat.errors import InfrastructureError, ToolError
from passhat.task import Task
from passhat.transcript import Message, Observation, Stop, ToolCall, ToolCalls, Usage

METADATA = MetaData()
TICKETS = Table(
    "tickets",
    METADATA,
    Column("ticket_id", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("zone", Text, nullable=False),
)
CHANGES = Table(
    "changes",
    METADATA,
    Column("number", Integer, primary_key=True, info={"compare": False}),
    Column("ticket_id", Text, nullable=False),
)

_TICKET = select(TICKETS).where(TICKETS.c.ticket_id == bindparam("ticket_id"))
_SET_ZONE = (
    update(TICKETS).where(TICKETS.c.ticket_id == bindparam("id")).values(zone=bindparam("to"))
)
_NOTE = insert(CHANGES).values(ticket_id=bindparam("ticket_id"))


@tool()
def get_ticket(db: Database, ticket_id: str) -> dict[str, str]:
    """Look a ticket up.

    Args:
        db: The kiosk's rows.
        ticket_id: As printed on it, e.g. "T-1".
    """
    row = db.row(_TICKET, ticket_id=ticket_id)
    if row is None:
        raise ToolError(f"no ticket {ticket_id!r}")
    return dict(row)


@tool(writes=True)
def change_zone(db: Database, ticket_id: str, zone: str) -> str:
    """Make a ticket valid in another zone.

    Args:
        db: The kiosk's rows.
        ticket_id: As printed on it.
        zone: The new zone, e.g. "Z2".
    """
    if not db.write(_SET_ZONE, id=ticket_id, to=zone):
        raise ToolError(f"no ticket {ticket_id!r}")
    db.write(_NOTE, ticket_id=ticket_id)
    return f"valid in {zone}"


def _task(number: int) -> Task:
    call = {"name": "change_zone", "arguments": {"ticket_id": f"T-{number}", "zone": "Z2"}}
    return Task.model_validate(
        {
            "id": f"zone-{number}",
            "domain": "kiosk",
            "user": {
                "customer": f"T-{number}",
                "goals": [{"ask": f"Please make my ticket T-{number} valid in zone Z2."}],
            },
            "expect": {"outcomes": [{"actions": [call]}]},
            "tags": ["even" if number % 2 == 0 else "odd"],
            "split": "train" if number > 4 else "test",
        }
    )


def _impossible() -> Task:
    call = {"name": "change_zone", "arguments": {"ticket_id": "T-99", "zone": "Z2"}}
    goals = [{"ask": "Please make my ticket T-1 valid in zone Z2."}]
    expect = {"outcomes": [{"actions": [call]}]}
    user = {"customer": "T-1", "goals": goals}
    return Task.model_validate(
        {"id": "broken", "domain": "kiosk", "user": user, "expect": expect, "tags": ["broken"]}
    )


def make_kiosk(policy: str = "# Kiosk\n\nAsk before you change a ticket.\n") -> Domain:
    """A fresh kiosk: six tickets, six tasks, and one task whose reference cannot be carried out."""
    tools = tools_in(SimpleNamespace(a=get_ticket, b=change_zone))  # type: ignore[arg-type]
    domain = Domain("kiosk", METADATA, tools, lambda db, ticket: {"ticket": ticket})
    tickets = [{"ticket_id": f"T-{n}", "holder": "Ana", "zone": "Z1"} for n in range(1, 7)]
    tasks = [*map(_task, range(1, 7)), _impossible()]
    vars(domain).update(
        world=World(METADATA, {"tickets": tickets}, datetime(2026, 3, 16, 10)),
        policy=policy,
        tasks={task.id: task for task in tasks},
    )
    return domain


DOMAIN = make_kiosk()
TASKS = tuple(f"zone-{n}" for n in range(1, 7))


# --- agents ---------------------------------------------------------------------------------------


class Clerk:
    """Proposes the change, makes it after the answer, and says so."""

    def __init__(self, brief: Brief) -> None:
        self.brief = brief
        self.random = random.Random(brief.seed)
        self.ticket = ""
        self.moves = 0

    def act(self, observation: Observation) -> object:
        """The next move."""
        self.moves += 1
        if self.moves == 1:
            words = observation.text.replace(".", " ").split()
            self.ticket = next(word for word in words if word.startswith("T-"))
            text = f"I will change ticket {self.ticket} to zone Z2. Do you confirm (yes/no)?"
            return Message(content=text)
        if self.moves == 2:
            arguments = {"ticket_id": self.ticket, "zone": "Z2"}
            return ToolCalls(calls=(ToolCall(name="change_zone", arguments=arguments),))
        return f"Done: your ticket {self.ticket} is now valid in zone Z2."


def careful(brief: Brief) -> Clerk:
    """Gets it right."""
    return Clerk(brief)


class _Flaky(Clerk):
    def act(self, observation: Observation) -> object:
        if self.random.random() < 0.15:
            return Stop(reason=f"tired {self.random.random()}")
        return super().act(observation)


def flaky(brief: Brief) -> Clerk:
    """Gets it right unless its seed says otherwise."""
    return _Flaky(brief)


class _Paying(Clerk):
    def act(self, observation: Observation) -> object:
        move = super().act(observation)
        if isinstance(move, Message | ToolCalls):
            return move.model_copy(update={"usage": Usage(input_tokens=7, output_tokens=5)})
        return move


def paying(brief: Brief) -> Clerk:
    """Says what its own model used, but not at what price."""
    return _Paying(brief)


class _Slow(Clerk):
    def act(self, observation: Observation) -> object:
        time.sleep(0.02)
        return super().act(observation)


def slow(brief: Brief) -> Clerk:
    """Takes its time."""
    return _Slow(brief)


def noisy(brief: Brief) -> Clerk:
    """Prints where results are expected."""
    print("NOISE")
    sys.stdout.write("NOISE\n")
    return Clerk(brief)


class _Tempers(Clerk):
    def act(self, observation: Observation) -> object:
        for ticket, misbehave in _WRONG.items():
            if ticket in observation.text:
                return misbehave()
        return super().act(observation)


def _hang() -> None:
    time.sleep(3600)


def _raise() -> None:
    raise ValueError("the agent broke")


def _leave() -> None:
    raise SystemExit(7)


def _provider_down() -> None:
    raise InfrastructureError("the provider answered 529")


_WRONG = {"T-1": _raise, "T-2": _hang, "T-3": lambda: 42, "T-4": _leave}


def tempers(brief: Brief) -> Clerk:
    """Goes wrong in another way for each ticket; 5 and 6 are served."""
    return _Tempers(brief)


class _Offline(Clerk):
    def act(self, observation: Observation) -> object:
        if "T-2" in observation.text and not os.environ.get("KIOSK_ONLINE"):
            _provider_down()
        return super().act(observation)


def offline(brief: Brief) -> Clerk:
    """Its provider is down for one ticket, until KIOSK_ONLINE is set."""
    return _Offline(brief)


class _Killer(Clerk):
    def act(self, observation: Observation) -> object:
        if "T-2" in observation.text:
            os._exit(9)
        return super().act(observation)


def killer(brief: Brief) -> Clerk:
    """Takes its whole process down for one ticket."""
    return _Killer(brief)


class _Stuck(Clerk):
    def act(self, observation: Observation) -> object:
        time.sleep(3600)
        return super().act(observation)


def stuck(brief: Brief) -> Clerk:
    """Never answers."""
    return _Stuck(brief)


class _Hostile(Clerk):
    def act(self, observation: Observation) -> object:
        return Stop(reason="\x1b[31m[bold]red[/bold] :smile: \u202e")


def hostile(brief: Brief) -> Clerk:
    """Says what would drive a careless terminal."""
    return _Hostile(brief)


class _Wordy(Clerk):
    def act(self, observation: Observation) -> object:
        self.moves += 1
        if self.moves == 2:
            return Message(content="y" * 20_000)
        if self.moves > 2:
            return Stop()
        arguments: dict[str, object] = {"ticket_id": "x" * 1000}
        return ToolCalls(calls=(ToolCall(name="get_ticket", arguments=arguments),))


def wordy(brief: Brief) -> Clerk:
    """Calls a tool with a very long argument, and talks even longer."""
    return _Wordy(brief)


def unfinished(brief: Brief) -> Clerk:
    """Needs what is not there."""
    raise KeyError("API_KEY")


def nothing(brief: Brief) -> None:
    """Is no agent."""
