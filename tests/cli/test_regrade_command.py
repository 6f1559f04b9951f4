"""`passhat import` and `passhat regrade`, as typed."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from passhat.cli.importing import import_
from passhat.cli.regrade import regrade
from passhat.domains.packs import load_pack
from passhat.errors import UsageError

from ..clones import cancelling, pack, tau2_clone, tau_bench_clone


def run(*words: object) -> Result:
    """What a command does; what it raises is raised here."""
    app = typer.Typer()
    app.command("import")(import_)
    app.command()(regrade)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of tau-bench, and a folder of packs that is empty."""
    monkeypatch.setenv("PASSHAT_PACKS", str(tmp_path / "packs"))
    return tau_bench_clone(tmp_path / "clone")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A file of results: one that passed, one that did nothing and says it passed, one crash."""
    shop = pack(tmp_path / "other", "retail@tau-bench")
    idle = cancelling(shop, trial=1)
    del idle["traj"][2:4]
    crash: dict[str, Any] = {"task_id": 0, "trial": 2, "reward": 0.0, "info": {}, "traj": []}
    file = tmp_path / "results.json"
    file.write_text(json.dumps([cancelling(shop), idle, crash]))
    return file


def test_import_reports_what_it_read(clone: Path, tmp_path: Path) -> None:
    """Per domain: the pack and where it is, what was read, what is missing."""
    lines = run("import", "tau-bench", clone).stdout.splitlines()
    assert lines[0] == f"airline: airline@tau-bench, in {tmp_path / 'packs' / 'airline@tau-bench'}"
    assert lines[2] == "  missing: tau_bench/envs/airline/tasks_*.py"
    assert lines[4] == "  read: 3 orders, 1 products, 2 users, 2 tasks of split 'test'"


def test_import_goes_where_it_is_told(tmp_path: Path) -> None:
    """Under the label it is given; --json has the report."""
    clone = tau2_clone(tmp_path / "clone")
    out = run(
        "import", "tau2-bench", clone, "--into", tmp_path / "in", "--label", "new", "--json"
    ).stdout
    packs = {entry["domain"]: entry["pack"] for entry in json.loads(out)}
    assert packs == {"airline": "airline@new", "retail": "retail@new", "zoo": None}
    assert (tmp_path / "in" / "retail@new" / "pack.json").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tau-bench", "nowhere"], "is no clone of tau-bench"),
        (["tau2-bench", "nowhere"], "is no clone of tau2-bench"),
        (["tau9", "nowhere"], "cannot import 'tau9'"),
    ],
)
def test_import_refuses_what_is_no_clone(words: list[str], message: str) -> None:
    """In one line."""
    with pytest.raises(UsageError, match=message):
        run("import", *words)


def test_corrected_tasks_are_played_in_the_world_of_another_clone(tmp_path: Path) -> None:
    """They come without databases; their own tasks and policy are read all the same."""
    whole, corrected = tau2_clone(tmp_path / "whole"), tau2_clone(tmp_path / "corrected")
    for database in corrected.rglob("db.json"):
        database.unlink()
    with pytest.raises(UsageError, match=r"db\.json; --world names a clone that has them"):
        run("import", "tau2-bench", corrected)
    with pytest.raises(UsageError, match="--world is for tau2-bench, not for 'tau-bench'"):
        run("import", "tau-bench", corrected, "--world", whole)
    (policy,) = corrected.rglob("retail/policy.md")
    policy.write_text("Be kinder.")
    packs = tmp_path / "packs"
    words = ["--world", whole, "--label", "corrected", "--into", packs]
    out = run("import", "tau2-bench", corrected, *words).stdout
    assert "missing" not in out
    made = load_pack("retail@corrected", packs)
    assert made.policy == "Be kinder."
    assert made.tasks
    assert made.sections == pack(tmp_path / "other", "retail@tau2").sections


def test_regrade_shows_tallies_curves_and_differences(clone: Path, results: Path) -> None:
    """And the rows that explain a difference."""
    run("import", "tau-bench", clone)
    out = run("regrade", results, "--trials").stdout
    assert "tool outputs   1 of 1 equal" in out
    assert "3 trials, 2 graded again, 1 lost" in out
    assert "results.json, carried out again in retail@tau-bench" in out
    assert "graded again" in out


def test_regrade_as_json(clone: Path, results: Path) -> None:
    """With a clone in the place of packs."""
    shown = json.loads(run("regrade", results, "--packs", clone, "--json").stdout)
    assert shown["outputs"] == {"equal": 1, "total": 1}
    assert shown["state_hashes"] == {"equal": 2, "total": 2}
    assert set(shown["rewards"]) == {"equal", "total"}
    assert shown["pass_hat"]["1"]["tasks"] == 1
    assert [trial["recorded"] for trial in shown["trials"]] == [True, True, None]


def test_regrade_by_our_own_rule(clone: Path, results: Path) -> None:
    """The one that did nothing fails, and the difference says which row is not right."""
    words = ("regrade", results, "--packs", clone, "--basis", "default")
    shown = json.loads(run(*words, "--json").stdout)
    (difference,) = shown["differences"]
    assert difference["kind"] == "reward"
    assert "orders[#W1].status: expected 'cancelled', found 'pending'" in difference["because"]
    assert "policy rules are not checked" in shown["notes"][0]
    out = run(*words).stdout
    assert "because  orders[#W1].status: expected 'cancelled', found 'pending'" in out


def test_regrade_without_packs_says_how_to_get_them(clone: Path, results: Path) -> None:
    """In one line."""
    with pytest.raises(UsageError, match="passhat import tau-bench CLONE"):
        run("regrade", results)
