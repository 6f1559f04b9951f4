"""`passhat fake-claude`, as a process of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest

from passhat.models.fake_claude.faults import KINDS

Passhat = Callable[..., Any]


@contextmanager
def running(*arguments: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own, and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "passhat", "fake-claude", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    with process:
        assert process.stdout is not None
        told = [process.stdout.readline(), process.stdout.readline()]
        assert told[1] == "export ANTHROPIC_API_KEY=anything\n"
        address = re.fullmatch(r"export ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+)\n", told[0])
        assert address
        try:
            yield process, address[1]
        finally:
            process.kill()


def said_at_the_end(process: subprocess.Popen[str], number: int) -> list[str]:
    """What it says on stderr until a signal ends it, which is fine."""
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 0
    return err.splitlines()


def ask(client: anthropic.Anthropic, words: str) -> anthropic.types.Message:
    """Ask a question."""
    return client.messages.create(
        model="claude-haiku-5-5",
        max_tokens=100,
        messages=[{"role": "user", "content": words}],
        metadata={"user_id": "agent-1"},
    )


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """A line a request, with what went wrong, and a summary."""
    (tmp_path / "rules.yaml").write_text("- {when: {says: hello}, text: Hi!}")
    arguments = ("--script", "rules.yaml", "--fault", "slow=1:0.01")
    with running(*arguments, folder=tmp_path) as (process, url):
        with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
            assert ask(client, "Hello").content
            with pytest.raises(anthropic.BadRequestError, match="neither an agent's request"):
                ask(client, "Bye")
        first, second, *summary = said_at_the_end(process, signal.SIGINT)
    assert first.startswith("POST /v1/messages 200 claude-haiku-5-5 agent-1 ")
    assert first.endswith(" [slow]")
    assert "POST /v1/messages 400 " in second
    assert summary[0] == "2 requests: 200 1, 400 1"
    assert summary[1] == "faults: slow 2"
    assert re.fullmatch(r"\d+ tokens in \(0% read from cache\), \d+ out", summary[2])


@pytest.mark.slow
def test_quiet_means_only_the_summary(tmp_path: Path) -> None:
    """However it is ended; further models are known."""
    with running("--quiet", "--model", "mine", folder=tmp_path) as (process, url):
        with anthropic.Anthropic(base_url=url, api_key="any") as client:
            assert client.models.retrieve("mine").id == "mine"
        assert said_at_the_end(process, signal.SIGTERM) == ["1 request: 200 1"]


def test_what_cannot_be_served_is_said_in_one_line(passhat: Passhat) -> None:
    """Before anything is."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = passhat("fake-claude", "--port", port)
    assert said.code == 2
    assert f"port {port}: " in said.err
    assert "--port 0" in said.err
    for arguments, why in (
        (("--fault", "overload=1"), "did you mean 'overloaded'"),
        (("--agent", "reference"), "sees the task"),
        (("--script", "none.yaml"), "cannot read the script 'none.yaml'"),
    ):
        said = passhat("fake-claude", *arguments)
        assert (said.code, said.out) == (2, "")
        assert why in said.err


def test_its_help_has_examples(passhat: Passhat) -> None:
    """To be pasted; and it names every fault."""
    said = passhat("fake-claude", "--help")
    assert all(kind in said.out for kind in KINDS)
    assert "  passhat fake-claude --agent slippery:0.05:rule-based" in said.out
