"""The server over real HTTP, through the real SDK: messages, streams, models, access."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from threading import Thread

import anthropic
import pytest
from anthropic import Anthropic

from passhat.errors import UsageError
from passhat.models.fake_claude import FakeClaude, serving
from passhat.models.model import Reply, StopReason

from .requests import CALL, MODEL, RESULT, TOOL, Json, asking, assistant, request, text, user

THINKING: Json = {"type": "thinking", "thinking": "They want order #W1."}
BLOCKS: list[Json] = [
    THINKING,
    text("One moment."),
    {"type": "tool_use", "name": "find_order", "input": {"order_id": "#W1"}},
    {"type": "tool_use", "name": "find_order", "input": {"order_id": "#W2"}},
]


@pytest.fixture(scope="module")
def client_and_server() -> Iterator[tuple[Anthropic, FakeClaude]]:
    """A server that thinks, speaks and makes two calls at once."""
    with asking(lambda body: BLOCKS) as both:
        yield both


@pytest.fixture
def client(client_and_server: tuple[Anthropic, FakeClaude]) -> Anthropic:
    """The real client."""
    return client_and_server[0]


@pytest.fixture
def server(client_and_server: tuple[Anthropic, FakeClaude]) -> FakeClaude:
    """The server that it talks to."""
    return client_and_server[1]


def test_an_answer_has_thinking_words_and_parallel_calls(client: Anthropic) -> None:
    """As blocks with a signature and with ids, which differ."""
    message = client.messages.create(**request(tools=[TOOL]))
    thinking, words, first, second = message.content
    assert thinking.type == "thinking"
    assert thinking.signature
    assert words.type == "text"
    assert first.type == second.type == "tool_use"
    assert first.id != second.id
    assert second.input == {"order_id": "#W2"}
    assert (message.role, message.model, message.stop_reason) == ("assistant", MODEL, "tool_use")


def test_the_same_request_has_the_same_answer(client: Anthropic) -> None:
    """To the id, so that an attempt that was repeated shows nowhere."""
    asked = request(tools=[TOOL])
    first, second = client.messages.create(**asked), client.messages.create(**asked)
    assert first.model_dump(exclude={"usage"}) == second.model_dump(exclude={"usage"})
    assert client.messages.create(**request(user("Bye"), tools=[TOOL])).id != first.id


def test_a_stream_comes_to_the_same_message(client: Anthropic) -> None:
    """With words, thoughts, signature and inputs in pieces."""
    asked = request(tools=[TOOL])
    whole = client.messages.create(**asked)
    with client.messages.stream(**asked) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [
        block.to_dict() for block in whole.content
    ]
    assert streamed.usage.output_tokens == whole.usage.output_tokens
    assert streamed.stop_reason == whole.stop_reason
    assert {"thinking", "signature", "text", "input_json"} < {*kinds}


def test_one_tool_at_a_time_means_one_call(client: Anthropic) -> None:
    """However many the brain would make."""
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    message = client.messages.create(**request(tools=[TOOL], tool_choice=choice))
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]


def test_an_answer_is_cut_at_max_tokens(client: Anthropic) -> None:
    """And says that this is why it ends; with no tokens, there is none."""
    size = client.messages.create(**request(tools=[TOOL])).usage.output_tokens_details
    assert size is not None
    message = client.messages.create(**request(tools=[TOOL], max_tokens=size.thinking_tokens + 2))
    assert message.stop_reason == "max_tokens"
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert "One moment.".startswith(message.content[1].text)  # type: ignore[union-attr]
    warm_up = client.messages.create(**request(tools=[TOOL], max_tokens=0))
    assert (warm_up.content, warm_up.usage.output_tokens) == ([], 0)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        (StopReason.REFUSAL, "refusal"),
        (StopReason.CONTEXT_FULL, "model_context_window_exceeded"),
        (StopReason.MAX_TOKENS, "max_tokens"),
    ],
)
def test_a_brain_says_why_it_stops(stop: StopReason, told: str) -> None:
    """A refusal with what there is to say about it."""
    with asking(lambda body: Reply((), stop, detail="No.")) as (client, _):
        message = client.messages.create(**request())
    assert message.stop_reason == told
    if stop is StopReason.REFUSAL:
        assert message.stop_details is not None
        assert message.stop_details.explanation == "No."


def test_a_brain_may_be_asynchronous() -> None:
    """And may answer with words only."""

    async def brain(body: Json) -> str:
        return f"You said {body['messages'][-1]['content']}."

    with asking(brain) as (client, server):
        message = client.messages.create(**request())
        assert message.content[0].to_dict() == {"text": "You said Hello.", "type": "text"}
        (seen,) = server.requests
    assert (seen.path, seen.status, seen.model) == ("/v1/messages", 200, MODEL)


def test_what_a_brain_raises_is_an_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    """Logged; a request that it cannot answer, as it says with a UsageError, is refused."""

    def brain(body: Json) -> str:
        if body["messages"][0]["content"] == "Hello":
            raise UsageError("messages: nothing to say to 'Hello'")
        return str(1 // 0)

    with asking(brain) as (client, _):
        with pytest.raises(anthropic.BadRequestError, match="nothing to say to 'Hello'"):
            client.messages.create(**request())
        with pytest.raises(anthropic.InternalServerError, match="brain"):
            client.messages.create(**request(user("Bye")))
    assert "ZeroDivisionError" in caplog.text


def test_tokens_are_counted_by_a_simple_rule(client: Anthropic) -> None:
    """Four characters of a block's JSON are one; counting agrees with what is charged."""
    asked = request(user("x" * 400), tools=[TOOL], system="Be kind.")
    counted = client.messages.count_tokens(
        **{name: value for name, value in asked.items() if name != "max_tokens"}
    )
    assert counted.input_tokens == client.messages.create(**asked).usage.input_tokens
    longer = {**asked, "messages": [user("x" * 800)]}
    assert client.messages.create(**longer).usage.input_tokens == counted.input_tokens + 100


def test_models_are_listed_and_described(client: Anthropic) -> None:
    """Page by page, with what a client must know."""
    listed = [model.id for model in client.models.list(limit=3)]
    assert MODEL in listed
    assert len(listed) == len({*listed}) > 3
    info = client.models.retrieve("claude-opus-5-5")
    assert info.max_tokens == 128_000
    assert info.capabilities is not None
    assert not info.capabilities.thinking.types.disabled.supported


def test_unknown_models_are_not_found(client: Anthropic) -> None:
    """Unless the server was told of them."""
    with pytest.raises(anthropic.NotFoundError, match="claude-sonet"):
        client.models.retrieve("claude-sonet")
    with pytest.raises(anthropic.NotFoundError, match="claude-sonet"):
        client.messages.create(**request(model="claude-sonet"))
    with asking(lambda body: "Hi", models=["my-model"]) as (own, _):
        assert own.messages.create(**request(model="my-model")).model == "my-model"


def test_the_same_path_needs_the_right_method(client: Anthropic) -> None:
    """And there are no others."""
    with pytest.raises(anthropic.NotFoundError, match="no GET /v1/messages"):
        client.get("/v1/messages", cast_to=dict)  # type: ignore[type-var]
    with pytest.raises(anthropic.NotFoundError, match="no POST /v1/complete"):
        client.post("/v1/complete", cast_to=dict)  # type: ignore[type-var]


# --- access, and what is no request at all ------------------------------------------------------


def post(url: str, body: bytes, **headers: str) -> tuple[int, Json]:
    """Send a request without the SDK; gives status and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = urllib.request.Request(f"{url}/v1/messages", body, named)
    try:
        answer = urllib.request.urlopen(asked)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert answer.headers["request-id"]
        return answer.status, json.load(answer)


VERSION = {"anthropic_version": "2026-10-21"}


def test_a_key_is_needed_in_either_header(server: FakeClaude) -> None:
    """Any key will do."""
    body = json.dumps(request()).encode()
    status, error = post(server.url, body, **VERSION)
    assert (status, error["type"]) == (401, "error")
    assert error["error"]["type"] == "authentication_error"
    assert error["request_id"].startswith("req_")
    assert post(server.url, body, **VERSION, x_api_key="any")[0] == 200
    assert post(server.url, body, **VERSION, authorization="Bearer any")[0] == 200
    assert post(server.url, body, **VERSION, authorization="Bearer")[0] == 401


def test_the_api_version_is_needed(server: FakeClaude) -> None:
    """As the real API does."""
    status, error = post(server.url, b"{}", x_api_key="any")
    assert status == 400
    assert "anthropic-version" in error["error"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'"hello"'])
def test_what_is_no_json_object_is_refused(server: FakeClaude, body: bytes) -> None:
    """With 400, and in the API's shape."""
    status, error = post(server.url, body, **VERSION, x_api_key="any")
    assert (status, error["error"]["type"]) == (400, "invalid_request_error")


def test_a_request_that_is_too_large_is_refused() -> None:
    """It is read to its end, so that the client hears why; the connection goes on."""
    with asking(lambda body: "Hi", max_body_bytes=100_000) as (client, _):
        with pytest.raises(anthropic.APIStatusError) as refused:
            client.messages.create(**request(user("x" * 5_000_000)))
        assert refused.value.status_code == 413
        assert refused.value.type == "request_too_large"
        assert client.messages.create(**request()).content


def talk(url: str, *pieces: bytes) -> bytes:
    """What the server says to bytes that come in these pieces, until it closes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        for piece in pieces:
            connection.sendall(piece)
        said = b""
        while more := connection.recv(65536):
            said += more
        return said


HEAD = "host: here\r\nx-api-key: any\r\nanthropic-version: 1\r\n"


def post_head(*lines: str) -> bytes:
    """The head of a request to /v1/messages that is the last on its connection."""
    more = "".join(f"{line}\r\n" for line in ("connection: close", *lines))
    return f"POST /v1/messages HTTP/1.1\r\n{HEAD}{more}\r\n".encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/2\r\nhost: here\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: here\r\nnonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: many\r\n\r\n",
        b"GET /" + b"x" * 70_000,
        post_head("transfer-encoding: chunked") + b"many\r\n",
        post_head("content-encoding: gzip", "content-length: 5") + b"hello",
    ],
)
def test_what_is_no_http_request_closes_the_connection(
    server: FakeClaude, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The client is told that it is at fault; nobody else is."""
    said = talk(server.url, sent)
    assert said.startswith((b"HTTP/1.0 400 ", b"HTTP/1.1 400 "))
    assert not caplog.records


def test_a_request_may_come_in_pieces_and_before_the_last_is_answered(server: FakeClaude) -> None:
    """Requests on one connection are answered in order."""
    one = f"GET /v1/models/claude-haiku-5-5 HTTP/1.1\r\n{HEAD}".encode()
    last = one.replace(b"haiku", b"opus") + b"connection: close\r\n\r\n"
    said = talk(server.url, one[:20], one[20:] + b"\r\n" + last)
    assert said.count(b"HTTP/1.1 200") == 2
    assert said.index(b'"claude-haiku-5-5"') < said.index(b'"claude-opus-5-5"')


def test_a_body_may_come_in_chunks(server: FakeClaude) -> None:
    """Its length need not be known before."""
    body = json.dumps(request()).encode()
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    said = talk(server.url, post_head("transfer-encoding: chunked"), chunks)
    assert said.startswith(b"HTTP/1.1 200")


def test_a_client_that_expects_it_is_told_to_go_on(server: FakeClaude) -> None:
    """As curl does before it sends much."""
    body = json.dumps(request()).encode()
    head = post_head("expect: 100-continue", f"content-length: {len(body)}")
    assert talk(server.url, head, body).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200")


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_leaves_is_not_waited_for(streamed: bool) -> None:
    """Neither before the answer nor in its midst; and others are answered as before."""
    with asking(lambda body: "Hello there. " * 100_000, latency=0.01) as (client, server):
        body = json.dumps(request(stream=streamed, max_tokens=100_000)).encode()
        for read in (0, 1000):
            with socket.create_connection(("127.0.0.1", int(server.url[17:]))) as leaving:
                leaving.sendall(post_head(f"content-length: {len(body)}") + body)
                leaving.recv(read)
        assert client.messages.create(**request()).content
        while server.at_work:
            pass


# --- running it ---------------------------------------------------------------------------------


def test_leaving_the_context_ends_what_is_under_way() -> None:
    """A client that still waits is cut off, and the port is free again."""
    failed: list[BaseException] = []
    with asking(lambda body: "Hi", latency=60) as (client, server):

        def wait() -> None:
            try:
                client.messages.create(**request())
            except anthropic.APIConnectionError as error:
                failed.append(error)

        waiting = Thread(target=wait)
        waiting.start()
        port = int(server.url.rpartition(":")[2])
        while not server.at_work:
            pass
    waiting.join(5)
    assert failed
    with serving(lambda body: "Hi", port=port) as again:
        assert again.url == server.url


def test_a_port_that_is_taken_is_said_at_once(server: FakeClaude) -> None:
    """As the operating system says it."""
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"), serving(lambda body: "Hi", port=port):
        pass


def test_a_conversation_with_a_tool_goes_on(client: Anthropic) -> None:
    """The SDK's own form of the assistant's turn is taken back unchanged."""
    first = client.messages.create(**request(tools=[TOOL]))
    results = [
        {**RESULT, "tool_use_id": block.id} for block in first.content if block.type == "tool_use"
    ]
    messages = [user("Hello"), first.to_param(), user(*results, text("Well?"))]
    second = client.messages.create(**request(*messages, tools=[TOOL]))  # type: ignore[arg-type]
    assert second.id != first.id
    assert client.messages.create(
        **request(user("Hello"), assistant(CALL), user(RESULT), tools=[TOOL])
    ).content
