"""Repairs WAV headers that lie about the length of the sound, as crashed or streaming recorders leave them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_FIXED_SIZE_FORMATS = frozenset({_PCM, _FLOAT, _EXTENSIBLE})
_STREAMED = frozenset({0xFFFFFFFF, 0x7FFFFFFF, 0x7FFFF000})  # what recorders write that cannot go back to the header


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where a WAV file's samples lie: first byte, bytes that the header claims, bytes a frame, bytes a second."""

    start: int
    claimed: int
    frame: int
    bytes_per_s: int


def repaired_wav(data: bytes) -> tuple[bytes, list[str]]:
    """The file with a header that tells the truth, and what was wrong with it.

    A claim shorter than the file, where no other chunks follow, is read to the end of the file; a claim that is longer
    is cut to what is there; part of a frame at the end is dropped. Anything but an uncompressed WAV file is returned
    as it is.
    """
    layout = _layout_of(data)
    if layout is None:
        return data, []
    held = len(data) - layout.start
    if layout.claimed <= held and _are_chunks(data, layout.start + layout.claimed + layout.claimed % 2):
        held = layout.claimed
    whole = held - held % layout.frame
    warnings = _length_warnings(layout, held)
    if held != whole:
        warnings.append(f"the last {held - whole} bytes are part of a sample and were dropped")
    if not warnings:
        return data, []
    sizes_fixed = data[:4] + struct.pack("<I", layout.start + whole - 8) + data[8 : layout.start - 4]
    return sizes_fixed + struct.pack("<I", whole) + data[layout.start : layout.start + whole], warnings


def _length_warnings(layout: _Layout, held: int) -> list[str]:
    if abs(layout.claimed - held) < layout.frame or layout.claimed in _STREAMED:
        return []
    claimed_s, held_s = layout.claimed / layout.bytes_per_s, held / layout.bytes_per_s
    return [f"the header says {claimed_s:.3f} s of sound, the file holds {held_s:.3f} s: read to the end of the file"]


def _layout_of(data: bytes) -> _Layout | None:
    """None unless this is an uncompressed WAV file with a format and a data chunk."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    position, frame, bytes_per_s = 12, 0, 0
    while position + 8 <= len(data):
        name = data[position : position + 4]
        (size,) = struct.unpack_from("<I", data, position + 4)
        body = position + 8
        if name == b"fmt " and body + 16 <= len(data):
            code, _, _, bytes_per_s, frame = struct.unpack_from("<HHIIH", data, body)
            if code not in _FIXED_SIZE_FORMATS or not frame or not bytes_per_s:
                return None
        elif name == b"data":
            return _Layout(start=body, claimed=size, frame=frame, bytes_per_s=bytes_per_s) if frame else None
        position = body + size + size % 2
    return None


def _are_chunks(data: bytes, position: int) -> bool:
    """Whether nothing, a pad byte, or only whole chunks with printable names lie from here to the end of the file."""
    while position + 8 <= len(data):
        name = data[position : position + 4]
        (size,) = struct.unpack_from("<I", data, position + 4)
        if not all(32 <= byte < 127 for byte in name):
            return False
        position += 8 + size + size % 2
    return position in (len(data), len(data) + 1)
