"""One recording from pieces spoken apart: levelled, trimmed to their speech, joined by exact digital silence."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import Audio
from pytest_voicebench.synthesis.engines import EngineError, Spoken, Voice, Wave, speak
from pytest_voicebench.synthesis.markup import Piece, pieces, transcript
from pytest_voicebench.synthesis.word_times import aligned, times_by_length

RATE_HZ = 16_000
"""Rate of synthesised recordings: that of most engine voices."""

LEVEL_DBFS = -23.0
"""RMS of the speech, silence left out."""

SPEECH_FLOOR_DBFS = -50.0
"""Frames of FRAME_S at this RMS or more are speech."""

FRAME_S = 0.005
MERGE_S = 0.30
LEAD_S = 0.30
TAIL_S = 0.20
FADE_S = 0.005
BREATH_S = 0.06
"""Sound this far outside the words that an engine names is not speech: diphone voices hum in their pauses."""

RATE_SPREAD = 0.04
FILLERS = frozenset({"um", "uh", "er", "erm", "hmm", "mm", "ah"})
FILLER_SPEED = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Spliced:
    """A dry recording; times in seconds from its start. `unsure`: indexes of words whose times are guessed."""

    samples: NDArray[np.int16]
    rate_hz: int
    speech: tuple[tuple[float, float], ...]
    words: tuple[tuple[str, float, float], ...]
    unsure: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    piece: Piece
    wave: Wave
    times: tuple[tuple[float, float], ...]
    unsure: bool


def record(text: str, voice: Voice, seed: int) -> Spliced:
    """The recording of a marked text. The seed varies the speaking rate from piece to piece by up to 4 %.

    Speech edges are measured here, on sound without room tone, and are exact to FRAME_S. Raises MarkupError and
    EngineError.
    """
    dice = random.Random(seed)
    said = [_say(piece, voice, 1.0 + dice.uniform(-RATE_SPREAD, RATE_SPREAD)) for piece in pieces(text)]
    gain = _gain(np.concatenate([one.wave for one in said]))
    spliced = _join([replace(one, wave=one.wave * gain) for one in said])
    return _with_aligned_words(spliced, transcript(text)) if spliced.unsure else spliced


def _with_aligned_words(spliced: Spliced, text: str) -> Spliced:
    """The guessed word times replaced by those of an alignment, where one can be made. Speech edges stay."""
    audio = Audio(samples=spliced.samples, rate_hz=spliced.rate_hz)
    found = aligned(audio, text, len(spliced.words))
    if found is None:
        return spliced
    words = tuple((ours[0], start, end) for ours, (_, start, end) in zip(spliced.words, found.words, strict=True))
    return replace(spliced, words=words, unsure=found.unsure)


def _say(piece: Piece, voice: Voice, speed: float) -> _Said:
    spoken_words = tuple(part for word in piece.words for part in word.spoken.split())
    if all(word.strip(".,?!").lower() in FILLERS for word in spoken_words):
        speed *= FILLER_SPEED
    spoken = _shaped(speak(spoken_words, voice, speed / voice.size), voice)
    if not np.abs(spoken.wave).max(initial=0.0) > 0.0:
        raise EngineError(f"{voice.engine} says nothing for {' '.join(spoken_words)!r}: write it as words")
    known = spoken.word_times or times_by_length(spoken, spoken_words)
    times, at = [], 0
    for word in piece.words:
        parts = len(word.spoken.split())
        times.append((known[at][0], known[at + parts - 1][1]))
        at += parts
    wave = _hushed(spoken.wave, known[0][0], known[-1][1])
    said = _Said(piece=piece, wave=wave, times=tuple(times), unsure=spoken.word_times is None)
    return _cut(said) if piece.kept < 1.0 else said


def _hushed(wave: Wave, first_s: float, last_s: float) -> Wave:
    """The wave, silent more than BREATH_S before its first word and after its last."""
    hushed = wave.copy()
    hushed[: max(0, round((first_s - BREATH_S) * RATE_HZ))] = 0.0
    hushed[round((last_s + BREATH_S) * RATE_HZ) :] = 0.0
    return hushed


def _shaped(spoken: Spoken, voice: Voice) -> Spoken:
    """At RATE_HZ, with the voice's size (read faster, so higher in pitch and formants) and band."""
    import soxr

    read_as_hz = spoken.rate_hz * voice.size  # soxr takes any real ratio
    wave = soxr.resample(spoken.wave, read_as_hz, RATE_HZ, quality="VHQ")
    if voice.band_hz is not None:
        wave = _band(wave, *voice.band_hz)
    times = spoken.word_times
    if times is not None:
        times = tuple((start / voice.size, end / voice.size) for start, end in times)
    return Spoken(wave=wave, rate_hz=RATE_HZ, word_times=times)


def _band(wave: Wave, low_hz: float, high_hz: float) -> Wave:
    """A band pass with edges an eighth of an octave wide and no delay."""
    padded = np.pad(wave, RATE_HZ // 10)
    spectrum = np.fft.rfft(padded)
    octaves = np.log2(np.maximum(np.fft.rfftfreq(len(padded), 1 / RATE_HZ), 1.0))
    rise = np.clip((octaves - np.log2(low_hz)) * 4 + 0.5, 0, 1)
    fall = np.clip((np.log2(high_hz) - octaves) * 4 + 0.5, 0, 1)
    return np.asarray(np.fft.irfft(spectrum * rise * fall, len(padded)))[RATE_HZ // 10 :][: len(wave)]


def _cut(said: _Said) -> _Said:
    """The first part of a word, as long as its share of the letters, and no shorter than 90 ms."""
    start_s, end_s = said.times[0]
    end_s = start_s + max(0.09, (end_s - start_s) * said.piece.kept)
    wave = said.wave[: round(end_s * RATE_HZ)].copy()
    fade = min(len(wave), round(0.02 * RATE_HZ))
    wave[len(wave) - fade :] *= np.linspace(1.0, 0.0, fade)
    return replace(said, wave=wave, times=((start_s, end_s),))


def _frame_dbfs(wave: Wave) -> NDArray[np.float64]:
    frame = round(FRAME_S * RATE_HZ)
    whole = wave[: len(wave) // frame * frame].reshape(-1, frame)
    return np.asarray(10 * np.log10(np.maximum((whole**2).mean(axis=1), 1e-12)))


def _gain(wave: Wave) -> float:
    """Factor that brings the louder frames (within 30 dB of the loudest tenth) to LEVEL_DBFS, without clipping."""
    levels = _frame_dbfs(wave)
    loud = levels[levels > np.percentile(levels, 90) - 30]
    level_dbfs = 10 * np.log10((10 ** (loud / 10)).mean())
    return float(min(10 ** ((LEVEL_DBFS - level_dbfs) / 20), 0.98 / np.abs(wave).max()))


def _speech(wave: Wave) -> list[tuple[float, float]]:
    """Spans at SPEECH_FLOOR_DBFS or more, gaps under MERGE_S closed, in seconds."""
    spans: list[tuple[float, float]] = []
    for index in np.flatnonzero(_frame_dbfs(wave) >= SPEECH_FLOOR_DBFS):
        start_s, end_s = float(index) * FRAME_S, float(index + 1) * FRAME_S
        if spans and start_s - spans[-1][1] < MERGE_S:
            spans[-1] = (spans[-1][0], end_s)
        else:
            spans.append((start_s, end_s))
    return spans


def _join(said: list[_Said]) -> Spliced:
    """The pauses lie between the measured end of a piece's speech and the start of the next one's."""
    track: list[Wave] = [np.zeros(round(LEAD_S * RATE_HZ))]
    at = len(track[0])
    speech: list[tuple[float, float]] = []
    words: list[tuple[str, float, float]] = []
    unsure: list[int] = []
    for one in said:
        spans = _speech(one.wave) or [(0.0, len(one.wave) / RATE_HZ)]
        first = round(spans[0][0] * RATE_HZ)
        kept = _trimmed(one.wave, first, round(spans[-1][1] * RATE_HZ))
        shift_s = (at - first) / RATE_HZ
        speech += [(start + shift_s, end + shift_s) for start, end in spans]
        unsure += range(len(words), len(words) + len(one.times)) if one.unsure else ()
        words += _placed(one, spans, shift_s)
        silence = np.zeros(round(one.piece.pause_s * RATE_HZ))
        track += [kept, silence]
        at += len(kept) + len(silence)
    track[-1] = np.zeros(round(TAIL_S * RATE_HZ))
    samples = np.round(np.concatenate(track) * 32767).astype(np.int16)
    return Spliced(samples=samples, rate_hz=RATE_HZ, speech=_merged(speech), words=tuple(words), unsure=tuple(unsure))


def _trimmed(wave: Wave, first: int, last: int) -> Wave:
    """The samples from first to last, faded over FADE_S so that nothing clicks."""
    kept = wave[first:last].copy()
    fade = min(len(kept) // 2, round(FADE_S * RATE_HZ))
    kept[:fade] *= np.linspace(0.0, 1.0, fade)
    kept[len(kept) - fade :] *= np.linspace(1.0, 0.0, fade)
    return kept


def _placed(said: _Said, spans: list[tuple[float, float]], shift_s: float) -> list[tuple[str, float, float]]:
    """The piece's words on the recording's timeline, inside the piece's speech."""
    low, high = spans[0][0], spans[-1][1]
    placed = []
    for word, (start, end) in zip(said.piece.words, said.times, strict=True):
        start, end = min(max(start, low), high), min(max(end, low), high)
        placed.append((word.written.strip('.,?!;:"()'), start + shift_s, end + shift_s))
    return placed


def _merged(spans: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Spans of neighbouring pieces joined where the pause between them is under MERGE_S."""
    merged: list[tuple[float, float]] = []
    for start, end in spans:
        if merged and start - merged[-1][1] < MERGE_S - 1e-9:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)
