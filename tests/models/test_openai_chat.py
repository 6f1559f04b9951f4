"""Models behind OpenAI's chat completions, through the real SDK over real HTTP."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import Response

from passhat.agents.agent import Brief
from passhat.agents.model_agent import ModelAgent
from passhat.errors import InfrastructureError, PasshatError, RunStoppedError, UsageError
from passhat.models.model import Reply, Request, StopReason, text_block, tool_result
from passhat.models.openai_chat import OpenAIModel, raise_for
from passhat.models.openai_messages import ChatSettings, chat_body, chat_reply
from passhat.models.registry import open_model
from passhat.models.retrying import TransientError
from passhat.transcript import Message, MessageEvent, Observation, ToolCalls, ToolResultEvent, Usage

from .chat_server import ChatServer, chat_server, completion, error

T = TypeVar("T")
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
HELLO = Request("Be kind.", [{"role": "user", "content": [text_block("Hi")]}])
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
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
    spec = f"openai:model-1,base_url={server.url}{options}"
    return using(spec, lambda model: model.complete(request))


# --- translation --------------------------------------------------------------------------------


def test_a_conversation_is_sent_in_the_servers_words() -> None:
    """Results are messages of their own, before what the customer says; calls keep their ids."""
    request = Request(
        "Be kind.",
        [
            {"role": "user", "content": [text_block("It is 9."), text_block("Hi")]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "of another provider"},
                    text_block("One moment."),
                    {"type": "tool_use", "id": "a", "name": "look", "input": {"at": "#W1"}},
                    {"type": "tool_use", "id": "b", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    tool_result("a", "one"),
                    tool_result("b", "Error: none", is_error=True),
                    text_block("Well?"),
                ],
            },
        ],
        [TOOL],
        one_tool_at_a_time=True,
    )
    with chat_server(completion("Hello!")) as server:
        ask(server, request, ",max_tokens=50,temperature=0,effort=low")
    (body,) = server.asked
    assert body == {
        "model": "model-1",
        "max_tokens": 50,
        "temperature": 0,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": "Looks.",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "It is 9.\n\nHi"},
            {
                "role": "assistant",
                "content": "One moment.",
                "tool_calls": [
                    {
                        "id": "a",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"at": "#W1"}'},
                    },
                    {
                        "id": "b",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: none"},
            {"role": "user", "content": "Well?"},
        ],
    }


def test_a_reply_comes_back_in_blocks() -> None:
    """Words, parallel calls, who answered, and what it cost in parts."""
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 800},
    }
    calls = [("a", "look", '{"at": 1}'), ("b", "look", "")]
    with chat_server(completion("Moment.", *calls, usage=usage)) as server:
        reply = ask(server, options=",price_input=2,price_output=10,price_cache_read=0.2")
    assert reply.content == (
        text_block("Moment."),
        {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}},
        {"type": "tool_use", "id": "b", "name": "look", "input": {}},
    )
    assert (reply.stop, reply.model, reply.request_id) == (
        StopReason.TOOL_USE,
        "model-1-0613",
        "req_1",
    )
    assert reply.usage.cost_dollars == pytest.approx((200 * 2 + 50 * 10 + 800 * 0.2) / 1e6)
    assert reply.usage.model_copy(update={"cost_dollars": None}) == Usage(
        input_tokens=200, cache_read_tokens=800, output_tokens=50
    )
    assert reply.seconds > 0


def test_of_a_price_and_a_cache_that_nobody_told_nothing_is_known() -> None:
    """Unknown is never 0."""
    with chat_server(completion("Hello!")) as server:
        reply = ask(server)
    assert reply.usage == Usage(input_tokens=20, output_tokens=5)
    assert open_model(f"openai:model-1,base_url={server.url}").priced is False


_NAMES = st.text(min_size=1, max_size=5)
_SAID = st.builds(text_block, st.text(min_size=1, max_size=10))
_CALLS = st.builds(
    lambda id, name, given: {"type": "tool_use", "id": id, "name": name, "input": given},
    _NAMES,
    _NAMES,
    st.dictionaries(_NAMES, st.integers() | st.text(max_size=5) | st.none(), max_size=3),
)
_EXTRA = st.builds(
    lambda call, note: {**call, "extra": {"extra_content": note}},
    _CALLS,
    st.dictionaries(_NAMES, _NAMES, min_size=1),
)
_REASONING = st.builds(
    lambda thought, field: {"type": "thinking", "thinking": thought, "field": field},
    _NAMES,
    st.sampled_from(["reasoning_content", "reasoning"]),
)


@settings(max_examples=40)
@given(
    thought=st.lists(_REASONING, max_size=1),
    said=st.lists(_SAID, max_size=1),
    calls=st.lists(_CALLS | _EXTRA, max_size=3),
)
def test_what_a_server_wrote_it_gets_back(
    thought: list[Any], said: list[Any], calls: list[Any]
) -> None:
    """Blocks to a message and back are the same, reasoning and what it adds to calls included."""
    blocks = (*thought, *said, *calls)
    request = Request("", [{"role": "assistant", "content": list(blocks)}])
    (message,) = chat_body(request, ChatSettings("m"))["messages"]
    came = json.loads(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))
    assert chat_reply(came, price=None).content == blocks


@pytest.mark.parametrize("given", ['{"at": ', '{"at": NaN}', "W1", "{" * 100_000])
def test_what_is_no_json_is_kept_raw(given: str) -> None:
    """However it is broken."""
    came = completion(None, ("a", "look", given))
    assert next(chat_reply(came, price=None).tool_uses)["input"] == given


def test_arguments_that_are_no_json_stay_as_they_are() -> None:
    """The agent answers for them; the tool's refusal goes back with arguments that can be sent."""
    answers = [completion(None, ("a", "look", '{"at": ')), completion("Sorry.")]
    words = MessageEvent(index=0, turn=0, by="user", content="Hi")
    result = ToolResultEvent(index=1, turn=1, call_id="a", name="look", content="Error: invalid")

    async def play(model: OpenAIModel) -> list[Message | ToolCalls]:
        agent = ModelAgent(Brief("shop", "Be kind.", (TOOL,), "2026-03-16T15:00:00"), model)
        return [await agent.act(Observation(events=(event,))) for event in (words, result)]

    with chat_server(*answers) as server:
        first, second = using(f"openai:model-1,base_url={server.url}", play)
    assert isinstance(first, ToolCalls)
    assert first.calls[0].arguments == {"malformed": '{"at": '}
    assert isinstance(second, Message)
    sent = server.asked[1]["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"malformed": '{"at": '}


@pytest.mark.parametrize(
    ("answer", "stop", "detail"),
    [
        (completion("Hi", finish="stop"), StopReason.END_TURN, ""),
        (completion("Hi", finish="length"), StopReason.MAX_TOKENS, ""),
        (completion("", finish="content_filter"), StopReason.REFUSAL, ""),
        (completion(None, refusal="I cannot."), StopReason.REFUSAL, "I cannot."),
        (completion("Hi", finish="eos"), StopReason.END_TURN, ""),
        (completion("", ("a", "look", "{}"), finish="eos"), StopReason.TOOL_USE, ""),
        (
            error(400, "This model's maximum context length is 4096 tokens."),
            StopReason.CONTEXT_FULL,
            "This model's maximum context length is 4096 tokens.",
        ),
        (
            error(400, "Too long.", "context_length_exceeded"),
            StopReason.CONTEXT_FULL,
            "Too long.",
        ),
    ],
)
def test_why_a_reply_ended(answer: Any, stop: StopReason, detail: str) -> None:
    """In one set of words for all providers."""
    with chat_server(answer) as server:
        reply = ask(server)
    assert (reply.stop, reply.detail, reply.attempts) == (stop, detail, 1)


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (
            "",
            {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
            },
        ),
        (",schema=json_object", {"type": "json_object", "schema": SCHEMA}),
        (",schema=prompt", None),
    ],
)
def test_a_schema_is_told_in_the_way_that_the_server_understands(
    options: str, sent: object
) -> None:
    """By response_format, or, where a server knows none, in words."""
    request = Request(HELLO.system, HELLO.messages, schema=SCHEMA)
    with chat_server(completion('{"text": "Hi"}')) as server:
        ask(server, request, options)
    (body,) = server.asked
    assert body.get("response_format") == sent
    assert (json.dumps(SCHEMA) in body["messages"][0]["content"]) is (sent is None)


def test_a_schema_with_an_optional_part_is_not_called_strict() -> None:
    """OpenAI refuses it otherwise."""
    loose = {"type": "object", "properties": {"one": {**SCHEMA, "required": []}}}
    body = chat_body(Request("", (), schema=loose), ChatSettings("m"))
    assert body["response_format"]["json_schema"]["strict"] is False


# --- when something goes wrong ------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [
        error(429, "Slow down.", retry_after_ms="1"),
        error(503, "Overloaded.", retry_after_ms="1"),
        error(500, "Oops.", retry_after_ms="1"),
        Response("<html>", 200, {"retry-after-ms": "1"}),
    ],
    ids=["too many", "overloaded", "broken", "no JSON"],
)
def test_what_may_work_next_time_is_tried_again(failure: Response) -> None:
    """The reply tells how often it was asked for."""
    with chat_server(failure, completion("Hello!")) as server:
        reply = ask(server)
    assert (reply.text, reply.attempts) == ("Hello!", 2)


def test_an_empty_reply_is_asked_for_again_and_paid_for() -> None:
    """Its usage is added to that of the reply that came."""
    with chat_server(completion(""), completion("Hello!")) as server:
        reply = ask(server)
    assert (reply.text, reply.attempts, reply.usage.output_tokens) == ("Hello!", 2, 10)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (error(401, "Incorrect key."), "401 Incorrect key.; check OPENAI_API_KEY"),
        (error(402, "Pay."), "see to the billing"),
        (error(403, "No."), "the key may not use 'model-1'"),
        (error(404, "No such model."), "is there a model 'model-1' at this address?"),
        (error(405, "No."), "is the address right?"),
        (error(501, "Unsupported method."), "is the address right?"),
        (error(429, "No money.", "insufficient_quota"), "see to the billing"),
    ],
)
def test_what_will_never_work_stops_the_run(failure: Response, message: str) -> None:
    """With one line that says what to do."""
    with chat_server(failure) as server, pytest.raises(RunStoppedError) as raised:
        ask(server)
    assert message in str(raised.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (error(400, "Unknown parameter."), "refused the request as it is configured: 400 Unknown"),
        (error(422, "No."), "refused the request as it is configured"),
        ({"choices": []}, "is no chat completion"),
        (Response("[]"), "is no chat completion"),
    ],
)
def test_a_request_that_is_refused_loses_one_trial(failure: Any, message: str) -> None:
    """It is nobody's failure, and asking again would not help."""
    with chat_server(failure) as server, pytest.raises(InfrastructureError) as raised:
        ask(server)
    assert message in str(raised.value)
    assert len(server.asked) == 1


# --- before the first trial ---------------------------------------------------------------------


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI does; where there is a key it is sent, and it stands in no spec."""
    with chat_server(completion("Hello!")) as server:
        ask(server)
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        ask(server)
        assert "secret" not in open_model(f"openai:model-1,base_url={server.url}").spec
    assert server.keys == ["Bearer none", "Bearer secret"]


def test_without_a_key_openai_is_not_asked() -> None:
    """The line names the environment variable."""
    with pytest.raises(RunStoppedError, match="set the environment variable OPENAI_API_KEY"):
        using("openai:gpt-5", lambda model: model.check())


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the SDK."""
    with chat_server(completion("Hello!")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        reply = using("openai:model-1", lambda model: model.complete(HELLO))
    assert reply.text == "Hello!"


@pytest.mark.parametrize("models", [("model-0", "some/model-1"), ("model-1",), None])
def test_a_model_that_the_server_lists_is_in_order(models: tuple[str, ...] | None) -> None:
    """So is any, if it lists none."""
    with chat_server() as server:
        server.models = models
        using(f"openai:model-1,base_url={server.url}", lambda model: model.check())


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (("model-2", "other"), "has no model 'model-1'; did you mean 'model-2'?"),
        ((), "has no model 'model-1'; it has none at all"),
    ],
)
def test_a_model_that_it_does_not_have_stops_the_run(models: tuple[str, ...], message: str) -> None:
    """The line names those that are nearest."""
    with chat_server() as server:
        server.models = models
        with pytest.raises(RunStoppedError, match=message):
            using(f"openai:model-1,base_url={server.url}", lambda model: model.check())


@pytest.mark.parametrize("page", ["<html>Hi</html>", "[1, 2]", '"models"'])
def test_what_is_no_list_of_models_tells_nothing(page: str) -> None:
    """It is no bug of passhat's, and whether there is such a model shows when it is asked."""
    with chat_server() as server:
        server.models = Response(page, media_type="application/json")
        using(f"openai:model-1,base_url={server.url}", lambda model: model.check())


def test_what_the_sdk_lets_through_is_never_the_agents_failure() -> None:
    """Garbage instead of HTTP may work next time; what nobody knows loses the trial."""
    with pytest.raises(TransientError, match="no status line"):
        raise_for(aiohttp.ClientPayloadError("no status line"), "here", "m")
    with pytest.raises(InfrastructureError, match="here: the SDK failed: AttributeError"):
        raise_for(AttributeError("x"), "here", "m")


def test_a_key_that_a_server_repeats_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are printed, and kept with trials."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
    for failure in (error(401, "bad sk-secret-123"), error(400, "bad sk-secret-123")):
        with chat_server(failure) as server, pytest.raises(PasshatError) as raised:
            ask(server)
        assert r"bad [key]" in str(raised.value)
    with chat_server({"echo": "sk-secret-123"}) as server, pytest.raises(PasshatError) as raised:
        ask(server)
    assert "sk-secret-123" not in str(raised.value)


@pytest.mark.slow
def test_an_address_where_nobody_answers_stops_the_run() -> None:
    """After a few tries, before the first trial."""
    with chat_server() as server:
        pass
    with pytest.raises(RunStoppedError, match="is the address right"):
        using(f"openai:model-1,base_url={server.url}", lambda model: model.check())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("top_k=3", "'openai:m' has no option 'top_k'; it has base_url, max_tokens"),
        ("max_tokens=0", "max_tokens='0' should be a number above 0"),
        ("temperature=hot", "temperature='hot' should be a number, 0 or more"),
        ("schema=xml", "schema='xml' should be json_schema or json_object or prompt"),
        ("base_url=localhost", "base_url='localhost' should be an address"),
        ("base_url=http://a:pw@host/v1", "base_url must hold no secret"),
        ("price_input=cheap", "price_input='cheap'"),
    ],
)
def test_a_wrong_option_ends_in_one_line(options: str, message: str) -> None:
    """The line names what was written and what is accepted."""
    with pytest.raises(UsageError) as raised:
        open_model(f"openai:m,{options}")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
