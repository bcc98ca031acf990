"""The double of OpenAI's Realtime API, proved by OpenAI's own SDK: it accepts the double, and fails on its faults."""

from __future__ import annotations

import asyncio
import base64
import json

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter, ValidationError
from websockets.exceptions import ConnectionClosed, InvalidStatus

from pytest_voicebench.audio import RATE_HZ
from tests.servers.openai_script import Call, Say, Script, recite, tone
from tests.servers.openai_server import openai_server

EVENTS = TypeAdapter(RealtimeServerEvent)
DEADLINE_S = 20
SEARCH = Call("search_flights", '{"destination": "Milan"}')
SESSION = {
    "type": "realtime",
    "output_modalities": ["audio"],
    "instructions": "Help.",
    "tools": [{"type": "function", "name": "search_flights", "description": "", "parameters": {"type": "object"}}],
    "audio": {
        "input": {
            "format": {"type": "audio/pcm", "rate": RATE_HZ},
            "transcription": {"model": "gpt-4o-mini-transcribe"},
            "turn_detection": {"type": "server_vad", "silence_duration_ms": 200, "prefix_padding_ms": 100},
        },
        "output": {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "voice": "marin"},
    },
}


class Client:
    """The SDK's connection; every event it receives is also checked strictly against the SDK's types."""

    def __init__(self, connection) -> None:
        self.connection = connection
        self.events = []

    async def next(self):
        raw = await self.connection.recv_bytes()
        event = EVENTS.validate_json(raw, strict=True)
        assert type(event) is type(self.connection.parse_event(raw))
        self.events.append(event)
        return event

    async def until(self, kind):
        while (event := await self.next()).type != kind:
            pass
        return event

    async def speak(self, seconds=0.4, silence=0.3):
        """A turn; sent at once, since the double's voice detection counts samples, not time."""
        sound = np.concatenate([tone(seconds), np.zeros(round(silence * RATE_HZ), np.int16)])
        for start in range(0, len(sound), 480):
            block = base64.b64encode(sound[start : start + 480].tobytes()).decode()
            await self.connection.input_audio_buffer.append(audio=block)

    def kinds(self):
        return [event.type for event in self.events]


def talk(script, line, conversation):
    """Hold a conversation by SDK with a double, within a deadline; gives the client and the double's session."""

    async def held():
        sdk = AsyncOpenAI(api_key="sk-test", websocket_base_url=double.url.removesuffix("/realtime"))
        async with asyncio.timeout(DEADLINE_S), sdk.realtime.connect(model="gpt-realtime", max_retries=0) as connection:
            client = Client(connection)
            await client.until("session.created")
            await connection.session.update(session=SESSION)
            await client.until("session.updated")
            await conversation(client)
        return client

    with openai_server(script, line) as double:
        client = asyncio.run(held())
        return client, double.sessions[0]


def test_the_sdk_gets_a_whole_turn_in_the_documented_order_and_all_of_its_sound():
    async def conversation(client):
        await client.speak()
        await client.until("response.done")

    client, session = talk(Script(), recite([Say(0.5, "Hello there.")], heard=["Hi."]), conversation)
    kinds = client.kinds()
    order = [
        "session.created",
        "session.updated",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.input_audio_transcription.completed",
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_audio.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]
    assert [kind for kind in dict.fromkeys(kinds) if kind in order] == order
    sound = b"".join(base64.b64decode(e.delta) for e in client.events if e.type == "response.output_audio.delta")
    assert len(sound) == 2 * round(0.5 * RATE_HZ)
    assert sound == tone(0.5).tobytes()
    heard = next(e for e in client.events if e.type.endswith("transcription.completed"))
    committed = next(e for e in client.events if e.type.endswith("committed"))
    assert (heard.transcript, heard.item_id) == ("Hi.", committed.item_id)
    done = client.events[-1].response
    assert (done.status, done.output[0].content[0].transcript) == ("completed", "Hello there.")
    assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens
    assert session.model == "gpt-realtime"
    assert session.headers["Authorization"] == "Bearer sk-test"
    started, stopped = (next(e for e in client.events if e.type.endswith(k)) for k in ("_started", "_stopped"))
    assert (started.audio_start_ms, stopped.audio_end_ms) == (0, 600)


def test_the_sdk_makes_a_tool_round_trip_with_two_calls_in_one_response():
    async def conversation(client):
        await client.speak()
        done = await client.until("response.done")
        assert [(i.name, i.status) for i in done.response.output] == [("search_flights", "completed")] * 2
        for item in done.response.output:
            output = {"type": "function_call_output", "call_id": item.call_id, "output": json.dumps({"n": 1})}
            await client.connection.conversation.item.create(item=output)
        await client.connection.response.create()
        assert (await client.until("response.done")).response.output[0].role == "assistant"

    client, session = talk(Script(), recite([SEARCH, SEARCH, Say()]), conversation)
    arguments = [e.arguments for e in client.events if e.type == "response.function_call_arguments.done"]
    assert arguments == ['{"destination": "Milan"}'] * 2
    assert [e["type"] for e in session.seen] == ["session.update", *["conversation.item.create"] * 2, "response.create"]


def test_the_sdk_barges_in_and_truncates():
    async def conversation(client):
        await client.speak()
        audio = await client.until("response.output_audio.delta")
        await client.speak(0.2, 0.0)
        await client.until("input_audio_buffer.speech_started")
        done = await client.until("response.done")
        assert (done.response.status, done.response.status_details.reason) == ("cancelled", "turn_detected")
        assert done.response.output[0].status == "incomplete"
        await client.connection.conversation.item.truncate(item_id=audio.item_id, content_index=0, audio_end_ms=50)
        assert (await client.until("conversation.item.truncated")).audio_end_ms == 50
        await client.connection.conversation.item.truncate(item_id=audio.item_id, content_index=0, audio_end_ms=90_000)
        assert (await client.until("error")).error.code == "invalid_value"

    client, _ = talk(Script(pace=1.0), recite([Say(3.0)]), conversation)
    assert sum(e.type == "response.output_audio.delta" for e in client.events) < 30


def test_the_sdk_is_told_of_a_second_response_while_one_is_active():
    async def conversation(client):
        await client.speak()
        await client.until("response.output_audio.delta")
        await client.connection.response.create()
        assert (await client.until("error")).error.code == "conversation_already_has_active_response"
        await client.connection.response.cancel()
        assert (await client.until("response.done")).response.status_details.reason == "client_cancelled"
        await client.connection.response.cancel()
        assert (await client.until("error")).error.code == "response_cancel_not_active"

    talk(Script(pace=1.0), recite([Say(3.0)]), conversation)


@pytest.mark.parametrize(
    ("script", "fails"),
    [
        (Script(malformed=True), ValidationError),
        (Script(on_audio=["drop"]), ConnectionClosed),
        (Script(on_turn=[{"close": 1011, "reason": "internal error"}]), ConnectionClosed),
        (Script(status=429), InvalidStatus),
        (Script(key="sk-another"), InvalidStatus),
        (Script(on_turn=[{"raw": "{garbage"}]), ValueError),
        (Script(unknown=True), ValidationError),
    ],
    ids=["malformed", "drop", "1011", "429", "401", "garbage", "unknown"],
)
def test_the_same_client_fails_on_a_scripted_fault(script, fails):
    async def conversation(client):
        await client.speak()
        await client.until("response.done")

    talk(Script(), recite([Say()]), conversation)
    with pytest.raises(fails):
        talk(script, recite([Say()]), conversation)
