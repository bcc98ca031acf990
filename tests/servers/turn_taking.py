"""Voice detection of a double by loudness: when the user begins to speak, and when his turn is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_voicebench.audio import rms_dbfs

LOUD_DBFS = -40.0
BEGINS_MS = 60


@dataclass
class TurnTaking:
    """Speech begins after 60 ms of sound and ends after the silence that was asked for."""

    rate_hz: int
    silence_ms: int
    speaks: bool = False
    loud: float = 0.0
    quiet: float = 0.0

    def hear(self, samples) -> Literal["started", "ended"] | None:
        length_ms = len(samples) * 1000 / self.rate_hz
        if rms_dbfs(samples) > LOUD_DBFS:
            self.loud, self.quiet = self.loud + length_ms, 0.0
        else:
            self.loud, self.quiet = 0.0, self.quiet + length_ms
        if not self.speaks and self.loud >= BEGINS_MS:
            self.speaks = True
            return "started"
        if self.speaks and self.quiet >= self.silence_ms:
            self.speaks = False
            return "ended"
        return None
