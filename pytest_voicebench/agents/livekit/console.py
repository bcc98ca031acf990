"""Where the agent's process dials in: one connection on the loopback interface, whose messages go to the log."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from pytest_voicebench.agents.livekit.arriving_reader import ArrivingReader
from pytest_voicebench.agents.livekit.messages import ConsoleBroken, as_json, framed, next_message
from pytest_voicebench.agents.turns import turns_of_this_loop
from pytest_voicebench.agents.wire_log import WireLog

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

LOOPBACK = "127.0.0.1"
_READ_LIMIT = 1 << 21


class Console:
    """Listens; then is the connection of the first one who dials. Later ones are turned away."""

    def __init__(self, log: WireLog) -> None:
        self._log = log
        self._turns = turns_of_this_loop()
        self.arrived_s: float | None = None
        """When the latest message arrived that was received, by the loop's clock."""
        self._dialled: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
        self._dialled = asyncio.get_running_loop().create_future()

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody dials."""
        if self._dialled.done():
            writer.close()
            return
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._log.note("the agent's process has dialled in")
        self._dialled.set_result((reader, writer))

    async def dialled(self) -> None:
        """Wait until somebody dials."""
        await asyncio.shield(self._dialled)

    async def send(self, message: AgentSessionMessage) -> None:
        """Send a message; on a connection that has ended nothing happens. Waits while the agent takes nothing."""
        self.post(message)
        with suppress(OSError):  # receiving says what became of it
            await self._dialled.result()[1].drain()

    def post(self, message: AgentSessionMessage) -> None:
        """The same without waiting, for a small one."""
        _, writer = self._dialled.result()
        if not writer.is_closing():
            self._log.sent(as_json(message))
            writer.write(framed(message))

    async def receive(self) -> AgentSessionMessage | None:
        """The next message, None where the agent has hung up. Raises ConsoleBroken."""
        reader, _ = self._dialled.result()
        try:
            message = await next_message(reader)
        except ConsoleBroken as broken:
            self._log.note(str(broken))
            raise
        if message is None:
            self._log.note("the agent hung up")
            return None
        assert isinstance(reader, ArrivingReader)
        self.arrived_s = reader.arrived_s
        await self._turns.take()
        self._log.received(as_json(message), self.arrived_s)
        return message

    def close(self) -> None:
        """Hang up, at once."""
        if self._dialled.done() and not self._dialled.cancelled():
            self._dialled.result()[1].transport.abort()
        self._dialled.cancel()


@asynccontextmanager
async def open_console(log: WireLog) -> AsyncIterator[tuple[Console, str]]:
    """A console that listens on an ephemeral port, and its address `HOST:PORT`; closed with the block."""
    console, loop = Console(log), asyncio.get_running_loop()

    def answering() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(ArrivingReader(_READ_LIMIT), console.take, loop=loop)

    server = await loop.create_server(answering, LOOPBACK, 0)
    try:
        yield console, f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        console.close()
