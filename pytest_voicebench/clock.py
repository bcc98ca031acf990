"""Time of a conversation: a loop whose time jumps, and a clock that counts ticks on any loop."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Mapping
from typing import Any, NoReturn

from pytest_voicebench.audio import RATE_HZ

SPIN_LIMIT = 1_000_000
"""Loop rounds without any passing of time after which an agent counts as hung."""


REFUSAL = (
    "threads, sockets and subprocesses cannot be used on the virtual clock: "
    "compute inline, or declare AgentInfo(clock='wall')"
)


class VirtualTimeError(RuntimeError):
    """Something waited for the outside world, or for nothing at all, while time was virtual."""


class _JumpingSelector(selectors.BaseSelector):
    """Never waits: where a real selector would sleep, the time moves on by as much."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._idle_rounds = 0
        self.rounds = 0
        self.sealed = False

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self.sealed:
            raise VirtualTimeError(REFUSAL)
        # The loop's own wake-up pipe; it is never read.
        fd = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = selectors.SelectorKey(fileobj, fd, events, data)
        self._keys[fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.rounds += 1
        if timeout is None:
            raise VirtualTimeError("everything waits and nothing is scheduled: the conversation can never go on")
        if timeout > 0:
            self.now_s += timeout
            self._idle_rounds = 0
            return []
        self._idle_rounds += 1
        if self._idle_rounds > SPIN_LIMIT:
            self._idle_rounds = 0  # what spins is cancelled next, and that takes rounds too
            raise VirtualTimeError("the agent spins: it never waits for time to pass")
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps to the next timer when nothing is ready.

    Computing costs no virtual time. Threads, sockets, files and subprocesses would run on real time and give latencies
    that mean nothing, so asking for them raises VirtualTimeError.
    """

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)
        self._jumping.sealed = True  # whatever is registered from now on is the agent's

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.now_s

    @property
    def rounds(self) -> int:
        """How often the loop went round; any thread may ask."""
        return self._jumping.rounds

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise VirtualTimeError(REFUSAL)

    async def _refuse_async(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        self._refuse()

    run_in_executor = _refuse  # type: ignore[assignment]
    add_reader = _refuse  # type: ignore[assignment]
    add_writer = _refuse  # type: ignore[assignment]
    getaddrinfo = _refuse_async
    create_connection = _refuse_async
    create_server = _refuse_async
    create_unix_connection = _refuse_async
    create_datagram_endpoint = _refuse_async
    sock_connect = _refuse_async
    sock_recv = _refuse_async
    sock_sendall = _refuse_async
    connect_read_pipe = _refuse_async
    connect_write_pipe = _refuse_async
    subprocess_exec = _refuse_async
    subprocess_shell = _refuse_async


class Ticker:
    """Wakes all who wait for the same millisecond with one timer; of a loop that many conversations share.

    A timer of its own for each of 5,000 blocks a second takes a tenth of the work on them. A loop on the wall clock
    does not wake more exactly than that anyway.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    async def until(self, due_s: float) -> None:
        """Wait for that time of the loop's clock, or for the first whole millisecond after it."""
        due, tick = self._loop.create_future(), math.ceil(due_s * 1000 - 1e-3)
        waiting = self._waiting.get(tick)
        if waiting is None:
            waiting = self._waiting[tick] = []
            self._loop.call_at(tick / 1000, self._wake, tick)
        waiting.append(due)
        await due

    def _wake(self, tick: int) -> None:
        for due in self._waiting.pop(tick):
            _set_due(due)


class Clock:
    """Ticks since `start()`, on the loop that is running, virtual or not; where it is shared, by its ticker."""

    def __init__(self, ticker: Ticker | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._ticker = ticker
        self._zero_s: float | None = None

    @property
    def started(self) -> bool:
        """Whether the first block has left."""
        return self._zero_s is not None

    @property
    def zero_s(self) -> float | None:
        """When the first block left, by the loop's clock; None before it."""
        return self._zero_s

    def is_running(self) -> bool:
        """Whether the conversation's loop still runs."""
        return self._loop.is_running()

    def start(self, zero_s: float | None = None) -> None:
        """Make this moment tick 0, or the one that the block was meant to leave at, by the loop's clock."""
        self._zero_s = self._loop.time() if zero_s is None else zero_s

    def now_ticks(self) -> int:
        """Whole ticks since the start; 0 before it. Rounding hides the loop's float noise."""
        return 0 if self._zero_s is None else round((self._loop.time() - self._zero_s) * RATE_HZ)

    def ticks_at(self, loop_s: float) -> int:
        """The tick of a time of the loop's clock that has passed; 0 before the start."""
        return 0 if self._zero_s is None else max(0, round((loop_s - self._zero_s) * RATE_HZ))

    async def until(self, ticks: int) -> None:
        """Wait for that tick; return at once if it has passed. Absolute, so that waits never add up to a drift."""
        if self._zero_s is None:
            raise RuntimeError("the clock was not started")
        if self._ticker is not None:
            await self._ticker.until(self._zero_s + ticks / RATE_HZ)
            return
        due = self._loop.create_future()
        self._loop.call_at(self._zero_s + ticks / RATE_HZ, _set_due, due)
        await due


def _set_due(due: asyncio.Future[None]) -> None:
    if not due.done():  # whoever waited may have been cancelled
        due.set_result(None)
