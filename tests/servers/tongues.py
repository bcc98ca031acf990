"""How each protocol says what a hostile server has to say: its greeting, sound, calls, and the end of its time."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from aiohttp import web

from pytest_voicebench.audio import RATE_HZ, Audio, resample
from tests.servers.openai_script import tone

Json = Any

HUGE = 50 * 2**20
"""Bytes; no message of any protocol is as long."""

Frame = str | bytes | dict[str, Json]
Frames = Sequence[Frame]


def _nothing(*_: object) -> Frames:
    return ()


@dataclass(frozen=True, kw_only=True)
class Tongue:
    """One protocol. `limit` and its closing code end a session whose time is up."""

    greet: Callable[[Any], Any]
    sound: Callable[[Any, str, bytes], Frames] = _nothing
    no_sound: Callable[[Any], Frames] = _nothing
    call: Callable[[Any, str, str, str], Frames] = _nothing
    disorder: Callable[[Any], Frames] = _nothing
    limit: Callable[[Any], Frames] = _nothing
    limit_code: int = 1001
    json_in_bytes: bool = False
    echo: str = ""  # what a call of Ultravox says that its instructions are, where that is not what was asked


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# OpenAI's Realtime API, and what others made of it


async def _greet_realtime(peer: Any) -> None:
    await peer.send({"type": "session.created", "session": {}})
    asked = await peer.told('"session.update"')
    await peer.send({"type": "session.updated", "session": asked["session"]})


def _response(peer: Any) -> str:
    peer.number += 1
    return f"response_{peer.number}"


def _realtime_sound(_: Any, item_id: str, pcm: bytes) -> Frames:
    told = {"type": "response.output_audio.delta", "response_id": f"r_{item_id}", "item_id": item_id}
    return [{**told, "output_index": 0, "content_index": 0, "delta": _b64(pcm)}]


def _realtime_call(peer: Any, call_id: str, name: str, arguments: str) -> Frames:
    response_id = _response(peer)
    item = {"id": f"item_{response_id}", "type": "function_call", "status": "completed"}
    item |= {"call_id": call_id, "name": name, "arguments": arguments}
    done = {"id": response_id, "status": "completed", "output": [item]}
    return [
        {"type": "response.created", "response": {"id": response_id}},
        {"type": "response.output_item.done", "response_id": response_id, "item": item},
        {"type": "response.done", "response": done},
    ]


def _realtime_disorder(_: Any) -> Frames:
    return [
        {"type": "response.done", "response": {"id": "never begun", "status": "completed", "output": "none"}},
        {"type": "response.function_call_arguments.done", "item_id": "nobody's", "arguments": 7},
        {"type": "response.output_item.done", "item": ["no object"]},
        {"type": "response.output_audio_transcript.done", "item_id": "i", "transcript": "the end"},
        {"type": "response.output_audio_transcript.delta", "item_id": "i", "delta": "the beginning"},
        {"type": "response.output_audio.done", "item_id": "i"},
        {"type": "input_audio_buffer.speech_stopped", "item_id": "u"},
        {"type": "input_audio_buffer.committed"},
        {"type": "input_audio_buffer.speech_started", "item_id": "u"},
        {"type": "input_audio_buffer.speech_stopped", "item_id": "u"},
        {"type": "session.created"},
        {"type": ["a", "list"]},
        {"no": "type"},
    ]


def _realtime_limit(_: Any) -> Frames:
    told = "Your session hit the maximum duration of 60 minutes."
    return [{"type": "error", "error": {"type": "invalid_request_error", "code": "session_expired", "message": told}}]


REALTIME = Tongue(
    greet=_greet_realtime,
    sound=_realtime_sound,
    no_sound=lambda _: [{"type": "response.output_audio.delta", "item_id": "i", "delta": "(no base64)"}],
    call=_realtime_call,
    disorder=_realtime_disorder,
    limit=_realtime_limit,
)


async def _greet_vllm(peer: Any) -> None:
    asked = await peer.told('"session.update"')
    await peer.send({"type": "session.created", "session": asked["session"]})


async def _greet_sglang(peer: Any) -> None:
    await peer.send({"type": "session.created", "session": {}})
    await peer.told('"session.update"')
    await peer.send({"type": "session.updated", "session": {}})


async def _greet_map(peer: Any) -> None:
    await peer.send({"type": "session.queue_done"})
    await peer.told('"session.init"')
    await peer.send({"type": "session.created"})


def _map_sound(_peer: Any, _item_id: str, pcm: bytes) -> Frames:
    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % 2], "<i2").astype("<f4") / 32768
    data = samples.tobytes() + bytes(len(pcm) % 2)
    return [{"type": "response.output.delta", "kind": "audio", "audio": _b64(data)}]


def _map_disorder(_: Any) -> Frames:
    return [
        {"type": "response.done"},
        {"type": "response.output.delta", "kind": "text", "end_of_turn": True, "text": 5},
        {"type": "response.listen", "text": {}},
        {"type": "response.output.delta", "kind": "unheard of"},
        {"type": "session.created", "usage": {"input_tokens": "many"}},
        {"type": "session.queue_done"},
    ]


def _closed(_: Any) -> Frames:
    return [{"type": "session.closed", "reason": "max_duration"}]


VLLM = Tongue(
    greet=_greet_vllm,
    sound=_realtime_sound,
    no_sound=REALTIME.no_sound,
    call=_realtime_call,
    disorder=_realtime_disorder,
    limit=lambda _: [{"type": "session.expired", "reason": "max_duration"}],
)
SGLANG = Tongue(
    greet=_greet_sglang,
    sound=_realtime_sound,
    no_sound=REALTIME.no_sound,
    call=_realtime_call,
    disorder=_realtime_disorder,
    limit=_closed,
)
MAP = Tongue(
    greet=_greet_map,
    sound=_map_sound,
    no_sound=lambda _: [{"type": "response.output.delta", "kind": "audio", "audio": "(no base64)"}],
    disorder=_map_disorder,
    limit=_closed,
)


# OpenAI's Live API


async def _greet_live(peer: Any) -> None:
    await peer.told('"session.start"')
    await peer.send({"type": "session.started"})


def _live_call(peer: Any, call_id: str, name: str, arguments: str) -> Frames:
    events = []
    for event in _realtime_call(peer, call_id, name, arguments):
        kind = "response.completed" if event["type"] == "response.done" else event["type"]  # type: ignore[index,call-overload]
        told = {"type": "response.event", "delegation_id": f"task_{peer.number}"}
        events.append({**told, "event": {**event, "type": kind}})  # type: ignore[dict-item]
    return events


def _live_disorder(_: Any) -> Frames:
    return [
        {"type": "response.event", "delegation_id": "t", "event": {"type": "response.completed", "response": []}},
        {"type": "response.event", "event": 9},
        {"type": "session.usage.updated", "usage": {"seconds": -1}},
        {"type": "session.output_transcript.delta", "delta": ["no text"]},
        {"type": "session.started"},
        {"type": 5},
    ]


LIVE = Tongue(
    greet=_greet_live,
    sound=lambda _peer, _item, pcm: [{"type": "session.output_audio.delta", "delta": _b64(pcm)}],
    no_sound=lambda _: [{"type": "session.output_audio.delta", "delta": "(no base64)"}],
    call=_live_call,
    disorder=_live_disorder,
    limit=_closed,
)


# Gemini Live


async def _greet_gemini(peer: Any) -> None:
    await peer.told('"setup"')
    await peer.send({"setupComplete": {}})


def _gemini_sound(_peer: Any, _item_id: str, pcm: bytes) -> Frames:
    part = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": _b64(pcm)}}
    return [{"serverContent": {"modelTurn": {"parts": [part]}}}]


def _gemini_call(_peer: Any, call_id: str, name: str, arguments: str) -> Frames:
    try:
        args: Json = json.loads(arguments)
    except ValueError:
        args = arguments
    return [{"toolCall": {"functionCalls": [{"id": call_id, "name": name, "args": args}]}}]


def _gemini_disorder(_: Any) -> Frames:
    return [
        {"serverContent": {"turnComplete": True}},
        {"serverContent": {"interrupted": True}},
        {"serverContent": {"generationComplete": True, "modelTurn": 4}},
        {"toolCallCancellation": {"ids": ["never made", 7]}},
        {"toolCallCancellation": {"ids": None}},
        {"toolCall": {"functionCalls": {}}},
        {"setupComplete": {}},
        {"usageMetadata": []},
        {"goAway": "soon"},
    ]


GEMINI = Tongue(
    greet=_greet_gemini,
    sound=_gemini_sound,
    no_sound=lambda _: [
        {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "(none)"}}]}}}
    ],
    call=_gemini_call,
    disorder=_gemini_disorder,
    limit=lambda _: [{"goAway": {"timeLeft": "0s"}}],
    limit_code=1008,
    json_in_bytes=True,
)


# Ultravox, Moshi, Twilio


async def _greet_ultravox(peer: Any) -> None:
    await peer.send({"type": "call_started", "callId": "call"}, {"type": "state", "state": "listening"})


def _ultravox_call(_peer: Any, call_id: str, name: str, arguments: str) -> Frames:
    try:
        told: Json = json.loads(arguments)
    except ValueError:
        told = arguments
    return [{"type": "client_tool_invocation", "toolName": name, "invocationId": call_id, "parameters": told}]


def _ultravox_disorder(_: Any) -> Frames:
    return [
        {"type": "playback_clear_buffer"},
        {"type": "state", "state": ["speaking"]},
        {"type": "transcript", "role": "agent", "final": True, "text": "the end", "ordinal": 1},
        {"type": "transcript", "role": "agent", "final": False, "delta": "the beginning", "ordinal": 1},
        {"type": "transcript", "role": "nobody", "text": "?"},
        {"type": "call_started"},
        {"type": None},
    ]


ULTRAVOX = Tongue(
    greet=_greet_ultravox,
    sound=lambda _peer, _item, pcm: [pcm],
    call=_ultravox_call,
    disorder=_ultravox_disorder,
    limit=lambda _: [{"type": "call_ended", "reason": "max duration"}],
)


async def _greet_moshi(peer: Any) -> None:
    import sphn

    peer.started["writer"] = sphn.OpusStreamWriter(RATE_HZ)
    await peer.send(b"\0")


def _moshi_sound(peer: Any, _item_id: str, pcm: bytes) -> Frames:
    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % 2], "<i2")
    waiting = np.concatenate([peer.started.get("waiting", np.zeros(0, np.int16)), samples])
    frames: list[Frame] = []
    while len(waiting) >= 1920:
        data = peer.started["writer"].append_pcm(waiting[:1920].astype(np.float32) / 32768)
        frames += [b"\1" + data] if data else []
        waiting = waiting[1920:]
    peer.started["waiting"] = waiting
    return frames


MOSHI = Tongue(
    greet=_greet_moshi,
    sound=_moshi_sound,
    no_sound=lambda _: [b"\1 no Ogg at all" * 20],
    disorder=lambda _: [b"\0", b"\2", b"\x07?", b"", b"\1"],
    limit=lambda _: [b"\5time is up"],
)


async def _greet_twilio(peer: Any) -> None:
    peer.started |= await peer.told('"start"')


def _media(peer: Any, payload: str) -> Frames:
    return [{"event": "media", "streamSid": peer.started["streamSid"], "media": {"payload": payload}}]


def _twilio_sound(peer: Any, _item_id: str, pcm: bytes) -> Frames:
    from pytest_voicebench.agents.twilio.mulaw import encode_mulaw

    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % 2], "<i2")
    return _media(peer, _b64(encode_mulaw(resample(Audio(samples=samples, rate_hz=RATE_HZ), 8000).samples)))


def _twilio_disorder(peer: Any) -> Frames:
    return [
        {"event": "mark", "streamSid": peer.started["streamSid"], "mark": {"name": "never set"}},
        {"event": "clear", "streamSid": peer.started["streamSid"]},
        {"event": "media", "streamSid": "another", "media": {"payload": "AAAA"}},
        {"event": "connected"},
        {"event": {}},
    ]


TWILIO = Tongue(
    greet=_greet_twilio,
    sound=_twilio_sound,
    no_sound=lambda peer: _media(peer, "(no base64)"),
    disorder=_twilio_disorder,
    limit=_nothing,
    limit_code=1000,
)

SILENT = Tongue(greet=_greet_realtime)

BY_AGENT: Mapping[str, Tongue] = {
    "gpt-realtime": REALTIME,
    "grok": REALTIME,
    "gpt-live": LIVE,
    "gemini-live-2.5": GEMINI,
    "ultravox": ULTRAVOX,
    "nemotron-voicechat": VLLM,
    "minicpm-o sglang-omni": SGLANG,
    "minicpm-o map": MAP,
    "moshi": MOSHI,
    "twilio": TWILIO,
    "twilio voice_url": TWILIO,
    "cascaded": SILENT,
    "audio_chat": SILENT,
    "audio_chat speech": SILENT,
}


# What is asked over HTTP


async def answer(server: Any, request: web.Request) -> web.StreamResponse:
    """A request of HTTP: Ultravox's calls, a voice URL, and the services that a cascade asks."""
    path, host = request.path, f"[{server.host}]" if ":" in server.host else server.host
    here = f"ws://{host}:{server.port}"
    if path.endswith("/calls"):
        call = {**await request.json(), "callId": "call", "joinUrl": f"{here}/join?token={server.secrets[-1]}"}
        call["systemPrompt"] = server.tongue.echo or call["systemPrompt"]
        return web.json_response(call, status=201)
    if path.endswith("/voice"):
        return web.Response(text=f'<Response><Connect><Stream url="{here}/stream"/></Connect></Response>')
    if path.endswith("/models"):
        return web.json_response({"object": "list", "data": []})
    if path.endswith("/transcriptions"):
        await request.read()
        return web.json_response({"text": "x" * HUGE if server.takes_fault("huge_text") else "please do it"})
    if path.endswith("/speech"):
        return await _speech(server, request)
    return await _chat(server, request)


async def _speech(server: Any, request: web.Request) -> web.StreamResponse:
    await request.read()
    if server.takes_fault("text"):
        return web.json_response({"later": server.echoed})
    if server.takes_fault("huge"):
        return await _stream(request, "audio/pcm", [bytes(2**20)] * 50)
    if server.takes_fault("endless"):
        return await _stream(request, "audio/pcm", [tone(1.0).tobytes()] * 60)
    pcm, step = tone(0.6).tobytes(), 1001 if server.takes_fault("odd_sound") else 4800
    return await _stream(request, "audio/pcm", [pcm[at : at + step] for at in range(0, len(pcm), step)])


async def _stream(request: web.Request, kind: str, pieces: Sequence[bytes]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    await response.write_eof()
    return response


def _chunk(delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def _calls(*calls: tuple[str, str]) -> list[bytes]:
    pieces = [
        _chunk({"tool_calls": [{"index": n, "id": "c1", "type": "function", "function": {"name": a, "arguments": b}}]})
        for n, (a, b) in enumerate(calls)
    ]
    return [*pieces, _chunk({}, "tool_calls")]


def _bodies(server: Any) -> Mapping[str, list[bytes]]:
    error = {"error": {"message": f"It broke for {server.echoed}.", "type": "server_error", "code": None}}
    rome, oslo = ('{"destination": "%s", "date": "2026-06-03"}' % city for city in ("Rome", "Oslo"))  # noqa: UP031
    return {
        "error_500": [_chunk({"content": "It is"}), b"data: " + json.dumps(error).encode() + b"\n\n"],
        "garbage": [_chunk({"content": "It is"}), b"data: {garbage " + server.echoed.encode() + b"\n\n"],
        "disorder": [_chunk({}, "stop"), _chunk({"content": "All done."}), b"data: {}\n\n", _chunk([])],
        "unknown_tool": _calls(("cancel_everything", "{}")),
        "no_arguments": _calls(("search_flights", '{"destination": "Par')),
        "same_id": _calls(("search_flights", rome), ("search_flights", oslo)),
        "same_call": _calls(("search_flights", rome), ("search_flights", rome)),
    }


def _spoken(server: Any) -> list[bytes]:
    """An answer that is sound."""
    data = _b64(tone(0.6).tobytes())
    if server.takes_fault("no_sound"):
        data = "(no base64)"
    if server.takes_fault("odd_sound"):
        data = _b64(tone(0.6).tobytes()[:-1])
    pieces = [_chunk({"audio": {"transcript": "All done.", "data": data}})]
    if server.takes_fault("huge"):
        pieces = [_chunk({"audio": {"data": _b64(bytes(2**20))}})] * 50
    if server.takes_fault("endless"):
        pieces *= 100
    return [*pieces, _chunk({}, "stop"), b"data: [DONE]\n\n"]


async def _chat(server: Any, request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    server.seen.append(asked)
    for fault, status in (("status_500_late", 500), ("limit", 429)):
        if server.takes_fault(fault):
            return web.json_response({"error": {"message": f"Too much for {server.echoed}."}}, status=status)
    if server.takes_fault("close_1006"):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_chunk({"content": "It is"}))
        request.transport.abort()  # type: ignore[union-attr]
        return response
    if server.takes_fault("binary"):
        return web.Response(body=bytes(range(256)) * 8, content_type="application/octet-stream")
    if server.takes_fault("no_answer"):
        await asyncio.sleep(6.0)
    for name, pieces in _bodies(server).items():
        if server.takes_fault(name):
            return await _stream(request, "text/event-stream", [*pieces, b"data: [DONE]\n\n"])
    if asked.get("modalities"):
        return await _stream(request, "text/event-stream", _spoken(server))
    return await _stream(
        request, "text/event-stream", [_chunk({"content": "All done."}), _chunk({}, "stop"), b"data: [DONE]\n\n"]
    )
