"""A double of OpenAI's Realtime API on 127.0.0.1: voice detection, responses, tools, barge-in; and its faults.

`openai_server(...)` runs it in a thread, `listen(Double(...))` in the loop it is called from.
`python -m tests.servers.openai_server AGENT [SUITE.yaml]` runs it in a process of its own with one of this package's
agents (`local`) behind the wire, prints its port, and ends with its standard input. The suite is read only for what a
JSON schema does not say of its tools.
"""

from __future__ import annotations

import asyncio
import http
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.audio import RATE_HZ
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import Script, recite
from tests.servers.openai_session import Session
from tests.servers.running import agent_behind, until_input_closes

Json = Any

ENDS_WITHIN_S = 120.0
"""Of a double's process whose work is over: it yields to all others, so a busy machine lets it end late."""


@dataclass
class Double:
    """A running double. `sessions` are its conversations in order; one more than `most` at once is refused."""

    script: Script
    open_line: Any
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)
    refused: int = 0
    most: int | None = None
    talking: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    session_type: Any = Session
    subprotocols: Any = None

    @property
    def url(self) -> str:
        return f"ws://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/v1/realtime"

    def check(self, connection, request):
        """Refuse a handshake where the script says so."""
        status, message = self.script.status, "no more sessions"
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.script.key is not None and given != self.script.key:
            status, message = 401, f"Incorrect API key provided: {given}."
        if self.most is not None and self.talking >= self.most:
            status, message = 429, "session limit reached"
        if status is None:
            return None
        self.refused += 1
        body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
        response = connection.respond(http.HTTPStatus(status), body)
        if self.script.retry_after:
            response.headers["Retry-After"] = self.script.retry_after
        if self.script.location:
            response.headers["Location"] = self.script.location
        return response

    async def talk(self, socket) -> None:
        """One connection is one conversation."""
        session = self.session_type(self, socket)
        self.sessions.append(session)
        self.talking += 1
        try:
            with suppress(ConnectionClosed):
                await session.run()
        finally:
            self.talking -= 1


@asynccontextmanager
async def listen(double: Double):
    """Serve a double on an ephemeral port of the loopback interface."""
    options = {"max_size": None, "compression": None, "close_timeout": 1, "subprotocols": double.subprotocols}
    async with serve(double.talk, double.host, 0, process_request=double.check, **options) as server:
        double.port = server.sockets[0].getsockname()[1]
        yield


@contextmanager
def openai_server(script: Script | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = Double(script=script or Script(), open_line=open_line or recite(), **more)
    with in_thread(listen(double)):
        yield double


@contextmanager
def openai_process(agent: str, suite: Path | None = None, module: str = __name__):
    """The port of a double in a process of its own, with one of this package's agents behind the wire."""
    root = Path(__file__).parents[2]
    args = [sys.executable, "-m", module, agent, *([str(suite)] if suite else [])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")]),
        "OMP_NUM_THREADS": "1",
    }
    server = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=environment)
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(timeout=ENDS_WITHIN_S)


async def main(agent_text: str, suite: Path | None, **more: Any) -> None:
    """Serve until standard input closes."""
    double = Double(script=Script(), **agent_behind(agent_text, suite), **more)
    await until_input_closes(double, listen(double))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
