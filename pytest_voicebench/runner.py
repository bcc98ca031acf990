"""A thread that holds conversations, so that nothing else in the process can make their blocks late."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from pytest_voicebench.agent_side import STOP_TIMEOUT_S
from pytest_voicebench.agents.gate import Gate, parted
from pytest_voicebench.agents.protocol import Agent
from pytest_voicebench.audio import BLOCK_S
from pytest_voicebench.blocking import BLOCKED_S, LOOKS, blocked_by, limit_s, watched
from pytest_voicebench.clock import Ticker
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import Progress, converse
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.virtual_runner import BLOCKED_AFTER_S, VirtualRunner

SWITCH_INTERVAL_S = 0.0001
"""Each block lets other threads in twice, and waits this long for a busy one to let it in again (usual: 5 ms)."""

FULL_COLLECTION_AFTER = 200
"""So many collections of younger objects go before one of all (usual: 10): with a hundred conversations it takes 30 ms.

They leave next to nothing to it; an agent's own objects may. From Python 3.14 on all is collected bit by bit.
"""

BEGIN_EVERY_S = 0.02
"""Connecting takes some milliseconds of the thread's time: conversations on the wall clock begin one after another."""

T = TypeVar("T")

_GOLDEN = (5**0.5 - 1) / 2


class Runner:
    """Holds conversations: those on the virtual clock one after another, each on a fresh loop; the others side by side.

    Close it when done; conversations in progress are then cancelled. Code of an agent that keeps a thread ends its
    conversation with Blocked, and on the wall clock all that share the thread; the next are held in another one.
    """

    def __init__(self) -> None:
        self._virtual = VirtualRunner()
        self._wall: _Wall | None = None
        self._quiet = _Quiet()

    def submit(self, scenario: Scenario, agent: Agent, *, progress: Progress | None = None) -> Future[Conversation]:
        """Start a conversation. The future holds it, or Unsupported, or VirtualTimeError, or Blocked."""
        if agent.info.clock == "virtual":
            return self._virtual.submit(scenario, agent, progress)
        if self._wall is None or self._wall.left_behind:
            self._wall = _Wall(self._quiet)
        return self._wall.submit(scenario, agent, progress)

    def close(self) -> None:
        """Cancel what runs and end the threads; one that an agent blocks is left behind."""
        self._virtual.close()
        if self._wall is not None and not self._wall.left_behind:
            self._wall.close()
        self._wall = None


class _Wall:
    """A thread whose loop holds conversations side by side. `left_behind` says that an agent has kept it."""

    def __init__(self, quiet: _Quiet) -> None:
        self.left_behind = False
        self._quiet = quiet
        self._held: dict[Future[Conversation], tuple[str, float, Gate]] = {}
        self._phases: _Phases | None = None
        self._rounds = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="voicebench-wall", daemon=True)
        self._thread.start()

    def submit(self, scenario: Scenario, agent: Agent, progress: Progress | None) -> Future[Conversation]:
        """Start a conversation. What the future holds: see `Runner.submit`."""
        future: Future[Conversation] = Future()
        plain, gate = parted(agent)
        self._held[future] = agent.info.name, limit_s(plain), gate
        inner = asyncio.run_coroutine_threadsafe(self._hold(scenario, agent, progress), self._loop)
        future.add_done_callback(self._forget)
        # A future keeps its callbacks: one that led back to it would keep the sound until a full garbage collection.
        future.add_done_callback(partial(_cancel, weakref.ref(inner)))
        inner.add_done_callback(partial(_hand_on, future))
        return future

    def _forget(self, future: Future[Conversation]) -> None:
        self._held.pop(future, None)

    def close(self) -> None:
        """Cancel what runs and end the thread; one that an agent blocks is left behind."""
        self._stop()
        self._thread.join(timeout=BLOCKED_AFTER_S)
        if self._phases is not None:
            self._phases.close()

    def _stop(self) -> None:
        stop = partial(self._loop.call_soon_threadsafe, self._loop.stop)
        cancelled = asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
        cancelled.add_done_callback(lambda _: stop())

    async def _hold(self, scenario: Scenario, agent: Agent, progress: Progress | None) -> Conversation:
        if self._phases is None:
            self._phases = _Phases(Ticker())
        await self._phases.begin()
        with self._quiet.held():
            return await converse(scenario, agent, progress=progress, phases=self._phases)

    def _run(self) -> None:
        self._loop.call_soon(self._go_round)
        with watched(lambda: self._rounds, self._limit_s, self._leave):
            _run(self._loop)

    def _go_round(self) -> None:
        """The loop has gone round again; it does so once a second, whatever else it does."""
        self._rounds += 1
        self._loop.call_later(min(1.0, self._limit_s() / LOOKS), self._go_round)

    def _limit_s(self) -> float:
        return max((most_s for _, most_s, _ in tuple(self._held.values())), default=BLOCKED_S)

    def _leave(self, place: str) -> None:
        most_s, self.left_behind = self._limit_s(), True
        names = " or ".join(sorted({name for name, _, _ in tuple(self._held.values())}))
        self._stop()  # once the thread is given back
        for future, (_, _, gate) in tuple(self._held.items()):
            gate.abandon()  # else whoever waits for its place at the provider waits until the end of the run
            with suppress(InvalidStateError):  # it was cancelled just now
                future.set_exception(blocked_by(names, most_s, place))


def _cancel(inner: weakref.ref[Future[Conversation]], _: Future[Conversation]) -> None:
    if (held := inner()) is not None:
        held.cancel()


def _hand_on(future: Future[Conversation], inner: Future[Conversation]) -> None:
    """What came of a conversation, to whoever waits for it, unless it was given up."""
    with suppress(InvalidStateError):
        if inner.cancelled():
            if future.cancel():
                future.set_running_or_notify_cancel()
        elif error := inner.exception():
            future.set_exception(error)
        else:
            future.set_result(inner.result())


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
