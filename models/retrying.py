"""Asking a provider until it answers: the one retry layer, for all drivers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type
from tenacity.stop import stop_base
from tenacity.wait import wait_base, wait_random_exponential

from ..errors import InfrastructureError
from ..transcript import NO_USAGE
from .limiter import Limiter
from .masking import masked
from .model import Reply, StopReason

T = TypeVar("T")

ATTEMPTS = 10
PATIENCE = 900.0
"""Seconds after the first attempt in which another one may begin."""
NEVER = (501, 505)
"""Statuses of servers that do not know how: they will not the next time either."""
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0


class TransientError(Exception):
    """One attempt failed in a way that another one may not.

    Attributes:
        reason: What the provider said, or what became of the connection.
        status: Of HTTP; None if there was no answer.
        request_id: As the provider calls the request.
        retry_after: Seconds to wait for at least, as the provider asks.
        too_much: Whether the provider has too much to do, so that less should be asked of it.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float = 0.0,
        too_much: bool = False,
    ) -> None:
        self.reason = masked(reason)
        super().__init__(self.reason)
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.too_much = too_much


class _SaidNothingError(TransientError):
    """The reply holds neither words nor a tool call."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("an empty reply", status=200, request_id=reply.request_id)
        self.reply = reply


@dataclass(frozen=True)
class Patience:
    """How long a provider is asked for an answer.

    Attributes:
        attempts: How often at most.
        seconds: After the first attempt; no other begins later.
        first_wait: Upper bound of the first random wait, in seconds; it doubles each time.
        longest_wait: Where the doubling ends.
    """

    attempts: int = ATTEMPTS
    seconds: float = PATIENCE
    first_wait: float = FIRST_WAIT
    longest_wait: float = LONGEST_WAIT


async def until_it_works(
    attempt: Callable[[], Awaitable[T]],
    provider: str,
    patience: Patience = Patience(),
) -> T:
    """What an attempt comes to in the end.

    Args:
        attempt: Raises TransientError if another one may succeed. Whatever else it raises is final.
        provider: Its name, for errors.
        patience: When to give up.

    Raises:
        InfrastructureError: No attempt succeeded; names the last reason, and the request's id.
    """
    started, attempts = time.monotonic(), 0

    async def once() -> T:
        nonlocal attempts
        attempts += 1
        return await attempt()

    try:
        return await _retrying(patience)(once)
    except _SaidNothingError:
        raise
    except TransientError as last:
        raise InfrastructureError(
            f"{provider} gave no answer: {last.reason} ({_named(last.request_id)}"
            f"attempts {attempts}, {time.monotonic() - started:.0f} s)"
        ) from last


async def ask_until_answered(
    attempt: Callable[[], Awaitable[Reply]],
    *,
    provider: str,
    limiter: Limiter,
    patience: Patience = Patience(),
) -> Reply:
    """The provider's answer, after as many attempts as it takes.

    A reply that holds nothing is asked for again, and returned as it is when it stays like that.
    The usage of all replies that came is added up; `Reply.attempts` counts all attempts, and
    `Reply.seconds` is how long the last one took, without waiting for leave.

    Args:
        attempt: Makes one attempt, as in `until_it_works`.
        provider: Its name, for errors.
        limiter: Gives leave for each attempt, and is told how it went.
        patience: When to give up.

    Raises:
        InfrastructureError: As `until_it_works`.
    """
    paid, attempts = NO_USAGE, 0

    async def once() -> Reply:
        nonlocal paid, attempts
        attempts += 1
        reply = await _attempt(attempt, limiter)
        paid += reply.usage
        if is_empty(reply):
            raise _SaidNothingError(reply)
        return reply

    try:
        reply = await until_it_works(once, provider, patience)
    except _SaidNothingError as nothing:
        reply = nothing.reply
    return replace(reply, usage=paid, attempts=attempts)


def _named(request_id: str | None) -> str:
    return f"request id {request_id}; " if request_id else ""


def is_empty(reply: Reply) -> bool:
    """Whether a model ended its turn without a word or a tool call."""
    said = bool(reply.text.strip()) or any(True for _ in reply.tool_uses)
    return reply.stop is StopReason.END_TURN and not said


async def _attempt(attempt: Callable[[], Awaitable[Reply]], limiter: Limiter) -> Reply:
    async with limiter.slot() as slot:
        started = time.monotonic()
        try:
            reply = await attempt()
        except TransientError as error:
            if error.too_much:
                limiter.was_too_much(slot, error.retry_after)
            raise
        limiter.went_well()
        return replace(reply, seconds=time.monotonic() - started)


def _retrying(patience: Patience) -> AsyncRetrying:
    wait = _Wait(patience)
    return AsyncRetrying(
        sleep=asyncio.sleep,
        retry=retry_if_exception_type(TransientError),
        wait=wait,
        stop=_Stop(patience),
        reraise=True,
    )


class _Wait(wait_base):
    """As long as the provider asks, or at random below a bound that doubles."""

    def __init__(self, patience: Patience) -> None:
        self._random = wait_random_exponential(patience.first_wait, patience.longest_wait)

    def __call__(self, state: RetryCallState) -> float:
        asked = _error_of(state).retry_after
        # Those who were sent away together should not come back together.
        return asked + self._random(state) * (0.1 if asked else 1.0)


class _Stop(stop_base):
    """After so many attempts, or when the next one would begin too late."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience

    def __call__(self, state: RetryCallState) -> bool:
        late = (state.seconds_since_start or 0.0) + state.upcoming_sleep > self._patience.seconds
        return late or state.attempt_number >= self._patience.attempts


def _error_of(state: RetryCallState) -> TransientError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, TransientError):
        raise TypeError(f"only a TransientError is waited for, not {error!r}")
    return error


def seconds_asked_for(headers: Mapping[str, str]) -> float:
    """How long the provider asks to wait: ``retry-after-ms`` or ``retry-after``; 0: not at all.

    >>> seconds_asked_for({"retry-after-ms": "250", "retry-after": "1"})
    0.25
    >>> seconds_asked_for({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    0.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return 0.0
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def is_transient(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a status of HTTP may be another one next time. The provider's own word goes first.

    >>> [status for status in (400, 404, 408, 409, 429, 500, 501, 529) if is_transient(status, {})]
    [408, 409, 429, 500, 529]
    """
    told = headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    return status in (408, 409, 429) or (status >= 500 and status not in NEVER)


def is_too_much(status: int | None) -> bool:
    """Whether a status says that the provider has too much to do."""
    return status in (429, 503, 529)
