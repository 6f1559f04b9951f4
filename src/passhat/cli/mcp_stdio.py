"""``passhat mcp-stdio``: a desk served over HTTP, for programs that speak MCP over stdio only."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from ..errors import UsageError


def mcp_stdio(
    url: Annotated[
        str,
        typer.Argument(envvar="PASSHAT_MCP_URL", help="Where the desk is served, as passhat says."),
    ] = "",
) -> None:
    """Serve the desk of an mcp: agent over stdin and stdout.

    An agent that starts its MCP servers itself is configured to start this one.

    For example:
      passhat mcp-stdio "$PASSHAT_MCP_URL"
    """
    if not url:
        raise UsageError("no desk: passhat run --agent mcp:COMMAND sets PASSHAT_MCP_URL for it")
    try:
        asyncio.run(_serve(url))
    except ImportError:
        raise UsageError("mcp-stdio needs a package: pip install 'passhat[mcp]'") from None


async def _serve(url: str) -> None:
    from mcp import Client
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async with Client(url) as desk:

        async def list_tools(_: Any, params: Any) -> Any:
            return await desk.list_tools()

        async def call_tool(_: Any, params: Any) -> Any:
            return await desk.call_tool(params.name, params.arguments)

        async def list_prompts(_: Any, params: Any) -> Any:
            return await desk.list_prompts()

        async def get_prompt(_: Any, params: Any) -> Any:
            return await desk.get_prompt(params.name, params.arguments)

        server = Server[Any](
            "passhat",
            instructions=desk.instructions,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
        )
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
