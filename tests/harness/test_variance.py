"""The split of variance between tasks, user seeds and luck."""

from itertools import product
from math import prod
from statistics import fmean, variance

import pytest

from passhat.harness import variance as module
from passhat.harness.variance import split_variance

CHANCES = {("a", 1): 0.9, ("a", 2): 0.3, ("b", 1): 0.6, ("b", 2): 0.5}


def expected_parts() -> tuple[float, float, float]:
    """Mean of the unclipped estimates over every outcome of two trials per cell, by its chance."""
    total = [0.0, 0.0, 0.0]
    for outcome in product(product((0, 1), repeat=2), repeat=len(CHANCES)):
        chance = prod(
            p if passed else 1 - p
            for p, trials in zip(CHANCES.values(), outcome, strict=True)
            for passed in trials
        )
        a, b = module._Task.of(outcome[:2]), module._Task.of(outcome[2:])
        total[0] += chance * (variance([a.mean, b.mean]) - (a.between + b.between) / 4)
        total[1] += chance * fmean(task.between - task.noise for task in (a, b))
        total[2] += chance * fmean(task.luck for task in (a, b))
    return total[0], total[1], total[2]


def test_each_part_is_estimated_without_bias() -> None:
    """On average over all outcomes the estimates are the variances of the chances themselves.

    The chances within a task are a sample of two customers, so the variance between tasks is that
    of their means less half the variance within, as for any two-layer sample.
    """
    tasks, users, luck = expected_parts()
    within_a, within_b = variance([0.9, 0.3]), variance([0.6, 0.5])
    assert users == pytest.approx((within_a + within_b) / 2)
    assert luck == pytest.approx(fmean(p * (1 - p) for p in CHANCES.values()))
    assert tasks == pytest.approx(variance([0.6, 0.55]) - (within_a + within_b) / 4)


def test_results_that_differ_by_task_only_are_the_tasks() -> None:
    """An agent that always passes one task and never the other has no luck and no moods."""
    split = split_variance(
        {("a", 1): [True] * 3, ("a", 2): [True] * 2, ("b", 1): [False] * 2, ("b", 2): [False] * 4}
    )
    assert split is not None
    assert (split.share(split.tasks), split.users, split.luck, split.cells) == (1.0, 0.0, 0.0, 4)


def test_what_met_each_customer_once_cannot_be_split() -> None:
    """One trial a customer cannot tell words from luck, and one task cannot tell tasks at all."""
    assert split_variance({("a", 1): [True], ("b", 1): [False]}) is None
    assert split_variance({("a", 1): [True, False], ("a", 2): [True, True]}) is None


def test_no_part_is_below_zero() -> None:
    """Luck can make the estimates of the others negative, which no variance is."""
    split = split_variance({(task, user): [True, False] for task in "ab" for user in (1, 2)})
    assert split is not None
    assert (split.tasks, split.users, split.share(split.luck)) == (0.0, 0.0, 1.0)
