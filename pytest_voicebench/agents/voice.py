"""Text to speech: flite if it is installed, else the Pico voice of the extra; the same bytes for the same text."""

from __future__ import annotations

import functools
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import unicodedata
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
_SAID = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u20ac": "euro ",
        "\u00a3": "pound ",
        "\u00a5": "yen ",
        "\u00df": "ss",
        "\u00e6": "ae",
        "\u00c6": "Ae",
        "\u00f8": "o",
        "\u00d8": "O",
        "\u0142": "l",
        "\u0141": "L",
    }
)
_INSTALL = 'pip install "pytest-voicebench[local]"'


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
            script.write_text(in_ascii(text), encoding="ascii")
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
        done = subprocess.run(
            [sys.executable, "-c", _PICO], input=text.encode(errors="replace"), capture_output=True, check=False
        )
        if done.returncode:
            raise OSError(f"pico failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
        return Audio(samples=np.frombuffer(done.stdout, "<i2").astype(np.int16), rate_hz=_PICO_HZ)


def in_ascii(text: str) -> str:
    """The nearest that a voice can say which reads nothing else: letters without their marks, typewriter's quotes and
    dashes, a few currencies in words; what is left over is left out."""
    plain = unicodedata.normalize("NFKD", text.translate(_SAID))
    return plain.encode("ascii", "ignore").decode()


def check_voice(setting: str) -> None:
    """Raises ValueError, in one line, for a voice that is none, is not installed, or that flite does not have."""
    kind, _, speaker = setting.partition(":")
    if kind not in ("auto", "flite", "pico") or (speaker and kind != "flite"):
        raise ValueError(f"voice {setting!r} is not one of auto, flite, flite:NAME, pico")
    flite = shutil.which("flite") if kind != "pico" else None
    pico = importlib.util.find_spec("py_nanotts") is not None and kind != "flite"
    if not flite and not pico:
        raise ValueError(f"voice {setting!r} is not installed: install flite, or {_INSTALL}")
    if speaker and flite and speaker not in (known := _flite_speakers(flite)):
        raise ValueError(f"voice {setting!r}: flite has no voice {speaker!r}; it has {', '.join(known)}")


def find_voice(setting: str) -> Voice:
    """The voice that a setting names. Raises AgentAbsent, in one line, where there is none."""
    try:
        check_voice(setting)
    except ValueError as problem:
        raise AgentAbsent(str(problem)) from None
    kind, _, speaker = setting.partition(":")
    flite = shutil.which("flite")
    return FliteVoice(flite, speaker or "slt") if kind != "pico" and flite else PicoVoice()


@functools.cache
def _flite_speakers(program: str) -> tuple[str, ...]:
    """Names of the voices that flite has built in; given another name, flite itself speaks with its first one."""
    listed = subprocess.run([program, "-lv"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return tuple(listed.stdout.partition(":")[2].split())
