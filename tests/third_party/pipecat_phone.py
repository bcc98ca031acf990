"""A phone agent by pipecat's serializers: `pipecat_phone.py twilio|telnyx`; prints its port, then each call as JSON.

It answers the user's first pause with four seconds of sound, and clears that when he speaks again. A call that is not
of the service named is hung up. Runs in an environment with pipecat-ai, fastapi and uvicorn; nothing of ours is
imported.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys

import numpy as np
import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from loguru import logger
from pipecat.frames.frames import InputAudioRawFrame, InterruptionFrame, OutputAudioRawFrame, StartFrame
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.telnyx import TelnyxFrameSerializer
from pipecat.serializers.twilio import TwilioFrameSerializer

RATE_HZ = 8_000
LOUD = 300
PAUSE_S = 0.5

logger.remove()
logger.add(sys.stderr, level="WARNING")
app = FastAPI()


def serializer_for(kind: str, call):
    """What pipecat's own runner makes of a call."""
    if kind == "twilio":
        params = TwilioFrameSerializer.InputParams(auto_hang_up=False)
        return TwilioFrameSerializer(stream_sid=call["stream_id"], call_sid=call["call_id"], params=params)
    params = TelnyxFrameSerializer.InputParams(auto_hang_up=False)
    encoding = call["outbound_encoding"]
    return TelnyxFrameSerializer(
        stream_id=call["stream_id"],
        call_control_id=call["call_id"],
        outbound_encoding=encoding,
        inbound_encoding="PCMU",
        params=params,
    )


async def speak(websocket: WebSocket, serializer, seconds: float) -> None:
    """A hum in frames of 40 ms, as a pipecat transport cuts them."""
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    pcm = (6000 * np.sin(2 * np.pi * 220 * at)).astype("<i2").tobytes()
    for start in range(0, len(pcm), 640):
        frame = OutputAudioRawFrame(audio=pcm[start : start + 640], sample_rate=RATE_HZ, num_channels=1)
        if text := await serializer.serialize(frame):
            await websocket.send_text(text)


@app.websocket("/ws")
async def talk(websocket: WebSocket) -> None:
    """One call."""
    await websocket.accept()
    kind, call = await parse_telephony_websocket(websocket)
    seen = {"kind": kind, "call": call.model_dump(by_alias=True), "frames": 0, "samples": 0, "cleared": 0, "turns": 0}
    try:
        if kind != sys.argv[1]:
            await websocket.close(1008, f"a call of {kind}")
            return
        await listen(websocket, serializer_for(kind, call), seen)
    except WebSocketDisconnect:
        pass
    finally:
        print(json.dumps(seen, default=str), flush=True)


async def listen(websocket: WebSocket, serializer, seen: dict) -> None:
    """Hear until the call ends."""
    await serializer.setup(StartFrame(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=RATE_HZ))
    quiet_s, speaking, replied = 0.0, False, False
    while True:
        frame = await serializer.deserialize(await websocket.receive_text())
        if not isinstance(frame, InputAudioRawFrame):
            continue
        samples = np.frombuffer(frame.audio, "<i2")
        seen["frames"], seen["samples"] = seen["frames"] + 1, seen["samples"] + len(samples)
        loud = float(np.sqrt(np.mean(samples.astype(float) ** 2))) > LOUD
        quiet_s = 0.0 if loud else quiet_s + len(samples) / RATE_HZ
        if loud and not speaking and replied:
            seen["cleared"] += 1
            await websocket.send_text(await serializer.serialize(InterruptionFrame()))
        speaking = loud or (speaking and quiet_s < PAUSE_S)
        if not speaking and quiet_s >= PAUSE_S and seen["turns"] == seen["cleared"] and seen["samples"] > 4_000:
            seen["turns"], replied = seen["turns"] + 1, True
            await speak(websocket, serializer, 4.0)


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="websockets-sansio"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        print(listening.getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await serving


asyncio.run(main())
