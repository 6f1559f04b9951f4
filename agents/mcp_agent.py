"""An agent that speaks MCP: ``mcp:COMMAND``, a program of somebody's that is run once a trial.

The program connects to the address in ``PASSHAT_MCP_URL``, where it finds the domain's tools and
one more, which sends a message to the customer and returns the answer. So the agent keeps its own
loop, its own model and its own framework; what it calls is what it does here. docs/agents.md shows
one.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ..errors import InfrastructureError, UsageError
from ..models.registry import split_spec
from ..transcript import Observation, Stop
from .agent import AgentError, AgentKind, Brief
from .bridge import Bridge, Move
from .options import no_more_options, seconds_option
from .program import Program

if TYPE_CHECKING:
    from .mcp_desk import McpDesk

MOVE_SECONDS: Final = 240.0
"""Seconds for one move, unless said otherwise: less than a run allows, so that the failure can show
what the program printed."""

GRACE_SECONDS: Final = 2.0
"""How long a program may go on when its conversation is over."""


class ProgramError(AgentError):
    """The program failed; says how, and what it printed last."""


def mcp_agent_kind(spec: str) -> AgentKind:
    """Agents that are the command of a spec, run once for every trial.

    Args:
        spec: ``mcp:COMMAND``, in the words of a shell but without one; option: ``timeout``
            (seconds for one move).

    Raises:
        UsageError: No such command or option, or the package ``mcp`` is not installed.
    """
    if find_spec("mcp") is None:
        raise UsageError(f"agent {spec!r} needs a package: pip install 'passhat[mcp]'")
    head, options = split_spec(spec)
    meant = f"agent {head!r}"
    timeout = seconds_option(options, "timeout", meant) or MOVE_SECONDS
    no_more_options(options, meant, "timeout (a comma in a command belongs into a script)")
    try:
        command = shlex.split(head.partition(":")[2])
    except ValueError as error:
        raise UsageError(f"{meant}: the command cannot be read: {error}") from None
    if not command:
        raise UsageError(f"{meant} lacks a command, e.g. 'mcp:python my_agent.py'")
    if shutil.which(command[0]) is None:
        raise UsageError(f"{meant}: there is no program {command[0]!r}")

    def make(brief: Brief) -> McpAgent:
        return McpAgent(brief, command, timeout)

    return AgentKind(spec, make)


class McpAgent:
    """The program of one conversation. It is started by the first move that is asked for.

    Args:
        brief: Of the conversation.
        command: The program and its arguments.
        timeout: Seconds for one move.

    Raises:
        UsageError: A tool of the domain has the name of one of ours.
    """

    def __init__(self, brief: Brief, command: Sequence[str], timeout: float) -> None:
        from .mcp_desk import OWN_TOOLS

        for tool in brief.tools:
            if tool["name"] in OWN_TOOLS:
                raise UsageError(f"a tool over MCP cannot be called {tool['name']!r}: passhat's is")
        self._brief = brief
        self._command = command
        self._timeout = timeout
        self._bridge = Bridge()
        self._desk: McpDesk | None = None
        self._program: Program | None = None
        self._watching: asyncio.Task[None] | None = None
        self._moves = 0
        self._hopeless = False

    async def act(self, observation: Observation) -> Move:
        """What the program does next.

        Raises:
            ProgramError: It ended, or did nothing in time.
            InfrastructureError: It cannot be started.
        """
        if self._program is None:
            self._program = await self._start(observation.text)
            self._watching = asyncio.create_task(self._watch(self._program))
        started = time.perf_counter()
        try:
            move = await asyncio.wait_for(self._bridge.move(observation), self._timeout)
        except TimeoutError:
            self._hopeless = True
            raise ProgramError(
                f"the program did nothing for {self._timeout:g} s{self._program.printed}"
            ) from None
        self._moves += 1
        return move.model_copy(update={"seconds": round(time.perf_counter() - started, 6)})

    async def _start(self, opening: str) -> Program:
        from .mcp_desk import McpDesk

        self._desk = McpDesk(self._brief, opening, self._bridge)
        try:
            await self._desk.open()
            env = {"PASSHAT_MCP_URL": self._desk.url, "PASSHAT_SEED": str(self._brief.seed)}
            return await Program.start(self._command, env)
        except OSError as error:
            said = f"{type(error).__name__}: {error.strerror}"
            raise InfrastructureError(f"the program cannot be started: {said}") from error

    async def _watch(self, program: Program) -> None:
        code = await program.wait()
        await asyncio.sleep(0.05)  # what it printed last is still in the pipe
        if code == 0 and self._moves:
            self._bridge.leave(Stop(reason="the program ended"))
        else:
            ended = f"was killed by signal {-code}" if code and code < 0 else f"ended with {code}"
            done = "" if self._moves else " before it had called or said anything"
            self._bridge.leave(ProgramError(f"the program {ended}{done}{program.printed}"))

    async def close(self, last: Observation) -> None:
        """Tell the program that the conversation is over; end it if it does not end by itself."""
        self._bridge.end(last)
        try:
            if self._program is not None and not self._hopeless:
                await self._program.wait(GRACE_SECONDS)
        finally:
            if self._watching is not None:
                self._watching.cancel()
            if self._program is not None:
                await self._program.kill()
            if self._desk is not None:
                await self._desk.close()
