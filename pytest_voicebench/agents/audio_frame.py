"""An event that carries a block of sound, written as JSON but for the sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = Any

AUDIO = "<audio>"
"""In the event of an AudioFrame: the place of the audio."""

as_text = json.JSONEncoder(separators=(",", ":")).encode  # json.dumps makes an encoder for every block


class AudioFrame:
    """An event that differs from block to block in its audio alone: `event` holds AUDIO where that belongs.

    It is written as JSON once, not fifty times a second in each of a hundred conversations.
    """

    def __init__(self, event: Mapping[str, Json]) -> None:
        self._before, self._after = as_text(event).split(AUDIO)
        self._shown: dict[int, str] = {}

    def filled(self, base64_text: str) -> str:
        """The event with this audio."""
        return f"{self._before}{base64_text}{self._after}"

    def shown(self, characters: int) -> str:
        """The event as logs show it, with so much audio."""
        if characters not in self._shown:
            self._shown[characters] = self.filled(f"<{characters} characters>")
        return self._shown[characters]
