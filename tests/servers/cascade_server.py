"""A double of OpenAI-compatible services on 127.0.0.1: transcription, chat that may hear, speech; and their faults.

`cascade_server(...)` runs it in a thread, `listen(Double(...))` in the loop it is called from.
It is as strict as the real ones about what a chat is told: every call of a message has its result right after it.
"""

from __future__ import annotations

import asyncio
import email.policy
import json
import struct
import wave
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http import HTTPStatus
from typing import Any

from pytest_voicebench.audio import RATE_HZ
from tests.servers.cascade_chat import PIECE_S, asks_for_sound, chunks, length_s, sounds_of, whole
from tests.servers.cascade_script import Script, Trouble
from tests.servers.in_thread import in_thread

Json = Any

PATHS = {
    "/v1/models": "models",
    "/v1/audio/transcriptions": "transcriptions",
    "/v1/chat/completions": "chat",
    "/v1/audio/speech": "speech",
}
HANGS_S = 60.0
"""Longer than any client waits."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request: its endpoint, its body (a form's fields for a transcription) and its headers in lower case."""

    endpoint: str
    body: dict[str, Json]
    headers: dict[str, str]
    wav: bytes = b""

    @property
    def speech_s(self) -> float:
        """Length of the sound of a transcription."""
        return length_s(self.wav)

    @property
    def sounds_s(self) -> list[list[float]]:
        """Lengths of the sounds in each message of the user in a chat that holds some."""
        told = [sounds_of(m) for m in self.body["messages"] if m["role"] == "user"]
        return [[length_s(wav) for wav in sounds] for sounds in told if sounds]


@dataclass(kw_only=True)
class Double:
    """A running double. `seen` are the requests in order of arrival, `broken` those whose client went away,
    `opened_by` those that were the first of their connections."""

    script: Script = field(default_factory=Script)
    seen: list[Seen] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    opened_by: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def of(self, endpoint: str) -> list[Seen]:
        """The requests of one endpoint."""
        return [seen for seen in self.seen if seen.endpoint == endpoint]

    def note(self, seen: Seen) -> int:
        """Keep a request; how many of its kind came before it."""
        self.seen.append(seen)
        return len(self.of(seen.endpoint)) - 1

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it is closed by its client, by the script, or with the double."""
        first = True
        try:
            while (request := await _read(reader)) is not None:
                if first:
                    self.opened_by.append(PATHS.get(request[0], ""))
                    first = False
                await _Exchange(self, writer, request[1]).handle(*request)
        except _NoRequest:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        except (_Broken, OSError, asyncio.IncompleteReadError):
            pass  # the connection is over
        finally:
            writer.close()


@asynccontextmanager
async def listen(double: Double):
    """Serve a double on an ephemeral port of the loopback interface."""
    talks: set[asyncio.Task[None]] = set()

    def open_talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.create_task(double.talk(reader, writer))
        talks.add(talk)
        talk.add_done_callback(talks.discard)

    server = await asyncio.start_server(open_talk, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


@contextmanager
def cascade_server(script: Script | None = None):
    """A double in a thread, until the block ends."""
    double = Double(script=script or Script())
    with in_thread(listen(double)):
        yield double


class _Broken(Exception):  # noqa: N818 - says what is the case
    """The script breaks the connection."""


class _NoRequest(Exception):  # noqa: N818 - says what is the case
    """What came is not HTTP."""


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """The path, the headers in lower case and the body of a request, or None at the end. Raises _NoRequest."""
    first = (await reader.readline()).split()
    if not first:
        return None
    if len(first) != 3 or not first[2].startswith(b"HTTP/1."):
        raise _NoRequest
    headers: dict[str, str] = {}
    while line := (await reader.readline()).decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return first[1].decode(), headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def _told(given: Any, asked: Any, number: int) -> Any:
    """What a script gives: a function of what is asked, which may take its time, or one thing after the other."""
    return await asyncio.to_thread(given, asked) if callable(given) else given[min(number, len(given) - 1)]


class _Exchange:
    """One request and its answer."""

    def __init__(self, double: Double, writer: asyncio.StreamWriter, headers: dict[str, str]) -> None:
        self.double = double
        self.writer = writer
        self.headers = headers

    async def handle(self, path: str, headers: dict[str, str], body: bytes) -> None:
        double, endpoint = self.double, PATHS.get(path, "")
        seen = _seen(endpoint, body, headers)
        number = double.note(seen)
        trouble = double.script.troubles.get(endpoint)
        if trouble and not trouble.first <= number < trouble.first + trouble.times:
            trouble = None
        try:
            await self._answer(seen, number, trouble)
        except OSError:
            double.broken.append(endpoint)
            raise

    async def _answer(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script, endpoint = self.double.script, seen.endpoint
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if script.key is not None and given != script.key:
            await self._error(401, f"Incorrect API key provided: {given}.")
        elif trouble and trouble.kind == "status":
            await self._error(trouble.status, trouble.message, trouble.retry_after)
        elif trouble and trouble.kind == "hang":
            await asyncio.sleep(HANGS_S)
            raise _Broken
        elif flaw := _flaw(seen):
            await self._error(400, flaw)
        else:
            await getattr(self, f"_{endpoint or 'nothing'}")(seen, number, trouble)

    async def _nothing(self, *_: object) -> None:
        await self._error(404, "no such path")

    async def _models(self, *_: object) -> None:
        if self.double.script.no_models:
            await self._error(404, "no such path")
            return
        await self._json(
            {"object": "list", "data": [{"id": "double", "object": "model", "created": 1, "owned_by": "us"}]}
        )

    async def _transcriptions(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        text = await _told(self.double.script.heard, seen.wav, number)
        if trouble:
            await self._body(b"<html>busy</html>" if trouble.kind == "garbage" else b"{}", "application/json")
            return
        usage = {} if self.double.script.no_usage else {"usage": {"type": "duration", "seconds": 2}}
        await self._json({"text": text, **usage})

    async def _chat(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script = self.double.script
        chat = await _told(script.chats, seen.body, number)
        if not seen.body.get("stream"):
            told = await asyncio.to_thread(whole, chat, script, number, seen.body)
            await self._json({"object": "busy"} if trouble else told)
            return
        pieces = await asyncio.to_thread(lambda: list(chunks(chat, script, number, seen.body)))
        await self._begin("text/event-stream")
        for at, chunk in enumerate(pieces):
            if trouble and at == trouble.after and await self._trip(trouble):
                return
            if script.pace and asks_for_sound(seen.body):
                await asyncio.sleep(script.pace * PIECE_S)
            elif script.writing_s:
                await asyncio.sleep(script.writing_s)
            await self._piece(f"data: {json.dumps(chunk)}\n\n".encode())
        await self._piece(b"data: [DONE]\n\n")
        await self._end()

    async def _trip(self, trouble: Trouble) -> bool:
        """A fault in the middle of a stream; whether the answer is over with it."""
        if trouble.kind == "cut":
            raise _Broken
        if trouble.kind == "stall":
            await asyncio.sleep(HANGS_S)
            raise _Broken
        told = {"error": {"message": trouble.message, "type": "server_error", "code": None}}
        noise = {"choices": [{"index": 0, "delta": {"audio": {"data": "(noise)"}}, "finish_reason": None}]}
        body = {
            "error": f"data: {json.dumps(told)}\n\n",
            "noise": f"data: {json.dumps(noise)}\n\n",
            "garbage": "data: {garbage\n\n",
        }.get(trouble.kind, "")
        if body:
            await self._piece(body.encode())
        await self._end()
        return True

    async def _speech(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script = self.double.script
        if trouble and trouble.kind in ("json", "wav", "empty"):
            body, kind = {
                "json": (b'{"audio": "later"}', "application/json"),
                "wav": (b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + bytes(100), "audio/wav"),
                "empty": (b"", "audio/pcm"),
            }[trouble.kind]
            await self._body(body, kind)
            return
        data = (await asyncio.to_thread(script.voice, seen.body["input"])).astype("<i2").tobytes()
        step = round(PIECE_S * RATE_HZ) * 2 + (1 if script.odd else 0)
        await self._begin("audio/pcm")
        for at, start in enumerate(range(0, len(data), step)):
            if trouble and at == trouble.after and await self._trip(trouble):
                return
            await self._piece(data[start : start + step])
            if script.pace:
                await asyncio.sleep(script.pace * PIECE_S)
        await self._end()

    async def _error(self, status: int, message: str, retry_after: str | None = None) -> None:
        more = {"Retry-After": retry_after} if retry_after else {}
        told = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
        await self._body(json.dumps(told).encode(), "application/json", status, more)

    async def _json(self, body: Json) -> None:
        await self._body(json.dumps(body).encode(), "application/json")

    async def _body(self, data: bytes, kind: str, status: int = 200, more: dict[str, str] | None = None) -> None:
        await self._head(status, {"Content-Type": kind, "Content-Length": str(len(data)), **(more or {})})
        await self._send(data)

    async def _begin(self, kind: str) -> None:
        await self._head(200, {"Content-Type": kind, "Transfer-Encoding": "chunked"})

    async def _piece(self, data: bytes) -> None:
        await self._send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def _end(self) -> None:
        await self._send(b"0\r\n\r\n")

    async def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{n}: {v}" for n, v in headers.items())]
        await self._send("\r\n".join([*lines, "", ""]).encode())

    async def _send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


def _seen(endpoint: str, body: bytes, headers: dict[str, str]) -> Seen:
    if endpoint != "transcriptions":
        return Seen(endpoint=endpoint, body=json.loads(body) if body else {}, headers=headers)
    head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
    form = BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields, wav = {}, b""
    for part in form.iter_parts():
        name, data = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if name == "file":
            wav, fields["filename"] = data, part.get_filename()
        else:
            fields[name] = data.decode()
    return Seen(endpoint=endpoint, body=fields, headers=headers, wav=wav)


def _flaw(seen: Seen) -> str | None:
    """What a real service would refuse with 400, or None."""
    if seen.endpoint in ("models", ""):
        return None
    if not seen.body.get("model"):
        return "you must provide a model parameter"
    if seen.endpoint == "transcriptions":
        return None if seen.wav[:4] == b"RIFF" and seen.speech_s >= 0.1 else "Audio file is too short or unreadable."
    if seen.endpoint == "speech":
        text = seen.body.get("input") or ""
        return None if 0 < len(text) <= 4096 and seen.body.get("voice") else "Invalid 'input' or 'voice'."
    return _sound_flaw(seen.body) or _messages_flaw(seen.body["messages"])


def _sound_flaw(body: Json) -> str | None:
    """What is wrong with the sound in a request, or with the sound that is asked for."""
    try:
        sounds = [wav for message in body["messages"] for wav in sounds_of(message)]
        if any(length_s(wav) < 0.1 for wav in sounds):
            return "Audio is too short."
    except (ValueError, KeyError, EOFError, wave.Error):
        return "Invalid value for 'input_audio': it cannot be decoded."
    if asks_for_sound(body) and not (body.get("audio") or {}).get("voice"):
        return "Missing required parameter: 'audio.voice'."
    if body.get("stream") and asks_for_sound(body) and body["audio"].get("format") not in ("pcm16", "wav"):
        return "Unsupported value: 'audio.format'."
    return None


def _messages_flaw(messages: list[Json]) -> str | None:
    due: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in due:
                return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            due.remove(message["tool_call_id"])
        elif due:
            return f"An assistant message with 'tool_calls' must be followed by tool messages responding to {due}."
        due += [call["id"] for call in message.get("tool_calls") or ()]
    return f"tool_call_ids did not have response messages: {due}" if due else None
