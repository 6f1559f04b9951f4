"""How requests are written for Anthropic's API, and replies read."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.models.claude_messages import (
    ClaudeSettings,
    StreamedMessage,
    marked,
    reply_of,
    request_body,
    says_too_long,
    usage_of,
    warm_up_body,
)
from passhat.models.fake_claude.answers import events
from passhat.models.model import Request, StopReason, text_block
from passhat.models.prices import Price, Rates

SETTINGS = ClaudeSettings("claude-haiku-5-5")
TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("a", "b")
]
PRICE = Price(Rates(input=1, output=10, cache_read=0.1, cache_write=1.25, cache_write_1h=2))


def turns(*sizes: int) -> list[dict[str, Any]]:
    """Messages of alternating roles with so many blocks each."""
    return [
        {
            "role": "user" if place % 2 == 0 else "assistant",
            "content": [text_block(f"{place}.{block}") for block in range(size)],
        }
        for place, size in enumerate(sizes)
    ]


def marks(body: Any) -> list[dict[str, str]]:
    """Every cache mark in a body, in the order in which the API reads it."""
    found = []
    for part in ("tools", "system"):
        found += [b["cache_control"] for b in body.get(part, []) if "cache_control" in b]
    for message in body["messages"]:
        found += [b["cache_control"] for b in message["content"] if "cache_control" in b]
    return found + ([body["cache_control"]] if "cache_control" in body else [])


def test_the_prefix_is_kept_for_an_hour_and_the_conversation_for_five_minutes() -> None:
    """The longer one stands first, as the API wants it; system comes behind the tools."""
    body = request_body(Request("policy", turns(1), TOOLS), SETTINGS)
    assert body["system"] == [
        {"type": "text", "text": "policy", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ]
    assert body["cache_control"] == {"type": "ephemeral"}
    assert marks(body) == [{"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}]


def test_without_a_system_prompt_the_last_tool_is_marked() -> None:
    """Tools alone can be kept too."""
    body = request_body(Request("", turns(1), TOOLS), SETTINGS)
    assert "system" not in body
    assert body["tools"][-1]["cache_control"]["ttl"] == "1h"


def test_nothing_is_marked_when_the_cache_is_not_wanted() -> None:
    """``cache=no`` leaves it to the provider."""
    body = request_body(
        Request("policy", turns(1, 30, 30), TOOLS), ClaudeSettings("m", cache=False)
    )
    assert marks(body) == []


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_there_are_never_more_than_four_marks_and_words_are_never_changed(
    sizes: list[int],
) -> None:
    """Without its marks a body says what the request says; the request is left as it was."""
    request = Request("policy", turns(*sizes), TOOLS)
    before = copy.deepcopy(request)
    body = request_body(request, SETTINGS)
    assert len(marks(body)) <= 4
    assert request == before
    for message in body["messages"]:
        for block in message["content"]:
            block.pop("cache_control", None)
    assert body["messages"] == before.messages


@given(before=st.integers(1, 9), called=st.integers(1, 60), results=st.integers(1, 60))
def test_what_the_turn_before_has_left_is_within_reach_of_a_mark(
    before: int, called: int, results: int
) -> None:
    """A mark finds what was kept at most 20 blocks before it; the last block always has one."""
    messages = marked(turns(before, called, results))
    new = [block for message in messages[1:] for block in message["content"]]
    marked_at = [place for place, block in enumerate(new, 1) if "cache_control" in block]
    assert min([*marked_at, len(new)]) < 20


def test_thinking_is_not_marked() -> None:
    """The API takes no mark there; the block before it gets it."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    messages = turns(1, 14, 20)
    messages[1]["content"] += [thought] * 3
    result = marked(messages)
    assert "cache_control" in result[1]["content"][13]
    assert all("cache_control" not in block for block in result[1]["content"][14:])


def test_options_are_written_as_the_api_takes_them() -> None:
    """Schema and effort share a field; the conversation is told apart by an opaque id."""
    settings = ClaudeSettings("m", max_tokens=7, effort="low", thinking={"type": "adaptive"})
    schema = {"type": "object"}
    request = Request("", turns(1), TOOLS, schema, True, "conversation-7")
    body = request_body(request, settings)
    assert body["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": schema},
    }
    assert body["thinking"] == {"type": "adaptive"}
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["metadata"] == {"user_id": "conversation-7"}
    assert body["max_tokens"] == 7


def test_what_is_not_set_is_not_sent() -> None:
    """The provider's defaults hold, and no sampling parameters are ever sent."""
    body = request_body(Request("", turns(1)), ClaudeSettings("m", cache=False))
    assert set(body) == {"model", "max_tokens", "messages"}


def test_one_tool_at_a_time_means_nothing_without_tools() -> None:
    """The API refuses a choice of none."""
    body = request_body(Request("", turns(1), one_tool_at_a_time=True), SETTINGS)
    assert "tool_choice" not in body


def test_a_warm_up_asks_for_nothing_and_marks_the_prefix_only() -> None:
    """It has the same tools and system, to the byte, as every request after it."""
    request = Request("policy", turns(1), TOOLS, conversation="one")
    warm_up, body = warm_up_body(request, SETTINGS), request_body(request, SETTINGS)
    assert warm_up["max_tokens"] == 0
    assert len(marks(warm_up)) == 1
    for part in ("tools", "system"):
        assert json.dumps(warm_up[part]) == json.dumps(body[part])


def message(**changes: Any) -> dict[str, Any]:
    """A message as the API sends it."""
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 4000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 20,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [text_block("Hello!")],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    } | changes


def test_usage_has_five_parts_and_a_cost() -> None:
    """Writes are told apart by how long they are kept."""
    usage = usage_of(message()["usage"], PRICE)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (10, 20, 4000)
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens) == (100, 200)
    assert usage.cost_dollars == pytest.approx((10 + 200 + 400 + 125 + 400) / 1e6)


def test_writes_that_are_not_split_are_of_five_minutes() -> None:
    """Gateways leave the split out."""
    usage = usage_of(
        {"input_tokens": 1, "cache_creation_input_tokens": 5, "output_tokens": 1}, None
    )
    assert (usage.cache_write_tokens, usage.cache_write_1h_tokens) == (5, 0)
    assert usage.cost_dollars is None


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("tool_use", StopReason.TOOL_USE),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.CONTEXT_FULL),
    ],
)
def test_every_reason_to_stop_is_known(reason: str, stop: StopReason) -> None:
    """As the API names them."""
    assert reply_of(message(stop_reason=reason), price=None).stop is stop


def test_a_refusal_says_what_was_refused() -> None:
    """Category and explanation, as far as they are given."""
    details = {"type": "refusal", "category": "cyber", "explanation": "It looks like malware."}
    reply = reply_of(message(stop_reason="refusal", stop_details=details), price=None)
    assert (reply.stop, reply.detail) == (StopReason.REFUSAL, "cyber: It looks like malware.")


def test_a_streamed_message_is_the_one_that_would_have_come_whole() -> None:
    """Thinking, signature, words, and parallel calls with their input."""
    whole = message(
        content=[
            {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
            text_block("I look both up."),
            {"type": "tool_use", "id": "t1", "name": "a", "input": {"id": "#W1", "n": [1, 2]}},
            {"type": "tool_use", "id": "t2", "name": "b", "input": {}},
        ],
        stop_reason="tool_use",
    )
    streamed = StreamedMessage()
    for event in events(copy.deepcopy(whole) | {"usage": {**whole["usage"]}}):
        streamed.add(json.loads(event.decode().split("data: ", 1)[1]))
    assert streamed.complete
    assert streamed.message == whole


def test_an_input_that_is_no_json_stays_text() -> None:
    """It is the agent's mistake, and the agent is to be told."""
    whole = message(content=[{"type": "tool_use", "id": "t1", "name": "a", "input": '{"id": '}])
    streamed = StreamedMessage()
    for event in events(whole):
        streamed.add(json.loads(event.decode().split("data: ", 1)[1]))
    assert streamed.message is not None
    assert streamed.message["content"][0]["input"] == '{"id": '


@given(kept=st.integers(0, 10))
def test_a_cut_stream_is_not_taken_for_a_message(kept: int) -> None:
    """Only the last event makes it complete."""
    streamed = StreamedMessage()
    pieces = [json.loads(event.decode().split("data: ", 1)[1]) for event in events(message())]
    for event in pieces[: min(kept, len(pieces) - 1)]:
        streamed.add(event)
    assert not streamed.complete


@pytest.mark.parametrize(
    ("words", "too_long"),
    [
        ("prompt is too long: 209375 tokens > 200000 maximum", True),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", True),
        ("max_tokens: 200000 > 64000, which is the maximum allowed", False),
        ("messages: text content blocks must be non-empty", False),
    ],
)
def test_a_full_context_is_told_from_other_refusals(words: str, too_long: bool) -> None:
    """It is the conversation's length, and not the configuration, that is refused."""
    assert says_too_long(words) is too_long
