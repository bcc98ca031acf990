"""The loop on which the adapters' tests hold their conversations: what counts as time there."""

from __future__ import annotations

import asyncio

import pytest
from patience import patiently


def test_a_wait_is_as_long_as_was_asked_and_computing_takes_no_time():
    async def work():
        now_s = asyncio.get_running_loop().time
        seen = [now_s()]
        for _ in range(3):
            await asyncio.sleep(0.02)
            sum(range(100_000))
            seen.append(now_s())
        return seen

    assert patiently(work()) == pytest.approx([0.0, 0.02, 0.04, 0.06])


def test_the_work_of_a_thread_takes_no_time():
    async def work():
        return await asyncio.to_thread(sum, range(100_000)), asyncio.get_running_loop().time()

    assert patiently(work()) == (4_999_950_000, 0.0)


def test_what_comes_over_a_socket_comes_before_a_limit_runs_out():
    async def work():
        async def echo(reader, writer):
            writer.write(await reader.readexactly(5))
            writer.close()

        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server, asyncio.timeout(1.0):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello")
            said = await reader.read()
            writer.close()
            return said

    assert patiently(work()) == b"hello"


def test_waits_end_in_the_order_of_their_ends():
    async def work():
        ended = []

        async def wait(seconds):
            await asyncio.sleep(seconds)
            ended.append(seconds)

        await asyncio.gather(*(wait(s) for s in (0.03, 0.01, 0.02)))
        return ended

    assert patiently(work()) == [0.01, 0.02, 0.03]


def test_a_limit_runs_out_where_nothing_comes():
    async def work():
        async with asyncio.timeout(0.02):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        patiently(work())
