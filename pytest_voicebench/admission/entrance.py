"""The gate before a provider: conversations wait for a place, refused ones for a better moment, all before t = 0."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pytest_voicebench.admission.places import Place, Places
from pytest_voicebench.admission.retrying import WORTH_A_TRY, Retries
from pytest_voicebench.agents.gate import AbsenceKind, Gate, GateBroken
from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.wire_log import WireLog

T = TypeVar("T")
Tell = Callable[[str], None]

LOOK_S = 0.5
"""How often the first in line looks whether another process gave a place back. The others sleep."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Those who wait in one loop. Where an agent keeps a loop's thread, its lines never move: the next has its own."""

    places: asyncio.Lock = field(default_factory=asyncio.Lock)
    starts: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Claim:
    """A conversation's hold on a place, from the thread that takes it to the one that gives it back.

    What is taken after the claim was given up is free again at once: its conversation was cancelled meanwhile, or its
    loop is kept from going on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place: Place | None = None
        self._given_up = False

    def take(self, places: Places) -> bool:
        """Whether there was a place. Raises OSError."""
        place = places.take()
        with self._lock:
            if not self._given_up:
                self._place = place
                return place is not None
        if place is not None:
            place.give_back()
        return False

    def give_up(self) -> None:
        """Give back what was taken, and what still will be. In any thread."""
        with self._lock:
            self._given_up = True
            place, self._place = self._place, None
        if place is not None:
            place.give_back()


@dataclass(slots=True, kw_only=True)
class Entrance:
    """The way to one provider for the conversations of this process: one line, in which only the first one looks.

    `now_s` is a clock that processes share. `aside` runs what waits for a disk where the event loop does not wait.
    """

    name: str
    places: Places
    retries: Retries = field(default_factory=Retries)
    now_s: Callable[[], float] = time.time
    aside: Callable[..., Awaitable[Any]] = asyncio.to_thread
    _lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lines] = field(default_factory=WeakKeyDictionary)

    def gate(self, item_id: str, tell: Tell = lambda _: None, connected: Callable[[], None] = lambda: None) -> Gate:
        """The gate for one conversation. `tell` gets what it waits for, and nothing when it goes on; `connected` is
        called when it has a session."""
        return _ProviderGate(self, item_id, tell, connected)

    async def place(self, claim: _Claim, tell: Tell) -> None:
        """Wait until the claim has a place. First come, first served within this process; between processes luck
        decides."""
        line = self._lines_of_this_loop().places
        if line.locked():
            tell(self._full())
        async with line:
            while not await self.run(claim.take, self.places):
                tell(self._full())
                await asyncio.sleep(LOOK_S)

    def _lines_of_this_loop(self) -> _Lines:
        return self._lines.setdefault(asyncio.get_running_loop(), _Lines())

    async def moment(self, tell: Tell) -> None:
        """Wait until a session may be started: not too many a minute, and not while the provider wants a pause."""
        line = self._lines_of_this_loop().starts
        if line.locked():
            tell(f"waiting to start: {self.name}")
        async with line:
            while wait_s := await self.run(self.places.start, self.now_s()):
                tell(f"waiting to start: {self.name} in {wait_s:.0f} s")
                await asyncio.sleep(min(wait_s, 1.0))

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Do something with the shared files. Raises GateBroken."""
        try:
            done: T = await self.aside(work, *args)
        except OSError as error:
            told = error.strerror or str(error)
            raise GateBroken(f"the places of {self.name} in {self.places.folder} cannot be used: {told}") from None
        return done

    def _full(self) -> str:
        most = self.places.limit.sessions
        return f"waiting for a place: {self.name} {most} of {most}"


class _ProviderGate(Gate):
    """One conversation's way through the entrance."""

    def __init__(self, entrance: Entrance, item_id: str, tell: Tell, connected: Callable[[], None]) -> None:
        self._entrance = entrance
        self._item_id = item_id
        self._tell = tell
        self._connected = connected
        self._tried = 0
        self._refused_at_s: float | None = None
        self._why = ""
        self._claim = _Claim()

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        try:
            try:
                await self._entrance.place(self._claim, self._tell)
            finally:
                self._tell("")
            yield
        finally:
            self._claim.give_up()

    def abandon(self) -> None:
        self._claim.give_up()

    async def start(self) -> None:
        await self._entrance.moment(self._tell)
        self._tell("")
        self._tried += 1

    async def connected(self) -> None:
        self._connected()
        try:
            await self._entrance.run(self._entrance.places.welcome)
        except GateBroken:
            return

    async def again(self, absent: AgentAbsent, log: WireLog) -> bool:
        if absent.kind not in WORTH_A_TRY:
            return False
        entrance, limited = self._entrance, absent.kind == "rate_limited"
        now_s, retries = asyncio.get_running_loop().time(), entrance.retries
        if self._refused_at_s is None:
            self._refused_at_s = now_s
        wait_s = retries.wait_s(self._tried, absent.retry_after_s, f"{entrance.name} {self._item_id}")
        left_s = self._refused_at_s + retries.total_s - now_s
        if await self._is_over(wait_s, left_s, limited):
            return False
        if limited:
            await entrance.run(entrance.places.pause, entrance.now_s() + wait_s)
        log.note(f"refused, try {self._tried} of {retries.tries}; again in {wait_s:.1f} s")
        meaning = "too many requests" if limited else "the server failed"
        self._tell(f"{entrance.name}: {meaning}, try {self._tried + 1} of {retries.tries} in {wait_s:.0f} s")
        await asyncio.sleep(wait_s)
        return True

    async def _is_over(self, wait_s: float, left_s: float, limited: bool) -> bool:
        """Whether there is no other try; then why is noted, for all where all are too many."""
        entrance, most = self._entrance, self._entrance.retries.tries
        if limited and self._tried == 1 and await entrance.run(entrance.places.is_hopeless, entrance.now_s()):
            self._why = "another conversation tried in vain"
            return True
        if self._tried >= most:
            self._why = f"{most} allowed"
        elif wait_s > left_s:
            self._why = f"the next one would have to wait {wait_s:.0f} s, of {entrance.retries.total_s:.0f} s allowed"
        else:
            return False
        if limited and most > 1:
            await entrance.run(entrance.places.give_up, entrance.now_s())
        return True

    def told(self, absent: AgentAbsent) -> tuple[AbsenceKind, str]:
        """A quota that is spent is nothing that the agent did: infrastructure. All else is an absent agent."""
        kind: AbsenceKind = "infrastructure" if absent.kind == "rate_limited" else "agent_absent"
        if absent.kind not in WORTH_A_TRY:
            return kind, str(absent)
        times = "once" if self._tried == 1 else f"{self._tried} times"
        return kind, f"{absent}; tried {times} ({self._why})"
