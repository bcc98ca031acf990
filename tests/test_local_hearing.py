"""The local agent's ears: speech by chance and loudness; and the words that its recogniser is told to expect."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_voicebench.agents.detectors import DETECTORS, open_ears
from pytest_voicebench.agents.hearing import WINDOW, Hearing
from pytest_voicebench.agents.local.settings import LocalSettings
from pytest_voicebench.agents.local.understanding.sounds import likeness
from pytest_voicebench.agents.local.vocabulary import expected_words
from tests.local_requests import load_tools


class Always:
    """A detector that gives every window the same chance."""

    def __init__(self, chance):
        self.chance = chance

    def chances(self, samples):
        return np.full(len(samples) // WINDOW, self.chance, np.float32)

    def rest(self):
        pass


def heard(chance, level):
    """Seconds of speech heard in two seconds of noise of a level, after two of a quiet room."""
    hearing = Hearing(LocalSettings(), Always(chance))
    random = np.random.default_rng(1)
    for rms in [8] * 100 + [level] * 100:
        hearing.feed(np.rint(random.normal(0, rms, 320)).astype(np.int16))
    return hearing.speech_s


@pytest.mark.parametrize(
    ("chance", "level", "is_speech"),
    [
        (0.9, 1000, True),
        (0.2, 1000, True),  # a telephone-band voice: the detector is unsure, but it stands 40 dB above the room
        (0.2, 25, False),  # as unsure, but only 10 dB above the room
        (0.01, 1000, False),  # loud, but nothing like speech
    ],
)
def test_an_unsure_detector_is_believed_where_the_sound_stands_out(chance, level, is_speech):
    assert (heard(chance, level) > 1.5) is is_speech
    assert (heard(chance, level) < 0.1) is not is_speech


@pytest.mark.parametrize(("threshold", "is_speech"), [(0.5, True), (0.9, False), (0.05, True)])
def test_the_threshold_of_a_turn_counts_for_loud_sound_too(monkeypatch, threshold, is_speech):
    monkeypatch.setitem(DETECTORS, "energy", lambda: Always(0.15))
    hearing = open_ears("energy", threshold, 0.25)
    random = np.random.default_rng(1)
    for rms in [8] * 100 + [1000] * 100:
        hearing.feed(np.rint(random.normal(0, rms, 320)).astype(np.int16))
    assert (hearing.speech_s > 1.5) is is_speech


def test_the_recogniser_is_told_the_values_that_tools_declare_and_money_only_where_one_takes_it():
    tools = load_tools()
    words = expected_words("Order number A, 1.", tools)
    assert words.startswith("Order number A, 1.")
    for value in ("driver's license", "national ID", "cash back", "joint", "pets allowed", "Korean won"):
        assert value in words
    few = expected_words("", [t for t in tools if t.name == "track_order"])
    assert "Korean won" not in few
    assert "cash back" not in few


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [("cart", "card", 1.0), ("joy to count", "joint account", 5 / 6), ("crooner", "kronor", 1.0), ("a", "card", 0.0)],
)
def test_words_are_alike_by_their_consonants(one, other, alike):
    assert likeness(one, other) == pytest.approx(alike)
