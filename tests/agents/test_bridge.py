"""The bridge: an agent that runs by itself is asked for one move after the other."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.agents.bridge import OVER, Answer, Bridge
from passhat.errors import UsageError
from passhat.transcript import Message, MessageEvent, Observation, Stop, ToolCalls, ToolResultEvent

NOTHING = Observation(events=())


def words(text: str) -> Observation:
    """The customer says something."""
    return Observation(events=(MessageEvent(index=0, turn=0, by="user", content=text),))


def results(*named: tuple[str, str]) -> Observation:
    """Tools have answered."""
    return Observation(
        events=tuple(
            ToolResultEvent(index=0, turn=0, call_id="x", name=name, content=content)
            for name, content in named
        )
    )


async def ready() -> None:
    """Let every task go as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_words_are_a_move_and_the_answer_comes_back() -> None:
    """The agent waits until the customer has spoken."""

    async def go() -> None:
        bridge = Bridge()
        said = asyncio.create_task(bridge.say("Hello?"))
        assert await bridge.move(words("hi")) == Message(content="Hello?")
        await ready()
        assert not said.done()
        asking = asyncio.create_task(bridge.move(words("It is me.")))
        assert await said == Answer("It is me.")
        asking.cancel()

    asyncio.run(go())


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), max_size=5))
def test_every_call_gets_its_own_result(groups: Sequence[Sequence[str]]) -> None:
    """Whatever is called at the same time, and however often."""
    count = iter(range(1000))

    async def call(bridge: Bridge, name: str) -> None:
        number = next(count)
        answer = await bridge.call(name, {"number": number})
        assert answer == Answer(f"{name} {number}")

    async def agent(bridge: Bridge) -> None:
        for group in groups:
            await asyncio.gather(*(call(bridge, name) for name in group))
        bridge.leave(Stop(reason="done"))

    async def go() -> None:
        bridge = Bridge()
        running = asyncio.create_task(agent(bridge))
        observation, sizes = words("hi"), []
        while isinstance(move := await bridge.move(observation), ToolCalls):
            sizes.append(len(move.calls))
            named = [(c.name, f"{c.name} {c.arguments['number']}") for c in move.calls]
            observation = results(*named)
        assert sizes == [len(group) for group in groups]
        assert move == Stop(reason="done")
        await running

    asyncio.run(go())


def test_words_between_calls_keep_their_place() -> None:
    """What is wanted at the same time is done in the order in which it came."""

    async def go() -> None:
        bridge = Bridge()
        wanting: list[Awaitable[Answer]] = [
            bridge.call("a", {}), bridge.say("b"), bridge.call("c", {}), bridge.call("d", {})
        ]  # fmt: skip
        tasks = [asyncio.ensure_future(one) for one in wanting]
        await ready()
        first = await bridge.move(words("hi"))
        second = await bridge.move(results(("a", "1")))
        third = await bridge.move(words("2"))
        assert isinstance(first, ToolCalls)
        assert isinstance(third, ToolCalls)
        assert [call.name for call in first.calls] == ["a"]
        assert second == Message(content="b")
        assert [call.name for call in third.calls] == ["c", "d"]
        bridge.end(NOTHING)
        await asyncio.gather(*tasks)

    asyncio.run(go())


def test_who_no_longer_waits_wants_nothing() -> None:
    """A call that its caller gave up on before it was a move is none."""

    async def go() -> None:
        bridge = Bridge()
        gone = asyncio.create_task(bridge.call("a", {}))
        await ready()
        gone.cancel()
        await ready()
        asyncio.get_running_loop().call_soon(bridge.leave, Stop(reason="gone"))
        assert await bridge.move(words("hi")) == Stop(reason="gone")

    asyncio.run(go())


def test_at_the_end_everybody_is_told() -> None:
    """Who spoke gets the customer's last words, others that it is over, and so do latecomers."""

    async def go() -> None:
        bridge = Bridge()
        said = asyncio.create_task(bridge.say("Bye"))
        await bridge.move(words("hi"))
        late = asyncio.create_task(bridge.call("a", {}))
        await ready()
        bridge.end(words("Thanks, goodbye."))
        assert await said == Answer(f"Thanks, goodbye.\n\n({OVER})", over=True)
        assert await late == Answer(OVER, is_error=True, over=True)
        assert await bridge.say("Hello?") == Answer(OVER, is_error=True, over=True)

    asyncio.run(go())


def test_an_agent_that_left_with_an_error_raises_it() -> None:
    """The first ending holds."""

    async def go() -> None:
        bridge = Bridge()
        bridge.leave(ValueError("oh no"))
        bridge.leave(Stop())
        with pytest.raises(ValueError, match="oh no"):
            await bridge.move(words("hi"))

    asyncio.run(go())


@pytest.mark.parametrize(
    ("wants", "observed"),
    [
        (lambda bridge: bridge.say("Hello"), results(("a", "1"))),
        (lambda bridge: bridge.call("a", {}), words("yes")),
        (lambda bridge: bridge.call("a", {}), results(("b", "1"))),
    ],
)
def test_somebody_elses_moves_are_not_taken_for_its_own(
    wants: Callable[[Bridge], Awaitable[Answer]], observed: Observation
) -> None:
    """An agent in the middle of a call cannot be given the past of another one."""

    async def go() -> None:
        bridge = Bridge()
        waiting = asyncio.ensure_future(wants(bridge))
        await bridge.move(words("hi"))
        with pytest.raises(UsageError, match="cannot be led along moves that somebody else made"):
            await bridge.move(observed)
        waiting.cancel()

    asyncio.run(go())
