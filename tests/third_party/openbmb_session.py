"""A conversation by OpenBMB's own SDK: `openbmb_session.py turn|interrupt URL`; prints what it saw.

Runs in an environment of its own with openbmb-realtime.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import sys

from openbmb_realtime import (
    AudioDelta,
    ErrorEvent,
    RealtimeClient,
    RealtimeError,
    SessionClosed,
    TextDelta,
    TurnCompleted,
    UserTranscript,
)

RATE_HZ = 16_000
DEADLINE_S = 20


def unit(loud_s: float) -> bytes:
    """A second of float sound, a hum for so long and then silence."""
    loud = round(loud_s * RATE_HZ)
    values = (0.2 * math.sin(2 * math.pi * 220 * n / RATE_HZ) if n < loud else 0.0 for n in range(RATE_HZ))
    return struct.pack(f"<{RATE_HZ}f", *values)


async def hear(session, seen: dict, answered: asyncio.Event, speaking: asyncio.Event) -> None:
    async for event in session:
        seen["events"].append(type(event).__name__)
        match event:
            case AudioDelta(audio=audio):
                seen["samples"] += len(audio) // 4
                seen["loudest"] = max(seen["loudest"], *map(abs, struct.unpack(f"<{len(audio) // 4}f", audio)))
                speaking.set()
            case TextDelta(text=text):
                seen["texts"].append(text)
            case UserTranscript(text=text):
                seen["user"].append(text)
            case TurnCompleted() if seen["samples"]:
                answered.set()
            case ErrorEvent(code=code, message=message):
                seen["errors"].append(f"{code}: {message}")
            case SessionClosed(reason=reason):
                seen["closed"] = reason
                answered.set()


async def main(kind: str, url: str) -> None:
    seen: dict = {"samples": 0, "loudest": 0.0, "texts": [], "user": [], "events": [], "errors": [], "closed": None}
    client = RealtimeClient(api_key="mb-test", base_url=url, connect_timeout=5, close_timeout=5)
    try:
        async with asyncio.timeout(DEADLINE_S):
            session = await client.audio.connect(model="minicpm-o-4.5-realtime", system_prompt="Help.")
            seen["session"] = session.id
            answered, speaking = asyncio.Event(), asyncio.Event()
            listening = asyncio.create_task(hear(session, seen, answered, speaking))
            await session.send_audio(unit(0.6))
            await session.send_audio(unit(0.0))
            if kind == "interrupt":
                await speaking.wait()
                session.interrupt()
                await session.send_audio(unit(0.0))
            await answered.wait()
            await session.close()
            await listening
            seen["total_tokens"] = session.usage.total_tokens if session.usage else None
    except (RealtimeError, TimeoutError) as error:
        seen["errors"].append(f"{type(error).__name__}: {error}")
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2]))
