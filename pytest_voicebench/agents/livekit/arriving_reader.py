"""A stream of bytes that knows when each of them came, however late it is read."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import SupportsIndex


class ArrivingReader(asyncio.StreamReader):
    """Notes the loop's time of every piece that the system hands over; held back by `limit` as any reader is."""

    def __init__(self, limit: int) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(limit=limit, loop=loop)
        self._now_s = loop.time
        self._came_bytes = 0
        self._read_bytes = 0
        self._pieces: deque[tuple[int, float]] = deque()  # how many bytes had come with each, and when
        self.arrived_s: float | None = None
        """When the last byte came of what was read last; None before anything was."""

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        """Called by the transport for every piece, which is bytes."""
        assert isinstance(data, bytes | bytearray | memoryview)
        self._came_bytes += len(data)
        self._pieces.append((self._came_bytes, self._now_s()))
        super().feed_data(data)

    def set_exception(self, exc: Exception) -> None:
        """Called for a connection that broke: what came before that is still to be read, and then nothing."""
        self.feed_eof()

    async def readexactly(self, n: int) -> bytes:
        """As any reader's; also tells when what it gives had come."""
        data = await super().readexactly(n)
        self._read_bytes += len(data)
        while self._pieces and self._pieces[0][0] < self._read_bytes:
            self._pieces.popleft()
        if self._pieces:
            self.arrived_s = self._pieces[0][1]
        return data
