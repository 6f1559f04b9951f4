"""An agent that speaks MCP: it asks for an e-mail address, and looks.

A run starts it for every trial: ``passhat run retail --agent "mcp:python mcp_agent.py"``.
"""

import asyncio
import os

from mcp import Client


async def main():
    """Serve one customer; the program is started anew for the next one."""
    async with Client(os.environ["PASSHAT_MCP_URL"]) as desk:

        async def use(tool, **arguments):
            return (await desk.call_tool(tool, arguments)).content[0].text

        print(await use("read_briefing"))  # the policy, the time, the customer's first words
        heard = await use("send_message_to_customer", message="What is your e-mail address?")
        while "The conversation is over" not in heard:
            found = "Nothing."
            for word in heard.split():
                if "@" in word:
                    found = await use("find_user_id_by_email", email=word.strip(".,!?"))
            heard = await use("send_message_to_customer", message=f"I found: {found}")


asyncio.run(main())
