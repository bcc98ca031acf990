"""Sound in memory: mono int16 samples, the timeline's rate, resampling and levels. Files: `audio_files`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.timeline import BLOCK_S as BLOCK_S
from pytest_voicebench.timeline import BLOCK_TICKS as BLOCK_TICKS
from pytest_voicebench.timeline import RATE_HZ as RATE_HZ

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


def to_int16(samples: NDArray[np.floating[Any]]) -> Samples:
    """Nearest int16 of samples in int16 units; what lies beyond full scale is clipped. NaN must not come in."""
    rounded: Samples = np.clip(np.rint(samples), -32768, 32767).astype(np.int16)
    return rounded


def resample(audio: Audio, rate_hz: int) -> Audio:
    """The same sound at another rate, round(n * rate_hz / rate) samples long, nothing shifted.

    soxr's HQ filter. It runs in float and is rounded here: soxr's own int16 adds dither, and digital silence must stay
    silent.
    """
    if audio.rate_hz == rate_hz or len(audio.samples) == 0:
        return Audio(samples=audio.samples, rate_hz=rate_hz)
    import soxr

    found = soxr.resample(audio.samples.astype(np.float32), audio.rate_hz, rate_hz, quality="HQ")
    length = round(len(audio.samples) * rate_hz / audio.rate_hz)
    return Audio(samples=_with_length(to_int16(found), length), rate_hz=rate_hz)


class StreamResampler:
    """Resamples sound that comes in pieces; the pieces joined equal `resample` of the whole.

    What comes out lags behind what goes in by the filter's length (a few ms); `flush` gives the rest.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz = from_hz
        self._to_hz = to_hz
        self._restart()

    def feed(self, samples: Samples) -> Samples:
        """The part of the output that is known now; may be empty."""
        self._taken += len(samples)
        if self._stream is None or len(samples) == 0:
            found = samples
        else:
            found = to_int16(self._stream.resample_chunk(samples.astype(np.float32), last=False))
        self._given += len(found)
        return found

    def flush(self) -> Samples:
        """The rest of the output; afterwards a new stream begins."""
        missing = round(self._taken * self._to_hz / self._from_hz) - self._given
        rest: Samples = np.zeros(0, np.int16)
        if self._stream is not None and self._taken:
            rest = to_int16(self._stream.resample_chunk(np.zeros(0, np.float32), last=True))
        self._restart()
        return _with_length(rest, missing)

    def _restart(self) -> None:
        self._taken = 0
        self._given = 0
        self._stream: Any = None
        if self._from_hz != self._to_hz:
            import soxr

            self._stream = soxr.ResampleStream(self._from_hz, self._to_hz, 1, dtype="float32", quality="HQ")


def rms_dbfs(samples: Samples) -> float:
    """RMS level relative to a full-scale square wave; -inf for silence and for no samples."""
    if len(samples) == 0:
        return -math.inf
    wide = samples.astype(np.float64)
    return _dbfs(math.sqrt(float(np.dot(wide, wide)) / len(wide)))


def peak_dbfs(samples: Samples) -> float:
    """Level of the sample farthest from zero; -inf for silence and for no samples."""
    if len(samples) == 0:
        return -math.inf
    return _dbfs(max(int(samples.max()), -int(samples.min())))


def _dbfs(amplitude: float) -> float:
    return 20 * math.log10(amplitude / 32768) if amplitude else -math.inf


def _with_length(samples: Samples, length: int) -> Samples:
    """The first `length` samples, silence added where there are fewer."""
    if len(samples) >= length:
        return samples[:length]
    return np.concatenate([samples, np.zeros(length - len(samples), np.int16)])
