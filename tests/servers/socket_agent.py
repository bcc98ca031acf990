"""The client of `simulated_server`: an agent on the wall clock that is reached through a socket."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents import protocol
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import AgentInfo


@contextmanager
def simulated_server(suite: Path):
    """The port of a server process that knows the suite's scenarios."""
    script = Path(__file__).with_name("simulated_server.py")
    server = subprocess.Popen(
        [sys.executable, str(script), str(suite)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**__import__("os").environ, "PYTHONPATH": str(script.parents[2])},
    )
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(timeout=10)


@dataclass(frozen=True)
class SocketAgent:
    """One behaviour for one item, at the other end of a socket."""

    port: int
    item_id: str
    behaviour: str
    delay_s: float = 0.0

    @property
    def info(self) -> AgentInfo:
        return AgentInfo(name="simulated", transport="websocket", clock="wall", settings={"behaviour": self.behaviour})

    @asynccontextmanager
    async def connect(self, setup):
        async with connect(f"ws://127.0.0.1:{self.port}", max_size=None, proxy=None) as socket:
            await socket.send(
                json.dumps({"item_id": self.item_id, "behaviour": self.behaviour, "delay_s": self.delay_s})
            )
            yield SocketLine(socket)


class SocketLine:
    """PCM out, JSON in."""

    def __init__(self, socket) -> None:
        self.socket = socket

    async def send(self, audio):
        await self.socket.send(audio.samples.tobytes())

    async def receive(self):
        try:
            async for message in self.socket:
                yield as_event(json.loads(message))
        except ConnectionClosed:
            return

    async def answer(self, results):
        from dataclasses import asdict

        await self.socket.send(json.dumps({"results": [asdict(r) for r in results]}))

    async def played(self, item_id, seconds):
        pass

    async def inject(self, text):
        raise protocol.Unsupported("the double takes no text")


def as_event(message):
    """A message of the server as an event."""
    kind = message.pop("type")
    if kind == "AgentAudio":
        samples = np.frombuffer(base64.b64decode(message["pcm"]), np.int16)
        return protocol.AgentAudio(item_id=message["item_id"], audio=Audio(samples=samples, rate_hz=RATE_HZ))
    if kind == "ToolCancelled":
        return protocol.ToolCancelled(call_ids=tuple(message["call_ids"]))
    if kind == "Transcript":
        message["words"] = ()
    return getattr(protocol, kind)(**message)
