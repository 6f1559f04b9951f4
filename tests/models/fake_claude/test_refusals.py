"""What the server refuses, because the real API does; always with the field's name."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.models.fake_claude.catalogue import MODELS
from passhat.models.fake_claude.prompts import PromptReader
from passhat.models.fake_claude.refusals import RefusedError

from .requests import CALL, MODEL, RESULT, TOOL, Json, assistant, request, text, user

EPHEMERAL: Json = {"type": "ephemeral"}
AN_HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
CALLED = (user("Hello"), assistant(CALL))


def read(body: Json) -> None:
    """Read a request as a server does that has seen none before."""
    PromptReader(b"secret").read(body, MODELS[body["model"]])


def refusal(body: Json) -> str:
    """What the refusal of a request says."""
    with pytest.raises(RefusedError) as refused:
        read(body)
    assert (refused.value.status, refused.value.kind) == (400, "invalid_request_error")
    return str(refused.value)


def schema(**parts: Any) -> Json:
    """An output format of an object with these properties."""
    return {"format": {"type": "json_schema", "schema": {"type": "object", **parts}}}


OPTIONS: list[tuple[Json, str]] = [
    ({"temperature": 0}, "temperature: sampling parameters are not supported"),
    ({"top_p": 1}, "top_p"),
    ({"top_k": 1}, "top_k"),
    ({"n": 2}, "n: Extra inputs are not permitted"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"max_tokens": "many"}, "max_tokens"),
    ({"max_tokens": 128_001}, "max_tokens: 128001 > 128000"),
    ({"stream": "yes"}, "stream"),
    ({"stop_sequences": "no"}, "stop_sequences"),
    ({"metadata": "x"}, "metadata"),
    ({"metadata": {"name": "Ann"}}, "metadata.name"),
    ({"metadata": {"user_id": 5}}, "metadata.user_id"),
    ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking.type: 'enabled'"),
    ({"thinking": {"type": "disabled"}}, "thinking.type: 'disabled'"),
    ({"thinking": {"type": "adaptive", "budget_tokens": 5}}, "thinking.budget_tokens"),
    ({"thinking": {"type": ["adaptive"]}}, "thinking.type"),
    ({"thinking": True}, "thinking"),
    ({"tool_choice": {"type": "auto"}}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "any"}}, "tool_choice.type: forced"),
    ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "find_order"}}, "forced"),
    ({"tools": [TOOL], "tool_choice": {"type": "maybe"}}, "tool_choice.type"),
    ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
    ({"output_config": {"format": "json"}}, "output_config.format"),
    ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema"),
    ({"output_config": {"length": 5}}, "output_config.length"),
    ({"output_config": schema()}, "additionalProperties"),
    (
        {"output_config": schema(additionalProperties=False, properties={"a": {"type": "object"}})},
        "output_config.format.schema.properties.a",
    ),
    (
        {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}},
        "output_config.effort",
    ),
    ({"system": 5}, "system"),
    ({"system": [text("")]}, "system.0: text content blocks must be non-empty"),
    ({"system": [{"type": "image"}]}, "system.0.type"),
    ({"cache_control": {"type": "eternal"}}, "cache_control.type"),
    ({"cache_control": {"type": "ephemeral", "ttl": "2h"}}, "cache_control.ttl"),
    ({"cache_control": {"type": "ephemeral", "ttl": []}}, "cache_control.ttl"),
    ({"tools": "none"}, "tools"),
    ({"tools": ["none"]}, "tools.0"),
    ({"tools": [{**TOOL, "name": "find order"}]}, "tools.0.custom.name"),
    ({"tools": [{**TOOL, "input_schema": {"type": "string"}}]}, "tools.0.custom.input_schema"),
    ({"tools": [{"name": "find_order"}]}, "tools.0.custom.input_schema"),
    ({"tools": [{**TOOL, "parameters": {}}]}, "tools.0.custom.parameters"),
    ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique"),
    ({"tools": [{"type": "web_search_20260101", "name": "web_search"}]}, "tools.0.type"),
]


@pytest.mark.parametrize(("changes", "names"), OPTIONS)
def test_options_are_refused_by_name(changes: Json, names: str) -> None:
    """As the API version of October 2026 has it."""
    assert names in refusal(request(**changes))


@pytest.mark.parametrize("missing", ["max_tokens", "messages"])
def test_what_is_missing_is_named(missing: str) -> None:
    """Also if the rest was seen before."""
    body = request()
    del body[missing]
    assert missing in refusal(body)


MESSAGES: list[tuple[list[Any], str]] = [
    ([], "messages: at least one message"),
    (["Hello"], "messages.0"),
    ([assistant("Hello"), user("Hello")], 'first message must use the "user" role'),
    ([{"role": "system", "content": "Hello"}], "messages.0.role"),
    ([{"role": "user", "content": "Hello", "name": "Ann"}], "messages.0.name"),
    ([{"role": "user"}], "messages.0.content"),
    ([user("Hello"), {"role": "assistant", "content": []}, user("?")], "messages.1: all messages"),
    ([user("")], "text content blocks must be non-empty"),
    ([user(text(" \n"))], "messages.0.content.0: text content blocks must be non-empty"),
    ([user(text("Hi", lang="en"))], "messages.0.content.0.lang"),
    ([user({"type": "text"})], "messages.0.content.0.text"),
    ([user({"type": "audio"})], "messages.0.content.0.type"),
    ([user({"type": ["text"]})], "messages.0.content.0.type"),
    ([user("Hello"), assistant("Well,")], "prefill"),
    ([*CALLED], "messages.1: `tool_use` ids were found without `tool_result`"),
    ([*CALLED, user("Well?")], "messages.1: `tool_use` ids were found without `tool_result`"),
    ([*CALLED, assistant("Well,"), user("?")], "messages.1: `tool_use` ids were found"),
    ([*CALLED, user({**RESULT, "tool_use_id": "toolu_2"})], "unexpected `tool_use_id`"),
    ([*CALLED, user(RESULT, RESULT)], "messages.2.content.1: unexpected `tool_use_id`"),
    ([user(RESULT)], "messages.0.content.0: unexpected `tool_use_id`"),
    ([*CALLED, user(RESULT), assistant("So."), user(RESULT)], "messages.4.content.0: unexpected"),
    ([*CALLED, user(text("So:"), RESULT)], "messages.2.content.1: `tool_result` blocks must come"),
    ([*CALLED, user({**RESULT, "content": 5})], "messages.2.content.0.content"),
    ([*CALLED, user({**RESULT, "content": [{"type": "image"}]})], "messages.2.content.0.content.0"),
    ([*CALLED, user({**RESULT, "name": "find_order"})], "messages.2.content.0.name"),
    (
        [user("Hi"), assistant({**CALL, "input": '{"a"'}), user(RESULT)],
        "messages.1.content.0.input",
    ),
    ([user("Hi"), assistant({**CALL, "id": None}), user(RESULT)], "messages.1.content.0.id"),
    ([user("Hi"), assistant(CALL, CALL), user(RESULT)], "messages.1.content.1: `tool_use` ids"),
    ([user("Hi"), assistant({"type": "thinking"}), user("?")], "messages.1.content.0.thinking"),
    (
        [user("Hi"), assistant({"type": "thinking", "thinking": "x", "signature": "y"}), user("?")],
        "messages.1.content.0: Invalid `signature`",
    ),
    ([user("Hi"), assistant(RESULT), user("?")], "messages.1.content.0.type"),
]


@pytest.mark.parametrize(("messages", "names"), MESSAGES)
def test_conversations_are_refused_by_place(messages: list[Any], names: str) -> None:
    """With the message and the block that are not in order."""
    assert names in refusal(request(tools=[TOOL]) | {"messages": messages})


def test_calls_need_declared_tools() -> None:
    """Calls in the past without any tool are refused."""
    assert "must define tools" in refusal(request(*CALLED, user(RESULT)))


def test_results_may_come_in_any_order_before_words() -> None:
    """All in one message, or in two of the user in a row."""
    second = {**CALL, "id": "toolu_2"}
    results = {**RESULT, "tool_use_id": "toolu_2"}, RESULT
    asked = user("Hello"), assistant(CALL, second)
    read(request(*asked, user(*results, text("Well?")), tools=[TOOL]))
    read(request(*asked, user(results[0]), user(results[1]), tools=[TOOL]))


def test_forced_tools_and_thinking_turned_off_are_for_older_models() -> None:
    """Which do not think between tools; and some of the new ones always think."""
    forced = {"type": "tool", "name": "find_order"}
    read(request(model="claude-opus-5", tools=[TOOL], tool_choice=forced))
    read(request(model="claude-opus-5", thinking={"type": "disabled"}))
    budget = {"type": "enabled", "budget_tokens": 2000}
    read(request(model="claude-opus-5", max_tokens=5000, thinking=budget))
    read(request(thinking={"type": "between_tools"}))
    unknown = {"type": "tool", "name": "lose_order"}
    lost = request(model="claude-opus-5", tools=[TOOL], tool_choice=unknown)
    assert "'lose_order' not found" in refusal(lost)
    for model in ("claude-opus-5", "claude-opus-5-5"):
        assert "between_tools" in refusal(request(model=model, thinking={"type": "between_tools"}))
    small = request(model="claude-opus-5", thinking={"type": "enabled", "budget_tokens": 5})
    assert "thinking.budget_tokens" in refusal(small)


def test_at_most_four_marks() -> None:
    """The automatic one counts too."""
    marked = [text(word, cache_control=EPHEMERAL) for word in "abcd"]
    read(request(user(*marked)))
    assert "Found 5" in refusal(request(user(*marked), cache_control=EPHEMERAL))


def test_marks_that_last_longer_come_first() -> None:
    """In the order tools, system, messages."""
    system = [text("Be kind.", cache_control=AN_HOUR)]
    read(request(system=system, cache_control=EPHEMERAL))
    short = [{**TOOL, "cache_control": EPHEMERAL}]
    assert "must not come after" in refusal(request(tools=short, system=system))


def test_messages_may_be_many_but_not_too_many() -> None:
    """A hundred thousand is the limit."""
    assert "100000" in refusal(request(*[user("Hi")] * 100_001))


def test_a_prompt_must_fit_the_model() -> None:
    """What does not is said with both numbers, as the API says it."""
    long = request(user("x" * 1_000_000), model="claude-haiku-4-5")
    assert "prompt is too long: 250007 tokens > 200000 maximum" in refusal(long)
    read({**long, "model": MODEL})


# --- thinking -------------------------------------------------------------------------------------


def signed(reader: PromptReader, body: Json) -> Json:
    """A thinking block that the server would answer this request with."""
    prompt = reader.read(body, MODELS[body["model"]])
    signature = reader.sign(prompt.spoken, "Hm.")
    return {"type": "thinking", "thinking": "Hm.", "signature": signature}


CHANGES: list[Callable[[Json], Any]] = [
    lambda body: body.update(model="claude-haiku-5-5"),
    lambda body: body.update(system="Be strict."),
    lambda body: body["messages"].__setitem__(0, user("Bye")),
    lambda body: body["messages"][1]["content"][0].update(thinking="Ha."),
    lambda body: body["messages"][1]["content"][0].update(signature="0" * 32),
    lambda body: body["messages"].insert(0, user("Before")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_thinking_belongs_to_its_model_and_conversation(change: Callable[[Json], Any]) -> None:
    """Unchanged it is taken back; with another model, past or word it is not."""
    reader = PromptReader(b"secret")
    asked = request(tools=[TOOL])
    thought = signed(reader, asked)
    body = request(user("Hello"), assistant(thought, CALL), user(RESULT), tools=[TOOL])
    for same in (reader, PromptReader(b"secret")):
        same.read(body, MODELS[MODEL])
    with pytest.raises(RefusedError, match="Invalid `signature`"):
        PromptReader(b"other").read(body, MODELS[MODEL])
    changed = deepcopy(body)
    change(changed)
    for same in (reader, PromptReader(b"secret")):
        with pytest.raises(RefusedError, match="Invalid `signature`"):
            same.read(changed, MODELS[changed["model"]])


def test_thinking_of_earlier_turns_may_be_left_out() -> None:
    """What comes later stays valid."""
    reader = PromptReader(b"secret")
    first = signed(reader, request())
    past = [user("Hello"), assistant(first, text("Hi")), user("And?")]
    second = signed(reader, request(*past))
    without = [user("Hello"), assistant(text("Hi")), user("And?")]
    read_on = request(*without, assistant(second, text("So.")), user("Bye"))
    reader.read(read_on, MODELS[MODEL])


# --- laws -----------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
WHOLE: Json = request(
    user(text("Hello", cache_control=EPHEMERAL)),
    assistant(CALL),
    user(RESULT, text("Well?")),
    system=[text("Be kind.", cache_control=AN_HOUR)],
    tools=[TOOL],
    tool_choice={"type": "auto", "disable_parallel_tool_use": True},
    thinking={"type": "adaptive"},
    output_config={"effort": "low", **schema(additionalProperties=False)},
    metadata={"user_id": "agent-1"},
    cache_control=EPHEMERAL,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as what holds it and where."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in list(inner):
        found.append((value, key))
        if isinstance(part, (dict, list)):
            found += places(part)
    return found


def verdict(reader: PromptReader, body: Json) -> bytes | str:
    """The hash of a request that is in order, or why it is not."""
    try:
        return reader.read(deepcopy(body), MODELS[MODEL]).key
    except RefusedError as refused:
        return str(refused)


@given(place=st.integers(min_value=0), value=JSON)
def test_anything_anywhere_is_read_or_refused(place: int, value: Any) -> None:
    """No request, however wrong, breaks the server; and it leaves what was known as it was."""
    reader = PromptReader(b"secret")
    reader.read(deepcopy(WHOLE), MODELS[MODEL])
    body = deepcopy(WHOLE)
    every = places(body)
    holder, key = every[place % len(every)]
    if holder is not body or key != "model":
        holder[key] = value
    assert verdict(reader, body) == verdict(PromptReader(b"secret"), body)
    fresh = PromptReader(b"secret").read(deepcopy(WHOLE), MODELS[MODEL])
    assert reader.read(deepcopy(WHOLE), MODELS[MODEL]).key == fresh.key
