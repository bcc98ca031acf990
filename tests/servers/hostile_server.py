"""A server on 127.0.0.1 that speaks every protocol a little, and breaks it in one way, once: the next client is served.

`Hostile(...)` is started in the loop it is called from, by `listen`. How each protocol says things is in `tongues`.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.servers import tongues
from tests.servers.openai_script import tone
from tests.servers.tongues import HUGE, Frame, Tongue

Json = Any

OPENING = ("status_401", "status_429", "status_500", "never_greets")
"""Faults of those below that are over before a conversation begins."""

RAW = ("tcp_silent", "tcp_garbage", "tcp_closes")
"""Faults for which no server of HTTP is needed."""

ENDLESS_S = 60.0
DEAF_S = 20.0
"""Longer than any client of ours goes on sending."""


@dataclass
class Hostile:
    """What it does wrong, in whose words; `pause_s` lie before the fault, and between it and the next words.

    `acts` stand in for all that it does after the first pause. Of `secrets`, it repeats those that it was told wherever
    it has something to say.
    """

    tongue: Tongue
    fault: str = ""
    secrets: Sequence[str] = ("nobodys-secret",)
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    pause_s: float = 1.2
    acts: Callable[[Peer], Awaitable[None]] | None = None
    port: int = 0
    clients: int = 0
    open_sockets: int = 0
    seen: list[Json] = field(default_factory=list)
    told: str = ""
    own_errors: list[str] = field(default_factory=list)

    @property
    def echoed(self) -> str:
        """The secrets that came with requests."""
        return " ".join(secret for secret in self.secrets if secret in self.told)

    def takes_fault(self, *names: str) -> bool:
        """Whether one of these is to happen now; it happens to one client."""
        if self.fault in names:
            self.fault = ""
            return True
        return False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request: a WebSocket, or what the HTTP services are asked."""
        self.told += f" {request.raw_path} {' '.join(request.headers.values())}"
        for status in (401, 429, 500):
            if self.takes_fault(f"status_{status}"):
                told = f"It did not work for {self.echoed}."
                return web.json_response({"error": {"message": told}, "detail": told}, status=status)
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self.talk(request)
        return await tongues.answer(self, request)

    async def talk(self, request: web.Request) -> web.StreamResponse:
        """One conversation over a WebSocket."""
        socket = web.WebSocketResponse(max_msg_size=0, compress=False, timeout=1)
        await socket.prepare(request)
        self.clients += 1
        self.open_sockets += 1
        peer = Peer(self, socket, request)
        acting: asyncio.Task[None] | None = None
        try:
            if self.takes_fault("never_greets"):
                async for _ in socket:
                    pass
                return socket
            await self.tongue.greet(peer)
            acting = asyncio.create_task(self.act(peer))
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    peer.note(message.data)
        finally:
            self.open_sockets -= 1
            if acting is not None:
                acting.cancel()
                ends = await asyncio.gather(acting, return_exceptions=True)
                self.own_errors += [repr(end) for end in ends if isinstance(end, Exception)]
        return socket

    async def act(self, peer: Peer) -> None:
        """The fault, if it is still to happen; then a reply."""
        fault, self.fault = self.fault, ""
        with suppress(ConnectionError):
            await asyncio.sleep(self.pause_s)
            if self.acts is not None:
                await self.acts(peer)
                return
            if fault and fault != "no_answer":
                await peer.misbehave(fault)
            await asyncio.sleep(self.pause_s)
            if fault != "no_answer":
                await peer.say("the reply", tone(0.6).tobytes())


@dataclass
class Peer:
    """One connected client."""

    server: Hostile
    socket: web.WebSocketResponse
    request: web.Request
    number: int = 0
    started: dict[str, Json] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Keep what the client said, but its sound."""
        if len(text) < 20_000:
            self.server.seen.append(json.loads(text))

    async def told(self, wanted: str) -> Json:
        """The client's next message that holds this text."""
        async for message in self.socket:
            if message.type == WSMsgType.TEXT and wanted in message.data:
                self.note(message.data) if len(message.data) < 20_000 else None
                return json.loads(message.data)
        raise ConnectionError

    async def send(self, *frames: Frame) -> None:
        """Frames as they are: a dict is JSON."""
        for frame in frames:
            if isinstance(frame, bytes):
                await self.socket.send_bytes(frame)
            elif self.server.tongue.json_in_bytes and not isinstance(frame, str):
                await self.socket.send_bytes(json.dumps(frame).encode())
            else:
                await self.socket.send_str(frame if isinstance(frame, str) else json.dumps(frame))

    async def say(self, item_id: str, pcm: bytes) -> None:
        """Sound, in pieces of a tenth of a second."""
        for start in range(0, len(pcm), 4800):
            await self.send(*self.server.tongue.sound(self, item_id, pcm[start : start + 4800]))

    async def close(self, code: int, reason: str) -> None:
        await self.socket.close(code=code, message=reason.encode())

    async def misbehave(self, fault: str) -> None:
        """Do it."""
        tongue, echoed = self.server.tongue, self.server.echoed
        match fault:
            case "close_1001" | "close_1011":
                await self.close(int(fault[6:]), f"oh {echoed}")
            case "close_1006":
                self.request.transport.abort()
            case "garbage":
                await self.send("{" + f"garbage {echoed} " * 4)
            case "nested":
                await self.send("[" * 100_000)
            case "binary":
                await self.send(bytes([3, 255] * 50) + b"\1")
            case "text":
                await self.send(f"neither JSON nor sound: {echoed}")
            case "broken_frame":
                self.request.transport.write(b"\xff\xff\xff\xff")  # bits that nobody has given a meaning
            case "huge":
                await self.send(f'{{"type": "note", "text": "{"x" * HUGE}"}}')
            case "disorder":
                await self.send(*tongue.disorder(self))
            case "stray_sound":
                await self.say("an item that nobody announced", tone(0.6).tobytes())
            case "odd_sound":
                pcm = tone(0.6).tobytes()
                for start in range(0, len(pcm), 1001):
                    await self.send(*tongue.sound(self, "odd", pcm[start : start + 1001]))
            case "no_sound":
                await self.send(*tongue.no_sound(self))
            case "deaf":
                self.request.transport.pause_reading()
                await asyncio.sleep(DEAF_S)
                self.request.transport.resume_reading()
            case "endless":
                await self.say("endless", tone(ENDLESS_S).tobytes())
            case "unknown_tool":
                await self.send(*tongue.call(self, "c1", "cancel_everything", "{}"))
            case "no_arguments":
                await self.send(*tongue.call(self, "c1", "search_flights", '{"destination": "Par'))
            case "same_id":
                for city in ("Rome", "Oslo"):
                    told = json.dumps({"destination": city, "date": "2026-06-03"})
                    await self.send(*tongue.call(self, "c1", "search_flights", told))
            case "same_call":
                for _ in range(2):
                    told = json.dumps({"destination": "Rome", "date": "2026-06-03"})
                    await self.send(*tongue.call(self, "c1", "search_flights", told))
            case "limit":
                await self.send(*tongue.limit(self))
                await self.close(tongue.limit_code, "time is up")
            case _:
                raise AssertionError(fault)


@asynccontextmanager
async def listen(server: Hostile) -> AsyncIterator[None]:
    """Serve on an ephemeral port."""
    if server.fault in RAW:
        async with _listen_raw(server):
            yield
        return
    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.2, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, server.host, 0, ssl_context=server.tls)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _listen_raw(server: Hostile) -> AsyncIterator[None]:
    """One that has never heard of HTTP."""
    writers = []

    def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        if server.fault == "tcp_garbage":
            writer.write(bytes(range(256)) * 40 + b"\r\n\r\n")
        if server.fault != "tcp_silent":
            writer.close()

    listening = await asyncio.start_server(take, server.host, 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        listening.close()
        for writer in writers:
            writer.transport.abort()
