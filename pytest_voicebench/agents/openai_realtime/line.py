"""An open session: blocks go out as base64, server events come back as ours."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from pytest_voicebench.agents.audio_frame import AUDIO, AudioFrame
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult
from pytest_voicebench.agents.wire import Wire, WireBroken
from pytest_voicebench.audio import Audio

APPEND = AudioFrame({"type": "input_audio_buffer.append", "audio": AUDIO})

Event = dict[str, Any]


class State(Protocol):
    """What a session is in the middle of; it does no I/O."""

    def take(self, event: Event) -> Sequence[AgentEvent]:
        """What a server event means."""

    def take_outgoing(self) -> Sequence[Mapping[str, Any]]:
        """What is to be sent now, in order; each is given once."""

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Take all results of one response."""

    def cut(self, item_id: str, seconds: float) -> None:
        """No more of an item was heard than this."""

    def inject(self, text: str) -> None:
        """Put a text into the context. Raises Unsupported."""


class RealtimeLine:
    """Sends what the state wants sent; decides nothing itself.

    `first` are remarks on the session; `frame` is what carries a block of the user's sound.
    """

    def __init__(self, wire: Wire, state: State, first: Sequence[Fault] = (), frame: AudioFrame = APPEND) -> None:
        self._wire = wire
        self._state = state
        self._first = first
        self._frame = frame
        self.closing_usage: dict[str, float] = {}
        """What the server counted only while the line was closed."""

    @property
    def arrived_s(self) -> float | None:
        """When what the latest event is made of arrived."""
        return self._wire.arrived_s

    async def send(self, audio: Audio) -> None:
        """One block, at the rate that the session was asked for."""
        await self._wire.send_audio(self._frame, pcm_text(audio))

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the server hangs up. A line that breaks, and an error that ends a session, is a Fault."""
        yield Ready()
        for remark in self._first:
            yield remark
        try:
            async for raw in self._wire.receive():
                for event in self._state.take(raw):
                    yield self._scrubbed(event) if isinstance(event, Fault) else event
                await self._flush()
        except WireBroken as broken:
            yield Fault(kind="infrastructure", message=str(broken))

    def _scrubbed(self, fault: Fault) -> Fault:
        return Fault(kind=fault.kind, message=self._wire.scrubbed(fault.message))

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Results of one response, then one request to go on: at once, or when the active response is over."""
        self._state.answer(results)
        await self._flush()

    async def played(self, item_id: str, seconds: float) -> None:
        """The server forgets what was not heard of an item."""
        self._state.cut(item_id, seconds)
        await self._flush()

    async def inject(self, text: str) -> None:
        """A system message in the conversation; nothing is asked for."""
        self._state.inject(text)
        await self._flush()

    async def _flush(self) -> None:
        for event in self._state.take_outgoing():
            await self._wire.send(event)


def pcm_text(audio: Audio) -> str:
    """16-bit PCM in base64."""
    return base64.b64encode(audio.samples.astype("<i2", copy=False).tobytes()).decode()
