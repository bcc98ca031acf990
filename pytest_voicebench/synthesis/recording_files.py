"""A synthesised recording and its timing file on disk; the same sound gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import struct

from pytest_voicebench.files import file_sha256, write_atomically
from pytest_voicebench.scenario import Timing
from pytest_voicebench.synthesis.engines import Voice
from pytest_voicebench.synthesis.script import Utterance
from pytest_voicebench.synthesis.splice import Spliced, record
from pytest_voicebench.timing_file import timing_path, write_timing

VORBIS_COMPRESSION = 0.5
"""libsndfile's scale from 0.0 (largest) to 1.0 (smallest)."""


def is_made(utterance: Utterance) -> bool:
    """Whether both the recording and its timing file exist."""
    return utterance.audio.is_file() and timing_path(utterance.audio).is_file()


def make(utterance: Utterance) -> Timing:
    """Write the recording and its timing file, and return what the timing file says.

    The seed comes from the file's name and the text, so that a recording made again is the same. Raises EngineError.
    """
    seed = _seed(utterance)
    spliced = record(utterance.text, utterance.voice, seed)
    utterance.audio.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(utterance.audio, _encoded(spliced, utterance.audio.suffix[1:], seed))
    timing = Timing(
        audio_sha256=file_sha256(utterance.audio),
        rate_hz=spliced.rate_hz,
        speech=spliced.speech,
        words=spliced.words,
        voice=describe(utterance.voice),
        engine=utterance.voice.engine,
        seed=seed,
        unsure=spliced.unsure,
        tone=utterance.tone,
    )
    write_timing(timing_path(utterance.audio), timing, "synthesized")
    return timing


def describe(voice: Voice) -> str:
    """The voice and what was done to it: `slt pitch_hz=200 size=1.15`."""
    parts = [voice.name]
    if voice.pitch_hz is not None:
        parts.append(f"pitch_hz={voice.pitch_hz:g}")
    parts += [f"{name}={value:g}" for name, value in (("rate", voice.rate), ("size", voice.size)) if value != 1.0]
    if voice.band_hz is not None:
        parts.append(f"band_hz={voice.band_hz[0]:g}-{voice.band_hz[1]:g}")
    return " ".join(parts)


def _seed(utterance: Utterance) -> int:
    return int.from_bytes(hashlib.sha256(f"{utterance.audio.name}\n{utterance.text}".encode()).digest()[:4], "big")


def _encoded(spliced: Spliced, extension: str, serial: int) -> bytes:
    import soundfile

    buffer = io.BytesIO()
    if extension == "ogg":
        _write_vorbis(buffer, spliced)
        return with_serial(buffer.getvalue(), serial)
    soundfile.write(buffer, spliced.samples, spliced.rate_hz, format=extension.upper(), subtype="PCM_16")
    return buffer.getvalue()


def _write_vorbis(buffer: io.BytesIO, spliced: Spliced) -> None:
    import soundfile

    soundfile.write(
        buffer,
        spliced.samples,
        spliced.rate_hz,
        format="OGG",
        subtype="VORBIS",
        compression_level=VORBIS_COMPRESSION,
    )


def with_serial(ogg: bytes, serial: int) -> bytes:
    """The Ogg stream with this serial number on every page (RFC 3533, section 6).

    Encoders draw it at random, which is all that makes two encodings of the same sound differ.
    """
    pages, at = bytearray(), 0
    while at < len(ogg):
        segments = ogg[at + 26]
        length = 27 + segments + sum(ogg[at + 27 : at + 27 + segments])
        page = bytearray(ogg[at : at + length])
        struct.pack_into("<I", page, 14, serial & 0xFFFFFFFF)
        struct.pack_into("<I", page, 22, 0)
        struct.pack_into("<I", page, 22, _page_checksum(page))
        pages += page
        at += length
    return bytes(pages)


def _page_checksum(page: bytes | bytearray) -> int:
    """CRC-32 with polynomial 0x04c11db7, no reflection, start 0, as RFC 3533 asks."""
    table = _crc_table()
    crc = 0
    for byte in page:
        crc = ((crc << 8) & 0xFFFFFFFF) ^ table[(crc >> 24) ^ byte]
    return crc


def _crc_table() -> list[int]:
    table = []
    for index in range(256):
        crc = index << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x04C11DB7) & 0xFFFFFFFF if crc & 0x80000000 else crc << 1
        table.append(crc)
    return table
