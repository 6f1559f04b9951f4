"""A tiny domain for tests: a library with books and loans, and every kind of tool."""

from datetime import datetime
from types import SimpleNamespace

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    select,
    update,
)

from passhat.domains.database import Database
from passhat.domains.domain import Domain
from passhat.domains.tool import tool, tools_in
from passhat.domains.world import World
from passhat.errors import ToolError
from passhat.task import Task

METADATA = MetaData()
MEMBERS = Table(
    "members",
    METADATA,
    Column("member_id", Text, primary_key=True),
    Column("email", Text, nullable=False),
    Column("fines", Float, nullable=False),
)
LOANS = Table(
    "loans",
    METADATA,
    Column("loan_id", Text, primary_key=True),
    Column("member_id", Text, ForeignKey("members.member_id"), nullable=False),
    Column("title", Text, nullable=False),
    Column("due_on", Text, nullable=False),
    Column("renewals", Integer, nullable=False),
    Column("note", Text, info={"compare": False}),
)
EVENTS = Table(
    "events",
    METADATA,
    Column("number", Integer, primary_key=True, info={"compare": False}),
    Column("loan_id", Text, nullable=False),
    Column("what", Text, nullable=False),
)

ROWS = {
    "members": [
        {"member_id": "M-1", "email": "cleo@example.com", "fines": 0.1},
        {"member_id": "M-2", "email": "pancakes@example.com", "fines": 0.0},
    ],
    "loans": [
        {
            "loan_id": f"L-{n}",
            "member_id": "M-1",
            "title": title,
            "due_on": "2026-03-20",
            "renewals": 0,
            "note": None,
        }
        for n, title in enumerate(("Emma", "Dune"), start=1)
    ],
}

_LOAN = select(LOANS).where(LOANS.c.loan_id == bindparam("loan_id"))
_RENEW = (
    update(LOANS)
    .where(LOANS.c.loan_id == bindparam("id"))
    .values(due_on=bindparam("due_on"), renewals=LOANS.c.renewals + 1)
)
_EVENT = insert(EVENTS).values(loan_id=bindparam("loan_id"), what=bindparam("what"))


@tool()
def find_loan(db: Database, loan_id: str) -> dict[str, object]:
    """Look a loan up.

    Args:
        loan_id: As printed on the slip, e.g. "L-1".
    """
    row = db.row(_LOAN, loan_id=loan_id)
    if row is None:
        raise ToolError(f"no loan {loan_id!r}")
    return {name: row[name] for name in row.keys() if name != "note"}  # noqa: SIM118


@tool(writes=True)
def renew_loan(db: Database, loan_id: str, due_on: str) -> str:
    """Give a member more time with a book.

    Args:
        loan_id: As printed on the slip.
        due_on: The new date, YYYY-MM-DD.
    """
    db.write(_EVENT, loan_id=loan_id, what="renewed")
    if not db.write(_RENEW, id=loan_id, due_on=due_on):
        raise ToolError(f"no loan {loan_id!r}")
    return f"due {due_on}"


@tool(writes=True)
def pay_fine(db: Database, cents: int) -> str:
    """Pay what is owed.

    Args:
        cents: How much.
    """
    db.set_values("members", {"member_id": "M-1"}, {"fines": cents})
    return "thank you"


@tool()
def sneaky_read(db: Database) -> str:
    """Says it reads, and writes."""
    db.write(_EVENT, loan_id="L-1", what="seen")
    return "seen"


@tool(writes=True)
def break_down(db: Database) -> str:
    """Write something, then crash."""
    db.write(_EVENT, loan_id="L-1", what="half")
    raise ZeroDivisionError("oh no")


@tool(hands_over=True)
def fetch_librarian(db: Database, summary: str) -> str:
    """Hand over to a person."""
    return "A librarian takes over"


TOOLS = tools_in(
    SimpleNamespace(  # type: ignore[arg-type]
        a=find_loan, b=renew_loan, c=sneaky_read, d=break_down, e=fetch_librarian, f=pay_fine
    )
)


def profile(db: Database, member_id: str) -> dict[str, str]:
    """What a member knows about themselves."""
    return {"user id": member_id, "email": db.find("members", {"member_id": member_id})[0]["email"]}


RENEWAL = Task.model_validate(
    {
        "id": "renew-emma",
        "domain": "library",
        "user": {
            "customer": "M-1",
            "goals": [
                {
                    "ask": "Please renew my loan L-1 until 2026-04-01.",
                    "check": {"date": "2026-04-01"},
                }
            ],
        },
        "expect": {
            "outcomes": [
                {
                    "actions": [
                        {
                            "name": "renew_loan",
                            "arguments": {"loan_id": "L-1", "due_on": "2026-04-01"},
                        }
                    ]
                }
            ]
        },
    }
)


def make_library(**tasks: Task) -> Domain:
    """A fresh library with a world of its own, one task, and no policy rules."""
    domain = Domain("library", METADATA, TOOLS, profile)
    vars(domain).update(
        world=World(METADATA, ROWS, datetime(2026, 3, 16, 10)),
        policy="# Library\n\nBe kind.\n",
        tasks={RENEWAL.id: RENEWAL, **{task.id: task for task in tasks.values()}},
    )
    return domain
