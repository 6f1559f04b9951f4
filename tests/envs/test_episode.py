"""The episode: who is to act, what is kept, forks, and whose fault a broken trial is."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.domains.domain import Domain
from passhat.envs.episode import Episode
from passhat.errors import Fault, UsageError
from passhat.grading.grading import Grading
from passhat.transcript import (
    EndReason,
    Message,
    MessageEvent,
    Stop,
    ToolCall,
    ToolCallEvent,
    ToolCalls,
    ToolResultEvent,
    Transcript,
    UserEnd,
    UserReply,
)

from ..library import RENEWAL, make_library

LIBRARY = make_library()
RENEW = ToolCall(name="renew_loan", arguments={"loan_id": "L-1", "due_on": "2026-04-01"})


def opened(domain: Domain = LIBRARY, **options: Any) -> Episode:
    """An episode whose customer has said hello."""
    episode = Episode.start(domain, RENEWAL, **options)
    episode.user_turn()
    return episode


def test_the_customer_opens_and_the_agent_sees_the_words() -> None:
    """First the user, then the agent; the observation holds what was said."""
    episode = Episode.start(LIBRARY, RENEWAL)
    assert (episode.needs, episode.heard) == ("user", None)
    episode.hear(UserReply(content="Hello there"))
    assert episode.needs == "agent"
    assert episode.observation.user_message == "Hello there"
    assert episode.observation.text == "Hello there"


def test_a_tool_call_is_answered_at_once_and_the_rows_are_noted() -> None:
    """It stays the agent's turn; the customer hears nothing."""
    episode = opened()
    episode.act({"type": "tool_calls", "calls": [RENEW.model_dump()]})
    assert episode.needs == "agent"
    (result,) = episode.observation.results
    assert result.content == "due 2026-04-01"
    assert [row.table for row in result.rows] == ["events", "loans"]
    assert episode.observation.user_message is None


def test_parallel_calls_are_all_executed_and_share_a_move() -> None:
    """Two calls of one move, in order, with text beside them that nobody hears."""
    episode = opened()
    look = ToolCall(name="find_loan", arguments={"loan_id": "L-1"}, id="same")
    episode.act(ToolCalls(calls=(look, look), content="looking"))
    first, second = [event for event in episode.transcript if isinstance(event, ToolCallEvent)]
    assert (first.move, second.move) == (first.index, first.index)
    assert (first.beside, second.beside) == ("looking", "")
    assert first.call_id != second.call_id
    assert [pair.result is not None for pair in episode.transcript.calls()] == [True, True]
    assert episode.transcript.text_by("agent") == []
    assert episode.turn == 1


def test_a_hand_over_ends_the_conversation() -> None:
    """After all calls of the move were executed."""
    episode = opened()
    hand_over = ToolCall(name="fetch_librarian", arguments={"summary": "lost book"})
    episode.act(ToolCalls(calls=(hand_over, RENEW)))
    assert episode.needs is None
    assert episode.transcript.ending is not None
    assert episode.transcript.ending.reason is EndReason.HANDED_OVER
    assert len(list(episode.transcript.calls())) == 2


def test_a_refused_hand_over_ends_nothing() -> None:
    """A hand-over with a bad argument did not happen."""
    episode = opened()
    episode.act(ToolCalls(calls=(ToolCall(name="fetch_librarian"),)))
    assert episode.needs == "agent"


def test_the_customer_ends_with_a_reason() -> None:
    """The ending keeps why the customer left."""
    episode = opened()
    episode.act(Message(content="Done."))
    episode.hear(UserReply(content="Thanks, bye", end=UserEnd.GOALS_MET))
    ending = episode.transcript.ending
    assert ending is not None
    assert (ending.reason, ending.user_end) == (EndReason.USER_STOP, UserEnd.GOALS_MET)


def test_a_conversation_without_moves_is_refused() -> None:
    """It could only ever fail."""
    with pytest.raises(UsageError, match="max_turns must be 1 or more, not 0"):
        Episode.start(LIBRARY, RENEWAL, max_turns=0)


def test_the_turn_limit_cuts_the_conversation_and_everything_is_still_graded() -> None:
    """Truncated: reward 0, with every verdict there."""
    episode = opened(max_turns=2)
    episode.act(ToolCalls(calls=(RENEW,)))
    episode.act(ToolCalls(calls=(RENEW,)))
    assert episode.truncated
    grade = Grading(LIBRARY).grade(RENEWAL, episode.transcript, episode.db)
    assert (grade.reward, grade.fault) == (0.0, Fault.AGENT)
    assert {v.grader for v in grade.verdicts} == {"outcome", "communication", "policy", "ending"}


@pytest.mark.parametrize(
    ("break_it", "fault"),
    [
        (lambda e: e.act(ToolCalls(calls=(ToolCall(name="break_down"),))), Fault.TOOL),
        (lambda e: e.lose(Fault.INFRASTRUCTURE, "429 for an hour"), Fault.INFRASTRUCTURE),
        (lambda e: (e.act(Message(content="Hi")), e.hear(UserReply(content=""))), Fault.SIMULATOR),
        (
            lambda e: (
                e.act(Message(content="Hi")),
                e.hear(UserReply(content="Use invented_card_7654321")),
            ),
            Fault.SIMULATOR,
        ),
    ],
)
def test_a_trial_lost_to_others_is_no_failure(
    break_it: Callable[[Episode], Any], fault: Fault
) -> None:
    """No reward at all, and the fault is named."""
    episode = opened()
    break_it(episode)
    grade = Grading(LIBRARY).grade(RENEWAL, episode.transcript, episode.db)
    assert (grade.reward, grade.fault, grade.passed) == (None, fault, False)


def test_a_crash_of_the_agent_is_its_own_failure() -> None:
    """Reward 0, and the reason says so."""
    episode = opened()
    episode.agent_crashed("ValueError: oops")
    grade = Grading(LIBRARY).grade(RENEWAL, episode.transcript, episode.db)
    assert (grade.reward, grade.fault) == (0.0, Fault.AGENT)
    assert any("agent crashed: ValueError: oops" in reason for reason in grade.reasons())


def test_a_user_that_raises_is_the_simulators_fault() -> None:
    """Whoever plays the customer, a crash of theirs is not the agent's."""
    episode = opened()
    episode.act(Message(content="Hi"))

    class Crashing:
        def reply(self, heard: str | None) -> UserReply:
            raise RuntimeError("no idea")

    episode.user = Crashing()  # type: ignore[assignment]
    episode.user_turn()
    ending = episode.transcript.ending
    assert ending is not None
    assert (ending.fault, ending.detail) == (Fault.SIMULATOR, "RuntimeError: no idea")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("hello", "not an action"),
        ({"type": "shout"}, "not an action"),
        ({"type": "tool_calls", "calls": []}, "calls: Tuple should have at least 1 item"),
        ({"type": "message"}, "message.content: Field required"),
    ],
)
def test_what_is_no_action_is_refused_and_changes_nothing(wrong: object, message: str) -> None:
    """The line says what an action looks like."""
    episode = opened()
    before = list(episode.transcript)
    with pytest.raises(UsageError, match=message):
        episode.act(wrong)
    assert list(episode.transcript) == before
    assert episode.turn == 0


def test_nobody_acts_out_of_turn() -> None:
    """Neither before the other has spoken nor after the end."""
    episode = opened()
    with pytest.raises(UsageError, match="not the user's turn: it is the agent's turn"):
        episode.hear(UserReply(content="me again"))
    episode.act(Stop())
    with pytest.raises(UsageError, match="the episode has ended"):
        episode.act(Message(content="Hi"))


MOVES = st.lists(
    st.sampled_from(
        [
            Message(content="What is your loan number?"),
            Message(content="I will renew loan L-1 until 2026-04-01. Shall I proceed?"),
            Message(content="It is renewed until 2026-04-01. Anything else?"),
            ToolCalls(calls=(RENEW,)),
            ToolCalls(calls=(ToolCall(name="find_loan", arguments={"loan_id": "L-2"}),)),
            Stop(),
        ]
    ),
    max_size=8,
)


def play(episode: Episode, moves: list[Any]) -> None:
    """Make these moves while the episode lasts."""
    for move in moves:
        if episode.needs == "user":
            episode.user_turn()
        if episode.needs == "agent":
            episode.act(move)


@settings(max_examples=50)
@given(before=MOVES, parent=MOVES, child=MOVES, seed=st.integers(0, 99))
def test_a_forked_episode_goes_on_like_one_that_was_never_forked(
    before: list[Any], parent: list[Any], child: list[Any], seed: int
) -> None:
    """Parent and child play on in turn; each equals its own straight run: words, rows, endings."""
    forked = opened(seed=seed)
    play(forked, before)
    twin = forked.fork()
    play(twin, child)
    play(forked, parent)
    for episode, moves in ((forked, parent), (twin, child)):
        straight = opened(seed=seed)
        play(straight, before)
        play(straight, moves)
        assert episode.transcript == straight.transcript
        assert episode.db.changes() == straight.db.changes()
        assert (episode.needs, episode.turn) == (straight.needs, straight.turn)
        straight.close()
        episode.close()


@settings(max_examples=50)
@given(moves=MOVES, seed=st.integers(0, 99))
def test_a_transcript_is_the_same_after_a_round_trip(moves: list[Any], seed: int) -> None:
    """Nothing is lost between dump and load."""
    with opened(seed=seed) as episode:
        play(episode, moves)
        assert Transcript.load(episode.transcript.dump()) == episode.transcript


def test_events_say_where_they_stand() -> None:
    """The index is the place in the transcript; the turn counts the agent's moves."""
    episode = opened()
    episode.act(ToolCalls(calls=(RENEW,)))
    episode.act(Message(content="Renewed."))
    assert [event.index for event in episode.transcript] == [0, 1, 2, 3]
    assert [event.turn for event in episode.transcript] == [0, 1, 1, 2]
    kinds = [type(event) for event in episode.transcript]
    assert kinds == [MessageEvent, ToolCallEvent, ToolResultEvent, MessageEvent]
