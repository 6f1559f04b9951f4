"""Runs that ask a model: checked beforehand, paid for side by side, and kept to their budgets."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_at_the_kiosk import HAIKU, asked, claude, clerk
from helpers import Log, contents, kiosk_plan, new_store

from passhat.errors import Fault, InfrastructureError, RunStoppedError, UsageError
from passhat.harness.attempt import Conditions
from passhat.harness.bill import bill_of
from passhat.harness.run import Effort, Plan, resume_run, start_run
from passhat.harness.store import Store
from passhat.models.fake_claude import FakeClaude


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with new_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClaude]:
    """A Claude that serves the kiosk."""
    with claude(monkeypatch) as running:
        yield running


def plan(trials: int = 2, agent: str = HAIKU, **limits: Any) -> Plan:
    """Trials at the kiosk, with limits."""
    planned = kiosk_plan(agent, trials)
    return replace(planned, conditions=replace(planned.conditions, **limits))


def without_words_of_the_server(found: dict[str, object]) -> dict[str, object]:
    """What trials came to, but for times and ids that a server gives."""
    return {trial: (row[0], row[1], row[2], row[3]) for trial, row in found.items()}  # type: ignore[index]


# --- what is spent --------------------------------------------------------------------------------


def test_what_a_model_was_asked_is_on_the_bill(store: Store, server: FakeClaude) -> None:
    """Every reply once, in all five parts; the trials' numbers are what they add up to."""
    run = start_run(store, plan(), Log()).run
    assert store.counts(run)["passed"] == run.planned == 12
    bill = bill_of(store, run)
    assert bill.sides["agent"].requests == asked(server) == 36
    answered = [seen.usage for seen in server.requests if seen.usage]
    assert bill.usage.output_tokens == sum(usage["output_tokens"] for usage in answered)
    assert bill.usage.input_tokens == sum(usage["input_tokens"] for usage in answered)
    rows = store.trials(run)
    agent = bill.sides["agent"].usage
    assert sum(row.input_tokens or 0 for row in rows) == agent.all_input_tokens
    assert sum(row.cost_dollars or 0 for row in rows) == pytest.approx(agent.cost_dollars)
    assert bill.cost_per_success == bill.cost_per_trial == pytest.approx((bill.cost or 0) / 12)
    assert store.spending(run, "zone-1", 1)["agent"].requests == 3


def test_the_cache_is_warmed_once_before_many_begin(store: Store, server: FakeClaude) -> None:
    """One request without an answer, on a side of its own; one trial alone needs none."""
    run = start_run(store, plan(), Log()).run
    warmed = [seen for seen in server.requests if seen.body and not seen.body["max_tokens"]]
    assert len(warmed) == 1
    assert store.spending(run)["warm-up"].requests == 1
    alone = start_run(store, replace(plan(1), tasks=("zone-1",)), Log()).run
    assert set(store.spending(alone)) == {"agent"}


def test_agents_without_a_model_spend_nothing(store: Store) -> None:
    """There is no bill."""
    run = start_run(store, kiosk_plan(trials=1), Log()).run
    assert not bill_of(store, run)
    assert bill_of(store, run).lines() == []


def test_what_an_agent_of_your_own_says_it_used_is_on_the_bill(store: Store) -> None:
    """Though passhat did not ask for it."""
    run = start_run(store, kiosk_plan("python:kiosk:paying", trials=1), Log()).run
    spent = store.spending(run)
    assert spent["agent"].requests == 12
    assert spent["agent"].usage.output_tokens == 60
    assert bill_of(store, run).summary == "cost unknown: no price for python:kiosk:paying"


@pytest.mark.slow
def test_worker_processes_pay_the_same(store: Store, server: FakeClaude) -> None:
    """What they spent comes back with their trials."""
    here = start_run(store, plan(), Log()).run
    there = start_run(store, plan(), Log(), Effort(workers=2)).run
    spent = [store.spending(run)["agent"] for run in (here, there)]
    assert spent[0].requests == spent[1].requests == 36
    assert spent[0].usage.all_tokens == spent[1].usage.all_tokens


# --- before the first trial -----------------------------------------------------------------------


def test_a_missing_key_is_no_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names the variable."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RunStoppedError, match="ANTHROPIC_API_KEY"):
        start_run(store, plan(), Log())
    assert store.runs() == []


def test_an_unknown_model_is_no_run(store: Store, server: FakeClaude) -> None:
    """The provider was asked before anything was written down."""
    with pytest.raises(RunStoppedError, match="claude-haiku-6"):
        start_run(store, plan(agent="claude:claude-haiku-6"), Log())
    assert store.runs() == []
    assert asked(server) == 0


def test_dollars_of_no_known_price_are_no_limit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens are; a trial's dollars are refused as well."""
    with claude(monkeypatch, models=["claude-next-9"]):
        for limits in ({"max_dollars": 1.0}, {"trial_dollars": 0.1}):
            with pytest.raises(UsageError, match="no price is known for 'claude:claude-next-9'"):
                start_run(store, plan(agent="claude:claude-next-9", **limits), Log())
        assert store.runs() == []
        priceless = plan(1, agent="claude:claude-next-9", max_tokens=10**6)
        run = start_run(store, priceless, Log()).run
    assert bill_of(store, run).summary == "cost unknown: no price for claude:claude-next-9"


@pytest.mark.parametrize("limits", [{"max_tokens": 0}, {"trial_dollars": -1.0}, {"max_seconds": 0}])
def test_a_limit_of_nothing_is_refused(store: Store, limits: dict[str, Any]) -> None:
    """It would stop every run at once."""
    with pytest.raises(UsageError, match="must be more than 0"):
        start_run(store, plan(**limits), Log())


# --- budgets --------------------------------------------------------------------------------------


def test_a_run_stops_at_its_budget_and_resume_goes_on(store: Store, server: FakeClaude) -> None:
    """What was finished is kept, what was spent counts, and in the end nothing is different."""
    whole = start_run(store, plan(), Log()).run
    tokens = store.spending(whole)["agent"].usage.all_tokens
    ended = start_run(store, plan(max_tokens=tokens // 2), Log(), Effort(concurrency=2))
    assert (ended.interrupted, ended.run.status) == (True, "interrupted")
    assert (ended.limit, ended.stopped[:17]) == ("max_tokens", "the run has spent")
    kept = store.counts(ended.run)
    assert kept["lost"] == kept["failed"] == 0
    assert 0 < kept["passed"] < 12
    spent = store.spending(ended.run)
    before = asked(server)
    again = resume_run(store, ended.run, Log())
    assert again.interrupted
    assert again.limit == "max_tokens"
    assert asked(server) == before
    assert store.spending(ended.run) == spent
    more = resume_run(store, ended.run, Log(), limits={"max_tokens": 10 * tokens})
    assert not more.interrupted
    assert store.run(ended.run.id).conditions["max_tokens"] == 10 * tokens
    results = [without_words_of_the_server(contents(store, run)) for run in (whole, more.run)]
    assert results[0] == results[1]


def test_what_dropped_trials_spent_counts(store: Store, server: FakeClaude) -> None:
    """All that came back from the provider is on the bill, though nobody keeps the trials."""
    ended = start_run(store, plan(max_tokens=1), Log(), Effort(concurrency=4))
    assert store.counts(ended.run)["owed"] == 12
    spent = store.spending(ended.run)
    assert spent["warm-up"].requests == 1
    ended = resume_run(store, ended.run, Log(), limits={"max_tokens": 1500})
    assert ended.limit == "max_tokens"
    assert store.spending(ended.run)["agent"].usage.all_tokens > 0
    assert sum(s.usage.all_tokens for s in store.spending(ended.run).values()) >= 1500


def test_a_trial_that_spends_too_much_is_lost(store: Store, server: FakeClaude) -> None:
    """Nobody is to blame, the reason says which limit, and it is owed."""
    run = start_run(store, plan(1, trial_tokens=900), Log()).run
    rows = store.trials(run)
    assert {(row.result, row.fault) for row in rows} == {("lost", Fault.INFRASTRUCTURE)}
    assert "of its 900 tokens (agent " in rows[0].reason
    assert store.spending(run)["agent"].requests == 12
    log = Log()
    resumed = resume_run(store, run, log, limits={"trial_tokens": 9000})
    assert store.counts(resumed.run)["passed"] == 6
    assert {row.attempts for row in store.trials(run)} == {2}
    assert store.spending(run)["agent"].requests == 12 + 18


def test_a_trial_that_takes_too_long_is_cut_while_it_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply that is awaited is not waited for."""
    with claude(monkeypatch, latency=30.0):
        run = start_run(store, replace(plan(1, trial_seconds=0.3), tasks=("zone-1",)), Log()).run
    (row,) = store.trials(run)
    assert (row.result, row.fault) == ("lost", Fault.INFRASTRUCTURE)
    assert row.reason == "the trial's budget of 0.3 seconds is spent"


def test_a_run_that_takes_too_long_is_stopped_while_it_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trials under way are owed."""
    with claude(monkeypatch, latency=30.0):
        ended = start_run(store, replace(plan(1, max_seconds=0.3), tasks=("zone-1",)), Log())
    assert (ended.interrupted, ended.limit) == (True, "max_seconds")
    assert ended.stopped == "the run has spent its 0.3 seconds"
    assert store.counts(ended.run)["owed"] == 1


# --- stopped in the midst of it -------------------------------------------------------------------


def vanishing(server: list[FakeClaude], after: int) -> Any:
    """A Claude whose model is withdrawn after so many answers."""
    left = [after]

    def brain(body: dict[str, Any]) -> Any:
        left[0] -= 1
        if left[0] == 0:
            server[0].models.clear()
        return clerk(body)

    return brain


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_that_nobody_answers_any_more_is_stopped_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """What was finished is kept, the rest is owed, none is lost or failed; no limit is named."""
    servers: list[FakeClaude] = []
    with claude(monkeypatch, vanishing(servers, after=12)) as server:
        servers.append(server)
        models = dict(server.models)
        ended = start_run(store, plan(), Log(), Effort(concurrency=2, workers=workers))
        assert (ended.interrupted, ended.limit) == (True, "")
        assert "claude-haiku-5-5" in ended.stopped
        counts = store.counts(ended.run)
        assert (counts["failed"], counts["lost"]) == (0, 0)
        assert 0 < counts["passed"] < 12
        assert store.spending(ended.run)["agent"].requests == 12
        server.models.update(models)
        again = resume_run(store, ended.run, Log())
    assert not again.interrupted
    assert store.counts(again.run)["passed"] == 12


def test_what_abandoned_trials_spent_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C twice drops them; what was paid was paid."""

    def brain(body: dict[str, Any]) -> Any:
        if len(body["messages"]) > 1:
            threading.Thread(target=interrupt_twice).start()
            time.sleep(0.5)
        return clerk(body)

    def interrupt_twice() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    with claude(monkeypatch, brain):
        ended = start_run(store, replace(plan(1), tasks=("zone-1",)), Log())
    assert ended.interrupted
    assert ended.stopped == ""
    assert store.counts(ended.run)["owed"] == 1
    assert store.spending(ended.run)["agent"].requests == 1


def test_a_cassette_that_is_asked_something_new_stops_the_run(
    store: Store, server: FakeClaude, tmp_path: Path
) -> None:
    """It plays the run again that it recorded, and no other one."""
    cassette = tmp_path / "kiosk.jsonl"
    live = start_run(store, plan(agent=f"{HAIKU},record={cassette}"), Log()).run
    before = asked(server)
    again = start_run(store, plan(agent=f"recorded:{cassette}"), Log()).run
    assert asked(server) == before
    assert store.spending(again)["agent"] == store.spending(live)["agent"]
    found = [without_words_of_the_server(contents(store, run)) for run in (live, again)]
    assert found[0] == found[1]
    other = replace(plan(agent=f"recorded:{cassette}"), seed=9)
    ended = start_run(store, other, Log())
    assert (ended.interrupted, ended.limit) == (True, "")
    assert "kiosk.jsonl" in ended.stopped
    assert store.counts(ended.run)["owed"] == 12


def test_a_script_in_place_of_a_model_is_synthetic(store: Store, tmp_path: Path) -> None:
    """Its numbers say nothing about a model, and nobody has to pay."""
    script = tmp_path / "desk.yaml"
    script.write_text("- text: I am sorry, I cannot do that.\n")
    run = start_run(store, plan(1, agent=f"fake:{script}"), Log()).run
    assert run.synthetic
    assert run.note.startswith("SYNTHETIC agent fake:")
    assert store.counts(run)["failed"] == 6


def test_a_dead_provider_loses_trials_and_stops_nothing(store: Store) -> None:
    """An agent's infrastructure is not the run's."""
    plan = Plan(Conditions("kiosk:DOMAIN", "python:kiosk:offline"), ("zone-1", "zone-2"))
    ended = start_run(store, plan, Log())
    assert not ended.interrupted
    assert store.counts(ended.run) == {"passed": 1, "failed": 0, "lost": 1, "owed": 0}
    assert store.spending(ended.run) == {}


# --- a provider that is down ----------------------------------------------------------------------


def test_a_run_stops_when_everything_is_lost(
    store: Store, server: FakeClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losing trial after trial helps nobody; what was lost is owed, and a resume plays it."""
    monkeypatch.setattr("passhat.harness.work.MOST_LOST_IN_A_ROW", 3)
    with pytest.raises(InfrastructureError, match="last 3 trials were all lost: the trial has sp"):
        start_run(store, plan(trial_tokens=1), Log(), Effort(concurrency=1))
    run = store.find_run("last")
    assert (run.status, store.counts(run)["lost"]) == ("interrupted", 3)
    again = resume_run(store, run, Log(), limits={"trial_tokens": 1_000_000})
    assert (again.interrupted, store.counts(again.run)["passed"]) == (False, 12)
