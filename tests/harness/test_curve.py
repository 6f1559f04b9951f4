"""The curve of a set of trials: the numbers, what was lost, and when nothing is claimed."""

import json

import pytest

from passhat.errors import Fault, UsageError
from passhat.harness.curve import CONTRADICTION, Curve, curve_of, different_tasks
from passhat.results import Source, TrialResult

EIGHT_BY_FIVE = [5, 5, 4, 4, 3, 2, 1, 0]


def trials(passes: list[int], n: int) -> list[TrialResult]:
    """Tasks t0, t1, ... with n trials each, the first ``passes`` of them passed."""
    return [TrialResult(f"t{i}", j, j < c) for i, c in enumerate(passes) for j in range(n)]


def curve(results: list[TrialResult]) -> Curve:
    """Their curve, with the default seed."""
    return curve_of(Source("example", results))


def lost(task: str, trial: int) -> TrialResult:
    """A trial that a provider lost."""
    return TrialResult(task, trial, None, lost="rate limit", fault=Fault.INFRASTRUCTURE)


def test_the_eight_by_five_matrix_comes_out_exactly() -> None:
    """pass@1,3,5 = .6000 .8125 .8750 and pass^1,3,5 = .6000 .3625 .2500."""
    one = curve(trials(EIGHT_BY_FIVE, 5))
    assert [one.pass_at[k - 1].value for k in (1, 3, 5)] == [0.6, 0.8125, 0.875]
    assert [one.pass_hat[k - 1].value for k in (1, 3, 5)] == [0.6, 0.3625, 0.25]
    assert one.headline is not None
    assert one.headline.startswith("pass^1 0.600 [")
    assert "pass^5 0.250 [" in one.headline


def test_tasks_with_unequal_trials_are_each_taken_with_their_own_n() -> None:
    """A with 3 of 4 and B with 2 of 2: .875, .75, then .25 over A alone, and it says so."""
    one = curve(trials([3], 4) + [TrialResult("b", j, True) for j in range(2)])
    assert [p.value for p in one.pass_hat] == [0.875, 0.75, 0.25, 0.0]
    assert [p.tasks for p in one.pass_hat] == [2, 2, 1, 1]
    assert any("from 2 to 4 scored trials" in warning for warning in one.warnings)
    assert one.headline_k == 2


def test_lost_trials_are_counted_and_never_failed() -> None:
    """One pass and one loss is pass^1 = 1 of one scored trial, with the loss beside it."""
    one = curve([*trials([3] * 20, 3), lost("t0", 3)])
    assert one.pass_hat[0].value == 1
    assert (one.planned, one.scored, one.lost) == (61, 60, 1)
    assert one.lost_because == {"rate limit": 1}
    assert one.lost_by == {"infrastructure": 1}
    assert one.headline is not None


def test_too_much_lost_refuses_the_headline() -> None:
    """One success in four slots is not 100 %: three of four have no grade."""
    one = curve([TrialResult("t", 0, True), *(lost("t", j) for j in (1, 2, 3))])
    assert one.headline is None
    assert one.warnings[0].startswith("no headline: 3 of 4 planned trials have no grade")
    assert one.to_json()["pass_hat"]["1"]["value"] == 1


def test_exactly_a_tenth_lost_still_has_a_headline() -> None:
    """The threshold itself is allowed."""
    kept = trials([1] * 9, 1)
    assert curve([*kept, lost("t9", 0)]).headline is not None
    assert curve([*kept[:-1], lost("t8", 0), lost("t9", 0)]).headline is None


def test_nothing_scored_is_no_number_at_all() -> None:
    """Every trial lost: no points, no headline, tasks and losses still told."""
    shown = curve([lost("a", 0), lost("b", 0)]).to_json()
    assert shown["pass_hat"] == {}
    assert shown["headline"] is None
    assert (shown["tasks"], shown["scored"], shown["lost"]) == (2, 0, 2)
    assert curve_of(Source("x", [lost("a", 0)]), max_k=2).pass_at[1].value is None


def test_tasks_that_nobody_or_everybody_passes_are_named() -> None:
    """Never and always; a task that was never tried is neither."""
    one = curve([*trials(EIGHT_BY_FIVE, 5), lost("untried", 0)])
    assert one.never == ["t7"]
    assert one.always == ["t0", "t1"]


def test_json_has_the_agreed_keys_and_no_nan() -> None:
    """It survives a strict JSON encoder, undefined intervals as null."""
    shown = curve(trials([2, 1], 3)[:4]).to_json()
    text = json.dumps(shown, allow_nan=False)
    assert {"pass_hat", "pass_at", "tasks", "planned", "scored", "lost"} <= json.loads(text).keys()
    assert shown["pass_hat"]["3"]["low"] is None
    assert shown["pass_hat"]["3"]["method"] is None
    assert shown["per_task"][1] == {"task": "t1", "scored": 1, "passed": 1, "lost": 0}


def test_a_trial_recorded_twice_counts_once() -> None:
    """Equal grades are one trial, and the curve says how many were surplus."""
    results = trials([1, 0], 2)
    one = curve(results + results[:1])
    assert one.planned == 4
    assert any("counted once: 1" in warning for warning in one.warnings)


def test_a_grade_replaces_a_loss_whatever_the_order() -> None:
    """A trial that was run again after a crash is scored."""
    for order in (1, -1):
        one = curve([lost("a", 0), TrialResult("a", 0, True)][::order])
        assert (one.scored, one.lost) == (1, 0)


def test_grades_that_contradict_each_other_are_lost() -> None:
    """Nobody can say which one is right, not even after a third."""
    one = curve([TrialResult("a", 0, grade) for grade in (True, False, True)])
    assert (one.planned, one.scored) == (1, 0)
    assert one.lost_because == {CONTRADICTION: 1}


def test_a_record_without_a_task_is_a_lost_trial_of_no_task() -> None:
    """It was planned, so it is counted, but no task is invented for it."""
    one = curve([*trials([1], 1), TrialResult("", 7, None, lost="broken record: no task id")])
    assert (one.planned, one.lost, len(one.per_task)) == (2, 1, 1)


def test_few_tasks_are_warned_of() -> None:
    """Below ten tasks intervals are too narrow; with one there is none."""
    assert any("too narrow" in w for w in curve(trials([1, 2], 3)).warnings)
    assert any("at least two" in w for w in curve(trials([1], 3)).warnings)
    assert curve(trials(EIGHT_BY_FIVE * 2, 5)).warnings == []


def test_the_intervals_repeat_with_the_seed_and_widen_with_confidence() -> None:
    """Same seed, same interval; 99 % is wider than 80 %."""
    source = Source("example", trials(EIGHT_BY_FIVE, 5))
    assert curve_of(source, seed=5) == curve_of(source, seed=5)
    wide, narrow = (curve_of(source, confidence=c).pass_hat[0] for c in (0.99, 0.8))
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


@pytest.mark.parametrize(
    "options", [{"max_k": 0}, {"confidence": 1.0}, {"confidence": float("nan")}]
)
def test_senseless_options_are_refused(options: dict) -> None:
    """The message names the value."""
    with pytest.raises(UsageError, match="not "):
        curve_of(Source("example", trials([1], 1)), **options)


def test_no_trials_at_all_are_refused() -> None:
    """An empty source has no curve."""
    with pytest.raises(UsageError, match="'example' holds no trials"):
        curve([])


def test_curves_of_different_tasks_are_not_compared_silently() -> None:
    """The warning names the odd one out; equal task sets have none."""
    here, there = curve(trials([1, 2], 2)), curve_of(Source("other", trials([1], 2)))
    assert different_tasks([here, here]) is None
    assert "'other'" in (different_tasks([here, there]) or "")


def test_one_task_is_not_said_to_be_several() -> None:
    """The headline and its warning say "1 task"."""
    curve = curve_of(Source("x", [TrialResult("a", 0, True)]))
    assert str(curve.headline).endswith("over 1 task")
    assert any(line.startswith("1 task is few") for line in curve.warnings)
