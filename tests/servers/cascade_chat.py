"""What a chat completion is on the wire: in pieces or whole, text or sound, in the shapes of several servers."""

from __future__ import annotations

import base64
import io
import time
import wave
from collections.abc import Iterator
from typing import Any

from pytest_voicebench.audio import RATE_HZ
from tests.servers.cascade_script import Chat, Script

Json = Any

TOKENS = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
PIECE_S = 0.1


def wav_of(samples, rate_hz=RATE_HZ) -> bytes:
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(samples.astype("<i2").tobytes())
    return held.getvalue()


def sounds_of(message: Json) -> list[bytes]:
    """The WAV files in a message, of either kind of part. Raises ValueError for what is none."""
    content = message.get("content")
    found = []
    for part in content if isinstance(content, list) else ():
        if part["type"] == "input_audio":
            if part["input_audio"]["format"] != "wav":
                raise ValueError("only wav is taken here")
            data = part["input_audio"]["data"]
        elif part["type"] == "audio_url":
            head, _, data = part["audio_url"]["url"].partition(",")
            if head != "data:audio/wav;base64":
                raise ValueError("only data URLs are taken here")
        else:
            continue
        found.append(base64.b64decode(data, validate=True))
    return found


def length_s(wav: bytes) -> float:
    with wave.open(io.BytesIO(wav)) as file:
        return file.getnframes() / file.getframerate()


def asks_for_sound(body: Json) -> bool:
    return "audio" in (body.get("modalities") or ())


def chunks(chat: Chat, script: Script, number: int, body: Json) -> Iterator[Json]:
    """The answer in pieces: role, text or sound, calls one after the other, the reason of the end, usage."""
    yield _chunk({"role": "assistant", "content": None if chat.calls else ""})
    if asks_for_sound(body) and chat.text:
        yield from _SOUND[script.shape](chat, script)
    else:
        for piece in _cut(chat.text, script.letters):
            yield _chunk({"content": piece})
    yield from _calls(chat, script, number)
    yield _chunk({}, chat.finish or ("tool_calls" if chat.calls else "stop"))
    if not script.no_usage:
        yield {**_chunk({}), "choices": [], "usage": TOKENS}


def _calls(chat: Chat, script: Script, number: int) -> Iterator[Json]:
    for index, call in enumerate(chat.calls):
        place = {} if script.no_index else {"index": index}
        function = {"name": call.name, "arguments": ""}
        yield _chunk(
            {
                "tool_calls": [
                    {**place, "id": _id(chat, script, number, index), "type": "function", "function": function}
                ]
            }
        )
        for piece in _cut(call.arguments, script.letters):
            yield _chunk({"tool_calls": [{**place, "function": {"arguments": piece}}]})


def _id(chat: Chat, script: Script, number: int, index: int) -> str:
    return chat.calls[index].call_id or ("call_0" if script.same_ids else f"call_{number}_{index}")


def whole(chat: Chat, script: Script, number: int, body: Json) -> Json:
    """The same answer as one completion; sound is a WAV file then."""
    message: dict[str, Json] = {"role": "assistant", "content": chat.text or None}
    if asks_for_sound(body) and chat.text:
        message["content"] = None
        message["audio"] = _audio(transcript=chat.text, data=_base64(wav_of(_sound(chat, script))), expires_at=1)
    if chat.calls:
        message["tool_calls"] = [
            {
                "id": _id(chat, script, number, index),
                "type": "function",
                "function": {"name": c.name, "arguments": c.arguments},
            }
            for index, c in enumerate(chat.calls)
        ]
    finish = chat.finish or ("tool_calls" if chat.calls else "stop")
    choices = [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]
    if script.shape == "wav_pieces" and "audio" in message:  # text and sound are choices of their own
        text = {**choices[0], "message": {"role": "assistant", "content": chat.text}}
        choices = [text, {**choices[0], "message": {**message, "audio": {**message["audio"], "transcript": ""}}}]
    usage = {} if script.no_usage else {"usage": TOKENS}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time()), "model": "double"}
    return {**head, "choices": choices, **usage}


def _sound(chat: Chat, script: Script):
    return script.voice(chat.text)


def _pieces(chat: Chat, script: Script) -> Iterator[bytes]:
    """The sound in pieces of PCM; odd ones end in the middle of a sample."""
    data = _sound(chat, script).astype("<i2").tobytes()
    step = round(PIECE_S * RATE_HZ) * 2 + (1 if script.odd else 0)
    return (data[start : start + step] for start in range(0, len(data), step))


def _words_and_sound(chat: Chat, script: Script) -> Iterator[Json]:
    """OpenAI's: an id and the beginning of the transcript, then both as they come."""
    yield _chunk({"audio": _audio(transcript="")})
    words = iter(_cut(chat.text, script.letters))
    for piece in _pieces(chat, script):
        if (word := next(words, None)) is not None:
            yield _chunk({"audio": _audio(transcript=word)})
        yield _chunk({"audio": _audio(data=_base64(piece))})
    for word in words:
        yield _chunk({"audio": _audio(transcript=word)})
    yield _chunk({"audio": _audio(expires_at=int(time.time()) + 3600)})


def _sound_beside_text(chat: Chat, script: Script) -> Iterator[Json]:
    """Alibaba's: text as ever, then sound, which is bare PCM although wav was asked for."""
    for piece in _cut(chat.text, script.letters):
        yield _chunk({"content": piece})
    for piece in _pieces(chat, script):
        yield _chunk({"audio": {"data": _base64(piece)}})


def _wav_pieces(chat: Chat, script: Script) -> Iterator[Json]:
    """vLLM-Omni's: text as ever, then WAV files in the place of text; each chunk has the usage so far."""
    for piece in _cut(chat.text, script.letters):
        yield {**_chunk({"content": piece}), "modality": "text"}
    sound, step = _sound(chat, script), round(PIECE_S * RATE_HZ)
    for start in range(0, len(sound), step):
        data = _base64(wav_of(sound[start : start + step]))
        yield {**_chunk({"role": "assistant", "content": data}), "modality": "audio", "usage": TOKENS}


_SOUND = {"words_and_sound": _words_and_sound, "sound_beside_text": _sound_beside_text, "wav_pieces": _wav_pieces}


def _audio(**held: Json) -> Json:
    return {"id": "audio_1", **held}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _cut(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def _chunk(delta: Json, finish: str | None = None) -> dict[str, Json]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": int(time.time()), "model": "double"}
    return {**head, "choices": [choice], "usage": None}
