"""`passhat view`: an address that answers until it is interrupted, or a line that says why not."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.viewer.server import open_port

Passhat = Callable[..., Any]
RUN = ("run", "kiosk:DOMAIN", "--agent", "slippery:0.2", "--task", "zone-*", "--seed", "3", "-q")


def test_what_stands_in_the_way_is_said_in_one_line(
    passhat: Passhat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No store, no replay, a port that is taken, a host that others reach."""
    missing = passhat("view", "--no-browser")
    assert (missing.code, missing.out) == (2, "")
    assert "there is no store" in missing.err
    passhat(*RUN, "-k", "1")
    with open_port("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        for arguments, why in (
            (("--port", port), f"port {port} is taken"),
            (("--host", "0.0.0.0"), "--allow-remote"),
            (("--replay", "nothing.json"), "cannot read 'nothing.json'"),
            (("--host", "no.such.host.invalid", "--allow-remote"), "there is no host"),
        ):
            said = passhat("view", "--no-browser", *arguments)
            assert (said.code, said.out) == (2, "")
            assert why in said.err
            assert said.err.count("\n") == 1
    before = sorted(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    without = passhat("view", "--no-browser")
    assert without.code == 2
    assert "pip install 'passhat[web]'" in without.err
    assert sorted(tmp_path.iterdir()) == before


def test_the_address_answers_until_the_command_is_interrupted(
    passhat: Passhat, tmp_path: Path
) -> None:
    """One Ctrl-C ends it quietly, with code 0, while a browser still holds a connection."""
    passhat(*RUN, "-k", "1", "--name", "nightly")
    command = (sys.executable, "-m", "passhat", "view", "store.sqlite", "--no-browser")
    quiet = {key: given for key, given in os.environ.items() if key != "DISPLAY"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as viewing:
        assert viewing.stdout is not None
        address = viewing.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as page:
            assert "nightly" in page.read().decode()
        viewing.send_signal(signal.SIGINT)
        _, err = viewing.communicate(timeout=30)
    assert (viewing.returncode, err) == (0, "")
