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

MOST_BYTES = 4 * 2**20
"""So many bytes of whole messages may wait, besides one that is larger: 60 s of sound in base64 are 3.8 MB."""

_OF_MESSAGES = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class ArrivingConnection(ClientConnection):
    """Gives messages with the loop's time at which their last byte had come."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arrivals: deque[tuple[float, int]] = deque()
        self._begun_bytes = 0  # of a message that has not come to its end
        self._waiting_bytes = 0
        self._held_back = False

    def process_event(self, event: Any) -> None:
        """Called by the library as soon as a frame is complete."""
        if isinstance(event, Frame) and event.opcode in _OF_MESSAGES:
            self._begun_bytes += len(event.data)
            if event.fin:
                self._arrivals.append((self.loop.time(), self._begun_bytes))
                self._waiting_bytes, self._begun_bytes = self._waiting_bytes + self._begun_bytes, 0
        super().process_event(event)
        self._hold_back()

    async def arrived(self) -> tuple[str | bytes, float]:
        """The next message and when it came. Raises ConnectionClosed."""
        message = await self.recv()
        arrived_s, size = self._arrivals.popleft()
        self._waiting_bytes -= size
        self._hold_back()
        return message, arrived_s

    def _hold_back(self) -> None:
        """Take nothing more in while too much waits: the server waits too, and nothing is lost.

        Only whole messages count, so that there is always one to read. The library holds back by the number of frames,
        and may take in again what we would not.
        """
        if self._waiting_bytes > MOST_BYTES:
            self._held_back = True
            self.transport.pause_reading()
        elif self._held_back:
            self._held_back = False
            if not self.recv_messages.paused:
                self.transport.resume_reading()
