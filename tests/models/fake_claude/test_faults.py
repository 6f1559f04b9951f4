"""Faults on purpose: each as a client meets it, and the same ones every time."""

from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.models.fake_claude.faults import KINDS, FaultPlan, FaultRate, parse_fault

from .requests import asking, request, user

ALWAYS = [parse_fault(f"{kind}=1") for kind in KINDS]


@pytest.mark.parametrize(
    ("fault", "status"), [("rate-limit=1:1.5", 429), ("overloaded=1", 529), ("error=1", 500)]
)
def test_a_refusal_has_its_status(fault: str, status: int) -> None:
    """And a rate limit says when to come back, in whole seconds and in milliseconds."""
    with asking(lambda body: "Hi", faults=[fault]) as (client, server):
        with pytest.raises(anthropic.APIStatusError) as refused:
            client.messages.create(**request())
        assert refused.value.status_code == status
        assert refused.value.request_id
        if status == 429:
            headers = refused.value.response.headers
            assert (headers["retry-after"], headers["retry-after-ms"]) == ("2", "1500")
        (seen,) = server.requests
    assert (seen.status, seen.faults) == (status, [fault.partition("=")[0]])


def create(client: anthropic.Anthropic, words: str) -> Any:
    """Ask without a stream."""
    return client.messages.create(**request(user(words)))


def stream(client: anthropic.Anthropic, words: str) -> Any:
    """Ask for a stream, and take all of it."""
    with client.messages.stream(**request(user(words))) as events:
        return events.get_final_message()


@pytest.mark.parametrize("ask", [create, stream])
def test_connections_are_cut_before_and_within_an_answer(ask: Callable[..., Any]) -> None:
    """Never does half an answer pass for a whole one."""
    broken = (anthropic.APIConnectionError, httpx2.TransportError)
    with asking(lambda body: "Hello there. " * 50, faults=["cut=1"]) as (client, server):
        for number in range(20):
            with pytest.raises(broken):
                ask(client, str(number))
        assert server.counts[0] >= 1
        assert server.counts[200] >= 1
        server.faults = ()
        assert ask(client, "1").content


def test_an_answer_may_be_empty() -> None:
    """Though it is one, with usage."""
    with asking(lambda body: "Hi", faults=["empty=1"]) as (client, _):
        message = client.messages.create(**request())
    assert (message.content, message.stop_reason) == ([], "end_turn")
    assert message.usage.output_tokens == 1


def test_a_slow_answer_is_late_and_complete() -> None:
    """A client that is not patient enough gives up."""
    with asking(lambda body: "Hi", faults=["slow=1:0.2"]) as (client, server):
        assert client.messages.create(**request()).content
        server.faults = [FaultRate("slow", 1.0, 60.0)]
        with pytest.raises(anthropic.APITimeoutError):
            client.messages.create(**request(), timeout=0.1)


def test_the_real_client_gets_through() -> None:
    """With its own retries, at a rate of one in five for each kind."""
    faults = ["overloaded=0.2", "rate-limit=0.2:0.001", "error=0.2"]
    with asking(lambda body: "Hi", faults=faults) as (client, server):
        patient = client.with_options(max_retries=30)
        patient._calculate_retry_timeout = lambda *_: 0.0  # type: ignore[method-assign]
        for number in range(20):
            assert patient.messages.create(**request(user(str(number)))).content
    assert set(server.counts) == {200, 429, 500, 529}


@given(seed=st.integers(), key=st.binary(max_size=16), rate=st.floats(0, 1))
def test_a_seed_decides_what_happens(seed: int, key: bytes, rate: float) -> None:
    """The same request meets the same faults in every run, and others when it is asked again."""
    faults = [FaultRate(kind, rate, 0.0) for kind in KINDS]
    plans = [FaultPlan(seed), FaultPlan(seed)]
    met = [[plan.strike(faults, key) for _ in range(5)] for plan in plans]
    assert met[0] == met[1]
    assert all(len([hit for hit in hits if hit.kind != "slow"]) <= 1 for hits in met[0])


def test_a_rate_is_kept() -> None:
    """Of many requests, about as many are hit as were to be; each kind by itself."""
    plan = FaultPlan(0)
    faults = [FaultRate("overloaded", 0.2, 0.0), FaultRate("slow", 0.5, 0.0)]
    hits = [plan.strike(faults, str(n).encode()) for n in range(2000)]
    kinds = [fault.kind for hit in hits for fault in hit]
    assert 350 < kinds.count("overloaded") < 450
    assert 900 < kinds.count("slow") < 1100
    assert plan.strike([], b"") == []
    assert [fault.kind for fault in plan.strike(ALWAYS, b"")] == ["rate-limit", "slow"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("overload=0.2", "did you mean 'overloaded'"),
        ("cut", "KIND=RATE"),
        ("cut=often", "KIND=RATE"),
        ("cut=2", "rate from 0 to 1"),
        ("cut=-1", "rate from 0 to 1"),
        ("slow=0.5:-1", "KIND=RATE:SECONDS"),
        ("slow=nan", "rate from 0 to 1"),
    ],
)
def test_a_fault_that_makes_no_sense_is_said_in_one_line(text: str, says: str) -> None:
    """With what would have been right."""
    with pytest.raises(UsageError, match=says):
        parse_fault(text)
