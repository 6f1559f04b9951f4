"""Claude Agent SDK: streams, dumps and sessions show what the customer and the agent saw."""

from pathlib import Path
from typing import Any

import pytest

from passhat.errors import Fault
from passhat.recordings.conversation import Format
from passhat.transcript import EndReason

from .conversations import FOUND, ORDER, STORY, lines, read, read_one, told


def user(content: Any, **more: Any) -> dict[str, Any]:
    """A user message of a stream."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": "s1",
        **more,
    }


def assistant(message_id: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    """A piece of an API message."""
    message = {"id": message_id, "role": "assistant", "model": "m", "content": list(blocks)}
    return {
        "type": "assistant",
        "message": message,
        "parent_tool_use_id": None,
        "session_id": "s1",
        **more,
    }


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}


def use(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool use block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any) -> dict[str, Any]:
    """A tool result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "s1",
    "tools": ["mcp__shop__get_order", "mcp__shop__get_time"],
}
DONE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "session_id": "s1",
}
STREAM = [
    INIT,
    user("Please cancel my kettle K-77."),
    assistant("m1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
    assistant("m1", text("Let me look."), use("c1", "mcp__shop__get_order", ORDER)),
    user([text("Reminder: be brief.")], isSynthetic=True),
    assistant("m1", use("c2", "mcp__shop__get_time", {})),
    assistant("m9", text("I am a subagent."), parent_tool_use_id="c1"),
    user([result("c2", "noon")]),
    user([result("c1", [{"type": "text", "text": FOUND}])]),
    user("Task finished.", origin={"kind": "task-notification"}),
    assistant("m2", text("It is pending. Shall I cancel it?")),
    user("Yes.", origin={"kind": "human"}),
    DONE,
]


@pytest.mark.parametrize("content", [STREAM, lines(*STREAM)], ids=["list", "lines"])
def test_a_stream_shows_what_the_customer_and_the_agent_saw(tmp_path: Path, content: Any) -> None:
    """Pieces merged, subagents and injected turns left out, tools named as the domain does."""
    conversation = read_one(tmp_path, content)
    assert conversation.format is Format.AGENT_SDK
    assert conversation.address.trial == "s1"
    assert told(conversation) == STORY
    assert conversation.tools == ("mcp__shop__get_order", "mcp__shop__get_time")
    assert conversation.notes == (
        "2 × injected turn left out",
        "1 × message of a subagent left out",
    )
    move = next(conversation.events.calls()).call
    assert (move.beside, move.move) == ("Let me look.", 1)
    assert [block["type"] for block in move.provider["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert conversation.places[1:3] == (
        "/3/message/content/1",
        "/5/message/content/0",
    )


def test_a_dump_of_the_sdks_classes_is_read_by_its_fields(tmp_path: Path) -> None:
    """Such dumps have no types, neither of messages nor of blocks."""
    dump = [
        {"subtype": "init", "data": {"tools": ["mcp__shop__get_order"], "session_id": "s1"}},
        {"content": "Please cancel my kettle K-77.", "uuid": "u1", "parent_tool_use_id": None},
        {
            "content": [
                {"thinking": "hm", "signature": "s"},
                {"id": "c1", "name": "mcp__shop__get_order", "input": ORDER},
            ],
            "model": "m",
            "parent_tool_use_id": None,
            "message_id": "m1",
        },
        {
            "content": [{"tool_use_id": "c1", "content": FOUND, "is_error": None}],
            "parent_tool_use_id": None,
        },
        {
            "content": [{"text": "It is pending."}],
            "model": "m",
            "parent_tool_use_id": None,
            "message_id": "m2",
        },
        {"subtype": "success", "num_turns": 1, "is_error": False, "session_id": "s1"},
    ]
    conversation = read_one(tmp_path, lines(*dump))
    assert told(conversation) == [
        ("user", "Please cancel my kettle K-77."),
        ("call", "get_order", ORDER),
        ("result", "get_order", FOUND),
        ("agent", "It is pending."),
    ]


def test_a_session_file_is_read_as_the_stream_is(tmp_path: Path) -> None:
    """Its own bookkeeping is no message; meta turns and sidechains are left out."""
    session = [
        {"type": "summary", "summary": "Kettle", "leafUuid": "x"},
        {
            "type": "user",
            "sessionId": "s1",
            "isSidechain": False,
            "message": {"role": "user", "content": "Please cancel my kettle K-77."},
        },
        {
            "type": "user",
            "sessionId": "s1",
            "isMeta": True,
            "message": {"role": "user", "content": "<reminder>"},
        },
        {
            "type": "assistant",
            "sessionId": "s1",
            "isSidechain": True,
            "message": {"id": "m0", "role": "assistant", "content": [text("inner")]},
        },
        {
            "type": "assistant",
            "sessionId": "s1",
            "message": {"id": "m1", "role": "assistant", "content": [text("Done.")]},
        },
    ]
    conversation = read_one(tmp_path, lines(*session))
    assert told(conversation) == [("user", "Please cancel my kettle K-77."), ("agent", "Done.")]


def test_sessions_mixed_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    """In the order in which they begin."""
    log = lines(
        user("A1", session_id="a"),
        user("B1", session_id="b"),
        assistant("m1", text("to A"), session_id="a"),
        assistant("m2", text("to B"), session_id="b"),
    )
    assert {c.address.trial: told(c) for c in read(tmp_path, log)} == {
        "a": [("user", "A1"), ("agent", "to A")],
        "b": [("user", "B1"), ("agent", "to B")],
    }


def test_an_incomplete_move_at_the_end_is_cut_and_that_is_said(tmp_path: Path) -> None:
    """A crash or a deferral: of two parallel calls one was answered."""
    stream = [
        user("Cancel K-77."),
        assistant("m1", use("c1", "mcp__shop__get_order", ORDER), use("c2", "other", {})),
        user([result("c1", FOUND)]),
    ]
    conversation = read_one(tmp_path, stream)
    assert told(conversation) == [("user", "Cancel K-77.")]
    assert conversation.notes == ("1 × move at the end cut: its tool calls were not answered",)


def test_a_stream_without_the_prompts_says_so(tmp_path: Path) -> None:
    """The SDK does not echo what the customer was asked; only a session file holds it."""
    conversation = read_one(tmp_path, [INIT, assistant("m1", text("Hello!")), DONE])
    assert told(conversation) == [("agent", "Hello!")]
    assert any("without the customer's words" in note for note in conversation.notes)


@pytest.mark.parametrize(
    ("last", "fault"),
    [
        (assistant("m1", text("API Error: 529"), error="server_error"), Fault.INFRASTRUCTURE),
        (DONE | {"is_error": True, "api_error_status": 529}, Fault.INFRASTRUCTURE),
        (DONE | {"is_error": True, "subtype": "error_during_execution"}, None),
    ],
)
def test_a_failed_api_call_loses_the_session_and_fails_nobody(
    tmp_path: Path, last: Any, fault: Fault | None
) -> None:
    """What was said before it is still there."""
    conversation = read_one(tmp_path, [user("Hi"), last])
    assert conversation.lost
    assert conversation.passed is None
    ending = conversation.events.ending
    assert ending is not None
    assert (ending.reason, ending.fault) == (EndReason.LOST, fault)
    assert conversation.events.text_by("user") == ["Hi"]


def test_too_many_turns_are_an_ending_not_a_loss(tmp_path: Path) -> None:
    """The agent did not finish."""
    limit = DONE | {"is_error": True, "subtype": "error_max_turns"}
    conversation = read_one(tmp_path, [user("Hi"), assistant("m1", text("Hm")), limit])
    assert told(conversation)[-1] == ("end", "turn limit")
    assert conversation.lost is None
