"""An open stream: blocks of the user's voice go out as mu-law, the agent's messages come back as our events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult, Unsupported
from pytest_voicebench.agents.twilio.state import StreamState
from pytest_voicebench.agents.wire import Wire, WireBroken
from pytest_voicebench.audio import Audio


class StreamLine:
    """Sends what the state wants sent; decides nothing itself."""

    def __init__(self, wire: Wire, state: StreamState) -> None:
        self._wire = wire
        self._state = state

    async def open(self) -> None:
        """Say that the stream begins."""
        await self._flush()

    async def close(self) -> None:
        """Say that the stream is over."""
        self._state.stop()
        await self._flush()

    async def send(self, audio: Audio) -> None:
        """One block of 8 kHz PCM."""
        self._state.hear(audio.samples)
        await self._flush()

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the agent hangs up. A line that breaks is a Fault."""
        yield Ready()
        try:
            async for raw in self._wire.receive():
                for event in self._state.take(raw):
                    yield event
                await self._flush()
        except WireBroken as broken:
            yield Fault(kind="infrastructure", message=str(broken))

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Nothing: no call comes over this protocol."""

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing: marks tell what was heard."""

    async def inject(self, text: str) -> None:
        """Raises Unsupported: nothing but sound goes over the line."""
        raise Unsupported("a telephone line carries no text")

    async def _flush(self) -> None:
        for event in self._state.take_outgoing():
            await self._wire.send(event)
