"""The commands, called as the console script calls them; the kiosk is importable by name."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from passhat.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "harness"))


class Said(NamedTuple):
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture
def passhat(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Said]:
    """Call a command with a store and a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASSHAT_STORE", str(tmp_path / "store.sqlite"))
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Said(ended.value.code, out, err)

    return call
