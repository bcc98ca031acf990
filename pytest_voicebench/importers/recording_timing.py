"""The timing of a released recording: where its speech is, and with alignment where each word is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from pytest_voicebench.alignment import Alignment, AlignmentError, align
from pytest_voicebench.audio import Audio
from pytest_voicebench.audio_files import AudioError, Channel, ChannelError, read_audio
from pytest_voicebench.files import file_sha256
from pytest_voicebench.scenario import Timing
from pytest_voicebench.silero import merged
from pytest_voicebench.speech import SPEECH_DBFS, detect_user_speech
from pytest_voicebench.timeline import RATE_HZ

LOUDER_DB = 6.0
"""So much louder one channel must be than the other to be the one with the voice."""

LOUD_ABOVE_FLOOR_DB = 20.0

_PAUSE_TICKS = round(0.5 * RATE_HZ)  # speech after a shorter one belongs to the request
_MOST_CUTS = 6

Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRecording:
    """A recording's timing, the channel of the user's voice (None: there is one), and remarks on the file."""

    timing: Timing
    source: Literal["aligned", "detected"]
    channel: Channel | None = None
    remarks: tuple[str, ...] = ()


def timed_recording(path: Path, text: str, *, with_words: bool) -> TimedRecording:
    """Where speech is in a recording. Raises AudioError where it cannot be used, or holds no speech.

    With words, the speech is that of the text alone: what lies before its first word and after its last (clicks,
    breaths, other speech) is left out. Where the text cannot be laid on the recording, speech is detected, and a remark
    says why.
    """
    audio, channel, remarks = read_voice(path)
    if with_words:
        try:
            return _aligned(path, audio, text, channel, remarks)
        except AlignmentError as error:
            remarks.append(f"words not aligned: {error}")
    spans = tuple((s.start_ticks / RATE_HZ, s.end_ticks / RATE_HZ) for s in detect_user_speech(audio))
    if not spans:
        spans = loud_part(audio)
        if not spans:
            raise AudioError(f"{path}: no speech was detected in it")
        remarks.append("no speech was detected in it; its loud part is taken for speech")
    timing = _timing(path, audio, spans, ())
    return TimedRecording(timing=timing, source="detected", channel=channel, remarks=tuple(remarks))


def loud_part(audio: Audio) -> Spans:
    """Stretches 20 dB and more above the recording's floor, and audible at all; gaps under 0.3 s closed.

    For voices that a detector does not take for one. Nothing where the whole recording is equally loud, or silent.

    Bounds lie on whole frames of 10 ms, outside the sound: a voice that ends one sample after 15.28 s ends at 15.29 s
    here. A result file's words may say 15.28 s of it; where there is a recording, the recording is believed.
    """
    size = max(audio.rate_hz // 100, 1)
    frames = audio.samples[: len(audio.samples) // size * size].astype(np.float64).reshape(-1, size)
    levels = 10 * np.log10(np.maximum((frames**2).mean(axis=1) / 32768**2, 1e-9))
    if not len(levels):
        return ()
    loud = np.flatnonzero(levels >= max(float(np.percentile(levels, 5)) + LOUD_ABOVE_FLOOR_DB, SPEECH_DBFS))
    ticks = size * RATE_HZ / audio.rate_hz
    spans = merged((round(frame * ticks), round((frame + 1) * ticks)) for frame in loud.tolist())
    return tuple((a / RATE_HZ, b / RATE_HZ) for a, b in spans)


def read_voice(path: Path) -> tuple[Audio, Channel | None, list[str]]:
    """A recording's sound, its channel where it has two, and remarks. Raises AudioError.

    Of two channels that are alike the left one is taken, else the one that is 6 dB louder, else their mean.
    """
    channel: Channel | None = None
    try:
        file = read_audio(path)
    except ChannelError:
        channel = _voice_channel(path)
        file = read_audio(path, channel=channel)
    return file.audio, channel, [text.removeprefix(f"{path}: ") for text in file.warnings]


def _voice_channel(path: Path) -> Channel:
    from pytest_voicebench.audio import rms_dbfs

    left, right = (read_audio(path, channel=side).audio.samples for side in ("left", "right"))
    if (left == right).all():
        return "left"
    difference = rms_dbfs(left) - rms_dbfs(right)
    if abs(difference) >= LOUDER_DB:
        return "left" if difference > 0 else "right"
    try:
        read_audio(path, channel="mix")
    except AudioError:  # opposite phases cancel each other out
        return "left"
    return "mix"


def _aligned(path: Path, audio: Audio, text: str, channel: Channel | None, remarks: list[str]) -> TimedRecording:
    if not text:
        raise AlignmentError("the release does not say its text")
    found = _align_request(audio, text)
    timing = _timing(path, audio, spoken_part(found.speech, found.words), found.words, found.unsure)
    return TimedRecording(timing=timing, source="aligned", channel=channel, remarks=(*remarks, *found.remarks))


def _align_request(audio: Audio, text: str) -> Alignment:
    """The text laid on the recording, or on the part of it before speech that is not the text's. Raises AlignmentError.

    Where others talk after the request, the whole recording does not fit; it is tried again without its last stretch
    of speech, and so on.
    """
    try:
        return align(audio, text)
    except AlignmentError as error:
        spans, refusal = detect_user_speech(audio), error
    pauses = [a.end_ticks for a, b in pairwise(spans) if b.start_ticks - a.end_ticks >= _PAUSE_TICKS]
    for end_ticks in pauses[: -_MOST_CUTS - 1 : -1]:
        size = round((end_ticks + _PAUSE_TICKS // 2) * audio.rate_hz / RATE_HZ)
        with suppress(AlignmentError):
            return align(Audio(samples=audio.samples[:size], rate_hz=audio.rate_hz), text)
    raise refusal


def spoken_part(speech: Spans, words: tuple[tuple[str, float, float], ...]) -> Spans:
    """Of the speech, what lies between the first word's start and the last word's end; both are always in it."""
    first, last = words[0][1], max(end for _, _, end in words)
    inside = [[max(a, first), min(b, last)] for a, b in speech if a < last and b > first]
    inside = [span for span in inside if span[0] < span[1]] or [[first, last]]
    inside[0][0], inside[-1][1] = first, last
    return tuple((a, b) for a, b in inside)


def _timing(
    path: Path, audio: Audio, speech: Spans, words: tuple[tuple[str, float, float], ...], unsure: tuple[int, ...] = ()
) -> Timing:
    return Timing(audio_sha256=file_sha256(path), rate_hz=audio.rate_hz, speech=speech, words=words, unsure=unsure)
