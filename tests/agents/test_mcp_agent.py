"""Agents that speak MCP: real programs, run once a trial, against the real tools."""

import asyncio
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client

from passhat.agents.agent import Brief
from passhat.agents.bridge import OVER, Bridge
from passhat.agents.mcp_desk import BRIEFING, SAY, McpDesk
from passhat.agents.registry import agent_kind
from passhat.errors import Fault, UsageError
from passhat.transcript import Message, MessageEvent, Observation, ToolCalls, ToolResultEvent

from .outside import EXAMPLES, run_trials, told

TASKS = ("telescope-order-home-instead",)

PROGRAM = '''
"""The rule-based agent as a program: it knows nothing but what MCP tells it."""
import asyncio, os, sys
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from passhat.agents.agent import Brief
from passhat.agents.registry import agent_kind
from passhat.transcript import ErrorKind, Message, MessageEvent, Observation, ToolResultEvent

url = os.environ["PASSHAT_MCP_URL"]
if "--stdio" in sys.argv:
    code = "import sys; from passhat.cli import main; main(['mcp-stdio', sys.argv[1]])"
    url = StdioServerParameters(command=sys.executable, args=["-c", code, url])

def heard(text):
    return MessageEvent(index=0, turn=0, by="user", content=text)

async def act(desk, move):
    if isinstance(move, Message):
        answer = await desk.call_tool("send_message_to_customer", {"message": move.content})
        text = answer.content[0].text
        return None if "The conversation is over" in text else [heard(text)]
    answers = await asyncio.gather(*(desk.call_tool(c.name, c.arguments) for c in move.calls))
    return [
        ToolResultEvent(index=0, turn=0, call_id="", name=call.name, content=a.content[0].text,
                        error=ErrorKind.REFUSED if a.is_error else None)
        for call, a in zip(move.calls, answers)
    ]

async def main():
    async with Client(url) as desk:
        briefing = desk.instructions
        assert briefing == (await desk.call_tool("read_briefing", {})).content[0].text
        assert briefing == (await desk.get_prompt("briefing")).messages[0].content.text
        now = briefing.partition("It is now ")[2].partition(".")[0]
        opening = briefing.partition("<customer>\\n")[2].partition("\\n</customer>")[0]
        agent = agent_kind("rule-based").make(Brief("retail", briefing, (), now))
        events = [heard(opening)]
        while events:
            move = agent.act(Observation(events=tuple(events)))
            print("what I print is not for stdout:", move)
            events = await act(desk, move)

asyncio.run(main())
'''

FAILING = """
n=$(ls ways | wc -l); touch ways/$n
case $n in
0) echo 'ValueError: oh no' >&2; exit 3 ;;
1) echo 'nothing to do'; exit 0 ;;
2) kill -9 $$ ;;
3) echo 'thinking'; sleep 60 ;;
4) head -c 3000000 /dev/zero | tr '\\0' x; echo 'the end'; exit 1 ;;
5) sleep 61 & echo $! > child; setsid sleep 62 & echo $! > away; sleep 0.2; exit 4 ;;
6) exec 1>&- 2>&-; exit 5 ;;
esac
"""
FAILURES = (
    "the program ended with 3 before it had called or said anything; it printed last: ValueError",
    "the program ended with 0 before it had called or said anything; it printed last: nothing to",
    "the program was killed by signal 9",
    "the program did nothing for 1 s; it printed last: thinking",
    "xxxthe end",
    "the program ended with 4",
    "the program ended with 5",
)


def program(folder: Path, *options: str) -> str:
    """The spec of the rule-based agent as a program."""
    file = folder / "rule_based_over_mcp.py"
    file.write_text(PROGRAM)
    return f"mcp:{shlex.join([sys.executable, str(file), *options])}"


def is_gone(process: int) -> bool:
    """Whether a process ends soon; one that nobody has buried yet has ended."""
    state = Path(f"/proc/{process}/stat")
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    "options", [(), pytest.param(("--stdio",), marks=pytest.mark.slow)], ids=["http", "stdio"]
)
def test_a_program_over_mcp_does_what_the_agent_does_here(
    options: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It sees the same, can do the same, and what it prints gets into nobody's way."""
    (tmp_path / "here").mkdir()
    (here,) = run_trials(tmp_path / "here", "rule-based", TASKS, max_turns=40)
    (there,) = run_trials(tmp_path, program(tmp_path, *options), TASKS, max_turns=40)
    assert told(there.transcript) == told(here.transcript)
    assert there.reward == 1.0
    assert "what I print" not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_the_example_of_the_documents_plays(tmp_path: Path) -> None:
    """A program in thirty lines, which asks and looks something up."""
    command = shlex.join([sys.executable, str(EXAMPLES / "mcp_agent.py")])
    (one,) = run_trials(tmp_path, f"mcp:{command}", TASKS, max_turns=4)
    assert next(one.transcript.calls()).call.name == "find_user_id_by_email"
    assert any(text.startswith("I found: ") for text in one.transcript.text_by("agent"))


def test_a_program_that_fails_hurts_its_own_trial_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure is the agent's, shows what was printed last, and leaves no child behind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ways").mkdir()
    (tmp_path / "failing.sh").write_text(FAILING)
    ran = run_trials(tmp_path, "mcp:sh failing.sh,timeout=1", TASKS, trials=len(FAILURES))
    for one, message in zip(ran, FAILURES, strict=True):
        assert one.fault is Fault.AGENT
        assert message in one.ending
        assert len(one.ending) < 2_000
    assert is_gone(int((tmp_path / "child").read_text()))
    if Path("/proc").is_dir():  # elsewhere nothing tells whose a process is that went away
        assert is_gone(int((tmp_path / "away").read_text()))


# --- the desk itself ------------------------------------------------------------------------------


def heard(text: str) -> Observation:
    """The customer says something."""
    return Observation(events=(MessageEvent(index=0, turn=0, by="user", content=text),))


async def at_a_desk(brief: Brief, work: Callable[[Client, Bridge, McpDesk], Any]) -> None:
    """Serve a desk, connect to it, and close both."""
    bridge = Bridge()
    desk = McpDesk(brief, "Hello!", bridge)
    await desk.open()
    try:
        async with Client(desk.url) as client:
            await work(client, bridge, desk)
    finally:
        bridge.end(Observation(events=()))
        await desk.close()


def text_of(answer: Any) -> str:
    """The text of a tool's result."""
    return answer.content[0].text  # type: ignore[no-any-return]


def test_calls_made_at_once_get_their_own_results(brief: Callable[..., Brief]) -> None:
    """Each is a call of ours, known tool or not, and its result goes back to it."""

    async def work(client: Client, bridge: Bridge, desk: McpDesk) -> None:
        names = ["get_order_details", "no_such_tool", "think"]
        calling = [
            asyncio.create_task(client.call_tool(name, {"number": number}))
            for number, name in enumerate(names)
        ]
        observation, seen = heard("Hello!"), []
        while len(seen) < len(names):
            move = await bridge.move(observation)
            assert isinstance(move, ToolCalls)
            seen += [call.name for call in move.calls]
            observation = Observation(
                events=tuple(
                    ToolResultEvent(
                        index=0, turn=0, call_id="", name=call.name,
                        content=f"{call.name} {call.arguments['number']}",
                        error="unknown tool" if call.name == "no_such_tool" else None,
                    )
                    for call in move.calls
                )
            )  # fmt: skip
        asking = asyncio.create_task(bridge.move(observation))
        answers = await asyncio.gather(*calling)
        asking.cancel()
        assert [text_of(a) for a in answers] == [f"{name} {n}" for n, name in enumerate(names)]
        assert [a.is_error for a in answers] == [False, True, False]
        assert sorted(seen) == sorted(names)

    asyncio.run(at_a_desk(brief(), work))


def test_the_customers_answer_is_the_result_until_it_is_over(brief: Callable[..., Brief]) -> None:
    """The last words come with the news that there is no more to do."""

    async def work(client: Client, bridge: Bridge, desk: McpDesk) -> None:
        for wrong in ({"message": 5}, {}, {"message": "Hi", "loudly": True}):
            answer = await client.call_tool(SAY, wrong)
            assert answer.is_error
            assert "takes one argument, message, a text" in text_of(answer)
        saying = asyncio.create_task(client.call_tool(SAY, {"message": "Done."}))
        assert await bridge.move(heard("Hello!")) == Message(content="Done.")
        bridge.end(heard("Thanks!"))
        assert text_of(await saying) == f"Thanks!\n\n({OVER})"
        late = await client.call_tool("think", {"thought": "?"})
        assert (late.is_error, text_of(late)) == (True, OVER)

    asyncio.run(at_a_desk(brief(), work))


def test_the_desk_lists_the_tools_of_the_domain_as_they_are(brief: Callable[..., Brief]) -> None:
    """Beside them stand two of ours, and the briefing holds policy, clock and first words."""
    told = brief()

    async def work(client: Client, bridge: Bridge, desk: McpDesk) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [SAY, BRIEFING, *(t["name"] for t in told.tools)]
        assert [t.input_schema for t in tools[2:]] == [t["input_schema"] for t in told.tools]
        briefing = text_of(await client.call_tool(BRIEFING, {}))
        assert told.policy in briefing
        assert told.now in briefing
        assert "Hello!" in briefing

    asyncio.run(at_a_desk(told, work))


def test_nobody_else_gets_in(brief: Callable[..., Brief]) -> None:
    """The address cannot be guessed, and a page in a browser cannot be made to use it."""
    import aiohttp

    async def work(client: Client, bridge: Bridge, desk: McpDesk) -> None:
        root = desk.url.partition("/mcp")[0].rpartition("/")[0]
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{root}/mcp", json={}) as answer:
                assert answer.status == 404
            evil = {"Host": "evil.example"}
            async with session.post(desk.url, json={}, headers=evil) as answer:
                assert answer.status in (403, 421)

    asyncio.run(at_a_desk(brief(), work))


# --- specs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mcp", "lacks a command, e.g. 'mcp:python my_agent.py'"),
        ("mcp:", "lacks a command"),
        ("mcp:no-such-program --fast", "there is no program 'no-such-program'"),
        ("mcp:sh 'x", "the command cannot be read: No closing quotation"),
        ("mcp:sh x.sh,timeout=-1", "timeout must be seconds, more than 0, not '-1'"),
        ("mcp:sh x.sh,grace=1", "there is no option 'grace'; there are: timeout"),
        ("mcp:sh x.sh,y", "'y' is no option; write name=value"),
    ],
)
def test_a_wrong_spec_ends_in_one_line(spec: str, message: str) -> None:
    """Before the first trial."""
    with pytest.raises(UsageError) as raised:
        agent_kind(spec)
    assert message in str(raised.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UsageError, match=r"needs a package: pip install 'passhat\[mcp\]'"):
        agent_kind("mcp:sh x.sh")


def test_a_tool_cannot_have_the_name_of_one_of_ours() -> None:
    """Whom a call is for would be a guess."""
    tool = {"name": SAY, "description": "", "input_schema": {"type": "object"}}
    with pytest.raises(UsageError, match="cannot be called 'send_message_to_customer'"):
        agent_kind("mcp:sh x.sh").make(Brief("shop", "", (tool,), "2026-03-16"))


def test_the_proxy_needs_a_desk() -> None:
    """What it is for is said in one line."""
    env = {**os.environ}
    env.pop("PASSHAT_MCP_URL", None)
    done = subprocess.run(
        [sys.executable, "-m", "passhat", "mcp-stdio"], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("passhat: no desk: passhat run --agent mcp:COMMAND sets PASSHAT_")
