"""Runs: checked before they begin, repeatable, and hurt by no agent beyond its own trials."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import kiosk
import pytest
from helpers import SLIPPERY, Log, contents, kiosk_plan, new_store

import passhat
from passhat.errors import Fault, UsageError
from passhat.harness.attempt import Conditions, load_attempts
from passhat.harness.fingerprint import TASK_SET, _package, fingerprint, fingerprint_parts
from passhat.harness.run import Effort, Plan, start_run
from passhat.harness.selection import select_tasks
from passhat.harness.store import Store
from passhat.transcript import EndReason


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


# --- what is kept ---------------------------------------------------------------------------------


def test_every_planned_trial_is_played_and_kept(store: Store) -> None:
    """With a grade, a seed, counts, and a transcript."""
    log = Log()
    ended = start_run(store, kiosk_plan(trials=3), log)
    assert not ended.interrupted
    assert ended.run.status == "finished"
    assert log.owed == len(log.trials) == 18
    rows = store.trials(ended.run)
    assert {row.result for row in rows} == {"passed", "failed"}
    for row in rows:
        details = store.trial(ended.run, row.task, row.trial)
        calls = list(details.transcript.calls())
        assert row.tool_calls == len(calls)
        assert row.reason == "" if row.result == "passed" else row.reason
        assert {verdict.grader for verdict in details.verdicts} >= set(details.basis)


def test_a_run_repeats_exactly(store: Store) -> None:
    """Same seed, same transcripts and verdicts; another seed, other ones."""
    first, again, other = (start_run(store, kiosk_plan(seed=seed), Log()).run for seed in (1, 1, 2))
    assert contents(store, first) == contents(store, again)
    assert contents(store, first) != contents(store, other)


def test_concurrency_changes_nothing(store: Store) -> None:
    """Eight at once play the same trials as one after another, agents with threads too."""
    plan = kiosk_plan("python:kiosk:flaky", trials=4)
    one, eight = (start_run(store, plan, Log(), Effort(concurrency=n)).run for n in (1, 8))
    assert results(store, one) == results(store, eight)
    assert set(results(store, one).values()) == {"passed", "failed"}
    scripted = kiosk_plan()
    one, eight = (start_run(store, scripted, Log(), Effort(concurrency=n)).run for n in (1, 8))
    assert contents(store, one) == contents(store, eight)


@pytest.mark.slow
def test_worker_processes_change_nothing(store: Store) -> None:
    """Two processes play the same trials as this one."""
    here = start_run(store, kiosk_plan(), Log()).run
    there = start_run(store, kiosk_plan(), Log(), Effort(workers=2)).run
    assert contents(store, here) == contents(store, there)


def test_one_trial_is_the_same_in_any_run(store: Store) -> None:
    """Its seed depends on run seed, task and number, not on what else is played."""
    every = start_run(store, kiosk_plan(trials=3), Log()).run
    few = start_run(store, kiosk_plan(trials=2, tasks=("zone-5",)), Log()).run
    assert contents(store, every).items() >= contents(store, few).items()


def results(store: Store, run: object) -> dict[str, str]:
    """Result by trial."""
    return {f"{r.task}/{r.trial}": r.result for r in store.trials(run)}  # type: ignore[arg-type]


# --- agents that go wrong -------------------------------------------------------------------------


def test_a_bad_agent_hurts_no_other_trial(store: Store) -> None:
    """It raises, hangs, answers 42 or exits: its own trials fail, and say why."""
    plan = kiosk_plan("python:kiosk:tempers", trials=1)
    run = start_run(store, plan, Log(), Effort(concurrency=6)).run
    rows = {row.task: row for row in store.trials(run)}
    assert [rows[f"zone-{n}"].result for n in range(1, 7)] == ["failed"] * 4 + ["passed"] * 2
    for task, why in {
        "zone-1": "ValueError: the agent broke",
        "zone-2": "no answer within 0.5 s",
        "zone-3": "not an action",
        "zone-4": "SystemExit: 7",
    }.items():
        assert rows[task].fault is Fault.AGENT
        assert rows[task].ending == EndReason.AGENT_CRASHED
        assert rows[task].reason.startswith(f"ending: agent crashed: {why}")


def test_what_an_agent_prints_stays_out_of_the_results(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stdout is for results, stderr for everything else."""
    start_run(store, kiosk_plan("python:kiosk:noisy", trials=1), Log())
    out, err = capsys.readouterr()
    assert out == ""
    assert "NOISE" in err


@pytest.mark.slow
def test_a_worker_that_dies_loses_only_what_it_was_at(store: Store) -> None:
    """Another process takes its place; the lost trials are owed."""
    plan = kiosk_plan("python:kiosk:killer", trials=2)
    run = start_run(store, plan, Log(), Effort(workers=2)).run
    found = Counter((row.task, row.result, row.fault) for row in store.trials(run))
    assert found.pop(("zone-2", "lost", Fault.INFRASTRUCTURE)) == 2
    assert {(result, count) for (_, result, _), count in found.items()} == {("passed", 2)}
    assert [trial.task for trial in store.owed(run)] == ["zone-2", "zone-2"]


# --- broken tasks, wrong plans --------------------------------------------------------------------


def test_a_broken_task_is_lost_and_the_others_are_played(store: Store) -> None:
    """One line says so at the start; its trials never enter n."""
    log = Log()
    run = start_run(store, kiosk_plan(trials=2, tasks=("zone-1", "broken")), log).run
    (line,) = log.said
    assert "its reference action change_zone fails" in line
    assert store.counts(run)["lost"] == 2
    lost = [r for r in store.trial_results(run) if r.passed is None]
    assert {(r.task, r.fault) for r in lost} == {("broken", Fault.TASK)}


def test_nothing_but_broken_tasks_is_no_run(store: Store) -> None:
    """It says why, and leaves no run behind."""
    with pytest.raises(UsageError, match="every task is broken"):
        start_run(store, kiosk_plan(tasks=("broken",)), Log())
    assert store.runs() == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tasks": ()}, "no tasks"),
        ({"tasks": ("zone-9",)}, "no task 'zone-9'; did you mean 'zone-"),
        ({"trials": 0}, "trials must be 1 or more, not 0"),
        ({"trials": 10**11}, "100000000000 trials of 6 tasks are 600000000000; a run has at most"),
        ({"seed": -1}, "seed must be from 0"),
        ({"name": "last"}, "not 'last'"),
        ({"name": "a/b"}, "letters, digits"),
        ({"agent": "nope"}, "no agent 'nope'"),
        ({"agent": "python:kiosk:unfinished"}, "cannot be made: KeyError: 'API_KEY'"),
        ({"agent": "python:kiosk:nothing"}, "returned None, which is no agent"),
        ({"user": "nobody"}, "no user 'nobody'"),
        ({"basis": "bias"}, "no grading basis 'bias'"),
        ({"domain": "retial"}, "did you mean 'retail'"),
        ({"domain": "kiosk:SHOP"}, "there is no 'SHOP', but "),
        ({"domain": "kiosk:METADATA"}, "no Domain"),
        ({"domain": "nowhere:SHOP"}, "there is no module 'nowhere'"),
        ({"max_turns": 0}, "max turns must be 1 or more"),
        ({"turn_timeout": 0.0}, "turn timeout must be more than 0"),
        ({"turn_timeout": float("nan")}, "turn timeout must be more than 0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_at_once(
    store: Store, change: dict[str, object], why: str
) -> None:
    """Before a run is written down."""
    plan = kiosk_plan()
    fields = {name: value for name, value in change.items() if hasattr(plan, name)}
    others = {name: value for name, value in change.items() if name not in fields}
    plan = replace(plan, **fields, conditions=replace(plan.conditions, **others))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=why):
        start_run(store, plan, Log())
    assert store.runs() == []


def test_no_effort_is_refused(store: Store) -> None:
    """Zero at once would never end, and ten thousand processes would end the machine."""
    for effort in (Effort(concurrency=0), Effort(workers=0)):
        with pytest.raises(UsageError, match="must be 1 or more, not 0"):
            start_run(store, kiosk_plan(), Log(), effort)
    with pytest.raises(UsageError, match="processes: at most 256, not 10000"):
        start_run(store, kiosk_plan(), Log(), Effort(workers=10_000))


# --- the baseline ---------------------------------------------------------------------------------


def test_doing_nothing_is_measured_once_for_a_task_set(store: Store) -> None:
    """The next run on the same tasks takes it from the store, whoever its agent is."""
    first = start_run(store, kiosk_plan(trials=1), Log()).run
    assert first.baseline is not None
    assert (first.baseline.scored, first.baseline.passed) == (6, 0)
    name = fingerprint(first.parts, TASK_SET)
    assert store.baseline(name, "noop") == first.baseline
    with store._writing() as connection:
        connection.exec_driver_sql("UPDATE baselines SET passed = 3")
    again = start_run(store, kiosk_plan("noop", trials=2, seed=9), Log()).run
    assert again.baseline is not None
    assert again.baseline.passed == 3
    fewer = start_run(store, kiosk_plan(tasks=("zone-1",)), Log()).run
    assert fewer.baseline is not None
    assert fewer.baseline.passed == 0


# --- the fingerprint ------------------------------------------------------------------------------


def parts(conditions: Conditions, tasks: tuple[str, ...] = kiosk.TASKS) -> dict[str, str]:
    """The parts of a fingerprint at the kiosk."""
    return fingerprint_parts(load_attempts(conditions).domain, tasks, conditions)


def test_a_fingerprint_tells_what_differs() -> None:
    """Each part changes with what it is of, and with nothing else."""
    base = Conditions("kiosk:DOMAIN", "noop")
    same = parts(base)
    assert parts(base) == same

    def changed(other: dict[str, str]) -> set[str]:
        return {name for name in same if same[name] != other[name]}

    assert changed(parts(replace(base, agent=SLIPPERY))) == {"agent"}
    assert changed(parts(replace(base, basis="tau-bench"))) == {"basis"}
    assert changed(parts(replace(base, max_turns=9))) == {"max_turns"}
    assert changed(parts(base, kiosk.TASKS[1:])) == {"tasks"}
    other = kiosk.make_kiosk(policy="# Kiosk\n\nAsk twice.\n")
    assert changed(fingerprint_parts(other, kiosk.TASKS, base)) == {"policy"}
    with other.world.fork() as db:
        assert json.dumps(db.find("tickets", {}))  # the world is what is hashed, not its bytes


def test_what_a_model_is_told_is_part_of_the_agent() -> None:
    """Its prompts and how its answers are read; the spec stays readable."""
    base = Conditions("kiosk:DOMAIN", "claude:claude-haiku-5-5")
    plain, asks = (
        fingerprint_parts(kiosk.DOMAIN, kiosk.TASKS, base, agent_asks=asks)
        for asks in (False, True)
    )
    assert {name for name in plain if plain[name] != asks[name]} == {"agent"}
    assert plain["agent"] == base.agent
    assert asks["agent"].startswith(f"{base.agent} ")


def test_every_template_of_a_customer_is_part_of_the_simulator() -> None:
    """Whatever its file is called, and however deep it lies."""
    root = Path(passhat.__file__).parent / "simulator"
    written = [p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert {".py", ".md", ".json"} <= {p.suffix for p in written}
    hashed = set(_package("simulator", endings=("",)))
    assert {p.read_text(encoding="utf-8") for p in written} <= hashed


# --- choosing tasks -------------------------------------------------------------------------------


def test_tasks_are_chosen_by_pattern_tag_and_split() -> None:
    """In the order of the domain, each once."""
    domain = kiosk.DOMAIN
    assert select_tasks(domain) == (*kiosk.TASKS, "broken")
    assert select_tasks(domain, ["zone-[45]", "zone-4", "zone-1"]) == ("zone-1", "zone-4", "zone-5")
    assert select_tasks(domain, ["zone-*"], ["even"]) == ("zone-2", "zone-4", "zone-6")
    assert select_tasks(domain, tags=["even"], split="train") == ("zone-6",)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((["zone-1", "zoen-2"],), "no task 'zoen-2'; did you mean 'zone-2'"),
        (([], ["evne"]), "no tag 'evne'; did you mean 'even'"),
        (([], [], "dev"), "no split 'dev'; there are: 'test', 'train'"),
        ((["zone-1"], ["even"]), "no task of 'kiosk' is left"),
    ],
)
def test_a_choice_that_finds_nothing_is_refused(arguments: tuple[list[str]], why: str) -> None:
    """With what was near."""
    with pytest.raises(UsageError, match=why):
        select_tasks(kiosk.DOMAIN, *arguments)


def test_plan_of_nothing_else_is_needed_for_a_run(store: Store) -> None:
    """Three words make a run: domain, agent, tasks."""
    plan = Plan(Conditions("kiosk:DOMAIN", "noop"), ("zone-1",))
    assert store.counts(start_run(store, plan, Log()).run)["failed"] == 1
