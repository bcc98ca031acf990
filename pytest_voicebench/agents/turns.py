"""Messages take turns: one is read in each round of a loop, so that no block that is due waits for a heap of them."""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakValueDictionary


class Turns:
    """Lets one of those who wait through in each round of the loop, in the order in which they came.

    A server that sends an answer at once fills its connection's buffer, and whoever reads from a full buffer never
    waits: a hundred blocks of other conversations would be late by all of it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._passing = False

    async def take(self) -> None:
        """Wait for a turn. What has become due by then goes first."""
        turn = self._loop.create_future()
        self._waiting.append(turn)
        if not self._passing:
            self._passing = True
            self._loop.call_soon(self._pass)
        await turn

    def _pass(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # whoever waited may have been cancelled
                turn.set_result(None)
                break
        self._passing = bool(self._waiting)
        if self._passing:
            self._loop.call_soon(self._pass)


_of_loops: WeakValueDictionary[asyncio.AbstractEventLoop, Turns] = WeakValueDictionary()


def turns_of_this_loop() -> Turns:
    """The turns that all conversations of the loop that is running share, for as long as any of them has them."""
    loop = asyncio.get_running_loop()
    turns = _of_loops.get(loop)
    if turns is None:
        turns = _of_loops[loop] = Turns()
    return turns
