"""All verdicts together: the basis, the reward, and what was not checked."""

from passhat.envs.episode import Episode
from passhat.errors import Fault
from passhat.grading.grading import Grading
from passhat.transcript import Message, Stop, ToolCall, ToolCalls, UserEnd, UserReply

from ..library import RENEWAL, make_library

LIBRARY = make_library()
RENEW = ToolCall(name="renew_loan", arguments={"loan_id": "L-1", "due_on": "2026-04-01"})


def played(*moves: object) -> Episode:
    """An episode in which the agent makes these moves and the customer says thanks."""
    episode = Episode.start(LIBRARY, RENEWAL)
    episode.user_turn()
    for move in moves:
        episode.act(move)
    if episode.needs == "user":
        episode.hear(UserReply(content="Thank you, bye", end=UserEnd.GOALS_MET))
    return episode


def test_every_verdict_of_the_basis_must_pass() -> None:
    """One failed verdict makes the reward zero; the others are still given."""
    right = played(ToolCalls(calls=(RENEW,)), Message(content="It is renewed."))
    wrong = played(Stop())
    grading = Grading(LIBRARY)
    good = grading.grade(RENEWAL, right.transcript, right.db)
    bad = grading.grade(RENEWAL, wrong.transcript, wrong.db)
    assert (good.reward, good.fault, good.reasons()) == (1.0, None, [])
    assert (bad.reward, bad.fault) == (0.0, Fault.AGENT)
    assert [v.grader for v in bad.verdicts if not v.passed] == ["outcome"]
    assert 0 < bad.partial < 1


def test_a_domain_without_rules_says_that_none_were_checked() -> None:
    """Not that none were broken."""
    episode = played(Stop())
    grade = Grading(LIBRARY).grade(RENEWAL, episode.transcript, episode.db)
    (policy,) = [v for v in grade.verdicts if v.grader == "policy"]
    assert policy.reason == "not checked: no policy rules are known for library"


def test_the_tau_bench_basis_leaves_the_policy_out_and_still_shows_it() -> None:
    """Every verdict is given, whatever decides."""
    episode = played(Stop())
    grade = Grading(LIBRARY, "tau-bench").grade(RENEWAL, episode.transcript, episode.db)
    assert "policy" not in grade.basis
    assert "policy" in {v.grader for v in grade.verdicts}
