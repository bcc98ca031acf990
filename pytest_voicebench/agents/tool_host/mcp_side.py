"""The tools of one conversation as an MCP server over streamable HTTP, by the `mcp` package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.protocol import Setup
from pytest_voicebench.agents.tool_host.open_calls import ConversationOver, OpenCalls, TooMany

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import CallToolResult
    from starlette.types import Receive, Scope, Send

Json = Any


class McpSide:
    """Sessions of MCP clients with one conversation. A client may open several, one after another or at once."""

    def __init__(self, setup: Setup, calls: OpenCalls, most_bytes: int) -> None:
        self._setup = setup
        self._calls = calls
        self._most_bytes = most_bytes
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take sessions until the block ends; those that are then open are closed.

        The package's own tasks live in one task, since they must be ended by the one that began them.
        """
        self._manager = manager = self._sessions()
        started, stop = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with manager.run():
                started.set()
                await stop.wait()

        running, starting = asyncio.ensure_future(run()), asyncio.ensure_future(started.wait())
        try:
            await asyncio.wait({starting, running}, return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            self._manager = None
            stop.set()
            starting.cancel()
            await running

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of the protocol."""
        from starlette.responses import Response

        if self._manager is None:
            await Response(status_code=404)(scope, receive, send)  # to MCP: this session has ended
            return
        await self._manager.handle_request(scope, receive, send)

    def _sessions(self) -> StreamableHTTPSessionManager:
        from mcp.server.lowlevel import Server
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp_types import CallToolRequestParams, ListToolsResult, Tool

        tools = [Tool(name=t.name, description=t.description, input_schema=t.json_schema()) for t in self._setup.tools]

        async def list_tools(_: Any, __: Any) -> ListToolsResult:
            return ListToolsResult(tools=tools)

        async def call_tool(_: Any, asked: CallToolRequestParams) -> CallToolResult:
            return await self._call(asked.name, asked.arguments or {})

        server = Server(
            "pytest-voicebench",
            instructions=briefing(self._setup),
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
        return StreamableHTTPSessionManager(server, max_request_body_size=self._most_bytes)

    async def _call(self, name: str, arguments: dict[str, Json]) -> CallToolResult:
        """One call. An unknown tool and arguments that break its schema are calls, too: the conversation answers."""
        try:
            result = await self._calls.ask(name, arguments, "mcp")
        except (ConversationOver, TooMany) as refused:
            return _mcp_result({"error": str(refused)}, is_error=True)
        return _mcp_result(result.result, is_error=result.is_error)


def _mcp_result(value: Json, *, is_error: bool) -> CallToolResult:
    """The value as text and as structured content, which must be an object: others become `{"result": value}`."""
    from mcp_types import CallToolResult, TextContent

    text = json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()  # half of a surrogate pair: "?"
    value = json.loads(text)
    structured = value if isinstance(value, dict) else {"result": value}
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=structured, is_error=is_error
    )
