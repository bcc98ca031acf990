"""A voice that never ends, silence included, cut into stretches of speech."""

from __future__ import annotations

from collections.abc import Callable

from pytest_voicebench.audio import Audio

SILENT = 8
"""Samples up to this are silence: the server sends zeros, and codecs on the way may not."""

LONGEST_PAUSE_S = 0.8
"""After more silence than this, what follows is another stretch."""


class SpeechRuns:
    """Names stretches. Silence is left out where nothing plays: it would count as a voice that is never done."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._number = 0
        self._silent_s = LONGEST_PAUSE_S + 1.0
        self._until_s = 0.0

    @property
    def speaking(self) -> bool:
        """Whether a stretch is under way, short pauses included."""
        return self._silent_s <= LONGEST_PAUSE_S

    @property
    def current(self) -> str:
        """The stretch that is under way, else the one that comes next."""
        return f"speech_{self._number if self.speaking else self._number + 1}"

    def take(self, audio: Audio) -> str | None:
        """The stretch that a piece belongs to; None for silence that need not be played."""
        if not len(audio.samples):
            return None
        silent = int(abs(audio.samples.astype(int)).max()) <= SILENT
        self._silent_s = self._silent_s + audio.duration_s if silent else self._begun()
        now_s = self._now_s()
        if silent and (now_s >= self._until_s or not self.speaking):
            return None
        self._until_s = max(self._until_s, now_s) + audio.duration_s
        return self.current

    def _begun(self) -> float:
        """No silence: where a pause was too long, a new stretch."""
        if not self.speaking:
            self._number += 1
        return 0.0
