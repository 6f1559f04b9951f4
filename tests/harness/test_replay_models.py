"""Replay with agents that ask a model: one cut after the other, or all at once in batches."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claude_at_the_kiosk import HAIKU, asked, claude, clerk
from helpers import Log, kiosk_plan, new_store

from passhat.errors import RunStoppedError, UsageError
from passhat.harness.replay import Asking, Replayed, replay_all
from passhat.harness.replay_json import conversation_json
from passhat.harness.replay_sources import Where, open_source
from passhat.harness.run import start_run
from passhat.models.fake_claude import FakeClaude


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClaude]:
    """A Claude that serves the kiosk."""
    with claude(monkeypatch) as running:
        yield running


@pytest.fixture
def where(tmp_path: Path, server: FakeClaude) -> Where:
    """A store with a run that Claude played: 12 conversations of 3 moves."""
    with new_store(tmp_path) as store:
        start_run(store, kiosk_plan(HAIKU, trials=2), Log())
        server.requests.clear()
        return Where(store=store.name)


def replayed(
    where: Where, agent: str = HAIKU, concurrency: int = 4, **asking: Any
) -> tuple[list[Replayed], Asking]:
    """The last run, replayed; and how it was asked, with what that cost."""
    with open_source("last", agent, where) as opened:
        about = Asking(opened.kind, **asking)
        return replay_all(opened.sessions, about, concurrency=concurrency), about


def as_json(found: list[Replayed]) -> str:
    """All that a report says of conversations."""
    return json.dumps([conversation_json(one) for one in found])


def test_a_model_agrees_with_its_own_run_and_is_paid_for(where: Where, server: FakeClaude) -> None:
    """The same questions get the same answers; each is one request, on the agent's side."""
    found, asking = replayed(where)
    cuts = [cut for one in found for cut in one.cuts]
    assert len(cuts) == asked(server) == asking.account.spent["agent"].requests == 36
    assert all(cut.agrees for cut in cuts)
    assert asking.account.spent["warm-up"].requests == 1


@pytest.mark.slow
def test_batches_say_the_same_at_half_the_price(
    where: Where, server: FakeClaude, tmp_path: Path
) -> None:
    """All cuts of all conversations go into one batch; a second time it is found again."""
    one_by_one, usual = replayed(where)
    ledger = tmp_path / "ledger.jsonl"
    spec = f"{HAIKU},batch={ledger}"
    at_once, batched = replayed(where, spec, concurrency=1000, ahead=True)
    assert as_json(at_once) == as_json(one_by_one)
    assert batched.account.spent["agent"].requests == 36
    costs = [about.account.spent["agent"].usage.cost_dollars for about in (usual, batched)]
    assert costs[1] == pytest.approx((costs[0] or 0) / 2)
    assert len(ledger.read_text().splitlines()) == 1
    server.requests.clear()
    again, _ = replayed(where, spec, concurrency=1000, ahead=True)
    assert as_json(again) == as_json(one_by_one)
    assert [seen.path for seen in server.requests if seen.method == "POST"] == []


@pytest.mark.parametrize("most", [1, 7])
def test_no_more_cuts_wait_at_once_than_may(where: Where, server: FakeClaude, most: int) -> None:
    """However many there are, all of them are asked."""
    found, _ = replayed(where, concurrency=most, ahead=True, cuts="last")
    assert [len(one.cuts) for one in found] == [1] * 12
    assert asked(server) == 12


def test_an_answer_that_fails_ahead_fails_its_own_cut(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does when agents are asked one cut after the other."""

    def brain(body: dict[str, Any]) -> Any:
        again = len(body["messages"]) > 1
        return [{"type": "text", "text": "x" * 40_000}] if again else clerk(body)

    with claude(monkeypatch, brain):
        spec = f"{HAIKU},max_tokens=400"
        one_by_one, _ = replayed(where, spec)
        at_once, _ = replayed(where, spec, ahead=True)
    assert as_json(at_once) == as_json(one_by_one)
    assert [cut.state.value for cut in at_once[0].cuts] == ["judged", "lost", "lost"]


def test_a_model_that_is_not_there_stops_the_replay(where: Where, server: FakeClaude) -> None:
    """One line, before anything is asked, and in the midst of it too."""
    with pytest.raises(RunStoppedError, match="claude-haiku-6"):
        replayed(where, "claude:claude-haiku-6")
    assert asked(server) == 0
    models = dict(server.models)

    def vanish(body: dict[str, Any]) -> Any:
        server.models.clear()
        return clerk(body)

    server.brain = vanish
    for ahead in (False, True):
        server.models.update(models)
        with pytest.raises(RunStoppedError, match="claude-haiku-5-5"):
            replayed(where, ahead=ahead)


def test_who_goes_on_is_not_asked_ahead(where: Where) -> None:
    """The next question is not known yet."""
    with pytest.raises(UsageError, match="needs each answer before the next question"):
        replayed(where, ahead=True, continuing=True)


def test_a_model_plays_on_from_a_cut(where: Where, server: FakeClaude) -> None:
    """What it spends on the way is counted as well."""
    found, asking = replayed(replace(where, limit=1), continuing=True)
    assert [end.reward for end in found[0].continued] == [1.0] * 3
    assert asking.account.spent["agent"].requests == 3 + 2 + 1
