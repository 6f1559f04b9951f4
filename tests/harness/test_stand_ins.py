"""Scripted agents and users that answer for a model, behind real HTTP and the real SDK."""

import asyncio
import random
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.errors import UsageError
from passhat.harness.attempt import Attempts, Conditions, unpack_transcript
from passhat.harness.stand_ins import StandIns, seed_of
from passhat.harness.trials import FinishedTrial, trial_of
from passhat.models.fake_claude import serving
from passhat.models.fake_claude.scripts import Script
from passhat.models.model import StopReason
from passhat.simulator.model_user.protocol import JUDGEMENT_SCHEMA, Answer, answer_schema

AGENT, USER = "claude:claude-sonnet-5-5", "claude:claude-haiku-5-5"
TASKS = {"retail": 4, "airline": 3}
"""How many tasks of each domain are played."""


def play(domain: str, agent: str, user: str, tasks: Sequence[str]) -> list[FinishedTrial]:
    """Play some tasks at once, in an event loop of its own."""

    async def all_of_them() -> list[FinishedTrial]:
        conditions = Conditions(domain, agent, user)
        attempts = Attempts(conditions, load_domain(domain), agent_kind(agent))
        trials = [trial_of(7, domain, task, 1) for task in tasks]
        try:
            return await asyncio.gather(*map(attempts.attempt, trials))
        finally:
            for use in attempts.uses:
                await use.model.close()

    return asyncio.run(all_of_them())


def some_tasks(domain: str) -> list[str]:
    """Tasks from all over the domain."""
    tasks = list(load_domain(domain).tasks)
    return tasks[:: len(tasks) // TASKS[domain]][: TASKS[domain]]


def told(trial: FinishedTrial) -> list[tuple[Any, ...]]:
    """What was said and done, without ids, times and costs."""
    kept = ("kind", "by", "content", "name", "arguments", "error", "rows", "reason", "user_end")
    return [
        tuple(getattr(event, name, None) for name in kept)
        for event in unpack_transcript(trial.transcript)
    ]


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any key will do."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "anything")


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("domain", TASKS)
@pytest.mark.parametrize("agent", ["rule-based", "slippery:0.1:rule-based"])
def test_a_run_through_the_real_client_is_what_it_is_without(domain: str, agent: str) -> None:
    """The same words, calls, rows and grades, whatever goes wrong on the way.

    Only a scripted agent that ends the conversation says goodbye instead: a model cannot end it.
    """
    faults = ["rate-limit=0.2:0.001"]
    with serving(StandIns(agent).brain, faults=faults) as server:
        at = f",base_url={server.url}"
        ours = play(domain, AGENT + at, USER + at, some_tasks(domain))
        bodies = [seen.body for seen in server.requests if seen.body]
        answers = {str(seen.body): seen.answer for seen in server.requests if seen.usage}
    theirs = play(domain, agent, "agenda", some_tasks(domain))
    stopped = 0
    for through, direct in zip(ours, theirs, strict=True):
        if direct.ending == "agent stop":
            stopped += 1
            continue
        assert told(through) == told(direct)
        assert (through.reward, through.reason) == (direct.reward, direct.reason)
    assert stopped < len(ours)
    random.Random(1).shuffle(bodies)
    restarted = StandIns(agent)
    for number, body in enumerate(bodies):
        if number % 3 == 0:
            restarted = StandIns(agent, conversations=2)
        if (answer := answers.get(str(body))) and answer["content"]:
            assert without_ids(restarted.brain(body).content) == without_ids(answer["content"])


def without_ids(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks as a stand-in gives them, before the server completes them."""
    added = {"tool_use": "id", "thinking": "signature", "text": ""}
    return [
        {name: value for name, value in block.items() if name != added[block["type"]]}
        for block in blocks
    ]


def agent_request(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A request as a model agent makes it."""
    tools = [{"name": "find_user_id_by_email", "input_schema": {"type": "object"}}]
    hello = {
        "role": "user",
        "content": [
            {"type": "text", "text": "It is now 2026-03-16T15:00:00."},
            {"type": "text", "text": "Hi, please cancel my order. I am ann@example.com."},
        ],
    }
    asked = {"model": "claude-haiku-5-5", "max_tokens": 1000, "system": "Obey.", "tools": tools}
    return {**asked, "messages": [hello, *messages], **changes}


def test_an_agent_thinks_only_if_the_request_lets_it() -> None:
    """As models do."""
    for thinking, kinds in (
        ("adaptive", ["thinking", "tool_use"]),
        ("between_tools", ["tool_use"]),
    ):
        reply = StandIns().brain(agent_request(thinking={"type": thinking}))
        assert [block["type"] for block in reply.content] == kinds
        assert reply.stop is StopReason.TOOL_USE


def test_an_agent_of_your_own_may_be_asynchronous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for."""
    (tmp_path / "parrot.py").write_text(
        "class Parrot:\n"
        "    def __init__(self, brief):\n"
        "        self.now = brief.now\n"
        "    async def act(self, observation):\n"
        "        return {'type': 'message', 'content': f'{self.now} {observation.text}'}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    reply = StandIns("python:parrot:Parrot").brain(agent_request())
    assert reply.text == ("2026-03-16T15:00:00 Hi, please cancel my order. I am ann@example.com.")


def test_a_conversation_that_takes_another_turn_is_played_anew() -> None:
    """What was remembered of it helps as far as it is the same; answers depend on words alone."""
    call = {"type": "tool_use", "id": "a", "name": "find_user_id_by_email", "input": {}}
    results = [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": "no such customer",
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "a", "content": "ann_lee_1234"},
    ]
    bodies = [agent_request()] + [
        agent_request(
            {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}
        )
        for result in results
    ]
    one = StandIns()
    for body in (*bodies, *reversed(bodies), bodies[1]):
        before = deepcopy(body)
        assert one.brain(body) == StandIns().brain(body)
        assert body == before


def test_rules_of_a_script_go_first() -> None:
    """Where none fits, the agent answers."""
    script = Script([{"when": {"says": "cancel"}, "stop": "refusal", "text": "I must not."}])
    stand_ins = StandIns(script=script)
    assert stand_ins.brain(agent_request()).stop is StopReason.REFUSAL
    other = agent_request()
    other["messages"][0]["content"][1]["text"] = "Hi, where is my order?"
    assert stand_ins.brain(other).stop is not StopReason.REFUSAL


def test_a_judge_finds_every_line_good() -> None:
    """The customers who are judged here are scripted."""
    form = {"type": "json_schema", "schema": JUDGEMENT_SCHEMA}
    reply = StandIns().brain(agent_request(tools=[], output_config={"format": form}))
    assert reply.text == '{"problem":"","good":true}'


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("strategy", ["think", "verify", "reflect"])
def test_customers_are_played_whatever_the_strategy(strategy: str) -> None:
    """The answer has the fields that are asked for."""
    (task,) = some_tasks("retail")[:1]
    with serving(StandIns().brain) as server:
        user = f"{USER},base_url={server.url},strategy={strategy}"
        (through,) = play("retail", "rule-based", user, [task])
    (direct,) = play("retail", "rule-based", "agenda", [task])
    assert told(through) == told(direct)


def test_an_answer_has_the_fields_of_its_schema() -> None:
    """So that every answer that a customer gives can be read."""
    form = {"type": "json_schema", "schema": answer_schema("thought")}
    script = (
        '<script>\n{"now": "", "about you": {}, "script": {"goals": [{"ask": "Hi."}]}}\n</script>'
    )
    body = {
        "model": "claude-haiku-5-5",
        "messages": [{"role": "user", "content": f"Play this.\n{script}"}],
        "output_config": {"format": form},
    }
    assert "Hi." in Answer.model_validate_json(StandIns().brain(body).text).text


@pytest.mark.parametrize(
    ("agent", "user", "says"),
    [
        ("reference", "agenda", "'reference' cannot stand in for a model: it sees the task"),
        (AGENT, "agenda", "asks a model itself"),
        ("rule-based", USER, "asks a model itself"),
        ("nobody", "agenda", "no agent 'nobody'"),
        ("rule-based", "nobody", "no user 'nobody'"),
    ],
)
def test_who_cannot_stand_in_is_told_at_once(agent: str, user: str, says: str) -> None:
    """In one line."""
    with pytest.raises(UsageError, match=says):
        StandIns(agent, user)


def test_a_request_of_nobody_is_not_answered() -> None:
    """It says what there are."""
    with pytest.raises(UsageError, match="neither an agent's request"):
        StandIns().brain(agent_request(tools=[]))


def test_any_name_of_a_conversation_gives_a_seed() -> None:
    """That which passhat put into it, or one of its own."""
    assert seed_of("user-1f") == 31
    assert seed_of("conversation 1") != seed_of("conversation 2")
