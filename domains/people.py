"""What a customer of any business knows about themselves."""

from __future__ import annotations

from sqlite3 import Row


def who(row: Row, user_id: str) -> dict[str, str]:
    """Topics in plain words, and what this person answers when asked about them.

    Args:
        row: Name, e-mail and address lines, by the usual column names.
        user_id: The customer's id.
    """
    lines = (row["address1"], row["address2"], row["city"], f"{row['state']} {row['zip']}")
    return {
        "user id": user_id,
        "name": f"{row['first_name']} {row['last_name']}",
        "first name": row["first_name"],
        "last name": row["last_name"],
        "email": row["email"],
        "zip": row["zip"],
        "address": ", ".join(line for line in lines if line),
    }
