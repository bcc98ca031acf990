"""Kyutai's own client of Moshi without a sound card: `moshi_client.py PORT turn|barge_in`; prints what it saw.

Runs in an environment of its own with moshi, sphn and aiohttp; nothing of ours is imported. The client is loaded
without the models that its package imports at once, so that no torch is needed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import sys
import threading
import time
import types
from typing import ClassVar

import numpy as np

DEADLINE_S = 30.0
FRAME = 1920
REPLY_FRAMES = 10


class Microphone(threading.Thread):
    """A stand-in for sounddevice's InputStream: 80 ms of the user every 80 ms. `speech` are the loud frames."""

    speech: ClassVar[list[range]] = []
    frames = 0

    def __init__(self, *, blocksize: int, callback, **_) -> None:
        super().__init__(daemon=True)
        self.blocksize, self.callback, self.stopped = blocksize, callback, threading.Event()
        self.hum = (0.2 * np.sin(2 * np.pi * 220 * np.arange(blocksize) / 24_000)).astype(np.float32)

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_) -> None:
        self.stopped.set()

    def run(self) -> None:
        at, start = 0, time.monotonic()
        while not self.stopped.wait(max(0.0, start + at * 0.08 - time.monotonic())):
            speaks = any(at in frames for frames in self.speech)
            self.callback(self.hum[:, None] if speaks else np.zeros((self.blocksize, 1), np.float32), FRAME, None, None)
            at += 1
            Microphone.frames = at


class Loudspeaker(Microphone):
    """A stand-in for OutputStream, which keeps what is played."""

    played: ClassVar[list[np.ndarray]] = []

    def run(self) -> None:
        at, start = 0, time.monotonic()
        while not self.stopped.wait(max(0.0, start + at * 0.08 - time.monotonic())):
            out = np.zeros((self.blocksize, 1), np.float32)
            self.callback(out, FRAME, None, None)
            self.played.append(out[:, 0])
            at += 1


def load():
    """The client's module."""
    package = types.ModuleType("moshi")
    package.__path__ = importlib.util.find_spec("moshi").submodule_search_locations
    device = types.ModuleType("sounddevice")
    device.InputStream, device.OutputStream = Microphone, Loudspeaker
    sys.modules |= {"moshi": package, "sounddevice": device}
    from moshi import client
    from moshi.client_utils import RawPrinter

    return client, RawPrinter


def loud() -> list[bool]:
    """Of each frame that was played, whether anything is to be heard in it."""
    return [bool(np.abs(frame).max() > 0.01) for frame in Loudspeaker.played]


def is_over(what: str, text: str) -> bool:
    """Whether the reply that ends with a full stop was heard; after a barge-in, whether nothing more comes."""
    if "." not in text:
        return False
    return not any(loud()[-25:]) if what == "barge_in" else sum(loud()) >= REPLY_FRAMES


async def main(port: str, what: str) -> None:
    client, printer = load()
    texts, errors = io.StringIO(), io.StringIO()
    Microphone.speech = [range(5, 12)]
    arguments = types.SimpleNamespace(url=f"ws://127.0.0.1:{port}", host="", port=0, https=False)
    work = asyncio.create_task(client.run(printer(texts, errors), arguments))
    start = time.monotonic()
    while not (work.done() or is_over(what, texts.getvalue())) and time.monotonic() - start < DEADLINE_S:
        await asyncio.sleep(0.1)
        if what == "barge_in" and sum(loud()) >= REPLY_FRAMES and len(Microphone.speech) == 1:
            now = Microphone.frames + 3
            Microphone.speech = [range(5, 12), range(now, now + 7)]
    told = [line for line in errors.getvalue().replace("\033[31m [LAG]\033[0m", "").splitlines() if line]
    ended = "server" if work.done() else "client" if is_over(what, texts.getvalue()) else "deadline"
    if work.done() and work.exception():
        told.append(f"Error: {work.exception()!r}")
    work.cancel()
    print(json.dumps({"text": texts.getvalue(), "loud_frames": sum(loud()), "told": told, "ended": ended}))


asyncio.run(main(*sys.argv[1:]))
