"""Recorded conversations carried out and graded again."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from passhat.domains.packs import Pack, save_pack
from passhat.errors import UsageError
from passhat.harness.regrade import Regrade, regrade
from passhat.harness.shelf import importer, shelf

from ..clones import CANCEL, cancelling, pack, simulation, tau2_clone, tau2_results, tau_bench_clone

Regrading = Callable[..., Regrade]


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pack]:
    """Both benchmarks' shops."""
    names = ("retail@tau-bench", "retail@tau2")
    return {n.partition("@")[2]: pack(tmp_path_factory.mktemp("c") / "c", n) for n in names}


@pytest.fixture
def again(shops: dict[str, Pack], tmp_path: Path) -> Regrading:
    """Grades a file of these records again, in packs of both benchmarks."""
    for shop in shops.values():
        save_pack(shop, tmp_path / "packs")

    def call(records: Any, **options: Any) -> Regrade:
        file = tmp_path / "results.json"
        file.write_text(json.dumps(records))
        return regrade(file, shelf(tmp_path / "packs"), **options)

    return call


def test_a_conversation_comes_out_as_recorded(shops: dict[str, Pack], again: Regrading) -> None:
    """Outputs, hash of the right end state, reward; and the curve with them."""
    result = again([cancelling(shops["tau-bench"], trial=n) for n in range(2)])
    assert result.pack == "retail@tau-bench"
    shown = result.to_json()
    for what in ("outputs", "state_hashes", "rewards"):
        assert shown[what] == {"equal": 2, "total": 2}
    assert shown["differences"] == []
    assert shown["pass_hat"]["2"]["value"] == shown["recorded_pass_hat"]["2"]["value"] == 1.0


def test_an_output_that_differs_is_shown_with_both(
    shops: dict[str, Pack], again: Regrading
) -> None:
    """With the message that made the call."""
    record = cancelling(shops["tau-bench"])
    record["traj"][3]["content"] = "something else"
    result = again([record])
    (difference,) = result.differences
    assert difference["kind"] == "output"
    assert (difference["tool"], difference["message"]) == (CANCEL[0], 2)
    assert difference["recorded"] == "something else"
    assert difference["where"][0].startswith("from character 0: recorded 'something else', now")
    assert result.outputs.to_json() == {"equal": 0, "total": 1}


def test_a_reward_that_differs_is_explained_by_rows(
    shops: dict[str, Pack], again: Regrading
) -> None:
    """Path, expected value, value found."""
    record = cancelling(shops["tau-bench"])
    record["info"]["task"]["outputs"] = []
    del record["traj"][2:4]
    result = again([record])
    (difference,) = result.differences
    assert (difference["kind"], difference["recorded"], difference["now"]) == ("reward", 1.0, 0.0)
    assert "orders[#W1].status: expected 'cancelled', found 'pending'" in difference["because"]


def test_a_hash_that_differs_is_shown(shops: dict[str, Pack], again: Regrading) -> None:
    """The recorded world was another one."""
    record = cancelling(shops["tau-bench"])
    record["info"]["reward_info"]["info"]["gt_data_hash"] = "0" * 64
    result = again([record])
    assert [d["kind"] for d in result.differences] == ["state hash"]


def test_what_had_to_be_told_must_have_been_told(shops: dict[str, Pack], again: Regrading) -> None:
    """tau-bench looks for the text, commas left out; by default a number is a number."""
    record = cancelling(shops["tau-bench"], words="You get 1150.604 dollars.")
    assert again([record]).runs[0].after.passed
    by_default = again([record], basis="default")
    assert by_default.runs[0].because == ("the customer was not told '50.60'",)
    assert not by_default.runs[0].after.passed


def test_the_rule_of_the_time_is_found_out(shops: dict[str, Pack], again: Regrading) -> None:
    """Before a certain commit only what was told counted where something had to be told."""
    record = cancelling(shops["tau-bench"])
    del record["traj"][2:4]
    old = again([record])
    assert old.rewards.to_json() == {"equal": 1, "total": 1}
    assert "otherwise only the rows" in old.rule
    assert old.notes == ["under tau-bench's present rule 0 of 1 rewards would be equal"]
    assert "otherwise" not in again([record | {"reward": 0.0}]).rule


def test_a_fraction_matters_to_the_hash_only(shops: dict[str, Pack], again: Regrading) -> None:
    """A refund of 25.0 instead of 25 fails in tau-bench, and is right by default."""
    record = cancelling(shops["tau-bench"])
    task = record["info"]["task"]
    for holder in (task, record["info"]["reward_info"]):
        holder["actions"] = [
            {
                "name": "modify_pending_order_address",
                "kwargs": _address(1),
            }
        ]
    task["outputs"] = []
    name, arguments = "modify_pending_order_address", _address(1.0)
    function = record["traj"][2]["tool_calls"][0]["function"]
    function.update(name=name, arguments=json.dumps(arguments))
    assert not again([record]).runs[0].after.passed
    assert again([record], basis="default").runs[0].after.passed


def _address(line: float) -> dict[str, Any]:
    names = ("address1", "address2", "city", "state", "country", "zip")
    return {"order_id": "#W1"} | dict.fromkeys(names, "x") | {"address2": line}


def test_a_conversation_that_was_cut_off_fails(shops: dict[str, Pack], again: Regrading) -> None:
    """Whatever its rows say."""
    record = cancelling(shops["tau-bench"])
    record["traj"].pop()
    record["reward"] = 0.0
    record["info"]["reward_info"] = None
    result = again([record])
    assert result.runs[0].after.passed is False
    assert result.runs[0].because == ("the conversation was cut off",)
    assert result.rewards.to_json() == {"equal": 1, "total": 1}


def test_lost_trials_stay_lost(shops: dict[str, Pack], again: Regrading) -> None:
    """They enter neither the tallies nor the curve."""
    crashed = {"task_id": 0, "trial": 1, "reward": 0.0, "info": {"error": "Timeout"}, "traj": []}
    shown = again([cancelling(shops["tau-bench"]), crashed, 3]).to_json()
    assert shown["lost"] == 2
    assert shown["scored"] == 1
    assert shown["pass_hat"]["1"]["value"] == 1.0


def test_a_tau2_simulation_comes_out_as_recorded(shops: dict[str, Pack], again: Regrading) -> None:
    """The components in its basis decide."""
    result = again(tau2_results(simulation(shops["tau2"])))
    assert result.pack == "retail@tau2"
    assert result.rewards.to_json() == {"equal": 1, "total": 1}
    assert result.state_hashes.total == 0


@pytest.mark.parametrize("verdict", [0.0, 1.0])
def test_a_models_verdict_is_taken_over(
    shops: dict[str, Pack], again: Regrading, verdict: float
) -> None:
    """Nothing here calls a model; the notes say so."""
    graded = {
        "reward": verdict,
        "reward_basis": ["DB", "NL_ASSERTION"],
        "reward_breakdown": {"DB": 1.0, "NL_ASSERTION": verdict},
    }
    result = again(tau2_results(simulation(shops["tau2"], reward_info=graded)))
    assert result.rewards.to_json() == {"equal": 1, "total": 1}
    assert result.notes == ["NL_ASSERTION is taken from the recording in 1 runs"]


def test_a_run_that_was_never_graded_gets_a_grade(shops: dict[str, Pack], again: Regrading) -> None:
    """By the task of the pack, where the file has none."""
    result = again(simulation(shops["tau2"], reward_info=None))
    assert result.runs[0].after.passed is True
    assert result.rewards.total == 0
    unknown = again(simulation(shops["tau2"], reward_info=None, task_id="77"))
    assert unknown.runs[0].after.lost == "retail@tau2 has no task '77'"


def test_of_two_packs_the_one_that_fits_is_taken(shops: dict[str, Pack], tmp_path: Path) -> None:
    """Two versions of a world are told apart by what they reproduce; a name settles it too."""
    clone = tau_bench_clone(tmp_path / "old")
    file = clone / "tau_bench/envs/retail/data/users.json"
    file.write_text(file.read_text().replace('"state"', '"province"'))
    old = next(r.pack for r in importer("tau-bench")[1](clone, "older") if r.domain == "retail")
    assert old is not None
    for made in (shops["tau-bench"], old):
        save_pack(made, tmp_path / "packs")
    results = tmp_path / "results.json"
    results.write_text(json.dumps([cancelling(old)]))
    packs = shelf(tmp_path / "packs")
    assert regrade(results, packs).pack == "retail@older"
    assert regrade(results, packs, domain="retail@tau-bench").pack == "retail@tau-bench"


def test_a_clone_does_where_packs_are_asked_for(shops: dict[str, Pack], tmp_path: Path) -> None:
    """Nothing needs to be imported first."""
    results = tmp_path / "results.json"
    results.write_text(json.dumps([cancelling(shops["tau-bench"])]))
    assert regrade(results, shelf(tau_bench_clone(tmp_path / "c"))).rewards.equal == 1
    results.write_text(json.dumps(tau2_results(simulation(shops["tau2"]))))
    assert regrade(results, shelf(tau2_clone(tmp_path / "d"))).rewards.equal == 1


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ([], {}, "holds no results"),
        (None, {"basis": "mine"}, "no grading basis 'mine'"),
        (None, {"domain": "airline"}, "needs pack 'airline@tau-bench'"),
        (None, {"domain": "retail@x"}, "needs pack 'retail@x'"),
        (tau2_results({}, environment_info={"domain_name": "zoo"}), {}, "nobody here knows"),
    ],
)
def test_what_cannot_be_graded_is_refused_in_one_line(
    shops: dict[str, Pack], again: Regrading, results: Any, options: Any, message: str
) -> None:
    """The message says what would do."""
    records = [cancelling(shops["tau-bench"])] if results is None else results
    with pytest.raises(UsageError, match=message) as refused:
        again(records, **options)
    assert "\n" not in str(refused.value)


def test_a_recording_of_another_world_gets_no_grades(
    shops: dict[str, Pack], again: Regrading
) -> None:
    """Where most outputs differ a grade would say nothing; who insists may see the differences."""
    records = [cancelling(shops["tau-bench"], trial=n) for n in range(12)]
    for record in records:
        for message in record["traj"]:
            if message["role"] == "tool":
                message["content"] = "Error: order not found"
    with pytest.raises(UsageError, match="only 0 of its first 12 tool outputs come out equal"):
        again(records)
    insisted = again(records, domain="retail@tau-bench")
    assert insisted.outputs.to_json() == {"equal": 0, "total": 12}


def test_a_folder_without_packs_is_refused(tmp_path: Path) -> None:
    """The message says how to make them."""
    with pytest.raises(UsageError, match="passhat import"):
        shelf(tmp_path)
    with pytest.raises(UsageError, match="cannot import 'other'"):
        importer("other")


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every part of a JSON value stands."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*above, key)
        if isinstance(part, dict | list):
            yield from _places(part, (*above, key))


@pytest.mark.parametrize("benchmark", ["tau-bench", "tau2"])
def test_whatever_is_broken_ends_in_a_grade_a_loss_or_one_line(
    shops: dict[str, Pack], tmp_path: Path, benchmark: str
) -> None:
    """Every part of a recording in turn is replaced by something that does not belong there."""
    packs = shelf(save_pack(shops[benchmark], tmp_path))
    whole: Any = (
        [cancelling(shops["tau-bench"])]
        if benchmark == "tau-bench"
        else tau2_results(simulation(shops["tau2"]))
    )
    strangers = cycle([None, 3, "x", [], {}, True, [{}], {"a": [1]}, -1e300])
    for place in _places(whole):
        broken = part = deepcopy(whole)
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = next(strangers)
        (tmp_path / "broken.json").write_text(json.dumps(broken))
        with suppress(UsageError):
            shown = regrade(tmp_path / "broken.json", packs, "retail").to_json()
            json.dumps(shown, allow_nan=False)
