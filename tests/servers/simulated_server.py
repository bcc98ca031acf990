"""The simulated agents behind a WebSocket, in a process of their own: `python simulated_server.py SUITE.yaml`.

Prints its port on the first line. A client names item and behaviour, then sends PCM blocks as binary messages; events
come back as JSON with base64 PCM. Bound to loopback only; ends when its standard input closes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents.protocol import AgentAudio, Setup, ToolResult
from pytest_voicebench.agents.simulated import build
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.loading import load_suite
from pytest_voicebench.user import load_clip


def as_message(event) -> str:
    """An event as JSON."""
    if isinstance(event, AgentAudio):
        pcm = base64.b64encode(event.audio.samples.tobytes()).decode()
        return json.dumps({"type": "AgentAudio", "item_id": event.item_id, "pcm": pcm})
    return json.dumps({"type": type(event).__name__, **asdict(event)})


async def talk(socket, scenarios) -> None:
    """One connection is one conversation."""
    hello = json.loads(await socket.recv())
    scenario = scenarios[hello["item_id"]]
    agent = build(scenario, behaviour=hello["behaviour"], delay_s=hello["delay_s"])
    info = scenario.suite
    setup = Setup(conversation_id="x", instructions="", tools=tuple(info.tools.values()), today=info.today)
    async with agent.connect(setup) as line:
        speaking = asyncio.create_task(speak(socket, line))
        try:
            async for message in socket:
                if isinstance(message, bytes):
                    await line.send(Audio(samples=np.frombuffer(message, np.int16), rate_hz=RATE_HZ))
                else:
                    await line.answer([ToolResult(**r) for r in json.loads(message)["results"]])
        except ConnectionClosed:
            pass
        finally:
            speaking.cancel()


async def speak(socket, line) -> None:
    """Send the agent's events as they come."""
    async for event in line.receive():
        await socket.send(as_message(event))


async def main(suite_path: Path) -> None:
    """Serve until standard input closes."""
    scenarios = {s.item_id: s for s in load_suite(suite_path).scenarios}
    for scenario in scenarios.values():  # reading sound while others talk would make them late
        load_clip(scenario.steps[0].audio, RATE_HZ)
    async with serve(lambda socket: talk(socket, scenarios), "127.0.0.1", 0, max_size=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
