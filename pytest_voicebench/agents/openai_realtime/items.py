"""The sound of one item as it comes: base64 in pieces that may end in the middle of a sample."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.audio import RATE_HZ, Audio


@dataclass(slots=True, kw_only=True)
class ItemAudio:
    """How much of an item has come. A last half of a sample waits for its other half."""

    content_index: int = 0
    seconds: float = 0.0
    _rest: bytes = b""

    def read(self, delta: Any, rate_hz: int = RATE_HZ) -> Audio:
        """The next piece, at 24 kHz unless the server says otherwise. Raises NotAudio."""
        if not isinstance(delta, str):
            raise NotAudio(f"the audio is no text but {type(delta).__name__}")
        try:
            data = self._rest + base64.b64decode(delta, validate=True)
        except (binascii.Error, ValueError):
            raise NotAudio("the audio is not base64") from None
        whole = len(data) - len(data) % 2
        self._rest = data[whole:]
        samples = np.frombuffer(data[:whole], "<i2").astype(np.int16, copy=False)
        audio = Audio(samples=samples, rate_hz=rate_hz)
        self.seconds += audio.duration_s
        return audio
