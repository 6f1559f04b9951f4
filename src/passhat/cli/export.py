"""`passhat export`: a run as a results file that another benchmark's tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import StoreOption


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help='Its id, its name, or "last".')],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write, e.g. run.json.")],
    format_name: Annotated[
        str, typer.Option("--as", metavar="FORMAT", help="tau-bench or tau2.")
    ] = "tau2",
    store: StoreOption = None,
) -> None:
    """Write a run as a results file of tau-bench or tau2-bench.

    Lost trials are left out: those formats know no loss, and would count a failure.

    For example:
        passhat export last run.json

        passhat export last run.json --as tau-bench
    """
    from ..harness.exporting import export_run
    from ..harness.store import open_store

    with open_store(store) as opened:
        written, left_out = export_run(opened, opened.find_run(run), format_name, file)
    lost = f"; {left_out} lost or unplayed trials are not in it" if left_out else ""
    typer.echo(f"{written} trials written to {file}{lost}")
