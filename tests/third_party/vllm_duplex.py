"""A conversation by vLLM-Omni's own DuplexClient: `vllm_duplex.py turn|barge_in|tool URL`; prints what it saw.

Runs in an environment of its own with vllm-omni (without its dependencies), pybase64 and websockets.
"""

from __future__ import annotations

import asyncio
import io
import json
import math
import struct
import sys
import wave

from bare import bare

bare("vllm_omni")

from vllm_omni.clients.duplex import DuplexClient, DuplexClientError, audio_data_url  # noqa: E402
from vllm_omni.clients.minicpmo_4_5 import create_duplex_session_config  # noqa: E402

RATE_HZ = 16_000
DEADLINE_S = 20


def sound(seconds: float, loud: bool) -> bytes:
    count = round(seconds * RATE_HZ)
    values = (round(6000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) if loud else 0 for n in range(count))
    return struct.pack(f"<{count}h", *values)


def wav() -> bytes:
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(sound(0.5, True))
    return held.getvalue()


async def speak(client: DuplexClient) -> None:
    await client.stream_pcm(sound(0.6, True) + sound(0.7, False), chunk_ms=20, realtime=False)


async def turn(client: DuplexClient, seen: dict) -> None:
    """Answers as they come: decisions to listen, and one answer with its sound, which is told as played."""
    await speak(client)
    async for response in client.responses():
        if response.decision == "listen":
            seen["decisions"].append("listen")
            continue
        async for chunk in response.audio():
            seen["audio_bytes"] += len(chunk)
            await client.ack_playback(response.played_ms, response_id=response.response_id)
            if seen["cut"] and response.played_ms >= 1000:
                seen["cut"] = False
                await speak(client)
        seen["decisions"].append(response.decision)
        seen["texts"].append(response.transcript)
        seen["statuses"].append(response.done_event.raw["response"]["status"])
        if len(seen["statuses"]) == seen["wanted"]:
            return


async def call(client: DuplexClient, seen: dict) -> None:
    """The answer to a tool call, then the model's words."""
    events = client.events()
    await speak(client)
    async for event in events:
        if event.type == "response.function_call_arguments.done":
            seen["calls"].append([event.raw["call_id"], event.raw["arguments"]])
            output = {"type": "function_call_output", "call_id": event.raw["call_id"], "output": '{"n": 1}'}
            await client.send({"type": "conversation.item.create", "item": output})
        elif event.type == "response.output_audio_transcript.done":
            seen["texts"].append(event.raw["transcript"])
            return


async def main(kind: str, url: str) -> None:
    seen: dict = {"cut": kind == "barge_in", "wanted": 2 if kind == "barge_in" else 1, "audio_bytes": 0}
    seen |= {name: [] for name in ("decisions", "texts", "statuses", "calls", "events", "errors")}
    policy = {"overlap_policy": "barge_in_on_speech", "turn_detection": {"type": "server_vad"}}
    config = create_duplex_session_config(
        ref_audio=None if kind == "no_voice" else audio_data_url(wav()), **(policy if kind == "barge_in" else {})
    )
    client = DuplexClient(url, model="openbmb/MiniCPM-o-4_5", config=config, reconnect=None, handshake_timeout_s=5)
    taken = client._dispatch

    async def noted(data: dict) -> None:
        seen["events"].append(data["type"])
        await taken(data)

    client._dispatch = noted
    try:
        async with asyncio.timeout(DEADLINE_S), client:
            seen["session"] = client.session_id
            await (call if kind == "tool" else turn)(client, seen)
            await client.close(timeout_s=5)
    except (DuplexClientError, TimeoutError) as error:
        seen["errors"].append(f"{type(error).__name__}: {error}")
    print(json.dumps(seen))


asyncio.run(main(sys.argv[1], sys.argv[2]))
