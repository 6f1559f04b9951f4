"""Runs of tau-bench and tau2 as conversations: what was said, what was called, how it ended."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from passhat.errors import Fault
from passhat.recordings.benchmark_files import read_recording
from passhat.recordings.conversation import Format
from passhat.recordings.readers import read_conversations
from passhat.recordings.writers import write_conversations
from passhat.transcript import ErrorKind, ToolCallEvent

from ..reference_data import mostly_slow, reference
from .conversations import FOUND, OPENAI, ORDER, STORY, lines, read, read_one, told, write

STOP = {"role": "user", "content": "###STOP###"}


def run(traj: Any, **changes: Any) -> dict[str, Any]:
    """A run as tau-bench writes it."""
    info = {"task": {"instruction": "You want no kettle.", "actions": []}, "source": "user"}
    return {"task_id": 4, "trial": 1, "reward": 1.0, "info": info, "traj": traj} | changes


def simulation(messages: Any, **changes: Any) -> dict[str, Any]:
    """A simulation as tau2 writes it."""
    return {
        "id": "x",
        "task_id": "4",
        "trial": 1,
        "termination_reason": "user_stop",
        "reward_info": {"reward": 1.0},
        "messages": messages,
    } | changes


def results(*simulations: Any, **changes: Any) -> dict[str, Any]:
    """A results file of tau2."""
    return {
        "timestamp": "now",
        "info": {
            "num_trials": 1,
            "environment_info": {"domain_name": "kettles", "policy": "Be kind.", "tool_defs": [1]},
        },
        "tasks": [
            {
                "id": "4",
                "user_scenario": {"instructions": {"domain": "kettles", "known_info": "K-77."}},
            }
        ],
        "simulations": list(simulations),
    } | changes


def test_a_run_of_tau_bench_tells_the_story_and_its_end(tmp_path: Path) -> None:
    """Named by task and trial; the policy is the system prompt, the instruction the script."""
    conversation = read_one(tmp_path, [run([*OPENAI["messages"], STOP])])
    assert conversation.format is Format.TAU_BENCH
    assert conversation.address.trial == "4/1"
    assert told(conversation) == [*STORY, ("user", "###STOP###"), ("end", "user stop")]
    assert (conversation.system, conversation.script) == ("Be kind.", "You want no kettle.")
    assert (conversation.reward, conversation.passed, conversation.lost) == (1.0, True, None)


def test_calls_written_as_text_are_calls(tmp_path: Path) -> None:
    """Their outputs come back in the user's role; what is no call was said."""
    look = 'Thought: look.\nAction:\n{"name": "get_order", "arguments": {"order_id": "K-77"}}'
    say = 'Thought: ask.\nAction:\n{"name": "respond", "arguments": {"content": "Shall I?"}}'
    traj = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Cancel K-77."},
        {"role": "assistant", "content": look},
        {"role": "user", "content": f"API output: {FOUND}"},
        {"role": "assistant", "content": say},
        {"role": "user", "content": "API output: is what I say too ###STOP###"},
    ]
    conversation = read_one(tmp_path, [run(traj)])
    assert told(conversation) == [
        ("user", "Cancel K-77."),
        ("call", "get_order", ORDER),
        ("result", "get_order", FOUND),
        ("agent", "Shall I?"),
        ("user", "API output: is what I say too ###STOP###"),
        ("end", "user stop"),
    ]


def test_errors_a_hand_over_and_the_step_limit_are_seen(tmp_path: Path) -> None:
    """tau-bench reports errors as text."""

    def calling(name: str, output: str) -> list[dict[str, Any]]:
        function = {"name": name, "arguments": "{}"}
        return [
            {"role": "assistant", "tool_calls": [{"id": name, "function": function}]},
            {"role": "tool", "tool_call_id": name, "name": name, "content": output},
        ]

    handed = run(calling("transfer_to_human_agents", "Transfer successful"))
    limit = run(calling("nope", "Unknown action nope") + calling("f", "Error: order not found"))
    first, second = read(tmp_path, [handed, limit])
    assert told(first)[-1] == ("end", "handed over")
    assert told(second)[-1] == ("end", "turn limit")
    errors = [event.error for event in second.events if event.kind == "tool_result"]
    assert errors == [ErrorKind.UNKNOWN_TOOL, ErrorKind.REFUSED]


def test_a_crash_is_lost_and_a_grade_that_cannot_be_read_is_no_grade(tmp_path: Path) -> None:
    """The conversation of the second is as good as any."""
    crashed = run([], reward=0.0, info={"error": "Timeout", "traceback": ""})
    odd = run([*OPENAI["messages"], STOP], reward="1.0")
    again = run([*OPENAI["messages"], STOP], trial=None)
    first, second, third, fourth = read(tmp_path, [crashed, odd, again, odd])
    assert (first.lost, first.passed) == ("crashed: Timeout", None)
    assert (second.lost, second.passed, second.reward) == (None, None, None)
    assert "broken record: reward '1.0'" in second.notes[0]
    names = [c.address.trial for c in (first, second, third, fourth)]
    assert names == ["4/1", "4/1~2", "4/2", "4/1~3"]


def test_a_simulation_of_tau2_has_calls_by_both_sides(tmp_path: Path) -> None:
    """Policy, tools, domain and script come from the file around it."""
    messages = [
        {"role": "assistant", "content": "Hi!"},
        {
            "role": "user",
            "content": None,
            "tool_calls": [
                {"id": "u1", "name": "look_at_kettle", "arguments": {}, "requestor": "user"}
            ],
        },
        {"id": "u1", "role": "tool", "content": "It leaks.", "requestor": "user", "error": False},
        {"role": "user", "content": "It leaks."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "", "name": "get_order", "arguments": ORDER, "requestor": "assistant"},
                {"id": "", "name": "get_time", "arguments": {}, "requestor": "assistant"},
            ],
        },
        {"id": "", "role": "tool", "content": FOUND, "requestor": "assistant", "error": False},
        {"id": "", "role": "tool", "content": "boom", "requestor": "assistant", "error": True},
    ]
    conversation = read_one(tmp_path, results(simulation(messages)))
    assert conversation.format is Format.TAU2
    assert told(conversation) == [
        ("agent", "Hi!"),
        ("call", "look_at_kettle", {}),
        ("result", "look_at_kettle", "It leaks."),
        ("user", "It leaks."),
        ("call", "get_order", ORDER),
        ("call", "get_time", {}),
        ("result", "get_order", FOUND),
        ("result", "get_time", "boom"),
        ("end", "user stop"),
    ]
    by = [event.by for event in conversation.events if isinstance(event, ToolCallEvent)]
    assert by == ["user", "agent", "agent"]
    assert (conversation.domain, conversation.system) == ("kettles", "Be kind.")
    assert (conversation.tools, conversation.script) == ((1,), "K-77.")


TALK = [{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "Bye."}]


def test_how_a_simulation_ended_says_whose_doing_it_was(tmp_path: Path) -> None:
    """A provider's failure is a loss whose conversation can still be read."""
    broke = simulation(TALK, termination_reason="infrastructure_error", reward_info=None)
    agent = simulation(TALK, termination_reason="too_many_errors", trial=2)
    ungraded = simulation(TALK, reward_info=None, trial=3)
    empty = simulation(None, trial=4)
    first, second, third, fourth = read(tmp_path, results(broke, agent, ungraded, empty))
    assert (first.lost, first.passed) == ("ended by infrastructure_error", None)
    assert first.events.ending
    assert first.events.ending.fault is Fault.INFRASTRUCTURE
    assert first.events.text_by("agent") == ["Hi!"]
    assert (second.lost, second.passed) == (None, False)
    assert (third.lost, third.passed, third.notes) == (None, None, ())
    assert fourth.lost == "no conversation recorded"


def test_single_simulations_and_folders_of_them_are_read(tmp_path: Path) -> None:
    """A results folder is one recording; the files of any other are read each by itself."""
    folder = tmp_path / "run"
    (folder / "simulations").mkdir(parents=True)
    write(folder, results() | {"simulation_index": []}, "results.json")
    write(folder / "simulations", simulation(TALK), "b.json")
    write(folder / "simulations", '{"task_id": "4", "trial"', "c.json")
    first, second = read_conversations(folder)
    assert (str(first.address), first.domain) == (f"{folder}#4/1", "kettles")
    assert second.lost
    assert second.lost.startswith("the file is damaged here")
    (alone, broken) = read_conversations(folder / "simulations")
    assert (alone.address.trial, alone.domain) == ("4/1", "")
    assert broken.format is Format.UNREADABLE


TAU_BENCH = [
    ("tau-bench-a50b6c1/historical_trajectories/gpt-4o-airline.json", 200, 1164, 0),
    ("recordings/tau1-airline-grok-4-1-fast-reasoning-2trials.json", 100, 574, 5),
    ("recordings/tau1-airline-react-grok-4-fast.json", 50, 275, 1),
    ("recordings/tau1-retail-gpt-4.1-mini.json", 115, 921, 0),
    ("recordings/tau1-retail-grok-4-1-fast-reasoning.json", 115, 849, 1),
]
TAU2 = [
    ("recordings/tau2-airline-gpt-4.1.json", 20, 148, 0),
    ("recordings/tau2-airline-grok-4-fast-unequal-trials.json", 66, 409, 0),
    ("recordings/tau2-airline-opus-4-6.json", 50, 435, 0),
    ("recordings/tau2-airline-qwen2.5-7b.json", 50, 344, 0),
    ("recordings/tau2-retail-gpt-4.1.json", 40, 299, 0),
    ("recordings/tau2-retail-gpt-4o-trial1.json", 40, 338, 0),
    ("recordings/tau2-retail-gpt-4o-trial2.json", 40, 354, 0),
    ("recordings/tau2-retail-gpt-4o-trial3.json", 40, 330, 0),
    ("recordings/tau2-telecom-gpt-4.1.json", 40, 689, 0),
    ("recordings/tau2-telecom-no-user-gpt-4.1.json", 40, 626, 0),
    ("recordings/human-agent-retail", 74, 614, 0),
]


@pytest.mark.parametrize(
    ("name", "runs", "calls", "lost"), [*mostly_slow(TAU_BENCH), *mostly_slow(TAU2)]
)
def test_real_runs_are_read_whole(name: str, runs: int, calls: int, lost: int) -> None:
    """Every call with its result, and the same calls that re-grading carries out."""
    file = reference(name)
    conversations = list(read_conversations(file))
    pairs = [[*c.events.calls("agent"), *c.events.calls("user")] for c in conversations]
    assert len(conversations) == runs
    assert sum(map(len, pairs)) == calls
    assert sum(conversation.lost is not None for conversation in conversations) == lost
    assert all(pair.result is not None for each in pairs for pair in each)
    assert not any(conversation.unreadable for conversation in conversations)
    assert len({str(conversation.address) for conversation in conversations}) == runs
    recorded = [run for run in read_recording(file).runs if run.calls]
    for conversation, calls_of in zip(
        (c for c, each in zip(conversations, pairs, strict=True) if each), recorded, strict=True
    ):
        ours = [
            (pair.call.name, json.dumps(pair.call.arguments), pair.result and pair.result.content)
            for by in ("agent", "user")
            for pair in conversation.events.calls(by)
        ]
        theirs = [(c.name, json.dumps(c.arguments), c.output) for c in calls_of.calls]
        assert Counter(ours) == Counter(theirs)


@pytest.mark.parametrize("name", mostly_slow(name for name, *_ in TAU_BENCH))
def test_a_real_file_of_tau_bench_is_written_as_it_was_read(name: str, tmp_path: Path) -> None:
    """The same JSON, unknown fields and crashed runs included."""
    file = reference(name)
    write_conversations(read_conversations(file), tmp_path / "out", Format.TAU_BENCH)
    assert json.loads((tmp_path / "out").read_bytes()) == json.loads(file.read_bytes())


@pytest.mark.parametrize("name", mostly_slow(name for name, *_ in TAU2 if name.endswith(".json")))
def test_a_real_file_of_tau2_is_written_as_it_was_read(name: str, tmp_path: Path) -> None:
    """Tasks stand in the order of their first run; those never run are no conversations."""
    file = reference(name)
    write_conversations(read_conversations(file), tmp_path / "out", Format.TAU2)
    written, read_from = json.loads((tmp_path / "out").read_bytes()), json.loads(file.read_bytes())
    tasks = {task["id"]: task for task in read_from.pop("tasks")}
    used = list(dict.fromkeys(each["task_id"] for each in read_from["simulations"]))
    assert written.pop("tasks") == [tasks[task] for task in used]
    assert written == read_from


def test_a_line_may_be_a_run(tmp_path: Path) -> None:
    """Runs and simulations as JSONL, each by itself."""
    first, second = read(tmp_path, lines(run([*OPENAI["messages"], STOP]), simulation(TALK)))
    assert (first.format, second.format) == (Format.TAU_BENCH, Format.TAU2)
