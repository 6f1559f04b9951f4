"""The command line itself: help, exit codes, and one line for whatever is wrong."""

import fnmatch
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from passhat.cli import app
from passhat.domains.domain import load_domain

Passhat = Callable[..., Any]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group's
KIOSK = ("run", "kiosk:DOMAIN", "--agent", "noop")


def test_every_command_is_in_the_help(passhat: Passhat) -> None:
    """With and without --help."""
    said = passhat("--help")
    assert said.code == 0
    assert all(re.search(rf"^  {name} ", said.out, re.M) for name in COMMANDS)
    assert passhat().code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples(passhat: Passhat, name: str) -> None:
    """One to a line, to be pasted."""
    said = passhat(name, "--help")
    assert said.code == 0
    examples = said.out.partition("For example:\n")[2].partition("\n\n")[0].splitlines()
    assert examples
    assert any(line.startswith(f"  passhat {name}") for line in examples)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_pasted(passhat: Passhat, name: str) -> None:
    """Its options are those of the command, and the tasks and tags it names are there."""
    tasks = load_domain("retail").tasks
    tags = {"regression", *(tag for task in tasks.values() for tag in task.tags)}
    said = passhat(name, "--help").out.partition("For example:\n")[2].partition("\n\n")[0]
    for line in filter(lambda line: line.startswith("  passhat "), said.splitlines()):
        _, command, *words = shlex.split(line)
        given = COMMANDS[command].make_context(command, words).params
        assert command == name
        assert set(given.get("tag") or ()) <= tags
        named = given.get("task") or []
        named = [named] if isinstance(named, str) else named
        named += re.findall(r" (?:last|retail-[\w-]+)/([a-z-]+)/", line)
        assert all(fnmatch.filter(tasks, one) for one in named)


def test_the_version_is_printed(passhat: Passhat) -> None:
    """And nothing else."""
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", passhat("--version").out)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("frobnicate", "No such command 'frobnicate'"),
        ("run", "Missing argument 'DOMAIN'; see passhat run --help"),
        ("run kiosk:DOMAIN", "Missing option '--agent'"),
        ("run kiosk:DOMAIN --agent noop --frob", "No such option: --frob"),
        ("run kiosk:DOMAIN --agent noop --trials 0", "'--trials'"),
        ("run kiosk:DOMAIN --agent noop --trials many", "'--trials'"),
        ("run kiosk:DOMAIN --agent nooop", "no agent 'nooop'; did you mean 'noop'"),
        ("run kiosk:DOMAIN --agent slippery:2", "from 0 to 1"),
        ("run kiosk:DOMAIN --agent python:nowhere:make", "no module 'nowhere'"),
        ("run kiosk:DOMAIN --agent noop --user nobody", "no user 'nobody'"),
        ("run kiosk:DOMAIN --agent noop --task zone-x", "no task 'zone-x'; did you mean 'zone-"),
        ("run kiosk:DOMAIN --agent noop --task broken", "every task is broken"),
        ("run kiosk:DOMAIN --agent noop --tag evne", "no tag 'evne'; did you mean 'even'"),
        ("run kiosk:DOMAIN --agent noop --split dev", "no split 'dev'"),
        ("run kiosk:DOMAIN --agent noop --basis bias", "no grading basis 'bias'"),
        ("run kiosk:DOMAIN --agent noop --name a/b", "name 'a/b' must be"),
        ("run kiosk:DOMAIN --agent noop --turn-timeout 0", "turn timeout must be more than 0"),
        ("run kiosk:DOMAIN --agent noop --seed 99999999999999999999", "seed must be from 0"),
        ("run kiosk:DOMAIN --agent noop --store /nowhere/x", "there is no folder '/nowhere'"),
        ("run kiosk:DOMAIN --agent noop --store /proc/x", "cannot be"),
        ("run kiosk:DOMAIN --agent noop --store .", "is a folder"),
        ("run kiosk:DOMAIN --agent noop --store nosuch://x", "no such kind of database"),
        ("run retial --agent noop", "no domain 'retial'; did you mean 'retail'"),
        ("run kiosk:SHOP --agent noop", "there is no 'SHOP', but "),
        ("run kiosk:METADATA --agent noop", "no Domain"),
        ("run nowhere:SHOP --agent noop", "there is no module 'nowhere'"),
        ("resume last", "there is no store"),
        ("runs", "there is no store"),
        ("show last", "there is no store"),
        ("curve nothing", "there is no store"),
        ("curve nothing.json", "no such file"),
        ("tasks kiosk:DOMAIN zone-x", "no task 'zone-x'; did you mean"),
        ("tasks retial", "no domain 'retial'"),
        ("play kiosk:DOMAIN --as ghost", "--as must be agent or user, not 'ghost'"),
        ("play kiosk:DOMAIN --task zone-x", "no task 'zone-x'"),
        ("reliability", ""),
    ],
)
def test_what_a_person_can_get_wrong_is_one_line(passhat: Passhat, line: str, why: str) -> None:
    """Exit code 2, nothing on stdout, no traceback, nothing left behind."""
    said = passhat(*line.split())
    assert said.code == 2, said
    assert said.out == ""
    assert said.err.startswith("passhat: ")
    assert why in said.err
    assert said.err.count("\n") == 1
    assert not list(Path.cwd().iterdir()) or line.startswith("run kiosk:DOMAIN")


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("nothing", "no run 'nothing'"),
        ("last/zone-9/1", "no task 'zone-9'; did you mean 'zone-"),
        ("last/zone-9", "no task 'zone-9'"),
        ("last/zone-1/7", "has trials 1 to 1"),
        ("last/zone-1/x", "a trial is RUN/TASK/NUMBER"),
        ("last/zone/1/1", "a trial is RUN/TASK/NUMBER"),
    ],
)
def test_a_wrong_address_is_answered_with_a_right_one(
    passhat: Passhat, what: str, why: str
) -> None:
    """Near matches, exit code 2."""
    assert passhat(*KIOSK, "--task", "zone-1", "--json").code == 0
    said = passhat("show", what)
    assert (said.code, said.out) == (2, "")
    assert why in said.err


def test_a_name_is_not_given_twice(passhat: Passhat) -> None:
    """The second run does not begin."""
    assert passhat(*KIOSK, "--task", "zone-1", "--name", "a", "--json").code == 0
    said = passhat(*KIOSK, "--task", "zone-1", "--name", "a")
    assert said.code == 2
    assert "is called 'a' already" in said.err


def test_a_bug_is_owned_up_to(passhat: Passhat, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, unless somebody wants to see where."""
    monkeypatch.setattr("passhat.agents.registry.known_agents", lambda: 1 / 0)
    said = passhat("agents")
    assert said.code == 1
    assert said.err.startswith("passhat: a bug in passhat: ZeroDivisionError: ")
    assert said.err.count("\n") == 1
    monkeypatch.setenv("PASSHAT_DEBUG", "1")
    from passhat.cli import main

    with pytest.raises(ZeroDivisionError):
        main(["agents"])


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """As in passhat tasks retail | head."""
    process = subprocess.Popen(
        [sys.executable, "-m", "passhat", "agents"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()
