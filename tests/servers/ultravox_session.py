"""One call of the double of Ultravox: the agent's events become states, texts, sound and calls of tools."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import numpy as np

from pytest_voicebench.agents.blocks import Blocks
from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, ToolResult, Transcript
from pytest_voicebench.audio import resample
from tests.servers.openai_script import setup_of
from tests.servers.turn_taking import TurnTaking
from tests.servers.ultravox_script import UltravoxScript, seconds

Json = Any

GRACE_S = 0.05
"""A reply is over when it was played and its agent has added nothing for so long."""


class UltravoxSession:
    """`seen` are the client's messages, `heard` its audio in order, `ignored` results that came too late."""

    def __init__(self, double, socket, transport, call_id: str, asked: dict[str, Json]) -> None:
        self.double = double
        self.script: UltravoxScript = double.script
        self.socket = socket
        self.transport = transport
        self.call_id = call_id
        self.asked = asked
        self.seen: list[dict[str, Json]] = []
        self.heard: list[np.ndarray] = []
        self.ignored: list[str] = []
        self.line: Any = None
        self.events: asyncio.Queue = asyncio.Queue()
        self.tasks: list[asyncio.Task] = []
        self.limits: dict[str, asyncio.Task] = {}
        self.names: dict[str, tuple[str, str]] = {}  # of open invocations: the agent's own id of the call, the tool
        self.results: list[ToolResult] = []
        self.turns = self.replies = self.pieces = self.ordinal = self.invocations = 0
        self.state = ""
        self.item = ""
        self.cut_items: set[str] = set()
        self.plays_until_s = 0.0
        self.late: list[str] = []
        self.late_words = ""
        self.open_text: tuple[int, str] | None = None
        medium = asked["medium"]["serverWebSocket"]
        self.input_hz = medium["inputSampleRate"]
        self.output_hz = medium.get("outputSampleRate", self.input_hz)
        self.ahead_s = medium.get("clientBufferSizeMs", 60) / 1000
        self.blocks = Blocks(self.input_hz, double.input_hz)
        # its real detection has models of its own beside the delay; by loudness alone a pause would end a turn
        delay_ms = seconds(asked.get("vadSettings", {}).get("turnEndpointDelay", "0.384s")) * 1000
        self.taking = TurnTaking(self.input_hz, max(500, delay_ms))

    async def begin(self) -> None:
        """Greet, and let the agent in."""
        if self.script.greets:
            await self.send({"type": "call_started", "callId": self.call_id})
            await self.enter("listening")
        await self.trouble(self.script.first)
        self.tasks += [asyncio.create_task(self.live()), asyncio.create_task(self.speak())]

    def stop(self) -> None:
        for task in [*self.tasks, *self.limits.values()]:
            task.cancel()

    async def live(self) -> None:
        """The agent behind the wire."""
        tools = []
        for selected in self.asked.get("selectedTools", []):
            tool = selected["temporaryTool"]
            parameters = {p["name"]: p["schema"] for p in tool["dynamicParameters"]}
            required = [p["name"] for p in tool["dynamicParameters"] if p["required"]]
            schema = {"properties": parameters, "required": required}
            tools.append({"name": tool["modelToolName"], "description": tool["description"], "parameters": schema})
        setup = setup_of({"instructions": self.asked.get("systemPrompt", ""), "tools": tools}, self.double.tools)
        async with self.double.open_line(setup) as self.line:
            async for event in self.line.receive():
                self.events.put_nowait(event)

    async def send(self, message: dict[str, Json]) -> None:
        """One message; a client that is gone misses it."""
        if self.script.unknown:
            message = message | {"mood": [1]}
        with suppress(ConnectionError):
            for _ in range(2 if self.script.twice else 1):
                await self.socket.send_str(json.dumps(message))
            if self.script.unknown:
                await self.socket.send_str(json.dumps({"type": "mood_update", "mood": [1]}))

    async def enter(self, state: str) -> None:
        """Change the state, and say so."""
        if self.state == state:
            return
        self.state = state
        if not self.script.no_states:
            await self.send({"type": "state"} if self.script.malformed else {"type": "state", "state": state})

    async def hear(self, samples: np.ndarray) -> None:
        self.heard.append(samples)
        if self.script.hums and self.state == "listening":
            await self.send_sound(bytes(2 * len(samples) * self.output_hz // self.input_hz))
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
        await self.enter("thinking")
        if self.turns == 1:
            await self.trouble(self.script.on_turn)
        if hasattr(self.line, "heard_turn"):
            self.line.heard_turn()

    async def interrupt(self) -> None:
        """The user speaks: what was sent and not yet played is dropped. While tools work, the agent is frozen."""
        if self.names:
            return
        if hasattr(self.line, "interrupted"):
            self.line.interrupted()
        await self.cut()
        await self.enter("listening")

    async def cut(self) -> None:
        if self.state == "speaking":
            self.cut_items.add(self.item)
            self.plays_until_s = 0.0
            if not self.script.no_clear:
                await self.send({"type": "playback_clear_buffer"})
            await self.finish()

    async def finish(self) -> None:
        """The reply is over."""
        self.replies += 1
        await self.end_text()
        await self.enter("listening")
        for text in self.late:
            await self.write("user", text, self.number(), final=True)
        self.late = []
        if self.replies == 1:
            await self.trouble(self.script.on_complete)

    async def speak(self) -> None:
        """Turn the agent's events into a reply, which is over when it was played and nothing more comes."""
        while True:
            try:
                event = await asyncio.wait_for(self.events.get(), GRACE_S if self.state == "speaking" else None)
            except TimeoutError:
                if self.now_s() >= self.plays_until_s:
                    await self.finish()
                continue
            if isinstance(event, AgentAudio):
                await self.say(event)
            elif isinstance(event, Transcript):
                await self.tell(event)
            elif isinstance(event, ToolCall):
                await self.call(event)
            elif isinstance(event, PlaybackClear):
                await self.interrupt()

    async def tell(self, event: Transcript) -> None:
        if event.speaker == "user" and self.script.late_transcript:
            self.late.append(event.text)
        elif event.speaker == "user":
            await self.write("user", event.text, self.number(), final=True)
        elif self.script.text_first:
            await self.enter("speaking")
            await self.begin_text(event.text)
        else:
            self.late_words = event.text

    async def begin_text(self, text: str) -> None:
        """What the agent says, in two pieces; the whole of it comes when it was said."""
        await self.end_text()
        half, whole = len(text) // 2, self.script.whole_texts
        self.open_text = self.number(), text
        await self.write("agent", text[:half], self.open_text[0], delta=not whole)
        await self.write("agent", text if whole else text[half:], self.open_text[0], delta=not whole)

    async def end_text(self) -> None:
        if self.open_text:
            ordinal, text = self.open_text
            await self.write("agent", text, ordinal, final=True)
        self.open_text = None

    def number(self) -> int:
        self.ordinal += 1
        return self.ordinal

    async def write(self, role: str, text: str, ordinal: int, *, delta: bool = False, final: bool = False) -> None:
        """One message about the text of that number."""
        message: dict[str, Json] = {"type": "transcript", "role": role, "medium": "voice", "final": final}
        if not self.script.unnumbered:
            message["ordinal"] = ordinal
        await self.send(message | ({"text": None, "delta": text} if delta else {"text": text, "delta": None}))

    async def say(self, event: AgentAudio) -> None:
        """The pieces of a chunk, as far ahead of real time as the client takes them; the user may cut in between."""
        self.item = event.item_id
        data = resample(event.audio, self.output_hz).samples.astype("<i2").tobytes()
        step, shift = round(self.script.piece_s * self.output_hz) * 2, 1 if self.script.odd else 0
        await self.enter("speaking")
        for start in range(0, len(data), step):
            await self.room()
            if event.item_id in self.cut_items:
                return
            last = start + step >= len(data)
            piece = data[max(0, start - shift) : None if last else start + step - shift]
            self.plays_until_s = max(self.now_s(), self.plays_until_s) + len(piece) / 2 / self.output_hz
            await self.send_sound(piece)
            self.pieces += 1
            if self.pieces == 2:
                await self.trouble(self.script.on_audio)
        if not self.script.text_first:
            await self.begin_text(self.late_words)

    async def room(self) -> None:
        """Wait until the client's buffer takes more; it may be full to the last piece."""
        await asyncio.sleep(max(0.0, self.plays_until_s - self.now_s() - self.ahead_s))

    async def send_sound(self, piece: bytes) -> None:
        with suppress(ConnectionError):
            await self.socket.send_bytes(piece)

    @staticmethod
    def now_s() -> float:
        return asyncio.get_running_loop().time()

    async def call(self, event: ToolCall) -> None:
        """A call comes after what was said before it; the agent is frozen until it is answered, or its time is up."""
        if self.state == "speaking":
            await asyncio.sleep(max(0.0, self.plays_until_s - self.now_s()))
        await self.end_text()
        await self.enter("thinking")
        self.invocations += 1
        invocation = "same" if self.script.same_call_id else f"invocation-{self.invocations}"
        self.names[invocation] = (event.call_id, event.name)
        arguments = event.arguments if isinstance(event.arguments, dict) else _read(event.arguments)
        message = {"type": "client_tool_invocation", "toolName": event.name, "invocationId": invocation}
        await self.send(message if self.script.malformed else message | {"parameters": arguments})
        self.limits[invocation] = asyncio.create_task(self.give_up(invocation, event.name))

    async def give_up(self, invocation: str, name: str) -> None:
        """When a tool has had its time, the agent is told so, and goes on."""
        tools = [selected["temporaryTool"] for selected in self.asked.get("selectedTools", [])]
        limit = next((t.get("timeout", "2.5s") for t in tools if t["modelToolName"] == name), "2.5s")
        await asyncio.sleep(seconds(limit))
        await self.resolve(invocation, {"error": "the tool timed out"})

    async def take(self, message: dict[str, Json]) -> None:
        if message["type"] == "client_tool_result":
            await self.resolve(message["invocationId"], message.get("result", ""))
        elif message["type"] == "hang_up":
            await self.socket.close()
        elif message["type"] == "ping":
            await self.send({"type": "pong", "timestamp": message["timestamp"]})
        elif message["type"] == "user_text_message":
            told = {"type": "transcript", "role": "user", "medium": "text", "text": message["text"], "final": True}
            await self.send(told | {"ordinal": self.number()})

    async def resolve(self, invocation: str, result: Json) -> None:
        """One call has its result; the agent goes on when all of them have."""
        call_id, name = self.names.pop(invocation, ("", ""))
        if not name:
            self.ignored.append(invocation)
            return
        if (limit := self.limits.pop(invocation, None)) and limit is not asyncio.current_task():
            limit.cancel()
        value = _read(result) if isinstance(result, str) else result
        self.results.append(ToolResult(call_id=call_id, name=name, result=value))
        if not self.names:
            results, self.results = self.results, []
            await self.line.answer(results)

    async def trouble(self, what) -> None:
        """Faults, see UltravoxScript."""
        for act in what:
            if act == "drop":
                self.transport.abort()
            elif act == "end":
                await self.send({"type": "call_ended"})
            elif "close" in act:
                await self.socket.close(code=act["close"], message=act.get("reason", "").encode())
            elif "raw" in act:
                await self.socket.send_str(act["raw"])
            elif "binary" in act:
                await self.socket.send_bytes(act["binary"])
            else:
                await self.send(act["event"])


def _read(text: str) -> Json:
    """JSON where it is, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
