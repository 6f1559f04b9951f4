"""The slippery agent: seeded, realistic mistakes, each of them noted where a person can see it."""

from collections import Counter
from zlib import crc32

import pytest

from passhat.agents.slippery import SLIPS
from passhat.domains.domain import Domain

from .conftest import Play


@pytest.mark.parametrize("base", ["reference", "rule-based"])
def test_without_slips_it_is_its_base(base: str, play: Play, retail: Domain) -> None:
    """With p = 0 not a single event changes."""
    for task in list(retail.tasks.values())[::9]:
        slippery = play(f"slippery:0:{base}", task, seed=3)
        assert slippery.transcript.dump() == play(base, task, seed=3).transcript.dump()


def test_the_same_seed_slips_in_the_same_way(play: Play, retail: Domain) -> None:
    """Any trial can be run again alone."""
    for task in list(retail.tasks.values())[::9]:
        first, second = (play("slippery:0.4", task, seed=8).transcript.dump() for _ in range(2))
        assert first == second


def test_every_kind_of_slip_occurs_and_is_noted(play: Play, retail: Domain) -> None:
    """Over all tasks; a transcript without a note is one without a slip."""
    seen: Counter[str] = Counter()
    for task in retail.tasks.values():
        for number in range(2):
            played = play("slippery:0.2", task, seed=crc32(f"{task.id} {number}".encode()))
            seen.update(played.slips)
            assert played.slips or played.grade.passed, task.id
    assert set(seen) == set(SLIPS)


def test_slips_cost_reliability(play: Play, retail: Domain) -> None:
    """At one slip in twenty moves, most single trials pass and far fewer whole rows of them do."""
    passes = [
        [
            play("slippery:0.05", task, crc32(f"{task.id} {n}".encode())).grade.passed
            for n in range(8)
        ]
        for task in list(retail.tasks.values())[::8]
    ]
    pass_1 = sum(map(sum, passes)) / sum(map(len, passes))
    pass_8 = sum(map(all, passes)) / len(passes)
    assert 0.5 < pass_1 < 0.95
    assert pass_8 < pass_1 - 0.2


def test_always_slipping_passes_nothing(play: Play, retail: Domain) -> None:
    """With p = 1 every move that can go wrong does."""
    for task in list(retail.tasks.values())[::5]:
        assert not play("slippery:1", task, seed=1).grade.passed
