"""Where packs come from when something has to be graded again: a folder of packs, or a clone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..domains.packs import BENCHMARKS, Pack, open_pack, pack_benchmark, pack_names, packs_folder
from ..errors import UsageError
from ..recordings.import_tau2 import domains_folder, read_tau2
from ..recordings.import_taubench import is_tau_bench, read_tau_bench
from ..recordings.importing import Report

Importer = Callable[[Path, str], list[Report]]
IMPORTERS: Mapping[str, Importer] = {"tau-bench": read_tau_bench, "tau2": read_tau2}


@dataclass(frozen=True)
class Shelf:
    """Packs by name, read when they are asked for.

    Attributes:
        where: The folder, for messages.
        benchmarks: Name of each pack, and whose it is.
        opening: How each is read.
    """

    where: Path
    benchmarks: Mapping[str, str]
    opening: Mapping[str, Callable[[], Pack]]

    def names(self, benchmark: str | None = None) -> list[str]:
        """Of all packs, or of those of one benchmark."""
        return [n for n, whose in self.benchmarks.items() if benchmark in (None, whose)]

    def open(self, name: str) -> Pack:
        """Read one pack."""
        return self.opening[name]()


def shelf(where: Path | None = None) -> Shelf:
    """The packs in a folder.

    Args:
        where: A folder of packs, one pack, or a clone of tau-bench or tau2-bench; by default the
            user's folder of packs.

    Raises:
        UsageError: Nothing of that kind is there.
    """
    folder = where or packs_folder()
    if (folder / "pack.json").is_file():
        return _holding(folder, [open_pack(folder)])
    if names := pack_names(folder):
        return Shelf(
            folder,
            {name: pack_benchmark(folder / name) for name in names},
            {name: partial(open_pack, folder / name) for name in names},
        )
    benchmark = _clone_of(folder)
    if benchmark is not None:
        reports = IMPORTERS[benchmark](folder, benchmark)
        return _holding(folder, [report.pack for report in reports if report.pack is not None])
    raise UsageError(
        f"no packs in {str(folder)!r}; passhat import tau-bench CLONE makes them, or name the "
        "clone itself with --packs"
    )


def _clone_of(folder: Path) -> str | None:
    if not folder.is_dir():
        return None
    if is_tau_bench(folder):
        return "tau-bench"
    return "tau2" if domains_folder(folder) is not None else None


def _holding(folder: Path, packs: Sequence[Pack]) -> Shelf:
    benchmarks = {pack.name: pack.benchmark.name for pack in packs}
    opened = {pack.name: pack for pack in packs}
    return Shelf(folder, benchmarks, {name: partial(opened.__getitem__, name) for name in opened})


def importer(benchmark: str, world: Path | None = None) -> tuple[str, Importer]:
    """A benchmark's short name, and how its clones are read.

    Args:
        benchmark: As the user names it.
        world: Of tau2-bench: another clone, for databases that are missing.

    Raises:
        UsageError: Nobody knows it, or its clones are never without databases.
    """
    name = {"tau2-bench": "tau2", "tau1": "tau-bench"}.get(benchmark, benchmark)
    if name not in BENCHMARKS:
        raise UsageError(f"cannot import {benchmark!r}; known are tau-bench and tau2-bench")
    if world is None:
        return name, IMPORTERS[name]
    if name != "tau2":
        raise UsageError(f"--world is for tau2-bench, not for {benchmark!r}")
    return name, partial(read_tau2, world=world)
