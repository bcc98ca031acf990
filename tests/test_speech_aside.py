"""Speech detected in another process: the same spans, and no trouble where that process is gone."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from voice import silence, spoken

from pytest_voicebench import speech_aside
from pytest_voicebench.conversation import Recording
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.speech_aside import SpeechAside
from tests import builders

TRACK = np.concatenate([silence(1.0), spoken(1.0), silence(0.5)])


def talk(track=TRACK):
    return builders.conversation(speech=None, recording=Recording(user=track, agent=track))


@pytest.mark.parametrize("track", [TRACK, silence(1.0), silence(0.0)], ids=["speech", "silence", "nothing"])
def test_the_other_process_finds_what_this_one_finds(track):
    with closing(SpeechAside()) as aside:
        found = aside.detect_speech(talk(track))
        assert aside._process.poll() is None
    assert found == detect_speech(talk(track))
    assert found.agent_speech is not None


def test_a_conversation_without_a_recording_stays_as_it_is_and_starts_nothing():
    with closing(SpeechAside()) as aside:
        assert aside.detect_speech(builders.conversation(speech=None)).agent_speech is None
        assert aside._process is None


def test_where_the_other_process_died_speech_is_detected_here():
    with closing(SpeechAside()) as aside:
        aside.detect_speech(talk())
        aside._process.kill()
        aside._process.wait()
        assert aside.detect_speech(talk()) == detect_speech(talk())
        assert aside.detect_speech(talk()) == detect_speech(talk())


@pytest.mark.parametrize("python", ["/nowhere/python", "false"])
def test_where_no_process_can_be_started_speech_is_detected_here(monkeypatch, python):
    monkeypatch.setattr(speech_aside.sys, "executable", python)
    with closing(SpeechAside()) as aside:
        assert aside.detect_speech(talk()) == detect_speech(talk())


def test_closing_ends_the_process_and_what_is_asked_afterwards_is_answered_here():
    aside = SpeechAside()
    aside.detect_speech(talk())
    process = aside._process
    aside.close()
    aside.close()
    assert process.poll() is not None
    assert aside.detect_speech(talk()) == detect_speech(talk())
