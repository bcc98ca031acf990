"""Keeping to the clock on a track that plays in real time: what came too late is caught up in silence."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_voicebench.agents.moshi.state import is_loud
from pytest_voicebench.audio import Samples

WAITING_S = 0.1
"""So much may wait to be sent; a full queue keeps whoever sends waiting."""


@dataclass(slots=True)
class Pace:
    """Decides which blocks are sent.

    A socket takes late blocks all at once; a track takes them no faster than it plays, so that one stall would make
    the user late until the end of the conversation. Therefore silence is left out while too much waits: the stall was
    as much silence to whoever listens. Speech is never left out.
    """

    rate_hz: int
    _until_s: float = 0.0
    left_out_s: float = 0.0

    def takes(self, samples: Samples, now_s: float) -> bool:
        """Whether the block is to be sent now."""
        length_s = len(samples) / self.rate_hz
        waits_s = max(0.0, self._until_s - now_s)
        if waits_s + length_s / 2 > WAITING_S and not is_loud(samples):  # half: sums of floats are not exact
            self.left_out_s += length_s
            return False
        self._until_s = now_s + waits_s + length_s
        return True
