"""Replay without I/O: cuts, drift, the tape, forks, and what it costs."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.domains.tool import Tool
from passhat.envs.desks import Recorded, TapeDesk, WorldDesk
from passhat.envs.episode import Episode
from passhat.envs.judgement import Agreement, Cut, CutState
from passhat.envs.led import NotContinuedError, along
from passhat.envs.moves import MoveKind, canonical, moves_of
from passhat.envs.replay import Replay
from passhat.errors import Fault, UsageError
from passhat.grading.outcome import start_rows
from passhat.harness.attempt import Attempts, Conditions
from passhat.harness.play import play
from passhat.policies.engine import Case, Rulebook, Violation, load_rules, rule
from passhat.task import Task
from passhat.transcript import (
    EndingEvent,
    EndReason,
    ErrorKind,
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCallEvent,
    ToolCalls,
    ToolResultEvent,
    Transcript,
)

from ..library import RENEWAL, make_library

LIBRARY = make_library()
RETAIL = load_domain("retail")


def call(name: str, arguments: dict[str, Any], *, text: str = "") -> ToolCalls:
    """One tool call as a move."""
    return ToolCalls(calls=(ToolCall(name=name, arguments=arguments),), content=text)


FIND = call("find_loan", {"loan_id": "L-1"})
RENEW = call("renew_loan", {"loan_id": "L-1", "due_on": "2026-04-01"})
GREET = Message(content="Which loan is it?")


def script(*lines: str | tuple[str, dict[str, Any], str] | EndReason) -> Transcript:
    """A recording in short: "> words" by the customer, "< words" by the agent, calls, an end."""
    events = Transcript()
    for line in lines:
        where: dict[str, Any] = {"index": len(events), "turn": 0}
        if isinstance(line, EndReason):
            events.append(EndingEvent(reason=line, **where))
        elif isinstance(line, str):
            by = "user" if line[0] == ">" else "agent"
            events.append(MessageEvent(by=by, content=line[2:], **where))
        else:
            name, arguments, result = line
            about = {"call_id": f"c{len(events)}", "name": name}
            events.append(ToolCallEvent(arguments=arguments, move=where["index"], **about, **where))
            error = ErrorKind.REFUSED if result.startswith("Error") else None
            where["index"] += 1
            events.append(ToolResultEvent(content=result, error=error, **about, **where))
    return events


FOUND = (
    '{"loan_id": "L-1", "member_id": "M-1", "title": "Emma", "due_on": "2026-03-20", "renewals": 0}'
)
RENEWAL_TALK = script(
    "> Please renew L-1",
    "< Until when?",
    "> 2026-04-01",
    ("find_loan", {"loan_id": "L-1"}, FOUND),
    "< I will renew L-1 until 2026-04-01. Do you want me to go ahead?",
    "> Yes",
    ("renew_loan", {"loan_id": "L-1", "due_on": "2026-04-01"}, "due 2026-04-01"),
    "< Done.",
    "> Thanks",
    EndReason.AGENT_STOP,
)


def in_library(
    transcript: Transcript = RENEWAL_TALK, domain: Domain = LIBRARY, **options: Any
) -> Replay:
    """A replay with the library's rows."""
    desk = WorldDesk(domain, start_rows(domain, RENEWAL))
    return Replay(Recorded(transcript), desk, **options)


def on_tape(transcript: Transcript = RENEWAL_TALK, **about: Any) -> Replay:
    """A replay with the recording alone."""
    recorded = Recorded(transcript, **about)
    return Replay(recorded, TapeDesk(recorded))


def ask_all(replay: Replay, *moves: Any) -> list[Cut]:
    """Give these moves at the cuts, and the recorded ones after that."""
    given_moves = iter(moves)
    with replay:
        while replay.needs is not None:
            replay.act(next(given_moves, replay.move.action))
    return replay.cuts


def first(replay: Replay, move: Any) -> Any:
    """What is judged of a move at the first cut."""
    return ask_all(replay, move)[0].judgement


# --- cuts -----------------------------------------------------------------------------------------


def test_there_is_a_cut_before_every_move_of_the_recorded_agent() -> None:
    """Messages, calls and the end; each with what had been seen since the move before."""
    moves = moves_of(RENEWAL_TALK)
    assert [(move.position, move.event, move.action.type) for move in moves] == [
        (1, 1, "message"), (2, 3, "tool_calls"), (3, 5, "message"), (4, 7, "tool_calls"),
        (5, 9, "message"), (6, 11, "stop"),
    ]  # fmt: skip
    assert [move.observation.text for move in moves] == [
        "Please renew L-1", "2026-04-01", FOUND, "Yes", "due 2026-04-01", "Thanks",
    ]  # fmt: skip


def test_messages_in_a_row_are_one_move_and_one_observation() -> None:
    """People write in pieces; an agent is given them, and asked, once."""
    moves = moves_of(script("> Hello", "> I have a question", "< Hi!", "< Go ahead", "> ..."))
    (move,) = moves
    assert move.action == Message(content="Hi!\nGo ahead")
    assert move.observation.user_message == "Hello\nI have a question"
    assert len(move.observation.events) == 1


def test_parallel_calls_are_one_move_wherever_their_results_stand() -> None:
    """Calls that share their move belong together, alternating with results or before all."""
    alternating = Transcript(RENEWAL_TALK[:1])
    for number, (name, position) in enumerate([("find_loan", 1), ("find_loan", 3)]):
        about: dict[str, Any] = {"call_id": f"p{number}", "name": name, "turn": 1}
        alternating.append(ToolCallEvent(index=position, arguments={}, move=1, **about))
        alternating.append(ToolResultEvent(index=position + 1, content="x", **about))
    calls_first = Transcript(alternating[i] for i in (0, 1, 3, 2, 4))
    for transcript in (alternating, calls_first):
        (move,) = moves_of(transcript)
        assert isinstance(move.action, ToolCalls)
        assert len(move.action.calls) == 2


def test_an_opening_of_the_agent_is_no_cut_but_part_of_the_past() -> None:
    """Nobody had said anything it could answer; what follows has position 1."""
    replay = in_library(script("< Hello, how can I help?", "> Renew L-1", "< Until when?"))
    assert replay.move.position == 1
    assert replay.history == [(Observation(events=()), Message(content="Hello, how can I help?"))]
    assert len(ask_all(replay)) == 1


def test_the_history_at_a_cut_is_what_was_seen_and_done_before_it() -> None:
    """Observation and move, in pairs; nothing of what comes later."""
    replay = in_library()
    replay.act(GREET)
    replay.act(FIND)
    seen = [observation.text for observation, _ in replay.history]
    assert seen == ["Please renew L-1", "2026-04-01"]
    assert [taken.type for _, taken in replay.history] == ["message", "tool_calls"]
    assert replay.observation.text == FOUND


def test_only_the_cuts_that_are_wanted_are_judged() -> None:
    """At the others any answer is dropped, and after the last one nobody is asked."""
    replay = in_library(wanted=frozenset({3}))
    asked = []
    while replay.needs is not None:
        asked.append((replay.move.position, replay.judging))
        replay.act(Stop())
    assert asked == [(1, False), (2, False), (3, True)]
    assert [cut.position for cut in replay.cuts] == [3]
    assert len(replay.transcript) == len(RENEWAL_TALK)


# --- judging --------------------------------------------------------------------------------------


def test_the_recorded_moves_agree_with_themselves() -> None:
    """At every cut, with every check that can be made."""
    cuts = ask_all(in_library())
    assert [cut.agrees for cut in cuts] == [True] * 6
    assert {cut.judgement.agreement for cut in cuts if cut.judgement} == {Agreement.SAME}
    writing = cuts[3].judgement
    assert writing is not None
    checks = (writing.same_kind, writing.same_tools, writing.same_arguments, writing.same_rows)
    assert checks == (True, True, True, True)
    assert cuts[1].judgement is not None
    assert cuts[1].judgement.same_rows is None, "a look-up writes nothing"


def test_words_are_not_judged_but_what_is_certain_about_them_is_said() -> None:
    """Whether a yes is asked for, and which ids and amounts are named."""
    asked = Message(content="Shall I renew L-1? It costs $2.50. Please confirm: yes or no?")
    judgement = first(in_library(), asked)
    assert judgement.agreement is Agreement.SAME
    assert (judgement.asks_same, judgement.same_facts) == (False, False)
    assert (judgement.facts_missing, judgement.facts_added) == ((), ("$2.5",))


@pytest.mark.parametrize(
    ("move", "kind"),
    [
        (FIND, MoveKind.TOOL_CALL),
        (Stop(), MoveKind.STOP),
        (call("fetch_librarian", {"summary": "help"}), MoveKind.HAND_OVER),
    ],
)
def test_a_move_of_another_kind_is_different(move: Any, kind: MoveKind) -> None:
    """Message, tool call, hand-over and stop are four things."""
    judgement = first(in_library(), move)
    assert (judgement.kind, judgement.same_kind) == (kind, False)
    assert judgement.agreement is Agreement.DIFFERENT


def test_numbers_are_compared_as_numbers() -> None:
    """25 is 25.0; "25" is another argument, and so is true."""
    talk = script("> I owe 25 cents", ("pay_fine", {"cents": 25}, "thank you"))
    assert first(on_tape(talk), call("pay_fine", {"cents": 25.0})).same_arguments
    for other in ("25", True, 26):
        assert first(on_tape(talk), call("pay_fine", {"cents": other})).off_tape
    assert canonical([1.0, {"b": 2, "a": 1}]) == canonical([1, {"a": 1.0, "b": 2}])


def test_another_call_that_leaves_the_same_rows_has_the_same_outcome() -> None:
    """What counts is what the customer has in the end."""
    talk = script(
        "> Renew L-1",
        ("renew_loan", {"loan_id": "L-1", "due_on": "2026-04-01"}, "due 2026-04-01"),
    )
    looks_first = ToolCalls(calls=(*FIND.calls, *RENEW.calls))
    judgement = first(in_library(talk), looks_first)
    assert (judgement.same_tools, judgement.same_rows) == (False, True)
    assert judgement.agreement is Agreement.SAME_OUTCOME
    later = call("renew_loan", {"loan_id": "L-1", "due_on": "2026-05-01"})
    judgement = first(in_library(talk), later)
    assert (judgement.same_tools, judgement.same_rows) == (True, False)
    assert "loans[L-1].due_on: expected '2026-04-01', found '2026-05-01'" in (
        judgement.row_differences
    )
    assert judgement.agreement is Agreement.DIFFERENT


def test_writing_where_the_recorded_agent_did_not_is_different() -> None:
    """Rows that were not to be written are no outcome that agrees."""
    judgement = first(in_library(), RENEW)
    assert judgement.same_rows is False
    assert judgement.agreement is Agreement.DIFFERENT


def test_two_refused_calls_are_not_the_same_because_both_were_refused() -> None:
    """An error tells nothing that one could have wanted to know."""
    talk = script("> L-8?", ("find_loan", {"loan_id": "L-8"}, "Error: no loan 'L-8'"))
    judgement = first(in_library(talk), call("find_loan", {"loan_id": "L-9"}))
    assert judgement.same_results is None
    assert judgement.agreement is Agreement.DIFFERENT


def test_a_hand_over_agrees_whatever_the_person_is_told() -> None:
    """The summary is words."""
    talk = script(
        "> I want a person",
        ("fetch_librarian", {"summary": "wants a person"}, "A librarian takes over"),
        EndReason.HANDED_OVER,
    )
    for replay in (in_library(talk), on_tape(talk)):
        judgement = first(replay, call("fetch_librarian", {"summary": "no idea"}))
        assert (judgement.kind, judgement.agreement) == (MoveKind.HAND_OVER, Agreement.SAME)


@rule("library.md#library", severity="breach")
def never_says_done(case: Case) -> Iterator[Violation]:
    """The agent does not say that something is done."""
    for event in case.transcript:
        if isinstance(event, MessageEvent) and event.by == "agent" and "one" in event.content:
            yield Violation(event.index, "said so")


@rule("library.md#library", severity="breach")
def renews_once(case: Case) -> Iterator[Violation]:
    """A loan is renewed once; read from the rows."""
    for made in case.calls:
        if made.name == "renew_loan" and case.rows("loans", loan_id="L-1")[0]["renewals"] > 1:
            yield Violation(made.event, "renewed again")


def library_rules() -> Rulebook:
    """Two rules of the library."""
    return Rulebook(
        (
            never_says_done._passhat_rule,  # type: ignore[attr-defined]
            renews_once._passhat_rule,  # type: ignore[attr-defined]
        )
    )


def test_rules_are_checked_on_the_new_move_alone() -> None:
    """What is wrong in the prefix is not held against the agent; rows are those of its fork."""
    replay = in_library(rules=library_rules())
    cuts = ask_all(replay, Message(content="Done!"), FIND, GREET, RENEW, RENEW)
    found = [[f.rule for f in cut.judgement.findings] for cut in cuts if cut.judgement]
    assert found == [["never_says_done"], [], [], [], ["renews_once"], []]
    with in_library(rules=library_rules()) as again:
        while again.needs is not None:
            again.act(again.move.action)
        assert [(f.rule, f.event) for f in again.recorded_findings] == [("never_says_done", 9)]


# --- drift ----------------------------------------------------------------------------------------


def changed(index: int, content: str, transcript: Transcript = RENEWAL_TALK) -> Transcript:
    """The same recording with another result."""
    events = Transcript(transcript)
    events[index] = events[index].model_copy(update={"content": content})
    return events


def test_a_result_that_our_tools_do_not_give_is_drift_and_ends_the_scoring() -> None:
    """The cut before the call is fine; after it the rows are not those of the recording."""
    replay = in_library(changed(4, FOUND.replace("Emma", "Anna")))
    cuts = ask_all(replay)
    assert [cut.state for cut in cuts] == [CutState.JUDGED] * 2 + [CutState.DRIFTED] * 4
    assert [cut.agrees for cut in cuts] == [True, True, None, None, None, None]
    assert replay.drift is not None
    assert (replay.drift.event, replay.drift.tool) == (4, "find_loan")
    assert "Anna" in replay.drift.recorded
    assert "Emma" in replay.drift.rebuilt
    assert replay.outputs == {"different": 1}


def test_a_result_that_is_written_differently_is_cosmetic() -> None:
    """Equal as JSON: spaces, key order, 0 and 0.0."""
    value = json.loads(FOUND)
    written = json.dumps(dict(reversed(value.items())) | {"renewals": 0.0}, separators=(",", ":"))
    replay = in_library(changed(4, written))
    assert all(cut.agrees for cut in ask_all(replay))
    assert replay.outputs == {"cosmetic": 1, "equal": 1}


def test_a_tool_that_breaks_on_a_recorded_call_is_drift_too() -> None:
    """Not a traceback, and not the agent's fault."""
    talk = script("> Hi", ("break_down", {}, "fine"), "< Done", "> Bye", "< Bye")
    replay = in_library(talk)
    states = [cut.state for cut in ask_all(replay, GREET)]
    assert states == [CutState.JUDGED, CutState.DRIFTED, CutState.DRIFTED]
    assert replay.drift is not None
    assert "the tool broke" in replay.drift.rebuilt


def test_a_prefix_with_a_missing_result_is_lost() -> None:
    """Nobody knows what the recorded agent had seen."""
    events = [event for event in RENEWAL_TALK if event.index != 4]
    transcript = Transcript(e.model_copy(update={"index": i}) for i, e in enumerate(events))
    for replay in (in_library(transcript), on_tape(transcript)):
        cuts = ask_all(replay)
        assert [cut.state for cut in cuts] == [CutState.JUDGED] * 2 + [CutState.LOST] * 4
        assert "lacks the result of event 3" in cuts[2].reason


def test_arguments_that_could_not_be_read_are_compared_with_nothing() -> None:
    """On the tape that cut is lost; with rows, everything after it too."""
    recorded = Recorded(RENEWAL_TALK, unreadable=frozenset({3}))
    desk = WorldDesk(LIBRARY, start_rows(LIBRARY, RENEWAL))
    rebuilt = ask_all(Replay(recorded, desk))
    taped = ask_all(Replay(recorded, TapeDesk(recorded)))
    assert [cut.agrees for cut in rebuilt] == [True, None, None, None, None, None]
    assert [cut.agrees for cut in taped] == [True, None, True, True, True, True]


# --- the tape -------------------------------------------------------------------------------------


def test_a_call_that_the_recording_holds_is_answered_from_it() -> None:
    """Wherever in the conversation it was made."""
    judgement = first(on_tape(), RENEW)
    assert judgement.off_tape == ()
    assert judgement.agreement is Agreement.DIFFERENT, "a call instead of a message"


def test_any_other_call_is_off_the_tape_and_never_wrong() -> None:
    """Nobody knows what it would have given, whatever the recorded agent did."""
    for move in (call("find_loan", {"loan_id": "L-2"}), call("burn_books", {})):
        (cut, *_) = ask_all(on_tape(), move)
        assert cut.judgement is not None
        assert cut.judgement.agreement is Agreement.OFF_TAPE
        assert cut.agrees is None


def test_labels_are_compared_where_both_are_known() -> None:
    """By the name that the agent gives, or by the words that have that label in the recording."""
    labels = {1: "ask_date", 5: "ask_yes", 9: "report"}
    same_words = Message(content="Done.")
    named = Message(content="When?", provider={"label": "ask_date"})
    unknown = Message(content="Hm.")
    judged = [first(on_tape(labels=labels), move) for move in (same_words, named, unknown)]
    assert [judgement.same_label for judgement in judged] == [False, True, None]


# --- failures -------------------------------------------------------------------------------------


def test_a_crash_counts_as_a_different_move_and_a_fault_of_others_does_not() -> None:
    """And the next cut can be judged all the same."""
    replay = in_library()
    replay.agent_crashed("ValueError: oh")
    assert replay.needs is None
    assert replay.go_on()
    replay.lose(Fault.INFRASTRUCTURE, "the network is down")
    assert replay.go_on()
    cuts = ask_all(replay)
    assert [cut.agrees for cut in cuts] == [False, None, True, True, True, True]
    assert [cut.state for cut in cuts[:2]] == [CutState.CRASHED, CutState.LOST]
    assert [cut.on_path for cut in cuts] == [True, False, False, False, False, False]
    assert not replay.go_on()


def test_after_giving_up_the_rest_is_not_asked() -> None:
    """Those cuts are listed, and not scored."""
    replay = in_library()
    replay.act(GREET)
    replay.agent_crashed("oh")
    replay.give_up("enough")
    states = [cut.state for cut in replay.cuts]
    assert states == [CutState.JUDGED, CutState.CRASHED] + [CutState.NOT_ASKED] * 4
    assert replay.needs is None


def test_what_is_no_move_is_refused_and_changes_nothing() -> None:
    """As an episode refuses it."""
    replay = in_library()
    with pytest.raises(UsageError, match="not an action"):
        replay.act("hello")
    assert replay.move.position == 1
    ask_all(replay)
    with pytest.raises(UsageError, match="waits for no move"):
        replay.act(GREET)


# --- laws -----------------------------------------------------------------------------------------

MOVES: Sequence[Any] = (
    GREET, FIND, RENEW, Stop(), call("renew_loan", {"loan_id": "L-2", "due_on": "2027-01-01"}),
    call("pay_fine", {"cents": 9}), call("nothing", {}), call("renew_loan", {"loan_id": 3}),
    call("fetch_librarian", {"summary": ""}), ToolCalls(calls=(*RENEW.calls, *FIND.calls)),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.sampled_from(MOVES), max_size=6), st.booleans())
def test_judging_a_cut_never_changes_the_next(moves: list[Any], taped: bool) -> None:
    """Whatever is answered at one cut, every other is judged as if it had been alone."""
    opened = on_tape if taped else in_library
    together = ask_all(opened(), *moves)
    alone = []
    for position, move in enumerate(moves, start=1):
        replay = opened()
        for _ in range(position - 1):
            replay.act(replay.move.action)
        alone.append(ask_all(replay, move)[position - 1].judgement)
    assert [cut.judgement for cut in together[: len(moves)]] == alone
    assert all(cut.agrees for cut in together[len(moves) :])


def counted(domain: Domain, calls: list[str]) -> Domain:
    """The same domain, writing down every call that is carried out."""

    def counting(tool: Tool) -> Tool:
        class Counting(type(tool)):  # type: ignore[misc]
            def run(self, db: Any, arguments: object) -> Any:
                calls.append(tool.name)
                return tool.run(db, arguments)

        return Counting(tool.function, tool.writes, tool.hands_over)

    twin = replace(domain, tools={name: counting(tool) for name, tool in domain.tools.items()})
    vars(twin).update(world=domain.world, policy=domain.policy, tasks=domain.tasks)
    return twin


def test_every_recorded_call_is_carried_out_once_however_many_cuts_there_are() -> None:
    """The calls of the conversation, and those of the new moves."""
    calls: list[str] = []
    domain = counted(LIBRARY, calls)
    ask_all(in_library(domain=domain), *[GREET] * 6)
    assert calls == ["find_loan", "renew_loan"]
    calls.clear()
    ask_all(in_library(domain=domain), *[FIND] * 6)
    assert sorted(calls) == ["find_loan"] * 7 + ["renew_loan"]


TASKS = sorted(RETAIL.tasks)[::3]


def lived(agent: str, task: Task, seed: int) -> Transcript:
    """What a scripted agent does on a retail task."""
    kind = agent_kind(agent)
    brief = Attempts(Conditions("retail", agent), RETAIL, kind).brief(task, seed)
    with Episode.start(RETAIL, task, seed=seed) as episode:
        asyncio.run(play(episode, kind, brief))
        return episode.transcript


def replayed(agent: str, task: Task, seed: int, transcript: Transcript) -> Replay:
    """The same agent, asked at every cut of a recording."""
    kind = agent_kind(agent)
    attempts = Attempts(Conditions("retail", agent), RETAIL, kind)
    desk = WorldDesk(RETAIL, start_rows(RETAIL, task))
    recorded = Recorded(transcript)
    with Replay(recorded, desk, policy=RETAIL.policy, rules=load_rules("retail")) as replay:
        asyncio.run(play(replay, kind, attempts.brief(task, seed)))
    return replay


@settings(max_examples=12)
@given(
    st.sampled_from(TASKS), st.integers(0, 2**31), st.sampled_from(["reference", "slippery:0.2"])
)
def test_replay_is_live(name: str, seed: int, agent: str) -> None:
    """A scripted agent, asked at every cut of its own run, does what it did then."""
    task = RETAIL.task(name)
    transcript = lived(agent, task, seed)
    replay = replayed(agent, task, seed, transcript)
    assert [cut.agrees for cut in replay.cuts] == [True] * len(moves_of(transcript))
    assert replay.drift is None
    assert replay.transcript.dump() == transcript.dump(), "rows included"
    for cut in replay.cuts:
        assert cut.judgement is not None
        assert cut.judgement.same_arguments is not False


# --- going on -------------------------------------------------------------------------------------


def test_an_episode_is_brought_along_its_own_recording() -> None:
    """The customer says the same again, so it may be forked and go on at every cut."""
    task = RETAIL.task(TASKS[0])
    transcript = lived("reference", task, 5)
    moves = moves_of(transcript)
    with Episode.start(RETAIL, task, seed=5) as episode:
        assert [move.event for move in along(episode, moves)] == [move.event for move in moves]
        assert episode.transcript.dump()[: len(transcript) - 1] == transcript.dump()[:-1]


def test_an_episode_is_not_brought_along_what_another_customer_said() -> None:
    """With other words before the cut it is another conversation."""
    task = RETAIL.task(TASKS[0])
    transcript = lived("reference", task, 5)
    other = changed(0, "Something else entirely", transcript)
    with (
        Episode.start(RETAIL, task, seed=5) as episode,
        pytest.raises(NotContinuedError, match="goes another way"),
    ):
        list(along(episode, moves_of(other)))
