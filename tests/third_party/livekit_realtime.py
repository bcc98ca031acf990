"""One turn with a tool by livekit-agents' realtime plugins: `livekit_realtime.py openai|xai URL`; prints what it saw.

Runs in an environment of its own with livekit-plugins-openai and livekit-plugins-xai; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import sys

from livekit import rtc
from livekit.agents import llm

RATE_HZ = 24_000
DEADLINE_S = 15


@llm.function_tool
async def search_flights(destination: str) -> str:
    """Find flights."""
    return destination


def frame(at: int, loud: bool) -> rtc.AudioFrame:
    """20 ms of a hum, or of silence."""
    samples = [round(6000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) if loud else 0 for n in range(at, at + 480)]
    return rtc.AudioFrame(struct.pack("<480h", *samples), RATE_HZ, 1, 480)


async def main(flavour: str, url: str) -> None:
    if flavour == "xai":
        from livekit.plugins.xai.realtime import RealtimeModel
    else:
        from livekit.plugins.openai.realtime import RealtimeModel
    seen: dict = {"events": [], "calls": [], "audio_s": [], "texts": [], "errors": [], "user": []}
    model = RealtimeModel(base_url=url, api_key="sk-test")
    session = model.session()
    session.on("input_speech_started", lambda _: seen["events"].append("speech_started"))
    session.on("input_speech_stopped", lambda _: seen["events"].append("speech_stopped"))
    session.on("error", lambda e: seen["errors"].append(str(e.error)))
    heard = lambda e: seen["user"].append(e.transcript) if e.is_final else None  # noqa: E731
    session.on("input_audio_transcription_completed", heard)
    made: asyncio.Queue = asyncio.Queue()
    session.on("generation_created", made.put_nowait)

    async def speak() -> None:
        for block in range(10_000):
            session.push_audio(frame(block * 480, loud=10 <= block < 30))
            await asyncio.sleep(0.02)

    await session.update_tools([search_flights])
    speaking = asyncio.create_task(speak())
    try:
        async with asyncio.timeout(DEADLINE_S):
            first = await made.get()
            calls = [call async for call in first.function_stream]
            seen["calls"] = [[c.name, c.arguments] for c in calls]
            context = session.chat_ctx.copy()
            for call in calls:
                output = llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output='"ok"', is_error=False)
                context.items.append(output)
            await session.update_chat_ctx(context)
            session.generate_reply()
            second = await made.get()
            async for message in second.message_stream:
                seen["texts"].append("".join([str(text) async for text in message.text_stream]))
                seen["audio_s"].append(sum([f.duration async for f in message.audio_stream]))
    except TimeoutError:
        seen["errors"].append("deadline")
    finally:
        speaking.cancel()
        await session.aclose()
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
