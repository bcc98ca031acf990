"""A double of Moshi's server on 127.0.0.1: a handshake, then a frame of sound for every frame; and its faults.

`moshi_server(...)` runs it in a thread, `listen(MoshiDouble(...))` in the loop it is called from.
`python -m tests.servers.moshi_server AGENT [SUITE.yaml]` runs it in a process of its own with one of this package's
agents behind the wire, as the double of OpenAI's Realtime API does.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sphn
from aiohttp import WSMsgType, web

from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio, StreamResampler, resample
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import recite, setup_of
from tests.servers.running import agent_behind, until_input_closes
from tests.servers.turn_taking import TurnTaking

Json = Any

FRAME = 1920
SILENCE_MS = 500


@dataclass(frozen=True, kw_only=True)
class MoshiScript:
    """One way of behaving. As it stands, the double does everything right.

    Faults are lists of acts: "drop", {"close": code, "reason": ""}, {"raw": text}, {"binary": bytes}.
    """

    status: int | None = None
    greets: bool = True
    greeting: bytes = b"\0"  # the server in Rust adds versions
    first: Sequence[Json] = ()  # right after the handshake
    on_audio: Sequence[Json] = ()  # in the middle of the agent's speech
    on_turn: Sequence[Json] = ()  # when the user's first turn ends
    noise: float = 6.0  # of the agent's silence, full scale is 32767
    padding: bool = False  # tokens that stand for no word, and kinds of frames that are not used
    stops: bool = False  # the model gives no more frames after the user's first turn


@dataclass
class MoshiDouble:
    """A running double. `sessions` are its conversations in order, `queries` what came with them."""

    script: MoshiScript
    open_line: Any
    input_hz: int = RATE_HZ
    tools: dict[str, Any] = field(default_factory=dict)
    sessions: list[MoshiSession] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    port: int = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/api/chat"

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.queries.append(dict(request.query))
        if self.script.status:
            return web.json_response({"error": {"message": "Not now."}}, status=self.script.status)
        socket = web.WebSocketResponse(max_msg_size=0, compress=False, timeout=1)
        await socket.prepare(request)
        async with self.one_at_a_time:
            session = MoshiSession(self, socket, request.transport, request.query.get("text_prompt", ""))
            self.sessions.append(session)
            try:
                await session.run()
            finally:
                session.stop()
        return socket


class MoshiSession:
    """One conversation: what its agent says waits, and leaves a frame at a time, when the user's next frame comes."""

    def __init__(self, double: MoshiDouble, socket, transport, instructions: str) -> None:
        self.double = double
        self.script = double.script
        self.socket = socket
        self.transport = transport
        self.instructions = instructions
        self.heard: list[np.ndarray] = []
        self.line: Any = None
        self.tasks: list[asyncio.Task] = []
        self.waiting = np.zeros(0, np.int16)  # of the user, less than a frame
        self.to_say = np.zeros(0, np.int16)
        self.words: list[str] = []
        self.reader, self.writer = sphn.OpusStreamReader(RATE_HZ), sphn.OpusStreamWriter(RATE_HZ)
        self.random = np.random.default_rng(5)
        self.taking = TurnTaking(RATE_HZ, SILENCE_MS)
        self.resampler = StreamResampler(RATE_HZ, double.input_hz)
        self.unheard = np.zeros(0, np.int16)
        self.turns = self.frames = self.spoken = 0

    async def run(self) -> None:
        if self.script.greets:
            await self.socket.send_bytes(self.script.greeting)
        await self.trouble(self.script.first)
        self.tasks.append(asyncio.create_task(self.live()))
        async for message in self.socket:
            if message.type == WSMsgType.BINARY and message.data[:1] == b"\1":
                samples = np.round(self.reader.append_bytes(message.data[1:]) * 32767).astype(np.int16)
                self.waiting = np.concatenate([self.waiting, samples])
            while len(self.waiting) >= FRAME:
                frame, self.waiting = self.waiting[:FRAME], self.waiting[FRAME:]
                await self.step(frame)

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def live(self) -> None:
        """The agent behind the wire, which gets no tools."""
        setup = setup_of({"instructions": self.instructions, "tools": []}, self.double.tools)
        async with self.double.open_line(setup) as self.line:
            async for event in self.line.receive():
                if isinstance(event, AgentAudio):
                    self.to_say = np.concatenate([self.to_say, resample(event.audio, RATE_HZ).samples])
                elif isinstance(event, Transcript) and event.speaker == "agent":
                    self.words += [f" {word}" for word in event.text.split()]
                elif isinstance(event, PlaybackClear):
                    self.hush()

    def hush(self) -> None:
        self.to_say, self.words = np.zeros(0, np.int16), []

    async def step(self, frame: np.ndarray) -> None:
        """One frame in, one frame out."""
        self.heard.append(frame)
        change = self.taking.hear(frame)
        if change == "started":
            if hasattr(self.line, "interrupted"):
                self.line.interrupted()
            self.hush()
        elif change == "ended":
            self.turns += 1
            if self.turns == 1:
                await self.trouble(self.script.on_turn)
            if hasattr(self.line, "heard_turn"):
                self.line.heard_turn()
        await self.pass_on(frame)
        if not (self.script.stops and self.turns):
            await self.speak()

    async def pass_on(self, samples: np.ndarray) -> None:
        if self.line is None:
            return
        size = self.double.input_hz // 50
        self.unheard = np.concatenate([self.unheard, self.resampler.feed(samples)])
        while len(self.unheard) >= size:
            block, self.unheard = self.unheard[:size], self.unheard[size:]
            await self.line.send(Audio(samples=block, rate_hz=self.double.input_hz))

    async def speak(self) -> None:
        """The next frame of the agent's voice, or of its silence; a word of its text beside it."""
        voice, self.to_say = self.to_say[:FRAME], self.to_say[FRAME:]
        sound = self.random.normal(0.0, self.script.noise, FRAME)
        sound[: len(voice)] += voice
        self.frames += 1
        piece = self.writer.append_pcm((sound / 32768.0).astype(np.float32))
        await self.send(b"\1" + piece)
        if self.words:
            await self.send(b"\2" + self.words.pop(0).encode())
        if self.script.padding:
            for other in (b"", b"\2\0", b"\2\3", b"\3\1", b'\4{"a": 1}', b"\6", b"\x63what"):
                await self.send(other)
        self.spoken += len(voice) > 0
        if self.spoken == 3 and len(voice):
            await self.trouble(self.script.on_audio)

    async def send(self, frame: bytes) -> None:
        with suppress(ConnectionError):
            await self.socket.send_bytes(frame)

    async def trouble(self, what) -> None:
        """Faults, see MoshiScript."""
        for act in what:
            if act == "drop":
                self.transport.abort()
            elif "close" in act:
                await self.socket.close(code=act["close"], message=act.get("reason", "").encode())
            elif "raw" in act:
                await self.socket.send_str(act["raw"])
            else:
                await self.send(act["binary"])


@asynccontextmanager
async def listen(double: MoshiDouble):
    """Serve a double on an ephemeral port of the loopback interface."""
    app = web.Application()
    app.add_routes([web.get("/api/chat", double.chat)])
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.2, access_log=None, max_line_size=65_536)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    double.port = runner.addresses[0][1]
    try:
        yield
    finally:
        for session in double.sessions:
            session.stop()
        await runner.cleanup()


@contextmanager
def moshi_server(script: MoshiScript | None = None, open_line=None, **more):
    """A double in a thread, until the block ends."""
    double = MoshiDouble(script=script or MoshiScript(), open_line=open_line or recite(), **more)
    with in_thread(listen(double)):
        yield double


async def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes."""
    double = MoshiDouble(script=MoshiScript(), **agent_behind(agent_text, suite))
    await until_input_closes(double, listen(double))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None))
