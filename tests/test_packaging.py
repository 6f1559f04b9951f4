"""The wheel is complete, and works in an environment that knows nothing of the checkout."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOT_SHIPPED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
NO_INDEX = ("connection broken", "Could not fetch URL", "Failed to establish a new connection")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command away from the checkout, without what this process knows of Python paths."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True
    )


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a "wheel" or an "sdist" with the installed setuptools: no index is asked."""
    built = run(
        sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "-o", into, source, cwd=into
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return max(into.glob("passhat-*"), key=lambda file: file.stat().st_mtime_ns)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, so that no earlier build leaks into the wheel."""
    copy = tmp_path_factory.mktemp("checkout") / "passhat"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_SHIPPED)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would be published."""
    return build("wheel", checkout, tmp_path_factory.mktemp("wheel"))


def shipped(archive: Path) -> set[str]:
    """The package's files in a wheel, relative to the package."""
    names = zipfile.ZipFile(archive).namelist()
    return {name.removeprefix("passhat/") for name in names if name.startswith("passhat/")}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(checkout: Path, wheel: Path) -> None:
    """Rows, tasks and policies too, and nothing besides."""
    package = checkout / "src" / "passhat"
    files = {
        str(Path(folder, name).relative_to(package))
        for folder, _, names in os.walk(package, followlinks=True)
        for name in names
    }
    assert shipped(wheel) == files


@pytest.mark.slow
def test_a_source_archive_builds_the_same_wheel(
    checkout: Path, wheel: Path, tmp_path: Path
) -> None:
    """Its links have become folders, and no file was lost on the way."""
    archive = build("sdist", checkout, tmp_path)
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert shipped(build("wheel", source, tmp_path)) == shipped(wheel)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The passhat command of a new environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    made = run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    assert made.returncode == 0, made.stderr
    python = folder / "venv" / "bin" / "python"
    constraints = ("--constraint", ROOT / "constraints.txt")
    added = run(python, "-m", "pip", "install", "--quiet", *constraints, wheel, cwd=folder)
    if added.returncode and any(sign in added.stdout + added.stderr for sign in NO_INDEX):
        pytest.skip("the package index cannot be reached")
    assert added.returncode == 0, added.stderr
    return folder / "venv" / "bin" / "passhat"


@pytest.mark.slow
def test_the_installed_command_explains_itself(installed: Path, tmp_path: Path) -> None:
    """Help needs neither the checkout nor a store."""
    asked = run(installed, "--help", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    assert "curve" in asked.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_installed_command_evaluates_the_reference_agent(
    installed: Path, tmp_path: Path
) -> None:
    """World, tasks and policy come out of the wheel, and every task passes."""
    store = tmp_path / "runs.sqlite"
    flags = ("--agent", "reference", "--trials", "1", "--json", "--store", store)
    evaluated = run(installed, "run", "retail", *flags, cwd=tmp_path)
    assert evaluated.returncode == 0, evaluated.stderr
    result = json.loads(evaluated.stdout)
    assert result["pass_hat"]["1"]["value"] == 1.0
    assert result["lost"] == 0
    assert result["scored"] == result["planned"] >= 60
