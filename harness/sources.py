"""Where trials come from: a results file, or a run in the store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..results import Source

SQLITE_MAGIC: Final = b"SQLite format 3\x00"  # https://www.sqlite.org/fileformat.html, section 1.3
FILE_ENDINGS: Final = (".json", ".csv", ".tsv", ".txt")  # no run is called so


def load_source(name: str, store: str | Path | None = None) -> Source:
    """Find the trials that ``name`` means.

    Args:
        name: The path of a results file or folder; otherwise a run in the store, by its id, the
            beginning of its id, or its name.
        store: The store to look for runs in; None is the default one.

    Raises:
        UsageError: There is no such file and no such run, or the file cannot be understood.
    """
    path = Path(name)
    if not path.exists():
        return _run(name, store)
    if is_store(path):
        raise UsageError(
            f"{name!r} is a store, not a run; name a run in it: passhat curve RUN --store {name}"
        )
    from ..recordings.results import read_results

    return Source(printable(path.name), read_results(path))


def _run(name: str, store: str | Path | None) -> Source:
    if Path(name).suffix.lower() in FILE_ENDINGS or "/" in name:
        raise UsageError(f"no such file: {name!r}")
    from .store import open_store

    with open_store(store) as opened:
        return opened.source(opened.find_run(name))


def is_store(path: Path) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error


def printable(text: str) -> str:
    """The text without characters that could drive a terminal; each becomes "?"."""
    return "".join(c if c.isprintable() else "?" for c in text)
