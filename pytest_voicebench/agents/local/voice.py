"""Text to speech: flite if it is installed, else the Pico voice of the extra; the same bytes for the same text."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Protocol

import numpy as np

from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.audio import Audio

# Pico keeps noise state between utterances: only a fresh process gives the same bytes every time.
_PICO = (
    "import sys; from py_nanotts import NanoTTS; "
    "sys.stdout.buffer.write(NanoTTS().speak(sys.stdin.buffer.read().decode(), voice='en-US'))"
)
_PICO_HZ = 16_000


class Voice(Protocol):
    """Something that speaks. `name` is for reports."""

    name: str

    def say(self, text: str) -> Audio:
        """The text as speech."""


class FliteVoice:
    """CMU flite, run as a program."""

    def __init__(self, program: str, speaker: str) -> None:
        self.name = f"flite:{speaker}"
        self._program = program
        self._speaker = speaker

    def say(self, text: str) -> Audio:
        """The text as speech at flite's own rate. Raises OSError where flite fails."""
        import soundfile

        with tempfile.TemporaryDirectory() as folder:
            script, wav = Path(folder, "text"), Path(folder, "speech.wav")
            script.write_text(text, encoding="ascii", errors="replace")
            command = [self._program, "-voice", self._speaker, "-f", str(script), "-o", str(wav)]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if done.returncode or not wav.is_file():
                raise OSError(f"flite failed: {done.stderr.decode(errors='replace').strip()[:200]}")
            samples, rate = soundfile.read(io.BytesIO(wav.read_bytes()), dtype="int16")
        return Audio(samples=samples, rate_hz=rate)


class PicoVoice:
    """SVOX Pico from the package py-nanotts."""

    name = "pico"

    def say(self, text: str) -> Audio:
        """The text as speech at 16 kHz. Raises OSError where Pico fails."""
        done = subprocess.run([sys.executable, "-c", _PICO], input=text.encode(), capture_output=True, check=False)
        if done.returncode:
            raise OSError(f"pico failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
        return Audio(samples=np.frombuffer(done.stdout, "<i2").astype(np.int16), rate_hz=_PICO_HZ)


def find_voice(setting: str) -> Voice:
    """The voice that a setting names. Raises AgentAbsent, in one line, where there is none."""
    kind, _, speaker = setting.partition(":")
    flite = shutil.which("flite")
    pico = importlib.util.find_spec("py_nanotts") is not None
    if kind in ("auto", "flite") and flite:
        return FliteVoice(flite, speaker or "slt")
    if kind in ("auto", "pico") and pico:
        return PicoVoice()
    if kind not in ("auto", "flite", "pico"):
        raise AgentAbsent(f"agent local: voice {setting!r} is not one of auto, flite, flite:NAME, pico")
    raise AgentAbsent(
        f'agent local: voice {setting!r} is not installed: install flite, or pip install "pytest-voicebench[local]"'
    )
