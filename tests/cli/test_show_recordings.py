"""`passhat show` on files that others recorded: lists, conversations, events."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MESSAGES = [
    {"role": "user", "content": "I am mina.o@example.org, cancel K-77."},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "find", "arguments": '{"email": "mina.o@example.org"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "x" * 500},
    {"role": "assistant", "content": "Found \x1b[31myou."},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two conversations, the second broken."""
    file = tmp_path / "log.jsonl"
    good = json.dumps({"messages": MESSAGES})
    file.write_text(f'{good}\n{{"messages": [', encoding="utf-8")
    return file


def test_a_file_is_listed_with_what_became_of_its_conversations(
    passhat: Callable[..., Any], log: Path
) -> None:
    """And how to open one of them."""
    said = passhat("show", "log.jsonl")
    assert said.code == 0
    rows = [line.split()[:4] for line in said.out.splitlines()]
    assert ["1", "openai-chat", "-", "4"] in rows
    assert ["2", "unreadable", "lost", "1"] in rows
    assert "2 conversations" in said.out
    listed = json.loads(passhat("show", "log.jsonl", "--lost", "--json").out)
    assert [each["address"] for each in listed] == ["log.jsonl#2"]


def test_an_address_opens_a_conversation(passhat: Callable[..., Any], log: Path) -> None:
    """Long texts folded, whatever could drive a terminal made harmless."""
    said = passhat("show", f"{log}#1")
    assert said.code == 0
    assert 'find {"email": "mina.o@example.org"}' in said.out
    assert "(100 characters more: --full)" in " ".join(said.out.split())
    assert "\x1b" not in said.out
    whole = json.loads(passhat("show", "log.jsonl#1", "--json").out)
    assert whole["record"] == {"messages": MESSAGES}


def test_what_is_no_number_is_null_in_json(passhat: Callable[..., Any], tmp_path: Path) -> None:
    """Python writes NaN into JSON, and nothing else reads it."""
    (tmp_path / "odd.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "Hi"}], "x": NaN}'
    )
    assert json.loads(passhat("show", "odd.jsonl#1", "--json").out)["record"]["x"] is None


def test_an_address_opens_one_event(passhat: Callable[..., Any], log: Path) -> None:
    """In full, with its place in the record."""
    said = passhat("show", "log.jsonl#1:2")
    assert "read from /messages/2" in said.out
    assert said.out.count("x") >= 500
    event = json.loads(passhat("show", "log.jsonl#1:2", "--json").out)
    assert (event["address"], event["kind"]) == ("log.jsonl#1:2", "tool_result")


def test_personal_data_is_not_shown_when_that_is_asked(
    passhat: Callable[..., Any], log: Path
) -> None:
    """What was replaced, and what was not looked for, is said beside it."""
    said = passhat("show", "log.jsonl#1", "--redact")
    assert "mina" not in said.out + said.err
    assert "email1@redacted.invalid" in said.out
    assert "1 × e-mail address" in said.err
    assert "not looked for: " in said.err
    listed = passhat("show", "log.jsonl", "--redact", "--json")
    assert [each["address"] for each in json.loads(listed.out)] == ["log.jsonl#1", "log.jsonl#2"]


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("log.jsonl#9", "has no conversation '9'"),
        ("log.jsonl#1:9", "has no event 9; it has 4, from 0"),
        ("other.jsonl#1", "cannot read 'other.jsonl'"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    passhat: Callable[..., Any], log: Path, what: str, why: str
) -> None:
    """Exit code 2, as for every request that cannot be met."""
    said = passhat("show", what)
    assert said.code == 2
    assert why in said.err
    assert said.err.count("\n") == 1


def test_the_agent_of_a_plain_transcript_can_be_named(
    passhat: Callable[..., Any], tmp_path: Path
) -> None:
    """Where the speakers' names do not tell."""
    (tmp_path / "call.csv").write_text("speaker,text\nAda,Hello\nBo,Hi\n", encoding="utf-8")
    asked = passhat("show", "call.csv")
    assert (asked.code, "name it with --agent-speaker" in asked.err) == (2, True)
    said = passhat("show", "call.csv#1", "--agent-speaker", "Ada")
    assert [line.split() for line in said.out.splitlines() if "H" in line][:2] == [
        ["0", "agent", "Hello"],
        ["1", "user", "Hi"],
    ]


DOCS = Path(__file__).resolve().parents[2] / "docs"
SESSIONS = re.findall(
    r"^\$ passhat (show .*)\n((?:(?!\$ |```).*\n)*)",
    (DOCS / "recordings.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("command", "printed"), SESSIONS, ids=[c for c, _ in SESSIONS])
def test_the_page_shows_what_the_command_prints(
    passhat: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str, printed: str
) -> None:
    """Letter by letter, but for spaces at the ends of lines."""
    monkeypatch.chdir(DOCS / "examples")
    monkeypatch.setenv("COLUMNS", "90")
    said = passhat(*command.split())
    lines = [line.rstrip() for line in (said.err + said.out).splitlines()]
    assert lines == printed.splitlines()
