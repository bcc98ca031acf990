"""Tools by version 1 of the mcp package: `mcp_client.py URL`; prints what it saw as JSON.

Runs in an environment with mcp 1, which is what most agents have; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

DEADLINE_S = 20


async def main(url: str) -> None:
    seen: dict = {"calls": []}
    async with asyncio.timeout(DEADLINE_S):
        async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as session:
            seen["instructions"] = (await session.initialize()).instructions
            seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
            for name, arguments in (("search_flights", {"destination": "Milan"}), ("unknown", {})):
                told = await session.call_tool(name, arguments)
                seen["calls"].append([told.isError, told.structuredContent, told.content[0].text])
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
