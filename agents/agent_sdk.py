"""An agent on the Claude Agent SDK: ``agent-sdk[:MODEL]``, one session a conversation.

The SDK runs Claude Code with a loop, retries and context management of its own; here it gets the
domain's tools and none of its built-in ones, no settings of this machine, and the policy as its
system prompt. What it says at the end of a turn is said to the customer.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import deque
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from ..errors import InfrastructureError, RunStoppedError, UsageError
from ..models.registry import split_spec
from ..transcript import Observation, Usage
from .agent import AgentError, AgentKind, Brief
from .bridge import Bridge, Move
from .dialogue import clock_line, template, words
from .options import no_more_options, seconds_option

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

MOVE_SECONDS: Final = 240.0
"""Seconds for one move, unless said otherwise: less than a run allows, so that what held it up can
be told from what it did."""

SERVER: Final = "desk"
"""What the SDK calls the tools' server: a tool is ``mcp__desk__NAME`` to the model."""

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")

_ENVIRONMENT: Final = {
    "ENABLE_TOOL_SEARCH": "false",  # the model sees every tool from the start, as other agents do
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_AGENT_SDK_CLIENT_APP": "passhat",
}

_KEYS: Final = (
    "ANTHROPIC_API_KEY",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)

_STOPPING: Final = frozenset({"authentication_failed", "billing_error"})
_STOPPING_STATUS: Final = frozenset({401, 402, 403, 404})


_FULL: Final = ("prompt is too long", "context window limit")
"""How the SDK says that a conversation is too long; it has no code for it."""


class SessionError(AgentError):
    """The session made no move, by its own doing."""


def agent_sdk_kind(spec: str) -> AgentKind:
    """Agents on the Claude Agent SDK.

    Args:
        spec: ``agent-sdk`` or ``agent-sdk:MODEL``; options: ``effort``, ``timeout`` (seconds for
            one move).

    Raises:
        UsageError: No such option, or the package ``claude-agent-sdk`` is not installed.
    """
    if find_spec("claude_agent_sdk") is None:
        raise UsageError(f"agent {spec!r} needs a package: pip install 'passhat[agent-sdk]'")
    head, options = split_spec(spec)
    _, colon, model = head.partition(":")
    if colon and not model:
        raise UsageError(f"agent {spec!r} lacks a model after the colon, e.g. claude-haiku-5-5")
    effort = options.pop("effort", None)
    if effort not in (None, *EFFORTS):
        raise UsageError(f"agent {spec!r}: effort must be one of {', '.join(EFFORTS)}")
    timeout = seconds_option(options, "timeout", f"agent {spec!r}") or MOVE_SECONDS
    no_more_options(options, f"agent {spec!r}", "effort, timeout")

    def make(brief: Brief) -> AgentSdkAgent:
        return AgentSdkAgent(brief, model or None, effort, timeout)

    return AgentKind(spec, make, check=_check_key)


async def _check_key() -> None:
    """Sessions are kept apart from the person's own sign-in, so a key must be given.

    Raises:
        RunStoppedError: There is none.
    """
    if not any(os.environ.get(name) for name in _KEYS):
        raise RunStoppedError(
            "agent-sdk needs a key in ANTHROPIC_API_KEY (or CLAUDE_CODE_USE_BEDROCK and the like);"
            " an account that Claude Code is signed in to is not used"
        )


class AgentSdkAgent:
    """One session of the SDK. It is opened by the first move that is asked for.

    Args:
        brief: Of the conversation.
        model: None: whatever the SDK takes by default.
        effort: None: likewise.
        timeout: Seconds for one move.
    """

    def __init__(self, brief: Brief, model: str | None, effort: str | None, timeout: float) -> None:
        self._brief = brief
        self._model = model
        self._effort: Any = effort  # looked at when the spec was read
        self._timeout = timeout
        self._bridge = Bridge()
        self._session: asyncio.Task[None] | None = None
        self._printed: deque[str] = deque(maxlen=5)
        self._retrying = ""
        self._error: str | None = None
        self._spent_dollars = 0.0

    async def act(self, observation: Observation) -> Move:
        """What the session does next.

        Raises:
            SessionError: It made no move.
            InfrastructureError, RunStoppedError: It could not.
        """
        self._brief.account.check()
        if self._session is None:
            self._session = asyncio.create_task(self._converse(observation.text))
        started = time.perf_counter()
        try:
            move = await asyncio.wait_for(self._bridge.move(observation), self._timeout)
        except TimeoutError:
            if self._retrying:
                raise InfrastructureError(f"the API did not answer: {self._retrying}") from None
            raise SessionError(f"the session made no move within {self._timeout:g} s") from None
        return move.model_copy(update={"seconds": round(time.perf_counter() - started, 6)})

    async def close(self, last: Observation) -> None:
        """End the session: what it would go on to say nobody reads."""
        self._bridge.end(last)
        if self._session is not None:
            self._session.cancel()
            await asyncio.wait({self._session})

    # --- the session, in a task of its own: the SDK wants to be used from one ---------------------

    async def _converse(self, opening: str) -> None:
        from claude_agent_sdk import ClaudeSDKClient, ClaudeSDKError

        try:
            with tempfile.TemporaryDirectory(
                prefix="passhat-", ignore_cleanup_errors=True
            ) as empty:
                client = ClaudeSDKClient(self._options(empty))
                await self._connect(client)
                try:
                    await self._talk(client, opening)
                finally:
                    await client.disconnect()
        except ClaudeSDKError as error:
            self._bridge.leave(self._lost(error))
        except Exception as error:
            self._bridge.leave(error)

    async def _connect(self, client: ClaudeSDKClient) -> None:
        """Start the SDK's program. It says with any kind of error that it does not start."""
        try:
            await client.connect()
        except Exception as error:
            raise self._lost(error) from error

    async def _talk(self, client: ClaudeSDKClient, opening: str) -> None:
        heard, over = f"{clock_line(self._brief.now)}\n\n{words(opening)['text']}", False
        while not over:
            said, usage = await self._turn(client, heard)
            answer = await self._bridge.say(said, usage)
            heard, over = words(answer.text)["text"], answer.over

    def _lost(self, error: Exception) -> InfrastructureError:
        said = " ".join(f"{error} {' '.join(self._printed)}".split())
        return InfrastructureError(f"Claude Agent SDK: {said:.500}")

    def _options(self, empty: str) -> ClaudeAgentOptions:
        from claude_agent_sdk import ClaudeAgentOptions

        from .mcp_desk import as_mcp, desk_server

        tools = [as_mcp(tool) for tool in self._brief.tools]
        server = desk_server(tools, self._bridge.call)
        return ClaudeAgentOptions(
            model=self._model,
            effort=self._effort,
            system_prompt=template("native").substitute(policy=self._brief.policy),
            # Not create_sdk_mcp_server: it answers malformed calls itself, and they are the
            # agent's doing, which belongs into the transcript.
            mcp_servers={SERVER: {"type": "sdk", "name": SERVER, "instance": server}},
            allowed_tools=[f"mcp__{SERVER}__{tool.name}" for tool in tools],
            tools=[],
            permission_mode="dontAsk",
            strict_mcp_config=True,
            setting_sources=[],
            skills=[],
            verbatim_prompts=True,
            cwd=empty,
            env=_ENVIRONMENT,
            # Bare: without it the model is told today's date, which is not the world's, and the
            # folder and system that this runs on.
            extra_args={"bare": None, "no-session-persistence": None},
            stderr=self._printed.append,
        )

    async def _turn(self, client: ClaudeSDKClient, heard: str) -> tuple[str, Usage]:
        """Tell the session something; returns what it says in the end, and what that cost."""
        from claude_agent_sdk import AssistantMessage, ResultMessage, SystemMessage

        await client.query(heard)
        self._error = None
        async for message in client.receive_response():
            if isinstance(message, SystemMessage) and message.subtype == "api_retry":
                self._retrying = str(message.data.get("error") or message.data)[:200]
            elif isinstance(message, AssistantMessage):
                self._retrying = ""
                self._error = message.error or self._error
            elif isinstance(message, ResultMessage):
                return self._result(message)
        raise InfrastructureError("Claude Agent SDK: the session ended in the middle of a turn")

    def _result(self, result: ResultMessage) -> tuple[str, Usage]:
        said = result.result or "; ".join(result.errors or ())
        usage = self._usage(result)
        self._brief.account.add("agent", usage)
        if result.is_error:
            raise failure(self._error, result.api_error_status, result.stop_reason, said)
        if not said.strip():
            raise SessionError("the session ended its turn without a word")
        return said, usage

    def _usage(self, result: ResultMessage) -> Usage:
        """Of this turn. The SDK counts tokens by turn, and dollars from the start."""
        spent: dict[str, Any] = result.usage or {}
        written: dict[str, Any] = spent.get("cache_creation") or {}
        hour = written.get("ephemeral_1h_input_tokens")
        minutes = spent.get("cache_creation_input_tokens")
        dollars = None
        if result.total_cost_usd is not None:
            dollars = max(0.0, result.total_cost_usd - self._spent_dollars)
            self._spent_dollars = result.total_cost_usd
        return Usage(
            input_tokens=spent.get("input_tokens"),
            cache_read_tokens=spent.get("cache_read_input_tokens"),
            cache_write_tokens=None if minutes is None else max(0, minutes - (hour or 0)),
            cache_write_1h_tokens=hour,
            output_tokens=spent.get("output_tokens"),
            cost_dollars=dollars,
        )


def failure(
    error: str | None, status: int | None, stop_reason: str | None, said: str
) -> SessionError | InfrastructureError | RunStoppedError:
    """Whose doing it is that a turn failed.

    Args:
        error: What the SDK calls it; None if it does not say.
        status: Of the request that failed; None: none did.
        stop_reason: Of the model.
        said: In words.
    """
    what = f"Claude Agent SDK: {' '.join(said.split())[:300] or error or stop_reason}"
    if stop_reason == "refusal":
        return SessionError(f"the model refused to answer: {what}")
    if any(words in said.lower() for words in _FULL):
        return SessionError(f"the conversation no longer fits into the model's context: {what}")
    if error in _STOPPING or status in _STOPPING_STATUS:
        return RunStoppedError(what)
    if error is not None or status is not None:
        return InfrastructureError(what)
    return SessionError(what)
