"""Measures what an evaluation costs: ``python -m benchmarks`` from the checkout prints a table.

Times are CPU time of this process (of the child, for whole commands), the median of several
rounds, so that a busy machine disturbs them little. ``--json FILE`` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import commands, detection, episodes, models, storing, tools
from .measure import Figure

GROUPS: dict[str, Callable[[], Iterator[Figure]]] = {
    "commands": commands.figures,
    "episodes": episodes.figures,
    "tools": tools.figures,
    "store": storing.figures,
    "detection": detection.figures,
    "models": models.figures,
}


def main() -> None:
    """Run the chosen groups and print what they measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    console = Console()
    measured: list[Figure] = []
    for name in options.groups or GROUPS:
        table = Table(title=name, title_justify="left")
        for heading in ("what", "measured", "target"):
            table.add_column(heading, justify="left" if heading == "what" else "right")
        for figure in GROUPS[name]():
            measured.append(figure)
            table.add_row(figure.what, figure.shown, figure.target)
        console.print(table)
    console.print(f"Python {platform.python_version()}, {platform.machine()}, SQLite {_sqlite()}")
    if options.json:
        text = json.dumps([figure._asdict() for figure in measured], indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


def _sqlite() -> str:
    import sqlite3

    return sqlite3.sqlite_version


if __name__ == "__main__":
    sys.exit(main())
