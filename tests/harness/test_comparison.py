"""Two runs compared: paired, exact where it can be, and silent about differences not shown."""

from itertools import product
from pathlib import Path

import pytest
from helpers import new_store
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import PARTS, source, stored_run

from passhat.errors import UsageError
from passhat.harness import comparison
from passhat.harness.comparison import Side, compare, load_side, sign_flip_test, unlike
from passhat.harness.curve import Estimate

EASY = {f"t{n}": "++++" for n in range(12)}
HARD = {f"t{n}": "----" for n in range(12)}


def sides(a: dict[str, str], b: dict[str, str]) -> tuple[Side, Side]:
    """Two sides of trials without a store."""
    return Side(source("a", a)), Side(source("b", b))


# --- the test -----------------------------------------------------------------------------------

small = st.lists(st.integers(-6, 6), min_size=1, max_size=8)


@given(small)
def test_the_exact_test_counts_every_flip(differences: list[int]) -> None:
    """As trying all of them out does."""
    seen = abs(sum(differences))
    flips = list(product((-1, 1), repeat=len(differences)))
    beyond = sum(
        abs(sum(d * s for d, s in zip(differences, signs, strict=True))) >= seen for signs in flips
    )
    found = sign_flip_test(differences)
    assert found.exact
    assert found.p == pytest.approx(beyond / len(flips))
    assert found.p >= found.resolution * 0.999


@given(small, st.integers(2, 5))
def test_only_proportions_signs_and_repetitions_matter(differences: list[int], times: int) -> None:
    """Scaling or mirroring changes nothing, and a weight is that many tasks."""
    p = sign_flip_test(differences).p
    assert sign_flip_test([d * times for d in differences]).p == pytest.approx(p)
    assert sign_flip_test([-d for d in differences]).p == pytest.approx(p)
    weights = [times] * len(differences)
    assert sign_flip_test(differences, weights).p == pytest.approx(
        sign_flip_test(differences * times).p
    )


def test_a_large_test_draws_signs_and_says_how_fine_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near the exact p, the same for the same seed, and never 0."""
    differences = [5, -3, 2, 4, -1, 6, 2, -2, 3, 1]
    exact = sign_flip_test(differences)
    monkeypatch.setattr(comparison, "EXACT_STEPS", 0)
    drawn = sign_flip_test(differences, seed=3)
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=0.015)
    assert drawn == sign_flip_test(differences, seed=3)
    assert sign_flip_test([1] * 60).p == drawn.resolution == 1 / 20_001


def test_numbers_too_large_for_a_float_are_tested_all_the_same() -> None:
    """As pass^k of many trials makes them."""
    found = sign_flip_test([10**400, -(10**400), 10**400])
    assert not found.exact
    assert found.p == 1.0


# --- comparing ----------------------------------------------------------------------------------


def test_a_clear_difference_is_shown_and_a_mirror_image_is_its_negative() -> None:
    """B minus A, at k = 1 and at the largest k."""
    a, b = sides(HARD, EASY)
    there, back = compare(a, b), compare(b, a)
    assert [d.k for d in there.differences] == [1, 4]
    first = there.differences[0]
    assert (first.a, first.b, first.estimate.value) == (0.0, 1.0, 1.0)
    assert first.estimate.low is not None
    assert first.estimate.low > 0.4
    assert first.test.p == pytest.approx(2 / 2**12)
    assert there.verdict() == "pass^1: B is better; pass^4: B is better"
    assert back.verdict() == "pass^1: B is worse; pass^4: B is worse"
    assert back.differences[0].estimate.value == -1.0
    assert len(there.won) == len(there.flipped) == len(back.lost) == 12


def test_a_run_against_itself_shows_no_difference() -> None:
    """The interval holds 0 without being of no width."""
    mixed = {f"t{n}": "+" * (n % 5) + "-" * (4 - n % 5) for n in range(20)}
    found = compare(*sides(mixed, mixed))
    for each in found.differences:
        assert each.estimate.value == 0.0
        assert each.estimate.low is not None
        assert each.estimate.high is not None
        assert each.estimate.low < 0 < each.estimate.high
        assert each.test.p == 1.0
    assert "no difference shown at this size" in found.verdict()
    assert len(found.unchanged) == 20


def width(point: Estimate) -> float:
    """Of an interval that is there."""
    assert point.low is not None
    assert point.high is not None
    return point.high - point.low


def test_pairing_cancels_what_tasks_differ_by() -> None:
    """Nearly the same gain on very unlike tasks is shown, far within each curve's own interval."""
    a = {f"t{n}": "+" * (n % 8) + "-" * (8 - n % 8) for n in range(16)}
    b = {task: "+" + marks[:-1] for task, marks in a.items()} | {"t1": "+++-----"}
    found = compare(*sides(a, b))
    first = found.differences[0]
    assert first.estimate.low is not None
    assert first.estimate.low > 0
    assert width(first.estimate) < width(found.a.pass_hat[0]) / 5


def test_an_interval_and_a_test_that_disagree_are_called_borderline() -> None:
    """Sixteen tasks that gain alike: who knows what a seventeenth does, yet p is tiny."""
    a = {f"t{n}": "+" * (n % 8) + "-" * (8 - n % 8) for n in range(16)}
    b = {task: "+" + marks[:-1] for task, marks in a.items()}
    verdict = compare(*sides(a, b), k=1).verdict()
    assert verdict == "pass^1: no difference shown at this size; borderline, as p = 3.05e-05"


def test_what_can_hide_is_told_and_is_about_the_interval_and_a_half() -> None:
    """(1.96 + 0.84) standard errors against twice 1.96."""
    a = {f"t{n}": "++--" if n % 2 else "+---" for n in range(40)}
    b = {f"t{n}": "++--" if n % 3 else "++++" for n in range(40)}
    first = compare(*sides(a, b)).differences[0]
    assert first.visible is not None
    assert first.visible / (width(first.estimate) / 2) == pytest.approx(2.8 / 1.96, rel=0.15)


def test_tasks_are_won_lost_unchanged_flipped_or_left_out() -> None:
    """By share of passes, so that unequal trials compare; the names are given."""
    a = {"up": "+-", "down": "++", "same": "+-", "flip": "--", "gone": "+-", "lost": "??"}
    b = {"up": "++-", "down": "+-", "same": "+-+-", "flip": "++", "new": "+", "lost": "++"}
    found = compare(*sides(a, b))
    assert found.won == ["up", "flip"]
    assert found.lost == ["down"]
    assert found.unchanged == ["same"]
    assert found.flipped == ["flip"]
    assert found.only_a == ["gone"]
    assert found.only_b == ["new", "lost"]
    assert found.a.planned == 8
    assert any("p is approximate" in warning for warning in found.warnings)
    assert any("4 tasks are few" in warning for warning in found.warnings)


def test_k_is_the_largest_that_nine_in_ten_tasks_have_unless_given() -> None:
    """On both sides; a k that no task has is refused."""
    a = {f"t{n}": "+-+-" for n in range(20)}
    b = {f"t{n}": "+++" if n else "+" for n in range(20)}
    assert [d.k for d in compare(*sides(a, b)).differences] == [1, 3]
    assert compare(*sides(a, b)).differences[1].estimate.tasks == 19
    assert [d.k for d in compare(*sides(a, b), k=2).differences] == [1, 2]
    assert [d.k for d in compare(*sides(a, b), k=1).differences] == [1]
    with pytest.raises(UsageError, match=r"k must be 1 to 3, .* not 4"):
        compare(*sides(a, b), k=4)


def test_too_much_lost_leaves_no_verdict() -> None:
    """The numbers are there, but nothing is claimed."""
    found = compare(*sides(EASY, {f"t{n}": "++??" for n in range(12)}))
    assert found.too_much_lost
    assert found.verdict().startswith("no verdict")


def test_sides_without_a_shared_task_are_refused() -> None:
    """There is nothing to pair."""
    with pytest.raises(UsageError, match="'a' and 'b' share no task"):
        compare(*sides({"x": "+"}, {"y": "+"}))


def test_one_task_has_a_difference_but_no_interval() -> None:
    """And nothing is claimed."""
    found = compare(*sides({"x": "+-"}, {"x": "++"}))
    assert found.differences[0].estimate.low is None
    assert "no interval" in found.verdict()


def test_json_holds_numbers_or_null_and_every_task() -> None:
    """What a script needs."""
    found = compare(*sides({"x": "+-", "y": "++"}, {"x": "++", "y": "++"})).to_json()
    assert found["differences"]["1"]["difference"] == 0.25
    assert found["per_task"][0] == {
        "task": "x",
        "a": {"scored": 2, "passed": 1},
        "b": {"scored": 2, "passed": 2},
    }


# --- runs ---------------------------------------------------------------------------------------


def test_runs_that_measured_different_things_are_refused_by_name(tmp_path: Path) -> None:
    """Unless told otherwise, and then it is said; the agent may differ."""
    with new_store(tmp_path) as store:
        stored_run(store, "old", EASY, agent="old prompt")
        stored_run(store, "new", HARD, agent="new prompt")
        changed = {**PARTS, "policy": "p2", "world": "w2", "extra": "x"}
        run = stored_run(store, "other", HARD, parts=changed)
        assert unlike(store.find_run("old"), run) == ["world", "policy", "extra"]
    path = tmp_path / "store.sqlite"
    old, new, other = (load_side(name, path) for name in ("old", "new", "other"))
    assert compare(old, new).verdict().startswith("pass^1: B is worse")
    with pytest.raises(UsageError, match="differ in 'world', 'policy', 'extra'; --anyway"):
        compare(old, other)
    assert "differ in 'world'" in compare(old, other, anyway=True).warnings[0]
    assert "no fingerprint" in compare(old, Side(source("file", HARD))).warnings[0]


def test_costs_are_means_over_the_same_tasks_with_an_interval(tmp_path: Path) -> None:
    """Of what both sides know; nobody counted tokens here."""
    with new_store(tmp_path) as store:
        stored_run(store, "old", EASY, seconds=1.0)
        stored_run(store, "new", EASY | {"more": "+"}, seconds=1.5)
    path = tmp_path / "store.sqlite"
    found = {c.what: c for c in compare(load_side("old", path), load_side("new", path)).costs}
    assert list(found) == ["turns", "tool calls", "tool errors", "seconds"]
    seconds = found["seconds"]
    assert (seconds.a, seconds.b, seconds.low, seconds.high) == (1.0, 1.5, 0.5, 0.5)
    assert found["turns"].a == 2.5
    assert found["turns"].tasks == 12
