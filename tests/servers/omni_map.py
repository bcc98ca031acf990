"""A double of OpenBMB's hosted MiniCPM-o: a queue first, float sound both ways, outputs by kind."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, Transcript
from pytest_voicebench.audio import RATE_HZ, resample
from tests.servers.omni_vllm import SILENCE_MS
from tests.servers.openai_session import Session
from tests.servers.openai_speaking import next_event
from tests.servers.turn_taking import TurnTaking

Json = Any

SUBPROTOCOL = "map.realtime"
USAGE = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


def floats(samples) -> str:
    return base64.b64encode((samples.astype(np.float32) / 32768).astype("<f4").tobytes()).decode()


class MapSession(Session):
    """One conversation. `forced` counts blocks with which the client forced the model to listen."""

    rate_hz = 16_000

    def __init__(self, double, socket) -> None:
        super().__init__(double, socket)
        self.ears = TurnTaking(self.rate_hz, SILENCE_MS)
        self.forced = 0
        self.stopped = False
        self.speaks = False

    async def send(self, kind: str, /, **fields: Json) -> None:
        """Events have no ids here."""
        await self.socket.send(json.dumps({"type": kind, **fields}))
        if self.script.unknown:
            await self.socket.send(json.dumps({"type": "response.metrics", "kv_cache_length": 7}))

    async def greet(self) -> None:
        await self.send("session.queued", position=2, estimated_wait_s=1.5, queue_length=2)
        await self.send("session.queue_update", position=1, estimated_wait_s=0.5, queue_length=1)
        await self.send("session.queue_done")

    async def on_session_init(self, event) -> None:
        if self.script.refuses_session:
            await self.send("error", error={"code": "invalid_request", "message": self.script.refuses_session})
            return
        self.config = {"instructions": event["payload"].get("system_prompt", "")}
        self.tasks.append(self.start())
        if self.script.confirms:
            await self.send("session.created", session_id="sess_1", prompt_length=len(self.config["instructions"]))

    async def on_input_append(self, event) -> None:
        raw = base64.b64decode(event["input"]["audio"])
        if len(raw) % 4:
            await self.send("error", error={"code": "invalid_audio", "message": "float32 is due"})
            return
        if event["input"].get("force_listen"):
            self.forced += 1
            await self.interrupt()
        samples = np.clip(np.rint(np.frombuffer(raw, "<f4") * 32768), -32768, 32767).astype(np.int16)
        size = self.rate_hz // 50
        for start in range(0, len(samples), size):
            await self.hear(samples[start : start + size])
        if not self.speaks:
            await self.send("response.output.delta", kind="listen", text="")

    async def detect(self, samples) -> None:
        what = self.ears.hear(samples)
        if what == "started":
            await self.interrupt()
        elif what == "ended":
            self.turns += 1
            self.stopped = False
            if self.turns == 1:
                await self.trouble(self.script.on_turn)
            if hasattr(self.line, "heard_turn"):
                self.line.heard_turn()

    async def interrupt(self) -> None:
        """The model stops speaking when it is spoken to."""
        if self.speaks:
            self.stopped = True
            if hasattr(self.line, "interrupted"):
                self.line.interrupted()

    async def speak(self) -> None:
        """The agent's events as outputs; an answer is done when its agent adds nothing for a while."""
        while True:
            event = await next_event(self.events, self.speaks)
            async with self.lock:
                if event is None:
                    self.speaks = False
                    await self.send("response.done", response={"usage": USAGE})
                elif isinstance(event, Transcript) and event.speaker == "agent":
                    self.speaks = True
                    await self.send("response.output.delta", kind="text", text=event.text)
                elif isinstance(event, Transcript):
                    await self.send("response.output.delta", kind="listen", text=event.text)
            if isinstance(event, AgentAudio):
                await self.say(event)

    async def say(self, event: AgentAudio) -> None:
        samples, step = resample(event.audio, RATE_HZ).samples, round(self.script.piece_s * RATE_HZ)
        for start in range(0, len(samples), step):
            piece = samples[start : start + step]
            async with self.lock:
                if self.stopped:
                    return
                self.speaks = True
                await self.send("response.output.delta", kind="audio", audio=floats(piece))
                self.pieces += 1
                if self.pieces == 2:
                    await self.trouble(self.script.on_audio)
            await self.wait_for_sound(len(piece))

    async def on_session_close(self, event) -> None:
        usage = {name: count * (self.turns + 1) for name, count in USAGE.items()}
        await self.send("session.closed", reason=event.get("reason", ""), usage=usage)
        await self.socket.close()
