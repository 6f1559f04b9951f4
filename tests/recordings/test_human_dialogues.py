"""Dialogues between people: STAR, ABCD, and plain transcripts of who said what."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from passhat.errors import UsageError
from passhat.recordings.conversation import Format, Label
from passhat.recordings.readers import read_conversations

from ..reference_data import reference
from .conversations import lines, read, read_one, told, write

DIALOGUE = {
    "DialogueID": 7,
    "Scenario": {
        "Domains": ["kettles"],
        "UserTask": "You are Mina Okafor.",
        "WizardTask": "It is Monday.",
        "WizardCapabilities": [{"Domain": "kettles", "Task": "kettle_book"}],
    },
    "Events": [
        {"Agent": "UserGuide", "Action": "instruct", "Text": "Ask for a kettle."},
        {"Agent": "User", "Action": "utter", "Text": "A kettle, please.", "UnixTime": 1},
        {"Agent": "Wizard", "Action": "request_suggestions", "Text": "colour"},
        {
            "Agent": "Wizard",
            "Action": "pick_suggestion",
            "Text": "Which colour?",
            "ActionLabel": "kettle_ask_colour",
            "ActionLabelOptions": ["kettle_ask_colour", "goodbye_1"],
        },
        {"Agent": "User", "Action": "utter", "Text": "Red."},
        {
            "Agent": "Wizard",
            "Action": "query",
            "APIName": "kettle_book",
            "Constraints": [
                {"Colour": '"red"'},
                {"Size": "12"},
                {"Maker": 'api.is_one_of(["A","B"])'},
                {"Colour": '"dark red"'},
            ],
        },
        {
            "Agent": "KnowledgeBase",
            "Action": "return_item",
            "APIName": "kettle_book",
            "Item": {"Maker": "A"},
            "TotalItems": 3,
        },
        {"Agent": "Wizard", "Action": "select_primary", "UnixTime": 2},
        {"Agent": "Wizard", "Action": "utter", "Text": "Done!"},
        {"Agent": "User", "Action": "complete", "UnixTime": 3},
    ],
}

CHAT = {
    "convo_id": 12,
    "scenario": {"flow": "returns", "subflow": "return_kettle", "personal": {}},
    "original": [
        ["agent", "Hi!"],
        ["customer", "My kettle leaks."],
        ["action", "Account has been pulled up for Mina."],
        ["agent", "I see."],
    ],
    "delexed": [
        {"speaker": "agent", "targets": ["return_kettle", "retrieve_utterance", None, [], 4]},
        {"speaker": "customer", "targets": ["return_kettle", None, None, [], -1]},
        {
            "speaker": "action",
            "targets": ["return_kettle", "take_action", "pull-up-account", ["mina"], -1],
        },
        {"speaker": "agent", "targets": ["return_kettle", "retrieve_utterance", None, [], 9]},
    ],
}


def test_a_star_dialogue_has_queries_as_calls_and_replies_with_labels(tmp_path: Path) -> None:
    """Constraints are unquoted and the later of two counts; what was typed is the intent."""
    conversation = read_one(tmp_path, DIALOGUE)
    assert conversation.format is Format.STAR
    assert conversation.address.trial == "7"
    arguments = {"Colour": "dark red", "Size": "12", "Maker": 'api.is_one_of(["A","B"])'}
    assert told(conversation) == [
        ("user", "A kettle, please."),
        ("agent", "Which colour?"),
        ("user", "Red."),
        ("call", "kettle_book", arguments),
        ("result", "kettle_book", '{"Item": {"Maker": "A"}, "TotalItems": 3}'),
        ("agent", "Done!"),
        ("end", "user stop"),
    ]
    assert conversation.labels == {
        1: Label("kettle_ask_colour", ("kettle_ask_colour", "goodbye_1"), "colour")
    }
    assert (conversation.domain, conversation.task) == ("kettles", "kettle_book")
    assert conversation.script == "You are Mina Okafor.\n\nAsk for a kettle."
    assert conversation.system == "It is Monday."


def test_schemas_of_the_apis_are_found_beside_the_dialogues(tmp_path: Path) -> None:
    """They are the tools; a dialogue alone has none."""
    (tmp_path / "apis").mkdir()
    (tmp_path / "dialogues").mkdir()
    write(tmp_path / "apis", {"input": [{"Name": "Colour"}]}, "kettle_book.json")
    write(tmp_path / "dialogues", DIALOGUE, "7.json")
    (conversation,) = read_conversations(tmp_path / "dialogues")
    assert conversation.tools == ({"name": "kettle_book", "input": [{"Name": "Colour"}]},)
    assert read_one(tmp_path, DIALOGUE).tools == ()


def test_a_button_of_abcd_is_a_call_whose_result_is_the_line_the_agent_saw(tmp_path: Path) -> None:
    """The customer's wish is named, not told."""
    conversation = read_one(tmp_path, [CHAT])
    assert conversation.format is Format.ABCD
    assert told(conversation) == [
        ("agent", "Hi!"),
        ("user", "My kettle leaks."),
        ("call", "pull-up-account", {"values": ["mina"]}),
        ("result", "pull-up-account", "Account has been pulled up for Mina."),
        ("agent", "I see."),
    ]
    assert conversation.task == "returns / return_kettle"
    assert conversation.labels[2] == Label(intent="return_kettle")


def test_the_release_of_abcd_is_read_with_its_splits(tmp_path: Path) -> None:
    """And an action without targets is a call that nothing can be compared with."""
    bare = {"convo_id": 13, "original": CHAT["original"]}
    release = {"train": [CHAT], "dev": [], "test": [bare]}
    first, second = read(tmp_path, release)
    assert (first.address.trial, first.context) == ("12", {"split": "train"})
    assert second.unreadable == {2}


ROWS = [
    {"Speaker": "Support", "Text": "Hello!", "t": "9:00"},
    {"Speaker": "Mina", "Text": "My kettle, it leaks; badly.", "t": "9:01"},
]
SAID = [("agent", "Hello!"), ("user", "My kettle, it leaks; badly.")]
CSV = 'Speaker,Text,t\nSupport,Hello!,9:00\nMina,"My kettle, it leaks; badly.",9:01\n'


@pytest.mark.parametrize(
    "content",
    [
        ROWS,
        lines(*ROWS),
        {"id": 3, "turns": ROWS},
        [{"turns": ROWS}],
        CSV,
        CSV.encode("utf-8-sig"),
        "from\tmessage\nagent\tHello!\ncustomer\tMy kettle, it leaks; badly.\n",
        [{"role": "agent", "content": SAID[0][1]}, {"role": "customer", "content": SAID[1][1]}],
    ],
    ids=["list", "lines", "object", "objects", "csv", "csv with mark", "tabs", "other roles"],
)
def test_a_plain_transcript_is_read_from_rows_of_speaker_and_text(
    tmp_path: Path, content: Any
) -> None:
    """JSON, JSONL and CSV; the columns are known by their names."""
    conversation = read_one(tmp_path, content)
    assert conversation.format is Format.PLAIN
    assert told(conversation) == SAID


def test_rows_of_several_conversations_are_told_apart_by_their_column(tmp_path: Path) -> None:
    """They have to stand together; a conversation that goes on later is lost, and says why."""
    table = (
        "conversation_id;speaker;text\n"
        "a;agent;Hi\na;user;Hello\nb;agent;Hey\nb;user;Yo\na;user;Still here\n"
    )
    first, second, third = read(tmp_path, table)
    assert [told(first), told(second)] == [
        [("agent", "Hi"), ("user", "Hello")],
        [("agent", "Hey"), ("user", "Yo")],
    ]
    assert [c.address.trial for c in (first, second, third)] == ["a", "b", "a~2"]
    assert third.lost
    assert "sort the file by that column" in third.lost


def test_who_the_agent_is_can_be_said(tmp_path: Path) -> None:
    """Where the names do not tell, it has to be; everybody else is the customer then."""
    table = "speaker,text\nAda,Hello!\nBo,Hi\nCy,Me too\n"
    with pytest.raises(UsageError, match=r"which speaker is the agent\? found are 'Ada', 'Bo'"):
        read(tmp_path, table)
    conversation = read_one(tmp_path, table, agent_speaker="ada")
    assert told(conversation) == [("agent", "Hello!"), ("user", "Hi"), ("user", "Me too")]
    with pytest.raises(UsageError, match="name it with --agent-speaker"):
        read(tmp_path, table, agent_speaker="Dee")


def test_a_speaker_on_neither_side_is_left_out_and_counted(tmp_path: Path) -> None:
    """As is a row without a speaker."""
    rows = "speaker,text\nagent,Hi\nuser,Hello\nMonitor,(silence)\n,?\n"
    conversation = read_one(tmp_path, rows)
    assert told(conversation) == [("agent", "Hi"), ("user", "Hello")]
    assert conversation.notes == ("2 × turn of an unknown speaker left out",)


def test_all_star_dialogues_are_read() -> None:
    """300 dialogues: 1,706 turns of the customer, 1,706 of the wizard, 632 queries answered."""
    conversations = list(read_conversations(reference("star/dialogues")))
    assert len(conversations) == 300
    assert not any(conversation.lost for conversation in conversations)
    events = [event for conversation in conversations for event in conversation.events]
    assert Counter(event.kind for event in events) == {
        "message": 1706 + 1492 + 214,
        "tool_call": 632,
        "tool_result": 632,
        "ending": 300,
    }
    labels = [label for c in conversations for label in c.labels.values()]
    assert sum(bool(label.reply) for label in labels) == 1492
    assert all(len(conversation.tools) == 1 for conversation in conversations)
    assert {note.partition(" × ")[2] for c in conversations for note in c.notes} == {
        "click of the wizard left out"
    }
    assert {c.record["DialogueID"] for c in conversations} == {
        int(c.address.trial) for c in conversations
    }


def test_the_abcd_chats_are_read() -> None:
    """Three chats with nine buttons between them."""
    file = reference("abcd/abcd_sample.json")
    conversations = list(read_conversations(file))
    assert [c.address.trial for c in conversations] == ["3592", "9489", "3695"]
    calls = [pair for c in conversations for pair in c.events.calls()]
    assert len(calls) == 9
    assert all(pair.result is not None for pair in calls)
    assert [c.record for c in conversations] == json.loads(file.read_text(encoding="utf-8"))
