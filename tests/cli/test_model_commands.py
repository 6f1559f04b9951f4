"""Commands that ask a model: options, exit codes, and what they say about tokens and dollars."""

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_at_the_kiosk import HAIKU, asked, claude

from passhat.cli.run import with_options
from passhat.errors import UsageError
from passhat.models.fake_claude import FakeClaude

Passhat = Callable[..., Any]
RUN = ("run", "kiosk:DOMAIN", "--agent", HAIKU, "--task", "zone-*")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClaude]:
    """A Claude that serves the kiosk."""
    with claude(monkeypatch) as running:
        yield running


def test_a_run_says_what_it_spent_and_so_does_all_that_shows_it(
    passhat: Passhat, server: FakeClaude
) -> None:
    """Requests, tokens, cache share and dollars of each side; what a trial and a success cost."""
    said = passhat(*RUN)
    assert said.code == 0
    agent = r"agent +18 requests, [\d,]+ tokens in \(\d+% read from cache\), [\d,]+ out, \$0\.\d+"
    cost = r"cost \$0\.\d+, \$0\.\d+ a trial, \$0\.\d+ a success"
    for out in (said.out, passhat("curve", "last").out, passhat("show", "last").out):
        assert re.search(agent, out)
        assert re.search(cost, out)
    assert re.search(r"agent +3 requests, ", passhat("show", "last/zone-1/1").out)
    assert re.search(r"lost +owed +cost *\n", passhat("runs").out)


def test_json_holds_what_was_spent(passhat: Passhat, server: FakeClaude) -> None:
    """In all five parts, side by side; null where no model was asked."""
    found = json.loads(passhat(*RUN, "--json").out)["spending"]
    assert found["sides"]["agent"]["requests"] == 18
    assert set(found["sides"]) == {"agent", "warm-up"}
    assert found["total"]["cost_dollars"] == pytest.approx(
        sum(side["cost_dollars"] for side in found["sides"].values())
    )
    assert found["cost_per_success"] == pytest.approx(found["total"]["cost_dollars"] / 6)
    assert json.loads(passhat("curve", "last", "--json").out)["spending"] == found
    assert json.loads(passhat("runs", "--json").out)[0]["spending"] == found
    trial = json.loads(passhat("show", "last/zone-1/1", "--json").out)
    assert trial["spending"]["agent"]["requests"] == 3
    without = json.loads(passhat("run", "kiosk:DOMAIN", "--agent", "noop", "--json").out)
    assert without["spending"] is None


def test_a_budget_ends_a_run_in_one_line_and_resume_goes_on(
    passhat: Passhat, server: FakeClaude
) -> None:
    """Exit 3, what was spent, what is kept, and the option that helps."""
    said = passhat(*RUN, "--max-tokens", "5000", "-c", "1", "--quiet")
    assert said.code == 3
    assert said.out == ""
    assert re.fullmatch(
        r"passhat: the run has spent [\d,]+ of its 5,000 tokens \(agent [\d,]+\); \d of 6 trials "
        r"are kept; passhat resume kiosk-\S+ --max-tokens N goes on\n",
        said.err,
    )
    again = passhat("resume", "last", "--max-tokens", "500000", "--quiet")
    assert (again.code, again.err) == (0, "")
    assert "6 scored, 0 lost" in again.out


def test_what_cannot_be_asked_is_one_line_before_the_first_trial(
    passhat: Passhat, server: FakeClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, and no run in the store."""
    said = passhat("run", "kiosk:DOMAIN", "--task", "zone-1", "--agent", "claude:claude-haiku-6")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "claude-haiku-6" in said.err
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    said = passhat(*RUN)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "ANTHROPIC_API_KEY" in said.err
    assert json.loads(passhat("runs", "--json").out) == []
    assert asked(server) == 0


def test_options_of_the_command_line_are_part_of_the_spec(
    passhat: Passhat, server: FakeClaude
) -> None:
    """In one order, whichever they were given in, so that equal runs compare."""
    more = ("-A", "max_tokens=900", "-A", "effort=low", "--one-tool-at-a-time")
    first = json.loads(passhat(*RUN, *more, "--json").out)
    assert first["agent"] == f"{HAIKU},effort=low,max_tokens=900,one_tool_at_a_time=yes"
    body = server.requests[-1].body
    assert (body["max_tokens"], body["output_config"]) == (900, {"effort": "low"})
    assert body["tool_choice"]["disable_parallel_tool_use"] is True


def test_an_option_is_not_given_twice() -> None:
    """Neither does one win in silence, nor is an agent without options given any."""
    assert with_options("slippery:0.05", None) == "slippery:0.05"
    with pytest.raises(UsageError, match="option 'effort' is given twice"):
        with_options(f"{HAIKU},effort=low", ["effort=high"])
    with pytest.raises(UsageError, match="'effort' is no option; write name=value"):
        with_options(HAIKU, ["effort"])


def test_a_replay_in_batches_is_resumed_from_beside_the_store(
    passhat: Passhat, server: FakeClaude, tmp_path: Path
) -> None:
    """The same cuts, the same words, and nothing is paid for twice."""
    passhat(*RUN, "--quiet")
    usual = json.loads(passhat("replay", "last", "--agent", HAIKU, "--json").out)
    batched = json.loads(passhat("replay", "last", "--agent", HAIKU, "--batch", "--json").out)
    costs = [found.pop("spending")["sides"]["agent"]["cost_dollars"] for found in (usual, batched)]
    assert usual == batched
    assert costs[1] == pytest.approx(costs[0] / 2)
    assert (tmp_path / "store.batches.jsonl").exists()
    server.requests.clear()
    said = passhat("replay", "last", "--agent", HAIKU, "--batch")
    assert re.search(r"agent +18 requests, ", said.out)
    assert not [seen for seen in server.requests if seen.method == "POST"]


def test_batches_are_for_agents_that_ask_claude(passhat: Passhat) -> None:
    """One line for all others."""
    said = passhat("replay", "last", "--agent", "rule-based", "--batch")
    assert said.code == 2
    assert "--batch is for agents that ask Claude" in said.err


def test_a_person_talks_to_a_model(
    passhat: Passhat, server: FakeClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is told in one line if there is no key."""
    lines = ["I would like ticket T-1 in zone Z2, please.", "Yes, please.", "/done"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    said = passhat("play", "kiosk:DOMAIN", "--as", "user", "--agent", HAIKU)
    assert (said.code, said.err) == (0, "")
    assert "your ticket T-1 is now valid in zone Z2" in said.out
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    said = passhat("play", "kiosk:DOMAIN", "--as", "user", "--agent", HAIKU)
    assert (said.code, said.err.count("\n")) == (2, 1)
