"""The double of OpenAI-compatible services, proved by OpenAI's SDK: it accepts the double, and fails on its faults."""

from __future__ import annotations

import base64
import binascii
import io
import json
import wave

import numpy as np
import openai
import pytest
from openai import OpenAI

from pytest_voicebench.audio import RATE_HZ
from tests.servers.cascade_script import Call, Chat, Script, Trouble, tone
from tests.servers.cascade_server import cascade_server

DEADLINE_S = 3.0
BROKE_OFF = "peer closed connection|Connection error"
PARAMETERS = {"type": "object", "properties": {"destination": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "search_flights", "parameters": PARAMETERS}}]
MILAN, ROME = Call("search_flights", '{"destination": "Milan"}'), Call("search_flights", '{"destination": "Rome"}')


def wav(seconds=0.5):
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(tone(seconds).tobytes())
    return held.getvalue()


def client(double, key="sk-test"):
    return OpenAI(api_key=key, base_url=double.url, max_retries=0, timeout=DEADLINE_S)


def hear(sdk):
    return sdk.audio.transcriptions.create(model="stt", file=("a.wav", wav(), "audio/wav"), language="en")


def chat(sdk, messages=({"role": "user", "content": "hi"},)):
    """The chunks of one streamed answer."""
    return list(
        sdk.chat.completions.create(
            model="llm", messages=list(messages), tools=TOOLS, stream=True, stream_options={"include_usage": True}
        )
    )


def speak(sdk):
    with sdk.audio.speech.with_streaming_response.create(
        model="tts", voice="alloy", input="Hello.", response_format="pcm"
    ) as answer:
        return b"".join(answer.iter_bytes())


def test_the_sdk_gets_text_for_sound_with_its_usage():
    with cascade_server(Script(heard=["one", "two"])) as double:
        sdk = client(double)
        heard = [hear(sdk), hear(sdk), hear(sdk)]
    assert [h.text for h in heard] == ["one", "two", "two"]
    assert (heard[0].usage.type, heard[0].usage.seconds) == ("duration", 2)
    (first, *_) = double.of("transcriptions")
    assert (first.speech_s, first.body["language"], first.body["filename"]) == (0.5, "en", "a.wav")
    assert first.headers["authorization"] == "Bearer sk-test"


def test_the_sdk_makes_a_tool_round_trip_with_two_calls_in_one_response():
    script = Script(chats=[Chat("Let me look.", [MILAN, ROME]), Chat("Found both of them.")])
    with cascade_server(script) as double:
        sdk = client(double)
        chunks = chat(sdk)
        pieces = [c for chunk in chunks if chunk.choices for c in chunk.choices[0].delta.tool_calls or []]
        arguments = ["".join(p.function.arguments for p in pieces if p.index == n) for n in (0, 1)]
        assert arguments == [MILAN.arguments, ROME.arguments]
        assert [p.id for p in pieces if p.id] == ["call_0_0", "call_0_1"]
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "tool_calls"
        assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 120)
        calls = [
            {"id": p.id, "type": "function", "function": {"name": p.function.name, "arguments": "{}"}}
            for p in pieces
            if p.id
        ]
        told = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": calls}]
        results = [{"role": "tool", "tool_call_id": c["id"], "content": json.dumps({"n": 1})} for c in calls]
        text = "".join(c.choices[0].delta.content or "" for c in chat(sdk, told + results) if c.choices)
        assert text == "Found both of them."
        with pytest.raises(openai.BadRequestError, match="call_0_1"):
            chat(sdk, [*told, results[0], {"role": "user", "content": "and?"}])


@pytest.mark.parametrize("odd", [False, True])
def test_the_sdk_gets_every_sample_of_the_speech(odd):
    with cascade_server(Script(voice=lambda _: tone(0.55), odd=odd)) as double:
        assert speak(client(double)) == tone(0.55).tobytes()


def test_the_sdk_uses_the_parser_of_its_own_streams_without_a_complaint():
    with (
        cascade_server(Script(chats=[Chat("Well.", [MILAN])])) as double,
        client(double).chat.completions.stream(
            model="llm", messages=[{"role": "user", "content": "hi"}], tools=TOOLS
        ) as stream,
    ):
        (choice,) = stream.get_final_completion().choices
    assert (choice.message.content, choice.finish_reason) == ("Well.", "tool_calls")
    assert choice.message.tool_calls[0].function.arguments == MILAN.arguments


FAULTS = {
    "401": (Script(key="sk-other"), openai.AuthenticationError, "Incorrect API key"),
    "429": (Script(troubles={"chat": Trouble(status=429, message="slow down")}), openai.RateLimitError, "slow down"),
    "500": (Script(troubles={"chat": Trouble()}), openai.InternalServerError, "the service failed"),
    "hang": (Script(troubles={"chat": Trouble(kind="hang")}), openai.APITimeoutError, "timed out"),
    "stall": (Script(troubles={"chat": Trouble(kind="stall")}), Exception, "timed out"),
    "cut": (Script(troubles={"chat": Trouble(kind="cut")}), Exception, BROKE_OFF),
    "error": (Script(troubles={"chat": Trouble(kind="error")}), openai.APIError, "the service failed"),
    "garbage": (Script(troubles={"chat": Trouble(kind="garbage")}), ValueError, "property name"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_same_client_fails_on_a_scripted_fault(name):
    script, raised, told = FAULTS[name]
    with cascade_server() as double:
        assert len(chat(client(double))) > 3
    with cascade_server(script) as double, pytest.raises(raised, match=told):
        chat(client(double))


def test_the_sdk_sees_an_answer_that_just_ends_and_speech_that_breaks_off():
    cut = Script(troubles={"chat": Trouble(kind="end", after=2), "speech": Trouble(kind="cut", after=2)})
    with cascade_server(cut) as double:
        assert [c.choices[0].finish_reason for c in chat(client(double))] == [None, None]
        with pytest.raises(Exception, match=BROKE_OFF):
            speak(client(double))


SOUND = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "pcm16"}}


def question(data=None, kind="wav"):
    """A message with half a second of sound."""
    data = base64.b64encode(wav()).decode() if data is None else data
    return {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": data, "format": kind}}]}


def answer_in_sound(sdk, messages):
    """The transcript, the PCM and the calls of one streamed answer."""
    words, pcm, calls = "", b"", []
    asked = {"model": "gpt-audio", "messages": messages, "tools": TOOLS, "stream": True, **SOUND}
    for chunk in sdk.chat.completions.create(**asked):
        delta = chunk.choices[0].delta if chunk.choices else None
        sound = delta.audio if delta else None
        words += (sound and sound.transcript) or ""
        pcm += base64.b64decode((sound and sound.data) or "", validate=True)
        calls += (delta and delta.tool_calls) or []
    return words, pcm, calls


@pytest.mark.parametrize("odd", [False, True])
def test_the_sdk_sends_speech_and_gets_every_sample_of_the_answer_with_its_words(odd):
    with cascade_server(Script(chats=[Chat("Found it.")], voice=lambda _: tone(0.55), odd=odd)) as double:
        words, pcm, calls = answer_in_sound(client(double), [question()])
    assert (words, pcm, calls) == ("Found it.", tone(0.55).tobytes(), [])
    assert double.of("chat")[0].sounds_s == [[0.5]]


def test_the_sdk_makes_a_tool_round_trip_between_speech_and_speech():
    script = Script(chats=[Chat("", [MILAN]), Chat("Found it.")], voice=lambda _: tone(0.2))
    with cascade_server(script) as double:
        sdk = client(double)
        words, pcm, pieces = answer_in_sound(sdk, [question()])
        assert (words, pcm, "".join(p.function.arguments for p in pieces)) == ("", b"", MILAN.arguments)
        call = {"id": pieces[0].id, "type": "function", "function": {"name": "search_flights", "arguments": "{}"}}
        asked = {"role": "assistant", "content": None, "tool_calls": [call]}
        told = {"role": "tool", "tool_call_id": call["id"], "content": "{}"}
        assert answer_in_sound(sdk, [question(), asked, told])[0] == "Found it."
        with pytest.raises(openai.BadRequestError, match="call_0_0"):
            answer_in_sound(sdk, [question(), asked, question()])


def test_the_sdk_reads_a_whole_answer_as_a_wav_file_with_its_transcript():
    with cascade_server(Script(chats=[Chat("Found it.")], voice=lambda _: tone(0.3))) as double:
        asked = {**SOUND, "audio": {"voice": "alloy", "format": "wav"}}
        (choice,) = client(double).chat.completions.create(model="m", messages=[question()], **asked).choices
    assert choice.message.audio.transcript == "Found it."
    with wave.open(io.BytesIO(base64.b64decode(choice.message.audio.data))) as file:
        found = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert np.array_equal(found, tone(0.3))


@pytest.mark.parametrize(
    "message",
    [question("(noise)"), question(base64.b64encode(b"RIFF").decode()), question(kind="mp3")],
    ids=["not_base64", "no_wav", "not_asked_for"],
)
def test_the_sdk_is_told_of_speech_that_cannot_be_read(message):
    with cascade_server() as double, pytest.raises(openai.BadRequestError, match="input_audio"):
        answer_in_sound(client(double), [message])


@pytest.mark.parametrize(
    ("kind", "raised", "told"),
    [
        ("cut", Exception, BROKE_OFF),
        ("noise", binascii.Error, "base64"),
        ("error", openai.APIError, "the service failed"),
    ],
)
def test_the_same_client_fails_on_a_fault_in_the_middle_of_an_answer_in_sound(kind, raised, told):
    script = Script(chats=[Chat("Found it.")], troubles={"chat": Trouble(kind=kind, after=4)})
    with cascade_server(script) as double, pytest.raises(raised, match=told):
        answer_in_sound(client(double), [question()])
