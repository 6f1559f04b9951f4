"""`passhat report`: one run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .common import StoreOption, console


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help='Its id, its name, or "last".')],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")
    ] = Path("report.html"),
    store: StoreOption = None,
) -> None:
    """Write a run as one HTML file: curves, why trials fail, and the failing conversations.

    The file needs no network and runs no script. It takes the place of an older one only when all
    of it is written.

    For example:
        passhat report last

        passhat report retail-20260316-js68 -o friday.html
    """
    from ..harness.report import write_report
    from ..harness.store import open_store

    with open_store(store) as opened:
        written = write_report(opened, opened.find_run(run), output)
    found, out = written.digest, console()
    note = f" ({found.curve.note})" if found.curve.note else ""
    out.print(f"{found.curve.name}{note}", style="bold", soft_wrap=True)
    out.print(f"  {found.headline}", soft_wrap=True)
    out.print(
        f"  {written.path}: {written.size / 1e6:.1f} MB, {len(found.failures)} failing trials, "
        f"{written.inside} of them with their conversation",
        soft_wrap=True,
    )
