"""Keeping to the clock on a track that plays in real time: what came too late is caught up in silence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_voicebench.agents.moshi.state import LOUD_DBFS
from pytest_voicebench.audio import Samples

WAITING_S = 0.1
"""So much may wait to be sent; a full queue keeps whoever sends waiting."""

PAUSE_S = 0.2
"""What lies so far behind the last loud block is a pause, and no weak sound of a word."""

BELOW_LOUDEST_DB = 20.0
"""Blocks so far below the loudest one are the room's noise."""

_QUIET_POWER = (32768.0 * 10 ** (LOUD_DBFS / 20)) ** 2


@dataclass(slots=True)
class Pace:
    """Decides which blocks are sent.

    A socket takes late blocks all at once; a track takes them no faster than it plays, so that one stall would make
    the user late until the end of the conversation. Therefore pauses are shortened while too much waits: the stall was
    as much silence to whoever listens. Speech is never left out.
    """

    rate_hz: int
    _until_s: float = 0.0
    _loudest: float = 0.0
    _quiet_s: float = 0.0

    def takes(self, samples: Samples, now_s: float) -> bool:
        """Whether the block is to be sent now."""
        length_s = len(samples) / self.rate_hz
        waits_s = max(0.0, self._until_s - now_s)
        half_s = length_s / 2  # sums of floats are not exact
        is_pause = self._hear(samples, length_s) + half_s >= PAUSE_S
        if is_pause and waits_s + half_s > WAITING_S:
            return False
        self._until_s = now_s + waits_s + length_s
        return True

    def _hear(self, samples: Samples, length_s: float) -> float:
        """How long it has been quiet before this block; 0 where it is loud."""
        wide = samples.astype(np.float64)
        power = float(wide @ wide) / max(1, len(wide))
        self._loudest = max(self._loudest, power)
        before_s = self._quiet_s
        is_quiet = power < max(_QUIET_POWER, self._loudest * 10 ** (-BELOW_LOUDEST_DB / 10))
        self._quiet_s = before_s + length_s if is_quiet else 0.0
        return before_s if is_quiet else 0.0
