"""One session of the double of Gemini Live: it outlives its sockets; the agent's events become turns."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents.blocks import Blocks
from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, ToolResult, Transcript
from pytest_voicebench.audio import RATE_HZ, resample
from tests.servers.gemini_script import GeminiScript, snake
from tests.servers.openai_script import setup_of
from tests.servers.turn_taking import TurnTaking

Json = Any

INPUT_HZ = 16_000
GRACE_S = 0.03
"""A turn's generation is complete when its agent has added nothing for so long."""

THINKING_S = 1.0
"""An agent that has its results is given so long to go on."""


class GeminiSession:
    """What is kept between sockets. `seen` are the client's messages but audio; `heard` is the audio, in order."""

    def __init__(self, double, setup: dict[str, Json]) -> None:
        self.double = double
        self.script: GeminiScript = double.script
        self.setup = setup
        self.seen: list[dict[str, Json]] = []
        self.heard: list[np.ndarray] = []
        self.by_socket: list[int] = []  # blocks of audio
        self.socket: Any = None
        self.line: Any = None
        self.events: asyncio.Queue = asyncio.Queue()
        self.open_calls: dict[str, str] = {}
        self.handles: list[str] = []
        self.tasks: list[asyncio.Task] = []
        self.turns = self.completed = self.pieces = self.calls = 0
        self.speaking = False  # the agent's turn has begun and is not complete
        self.generated = False
        self.plays_until_s = 0.0
        self.thinks_until_s = 0.0  # about the results of its calls
        self.late: list[str] = []
        self.item = self.words = ""
        self.cut_items: set[str] = set()
        self.blocks = Blocks(INPUT_HZ, double.input_hz)
        detection = setup.get("realtimeInputConfig", {}).get("automaticActivityDetection", {})
        self.taking = TurnTaking(INPUT_HZ, detection.get("silenceDurationMs", 500))
        self.told_leaving = False

    def start(self) -> None:
        self.tasks = [asyncio.create_task(self.live()), asyncio.create_task(self.speak())]

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def live(self) -> None:
        """The agent behind the wire."""
        declared = [d for t in self.setup.get("tools", []) for d in t.get("functionDeclarations", [])]
        tools = [d | {"parameters": d.get("parametersJsonSchema") or d.get("parameters")} for d in declared]
        told = "".join(p.get("text", "") for p in self.setup.get("systemInstruction", {}).get("parts", []))
        setup = setup_of({"instructions": told, "tools": tools}, self.double.tools)
        async with self.double.open_line(setup) as self.line:
            async for event in self.line.receive():
                self.events.put_nowait(event)

    async def send(self, message: dict[str, Json], **more: Json) -> None:
        """One message to the socket of the moment; a client that is gone misses it."""
        event = message | more
        if self.script.unknown:
            event |= {"moodUpdate": {"mood": [1]}}
        text = json.dumps(snake(event) if self.script.snake else event)
        try:
            await self.socket.send(text if self.script.text_frames else text.encode())
        except ConnectionClosed:
            return

    async def content(self, **fields: Json) -> None:
        await self.send({"serverContent": fields})

    async def give_handle(self, resumable: bool) -> None:
        """Where it was asked for: what a client may resume from, or that it may not now."""
        if "sessionResumption" not in self.setup or not self.script.gives_handles:
            return
        update: dict[str, Json] = {"resumable": resumable}
        if resumable:
            self.handles.append(f"handle-{len(self.handles) + 1}")
            update["newHandle"] = self.handles[-1]
            self.double.resumable[self.handles[-1]] = self
        await self.send({"sessionResumptionUpdate": update})

    async def hear(self, samples: np.ndarray) -> None:
        self.heard.append(samples)
        self.by_socket[-1] += 1
        at_s = sum(map(len, self.heard)) / INPUT_HZ
        if self.script.on_quiet_s is not None and at_s >= self.script.on_quiet_s and not self.told_leaving:
            self.told_leaving = True
            leaves_s = self.script.go_away_s if self.script.leaves_s is None else self.script.leaves_s
            await self.trouble([{"go_away": self.script.go_away_s, "leaves": leaves_s}])
        change = self.taking.hear(samples)
        if self.script.activity and change:
            kind = "ACTIVITY_START" if change == "started" else "ACTIVITY_END"
            await self.send({"voiceActivity": {"voiceActivityType": kind, "audioOffset": f"{at_s:.3f}s"}})
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
        await self.give_handle(True)
        if self.turns == 1:
            await self.trouble(self.script.on_turn)
        if hasattr(self.line, "heard_turn"):
            self.line.heard_turn()

    async def interrupt(self) -> None:
        """The user speaks: calls that block are taken back, and a turn that is not complete is cut."""
        if hasattr(self.line, "interrupted"):
            self.line.interrupted()
        if self.open_calls and self.blocking():
            ids = list(self.open_calls)
            self.open_calls.clear()
            await self.send({"toolCallCancellation": {"ids": ids}})
        await self.cut()

    async def cut(self) -> None:
        """What is being said is not said to its end; nor is it where content of the client comes into it."""
        if self.speaking:
            self.cut_items.add(self.item)
            await self.content(interrupted=True)
            await self.complete()

    def blocking(self) -> bool:
        declared = [d for t in self.setup.get("tools", []) for d in t.get("functionDeclarations", [])]
        default = "NON_BLOCKING" if "3.8" in self.setup.get("model", "") else "BLOCKING"
        return all(d.get("behavior", default) == "BLOCKING" for d in declared)

    async def complete(self) -> None:
        self.speaking = self.generated = False
        self.completed += 1
        usage = {
            "promptTokenCount": 100,
            "responseTokenCount": 20,
            "totalTokenCount": 120,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 60}, {"modality": "AUDIO", "tokenCount": 40}],
            "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
        }
        done = {"turnComplete": True, "interactionStatus": "IDLE"}
        await self.send({"serverContent": done}, usageMetadata=usage)
        for text in self.late:
            await self.content(inputTranscription={"text": text})
        self.late = []
        await self.give_handle(True)
        if self.completed == 1:
            await self.trouble(self.script.on_complete)

    async def speak(self) -> None:
        """Turn the agent's events into turns: one is complete when it was played, nothing comes, no call is open."""
        while True:
            try:
                event = await asyncio.wait_for(self.events.get(), GRACE_S if self.speaking else None)
            except TimeoutError:
                await self.pause()
                continue
            self.thinks_until_s = 0.0
            if isinstance(event, AgentAudio):
                await self.say(event)
            elif isinstance(event, Transcript):
                await self.tell(event)
            elif isinstance(event, ToolCall):
                await self.call(event)
            elif isinstance(event, PlaybackClear):
                await self.interrupt()

    async def pause(self) -> None:
        """Nothing more comes for now; the server takes it that its sound is played in real time."""
        now_s = asyncio.get_running_loop().time()
        if self.open_calls or now_s < self.thinks_until_s:
            return
        if not self.generated:
            self.generated = True
            await self.content(generationComplete=True)
        if now_s >= self.plays_until_s:
            await self.complete()

    async def begin(self) -> None:
        if not self.speaking:
            self.speaking = True
            await self.give_handle(False)
        self.generated = False

    async def tell(self, event: Transcript) -> None:
        if event.speaker == "user":
            if self.script.late_transcript:
                self.late.append(event.text)
            elif "inputAudioTranscription" in self.setup:
                half = len(event.text) // 2
                await self.content(inputTranscription={"text": event.text[:half]})
                await self.content(inputTranscription={"text": event.text[half:]})
            return
        self.words = event.text
        if not self.script.joined and "outputAudioTranscription" in self.setup:
            await self.begin()
            await self.content(outputTranscription={"text": event.text})

    async def say(self, event: AgentAudio) -> None:
        """The pieces of a chunk, each when its time has come; the user may cut in between them."""
        self.item = event.item_id
        data = resample(event.audio, RATE_HZ).samples.astype("<i2").tobytes()
        step, shift = round(self.script.piece_s * RATE_HZ) * 2, 1 if self.script.odd else 0
        now_s = asyncio.get_running_loop().time
        for start in range(0, len(data), step):
            if event.item_id in self.cut_items:
                return
            last = start + step >= len(data)
            piece = data[max(0, start - shift) : None if last else start + step - shift]
            await self.begin()
            self.plays_until_s = max(now_s(), self.plays_until_s) + len(piece) / 2 / RATE_HZ
            await self.content(**self.turn_of(piece, first=start == 0))
            self.pieces += 1
            if self.pieces == 2:
                await self.trouble(self.script.on_audio)
            await asyncio.sleep(self.script.pace * len(piece) / 2 / RATE_HZ)

    def turn_of(self, piece: bytes, *, first: bool) -> dict[str, Json]:
        coded = base64.b64encode(piece) if self.script.plain_base64 else base64.urlsafe_b64encode(piece)
        data = "*" if self.script.malformed else coded.decode()
        part = {"inlineData": {"mimeType": f"audio/pcm;rate={RATE_HZ}", "data": data}}
        found: dict[str, Json] = {"modelTurn": {"parts": [{"text": "I think.", "thought": True}, part]}}
        if self.script.joined and first:
            found["outputTranscription"] = {"text": self.words}
        return found

    async def call(self, event: ToolCall) -> None:
        """Neighbouring calls are made in one message."""
        await asyncio.sleep(GRACE_S)
        calls, kept = [event], []
        while not self.events.empty():
            other = self.events.get_nowait()
            (calls if isinstance(other, ToolCall) else kept).append(other)
        for other in kept:
            self.events.put_nowait(other)
        await self.begin()
        made = []
        for call in calls:
            args = call.arguments if isinstance(call.arguments, dict) else json.loads(call.arguments)
            made.append({"id": call.call_id, "name": call.name, "args": args})
            self.open_calls["another" if self.script.wrong_id else call.call_id] = call.name
        self.calls += 1
        await self.send({"toolCall": {"functionCalls": made}})
        if self.script.cancels_first_call and self.calls == 1:
            self.open_calls.clear()
            await self.send({"toolCallCancellation": {"ids": [call["id"] for call in made]}})

    async def take_results(self, responses: list[dict[str, Json]]) -> str | None:
        """Hand results over; gives what is wrong with them."""
        results = []
        for response in responses:
            name = self.open_calls.pop(response.get("id", ""), None)
            if name is None:
                return f"Function call {response.get('id')} is not found in the function calls."
            if not isinstance(response.get("response"), dict):
                return "Invalid value at 'tool_response.function_responses[0].response'."
            results.append(ToolResult(call_id=response["id"], name=name, result=response["response"]))
        self.thinks_until_s = asyncio.get_running_loop().time() + THINKING_S
        await self.line.answer(results)
        return None

    async def trouble(self, what) -> None:
        """Faults, see GeminiScript."""
        for act in what:
            if act == "drop":
                self.socket.transport.abort()
            elif "close" in act:
                await self.socket.close(act["close"], act.get("reason", ""))
            elif "raw" in act:
                await self.socket.send(act["raw"])
            elif "binary" in act:
                await self.socket.send(act["binary"])
            elif "go_away" in act:
                self.tasks.append(asyncio.create_task(self.leave(self.socket, act.get("leaves", act["go_away"]))))
                await self.send({"goAway": {"timeLeft": f"{act['go_away']}s"}})
            else:
                await self.send(act["event"])

    async def leave(self, socket, after_s: float) -> None:
        """Close a socket, as announced."""
        await asyncio.sleep(after_s)
        await socket.close(1001, "going away")
