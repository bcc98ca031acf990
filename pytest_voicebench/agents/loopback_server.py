"""A provider's double that costs next to nothing: `python -m pytest_voicebench.agents.loopback_server`.

It speaks OpenAI's Realtime API on 127.0.0.1, takes the user's sound without listening, and begins to speak AFTER_S
seconds after the first block, for SPEAKS_S seconds. It prints its port and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import sys
from contextlib import suppress
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.timeline import RATE_HZ

_PIECE_S = 0.2
_APPEND = '{"type":"input_audio_buffer.append"'


async def main(after_s: float, speaks_s: float) -> None:
    """Serve until standard input closes."""
    piece = base64.b64encode(bytes(2 * round(_PIECE_S * RATE_HZ))).decode()
    pieces = [piece] * round(speaks_s / _PIECE_S)

    async def talk(socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            await _talk(socket, after_s, pieces)

    async with serve(talk, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=1000) as server:
        gc.freeze()
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def _talk(socket: ServerConnection, after_s: float, pieces: list[str]) -> None:
    """One connection is one conversation."""
    speaking: asyncio.Task[None] | None = None
    try:
        await _tell(socket, "session.created", session={})
        async for message in socket:
            if str(message[: len(_APPEND)]) != _APPEND:
                event = json.loads(message)
                if event["type"] == "session.update":
                    await _tell(socket, "session.updated", session=event["session"])
            elif speaking is None:
                speaking = asyncio.create_task(_speak(socket, after_s, pieces))
    finally:
        if speaking is not None:
            speaking.cancel()


async def _speak(socket: ServerConnection, after_s: float, pieces: list[str]) -> None:
    await asyncio.sleep(after_s)
    said = {"id": "item_1", "type": "message", "role": "assistant", "status": "completed"}
    await _tell(socket, "response.created", response={"id": "resp_1", "status": "in_progress"})
    for piece in pieces:
        await _tell(socket, "response.output_audio.delta", response_id="resp_1", item_id="item_1", delta=piece)
    await _tell(socket, "response.done", response={"id": "resp_1", "status": "completed", "output": [said]})


async def _tell(socket: ServerConnection, kind: str, **fields: Any) -> None:
    await socket.send(json.dumps({"type": kind, **fields}))


if __name__ == "__main__":
    asyncio.run(main(*map(float, sys.argv[1:])))
