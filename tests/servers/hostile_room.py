"""What answers where a LiveKit server should: its API works, or breaks in one way, and nobody gets into a room.

`listen(HostileRoom(...))` runs it in the loop it is called from. A real server is in `livekit_server`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

LONG_S = 60.0
RAW = {"tcp_garbage": b"\x00\x01 no HTTP \xff\r\n\r\n", "tcp_closes": b"", "tcp_silent": None}
"""Faults for which no server of HTTP is needed: what it says before it hangs up, None where it does neither."""


@dataclass
class HostileRoom:
    """`fault` happens at `where`: an API's method (CreateRoom, CreateDispatch), or `join`; `seen` are the paths."""

    fault: str
    where: str = "CreateRoom"
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    port: int = 0
    seen: list[str] = field(default_factory=list)
    told: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A call of the API, or somebody who wants to join."""
        method = request.path.rpartition("/")[2]
        self.seen.append(method)
        self.told = request.headers.get("Authorization", "") or request.query.get("access_token", "")
        joins = not request.path.startswith("/twirp/")
        if self.where == ("join" if joins else method):
            return await self._break(request)
        return web.Response(status=404) if joins else web.Response(content_type="application/protobuf")

    async def _break(self, request: web.Request) -> web.StreamResponse:
        kind, _, status = self.fault.partition("_")
        match kind:
            case "status":
                told = {"code": "unknown", "msg": f"No, {self.told}."}
                return web.json_response(told, status=int(status))
            case "list":  # JSON of another shape than an error has
                return web.json_response(["no"], status=400)
            case "garbage":
                return web.Response(body=b"\xff\xff\xff garbage " + self.told.encode())
            case "hangs":
                await asyncio.sleep(LONG_S)
            case "closes":
                assert request.transport is not None
                request.transport.abort()
            case "babbles":
                return await _babble(request)
        return web.Response()


async def _babble(request: web.Request) -> web.WebSocketResponse:
    """A WebSocket on which nothing is said that belongs to the protocol."""
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.send_bytes(b"\xff\xff\xff no protobuf")
    async for message in socket:
        if message.type in (WSMsgType.CLOSE, WSMsgType.ERROR):
            break
    return socket


@asynccontextmanager
async def listen(server: HostileRoom) -> AsyncIterator[HostileRoom]:
    """Serve until the block ends."""
    if server.fault in RAW:
        raw = await asyncio.start_server(_raw(server), server.host, 0)
        server.port = raw.sockets[0].getsockname()[1]
        try:
            yield server
        finally:
            raw.close()
        return
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, server.host, 0, ssl_context=server.tls)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


def _raw(server: HostileRoom):
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        said = RAW[server.fault]
        if said is None:
            await reader.read()
        else:
            writer.write(said)
        writer.close()

    return talk
