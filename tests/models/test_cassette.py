"""Cassettes: what a model replied, kept in a file and given again."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.domains.domain import load_domain
from passhat.envs.episode import Episode
from passhat.errors import RunStoppedError, UsageError
from passhat.harness.play import play
from passhat.models.cassette import RecordedModel, RecordingModel
from passhat.models.model import Model, Reply, Request, StopReason, text_block
from passhat.models.registry import open_model
from passhat.transcript import Transcript, Usage


class Counting(Model):
    """Replies with how often it was asked."""

    spec = "claude:model-1,effort=low"

    def __init__(self, known_cost: bool = True) -> None:
        self._asked = 0
        self._cost = 0.1 if known_cost else None

    async def complete(self, request: Request) -> Reply:
        """The next number."""
        self._asked += 1
        content = ({"type": "thinking", "thinking": "\u2028\n"}, text_block(f"{self._asked}"))
        return Reply(
            content,
            StopReason.END_TURN,
            Usage(input_tokens=3, cost_dollars=self._cost),
            model="model-1-0613",
            request_id="req_1",
            seconds=0.25,
            attempts=2,
            detail="d",
        )


def request(*lines: str, conversation: str = "agent-1") -> Request:
    """A conversation, the customer's lines and the model's in turns."""
    messages = [
        {"role": ("user", "assistant")[at % 2], "content": [text_block(line)]}
        for at, line in enumerate(lines)
    ]
    return Request("Be kind.", messages, conversation=conversation)


def ask(model: Model, *requests: Request) -> list[Reply]:
    """Its replies."""

    async def all_of_them() -> list[Reply]:
        return [await model.complete(each) for each in requests]

    return asyncio.run(all_of_them())


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A cassette with two conversations."""
    file = str(tmp_path / "cassette.jsonl")
    model = RecordingModel(Counting(), file)
    ask(model, request("Hi"), request("Hi"), request("Hi", "2", "Bye"))
    ask(model, request("Hi", conversation="agent-2"))
    return file


def test_the_same_question_gets_the_same_reply(file: str) -> None:
    """All of it: blocks, usage, timings, ids."""
    (reply,) = ask(open_model(f"recorded:{file}"), request("Hi"))
    assert [reply] == ask(Counting(), request("Hi"))


def test_asked_again_it_gives_the_next_reply_to_the_same(file: str) -> None:
    """In the order of the recording, for each conversation by itself."""
    model = open_model(f"recorded:{file}")
    asked = (request("Hi", conversation="agent-2"), request("Hi"), request("Hi"))
    assert [reply.text for reply in ask(model, *asked)] == ["4", "1", "2"]


_TEXTS = st.text(max_size=8)
_REPLIES = st.builds(
    Reply,
    content=st.lists(st.builds(text_block, _TEXTS), max_size=2).map(tuple),
    stop=st.sampled_from(StopReason),
    usage=st.builds(
        Usage,
        input_tokens=st.none() | st.integers(0, 9),
        cost_dollars=st.none() | st.floats(0, 1),
    ),
    model=_TEXTS,
    request_id=st.none() | _TEXTS,
    seconds=st.floats(0, 9),
    attempts=st.integers(1, 9),
    detail=_TEXTS,
)


@settings(max_examples=25)
@given(replies=st.lists(_REPLIES, min_size=1, max_size=4))
def test_any_reply_comes_back_as_it_was(
    replies: list[Reply], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """To the last digit of its cost."""

    class Given(Counting):
        async def complete(self, request: Request) -> Reply:
            return next(given)

    given: Iterator[Reply] = iter(replies)
    file = str(tmp_path_factory.mktemp("cassette") / "c.jsonl")
    asked = [request("Hi")] * len(replies)
    ask(RecordingModel(Given(), file), *asked)
    assert ask(RecordedModel(file, "recorded"), *asked) == replies


# --- asked something new ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request("Hi", conversation="agent-3"), "'agent-3': none of that name was recorded"),
        (
            request("Hi", "2", "Go on"),
            "message 3 was never recorded: 'Go on'; the recording has 'Bye'",
        ),
        (request("Hello"), "message 1 was never recorded: 'Hello'; the recording has 'Hi'"),
        (request("Hi", "2", "Bye", "3", "?"), "message 4 was never recorded"),
        (request("Hi", "3", "Bye"), "message 2 was never recorded"),
        (replace(request("Hi"), system="Be brief."), "system differ from the recording"),
        (
            replace(request("Hi"), schema={}, tools=[{"name": "look"}]),
            "tools and schema differ from the recording",
        ),
        (request("Hi", "2"), "it was recorded with more than these 2 messages"),
    ],
)
def test_asked_something_new_it_stops_the_run_and_says_what_differs(
    asked: Request, message: str, file: str
) -> None:
    """Never a reply to another question: that would look like a result."""
    with pytest.raises(RunStoppedError) as raised:
        ask(open_model(f"recorded:{file}"), asked)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{file}: conversation {asked.conversation!r}: ")
    assert "\n" not in str(raised.value)


def test_asked_more_often_than_recorded_it_stops_the_run(file: str) -> None:
    """The last reply is not given twice."""
    with pytest.raises(RunStoppedError, match="asked 3 times, and recorded 2 times"):
        ask(open_model(f"recorded:{file}"), *[request("Hi")] * 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("", "the file is empty"),
        ("{}\n", "line 1 is none of a cassette (KeyError('reply'))"),
        (
            '{"reply": {"content": [{"type": "tool_use"}]}}\n',
            "TypeError(\"{'type': 'tool_use'} is no",
        ),
        ("cassette\n", "line 1 is none of a cassette (JSONDecodeError"),
    ],
)
def test_a_file_that_is_no_cassette_is_refused_at_once(
    content: str | None, message: str, tmp_path: Path
) -> None:
    """Before the first trial."""
    file = tmp_path / "cassette.jsonl"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        open_model(f"recorded:{file}")
    assert message in str(raised.value)


# --- the file -----------------------------------------------------------------------------------


def test_several_writers_do_not_mix(tmp_path: Path) -> None:
    """Each line is written in one piece."""
    file = str(tmp_path / "cassette.jsonl")
    asked = [request("Hi " * 5000, conversation=f"agent-{number}") for number in range(40)]
    models = [RecordingModel(Counting(), file) for _ in range(4)]
    threads = [threading.Thread(target=ask, args=(model, *asked)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    assert len([json.loads(line) for line in lines]) == 160


def test_what_was_known_of_the_model_is_still_known(file: str, tmp_path: Path) -> None:
    """Whose replies they are, whether they were a model's, and whether their cost is known."""
    model = open_model(f"recorded:{file}")
    assert model.identity_in("agent-1") == "claude:model-1"
    assert (model.synthetic, model.priced) == (False, True)
    unpriced = str(tmp_path / "unpriced.jsonl")
    ask(RecordingModel(Counting(known_cost=False), unpriced), request("Hi"))
    assert not open_model(f"recorded:{unpriced}").priced


# --- a whole run --------------------------------------------------------------------------------

AGENT = """
- when: {turn: 1}
  thinking: They have not said who they are.
  text: Hello! What is your e-mail address?
- when: {turn: 2}
  text: Let me see.
  calls:
    - find_user_id_by_email: {email: nobody@example.com}
    - find_user_id_by_email: {email: nobody@example.org}
- text: I am sorry, but I cannot help with that.
"""
USER = """
- when: {turn: 3}
  json: {action: finish, text: "Bye.", reason: gave up}
- json: {action: say, text: "I would like some help, please."}
"""


def test_a_recorded_run_gives_the_same_transcripts_again(tmp_path: Path) -> None:
    """Both sides from one cassette, though they were two models."""
    for name, script in (("agent", AGENT), ("user", USER)):
        (tmp_path / f"{name}.yaml").write_text(script, encoding="utf-8")
    file = tmp_path / "cassette.jsonl"
    first = transcripts(*(f"fake:{tmp_path}/{side}.yaml,record={file}" for side in SIDES))
    again = transcripts(*[f"recorded:{file}"] * 2)
    assert [t.dump() for t in again] == [t.dump() for t in first]
    assert {len(list(t.calls())) for t in first} == {2}
    assert all(t.ending is not None and t.ending.reason == "user stop" for t in first)


SIDES = ("agent", "user")


def transcripts(agent: str, user: str) -> list[Transcript]:
    """Three tasks of the shop, each side played by a model."""
    from passhat.simulator.user import user_kind

    domain = load_domain("retail")
    tools = tuple(tool.schema for tool in domain.tools.values())
    kind, customer = agent_kind(agent), user_kind(user)
    found = []
    for seed, task in enumerate([*domain.tasks.values()][:3]):
        brief = Brief(domain.name, domain.policy, tools, domain.world.now.isoformat(), seed)
        with Episode.start(domain, task, user=customer, seed=seed) as episode:
            asyncio.run(play(episode, kind, brief))
            found.append(episode.transcript)
    return found
