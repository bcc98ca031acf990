"""A double of Ultravox on 127.0.0.1: calls over HTTP, their sockets, turns, tools, barge-in; and its faults.

`ultravox_server(...)` runs it in a thread, `listen(UltravoxDouble(...))` in the loop it is called from.
`python -m tests.servers.ultravox_server AGENT [SUITE.yaml]` runs it in a process of its own with one of this package's
agents behind the wire, as the double of OpenAI's Realtime API does.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import WSMsgType, web

from pytest_voicebench.audio import RATE_HZ
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import recite
from tests.servers.running import agent_behind, until_input_closes
from tests.servers.ultravox_script import UltravoxScript, message_flaw, request_flaw
from tests.servers.ultravox_session import UltravoxSession

Json = Any


@dataclass
class UltravoxDouble:
    """A running double. `sessions` are its calls in the order of joining, `requests` what calls were asked for with."""

    script: UltravoxScript
    open_line: Any
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[UltravoxSession] = field(default_factory=list)
    requests: list[dict[str, Json]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    waiting: dict[str, dict[str, Json]] = field(default_factory=dict)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    async def create(self, request: web.Request) -> web.Response:
        """One call, that can be joined once."""
        script, given = self.script, request.headers.get("X-API-Key", "")
        self.headers.append(dict(request.headers))
        self.queries.append(dict(request.query))
        body = await request.json()
        self.requests.append(body)
        if script.hangs:
            await self.closing.wait()
        if script.key is not None and given != script.key:
            return web.json_response({"detail": f"Invalid API key {given}."}, status=403)
        if script.redirect:
            return web.Response(status=307, headers={"Location": script.redirect})
        if script.status:
            after = {"Retry-After": script.retry_after} if script.retry_after else {}
            return web.json_response({"detail": script.message}, status=script.status, headers=after)
        if flaw := request_flaw(body):
            return web.json_response(flaw, status=400)
        if script.body is not None:
            return web.Response(text=script.body, status=201, content_type="application/json")
        call_id = f"call-{len(self.requests)}"
        self.waiting[call_id] = body
        join_url = f"ws://127.0.0.1:{self.port}/calls/{call_id}/server_web_socket?token=join-me"
        return web.json_response({"callId": call_id, "joinUrl": join_url, **body}, status=201)

    async def delete(self, request: web.Request) -> web.Response:
        """Forget a call that nobody has joined."""
        found = self.waiting.pop(request.match_info["call"], None)
        return web.Response(status=204 if found and request.headers.get("X-API-Key") else 404)

    async def join(self, request: web.Request) -> web.StreamResponse:
        """The socket of a call."""
        call_id = request.match_info["call"]
        if self.script.join_status:
            return web.json_response({"error": {"message": "Not now."}}, status=self.script.join_status)
        asked = self.waiting.pop(call_id, None)
        if asked is None:
            return web.json_response({"detail": "No such call."}, status=404)
        socket = web.WebSocketResponse(max_msg_size=0, compress=False, timeout=1)
        await socket.prepare(request)
        session = UltravoxSession(self, socket, request.transport, call_id, asked)
        self.sessions.append(session)
        try:
            await session.begin()
            await self.listen_to(session)
        finally:
            session.stop()
        return socket

    async def listen_to(self, session: UltravoxSession) -> None:
        async for message in session.socket:
            if message.type == WSMsgType.BINARY:
                await session.hear(np.frombuffer(message.data, "<i2"))
            elif message.type == WSMsgType.TEXT:
                said = json.loads(message.data)
                session.seen.append(said)
                if flaw := message_flaw(said):
                    await session.socket.close(code=1008, message=flaw.encode())
                else:
                    await session.take(said)


@asynccontextmanager
async def listen(double: UltravoxDouble):
    """Serve a double on an ephemeral port of the loopback interface."""
    app = web.Application()
    app.add_routes([web.post("/api/calls", double.create), web.get("/calls/{call}/server_web_socket", double.join)])
    app.add_routes([web.delete("/api/calls/{call}", double.delete)])
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.2, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    double.port = runner.addresses[0][1]
    try:
        yield
    finally:
        double.closing.set()
        for session in double.sessions:
            session.stop()
        await runner.cleanup()


@contextmanager
def ultravox_server(script: UltravoxScript | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = UltravoxDouble(script=script or UltravoxScript(), open_line=open_line or recite(), **more)
    with in_thread(listen(double)):
        yield double


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes."""
    double = UltravoxDouble(script=UltravoxScript(), **agent_behind(agent_text, suite))
    await until_input_closes(double, listen(double))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
