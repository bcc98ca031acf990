"""The agent's sound as it comes: base64, url-safe or not, in pieces that may end in the middle of a sample."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.audio import RATE_HZ, Audio

_RATE = re.compile(r"\brate=(\d+)")
_LOWEST_HZ, _HIGHEST_HZ = 8_000, 192_000


@dataclass(slots=True)
class Sound:
    """Reads the pieces of one item. A last half of a sample waits for its other half."""

    _rest: bytes = b""

    def read(self, data: Any, mime_type: str) -> Audio:
        """The next piece, at the rate its type names (24 kHz where it names none). Raises NotAudio."""
        if not isinstance(data, str):
            raise NotAudio(f"the audio is no text but {type(data).__name__}")
        plain = data.replace("-", "+").replace("_", "/")
        try:
            raw = self._rest + base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise NotAudio("the audio is not base64") from None
        found = _RATE.search(mime_type)
        rate_hz = int(found[1]) if found else RATE_HZ
        if not _LOWEST_HZ <= rate_hz <= _HIGHEST_HZ:
            raise NotAudio(f"the audio has a rate of {rate_hz} Hz")
        whole = len(raw) - len(raw) % 2
        self._rest = raw[whole:]
        samples = np.frombuffer(raw[:whole], "<i2").astype(np.int16, copy=False)
        return Audio(samples=samples, rate_hz=rate_hz)
