"""Trials: their plan and their seeds."""

from hypothesis import given
from hypothesis import strategies as st

from passhat.harness.trials import derive_seed, plan, trial_of

NAMES = st.text("abc-1", min_size=1, max_size=4)


def test_all_tasks_come_once_before_any_comes_again() -> None:
    """A run that ends early has whole passes over the tasks."""
    order = [(trial.number, trial.task) for trial in plan(7, "kiosk", ["b", "a"], 3)]
    assert order == [(n, task) for n in (1, 2, 3) for task in ("b", "a")]


def test_a_trial_alone_has_the_seed_it_has_in_a_run() -> None:
    """Any trial can be played again by itself, whatever else was in the run."""
    in_run = next(t for t in plan(7, "kiosk", ["a", "b"], 5) if (t.task, t.number) == ("b", 4))
    assert in_run == trial_of(7, "kiosk", "b", 4)


@given(st.lists(st.tuples(st.integers(0, 9), NAMES, NAMES, st.integers(1, 9)), unique=True))
def test_no_two_trials_share_a_seed(keys: list[tuple[int, str, str, int]]) -> None:
    """Run seed, domain, task and number all matter; nothing runs together at the seams."""
    assert len({trial_of(*key).seed for key in keys}) == len(keys)


@given(st.lists(st.text()))
def test_a_seed_fits_every_database(parts: list[str]) -> None:
    """Signed 64-bit integers hold it."""
    assert 0 <= derive_seed(*parts) < 2**63


def test_user_and_agent_draw_from_different_seeds() -> None:
    """What the customer says does not tell the agent how to slip."""
    trial = trial_of(1, "kiosk", "a", 1)
    assert len({trial.seed, trial.user_seed, trial.agent_seed}) == 3


def test_customers_can_come_again_while_agents_have_new_luck() -> None:
    """With two user seeds, trial 3 meets the customer of trial 1."""
    first, second, third = (trial_of(1, "kiosk", "a", number, user_seeds=2) for number in (1, 2, 3))
    assert third.user_seed == first.user_seed != second.user_seed
    assert len({trial.agent_seed for trial in (first, second, third)}) == 3
    assert (first, second) == (trial_of(1, "kiosk", "a", 1), trial_of(1, "kiosk", "a", 2))


def test_seeds_stay_what_they_are() -> None:
    """A recorded seed means the same trial in every version of passhat."""
    assert trial_of(1, "retail", "cancel-lamp", 3).seed == 7791825437146984311
