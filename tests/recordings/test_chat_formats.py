"""OpenAI chat and Anthropic Messages: the same story, and what only one of them can say."""

import json
from pathlib import Path
from typing import Any

import pytest

from passhat.recordings.conversation import Format
from passhat.transcript import ErrorKind, ToolCallEvent

from .conversations import ANTHROPIC, OPENAI, ORDER, STORY, lines, read, read_one, told


@pytest.mark.parametrize(
    "content",
    [OPENAI, json.dumps(OPENAI, indent=2), lines(OPENAI), [OPENAI], OPENAI["messages"]],
    ids=["object", "pretty", "line", "list", "bare messages"],
)
def test_openai_chat_is_read_however_it_is_laid_out(tmp_path: Path, content: Any) -> None:
    """One object, a line, a list of them, or the messages alone."""
    conversation = read_one(tmp_path, content)
    assert conversation.format is Format.OPENAI_CHAT
    assert told(conversation) == STORY
    assert conversation.system == "Be kind."
    assert conversation.notes == ()


@pytest.mark.parametrize("content", [ANTHROPIC, [ANTHROPIC], ANTHROPIC["messages"]])
def test_anthropic_messages_tell_the_same_story(tmp_path: Path, content: Any) -> None:
    """Told apart from OpenAI's by their blocks, tools or system prompt."""
    conversation = read_one(tmp_path, content)
    assert conversation.format is Format.ANTHROPIC_MESSAGES
    assert told(conversation) == STORY


def test_a_file_may_mix_formats(tmp_path: Path) -> None:
    """Each line decides for itself."""
    formats = [c.format for c in read(tmp_path, lines(OPENAI, ANTHROPIC))]
    assert formats == [Format.OPENAI_CHAT, Format.ANTHROPIC_MESSAGES]


def test_text_beside_calls_is_kept_and_not_said(tmp_path: Path) -> None:
    """It stands on the first call of the move, in both formats."""
    for content in (OPENAI, ANTHROPIC):
        conversation = read_one(tmp_path, content)
        first, second = (e for e in conversation.events if isinstance(e, ToolCallEvent))
        assert (first.beside, second.beside) == ("Let me look.", "")
        assert "Let me look." not in conversation.events.text_by("agent")


def test_thinking_is_kept_as_received_and_said_to_nobody(tmp_path: Path) -> None:
    """With its signature, which a model wants back unchanged."""
    conversation = read_one(tmp_path, ANTHROPIC)
    call = next(conversation.events.calls()).call
    assert call.provider == ANTHROPIC["messages"][1]
    assert all("an order id" not in text for text in conversation.events.text_by("agent"))


def test_a_refusal_no_words_and_old_functions_are_understood(tmp_path: Path) -> None:
    """What OpenAI's format has said over the years."""
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": None},
        {"role": "assistant", "content": None, "refusal": "I cannot do that."},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url"}]},
        {"role": "narrator", "content": "..."},
        "no message at all",
    ]
    conversation = read_one(tmp_path, {"messages": messages})
    assert conversation.system == "Be brief."
    assert told(conversation) == [
        ("user", ""),
        ("agent", "I cannot do that."),
        ("call", "f", {}),
        ("result", "f", "1"),
        ("agent", ""),
        ("user", "See\n[image_url, not shown]"),
    ]
    assert conversation.notes == (
        "1 × message of an unknown role narrator",
        "1 × message without a role",
    )


def call(call_id: str, name: str, arguments: Any = "{}") -> dict[str, Any]:
    """A tool call as OpenAI writes it."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def test_calls_without_results_and_results_without_calls_are_counted(tmp_path: Path) -> None:
    """Neither stops the reading; a pair keeps its missing half."""
    messages = [
        {"role": "assistant", "tool_calls": [call("a", "f"), call("b", "g")]},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "z", "content": "?"},
        {"role": "user", "content": "Hello?"},
    ]
    conversation = read_one(tmp_path, {"messages": messages})
    pairs = list(conversation.events.calls())
    assert [pair.result and pair.result.content for pair in pairs] == [None, "2"]
    assert conversation.notes == (
        "1 × tool call without a result",
        "1 × tool result without its call",
    )


def test_an_id_used_twice_goes_to_the_latest_move_that_waits(tmp_path: Path) -> None:
    """Ids in the transcript stay unique, as everything that pairs calls relies on."""
    messages = [
        {"role": "assistant", "tool_calls": [call("a", "f")]},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "tool_calls": [call("a", "g"), call("a", "h")]},
        {"role": "tool", "tool_call_id": "a", "content": "g's"},
        {"role": "tool", "tool_call_id": "a", "content": "h's"},
    ]
    conversation = read_one(tmp_path, {"messages": messages})
    pairs = list(conversation.events.calls())
    assert len({pair.call.call_id for pair in pairs}) == 3
    assert [pair.result and pair.result.content for pair in pairs] == [None, "g's", "h's"]
    assert "2 × tool call id used twice" in conversation.notes


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', 7])
def test_arguments_that_are_no_object_are_marked_as_unreadable(
    tmp_path: Path, arguments: Any
) -> None:
    """Nothing can be compared with them, so no verdict may rest on them."""
    messages = [{"role": "assistant", "tool_calls": [call("a", "f", arguments), call("b", "g")]}]
    conversation = read_one(tmp_path, {"messages": messages})
    assert conversation.unreadable == {0}
    assert "1 × tool call with unreadable arguments" in conversation.notes


def test_numbers_written_as_strings_stay_what_they_were(tmp_path: Path) -> None:
    """Who compares decides what is equal; a reader does not."""
    arguments = json.dumps({"count": "2", "order_id": 77})
    messages = [{"role": "assistant", "tool_calls": [call("a", "f", arguments)]}]
    conversation = read_one(tmp_path, {"messages": messages})
    assert next(conversation.events.calls()).call.arguments == {"count": "2", "order_id": 77}


def test_an_error_result_is_an_error_and_tools_of_the_provider_run_inside_a_message(
    tmp_path: Path,
) -> None:
    """What the agent says after such a tool is said to the customer."""
    messages = [
        {"role": "user", "content": "Opening hours?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Searching."},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "h"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "u"}]},
                {"type": "text", "text": "We open at nine."},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "get_order", "input": ORDER}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
                {"type": "text", "text": "And?"},
            ],
        },
    ]
    conversation = read_one(tmp_path, {"messages": messages})
    assert told(conversation) == [
        ("user", "Opening hours?"),
        ("call", "web_search", {"q": "h"}),
        ("result", "web_search", '[{"url": "u"}]'),
        ("agent", "We open at nine."),
        ("call", "get_order", ORDER),
        ("result", "get_order", "no"),
        ("user", "And?"),
    ]
    errors = [e.error for e in conversation.events if e.kind == "tool_result"]
    assert errors == [None, ErrorKind.REFUSED]
