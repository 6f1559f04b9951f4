"""`passhat report`: a page from a run, and one line for whatever stands in its way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import new_store

Passhat = Callable[..., Any]
RUN = ("run", "kiosk:DOMAIN", "--agent", "slippery:0.2", "--task", "zone-*", "--seed", "3", "-q")


def test_a_report_is_written_where_one_says(passhat: Passhat, tmp_path: Path) -> None:
    """And its numbers are named as synthetic on the terminal, too."""
    passhat(*RUN, "-k", "2", "--name", "nightly")
    said = passhat("report", "nightly", "-o", "friday.html")
    assert (said.code, said.err) == (0, "")
    assert "nightly (SYNTHETIC agent slippery:0.2)" in said.out
    assert "pass^1 0." in said.out
    assert "friday.html: 0." in said.out
    page = (tmp_path / "friday.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")


def test_report_html_is_where_it_goes_by_itself(passhat: Passhat, tmp_path: Path) -> None:
    """A second report takes the place of the first."""
    passhat(*RUN, "-k", "1")
    assert passhat("report", "last").code == 0
    first = (tmp_path / "report.html").read_bytes()
    assert passhat("report", "last").code == 0
    assert (tmp_path / "report.html").read_bytes() == first


def test_what_cannot_be_reported_is_said_in_one_line(passhat: Passhat, tmp_path: Path) -> None:
    """An unknown run, a run without a scored trial, a file that cannot be written."""
    with new_store(tmp_path) as store:
        run = store.new_run(
            domain="kiosk", agent="x", user="agenda", seed=1, trials=1, tasks=["zone-1"]
        )
    passhat(*RUN, "-k", "1", "--name", "nightly")
    for arguments, why in (
        (("nothing",), "no run 'nothing'"),
        ((run.id,), "has no trial yet"),
        (("nightly", "-o", "nowhere/x.html"), "cannot write 'nowhere/x.html'"),
        (("nightly", "-o", "."), "it is no file"),
    ):
        said = passhat("report", *arguments)
        assert (said.code, said.out) == (2, "")
        assert why in said.err
        assert said.err.count("\n") == 1
