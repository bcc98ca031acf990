"""The listening side of the double of OpenAI's Realtime API: what a client sends, voice detection, faults."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from pytest_voicebench.agents.protocol import ToolResult
from pytest_voicebench.audio import RATE_HZ, Audio, StreamResampler, rms_dbfs
from tests.servers.openai_script import setup_of
from tests.servers.openai_speaking import Speaking

Json = Any

LOUD_DBFS = -40.0


class Session(Speaking):
    """One conversation. `seen` are the client's events, the user's audio only counted."""

    rate_hz = RATE_HZ  # of the user's audio

    def __init__(self, double, socket) -> None:
        super().__init__(double.script, socket)
        self.double = double
        query = parse_qs(urlsplit(socket.request.path).query)
        self.model = query.get("model", [""])[0]
        self.headers = dict(socket.request.headers.raw_items())
        self.config: dict[str, Json] = {}
        self.seen: list[dict[str, Json]] = []
        self.heard_samples = 0
        self.appends = 0
        self.outputs: list[ToolResult] = []
        self.line: Any = None
        self.turns = 0
        self.speaking_since: int | None = None
        self.loud = self.quiet = 0
        self.tasks: list[asyncio.Task] = []
        self.resampler = StreamResampler(self.rate_hz, double.input_hz)
        self.unheard = np.zeros(0, np.int16)

    async def run(self) -> None:
        if self.script.pings:
            await self.socket.send(json.dumps({"type": "ping", "timestamp": 1}))
        await self.trouble(self.script.first)
        if self.script.greets:
            await self.greet()
        try:
            async for frame in self.socket:
                event = json.loads(frame)
                shown = event | ({"audio": len(event["audio"])} if "audio" in event else {})
                if event.get("type") != "input_audio_buffer.append":
                    self.seen.append(shown)
                async with self.lock:
                    await self.take(event)
        finally:
            for task in self.tasks:
                task.cancel()

    async def greet(self) -> None:
        """The first event of a session."""
        if self.script.dialect == "grok":
            await self.send("conversation.created", conversation={"id": "conv_1", "object": "realtime.conversation"})
        else:
            await self.send("session.created", session=self.session())

    def session(self) -> dict[str, Json]:
        """The session object, as it stands."""
        extra = {"type": "realtime"} if self.script.dialect == "ga" else {}
        return {"id": "sess_1", "object": "realtime.session", "model": self.model, **extra, **self.config}

    async def take(self, event: dict[str, Json]) -> None:
        handler = getattr(self, "on_" + str(event.get("type")).replace(".", "_"), None)
        if handler is None:
            await self.error("invalid_value", f"Invalid value: {event.get('type')!r}.", event)
            return
        await handler(event)

    async def error(self, code: str, message: str, event: dict[str, Json] | None = None, kind="invalid_request_error"):
        inner = {
            "type": kind,
            "code": code,
            "message": message,
            "param": None,
            "event_id": (event or {}).get("event_id"),
        }
        await self.send("error", error=inner)

    async def on_session_update(self, event) -> None:
        asked = event.get("session") or {}
        if self.script.refuses_session:
            await self.error("invalid_value", self.script.refuses_session, event)
            return
        if self.script.dialect == "ga" and asked.get("type") != "realtime":
            await self.error("missing_required_parameter", "Missing required parameter: 'session.type'.", event)
            return
        self.config = {**self.config, **asked}
        if self.script.changes:
            self.detection().update(self.script.changes)
        if self.line is None:
            self.tasks.append(self.start())
        if self.script.confirms:
            await self.send("session.updated", session=self.session())

    def detection(self) -> dict[str, Json]:
        inside = (self.config.get("audio") or {}).get("input") or {}
        return inside.get("turn_detection") or self.config.get("turn_detection") or {}

    def described(self) -> dict[str, Json]:
        """Instructions and tools as the client gave them."""
        return self.config

    def start(self) -> asyncio.Task:
        """Open the line to the agent."""
        return asyncio.create_task(self.live())

    async def live(self) -> None:
        """The agent behind the wire."""
        async with self.double.open_line(setup_of(self.described(), self.double.tools)) as self.line:
            self.tasks.append(asyncio.create_task(self.speak()))
            async for event in self.line.receive():
                self.events.put_nowait(event)

    async def on_input_audio_buffer_append(self, event) -> None:
        await self.hear(np.frombuffer(base64.b64decode(event["audio"]), "<i2"))

    async def hear(self, samples) -> None:
        """The user's audio, for voice detection and for the agent behind the wire."""
        self.appends += 1
        self.heard_samples += len(samples)
        await self.detect(samples)
        self.unheard = np.concatenate([self.unheard, self.resampler.feed(samples)])
        if self.line is None:  # what is said before the agent is there is kept for it, as a server does
            return
        size = self.double.input_hz // 50
        while len(self.unheard) >= size:
            block, self.unheard = self.unheard[:size], self.unheard[size:]
            await self.line.send(Audio(samples=block, rate_hz=self.double.input_hz))

    async def detect(self, samples) -> None:
        """Speech begins after 60 ms of sound and ends after the silence that was asked for."""
        ms = self.heard_samples * 1000 // self.rate_hz
        length_ms = len(samples) * 1000 // self.rate_hz
        if rms_dbfs(samples) > LOUD_DBFS:
            self.loud, self.quiet = self.loud + length_ms, 0
        else:
            self.loud, self.quiet = 0, self.quiet + length_ms
        if self.speaking_since is None and self.loud >= 60:
            self.speaking_since = max(0, ms - 60 - self.detection().get("prefix_padding_ms", 300))
            self.user_item = self.name("item")
            await self.send(
                "input_audio_buffer.speech_started", audio_start_ms=self.speaking_since, item_id=self.user_item
            )
            await self.interrupt()
        elif self.speaking_since is not None and self.quiet >= self.detection().get("silence_duration_ms", 500):
            await self.end_turn(ms)

    async def interrupt(self) -> None:
        if self.script.speaks_anyhow:
            return
        if hasattr(self.line, "interrupted"):
            self.line.interrupted()
        if self.response is not None:
            await self.finish("cancelled", "turn_detected")

    async def end_turn(self, ms: int) -> None:
        item_id, self.speaking_since = self.user_item, None
        self.turns += 1
        await self.send("input_audio_buffer.speech_stopped", audio_end_ms=ms, item_id=item_id)
        await self.send("input_audio_buffer.committed", item_id=item_id, previous_item_id=self.last_item())
        content = [{"type": "input_audio", "transcript": None}]
        await self.add_item(
            {"id": item_id, "type": "message", "role": "user", "status": "completed", "content": content}
        )
        if self.turns == 1:
            await self.trouble(self.script.on_turn)
        if hasattr(self.line, "heard_turn"):
            self.line.heard_turn()

    def last_item(self) -> str | None:
        return self.known_items[-1] if self.known_items else None

    async def add_item(self, item: dict[str, Json]) -> None:
        item = {"object": "realtime.item", **item}
        previous = self.last_item()
        self.known_items.append(item["id"])
        await self.send("conversation.item.added", item=item, previous_item_id=previous)
        await self.send("conversation.item.done", item=item, previous_item_id=previous)

    async def trouble(self, what) -> None:
        """Faults: "drop", {"close": code}, {"raw": text}, {"binary": n}, {"huge": n}, {"error": {}}, {"event": {}}."""
        for act in what:
            if act == "drop":
                self.socket.transport.abort()
            elif "close" in act:
                await self.socket.close(act["close"], act.get("reason", ""))
            elif "raw" in act:
                await self.socket.send(act["raw"])
            elif "binary" in act:
                await self.socket.send(bytes(act["binary"]))
            elif "huge" in act:
                await self.socket.send(json.dumps({"type": "x", "text": "a" * act["huge"]}))
            elif "error" in act:
                await self.send("error", error={"param": None, "event_id": None, **act["error"]})
            else:
                event = dict(act["event"])
                await self.send(event.pop("type"), **event)

    async def on_conversation_item_create(self, event) -> None:
        item = dict(event["item"])
        item["id"] = item.get("id") or self.name("item")
        if item["type"] == "function_call_output":
            tool = self.open_calls.pop(item["call_id"], None)
            if tool is None:
                await self.error("invalid_tool_call_id", f"Tool call ID '{item['call_id']}' not found.", event)
                return
            self.outputs.append(ToolResult(call_id=item["call_id"], name=tool, result=told(item["output"])))
        await self.add_item(item)

    async def on_response_create(self, event) -> None:
        if self.response is not None:
            told = f"Conversation already has an active response in progress: {self.response.id}."
            await self.error("conversation_already_has_active_response", told, event)
            return
        await self.begin((event.get("response") or {}).get("metadata"))
        results, self.outputs = self.outputs, []
        if results and self.line is not None:
            await self.line.answer(results)

    async def on_response_cancel(self, event) -> None:
        if self.response is None:
            await self.error("response_cancel_not_active", "Cancellation failed: no active response found", event)
            return
        await self.finish("cancelled", "client_cancelled")

    async def on_conversation_item_truncate(self, event) -> None:
        item_id, end_ms = event["item_id"], event["audio_end_ms"]
        sent_ms = self.sent_samples.get(item_id, 0) * 1000 // RATE_HZ
        if end_ms > sent_ms:
            told = f"Audio content of {sent_ms}ms is already shorter than {end_ms}ms"
            await self.error("invalid_value", told, event)
            return
        place = {"item_id": item_id, "content_index": event["content_index"], "audio_end_ms": end_ms}
        await self.send("conversation.item.truncated", **place)

    async def on_conversation_item_delete(self, event) -> None:
        if event["item_id"] not in self.known_items:
            await self.error("item_delete_invalid_item_id", f"Item '{event['item_id']}' does not exist.", event)
            return
        self.known_items.remove(event["item_id"])
        await self.send("conversation.item.deleted", item_id=event["item_id"])


def told(output: str) -> Json:
    """What a tool said: any text will do, and most clients send JSON."""
    try:
        return json.loads(output)
    except ValueError:
        return output
