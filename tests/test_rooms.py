"""The arrangement of the code: rooms are linked folders, and none imports what stands above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "passhat"
ROOMS = sorted(entry.name for entry in PACKAGE.iterdir() if entry.is_symlink())
VOCABULARY = {"errors", "language", "plugins", "results", "task", "transcript"}

BELOW_ENVS = {"agents", "domains", "grading", "models", "policies", "simulator"}
MAY_IMPORT = {
    "data": set(),
    "domains": set(),
    "policies": set(),
    "models": set(),
    "simulator": {"models"},
    "agents": {"models"},
    "grading": {"domains", "policies"},
    "recordings": {"domains"},
    "envs": BELOW_ENVS,
    "harness": BELOW_ENVS | {"envs", "recordings"},
    "viewer": BELOW_ENVS | {"envs", "recordings", "harness"},
}


def imports(file: Path, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """What a file takes from this package: line, and the first name below ``passhat``.

    Args:
        file: A Python file.
        package: Names of the packages it is in, e.g. ("passhat", "domains", "retail").
    """
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            target = [*start, *(node.module or "").split(".")] if node.module else [*start]
            names = [*target[1:]] or [alias.name for alias in node.names]
            if target[0] == "passhat":
                yield from ((node.lineno, name) for name in names[: 1 if target[1:] else None])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("passhat."):
                    yield node.lineno, alias.name.split(".")[1]


def wrong_imports(room: str) -> list[str]:
    """Every import of a room that the table does not allow, as "file:line imports name"."""
    allowed = MAY_IMPORT[room] | VOCABULARY | {room}
    return [
        f"{file.relative_to(ROOT)}:{line} imports {name}"
        for file in sorted((ROOT / room).rglob("*.py"))
        for line, name in imports(file, ("passhat", *file.relative_to(ROOT).parent.parts))
        if name not in allowed
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_a_link_to_the_folder_of_its_name(room: str) -> None:
    """The package and the folder that people open are one."""
    assert (PACKAGE / room).readlink() == Path("../..", room)
    assert (ROOT / room / "__init__.py").is_file()


def test_every_package_at_the_top_is_linked() -> None:
    """A folder that is forgotten would work in no import."""
    packages = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "benchmarks"} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_what_stands_above_it(room: str) -> None:
    """The table of rooms is the order in which the code can be read."""
    assert wrong_imports(room) == []


def test_the_vocabulary_imports_no_room() -> None:
    """The words that every room shares rest on nothing."""
    taken = {
        name for word in VOCABULARY for _, name in imports(PACKAGE / f"{word}.py", ("passhat",))
    }
    assert taken <= VOCABULARY


def test_an_upward_import_is_seen(tmp_path: Path) -> None:
    """Relative, absolute and whole-module imports are all recognised."""
    file = tmp_path / "sample.py"
    file.write_text(
        "from ...harness.store import Store\n"
        "from passhat.envs import Episode\n"
        "import passhat.cli.main\n"
        "from ... import viewer, task\n"
        "from . import tables\n"
        "from os import path\n"
    )
    found = list(imports(file, ("passhat", "domains", "retail")))
    assert found == [
        (1, "harness"),
        (2, "envs"),
        (3, "cli"),
        (4, "viewer"),
        (4, "task"),
        (5, "domains"),
    ]
