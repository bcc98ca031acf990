"""The local agent's line: when a turn ends, what is called once, what is dropped; with doubles for ears and voice."""

from __future__ import annotations

import asyncio
from datetime import date

import numpy as np
import pytest

from pytest_voicebench.agents.hearing import WINDOW, Hearing
from pytest_voicebench.agents.local.line import LocalLine
from pytest_voicebench.agents.local.settings import settings_from
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    Fault,
    PlaybackClear,
    Ready,
    Setup,
    ToolCall,
    ToolResult,
    Transcript,
    Unsupported,
)
from pytest_voicebench.audio import Audio
from tests.local_requests import answer, load_tools

clock = pytest.importorskip("pytest_voicebench.clock")

TOOLS = load_tools()
BY_NAME = {t.name: t for t in TOOLS}
FLIGHT = "I need a flight to Oslo on May 12th."


class LoudIsSpeech:
    """A detector for which every loud window is speech."""

    def chances(self, samples):
        return (np.abs(samples.reshape(-1, WINDOW)).mean(axis=1) > 0.01).astype(np.float32)

    def rest(self):
        pass


class Told:
    """A recognizer that is told what it will hear."""

    def __init__(self, *texts):
        self.texts = list(texts)
        self.heard_s = []

    def transcribe(self, speech):
        self.heard_s.append(len(speech) / 16000)
        return self.texts.pop(0) if self.texts else ""


class Hum:
    """A voice that hums for two seconds."""

    name = "hum"

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)
        return Audio(samples=np.full(32000, 1000, np.int16), rate_hz=16000)


class Talk:
    """One conversation: `sounds` is (seconds, whether the user speaks); events are kept with their times."""

    def __init__(self, *texts, answers=True, voice=None, **settings):
        self.recognizer = Told(*texts)
        self.voice = voice or Hum()
        self.settings = settings_from(settings)
        self.answers = answers
        self.events = []

    def hold(self, *sounds):
        with asyncio.Runner(loop_factory=clock.VirtualTimeLoop) as runner:
            runner.run(self._hold(sounds))
        return self

    async def _hold(self, sounds):
        setup = Setup(conversation_id="c", instructions="", tools=TOOLS, today=date(2026, 4, 6))
        line = LocalLine(setup, self.settings, Hearing(self.settings, LoudIsSpeech()), self.recognizer, self.voice)
        receiver = asyncio.create_task(self._receive(line))
        for seconds, speaks in sounds:
            for _ in range(round(seconds * 50)):
                hz = self.settings.input_hz
                sound = np.full(hz // 50, 3000 if speaks else 0, np.int16)
                await line.send(Audio(samples=sound, rate_hz=hz))
                await asyncio.sleep(0.02)
        await line.close()
        await receiver

    async def _receive(self, line):
        async for event in line.receive():
            self.events.append((round(asyncio.get_running_loop().time(), 3), event))
            if isinstance(event, ToolCall) and self.answers:
                result = answer(BY_NAME[event.name], event.arguments)
                await line.answer([ToolResult(call_id=event.call_id, name=event.name, result=result)])

    def of(self, kind):
        return [(t, e) for t, e in self.events if isinstance(e, kind)]

    @property
    def calls(self):
        return [(e.name, e.arguments) for _, e in self.of(ToolCall)]


def test_a_request_is_heard_called_and_answered_once():
    talk = Talk(FLIGHT).hold((0.5, False), (2.0, True), (8.0, False))
    assert isinstance(talk.events[0][1], Ready)
    assert talk.calls == [("search_flights", {"destination": "Oslo", "date": "2026-05-12"})]
    assert "Oslo" in talk.voice.said[0]
    assert len(talk.voice.said) == 1
    assert sum(len(e.audio.samples) for _, e in talk.of(AgentAudio)) == 32000
    assert [e.text for _, e in talk.of(Transcript)] == [FLIGHT, talk.voice.said[0]]


@pytest.mark.parametrize("hz", [8000, 24000, 48000])
def test_a_line_of_another_rate_is_heard_some_milliseconds_later(hz):
    here, there = (Talk(FLIGHT, input_hz=rate).hold((0.5, False), (2.0, True), (8.0, False)) for rate in (16000, hz))
    assert there.calls == here.calls
    assert 0 <= there.of(AgentAudio)[0][0] - here.of(AgentAudio)[0][0] <= 0.061  # the filter is longest at 8 kHz
    assert there.recognizer.heard_s == pytest.approx(here.recognizer.heard_s, abs=0.04)


def test_sound_of_a_rate_that_was_not_agreed_is_refused():
    line = LocalLine(
        Setup(conversation_id="c", instructions="", tools=TOOLS, today=date(2026, 4, 6)),
        settings_from({"input_hz": "24000"}),
        Hearing(settings_from({}), LoudIsSpeech()),
        Told(),
        Hum(),
    )
    with pytest.raises(ValueError, match="agent local hears 24000 Hz, not 16000 Hz"):
        asyncio.run(line.send(Audio(samples=np.zeros(320, np.int16), rate_hz=16000)))


def test_the_reply_comes_after_the_silence_and_the_declared_costs():
    talk = Talk(FLIGHT, endpoint_s=1.0, cost_hear_s=0.5, cost_speak_s=0.25).hold((2.0, True), (6.0, False))
    called, spoken = talk.of(ToolCall)[0][0], talk.of(AgentAudio)[0][0]
    heard_s = talk.recognizer.heard_s[0]
    assert 2.0 + 1.0 + 0.5 * heard_s <= called <= 2.0 + 1.0 + 0.5 * heard_s + 0.25
    assert spoken - called == pytest.approx(0.25 * 2.0, abs=0.001)


def test_a_pause_shorter_than_the_endpoint_does_not_end_the_turn():
    talk = Talk(FLIGHT).hold((1.0, True), (1.5, False), (1.0, True), (6.0, False))
    assert len(talk.recognizer.heard_s) == 1
    assert len(talk.calls) == 1


def test_an_unfinished_sentence_is_given_more_time_and_then_understood_whole():
    talk = Talk("I need a flight to", "Oslo on May 12th.").hold((1.0, True), (2.5, False), (1.0, True), (8.0, False))
    assert talk.calls == [("search_flights", {"destination": "Oslo", "date": "2026-05-12"})]
    assert len(talk.voice.said) == 1


def test_speech_that_goes_on_before_the_reply_is_added_and_calls_are_not_repeated():
    talk = Talk(FLIGHT, "And track order K-7-7.", cost_speak_s=1.0).hold(
        (1.0, True), (2.6, False), (1.0, True), (10.0, False)
    )
    assert [name for name, _ in talk.calls] == ["search_flights", "track_order"]
    assert talk.of(Transcript)[-2][1].text == f"{FLIGHT} And track order K-7-7."


def test_a_barge_in_clears_what_was_not_heard_and_starts_a_new_turn():
    talk = Talk(FLIGHT, "Where is order K-7-7?").hold((1.0, True), (3.5, False), (1.0, True), (8.0, False))
    assert len(talk.of(PlaybackClear)) == 1
    assert [name for name, _ in talk.calls] == ["search_flights", "track_order"]
    assert talk.of(Transcript)[2][1].text == "Where is order K-7-7?"


def test_a_later_turn_books_what_an_earlier_one_found():
    talk = Talk(FLIGHT, "Book the cheapest one for Nora Falk.").hold(
        (1.0, True), (8.0, False), (1.0, True), (8.0, False)
    )
    assert talk.calls[1] == ("book_flight", {"passenger_name": "Nora Falk", "flight_id": "FL481"})
    assert not talk.of(PlaybackClear)


def test_what_is_missing_is_asked_for_and_the_answer_completes_the_request():
    talk = Talk("I need a flight to Oslo.", "On May 12th.").hold((1.0, True), (9.0, False), (1.0, True), (8.0, False))
    assert "date" in talk.voice.said[0]
    assert talk.calls == [("search_flights", {"destination": "Oslo", "date": "2026-05-12"})]


def test_a_click_is_no_turn_and_silence_gives_no_event():
    talk = Talk().hold((1.0, False), (0.05, True), (6.0, False))
    assert [type(e) for _, e in talk.events] == [Ready]


def test_speech_without_words_is_not_answered():
    assert Talk("").hold((1.0, True), (6.0, False)).voice.said == []


def test_words_without_sense_are_answered_with_a_question_and_no_call():
    talk = Talk("Lovely evening.").hold((1.0, True), (8.0, False))
    assert talk.calls == []
    assert len(talk.voice.said) == 1


def test_a_tool_that_never_answers_does_not_hang_the_line():
    talk = Talk(FLIGHT, answers=False).hold((1.0, True), (8.0, False))
    assert len(talk.calls) == 1
    assert talk.voice.said == []


def test_a_voice_that_fails_is_a_fault_of_the_agent_in_one_line():
    class Mute(Hum):
        def say(self, text):
            raise OSError("no sound")

    faults = Talk(FLIGHT, voice=Mute()).hold((1.0, True), (6.0, False)).of(Fault)
    assert [e.message for _, e in faults] == ["agent local: OSError: no sound"]


def test_two_conversations_give_the_same_events_at_the_same_times():
    sounds = (0.3, False), (1.0, True), (1.0, False), (1.2, True), (7.0, False)

    def shape(talk):
        return [(t, type(e), getattr(e, "text", None)) for t, e in talk.events]

    assert shape(Talk(FLIGHT).hold(*sounds)) == shape(Talk(FLIGHT).hold(*sounds))


def test_long_pauses_are_cut_from_what_is_recognised():
    talk = Talk(FLIGHT).hold((1.0, True), (1.6, False), (1.0, True), (4.0, False))
    assert talk.recognizer.heard_s[0] < 3.2


def test_text_into_the_context_is_not_supported():
    async def inject():
        setup = Setup(conversation_id="c", instructions="", tools=TOOLS, today=date(2026, 4, 6))
        settings = settings_from({})
        line = LocalLine(setup, settings, Hearing(settings, LoudIsSpeech()), Told(), Hum())
        with pytest.raises(Unsupported):
            await line.inject("context")
        with pytest.raises(ValueError, match="16000 Hz"):
            await line.send(Audio(samples=np.zeros(480, np.int16), rate_hz=24000))

    asyncio.run(inject())
