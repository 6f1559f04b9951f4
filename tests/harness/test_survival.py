"""Survival over turns, and the chance of a turn that fits it."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.harness.survival import Life, turn_survival

LIVES = st.lists(
    st.builds(Life, st.sampled_from("abcd"), st.integers(0, 12), st.booleans()), max_size=40
)


def test_the_fit_recovers_the_chance_that_made_the_data() -> None:
    """10,000 conversations of at most 12 turns, each right with chance 0.95."""
    random = Random(1)
    lives = []
    for number in range(10_000):
        lost_at = next((t for t in range(1, 13) if random.random() > 0.95), None)
        lives.append(Life(f"task-{number % 100}", lost_at or 12, lost_at is not None))
    found = turn_survival(lives)
    assert found is not None
    assert found.turn == pytest.approx(0.95, abs=0.002)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.95 < found.high
    gaps = [abs(step.survival - found.fitted(step.position)) for step in found.steps]
    assert max(gaps) < 0.02


@given(LIVES)
def test_the_curve_never_rises_and_the_fit_is_a_chance(lives: list[Life]) -> None:
    """Whatever the trials are; losses are those that went in."""
    found = turn_survival(lives)
    if found is None:
        assert all(life.turns == 0 for life in lives)
        return
    shares = [1.0, *(step.survival for step in found.steps)]
    assert shares == sorted(shares, reverse=True)
    assert sum(step.departed for step in found.steps) == found.lost
    assert 0 <= found.turn <= 1
    assert found.firm


def test_a_single_task_gives_no_interval() -> None:
    """An interval over tasks needs two."""
    found = turn_survival([Life("a", 3, True), Life("a", 4, False)])
    assert found is not None
    assert (found.low, found.high) == (None, None)


def test_what_never_had_a_turn_says_nothing() -> None:
    """A trial that was lost before its first turn was at no risk."""
    assert turn_survival([Life("a", 0, False)]) is None


def test_what_a_turn_needs_brings_nine_in_ten_through() -> None:
    """At the median length of the conversations that came through."""
    found = turn_survival([Life("a", 5, False), Life("b", 2, True)])
    assert found is not None
    assert found.length == 5
    assert found.needed is not None
    assert found.needed**5 == pytest.approx(0.9)


def test_nothing_lost_is_a_chance_of_one() -> None:
    """And no turn is the worst."""
    found = turn_survival([Life("a", 5, False), Life("b", 6, False)])
    assert found is not None
    assert (found.turn, found.worst) == (1.0, None)


def test_everything_lost_at_once_is_a_chance_of_nought() -> None:
    """Nobody came through, so there is no length to ask for."""
    found = turn_survival([Life("a", 1, True), Life("b", 1, True)])
    assert found is not None
    assert (found.turn, found.length, found.needed) == (0.0, None, None)


def test_a_turn_that_few_reach_is_not_firm() -> None:
    """One of one lost at turn 9 would draw the curve to the floor."""
    lives = [Life("a", 2, False)] * 20 + [Life("b", 9, True)]
    found = turn_survival(lives)
    assert found is not None
    assert len(found.steps) == 9
    assert len(found.firm) == 2
