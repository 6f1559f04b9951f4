"""`passhat import`: worlds, policies and tasks of other benchmarks, from a user's own clone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import JsonOption, print_json, safe

if TYPE_CHECKING:
    from ..recordings.importing import Report


def import_(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="tau-bench or tau2-bench.")],
    clone: Annotated[Path, typer.Argument(metavar="DIR", help="Your clone of its repository.")],
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where packs are kept. [default: $PASSHAT_PACKS, else your data folder]",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help='What stands behind the "@" of the packs\' names, to keep versions apart.'
        ),
    ] = None,
    world: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Of tau2-bench: a clone with the databases, if DIR has only tasks."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read a clone of another benchmark: every domain that can be read becomes a pack.

    A pack (retail@tau-bench, airline@tau2 ...) is a domain like any other, with the benchmark's
    data, policy and tasks, and tools that behave as its own do. Nothing of the clone is executed.

    For example:
        passhat import tau-bench ~/tau-bench

        passhat import tau2-bench ~/tau2-bench --into packs

        passhat import tau-bench ~/tau-bench-2024 --label tau-bench-2024

        passhat import tau2-bench ~/corrected-tasks --world ~/tau2-bench --label corrected
    """
    from ..domains.packs import packs_folder, save_pack
    from ..errors import UsageError
    from ..harness.shelf import importer

    name, read = importer(benchmark, world)
    reports = read(clone, label or name)
    if not any(report.pack for report in reports):
        missing = [line for report in reports for line in report.missing]
        hint = "; --world names a clone that has them" if name == "tau2" and world is None else ""
        raise UsageError(
            f"no world in {str(clone)!r}"
            + (f"; missing: {', '.join(missing)}{hint}" if missing else "")
        )
    folders = {
        report.domain: save_pack(report.pack, into or packs_folder())
        for report in reports
        if report.pack is not None
    }
    if as_json:
        print_json([r.to_json() | {"folder": _text(folders.get(r.domain))} for r in reports])
        return
    for report in reports:
        _show(report, folders.get(report.domain))


def _text(folder: Path | None) -> str | None:
    return None if folder is None else str(folder)


def _show(report: Report, folder: Path | None) -> None:
    made = f"{report.pack.name}, in {folder}" if report.pack else "no pack"
    typer.echo(safe(f"{report.domain}: {made}"))
    for heading, lines in (
        ("read", report.read),
        ("missing", report.missing),
        ("not understood", report.not_understood),
    ):
        if lines:
            typer.echo(safe(f"  {heading}: {', '.join(lines)}"))
