"""A double of a phone agent on 127.0.0.1: Twilio's Media Streams from the agent's side, its voice URL, its faults.

`twilio_server(...)` runs it in a thread. `python -m tests.servers.twilio_server AGENT [SUITE.yaml]` runs it in a
process of its own with one of this package's agents (`local`) behind the wire, prints its port, and ends with its
standard input. What it is to do and its tools it learns at the address in the custom parameter `tools_url`; the suite
is read only for what a JSON schema does not say of its tools.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import http
import os
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from websockets.exceptions import ConnectionClosed

from pytest_voicebench.audio import RATE_HZ
from tests.servers.openai_script import recite
from tests.servers.openai_server import listen
from tests.servers.twilio_script import PhoneScript
from tests.servers.twilio_session import PhoneSession

Json = Any


@dataclass
class PhoneDouble:
    """A running double. `sessions` are its calls in order, `announced` the forms that its voice URL got."""

    script: PhoneScript
    open_line: Any
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[PhoneSession] = field(default_factory=list)
    announced: list[dict[str, str]] = field(default_factory=list)
    refused: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    voice_port: int = 0

    @property
    def url(self) -> str:
        return f"ws://{self.host}:{self.port}/media"

    @property
    def voice_url(self) -> str:
        return f"http://{self.host}:{self.voice_port}/voice?tenant=7"

    def signed(self, headers, url: str, form: dict[str, str]) -> bool:
        """Whether a request has the signature that Twilio's documentation asks for, by hand."""
        if self.script.token is None:
            return True
        text = url + "".join(name + form[name] for name in sorted(form))
        due = base64.b64encode(hmac.new(self.script.token.encode(), text.encode(), hashlib.sha1).digest()).decode()
        return headers.get("X-Twilio-Signature") == due

    async def check(self, connection, request):
        """Refuse a handshake where the script says so."""
        await asyncio.sleep(self.script.accept_s)
        status = self.script.status or (None if self.signed(request.headers, self.url, {}) else 403)
        if status is None:
            return None
        self.refused += 1
        return connection.respond(http.HTTPStatus(status), "no calls here")

    async def talk(self, socket) -> None:
        """One connection is one call."""
        session = PhoneSession(self, socket)
        self.sessions.append(session)
        with suppress(ConnectionClosed):
            await session.run()

    def twiml(self, path: str, headers, form: dict[str, str]) -> tuple[int, str]:
        """The voice URL's answer."""
        self.announced.append(form)
        if not self.signed(headers, f"http://{self.host}:{self.voice_port}{path}", form):
            return 403, "signature"
        return self.script.voice_status, self.script.twiml.format(url=self.url, parameters=self.script.parameters)


@contextmanager
def voice_page(double: PhoneDouble):
    """Serve the voice URL."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, text = double.twiml(self.path, self.headers, dict(parse_qsl(body, keep_blank_values=True)))
            self.send_response(status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_words: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer((double.host, 0), Page)
    double.voice_port = server.server_address[1]
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def in_a_thread(serving):
    """Keep the asynchronous context that a call of `serving` makes open on a loop of its own, until the block ends."""
    loop, listening = asyncio.new_event_loop(), threading.Event()
    stop: asyncio.Event = asyncio.Event()

    async def main() -> None:
        async with serving():
            listening.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert listening.wait(10)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


@contextmanager
def twilio_server(script: PhoneScript | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = PhoneDouble(script=script or PhoneScript(), open_line=open_line or recite(), **more)
    with voice_page(double), in_a_thread(lambda: listen(double)):
        yield double


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes. Who measures goes first: recognition must not make its blocks late."""
    os.nice(10)
    from pytest_voicebench.agents.naming import build_agent, parse_agent
    from pytest_voicebench.loading import load_suite

    tools = dict(load_suite(suite).info.tools) if suite else {}
    agent = build_agent(parse_agent(agent_text), None)
    double = PhoneDouble(script=PhoneScript(), open_line=agent.connect, input_hz=agent.info.input_hz, tools=tools)
    async with listen(double):
        print(double.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
