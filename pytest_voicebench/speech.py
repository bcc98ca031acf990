"""Where speech is: in an agent's channel, which is silent between turns, and in recordings of people in rooms.

Silero says what is speech; energy says exactly where it begins and ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample
from pytest_voicebench.conversation import Span
from pytest_voicebench.silero import MINIMUM_TICKS, Bounds, merged, silero_spans

SPEECH_DBFS = -50.0
"""An agent's 5 ms frame is audible from this RMS level on."""

FRAME_TICKS = 120
"""5 ms."""

LOOKBACK_TICKS = round(0.30 * RATE_HZ)
"""How far before a Silero span audible frames still belong to it."""

_REGION_GAP_TICKS = round(0.60 * RATE_HZ)  # more than the gap that is merged: no span is cut by a region's border
_MARGIN_TICKS = _REGION_GAP_TICKS // 2

_REFINED_ABOVE_DB = 38.0  # from here on energy finds edges better than Silero does
_SILERO_LATE_TICKS = round(0.06 * RATE_HZ)
_BELOW_SPEECH_DB = 34.0  # how far under the loud part of speech its edges lie
_ABOVE_FLOOR_DB = 10.0
_EDGE_FRAMES = 60  # 0.3 s: how far energy may move an edge
_HOLE_FRAMES = 12  # 60 ms: a stop consonant's closure; a longer quiet parts a breath from the word after it
_SILENCE_DBFS = -90.0


def detect_agent_speech(samples_24k: Samples) -> tuple[Span, ...]:
    """Spans of speech in an agent's channel as heard, in ticks, in order.

    5 ms frames of -50 dBFS RMS or more that begin inside a Silero span or up to 0.3 s before it; gaps under 0.30 s are
    merged, then what is under 0.10 s is dropped. Frames are counted from the first loud sample of each stretch of
    sound, so a reply has the same spans, shifted, wherever it starts. Silence and no samples give no spans.
    """
    found: Bounds = []
    for start, end in _loud_regions(samples_24k):
        speech = silero_spans(Audio(samples=_with_margins(samples_24k, start, end), rate_hz=RATE_HZ))
        near = [(a - _MARGIN_TICKS - LOOKBACK_TICKS, b - _MARGIN_TICKS) for a, b in speech]
        for first, last in _runs(_audible_frames(samples_24k[start:end], near)):
            found.append((start + first * FRAME_TICKS, min(start + last * FRAME_TICKS, end)))
    return tuple(Span(start_ticks=a, end_ticks=b) for a, b in merged(found))


def detect_user_speech(audio: Audio) -> tuple[Span, ...]:
    """Spans of speech in a recording of a person, at any rate, in ticks of 24 kHz, in order.

    Silero's spans (gaps under 0.3 s merged, minimum 0.1 s). Where the recording's speech stands 38 dB or more above its
    floor, edges are moved to the first and last frame with energy; else the start is Silero's and the end is Silero's
    minus 60 ms, which is how late it is on average. Breaths, clicks and room noise are not speech.
    """
    spans = silero_spans(audio)
    if not spans:
        return ()
    levels = _frame_levels_dbfs(resample(audio, RATE_HZ).samples)
    inside = np.zeros(len(levels), np.bool_)
    for a, b in spans:
        inside[a // FRAME_TICKS : -(-b // FRAME_TICKS)] = True
    speech, floor = float(np.percentile(levels[inside], 90)), _floor_dbfs(levels, inside)
    if speech - floor < _REFINED_ABOVE_DB:
        edges = [(a, max(b - _SILERO_LATE_TICKS, a + FRAME_TICKS)) for a, b in spans]
    else:
        loud = levels >= max(speech - _BELOW_SPEECH_DB, floor + _ABOVE_FLOOR_DB)
        edges = [_refined(loud, a, b) for a, b in spans]
    return tuple(Span(start_ticks=a, end_ticks=b) for a, b in merged(edges))


def _loud_regions(samples: Samples) -> Bounds:
    """Stretches that can hold audible frames: from loud sample to loud sample, over 0.6 s apart, 0.1 s or longer.

    A frame of a given RMS has at least one sample of that amplitude, so nothing audible lies outside.
    """
    limit = 32768 * 10 ** (SPEECH_DBFS / 20)
    at = np.flatnonzero((samples >= limit) | (samples <= -limit))
    if len(at) == 0:
        return []
    breaks = np.flatnonzero(np.diff(at) > _REGION_GAP_TICKS)
    starts = at[np.concatenate([[0], breaks + 1])]
    ends = at[np.concatenate([breaks, [len(at) - 1]])] + 1
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b - a >= MINIMUM_TICKS]


def _with_margins(samples: Samples, start: int, end: int) -> Samples:
    """The region and 0.3 s on either side; digital silence where the recording has no more."""
    first, last = start - _MARGIN_TICKS, end + _MARGIN_TICKS
    return np.pad(samples[max(first, 0) : last], (max(-first, 0), max(last - len(samples), 0)))


def _audible_frames(samples: Samples, within: Bounds) -> NDArray[np.bool_]:
    """Which 5 ms frames, counted from the first sample, reach SPEECH_DBFS and begin within one of the bounds."""
    loud = _frame_powers(samples) >= 10 ** (SPEECH_DBFS / 10) * 32768**2
    near = np.zeros(len(loud), np.bool_)
    for a, b in within:
        near[max(-(-a // FRAME_TICKS), 0) : max(-(-b // FRAME_TICKS), 0)] = True
    return loud & near


def _frame_powers(samples: Samples) -> NDArray[np.float64]:
    """Mean square of each 5 ms frame; the last is filled up with silence."""
    frames = np.pad(samples, (0, -len(samples) % FRAME_TICKS)).astype(np.float64).reshape(-1, FRAME_TICKS)
    powers: NDArray[np.float64] = np.einsum("ij,ij->i", frames, frames) / FRAME_TICKS
    return powers


def _frame_levels_dbfs(samples: Samples) -> NDArray[np.float64]:
    """RMS level of each 5 ms frame, not under -90 dBFS."""
    levels: NDArray[np.float64] = 10 * np.log10(
        np.maximum(_frame_powers(samples) / 32768**2, 10 ** (_SILENCE_DBFS / 10))
    )
    return levels


def _runs(flags: NDArray[np.bool_]) -> Bounds:
    """Stretches of true values as (first, last + 1)."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(changes[::2], changes[1::2], strict=True)]


def _floor_dbfs(levels: NDArray[np.float64], inside: NDArray[np.bool_]) -> float:
    """Median level outside speech; the quietest twentieth of all where there is less than 0.5 s outside."""
    if np.count_nonzero(~inside) >= 100:
        return float(np.median(levels[~inside]))
    return float(np.percentile(levels, 5))


def _refined(loud: NDArray[np.bool_], start: int, end: int) -> tuple[int, int]:
    """One of Silero's spans with its edges where the energy is."""
    first, last = start // FRAME_TICKS, min(-(-end // FRAME_TICKS), len(loud))
    if not loud[first:last].any():
        return start, max(end - _SILERO_LATE_TICKS, start + FRAME_TICKS)
    return _first_loud(loud, first, last) * FRAME_TICKS, _last_loud(loud, first, last) * FRAME_TICKS


def _first_loud(loud: NDArray[np.bool_], first: int, last: int) -> int:
    """The frame where sound begins: back from Silero's start across holes of up to 60 ms, or forward to the first."""
    begin = first
    for frame in range(first - 1, max(first - _EDGE_FRAMES, 0) - 1, -1):
        if loud[frame]:
            begin = frame
        elif begin - frame > _HOLE_FRAMES:
            break
    if begin < first:
        return begin
    inside = np.flatnonzero(loud[first : min(first + _EDGE_FRAMES, last)])
    return first + int(inside[0]) if len(inside) else first


def _last_loud(loud: NDArray[np.bool_], first: int, last: int) -> int:
    """The frame after the last loud one, at most 0.3 s before Silero's end; Silero's end if all is quiet there."""
    begin = max(first, last - _EDGE_FRAMES)
    inside = np.flatnonzero(loud[begin:last])
    return begin + int(inside[-1]) + 1 if len(inside) else last
