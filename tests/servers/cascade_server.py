"""A double of OpenAI-compatible services on 127.0.0.1: transcription, chat that may hear, speech; and their faults.

It is as strict as the real ones about what a chat is told: every call of a message has its result right after it.
"""

from __future__ import annotations

import email.policy
import json
import struct
import threading
import wave
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_voicebench.audio import RATE_HZ
from tests.servers.cascade_chat import PIECE_S, asks_for_sound, chunks, length_s, sounds_of, whole
from tests.servers.cascade_script import Script, Trouble

Json = Any

PATHS = {
    "/v1/models": "models",
    "/v1/audio/transcriptions": "transcriptions",
    "/v1/chat/completions": "chat",
    "/v1/audio/speech": "speech",
}


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
    """A running double. `seen` are the requests in order of arrival, `broken` those whose client went away."""

    script: Script
    seen: list[Seen] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def of(self, endpoint: str) -> list[Seen]:
        """The requests of one endpoint."""
        with self.lock:
            return [seen for seen in self.seen if seen.endpoint == endpoint]

    def note(self, seen: Seen) -> int:
        """Keep a request; how many of its kind came before it."""
        with self.lock:
            self.seen.append(seen)
            return sum(s.endpoint == seen.endpoint for s in self.seen) - 1


@contextmanager
def cascade_server(script: Script | None = None):
    """A double in threads of its own, until the block ends."""
    double = Double(script=script or Script())

    class Handler(_Handler):
        double_of_tests = double

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield double
    finally:
        double.closing.set()
        server.shutdown()
        server.server_close()


class _Broken(Exception):  # noqa: N818 - says what is the case
    """The script breaks the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer is 40 ms late
    double_of_tests: Double

    def setup(self) -> None:
        self.double_of_tests.connections += 1
        super().setup()

    def do_GET(self) -> None:
        self._handle(b"")

    def do_POST(self) -> None:
        self._handle(self.rfile.read(int(self.headers["Content-Length"])))

    def _handle(self, body: bytes) -> None:
        double, endpoint = self.double_of_tests, PATHS.get(self.path, "")
        try:
            seen = _seen(endpoint, body, self.headers)
            number = double.note(seen)
            trouble = double.script.troubles.get(endpoint)
            if trouble and not trouble.first <= number < trouble.first + trouble.times:
                trouble = None
            self._answer(seen, number, trouble)
        except _Broken:
            self._hang_up()
        except OSError:
            double.broken.append(endpoint)
            self.close_connection = True

    def _answer(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script, endpoint = self.double_of_tests.script, seen.endpoint
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if script.key is not None and given != script.key:
            self._error(401, f"Incorrect API key provided: {given}.")
        elif trouble and trouble.kind == "status":
            self._error(trouble.status, trouble.message, trouble.retry_after)
        elif trouble and trouble.kind == "hang":
            self.double_of_tests.closing.wait(60)
            raise _Broken
        elif flaw := _flaw(seen):
            self._error(400, flaw)
        else:
            self.double_of_tests.closing.wait(script.wait_s.get(endpoint, 0.0))
            getattr(self, f"_{endpoint or 'nothing'}")(seen, number, trouble)

    def _nothing(self, *_: object) -> None:
        self._error(404, "no such path")

    def _models(self, *_: object) -> None:
        if self.double_of_tests.script.no_models:
            self._error(404, "no such path")
            return
        self._json({"object": "list", "data": [{"id": "double", "object": "model", "created": 1, "owned_by": "us"}]})

    def _transcriptions(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        heard = self.double_of_tests.script.heard
        text = heard(seen.wav) if callable(heard) else heard[min(number, len(heard) - 1)]
        if trouble:
            self._body(b"<html>busy</html>" if trouble.kind == "garbage" else b"{}", "application/json")
            return
        usage = {} if self.double_of_tests.script.no_usage else {"usage": {"type": "duration", "seconds": 2}}
        self._json({"text": text, **usage})

    def _chat(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script = self.double_of_tests.script
        chats = script.chats
        chat = chats(seen.body) if callable(chats) else chats[min(number, len(chats) - 1)]
        if not seen.body.get("stream"):
            self._json({"object": "busy"} if trouble else whole(chat, script, number, seen.body))
            return
        self._begin("text/event-stream")
        for at, chunk in enumerate(chunks(chat, script, number, seen.body)):
            if trouble and at == trouble.after and self._trip(trouble):
                return
            if script.pace and asks_for_sound(seen.body):
                self.double_of_tests.closing.wait(script.pace * PIECE_S)
            self._piece(f"data: {json.dumps(chunk)}\n\n".encode())
        self._piece(b"data: [DONE]\n\n")
        self._end()

    def _trip(self, trouble: Trouble) -> bool:
        """A fault in the middle of a stream; whether the answer is over with it."""
        if trouble.kind == "cut":
            raise _Broken
        if trouble.kind == "stall":
            self.double_of_tests.closing.wait(60)
            raise _Broken
        told = {"error": {"message": trouble.message, "type": "server_error", "code": None}}
        noise = {"choices": [{"index": 0, "delta": {"audio": {"data": "(noise)"}}, "finish_reason": None}]}
        body = {
            "error": f"data: {json.dumps(told)}\n\n",
            "noise": f"data: {json.dumps(noise)}\n\n",
            "garbage": "data: {garbage\n\n",
        }.get(trouble.kind, "")
        if body:
            self._piece(body.encode())
        self._end()
        return True

    def _speech(self, seen: Seen, number: int, trouble: Trouble | None) -> None:
        script = self.double_of_tests.script
        if trouble and trouble.kind in ("json", "wav", "empty"):
            body, kind = {
                "json": (b'{"audio": "later"}', "application/json"),
                "wav": (b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + bytes(100), "audio/wav"),
                "empty": (b"", "audio/pcm"),
            }[trouble.kind]
            self._body(body, kind)
            return
        data = script.voice(seen.body["input"]).astype("<i2").tobytes()
        step = round(PIECE_S * RATE_HZ) * 2 + (1 if script.odd else 0)
        self._begin("audio/pcm")
        for at, start in enumerate(range(0, len(data), step)):
            if trouble and at == trouble.after and self._trip(trouble):
                return
            self._piece(data[start : start + step])
            if script.pace:
                self.double_of_tests.closing.wait(script.pace * PIECE_S)
        self._end()

    def _error(self, status: int, message: str, retry_after: str | None = None) -> None:
        more = {"Retry-After": retry_after} if retry_after else {}
        told = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
        self._body(json.dumps(told).encode(), "application/json", status, more)

    def _json(self, body: Json) -> None:
        self._body(json.dumps(body).encode(), "application/json")

    def _body(self, data: bytes, kind: str, status: int = 200, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _piece(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _seen(endpoint: str, body: bytes, headers: Any) -> Seen:
    lower = {k.lower(): v for k, v in headers.items()}
    if endpoint != "transcriptions":
        return Seen(endpoint=endpoint, body=json.loads(body) if body else {}, headers=lower)
    head = f"Content-Type: {lower['content-type']}\r\n\r\n".encode()
    form = BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields, wav = {}, b""
    for part in form.iter_parts():
        name, data = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if name == "file":
            wav, fields["filename"] = data, part.get_filename()
        else:
            fields[name] = data.decode()
    return Seen(endpoint=endpoint, body=fields, headers=lower, wav=wav)


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
