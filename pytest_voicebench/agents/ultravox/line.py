"""An open call: blocks go out as bare PCM, frames come back as our events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult
from pytest_voicebench.agents.ultravox.state import CallState
from pytest_voicebench.agents.wire import Wire, WireBroken
from pytest_voicebench.audio import Audio

Json = Any


class UltravoxLine:
    """A thin layer: what to do is decided by the state. `first` is the frame that showed that the call stands.

    `remarks` are those on how it was created.
    """

    def __init__(
        self, wire: Wire, state: CallState, first: dict[str, Json] | bytes, remarks: Sequence[Fault] = ()
    ) -> None:
        self._wire = wire
        self._state = state
        self._first = first
        self._remarks = remarks

    @property
    def arrived_s(self) -> float | None:
        """When what the latest event is made of arrived."""
        return self._wire.arrived_s

    async def send(self, audio: Audio) -> None:
        """One block of 16 kHz PCM."""
        await self._wire.send_bytes(audio.samples.astype("<i2", copy=False).tobytes())

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the call ends or the server hangs up. A line that breaks is a Fault."""
        yield Ready()
        for remark in self._remarks:
            yield remark
        for event in self._state.take(self._first):
            yield event
        try:
            async for frame in self._wire.receive_mixed():
                for event in self._state.take(frame):
                    yield event
                if self._state.over:
                    return
        except WireBroken as broken:
            yield Fault(kind="infrastructure", message=str(broken))

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Results; the server goes on by itself when it has all it waits for."""
        self._state.answer(results)
        await self._flush()

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing: the server keeps account of what it released, and has no way to be told."""

    async def inject(self, text: str) -> None:
        """Text for the context; the agent considers it when it speaks next."""
        self._state.inject(text)
        await self._flush()

    async def hang_up(self) -> None:
        """End the call, which is billed by its length and counts against the calls at once."""
        await self._wire.farewell({"type": "hang_up"})

    async def _flush(self) -> None:
        for event in self._state.take_outgoing():
            await self._wire.send(event)
