"""Agents played by models that write their tool calls as text."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.agent import AgentError, Brief, FollowingAgent
from passhat.agents.dialogue import read_clock
from passhat.agents.registry import agent_kind
from passhat.agents.text_agents import Strategy, TextAgent
from passhat.agents.text_form import UnreadableError, read_turn, write_action, write_turns
from passhat.domains.domain import load_domain
from passhat.envs.episode import Episode
from passhat.envs.moves import moves_of
from passhat.errors import InfrastructureError, UsageError
from passhat.harness.play import play
from passhat.models.model import Model, Request, StopReason
from passhat.transcript import (
    Message,
    MessageEvent,
    Observation,
    Stop,
    ToolCall,
    ToolCalls,
    ToolResultEvent,
    Transcript,
)

from .models import ListedModel, kind_of, reply, text, thought

Briefs = Callable[..., Brief]
HELLO = write_action("respond", {"content": "Hello!"})
LOOK = write_action("get_order_details", {"order_id": "#W1"})
ACT, REACT = Strategy("act"), Strategy("react", mark="Action: ")


def said(words: str) -> Observation:
    """The customer says something."""
    return Observation(events=(MessageEvent(index=0, turn=0, by="user", content=words),))


def results(*contents: str) -> Observation:
    """Tools answer."""
    return Observation(
        events=tuple(
            ToolResultEvent(index=0, turn=0, call_id="", name="look", content=content)
            for content in contents
        )
    )


def acting(
    model: Model, brief: Brief, *seen: Observation, strategy: Strategy = ACT
) -> list[object]:
    """The moves of an agent."""

    async def all_moves() -> list[object]:
        agent = TextAgent(brief, model, strategy)
        return [await agent.act(observation) for observation in seen]

    return asyncio.run(all_moves())


def texts(request: Request) -> list[str]:
    """What a model was sent, one string a message."""
    return ["\n\n".join(b["text"] for b in message["content"]) for message in request.messages]


# --- reading a turn -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        LOOK,
        f"```json\n{LOOK}\n```",
        f"I will look.\n{LOOK}\nResult of get_order_details:\nshipped",
        f"Thought: look {{first}}\nAction: {LOOK}",
        f"Thought: {{}}\n**Action:** {LOOK}",
        json.dumps({"name": "get_order_details", "arguments": '{"order_id": "#W1"}'}),
        json.dumps(json.loads(LOOK), indent=2),
    ],
)
def test_what_can_be_read_in_one_way_is_read(written: str) -> None:
    """Fences, words around it and arguments in a string leave no doubt about what is meant."""
    turn = read_turn(written)
    assert (turn.name, turn.arguments) == ("get_order_details", {"order_id": "#W1"})


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("", "it has no JSON object"),
        ("Hello, how can I help?", "it has no JSON object"),
        ('{"name": "get_order_details"}', "lacks name or arguments"),
        ('{"action": "get_order_details", "arguments": {}}', "lacks name or arguments"),
        (f"{LOOK}\n{HELLO}", "several actions"),
        (f"Action: {LOOK}\nObservation: shipped\nAction: {HELLO}", "several actions"),
        (LOOK[:-1], "its JSON is broken: Expecting ',' delimiter"),
        (f'{{"name": "note", "arguments": {LOOK}', "its JSON is broken"),
        ('{"name": "look", "arguments": ["#W1"]}', "arguments an object"),
        ('{"name": 3, "arguments": {}}', "name must be a string"),
        ('{"name": "respond", "arguments": {"text": "Hi"}}', "respond takes one argument"),
        ('{"name": "respond", "arguments": {"content": " "}}', "respond takes one argument"),
        ('{"a":' * 100_000, "its JSON is broken"),
        ('{"name": "look", "arguments": {"at": NaN}}', "its JSON is broken: NaN is no JSON"),
        ('{"name": "look", "arguments": "{"}', "arguments an object"),
    ],
)
def test_what_can_not_is_refused_with_the_reason(written: str, problem: str) -> None:
    """Nothing is guessed: neither plain words, nor one of two actions, nor half of one."""
    with pytest.raises(UnreadableError) as raised:
        read_turn(written)
    assert problem in str(raised.value)


@given(st.text(alphabet=st.sampled_from('{}"name:arguments,[]\\ \nAction`'), max_size=60))
def test_any_text_is_either_read_or_refused(written: str) -> None:
    """No answer of a model breaks the reader."""
    try:
        turn = read_turn(written)
    except UnreadableError:
        return
    assert isinstance(turn.arguments, dict)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(
    name=st.text(min_size=1).filter(lambda name: name != "respond"),
    arguments=st.dictionaries(st.text(max_size=5), _JSON, max_size=3),
    mark=st.sampled_from(["", "Action: "]),
)
def test_what_is_written_for_a_model_is_what_is_read_of_one(
    name: str, arguments: dict[str, object], mark: str
) -> None:
    """A recorded past shows the model exactly what it is asked for."""
    calls = ToolCalls(calls=(ToolCall(name=name, arguments=arguments),), content="I look.")
    turn = read_turn(write_turns(calls, mark)[0])
    assert turn[1:] == ("I look.", name, arguments)


# --- one move -----------------------------------------------------------------------------------


def test_an_action_is_a_call_and_respond_is_words(brief: Briefs) -> None:
    """What stands beside an action is kept, and never said."""
    model = ListedModel([reply(text(f"Let me see.\n{LOOK}")), reply(text(HELLO))])
    first, second = acting(model, brief(), said("Hi"), results("shipped"))
    assert isinstance(first, ToolCalls)
    assert isinstance(second, Message)
    (made,) = first.calls
    assert (made.name, made.arguments) == ("get_order_details", {"order_id": "#W1"})
    assert first.content == "Let me see."
    assert second.content == "Hello!"
    assert second.usage is not None


def test_the_prompt_holds_policy_and_tools_and_no_request_does_otherwise(brief: Briefs) -> None:
    """No native tools are asked for, and all tasks share what comes before the conversation."""
    model = ListedModel([reply(text(HELLO))] * 2)
    for seed in (1, 2):
        acting(model, brief(seed=seed), said("Hi"))
    first, second = model.asked
    assert first.system == second.system
    assert first.tools == ()
    assert brief().policy.strip() in first.system
    for tool in brief().tools:
        assert json.dumps(tool["input_schema"], ensure_ascii=False) in first.system


def test_each_message_says_whose_it_is(brief: Briefs) -> None:
    """The clock comes first, once."""
    model = ListedModel([reply(text(LOOK)), reply(text(HELLO))])
    acting(model, brief(), said("Hi"), results("shipped"))
    clock, words = model.asked[1].messages[0]["content"]
    assert read_clock(clock["text"]) == brief().now
    assert words["text"] == "The customer says:\nHi"
    assert texts(model.asked[1])[1:] == [LOOK, "Result of look:\nshipped"]


def test_a_result_that_the_model_made_up_is_not_sent_back_to_it(brief: Briefs) -> None:
    """Its turn ends with its action."""
    made_up = f"Thought: look\nAction: {LOOK}\nResult of get_order_details:\ndelivered"
    model = ListedModel([reply(text(made_up)), reply(text(HELLO))])
    acting(model, brief(), said("Hi"), results("shipped"), strategy=REACT)
    assert texts(model.asked[1])[1] == f"Thought: look\nAction: {LOOK}"


def test_an_answer_that_cannot_be_read_is_put_back_and_then_forgotten(brief: Briefs) -> None:
    """The model reads what was wrong; the move tells, and is paid for with the tries before."""
    model = ListedModel([reply(text("Hi!")), reply(), reply(text(HELLO)), reply(text(HELLO))])
    first, _ = acting(model, brief(), said("Hi"), said("So?"))
    assert isinstance(first, Message)
    assert first.usage is not None
    assert (first.usage.output_tokens, first.seconds) == (30, 1.5)
    assert first.provider["discarded"] == ["it has no JSON object"] * 2
    assert texts(model.asked[1])[1] == "Hi!"
    assert "could not be read, and nothing was done: it has no JSON" in texts(model.asked[1])[2]
    assert len(model.asked[2].messages) == 5
    assert texts(model.asked[3])[1:] == [HELLO, "The customer says:\nSo?"]


def test_a_model_that_never_answers_readably_has_failed(brief: Briefs) -> None:
    """After three tries, with the last one shown."""
    model = ListedModel([reply(text("Hi!"))] * 3)
    with pytest.raises(AgentError, match=r"could not be read, 3 times: .*'Hi!'"):
        acting(model, brief(), said("Hi"))


@pytest.mark.parametrize(
    ("stop", "error"),
    [
        (StopReason.REFUSAL, AgentError),
        (StopReason.CONTEXT_FULL, AgentError),
        (StopReason.MAX_TOKENS, InfrastructureError),
    ],
)
def test_a_reply_that_did_not_come_to_its_end_is_not_put_back(
    stop: StopReason, error: type[Exception], brief: Briefs
) -> None:
    """Asking again would change nothing."""
    with pytest.raises(error):
        acting(ListedModel([reply(text(HELLO), stop=stop)]), brief(), said("Hi"))


# --- taking a past ------------------------------------------------------------------------------

_TURNS = st.sampled_from(
    [
        LOOK,
        f"Look.\n{LOOK} Then?",
        HELLO,
        f"Thought: greet\nAction: {HELLO}\nResult of it: none",
    ]
)
_REPLIES = st.lists(
    st.builds(
        lambda turn, thinks: reply(*[thought("Hm.")][:thinks], text(turn)), _TURNS, st.booleans()
    ),
    min_size=8,
    max_size=8,
)


@settings(max_examples=15, deadline=None)
@given(replies=_REPLIES, strategy=st.sampled_from([ACT, REACT]))
def test_led_along_its_own_past_a_model_is_sent_what_it_was_sent_then(
    replies: list[object], strategy: Strategy
) -> None:
    """At every cut of its own run, what it noted for itself included."""
    domain = load_domain("retail")
    task = next(iter(domain.tasks.values()))
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief(domain.name, domain.policy, tools, domain.world.now.isoformat(), seed=7)
    live = ListedModel(replies)  # type: ignore[arg-type]
    kind = kind_of(live, lambda brief, model: TextAgent(brief, model, strategy))
    with Episode.start(domain, task, max_turns=len(replies)) as episode:
        asyncio.run(play(episode, kind, brief))
        transcript = Transcript.load(episode.transcript.dump())
    moves = moves_of(transcript)
    assert len(live.asked) == len(moves)
    for at, move in enumerate(moves):
        again = ListedModel([reply(text(HELLO))])
        agent = TextAgent(brief, again, strategy)
        for past in moves[:at]:
            agent.observe(past.observation, past.action)
        asyncio.run(agent.act(move.observation))
        assert again.asked == [live.asked[at]]


def test_parallel_calls_of_another_agent_become_one_call_a_turn(brief: Briefs) -> None:
    """The model is shown what it is asked for, each call with its own result."""
    model = ListedModel([reply(text(HELLO))])
    agent = TextAgent(brief(), model, REACT)
    assert isinstance(agent, FollowingAgent)
    calls = tuple(ToolCall(name=name) for name in ("one", "two", "three"))
    agent.observe(said("Hi"), ToolCalls(calls=calls, content="I look."))
    asyncio.run(agent.act(results("1", "2")))
    assert texts(model.asked[0])[1:] == [
        'I look.\nAction: {"name": "one", "arguments": {}}',
        "Result of look:\n1",
        'Action: {"name": "two", "arguments": {}}',
        "Result of look:\n2",
        'Action: {"name": "three", "arguments": {}}',
        "(The customer has written nothing more. Go on.)",
    ]


def test_a_recorded_past_may_hold_gaps(brief: Briefs) -> None:
    """An opening of the agent, empty words and a stop: the two roles still take turns."""
    model = ListedModel([reply(text(HELLO))])
    agent = TextAgent(brief(), model, ACT)
    agent.observe(Observation(events=()), Message(content="Welcome!"))
    agent.observe(said(" "), Stop(reason="done"))
    asyncio.run(agent.act(said("Wait")))
    roles = [message["role"] for message in model.asked[0].messages]
    assert roles == ["user", "assistant"] * 2 + ["user"]
    assert all(words.strip() for words in texts(model.asked[0]))


# --- naming one ---------------------------------------------------------------------------------


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script for the model that is none."""
    file = tmp_path / "script.yaml"
    file.write_text("- text: Hello\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["act", "react", "few-shot"])
def test_a_text_agent_is_named_by_its_strategy_and_its_model(
    name: str, script: Path, brief: Briefs
) -> None:
    """The model can be checked and warmed up before the first trial."""
    kind = agent_kind(f"{name}:fake:{script}")
    assert kind.spec == f"{name}:fake:{script}"
    assert kind.synthetic
    assert kind.use is not None
    assert kind.use.model.spec == f"fake:{script}"
    assert kind.prefix is not None
    system = kind.prefix(brief()).system
    assert ("Thought:" in system) is (name == "react")
    assert ("H-204" in system) is (name == "few-shot")


CHAT = [
    {"role": "system", "content": "..."},
    {"role": "user", "content": "Hi"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "function": {"name": "one", "arguments": "{}"}},
            {"id": "a", "function": {"name": "two", "arguments": '{"x": 1}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "tool", "tool_call_id": "a", "content": "2"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "Bye"},
]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(CHAT),
        json.dumps([{"traj": CHAT, "reward": 1.0}, {"traj": CHAT[:2], "reward": 0.0}]),
        json.dumps({"messages": CHAT}) + "\n" + json.dumps({"messages": CHAT}),
    ],
)
def test_examples_are_conversations_in_openais_form(
    written: str, tmp_path: Path, script: Path, brief: Briefs
) -> None:
    """Each call with its own result, failures left out, and the last turn is the agent's."""
    file = tmp_path / "chats.json"
    file.write_text(written, encoding="utf-8")
    kind = agent_kind(f"few-shot:fake:{script},examples={file},shots=1")
    assert kind.prefix is not None
    system = kind.prefix(brief()).system
    assert system.count("<conversation>") == 1
    shown = system[system.index("<conversation>") :]
    assert shown.split("\n")[:-1] == [
        "<conversation>",
        "[message]",
        "The customer says:",
        "Hi",
        "[you]",
        '{"name": "one", "arguments": {}}',
        "[message]",
        "Result of one:",
        "1",
        "[you]",
        '{"name": "two", "arguments": {"x": 1}}',
        "[message]",
        "Result of two:",
        "2",
        "[you]",
        '{"name": "respond", "arguments": {"content": "Done."}}',
        "</conversation>",
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("act", "agent 'act' lacks a model, e.g. 'act:openai:qwen3-8b'"),
        ("react:", "lacks a model"),
        ("act:nothing:x", "no model 'nothing:x'; did you mean"),
        ("few-shot:fake:{script},shots=none", "shots must be a number of examples, not 'none'"),
        ("few-shot:fake:{script},examples=nowhere.json", "nowhere.json: No such file"),
        ("few-shot:fake:{script},examples={script}", "no conversations in OpenAI's chat form"),
        ("few-shot:fake:{script},examples={empty}", "it holds no conversation that passed"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(
    spec: str, message: str, script: Path, tmp_path: Path
) -> None:
    """The line names what was written and what is accepted."""
    empty = tmp_path / "empty.json"
    empty.write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        agent_kind(spec.format(script=script, empty=empty))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
