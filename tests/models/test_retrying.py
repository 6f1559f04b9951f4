"""The one retry layer: what is asked again, how often, and what it costs."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import AsyncRetrying, Future, RetryCallState

from passhat.errors import InfrastructureError
from passhat.models.limiter import Limiter
from passhat.models.model import Reply, StopReason, text_block
from passhat.models.retrying import (
    Patience,
    TransientError,
    _Wait,
    ask_until_answered,
    is_transient,
    seconds_asked_for,
    until_it_works,
)
from passhat.transcript import Usage

HASTY = Patience(attempts=5, first_wait=0.0, longest_wait=0.0)
HELLO = Reply((text_block("Hello!"),), StopReason.END_TURN, Usage(output_tokens=3))
NOTHING = Reply((), StopReason.END_TURN, Usage(output_tokens=1))
BUSY = TransientError("529 Overloaded", status=529, request_id="req_7", too_much=True)


def ask(
    *answers: Reply | Exception, patience: Patience = HASTY, limiter: Limiter | None = None
) -> Reply:
    """The reply of a provider that gives these answers in turn, and then the last one for ever."""
    left = list(answers)

    async def attempt() -> Reply:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def asked() -> Reply:
        return await ask_until_answered(
            attempt, provider="Anthropic", limiter=limiter or Limiter(), patience=patience
        )

    return asyncio.run(asked())


def test_a_transient_error_is_asked_again() -> None:
    """The reply says how often it was asked."""
    reply = ask(BUSY, BUSY, HELLO)
    assert (reply.text, reply.attempts) == ("Hello!", 3)


def test_a_provider_that_never_answers_loses_the_trial_and_says_why() -> None:
    """Provider, status, request id and attempts are what their support asks for."""
    with pytest.raises(
        InfrastructureError,
        match=r"Anthropic gave no answer: 529 Overloaded \(request id req_7; attempts 5, 0 s\)",
    ):
        ask(BUSY)


def test_an_error_of_another_kind_is_final() -> None:
    """A refused request is not asked again."""
    with pytest.raises(InfrastructureError, match="refused"):
        ask(InfrastructureError("refused"), HELLO)


def test_an_empty_reply_is_asked_again_and_paid_for() -> None:
    """What was discarded has cost tokens too."""
    reply = ask(NOTHING, NOTHING, HELLO)
    assert (reply.text, reply.attempts, reply.usage.output_tokens) == ("Hello!", 3, 5)


def test_a_reply_that_stays_empty_is_returned_as_it_is() -> None:
    """Saying nothing five times is an answer, and the model's own doing."""
    reply = ask(NOTHING)
    assert (reply.content, reply.attempts, reply.usage.output_tokens) == ((), 5, 5)


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.MAX_TOKENS])
def test_a_reply_that_is_empty_for_a_reason_is_not_asked_again(stop: StopReason) -> None:
    """A refusal is an answer."""
    assert ask(Reply((), stop), HELLO).stop is stop


def test_thinking_alone_says_nothing() -> None:
    """Neither words nor a tool call: the customer would wait for ever."""
    thought = Reply(({"type": "thinking", "thinking": "Hm."},), StopReason.END_TURN)
    assert ask(thought, HELLO).text == "Hello!"


def test_no_attempt_begins_after_the_provider_was_given_up() -> None:
    """A wait that would end too late is not waited for."""
    slow = TransientError("429", status=429, retry_after=3600.0)
    with pytest.raises(InfrastructureError, match="attempts 1, 0 s"):
        ask(slow, patience=Patience(seconds=60.0))


def test_the_limiter_hears_of_what_was_too_much() -> None:
    """A 529 lowers the limit; a lost connection says nothing about it."""
    limiter = Limiter(first=100)
    ask(TransientError("connection lost"), HELLO, limiter=limiter)
    assert limiter.limit == 100
    ask(BUSY, HELLO, limiter=limiter)
    assert limiter.limit == 75


def test_leave_is_given_back_between_attempts() -> None:
    """Who waits to try again keeps nobody else waiting."""
    limiter = Limiter(first=1)

    async def work() -> None:
        calls = 0

        async def failing() -> Reply:
            nonlocal calls
            calls += 1
            if calls < 3:
                raise BUSY
            return HELLO

        async def hello() -> Reply:
            return HELLO

        replies = await asyncio.gather(
            *(
                ask_until_answered(attempt, provider="A", limiter=limiter, patience=HASTY)
                for attempt in (failing, hello)
            )
        )
        assert [reply.text for reply in replies] == ["Hello!", "Hello!"]

    asyncio.run(work())


@given(asked=st.floats(0, 100), attempts=st.integers(1, 12))
def test_the_wait_is_never_shorter_than_the_provider_asks(asked: float, attempts: int) -> None:
    """Nor longer than it by more than the longest wait."""
    state = RetryCallState(AsyncRetrying(), None, (), {})
    state.attempt_number = attempts
    outcome = Future(attempts)
    outcome.set_exception(TransientError("429", retry_after=asked))
    state.outcome = outcome
    wait = _Wait(Patience(longest_wait=30.0))(state)
    assert asked <= wait <= asked + 30.0


def test_the_providers_word_on_retrying_goes_first() -> None:
    """``x-should-retry`` knows more than the status."""
    assert not is_transient(529, {"x-should-retry": "false"})
    assert is_transient(400, {"x-should-retry": "true"})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_how_long_to_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float) -> None:
    """Milliseconds before seconds before dates; nonsense asks for nothing."""
    assert seconds_asked_for(headers) == seconds


def test_whatever_else_is_asked_of_a_provider_is_retried_too() -> None:
    """Lists of models and batches have no reply, and the same patience."""
    left = [BUSY, BUSY]

    async def attempt() -> int:
        if left:
            raise left.pop()
        return 7

    assert asyncio.run(until_it_works(attempt, "Anthropic", HASTY)) == 7
