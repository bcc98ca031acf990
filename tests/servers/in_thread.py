"""A double in a thread with a loop of its own, for clients that are in no loop or in another one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager


@contextmanager
def in_thread(listening: AbstractAsyncContextManager[object]) -> Iterator[None]:
    """Enter what listens in a new thread, and leave it when the block ends."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()

    async def main() -> None:
        async with listening:
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
