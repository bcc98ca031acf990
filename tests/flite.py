"""Sentences spoken by the system's flite, for tests of what needs real words."""

import io
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import soundfile

from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample

FLITE = shutil.which("flite")
needs_flite = pytest.mark.skipif(FLITE is None, reason="flite is not installed (apt-get install flite)")


@lru_cache(maxsize=32)
def say(text: str, voice: str = "slt") -> Samples:
    """The sentence at 24 kHz, cut where 5 ms frames pass -50 dBFS."""
    assert FLITE
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.wav"
        subprocess.run([FLITE, "-voice", voice, "-t", text, "-o", str(path)], check=True, timeout=60)
        samples, rate_hz = soundfile.read(io.BytesIO(path.read_bytes()), dtype="int16")
    sound = resample(Audio(samples=samples, rate_hz=rate_hz), RATE_HZ).samples
    frames = sound[: len(sound) // 120 * 120].astype(float).reshape(-1, 120)
    loud = np.flatnonzero((frames**2).mean(axis=1) > (32768 * 10**-2.5) ** 2)
    return sound[loud[0] * 120 : (loud[-1] + 1) * 120]
