"""The limiter finds out how many requests a provider takes at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.models.limiter import Limiter, Slot, affordable, limiter_of


async def settle() -> None:
    """Let everything happen that can happen now."""
    for _ in range(5):
        await asyncio.sleep(0)


def in_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in an event loop."""
    asyncio.run(work)


def test_no_more_requests_are_under_way_than_the_limit_allows() -> None:
    """The fourth waits until one of three has left."""

    async def work() -> None:
        limiter = Limiter(first=3)
        leave = asyncio.Event()

        async def request() -> None:
            async with limiter.slot():
                await leave.wait()

        requests = [asyncio.create_task(request()) for _ in range(7)]
        await settle()
        assert limiter.under_way == 3
        leave.set()
        await asyncio.gather(*requests)
        assert limiter.under_way == 0

    in_loop(work())


def test_the_limit_doubles_with_each_round_of_answers_up_to_the_ceiling() -> None:
    """As long as the provider refuses nothing, it is asked for more."""

    async def work() -> None:
        limiter = Limiter(ceiling=50, first=4)
        limits = []
        for _ in range(5):
            slots = limiter.limit
            limiter.under_way = slots
            for _ in range(slots):
                limiter.went_well()
            limits.append(limiter.limit)
        assert limits == [8, 16, 32, 50, 50]

    in_loop(work())


def test_a_limit_that_is_not_used_does_not_grow() -> None:
    """One conversation at a time says nothing about a hundred."""

    async def work() -> None:
        limiter = Limiter(first=10)
        for _ in range(100):
            async with limiter.slot():
                limiter.went_well()
        assert limiter.limit == 10

    in_loop(work())


def test_requests_that_were_refused_together_cut_the_limit_once() -> None:
    """A hundred refusals of one moment are one piece of news."""

    async def work() -> None:
        limiter = Limiter(first=100)
        for _ in range(100):
            limiter.was_too_much(Slot(cuts=0))
        assert limiter.limit == 75
        limiter.was_too_much(Slot(cuts=1))
        assert limiter.limit == 56

    in_loop(work())


def test_after_a_cut_the_limit_grows_by_a_few_in_each_round() -> None:
    """Additive increase: what was too much is not reached at once again."""

    async def work() -> None:
        limiter = Limiter(first=100)
        limiter.was_too_much(Slot(cuts=0))
        limiter.under_way = 75
        for _ in range(75):
            limiter.went_well()
        assert 77 <= limiter.limit <= 79

    in_loop(work())


def test_one_request_is_always_allowed() -> None:
    """A provider that refuses all is still asked."""

    async def work() -> None:
        limiter = Limiter(first=8)
        for cut in range(50):
            limiter.was_too_much(Slot(cuts=cut))
        async with limiter.slot():
            assert limiter.limit == 1

    in_loop(work())


def test_nobody_is_let_in_while_the_provider_wants_a_pause() -> None:
    """What one request is told holds for all."""

    async def work() -> None:
        limiter = Limiter(first=8)
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.05
        limiter.was_too_much(Slot(cuts=0), pause=0.05)
        async with limiter.slot():
            assert loop.time() >= until

    in_loop(work())


@given(
    first=st.integers(1, 5), steps=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=9)
)
def test_who_gives_up_takes_no_leave_along(first: int, steps: list[tuple[bool, int]]) -> None:
    """Whoever is cancelled, before or after being let in, all others get their turn."""

    async def work() -> None:
        limiter = Limiter(first=first)
        served: list[int] = []

        async def request(number: int) -> None:
            async with limiter.slot():
                await asyncio.sleep(0)
                served.append(number)

        requests = [asyncio.create_task(request(number)) for number in range(10)]
        for wait, number in steps:
            if wait:
                await asyncio.sleep(0)
            requests[number].cancel()
        await asyncio.wait_for(asyncio.gather(*requests, return_exceptions=True), 5)
        cancelled = {number for number, task in enumerate(requests) if task.cancelled()}
        assert {*served} | cancelled == {*range(10)}
        assert limiter.under_way == 0
        async with limiter.slot():
            assert limiter.under_way == 1

    in_loop(work())


def test_all_models_of_one_name_share_a_limiter_with_the_lowest_ceiling() -> None:
    """Agent and user that ask one model are limited together; another model is not."""

    async def work() -> None:
        one, same = limiter_of("a", 100), limiter_of("a", 40)
        assert one is same
        assert one.ceiling == 40
        assert limiter_of("b") is not one

    in_loop(work())


def test_those_who_wait_are_let_in_in_order() -> None:
    """Nobody is overtaken."""

    async def work() -> None:
        limiter, order = Limiter(first=1), []

        async def request(number: int) -> None:
            async with limiter.slot():
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*(request(number) for number in range(20)))
        assert order == [*range(20)]

    in_loop(work())


def test_a_raised_limit_lets_several_in_at_once() -> None:
    """The growth is used when it comes, not when the next request leaves."""

    async def work() -> None:
        limiter = Limiter(first=2)
        async with limiter.slot(), limiter.slot():
            waiting = asyncio.create_task(limiter.slot().__aenter__())
            await settle()
            assert not waiting.done()
            limiter.went_well()
            await settle()
            assert waiting.done()

    in_loop(work())


@pytest.mark.parametrize("pause", [0.0, -1.0])
def test_without_a_pause_others_go_on(pause: float) -> None:
    """Overloaded providers that name no time are asked again, by fewer."""

    async def work() -> None:
        limiter = Limiter(first=8)
        limiter.was_too_much(Slot(cuts=0), pause)
        async with limiter.slot():
            assert limiter.under_way == 1

    in_loop(work())


def test_no_more_requests_are_under_way_than_there_may_be_connections() -> None:
    """A thousand connections do not fit into 1,024 open files with all else that is open."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    try:
        assert affordable(1000) == 200
        assert affordable(50) == 50
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
