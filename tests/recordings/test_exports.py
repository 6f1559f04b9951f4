"""Runs of ours as results files of the benchmarks."""

import json
from collections import defaultdict
from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import Any

import pytest

from passhat.domains.packs import save_pack
from passhat.errors import UsageError
from passhat.harness.attempt import Conditions
from passhat.harness.exporting import export_run
from passhat.harness.records import Run
from passhat.harness.regrade import regrade
from passhat.harness.run import Plan, start_run
from passhat.harness.shelf import shelf
from passhat.harness.store import Store, open_store
from passhat.recordings.results import read_results

from ..clones import pack


class Silent:
    """A watcher that says nothing."""

    def begin(self, run: Run, owed: int) -> None:
        """Nothing."""

    def finished(self, trial: object) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


AGENT = '''
def make(brief):
    """Look two things up at once, cancel on every other seed, tell, stop."""
    arguments = {"order_id": "#W1", "reason": "no longer needed"}
    look = [{"name": "get_order_details", "arguments": {"order_id": "#W1"}}]
    cancel = [{"name": "cancel_pending_order", "arguments": arguments}]
    calls = look + (cancel if brief.seed % 2 else look)
    moves = iter([
        {"type": "tool_calls", "calls": calls, "content": "Let me see."},
        {"type": "message", "content": "You get $50.60 back."},
        {"type": "stop", "reason": "done"},
    ])
    return lambda observation: next(moves)
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with packs, an agent, and a store with one run of eight trials."""
    folder = tmp_path_factory.mktemp("place")
    save_pack(pack(folder / "clone", "retail@tau-bench"), folder / "packs")
    (folder / "exporting_agent.py").write_text(AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASSHAT_PACKS", str(folder / "packs"))
        patch.syspath_prepend(str(folder))
        conditions = Conditions("retail@tau-bench", "python:exporting_agent:make")
        plan = Plan(conditions, ("test-0",), 8, 1, None)
        with open_store(folder / "store.sqlite", create=True) as store:
            start_run(store, plan, Silent())
    return folder


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, Run]]:
    """The store and its run."""
    monkeypatch.setenv("PASSHAT_PACKS", str(place / "packs"))
    with open_store(place / "store.sqlite") as store:
        yield store, store.find_run("last")


def _passed(store: Store, run: Run) -> list[bool]:
    return [result.passed is True for result in store.trial_results(run)]


@pytest.mark.parametrize("format_name", ["tau-bench", "tau2"])
def test_a_run_is_read_back_with_the_same_grades(
    run: tuple[Store, Run], tmp_path: Path, format_name: str
) -> None:
    """Eight trials, some passed, some not."""
    store, meant = run
    assert len(set(_passed(store, meant))) == 2
    file = tmp_path / "run.json"
    assert export_run(store, meant, format_name, file) == (8, 0)
    assert [r.passed for r in read_results(file)] == _passed(store, meant)
    assert [r.trial for r in read_results(file)] == list(range(8))


def test_an_exported_run_comes_out_equal_when_it_is_graded_again(
    run: tuple[Store, Run], place: Path, tmp_path: Path
) -> None:
    """Outputs and rewards: what was written is what was played."""
    store, meant = run
    file = tmp_path / "run.json"
    export_run(store, meant, "tau-bench", file)
    result = regrade(file, shelf(place / "packs"))
    assert result.outputs.to_json() == {"equal": 16, "total": 16}
    assert result.rewards.to_json() == {"equal": 8, "total": 8}


def test_tau_benchs_metrics_read_it(run: tuple[Store, Run], tmp_path: Path) -> None:
    """Its definition of pass^k, on the fields it reads."""
    store, meant = run
    file = tmp_path / "run.json"
    export_run(store, meant, "tau-bench", file)
    records = json.loads(file.read_text())
    assert len({record["trial"] for record in records}) == 8
    passes: dict[int, int] = defaultdict(int)
    for record in records:
        assert isinstance(record["task_id"], int)
        passes[record["task_id"]] += abs(record["reward"] - 1) <= 1e-6
    assert passes == {0: sum(_passed(store, meant))}
    assert comb(passes[0], 1) / comb(8, 1) == sum(_passed(store, meant)) / 8


def test_calls_made_at_once_become_calls_in_a_row_for_tau_bench(
    run: tuple[Store, Run], tmp_path: Path
) -> None:
    """Each is followed by its result; tau2 keeps them together."""
    store, meant = run
    file = tmp_path / "run.json"
    export_run(store, meant, "tau-bench", file)
    roles = [message["role"] for message in json.loads(file.read_text())[0]["traj"]]
    assert roles == ["system", "user", *["assistant", "tool"] * 2, "assistant", "user", "user"]
    export_run(store, meant, "tau2", file)
    (_, calls, *_) = json.loads(file.read_text())["simulations"][0]["messages"]
    assert len(calls["tool_calls"]) == 2
    assert calls["content"] == "Let me see."


def test_a_tau2_file_has_the_fields_that_its_loader_wants(
    run: tuple[Store, Run], tmp_path: Path
) -> None:
    """As its models define them."""
    store, meant = run
    file = tmp_path / "run.json"
    export_run(store, meant, "tau2", file)
    results = json.loads(file.read_text())
    needed = {
        "info": {"git_commit", "num_trials", "max_steps", "max_errors", "user_info", "agent_info"},
        "tasks": {"id", "user_scenario", "evaluation_criteria"},
        "simulations": {
            "id", "task_id", "timestamp", "start_time", "end_time", "duration",
            "termination_reason", "reward_info", "messages", "trial", "seed",
        },
    }  # fmt: skip
    assert needed["info"] <= results["info"].keys()
    assert needed["tasks"] <= results["tasks"][0].keys()
    for simulation in results["simulations"]:
        assert needed["simulations"] <= simulation.keys()
        assert simulation["termination_reason"] in {"user_stop", "agent_stop"}
        _check_messages(simulation["messages"])


def _check_messages(messages: list[dict[str, Any]]) -> None:
    """Every call is answered by one tool message of its id."""
    made = [call["id"] for m in messages for call in m.get("tool_calls") or ()]
    answered = [message["id"] for message in messages if message["role"] == "tool"]
    assert made == answered


def test_what_cannot_be_exported_is_refused(run: tuple[Store, Run], tmp_path: Path) -> None:
    """Another format, a place that is not there."""
    store, meant = run
    with pytest.raises(UsageError, match="no format 'csv'"):
        export_run(store, meant, "csv", tmp_path / "run.csv")
    with pytest.raises(UsageError, match="cannot write"):
        export_run(store, meant, "tau2", tmp_path / "nowhere" / "run.json")
