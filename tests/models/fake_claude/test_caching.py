"""The prompt cache, as far as a client can see it: in the usage of each answer."""

from typing import Any

from anthropic.types import Usage
from hypothesis import given
from hypothesis import strategies as st

from passhat.models.fake_claude.caching import CacheUse, PromptCache
from passhat.models.fake_claude.catalogue import MODELS
from passhat.models.fake_claude.prompts import PromptReader

from .requests import MODEL, TOOL, Json, asking, assistant, request, text, user

FIVE_MINUTES: Json = {"type": "ephemeral"}
AN_HOUR: Json = {"type": "ephemeral", "ttl": "1h"}
POLICY = text("Be kind. " * 1000, cache_control=AN_HOUR)
POLICY_TOKENS = 2000
"""At least."""


class Desk:
    """Requests to a cache whose clock stands still unless it is moved."""

    def __init__(self, floor: int = 1024) -> None:
        self.now = 0.0
        self._floor = floor
        self._cache = PromptCache(clock=lambda: self.now)
        self._reader = PromptReader(b"secret")

    def ask(self, *messages: Json, ready_after: float = 0.0, **changes: Any) -> CacheUse:
        """What the cache does with a request."""
        body = request(*messages, **changes)
        prompt = self._reader.read(body, MODELS[body["model"]])
        used = self._cache.use(prompt, self._floor, ready_after)
        assert sum(used) == prompt.tokens
        return used


def test_without_a_mark_nothing_is_kept() -> None:
    """All input is read afresh, however often."""
    desk = Desk()
    policy = {**POLICY, "cache_control": None}
    for _ in range(2):
        used = desk.ask(system=[policy])
        assert used.afresh > POLICY_TOKENS
        assert sum(used[1:]) == 0


def test_a_marked_beginning_is_written_once_and_then_read() -> None:
    """By other conversations too."""
    desk = Desk()
    first = desk.ask(user("Hello"), system=[POLICY], tools=[TOOL])
    second = desk.ask(user("Good day"), system=[POLICY], tools=[TOOL])
    assert first.written_1h == second.read > POLICY_TOKENS
    assert first.read == second.written_1h == second.written_5m == 0
    assert 0 < second.afresh < 20


def test_a_conversation_is_read_up_to_where_it_was_before() -> None:
    """With an automatic mark, each turn writes only what is new."""
    desk = Desk(floor=0)
    messages = [user("Hello " * 50)]
    read = 0
    for turn in range(5):
        used = desk.ask(*messages, system=[POLICY], cache_control=FIVE_MINUTES)
        assert used.afresh == 0
        assert used.read == read
        read = used.read + used.written_5m + used.written_1h
        messages += [assistant(f"Answer {turn}"), user(f"Question {turn}")]


def test_a_change_shows_from_where_it_is() -> None:
    """Tools and model change everything; tool choice and thinking the messages."""
    desk = Desk(floor=0)
    asked: Json = {"system": [POLICY], "tools": [TOOL], "cache_control": FIVE_MINUTES}
    desk.ask(**asked)
    assert desk.ask(**asked).written_5m == 0
    for change in ({"tool_choice": {"type": "none"}}, {"thinking": {"type": "adaptive"}}):
        used = desk.ask(**asked | change)
        assert used.written_5m > 0
        assert used.read > POLICY_TOKENS
    other_tool = {**TOOL, "description": "Find one order."}
    for change in ({"tools": [other_tool]}, {"model": "claude-haiku-5-5"}):
        used = desk.ask(**asked | change)
        assert used.written_1h > POLICY_TOKENS
        assert used.read == 0


def test_what_is_too_short_is_not_kept() -> None:
    """And nothing says so."""
    short = {"system": [text("Be kind.", cache_control=FIVE_MINUTES)]}
    assert Desk().ask(**short).written_5m == 0
    assert Desk(floor=1).ask(**short).written_5m > 0


def test_what_is_kept_is_forgotten_unless_it_is_used() -> None:
    """After five minutes or an hour without a use."""
    for mark, seconds in ((FIVE_MINUTES, 300), (AN_HOUR, 3600)):
        desk = Desk()
        system = [{**POLICY, "cache_control": mark}]
        desk.ask(system=system)
        for _ in range(3):
            desk.now += seconds - 1
            assert desk.ask(system=system).read > POLICY_TOKENS
        desk.now += seconds
        assert desk.ask(system=system).read == 0


def test_what_is_being_written_cannot_be_read_yet() -> None:
    """Those who come while the first is still answered all pay for writing."""
    desk = Desk()
    assert desk.ask(system=[POLICY], ready_after=1.0).written_1h
    assert desk.ask(system=[POLICY]).written_1h
    desk = Desk()
    desk.ask(system=[POLICY], ready_after=1.0)
    desk.now += 1.0
    assert desk.ask(system=[POLICY]).read


def test_twenty_blocks_are_looked_back() -> None:
    """What was kept further back is found by a mark in between only."""
    words = [text(f"word {n}") for n in range(25)]
    for new, found in ((19, True), (20, False)):
        desk = Desk(floor=0)
        desk.ask(user(words[0]), cache_control=FIVE_MINUTES)
        read = desk.ask(user(*words[: 1 + new]), cache_control=FIVE_MINUTES).read
        assert bool(read) is found
    between = [*words[:10], {**words[10], "cache_control": FIVE_MINUTES}, *words[11:]]
    assert desk.ask(user(*between), cache_control=FIVE_MINUTES).read


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 6), st.booleans()), max_size=12)
)
def test_every_token_is_counted_once(asked: list[tuple[str, int, bool]]) -> None:
    """Afresh, read or written, whatever was asked before; and what is asked twice is read."""
    desk = Desk(floor=5)
    for word, turns, marked in asked:
        messages = [user(word)]
        for turn in range(turns):
            messages += [assistant(f"{word} {turn}"), user(f"{word} {turn}?")]
        mark = {"cache_control": FIVE_MINUTES} if marked else {}
        desk.ask(*messages, **mark)
        if marked:
            assert desk.ask(*messages, **mark)[2:] == (0, 0)


def test_usage_tells_all_parts() -> None:
    """In plain answers and in streams."""
    asked = request(system=[POLICY], cache_control=FIVE_MINUTES)
    with asking(lambda body: "Hi") as (client, _):
        first = client.messages.create(**asked).usage
        with client.messages.stream(**asked) as stream:
            second = stream.get_final_message().usage
    assert first.cache_creation is not None
    assert first.cache_creation.ephemeral_1h_input_tokens > POLICY_TOKENS
    assert 0 < first.cache_creation.ephemeral_5m_input_tokens < 20
    assert first.cache_creation_input_tokens == all_input(first) == all_input(second)
    assert second.cache_read_input_tokens == all_input(second)
    assert first.output_tokens == second.output_tokens > 0
    assert MODELS[MODEL].cache_floor_tokens < POLICY_TOKENS


def all_input(usage: Usage) -> int:
    """Input of a request, whatever the cache did with it."""
    cached = (usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    return usage.input_tokens + sum(part or 0 for part in cached)
