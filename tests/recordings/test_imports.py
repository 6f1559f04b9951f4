"""Reading clones of both benchmarks."""

import json
from pathlib import Path

import pytest

from passhat.errors import UsageError
from passhat.recordings.import_tau2 import read_tau2
from passhat.recordings.import_taubench import read_task_file, read_tau_bench

from ..clones import tau2_clone, tau_bench_clone


def test_a_clone_of_tau_bench_becomes_packs(tmp_path: Path) -> None:
    """A domain without tasks is still a world, and the report says what is missing."""
    airline, retail = read_tau_bench(tau_bench_clone(tmp_path))
    assert retail.pack is not None
    assert retail.pack.name == "retail@tau-bench"
    assert list(retail.pack.benchmark_tasks) == ["test-0", "test-1"]
    assert retail.read == ["3 orders", "1 products", "2 users", "2 tasks of split 'test'"]
    assert retail.missing == []
    assert airline.pack is not None
    assert airline.missing == ["tau_bench/envs/airline/tasks_*.py"]


def test_reference_calls_that_their_tools_refuse_are_marked(tmp_path: Path) -> None:
    """The first look-up of the first task has a wrong order id."""
    _, retail = read_tau_bench(tau_bench_clone(tmp_path))
    assert retail.pack is not None
    assert retail.pack.benchmark_tasks["test-0"].refused == (0,)


def test_a_clone_without_a_table_is_no_world(tmp_path: Path) -> None:
    """The report names the file."""
    clone = tau_bench_clone(tmp_path)
    (clone / "tau_bench/envs/retail/data/users.json").unlink()
    (clone / "tau_bench/envs/airline/data/users.json").write_text("{")
    airline, retail = read_tau_bench(clone)
    assert retail.pack is None
    assert retail.missing == ["tau_bench/envs/retail/data/users.json"]
    assert airline.pack is None
    assert airline.not_understood[0].startswith("tau_bench/envs/airline/data/users.json: ")


def test_a_clone_of_tau2_becomes_packs(tmp_path: Path) -> None:
    """A domain whose tools nobody knows is reported."""
    airline, retail, zoo = read_tau2(tau2_clone(tmp_path), label="tau2-new")
    assert airline.pack is not None
    assert retail.pack is not None
    assert retail.pack.name == "retail@tau2-new"
    assert retail.pack.benchmark_tasks["0"].split == "train"
    assert zoo.pack is None
    assert zoo.not_understood == ["domain 'zoo': nobody here knows its tools"]


def test_tau2s_documents_are_completed_as_its_loader_does(tmp_path: Path) -> None:
    """Fields in its order, absent ones null, money as numbers with a fraction."""
    airline, retail, _ = read_tau2(tau2_clone(tmp_path))
    assert retail.pack is not None
    assert airline.pack is not None
    with retail.pack.world.fork() as db:
        order = json.loads(retail.pack.call(db, "get_order_details", {"order_id": "#W1"}).content)
    assert list(order)[-1] == "return_payment_method_id"
    assert order["cancel_reason"] is None
    with airline.pack.world.fork() as db:
        user = airline.pack.call(db, "get_user_details", {"user_id": "ada_bell_1000"}).content
    assert '"amount": 150.0' in user


def test_a_task_of_tau2_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    """The others are read."""
    clone = tau2_clone(tmp_path)
    file = clone / "data/tau2/domains/retail/tasks.json"
    fine = json.loads(file.read_text())
    strange = {"id": "9", "evaluation_criteria": {"actions": [{"arguments": {}}]}}
    own_state = fine[0] | {"id": "8", "initial_state": {"initialization_data": {}}}
    file.write_text(json.dumps([strange, own_state, *fine]))
    _, retail, _ = read_tau2(clone)
    assert retail.pack is not None
    assert list(retail.pack.benchmark_tasks) == ["0"]
    assert len(retail.not_understood) == 2


def test_something_else_is_no_clone(tmp_path: Path) -> None:
    """The message says what one has."""
    with pytest.raises(UsageError, match="tau_bench/envs"):
        read_tau_bench(tmp_path)
    with pytest.raises(UsageError, match="data/tau2/domains"):
        read_tau2(tmp_path)


@pytest.mark.parametrize(
    "element",
    [
        "__import__('os').system('touch ran')",
        "Task(user_id=open('ran', 'w').name)",
        "Task(**{})",
        "Task('x')",
        "Task(user_id=f'{1}')",
        "Task(user_id=NAME)",
        "Task(user_id='a' * 9)",
        "Task(user_id='a' + 1)",
        "[x for x in 'ab']",
        "{**{}}",
        "lambda: 1",
    ],
)
def test_what_is_no_literal_is_reported_never_run(
    element: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tasks around it keep their numbers."""
    monkeypatch.chdir(tmp_path)
    source = f"TASKS = [\n    Task(user_id='one'),\n    {element},\n    Task(user_id='three'),\n]\n"
    records, faults = read_task_file(source)
    assert records == [{"user_id": "one"}, {}, {"user_id": "three"}]
    assert len(faults) == 1
    assert faults[0].startswith("line 3: ")
    assert not (tmp_path / "ran").exists()


def test_tasks_may_be_plain_dicts(tmp_path: Path) -> None:
    """As the first versions wrote them; numbers may be negative, texts joined with a plus."""
    records, faults = read_task_file("tasks = [{'instruction': 'a' + 'b', 'n': -1, 't': (1,)}]")
    assert records == [{"instruction": "ab", "n": -1, "t": [1]}]
    assert faults == []


@pytest.mark.parametrize("source", ["", "x = 1", "def", "\0", "(" * 1000])
def test_a_file_without_tasks_is_reported(source: str) -> None:
    """Whether it is Python or not."""
    records, faults = read_task_file(source)
    assert records == []
    assert len(faults) == 1
