"""An open stream: blocks of the user's voice go out as mu-law, the agent's messages come back as our events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pytest_voicebench.agents.credentials import Secret, scrubbed
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult, Unsupported
from pytest_voicebench.agents.tool_host import Timed, ToolHost, with_timed_calls
from pytest_voicebench.agents.twilio.state import StreamState
from pytest_voicebench.agents.wire import Wire, WireBroken
from pytest_voicebench.audio import Audio


class StreamLine:
    """Sends what the state wants sent; decides nothing itself. `present` is the clock of the state."""

    def __init__(
        self,
        wire: Wire,
        state: StreamState,
        present: Present,
        host: ToolHost | None,
        hidden: Sequence[Secret] = (),
    ) -> None:
        self._wire = wire
        self._state = state
        self._present = present
        self._host = host
        self._hidden = hidden
        self.arrived_s: float | None = None
        """When what the latest event is made of arrived, by the loop's clock."""

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
        """Events until the agent hangs up, and calls of the tools among them. A line that breaks is a Fault."""
        messages = self._messages()
        async for event, arrived_s in with_timed_calls(messages, self._host) if self._host else messages:
            self.arrived_s = arrived_s
            yield event

    async def _messages(self) -> AsyncIterator[Timed]:
        yield Ready(), None
        try:
            async for raw in self._wire.receive():
                arrived_s = self._wire.arrived_s
                with self._present.of(arrived_s):
                    events = self._state.take(raw)
                for event in events:
                    yield event, arrived_s
                await self._flush()
        except WireBroken as broken:
            yield Fault(kind="infrastructure", message=scrubbed(str(broken), self._hidden)), self._wire.arrived_s

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Results go to whoever called over HTTP or MCP."""
        if self._host is not None:
            self._host.answer(results)

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing: marks tell what was heard."""

    async def inject(self, text: str) -> None:
        """Raises Unsupported: nothing but sound goes over the line."""
        raise Unsupported("a telephone line carries no text")

    async def _flush(self) -> None:
        for event in self._state.take_outgoing():
            await self._wire.send(event)
