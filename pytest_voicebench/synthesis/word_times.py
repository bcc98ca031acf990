"""Word times where the engine gives none: by forced alignment of the whole recording, else by length and unsure."""

from __future__ import annotations

import itertools

import numpy as np

from pytest_voicebench.alignment import Alignment, AlignmentError, align
from pytest_voicebench.audio import Audio
from pytest_voicebench.synthesis.engines import Spoken


def times_by_length(spoken: Spoken, words: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """The time between the first and the last sample above 1 % of the peak, dealt out by letters, in seconds."""
    sounding = np.flatnonzero(np.abs(spoken.wave) >= 0.01 * np.abs(spoken.wave).max()) / spoken.rate_hz
    shares = np.cumsum([0, *(len(word) for word in words)]) / sum(len(word) for word in words)
    borders = [float(border) for border in sounding[0] + shares * (sounding[-1] - sounding[0])]
    return tuple(itertools.pairwise(borders))


def aligned(audio: Audio, text: str, words: int) -> Alignment | None:
    """The alignment of a transcript, or None where it cannot be made or does not find that number of words."""
    try:
        found = align(audio, text)
    except AlignmentError:
        return None
    return found if len(found.words) == words else None
