"""What a service of speech answers: its sound comes as it is made, and what is no 24 kHz PCM is never played."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from pytest_voicebench.agents.turn_based.endpoints import Service, open_endpoints
from pytest_voicebench.agents.wire import Unreachable
from pytest_voicebench.agents.wire_log import WireLog

LIMIT_S = 5.0
SPOKEN = bytes(range(200)) * 10


async def ask(kind: str, first: bytes, rest: bytes, take):
    """A service that sends the rest when `take`, which gets its pieces and what lets it go on, says so."""
    go_on = asyncio.Event()

    async def answer(reader, writer):
        while head := await reader.readline():
            while (await reader.readline()).strip():
                pass
            if b"/audio/speech" not in head:
                writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                continue
            length = len(first) + len(rest)
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode())
            writer.write(first)
            await go_on.wait()
            writer.write(rest)
            break
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    service = Service(what="speech", url=url, model="m", secret=None, options={"voice": "v"})
    log = WireLog(asyncio.get_running_loop().time)
    async with (
        server,
        open_endpoints([service], log, LIMIT_S) as (endpoint,),
        aclosing(endpoint.speech("Hello.")) as pieces,
    ):
        await take(pieces, go_on)


def test_sound_is_passed_on_as_it_comes_and_does_not_wait_for_more():
    heard = []

    async def take(pieces, go_on):
        heard.append(await anext(pieces))  # 20 ms, and the service sends no more until they are here
        go_on.set()
        heard.extend([piece async for piece in pieces])

    asyncio.run(ask("audio/pcm", SPOKEN[:960], SPOKEN[960:], take))
    assert (heard[0], b"".join(heard)) == (SPOKEN[:960], SPOKEN)


@pytest.mark.parametrize(
    ("kind", "first", "told"),
    [
        ("audio/mpeg", b"\xff\xfb\x90\x64", "a sound file came where bare PCM is due"),
        ("audio/mpeg", b"ID3\x04", "a sound file came where bare PCM is due"),
        ("audio/aac", b"\xff\xf1\x50\x80", "a sound file came where bare PCM is due"),
        ("audio/mp4", b"\x00\x00\x00\x1cftypM4A ", "a sound file came where bare PCM is due"),
        ("audio/webm", b"\x1aE\xdf\xa3", "a sound file came where bare PCM is due"),
        ("audio/pcm;rate=16000", b"\x01\x00\x01\x00", "audio/pcm;rate=16000 came where 24000 samples a second are due"),
        ("audio/L16; rate=8000; channels=1", b"\x01\x00\x01\x00", "came where 24000 samples a second are due"),
        ("text/html", b"<html>", "text/html came where PCM is due"),
        ("audio/mpeg", b"\x01\x00\xff\xff", None),
        ("audio/pcm;rate=24000", b"\xff\xff\x01\x00", None),
        ("application/octet-stream", b"\xfe\xff\x01\x00", None),
    ],
)
def test_what_is_no_bare_pcm_at_24_khz_is_never_played_as_if_it_were(kind, first, told):
    heard = []

    async def take(pieces, go_on):
        go_on.set()
        heard.extend([piece async for piece in pieces])

    if told is None:
        asyncio.run(ask(kind, first, bytes(100), take))
        assert b"".join(heard) == first + bytes(100)
        return
    with pytest.raises(Unreachable, match=told):
        asyncio.run(ask(kind, first, bytes(100), take))
    assert heard == []
