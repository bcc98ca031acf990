"""An open stream: blocks are gathered into frames and sent, frames come back as our events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pytest_voicebench.agents.moshi.codec import Encoder
from pytest_voicebench.agents.moshi.state import StreamState
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult, Unsupported
from pytest_voicebench.agents.wire import Wire, WireBroken
from pytest_voicebench.audio import Audio


class MoshiLine:
    """A thin layer: what a frame means is decided by the state."""

    def __init__(self, wire: Wire, encoder: Encoder, state: StreamState) -> None:
        self._wire = wire
        self._encoder = encoder
        self._state = state

    @property
    def arrived_s(self) -> float | None:
        """When what the latest event is made of arrived."""
        return self._wire.arrived_s

    async def send(self, audio: Audio) -> None:
        """One block of 24 kHz PCM; every fourth one fills a frame."""
        for piece in self._encoder.feed(audio.samples):
            await self._wire.send_bytes(b"\1" + piece)

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the server hangs up. A line that breaks, and sound that cannot be read, is a Fault."""
        yield Ready()
        try:
            async for frame in self._wire.receive_mixed():
                for event in self._state.take(frame) if isinstance(frame, bytes) else ():
                    yield self._scrubbed(event) if isinstance(event, Fault) else event
        except WireBroken as broken:
            yield Fault(kind="infrastructure", message=str(broken))

    def _scrubbed(self, fault: Fault) -> Fault:
        return Fault(kind=fault.kind, message=self._wire.scrubbed(fault.message))

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Nothing: the agent has no tools, and calls none."""

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing: the agent hears its own voice as it sends it."""

    async def inject(self, text: str) -> None:
        """Raises Unsupported."""
        raise Unsupported("Moshi takes no text in a conversation")
