"""Agents behind an address, over real HTTP: what is sent and read, whose fault a failure is."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from passhat.agents.agent import Brief
from passhat.agents.http_agent import MOST_BYTES
from passhat.agents.registry import agent_kind
from passhat.errors import Fault, InfrastructureError, RunStoppedError, UsageError
from passhat.harness.store import open_store
from passhat.transcript import (
    ErrorKind,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCalls,
    ToolResultEvent,
    Usage,
    parse_action,
)

from .outside import EXAMPLES, run_trials, serving, told

TASKS = ("telescope-order-home-instead", "hammock-to-the-office", "moved-within-new-york")
STOP = {"type": "stop", "reason": "enough"}
HEARD = Observation(events=(MessageEvent(index=0, turn=0, by="user", content="Hello!"),))


# --- servers that work ----------------------------------------------------------------------------


def heard(text: str) -> MessageEvent:
    """The customer's words, as an event."""
    return MessageEvent(index=0, turn=0, by="user", content=text)


def result(name: str, content: str, is_error: bool = False) -> ToolResultEvent:
    """A tool's result, as an event."""
    error = ErrorKind.REFUSED if is_error else None
    return ToolResultEvent(index=0, turn=0, call_id="", name=name, content=content, error=error)


class RuleBasedServer:
    """The rule-based agent behind an address; three ways of making it out of what is sent."""

    def __init__(self) -> None:
        self.agents: dict[str, Any] = {}

    def by_observation(self, body: dict[str, Any]) -> Any:
        """Remember each conversation, and read only what is new."""
        if body["move"] == 1:
            brief = Brief(
                body["domain"], body["policy"], tuple(body["tools"]), body["now"], body["seed"]
            )
            self.agents[body["conversation"]] = agent_kind("rule-based").make(brief)
        events = [
            heard(o["content"])
            if o["type"] == "message"
            else result(o["name"], o["content"], o["is_error"])
            for o in body["observation"]
        ]
        move = self.agents[body["conversation"]].act(Observation(events=tuple(events)))
        return move.model_dump(exclude={"usage", "seconds"})

    def by_messages(self, body: dict[str, Any]) -> Any:
        """Remember nothing: read the whole conversation, in the dialect of the Messages API."""
        brief = Brief(body["domain"], body["policy"], tuple(body["tools"]), body["now"])
        agent, names, move = agent_kind("rule-based").make(brief), {}, None
        for message in body["messages"]:
            if message["role"] == "assistant":
                names = {b["id"]: b["name"] for b in message["content"] if b["type"] == "tool_use"}
                continue
            events = [
                heard(block["text"])
                if block["type"] == "text"
                else result(
                    names[block["tool_use_id"]], block["content"], block.get("is_error", False)
                )
                for block in message["content"]
            ]
            move = agent.act(Observation(events=tuple(events)))
        assert isinstance(move, (Message, ToolCalls, Stop))
        return move.model_dump(exclude={"usage", "seconds"})

    def by_chat(self, body: dict[str, Any]) -> Any:
        """Remember nothing, and speak OpenAI's chat completions."""
        system, *messages = body["messages"]
        assert system["role"] == "system"
        now = system["content"].rpartition("It is now ")[2].rstrip(".")
        agent = agent_kind("rule-based").make(Brief("retail", system["content"], (), now))
        names: dict[str, str] = {}
        news: list[Any] = []
        for message in messages:
            if message["role"] == "assistant":
                calls = message.get("tool_calls") or ()
                names = {call["id"]: call["function"]["name"] for call in calls}
                agent.act(Observation(events=tuple(news)))
                news = []
            elif message["role"] == "user":
                news.append(heard(message["content"]))
            else:
                content = message["content"]
                is_error = content.startswith("Error: ")
                news.append(result(names[message["tool_call_id"]], content, is_error))
        move = agent.act(Observation(events=tuple(news)))
        assert isinstance(move, (Message, ToolCalls))
        return completion(move)


def completion(move: Message | ToolCalls, **usage: Any) -> dict[str, Any]:
    """A move as a chat completion."""
    said: dict[str, Any] = {"role": "assistant", "content": move.content or None}
    if isinstance(move, ToolCalls):
        said["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for number, call in enumerate(move.calls)
        ]
    return {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], **usage}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[Any, ...]]]:
    """What the rule-based agent does in this process."""
    ran = run_trials(tmp_path_factory.mktemp("here"), "rule-based", TASKS, max_turns=40)
    return [told(one.transcript) for one in ran]


@pytest.mark.parametrize(
    ("way", "options"),
    [("by_observation", ""), ("by_messages", ""), ("by_chat", "/v1,protocol=openai")],
)
def test_an_agent_behind_an_address_does_what_it_does_here(
    way: str, options: str, here: list[list[tuple[Any, ...]]], tmp_path: Path
) -> None:
    """Whether its server remembers conversations or reads them anew, in either protocol."""
    with serving(getattr(RuleBasedServer(), way)) as served:
        ran = run_trials(tmp_path, f"http:{served.url}{options}", TASKS, max_turns=40)
    assert [told(one.transcript) for one in ran] == here
    assert all(one.reward is not None for one in ran)


def test_conversations_at_the_same_time_are_told_apart(
    here: list[list[tuple[Any, ...]]], tmp_path: Path
) -> None:
    """Every conversation has a name of its own, which is the same in all its requests."""
    server = RuleBasedServer()
    with serving(server.by_observation) as served:
        spec = f"http:{served.url}"
        ran = run_trials(tmp_path, spec, TASKS, trials=3, concurrency=9, max_turns=40)
    names = {body["conversation"] for body in served.bodies if body["move"] == 1}
    assert len(names) == 9
    # Trials differ in the customer's wording only, so that the first of each is as it was.
    firsts = [one for number, one in enumerate(ran) if number % 3 == 0]
    assert sorted(map(str, (told(one.transcript) for one in firsts))) == sorted(map(str, here))


def test_an_address_may_be_written_as_it_is(brief: Callable[..., Brief]) -> None:
    """http://... needs no further prefix, and a string is said to the customer."""
    with serving(lambda body: "Good morning!") as served:
        agent = agent_kind(served.url).make(brief())
        said = asyncio.run(agent.act(HEARD))  # type: ignore[arg-type]
    assert said.content == "Good morning!"
    assert said.seconds is not None


def test_the_example_of_the_documents_plays(tmp_path: Path) -> None:
    """A server in thirty lines, with nothing but Python, which asks and looks something up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, EXAMPLES / "http_agent.py", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        (one,) = run_trials(tmp_path, f"http:http://127.0.0.1:{port}", TASKS[:1])
    finally:
        server.kill()
        server.wait()
    assert next(one.transcript.calls()).call.name == "find_user_id_by_email"
    assert any(text.startswith("I found this: ") for text in one.transcript.text_by("agent"))


# --- servers that fail ----------------------------------------------------------------------------


def slow(body: dict[str, Any]) -> Any:
    """An answer that comes too late."""
    time.sleep(0.5)
    return STOP


FAILURES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda body: (500, b"Traceback: oh no"), "answered with status 500: 'Traceback: oh no'"),
    (lambda body: (503, b""), "answered with status 503"),
    (lambda body: b"<html>", "answered with no JSON: '<html>'"),
    (lambda body: b"\xff\xfe\x00", "answered with no JSON"),
    (lambda body: b"[" * 100_000, "answered with no JSON"),
    (lambda body: b"", "answered with no JSON: ''"),
    (lambda body: ["not", "an", "action"], "not an action"),
    (lambda body: {"type": "message", "content": 5}, "not an action: message.content"),
    (lambda body: {"type": "tool_calls", "calls": "all"}, "not an action: tool_calls.calls"),
    (
        lambda body: {"type": "message", "content": "Hi", "usage": {"input_tokens": -5}},
        "not an action: message.usage.input_tokens",
    ),
    (lambda body: "x" * 2 * MOST_BYTES, "answered with more than 1,000,000 bytes"),
    (lambda body: None, "broke off"),
    (slow, "no answer from"),
]


def test_what_a_server_does_wrong_fails_its_own_trial(tmp_path: Path) -> None:
    """It is the agent's own failure, told in words; the next conversation is not affected."""
    ways = iter([failing for failing, _ in FAILURES])
    with serving(lambda body: next(ways, lambda body: STOP)(body)) as served:
        spec = f"http:{served.url},timeout=0.3"
        ran = run_trials(tmp_path, spec, TASKS[:1], trials=len(FAILURES) + 1)
    *crashed, last = ran
    for one, (_, message) in zip(crashed, FAILURES, strict=True):
        assert one.fault is Fault.AGENT
        assert message in one.ending
        assert len(one.ending) < 700
    assert last.ending == "agent stop: enough"


def test_nobody_is_to_blame_for_a_server_that_is_gone(tmp_path: Path) -> None:
    """A trial whose server disappears is lost and owed, not failed."""

    def answer(body: dict[str, Any]) -> Any:
        served.stop()
        return "One moment, please."

    with serving(answer) as served:
        (one,) = run_trials(tmp_path, f"http:{served.url}", TASKS[:1])
    assert (one.reward, one.fault) == (None, Fault.INFRASTRUCTURE)
    assert f"cannot reach {served.url}: Connect" in one.reason


def test_a_server_that_dies_while_it_answers_is_gone_too(brief: Callable[..., Brief]) -> None:
    """What was under way when it died says nothing about the agent."""

    def answer(body: dict[str, Any]) -> Any:
        served.stop()

    with serving(answer) as served, pytest.raises(InfrastructureError, match="there is no agent"):
        asyncio.run(agent_kind(served.url).make(brief()).act(HEARD))  # type: ignore[arg-type]


def test_too_many_requests_are_not_the_agents_failure(brief: Callable[..., Brief]) -> None:
    """It is us who ask, so the trial is owed."""
    message = "status 429: 'slow down'; ask less at once, with --concurrency"
    with (
        serving(lambda body: (429, b"slow down")) as served,
        pytest.raises(InfrastructureError, match=message),
    ):
        asyncio.run(agent_kind(served.url).make(brief()).act(HEARD))  # type: ignore[arg-type]


def test_a_run_does_not_begin_without_a_server(tmp_path: Path) -> None:
    """One line before the first trial, and no run in the store."""
    with serving(lambda body: STOP) as served:
        pass
    with pytest.raises(UsageError, match=r"there is no agent at http://127.*start its server"):
        run_trials(tmp_path, f"http:{served.url}", TASKS[:1])
    with open_store(tmp_path / "runs.sqlite") as store:
        assert not list(store.runs())


@pytest.mark.parametrize("status", [302, 401, 403, 404, 405])
def test_a_wrong_address_or_key_stops_the_run(status: int, tmp_path: Path) -> None:
    """It would fail every trial alike, and says nothing about the agent."""
    with serving(lambda body: (status, b"no")) as served:
        kind = agent_kind(f"http:{served.url}/agent?key=secret")
        agent = kind.make(Brief("retail", "", (), "2026-03-16"))
        with pytest.raises(RunStoppedError, match=f"status {status}: 'no'; is this the right") as e:
            asyncio.run(agent.act(HEARD))  # type: ignore[arg-type]
    assert "secret" not in str(e.value)


# --- what is sent beside the conversation ---------------------------------------------------------


def test_headers_come_from_a_variable_and_stay_there(
    brief: Callable[..., Brief], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The secret is sent, and what a run keeps of its agent, or shows, does not hold it."""
    monkeypatch.setenv("SHOP_HEADERS", "Authorization: Bearer s3cret\nX-Team: blue\n")
    with serving(lambda body: STOP) as served:
        kind = agent_kind(f"http:{served.url},headers=SHOP_HEADERS")
        asyncio.run(kind.make(brief()).act(HEARD))  # type: ignore[arg-type]
    assert served.headers[0]["Authorization"] == "Bearer s3cret"
    assert served.headers[0]["X-Team"] == "blue"
    assert "s3cret" not in repr(kind)
    monkeypatch.setenv("SHOP_HEADERS", "Authorization: Bearer s3cret-word")
    with serving(lambda body: STOP) as served:
        repeating = agent_kind(f"http:{served.url},headers=SHOP_HEADERS").make(brief())
        told = repeating._address._quoted(b"bad Bearer s3cret-word")  # type: ignore[attr-defined]
    assert told == "'bad Bearer [key]'"
    monkeypatch.setenv("SHOP_HEADERS", "s3cret")
    with pytest.raises(UsageError, match="holds a line that is no header") as raised:
        agent_kind("http:http://127.0.0.1,headers=SHOP_HEADERS")
    assert "s3cret" not in str(raised.value)


def test_chat_completions_get_policy_tools_and_model(brief: Callable[..., Brief]) -> None:
    """The request is what OpenAI's API takes; the conversation is named in a header."""
    with serving(lambda body: completion(Message(content="Hi"))) as served:
        kind = agent_kind(f"http:{served.url}/v1/,protocol=openai,model=shop-agent")
        asyncio.run(kind.make(brief()).act(HEARD))  # type: ignore[arg-type]
    (body,) = served.bodies
    assert set(body) == {"model", "messages", "tools"}
    assert body["model"] == "shop-agent"
    assert "<policy>" in body["messages"][0]["content"]
    assert body["messages"][1:] == [{"role": "user", "content": "Hello!"}]
    tool = body["tools"][0]
    assert (tool["type"], set(tool["function"])) == (
        "function",
        {"name", "description", "parameters"},
    )
    assert len(served.headers[0]["Passhat-Conversation"]) == 16


def test_what_an_agent_says_it_spent_is_kept_and_counted(brief: Callable[..., Brief]) -> None:
    """In either protocol; input from a cache is not counted twice."""
    told = brief()
    spent = {"prompt_tokens": 100, "completion_tokens": 7,
             "prompt_tokens_details": {"cached_tokens": 60}}  # fmt: skip
    answers: list[Any] = [
        {"type": "message", "content": "Hi", "usage": {"input_tokens": 3, "cost_dollars": 0.5}},
        completion(Message(content="Hi"), usage=spent),
    ]
    with serving(lambda body: answers["tools" not in body or "model" in body]) as served:
        for spec in (f"http:{served.url}", f"http:{served.url},protocol=openai"):
            asyncio.run(agent_kind(spec).make(told).act(HEARD))  # type: ignore[arg-type]
    assert told.account.spent["agent"].usage == Usage(input_tokens=3, cost_dollars=0.5) + Usage(
        input_tokens=40, cache_read_tokens=60, output_tokens=7
    )


@pytest.mark.parametrize(
    ("said", "move"),
    [
        ({"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}, "Hello"),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        (
            {"tool_calls": [{"function": {"name": "think", "arguments": '{"thought": '}}]},
            {"malformed": '{"thought": '},
        ),
        ({"tool_calls": [{"id": None, "function": {"name": "think", "arguments": ""}}]}, {}),
        ({"tool_calls": [{"function": {"name": "think", "arguments": "[1]"}}]}, {"malformed": [1]}),
    ],
)
def test_chat_completions_are_read_as_servers_write_them(
    said: dict[str, Any], move: Any, brief: Callable[..., Brief]
) -> None:
    """Words in parts, refusals, and malformed arguments, which the tool then refuses."""
    with serving(lambda body: {"choices": [{"message": said}]}) as served:
        agent = agent_kind(f"http:{served.url},protocol=openai").make(brief())
        answer = asyncio.run(agent.act(HEARD))  # type: ignore[arg-type]
    if isinstance(answer, Message):
        assert answer.content == move
    else:
        assert answer.calls[0].arguments == move


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"choices": []}, "no chat completion: choices: List should have at least 1 item"),
        ({"error": {"message": "x"}}, "no chat completion: choices: Field required"),
        ("Hello", "no chat completion"),
        ({"choices": [{"message": {"content": " "}}]}, "neither says anything nor calls a tool"),
    ],
)
def test_what_is_no_chat_completion_is_told(
    answer: Any, message: str, brief: Callable[..., Brief]
) -> None:
    """The agent's failure says what came instead."""
    with serving(lambda body: answer) as served:
        agent = agent_kind(f"http:{served.url},protocol=openai").make(brief())
        with pytest.raises(UsageError) as raised:
            asyncio.run(agent.act(HEARD))  # type: ignore[arg-type]
    assert message in str(raised.value)


def test_a_past_that_somebody_else_made_is_sent_as_the_agents_own(
    brief: Callable[..., Brief],
) -> None:
    """Replay gives recorded moves; calls go by the ids that their results bear."""
    calls = ToolCalls(calls=(ToolCall(name="think", arguments={"thought": "x"}),), content="Hm.")
    back = ToolResultEvent(index=2, turn=1, call_id="toolu_7", name="think", content="ok")
    with serving(lambda body: STOP) as served:
        agent: Any = agent_kind(f"http:{served.url}").make(brief())
        agent.observe(HEARD, calls)
        agent.observe(Observation(events=(back,)), Message(content="Done."))
        assert asyncio.run(agent.act(HEARD)).reason == "enough"
    (body,) = served.bodies
    assert body["move"] == 3
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello!"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Hm."},
                {"type": "tool_use", "id": "toolu_7", "name": "think", "input": {"thought": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_7", "content": "ok"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": [{"type": "text", "text": "Hello!"}]},
    ]
    assert parse_action(STOP) == Stop(reason="enough")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("http:", "'' is no address, e.g. http://127.0.0.1:8000/agent"),
        ("http:localhost:8000", "'localhost:8000' is no address"),
        ("http:ftp://host/x", "'ftp://host/x' is no address"),
        ("http:http://host,protocol=soap", "protocol must be passhat or openai, not 'soap'"),
        ("http:http://host,model=x", "only protocol=openai has a model to name"),
        ("http:http://host,timeout=soon", "timeout must be seconds, more than 0, not 'soon'"),
        ("http:http://host,timeout=0", "timeout must be seconds, more than 0, not '0'"),
        ("http:http://host,headers=NO_SUCH", "there is no environment variable 'NO_SUCH'"),
        ("http:http://host,retries=3", "there is no option 'retries'; there are: protocol, model"),
        ("http:http://me:s3cret@host", "a password in an address would be kept"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(spec: str, message: str) -> None:
    """It names what was written, and never a secret."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "s3cret" not in str(raised.value)
