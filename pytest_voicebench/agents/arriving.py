"""A WebSocket connection that knows when each of its messages arrived, however late it is read."""

from __future__ import annotations

from collections import deque
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.frames import Frame, Opcode

MOST_FRAMES = 1024
"""So many may wait to be read before the connection takes no more in; what then waits outside has no time of its own.

The library's 16 are less than one answer of a server that sends faster than real time.
"""

_OF_MESSAGES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class ArrivingConnection(ClientConnection):
    """Gives messages with the loop's time at which their last byte had come."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arrivals_s: deque[float] = deque()

    def process_event(self, event: Any) -> None:
        """Called by the library as soon as a frame is complete."""
        if isinstance(event, Frame) and event.fin and event.opcode in _OF_MESSAGES:
            self._arrivals_s.append(self.loop.time())
        super().process_event(event)

    async def arrived(self) -> tuple[str | bytes, float]:
        """The next message and when it came. Raises ConnectionClosed."""
        message = await self.recv()
        return message, self._arrivals_s.popleft()
