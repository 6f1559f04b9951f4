"""Graders of the user's own: ``python:module:callable``, in a task or for a whole run."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers import Log, kiosk_plan, new_store
from kiosk import DOMAIN

from passhat.errors import Fault, UsageError
from passhat.grading.grading import Grading
from passhat.harness.fingerprint import fingerprint_parts
from passhat.harness.run import Plan, find_broken, load_attempts, start_run
from passhat.harness.store import Store

KIND, STRICT = "python:judges_here:kind", "python:judges_here:strict"
JUDGES = """
from passhat.grading.verdict import Verdict

def kind(task, transcript, rows):
    print("judging")
    return Verdict(grader="whatever", passed=True, score=1.0, reason=f"{len(transcript)} events")

def strict(task, transcript, rows):
    zones = [row["zone"] for row in rows.find("tickets", {})]
    return Verdict(grader="strict", passed=False, score=0.5, reason=f"too few in Z9: {zones}")

def crashing(task, transcript, rows):
    return task.no_such_thing

def vague(task, transcript, rows):
    return True

class Patient:
    def __call__(self, task, transcript, rows):
        return kind(task, transcript, rows)

patient = Patient()

def leaving(task, transcript, rows):
    raise SystemExit(3)
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with graders in it, as the current one."""
    (tmp_path / "judges_here.py").write_text(JUDGES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path / "judges_here.py"
    sys.modules.pop("judges_here", None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


def planned(*graders: str) -> Plan:
    """Two trials with these graders."""
    plan = kiosk_plan("reference", trials=1, tasks=("zone-1", "zone-2"))
    return replace(plan, conditions=replace(plan.conditions, graders=graders))


def test_a_grader_of_ones_own_decides_with_the_others(store: Store) -> None:
    """It reads the final rows, and its verdict goes by the name that the run knows it by."""
    run = start_run(store, planned(KIND, STRICT), Log()).run
    details = store.trial(run, "zone-1", 1)
    assert details.basis[-2:] == (KIND, STRICT)
    assert [v.passed for v in details.verdicts if v.grader in (KIND, STRICT)] == [True, False]
    for row in store.trials(run):
        assert row.result == "failed"
        assert f"{STRICT}: too few in Z9: ['Z" in row.reason


def test_a_grader_that_a_task_names_decides_on_that_task_alone() -> None:
    """The others keep their basis."""
    task = DOMAIN.task("zone-1").model_copy(update={"graders": [STRICT]})
    grading = Grading(DOMAIN)
    grading.check(task)
    assert list(grading.own_graders(task)) == [STRICT]
    assert list(grading.own_graders(DOMAIN.task("zone-2"))) == []


def test_any_callable_is_a_grader(store: Store) -> None:
    """An object that can be called, too, e.g. one that holds a model."""
    run = start_run(store, planned("python:judges_here:patient"), Log()).run
    assert [row.result for row in store.trials(run)] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("crashing", "AttributeError"),
        ("vague", "must return a Verdict, not True"),
        ("leaving", "SystemExit: 3"),
    ],
)
def test_a_grader_that_breaks_loses_the_trial(store: Store, name: str, reason: str) -> None:
    """Never fails it: nobody knows whether the agent was right."""
    run = start_run(store, planned(f"python:judges_here:{name}"), Log()).run
    for row in store.trials(run):
        assert (row.reward, row.fault) == (None, Fault.GRADER)
        assert reason in row.reason


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("polite", "grader 'polite' must be python:module:callable"),
        ("python:judges_here:knid", "there is no 'knid', but kind"),
        ("python:judges_here:Verdict.copy", "must take 3 arguments: the task, the transcript, "),
    ],
)
def test_a_grader_that_is_not_there_ends_the_run_before_it_begins(
    store: Store, spec: str, message: str
) -> None:
    """In one line, whether the run or a task names it."""
    with pytest.raises(UsageError, match=message):
        start_run(store, planned(spec), Log())
    assert store.runs() == []
    attempts = load_attempts(planned().conditions)
    task = DOMAIN.task("zone-1").model_copy(update={"graders": [spec]})
    with pytest.raises(UsageError, match=message):
        attempts.grading.check(task)
    assert find_broken(attempts, ["zone-1"]) == {}


def test_the_fingerprint_knows_the_code_of_own_graders(here: Path) -> None:
    """A run is not gone on with by another judge."""
    without, by_kind, by_strict = (
        fingerprint_parts(DOMAIN, ["zone-1"], planned(*graders).conditions)["grading"]
        for graders in ((), (KIND,), (STRICT,))
    )
    assert len({without, by_kind, by_strict}) == 3
    here.write_text(f"{JUDGES}\n# changed\n")
    again = fingerprint_parts(DOMAIN, ["zone-1"], planned(KIND).conditions)["grading"]
    assert again != by_kind
