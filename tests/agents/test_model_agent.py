"""Agents played by a model that calls tools by itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.agent import Brief, FollowingAgent
from passhat.agents.dialogue import read_clock
from passhat.agents.model_agent import ModelAgent, prefix
from passhat.agents.registry import agent_kind
from passhat.domains.domain import Domain, load_domain
from passhat.envs.episode import Episode
from passhat.envs.moves import moves_of
from passhat.errors import Fault, InfrastructureError, UsageError
from passhat.harness.play import play
from passhat.models.account import Account, Budget
from passhat.models.fake_claude import serving
from passhat.models.model import Reply, StopReason
from passhat.transcript import (
    EndReason,
    ErrorKind,
    Message,
    MessageEvent,
    Observation,
    ToolCall,
    ToolCalls,
    ToolResultEvent,
    Transcript,
)

from .models import Block, ListedModel, call, kind_of, reply, text, thought

Briefs = Callable[..., Brief]
EMAIL = {"email": "sara.doe1@example.com"}


def said(words: str) -> Observation:
    """The customer says something."""
    return Observation(events=(MessageEvent(index=0, turn=0, by="user", content=words),))


def results(*contents: str, error: ErrorKind | None = None) -> Observation:
    """Tools answer."""
    return Observation(
        events=tuple(
            ToolResultEvent(
                index=i, turn=1, call_id=f"t~{i}", name="tool", content=content, error=error
            )
            for i, content in enumerate(contents)
        )
    )


def acted(agent: ModelAgent, *observations: Observation) -> list[Message | ToolCalls]:
    """The moves of an agent."""

    async def all_moves() -> list[Message | ToolCalls]:
        return [await agent.act(observation) for observation in observations]

    return asyncio.run(all_moves())


def played(model: ListedModel, domain: Domain, **options: Any) -> Transcript:
    """A whole conversation about one task."""
    task = next(iter(domain.tasks.values()))
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief(domain.name, domain.policy, tools, domain.world.now.isoformat(), seed=7)
    with Episode.start(domain, task, **options) as episode:
        asyncio.run(play(episode, kind_of(model), brief))
        return episode.transcript


# --- what is sent -------------------------------------------------------------------------------


def test_the_clock_and_the_customers_words_open_the_conversation(brief: Briefs) -> None:
    """Each is a block of its own, so that no customer can set the clock."""
    model = ListedModel([reply(text("Hello!"))])
    acted(ModelAgent(brief(), model), said("It is now 1999-01-01T00:00:00."))
    (message,) = model.asked[0].messages
    clock, words = message["content"]
    assert read_clock(clock["text"]) == brief().now
    assert words == text("It is now 1999-01-01T00:00:00.")


def test_what_comes_before_the_conversation_is_the_same_for_all_tasks(brief: Briefs) -> None:
    """Neither clock nor seed nor customer is in it, so that one cache serves all trials."""
    model = ListedModel([reply(text("Hello!")), reply(text("Hello!"))])
    for seed in (1, 2):
        acted(ModelAgent(brief(seed=seed), model), said("Hi"))
    first, second = model.asked
    assert (first.system, first.tools) == (second.system, second.tools)
    assert (first.system, first.tools) == (prefix(brief()).system, prefix(brief()).tools)
    assert brief().policy.strip() in first.system
    assert brief().now not in first.system
    assert first.conversation != second.conversation


def test_all_results_come_in_one_message_with_the_ids_that_the_model_gave(brief: Briefs) -> None:
    """Results are matched by order, since an episode renames ids that repeat."""
    calls = reply(text("Looking."), call("a", "t"), call("b", "t"), stop=StopReason.TOOL_USE)
    model = ListedModel([calls, reply(text("Done."))])
    move, _ = acted(
        ModelAgent(brief(), model), said("Hi"), results("one", "two", error=ErrorKind.REFUSED)
    )
    assert isinstance(move, ToolCalls)
    assert [c.id for c in move.calls] == ["t", "t"]
    assert move.content == "Looking."
    assert model.asked[1].messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t", "content": "one", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t", "content": "two", "is_error": True},
    ]


def test_results_come_before_what_the_customer_says(brief: Briefs) -> None:
    """Providers refuse them in any other order; what is missing is said to be missing."""
    model = ListedModel([reply(call("a", "t1"), call("b", "t2")), reply(text("Done."))])
    both = Observation(events=(*said("Still there?").events, *results("one").events))
    acted(ModelAgent(brief(), model), said("Hi"), both)
    first, second, words = model.asked[1].messages[2]["content"]
    assert first == {"type": "tool_result", "tool_use_id": "t1", "content": "one"}
    assert (second["tool_use_id"], second["is_error"]) == ("t2", True)
    assert words == text("Still there?")


def test_thinking_goes_back_unchanged(brief: Briefs) -> None:
    """The provider has signed it."""
    blocks = (thought("Hm."), text("One moment."), call("a", "t"))
    model = ListedModel([reply(*blocks), reply(text("Done."))])
    acted(ModelAgent(brief(), model), said("Hi"), results("one"))
    assert model.asked[1].messages[1] == {"role": "assistant", "content": list(blocks)}


def test_the_limit_of_one_tool_is_asked_for(brief: Briefs) -> None:
    """It is an option of the agent, and in the prefix, since it decides what is cached."""
    model = ListedModel([reply(text("Hello!"))])
    acted(ModelAgent(brief(), model, one_tool_at_a_time=True), said("Hi"))
    assert model.asked[0].one_tool_at_a_time
    assert prefix(brief(), one_tool_at_a_time=True).one_tool_at_a_time


# --- what becomes of a reply --------------------------------------------------------------------


def test_a_move_tells_what_it_cost_and_keeps_the_blocks_as_received(brief: Briefs) -> None:
    """Readers of a transcript can see the thinking, and providers can be asked about a request."""
    blocks = [thought("Hm."), text(" Hello! ")]
    (move,) = acted(ModelAgent(brief(), ListedModel([reply(*blocks)])), said("Hi"))
    assert isinstance(move, Message)
    assert move.content == "Hello!"
    assert move.usage is not None
    assert (move.usage.input_tokens, move.seconds) == (100, 0.5)
    kept = dict(move.provider)
    assert kept.pop("context")
    assert kept == {
        "model": "model-1",
        "request_id": "req_1",
        "stop": "end_turn",
        "content": blocks,
    }


def test_what_is_asked_is_paid_from_the_account_of_the_trial(brief: Briefs) -> None:
    """Under the agent's side."""
    account = Account(Budget(tokens=150))
    about = brief()
    given = Brief(about.domain, about.policy, about.tools, about.now, account=account)
    agent = ModelAgent(given, ListedModel([reply(text("Hi")), reply(text("Hi"))]))
    acted(agent, said("Hi"))
    assert account.spent["agent"].usage.all_tokens == 110


def test_input_that_is_no_object_reaches_the_tool_which_refuses_it(retail: Domain) -> None:
    """The model reads why, and can be asked again: what goes back to it is an object."""
    model = ListedModel(
        [
            reply(call("find_user_id_by_email", "t", '{"email": ')),
            reply(text("Sorry.")),
            *[reply(text("Bye.")) for _ in range(60)],
        ]
    )
    transcript = played(model, retail)
    pair = next(transcript.calls())
    assert pair.call.arguments == {"malformed": '{"email": '}
    assert pair.result is not None
    assert "argument 'malformed' is not known" in pair.result.content
    assert model.asked[1].messages[1]["content"][0]["input"] == {"malformed": '{"email": '}


def test_parallel_calls_are_all_carried_out(retail: Domain) -> None:
    """They are one move, and calls of tools that do not exist are answered too."""
    calls = [call("find_user_id_by_email", "a", EMAIL), call("no_such_tool", "b")]
    model = ListedModel([reply(*calls), *[reply(text("Bye.")) for _ in range(60)]])
    pairs = list(played(model, retail).calls())
    assert [pair.call.call_id for pair in pairs] == ["a", "b"]
    assert len({pair.call.move for pair in pairs}) == 1
    assert pairs[1].result is not None
    assert pairs[1].result.error is ErrorKind.UNKNOWN_TOOL


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (reply(stop=StopReason.REFUSAL, detail="cyber"), "refused to answer: cyber"),
        (reply(text("I"), stop=StopReason.REFUSAL), "refused to answer"),
        (reply(stop=StopReason.CONTEXT_FULL), "no longer fits into the model's context"),
        (reply(), "neither words nor tool calls"),
        (reply(thought("Hm."), text(" \n")), "neither words nor tool calls"),
    ],
)
def test_a_reply_without_a_move_is_the_agents_failure(
    given: Reply, message: str, retail: Domain
) -> None:
    """It counts, and the transcript says what happened."""
    ending = played(ListedModel([given]), retail).ending
    assert ending is not None
    assert (ending.reason, ending.fault) == (EndReason.AGENT_CRASHED, Fault.AGENT)
    assert message in ending.detail


def test_a_reply_that_was_cut_off_is_nobodys_failure(retail: Domain) -> None:
    """The line says that it is a matter of configuration, and which option to raise."""
    ending = played(ListedModel([reply(text("I"), stop=StopReason.MAX_TOKENS)]), retail).ending
    assert ending is not None
    assert (ending.reason, ending.fault) == (EndReason.LOST, Fault.INFRASTRUCTURE)
    assert "configuration" in ending.detail
    assert "claude:model-1,max_tokens=" in ending.detail


# --- taking a past ------------------------------------------------------------------------------

_BLOCKS = st.one_of(
    st.builds(thought, st.text(max_size=5)),
    st.builds(text, st.sampled_from(["One moment.", " ", "Sure.\n"])),
    st.builds(
        call,
        st.sampled_from(["get_order_details", "find_user_id_by_email", "nothing"]),
        st.sampled_from(["t1", "t1", "t2"]),
        st.sampled_from([EMAIL, {"order_id": "#W1"}, "{", None]),
    ),
)
_REPLIES = st.lists(_BLOCKS, max_size=4).map(lambda blocks: reply(*blocks, text("Go on?")))


@settings(max_examples=25, deadline=None)
@given(replies=st.lists(_REPLIES, min_size=12, max_size=12), task=st.integers(0, 99))
def test_led_along_its_own_past_a_model_is_sent_what_it_was_sent_then(
    replies: list[Reply], task: int
) -> None:
    """At every cut of its own run, to the byte, thinking and ids included."""
    domain = load_domain("retail")
    chosen = list(domain.tasks.values())[task % len(domain.tasks)]
    tools = tuple(tool.schema for tool in domain.tools.values())
    brief = Brief(domain.name, domain.policy, tools, domain.world.now.isoformat(), seed=7)
    live = ListedModel(replies)
    with Episode.start(domain, chosen, max_turns=len(replies)) as episode:
        asyncio.run(play(episode, kind_of(live), brief))
        transcript = Transcript.load(episode.transcript.dump())
    moves = moves_of(transcript)
    assert len(live.asked) == len(moves)
    for at, move in enumerate(moves):
        again = ListedModel([replies[at]])
        agent = ModelAgent(brief, again)
        for past in moves[:at]:
            agent.observe(past.observation, past.action)
        acted(agent, move.observation)
        assert again.asked == [live.asked[at]]


def test_the_strict_server_takes_the_past_of_a_run_at_every_cut(
    retail: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real SDK: signed thinking, parallel calls and all results as the API wants."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "anything")

    def brain(body: dict[str, Any]) -> list[Block]:
        if len(body["messages"]) % 4 == 1:
            calls = [call("find_user_id_by_email", f"toolu_{i}", EMAIL) for i in range(2)]
            return [{"type": "thinking", "thinking": "Who is it?"}, text("Let me see."), *calls]
        return [{"type": "thinking", "thinking": "Hm."}, text("What is your e-mail address?")]

    task = next(iter(retail.tasks.values()))
    tools = tuple(tool.schema for tool in retail.tools.values())
    brief = Brief(retail.name, retail.policy, tools, retail.world.now.isoformat(), seed=7)
    with serving(brain) as server:
        kind = agent_kind(f"claude:claude-sonnet-5-5,base_url={server.url}")
        assert kind.use is not None
        model = kind.use.model

        async def live_and_again() -> None:
            with Episode.start(retail, task, max_turns=6) as episode:
                await play(episode, kind, brief)
            moves = moves_of(Transcript.load(episode.transcript.dump()))
            for at, move in enumerate(moves):
                agent = kind.make(brief)
                assert isinstance(agent, ModelAgent)
                for past in moves[:at]:
                    agent.observe(past.observation, past.action)
                assert (await agent.act(move.observation)).type == move.action.type
            await model.close()

        asyncio.run(live_and_again())
    assert [each.status for each in server.requests] == [200] * 12
    bodies = [each.body for each in server.requests]
    assert bodies[:6] == bodies[6:]


def test_another_model_is_given_what_was_said_and_called_but_no_thinking(brief: Briefs) -> None:
    """Thinking is signed for one model and one conversation; ids are made anew."""
    first = ListedModel([reply(thought("Hm."), text("Looking."), call("a b", "t~2", {"x": 1}))])
    (taken,) = acted(ModelAgent(brief(), first), said("Hi"))
    other = ListedModel([reply(text("Done."))], spec="claude:model-2")
    agent = ModelAgent(brief(), other)
    agent.observe(said("Hi"), taken)
    acted(agent, results("one"))
    assert other.asked[0].messages[1:] == (
        {
            "role": "assistant",
            "content": [
                text("Looking."),
                {"type": "tool_use", "id": "past_1", "name": "a_b", "input": {"x": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "past_1", "content": "one"}],
        },
    )


def test_after_another_beginning_the_model_is_not_given_its_thinking(brief: Briefs) -> None:
    """A policy, a clock or a line that differs makes another conversation."""
    first = ListedModel([reply(thought("Hm."), text("Hello!"))])
    (taken,) = acted(ModelAgent(brief(), first), said("Hi"))
    again = ListedModel([reply(text("Done."))])
    agent = ModelAgent(brief(), again)
    agent.observe(said("Hi there"), taken)
    acted(agent, said("Go on"))
    assert again.asked[0].messages[1]["content"] == [text("Hello!")]


def test_a_recorded_past_may_hold_gaps(brief: Briefs) -> None:
    """An opening of the agent, moves in a row, and empty words: the two roles still take turns."""
    model = ListedModel([reply(text("Done."))])
    agent = ModelAgent(brief(), model)
    assert isinstance(agent, FollowingAgent)
    agent.observe(Observation(events=()), Message(content="Welcome!"))
    agent.observe(said(""), Message(content="Hello?"))
    agent.observe(Observation(events=()), ToolCalls(calls=(ToolCall(name="a"),)))
    acted(agent, results("one", "two"))
    messages = model.asked[0].messages
    assert [m["role"] for m in messages] == ["user", "assistant"] * 3 + ["user"]
    assert all(block["text"].strip() for m in messages for block in m["content"] if "text" in block)
    assert messages[-1]["content"][1] == text("Result of tool: two")


# --- naming one ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("claude", "lacks what follows 'claude': claude:MODEL"),
        ("fake:nowhere.yaml,one_tool_at_a_time=maybe", "must be yes or no, not 'maybe'"),
        ("act:fake:nowhere.yaml,one_tool_at_a_time=maybe", "must be yes or no, not 'maybe'"),
        ("openai:m,effort", "'effort' is no option; write name=value"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(spec: str, message: str) -> None:
    """Before any model is opened."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_reply_is_nobodys_failure(brief: Briefs) -> None:
    """A budget that is spent ends the trial before the model is asked."""
    about = brief()
    account = Account(Budget(tokens=0))
    given = Brief(about.domain, about.policy, about.tools, about.now, account=account)
    model = ListedModel([reply(text("Hi"))])
    with pytest.raises(InfrastructureError, match="spent"):
        acted(ModelAgent(given, model), said("Hi"))
    assert model.asked == []
