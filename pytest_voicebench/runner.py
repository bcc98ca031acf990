"""A thread that holds conversations, so that nothing else in the process can make their blocks late."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from pytest_voicebench.agent_side import STOP_TIMEOUT_S
from pytest_voicebench.agents.protocol import Agent
from pytest_voicebench.audio import BLOCK_S
from pytest_voicebench.clock import Ticker, VirtualTimeLoop
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import Progress, converse
from pytest_voicebench.scenario import Scenario

SWITCH_INTERVAL_S = 0.0001
"""Each block lets other threads in twice, and waits this long for a busy one to let it in again (usual: 5 ms)."""

FULL_COLLECTION_AFTER = 200
"""So many collections of younger objects go before one of all (usual: 10): with a hundred conversations it takes 30 ms.

They leave next to nothing to it; an agent's own objects may. From Python 3.14 on all is collected bit by bit.
"""

BEGIN_EVERY_S = 0.02
"""Connecting takes some milliseconds of the thread's time: conversations on the wall clock begin one after another."""

BLOCKED_AFTER_S = 2 * STOP_TIMEOUT_S
"""A loop that has not cancelled its conversations by then is blocked by an agent, and its thread ends with Python."""

T = TypeVar("T")

_GOLDEN = (5**0.5 - 1) / 2


class Runner:
    """Holds conversations: those on the virtual clock one after another, each on a fresh loop; the others side by side.

    Close it when done; conversations in progress are then cancelled.
    """

    def __init__(self) -> None:
        self._virtual = ThreadPoolExecutor(max_workers=1, thread_name_prefix="voicebench-virtual")
        self._stop_virtual: Callable[[], object] | None = None
        self._closing = False
        self._wall_loop: asyncio.AbstractEventLoop | None = None
        self._wall_thread: threading.Thread | None = None
        self._quiet = _Quiet()
        self._phases: _Phases | None = None

    def submit(self, scenario: Scenario, agent: Agent, *, progress: Progress | None = None) -> Future[Conversation]:
        """Start a conversation. The future holds it, or Unsupported, or VirtualTimeError."""
        if agent.info.clock == "virtual":
            return self._virtual.submit(self._on_virtual_clock, scenario, agent, progress)
        return asyncio.run_coroutine_threadsafe(self._on_wall_clock(scenario, agent, progress), self._wall())

    def close(self) -> None:
        """Cancel what runs and end the threads; one that an agent blocks on the wall clock is left behind."""
        self._closing = True
        self._virtual.shutdown(wait=False, cancel_futures=True)
        if stop := self._stop_virtual:
            with suppress(RuntimeError):  # it has just ended by itself
                stop()
        self._virtual.shutdown(wait=True)
        if self._wall_loop and self._wall_thread:
            stop_wall = partial(self._wall_loop.call_soon_threadsafe, self._wall_loop.stop)
            cancelled = asyncio.run_coroutine_threadsafe(_cancel_all(), self._wall_loop)
            cancelled.add_done_callback(lambda _: stop_wall())
            self._wall_thread.join(timeout=BLOCKED_AFTER_S)
            if self._phases is not None:
                self._phases.close()
            self._wall_loop = self._wall_thread = self._phases = None

    def _on_virtual_clock(self, scenario: Scenario, agent: Agent, progress: Progress | None) -> Conversation:
        async def stoppable() -> Conversation:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            self._stop_virtual = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._closing:
                raise asyncio.CancelledError
            try:
                return await converse(scenario, agent, progress=progress)
            finally:
                self._stop_virtual = None

        try:
            with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
                return runner.run(stoppable())
        except (SystemExit, KeyboardInterrupt) as error:  # Ctrl-C reaches the main thread only: this is the agent's
            raise RuntimeError(f"a task of the agent raised {type(error).__name__}") from error

    async def _on_wall_clock(self, scenario: Scenario, agent: Agent, progress: Progress | None) -> Conversation:
        if self._phases is None:
            self._phases = _Phases(Ticker())
        await self._phases.begin()
        with self._quiet.held():
            return await converse(scenario, agent, progress=progress, phases=self._phases)

    def _wall(self) -> asyncio.AbstractEventLoop:
        if self._wall_loop is None:
            self._wall_loop = asyncio.new_event_loop()
            self._wall_thread = threading.Thread(
                target=_run, args=(self._wall_loop,), name="voicebench-wall", daemon=True
            )
            self._wall_thread.start()
        return self._wall_loop


class _Phases:
    """Spreads the conversations of a loop over time: when they begin, and when within 20 ms their blocks leave."""

    def __init__(self, ticker: Ticker) -> None:
        self.ticker = ticker
        self._free_s = 0.0
        self._taken = 0
        # One, because every thread that computes keeps the loop's waiting for a switch interval, twice a block.
        self._aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="voicebench-aside")

    async def aside(self, work: Callable[[], T]) -> T:
        """Do work of a conversation in another thread, one piece at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, work)

    def close(self) -> None:
        """End that thread."""
        self._aside.shutdown(wait=False, cancel_futures=True)

    async def begin(self) -> None:
        """Wait until no other conversation has just begun."""
        now_s = asyncio.get_running_loop().time()
        begin_s, self._free_s = self._free_s, max(now_s, self._free_s) + BEGIN_EVERY_S
        if begin_s > now_s:
            await asyncio.sleep(begin_s - now_s)

    async def wait(self) -> float:
        """Wait, for 20 ms at most, for a moment that is far from the other conversations' blocks; a millisecond's.

        Multiples of the golden ratio are spread evenly, however many there are.
        """
        self._taken += 1
        now_s = asyncio.get_running_loop().time()
        wanted_s = self._taken * _GOLDEN % 1 * BLOCK_S
        moment_s = math.ceil((now_s + (wanted_s - now_s) % BLOCK_S) * 1000) / 1000
        await self.ticker.until(moment_s)
        return moment_s


class _Quiet:
    """While conversations are held on the wall clock, the interpreter does not get in their way.

    Threads are switched more often. What was there before is left out of garbage collection, since with a pytest
    session of a few hundred thousand objects a full one stops everything for tens of milliseconds; and full ones are
    rare.
    """

    def __init__(self) -> None:
        self._holders = 0
        self._usual_s = sys.getswitchinterval()
        self._usual_thresholds = gc.get_threshold()
        self._froze = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """As long as at least one holder is inside."""
        if self._holders == 0:
            self._usual_s = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_INTERVAL_S)
            self._usual_thresholds = gc.get_threshold()
            gc.set_threshold(*self._usual_thresholds[:2], FULL_COLLECTION_AFTER)
            self._froze = gc.get_freeze_count() == 0  # else somebody else's are frozen, and stay so
            if self._froze:
                gc.freeze()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                sys.setswitchinterval(self._usual_s)
                gc.set_threshold(*self._usual_thresholds)
                if self._froze:
                    gc.unfreeze()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, whatever a task of an agent raises through it, and close it."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
        loop.close()
        return


async def _cancel_all() -> None:
    tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:  # one that does not let itself be cancelled must not hold up the end of the run
        await asyncio.wait(tasks, timeout=STOP_TIMEOUT_S)
