"""Sound in memory: mono int16 samples, the timeline's rate, reading, resampling and writing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 24_000
"""The rate of every conversation's timeline. One *tick* is one sample at this rate."""

BLOCK_S = 0.02
"""Length of the blocks in which the user's voice is sent."""

BLOCK_TICKS = 480

Samples = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """Mono sound: int16 samples and their rate."""

    samples: Samples
    rate_hz: int

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return len(self.samples) / self.rate_hz
