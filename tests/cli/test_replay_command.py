"""`replay`: a table for people, JSON for scripts, one line for what cannot be."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Passhat = Callable[..., Any]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "replay"


@pytest.fixture
def chats(tmp_path: Path) -> str:
    """A production log in the current directory."""
    shutil.copy(FIXTURES / "chats.jsonl", tmp_path)
    return "chats.jsonl"


def test_a_log_is_replayed_and_summed_up(passhat: Passhat, chats: str) -> None:
    """What was carried out, what agrees, how far, by tool, and how the agent was asked."""
    said = passhat("replay", chats, "--agent", "rule-based", "--domain", "retail")
    assert (said.code, said.err) == (0, "")
    assert "chats.jsonl: agent rule-based, calls carried out in retail" in said.out
    assert "3 conversations, 0 lost, 0 drifted; 25 cuts" in said.out
    assert "recorded results: 13 equal, 0 cosmetic, 0 different" in said.out
    assert "still with the recording" in said.out
    assert "find_user_id_by_email" in said.out
    assert "cannot be given a past" in " ".join(said.out.split())


def test_json_is_one_object(passhat: Passhat, chats: str) -> None:
    """With every cut, its address, and each check apart."""
    said = passhat("replay", chats, "--agent", "rule-based", "--json")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert (found["world"], found["cut"], found["agent"]) == (None, "all", "rule-based")
    cut = found["trials"][0]["cuts"][0]
    assert cut["address"] == "chats.jsonl#1:1"
    assert cut["checks"]["same_kind"] is True


def test_every_disagreement_can_be_listed(passhat: Passhat, chats: str) -> None:
    """With the address that show opens, and what was done instead."""
    said = passhat("replay", chats, "--agent", "noop", "--domain", "retail", "--cuts")
    assert "chats.jsonl#1:1  message" in said.out
    assert "different: stop this agent does nothing" in said.out


def test_a_run_is_replayed_and_played_on(passhat: Passhat) -> None:
    """From the store, with the seeds of the run."""
    passhat("run", "kiosk:DOMAIN", "--agent", "slippery:0.2", "--task", "zone-1", "-k", "3")
    said = passhat("replay", "last", "--agent", "reference", "--continue", "--cut", "1")
    assert said.code == 0
    assert "the recorded agent is synthetic: slippery:0.2" in said.out
    assert "played on 3 times: 3 passed, 0 failed, 0 lost" in said.out
    assert passhat("replay", "last/zone-1/2", "--agent", "reference").code == 0


def test_show_opens_the_addresses_of_a_report(passhat: Passhat, chats: str) -> None:
    """Those of files, and those of runs; an event that is not there is one line."""
    passhat("run", "kiosk:DOMAIN", "--agent", "reference", "--task", "zone-1")
    for source in (chats, "last"):
        report = json.loads(passhat("replay", source, "--agent", "noop", "--json").out)
        address = report["trials"][0]["cuts"][2]["address"]
        event = json.loads(passhat("show", address, "--json").out)
        assert event["address"] == address
        assert event["index"] == int(address.rpartition(":")[2])
        assert passhat("show", address).out.startswith(address)
        away = passhat("show", f"{address}999")
        assert (away.code, "has no event" in away.err) == (2, True)
    assert "RUN/TASK/NUMBER:EVENT" in passhat("show", "last/zone-1/1:x").err


def test_an_interrupted_replay_shows_what_it_has(passhat: Passhat, tmp_path: Path) -> None:
    """Asking may cost money; what was found before Ctrl-C is not thrown away."""
    talks = [["A table, please", "Which?"], ["A chair, please", "Which?"], ["A lamp", "Which?"]]
    lines = [
        {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]}
        for asked, said in talks
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "log.jsonl").write_text(text, encoding="utf-8")
    said = passhat("replay", "log.jsonl", "--agent", "python:replay_agents:Interrupting")
    assert said.code == 130
    assert "1 conversations, 0 lost" in said.out
    assert "interrupted; this is what the 1 conversations replayed so far show" in said.err


def test_too_much_lost_is_exit_code_3(passhat: Passhat, chats: str, tmp_path: Path) -> None:
    """The report is shown all the same, and says what was lost."""
    text = (tmp_path / chats).read_text(encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text(text + "{oops\n", encoding="utf-8")
    said = passhat("replay", "broken.jsonl", "--agent", "rule-based")
    assert said.code == 3
    assert "4 conversations, 1 lost" in said.out
    assert "not scored: 1 x" in said.out
    assert said.err.startswith("passhat: too many")
    drifted = tmp_path / "drifted.jsonl"
    drifted.write_text(text.replace("Power Bank", "Garden Gnome"), encoding="utf-8")
    said = passhat("replay", drifted.name, "--agent", "rule-based", "--domain", "retail")
    assert said.code == 3
    assert "1 drifted" in said.out
    assert "gives another result here" in said.out
    shown = passhat("replay", drifted.name, "--agent", "noop", "--domain", "retail", "--json").out
    (drift,) = filter(None, (trial["drift"] for trial in json.loads(shown)["trials"]))
    assert any("recorded 'Garden Gnome', now 'Power Bank'" in line for line in drift["where"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nothing.jsonl", "--agent", "noop"), "no such file: 'nothing.jsonl'"),
        (("chats.jsonl", "--agent", "nop"), "no agent 'nop'"),
        (("chats.jsonl", "--agent", "reference"), "sees the task"),
        (("chats.jsonl", "--agent", "noop", "--cut", "0"), "--cut must be"),
        (("chats.jsonl", "--agent", "noop", "--cut", "99"), "no move of an agent at cut 99"),
        (("chats.jsonl", "--agent", "noop", "--domain", "retial"), "no domain 'retial'"),
        (("chats.jsonl", "--agent", "noop", "--domain", "retail@tau-bench"), "no packs in"),
        (("chats.jsonl#7", "--agent", "noop"), "no conversation '7'"),
        (("notes.txt", "--agent", "noop"), "understood are"),
        (("empty.json", "--agent", "noop"), "is empty"),
        (("last", "--agent", "noop"), "no store"),
    ],
)
def test_what_cannot_be_is_one_line(
    passhat: Passhat, chats: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...], reason: str,
) -> None:  # fmt: skip
    """Exit code 2, nothing on stdout, and what would have been right."""
    monkeypatch.setenv("PASSHAT_PACKS", str(tmp_path / "packs"))
    (tmp_path / "notes.txt").write_text("just a few notes\nof somebody\n")
    (tmp_path / "empty.json").write_text("")
    said = passhat("replay", *arguments)
    assert (said.code, said.out) == (2, "")
    assert reason in said.err
    assert said.err.count("\n") == 1
