"""Replaying whole sources: agents with and without a past, what is lost, and the numbers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers import Log, kiosk_plan, new_store
from replay_agents import Oracle

from passhat.agents.agent import AgentKind
from passhat.envs.moves import MoveKind, moves_of
from passhat.errors import UsageError
from passhat.harness.attempt import Conditions
from passhat.harness.exporting import export_run
from passhat.harness.replay import Asking, Replayed, parse_cuts, replay_all
from passhat.harness.replay_report import Fate, ReplayReport, departure_of, survival
from passhat.harness.replay_sources import Where, open_source
from passhat.harness.run import Plan, start_run
from passhat.harness.store import Store
from passhat.recordings.readers import read_conversations

from ..reference_data import mostly_slow, reference

FIXTURES = Path(__file__).parents[1] / "fixtures" / "replay"
CHATS = FIXTURES / "chats.jsonl"
ANYWHERE = Where()
STREAM = FIXTURES / "sdk-stream.jsonl"


def report(source: Path | str, agent: str, where: Where = ANYWHERE, **asking: Any) -> ReplayReport:
    """A source replayed with an agent."""
    with open_source(str(source), agent, where) as opened:
        about = Asking(opened.kind, **asking)
        replayed = replay_all(opened.sessions, about)
    return ReplayReport(
        opened.name, agent, opened.kind.synthetic, about.cuts, opened.world, replayed, opened.notes
    )


def by_oracle(source: Path | str, where: Where = ANYWHERE) -> ReplayReport:
    """A source replayed with an agent that does what was done."""
    replayed: list[Replayed] = []
    with open_source(str(source), "chatty-noop", where) as opened:
        for session in opened.sessions:
            moves = moves_of(session.recorded.transcript, session.recorded.labels)
            kind = AgentKind("oracle", lambda brief, moves=moves: Oracle(moves))  # type: ignore[misc]
            replayed += replay_all([session], Asking(kind))
    return ReplayReport(str(source), "oracle", True, "all", opened.world, replayed, opened.notes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with a run of a slippery agent at the kiosk."""
    with new_store(tmp_path) as opened:
        start_run(opened, kiosk_plan(trials=4), Log())
        yield opened


@pytest.fixture
def kiosk(store: Store, tmp_path: Path) -> Where:
    """Where that run is."""
    return Where(store=str(tmp_path / "store.sqlite"))


# --- runs of our own ------------------------------------------------------------------------------


def test_a_scripted_agent_agrees_with_its_own_run_at_every_cut(kiosk: Where) -> None:
    """Seeds come from the run; recorded and rebuilt results are equal."""
    found = report("last", "slippery:0.2", kiosk)
    assert found.agreement.share == 1.0
    assert found.counts["planned"] == found.counts["same"] > 24
    assert found.outputs["different"] == found.outputs["cosmetic"] == 0
    assert found.outputs["equal"] > 0
    assert [step.survival for step in found.survival()][-1] == 1.0
    assert not found.too_much_lost


def test_one_task_and_one_trial_can_be_replayed(store: Store, kiosk: Where) -> None:
    """RUN/TASK and RUN/TASK/NUMBER, and what is not there is named."""
    assert len(report("last/zone-1", "reference", kiosk).conversations) == 4
    (one,) = report("last/zone-1/3", "reference", kiosk).conversations
    run = store.find_run("last")
    assert one.address == f"{run.id}/zone-1/3"
    assert report("last", "noop", Where(kiosk.store, limit=5)).conversation_counts["read"] == 5
    with pytest.raises(UsageError, match="has no trial 'zone-1/9'"):
        report("last/zone-1/9", "reference", kiosk)
    with pytest.raises(UsageError, match="of domain 'kiosk:DOMAIN', not 'retail'"):
        report("last", "reference", Where(kiosk.store, domain="retail"))


def test_concurrency_changes_nothing(kiosk: Where) -> None:
    """Results come in the order of the sessions."""
    results = []
    for concurrency in (1, 5):
        with open_source("last", "python:replay_agents:Reader", kiosk) as opened:
            asking = Asking(opened.kind)
            results.append(replay_all(opened.sessions, asking, concurrency=concurrency))
    one, five = ([_without_time(r) for r in found] for found in results)
    assert one == five
    with pytest.raises(UsageError, match="1 or more"):
        replay_all([], Asking(opened.kind), concurrency=0)


def _without_time(one: Replayed) -> Any:
    return one.address, [(c.position, c.state, c.agrees) for c in one.cuts]


def test_continuing_grades_the_end_from_each_cut(kiosk: Where) -> None:
    """The reference passes from wherever nothing has gone wrong, its own first cut included."""
    found = report("last", "reference", kiosk, continuing=True, cuts=1)
    assert found.continued["played"] == len(found.conversations) == 24
    assert found.continued["passed"] == 24
    everywhere = report("last/zone-1/1", "slippery:0.2", kiosk, continuing=True)
    (one,) = everywhere.conversations
    assert {end.reward for end in one.continued} == {float(bool(one.passed))}, "it repeats exactly"
    assert [end.position for end in one.continued] == [cut.position for cut in one.cuts]
    assert everywhere.agreement.share == 1.0, "the first move played on is the one judged"


def test_an_agent_is_led_to_the_cut_it_plays_on_from(kiosk: Where) -> None:
    """One that follows has the whole past there; one that crashes there fails the conversation."""
    found = report("last/zone-1", "python:replay_agents:Brittle", kiosk, continuing=True)
    assert found.counts["crashed"] > 0
    assert found.continued["played"] == found.counts["planned"]
    assert found.continued["lost"] == found.continued["passed"] == 0
    for one in found.conversations:
        crashed = [cut.position for cut in one.cuts if cut.state.value == "crashed"]
        assert crashed == [cut.position for cut in one.cuts if cut.position % 3 == 0]
    alone = report("last/zone-1", "python:replay_agents:Brittle", kiosk)
    assert alone.counts == found.counts


def test_a_recording_without_a_script_is_not_continued_and_says_why() -> None:
    """Nobody can play a customer of whom only words are known."""
    found = report(CHATS, "rule-based", Where(domain="retail"), continuing=True)
    assert found.continued["played"] == 0
    ((reason, count),) = found.continued["not_continued"].items()
    assert (count, "no script" in reason) == (3, True)
    assert found.agreement.total > 20, "the next moves are judged all the same"


def test_an_exported_run_of_our_own_is_carried_out_with_our_own_tools(tmp_path: Path) -> None:
    """Its format is a benchmark's, its results are not those of the benchmark's tools."""
    with new_store(tmp_path) as opened:
        plan = Plan(Conditions("retail", "reference"), ("cancel-power-bank",), 2, 1)
        run_of_ours = start_run(opened, plan, Log()).run
        for form in ("tau2", "tau-bench"):
            export_run(opened, run_of_ours, form, tmp_path / f"{form}.json")
    for form in ("tau2", "tau-bench"):
        where = Where(domain="retail", packs=tmp_path)
        found = report(tmp_path / f"{form}.json", "rule-based", where)
        assert (found.world, found.outputs["equal"], found.outputs["different"]) == ("retail", 8, 0)
        assert found.agreement.share == 1.0


# --- agents ---------------------------------------------------------------------------------------


def test_an_agent_that_can_take_a_past_is_made_anew_at_each_cut_and_told_all() -> None:
    """It is asked once a cut, however many moves there were before."""
    found = report(CHATS, "python:replay_agents:Reader", Where(domain="retail"))
    for one in found.conversations:
        said = [cut.judgement.move.content for cut in one.cuts if cut.judgement]  # type: ignore[union-attr]
        assert said == [f"I have seen {n} turns." for n in range(1, len(one.cuts) + 1)]
        assert one.follows
    assert not found.answers_dropped


def test_the_past_is_exactly_that_of_the_recorded_agent() -> None:
    """What the oracle observed is checked by itself; then it does what was done."""
    found = by_oracle(CHATS, Where(domain="retail"))
    assert found.agreement.share == 1.0
    assert (found.outputs["equal"], found.outputs["different"]) == (13, 0)


def test_a_crash_costs_a_following_agent_one_cut() -> None:
    """The others are judged; a crash is a different move."""
    found = report(CHATS, "python:replay_agents:Brittle", Where(domain="retail"))
    assert found.counts["crashed"] == sum(len(one.cuts) // 3 for one in found.conversations)
    assert found.counts["not_asked"] == 0
    assert found.agreement.total == found.counts["planned"]


def test_a_crash_ends_the_replay_of_an_agent_that_lives_through_it() -> None:
    """What it would have done later nobody can know; that it was asked so is said."""
    found = report(CHATS, "python:replay_agents:Forgetful", Where(domain="retail"))
    assert found.answers_dropped
    for one in found.conversations:
        states = [cut.state.value for cut in one.cuts]
        assert states == ["judged", "crashed"] + ["not asked"] * (len(states) - 2)
    assert not found.too_much_lost, "the agent's own failures are not losses"


def test_an_agent_that_sees_the_task_is_refused_for_other_peoples_recordings() -> None:
    """They hold no reference it could carry out."""
    with pytest.raises(UsageError, match="sees the task"):
        report(CHATS, "reference")


def test_cuts_are_all_last_or_one() -> None:
    """And nothing else."""
    assert (parse_cuts("all"), parse_cuts("last"), parse_cuts("7")) == ("all", "last", 7)
    for wrong in ("0", "-1", "first", "", "²"):
        with pytest.raises(UsageError, match="--cut must be"):
            parse_cuts(wrong)


def test_the_last_cut_is_one_a_conversation() -> None:
    """N-1: all but the last move is given."""
    found = report(CHATS, "chatty-noop", Where(domain="retail"), cuts="last")
    assert [len(one.cuts) for one in found.conversations] == [1, 1, 1]
    assert found.survival() == []
    third = report(CHATS, "chatty-noop", Where(domain="retail"), cuts=3)
    assert [cut.position for cut in third.cuts] == [3, 3, 3]


# --- files ----------------------------------------------------------------------------------------


def test_a_production_log_goes_from_file_to_report() -> None:
    """With a domain its calls are carried out and rows are compared; without one, the tape."""
    rebuilt = report(CHATS, "rule-based", Where(domain="retail"))
    assert (rebuilt.world, rebuilt.outputs["equal"]) == ("retail", 13)
    assert rebuilt.checks["same_rows"].total > 0
    taped = report(CHATS, "rule-based")
    assert (taped.world, sum(taped.outputs.values())) == ("", 0)
    assert taped.checks["same_rows"].total == 0
    assert "no --domain" in taped.notes[0]
    assert taped.counts["planned"] == rebuilt.counts["planned"] == 25


def test_an_agent_sdk_stream_goes_from_file_to_report() -> None:
    """Split messages are one move, subagents and injected turns are not seen, names are bare."""
    found = report(STREAM, "rule-based", Where(domain="retail"))
    assert found.agreement.share == 1.0
    assert [cut.kind for cut in found.cuts].count(MoveKind.MESSAGE) == 4
    assert found.outputs == {"equal": 4, "cosmetic": 0, "different": 0}


def test_the_addresses_of_a_report_lead_to_the_events() -> None:
    """Every cut names the event before which it stands."""
    (conversation, *_) = read_conversations(CHATS)
    trial = report(CHATS, "chatty-noop").to_json()["trials"][0]
    for cut in trial["cuts"]:
        address, _, event = cut["address"].rpartition(":")
        assert address == trial["address"] == str(conversation.address)
        seen = conversation.event(int(event))
        assert seen.kind == ("tool_call" if cut["recorded"]["tools"] else "message")


def test_what_is_shown_is_redacted_and_what_is_carried_out_is_not() -> None:
    """The rows are rebuilt from the originals; the report holds none of them."""
    (conversation, *_) = read_conversations(CHATS)
    email = next(c.call.arguments["email"] for c in conversation.events.calls())
    where = Where(domain="retail", redact=True)
    shown, plain = (
        report(CHATS, "rule-based", where),
        report(CHATS, "rule-based", Where(domain="retail")),
    )
    assert shown.counts == plain.counts
    assert email in json.dumps(plain.to_json())
    assert email not in json.dumps(shown.to_json())
    assert "@redacted.invalid" in json.dumps(shown.to_json())
    assert "not looked for" in shown.notes[-1]
    taped = report(CHATS, "rule-based", Where(redact=True))
    assert email not in json.dumps(taped.to_json())


def test_the_name_of_a_conversation_is_redacted_too(tmp_path: Path) -> None:
    """Logs are often kept under the customer's e-mail address."""
    file = tmp_path / "talk.csv"
    rows = ("conversation,speaker,text", "jo@example.org,user,Hello", "jo@example.org,agent,Hi")
    file.write_text("\n".join(rows))
    shown = report(f"{file}#jo@example.org", "noop", Where(redact=True))
    assert "jo@" not in json.dumps(shown.to_json())
    with pytest.raises(UsageError) as refused:
        report(f"{file}#jane@example.org", "noop", Where(redact=True))
    assert "jo@" not in str(refused.value), "the others' names are nobody's business"


# --- what is lost ---------------------------------------------------------------------------------


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    """A conversation as a line of a log."""
    return {"messages": [{"role": "user", "content": "Hi"}, *messages]}


def used(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    """A message that calls a tool."""
    function = {"name": name, "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


BYE = {"role": "assistant", "content": "Bye"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "x"}
HOSTILE: dict[str, Callable[[], Any]] = {
    "arguments that are no JSON": lambda: chat(used("calculate", "{oops"), RESULT, BYE),
    "arguments that are a list": lambda: chat(used("calculate", "[1]"), RESULT, BYE),
    "a result that is missing": lambda: chat(used("calculate", "{}"), BYE),
    "a result twice": lambda: chat(used("calculate", "{}"), RESULT, RESULT, BYE),
    "a result of nothing": lambda: chat(RESULT, BYE),
    "an id used twice": lambda: chat(
        used("calculate", "{}"), RESULT, used("calculate", '{"a": 1}'), RESULT, BYE
    ),
    "numbers as strings": lambda: chat(used("calculate", '{"expression": 3}'), RESULT, BYE),
    "numbers that are none": lambda: chat(used("calculate", '{"expression": NaN}'), RESULT, BYE),
    "nested arguments": lambda: chat(used("a", '{"a":' * 90 + "1" + "}" * 90), RESULT, BYE),
    "nested deeply": lambda: chat(used("a", '{"a":' * 5000 + "1" + "}" * 5000), RESULT, BYE),
    "half a character": lambda: chat({"role": "assistant", "content": "\ud800"}, BYE),
    "a megabyte in one message": lambda: chat({"role": "assistant", "content": "well, " * 170_000}),
    "no end": lambda: chat(*[BYE, {"role": "user", "content": "Hi"}] * 1000),
    "no content": lambda: chat({"role": "assistant"}, BYE),
    "null messages": lambda: {"messages": [None, BYE]},
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("domain", ["retail", None])
def test_hostile_recordings_end_in_a_count(what: str, domain: str | None, tmp_path: Path) -> None:
    """Never in a traceback, nor in a verdict on what nobody knows."""
    file = tmp_path / "log.jsonl"
    fine = CHATS.read_text(encoding="utf-8").splitlines()[0]
    file.write_text(f"{fine}\n{json.dumps(HOSTILE[what]())}\n{fine}\n", encoding="utf-8")
    found = report(file, "python:replay_agents:Reader", Where(domain=domain))
    before, hostile, after = found.conversations
    assert all(one.lost is None and one.drift is None for one in (before, after))
    json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert "passhat itself" not in (hostile.lost or "")
    if domain is not None and hostile.outputs["different"]:
        assert hostile.cuts[-1].agrees is None


def test_too_much_lost_is_said() -> None:
    """Lost conversations and lost or drifted cuts, from a tenth of them."""
    kept = report(CHATS, "rule-based").conversations
    lost = Replayed("x#1", lost="broken")
    assert not _report([*kept] * 10 + [lost]).too_much_lost
    assert _report([*kept, lost]).too_much_lost
    assert _report([*kept, lost]).lost_because == {"broken": 1}


def _report(conversations: list[Replayed]) -> ReplayReport:
    return ReplayReport("x", "a", False, "all", "", conversations)


# --- numbers --------------------------------------------------------------------------------------


def test_a_conversation_that_ends_leaves_the_curve_without_departing() -> None:
    """Kaplan-Meier: of 4 one departs at 1; of the 2 that are still there at 2, one does."""
    steps = survival([Fate(1, True), Fate(1, False), Fate(2, True), Fate(2, False)])
    assert [(s.position, s.at_risk, s.departed, s.survival) for s in steps] == [
        (1, 4, 1, 0.75), (2, 2, 1, 0.375),
    ]  # fmt: skip
    assert survival([]) == []
    assert survival([Fate(0, False)]) == []


def run(address: str, *signatures: str, passed: bool = True) -> Replayed:
    """A recorded run of a task, by its moves."""
    events = tuple(range(1, 2 * len(signatures), 2))
    return Replayed(address, "t", passed, signatures=signatures, events=events)


def test_a_failing_run_departs_where_no_passing_one_follows() -> None:
    """From the passing run with which it has most in common."""
    failing = run("r/t/1", "message", "find 1", "cancel 2", passed=False)
    passing = [run("r/t/2", "find 1"), run("r/t/3", "message", "find 1", "cancel 1")]
    found = departure_of(failing, passing)
    assert (found.position, found.event) == (3, "r/t/1:5")
    assert (found.did, found.instead) == ("cancel 2", ("cancel 1",))
    short = departure_of(run("r/t/4", "message", passed=False), passing)
    assert (short.position, short.did, short.instead) == (2, "", ("find 1",))
    alone = replace(run("r/u/1", "message", passed=False), task="u")
    assert [d.run for d in _report([failing, *passing, alone]).departures()] == ["r/t/1"]


def test_the_report_adds_up(kiosk: Where) -> None:
    """Parts of the cuts, tools and positions are the whole; JSON has the documented keys."""
    found = report("last", "python:replay_agents:Reader", kiosk)
    counts = found.counts
    assert counts["planned"] == sum(n for name, n in counts.items() if name != "planned")
    assert sum(tally.total for tally in found.by_position().values()) == found.agreement.total
    assert sum(tally.total for tally in found.by_kind().values()) == found.agreement.total
    for row in found.by_tool():
        assert row.cuts == row.same + row.same_outcome + row.different
        assert sum(row.instead.values()) == row.different
    keys = set(found.to_json())
    documented = (Path(__file__).parents[2] / "docs" / "replay.md").read_text(encoding="utf-8")
    assert not [key for key in keys if f"`{key}`" not in documented]


# --- reference data -------------------------------------------------------------------------------


@pytest.mark.slow
def test_gpt_4o_airline_is_rebuilt_without_drift() -> None:
    """All 1,164 recorded results come out equal, and the recorded moves agree with themselves."""
    data = reference("tau-bench-a50b6c1")
    file = data / "historical_trajectories" / "gpt-4o-airline.json"
    found = by_oracle(file, Where(packs=data))
    assert found.world == "airline@tau-bench"
    assert found.outputs == {"equal": 1164, "cosmetic": 0, "different": 0}
    assert found.counts["planned"] == found.counts["same"] == 2454
    assert found.conversation_counts["recorded_passed"] == 84
    departures = found.departures()
    assert len(departures) == 60
    assert all(departure.position >= 1 for departure in departures)


def test_gpt_4o_airline_starts_without_drift() -> None:
    """The same of its first runs, for those who are in a hurry."""
    data = reference("tau-bench-a50b6c1")
    found = by_oracle(
        data / "historical_trajectories" / "gpt-4o-airline.json", Where(packs=data, limit=12)
    )
    assert found.outputs["different"] == found.counts["drifted"] == 0
    assert found.counts["planned"] == found.counts["same"] > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "clone", "equal", "lost"),
    [
        ("human-agent-retail", "tau2-bench-1.0.1", 614, 0),
        ("tau1-airline-grok-4-1-fast-reasoning-2trials.json", "tau-bench-head", 574, 5),
        ("tau1-airline-react-grok-4-fast.json", "tau-bench-head", 275, 1),
        ("tau1-retail-gpt-4.1-mini.json", "tau-bench-head", 921, 0),
        ("tau1-retail-grok-4-1-fast-reasoning.json", "tau-bench-head", 849, 1),
        ("tau2-airline-gpt-4.1.json", "tau2-bench-1.0.1", 148, 0),
        ("tau2-airline-grok-4-fast-unequal-trials.json", "tau2-bench-1.0.1", 409, 0),
        ("tau2-airline-opus-4-6.json", "tau2-bench-1.0.1", 435, 0),
        ("tau2-airline-qwen2.5-7b.json", "tau2-bench-1.0.1", 344, 0),
        ("tau2-retail-gpt-4.1.json", "tau2-bench-1.0.1", 299, 0),
        ("tau2-retail-gpt-4o-trial1.json", "tau2-bench-1.0.1", 338, 0),
        ("tau2-telecom-gpt-4.1.json", "", 0, 0),
    ],
)
def test_other_recordings_are_rebuilt_without_drift(
    file: str, clone: str, equal: int, lost: int
) -> None:
    """Of both benchmarks; the one whose tools nobody here knows is answered from the tape."""
    found = by_oracle(
        reference(f"recordings/{file}"), Where(packs=reference(clone) if clone else None)
    )
    assert found.outputs == {"equal": equal, "cosmetic": 0, "different": 0}
    assert found.conversation_counts["lost"] == lost
    assert found.agreement.share == 1.0


@pytest.mark.parametrize(
    ("limit", "queries", "labels"), mostly_slow([(40, 80, 150), (300, 600, 1000)])
)
def test_star_dialogues_replay_from_the_tape(limit: int, queries: int, labels: int) -> None:
    """Next move, query and constraints, and the reply's label where the set has one; all 300."""
    found = by_oracle(reference("star/dialogues"), Where(limit=limit))
    assert found.conversation_counts["read"] == limit
    assert found.conversation_counts["lost"] == 0
    assert found.agreement.share == 1.0
    assert found.checks["same_arguments"].equal == found.checks["same_arguments"].total > queries
    assert found.checks["same_label"].equal == found.checks["same_label"].total > labels


def test_an_agent_that_only_talks_is_never_off_the_tape() -> None:
    """Nobody has to know what a call would have given."""
    some = Where(limit=20)
    talk = report(reference("star/dialogues"), "python:replay_agents:Reader", some)
    assert talk.counts["off_tape"] == 0
    assert 0 < talk.agreement.equal < talk.agreement.total


def test_abcd_conversations_replay_from_the_tape() -> None:
    """Buttons of the agent are calls, what it says is not judged."""
    found = by_oracle(reference("abcd/abcd_sample.json"))
    assert found.agreement.share == 1.0
    assert {row.tool for row in found.by_tool()} >= {"pull-up-account", "validate-purchase"}
