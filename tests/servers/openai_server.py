"""A double of OpenAI's Realtime API on 127.0.0.1: voice detection, responses, tools, barge-in; and its faults.

`openai_server(...)` runs it in a thread. `python openai_server.py AGENT [SUITE.yaml]` runs it in a process of its own
with one of this package's agents (`local`) behind the wire, prints its port, and ends with its standard input. The
suite is read only for what a JSON schema does not say of its tools.
"""

from __future__ import annotations

import asyncio
import base64
import http
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, ToolResult, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio, StreamResampler, resample, rms_dbfs
from tests.servers.openai_script import Script, arguments_text, recite, setup_of

Json = Any

LOUD_DBFS = -40.0
GRACE_S = 0.03
"""A response ends when its agent has added nothing for so long."""

BETA_NAMES = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "conversation.item.added": "conversation.item.created",
}


@dataclass
class Double:
    """A running double. `sessions` are its conversations in order."""

    script: Script
    open_line: Any
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[Session] = field(default_factory=list)
    refused: int = 0
    host: str = "127.0.0.1"
    port: int = 0

    @property
    def url(self) -> str:
        return f"ws://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/v1/realtime"

    def check(self, connection, request):
        """Refuse a handshake where the script says so."""
        status, message = self.script.status, "no more sessions"
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.script.key is not None and given != self.script.key:
            status, message = 401, f"Incorrect API key provided: {given}."
        if status is None:
            return None
        self.refused += 1
        body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
        response = connection.respond(http.HTTPStatus(status), body)
        if self.script.retry_after:
            response.headers["Retry-After"] = self.script.retry_after
        return response

    async def talk(self, socket) -> None:
        """One connection is one conversation."""
        session = Session(self, socket)
        self.sessions.append(session)
        with suppress(ConnectionClosed):
            await session.run()


@dataclass
class Response:
    """The response in progress."""

    id: str
    output: list[dict[str, Json]] = field(default_factory=list)
    cancelled: bool = False
    agent_item: str | None = None  # the agent's own name of the message that is open
    message: dict[str, Json] | None = None
    samples: int = 0


class Session:
    """One conversation. `seen` are the client's events, the user's audio only counted."""

    def __init__(self, double: Double, socket) -> None:
        self.double, self.script, self.socket = double, double.script, socket
        query = parse_qs(urlsplit(socket.request.path).query)
        self.model = query.get("model", [""])[0]
        self.headers = dict(socket.request.headers.raw_items())
        self.config: dict[str, Json] = {}
        self.seen: list[dict[str, Json]] = []
        self.heard_samples = 0
        self.appends = 0
        self.numbers = 0
        self.response: Response | None = None
        self.sent_samples: dict[str, int] = {}
        self.known_items: list[str] = []
        self.open_calls: dict[str, str] = {}
        self.outputs: list[ToolResult] = []
        self.events: asyncio.Queue = asyncio.Queue()
        self.line: Any = None
        self.late: list[tuple[str, str]] = []
        self.pieces = 0
        self.turns = 0
        self.speaking_since: int | None = None
        self.loud = self.quiet = 0
        self.user_item = ""
        self.tasks: list[asyncio.Task] = []
        self.cut_items: set[str] = set()
        self.lock = asyncio.Lock()
        self.resampler = StreamResampler(RATE_HZ, double.input_hz)

    def name(self, kind: str) -> str:
        self.numbers += 1
        return f"{kind}_{self.numbers:04}"

    async def send(self, kind: str, **fields: Json) -> None:
        """One event in the dialect's names."""
        if self.script.dialect == "beta":
            if kind == "conversation.item.done":
                return
            kind = BETA_NAMES.get(kind, kind)
        text = json.dumps({"type": kind, "event_id": self.name("event"), **fields})
        await self.socket.send(text)
        if self.script.twice:
            await self.socket.send(text)
        if self.script.unknown:
            await self.socket.send(
                json.dumps({"type": "response.mood.delta", "event_id": self.name("event"), "x": [1]})
            )

    async def run(self) -> None:
        if self.script.pings:
            await self.socket.send(json.dumps({"type": "ping", "timestamp": 1}))
        if self.script.greets and self.script.dialect == "grok":
            await self.send("conversation.created", conversation={"id": "conv_1", "object": "realtime.conversation"})
        elif self.script.greets:
            await self.send("session.created", session=self.session())
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
            self.tasks.append(asyncio.create_task(self.live()))
        if self.script.confirms:
            await self.send("session.updated", session=self.session())

    def detection(self) -> dict[str, Json]:
        inside = (self.config.get("audio") or {}).get("input") or {}
        return inside.get("turn_detection") or self.config.get("turn_detection") or {}

    async def live(self) -> None:
        """The agent behind the wire."""
        async with self.double.open_line(setup_of(self.config, self.double.tools)) as self.line:
            self.tasks.append(asyncio.create_task(self.speak()))
            async for event in self.line.receive():
                self.events.put_nowait(event)

    async def on_input_audio_buffer_append(self, event) -> None:
        samples = np.frombuffer(base64.b64decode(event["audio"]), "<i2")
        self.appends += 1
        self.heard_samples += len(samples)
        await self.detect(samples)
        if self.line is not None:
            heard = self.resampler.feed(samples)
            size = self.double.input_hz // 50
            self.unheard = np.concatenate([getattr(self, "unheard", np.zeros(0, np.int16)), heard])
            while len(self.unheard) >= size:
                block, self.unheard = self.unheard[:size], self.unheard[size:]
                await self.line.send(Audio(samples=block, rate_hz=self.double.input_hz))

    async def detect(self, samples) -> None:
        """Speech begins after 60 ms of sound and ends after the silence that was asked for."""
        ms = self.heard_samples * 1000 // RATE_HZ
        length_ms = len(samples) * 1000 // RATE_HZ
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
            self.outputs.append(ToolResult(call_id=item["call_id"], name=tool, result=json.loads(item["output"])))
        await self.add_item(item)

    async def on_response_create(self, event) -> None:
        if self.response is not None:
            told = f"Conversation already has an active response in progress: {self.response.id}."
            await self.error("conversation_already_has_active_response", told, event)
            return
        await self.begin()
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

    async def speak(self) -> None:
        """Turn the agent's events into responses: one lasts as long as something comes."""
        while True:
            try:
                event = await asyncio.wait_for(self.events.get(), GRACE_S if self.busy() else None)
            except TimeoutError:
                async with self.lock:
                    if self.response is not None:
                        await self.finish("completed")
                continue
            if isinstance(event, AgentAudio):
                await self.say(event)
                continue
            async with self.lock:
                if isinstance(event, Transcript):
                    await self.tell(event)
                elif isinstance(event, ToolCall):
                    await self.call(event)
                elif isinstance(event, PlaybackClear) and self.response is not None:
                    await self.finish("cancelled", "turn_detected")

    def busy(self) -> bool:
        """Whether a response is under way that holds something."""
        return self.response is not None and bool(self.response.output or self.response.message)

    async def begin(self) -> Response:
        if self.response is None:
            self.response = Response(id=self.name("resp"))
            await self.send("response.created", response=self.shown("in_progress"))
        return self.response

    def shown(self, status: str, reason: str | None = None) -> dict[str, Json]:
        response = self.response
        details = {"type": status, "reason": reason} if reason else None
        audio, text = response.samples // 1200, 10 + len(response.output)
        usage = {
            "total_tokens": 100 + audio + text,
            "input_tokens": 100,
            "output_tokens": audio + text,
            "input_token_details": {
                "text_tokens": 60,
                "audio_tokens": 40,
                "cached_tokens": 16,
                "cached_tokens_details": {"text_tokens": 16, "audio_tokens": 0},
            },
            "output_token_details": {"text_tokens": text, "audio_tokens": audio},
        }
        done = status != "in_progress"
        return {
            "id": response.id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": response.output if done else [],
            "output_modalities": ["audio"],
            "metadata": None,
            "usage": usage if done else None,
        }

    async def tell(self, event: Transcript) -> None:
        if event.speaker == "agent":
            await self.open_message(event.item_id)
            await self.piece("response.output_audio_transcript.delta", delta=event.text)
            self.response.message["content"][0]["transcript"] += event.text
        elif self.script.late_transcript:
            self.late.append((self.user_item, event.text))
        else:
            await self.user_text(self.user_item, event.text)

    async def user_text(self, item_id: str, text: str) -> None:
        prefix = "conversation.item.input_audio_transcription"
        if self.script.dialect == "grok":
            await self.send(f"{prefix}.updated", item_id=item_id, transcript=text[: len(text) // 2])
        else:
            await self.send(f"{prefix}.delta", item_id=item_id, content_index=0, delta=text)
        usage = {"type": "duration", "seconds": 1.5}
        await self.send(f"{prefix}.completed", item_id=item_id, content_index=0, transcript=text, usage=usage)

    async def call(self, event: ToolCall) -> None:
        response = await self.begin()
        await self.close_message("completed")
        arguments = arguments_text(event.arguments)
        item_id, where = self.name("item"), {"response_id": response.id, "output_index": len(response.output)}
        item = {"id": item_id, "object": "realtime.item", "type": "function_call", "name": event.name}
        item |= {"call_id": event.call_id, "arguments": "", "status": "in_progress"}
        await self.send("response.output_item.added", item=item, **where)
        await self.send("conversation.item.added", item=item, previous_item_id=self.last_item())
        self.known_items.append(item_id)
        place = {**where, "item_id": item_id, "call_id": event.call_id}
        await self.send("response.function_call_arguments.delta", delta=arguments, **place)
        await self.send("response.function_call_arguments.done", arguments=arguments, name=event.name, **place)
        cancelled = self.script.cancels_first_call and not self.open_calls
        status = "incomplete" if cancelled else "completed"
        item = {**item, "arguments": arguments, "status": status}
        response.output.append(item)
        self.open_calls[event.call_id] = event.name
        await self.send("response.output_item.done", item=item, **where)
        await self.send("conversation.item.done", item=item, previous_item_id=None)
        if cancelled:
            await self.finish("cancelled", "turn_detected")

    async def say(self, event: AgentAudio) -> None:
        """The pieces of a chunk, each when its time has come; the user may cut in between them."""
        samples = resample(event.audio, RATE_HZ).samples
        data, step = samples.astype("<i2").tobytes(), round(self.script.piece_s * RATE_HZ) * 2
        for start in range(0, len(data), step):
            shift = 1 if self.script.odd else 0
            piece = data[
                max(0, start - shift) if start else 0 : start + step - shift if start + step < len(data) else None
            ]
            async with self.lock:
                if event.item_id in self.cut_items:
                    return
                await self.open_message(event.item_id)
                await self.piece("response.output_audio.delta", delta=base64.b64encode(piece).decode())
                self.response.samples += len(piece) // 2
                item_id = self.response.message["id"]
                self.sent_samples[item_id] = self.sent_samples.get(item_id, 0) + len(piece) // 2
                self.pieces += 1
                if self.pieces == 2:
                    await self.trouble(self.script.on_audio)
            await asyncio.sleep(self.script.pace * len(piece) / 2 / RATE_HZ)

    async def piece(self, kind: str, **fields: Json) -> None:
        response = self.response
        place = {"response_id": response.id, "item_id": response.message["id"], "content_index": 0}
        await self.send(kind, output_index=len(response.output), **place, **fields)

    async def open_message(self, agent_item: str | None) -> None:
        response = await self.begin()
        if response.message is not None and response.agent_item == agent_item:
            return
        await self.close_message("completed")
        message = {"id": self.name("item"), "object": "realtime.item", "type": "message", "role": "assistant"}
        message |= {"status": "in_progress", "content": []}
        where = {"response_id": response.id, "output_index": len(response.output)}
        await self.send("response.output_item.added", item=message, **where)
        await self.send("conversation.item.added", item=message, previous_item_id=self.last_item())
        self.known_items.append(message["id"])
        response.message, response.agent_item = {**message, "content": [self.content("")]}, agent_item
        await self.piece("response.content_part.added", part={"type": "audio", "transcript": ""})

    def content(self, transcript: str) -> dict[str, Json]:
        kind = "audio" if self.script.dialect == "beta" else "output_audio"
        return {"type": kind, "transcript": transcript}

    async def close_message(self, status: str) -> None:
        response = self.response
        if response is None or response.message is None:
            return
        text = response.message["content"][0]["transcript"]
        await self.piece("response.output_audio.done")
        await self.piece("response.output_audio_transcript.done", transcript=text)
        await self.piece("response.content_part.done", part={"type": "audio", "transcript": text})
        item = {**response.message, "status": status}
        where = {"response_id": response.id, "output_index": len(response.output)}
        await self.send("response.output_item.done", item=item, **where)
        await self.send("conversation.item.done", item=item, previous_item_id=None)
        response.output.append(item)
        response.message = None

    async def finish(self, status: str, reason: str | None = None) -> None:
        """End the response, and send what waited for it."""
        response = self.response
        if status == "cancelled" and response.agent_item:
            self.cut_items.add(response.agent_item)
        await self.close_message("completed" if status == "completed" else "incomplete")
        if self.script.malformed:
            await self.send("response.done")
        else:
            await self.send("response.done", response=self.shown(status, reason))
        self.response = None
        limit = {"name": "requests", "limit": 1000, "remaining": 999, "reset_seconds": 60.0}
        await self.send("rate_limits.updated", rate_limits=[limit])
        if not any(i["type"] == "function_call" for i in response.output):
            late, self.late = self.late, []
            for item_id, text in late:
                await self.user_text(item_id, text)


@contextmanager
def openai_server(script: Script | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = Double(script=script or Script(), open_line=open_line or recite(), **more)
    loop, listening = asyncio.new_event_loop(), threading.Event()
    stop: asyncio.Event = asyncio.Event()

    async def main() -> None:
        async with listen(double):
            listening.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert listening.wait(10)
    try:
        yield double
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


class listen:  # noqa: N801 - used as a function
    """Serve a double on an ephemeral port of the loopback interface."""

    def __init__(self, double: Double) -> None:
        self.double = double
        self.serving = serve(
            double.talk, double.host, 0, process_request=double.check, max_size=None, compression=None, close_timeout=1
        )

    async def __aenter__(self) -> None:
        server = await self.serving.__aenter__()
        self.double.port = server.sockets[0].getsockname()[1]

    async def __aexit__(self, *error) -> None:
        await self.serving.__aexit__(*error)


@contextmanager
def openai_process(agent: str, suite: Path | None = None):
    """The port of a double in a process of its own, with one of this package's agents behind the wire."""
    root = Path(__file__).parents[2]
    args = [sys.executable, "-m", "tests.servers.openai_server", agent, *([str(suite)] if suite else [])]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    server = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root, env=environment)
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(timeout=10)


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes."""
    from pytest_voicebench.agents.naming import build_agent, parse_agent
    from pytest_voicebench.loading import load_suite

    tools = dict(load_suite(suite).info.tools) if suite else {}
    agent = build_agent(parse_agent(agent_text), None)
    double = Double(script=Script(), open_line=agent.connect, input_hz=agent.info.input_hz, tools=tools)
    async with listen(double):
        print(double.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
