"""Calls that came in and wait for their answers: what asks is one side, the conversation the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

from pytest_voicebench.agents.protocol import Fault, ToolCall, ToolCancelled, ToolResult
from pytest_voicebench.agents.wire_log import WireLog

Json = Any
Way = Literal["http", "mcp"]
Called = ToolCall | ToolCancelled | Fault

MOST_CALLS = 256
"""So many calls may wait for their answers at once, and so many events to be read; more are refused."""

MOST_UNREAD_BYTES = 4 * 2**20
"""So many bytes of arguments may wait to be read, besides a call that is larger."""


class ConversationOver(Exception):  # noqa: N818 - names what is the case
    """The conversation ended before the tool answered; nothing was left out of it."""

    def __str__(self) -> str:
        return "the conversation is over"


class TooMany(Exception):  # noqa: N818 - names what is the case
    """More calls at once than are let wait. Those that came before are answered all the same."""

    def __str__(self) -> str:
        return f"too many calls at once: {MOST_CALLS}, or {MOST_UNREAD_BYTES // 2**20} MiB, wait for their answers"


class OpenCalls:
    """The calls of one conversation. Made inside the running loop. Every call gets an id of its own."""

    def __init__(self, log: WireLog) -> None:
        self._log = log
        self._now_s = asyncio.get_running_loop().time
        self._events: asyncio.Queue[tuple[Called, float, int] | None] = asyncio.Queue()
        self._unread_bytes = 0
        self._waiting: dict[str, asyncio.Future[ToolResult]] = {}
        self._made = 0
        self._over = False
        self._refused = 0

    async def ask(self, name: str, arguments: str | dict[str, Json], way: Way) -> ToolResult:
        """Make a call and wait for its answer. Whoever is cancelled while he waits takes the call back.

        Raises ConversationOver, TooMany.
        """
        if self._over:
            raise ConversationOver
        if self._is_full():
            self._refuse(name)
            raise TooMany
        self._made += 1
        call_id = f"{way}_{self._made}"
        self._log.received({"type": "tool_call", "call_id": call_id, "name": name, "arguments": arguments})
        answer: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = answer
        self._say(ToolCall(call_id=call_id, name=name, arguments=arguments), _size(arguments))
        try:
            return await answer
        except asyncio.CancelledError:
            self._log.note(f"{call_id} was taken back before it was answered")
            self._say(ToolCancelled(call_ids=(call_id,)))
            raise
        finally:
            del self._waiting[call_id]

    def _is_full(self) -> bool:
        unread = self._events.qsize()
        return len(self._waiting) >= MOST_CALLS or unread >= MOST_CALLS or self._unread_bytes > MOST_UNREAD_BYTES

    def _refuse(self, name: str) -> None:
        """The first one that is refused is told of; who goes on asking is only counted."""
        self._refused += 1
        if self._refused == 1:
            self._log.note(f"a call of {name} was refused: {TooMany()}")
            told = f"{TooMany()}; a call of {name} was refused, and all that came before there was room again"
            self._say(Fault(kind="agent", message=told))

    def _say(self, event: Called, size: int = 0) -> None:
        self._unread_bytes += size
        self._events.put_nowait((event, self._now_s(), size))

    async def events(self) -> AsyncIterator[tuple[Called, float]]:
        """Calls as they come, and those that are taken back, each with its time, until the conversation is over."""
        while (told := await self._events.get()) is not None:
            event, at_s, size = told
            self._unread_bytes -= size
            yield event, at_s

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


def _size(arguments: str | dict[str, Json]) -> int:
    """About so many bytes."""
    return len(arguments if isinstance(arguments, str) else json.dumps(arguments))
