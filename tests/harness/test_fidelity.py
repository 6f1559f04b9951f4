"""Simulated customers, asked at every turn of recorded ones."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.errors import InfrastructureError, RunStoppedError, UsageError
from passhat.harness.attempt import Attempts, Conditions, unpack_transcript
from passhat.harness.fidelity import (
    Compared,
    Cut,
    FidelityReport,
    Measures,
    Talk,
    Turn,
    compare_talks,
)
from passhat.harness.fidelity_sources import find_talks, talk_of, turns_of
from passhat.harness.trials import trial_of
from passhat.models.account import Channel
from passhat.models.model import Model, ModelUse, Reply, Request, StopReason, text_block
from passhat.simulator.model_user.protocol import Answer
from passhat.simulator.model_user.user import ModelUser
from passhat.simulator.saying import UserAct
from passhat.simulator.user import UserKind, user_kind
from passhat.task import Goal, UserScript
from passhat.transcript import Transcript

from ..reference_data import mostly_slow, reference

RETAIL = ["cancel-power-bank", "boots-one-size-up", "moved-within-new-york"]
AIRLINE = "tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json"


@pytest.fixture(scope="module")
def talks() -> list[Talk]:
    """Three talks of the agenda user with the rule-based agent."""
    domain = load_domain("retail")
    attempts = Attempts(Conditions("retail", "rule-based"), domain, agent_kind("rule-based"))
    found = []
    for task in RETAIL:
        trial = trial_of(1, "retail", task, 1)
        done = asyncio.run(attempts.attempt(trial))
        transcript = unpack_transcript(done.transcript)
        found.append(talk_of(task, transcript, domain, domain.task(task), trial.user_seed))
    return found


def report_of(compared: list[Compared], user: str = "agenda") -> FidelityReport:
    """A report on what was compared."""
    return FidelityReport(("talks",), user, compared, {})


def test_a_user_agrees_with_its_own_recordings(talks: list[Talk]) -> None:
    """Asked again with the same seed, the agenda user says the same at every turn."""
    compared = compare_talks(talks, user_kind("agenda"))
    assert all(cut.answer == cut.said for one in compared for cut in one.cuts)
    report = report_of(compared)
    assert report.same_act.value == report.same_facts.value == 1.0
    assert report.distance("words").difference == 0


def test_another_seed_changes_words_only(talks: list[Talk]) -> None:
    """The same acts and the same facts, in other words."""
    compared = compare_talks([replace(t, seed=t.seed + 1) for t in talks], user_kind("agenda"))
    report = report_of(compared)
    assert any(cut.answer != cut.said for one in compared for cut in one.cuts)
    assert report.same_act.value == report.same_facts.value == 1.0


class Lines(Model):
    """Says one line whatever it is asked, and keeps what it was asked."""

    spec = "scripted:line"

    def __init__(self, line: str | Exception) -> None:
        self.line = line
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        """The line, as an answer of a model user."""
        self.asked.append(request)
        if isinstance(self.line, Exception):
            raise self.line
        answer = Answer(action="say", text=self.line).dump(request.schema)
        return Reply((text_block(answer),), StopReason.END_TURN)


def played_by(model: Model) -> UserKind:
    """Users that a model plays."""
    return UserKind(
        model.spec,
        lambda script, setting: ModelUser(
            script, setting.profile, Channel(model, setting.account, "user", "user-1")
        ),
    )


def test_a_model_user_answers_the_true_past(talks: list[Talk]) -> None:
    """At every turn it has heard what was recorded, and said what was recorded."""
    model = Lines("Is it done?")
    (compared,) = compare_talks(talks[:1], played_by(model))
    assert {cut.answer for cut in compared.cuts} == {"Is it done?"}
    for number, request in enumerate(model.asked):
        own = [m["content"][0]["text"] for m in request.messages if m["role"] == "assistant"]
        said = [turn.said for turn in talks[0].turns[:number]]
        assert [json.loads(text)["text"] for text in own] == said


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("My e-mail is nobody@example.org.", "simulator: invented 'nobody@example.org'"),
        (InfrastructureError("the provider is down"), "infrastructure: the provider is down"),
        (ValueError("no"), "ValueError: no"),
    ],
)
def test_a_user_that_fails_has_not_answered(
    talks: list[Talk], line: str | Exception, reason: str
) -> None:
    """A line that may not be said, and a model that is down, are no mismatches."""
    report = report_of(compare_talks(talks[:1], played_by(Lines(line))))
    assert report.answered == report.same_act.total == 0
    assert next(iter(report.not_answered)).startswith(reason)
    assert report.to_json()["same_act"]["share"] is None


def test_a_bad_key_stops_it(talks: list[Talk]) -> None:
    """Nothing can be compared with a model that answers nobody."""
    with pytest.raises(RunStoppedError, match="bad key"):
        compare_talks(talks, played_by(Lines(RunStoppedError("bad key"))), concurrency=3)


def test_facts_and_names_are_compared() -> None:
    """Who tells the zip beside the name tells more than who tells the name."""
    script = UserScript(goals=[Goal(ask="Cancel my lamp.")], knows={"name": "Ana Silva"})
    profile = {"name": "Ana Silva", "zip": "60601"}
    turns = (Turn("Your name, please?", "Ana Silva, 60601.", ends=False),)
    (compared,) = compare_talks(
        [Talk("t", script, turns, profile)], played_by(Lines("It's Ana Silva."))
    )
    assert compared.cuts[0].recorded.facts == {"ana", "silva", "60601"}
    report = report_of([compared])
    assert (report.same_facts.equal, report.same_facts.total) == (0, 1)
    assert (report.facts_told.equal, report.facts_told.total) == (2, 3)
    assert report.facts_shared.value == 1.0


def test_free_text_is_not_for_the_agenda_user(tmp_path: Path) -> None:
    """One line says what would do."""
    file = reference(AIRLINE)
    with pytest.raises(UsageError, match=r"needs goals: name a model's"):
        find_talks([str(file)], user_kind("agenda"), limit=5)
    assert len(find_talks([str(file)], played_known(), limit=5).talks) == 5
    with pytest.raises(UsageError, match="no such file"):
        find_talks([str(tmp_path / "none.json")], user_kind("agenda"))


def played_known() -> UserKind:
    """A user that asks a model, as far as `find_talks` looks."""
    return replace(played_by(Lines("Yes.")), use=ModelUse(Lines("Yes.")))


@pytest.mark.parametrize(
    "file",
    mostly_slow(
        [
            AIRLINE,
            "recordings/tau1-retail-gpt-4.1-mini.json",
            "recordings/tau2-airline-opus-4-6.json",
            "recordings/tau2-retail-gpt-4o-trial1.json",
        ]
    ),
)
def test_recorded_customers_are_read(file: str) -> None:
    """Stop marks are no words, and most conversations are ended by their customers."""
    found = find_talks([str(reference(file))], played_known(), limit=40)
    assert len(found.talks) > 35
    assert not any("###" in turn.said for talk in found.talks for turn in talk.turns)
    ended = sum(talk.turns[-1].ends for talk in found.talks)
    assert ended > len(found.talks) / 3


# --- the arithmetic ------------------------------------------------------------------------------

measures = st.builds(
    Measures,
    act=st.sampled_from(UserAct),
    facts=st.frozensets(st.sampled_from(["#w1", "a@b.c"])),
    words=st.integers(0, 20),
    questions=st.integers(0, 2),
    courtesies=st.integers(0, 2),
)
cuts = st.builds(
    Cut,
    turn=st.just(1),
    said=st.just(""),
    recorded=measures,
    answer=st.just(""),
    simulated=st.none() | measures,
)


@settings(max_examples=30)
@given(st.lists(st.lists(cuts, max_size=4), max_size=4))
def test_counts_add_up_and_intervals_hold_their_share(conversations: Sequence[list[Cut]]) -> None:
    """Acts sum to the answered turns; each share lies in its interval; all of it is JSON."""
    report = report_of([Compared("c", tuple(cuts)) for cuts in conversations])
    assert report.same_act.total == report.answered <= report.cuts
    assert sum(sum(owns.values()) for owns in report.instead().values()) == report.answered
    assert sum(report.same_act_of(act).equal for act in UserAct) == report.same_act.equal
    for share in (report.same_act, report.same_facts, report.facts_told):
        if share.low is not None and share.high is not None and share.value is not None:
            assert share.low - 1e-9 <= share.value <= share.high + 1e-9
    assert report.to_json()["cuts"] == report.cuts


def test_turns_of_nobody_are_none(talks: list[Talk]) -> None:
    """A conversation without a customer has no turns."""
    assert turns_of(Transcript()) == ()
    assert all(talk.turns[0].heard is None for talk in talks)
