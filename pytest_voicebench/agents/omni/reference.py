"""The voice that a model is to speak with, as a short recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pytest_voicebench.agents.hearing import INPUT_HZ
from pytest_voicebench.agents.turn_based.wav import wav_of
from pytest_voicebench.audio import resample

OWN = "own"
NONE = "none"

_OWN_FILE = Path(__file__).parents[1] / "voices" / "reply.flac"


def reference_flaw(setting: str) -> str | None:
    """What is wrong with the setting, or None; no sound is read."""
    if setting in (OWN, NONE) or Path(setting).expanduser().is_file():
        return None
    return f"ref_audio must be own, none or a sound file, and {setting!r} is no file"


def reference_wav(setting: str) -> bytes | None:
    """A mono WAV file of 16 bits at 16 kHz: the package's own voice, or that of a file. None for none.

    Raises AudioError for a file that cannot be used.
    """
    if setting == NONE:
        return None
    from pytest_voicebench.audio_files import read_audio

    path = _OWN_FILE if setting == OWN else Path(setting).expanduser()
    sound = resample(read_audio(path, channel=None).audio, INPUT_HZ)
    return wav_of(sound.samples.astype(np.float32) / 32768.0)
