"""A turn with a tool, or a barge-in, by livekit-agents' Ultravox plugin: `livekit_ultravox.py URL turn|barge_in`.

Prints what it saw. Runs in an environment of its own with livekit-plugins-ultravox; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import sys

import aiohttp
from livekit import rtc
from livekit.agents import llm
from livekit.plugins.ultravox.realtime import RealtimeModel

RATE_HZ = 16_000
DEADLINE_S = 15


@llm.function_tool
async def search_flights(destination: str) -> str:
    """Find flights."""
    return destination


def frame(at: int, loud: bool) -> rtc.AudioFrame:
    """20 ms of a hum, or of silence."""
    samples = [round(6000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) if loud else 0 for n in range(at, at + 320)]
    return rtc.AudioFrame(struct.pack("<320h", *samples), RATE_HZ, 1, 320)


class Client:
    """One session, and what came of it. `speaks` is set while the user is to be heard."""

    def __init__(self, url: str, http: aiohttp.ClientSession) -> None:
        self.seen: dict = {"order": [], "calls": [], "audio_s": [], "texts": [], "errors": [], "user": []}
        model = RealtimeModel(base_url=url, api_key="uv-test", http_session=http)
        self.session = model.session()
        self.speaks = asyncio.Event()
        self.made: asyncio.Queue = asyncio.Queue()
        self.reading: list[asyncio.Task] = []
        self.session.on("input_speech_started", lambda _: self.seen["order"].append("clear"))
        self.session.on("error", lambda e: self.failed(str(e.error)))
        self.session.on("input_audio_transcription_completed", lambda e: self.seen["user"].append(e.transcript))
        self.session.on("generation_created", self.made.put_nowait)
        self.session.on("ultravox_server_event_received", self.note)
        self.broken = asyncio.Event()

    def note(self, event: dict) -> None:
        if event["type"] in ("state", "client_tool_invocation"):
            self.seen["order"].append(event.get("state", "call"))

    def failed(self, told: str) -> None:
        self.seen["errors"].append(told)
        self.broken.set()

    async def stream(self) -> None:
        """Half a second of sound whenever the user speaks, silence else."""
        at = 0
        while True:
            if loud := self.speaks.is_set():
                self.speaks.clear()
            for _ in range(25 if loud else 1):
                self.session.push_audio(frame(at, loud))
                at += 320
                await asyncio.sleep(0.02)

    async def read(self, generation, *, on_sound=None) -> list:
        """Text and length of each message of a generation, read side by side; its calls."""

        async def listen(stream) -> float:
            total = 0.0
            async for sound in stream:
                total += sound.duration
                if on_sound:
                    on_sound()
            return total

        async for message in generation.message_stream:
            listening = asyncio.create_task(listen(message.audio_stream))
            self.seen["texts"].append("".join([str(piece) async for piece in message.text_stream]))
            self.seen["audio_s"].append(round(await listening, 3))
        return [call async for call in generation.function_stream]

    async def turn(self) -> None:
        """Speak, answer the call, hear the reply."""
        self.speaks.set()
        while not (calls := await self.read(await self.made.get())):
            pass
        self.seen["calls"] = [[c.name, c.arguments] for c in calls]
        for call in calls:
            await self.session.send_tool_result(call.call_id, '"ok"')
        while not any(self.seen["texts"]):
            await self.read(await self.made.get())

    async def barge_in(self) -> None:
        """Speak, and speak again as soon as the agent is heard."""
        self.speaks.set()
        while not any(self.seen["texts"]):
            await self.read(await self.made.get(), on_sound=self.speaks.set)
        while "Sorry." not in self.seen["texts"]:
            await self.read(await self.made.get())


async def main(url: str, what: str) -> None:
    async with aiohttp.ClientSession() as http:
        client = Client(url, http)
        await client.session.update_tools([search_flights])
        streaming = asyncio.create_task(client.stream())
        work, broken = asyncio.create_task(getattr(client, what)()), asyncio.create_task(client.broken.wait())
        await asyncio.wait([work, broken], timeout=DEADLINE_S, return_when=asyncio.FIRST_COMPLETED)
        if not (work.done() or broken.done()):
            client.seen["errors"].append("deadline")
        for task in (streaming, work, broken):
            task.cancel()
        if work.done() and not work.cancelled() and work.exception():
            client.seen["errors"].append(repr(work.exception()))
        await client.session.aclose()
    print(json.dumps(client.seen))


asyncio.run(main(*sys.argv[1:]))
