"""What a customer of the airline knows about themselves."""

from __future__ import annotations

from ...errors import TaskError
from ..database import Database
from ..people import who
from . import queries as q


def profile(db: Database, customer: str) -> dict[str, str]:
    """Topics in plain words, and what this customer answers when asked about them.

    Args:
        db: The episode's rows.
        customer: User id.

    Raises:
        TaskError: The airline has no such customer.
    """
    row = db.row(q.CUSTOMER, user_id=customer)
    if row is None:
        raise TaskError(f"no customer {customer!r} of the airline; ids look like 'ana_silva_4471'")
    return who(row, customer) | {"date of birth": row["dob"], "membership": row["membership"]}
