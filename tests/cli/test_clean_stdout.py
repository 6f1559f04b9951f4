"""stdout is for results, whatever agents do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOISY = """
import ctypes, os, subprocess, sys
from passhat.transcript import Stop

LIBC = ctypes.CDLL(None)

def make(brief):
    def act(observation):
        print("NOISE of Python")
        sys.__stdout__.write("NOISE of the real stdout\\n")
        sys.__stdout__.flush()
        os.write(1, b"NOISE of the descriptor\\n")
        subprocess.run(["echo", "NOISE of a program"])
        LIBC.puts(b"NOISE of C")
        return Stop(reason="enough")
    return act
"""


@pytest.mark.parametrize(
    "more", [[], pytest.param(["--workers", "2"], marks=pytest.mark.slow)], ids=["here", "workers"]
)
def test_what_an_agent_prints_in_any_way_is_not_among_the_results(
    more: list[str], tmp_path: Path
) -> None:
    """By Python, by C, or by a program that it starts: all of it goes to stderr."""
    (tmp_path / "noisy_agent.py").write_text(NOISY)
    done = subprocess.run(
        [sys.executable, "-m", "passhat", "run", "retail", "--agent", "python:noisy_agent:make",
         "--task", "moved-within-new-york", "--trials", "2", "--json", *more],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)
    assert "NOISE" not in done.stdout
    for who in ("Python", "the real stdout", "the descriptor", "a program", "C"):
        assert f"NOISE of {who}\n" in done.stderr
