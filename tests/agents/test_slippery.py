"""The slippery agent: seeded, realistic mistakes, each of them noted where a person can see it."""

from collections import Counter
from collections.abc import Callable
from zlib import crc32

import pytest

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.agents.scripted import ScriptedAgent, StepKind
from passhat.agents.slippery import SLIPS
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.transcript import Message

from .conftest import Play


@pytest.fixture(params=["retail", "airline"])
def desk(request: pytest.FixtureRequest) -> Domain:
    """Each shipped domain."""
    return load_domain(request.param)


@pytest.mark.parametrize("base", ["reference", "rule-based"])
def test_without_slips_it_is_its_base(base: str, play: Play, desk: Domain) -> None:
    """With p = 0 not a single event changes."""
    for task in list(desk.tasks.values())[::9]:
        slippery = play(f"slippery:0:{base}", task, seed=3)
        assert slippery.transcript.dump() == play(base, task, seed=3).transcript.dump()


def test_the_same_seed_slips_in_the_same_way(play: Play, desk: Domain) -> None:
    """Any trial can be run again alone."""
    for task in list(desk.tasks.values())[::9]:
        first, second = (play("slippery:0.4", task, seed=8).transcript.dump() for _ in range(2))
        assert first == second


@pytest.mark.slow
def test_every_kind_of_slip_occurs_and_is_noted(play: Play) -> None:
    """Over all tasks; a transcript without a note is one without a slip."""
    seen: Counter[str] = Counter()
    desks = (load_domain("retail"), load_domain("airline"))
    for task in (task for desk in desks for task in desk.tasks.values()):
        for number in range(2):
            played = play("slippery:0.2", task, seed=crc32(f"{task.id} {number}".encode()))
            seen.update(played.slips)
            assert played.slips or played.grade.passed, task.id
    assert set(seen) == set(SLIPS)


def test_slips_cost_reliability(play: Play, desk: Domain) -> None:
    """At one slip in twenty moves, most single trials pass and far fewer whole rows of them do."""
    passes = [
        [
            play("slippery:0.05", task, crc32(f"{task.id} {n}".encode())).grade.passed
            for n in range(8)
        ]
        for task in list(desk.tasks.values())[::8]
    ]
    pass_1 = sum(map(sum, passes)) / sum(map(len, passes))
    pass_8 = sum(map(all, passes)) / len(passes)
    assert 0.5 < pass_1 < 0.95
    assert pass_8 < pass_1 - 0.2


@pytest.mark.parametrize("base", ["reference", "rule-based"])
def test_a_forgotten_request_leaves_the_conversation_going(
    base: str, brief: Callable[..., Brief], desk: Domain
) -> None:
    """Whatever step it is forgotten at, the agent says something and can go on."""
    for task in list(desk.tasks.values())[::4]:
        agent = agent_kind(base).make(brief(task))
        assert isinstance(agent, ScriptedAgent)
        with Episode.start(desk, task) as episode:
            episode.user_turn()
            step = agent.resume(episode.observation)
            while step.kind not in (StepKind.PROPOSE, StepKind.REFUSE) and episode.needs:
                episode.act(step.action)
                if episode.needs == "user":
                    episode.user_turn()
                if episode.needs is not None:
                    step = agent.resume(episode.observation)
            if episode.needs is not None:
                assert isinstance(agent.forget().action, Message)


def test_always_slipping_passes_nothing(play: Play, desk: Domain) -> None:
    """With p = 1 every move that can go wrong does."""
    for task in list(desk.tasks.values())[::5]:
        assert not play("slippery:1", task, seed=1).grade.passed


def test_it_takes_another_flight_of_the_same_route_and_pays_otherwise(play: Play) -> None:
    """What stands in a list is exchanged for what stood next to it when it was looked up."""
    task = load_domain("airline").task("book-early-flight-to-phoenix")
    expected = {"WRN036", "WRN070", "credit_card_6666465"}
    booked: set[str] = set()
    for seed in range(600):
        for pair in play("slippery:0.3", task, seed=seed).transcript.calls():
            if pair.call.name == "book_reservation":
                booked |= {f["flight_number"] for f in pair.call.arguments["flights"]}
                booked |= {p["payment_id"] for p in pair.call.arguments["payment_methods"]}
        if expected <= booked:
            break
    assert expected <= booked
