"""What a customer of the airline knows about themselves."""

from __future__ import annotations

from ...errors import TaskError
from ..database import Database
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
    lines = (row["address1"], row["address2"], row["city"], f"{row['state']} {row['zip']}")
    return {
        "user id": customer,
        "name": f"{row['first_name']} {row['last_name']}",
        "first name": row["first_name"],
        "last name": row["last_name"],
        "email": row["email"],
        "date of birth": row["dob"],
        "zip": row["zip"],
        "address": ", ".join(line for line in lines if line),
        "membership": row["membership"],
    }
