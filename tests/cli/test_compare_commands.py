"""`diff`, `power` and `gate`, as typed: what they print, and with which exit code."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from stored_runs import PARTS, stored_run

from passhat.harness.store import open_store

Passhat = Callable[..., Any]
BEFORE = {f"zone-{n}": "++++++--" if n % 2 else "++++++++" for n in range(1, 7)}
AFTER = {f"zone-{n}": "+-------" if n % 2 else "+++++-++" for n in range(1, 7)}


@pytest.fixture
def runs(passhat: Passhat, tmp_path: Path) -> Path:
    """Two runs that differ in the agent, and one that differs in the policy."""
    path = tmp_path / "store.sqlite"
    with open_store(path, create=True) as store:
        stored_run(store, "before", BEFORE, domain="kiosk:DOMAIN", agent="old")
        stored_run(store, "after", AFTER, domain="kiosk:DOMAIN", agent="new")
        stored_run(store, "elsewhere", AFTER, parts={**PARTS, "policy": "p2"})
        stored_run(store, "broken", {"zone-1": "+??", "zone-2": "+++"})
    return path


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    """A results file."""
    file = tmp_path / "matrix.csv"
    rows = (",".join("1" if j < c else "0" for j in range(5)) for c in (5, 5, 4, 4, 3, 2, 1, 0))
    file.write_text("\n".join(rows))
    return str(file)


# --- diff ---------------------------------------------------------------------------------------


def test_diff_shows_differences_tasks_and_costs(passhat: Passhat, runs: Path) -> None:
    """For a person, within 80 columns."""
    said = passhat("diff", "before", "after", "--tasks")
    assert said.code == 0
    assert "pass^1  0.875  0.500  -0.375 [" in said.out
    assert "pass^1: B is worse" in said.out
    assert "lost 6: zone-1, zone-2, zone-3" in said.out
    assert "6 of 8  1 of 8" in said.out
    assert "seconds" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_diff_says_when_no_difference_is_shown(passhat: Passhat, runs: Path) -> None:
    """In these words."""
    assert "pass^1: no difference shown at this size" in passhat("diff", "after", "after").out


def test_diff_refuses_runs_that_measured_different_things(passhat: Passhat, runs: Path) -> None:
    """By the name of what differs; --anyway is said as a warning."""
    said = passhat("diff", "before", "elsewhere")
    assert (said.code, said.out) == (2, "")
    assert "differ in 'policy'; --anyway" in said.err
    said = passhat("diff", "before", "elsewhere", "--anyway")
    assert said.code == 0
    assert "warning: 'before' and 'elsewhere' did not measure the same" in said.out


def test_diff_takes_files_and_prints_json(passhat: Passhat, matrix: str) -> None:
    """One object, and nothing else."""
    said = passhat("diff", matrix, matrix, "-k", "3", "--json")
    found = json.loads(said.out)
    assert (said.code, said.err) == (0, "")
    assert set(found["differences"]) == {"1", "3"}
    assert found["differences"]["3"]["difference"] == 0.0
    assert found["differences"]["1"]["test"]["exact"] is True
    assert found["costs"] == {}
    assert passhat("diff", matrix, "none.csv").code == 2


# --- power --------------------------------------------------------------------------------------


def test_power_goes_by_the_spread_of_a_source(passhat: Passhat, matrix: str) -> None:
    """Its size is the plan unless another one is given."""
    said = passhat("power", matrix, "--difference", "-0.2")
    assert said.code == 0
    assert "plan: 8 tasks x 5 trials" in said.out
    assert "smallest difference in pass^1 seen with 80% power at the 5% level" in said.out
    assert "a difference of -0.2:" in said.out
    found = json.loads(passhat("power", matrix, "--tasks", "20", "--trials", "2", "--json").out)
    assert (found["plan"]["tasks"], found["plan"]["trials"]) == (20, 2)
    assert found["wanted"] is None


def test_power_tells_the_agents_luck_from_the_customers_words(passhat: Passhat) -> None:
    """Trials that meet the same customers again split what one trial varies by."""
    plan = ("run", "retail", "--task", "cancel-[a-k]*", "--agent", "slippery:0.2", "-k", "6", "-q")
    assert passhat(*plan, "--user-seeds", "3", "--name", "met").code == 0
    said = passhat("power", "met")
    assert "between customers of a task, " in said.out
    split = json.loads(passhat("power", "met", "--json").out)["variance_of_one_trial"]
    assert split["luck"] > 0
    assert passhat(*plan, "--name", "own").code == 0
    assert "customers of a task" not in passhat("power", "own").out
    assert json.loads(passhat("runs", "--json").out)[0]["conditions"]["user_seeds"] == 3
    said = passhat("diff", "met", "own")
    assert said.code == 2
    assert "user_seeds" in said.err


def test_more_user_seeds_than_trials_are_refused(passhat: Passhat) -> None:
    """There would be customers whom nobody meets."""
    said = passhat("run", "kiosk:DOMAIN", "--agent", "noop", "--trials", "2", "--user-seeds", "3")
    assert (said.code, said.out) == (2, "")
    assert "user seeds must be 1 to 2, the trials of a task, not 3" in said.err


def test_power_goes_by_given_numbers(passhat: Passhat) -> None:
    """No run is needed to plan one."""
    plan = ("--pass", "0.8", "--spread", "0.1", "--tasks", "40", "--trials", "4")
    found = json.loads(passhat("power", *plan, "-k", "2", "--json").out)
    assert found["pass_hat_k"] == pytest.approx(0.8**2 + 0.1**2, abs=0.01)
    assert 0 < found["smallest_fall"] < 0.5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name a SOURCE, or give --pass and --spread"),
        (("--pass", "0.8", "--spread", "0.1"), "the plan is --tasks and --trials"),
        (("matrix.csv", "--pass", "0.8"), "leave them out"),
        (("matrix.csv", "-k", "9"), "trials must be k to"),
    ],
)
def test_power_says_what_is_missing(
    passhat: Passhat, matrix: str, words: tuple[str, ...], told: str
) -> None:
    """In one line, exit code 2."""
    said = passhat("power", *words)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


# --- gate ---------------------------------------------------------------------------------------


def test_gate_exits_by_its_decision(passhat: Passhat, runs: Path) -> None:
    """0 passed, 1 failed, 2 makes no sense, 3 too much lost; one line per condition."""
    passed = passhat("gate", "before", "--at-least", "0.7")
    assert passed.code == 0
    assert "pass  pass^1 at least 0.7: 0.875 [" in passed.out
    assert passed.out.endswith("gate: passed; 1 of 1 conditions met\n")
    failed = passhat("gate", "after", "--at-least", "0.2", "--no-worse-than", "before")
    assert failed.code == 1
    assert "FAIL  pass^1 no worse than in before by more than 0.05" in failed.out
    assert failed.out.endswith("gate: failed; 1 of 2 conditions met\n")
    assert passhat("gate", "broken", "--at-least", "0.2").code == 3
    assert passhat("gate", "before").code == 2
    assert passhat("gate", "after", "--no-worse-than", "elsewhere").code == 2
    assert passhat("gate", "before", "-k", "9", "--at-least", "0.2").code == 2


def test_gate_looks_at_tagged_tasks_only(passhat: Passhat, runs: Path) -> None:
    """Of both runs."""
    words = ("gate", "after", "--no-worse-than", "before", "--margin", "0.8", "--json")
    found = json.loads(passhat(*words, "--tag", "even").out)
    assert (found["tasks"], found["tags"], found["decision"]) == (3, ["even"], "passed")
    assert passhat(*words, "--tag", "odd").code == 1


def test_gate_writes_reports_for_ci(passhat: Passhat, runs: Path, tmp_path: Path) -> None:
    """JUnit replaces its file, Markdown is added to the end of its own."""
    words = ("--junit", "gate.xml", "--markdown", "summary.md")
    for _ in range(2):
        assert passhat("gate", "before", "--at-least", "0.99", *words).code == 1
    assert ElementTree.parse(tmp_path / "gate.xml").find(".//failure") is not None
    assert (tmp_path / "summary.md").read_text().count("## before: failed") == 2


def test_gate_refuses_what_a_file_cannot_say(passhat: Passhat, matrix: str) -> None:
    """Rules and tags are of runs; a file can be judged by its curve."""
    assert passhat("gate", matrix, "--at-least", "0.2").code == 0
    assert "--rule needs a run" in passhat("gate", matrix, "--rule", "waits_for_a_yes=0").err
    assert "--tag needs a run" in passhat("gate", matrix, "--at-least", "0.2", "--tag", "x").err


def test_the_workflow_of_the_document_calls_commands_as_they_are(passhat: Passhat) -> None:
    """Every option that it uses is one."""
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    block = re.search(r"^```yml\n(.*?)^```", page, re.M | re.S)
    assert block is not None
    steps = yaml.safe_load(block[1])["jobs"]["gate"]["steps"]
    calls = [shlex.split(step["run"]) for step in steps if "passhat " in step.get("run", "")]
    assert [call[1] for call in calls] == ["run", "run", "diff", "gate"]
    for call in calls:
        shown = passhat(call[1], "--help").out
        assert all(word in shown for word in call if word.startswith("--"))
