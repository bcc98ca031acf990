"""WAV files in memory: the user's speech for a service, and a service's answer as sound."""

from __future__ import annotations

import io
import wave

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.agents.hearing import INPUT_HZ
from pytest_voicebench.audio import Audio, to_int16
from pytest_voicebench.wav_header import repaired_wav


def wav_of(speech: NDArray[np.float32]) -> bytes:
    """A WAV file of speech at 16 kHz in -1..1."""
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(INPUT_HZ)
        file.writeframes(to_int16(speech * 32768.0).astype("<i2").tobytes())
    return held.getvalue()


def audio_of(data: bytes) -> Audio:
    """A WAV file of one channel and 16 bits as sound, whatever length its header claims. Raises ValueError."""
    try:
        with wave.open(io.BytesIO(repaired_wav(data)[0])) as file:
            if (file.getnchannels(), file.getsampwidth()) != (1, 2):
                raise ValueError("the WAV file is not mono with 16 bits")
            frames, rate_hz = file.readframes(file.getnframes()), file.getframerate()
    except (wave.Error, EOFError) as problem:
        raise ValueError(f"the WAV file cannot be read ({problem or 'it ends early'})") from None
    return Audio(samples=np.frombuffer(frames, "<i2").astype(np.int16), rate_hz=rate_hz)
