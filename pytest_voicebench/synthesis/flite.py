"""flite's command line, and word times from the segments it prints."""

from __future__ import annotations

import functools
from collections.abc import Callable


def flite_arguments(name: str, pitch_hz: float | None, speed: float) -> list[str]:
    """The command without text and output file. Segments are printed as `phone:end_seconds`."""
    pitch = [] if pitch_hz is None else ["--setf", f"int_f0_target_mean={pitch_hz:g}"]
    return ["flite", "-voice", name, "--setf", f"duration_stretch={1.0 / speed:.4f}", *pitch, "-psdur"]


def flite_word_times(
    segments: str, words: tuple[str, ...], run: Callable[[list[str]], str]
) -> tuple[tuple[float, float], ...] | None:
    """Start and end of each word in seconds, or None where the segments cannot be dealt out to the words.

    flite prints no word borders. A word has as many phones in a sentence as alone, so the phones are dealt out by
    count; where the counts do not add up, nothing is claimed.
    """
    phones = _phones(segments)
    counts = [_phones_alone(word, run) for word in words]
    if sum(counts) != len(phones) or 0 in counts:
        return None
    times, at = [], 0
    for count in counts:
        times.append((phones[at][0], phones[at + count - 1][1]))
        at += count
    return tuple(times)


def _phones(segments: str) -> list[tuple[float, float]]:
    """Start and end of each phone; pauses are left out."""
    found, start_s = [], 0.0
    for entry in segments.split():
        name, _, end = entry.rpartition(":")
        if name != "pau":
            found.append((start_s, float(end)))
        start_s = float(end)
    return found


@functools.lru_cache(maxsize=4096)
def _phones_alone(word: str, run: Callable[[list[str]], str]) -> int:
    """Phones of the word said alone, by the quickest voice: all voices share one dictionary."""
    return len(_phones(run(["flite", "-voice", "kal", "-psdur", "-t", f"{word} ", "-o", "none"])))
