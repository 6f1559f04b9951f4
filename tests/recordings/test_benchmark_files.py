"""Results of both benchmarks as recorded runs, tolerant of what is broken in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from passhat.domains.packs import Pack
from passhat.errors import UsageError
from passhat.recordings.benchmark_files import read_recording
from passhat.recordings.benchmark_runs import RecordedRun

from ..clones import CANCEL, cancelling, pack, simulation, tau2_results


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pack]:
    """Both benchmarks' shops."""
    names = ("retail@tau-bench", "retail@tau2")
    return {n.partition("@")[2]: pack(tmp_path_factory.mktemp("c") / "c", n) for n in names}


def runs(tmp_path: Path, content: Any) -> list[RecordedRun]:
    """The runs of a file with this content."""
    file = tmp_path / "results.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return list(read_recording(file).runs)


def test_a_tau_bench_record_is_read(shops: dict[str, Pack], tmp_path: Path) -> None:
    """Calls with outputs, words, task, hash and reward."""
    (run,) = runs(tmp_path, [cancelling(shops["tau-bench"])])
    (call,) = run.calls
    assert (call.name, call.arguments) == CANCEL
    assert call.output is not None
    assert run.said == ("You get $50.60 back.",)
    assert run.ended
    assert run.reward == 1.0
    assert run.task is not None
    assert run.task.tell == ("50.60",)
    assert run.state_hash is not None


def test_calls_written_as_text_are_read(shops: dict[str, Pack], tmp_path: Path) -> None:
    """What an agent without tools writes behind its last "Action:"; the rest is words."""
    record = cancelling(shops["tau-bench"])
    action = {"name": CANCEL[0], "arguments": CANCEL[1]}
    respond = {"name": "respond", "arguments": {"content": "Done: $50.60."}}
    record["traj"] = [
        {"role": "system", "content": "policy"},
        {"role": "user", "content": "Cancel #W1."},
        {"role": "assistant", "content": f"Thought: hm\nAction:\n{json.dumps(action)}"},
        {"role": "user", "content": 'API output: {"order_id": "#W1"}'},
        {"role": "assistant", "content": f"Action:\n{json.dumps(respond)}"},
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": "Thought: none.\nAction:\nGoodbye"},
        {"role": "user", "content": "###STOP###"},
    ]
    (run,) = runs(tmp_path, [record])
    assert [(c.name, c.output) for c in run.calls] == [(CANCEL[0], '{"order_id": "#W1"}')]
    assert run.said == ("Done: $50.60.", "Goodbye")


def test_a_conversation_without_an_end_was_cut_off(shops: dict[str, Pack], tmp_path: Path) -> None:
    """No stop from the customer, no hand-over."""
    record = cancelling(shops["tau-bench"])
    record["traj"].pop()
    (run,) = runs(tmp_path, [record])
    assert not run.ended


@pytest.mark.parametrize(
    "break_it",
    [
        lambda record: record.update(traj=None),
        lambda record: record["info"].update(error="Timeout"),
        lambda record: record.update(reward=None),
        lambda record: record.update(reward="1.0"),
        lambda record: record.update(traj=[1, 2]),
        lambda record: record["info"].update(task=None),
        lambda record: record["info"]["task"].update(actions=[{"name": 3}]),
        lambda record: record["traj"][2]["tool_calls"][0]["function"].update(arguments="{"),
    ],
)
def test_a_broken_record_is_a_lost_trial(
    shops: dict[str, Pack], tmp_path: Path, break_it: Any
) -> None:
    """With a reason, and the next record is read as if nothing were."""
    broken = cancelling(shops["tau-bench"])
    break_it(broken)
    lost, fine = runs(tmp_path, [broken, cancelling(shops["tau-bench"], trial=1)])
    assert lost.result.passed is None
    assert lost.result.lost
    assert "\n" not in lost.result.lost
    assert fine.result.passed is True


def test_what_is_no_record_is_a_lost_trial(shops: dict[str, Pack], tmp_path: Path) -> None:
    """A number, a string, an object without a task."""
    found = runs(tmp_path, [cancelling(shops["tau-bench"]), 3, "x", {}, {"task_id": []}])
    assert [run.result.passed for run in found] == [True, None, None, None, None]


def test_a_file_that_breaks_off_loses_the_rest(shops: dict[str, Pack], tmp_path: Path) -> None:
    """The half-written record is a lost trial."""
    text = json.dumps([cancelling(shops["tau-bench"])] * 2)
    whole, half = runs(tmp_path, text[:-30])
    assert whole.result.passed is True
    assert half.result.lost is not None
    assert "damaged" in half.result.lost


def test_a_missing_output_and_a_repeated_id_are_read(
    shops: dict[str, Pack], tmp_path: Path
) -> None:
    """The call is there, its output unknown; equal ids are told apart by their order."""
    record = simulation(shops["tau2"])
    calling, answer = record["messages"][2:4]
    calling["tool_calls"] = calling["tool_calls"] * 2
    record["messages"][3:4] = [answer, answer | {"content": "second"}]
    record["messages"].insert(5, calling)
    (run,) = runs(tmp_path, tau2_results(record))
    assert [call.output for call in run.calls] == [answer["content"], "second", None, None]


def test_a_tau2_simulation_is_read(shops: dict[str, Pack], tmp_path: Path) -> None:
    """The task comes from the file; the domain is named there."""
    file = tmp_path / "results.json"
    file.write_text(json.dumps(tau2_results(simulation(shops["tau2"]))))
    recording = read_recording(file)
    assert (recording.benchmark, recording.domain) == ("tau2", "retail")
    (run,) = recording.runs
    assert run.ended
    assert run.basis == ("DB", "COMMUNICATE")
    assert run.task is not None
    assert "Cancel order #W1." in run.task.instruction


def test_trials_that_were_never_run_are_lost(shops: dict[str, Pack], tmp_path: Path) -> None:
    """The file plans three and holds one."""
    found = runs(tmp_path, tau2_results(simulation(shops["tau2"]), trials=3))
    assert [run.result.passed for run in found] == [True, None, None]


def test_the_simulations_may_stand_before_the_tasks(shops: dict[str, Pack], tmp_path: Path) -> None:
    """Order in an object means nothing."""
    results = tau2_results(simulation(shops["tau2"]))
    backwards = dict(reversed(results.items()))
    (run,) = runs(tmp_path, backwards)
    assert run.task is not None


def test_a_folder_of_simulations_is_one_recording(shops: dict[str, Pack], tmp_path: Path) -> None:
    """Its broken files are lost trials; a tau2 results folder is understood too."""
    (tmp_path / "a.json").write_text(json.dumps(simulation(shops["tau2"])))
    (tmp_path / "b.json").write_text("{")
    found = list(read_recording(tmp_path).runs)
    assert [run.result.passed for run in found] == [True, None]
    folder = tmp_path / "run"
    (folder / "simulations").mkdir(parents=True)
    (folder / "simulations" / "s0.json").write_text(json.dumps(simulation(shops["tau2"])))
    head = tau2_results()
    del head["simulations"]
    index = [{"id": "s0", "task_id": "0", "trial": 0}]
    (folder / "results.json").write_text(json.dumps(head | {"simulation_index": index}))
    for place in (folder, folder / "results.json"):
        recording = read_recording(place)
        assert recording.domain == "retail"
        assert [run.result.passed for run in recording.runs] == [True]


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", "{}", "[1, 2]", '{"a": 1}', "[", '{"a"', "3", '[{"task_id": 1}]']
)
def test_something_else_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    """Whatever it is."""
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        list(read_recording(file).runs)
    assert "\n" not in str(refused.value)


def test_an_empty_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    """In one line each."""
    with pytest.raises(UsageError, match="no JSON file"):
        read_recording(tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        read_recording(tmp_path / "missing.json")
