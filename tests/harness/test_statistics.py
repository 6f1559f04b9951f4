"""pass@k and pass^k: the formulas against brute force, the laws, the intervals."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.harness.statistics import (
    BOOTSTRAP,
    EXACT,
    MeanCurve,
    alike_interval,
    mean_curve,
    pass_at_k,
    pass_hat_k,
    resample,
)

counts = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
tasks = st.lists(counts, min_size=1, max_size=8)


def curve(pairs: list[tuple[int, int]], k: int, seed: int = 0, at: bool = False) -> MeanCurve:
    """The mean curve of tasks given as (n, c), one row each."""
    n, c = zip(*pairs, strict=True)
    weights = np.ones(len(pairs), dtype=np.int64)
    values = (pass_at_k if at else pass_hat_k)(n, c, k)
    return mean_curve(values, weights, resample(weights, seed), 0.95)


@pytest.mark.parametrize("n", range(1, 8))
def test_both_equal_counting_every_subset_of_trials(n: int) -> None:
    """For small n the formulas agree with looking at all ways to draw k trials."""
    for c in range(n + 1):
        trials = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            drawn = list(combinations(trials, k))
            assert pass_hat_k([n], [c], k)[0, -1] == pytest.approx(np.mean([all(d) for d in drawn]))
            assert pass_at_k([n], [c], k)[0, -1] == pytest.approx(np.mean([any(d) for d in drawn]))


@given(counts)
def test_both_equal_the_binomial_coefficients(pair: tuple[int, int]) -> None:
    """The running products are C(c, k) / C(n, k) and its complement, to rounding."""
    n, c = pair
    hat, at = pass_hat_k([n], [c], n)[0], pass_at_k([n], [c], n)[0]
    for k in range(1, n + 1):
        assert hat[k - 1] == pytest.approx(comb(c, k) / comb(n, k), rel=1e-12, abs=1e-15)
        assert at[k - 1] == pytest.approx(1 - comb(n - c, k) / comb(n, k), rel=1e-9, abs=1e-12)


@given(tasks)
def test_one_trial_is_the_same_question_for_both(pairs: list[tuple[int, int]]) -> None:
    """pass@1 equals pass^1."""
    assert curve(pairs, 1).value == pytest.approx(curve(pairs, 1, at=True).value)


@given(counts)
def test_more_trials_make_all_harder_and_one_easier(pair: tuple[int, int]) -> None:
    """Pass^k never rises with k, pass@k never falls."""
    n, c = pair
    assert (np.diff(pass_hat_k([n], [c], n)[0]) <= 0).all()
    assert (np.diff(pass_at_k([n], [c], n)[0]) >= 0).all()


@given(counts)
def test_passes_and_failures_are_mirror_images(pair: tuple[int, int]) -> None:
    """Pass@k of c passes is 1 - pass^k of n - c passes."""
    n, c = pair
    assert pass_at_k([n], [c], n) == pytest.approx(1 - pass_hat_k([n], [n - c], n))


@given(tasks, st.randoms(use_true_random=False))
def test_the_order_of_tasks_means_nothing(pairs: list[tuple[int, int]], shuffler) -> None:
    """The mean and the number of tasks behind it do not depend on the order."""
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)
    one, other = curve(pairs, 40), curve(shuffled, 40)
    assert one.value == pytest.approx(other.value, nan_ok=True)
    assert one.tasks.tolist() == other.tasks.tolist()


def test_too_few_trials_are_undefined_and_not_zero() -> None:
    """A task with n < k is left out, and the tasks behind each k are told."""
    worked = curve([(4, 3), (2, 2)], 4)
    assert worked.value.tolist() == [0.875, 0.75, 0.25, 0.0]
    assert worked.tasks.tolist() == [2, 2, 1, 1]
    assert np.isnan(worked.low[2:]).all()
    assert worked.method(3) is None


def test_no_task_at_all_behind_a_k_is_undefined() -> None:
    """Beyond every task's trials the mean is NaN, without a warning."""
    assert np.isnan(curve([(2, 1), (2, 2)], 3).value[2])


def test_ten_thousand_trials_neither_overflow_nor_vanish() -> None:
    """The last k of n = c = 10,000 is still exactly 1, and near misses stay exact."""
    assert pass_hat_k([10_000], [10_000], 10_000)[0, -1] == 1
    assert pass_hat_k([10_000], [9_999], 5_000)[0, -1] == pytest.approx(0.5)
    assert pass_at_k([10_000], [1], 5_000)[0, -1] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("n", "c", "k"), [([3], [4], 1), ([3], [-1], 1), ([3], [1, 2], 1), ([3], [1], 0)]
)
def test_impossible_counts_are_refused(n: list[int], c: list[int], k: int) -> None:
    """More passes than trials, or lists that do not match, are a bug of the caller."""
    with pytest.raises(ValueError, match=r"0 <= c <= n|one list each|at least 1"):
        pass_hat_k(n, c, k)


def test_equal_seeds_give_equal_intervals() -> None:
    """The bootstrap repeats exactly, and another seed moves it a little."""
    pairs = [(8, c) for c in (0, 1, 3, 5, 6, 7, 8, 8, 2, 4)]
    assert curve(pairs, 8, seed=3).low.tolist() == curve(pairs, 8, seed=3).low.tolist()
    assert curve(pairs, 8, seed=3).low.tolist() != curve(pairs, 8, seed=4).low.tolist()


def test_grouping_tasks_changes_no_mean() -> None:
    """Rows with weights stand for that many equal tasks."""
    values = pass_hat_k([4, 4], [1, 3], 4)
    weights = np.array([2, 3])
    grouped = mean_curve(values, weights, resample(weights, 0), 0.95)
    single = curve([(4, 1)] * 2 + [(4, 3)] * 3, 4)
    assert grouped.value == pytest.approx(single.value)
    assert grouped.low == pytest.approx(single.low, abs=0.06)
    assert grouped.method(1) == BOOTSTRAP


def test_the_bootstrap_agrees_with_the_standard_error() -> None:
    """For many tasks the interval is the mean give or take 1.96 standard errors."""
    pairs = [(4, c % 5) for c in range(400)]
    one = curve(pairs, 1)
    error = np.std([c / n for n, c in pairs]) / 20
    assert one.low[0] == pytest.approx(0.5 - 1.96 * error, abs=0.005)
    assert one.high[0] == pytest.approx(0.5 + 1.96 * error, abs=0.005)


def test_tasks_that_are_all_alike_do_not_claim_certainty() -> None:
    """Ten tasks that always pass leave room down to the Clopper-Pearson bound, 0.6915."""
    perfect = curve([(3, 3)] * 10, 3)
    assert perfect.low == pytest.approx([0.6915] * 3, abs=1e-4)
    assert perfect.high.tolist() == [1.0] * 3
    assert perfect.method(1) == EXACT
    hopeless = curve([(3, 0)] * 10, 3)
    assert hopeless.low.tolist() == [0.0] * 3
    assert hopeless.high == pytest.approx([0.3085] * 3, abs=1e-4)
    even = curve([(4, 2)] * 10, 1)
    assert even.low[0] < 0.5 < even.high[0]


def test_one_task_has_no_interval() -> None:
    """Nothing can be said about other tasks from one."""
    alone = curve([(8, 5)], 8)
    assert alone.value[0] == pytest.approx(5 / 8)
    assert np.isnan(alone.low).all()


@given(tasks)
def test_intervals_lie_between_0_and_1_around_the_mean(pairs: list[tuple[int, int]]) -> None:
    """Where there is an interval, it holds the mean."""
    one = curve(pairs, 40)
    there = ~np.isnan(one.low)
    assert (one.low[there] <= one.value[there] + 1e-9).all()
    assert (one.value[there] <= one.high[there] + 1e-9).all()
    assert (one.low[there] >= 0).all()
    assert (one.high[there] <= 1 + 1e-9).all()


def test_the_exact_bound_is_where_the_tail_is_half_of_what_is_left() -> None:
    """With the lower bound as the true chance, all T tasks pass with chance 0.025."""
    low, _ = alike_interval(np.array([1.0]), np.array([7]), 0.95)
    assert low[0] ** 7 == pytest.approx(0.025)
