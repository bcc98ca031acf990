"""The sound of telephone lines: 8 kHz mu-law of ITU-T G.711, one byte a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import Samples

RATE_HZ = 8_000

_LARGEST = 32_635
"""Beyond it a sample is clipped: the largest magnitude for which the bias fits into 15 bits."""

_BIAS = 132
"""33 of G.711's 14-bit samples: it makes every segment begin at a power of two."""


def _encoding() -> NDArray[np.uint8]:
    """The byte of every int16, from -32768 on."""
    values = np.arange(-32_768, 32_768)
    biased = np.minimum(np.abs(values), _LARGEST) + _BIAS
    segment = np.floor(np.log2(biased)).astype(np.int64) - 7
    step = (biased >> (segment + 3)) & 0x0F
    sign: NDArray[Any] = np.where(values < 0, 0x80, 0)
    codes: NDArray[np.uint8] = (~(sign | segment << 4 | step) & 0xFF).astype(np.uint8)
    return codes


def _decoding() -> NDArray[np.int16]:
    """The int16 of every byte."""
    code = ~np.arange(256) & 0xFF
    magnitude = ((((code & 0x0F) << 3) + _BIAS) << (code >> 4 & 0x07)) - _BIAS
    values: NDArray[np.int16] = np.where(code & 0x80, -magnitude, magnitude).astype(np.int16)
    return values


_CODES, _VALUES = _encoding(), _decoding()


def encode_mulaw(samples: Samples) -> bytes:
    """One byte a sample: sign, segment and step of the interval of G.711's table 2a it lies in, all bits turned over.

    A decision value belongs to the interval above it; negative samples mirror positive ones, and zero is 0xFF.
    """
    codes: NDArray[np.uint8] = _CODES[samples.astype(np.int32) + 32_768]
    return codes.tobytes()


def decode_mulaw(encoded: bytes) -> Samples:
    """The values of G.711's table 2, scaled from 14 to 16 bits (times 4): -32124 to 32124."""
    samples: Samples = _VALUES[np.frombuffer(encoded, np.uint8)]
    return samples
