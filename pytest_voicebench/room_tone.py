"""The noise of a speaker's room, addressed by position: any stretch can be asked for, in any order, again.

Integer arithmetic only, so that no version of numpy changes a sample.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import RATE_HZ, Samples

PAGE = 24_000
"""Samples of a page."""

_SCALE_BITS = 32
_CORNER_HZ = 1500  # two running means of 1 / _CORNER_HZ s: the roll-off of a room with a fan somewhere, not a hiss
_BREATH = 4  # weight of the unfiltered noise beside the filtered one's 1, 2, ..., n, ..., 2, 1
_ORIGIN = 1 << 40  # the filter looks back beyond position 0, and unsigned numbers must not wrap around


def room_tone(seed: int, level_dbfs: float, start_sample: int, n: int, rate_hz: int = RATE_HZ) -> Samples:
    """Samples `start_sample` to `start_sample + n` of an endless noise whose RMS is `level_dbfs` (within 0.5 dB).

    Two calls that cover the same positions agree on them. Seeds give independent noises; each rate has its own. Levels
    of -20 dBFS and less are kept; louder ones clip. Raises ValueError for a negative position or length.
    """
    if start_sample < 0 or n < 0:
        raise ValueError(f"room tone has no samples before 0: start {start_sample}, length {n}")
    end = start_sample + n
    pages = [
        tone_page(seed, level_dbfs, page, rate_hz)[max(start_sample - page * PAGE, 0) : min(end - page * PAGE, PAGE)]
        for page in range(start_sample // PAGE, -(-end // PAGE))
    ]
    return np.concatenate(pages) if pages else np.zeros(0, np.int16)


@lru_cache(maxsize=512)
def tone_page(seed: int, level_dbfs: float, page: int, rate_hz: int) -> Samples:
    """Samples `page * PAGE` to `(page + 1) * PAGE` of the noise, read-only.

    Pages are kept, 25 MB of them at most, and shared: a hundred conversations in a few rooms hold them by reference.
    """
    width = max(2, rate_hz // _CORNER_HZ)
    white = _white(seed, page * PAGE - 2 * (width - 1), PAGE + 2 * (width - 1))
    dark = _running_sum(_running_sum(white, width), width)
    mixed = dark + _BREATH * white[2 * (width - 1) :]
    scale = _scale(level_dbfs, width)
    half = 1 << (_SCALE_BITS - 1)
    samples: Samples = np.clip((mixed * scale + half) >> _SCALE_BITS, -32768, 32767).astype(np.int16)
    samples.setflags(write=False)
    return samples


def _white(seed: int, start: int, n: int) -> NDArray[np.int64]:
    """Odd integers in +-65535, evenly spread: splitmix64 of seed and position (Steele, Lea, Flood 2014)."""
    z = np.arange(n, dtype=np.uint64) + np.uint64(_ORIGIN + start)
    z ^= np.uint64((seed * 0x9E3779B97F4A7C15) % (1 << 64))
    z *= np.uint64(0x9E3779B97F4A7C15)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return 2 * (z >> np.uint64(48)).astype(np.int64) - 65535


def _running_sum(values: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Sums over every `width` values in a row."""
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
    sums: NDArray[np.int64] = total[width:] - total[:-width]
    return sums


def _scale(level_dbfs: float, width: int) -> int:
    """What the mixed noise is multiplied by, times 2 ** _SCALE_BITS. Decimal, whose powers are the same everywhere."""
    kernel = [min(i + 1, 2 * width - 1 - i) for i in range(2 * width - 1)]
    kernel[0] += _BREATH  # the unfiltered noise is the newest sample's, where the kernel's weight is 1
    power = sum(weight * weight for weight in kernel)
    with localcontext(Context(prec=28)):
        rms = (Decimal(65536 * 65536 - 1) / 3 * power).sqrt()
        wanted = Decimal(32768) * Decimal(10) ** (Decimal(str(level_dbfs)) / 20)
        return round(wanted / rms * (1 << _SCALE_BITS))
