"""One call at the double of a phone agent: what it hears and says, its marks, its tools, and its faults."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import aiohttp
import numpy as np

from pytest_voicebench.agents.blocks import Blocks
from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, ToolResult
from pytest_voicebench.agents.twilio.mulaw import RATE_HZ, decode_mulaw, encode_mulaw
from pytest_voicebench.audio import resample
from tests.servers.openai_script import setup_of
from tests.servers.turn_taking import TurnTaking

Json = Any

SILENCE_MS = 500


@dataclass(frozen=True, kw_only=True)
class Names:
    """What a service calls things."""

    number: str
    stream: str
    parameters: str
    connected: dict[str, Json]


NAMES = {
    "twilio": Names(
        number="sequenceNumber",
        stream="streamSid",
        parameters="customParameters",
        connected={"event": "connected", "protocol": "Call", "version": "1.0.0"},
    ),
    "telnyx": Names(
        number="sequence_number",
        stream="stream_id",
        parameters="custom_parameters",
        connected={"event": "connected", "version": "1.0.0"},
    ),
}


class PhoneSession:
    """Hears 8 kHz mu-law and answers in it. `flaws` are the ways in which the client did not behave as Twilio does."""

    def __init__(self, double, socket) -> None:
        self.double, self.script, self.socket = double, double.script, socket
        self.headers = dict(socket.request.headers.raw_items())
        self.kinds: Counter[str] = Counter()
        self.names = NAMES[self.script.dialect]
        self.start: dict[str, Json] = {}
        self.stream = ""
        self.flaws: list[str] = []
        self.number = self.chunk = self.heard_samples = 0
        self.stopped: dict[str, Json] | None = None
        self.waiting: Counter[str] = Counter()  # marks that have not come back
        self.echoes: list[tuple[str, float]] = []  # marks that came back, and how much of the user was heard by then
        self.sent_marks: list[tuple[str, float]] = []  # marks, and the seconds of sound sent before each
        self.sent_s = 0.0
        self.clears = self.turns = self.pieces = 0
        self.sizes = cycle(self.script.sizes)
        self.taking = TurnTaking(rate_hz=RATE_HZ, silence_ms=SILENCE_MS)
        self.blocks = Blocks(RATE_HZ, double.input_hz)
        self.line: Any = None
        self.tools_url = ""
        self.results: list[tuple[str, int, Json]] = []  # of tools: name, status, body
        self.saying: asyncio.Event = asyncio.Event()  # set when what is being said must stop
        self.cut_items: set[str] = set()
        self.tasks: list[asyncio.Task] = []

    async def run(self) -> None:
        try:
            async for frame in self.socket:
                await self.take(json.loads(frame))
        finally:
            for task in self.tasks:
                task.cancel()

    async def take(self, event: dict[str, Json]) -> None:
        kind = event["event"]
        self.kinds[kind] += 1
        if kind == "connected":
            self.expect(not self.start and event == self.names.connected, kind)
            return
        self.number += 1
        self.expect(event.pop(self.names.number, None) == str(self.number), f"number of {kind} {self.number}")
        if kind == "start":
            await self.begin(event)
            return
        self.expect(bool(self.start), f"{kind} before start")
        self.expect(event.pop(self.names.stream, None) == self.stream, f"stream of {kind}")
        self.expect(set(event) == {"event", kind} and self.stopped is None, f"fields or place of {kind}")
        if kind == "media":
            await self.hear(event["media"])
        elif kind == "mark":
            self.take_mark(event["mark"]["name"])
        elif kind == "stop":
            self.stopped = event["stop"]
        else:
            self.flaws.append(f"unknown event {kind}")

    def expect(self, true: bool, what: str) -> None:
        if not true:
            self.flaws.append(what)

    async def begin(self, event: dict[str, Json]) -> None:
        self.start, self.stream = event["start"], event[self.names.stream]
        self.expect(self.start.get("streamSid", self.stream) == self.stream, "streamSid of start")
        self.expect(self.kinds["connected"] == 1, "start before connected")
        self.tasks.append(asyncio.create_task(self.live()))

    async def live(self) -> None:
        """The agent behind the wire."""
        self.tools_url = self.start[self.names.parameters].get("tools_url", "")
        async with aiohttp.ClientSession() as self.http, self.double.open_line(await self.told()) as self.line:
            async for event in self.line.receive():
                if isinstance(event, AgentAudio):
                    await self.say(event)
                elif isinstance(event, ToolCall):
                    self.tasks.append(asyncio.create_task(self.call(event)))
                elif isinstance(event, PlaybackClear):
                    await self.clear()

    async def told(self):
        """What the tools' address tells an agent: its instructions, the day, its tools."""
        if not self.tools_url:
            return setup_of({}, {})
        async with self.http.get(f"{self.tools_url}/instructions") as instructions:
            text = await instructions.text()
        async with self.http.get(f"{self.tools_url}/tools") as tools:
            return setup_of({"instructions": text, "tools": await tools.json()}, self.double.tools)

    async def call(self, event: ToolCall) -> None:
        """A tool, by HTTP; one without an address fails."""
        text = event.arguments if isinstance(event.arguments, str) else json.dumps(event.arguments)
        result, status = {"error": "no tools_url"}, 0
        if self.tools_url:
            async with self.http.post(f"{self.tools_url}/tools/{event.name}", data=text.encode()) as answer:
                result, status = await answer.json(), answer.status
        self.results.append((event.name, status, result))
        told = ToolResult(call_id=event.call_id, name=event.name, result=result, is_error=status != 200)
        await self.line.answer([told])

    async def hear(self, media: dict[str, Json]) -> None:
        self.chunk += 1
        start_ms = self.heard_samples * 1000 // RATE_HZ
        told = (media["track"], media["chunk"], media["timestamp"])
        self.expect(told == ("inbound", str(self.chunk), str(start_ms)), f"track, chunk or timestamp of {self.chunk}")
        encoded = base64.b64decode(media["payload"], validate=True)
        self.expect(len(encoded) == 160, f"{len(encoded)} bytes in chunk {self.chunk}")
        self.heard_samples += len(encoded)
        samples = decode_mulaw(encoded)
        change = self.taking.hear(samples)
        if change == "started":
            await self.interrupt()
        elif change == "ended":
            await self.end_turn()
        await self.pass_on(samples)

    async def pass_on(self, samples: np.ndarray) -> None:
        if self.line is None:
            return
        for block in self.blocks.of(samples):
            await self.line.send(block)

    async def end_turn(self) -> None:
        self.turns += 1
        if self.turns == 1:
            await self.trouble(self.script.on_turn)
        if hasattr(self.line, "heard_turn"):
            self.line.heard_turn()

    async def interrupt(self) -> None:
        """The user speaks: a recited agent stops; whether something is to be heard still is known by its marks."""
        if not hasattr(self.line, "interrupted"):
            return
        self.line.interrupted()
        if self.waiting:
            await self.clear()

    async def clear(self) -> None:
        self.clears += 1
        self.saying.set()
        await self.send("clear")

    def take_mark(self, name: str) -> None:
        self.expect(self.waiting[name] > 0, f"mark {name!r} came back and was not sent")
        self.waiting -= Counter([name])
        self.echoes.append((name, self.heard_samples / RATE_HZ))

    async def say(self, event: AgentAudio) -> None:
        """Sound in messages of the script's sizes, faster than it is heard."""
        self.saying.clear()
        rest = encode_mulaw(resample(event.audio, RATE_HZ).samples)
        while rest and not self.saying.is_set():
            size = next(self.sizes)
            piece, rest = rest[:size], rest[size:]
            await self.send("media", {"payload": base64.b64encode(piece).decode()})
            self.sent_s += len(piece) / RATE_HZ
            self.pieces += 1
            if self.pieces == 2:
                await self.trouble(self.script.on_audio)
            if self.script.marks == "each":
                await self.mark()
            await asyncio.sleep(self.script.pace * len(piece) / RATE_HZ)
        if self.script.marks == "reply":
            await self.mark()

    async def mark(self) -> None:
        name = self.script.mark_name.format(n=len(self.sent_marks) + 1)
        self.sent_marks.append((name, self.sent_s))
        self.waiting[name] += 1
        await self.send("mark", {"name": name})

    async def send(self, kind: str, told: Json = None) -> None:
        place = {self.names.stream: "MZ" + 32 * "9" if self.script.wrong_stream else self.stream}
        await self.socket.send(json.dumps({"event": kind, **place} | ({kind: told} if told else {})))
        if self.script.unknown:
            await self.socket.send(json.dumps({"event": "mood", **place, "mood": {"x": [1]}}))

    async def trouble(self, what) -> None:
        """Faults: "drop", {"close": code}, {"raw": text}, {"binary": n}, {"huge": n}, {"event": {}} with the
        stream's id. In a reason, `tools_url` stands for that address.
        """
        for act in what:
            if act == "drop":
                self.socket.transport.abort()
            elif "close" in act:
                await self.socket.close(act["close"], act.get("reason", "").replace("tools_url", self.tools_url))
            elif "raw" in act:
                await self.socket.send(act["raw"])
            elif "binary" in act:
                await self.socket.send(bytes(act["binary"]))
            elif "huge" in act:
                await self.socket.send(json.dumps({"event": "x", "text": "a" * act["huge"]}))
            else:
                await self.socket.send(json.dumps({self.names.stream: self.stream, **act["event"]}))
