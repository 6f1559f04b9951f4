"""Making worlds up: what the generators of all domains share.

A generator draws everything from one random generator, so that the same seed gives the same bytes.
"""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import yaml
from sqlalchemy import MetaData

Row = dict[str, Any]
Rows = dict[str, list[Row]]

_PACKAGE = __package__.rpartition(".")[0]
# Letters that Unicode does not take apart into a base letter and an accent.
_BASE_LETTERS = str.maketrans("ŁłØøÆæ", "LlOoAa")


class Draft:
    """A world while it is being made up; ``rows`` grows table by table.

    Args:
        seed: Decides everything that chance decides.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a world to play in, no secret
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.taken: set[str] = set()

    def add(self, table: str, **values: Any) -> None:
        """Add a row."""
        self.rows[table].append(values)

    def weighted(self, weights: dict[Any, int]) -> Any:
        """One of the keys; each as often as its weight says."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def chance(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.random.random() < probability

    def finished(self, tables: MetaData) -> Rows:
        """All rows, by table name, each table sorted by its primary key, every column there."""
        return {
            table.name: [
                {column.name: row.get(column.name) for column in table.columns}
                for row in sorted(
                    self.rows[table.name], key=lambda row: [row[c.name] for c in table.primary_key]
                )
            ]
            for table in tables.sorted_tables
        }


def data_folder(domain: str) -> Path:
    """Where a checkout keeps the data of a domain."""
    return Path(__file__).resolve().parents[1] / "data" / domain


@cache
def source_words(domain: str, name: str) -> Any:
    """The words in ``data/<domain>/sources/<name>.yaml``."""
    file = files(_PACKAGE) / "data" / domain / "sources" / f"{name}.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def write_rows(folder: Path, rows: Rows, about: dict[str, Any]) -> None:
    """Write ``world.json``, which says what is about the world, and ``world/<table>.jsonl``."""
    (folder / "world").mkdir(parents=True, exist_ok=True)
    (folder / "world.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    for table, lines in rows.items():
        (folder / "world" / f"{table}.jsonl").write_text(as_lines(lines), encoding="utf-8")


def as_lines(rows: list[Row]) -> str:
    r"""Rows as they stand in a file: one compact JSON object a line.

    >>> as_lines([{"a": 1, "b": "é"}, {"a": 2, "b": None}])
    '{"a":1,"b":"é"}\n{"a":2,"b":null}\n'
    """
    return "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    )


def plain_letters(name: str) -> str:
    """The name in lower-case ASCII letters.

    >>> plain_letters("O'Rourke"), plain_letters("Łukasz Øst")
    ('orourke', 'lukaszost')
    """
    apart = unicodedata.normalize("NFKD", name.translate(_BASE_LETTERS))
    return "".join(letter for letter in apart if letter.isascii() and letter.isalpha()).lower()
