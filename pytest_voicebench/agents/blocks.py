"""A stream of sound as its hearer wants it: at its rate, in whole blocks of 20 ms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytest_voicebench.audio import Audio, Samples, StreamResampler


class Blocks:
    """Takes sound at one rate, in pieces of any length; gives blocks at another, and keeps what is left of one."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._to_hz = to_hz
        self._resampler = StreamResampler(from_hz, to_hz)
        self._left: Samples = np.zeros(0, np.int16)

    def of(self, samples: Samples) -> Iterator[Audio]:
        """The blocks that are whole now; they lag by the resampler's filter (20 to 60 ms) where the rates differ."""
        self._left = np.concatenate([self._left, self._resampler.feed(samples)])
        size = self._to_hz // 50
        while len(self._left) >= size:
            block, self._left = self._left[:size], self._left[size:]
            yield Audio(samples=block, rate_hz=self._to_hz)
