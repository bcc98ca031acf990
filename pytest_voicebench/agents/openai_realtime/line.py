"""An open session: blocks go out as base64, server events come back as ours."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Sequence

from pytest_voicebench.agents.openai_realtime.state import SessionState
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult
from pytest_voicebench.agents.wire import AUDIO, AudioFrame, Wire, WireBroken
from pytest_voicebench.audio import Audio

_APPEND = AudioFrame({"type": "input_audio_buffer.append", "audio": AUDIO})


class RealtimeLine:
    """Sends what the state wants sent; decides nothing itself. `first` are remarks on the session."""

    def __init__(self, wire: Wire, state: SessionState, first: Sequence[Fault] = ()) -> None:
        self._wire = wire
        self._state = state
        self._first = first

    async def send(self, audio: Audio) -> None:
        """One block of 24 kHz PCM."""
        pcm = base64.b64encode(audio.samples.astype("<i2", copy=False).tobytes()).decode()
        await self._wire.send_audio(_APPEND, pcm)

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
