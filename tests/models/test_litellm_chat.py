"""Models of any provider, through the real LiteLLM over real HTTP. It takes seconds to import."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest
from starlette.responses import Response

from passhat.errors import InfrastructureError, RunStoppedError, UsageError
from passhat.models.model import Reply, Request, StopReason, text_block, tool_result
from passhat.models.registry import open_model

from .chat_server import ChatServer, chat_server, completion, error

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),  # of its own types
]

T = TypeVar("T")
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
HELLO = Request("Be kind.", [{"role": "user", "content": [text_block("Hi")]}])


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("litellm") is None:
        pytest.skip("passhat[litellm] is not installed")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def using(spec: str, do: Callable[[Any], Awaitable[T]]) -> T:
    """What is done with the model of a spec; its connections are closed."""

    async def all_of_it() -> T:
        model = open_model(spec)
        try:
            return await do(model)
        finally:
            await model.close()

    return asyncio.run(all_of_it())


def ask(server: ChatServer, request: Request = HELLO, options: str = "") -> Reply:
    """A reply of the server's model."""
    spec = f"litellm:openai/model-1,base_url={server.url}{options}"
    return using(spec, lambda model: model.complete(request))


def test_a_conversation_goes_there_and_back() -> None:
    """Tools, parallel calls, results and cost, as with a server that is asked directly."""
    request = Request(
        "Be kind.",
        [
            *HELLO.messages,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"x": 1}}],
            },
            {"role": "user", "content": [tool_result("a", "one"), text_block("Well?")]},
        ],
        [TOOL],
    )
    calls = [("b", "look", '{"at": 1}'), ("c", "look", "{")]
    answer = completion("Moment.", *calls, reasoning_content="Hm.")
    with chat_server(answer) as server:
        reply = ask(server, request, ",price_input=2,price_output=10,max_tokens=99")
    sent = server.asked[0]
    assert [message["role"] for message in sent["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert sent["tools"][0]["function"]["name"] == "look"
    assert sent["max_tokens"] == 99
    assert reply.content == (
        {"type": "thinking", "thinking": "Hm.", "field": "reasoning_content"},
        text_block("Moment."),
        {"type": "tool_use", "id": "b", "name": "look", "input": {"at": 1}},
        {"type": "tool_use", "id": "c", "name": "look", "input": "{"},
    )
    assert reply.stop is StopReason.TOOL_USE
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (20, 5)
    assert reply.usage.cost_dollars == pytest.approx(90 / 1e6)


def test_what_may_work_next_time_is_tried_again() -> None:
    """By one layer only."""
    with chat_server(error(429, "Slow down.", retry_after="0"), completion("Hello!")) as server:
        reply = ask(server)
    assert (reply.text, reply.attempts, len(server.asked)) == ("Hello!", 2, 2)


@pytest.mark.parametrize(
    ("failure", "raised", "message"),
    [
        (error(401, "Bad key."), RunStoppedError, "check the key of its provider"),
        (error(402, "Pay."), RunStoppedError, "see to the billing"),
        (error(404, "No model."), RunStoppedError, "is there a model 'openai/model-1'"),
        (error(429, "No money.", "insufficient_quota"), RunStoppedError, "see to the billing"),
        (error(400, "Unknown parameter."), InfrastructureError, "refused the request as it is"),
    ],
)
def test_whose_fault_an_error_is(failure: Response, raised: type[Exception], message: str) -> None:
    """As with a server that is asked directly."""
    with chat_server(failure) as server, pytest.raises(raised) as caught:
        ask(server)
    assert message in str(caught.value)
    assert len(server.asked) == 1


def test_a_conversation_that_no_longer_fits_is_a_reply() -> None:
    """The agent answers for it."""
    failure = error(400, "This model's maximum context length is 4096 tokens.")
    with chat_server(failure) as server:
        assert ask(server).stop is StopReason.CONTEXT_FULL


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("litellm:anthropic/claude-haiku-4-5", "set the environment variable ANTHROPIC_API_KEY"),
        ("litellm:nonsense", "LLM Provider NOT provided"),
    ],
)
def test_what_will_never_work_stops_the_run_before_the_first_trial(spec: str, message: str) -> None:
    """With one line that says what to do."""
    with pytest.raises(RunStoppedError) as raised:
        using(spec, lambda model: model.check())
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_naming_one_takes_no_import() -> None:
    """A wrong option shows at once."""
    with pytest.raises(UsageError, match="has no option 'top_k'"):
        open_model("litellm:openai/m,top_k=3")
