"""`passhat play`: a person plays the agent, or the customer."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import DomainArgument, console, safe

if TYPE_CHECKING:
    from rich.console import Console

    from ..agents.agent import AgentKind, Brief
    from ..envs.episode import Episode
    from ..task import UserScript
    from ..transcript import Message, Observation, Stop, ToolCalls, UserReply

AGENT_HELP = """\
You are the agent. Write what you say to the customer, or:
  /call TOOL {"argument": "value"}   call a tool
  /tools                             list the tools; /tools NAME shows one
  /policy                            read the policy
  /quit                              end the conversation"""

USER_HELP = """\
You are the customer. Write what you say to the agent, or:
  /script   read who you are and what you want
  /done     all is settled: end the conversation
  /quit     give up"""


def play(
    domain: DomainArgument,
    task: Annotated[str | None, typer.Option(help="Which task; default: the first.")] = None,
    side: Annotated[
        str, typer.Option("--as", metavar="agent|user", help="Whom you play.")
    ] = "agent",
    agent: Annotated[
        str, typer.Option(metavar="SPEC", help="Who is the agent if you are the customer.")
    ] = "rule-based",
    seed: Annotated[int, typer.Option(min=0, help="Of the other side.")] = 0,
) -> None:
    """Play a task yourself, as the agent or as the customer; it is graded at the end.

    For example:
        passhat play retail

        passhat play retail --task cancel-power-bank --as user --agent rule-based
    """
    import asyncio

    from ..agents.agent import AgentKind
    from ..agents.registry import agent_kind
    from ..envs.episode import Episode
    from ..errors import UsageError
    from ..harness.attempt import Attempts, Conditions, load_domain_of
    from .show import print_verdicts

    if side not in ("agent", "user"):
        raise UsageError(f"--as must be agent or user, not {side!r}")
    opened = load_domain_of(domain)
    chosen = opened.task(task) if task is not None else next(iter(opened.tasks.values()))
    out = console()
    if side == "agent":
        kind = AgentKind("person", lambda brief: PersonAsAgent(brief, out))
    else:
        kind = agent_kind(agent)
    attempts = Attempts(Conditions(domain, kind.spec), opened, kind)
    with Episode.start(opened, chosen, seed=seed) as episode:
        if side == "user":
            episode.user = PersonAsUser(episode, out)
        asyncio.run(_played(episode, kind, attempts.brief(chosen, seed)))
        grade = attempts.grading.grade(chosen, episode.transcript, episode.db)
    ending = episode.transcript.ending
    assert ending is not None, "play ends the episode"
    out.print(f"\nthe conversation ended: {ending.reason} {safe(ending.detail)}", style="bold")
    print_verdicts(grade.verdicts, grade.basis, out)
    result = "lost" if grade.reward is None else "passed" if grade.passed else "failed"
    out.print(f"{chosen.id}: {result}", style="bold")


async def _played(episode: Episode, kind: AgentKind, brief: Brief) -> None:
    from ..harness.play import play as play_episode
    from ..harness.preflight import answering

    async with answering(kind):
        await play_episode(episode, kind, brief)


def read_line() -> str | None:
    """One line that the person wrote; None when there are no more."""
    if sys.stdin.isatty():
        print("> ", end="", flush=True)
    line = sys.stdin.readline()
    return line.strip() if line else None


class PersonAsAgent:
    """An agent that asks the person at the keyboard."""

    def __init__(self, brief: Brief, out: Console) -> None:
        self._brief = brief
        self._out = out
        out.print(AGENT_HELP, style="dim")

    def act(self, observation: Observation) -> Message | ToolCalls | Stop:
        """Show what happened; take the next line that is a move."""
        from ..transcript import Message, Stop

        for event in observation.events:
            who = "customer" if event.kind == "message" else f"result of {event.name}"
            self._out.print(f"\n{who}: {safe(event.content)}")
        while (line := read_line()) not in (None, "/quit"):
            assert line is not None
            if line.startswith("/call "):
                if (call := self._call(line.removeprefix("/call "))) is not None:
                    return call
            elif line.startswith("/"):
                self._explain(line)
            elif line:
                return Message(content=line)
        return Stop(reason="the person left")

    def _call(self, text: str) -> ToolCalls | None:
        from ..transcript import ToolCall, ToolCalls

        name, _, written = text.strip().partition(" ")
        try:
            arguments = json.loads(written or "{}")
        except ValueError as error:
            self._out.print(f"not JSON: {error}")
            return None
        if not isinstance(arguments, dict):
            self._out.print('arguments are an object, e.g. {"order_id": "#W1234567"}')
            return None
        return ToolCalls(calls=(ToolCall(name=name, arguments=arguments),))

    def _explain(self, line: str) -> None:
        command, _, name = line.partition(" ")
        if command == "/policy":
            self._out.print(safe(self._brief.policy))
        elif command == "/tools":
            self._show_tools(name.strip())
        else:
            self._out.print(AGENT_HELP, style="dim")

    def _show_tools(self, name: str) -> None:
        for tool in self._brief.tools:
            if name == tool["name"]:
                self._out.print(safe(json.dumps(tool, indent=2)))
                return
        for tool in self._brief.tools:
            self._out.print(f"{_signature(tool)}: {safe(tool['description']).splitlines()[0]}")


def _signature(tool: Mapping[str, Any]) -> str:
    return f"{tool['name']}({', '.join(tool['input_schema'].get('properties', {}))})"


class PersonAsUser:
    """A customer who is the person at the keyboard."""

    def __init__(self, episode: Episode, out: Console) -> None:
        self._episode = episode
        self._out = out
        self._shown = 0
        out.print(USER_HELP, style="dim")
        self._show_script(episode.task.user)

    @property
    def facts(self) -> Mapping[str, str]:
        """What they know about themselves."""
        task = self._episode.task
        if not task.user.customer:
            return dict(task.user.knows)
        profile = self._episode.domain.profile(self._episode.db, task.user.customer)
        return {**profile, **task.user.knows}

    @property
    def never_put(self) -> tuple[str, ...]:
        """Nobody can tell what a person meant to ask."""
        return ()

    def fork(self) -> PersonAsUser:
        """There is only one of them."""
        return self

    def reply(self, heard: str | None) -> UserReply:
        """Show what the agent did and said; take the next line that the script allows."""
        from ..transcript import UserEnd, UserReply

        self._show_events()
        while (line := read_line()) not in (None, "/quit"):
            assert line is not None
            if line == "/done":
                return UserReply(content="Thank you, that is all.", end=UserEnd.GOALS_MET)
            if line.startswith("/"):
                self._explain(line)
            elif line:
                reply = UserReply(content=line)
                problem = self._episode.contract.fork().check(reply)
                if problem is None:
                    return reply
                self._out.print(f"that is not in your script: {safe(problem)}")
        return UserReply(content="Never mind, goodbye.", end=UserEnd.GAVE_UP)

    def _show_events(self) -> None:
        from .show import print_events

        fresh = self._episode.transcript[self._shown :]
        self._shown += len(fresh)
        print_events([e for e in fresh if not (e.kind == "message" and e.by == "user")], self._out)

    def _explain(self, line: str) -> None:
        if line == "/script":
            self._show_script(self._episode.task.user)
        else:
            self._out.print(USER_HELP, style="dim")

    def _show_script(self, script: UserScript) -> None:
        import yaml

        about = script.model_dump(mode="json", exclude_defaults=True)
        about["knows"] = dict(self.facts)
        self._out.print(safe(yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=78)))
