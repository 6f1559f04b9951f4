"""`passhat reliability`, as typed."""

import json

import pytest
import typer
from typer.testing import CliRunner

from passhat.cli.reliability import reliability
from passhat.errors import UsageError


def run(words: str) -> str:
    """What the command prints; what it raises is raised here."""
    app = typer.Typer()
    app.command()(reliability)
    return CliRunner().invoke(app, words.split(), catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("--step 0.99 --steps 20", "20 steps of 0.99 all succeed with chance 0.8179"),
        ("--target 0.9 --steps 20", "0.9 over 20 steps needs steps of 0.9948"),
        ("--step 0.99 --target 0.9", "steps of 0.99 reach 0.9 over at most 10 steps"),
        ("--step 1 --target 0.9", "over any number of steps"),
        (
            "--step 0.95 --steps 20 --retries 2 --sensitivity 0.9 --specificity 0.95",
            "wrong and unnoticed 0.0055",
        ),
        ("--target 0.9 --steps 20 --retries 1 --specificity 0.95", "out of reach"),
    ],
)
def test_the_missing_one_of_three_is_answered(words: str, answer: str) -> None:
    """The answer first, then the table for other lengths."""
    shown = run(words)
    assert answer in shown
    assert "100" in shown


def test_json_holds_all_three_and_what_becomes_of_a_step() -> None:
    """One object; no limit is null."""
    one = json.loads(run("--target 0.9 --steps 20 --json"))
    assert one["solved"] == "step"
    assert one["step"] == pytest.approx(0.994746, abs=1e-6)
    assert {"right", "wrong", "given_up", "attempts", "retries"} <= one.keys()
    assert json.loads(run("--step 1 --target 0.9 --json"))["steps"] is None


@pytest.mark.parametrize("words", ["", "--step 0.9", "--step 0.9 --steps 3 --target 0.5"])
def test_not_exactly_two_of_three_is_refused(words: str) -> None:
    """With an example of what to type."""
    with pytest.raises(UsageError, match=r"--step 0\.99 --steps 20"):
        run(words)
