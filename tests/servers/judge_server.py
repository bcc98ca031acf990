"""An OpenAI-compatible endpoint on 127.0.0.1 that plays a script: verdicts, and every way in which a judge can fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = Any
Play = Callable[["Request"], "Reply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked: the body as sent, and what is inside its data part."""

    body: dict[str, Json]
    headers: dict[str, str]  # names in lower case

    @property
    def system(self) -> str:
        """The rules."""
        return self.body["messages"][0]["content"]

    @property
    def lines(self) -> list[str]:
        """The second message: marker, record, marker, closing words."""
        return self.body["messages"][1]["content"].split("\n")

    @property
    def record(self) -> dict[str, Json]:
        """The data part."""
        return json.loads(self.lines[1])

    @property
    def outside(self) -> str:
        """Everything that was sent but the data part."""
        first, _, *rest = self.lines
        return "\n".join([self.system, first, *rest, json.dumps(self.body.get("response_format"))])

    @property
    def key(self) -> str:
        """Under which the answer stands."""
        for key in ("correct", "same", "sentence"):
            if f'"{key}":' in self.system:
                return key
        raise AssertionError("the rules name no answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the endpoint does. `wait` holds the response until the server closes; `hang_up` breaks it off."""

    content: str | None = None
    status: int = 200
    finish: str = "stop"
    wait: bool = False
    hang_up: bool = False
    raw: bytes | None = None
    drip: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


def verdict(request: Request, answer: Json) -> Reply:
    """A well-formed answer."""
    return Reply(content=json.dumps({"reason": "because", request.key: answer}))


def yes(request: Request) -> Reply:
    """True to everything, and the first sentence."""
    return verdict(request, 0 if request.key == "sentence" else True)


@dataclass(slots=True, kw_only=True)
class JudgeServer:
    """A running double. `play` may be changed between questions; `seen` are the requests in order of arrival."""

    play: Play = yes
    seen: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0

    @property
    def url(self) -> str:
        """OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def host(self) -> str:
        """As reports show it."""
        return f"127.0.0.1:{self.port}"


@contextmanager
def judge_server(play: Play = yes) -> Iterator[JudgeServer]:
    """A double that listens until the block ends."""
    double = JudgeServer(play=play)

    class Handler(_Handler):
        server_of_tests = double

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield double
    finally:
        double.closing.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_of_tests: JudgeServer

    def do_POST(self) -> None:
        double = self.server_of_tests
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(body=body, headers={k.lower(): v for k, v in self.headers.items()})
        with double.lock:
            double.seen.append(request)
            reply = double.play(request) if self.path == "/v1/chat/completions" else Reply(status=404)
        double.arrived.set()
        if reply.wait:
            double.closing.wait(60)
            return
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        data = reply.raw if reply.raw is not None else json.dumps(_completion(reply)).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            if reply.drip:
                self._drip(data)
            self.wfile.write(data[: len(data) // 2] if reply.hang_up else data)
            self.wfile.flush()
        except OSError:  # the other side went away
            pass
        if reply.hang_up:
            self.close_connection = True
            self.connection.close()

    def _drip(self, data: bytes) -> None:
        for at in range(len(data)):
            if self.server_of_tests.closing.wait(0.02):
                return
            self.wfile.write(data[at : at + 1])
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _completion(reply: Reply) -> dict[str, Json]:
    if reply.status != 200:
        return {"error": {"message": "the key sk-secret-1234 is wrong", "type": "server_error"}}
    message = {"role": "assistant", "content": reply.content}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "double",
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
