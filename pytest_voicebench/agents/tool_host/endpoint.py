"""What one conversation answers over HTTP: its tools, calls of them, what the agent should be told, MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.protocol import Setup, ToolResult
from pytest_voicebench.agents.tool_host.mcp_side import McpSide
from pytest_voicebench.agents.tool_host.open_calls import ConversationOver, OpenCalls, TooMany

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

Json = Any

MOST_BYTES = 1_000_000
"""The longest body of a request."""

FAREWELL_S = 1.0
"""How long requests that were told that the conversation is over may take to say so."""


class TooLong(Exception):  # noqa: N818 - names what is the case
    """A body of more than MOST_BYTES."""


class Endpoint:
    """Answers the requests of one conversation: `serve` with the path below its token."""

    def __init__(self, setup: Setup, calls: OpenCalls, note: Callable[[str], None]) -> None:
        self._setup = setup
        self._names = frozenset(tool.name for tool in setup.tools)
        self._calls = calls
        self._note = note
        self._mcp = McpSide(setup, calls, MOST_BYTES)
        self._busy: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Until the block ends; then whoever still waits is told that the conversation is over."""
        async with self._mcp.open():
            try:
                yield
            finally:
                self._calls.end()
                if self._busy:
                    await asyncio.wait(self._busy, timeout=FAREWELL_S)

    async def serve(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        from starlette.requests import Request

        first, _, rest = path.partition("/")
        handlers: dict[str, tuple[str, Callable[[Request, str], Awaitable[Response | None]]]] = {
            "tools": ("POST", self._call) if rest else ("GET", self._list),
            "instructions": ("GET", self._tell),
        }
        if path == "mcp":
            await self._while_busy(scope["method"] == "POST", self._mcp.serve(scope, receive, send))
            return
        method, handler = handlers.get(first, ("", None)) if rest == "" or first == "tools" else ("", None)
        if handler is None:
            response: Response | None = _told(404, "not found: tools, tools/NAME, instructions and mcp are here")
        elif scope["method"] != method:
            response = _told(405, f"use {method} here", {"Allow": method})
        else:
            response = await self._while_busy(True, handler(Request(scope, receive), rest))
        if response is not None:
            await response(scope, receive, send)

    async def _while_busy(self, busy: bool, work: Awaitable[Any]) -> Any:
        """Do it as something that the end of the conversation waits for a moment."""
        task = asyncio.current_task()
        if task is None or not busy:
            return await work
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)  # the answer is then written, too
        return await work

    async def _list(self, _: Request, __: str) -> Response:
        return _json(200, function_tools(self._setup))

    async def _tell(self, _: Request, __: str) -> Response:
        from starlette.responses import PlainTextResponse

        return PlainTextResponse(briefing(self._setup))

    async def _call(self, request: Request, name: str) -> Response | None:
        """One call of a tool; None where the client has hung up."""
        from starlette.requests import ClientDisconnect

        try:
            text = (await _body(request)).decode(errors="replace").strip() or "{}"
        except TooLong:
            self._note(f"a call of {name} with a body of more than {MOST_BYTES} bytes was refused")
            return _told(413, f"a body of more than {MOST_BYTES} bytes", {"Connection": "close"})
        except ClientDisconnect:
            return None
        try:
            result = await self._unless_gone(request, name, text)
        except ConversationOver as over:
            return _told(503, str(over))
        except TooMany as refused:
            return _told(429, str(refused))
        if result is None:
            return None
        status = 404 if name not in self._names else 200 if _is_object(text) else 400
        return _json(status, result.result)

    async def _unless_gone(self, request: Request, name: str, text: str) -> ToolResult | None:
        """The answer; None where the client hangs up before it, which takes the call back."""
        asking = asyncio.ensure_future(self._calls.ask(name, text, "http"))
        leaving = asyncio.ensure_future(request.receive())  # the body is read: only a hanging up can still come
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            for task in (asking, leaving):
                task.cancel()
            await asyncio.wait({asking, leaving})


async def _body(request: Request) -> bytes:
    """The body, read to its end so that a client that is still sending hears the answer. Raises TooLong."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            parts.clear()
        else:
            parts.append(part)
        if size > 20 * MOST_BYTES:  # whoever sends that much hears nothing
            break
    if size > MOST_BYTES:
        raise TooLong
    return b"".join(parts)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _told(status: int, error: str, headers: dict[str, str] | None = None) -> Response:
    return _json(status, {"error": error}, headers)


def _json(status: int, value: Json, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    text = json.dumps(value)  # in ASCII: a text may hold half of a surrogate pair
    return Response(text, status_code=status, headers=headers, media_type="application/json")
