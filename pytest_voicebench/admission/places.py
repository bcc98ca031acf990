"""A provider's places, shared by all processes that report to one folder: locks of the operating system, no counters.

A place is a lock on a file, so that of a killed process is free again at once. Starts and pauses are times in a file
beside them. Nothing here waits for a place: it is there, or it is not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.admission.limits import Limit
from pytest_voicebench.shared_state import peek, shared_state

Json = Any

MINUTE_S = 60.0
HOPELESS_S = 600.0
"""For how long nobody tries again what somebody tried in vain as often as allowed."""
STATE_NAME = "state.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The right to have one session, until it is given back or the process ends. `number` is None where all may."""

    number: int | None
    give_back: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Of one provider. Times are seconds since the epoch. Every method raises OSError where the folder is of no use."""

    folder: Path
    limit: Limit

    def take(self) -> Place | None:
        """A place, None where all are taken."""
        if self.limit.sessions is None:
            return Place(number=None, give_back=lambda: None)
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, self.limit.sessions + 1):
            # Taken by one thread and given back by another, so that no event loop waits for a disk.
            lock = FileLock(self.folder / f"place_{number}.lock", thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            return Place(number=number, give_back=lock.release)
        return None

    def start(self, now_s: float) -> float:
        """0.0 where a session may be started now, which is then noted; else for how many seconds that cannot be.

        Processes read the clock before they wait for each other here: what is noted is never before what was noted.
        """
        if self.limit.starts_per_minute is None and not self._state.exists():
            return 0.0
        with shared_state(self._state) as state:
            starts = [at for at in _times(state, "starts") if abs(now_s - at) < MINUTE_S]
            waits = [min(at, now_s + MINUTE_S * 2) - now_s for at in _times(state, "paused_until")]
            most = self.limit.starts_per_minute
            if most is not None and len(starts) >= most:
                waits.append(sorted(starts)[-most] + MINUTE_S - now_s)
            wait_s = max([0.0, *waits])
            state["starts"] = starts if wait_s else [*starts, max([now_s, *starts])]
        return wait_s

    def pause(self, until_s: float) -> None:
        """Let nobody start before that moment; a pause is never made shorter."""
        with shared_state(self._state) as state:
            state["paused_until"] = [max([until_s, *_times(state, "paused_until")])]

    def give_up(self, now_s: float) -> None:
        """Note that trying again did not help."""
        with shared_state(self._state) as state:
            state["given_up"] = [now_s]

    def is_hopeless(self, now_s: float) -> bool:
        """Whether that was noted lately, and nobody got through since."""
        return any(0 <= now_s - at < HOPELESS_S for at in _times(peek(self._state), "given_up"))

    def welcome(self) -> None:
        """Note that somebody got through."""
        if _times(peek(self._state), "given_up"):
            with shared_state(self._state) as state:
                state.pop("given_up", None)

    @property
    def _state(self) -> Path:
        return self.folder / STATE_NAME


def _times(state: dict[str, Json], name: str) -> list[float]:
    found = state.get(name)
    return [float(at) for at in found if isinstance(at, int | float)] if isinstance(found, list) else []


def folder_name(provider_key: str) -> str:
    """The provider's folder: its key where that is a safe name, else its safe characters and digits of its hash."""
    safe = re.sub(r"[^A-Za-z0-9_.@-]+", "_", provider_key).strip(".")[:60]
    if safe and safe == provider_key:
        return safe
    return f"{safe}-{hashlib.sha256(provider_key.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"
