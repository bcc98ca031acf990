"""Calls over HTTP among the other events of a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pytest_voicebench.agents.protocol import AgentEvent
from pytest_voicebench.agents.tool_host.host import ToolHost

Timed = tuple[AgentEvent, float | None]
"""An event, and when what it is made of arrived, by the loop's clock; None where nobody knows."""


async def with_calls(events: AsyncIterator[AgentEvent], host: ToolHost) -> AsyncIterator[AgentEvent]:
    """A line's own events and the calls of its tool host, each when it comes, until the line's own end.

    What the line raises is raised. For `receive()` of a line whose agent calls its tools itself.
    """
    async for event, _ in with_timed_calls(_untimed(events), host):
        yield event


async def with_timed_calls(events: AsyncIterator[Timed], host: ToolHost) -> AsyncIterator[Timed]:
    """The same for a line that says when each of its events arrived: calls have their times, too.

    One event is taken ahead; what comes meanwhile waits where it came from, which says how much may wait there.
    """
    found: asyncio.Queue[Timed | None] = asyncio.Queue()
    room = asyncio.Semaphore(1)

    async def pass_on(source: AsyncIterator[Timed]) -> None:
        async for event in source:
            await room.acquire()
            found.put_nowait(event)

    own = asyncio.ensure_future(pass_on(events))
    calls = asyncio.ensure_future(pass_on(host.timed_calls()))
    own.add_done_callback(lambda _: found.put_nowait(None))
    try:
        while (event := await found.get()) is not None:
            room.release()
            yield event
        await own
    finally:
        own.cancel()
        calls.cancel()
        await asyncio.wait([own, calls])


async def _untimed(events: AsyncIterator[AgentEvent]) -> AsyncIterator[Timed]:
    async for event in events:
        yield event, None
