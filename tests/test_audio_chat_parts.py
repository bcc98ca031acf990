"""The parts of the agent `audio_chat` that need no service: sound in chunks, speech in messages, settings."""

from __future__ import annotations

import asyncio
import base64
import io
import wave

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.audio_chat import AudioChat
from pytest_voicebench.agents.audio_chat.machine_voice import MachineVoice
from pytest_voicebench.agents.audio_chat.sound_messages import SoundMessages
from pytest_voicebench.agents.naming import AgentNameError, check_hosted, parse_agent
from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turn_based.history import History, Sentence
from pytest_voicebench.agents.turn_based.spoken_answers import SoundPieces, finish_of, parts_of
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ, Audio

LOCAL = "http://127.0.0.1:8000/v1"
SAMPLES = np.arange(-500, 500, dtype=np.int16)


def wav(rate_hz=RATE_HZ, channels=1, width=2):
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate_hz)
        file.writeframes(SAMPLES.astype("<i2").tobytes())
    return held.getvalue()


def coded(data):
    return base64.b64encode(data).decode()


def streamed(rate_hz=RATE_HZ):
    """A WAV file whose header was written before its length was known."""
    data = bytearray(wav(rate_hz))
    data[4:8] = data[40:44] = b"\xff\xff\xff\xff"
    return bytes(data)


@given(st.lists(st.integers(0, 2000), max_size=8))
def test_bare_sound_loses_no_sample_however_it_is_cut(cuts):
    data, pieces = SAMPLES.astype("<i2").tobytes(), SoundPieces()
    ends = sorted(cuts)
    parts = [data[a:b] for a, b in zip([0, *ends], [*ends, None], strict=True)]
    found = [pieces.read(coded(part)).samples for part in parts]
    assert np.concatenate(found).tolist() == SAMPLES.tolist()


@pytest.mark.parametrize("rate_hz", [16_000, 24_000, 44_100])
def test_a_wav_file_keeps_its_rate_also_for_the_bare_sound_after_it(rate_hz):
    pieces = SoundPieces()
    for file in (wav(rate_hz), streamed(rate_hz)):
        audio = pieces.read(coded(file))
        assert (audio.rate_hz, audio.samples.tolist()) == (rate_hz, SAMPLES.tolist())
    assert pieces.read(coded(b"\x01\x00")).rate_hz == rate_hz


def test_only_the_beginning_of_sound_can_look_like_a_file():
    like_mp3 = coded(b"\xff\xfb\x90\x64")
    for first in (coded(wav()), coded(b"\x01\x00")):
        pieces = SoundPieces()
        pieces.read(first)
        assert pieces.read(like_mp3).samples.tolist() == [-1025, 25744]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (5, "the audio is no text but int"),
        ("(noise)", "the audio is not base64"),
        ("UklGR(noise)", "the audio is not base64"),
        (coded(b"RIFF nothing of that kind"), "the WAV file cannot be read"),
        (coded(wav(channels=2)), "the WAV file is not mono with 16 bits"),
        (coded(wav(width=1)), "the WAV file is not mono with 16 bits"),
        (coded(b"\xff\xfb\x90\x64" + bytes(400)), "a sound file came where bare PCM is due"),
        (coded(b"OggS" + bytes(400)), "a sound file came where bare PCM is due"),
        (coded(wav(rate_hz=100)), "the sound is said to have 100 samples a second"),
    ],
)
def test_what_is_no_sound_is_told_in_one_line(data, told):
    with pytest.raises(NotAudio, match=told.replace("(", r"\(").replace(")", r"\)")):
        SoundPieces().read(data)


@pytest.mark.parametrize(
    ("chunk", "parts", "finish"),
    [
        ({"choices": [{"delta": {"content": "a"}, "finish_reason": None}]}, [{"content": "a"}], None),
        ({"choices": [], "usage": {}}, [], None),
        ({"choices": [{"delta": {"content": "QUE="}, "finish_reason": "stop"}], "modality": "audio"},
         [{"content": None, "audio": {"data": "QUE="}}], "stop"),
        ({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"},
                      {"message": {"audio": {"data": "QQ=="}}, "finish_reason": "stop"}]},
         [{"content": "a"}, {"audio": {"data": "QQ=="}}], "stop"),
        ({"choices": [{"message": {"tool_calls": [{"id": "x"}, 7, {"id": "x"}]}}]},
         [{"tool_calls": [{"id": "x", "index": 0}, {"id": "x", "index": 2}]}], None),
        ({"choices": "none"}, [], None),
        ({"choices": [7, {"delta": 7}, {"message": None}]}, [], None),
        ({}, [], None),
    ],
)  # fmt: skip
def test_the_parts_of_a_chunk_are_found_whatever_its_shape(chunk, parts, finish):
    assert list(parts_of(chunk)) == parts
    assert finish_of(chunk) == finish


def test_pieces_of_speech_in_a_row_are_one_message_and_a_heard_reply_parts_them():
    history = History("Help.")
    messages = SoundMessages("input_audio", "Listen.", history, lambda _: None)
    asyncio.run(messages.take(1, b"one", 1.0))
    history.begin()  # an answer of which nothing was heard
    asyncio.run(messages.take(2, b"two", 1.0))
    (_, both) = history.messages()
    assert [part["type"] for part in both["content"]] == ["text", "input_audio"] * 2
    assert both["content"][1]["input_audio"] == {"data": coded(b"one"), "format": "wav"}
    history.begin().sentences.append(Sentence(item_id="s", text="Yes.", sent_s=1.0, complete=True))
    asyncio.run(messages.take(3, b"three", 1.0))
    assert [m["role"] for m in history.messages()] == ["system", "user", "assistant", "user"]
    assert len(history.messages()[1]["content"]) == 4


class Saying:
    """A voice that says a tenth of a second, or fails."""

    name = "test"

    def __init__(self, problem=None):
        self.problem = problem

    def say(self, text):
        if self.problem:
            raise OSError(self.problem)
        return Audio(samples=np.full(1600, 7, np.int16), rate_hz=16_000)


def spoken(voice):
    async def pieces():
        return [piece async for piece in MachineVoice(voice, WireLog(lambda: 0.0)).speech("Hello.")]

    return b"".join(asyncio.run(pieces()))


def test_a_voice_of_this_machine_speaks_at_the_timelines_rate():
    assert len(spoken(Saying())) == 2 * RATE_HZ // 10


def test_a_voice_that_fails_is_one_line():
    with pytest.raises(Unreachable, match=r"^voice test: no such file$"):
        spoken(Saying("no such\n file"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("answer=film", "answer must be audio or wav or text, not 'film'"),
        ("audio_format=mp3", "audio_format must be pcm16 or wav, not 'mp3'"),
        ("input=video", "input must be input_audio or audio_url, not 'video'"),
        ("tts_url=http://127.0.0.1:1/v1", "tts_url belongs to answer=text"),
        ("answer=text,tts_url=ftp://x", "tts_url must be the address of an OpenAI-compatible endpoint"),
        ("answer=text,local_voice=opera", "voice 'opera' is not one of auto, flite, flite:NAME, pico"),
        ("prompt=5", "prompt must be text, not 5"),
        ("model=", "model must be text, not ''"),
        ("silence_ms=0", "silence_ms must be from 100 to 10000, not 0"),
        ("modell=x", "no setting 'modell' (did you mean 'model'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"audio_chat,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"answer": "wav", "audio_format": "wav"}, "audio_format belongs to answer=audio"),
        ({"answer": "audio", "local_voice": "pico"}, "local_voice belongs to answer=text without tts_url"),
        ({"answer": "text", "tts_url": LOCAL, "local_voice": "pico"}, "local_voice belongs to answer=text without"),
        ({"answer": "text", "tts_model": "tts-2"}, "tts_model belongs to tts_url"),
        ({"answer": "text", "voice": "kim"}, "voice belongs to a model or service that speaks"),
        ({"answer": "text", "tts_url": LOCAL, "tts_model": "tts-2", "voice": "kim"}, None),
        ({"answer": "wav", "voice": "kim"}, None),
    ],
)
def test_a_setting_that_would_change_nothing_is_refused(settings, told):
    if told is None:
        AudioChat(url=LOCAL, **settings)
        return
    with pytest.raises(ValueError, match=f"^{told}"):
        AudioChat(url=LOCAL, **settings)


def test_a_server_of_ones_own_needs_no_key_and_openais_does(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert AudioChat(url="http://127.0.0.1:8000/v1", model="own").info.settings["signed_in_with"] is None
    with pytest.raises(AgentNameError, match="OPENAI_API_KEY is not set"):
        check_hosted(parse_agent("audio_chat"))
    with pytest.raises(ValueError, match="OPENAI_API_KEY is not set"):
        AudioChat(url="http://127.0.0.1:8000/v1", answer="text", tts_url="https://api.openai.com/v1")
