"""Whether sound that should be bare PCM is: a file in its place would be played as noise, and counted as speech."""

from __future__ import annotations

import re

from pytest_voicebench.audio import RATE_HZ

_FILES = (b"RIFF", b"OggS", b"fLaC", b"ID3", b"\x1aE\xdf\xa3")
_FRAMES = frozenset({0xE2, 0xE3, 0xF0, 0xF1, 0xF2, 0xF3, 0xF8, 0xF9, 0xFA, 0xFB})
"""The second byte of a frame of MP3 or AAC, after 0xFF: as PCM the first sample would be one of ten values of -30 dBFS
and louder, and no voice begins like that."""
_RATE = re.compile(r"\brate=(\d+)")


def bytes_flaw(first: bytes) -> str | None:
    """What is wrong with the first bytes of a sound (four will do), or None."""
    is_frame = len(first) > 1 and first[0] == 0xFF and first[1] in _FRAMES
    if is_frame or first.startswith(_FILES) or first[4:8] == b"ftyp":
        return "a sound file came where bare PCM is due"
    return None


def kind_flaw(content_type: str) -> str | None:
    """What is wrong with the kind that a service gives its sound, or None: many call everything audio/mpeg."""
    if content_type.startswith(("text/", "application/json")):
        return f"{content_type} came where PCM is due"
    rate = _RATE.search(content_type)
    if rate and int(rate[1]) != RATE_HZ:
        return f"{content_type} came where {RATE_HZ} samples a second are due"
    return None
