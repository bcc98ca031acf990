"""Sound as one Ogg/Opus stream in each direction, by `sphn`: frames of 80 ms, the step of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.audio import RATE_HZ, Samples, to_int16

FRAME = RATE_HZ * 80 // 1000
"""Samples of a frame."""


class Encoder:
    """The user's stream. Samples wait until a frame is full."""

    def __init__(self) -> None:
        import sphn

        self._writer: Any = sphn.OpusStreamWriter(RATE_HZ)
        self._waiting = np.zeros(0, np.int16)

    def feed(self, samples: Samples) -> list[bytes]:
        """The next pieces of the stream, one for each frame that is full now."""
        self._waiting = np.concatenate([self._waiting, samples])
        pieces = []
        while len(self._waiting) >= FRAME:
            frame, self._waiting = self._waiting[:FRAME], self._waiting[FRAME:]
            pieces.append(self._writer.append_pcm(frame.astype(np.float32) / 32768.0))
        return [piece for piece in pieces if piece]


class Decoder:
    """The agent's stream."""

    def __init__(self) -> None:
        import sphn

        self._reader: Any = sphn.OpusStreamReader(RATE_HZ)

    def read(self, data: bytes) -> Samples:
        """The samples of a piece of the stream; there may be none. Raises NotAudio."""
        try:
            found = self._reader.append_bytes(data)
        except ValueError as error:
            raise NotAudio(f"the sound is no Ogg/Opus stream: {str(error)[:100]}") from None
        return to_int16(np.asarray(found, np.float32) * 32768.0)
