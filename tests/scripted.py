"""An agent that sends given events at given times, blind to what it hears; and notes what it is told."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, Ready
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import AgentInfo

CLOSE = object()
"""In a script: the agent closes the line."""


def sound(seconds: float, item_id: str = "item", rate_hz: int = RATE_HZ, value: int = 3000) -> AgentAudio:
    """Constant sound: audible to the live listener, no speech to a detector."""
    return AgentAudio(
        item_id=item_id, audio=Audio(samples=np.full(round(seconds * rate_hz), value, np.int16), rate_hz=rate_hz)
    )


@dataclass
class Scripted:
    """`script` holds (seconds, event) in order of time; an exception in place of an event is raised."""

    script: list
    input_hz: int = RATE_HZ
    ready: bool = True
    clock: str = "virtual"
    raises: dict = field(default_factory=dict)
    sent: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    cuts: list = field(default_factory=list)
    injected: list = field(default_factory=list)
    closed: bool = False

    @property
    def info(self):
        return AgentInfo(name="scripted", clock=self.clock, input_hz=self.input_hz)

    @asynccontextmanager
    async def connect(self, setup):
        if "connect" in self.raises:
            raise self.raises["connect"]
        self.setup = setup
        try:
            yield ScriptedLine(self)
        finally:
            self.closed = True
            if "close" in self.raises:
                raise self.raises["close"]


class ScriptedLine:
    def __init__(self, agent: Scripted) -> None:
        self.agent = agent
        self.start = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    async def send(self, audio):
        if "send" in self.agent.raises:
            raise self.agent.raises["send"]
        if not self.agent.sent:
            self.zero = self.loop.time()
            self.start.set()
        self.agent.sent.append(audio)

    async def receive(self):
        if self.agent.ready:
            yield Ready()
        early = [e for at, e in self.agent.script if at < 0]
        for event in early:
            if event is CLOSE:
                return
            yield event
        await self.start.wait()
        for at, event in self.agent.script[len(early) :]:
            await asyncio.sleep(max(0, self.zero + at - self.loop.time()))
            if event is CLOSE:
                return
            if isinstance(event, BaseException):
                raise event
            yield event
        await asyncio.sleep(10_000)

    async def answer(self, results):
        self.agent.answers.append((self.loop.time() - self.zero, list(results)))

    async def played(self, item_id, seconds):
        self.agent.cuts.append((item_id, seconds))

    async def inject(self, text):
        if "inject" in self.agent.raises:
            raise self.agent.raises["inject"]
        self.agent.injected.append((self.loop.time() - self.zero, text))
