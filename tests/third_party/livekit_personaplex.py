"""One turn by livekit-agents' PersonaPlex plugin: `livekit_personaplex.py URL`; prints what it saw.

Runs in an environment of its own with livekit-plugins-nvidia; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import sys

import aiohttp
import numpy as np
from livekit import rtc
from livekit.plugins.nvidia.experimental.realtime import RealtimeModel

RATE_HZ = 24_000
DEADLINE_S = 20
REPLY_S = 0.8


def frame(at: int, loud: bool) -> rtc.AudioFrame:
    """20 ms of a hum, or of silence."""
    samples = [round(6000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) if loud else 0 for n in range(at, at + 480)]
    return rtc.AudioFrame(struct.pack("<480h", *samples), RATE_HZ, 1, 480)


class Client:
    """One session, and what came of it. Its plugin ends no generation while the stream goes on."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.text, self.loud_s, self.errors = "", 0.0, []
        model = RealtimeModel(base_url=url, voice="NATM1", text_prompt="Be brief.", seed=7, http_session=http)
        self.session = model.session()
        self.ended = asyncio.Event()
        self.tasks: list[asyncio.Task] = []
        self.session.on("generation_created", lambda g: self.spawn(self.read(g)))
        self.session.on("error", lambda e: self.failed(str(e.error)))

    def spawn(self, work) -> None:
        self.tasks.append(asyncio.create_task(work))

    def failed(self, told: str) -> None:
        self.errors.append(told)
        self.ended.set()

    async def stream(self) -> None:
        """The user: half a second of sound after half a second."""
        for block in range(10_000):
            self.session.push_audio(frame(block * 480, loud=25 <= block < 50))
            await asyncio.sleep(0.02)

    async def read(self, generation) -> None:
        async for message in generation.message_stream:
            self.spawn(self.listen(message.audio_stream))
            async for piece in message.text_stream:
                self.text += str(piece)

    async def listen(self, stream) -> None:
        async for sound in stream:
            if np.abs(np.frombuffer(sound.data, np.int16)).max() > 300:
                self.loud_s += sound.duration
            if "." in self.text and self.loud_s >= REPLY_S:
                self.ended.set()


async def main(url: str) -> None:
    async with aiohttp.ClientSession() as http:
        client = Client(url, http)
        client.spawn(client.stream())
        try:
            async with asyncio.timeout(DEADLINE_S):
                await client.ended.wait()
        except TimeoutError:
            client.errors.append("deadline")
        for task in client.tasks:
            task.cancel()
        await client.session.aclose()
    print(json.dumps({"text": client.text, "loud_s": round(client.loud_s, 2), "errors": client.errors}))


asyncio.run(main(*sys.argv[1:]))
