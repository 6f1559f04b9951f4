"""A desk that is served over MCP: one conversation's tools, at an address that nobody can guess.

The protocol itself, streamable HTTP and its versions, is the affair of the package ``mcp``.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server

from ..transcript import JsonDict
from .agent import Brief
from .bridge import Answer, Bridge
from .dialogue import clock_line, template

SAY: Final = "send_message_to_customer"
BRIEFING: Final = "read_briefing"
OWN_TOOLS: Final = (SAY, BRIEFING)
"""Tools that stand beside those of the domain."""

_SAY_TOOL = types.Tool(
    name=SAY,
    description=(
        "Send a message to the customer, and wait for the answer: it is the result. Nothing else"
        " that you write reaches the customer. The result also tells when the conversation is over."
    ),
    input_schema={
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What the customer reads."}},
        "required": ["message"],
        "additionalProperties": False,
    },
)
_BRIEFING_TOOL = types.Tool(
    name=BRIEFING,
    description=(
        "The policy that binds you, the time, and what the customer has written: read it first."
    ),
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
)


class McpDesk:
    """Serves one conversation, from `open` to `close`, in the event loop that opened it.

    Args:
        brief: Of the conversation.
        opening: The customer's first words.
        bridge: Takes what is wanted.

    Attributes:
        url: Where it is served; the path holds a secret, since anybody on the machine can connect.
    """

    def __init__(self, brief: Brief, opening: str, bridge: Bridge) -> None:
        self._briefing = template("outside").substitute(
            say=SAY, briefing=BRIEFING, policy=brief.policy, now=clock_line(brief.now),
            opening=opening,
        )  # fmt: skip
        self._tools = [_SAY_TOOL, _BRIEFING_TOOL, *map(as_mcp, brief.tools)]
        self._bridge = bridge
        self._serving: asyncio.Task[None] | None = None
        self.url = ""

    async def open(self) -> None:
        """Begin to serve.

        Raises:
            OSError: There is no port left.
        """
        path = f"/{secrets.token_urlsafe(16)}/mcp"
        listening = socket.create_server(("127.0.0.1", 0))
        app = self._server().streamable_http_app(streamable_http_path=path)
        self._uvicorn = _Uvicorn(
            uvicorn.Config(
                app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1
            )
        )
        self._serving = asyncio.create_task(self._uvicorn.serve([listening]))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"

    async def close(self) -> None:
        """Serve no more. Whoever uses it should be gone, or it is cut off."""
        if self._serving is not None:
            self._uvicorn.should_exit = True
            await self._serving

    # --- what is served ---------------------------------------------------------------------------

    def _server(self) -> Server[Any]:
        return desk_server(
            self._tools,
            self._answer,
            instructions=self._briefing,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    async def _answer(self, name: str, arguments: JsonDict) -> Answer:
        if name == BRIEFING:
            return Answer(self._briefing)
        if name != SAY:
            return await self._bridge.call(name, arguments)
        message = arguments.get("message")
        if not isinstance(message, str) or len(arguments) > 1:
            return Answer(
                f"Error: {SAY} takes one argument, message, a text; not {arguments!r:.200}", True
            )
        return await self._bridge.say(message)

    async def _list_prompts(self, _: Any, params: Any) -> types.ListPromptsResult:
        prompt = types.Prompt(name="briefing", description=_BRIEFING_TOOL.description)
        return types.ListPromptsResult(prompts=[prompt])

    async def _get_prompt(self, _: Any, params: Any) -> types.GetPromptResult:
        text = types.TextContent(type="text", text=self._briefing)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


def desk_server(
    tools: list[types.Tool], answer: Callable[[str, JsonDict], Awaitable[Answer]], **more: Any
) -> Server[Any]:
    """A server of these tools. Arguments are checked by whoever answers, not here.

    Args:
        tools: As they are listed.
        answer: Takes the name of a tool, known or not, and the arguments of a call.
        more: What else `Server` takes.
    """

    async def list_tools(_: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = await answer(params.name, params.arguments or {})
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=given.text)]
        return types.CallToolResult(content=content, is_error=given.is_error)

    return Server(
        "passhat",
        title="Customer service desk",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **more,
    )


def as_mcp(tool: JsonDict) -> types.Tool:
    """A tool of a brief, as MCP lists it."""
    return types.Tool(
        name=tool["name"], description=tool["description"], input_schema=tool["input_schema"]
    )


class _Uvicorn(uvicorn.Server):
    """A server in somebody else's event loop: what Ctrl-C means is for the run to say."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield
