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
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.audio import RATE_HZ
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import recite
from tests.servers.running import agent_behind, until_input_closes
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

    async def announce(self, request: web.Request) -> web.Response:
        """The voice URL."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.announced.append(form)
        if not self.signed(request.headers, str(request.url), form):
            return web.Response(status=403, text="signature")
        text = self.script.twiml.format(url=self.url, parameters=self.script.parameters)
        return web.Response(status=self.script.voice_status, text=text, content_type="text/xml")


@asynccontextmanager
async def listen(double: PhoneDouble):
    """Serve a double and its voice URL on ephemeral ports of the loopback interface."""
    app = web.Application()
    app.router.add_post("/voice", double.announce)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, double.host, 0).start()
    double.voice_port = runner.addresses[0][1]
    options = {"max_size": None, "compression": None, "close_timeout": 1}
    try:
        async with serve(double.talk, double.host, 0, process_request=double.check, **options) as server:
            double.port = server.sockets[0].getsockname()[1]
            yield
    finally:
        await runner.cleanup()


@contextmanager
def twilio_server(script: PhoneScript | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = PhoneDouble(script=script or PhoneScript(), open_line=open_line or recite(), **more)
    with in_thread(listen(double)):
        yield double


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes."""
    double = PhoneDouble(script=PhoneScript(), **agent_behind(agent_text, suite))
    await until_input_closes(double, listen(double))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
