"""Tools offered over HTTP for a test, with the conversation's side played by a small answerer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import date
from typing import Any

import stage

from pytest_voicebench.agents.protocol import Setup, ToolCall, ToolCancelled, ToolResult
from pytest_voicebench.agents.tool_host import ToolHost, tool_host
from pytest_voicebench.agents.wire_log import WireLog

DEADLINE_S = 60.0
MILAN = {"destination": "Milan", "date": "2026-06-03"}


def setup(**more: Any) -> Setup:
    """What the agent of a conversation is told."""
    told = {"conversation_id": "milan_01", "instructions": "Help the caller.", "today": date(2026, 4, 6)}
    return Setup(**{**told, "tools": tuple(stage.TOOLS.values()), **more})


def held(conversation: Callable[[], Any]) -> Any:
    """Run a test's conversation with a deadline, on a loop of its own."""

    async def in_time():
        async with asyncio.timeout(DEADLINE_S):
            return await conversation()

    return asyncio.run(in_time())


def hosted(talk: Callable[..., Any], *, ends: bool = False, **more: Any) -> tuple[Any, list[dict]]:
    """What `talk(host, client)` gives while tools are offered, and the log's rows. `ends`: it is also given what ends
    the conversation under its hands."""
    import httpx2

    async def conversation():
        log = WireLog(asyncio.get_running_loop().time)
        async with httpx2.AsyncClient() as client, AsyncExitStack() as stack:
            host = await stack.enter_async_context(tool_host(setup(log=log), **more))
            told = await talk(host, client, *([stack.aclose] if ends else []))
            return told, [json.loads(line) for line in log.lines(None)]

    return held(conversation)


@asynccontextmanager
async def answering(host: ToolHost, result: Any = None, is_error: bool = False):
    """The conversation's side: every call is answered, by an echo where no result is given. Gives all events."""
    events: list[ToolCall | ToolCancelled] = []

    def told(call: ToolCall) -> Any:
        return result(call) if callable(result) else {"echo": call.arguments} if result is None else result

    async def answer() -> None:
        async for event in host.calls():
            events.append(event)
            if isinstance(event, ToolCall):
                answer = ToolResult(call_id=event.call_id, name=event.name, result=told(event), is_error=is_error)
                host.answer([answer])

    task = asyncio.create_task(answer())
    try:
        yield events
    finally:
        task.cancel()
        await asyncio.wait([task])
