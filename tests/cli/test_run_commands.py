"""`run`, `resume` and what lists and shows their results: for people and for scripts."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.harness.store import open_store

Passhat = Callable[..., Any]
RUN = ("run", "kiosk:DOMAIN", "--agent", "slippery:0.2", "--task", "zone-*", "--seed", "3")


def test_a_run_shows_its_curve_its_baseline_and_what_to_do_next(passhat: Passhat) -> None:
    """Results on stdout, progress on stderr, and every synthetic number named as such."""
    said = passhat(*RUN, "-k", "2")
    assert said.code == 0
    assert "pass^1 0." in said.out
    assert "(SYNTHETIC agent slippery:0.2)" in said.out
    assert (
        "doing nothing (noop) scores 0.000 at every k: it passes 0 of the same 6 tasks" in said.out
    )
    with open_store() as store:
        run = store.find_run("last")
        failed = store.trials(run, ["failed"])[0]
    assert f"passhat curve {run.id}" in said.out
    assert f"passhat show {failed.address}" in said.out
    assert "12 of 12 trials" in said.err
    assert "12 of 12 trials" not in said.out


def test_json_is_the_curve_and_what_it_is_of(passhat: Passhat) -> None:
    """One object on stdout, and nothing else anywhere."""
    said = passhat(*RUN, "-k", "2", "--json", "--name", "nightly")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    curve = json.loads(passhat("curve", "nightly", "--json").out)
    assert found["pass_hat"] == curve["pass_hat"]
    assert found["pass_at"] == curve["pass_at"]
    assert {"1", "2"} == set(found["pass_hat"])
    assert {"value", "low", "high"} <= set(found["pass_hat"]["1"])
    about = {name: found[name] for name in ("agent", "user", "seed", "domain", "name", "synthetic")}
    assert about == {
        "agent": "slippery:0.2", "user": "agenda", "seed": 3, "domain": "kiosk",
        "name": "nightly", "synthetic": True,
    }  # fmt: skip
    assert found["run"].startswith("kiosk-")
    assert (found["tasks"], found["planned"], found["scored"], found["lost"]) == (6, 12, 12, 0)
    assert found["baseline"] == {
        "agent": "noop", "scored": 6, "passed": 0, "lost": 0, "pass_rate": 0.0,
    }  # fmt: skip


def test_a_printing_agent_does_not_spoil_json(passhat: Passhat) -> None:
    """Not when it is imported, nor when it is made."""
    said = passhat(
        "run", "kiosk:DOMAIN", "--agent", "python:kiosk:noisy", "--task", "zone-1", "--json"
    )
    assert json.loads(said.out)["scored"] == 1
    assert "NOISE" in said.err


def test_quiet_leaves_the_results(passhat: Passhat) -> None:
    """Only the progress goes."""
    said = passhat(*RUN, "--quiet")
    assert said.err == ""
    assert "pass^1" in said.out


def test_too_much_lost_is_an_exit_code_of_its_own(
    passhat: Passhat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No headline, exit 3, and how to go on; resume then mends it."""
    said = passhat("run", "kiosk:DOMAIN", "--agent", "python:kiosk:offline", "--task", "zone-*")
    assert said.code == 3
    assert "no headline" in said.out
    assert "too many trials were lost" in said.err
    assert "passhat resume kiosk-" in said.err
    monkeypatch.setenv("KIOSK_ONLINE", "1")
    again = passhat("resume", "last", "--json")
    assert again.code == 0
    assert json.loads(again.out)["lost"] == 0


def test_a_broken_task_is_named_and_the_run_goes_on(passhat: Passhat) -> None:
    """One line on stderr, in every mode."""
    said = passhat("run", "kiosk:DOMAIN", "--agent", "noop", "-k", "1", "--json")
    assert "its reference action change_zone fails" in said.err
    assert json.loads(said.out)["lost_by"] == {"task": 1}


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    """Exit code 130; what was finished is kept."""
    harness = Path(__file__).parents[1] / "harness"
    store = tmp_path / "it's a store.sqlite"
    arguments = ["run", "kiosk:DOMAIN", "--agent", "python:kiosk:slow", "--task", "zone-*",
                 "-k", "99", "--store", str(store)]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "passhat", *arguments], stderr=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(harness)},
    )  # fmt: skip
    assert process.stderr is not None
    assert "594 of 594 trials to play" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "stopping: trials under way are finished first" in err
    last = err.splitlines()[-1]
    assert last.startswith("passhat: interrupted; ")
    assert "of 594 trials are owed" in last
    with open_store(store) as opened:
        run = opened.find_run("last")
        assert run.status == "interrupted"
        assert last.endswith(f"passhat resume {run.id} --store {shlex.quote(str(store))}")


# --- looking --------------------------------------------------------------------------------------


def test_runs_are_listed(passhat: Passhat) -> None:
    """With how they went."""
    passhat(*RUN, "--json", "--name", "one")
    assert "one" in passhat("runs").out
    (run,) = json.loads(passhat("runs", "--json").out)
    assert (run["name"], run["status"], run["agent"]) == ("one", "finished", "slippery:0.2")
    assert sum(run["counts"].values()) == 6


def test_the_trials_of_a_run_are_listed(passhat: Passhat) -> None:
    """All, or those of one task, or those that failed."""
    passhat(*RUN, "-k", "2", "--json")
    every = json.loads(passhat("show", "last", "--json").out)
    failed = json.loads(passhat("show", "last", "--failed", "--json").out)
    assert len(every) == 12
    assert failed == [row for row in every if row["result"] == "failed"]
    assert len(json.loads(passhat("show", "last/zone-2", "--json").out)) == 2
    assert json.loads(passhat("show", "last", "--lost", "--json").out) == []
    text = passhat("show", "last", "--failed").out
    assert all(f"{row['task']}/{row['trial']}" in text.split() for row in failed)
    assert max(map(len, text.splitlines())) <= 80


def test_a_trial_is_shown_whole(passhat: Passhat) -> None:
    """Conversation, calls with arguments, results, rows written, verdicts with reasons."""
    passhat("run", "kiosk:DOMAIN", "--agent", "reference", "--task", "zone-1", "--json")
    text = passhat("show", "last/zone-1/1").out
    for part in (
        "zone-1/1  PASSED",
        "SYNTHETIC agent reference",
        "ticket T-1 valid in zone Z2.",
        'change_zone {"ticket_id": "T-1", "zone": "Z2"}',
        "wrote tickets[T-1]: zone 'Z1' -> 'Z2'",
        'wrote changes[1]: new {"number": 1, "ticket_id": "T-1"}',
        "pass outcome",
        "every row as expected (2 written)",
        "user stop: goals met",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 80
    found = json.loads(passhat("show", "last/zone-1/1", "--json").out)
    assert found["result"] == "passed"
    assert found["transcript"][-1]["kind"] == "ending"
    assert {verdict["grader"] for verdict in found["verdicts"]} >= {"outcome", "policy"}


def test_hostile_text_is_shown_and_does_nothing(passhat: Passhat) -> None:
    """Escape sequences and markup of an agent are letters like others."""
    passhat("run", "kiosk:DOMAIN", "--agent", "python:kiosk:hostile", "--task", "zone-1", "--json")
    text = passhat("show", "last/zone-1/1").out
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "?[31m[bold]red[/bold] :smile: ?" in text
    listed = passhat("show", "last").out
    assert "\x1b" not in listed


def test_long_results_and_words_are_folded_unless_asked_for(passhat: Passhat) -> None:
    """A screen is a screen."""
    passhat("run", "kiosk:DOMAIN", "--agent", "python:kiosk:wordy", "--task", "zone-1", "--json")
    folded = passhat("show", "last/zone-1/1").out
    assert "(10000 characters more: --full)" in " ".join(folded.split())
    assert (folded.count("x") > 900, folded.count("y") > 11_000) == (False, False)
    full = passhat("show", "last/zone-1/1", "--full").out
    assert "characters more" not in full
    assert (full.count("x") > 900, full.count("y") >= 20_000) == (True, True)


# --- listing what there is ------------------------------------------------------------------------


def test_tasks_are_listed_and_shown(passhat: Passhat) -> None:
    """By tag and split; one in full, as YAML or JSON."""
    found = json.loads(passhat("tasks", "kiosk:DOMAIN", "--tag", "even", "--json").out)
    assert [task["id"] for task in found] == ["zone-2", "zone-4", "zone-6"]
    text = passhat("tasks", "kiosk:DOMAIN").out
    assert "zone-1" in text
    assert "7 of 7 tasks" in text
    assert "name: change_zone" in passhat("tasks", "kiosk:DOMAIN", "zone-3").out
    one = json.loads(passhat("tasks", "kiosk:DOMAIN", "zone-3", "--json").out)
    assert one["expect"]["outcomes"][0]["actions"][0]["arguments"]["ticket_id"] == "T-3"


def test_agents_are_listed(passhat: Passhat) -> None:
    """With what each is."""
    specs = [entry["spec"] for entry in json.loads(passhat("agents", "--json").out)]
    assert {"noop", "reference"} <= set(specs)
    assert all(spec in passhat("agents").out for spec in specs)
