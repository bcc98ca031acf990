"""Calls that came in and wait for their answers: what asks is one side, the conversation the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from pytest_voicebench.agents.protocol import ToolCall, ToolCancelled, ToolResult
from pytest_voicebench.agents.wire_log import WireLog

Json = Any
Way = Literal["http", "mcp"]


class ConversationOver(Exception):  # noqa: N818 - names what is the case
    """The conversation ended before the tool answered; nothing was left out of it."""

    def __str__(self) -> str:
        return "the conversation is over"


class OpenCalls:
    """The calls of one conversation. Made inside the running loop. Every call gets an id of its own."""

    def __init__(self, log: WireLog) -> None:
        self._log = log
        self._events: asyncio.Queue[ToolCall | ToolCancelled | None] = asyncio.Queue()
        self._waiting: dict[str, asyncio.Future[ToolResult]] = {}
        self._made = 0
        self._over = False

    async def ask(self, name: str, arguments: str | dict[str, Json], way: Way) -> ToolResult:
        """Make a call and wait for its answer. Whoever is cancelled while he waits takes the call back.

        Raises ConversationOver.
        """
        if self._over:
            raise ConversationOver
        self._made += 1
        call_id = f"{way}_{self._made}"
        self._log.received({"type": "tool_call", "call_id": call_id, "name": name, "arguments": arguments})
        answer: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = answer
        self._events.put_nowait(ToolCall(call_id=call_id, name=name, arguments=arguments))
        try:
            return await answer
        except asyncio.CancelledError:
            self._log.note(f"{call_id} was taken back before it was answered")
            self._events.put_nowait(ToolCancelled(call_ids=(call_id,)))
            raise
        finally:
            del self._waiting[call_id]

    async def events(self) -> AsyncIterator[ToolCall | ToolCancelled]:
        """Calls as they come, and those that are taken back, until the conversation is over."""
        while (event := await self._events.get()) is not None:
            yield event

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Answer calls. Results of calls that nobody waits for any more, or that are not ours, are passed over."""
        for result in results:
            waiting = self._waiting.get(result.call_id)
            if waiting is not None and not waiting.done():
                told = {"type": "tool_result", "call_id": result.call_id, "is_error": result.is_error}
                self._log.sent({**told, "result": result.result})
                waiting.set_result(result)

    def end(self) -> None:
        """The conversation is over: whoever waits is told so, and whoever comes later too."""
        self._over = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConversationOver())
        self._events.put_nowait(None)
