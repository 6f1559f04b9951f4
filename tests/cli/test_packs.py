"""Packs on the command line: listed, refused without tasks, and run with what must be known."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from passhat.domains.packs import save_pack

from ..clones import pack
from .conftest import Said

Passhat = Callable[..., Said]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of packs, with a shop that has tasks."""
    packs = tmp_path / "packs"
    monkeypatch.setenv("PASSHAT_PACKS", str(packs))
    save_pack(pack(tmp_path / "clone", "retail@tau2"), packs)
    return packs / "retail@tau2"


def test_packs_are_listed_with_the_domains(passhat: Passhat, shop: Path) -> None:
    """Whoever imported one finds it again."""
    names = [row["domain"] for row in json.loads(passhat("domains", "--json").out)]
    assert names[-1] == shop.name
    assert "retail" in names


def test_a_task_is_shown_as_it_could_stand_in_a_file(passhat: Passhat, shop: Path) -> None:
    """However long its words are, and however narrow the window."""
    task, *_ = json.loads(passhat("tasks", shop.name, "--json").out)
    whole = json.loads(passhat("tasks", shop.name, task["id"], "--json").out)
    lines = (shop / "tasks.jsonl").read_text().splitlines()
    long = whole["purpose"] + " See " + "a" * 100 + "."
    text = "\n".join(lines).replace(json.dumps(whole["purpose"]), json.dumps(long))
    (shop / "tasks.jsonl").write_text(text + "\n")
    shown = yaml.safe_load(passhat("tasks", shop.name, task["id"]).out)
    assert shown["purpose"] == long


@pytest.mark.parametrize("command", [("tasks",), ("run", "--agent", "noop")])
def test_a_pack_without_tasks_says_so(
    passhat: Passhat, shop: Path, command: tuple[str, ...]
) -> None:
    """A clone without its task files is a world, in which nothing can be run."""
    (shop / "tasks.jsonl").write_text("")
    said = passhat(*command, shop.name)
    assert (said.code, said.out) == (2, "")
    assert "'retail@tau2' has no tasks, only a world" in said.err


def test_a_run_of_a_pack_says_what_its_numbers_are_worth(passhat: Passhat, shop: Path) -> None:
    """No rules are checked, and the customer reads out what was written for a model."""
    said = passhat("run", shop.name, "--agent", "noop", "--quiet")
    assert said.code == 0
    assert "note: no policy rules are known for retail@tau2" in said.out
    assert "note: the customers' scripts are another benchmark's free text" in said.out
    notes = json.loads(passhat("run", shop.name, "--agent", "noop", "--json").out)["notes"]
    assert len(notes) == 2
