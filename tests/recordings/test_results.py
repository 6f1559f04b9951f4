"""Reading other people's results: what is a pass, a failure, a loss; and what is no such file."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from passhat.errors import Fault, UsageError
from passhat.harness.curve import Curve, curve_of
from passhat.recordings.results import read_results
from passhat.results import Source, TrialResult

from ..reference_data import reference

TALK = [{"role": "user", "content": "Where is my kettle?"}]


def tau(task: Any, trial: Any, reward: Any, **changes: Any) -> dict[str, Any]:
    """A record as tau-bench writes it."""
    info = {"task": {}, "source": "user", "reward_info": {"reward": reward}}
    record = {"task_id": task, "trial": trial, "reward": reward, "info": info, "traj": TALK}
    return {**record, **changes}


def tau2(task: str, trial: int | None, reward: float | None, ending: str = "user_stop") -> dict:
    """A simulation as tau2 writes it."""
    return {
        "id": "s",
        "task_id": task,
        "trial": trial,
        "termination_reason": ending,
        "reward_info": None if reward is None else {"reward": reward},
        "messages": TALK,
    }


def read(tmp_path: Path, content: Any) -> list[TrialResult]:
    """Read content written to a file whose name says nothing."""
    file = tmp_path / "file"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_results(file)


def passes(results: list[TrialResult]) -> list[bool | None]:
    """The grades alone."""
    return [result.passed for result in results]


def test_a_pass_is_a_reward_of_one_and_nothing_less(tmp_path: Path) -> None:
    """Give or take 1e-6; two halves are two failures."""
    rewards = [1.0, 1, 0.9999999, 0.5, 0.5, 0.0]
    results = read(tmp_path, [tau(3, i, reward) for i, reward in enumerate(rewards)])
    assert passes(results) == [True, True, True, False, False, False]
    assert {result.task for result in results} == {"3"}


def test_a_crashed_trial_is_lost_and_one_cut_at_the_step_limit_failed(tmp_path: Path) -> None:
    """tau-bench writes reward 0 for both; only the second says anything about the agent."""
    crashed = tau(0, 0, 0.0, info={"error": "Timeout\nmore", "traceback": "..."}, traj=[])
    empty = tau(0, 1, 0.0, traj=[])
    cut = tau(0, 2, 0.0, info={"task": {}, "source": "user", "reward_info": None})
    results = read(tmp_path, [crashed, empty, cut])
    assert passes(results) == [None, None, False]
    assert results[0].lost == "crashed: Timeout"


def test_a_broken_record_loses_its_trial_and_no_other(tmp_path: Path) -> None:
    """Whatever is wrong with it, the rest is read."""
    broken = [
        None,
        {"trial": 0, "reward": 1.0},
        tau(True, 0, 1.0),
        tau(5, 0, "1.0"),
        tau(5, 1, 7),
        tau(5, 2, None),
        tau(5, 3, float("nan")),
        tau(5, 4, 1.0, info=None),
    ]
    results = read(tmp_path, [tau(1, 0, 1.0), *broken])
    assert passes(results) == [True, *[None] * 7, True]
    assert all(result.lost for result in results[1:8])
    assert curve_of(Source("x", results)).lost == 7


def test_words_of_a_recording_cannot_drive_a_terminal(tmp_path: Path) -> None:
    """Escape sequences in an error are defused."""
    (result,) = read(tmp_path, [tau(1, 0, 0.0, info={"error": "\x1b[2Jbad"})])
    assert result.lost == "crashed: ?[2Jbad"


@pytest.mark.parametrize(
    "ending", ["max_steps", "too_many_errors", "agent_error", "context_window_exceeded"]
)
def test_what_the_agent_broke_is_failed(tmp_path: Path, ending: str) -> None:
    """It did not finish, so it did not pass, graded or not."""
    results = read(
        tmp_path, {"simulations": [tau2("a", 0, 0.0, ending), tau2("a", 1, None, ending)]}
    )
    assert passes(results) == [False, False]


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        ("user_error", Fault.SIMULATOR),
        ("infrastructure_error", Fault.INFRASTRUCTURE),
        ("timeout", Fault.INFRASTRUCTURE),
        ("unexpected_error", None),
    ],
)
def test_what_others_broke_is_lost(tmp_path: Path, ending: str, fault: Fault | None) -> None:
    """The ending and whose doing it is are kept."""
    (result,) = read(tmp_path, {"simulations": [tau2("a", 0, 0.0, ending)]})
    assert (result.passed, result.lost, result.fault) == (None, f"ended by {ending}", fault)


def test_a_conversation_nobody_graded_is_lost(tmp_path: Path) -> None:
    """No reward is neither a pass nor a failure; a lone simulation is a file, too."""
    (result,) = read(tmp_path, tau2("a", None, None))
    assert (result.task, result.trial, result.lost) == ("a", 0, "no reward recorded")


def test_announced_trials_that_never_ran_are_lost(tmp_path: Path) -> None:
    """Two tasks of two trials were planned, one ran."""
    document = {
        "info": {"num_trials": 2},
        "tasks": [{"id": "a"}, {"id": "b"}],
        "simulations": [tau2("a", 0, 1.0)],
    }
    one = curve_of(Source("x", read(tmp_path, document)))
    assert (one.planned, one.scored, one.lost) == (4, 1, 3)
    assert one.lost_because == {"planned, never run": 3}


def test_a_senseless_number_of_trials_is_refused(tmp_path: Path) -> None:
    """It would fill the memory with trials that never ran."""
    with pytest.raises(UsageError, match="num_trials 1000000000 cannot be right"):
        read(tmp_path, {"info": {"num_trials": 10**9}, "tasks": [{"id": "a"}], "simulations": []})


def test_a_results_folder_is_read_through_its_index(tmp_path: Path) -> None:
    """tau2's folder format keeps rewards in results.json, beside the simulations."""
    index = [
        {"id": "x", "task_id": "a", "trial": 0, "reward": 1.0, "termination_reason": "user_stop"}
    ]
    (tmp_path / "results.json").write_text(json.dumps({"info": {}, "simulation_index": index}))
    assert passes(read_results(tmp_path)) == [True]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('[{"task_id": 1, "rew', "is not complete JSON"),
        ("[" * 100_000, "is not complete JSON"),
        ("{}", "not a results file; understood are tau-bench results, tau2 results"),
        ("[1, 2]", "not a results file"),
        ("[]", "not a results file"),
        ('{"tasks": {"a": 1}}', "not a results file"),
        ("", "its first line lacks the column 'task'"),
        ("once upon a time", "lacks the column 'task'"),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, content: str, why: str) -> None:
    """The message names the file, and says what is understood."""
    with pytest.raises(UsageError, match=why) as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)
    assert str(tmp_path / "file") in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Say where, instead of guessing an encoding."""
    file = tmp_path / "file"
    file.write_bytes(b'[{"task_id": "\xff"}]')
    with pytest.raises(UsageError, match=r"not UTF-8 text \(byte 14\)"):
        read_results(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A folder without results.json is the same case."""
    with pytest.raises(UsageError, match=r"cannot read .*results\.json"):
        read_results(tmp_path)


def recorded(path: str) -> Curve:
    """The curve of a real recording."""
    return curve_of(Source(path, read_results(reference(path))))


def test_the_recorded_gpt_4o_airline_runs_give_the_published_curve() -> None:
    """pass^1..4 = .420 .273 .220 .200 over 50 tasks of 4 trials, none lost."""
    one = recorded("tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json")
    assert [f"{point.value:.3f}" for point in one.pass_hat] == ["0.420", "0.273", "0.220", "0.200"]
    assert (one.planned, one.scored, one.lost, len(one.per_task)) == (200, 200, 0, 50)


@pytest.mark.parametrize(
    ("file", "planned", "scored", "passed"),
    [
        ("tau1-airline-grok-4-1-fast-reasoning-2trials.json", 100, 95, 56),
        ("tau1-airline-react-grok-4-fast.json", 50, 49, 27),
        ("tau1-retail-gpt-4.1-mini.json", 115, 115, 76),
        ("tau1-retail-grok-4-1-fast-reasoning.json", 115, 114, 91),
        ("tau2-airline-gpt-4.1.json", 20, 20, 10),
        ("tau2-airline-grok-4-fast-unequal-trials.json", 200, 66, 37),
        ("tau2-airline-opus-4-6.json", 50, 50, 38),
        ("tau2-airline-qwen2.5-7b.json", 50, 50, 9),
        ("tau2-retail-gpt-4.1.json", 40, 40, 34),
        ("tau2-retail-gpt-4o-trial1.json", 40, 40, 28),
        ("tau2-telecom-gpt-4.1.json", 40, 40, 18),
        ("tau2-telecom-no-user-gpt-4.1.json", 40, 40, 20),
        ("human-agent-retail/task_0_human.json", 1, 0, 0),
    ],
)
def test_real_recordings_are_counted_right(
    file: str, planned: int, scored: int, passed: int
) -> None:
    """Planned, scored and passed, as counted by hand from the files."""
    results = read_results(reference(f"recordings/{file}"))
    grades = Counter(passes(results))
    assert (len(results), grades[True] + grades[False], grades[True]) == (planned, scored, passed)
