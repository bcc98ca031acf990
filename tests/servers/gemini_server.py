"""A double of Gemini Live on 127.0.0.1: activity detection, turns, tools, barge-in, resumption; and its faults.

`gemini_server(...)` runs it in a thread, `listen(GeminiDouble(...))` in the loop it is called from; with an `ssl`
context it speaks TLS, which google-genai asks for. `python -m tests.servers.gemini_server AGENT [SUITE.yaml]` runs it
in a process of its own with one of this package's agents behind the wire, as the double of OpenAI's Realtime API does.
"""

from __future__ import annotations

import asyncio
import base64
import http
import json
import re
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.audio import RATE_HZ
from tests.servers.gemini_script import GeminiScript, read_spelling, unknown_field
from tests.servers.gemini_session import INPUT_HZ, GeminiSession
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import recite
from tests.servers.running import agent_behind, until_input_closes

Json = Any

SERVICE = "google.ai.generativelanguage.{}.GenerativeService.BidiGenerateContent"
PATH = re.compile(r"/+ws/" + SERVICE.replace(".", r"\.").format(r"(v1|v1beta|v1alpha)"))


class Refused(Exception):  # noqa: N818 - says what is the case
    """The socket is closed with that code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


@dataclass
class GeminiDouble:
    """A running double. `sessions` are its conversations in order, `setups` the first messages of its sockets."""

    script: GeminiScript
    open_line: Any
    ssl: Any = None
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[GeminiSession] = field(default_factory=list)
    setups: list[dict[str, Json]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    resumable: dict[str, GeminiSession] = field(default_factory=dict)
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/{SERVICE.format('v1beta')}"

    def check(self, connection, request):
        """Refuse a handshake where the path is wrong or the script says so."""
        self.connections += 1
        status = self.script.status or (None if PATH.fullmatch(urlsplit(request.path).path) else 404)
        if status is None:
            return None
        return connection.respond(http.HTTPStatus(status), json.dumps({"error": {"message": "Resource exhausted."}}))

    async def talk(self, socket) -> None:
        """One socket: a session's first, or the next one of a session that is resumed."""
        self.paths.append(urlsplit(socket.request.path).path)
        self.headers.append(dict(socket.request.headers.raw_items()))
        with suppress(ConnectionClosed):
            try:
                session = await self.set_up(socket)
                async for frame in socket:
                    await self.take(session, read_spelling(json.loads(frame)))
            except Refused as refused:
                await socket.close(refused.code, str(refused)[:120])

    async def set_up(self, socket) -> GeminiSession:
        """Read the setup, and confirm it."""
        query = parse_qs(urlsplit(socket.request.path).query)
        given = socket.request.headers.get("x-goog-api-key") or query.get("key", [""])[0]
        first = read_spelling(json.loads(await socket.recv()))
        if self.script.key is not None and given != self.script.key:
            raise Refused(1007, f"API key not valid. Please pass a valid API key, not {given}.")
        if "setup" not in first:
            raise Refused(1007, "setup must be the first message and only the first")
        self.check_fields(first)
        setup = first["setup"]
        self.setups.append(setup)
        if self.script.refuses_setup:
            raise Refused(1008, self.script.refuses_setup)
        session = self.session_for(setup)
        session.by_socket.append(0)
        if not self.script.confirms:
            await socket.wait_closed()
        again, session.socket = session.socket is not None, socket
        if again:
            await asyncio.sleep(self.script.resumes_after_s)
        await session.send({"setupComplete": {"sessionId": f"session-{len(self.sessions)}"}})
        if not again:
            session.start()
            await session.give_handle(True)
            await session.trouble(self.script.first)
        return session

    def session_for(self, setup: dict[str, Json]) -> GeminiSession:
        handle = (setup.get("sessionResumption") or {}).get("handle")
        if handle is None:
            self.sessions.append(GeminiSession(self, setup))
            return self.sessions[-1]
        if self.script.refuses_handle or handle not in self.resumable:
            raise Refused(1008, self.script.refuses_handle or "BidiGenerateContent session not found")
        return self.resumable[handle]

    @staticmethod
    def check_fields(message: dict[str, Json]) -> None:
        if name := unknown_field(message):
            raise Refused(1007, f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')

    async def take(self, session: GeminiSession, message: dict[str, Json]) -> None:
        self.check_fields(message)
        audio = message.get("realtimeInput", {}).get("audio")
        if audio is None:
            session.seen.append(message)
        if "setup" in message:
            raise Refused(1007, "setup must be the first message and only the first")
        if audio is not None:
            if audio.get("mimeType") != f"audio/pcm;rate={INPUT_HZ}":
                raise Refused(1007, f"Unsupported mime type {audio.get('mimeType')}")
            data = audio["data"].replace("-", "+").replace("_", "/")
            await session.hear(np.frombuffer(base64.b64decode(data), "<i2"))
        if "clientContent" in message:
            if "2.5" not in session.setup["model"] and session.completed:
                raise Refused(1007, "Request contains an invalid argument.")
            await session.cut()
        if "toolResponse" in message:
            flaw = await session.take_results(message["toolResponse"]["functionResponses"])
            if flaw:
                raise Refused(1007, flaw)


@asynccontextmanager
async def listen(double: GeminiDouble):
    """Serve a double on an ephemeral port of the loopback interface."""
    options = {"max_size": None, "compression": None, "close_timeout": 1, "ssl": double.ssl}
    async with serve(double.talk, "127.0.0.1", 0, process_request=double.check, **options) as server:
        double.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            for session in double.sessions:
                session.stop()


@contextmanager
def gemini_server(script: GeminiScript | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = GeminiDouble(script=script or GeminiScript(), open_line=open_line or recite(), **more)
    with in_thread(listen(double)):
        yield double


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes."""
    double = GeminiDouble(script=GeminiScript(), **agent_behind(agent_text, suite))
    await until_input_closes(double, listen(double))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
