"""The compounding model against the figures everybody quotes, simulation, and its own inverse."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.errors import UsageError
from passhat.harness.compounding import (
    Retries,
    checked_step,
    solve,
    step_needed,
    steps_possible,
    task_success,
)

chances = st.floats(0, 1)
checkings = st.builds(Retries, st.integers(0, 6), chances, chances)


def test_a_chain_of_good_steps_is_a_mediocre_task() -> None:
    """0.99 over 20 steps is 0.818."""
    assert task_success(0.99, 20) == pytest.approx(0.8179, abs=5e-5)


def test_the_step_needed_for_nine_in_ten_over_twenty_steps() -> None:
    """0.9948 is enough and 0.9947 is not."""
    assert 0.9947 < step_needed(0.9, 20) < 0.9948


@given(st.floats(0.01, 1), st.integers(1, 200), st.integers(0, 5), chances)
def test_the_step_needed_reaches_the_target(
    target: float, steps: int, retries: int, sensitivity: float
) -> None:
    """It is the inverse of task success, with and without a verifier."""
    checking = Retries(retries, sensitivity)
    reached = task_success(step_needed(target, steps, checking), steps, checking)
    assert reached == pytest.approx(target, rel=1e-6)


@given(chances, checkings)
def test_what_becomes_of_a_step_adds_up(p: float, checking: Retries) -> None:
    """Right, wrong and given up are all there is; attempts stay within what is allowed."""
    step = checked_step(p, checking)
    assert step.right + step.wrong + step.given_up == pytest.approx(1)
    assert 1 - 1e-9 <= step.attempts <= checking.retries + 1 + 1e-9


@given(chances, chances, checkings)
def test_better_attempts_make_better_steps(p: float, q: float, checking: Retries) -> None:
    """The chance of a right step grows with that of a right attempt, whatever the verifier."""
    low, high = sorted((p, q))
    assert checked_step(low, checking).right <= checked_step(high, checking).right + 1e-12


@given(chances, st.integers(0, 6))
def test_a_verifier_that_accepts_everything_changes_nothing(p: float, retries: int) -> None:
    """Without rejections there are no retries."""
    step = checked_step(p, Retries(retries, sensitivity=0.0))
    assert step.right == pytest.approx(p)


def test_more_retries_approach_the_share_of_accepted_attempts_that_are_right() -> None:
    """The verifier is the ceiling: a / (a + b)."""
    a, b = 0.8 * 0.9, 0.2 * 0.3
    many = checked_step(0.8, Retries(500, sensitivity=0.7, specificity=0.9))
    assert many.right == pytest.approx(a / (a + b))


def test_a_verifier_that_rejects_everything_never_lets_a_step_pass() -> None:
    """Every attempt is used up and the step is given up."""
    step = checked_step(0.9, Retries(2, sensitivity=1.0, specificity=0.0))
    assert (step.right, step.given_up, step.attempts) == (0.0, 1.0, 3.0)


def test_the_formula_agrees_with_playing_it_out() -> None:
    """40,000 simulated steps end as the formula says, to a hundredth."""
    checking, p, draw = Retries(2, 0.7, 0.85), 0.6, random.Random(7).random

    def played() -> str:
        for _ in range(checking.retries + 1):
            right = draw() < p
            if draw() < (checking.specificity if right else 1 - checking.sensitivity):
                return "right" if right else "wrong"
        return "given up"

    ends = [played() for _ in range(40_000)]
    step = checked_step(p, checking)
    assert ends.count("right") / 40_000 == pytest.approx(step.right, abs=0.01)
    assert ends.count("wrong") / 40_000 == pytest.approx(step.wrong, abs=0.01)


def test_the_longest_task_includes_a_target_met_exactly() -> None:
    """0.9 twice is 0.81; a step that cannot fail has no limit, one that must fail no task."""
    assert steps_possible(0.9, 0.81) == 2
    assert steps_possible(0.99, 0.9) == 10
    assert steps_possible(1.0, 0.9) is None
    assert steps_possible(0.0, 0.9) == 0
    assert steps_possible(0.5, 0.0) is None


def test_a_target_beyond_the_verifier_is_refused_with_what_can_be_reached() -> None:
    """A verifier that throws away good work caps even perfect attempts."""
    with pytest.raises(UsageError, match=r"out of reach.*only 0\.3585; allow more retries"):
        step_needed(0.9, 20, Retries(0, specificity=0.95))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: checked_step(1.5), "step must be a chance between 0 and 1, not 1.5"),
        (lambda: checked_step(float("nan")), "not nan"),
        (lambda: task_success(0.9, 0), "steps must be 1 or more, not 0"),
        (lambda: step_needed(-1, 5), "target must be a chance"),
        (lambda: Retries(-1), "retries must be 0 or more, not -1"),
        (lambda: Retries(1, sensitivity=2), "sensitivity must be a chance"),
        (lambda: solve(0.9, 5, 0.9), "give two of step, steps and target"),
        (lambda: solve(None, None, 0.9), "give two of step, steps and target"),
    ],
)
def test_numbers_that_cannot_be_are_named(ask, message: str) -> None:
    """The message says which number, its value, and what would be right."""
    with pytest.raises(UsageError, match=message):
        ask()


def test_each_of_the_three_is_worked_out_from_the_other_two() -> None:
    """Step, steps and target fit each other whichever is missing."""
    assert solve(0.99, 20, None).target == pytest.approx(0.8179, abs=5e-5)
    assert solve(None, 20, 0.9).step == pytest.approx(0.994746, abs=1e-6)
    assert solve(0.99, None, 0.9).steps == 10
