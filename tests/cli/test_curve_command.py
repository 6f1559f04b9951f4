"""`passhat curve`, as typed."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from passhat.cli.curve import curve
from passhat.errors import UsageError

EIGHT_BY_FIVE = "\n".join(
    ",".join(str(int(j < c)) for j in range(5)) for c in (5, 5, 4, 4, 3, 2, 1, 0)
)


def run(*words: object) -> str:
    """What the command prints; what it raises is raised here."""
    app = typer.Typer()
    app.command()(curve)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    """The eight-by-five matrix as a file."""
    file = tmp_path / "matrix.csv"
    file.write_text(EIGHT_BY_FIVE)
    return file


def test_the_report_holds_headline_plot_tables_and_tasks(matrix: Path) -> None:
    """What a person wants to see, from top to bottom."""
    shown = run(matrix)
    assert "pass^1 0.600 [" in shown
    assert "40 trials planned, 40 scored, 0 lost" in shown
    assert "all of k trials pass" in shown
    assert "0.812 [" in shown
    assert "nobody passes: 1 of 8 tasks: row 8" in shown
    assert "everybody passes: 2 of 8 tasks: row 1, row 2" in shown


def test_json_is_one_object_for_one_source_and_a_list_for_several(matrix: Path) -> None:
    """And nothing but JSON on stdout."""
    one = json.loads(run(matrix, "--json"))
    assert one["pass_hat"]["5"]["value"] == 0.25
    assert one["pass_at"]["3"]["value"] == 0.8125
    assert (one["tasks"], one["planned"], one["scored"], one["lost"]) == (8, 40, 40, 0)
    both = json.loads(run(matrix, matrix, "--json"))
    assert [c["pass_hat"] for c in both] == [one["pass_hat"]] * 2


def test_several_sources_stand_side_by_side(matrix: Path, tmp_path: Path) -> None:
    """One row each; a source about other tasks is warned of."""
    other = tmp_path / "other.json"
    other.write_text('{"elsewhere [b]": [1, 0, null]}')
    shown = run(matrix, other)
    assert "not the same tasks as in 'matrix.csv': 'other.json'" in " ".join(shown.split())
    assert "other.json *" in shown


def test_options_reach_the_numbers(matrix: Path) -> None:
    """The last k, the confidence and the seed."""
    one = json.loads(run(matrix, "--json", "-k", 2, "--confidence", 0.8, "--seed", 4))
    assert list(one["pass_hat"]) == ["1", "2"]
    assert (one["confidence"], one["seed"]) == (0.8, 4)


def test_the_plot_is_saved_where_asked(matrix: Path, tmp_path: Path) -> None:
    """And the report says so."""
    pytest.importorskip("matplotlib")
    assert "plot saved to" in run(matrix, "--plot", tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").exists()


def test_many_tasks_are_summed_up_unless_asked_for(tmp_path: Path) -> None:
    """Thirty tasks: how many passed how often; with --tasks every one."""
    file = tmp_path / "many.json"
    file.write_text(json.dumps({f"task [{i}]": [1, i % 2] for i in range(30)}))
    assert "1 of 2" in run(file)
    assert "task [29]" not in run(file)
    assert "task [29]" in run(file, "--tasks")


def test_losses_are_told_with_their_reason(tmp_path: Path) -> None:
    """No headline, the reason, and marked numbers."""
    file = tmp_path / "lossy.json"
    file.write_text('{"a": [1, null, null], "b": [1, 1, "\\u001b[2J"]}')
    shown = run(file)
    assert "no headline" in shown
    assert "lost: 2 x no grade recorded" in shown
    assert "pass^k *" in shown
    assert "\x1b" not in shown


def test_a_file_that_is_not_there_is_one_line() -> None:
    """No store is opened, or made, for what is clearly a file's name."""
    with pytest.raises(UsageError, match=r"no such file: 'nowhere\.json'"):
        run("nowhere.json")


def test_a_store_is_not_a_run(tmp_path: Path) -> None:
    """The message shows how to name a run in it."""
    store = tmp_path / "some.db"
    store.write_bytes(b"SQLite format 3\x00rest")
    with pytest.raises(UsageError, match="is a store, not a run"):
        run(store)
