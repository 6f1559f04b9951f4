"""Power: laws that any answer must keep, and formulas where there are some."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_runs import source

from passhat.errors import UsageError
from passhat.harness.power import (
    MANY_TASKS,
    Effects,
    Plan,
    Spread,
    answer,
    power_of,
    spread_of,
    t_quantile,
)

USUAL = Spread.of(0.8, 0.15)


# --- the test that stands for the comparison ----------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "trials", "k"), [(100, 8, 1), (30, 4, 1), (60, 4, 4), (MANY_TASKS + 50, 2, 1)]
)
def test_without_a_difference_one_in_twenty_is_called_one(tasks: int, trials: int, k: int) -> None:
    """The level is 5%, give or take what a thousand simulations leave open."""
    assert 0.025 <= power_of(Plan(tasks, trials, k), USUAL, 0.0) <= 0.075


@settings(max_examples=8, deadline=None)
@given(st.integers(5, 60), st.integers(1, 6), st.floats(0.2, 1.0), st.integers(0, 99))
def test_more_trials_more_tasks_and_larger_differences_never_hurt(
    tasks: int, trials: int, shift: float, seed: int
) -> None:
    """But for the luck of the simulation."""
    plan = Plan(tasks, trials, seed=seed)
    power = power_of(plan, USUAL, shift)
    assert power_of(plan.of(trials=2 * trials), USUAL, shift) >= power - 0.06
    assert power_of(plan.of(tasks=2 * tasks), USUAL, shift) >= power - 0.06
    assert power_of(plan, USUAL, 2 * shift) >= power - 0.06


def test_many_tasks_are_judged_as_a_few_are() -> None:
    """On both sides of the size from which on the mean is taken as normal."""
    few, many = Plan(MANY_TASKS, 4), Plan(MANY_TASKS + 1, 4)
    for shift in (-0.3, -0.2, 0.2):
        assert power_of(few, USUAL, shift) == pytest.approx(power_of(many, USUAL, shift), abs=0.05)


def test_tasks_alike_have_the_power_of_the_textbook() -> None:
    """Two proportions: 2.8 standard errors of their difference are seen with 80% power."""
    found = answer(Plan(50, 8), Spread.of(0.5, 0.0))
    expected = 2.8 * sqrt(2 * 0.25 / (50 * 8))
    assert found.fall == pytest.approx(expected, rel=0.08)
    assert found.rise == pytest.approx(expected, rel=0.08)


def test_quantiles_of_t_are_those_of_the_tables() -> None:
    """97.5%, by degrees of freedom."""
    table = {1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 1000: 1.962}
    for degrees, quantile in table.items():
        assert t_quantile(0.975, degrees) == pytest.approx(quantile, rel=1e-3)
    for degrees, quantile in {3: 3.182, 4: 2.776}.items():
        assert t_quantile(0.975, degrees) == pytest.approx(quantile, rel=1e-2)


# --- spread -------------------------------------------------------------------------------------


def test_the_spread_of_a_run_is_found_again() -> None:
    """Mean and variance between tasks, without what the luck of the trials adds."""
    generator = np.random.default_rng(5)
    true = Spread.of(0.7, 0.2)
    rows = {
        f"t{number}": "".join("+" if u < chance else "-" for u in generator.random(4))
        for number, chance in enumerate(true.chances((3000,), generator))
    }
    found = spread_of(source("made", rows))
    assert found.mean == pytest.approx(0.7, abs=0.02)
    assert sqrt(found.between) == pytest.approx(0.2, abs=0.02)


def test_drawn_chances_have_the_mean_and_the_spread_asked_for() -> None:
    """They are beta distributed, or all the same."""
    chances = Spread.of(0.7, 0.3).chances((100_000,), np.random.default_rng(1))
    assert chances.mean() == pytest.approx(0.7, abs=0.01)
    assert chances.std() == pytest.approx(0.3, abs=0.01)
    same = Spread.of(0.7, 0.0).chances((3,), np.random.default_rng(1))
    assert same.tolist() == [0.7, 0.7, 0.7]


def test_variance_is_split_between_tasks_and_trials() -> None:
    """Both parts add up to that of one trial's result, and more trials shrink only theirs."""
    assert USUAL.between + USUAL.within == pytest.approx(0.8 * 0.2)
    one, many = answer(Plan(5, 1), USUAL), answer(Plan(5, 100), USUAL)
    assert one.tasks_share == pytest.approx(USUAL.between / 0.16)
    assert many.tasks_share > 0.9


@pytest.mark.parametrize("rows", [{"a": "+-"}, {"a": "+", "b": "-"}, {"a": "++", "b": "++"}])
def test_a_run_that_says_nothing_about_spread_is_refused(rows: dict[str, str]) -> None:
    """One task, single trials, or everything alike."""
    with pytest.raises(UsageError, match=r"says nothing about spread|no spread to go by"):
        spread_of(source("small", rows))


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 0.1), (1.0, 0.1), (0.5, 0.5), (0.5, -0.1)])
def test_a_spread_that_no_chances_have_is_refused(mean: float, deviation: float) -> None:
    """Chances lie between 0 and 1."""
    with pytest.raises(UsageError):
        Spread.of(mean, deviation)


# --- the questions ------------------------------------------------------------------------------


def test_the_smallest_difference_is_the_one_that_has_the_power_wanted() -> None:
    """Put in as the wanted one, this plan has about 80% power for it, and needs nothing more."""
    plan = Plan(60, 8)
    fall = answer(plan, USUAL).fall
    assert fall is not None
    wanted = answer(plan, USUAL, -fall).wanted
    assert wanted is not None
    assert wanted.power == pytest.approx(0.8, abs=0.06)
    assert wanted.trials == pytest.approx(8, abs=2)
    assert wanted.tasks == pytest.approx(60, abs=12)


def test_answers_repeat_for_a_seed() -> None:
    """To the last digit."""
    plan = Plan(5, 2, seed=7)
    assert answer(plan, USUAL, -0.3) == answer(plan, USUAL, -0.3)


def test_a_plan_that_sees_nothing_says_so() -> None:
    """Two tasks of one trial each, and a difference beyond every plan."""
    blind = answer(Plan(2, 1), USUAL)
    assert (blind.fall, blind.rise) == (None, None)
    tiny = answer(Plan(3, 1), USUAL, -0.0005).wanted
    assert tiny is not None
    assert tiny.tasks is None


def test_differences_that_cannot_be_are_refused() -> None:
    """pass^1 of 0.8 cannot rise by 0.3, and no difference is none."""
    for difference in (0.3, -0.9, 0.0):
        with pytest.raises(UsageError, match="a difference lies between"):
            answer(Plan(20, 4), USUAL, difference)


def test_a_difference_in_pass_hat_k_is_one_of_pass_hat_k() -> None:
    """Of the mean of p^k, which a shift of the right size changes by what was asked."""
    effects = Effects(Spread.of(0.8, 0.0), 4, 0)
    assert effects.value == pytest.approx(0.8**4)
    assert effects.difference(effects.shift(-0.1)) == pytest.approx(-0.1, abs=0.002)


@pytest.mark.parametrize(
    "plan", [Plan(1, 8), Plan(10, 3, 4), Plan(10, 0), Plan(10, 4, power=1.0), Plan(10, 4, level=0)]
)
def test_plans_that_make_no_sense_are_refused(plan: Plan) -> None:
    """In words."""
    with pytest.raises(UsageError, match="must"):
        answer(plan, USUAL)
