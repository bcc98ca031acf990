"""Calls over HTTP among the other events of a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pytest_voicebench.agents.protocol import AgentEvent
from pytest_voicebench.agents.tool_host.host import ToolHost


async def with_calls(events: AsyncIterator[AgentEvent], host: ToolHost) -> AsyncIterator[AgentEvent]:
    """A line's own events and the calls of its tool host, each when it comes, until the line's own end.

    What the line raises is raised. For `receive()` of a line whose agent calls its tools itself.
    """
    found: asyncio.Queue[AgentEvent | None] = asyncio.Queue()

    async def pass_on(source: AsyncIterator[AgentEvent]) -> None:
        async for event in source:
            found.put_nowait(event)

    own = asyncio.ensure_future(pass_on(events))
    calls = asyncio.ensure_future(pass_on(host.calls()))
    own.add_done_callback(lambda _: found.put_nowait(None))
    try:
        while (event := await found.get()) is not None:
            yield event
        await own
    finally:
        own.cancel()
        calls.cancel()
        await asyncio.wait([own, calls])
