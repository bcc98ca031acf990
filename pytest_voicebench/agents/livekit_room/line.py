"""An open call in a room: blocks go out on the user's track, what arrives and the tool host's calls become events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pytest_voicebench.agents.credentials import Secret, scrubbed
from pytest_voicebench.agents.livekit_room.arrivals import Arrival, Gone
from pytest_voicebench.agents.livekit_room.seat import Seat
from pytest_voicebench.agents.livekit_room.state import RoomState
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolCall, ToolResult, Unsupported
from pytest_voicebench.agents.tool_host import Timed, ToolHost, with_timed_calls
from pytest_voicebench.audio import Audio


class RoomLine:
    """Passes on; decides nothing itself. `present` is the clock of the state; `host` is None where the agent runs its
    own tools. `hidden`: what no message may hold."""

    def __init__(
        self, seat: Seat, state: RoomState, present: Present, host: ToolHost | None, hidden: Sequence[Secret]
    ) -> None:
        self._seat = seat
        self._state = state
        self._present = present
        self._host = host
        self._hidden = hidden
        self._early: list[Timed] = []
        self.arrived_s: float | None = None
        """When what the latest event is made of arrived, by the loop's clock."""

    async def until_ready(self) -> Gone | None:
        """Wait until the agent listens and receives the user's track; Gone where that will never be."""
        while not self._state.is_ready:
            arrival, arrived_s = await self._seat.next()
            if isinstance(arrival, Gone):
                return arrival
            self._early += self._take(arrival, arrived_s)
        return None

    def _take(self, arrival: Arrival, arrived_s: float) -> list[Timed]:
        with self._present.of(arrived_s):
            return [(event, arrived_s) for event in self._state.take_arrival(arrival)]

    async def send(self, audio: Audio) -> None:
        """One block of 48 kHz PCM."""
        if self._state.begun_s is None:
            self._state.begun_s = self._present.now_s()
        await self._seat.send(audio.samples)

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the agent hangs up. An agent or a room that is lost is a Fault."""
        yield Ready()
        events = self._events()
        async for event, arrived_s in with_timed_calls(events, self._host) if self._host else events:
            if isinstance(event, ToolCall):
                self._state.calls.came_to_host(event.name, event.arguments)
            self.arrived_s = arrived_s
            yield self._scrubbed(event) if isinstance(event, Fault) else event

    async def _events(self) -> AsyncIterator[Timed]:
        for event in self._early:
            yield event
        arrival, arrived_s = await self._seat.next()
        while not isinstance(arrival, Gone):
            for event in self._take(arrival, arrived_s):
                yield event
            arrival, arrived_s = await self._seat.next()
        if arrival.why is not None:
            yield Fault(kind="infrastructure", message=arrival.why), None

    def _scrubbed(self, fault: Fault) -> Fault:
        return Fault(kind=fault.kind, message=scrubbed(fault.message, self._hidden))

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Complete the requests that wait for these results."""
        if self._host is not None:
            self._host.answer(results)

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing is told: sound comes in real time, and the agent reckons by its own clock."""

    async def inject(self, text: str) -> None:
        """Raises Unsupported: a text makes the agent answer."""
        raise Unsupported("a LiveKit session takes no text into its context without answering it")
