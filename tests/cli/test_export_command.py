"""`passhat export`, as typed."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from passhat.cli.export import export
from passhat.errors import UsageError
from passhat.harness.attempt import Conditions
from passhat.harness.run import Plan, start_run
from passhat.harness.store import open_store


class Silent:
    """A watcher that says nothing."""

    def begin(self, run: object, owed: int) -> None:
        """Nothing."""

    def finished(self, trial: object) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


def run(*words: object) -> str:
    """What the command prints; what it raises is raised here."""
    app = typer.Typer()
    app.command()(export)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run of one task, twice."""
    from kiosk import TASKS

    file = tmp_path / "store.sqlite"
    with open_store(file, create=True) as opened:
        plan = Plan(Conditions("kiosk:DOMAIN", "reference"), TASKS[:1], 2, 1, None)
        start_run(opened, plan, Silent())
    return file


@pytest.mark.parametrize("format_name", ["tau2", "tau-bench"])
def test_a_run_is_written_to_a_file(store: Path, tmp_path: Path, format_name: str) -> None:
    """And the command says how many trials are in it."""
    file = tmp_path / "run.json"
    out = run("last", file, "--as", format_name, "--store", store)
    assert out == f"2 trials written to {file}\n"
    written = json.loads(file.read_text())
    records = written["simulations"] if format_name == "tau2" else written
    assert [record["trial"] for record in records] == [0, 1]


def test_a_run_that_is_not_there_is_refused(store: Path, tmp_path: Path) -> None:
    """In one line."""
    with pytest.raises(UsageError, match="no run 'first'"):
        run("first", tmp_path / "run.json", "--store", store)
