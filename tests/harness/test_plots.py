"""Plots: where points land, what is written beside them, what a terminal or a disk allows."""

import builtins
from pathlib import Path

import pytest

from passhat.errors import UsageError
from passhat.harness.curve import Curve, curve_of
from passhat.harness.plots import ROWS, save_plot, size_of, terminal_plot
from passhat.results import Source, TrialResult


def curve(passes: list[int], n: int, name: str = "example", note: str = "") -> Curve:
    """The curve of tasks with n trials each, of which so many passed."""
    results = [TrialResult(f"t{i}", j, j < c) for i, c in enumerate(passes) for j in range(n)]
    return curve_of(Source(name, results, note))


def test_points_land_on_their_row() -> None:
    """pass^k of 1, 0.5, 0.25: the marks are on the lines with those labels."""
    lines = terminal_plot([curve([4, 4, 0, 0], 4)]).splitlines()
    assert "●" in next(line for line in lines if line.startswith("0.50"))
    perfect = terminal_plot([curve([4] * 12, 4)]).splitlines()
    assert perfect[0].startswith("1.00 ┤")
    assert "●" in perfect[0]
    assert len([line for line in perfect if "┤" in line]) == ROWS


def test_the_plot_names_source_size_and_note() -> None:
    """The numbers behind the curve and what must be known of them stand beneath it."""
    plot = terminal_plot([curve([1, 2], 3, "slippery:0.05", "synthetic agent")])
    assert "slippery:0.05 (2 tasks × 3 trials, synthetic agent)" in plot
    assert size_of(curve([1], 1)) == "1 task × 1 trial"
    named = terminal_plot(
        [curve([1, 2], 3, "retail-20260316-js68", "SYNTHETIC agent slippery:0.05")]
    )
    assert max(map(len, named.splitlines())) <= 81


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("n", [1, 2, 8, 200])
def test_the_plot_keeps_to_its_width(width: int, n: int) -> None:
    """Frame and labels fit, and the last k is always labelled."""
    lines = terminal_plot([curve([0, 1, n], n, "x")], width).splitlines()
    assert max(len(line) for line in lines[: ROWS + 2]) <= width + 1
    assert lines[ROWS + 1].split()[-1] == str(n)


def test_a_plain_terminal_gets_ascii() -> None:
    """Not one character beyond ASCII, the name included."""
    plot = terminal_plot([curve([1, 2], 3, "Läden")], plain=True)
    assert plot.isascii()
    assert "2 tasks x 3 trials" in plot


def test_several_curves_have_a_mark_each() -> None:
    """More curves than marks start over; every name is in the legend."""
    names = [f"agent {i}" for i in range(10)]
    plot = terminal_plot([curve([1, 2, 3], 3, name) for name in names])
    assert all(name in plot for name in names)


def test_nothing_scored_is_said_and_not_drawn() -> None:
    """A plot of nothing would look like zero."""
    nothing = curve_of(Source("x", [TrialResult("a", 0, None, lost="crashed")]))
    assert terminal_plot([nothing]) == "nothing scored, nothing to plot"


def test_a_plot_ends_where_most_tasks_do() -> None:
    """One task with more trials than the rest does not stretch the line."""
    results = [TrialResult(f"t{i}", j, True) for i in range(12) for j in range(2)]
    results += [TrialResult("long", j, True) for j in range(30)]
    labels = terminal_plot([curve_of(Source("x", results))]).splitlines()[ROWS + 1]
    assert labels.split() == ["k", "1", "2"]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_pictures_are_written_in_the_kind_the_name_says(tmp_path: Path, suffix: str) -> None:
    """Equal curves give equal files, whatever the time."""
    pytest.importorskip("matplotlib")
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in (first, second):
        save_plot([curve([1, 2, 3], 4)], path)
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert first.read_bytes().startswith(magic[suffix])
    assert first.read_bytes() == second.read_bytes()


def test_names_with_dollar_signs_are_no_formulas(tmp_path: Path) -> None:
    """A single curve, several, a lone k, and a refused headline all draw."""
    pytest.importorskip("matplotlib")
    lost = curve_of(Source("$\\frac{", [TrialResult("a", i, i == 0 or None) for i in range(3)]))
    for number, curves in enumerate([[lost], [lost, curve([1, 2], 2, "a$b$c", "synthetic")]]):
        save_plot(curves, tmp_path / f"{number}.svg")
        assert (tmp_path / f"{number}.svg").stat().st_size > 1000


def test_another_kind_of_file_is_refused() -> None:
    """The message names the file and the kinds there are."""
    with pytest.raises(UsageError, match=r"'curve\.gif'.*\.png, \.svg or \.pdf"):
        save_plot([curve([1], 1)], Path("curve.gif"))


def test_a_folder_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    """The system's own words, and the path."""
    pytest.importorskip("matplotlib")
    with pytest.raises(UsageError, match=r"cannot write .*No such file or directory"):
        save_plot([curve([1], 1)], tmp_path / "none" / "a.png")


def test_without_matplotlib_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The plot extra is optional."""
    real = builtins.__import__

    def missing(name: str, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=r"pip install 'passhat\[plot\]'"):
        save_plot([curve([1], 1)], Path("a.png"))
