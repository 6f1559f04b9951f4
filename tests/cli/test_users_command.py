"""Who can play the customer, as the command line lists it."""

import json
from collections.abc import Callable
from typing import Any

Passhat = Callable[..., Any]


def test_users_are_listed_with_the_ways_a_model_can_play(passhat: Passhat) -> None:
    """Every user, strategy and style stands in the table, and in the JSON with what it is."""
    listed = json.loads(passhat("users", "--json").out)
    table = passhat("users").out
    assert {"agenda", "claude:MODEL"} <= {entry["spec"] for entry in listed["users"]}
    assert all(entry["spec"] in table for entry in listed["users"])
    assert list(listed["strategies"]) == ["plain", "think", "verify", "reflect"]
    assert f"strategy={'|'.join(listed['strategies'])}" in table
    assert f"style={'|'.join(listed['styles'])}" in table
    assert "hurry" in listed["styles"]["impatient"]
