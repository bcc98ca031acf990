"""Listening: where the user speaks in a stream of blocks, and the speech of the turn so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import Samples

INPUT_HZ = 16_000
WINDOW = 512
"""Samples that a detector judges at once."""

_BATCH = 4
_PAD = round(0.3 * INPUT_HZ)
_LONGEST_PAUSE = round(1.0 * INPUT_HZ)
_CARRIED = round(1.0 * INPUT_HZ)  # loudness alone is speech for this long after a window that sounded a bit like it
_NOISE_RISE_DB = 0.02  # per block: the estimate of the room's noise rises 1 dB a second and falls at once


@dataclass(frozen=True, slots=True, kw_only=True)
class HearingSettings:
    """What counts as speech.

    Speech starts where the detector's chance reaches `speech_on`, or `speech_on_loud` where the sound stands
    `loud_over_noise_db` above the noise; it ends below `speech_off`, unless it is still that loud. A block is shown to
    the detector where it is above `gate_dbfs` and `gate_over_noise_db` above the noise. Stretches shorter than a third
    of `least_speech_s` are left out of the turn's speech.
    """

    speech_on: float = 0.5
    speech_off: float = 0.35
    speech_on_loud: float = 0.1
    loud_over_noise_db: float = 14.0
    gate_dbfs: float = -55.0
    gate_over_noise_db: float = 8.0
    least_speech_s: float = 0.25


class Detector(Protocol):
    """Tells speech from other sound, window after window."""

    def chances(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """One chance of speech per window of 512 samples that follow the ones before."""

    def rest(self) -> None:
        """Forget the past: silence went by."""


class Hearing:
    """Streaming voice activity. Positions are samples at 16 kHz since the line opened.

    The detector runs in batches of four windows (128 ms), and only where a block stands out of the room's noise; quiet
    blocks count as silence. It knows little of voices cut to the band of a telephone: where sound stands far above the
    noise, a small chance is enough, and speech goes on while it stays loud. `forget` starts a new turn.
    """

    def __init__(self, settings: HearingSettings, detector: Detector) -> None:
        self._settings = settings
        self._detector = detector
        self._kept: list[Samples] = []
        self._kept_from = 0
        self._heard = 0
        self._done = 0
        self._loud_until = -1
        self._noise_dbfs = settings.gate_dbfs - settings.gate_over_noise_db
        self._speaking = False
        self._segments: list[list[int]] = []
        self._run_start: int | None = None
        self._likely_until = -1

    def feed(self, block: Samples) -> None:
        """Take the next block."""
        self._kept.append(block)
        self._heard += len(block)
        if self._stands_out(block):
            self._loud_until = self._heard + WINDOW
        while self._heard - self._done >= WINDOW * _BATCH:
            self._detect()
        if not self._segments and self._heard - self._kept_from > 3 * INPUT_HZ:
            self._drop(self._heard - INPUT_HZ)

    @property
    def speaking(self) -> bool:
        """Whether the user speaks now."""
        return self._speaking

    @property
    def speech_s(self) -> float:
        """Seconds of speech in the turn so far."""
        return sum(end - start for start, end in self._segments) / INPUT_HZ

    @property
    def run_s(self) -> float:
        """Seconds that the present stretch of speech has lasted; 0.0 in silence."""
        return (self._done - self._run_start) / INPUT_HZ if self._speaking and self._run_start is not None else 0.0

    @property
    def silence_s(self) -> float:
        """Seconds since the last speech of the turn; 0.0 while the user speaks or before the first word."""
        if self._speaking or not self._segments:
            return 0.0
        return (self._heard - self._segments[-1][1]) / INPUT_HZ

    def speech(self) -> NDArray[np.float32]:
        """The turn's speech in -1..1, with a little room around it and long pauses shortened."""
        whole = np.concatenate(self._kept) if self._kept else np.zeros(0, np.int16)
        pieces = []
        for start, end in self._padded():
            pieces.append(whole[max(0, start - self._kept_from) : end - self._kept_from])
        return np.concatenate(pieces).astype(np.float32) / 32768.0 if pieces else np.zeros(0, np.float32)

    def forget(self) -> None:
        """Start afresh: what was heard so far is done with."""
        self._segments = [[self._run_start or self._done, self._done]] if self._speaking else []
        keep_from = self._segments[0][0] - _PAD if self._segments else self._heard - _PAD
        self._drop(max(self._kept_from, keep_from))

    def _padded(self) -> list[tuple[int, int]]:
        spans: list[list[int]] = []
        for start, end in self._segments:
            if end - start < self._settings.least_speech_s * INPUT_HZ / 3:
                continue
            if spans and start - spans[-1][1] < _LONGEST_PAUSE:
                spans[-1][1] = end
            else:
                spans.append([start, end])
        return [(max(self._kept_from, s - _PAD), min(self._heard, e + _PAD)) for s, e in spans]

    def _stands_out(self, block: Samples) -> bool:
        dbfs = _dbfs(block.astype(np.float64) / 32768.0)
        self._noise_dbfs = min(max(dbfs, -90.0), self._noise_dbfs + _NOISE_RISE_DB)
        return dbfs > max(self._settings.gate_dbfs, self._noise_dbfs + self._settings.gate_over_noise_db)

    def _detect(self) -> None:
        start, end = self._done, self._done + WINDOW * _BATCH
        self._done = end
        if start > self._loud_until + WINDOW * _BATCH and not self._speaking:
            self._detector.rest()
            return
        samples = self._between(start, end)
        chances = self._detector.chances(samples)
        for i, chance in enumerate(chances):
            loud_db = _dbfs(samples[i * WINDOW : (i + 1) * WINDOW].astype(np.float64)) - self._noise_dbfs
            self._mark(start + i * WINDOW, self._is_speech(start + i * WINDOW, float(chance), loud_db))

    def _is_speech(self, position: int, chance: float, loud_db: float) -> bool:
        settings = self._settings
        loud = loud_db >= settings.loud_over_noise_db
        if chance >= settings.speech_on_loud:
            self._likely_until = position + _CARRIED
        if self._speaking:
            return chance >= settings.speech_off or (loud and position < self._likely_until)
        return chance >= settings.speech_on or (loud and chance >= settings.speech_on_loud)

    def _mark(self, position: int, speech: bool) -> None:
        if self._speaking and speech:
            self._segments[-1][1] = position + WINDOW
        elif speech:
            near = self._segments and position - self._segments[-1][1] < 0.3 * INPUT_HZ
            if near:
                self._segments[-1][1] = position + WINDOW
            else:
                self._segments.append([position, position + WINDOW])
            self._run_start = self._run_start if near and self._run_start is not None else position
        self._speaking = speech

    def _between(self, start: int, end: int) -> NDArray[np.float32]:
        pieces, at = [], self._kept_from
        for block in self._kept:
            if at + len(block) > start and at < end:
                pieces.append(block[max(0, start - at) : end - at])
            at += len(block)
        return np.concatenate(pieces).astype(np.float32) / 32768.0

    def _drop(self, until: int) -> None:
        until = min(until, self._done)
        while self._kept and self._kept_from + len(self._kept[0]) <= until:
            self._kept_from += len(self._kept.pop(0))


def _dbfs(samples: NDArray[np.float64]) -> float:
    power = float(samples @ samples) / max(1, len(samples))
    return 10 * math.log10(power) if power > 0 else -120.0
