"""What several commands share: options, and printing text that somebody else wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..harness.bill import Bill

StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|URL",
        help="Where runs are kept: a file, or a database URL. [default: $PASSHAT_STORE, else "
        "passhat.sqlite here]",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", help="Only tasks with this tag; repeatable.")
]
SplitOption = Annotated[str | None, typer.Option(help="Only tasks of this split.")]
DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="E.g. retail, or module:OBJECT for your own.")
]


def print_json(value: Any) -> None:
    """Print a value as JSON that every parser reads."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def console(*, stderr: bool = False) -> Console:
    """A console that shows text as it is: no highlighting, no markup, no emoji codes."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, stderr=stderr)


def plain_table(*columns: str, wrapped: str = "") -> Table:
    """A table of rows for reading; only the column ``wrapped`` gives way when room is short."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        table.add_column(name, no_wrap=name != wrapped, overflow="fold")
    return table


def show_bill(bill: Bill, out: Console, of: str = "") -> None:
    """Print what was spent on models, if any was; ``of`` says on what."""
    if bill:
        out.print(safe(of and f"\n{of}"), soft_wrap=True)
    for line in bill.lines():
        out.print(safe(line), soft_wrap=True)


def dollars(amount: float) -> str:
    """Money as `harness.bill` writes it."""
    from ..harness.bill import dollars

    return dollars(amount)


def safe(text: object) -> str:
    """Text for the terminal: line breaks stay, whatever could drive a terminal becomes "?"."""
    from ..harness.sources import printable

    return "\n".join(map(printable, str(text).expandtabs(4).splitlines()))


def one_line(text: object, width: int) -> str:
    """The beginning of a text, on one line of at most ``width`` characters."""
    line = " ".join(safe(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def split_commas(values: Iterable[str] | None) -> list[str]:
    """Values of an option that may be repeated, or be a list with commas.

    >>> split_commas(["a,b", "c"])
    ['a', 'b', 'c']
    """
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]
