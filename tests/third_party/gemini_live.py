"""Turns by google-genai: `gemini_live.py PORT CERTIFICATE turn|barge_in|resume`; prints what it saw as JSON.

Runs in an environment with google-genai; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import struct
import sys

from google import genai
from google.genai import types

RATE_HZ = 16_000
DEADLINE_S = 20
MODEL = "gemini-3.1-flash-live-preview"
TOOL = {"name": "search_flights", "parameters_json_schema": {"type": "object", "properties": {}}}


def config(handle: str | None = None) -> types.LiveConnectConfig:
    """A session with a tool, and both transcripts."""
    detection = types.AutomaticActivityDetection(silence_duration_ms=200, prefix_padding_ms=100)
    return types.LiveConnectConfig(
        response_modalities=["AUDIO"],
        system_instruction="Help.",
        tools=[{"function_declarations": [TOOL]}],
        realtime_input_config=types.RealtimeInputConfig(automatic_activity_detection=detection),
        input_audio_transcription=types.AudioTranscriptionConfig(),
        output_audio_transcription=types.AudioTranscriptionConfig(),
        session_resumption=types.SessionResumptionConfig(handle=handle),
    )


async def speak(session, loud_s: float, quiet_s: float = 0.4) -> None:
    """A hum, then silence, in blocks of 20 ms."""
    for at in range(0, round((loud_s + quiet_s) * RATE_HZ), 320):
        loud = at < loud_s * RATE_HZ
        samples = [round(6000 * math.sin(2 * math.pi * 220 * n / RATE_HZ)) if loud else 0 for n in range(at, at + 320)]
        blob = types.Blob(data=struct.pack("<320h", *samples), mime_type=f"audio/pcm;rate={RATE_HZ}")
        await session.send_realtime_input(audio=blob)


async def one_turn(session, seen: dict, *, into: bool = False) -> None:
    """Receive until the turn is complete; answer calls; `into`: speak as soon as sound comes."""
    async for message in session.receive():
        if message.session_resumption_update and message.session_resumption_update.new_handle:
            seen["handles"].append(message.session_resumption_update.new_handle)
        if message.go_away:
            seen["order"].append("go_away")
            seen["time_left"] = message.go_away.time_left
        if message.usage_metadata:
            seen["tokens"].append(message.usage_metadata.total_token_count)
        if message.tool_call_cancellation:
            seen["order"].append("cancelled")
        if message.tool_call:
            seen["order"].append("calls")
            calls = message.tool_call.function_calls
            seen["calls"].append([[c.name, c.args] for c in calls])
            answers = [types.FunctionResponse(id=c.id, name=c.name, response={"n": 1}) for c in calls]
            await session.send_tool_response(function_responses=answers)
        if content := message.server_content:
            into = await take(session, content, seen, into)


async def take(session, content, seen: dict, into: bool) -> bool:
    """What the agent says, and how its turn goes."""
    if content.input_transcription and content.input_transcription.text:
        seen["user"] += content.input_transcription.text
    if content.output_transcription and content.output_transcription.text:
        seen["agent"] += content.output_transcription.text
    for part in (content.model_turn.parts or []) if content.model_turn else []:
        if part.inline_data:
            seen["bytes"] += len(part.inline_data.data)
            seen["types"] = sorted({*seen["types"], part.inline_data.mime_type})
            if seen["order"][-1:] != ["sound"]:
                seen["order"].append("sound")
    for name in ("generation_complete", "interrupted", "turn_complete"):
        if getattr(content, name):
            seen["order"].append(name)
    if into and content.model_turn:
        await speak(session, 0.2)
        return False
    return into


async def main(port: str, certificate: str, what: str) -> None:
    context = ssl.create_default_context(cafile=certificate)
    options = types.HttpOptions(base_url=f"https://127.0.0.1:{port}", async_client_args={"ssl": context})
    client = genai.Client(api_key="AIza-test", http_options=options)
    seen: dict = {"order": [], "calls": [], "bytes": 0, "types": [], "user": "", "agent": "", "tokens": []}
    seen |= {"handles": [], "error": None}
    try:
        async with asyncio.timeout(DEADLINE_S):
            async with client.aio.live.connect(model=MODEL, config=config()) as session:
                await speak(session, 0.4)
                await one_turn(session, seen, into=what == "barge_in")
                if what == "barge_in":
                    await one_turn(session, seen)
            if what == "resume":
                async with client.aio.live.connect(model=MODEL, config=config(seen["handles"][-1])) as session:
                    seen["order"].append("resumed")
                    await speak(session, 0.4)
                    await one_turn(session, seen)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the client says of the fault
        seen["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
