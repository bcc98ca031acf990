"""An open console session: blocks go out as frames, its messages and the calls of the tool host come back as events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from pytest_voicebench.agents.livekit.console import Console
from pytest_voicebench.agents.livekit.messages import ConsoleBroken, playback_finished, sound
from pytest_voicebench.agents.livekit.process import AgentProcess
from pytest_voicebench.agents.livekit.state import ConsoleState
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolCall, ToolResult, Unsupported
from pytest_voicebench.agents.tool_host import Timed, ToolHost, with_timed_calls
from pytest_voicebench.audio import Audio

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage


class ConsoleLine:
    """Sends what the state says is due; decides nothing itself. `present` is the clock of the state; `host` is None
    where the agent runs its own tools."""

    def __init__(
        self, console: Console, state: ConsoleState, present: Present, process: AgentProcess, host: ToolHost | None
    ) -> None:
        self._console = console
        self._state = state
        self._present = present
        self._process = process
        self._host = host
        self._early: list[Timed] = []
        self.arrived_s: float | None = None
        """When what the latest event is made of arrived, by the loop's clock."""
        self._due: asyncio.TimerHandle | None = None

    async def until_listening(self) -> bool:
        """Wait until the agent listens; False where it hung up before. Raises ConsoleBroken."""
        while not self._state.listening:
            message = await self._console.receive()
            if message is None:
                return False
            self._early += self._take(message)
        return True

    async def send(self, audio: Audio) -> None:
        """One block of 48 kHz PCM."""
        await self._console.send(sound(audio.samples.astype("<i2", copy=False).tobytes()))

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the agent hangs up. A connection that breaks, and a process that dies, is a Fault."""
        yield Ready()
        events = self._events()
        async for event, arrived_s in with_timed_calls(events, self._host) if self._host else events:
            if isinstance(event, ToolCall):
                self._state.calls.came_to_host(event.name, event.arguments)
            self.arrived_s = arrived_s
            yield event

    async def _events(self) -> AsyncIterator[Timed]:
        for event in self._early:
            yield event
        try:
            while (message := await self._console.receive()) is not None:
                for event in self._take(message):
                    yield event
        except ConsoleBroken as broken:
            told = await self._process.last_words() or str(broken)
            yield Fault(kind="infrastructure", message=told), None
            return
        if words := await self._process.last_words():
            yield Fault(kind="infrastructure", message=words), None

    def _take(self, message: AgentSessionMessage) -> list[Timed]:
        arrived_s = self._console.arrived_s
        with self._present.of(arrived_s):
            found = self._state.take(message)
        self._await_playback()
        return [(self._scrubbed(event) if isinstance(event, Fault) else event, arrived_s) for event in found]

    def _scrubbed(self, fault: Fault) -> Fault:
        return Fault(kind=fault.kind, message=self._process.scrubbed(fault.message))

    def _await_playback(self) -> None:
        """Wake up when what was flushed will have been heard, as things stand now."""
        self.stop()
        due_s = self._state.next_due_s
        if due_s is not None:
            self._due = asyncio.get_running_loop().call_at(due_s, self._tell_finished)

    def _tell_finished(self) -> None:
        for _ in range(self._state.take_due()):
            self._console.post(playback_finished())
        self._await_playback()

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Complete the requests that wait for these results."""
        if self._host is not None:
            self._host.answer(results)

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing is told: the agent reckons by its own clock."""

    async def inject(self, text: str) -> None:
        """The connection has no silent update: a text makes the agent answer."""
        raise Unsupported("a LiveKit console session takes no text into its context without answering it")

    def stop(self) -> None:
        """Wait for no playback."""
        if self._due is not None:
            self._due.cancel()
