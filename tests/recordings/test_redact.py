"""Redaction: what a conversation's own records show is replaced, everywhere, always by the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from passhat.recordings.conversation import Conversation
from passhat.recordings.personal import Kind, personal_data
from passhat.recordings.readers import read_conversations
from passhat.recordings.redact import redact

from ..reference_data import mostly_slow, reference
from .conversations import lines, read_one
from .test_chat_formats import call

PROFILE = {
    "user_id": "mina_okafor_4471",
    "name": {"first_name": "Mina", "last_name": "Okafor"},
    "email": "mina.o@example.org",
    "phone": "(555) 010-4477",
    "card_number": "4111 1111 1111 1111",
    "address": {"address1": "12 Elm Road", "address2": "Flat 3", "city": "Leeds", "zip": "20477"},
}
MESSAGES = [
    {"role": "user", "content": "Hi, it's MINA OKAFOR, mina.o@example.org or +1 555-010-4477."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("c1", "get_user", '{"user_id": "mina_okafor_4471"}')],
    },
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(PROFILE)},
    {
        "role": "assistant",
        "content": "Thank you, Mina!\nStill 12 elm road, Flat 3, 20477? Card 4111111111111111?",
    },
    {"role": "user", "content": "Yes. Order #W2047 was 20.47."},
]
SECRETS = [
    "mina", "okafor", "example.org", "010-4477", "010 4477", "4111", "elm road", "flat 3", "20477",
]  # fmt: skip


def dumped(conversation: Conversation) -> str:
    """Everything a conversation holds, as text."""
    return json.dumps(conversation.dump(), ensure_ascii=False)


def test_nothing_of_a_profile_remains_anywhere(tmp_path: Path) -> None:
    """Not in messages, calls, results, unknown fields or provider blocks; in whatever case."""
    talk = {
        "messages": MESSAGES,
        "x_meta": {"by": ["Mina Okafor"], "mina_okafor_4471": {"zip": 20477}},
    }
    changed, report = redact(read_one(tmp_path, talk))
    text = dumped(changed).lower()
    assert [secret for secret in SECRETS if secret in text] == []
    assert changed.redacted
    assert (report.calls, report.calls_changed) == (1, 1)
    assert report.replaced == {
        "name": 2,
        "e-mail address": 1,
        "telephone number": 1,
        "card number": 1,
        "postal address": 2,
        "postal code": 1,
    }
    assert "dates of birth" in report.not_looked_for


def test_placeholders_keep_the_shape_and_the_case(tmp_path: Path) -> None:
    """So that what reads them goes on working; what is nobody's stays as it was."""
    changed, _ = redact(read_one(tmp_path, {"messages": MESSAGES}))
    first, second = changed.events.text_by("user")
    assert first == "Hi, it's NAME1 NAME2, email1@redacted.invalid or 000-000-0001."
    assert second == "Yes. Order #W2047 was 20.47."
    (pair,) = changed.events.calls()
    assert pair.call.arguments == {"user_id": "name1_name2_4471"}
    assert pair.call.name == "get_user"
    assert pair.result
    profile = json.loads(pair.result.content)
    assert profile["address"]["city"] == "Leeds"
    assert profile["phone"] == "000-000-0001"
    assert profile["card_number"] == "0000 0000 0000 0001"
    assert (profile["address"]["address1"], profile["address"]["zip"]) == (
        "1 Redacted Street",
        "00001",
    )


def said(tmp_path: Path, text: str, fields: dict[str, Any]) -> str:
    """What is left of a text when a tool was called with these fields."""
    arguments = call("a", "f", json.dumps(fields))
    messages = [{"role": "assistant", "tool_calls": [arguments]}, {"role": "user", "content": text}]
    changed, _ = redact(read_one(tmp_path, {"messages": messages}))
    return changed.events.text_by("user")[0]


@pytest.mark.parametrize(
    ("fields", "text", "left"),
    [
        ({"last_name": "Brown"}, "Brown wants brown", "Name1 wants brown"),
        ({"first_name": "An"}, "An has an order", "Name1 has an order"),
        ({"first_name": "José"}, "JOSÉ, Jose\u0301", "NAME1, Name1"),
        ({"last_name": "O'Neil-Smith"}, "Mr O'Neil-Smith", "Mr Name1"),
        ({"full_name": "Ada B. Lane"}, "Ada, Ms Lane", "Name1, Ms Name2"),
        ({"name": "Kettle"}, "My Kettle", "My Kettle"),
        ({"name": "Ada", "email": "a@b.org"}, "Ada", "Name1"),
        ({"username": "ada77"}, "I am ada77, not ada778", "I am username1, not ada778"),
        ({"street_address": "6 1st Ave"}, "6  1st ave,", "1 Redacted Street,"),
        ({"phone": 5550104477}, "555.010.4477", "000-000-0001"),
        ({"zip": "AB1 2CD"}, "ab1 2cd", "00001"),
        ({}, "my name is Ada Okoro.", "my name is Name1 Name2."),
        ({}, "+44 20 7946 0958 is mine", "000-000-0001 is mine"),
        ({}, "4242-4242-4242-4242", "0000 0000 0000 0001"),
        ({}, "4242-4242-4242-4243 has no check digit", "4242-4242-4242-4243 has no check digit"),
        ({}, "item 9523456873 on 2024-05-15 15:00", "item 9523456873 on 2024-05-15 15:00"),
        ({"last_name": "User", "first_name": "N/A"}, "a user", "a user"),
    ],
)
def test_what_is_personal_is_told_from_what_is_not(
    tmp_path: Path, fields: dict[str, Any], text: str, left: str
) -> None:
    """By the field it stands in, by its shape, by how it is introduced."""
    assert said(tmp_path, text, fields) == left


def test_tools_and_fields_keep_their_names(tmp_path: Path) -> None:
    """Even where a customer is called like one."""
    messages = [
        {
            "role": "assistant",
            "tool_calls": [call("a", "get_tariff", '{"last_name": "Tariff", "tariff": "T1"}')],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"tariff": 3}'},
    ]
    changed, _ = redact(read_one(tmp_path, {"messages": messages}))
    (pair,) = changed.events.calls()
    assert pair.call.name == "get_tariff"
    assert pair.call.arguments == {"last_name": "Name1", "tariff": "T1"}
    assert pair.result
    assert pair.result.content == '{"tariff": 3}'


WORD = st.from_regex(r"[A-Z][a-zé]{3,8}q", fullmatch=True)
PEOPLE = st.fixed_dictionaries(
    {
        "first_name": WORD,
        "last_name": WORD,
        "email": st.from_regex(r"[a-z]{3,8}[0-9]{2}@[a-z]{4,8}\.org", fullmatch=True),
        "phone": st.from_regex(r"[2-9][0-9]{2}-[2-9][0-9]{2}-[0-9]{4}", fullmatch=True),
        "address1": st.from_regex(r"[1-9][0-9]{2} [A-Z][a-z]{4,8} Road", fullmatch=True),
        "zip": st.from_regex(r"[1-9][0-9]{4}", fullmatch=True),
    }
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    people=st.lists(PEOPLE, min_size=1, max_size=3),
    pieces=st.lists(st.text(max_size=6), min_size=6, max_size=6),
    upper=st.booleans(),
)
def test_redacting_is_complete_and_doing_it_again_changes_nothing(
    tmp_path: Path, people: list[dict[str, str]], pieces: list[str], upper: bool
) -> None:
    """Originals are gone from all of the dump, in any case, and one thing has one placeholder."""
    messages = []
    for number, person in enumerate(people):
        text = " ".join(
            f"{piece} {value}" for piece, value in zip(pieces, person.values(), strict=True)
        )
        messages += [
            {"role": "user", "content": text.upper() if upper else text},
            {"role": "assistant", "tool_calls": [call(f"c{number}", "f", json.dumps(person))]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps([person])},
        ]
    talk = {"messages": messages, "x_unknown": {"who": [*map(list, map(dict.values, people))]}}
    once, _ = redact(read_one(tmp_path, talk))
    text = dumped(once).casefold()
    values = [value for person in people for value in person.values()]
    assert [value for value in values if value.casefold() in text] == []
    twice, report = redact(once)
    assert twice == once
    assert report.places == 0
    arguments = [pair.call.arguments for pair in once.events.calls()]
    for name in people[0]:
        pairs = {
            (person[name].casefold(), found[name].casefold())
            for person, found in zip(people, arguments, strict=True)
        }
        assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})


@pytest.mark.parametrize(
    "name",
    mostly_slow(
        [
            "abcd/abcd_sample.json",
            "recordings/tau2-retail-gpt-4.1.json",
            "recordings/tau1-airline-react-grok-4-fast.json",
            "recordings/tau2-telecom-gpt-4.1.json",
            "tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json",
            "star/dialogues",
        ],
        fast=2,
    ),
)
def test_real_conversations_keep_their_events_and_lose_their_people(name: str) -> None:
    """As many events of the same kinds and tools; no e-mail address or telephone number is left."""
    for number, conversation in enumerate(read_conversations(reference(name))):
        if number % 12 or number > 120:
            continue
        changed, _ = redact(conversation)
        assert [(e.kind, getattr(e, "name", "")) for e in changed.events] == [
            (e.kind, getattr(e, "name", "")) for e in conversation.events
        ]
        before = personal_data([conversation.record, conversation.context])
        whole = (Kind.EMAIL, Kind.PHONE, Kind.CARD, Kind.USER_NAME, Kind.ADDRESS)
        text = dumped(changed)
        assert not [found for found in before if found.kind in whole and found.text in text]
        assert redact(changed)[0] == changed


@pytest.mark.parametrize(
    "text",
    [
        "a@" + "a" * 400_000,
        "[" * 400_000,
        '{"' * 200_000,
        "mina_" * 80_000,
        "Mina" + " \\" * 200_000,
        "1 " * 200_000,
        "+1" + " 11" * 150_000,
        "my name is " * 40_000,
        '{"a":' * 400 + "1" + "}" * 400,
    ],
    ids=["mail", "lists", "objects", "names", "slashes", "digits", "phones", "names are", "deep"],
)
def test_no_text_takes_long_to_look_through(tmp_path: Path, text: str) -> None:
    """Each of these would take hours if one pattern tried again at every place."""
    fields = {"first_name": "Mina", "address1": "1 Mina 2"}
    assert len(said(tmp_path, text, fields)) > 1000


def test_a_report_holds_none_of_the_originals(tmp_path: Path) -> None:
    """It can be printed and stored."""
    _, report = redact(read_one(tmp_path, lines({"messages": MESSAGES})))
    text = str(report).lower()
    assert [secret for secret in SECRETS if secret in text] == []
    assert "2 × name" in text
    assert "1 of 1 tool calls changed" in text
