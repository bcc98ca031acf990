"""The outline of a voice for the eye: at most 200 peaks a track, one letter each."""

from __future__ import annotations

import math

import numpy as np

from pytest_voicebench.audio import Samples

POINTS = 200
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def outline(samples: Samples) -> str:
    """A letter for each of up to 200 equal stretches: the root of its peak, `A` for silence to `_` for full scale.

    The root shows what is soft without making all speech look alike. The last stretch may be shorter. Empty for no
    samples.
    """
    if len(samples) == 0:
        return ""
    size = math.ceil(len(samples) / POINTS)
    whole = len(samples) // size * size
    table = samples[:whole].reshape(-1, size)
    peaks = np.maximum(table.max(axis=1).astype(np.int32), -table.min(axis=1).astype(np.int32)).tolist()
    rest = samples[whole:].astype(np.int32)
    if len(rest):
        peaks.append(int(np.abs(rest).max()))
    return "".join(map(_letter, peaks))


def _letter(peak: int) -> str:
    return LETTERS[round(math.sqrt(peak / 32768) * (len(LETTERS) - 1))]
