"""An open session: blocks go out as base64, messages come back as our events, and one socket may follow another."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from pytest_voicebench.agents.gemini_live.closing import told_end
from pytest_voicebench.agents.gemini_live.messages import Asked, silent_text, tool_response
from pytest_voicebench.agents.gemini_live.state import SessionState
from pytest_voicebench.agents.protocol import AgentEvent, Fault, Ready, ToolResult, Unsupported
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.wire import Garbled, Wire, WireBroken
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import Audio, rms_dbfs
from pytest_voicebench.counted import counted

Json = Any
Reopen = Callable[[str], AbstractAsyncContextManager[Wire]]

MARGIN_S = 5.0
"""So long before the server leaves, the session moves even in the middle of something."""

LONGEST_WAIT_S = 10.0
"""So long a block waits for the next socket; after that it only queues, or sending would count as stuck."""

NOTICED_S = 0.1
"""A move that holds the user's sound for less is no remark."""

LOUD_DBFS = -45.0
"""Above this a block of the user counts as speech, for choosing the moment of a move only."""


_MOVED = "the server went away and the session moved to another connection: the user's sound waited {:.1f} s for it"


class LiveLine:
    """A session over one socket after another. `reopen` opens the next one, resumed from a handle.

    When the server says that it goes away, the session moves: at once if the agent is idle, the user's last words are
    answered and a handle knows it all; else as soon as that is so, or MARGIN_S before the end. While the next socket
    opens, what is to be sent waits, and follows in order: every block goes to exactly one socket. `send` waits too, so
    that these blocks count as late, and no latency is measured where they are too many; how long is a remark.
    """

    def __init__(self, wire: Wire, *, asked: Asked, log: WireLog, reopen: Reopen) -> None:
        self._wire = self._read = wire
        self._state = SessionState(now_s=lambda: self._read.now_s(), calling=asked.calling)
        self._asked = asked
        self._log = log
        self._reopen = reopen
        self._now_s = asyncio.get_running_loop().time
        self._stack = AsyncExitStack()
        self._held: deque[dict[str, Json]] = deque()
        self._holding = False
        self._moving: asyncio.Task[None] | None = None
        self._texts: deque[dict[str, Json]] = deque()
        self._remarks: list[Fault] = []

    async def close(self) -> None:
        """End a move under way, and close the sockets that were opened here."""
        if self._moving is not None:
            self._moving.cancel()
            await asyncio.wait([self._moving])
        await self._stack.aclose()

    @property
    def arrived_s(self) -> float | None:
        """When what the latest event is made of arrived."""
        return self._read.arrived_s

    @property
    def closing_usage(self) -> dict[str, float]:
        """How many turns have had no usage until the end."""
        return self._state.unreported

    async def send(self, audio: Audio) -> None:
        """One block of 16 kHz PCM."""
        pcm = base64.b64encode(audio.samples.astype("<i2", copy=False).tobytes()).decode()
        if rms_dbfs(audio.samples) > LOUD_DBFS:
            self._state.user_spoke()
        if self._is_time_to_move():
            self._begin_move()
        await self._put({"realtimeInput": {"audio": {"data": pcm, "mimeType": f"audio/pcm;rate={audio.rate_hz}"}}})
        await self._put_texts()
        if self._holding and self._moving is not None and not self._moving.done():
            await asyncio.wait([self._moving], timeout=LONGEST_WAIT_S)

    async def _put(self, message: dict[str, Json]) -> None:
        """Send in order. What a socket that is going away takes no more waits for the next one."""
        if self._holding:
            self._held.append(message)
        elif not await self._wire.send(message) and self._may_move():
            self._held.append(message)
            self._begin_move()

    def _may_move(self) -> bool:
        return self._state.leaves_at_s is not None and self._state.handle is not None

    def _is_time_to_move(self) -> bool:
        leaves_at_s = self._state.leaves_at_s
        if leaves_at_s is None or self._state.handle is None:
            return False
        return self._state.resumable or self._now_s() >= leaves_at_s - MARGIN_S

    def _begin_move(self) -> None:
        if not self._holding:
            self._holding = True
            self._log.note("the server goes away: the session moves to another connection")
            self._moving = asyncio.create_task(self._move(self._wire, self._state.handle or ""))
            self._moving.add_done_callback(lambda move: move.cancelled() or move.exception())

    async def _move(self, old: Wire, handle: str) -> None:
        """Open the next socket, send what waited, and leave the old one. Raises Unreachable."""
        began_s = self._now_s()
        try:
            self._wire = wire = await self._stack.enter_async_context(self._reopen(handle))
            self._state.moved()
            self._log.note(
                f"the session goes on in another connection; {counted(len(self._held), 'message')} waited for it"
            )
            while self._held and await wire.send(self._held[0]):
                self._held.popleft()
            self._holding = False
            if (held_s := self._now_s() - began_s) >= NOTICED_S:
                self._remarks.append(Fault(kind="agent", message=_MOVED.format(held_s)))
        finally:
            await old.leave()

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the server hangs up, over all sockets. A line that breaks is a Fault."""
        yield Ready()
        while True:
            while self._remarks:
                yield self._remarks.pop(0)
            self._read = wire = self._wire
            broken = None
            try:
                async for raw in wire.receive():
                    for event in self._state.take(raw):
                        yield event
            except Garbled as error:
                yield Fault(kind="infrastructure", message=str(error))
                return
            except WireBroken as error:
                broken = error
            try:
                if not await self._goes_on(wire):
                    break
            except Unreachable as error:
                yield Fault(kind="infrastructure", message=f"the session was not resumed: {error}")
                return
        if told := told_end(broken, announced=self._state.leaves_at_s is not None):
            yield Fault(kind="infrastructure", message=told)

    async def _goes_on(self, ended: Wire) -> bool:
        """Whether another socket has taken over from one that ended, or does so now. Raises Unreachable."""
        if self._wire is ended and self._may_move():
            self._begin_move()
        if self._moving is not None:
            await asyncio.shield(self._moving)
        return self._wire is not ended

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """All results of one message together. Those that were taken back meanwhile are not sent."""
        wanted, unnamed = self._state.answered(results)
        if wanted:
            await self._put(tool_response(wanted, unnamed, self._asked.scheduling))

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing: the server assumes that its sound is played in real time."""

    async def inject(self, text: str) -> None:
        """Text for the context; it waits while the agent replies, which it would interrupt. Raises Unsupported."""
        if not self._asked.generation.takes_silent_text:
            raise Unsupported(f"Gemini Live {self._asked.generation.name} takes text only as a turn of the user")
        self._texts.append(silent_text(text))
        await self._put_texts()

    async def _put_texts(self) -> None:
        while self._texts and self._state.idle:
            await self._put(self._texts.popleft())
