"""Customers played by a model in whole conversations, without one and through the real SDK."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.envs.desk import DeskEnv
from passhat.envs.episode import Episode
from passhat.errors import Fault
from passhat.harness.play import play
from passhat.models.account import Account, Channel
from passhat.models.fake_claude import FakeClaude, serving
from passhat.models.model import Model, ModelUse, Request
from passhat.simulator.model_user.protocol import JUDGEMENT_SCHEMA
from passhat.simulator.model_user.user import STRATEGIES, Manner, ModelUser
from passhat.simulator.user import Setting, UserKind, user_kind
from passhat.task import UserScript
from passhat.transcript import EndReason, MessageEvent, Observation, Transcript

from ..models.chat_server import chat_server, completion
from .models_for_users import AgendaModel, Scripted, says

SOME = {"retail": 12, "airline": 12}  # Take every so manieth task.


def played_by(model: Model, **manner: Any) -> UserKind:
    """Customers whom this model plays."""

    def make(script: UserScript, setting: Setting) -> ModelUser:
        channel = Channel(model, setting.account, "user", f"user-{setting.seed:x}")
        return ModelUser(script, setting.profile, channel, setting.now, Manner(**manner))

    return UserKind(model.spec, make, use=ModelUse(model))


def conversation(domain: str, task: str, user: str | UserKind, seed: int) -> Transcript:
    """What the rule-based agent and this customer come to."""
    desk = load_domain(domain)
    tools = tuple(tool.schema for tool in desk.tools.values())
    brief = Brief(domain, desk.policy, tools, desk.world.now.isoformat())

    async def played(episode: Episode) -> Transcript:
        await play(episode, agent_kind("rule-based"), brief)
        if isinstance(user, UserKind) and user.use is not None:
            await user.use.model.close()
        return episode.transcript

    with Episode.start(desk, desk.task(task), user=user, seed=seed) as episode:
        return asyncio.run(played(episode))


def without_provider(transcript: Transcript) -> list[dict[str, Any]]:
    """What happened, aside from who wrote it and what it cost."""
    unsaid = {"provider", "usage", "seconds"}
    return [event.model_dump(exclude=unsaid) for event in transcript]


TASKS = [(d, t) for d, step in SOME.items() for t in [*load_domain(d).tasks][::step]]


@pytest.mark.parametrize(("domain", "task"), TASKS)
def test_a_model_that_answers_as_the_agenda_user_does_plays_the_same_conversation(
    domain: str, task: str
) -> None:
    """Script, words and endings pass through messages and JSON, and nothing of them is lost."""
    strategy = sorted(STRATEGIES.keys() - {"verify"})[len(task) % 3]
    user = played_by(AgendaModel(), strategy=strategy, retries=0)
    own = conversation(domain, task, "agenda", seed=3)
    assert without_provider(conversation(domain, task, user, seed=3)) == without_provider(own)


def test_the_agent_sees_what_was_said_and_nothing_else_of_the_customer() -> None:
    """The thought is in the transcript, for readers; not in what the agent observes."""
    domain = load_domain("retail")
    task = next(iter(domain.tasks.values()))
    line = says(task.user.goals[0].ask, thought="I must not tell my secret.")
    with Episode.start(domain, task, user=played_by(Scripted(line), strategy="think")) as episode:
        episode.user_turn()
        (kept,) = episode.transcript
        assert isinstance(kept, MessageEvent)
        assert kept.provider["thought"] == "I must not tell my secret."
        assert "secret" not in episode.observation.model_dump_json()
        assert episode.observation.text == task.user.goals[0].ask


def test_an_observation_made_of_a_transcript_holds_no_thought_either() -> None:
    """Replays hand out recorded events, whatever these hold."""
    event = MessageEvent(index=0, turn=0, by="user", content="Hi", provider={"thought": "Hm"})
    assert Observation(events=(event,)).events[0].provider is None  # type: ignore[union-attr]
    assert event.provider == {"thought": "Hm"}


def test_a_customer_who_cannot_keep_the_contract_loses_the_trial_to_the_simulator() -> None:
    """What the tries cost is on the trial's account all the same."""
    domain = load_domain("retail")
    task = next(iter(domain.tasks.values()))
    account = Account()
    user = played_by(Scripted(*[says("How can I help you?")] * 3))
    with Episode.start(domain, task, user=user, account=account) as episode:
        episode.user_turn()
        ending = episode.transcript.ending
        assert ending is not None
        assert (ending.reason, ending.fault) == (EndReason.LOST, Fault.SIMULATOR)
        assert ending.detail.startswith("spoke as the agent: 'how can i help you'")
        assert account.spent["user"].requests == 3


def test_the_env_waits_for_the_customers_model() -> None:
    """A Gymnasium env is not asynchronous; its customer's model is."""
    env = gymnasium.make("passhat/Retail-v0", task=TASKS[0][1], user=played_by(AgendaModel()))
    own = gymnasium.make("passhat/Retail-v0", task=TASKS[0][1])
    assert env.reset(seed=5)[0] == own.reset(seed=5)[0]
    asking = {"type": "message", "content": "May I have your e-mail address, please?"}
    assert env.step(asking)[0] == own.step(asking)[0]
    env.close()
    own.close()


def test_an_env_makes_its_kind_of_user_once() -> None:
    """All its episodes share one model, and its connections."""
    env = DeskEnv("retail", task=TASKS[0][1], user="agenda")
    kind = env.user
    env.reset(seed=1)
    env.reset(seed=2)
    assert isinstance(kind, UserKind)
    assert env.user is kind
    env.close()


# --- over the real SDK ----------------------------------------------------------------------------


def agenda_brain(body: dict[str, Any]) -> Any:
    """Answers the requests of model users as the agenda user would."""
    if body["output_config"]["format"]["schema"] == JUDGEMENT_SCHEMA:
        return '{"problem": "", "good": true}'
    system = body["system"] if isinstance(body["system"], str) else body["system"][0]["text"]
    request = Request(
        system,
        body["messages"],
        schema=body["output_config"]["format"]["schema"],
        conversation=body["metadata"]["user_id"],
    )
    return AgendaModel().complete(request)


@pytest.fixture
def claude(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClaude]:
    """A server that speaks the Messages API, and an environment in which it is found."""
    with serving(agenda_brain) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "anything")
        yield server


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_the_same_conversation_comes_through_the_messages_api(
    claude: FakeClaude, strategy: str
) -> None:
    """A server as strict as the real one takes every request of every strategy."""
    domain, task = TASKS[0]
    spec = f"claude:claude-haiku-5-5,strategy={strategy}"
    kind = user_kind(spec)
    heard = conversation(domain, task, kind, seed=3)
    assert without_provider(heard) == without_provider(conversation(domain, task, "agenda", seed=3))
    lines = [event for event in heard.messages() if event.by == "user"]
    assert all(line.usage is not None and line.usage.output_tokens for line in lines)
    assert all(line.provider["model"] == "claude-haiku-5-5" for line in lines)
    assert len(claude.requests) == len(lines) * (2 if strategy == "verify" else 1)


def test_a_bad_line_is_written_anew_over_the_messages_api(claude: FakeClaude) -> None:
    """The remark is a block behind the agent's words, which the API takes."""
    domain, task = TASKS[0]
    own = conversation(domain, task, "agenda", seed=3)
    asked = 0

    def careless(body: dict[str, Any]) -> Any:
        nonlocal asked
        asked += 1
        return says("Cancel #W0000001.") if asked % 2 else agenda_brain(body)

    claude.brain = careless
    heard = conversation(domain, task, user_kind("claude:claude-haiku-5-5,retries=1"), seed=3)
    assert without_provider(heard) == without_provider(own)
    lines = [event for event in heard.messages() if event.by == "user"]
    assert [len(line.provider["discarded"]) for line in lines] == [1] * len(lines)


def test_the_env_asks_a_model_that_a_spec_names(claude: FakeClaude) -> None:
    """Making the env, resetting it and stepping it are all it takes."""
    with_model, own = (
        gymnasium.make("passhat/Retail-v0", task=TASKS[0][1], user=user)
        for user in ("claude:claude-haiku-5-5", "agenda")
    )
    for seed in (1, 2):
        assert with_model.reset(seed=seed)[0] == own.reset(seed=seed)[0]
        asking = {"type": "message", "content": "May I have your e-mail address, please?"}
        assert with_model.step(asking)[0] == own.step(asking)[0]
    with_model.close()
    own.close()
    assert len(claude.requests) == 4


def test_what_all_customers_are_told_is_read_from_the_cache(claude: FakeClaude) -> None:
    """After the first customer, the others find the instructions there, and then their own past."""
    kind = user_kind("claude:claude-sonnet-5-5")
    for domain, task in TASKS[:2]:
        heard = conversation(domain, task, kind, seed=3)
    usages = [e.usage for e in heard.messages() if e.by == "user" and e.usage is not None]
    shares = [usage.cache_share or 0.0 for usage in usages]
    assert shares[0] > 0.7
    assert min(shares[1:]) > 0.9


@pytest.mark.parametrize("form", ["json_schema", "prompt"])
def test_a_server_that_speaks_chat_completions_plays_the_customer(form: str) -> None:
    """No feature of Claude's is needed: a schema, or a model that can be told one, will do."""
    with chat_server(completion("Cancel it!"), completion(says("Please cancel it."))) as server:
        user = user_kind(f"openai:model-1,base_url={server.url},schema={form},strategy=think")
        env = DeskEnv("retail", task=TASKS[0][1], user=user)
        assert env.reset(seed=1)[0] == "Please cancel it."
        (line,) = env.episode.transcript if env.episode else ()
        env.close()
    assert [one["problem"][:21] for one in line.provider["discarded"]] == ["no JSON of the schema"]
    first, again = server.asked
    assert ("response_format" in first) == (form == "json_schema")
    assert ("of this schema" in first["messages"][0]["content"]) == (form == "prompt")
    assert "<remark>" in json.dumps(again["messages"][-1])
