"""Message Batches: half the price, and nothing is paid for twice."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat.errors import InfrastructureError, RunStoppedError, UsageError
from passhat.models.batching import Batched
from passhat.models.fake_claude import FakeClaude, serving
from passhat.models.model import Reply, Request, StopReason

from .asking import HAIKU, claude, question

THIRTY = [question(f"Question {n}", f"c{n}") for n in range(30)]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key from the environment."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "anything")


@pytest.fixture
def server() -> Iterator[FakeClaude]:
    """A server that repeats the question."""
    with serving(echo) as app:
        yield app


def echo(body: Any) -> str:
    """What was asked."""
    words: str = body["messages"][0]["content"][0]["text"]
    return words


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where batches are noted."""
    return tmp_path / "runs" / "ledger.jsonl"


def ask(
    server: FakeClaude, ledger: Path, requests: list[Request], **options: Any
) -> list[Reply | BaseException]:
    """What comes of requests that are made at once, in a process that knows only the ledger."""

    async def all_of_them() -> list[Reply | BaseException]:
        fast = {"quiet": 0.02, "first_poll": 0.01, **options}
        model = Batched(claude(server.url, fast.pop("model", HAIKU)), ledger, **fast)
        try:
            return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def texts(replies: list[Reply | BaseException]) -> list[str]:
    """The words of replies that must all have come."""
    return [reply.text if isinstance(reply, Reply) else repr(reply) for reply in replies]


def submitted(server: FakeClaude) -> list[int]:
    """How many requests each batch held."""
    return [
        len(seen.body["requests"])
        for seen in server.requests
        if (seen.method, seen.path) == ("POST", "/v1/messages/batches")
    ]


def test_requests_of_one_moment_are_one_batch_and_each_gets_its_own_answer(
    server: FakeClaude, ledger: Path
) -> None:
    """The results come in another order than was asked."""
    replies = ask(server, ledger, THIRTY)
    assert texts(replies) == [f"Question {n}" for n in range(30)]
    assert submitted(server) == [30]


def test_a_batch_costs_half(server: FakeClaude, ledger: Path) -> None:
    """The same tokens, half the dollars."""
    request = question()

    async def live() -> Reply:
        model = claude(server.url)
        try:
            return await model.complete(request)
        finally:
            await model.close()

    (batched,) = ask(server, ledger, [request])
    assert isinstance(batched, Reply)
    usage = asyncio.run(live()).usage
    assert batched.usage.output_tokens == usage.output_tokens
    assert batched.usage.cost_dollars == pytest.approx((usage.cost_dollars or 0) / 2)


def test_what_was_submitted_is_not_paid_for_again(server: FakeClaude, ledger: Path) -> None:
    """A later process finds the batch by what it asks; what is new is submitted."""
    first = ask(server, ledger, THIRTY[:20])
    second = ask(server, ledger, THIRTY)
    assert second[:20] == first
    assert texts(second[20:]) == [f"Question {n}" for n in range(20, 30)]
    assert submitted(server) == [20, 10]


def test_the_same_request_twice_is_answered_twice(server: FakeClaude, ledger: Path) -> None:
    """Two samples are wanted; a resumed process gets the same two."""
    replies = ask(server, ledger, [question(), question()])
    assert submitted(server) == [2]
    assert ask(server, ledger, [question(), question()]) == replies
    assert submitted(server) == [2]


def test_conversations_that_say_the_same_are_told_apart(server: FakeClaude, ledger: Path) -> None:
    """Two trials of one task are two requests, whichever is asked first after a resume."""
    one, two = question(conversation="one"), question(conversation="two")
    ask(server, ledger, [one, two])
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert len(set(lines[0]["requests"])) == 2
    ask(server, ledger, [two, one])
    assert submitted(server) == [2]


@pytest.mark.parametrize("most", [{"max_requests": 12}, {"max_bytes": 4000}])
def test_more_than_a_batch_holds_becomes_several(
    server: FakeClaude, ledger: Path, most: dict[str, int]
) -> None:
    """Neither the number nor the size of the requests is exceeded."""
    replies = ask(server, ledger, THIRTY, **most)
    assert texts(replies) == [f"Question {n}" for n in range(30)]
    sizes = submitted(server)
    assert sum(sizes) == 30
    assert len(sizes) > 1
    assert max(sizes) <= 15


def test_requests_that_expired_are_submitted_again(ledger: Path) -> None:
    """Some of them, and only those."""
    with serving(echo, faults=["expired=0.3"]) as server:
        replies = ask(server, ledger, THIRTY)
    sizes = submitted(server)
    assert texts(replies) == [f"Question {n}" for n in range(30)]
    assert 1 < len(sizes) <= 5
    assert sizes[0] == 30 > sizes[1]


def test_a_request_that_always_expires_loses_its_trial(ledger: Path) -> None:
    """After five batches."""
    with serving(echo, faults=["expired=1"]) as server:
        (lost,) = ask(server, ledger, THIRTY[:1])
    assert isinstance(lost, InfrastructureError)
    assert "5 batches: a batch expired" in str(lost)
    assert submitted(server) == [1] * 5


def test_an_empty_reply_is_asked_for_again_and_paid_for(ledger: Path) -> None:
    """As without batches."""
    said = iter(["", "Hello!"])
    with serving(lambda body: next(said)) as server:
        (reply,) = ask(server, ledger, THIRTY[:1])
    assert isinstance(reply, Reply)
    assert (reply.text, reply.attempts) == ("Hello!", 2)
    assert (reply.usage.output_tokens or 0) > 1


def test_a_refused_request_of_a_batch_loses_its_own_trial_only(
    server: FakeClaude, ledger: Path
) -> None:
    """The others are answered."""
    replies = ask(server, ledger, [THIRTY[0], question(""), THIRTY[1]])
    assert isinstance(replies[1], InfrastructureError)
    assert "as it is configured" in str(replies[1])
    assert texts([replies[0], replies[2]]) == ["Question 0", "Question 1"]


def test_a_conversation_that_no_longer_fits_is_a_reply(server: FakeClaude, ledger: Path) -> None:
    """It is not the configuration that is refused."""
    long = question("word " * 200_000)
    (reply,) = ask(server, ledger, [long], model="claude-haiku-4-5")
    assert isinstance(reply, Reply)
    assert reply.stop is StopReason.CONTEXT_FULL


def test_a_batch_of_an_unknown_model_stops_the_run(server: FakeClaude, ledger: Path) -> None:
    """No request of it will ever be answered."""
    (stopped,) = ask(server, ledger, [question()], model="claude-nobody")
    assert isinstance(stopped, RunStoppedError)


def test_faults_while_submitting_and_waiting_pass(ledger: Path) -> None:
    """The batch endpoints are asked again like any other."""
    with serving(echo, faults=["overloaded=0.3", "error=0.3"]) as server:
        assert texts(ask(server, ledger, THIRTY)) == [f"Question {n}" for n in range(30)]


def test_a_batch_that_is_gone_is_asked_for_again(server: FakeClaude, ledger: Path) -> None:
    """Results are kept for some weeks; the ledger may be older, or of another account."""
    ask(server, ledger, THIRTY[:3])
    with serving(echo) as other:
        assert texts(ask(other, ledger, THIRTY[:3])) == ["Question 0", "Question 1", "Question 2"]
        assert submitted(other) == [3]


def test_who_gives_up_waiting_takes_the_answer_from_nobody_else(
    server: FakeClaude, ledger: Path
) -> None:
    """One of three is cancelled while the batch is worked on."""

    async def work() -> list[Any]:
        model = Batched(claude(server.url), ledger, quiet=0.02, first_poll=0.02)
        asked = [asyncio.create_task(model.complete(request)) for request in THIRTY[:3]]
        while not ledger.read_text():
            await asyncio.sleep(0.005)
        asked[0].cancel()
        try:
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    cancelled, *others = asyncio.run(work())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert texts(others) == ["Question 1", "Question 2"]


CHILD = """
import asyncio, sys
sys.path.insert(0, sys.argv[3])
from asking import claude, question
from passhat.models.batching import Batched

async def main():
    model = Batched(claude(sys.argv[1]), sys.argv[2], quiet=0.02, first_poll=0.05)
    requests = [question(f"Question {n}", f"c{n}") for n in range(30)]
    await asyncio.gather(*map(model.complete, requests))

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_killed_process_finds_its_batch_again(ledger: Path) -> None:
    """It was killed while it waits; the next process asks the same, and pays nothing more."""
    with serving(echo, latency=1.0) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.url, str(ledger), str(Path(__file__).parent)],
            env={**os.environ, "ANTHROPIC_API_KEY": "anything"},
        )
        while not (ledger.exists() and ledger.read_text()):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        replies = ask(server, ledger, THIRTY)
        assert submitted(server) == [30]
    assert texts(replies) == [f"Question {n}" for n in range(30)]


def test_a_line_that_was_cut_by_a_kill_does_no_harm(server: FakeClaude, ledger: Path) -> None:
    """What stands before it counts, and the next line is a line of its own."""
    ask(server, ledger, THIRTY[:2])
    whole = ledger.read_text()
    ledger.write_text(whole + '{"batch": "msgbatch_')
    ask(server, ledger, THIRTY[:3])
    assert submitted(server) == [2, 1]
    assert ledger.read_text().startswith(whole)
    assert [*map(json.loads, ledger.read_text().splitlines())]


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """And left as it is."""
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary\n")
    with pytest.raises(UsageError, match="is no ledger of batches: 'Dear diary'"):
        Batched(claude("http://127.0.0.1:1"), file)
    assert file.read_text() == "Dear diary\n"
