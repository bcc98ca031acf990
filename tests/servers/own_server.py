"""The server that the README's agent talks to: sound in, sound and one call out, on 127.0.0.1 and in a thread."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
import soxr
from websockets.asyncio.server import serve

from pytest_voicebench.agents import simulated

RATE_HZ = 16_000
PATIENCE_S = 3.0
"""Of silence after speech, in the sound that came: longer than any pause of the request."""


@contextmanager
def own_server(tool: str, arguments: dict):
    """The port of a server that calls the tool when the user has spoken, and answers with a recording."""
    loop, ports = asyncio.new_event_loop(), []
    listening, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        async with serve(lambda socket: talk(socket, tool, arguments), "127.0.0.1", 0) as server:
            ports.append(server.sockets[0].getsockname()[1])
            listening.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert listening.wait(10)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


async def talk(socket, tool: str, arguments: dict) -> None:
    spoke, quiet_s = False, 0.0
    async for message in socket:
        if isinstance(message, str):
            assert "1" in json.loads(message)
            await socket.send(voice())
            continue
        samples = np.frombuffer(message, "<i2")
        loud = np.abs(samples.astype(int)).max() > 1000
        quiet_s = 0.0 if loud else quiet_s + len(samples) / RATE_HZ
        if spoke and quiet_s >= PATIENCE_S:
            await socket.send(json.dumps({"call_id": "1", "name": tool, "arguments": arguments}))
            spoke = False
        spoke = spoke or (loud and quiet_s == 0.0)


def voice() -> bytes:
    samples, rate_hz = soundfile.read(Path(simulated.__file__).with_name("voices") / "reply.flac", dtype="int16")
    return soxr.resample(samples, rate_hz, RATE_HZ).astype("<i2").tobytes()
