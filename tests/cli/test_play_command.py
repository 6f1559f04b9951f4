"""`passhat play`: a person at the keyboard, here a pipe."""

import io
from collections.abc import Callable
from typing import Any

import pytest

Passhat = Callable[..., Any]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lines that a person will write."""
    return lambda *lines: monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))


def test_a_person_plays_the_agent(passhat: Passhat, typed: Callable[..., None]) -> None:
    """Tools, mistakes and all; the end is graded."""
    typed(
        "/help",
        "/tools",
        "/tools change_zone",
        "/policy",
        "/call get_ticket {",
        "/call get_ticket [1]",
        '/call get_ticket {"ticket_id": "T-1"}',
        "I will change ticket T-1 to zone Z2. Do you confirm (yes/no)?",
        '/call change_zone {"ticket_id": "T-1", "zone": "Z2"}',
        "Done: ticket T-1 is now valid in zone Z2.",
    )
    said = passhat("play", "kiosk:DOMAIN")
    assert (said.code, said.err) == (0, "")
    for part in (
        "change_zone(ticket_id, zone): Make a ticket valid in another zone.",
        '"name": "change_zone"',
        "Ask before you change a ticket.",
        "not JSON",
        "arguments are an object",
        'result of get_ticket: {"ticket_id": "T-1"',
        "zone-1: passed",
    ):
        assert part in said.out


def test_a_person_who_leaves_has_failed(passhat: Passhat, typed: Callable[..., None]) -> None:
    """/quit and the end of the input both end the conversation."""
    for lines in (["/quit", "never read"], []):
        typed(*lines)
        said = passhat("play", "kiosk:DOMAIN", "--task", "zone-2")
        assert said.code == 0
        assert "agent stop the person left" in said.out
        assert "zone-2: failed" in said.out


def test_a_person_plays_the_customer(passhat: Passhat, typed: Callable[..., None]) -> None:
    """The script is shown, inventions are turned down, the agent's calls can be followed."""
    typed(
        "/script",
        "/nonsense",
        "Please change ticket T-1 and order #W1234567.",
        "Please make my ticket T-1 valid in zone Z2.",
        "Yes, please.",
        "/done",
    )
    said = passhat("play", "kiosk:DOMAIN", "--as", "user", "--agent", "python:kiosk:careful")
    assert (said.code, said.err) == (0, "")
    assert "that is not in your script: invented '#w1234567'" in said.out
    assert 'change_zone {"ticket_id": "T-1", "zone": "Z2"}' in said.out
    assert "zone-1: passed" in said.out


def test_a_customer_may_give_up(passhat: Passhat, typed: Callable[..., None]) -> None:
    """That ends it."""
    typed("/quit")
    said = passhat("play", "kiosk:DOMAIN", "--as", "user", "--agent", "python:kiosk:careful")
    assert "zone-1: failed" in said.out
