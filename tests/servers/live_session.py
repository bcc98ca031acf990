"""A double of OpenAI's Live API: one voice stream paced by what is heard, and a second model that makes the calls."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, ToolCall, ToolResult, Transcript
from pytest_voicebench.audio import RATE_HZ, resample
from tests.servers.openai_script import Script, arguments_text
from tests.servers.openai_server import openai_server
from tests.servers.openai_session import Session
from tests.servers.openai_speaking import next_event
from tests.servers.turn_taking import TurnTaking

Json = Any

SILENCE_MS = 500
USAGE = {"input_tokens": 50, "output_tokens": 10, "total_tokens": 60}


class LiveSession(Session):
    """One conversation. For every piece of the user's sound one of the agent's goes out: speech, or zeros."""

    def __init__(self, double, socket) -> None:
        super().__init__(double, socket)
        self.ears = TurnTaking(RATE_HZ, SILENCE_MS)
        self.to_say: list[np.ndarray] = []
        self.backend = ""  # the response of the second model that is under way, or was last
        self.asking = False
        self.results: list[ToolResult] = []
        self.spoken = 0
        self.withdrawn: list[Json] = []

    async def send(self, kind: str, /, **fields: Json) -> None:
        """Sound has no event_id here."""
        if kind == "session.output_audio.delta":
            await self.socket.send(json.dumps({"type": kind, **fields}))
        else:
            await super().send(kind, **fields)

    async def greet(self) -> None:
        """The client speaks first."""

    def ms(self) -> int:
        return self.heard_samples * 1000 // RATE_HZ

    def session(self) -> dict[str, Json]:
        shown = {"id": "sess_1", "expires_at": 2_000_000_000, "status": "active", "store": False}
        return {**shown, **self.config}

    async def fail(self, code: str, message: str, event: dict[str, Json]) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message}
        await self.send("error", error=error | {"param": None, "client_event_id": event.get("event_id")})

    async def take(self, event: dict[str, Json]) -> None:
        if not self.config and event.get("type") != "session.start":
            await self.fail("session_not_started", "Send session.start first.", event)
        else:
            await super().take(event)

    async def on_session_start(self, event) -> None:
        asked = event["session"]
        if self.script.refuses_session or not asked.get("model"):
            await self.fail("invalid_value", self.script.refuses_session or "session.model is missing.", event)
            return
        self.config = asked
        self.tasks.append(self.start())
        if self.script.confirms:
            await self.send("session.started", session=self.session())

    def described(self) -> dict[str, Json]:
        tools = ((self.config.get("delegation") or {}).get("responses") or {}).get("tools") or []
        return {"instructions": self.config.get("instructions", ""), "tools": tools}

    async def on_session_input_audio_append(self, event) -> None:
        samples = np.frombuffer(base64.b64decode(event["audio"]), "<i2")
        await self.hear(samples)
        await self.tick(len(samples))
        seconds = self.heard_samples // RATE_HZ
        if seconds > (self.heard_samples - len(samples)) // RATE_HZ:
            await self.send("session.usage.updated", usage={"seconds": float(seconds)})

    async def detect(self, samples) -> None:
        """The model just stops when it is spoken to."""
        what = self.ears.hear(samples)
        if what == "started":
            self.to_say.clear()
            if hasattr(self.line, "interrupted"):
                self.line.interrupted()
        elif what == "ended":
            self.turns += 1
            if self.turns == 1:
                await self.trouble(self.script.on_turn)
            if hasattr(self.line, "heard_turn"):
                self.line.heard_turn()

    async def tick(self, count: int) -> None:
        """As much of the agent's voice as was heard of the user's."""
        waiting = np.concatenate([*self.to_say, np.zeros(0, np.int16)])
        piece, rest = waiting[:count], waiting[count:]
        self.to_say = [rest] if len(rest) else []
        frame = np.concatenate([piece, np.zeros(count - len(piece), np.int16)])
        await self.send("session.output_audio.delta", delta=base64.b64encode(frame.astype("<i2").tobytes()).decode())
        if len(piece):
            self.spoken += 1
            if self.spoken == 2:
                await self.trouble(self.script.on_audio)

    async def speak(self) -> None:
        """The agent's events: words and sound of the voice, calls of the second model."""
        while True:
            event = await next_event(self.events, self.asking)
            async with self.lock:
                if event is None:
                    await self.backend_done()
                elif isinstance(event, Transcript):
                    way = "input" if event.speaker == "user" else "output"
                    place = {"start_ms": max(0, self.ms() - 500), "end_ms": self.ms()}
                    await self.send(f"session.{way}_transcript.delta", delta=event.text, **place)
                elif isinstance(event, AgentAudio):
                    self.to_say.append(resample(event.audio, RATE_HZ).samples)
                elif isinstance(event, ToolCall):
                    await self.call(event)

    async def inner(self, kind: str, **fields: Json) -> None:
        """An event of the second model."""
        await self.send("response.event", delegation_id="deleg_1", event={"type": kind, **fields})

    def backend_shown(self, status: str) -> dict[str, Json]:
        usage = {"usage": USAGE} if status != "in_progress" else {}
        return {"id": self.backend, "object": "response", "status": status, "output": [], **usage}

    async def backend_begins(self) -> None:
        if self.asking:
            return
        if not self.backend:
            delegation = {"id": "deleg_1", "type": "delegation", "target": "responses"}
            await self.send("session.delegation.created", delegation=delegation, offset_ms=self.ms())
        self.backend, self.asking = self.name("resp"), True
        await self.inner("response.created", response=self.backend_shown("in_progress"))

    async def call(self, event: ToolCall) -> None:
        await self.backend_begins()
        item = {"type": "function_call", "id": self.name("fc"), "call_id": event.call_id, "name": event.name}
        item |= {"arguments": arguments_text(event.arguments), "status": "completed"}
        if self.script.withdraws_first_call and not self.withdrawn:
            self.withdrawn = [item | {"status": "incomplete"}]
        else:
            self.open_calls[event.call_id] = event.name
        await self.inner("response.output_item.done", output_index=0, item=item)

    async def backend_done(self) -> None:
        self.asking = False
        if self.withdrawn and not self.open_calls and self.turns == 1:
            cut = {"output": self.withdrawn, "incomplete_details": {"reason": "max_output_tokens"}}
            await self.inner("response.incomplete", response=self.backend_shown("incomplete") | cut)
            return
        cancelled = self.script.cancels_first_call and len(self.open_calls) == 1
        kind = "failed" if cancelled else "completed"
        await self.inner(f"response.{kind}", response=self.backend_shown(kind))

    async def on_response_item_create(self, event) -> None:
        item = event["item"]
        name = self.open_calls.pop(item.get("call_id"), None)
        if name is None:
            await self.fail("invalid_tool_call_id", f"No call {item.get('call_id')!r} is open.", event)
            return
        self.results.append(ToolResult(call_id=item["call_id"], name=name, result=json.loads(item["output"])))

    async def on_response_create(self, event) -> None:
        """Refused while a call is open or a response under way."""
        if self.open_calls or self.asking:
            await self.fail("response_not_ready", f"Still open: {sorted(self.open_calls)}.", event)
            return
        await self.backend_begins()
        results, self.results = self.results, []
        await self.line.answer(results)

    async def on_session_thinking_append(self, event) -> None:
        await self.send("session.thinking.appended", client_event_id=event.get("event_id"))

    async def on_session_close(self, event) -> None:
        usage = {"seconds": self.heard_samples / RATE_HZ}  # of which the last update told only whole ones
        await self.send("session.closed", reason="close_requested", session=self.session(), usage=usage)
        await self.socket.close()


def live_server(script: Script | None = None, open_line: Any = None):
    """A double in a thread, until the block ends; its address ends in /v1/realtime, which it does not look at."""
    return openai_server(script, open_line, session_type=LiveSession)
