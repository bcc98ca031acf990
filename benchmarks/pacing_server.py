"""A double of OpenAI's Realtime API that costs next to nothing: what 100 conversations at once are measured against.

`python benchmarks/pacing_server.py END_S DELAY_S LONGEST_S` prints its port and ends with its standard input. It knows
when the user's speech ends (END_S after the first block) and begins to answer DELAY_S later: a call, and a voice that
lasts from two seconds to LONGEST_S, another length for each session. A client that asks for /raw is only listened to.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import itertools
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents import simulated
from pytest_voicebench.audio import RATE_HZ, Samples
from pytest_voicebench.audio_files import read_audio

_PIECE_S = 0.2
_APPEND = '{"type":"input_audio_buffer.append"'
_STEPS = 10
_ARGUMENTS = '{"destination":"Milan","date":"2026-06-03"}'

_sessions = itertools.count()


def _voice(seconds: float) -> Samples:
    """A voice that says the same again and again."""
    reply = read_audio(Path(simulated.__file__).with_name("voices") / "reply.flac").audio.samples
    return np.resize(reply, round(seconds * RATE_HZ))


def _pieces(seconds: float) -> list[str]:
    """The voice as base64, in pieces."""
    size = round(_PIECE_S * RATE_HZ)
    voice = _voice(seconds)
    return [base64.b64encode(voice[at : at + size].tobytes()).decode() for at in range(0, len(voice), size)]


async def _answer(socket: ServerConnection, due_s: float, pieces: list[str]) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(max(0.0, due_s - loop.time()))
    item = {"id": "item_c", "type": "function_call", "call_id": "call_1", "name": "search_flights"}
    item |= {"arguments": _ARGUMENTS, "status": "completed"}
    said = {"id": "item_a", "type": "message", "role": "assistant", "status": "completed"}
    await _tell(socket, "response.created", response={"id": "resp_1", "status": "in_progress"})
    await _tell(socket, "response.output_item.done", response_id="resp_1", item=item)
    for piece in pieces:
        await _tell(socket, "response.output_audio.delta", response_id="resp_1", item_id="item_a", delta=piece)
    await _tell(socket, "response.output_audio_transcript.done", item_id="item_a", transcript="Here you are: Milan.")
    await _tell(socket, "response.done", response={"id": "resp_1", "status": "completed", "output": [item, said]})


async def _tell(socket: ServerConnection, kind: str, **fields: Any) -> None:
    await socket.send(json.dumps({"type": kind, **fields}))


class _Double:
    """What all sessions share."""

    def __init__(self, end_s: float, delay_s: float, longest_s: float) -> None:
        self._answer_s = end_s + delay_s
        self._voices = [_pieces(2.0 + (longest_s - 2.0) * n / (_STEPS - 1)) for n in range(_STEPS)]

    async def talk(self, socket: ServerConnection) -> None:
        """One connection is one conversation."""
        loop, answering = asyncio.get_running_loop(), None
        with suppress(ConnectionClosed):
            if socket.request is not None and socket.request.path.startswith("/raw"):
                async for _ in socket:
                    pass
                return
            await _tell(socket, "session.created", session={})
            async for message in socket:
                if str(message[: len(_APPEND)]) != _APPEND:
                    await self._other(socket, json.loads(message))
                elif answering is None:
                    pieces = self._voices[next(_sessions) % _STEPS]
                    answering = asyncio.create_task(_answer(socket, loop.time() + self._answer_s, pieces))
        if answering is not None:
            answering.cancel()

    async def _other(self, socket: ServerConnection, event: dict[str, Any]) -> None:
        if event["type"] == "session.update":
            await _tell(socket, "session.updated", session=event["session"])


async def main(end_s: float, delay_s: float, longest_s: float) -> None:
    """Serve until standard input closes."""
    double = _Double(end_s, delay_s, longest_s)
    async with serve(double.talk, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=500) as server:
        gc.freeze()
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*map(float, sys.argv[1:])))
