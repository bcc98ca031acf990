"""When each word of a piece is heard: from the engine, else by forced alignment, else by length and marked unsure."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_voicebench.synthesis.engines import Spoken

ALIGN_RATE_HZ = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTimes:
    """Start and end of each word in seconds from the start of the sound. `unsure`: they are guessed."""

    times: tuple[tuple[float, float], ...]
    unsure: bool


def word_times(spoken: Spoken, words: tuple[str, ...]) -> WordTimes:
    """Times of all words of a piece, the best that can be had here."""
    if spoken.word_times is not None:
        return WordTimes(times=spoken.word_times, unsure=False)
    aligned = _aligned(spoken, words)
    if aligned is not None:
        return WordTimes(times=aligned, unsure=False)
    return WordTimes(times=_by_length(spoken, words), unsure=True)


def _by_length(spoken: Spoken, words: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """The time between the first and the last sample above 1 % of the peak, dealt out by letters."""
    sounding = np.flatnonzero(np.abs(spoken.wave) >= 0.01 * np.abs(spoken.wave).max()) / spoken.rate_hz
    shares = np.cumsum([0, *(len(word) for word in words)]) / sum(len(word) for word in words)
    borders = [float(border) for border in sounding[0] + shares * (sounding[-1] - sounding[0])]
    return tuple(itertools.pairwise(borders))


def _aligned(spoken: Spoken, words: tuple[str, ...]) -> tuple[tuple[float, float], ...] | None:
    """By pocketsphinx, or None where it is not installed, does not know a word, or finds another number of words."""
    if importlib.util.find_spec("pocketsphinx") is None:
        return None
    import soxr

    plain = [re.sub(r"[^a-z']", "", word.lower()) for word in words]
    decoder = _decoder()
    if not all(word and decoder.lookup_word(word) for word in plain):
        return None
    samples = soxr.resample(spoken.wave, spoken.rate_hz, ALIGN_RATE_HZ)
    decoder.set_align_text(" ".join(plain))
    decoder.start_utt()
    decoder.process_raw((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes(), full_utt=True)
    decoder.end_utt()
    frames_hz = float(decoder.config["frate"])
    found = [
        (segment.start_frame / frames_hz, (segment.end_frame + 1) / frames_hz)
        for segment in decoder.seg() or ()
        if not segment.word.startswith(("<", "["))
    ]
    return tuple(found) if len(found) == len(words) else None


@functools.cache
def _decoder() -> Any:
    from pocketsphinx import Decoder

    return Decoder(samprate=ALIGN_RATE_HZ, loglevel="FATAL")
