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
    sound = uncut(text, voice)
    frames = sound[: len(sound) // 120 * 120].astype(float).reshape(-1, 120)
    loud = np.flatnonzero((frames**2).mean(axis=1) > (32768 * 10**-2.5) ** 2)
    return sound[loud[0] * 120 : (loud[-1] + 1) * 120]


def uncut(text: str, voice: str) -> Samples:
    """All that flite says, at 24 kHz."""
    assert FLITE
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.wav"
        subprocess.run([FLITE, "-voice", voice, "-t", text, "-o", str(path)], check=True, timeout=60)
        samples, rate_hz = soundfile.read(io.BytesIO(path.read_bytes()), dtype="int16")
    return resample(Audio(samples=samples, rate_hz=rate_hz), RATE_HZ).samples


def word_starts_s(text: str, voice: str) -> list[float]:
    """Where flite itself says that each word begins, in seconds from the start of its uncut sound."""
    phones = [phone.split(":") for phone in _printed("-psdur", text, voice)]
    ends = [0.0, *(float(end) for _, end in phones)]
    spoken = [begin for (name, _), begin in zip(phones, ends, strict=False) if name != "pau"]
    starts, at = [], 0
    for word in text.split():
        starts.append(spoken[at])
        at += sum(name != "pau" for name in _printed("-ps", word, voice))
    assert at == len(spoken), "flite speaks a word otherwise in its sentence than alone: choose another sentence"
    return starts


@lru_cache(maxsize=256)
def _printed(option: str, text: str, voice: str) -> list[str]:
    assert FLITE
    command = [FLITE, "-voice", voice, option, "-t", text, "-o", "none"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.split()
