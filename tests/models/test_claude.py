"""The Claude driver: the real SDK, over real HTTP, against the server of this package."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from passhat.domains.domain import load_domain
from passhat.errors import InfrastructureError, PasshatError, RunStoppedError, UsageError
from passhat.models.batching import Batched
from passhat.models.claude import ClaudeModel
from passhat.models.fake_claude import FakeClaude, serving
from passhat.models.model import Reply, Request, StopReason, text_block, tool_result
from passhat.models.registry import open_model
from passhat.models.waiting import wait_for
from passhat.transcript import Usage

from .asking import HAIKU, claude, gateway, question, run

SECRET = "sk-ant-very-secret"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key from the environment, and nothing else."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FakeClaude]:
    """A server that says hello."""
    with serving(lambda body: "Hello!") as app:
        yield app


def ask(server: FakeClaude, request: Request | None = None, **options: Any) -> Reply:
    """One reply of a server."""
    return run(claude(server.url, **options), lambda model: model.complete(request or question()))


# --- requests and replies -------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_a_question_is_answered(server: FakeClaude, stream: bool) -> None:
    """With usage, cost, the request's id and the model's name."""
    reply = ask(server, stream=stream)
    assert (reply.text, reply.stop, reply.attempts) == ("Hello!", StopReason.END_TURN, 1)
    assert reply.model == HAIKU
    assert (reply.request_id or "").startswith("req_")
    assert (reply.usage.output_tokens or 0) > 0
    assert (reply.usage.cost_dollars or 0) > 0
    assert reply.seconds > 0


@pytest.mark.parametrize("stream", [False, True])
def test_blocks_come_as_they_were_sent_and_are_taken_back_unchanged(stream: bool) -> None:
    """Thinking with its signature, and parallel calls; the server checks what comes back."""

    def brain(body: Any) -> Any:
        if len(body["messages"]) > 1:
            return "Both are on their way."
        calls = [
            {"type": "tool_use", "name": "order", "input": {"id": f"#W{n}", "deep": [{"n": n}]}}
            for n in (1, 2)
        ]
        return [{"type": "thinking", "thinking": "Two orders."}, *calls]

    tools = [{"name": "order", "description": "An order.", "input_schema": {"type": "object"}}]

    async def talk(model: ClaudeModel) -> tuple[Reply, Reply]:
        first = question("Where are my orders?", tools=tools)
        calls = await model.complete(first)
        results = [tool_result(block["id"], "sent") for block in calls.tool_uses]
        answered = [*first.messages, calls.to_message(), {"role": "user", "content": results}]
        second = Request(first.system, answered, tools, conversation=first.conversation)
        return calls, await model.complete(second)

    with serving(brain) as server:
        calls, words = run(claude(server.url, stream=stream), talk)
        sent = server.requests[0].answer
    assert sent is not None
    assert list(calls.content) == sent["content"]
    assert calls.stop is StopReason.TOOL_USE
    assert words.text == "Both are on their way."


def test_a_schema_and_one_tool_at_a_time_reach_the_provider() -> None:
    """The server sees what was asked for."""
    schema = {
        "type": "object",
        "properties": {"say": {"type": "string"}},
        "required": ["say"],
        "additionalProperties": False,
    }
    with serving(lambda body: json.dumps({"say": "Hi"})) as server:
        reply = ask(server, question(schema=schema), effort="low")
        body = server.requests[-1].body
    assert json.loads(reply.text) == {"say": "Hi"}
    assert body["output_config"]["format"]["schema"] == schema
    assert body["output_config"]["effort"] == "low"
    assert body["metadata"] == {"user_id": "one"}


@pytest.mark.parametrize("stop", [StopReason.REFUSAL, StopReason.MAX_TOKENS])
def test_how_a_reply_ended_is_told(stop: StopReason) -> None:
    """It is not for the driver to say whose fault that is."""
    with serving(lambda body: Reply((text_block("I "),), stop, detail="too risky")) as server:
        reply = ask(server)
    assert reply.stop is stop
    assert ("too risky" in reply.detail) is (stop is StopReason.REFUSAL)


def test_a_conversation_that_no_longer_fits_is_a_reply_of_its_own() -> None:
    """The provider refuses it with an error; that is no fault of the configuration."""
    with serving(lambda body: "Hello!") as server:
        long = question("word " * 200_000)
        reply = ask(server, long, model="claude-haiku-4-5")
    assert (reply.stop, reply.content) == (StopReason.CONTEXT_FULL, ())
    assert "too long" in reply.detail


def through_gateway(answer: Any, work: Any, **options: Any) -> Any:
    """What comes of work with a model at a server that is not Anthropic's."""

    async def all_of_it() -> Any:
        async with gateway(answer) as url:
            model = claude(url.rstrip("/"), **options)
            try:
                return await work(model)
            finally:
                await model.close()

    return asyncio.run(all_of_it())


def message(text: str, stop_reason: str = "end_turn") -> web.Response:
    """A reply as the API sends it."""
    usage = {"input_tokens": 1, "output_tokens": 10}
    content = [text_block(text)]
    return web.json_response({"content": content, "stop_reason": stop_reason, "usage": usage})


def test_a_paused_turn_is_sent_back_as_it_is_and_goes_on() -> None:
    """Both parts are one reply, and both are paid for."""

    def answer(path: str, body: Any) -> web.Response:
        if body["messages"][-1]["role"] == "user":
            return message("One moment.", "pause_turn")
        assert body["messages"][-1]["content"] == [text_block("One moment.")]
        return message("Here it is.")

    reply = through_gateway(answer, lambda model: model.complete(question()))
    assert reply.content == (text_block("One moment."), text_block("Here it is."))
    assert (reply.stop, reply.attempts) == (StopReason.END_TURN, 1)
    assert reply.usage.output_tokens == 20


def test_a_turn_that_is_paused_for_ever_loses_the_trial() -> None:
    """Ten times are enough."""
    with pytest.raises(InfrastructureError, match="paused a turn 10 times"):
        through_gateway(
            lambda path, body: message("Wait.", "pause_turn"),
            lambda model: model.complete(question()),
        )


def test_long_replies_are_streamed() -> None:
    """The SDK insists, since a connection on which nothing happens for minutes is cut."""
    with serving(lambda body: "Hello!") as server:
        ask(server, max_tokens=64_000)
        assert server.requests[-1].body["stream"] is True
        ask(server, max_tokens=16_000)
        assert "stream" not in server.requests[-1].body


def test_code_that_is_not_asynchronous_can_wait_for_a_reply(server: FakeClaude) -> None:
    """As a Gymnasium environment does."""
    model = claude(server.url)
    assert wait_for(model.complete(question())).text == "Hello!"
    wait_for(model.close())


def test_a_model_serves_one_event_loop_after_the_other(server: FakeClaude) -> None:
    """Connections belong to the loop that opened them."""
    model = claude(server.url)
    for _ in range(2):
        assert run(model, lambda model: model.complete(question())).text == "Hello!"


# --- the cache ------------------------------------------------------------------------------------


def retail_prefix() -> Request:
    """What every conversation of the retail shop begins with."""
    domain = load_domain("retail")
    return Request(domain.policy, [], [tool.schema for tool in domain.tools.values()])


def conversation(turns: int, prefix: Request) -> Any:
    """Talks for so many turns; gives the usage of each."""

    async def talk(model: ClaudeModel) -> list[Usage]:
        await model.warm_up(prefix)
        messages: list[dict[str, Any]] = []
        used = []
        for turn in range(turns):
            words = f"This is what I want to know in turn {turn}: " + "why is that so? " * 5
            messages.append({"role": "user", "content": [text_block(words)]})
            request = Request(prefix.system, tuple(messages), prefix.tools, conversation="one")
            reply = await model.complete(request)
            used.append(reply.usage)
            messages.append(reply.to_message())
        return used

    return talk


def test_nine_tenths_of_the_input_come_from_the_cache_from_the_second_turn_on() -> None:
    """In ten turns with the policy and the tools of the retail shop."""
    with serving(lambda body: "Because. " * 20) as server:
        used = run(claude(server.url, "claude-sonnet-5-5"), conversation(10, retail_prefix()))
    later = sum(used[1:], Usage())
    assert (later.cache_share or 0) >= 0.9
    assert (used[0].cache_share or 0) >= 0.9  # thanks to the warm-up
    assert all(usage.cache_write_1h_tokens == 0 for usage in used)


def test_another_conversation_reads_what_the_first_one_left() -> None:
    """Policy and tools are written once for all trials."""
    prefix = retail_prefix()
    with serving(lambda body: "Because.") as server:
        run(claude(server.url, "claude-sonnet-5-5"), conversation(1, prefix))
        used = run(claude(server.url, "claude-sonnet-5-5"), conversation(1, prefix))
    assert (used[0].cache_read_tokens or 0) > 4000
    assert used[0].cache_write_1h_tokens == 0


def test_a_turn_of_many_calls_does_not_lose_the_cache() -> None:
    """Thirty blocks at once put the end of the turn before out of reach of a single mark."""
    prefix = retail_prefix()
    name = prefix.tools[0]["name"]
    calls = [{"type": "tool_use", "name": name, "input": {"n": n}} for n in range(30)]

    def brain(body: Any) -> Any:
        return "Done." if len(body["messages"]) > 1 else calls

    async def talk(model: ClaudeModel) -> Usage:
        first = {"role": "user", "content": [text_block("All of my orders, please. " * 50)]}
        asked = await model.complete(Request(prefix.system, [first], prefix.tools))
        results = [tool_result(block["id"], "none") for block in asked.tool_uses]
        messages = [first, asked.to_message(), {"role": "user", "content": results}]
        return (await model.complete(Request(prefix.system, messages, prefix.tools))).usage

    with serving(brain) as server:
        usage = run(claude(server.url, "claude-sonnet-5-5"), talk)
        before = server.requests[0].usage
    kept = before["cache_creation_input_tokens"] + before["cache_read_input_tokens"]
    assert usage.cache_read_tokens == kept


def test_a_warm_up_costs_what_it_puts_into_the_cache() -> None:
    """Once: the second one reads it."""
    prefix = retail_prefix()

    async def twice(model: ClaudeModel) -> tuple[Usage, Usage]:
        return await model.warm_up(prefix), await model.warm_up(prefix)

    with serving(lambda body: "Hello!") as server:
        first, second = run(claude(server.url, "claude-sonnet-5-5"), twice)
    assert (first.cache_write_1h_tokens or 0) > 4000
    assert (first.output_tokens, first.cost_dollars is not None) == (0, True)
    assert second.cache_read_tokens == first.cache_write_1h_tokens


def test_without_a_cache_there_is_nothing_to_warm_up(server: FakeClaude) -> None:
    """Nothing is sent."""
    assert run(claude(server.url, cache=False), lambda m: m.warm_up(retail_prefix())) == Usage()
    assert not server.requests


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        "rate-limit=0.3:0.001",
        "overloaded=0.3",
        "error=0.3",
        "cut=0.3",
        "empty=0.3",
        "slow=0.3:0.01",
    ],
)
def test_no_conversation_is_lost_to_a_fault_that_passes(fault: str, stream: bool) -> None:
    """The answers are the same as without it, and replies that were discarded are paid for."""

    async def many(model: ClaudeModel) -> list[Reply]:
        requests = [question(f"Question {n}", f"c{n}") for n in range(25)]
        return await asyncio.gather(*map(model.complete, requests))

    with serving(lambda body: body["messages"][0]["content"][0]["text"], faults=[fault]) as server:
        replies = run(claude(server.url, stream=stream), many)
        struck = sum(bool(seen.faults) for seen in server.requests)
        written = sum(seen.usage.get("output_tokens", 0) for seen in server.requests)
    assert [reply.text for reply in replies] == [f"Question {n}" for n in range(25)]
    assert struck > 3
    if not fault.startswith("slow"):
        assert sum(reply.attempts for reply in replies) == 25 + struck
    if not fault.startswith("cut"):
        assert sum(reply.usage.output_tokens or 0 for reply in replies) == written


def test_a_reply_that_stays_empty_is_the_models_own_doing() -> None:
    """It is asked again, and returned as it is."""
    with serving(lambda body: "Hello!", faults=["empty=1"]) as server:
        reply = ask(server)
    assert (reply.content, reply.stop, reply.attempts) == ((), StopReason.END_TURN, 10)


def test_an_overloaded_provider_loses_the_trial_with_all_that_support_asks_for() -> None:
    """Its name, the status, the request's id, and how often it was asked."""
    with (
        serving(lambda body: "Hello!", faults=["overloaded=1"]) as server,
        pytest.raises(
            InfrastructureError, match=r"Anthropic .* 529 .*request id req_.*attempts 10"
        ),
    ):
        ask(server)


def test_a_server_that_is_gone_loses_the_trial() -> None:
    """The reason is what happened to the connection."""
    with serving(lambda body: "Hello!") as server:
        url = server.url
    with pytest.raises(InfrastructureError, match=r"APIConnectionError: .*[Cc]onnect"):
        run(claude(url), lambda model: model.complete(question()))


def test_a_time_out_is_asked_again() -> None:
    """A provider that is silent for too long is taken to be gone."""

    async def sleepy(body: Any) -> str:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0 if asked > 1 else 30)
        return "Hello!"

    asked = 0
    with serving(sleepy) as server:
        reply = ask(server, timeout=0.2)
    assert (reply.text, reply.attempts) == ("Hello!", 2)


def test_a_malformed_request_is_refused_as_configured() -> None:
    """It would be refused again; no trial of this configuration can be scored."""
    with (
        serving(lambda body: "Hello!") as server,
        pytest.raises(InfrastructureError, match=r"as it is configured: 400 .*non-empty"),
    ):
        ask(server, question(""))


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", None])
def test_without_a_key_the_run_stops_and_says_which_variable_to_set(
    monkeypatch: pytest.MonkeyPatch, server: FakeClaude, variable: str | None
) -> None:
    """An empty one is none."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    if variable:
        monkeypatch.setenv(variable, "")
    for work in (lambda m: m.check(), lambda m: m.complete(question())):
        with pytest.raises(RunStoppedError, match="set the environment variable ANTHROPIC_API_KEY"):
            run(claude(server.url), work)


def test_a_key_may_come_as_a_token_and_the_address_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: FakeClaude
) -> None:
    """As the SDK has it."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", SECRET)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    reply = run(open_model(f"claude:{HAIKU}"), lambda model: model.complete(question()))  # type: ignore[arg-type]
    assert reply.text == "Hello!"
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("status", "error", "advice"),
    [
        (401, {}, "check ANTHROPIC_API_KEY"),
        (402, {}, "see to the billing of the account"),
        (403, {}, "may the key in ANTHROPIC_API_KEY use 'claude-haiku-5-5'?"),
        (400, {"message": "Your credit balance is too low"}, "see to the billing"),
        (
            429,
            {"details": {"error_code": "enforced_spend_limit_reached"}},
            "raise the account's spend limit",
        ),
    ],
)
def test_what_no_waiting_helps_against_stops_the_run(
    status: int, error: dict[str, Any], advice: str
) -> None:
    """In one line, with what to do, and without the key."""
    sent = {"type": "error", "error": {"type": "some_error", "message": "no\nentry", **error}}
    for work in (lambda m: m.check(), lambda m: m.complete(question())):
        with pytest.raises(RunStoppedError) as caught:
            through_gateway(lambda path, body: web.json_response(sent, status=status), work)
        assert f"{status} some_error " in str(caught.value)
        assert "\n" not in str(caught.value)
        assert advice in str(caught.value)
        assert SECRET not in str(caught.value)


def test_an_unknown_model_stops_the_run_and_similar_ones_are_named(server: FakeClaude) -> None:
    """Before the first trial, and in it if nobody has checked."""
    for work in (lambda m: m.check(), lambda m: m.complete(question())):
        with pytest.raises(RunStoppedError, match="did you mean 'claude-haiku-5-5'"):
            run(claude(server.url, "claude-hiaku-5-5"), work)


def test_a_model_that_is_in_order_passes_the_check(server: FakeClaude) -> None:
    """And is asked nothing."""
    run(claude(server.url), lambda model: model.check())
    assert [seen.path for seen in server.requests] == [f"/v1/models/{HAIKU}"]


def test_more_tokens_than_the_model_writes_are_refused_by_the_check(server: FakeClaude) -> None:
    """The message says how many it writes."""
    with pytest.raises(RunStoppedError, match=r"64,000 tokens at most.*max_tokens=64000"):
        run(claude(server.url, "claude-haiku-4-5", max_tokens=100_000), lambda m: m.check())


def test_an_address_where_nobody_answers_fails_the_check() -> None:
    """A run need not begin to find that out."""
    with serving(lambda body: "Hello!") as server:
        url = server.url
    with pytest.raises(RunStoppedError, match=f"{url}.*is the address right"):
        run(claude(url), lambda model: model.check())


def test_a_gateway_that_lists_no_models_passes_the_check() -> None:
    """Whether it has the model shows when it is asked."""

    def answer(path: str, body: Any) -> web.Response:
        return message("Hello!") if body else web.Response(status=404, text="no such page")

    async def work(model: ClaudeModel) -> str:
        await model.check()
        return (await model.complete(question())).text

    assert through_gateway(answer, work) == "Hello!"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (web.Response, r"attempts 10"),
        (lambda: web.Response(text="<html>Sorry</html>"), r"attempts 10"),
        (lambda: web.json_response([]), r"\[\] instead of a message .*attempts 10"),
        (lambda: web.json_response({}), r"no message \(request id None\): KeyError\('content'\)"),
        (lambda: web.json_response({"content": [3], "stop_reason": "end_turn"}), r"3 is no block"),
        (
            lambda: web.json_response({"content": [{"type": "text"}], "stop_reason": "end_turn"}),
            r"\{'type': 'text'\} is no block",
        ),
        (lambda: web.json_response({"error": "x"}, status=418), r"418 .*x"),
    ],
)
def test_garbage_from_a_gateway_loses_the_trial(answer: Any, message: str) -> None:
    """It is nobody's answer, so it is no failure of the agent."""
    with pytest.raises(InfrastructureError, match=message):
        through_gateway(lambda path, body: answer(), lambda model: model.complete(question()))


@pytest.mark.parametrize(
    "events",
    [
        "",
        'event: content_block_stop\ndata: {"type": "content_block_stop"}\n\n',
        'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
        'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 3}\n\n',
        "event: message_start\ndata: {nonsense\n\n",
    ],
)
def test_a_stream_that_makes_no_sense_loses_the_trial(events: str) -> None:
    """However it is broken."""
    with pytest.raises(InfrastructureError, match=r"attempts 10"):
        through_gateway(
            lambda path, body: web.Response(text=events, content_type="text/event-stream"),
            lambda model: model.complete(question()),
            stream=True,
        )


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("overloaded_error", InfrastructureError, r"529 overloaded_error Sorry .*attempts 10"),
        ("authentication_error", RunStoppedError, r"401 authentication_error Sorry; check"),
        ("invalid_request_error", InfrastructureError, r"as it is configured: 400 .*Sorry"),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_the_error_that_it_is(
    kind: str, error: type[Exception], message: str
) -> None:
    """Its status was 200, so its kind must tell."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": "Sorry"}})
    events = f"event: error\ndata: {body}\n\n"
    with pytest.raises(error, match=message):
        through_gateway(
            lambda path, body: web.Response(text=events, content_type="text/event-stream"),
            lambda model: model.complete(question()),
            stream=True,
        )


@pytest.mark.parametrize("status", [404, 405, 501])
def test_an_address_without_a_messages_api_stops_the_run(status: int) -> None:
    """A wrong base_url is not a model that is unknown, and no wait helps."""
    with pytest.raises(RunStoppedError, match=r"127\.0\.0\.1:\d+ has no Messages API"):
        through_gateway(
            lambda path, body: web.Response(status=status), lambda model: model.complete(question())
        )


@pytest.mark.parametrize("page", ["[1, 2]", '"hi"'])
def test_an_address_that_tells_of_no_model_fails_the_check(page: str) -> None:
    """The line says so, and nothing of the SDK's insides."""
    with pytest.raises(RunStoppedError, match=r"tells nothing about a model, but .*address right"):
        through_gateway(
            lambda path, body: web.Response(text=page, content_type="application/json"),
            lambda model: model.check(),
        )


@pytest.mark.parametrize("status", [200, 400, 401])
def test_a_key_that_a_gateway_repeats_is_masked(status: int) -> None:
    """Messages are printed, and kept with trials."""
    sent = {"type": "error", "error": {"type": "some_error", "message": f"bad {SECRET}"}}
    with pytest.raises(PasshatError) as caught:
        through_gateway(
            lambda path, body: web.json_response(sent, status=status),
            lambda model: model.complete(question()),
        )
    assert "bad [key]" in str(caught.value)


# --- specs ----------------------------------------------------------------------------------------


def test_a_spec_becomes_a_model_with_its_options() -> None:
    """Options stand in the spec in one order."""
    model = open_model(f"claude:{HAIKU},max_tokens=500,effort=low,thinking=adaptive,cache=no")
    assert isinstance(model, ClaudeModel)
    assert model.spec == f"claude:{HAIKU},cache=no,effort=low,max_tokens=500,thinking=adaptive"
    assert model.settings.thinking == {"type": "adaptive"}
    assert not model.settings.cache
    assert model.priced


def test_a_number_of_tokens_turns_thinking_on() -> None:
    """As older models take it."""
    model = open_model("claude:claude-haiku-4-5,thinking=2048")
    assert isinstance(model, ClaudeModel)
    assert model.settings.thinking == {"type": "enabled", "budget_tokens": 2048}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("temperature=0", "no option 'temperature'; it has effort, max_tokens"),
        ("api_key=sk", "no option 'api_key'"),
        ("effort=huge", "effort='huge' should be low or medium or high"),
        ("max_tokens=0", "max_tokens='0' should be a number above 0"),
        ("max_tokens=many", "max_tokens='many'"),
        ("thinking=hard", "thinking='hard' should be adaptive"),
        ("cache=maybe", "cache='maybe' should be yes or no"),
        ("base_url=localhost:80", "base_url='localhost:80' should be an address"),
        ("base_url=http://me:secret@host", "must hold no secret"),
        ("price_input=free", "price_input='free' is no price"),
    ],
)
def test_an_option_that_does_not_do_is_refused_in_one_line(options: str, message: str) -> None:
    """It names the option, and what would have been right."""
    with pytest.raises(UsageError, match=message) as caught:
        open_model(f"claude:{HAIKU},{options}")
    assert "\n" not in str(caught.value)
    assert "secret@" not in str(caught.value)


def test_a_model_without_a_known_price_says_so(server: FakeClaude) -> None:
    """Its cost is unknown, not nothing."""
    assert not open_model("claude:my-own-model").priced
    assert open_model("claude:my-own-model,price_input=1,price_output=2").priced
    assert ask(server, price=None).usage.cost_dollars is None


def test_batches_are_chosen_by_an_option(tmp_path: Any) -> None:
    """The ledger's place is not a part of what is asked."""
    model = open_model(f"claude:{HAIKU},batch={tmp_path / 'ledger.jsonl'}")
    assert isinstance(model, Batched)


@pytest.mark.parametrize("stream", [False, True])
def test_many_conversations_are_under_way_at_once(stream: bool) -> None:
    """A hundred at once; the limit grows to let them in, and none is lost."""

    async def many(model: ClaudeModel) -> int:
        requests = [question(f"{n}", f"c{n}") for n in range(120)]
        replies = await asyncio.gather(*map(model.complete, requests))
        return len([reply for reply in replies if reply.attempts == 1])

    with serving(lambda body: "Hello!", latency=0.02) as server:
        assert run(claude(server.url, stream=stream, max_concurrency=100), many) == 120
