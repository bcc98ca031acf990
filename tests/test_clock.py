"""Virtual time jumps exactly, and refuses whatever would run on real time."""

from __future__ import annotations

import asyncio
import gc
import socket
import time

import pytest

from pytest_voicebench.audio import BLOCK_TICKS
from pytest_voicebench.clock import Clock, Ticker, VirtualTimeError, VirtualTimeLoop


def run(coroutine):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def test_an_hour_of_virtual_waiting_takes_no_real_time_to_speak_of():
    async def wait():
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    before = time.process_time()
    assert run(wait()) == 3600
    assert time.process_time() - before < 5


def test_ticks_are_exact_over_thousands_of_blocks_and_any_start_offset():
    async def count(offset_s):
        await asyncio.sleep(offset_s)
        clock = Clock()
        clock.start()
        seen = []
        for block in range(5000):
            await clock.until(block * BLOCK_TICKS)
            seen.append(clock.now_ticks())
        return seen

    expected = [block * BLOCK_TICKS for block in range(5000)]
    for offset_s in (0, 0.1, 1 / 3, 123456.789):
        assert run(count(offset_s)) == expected


def test_the_clock_reads_zero_before_it_is_started():
    async def read():
        clock = Clock()
        await asyncio.sleep(5)
        before = clock.started, clock.now_ticks()
        clock.start()
        await asyncio.sleep(0.5)
        return before, clock.now_ticks()

    assert run(read()) == ((False, 0), 12_000)


def test_timers_fire_in_order_and_at_their_times():
    async def collect():
        loop, seen = asyncio.get_running_loop(), []

        async def note(delay_s):
            await asyncio.sleep(delay_s)
            seen.append((delay_s, loop.time()))

        await asyncio.gather(*(note(d) for d in (0.3, 0.1, 0.2)))
        return seen

    assert run(collect()) == [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3)]


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda: asyncio.to_thread(sum, [1, 2]),
        lambda: asyncio.open_connection("127.0.0.1", 9),
        lambda: asyncio.create_subprocess_exec("true"),
        lambda: asyncio.get_running_loop().sock_recv(socket.socket(), 1),
        lambda: asyncio.start_server(lambda r, w: None, "127.0.0.1", 0),
    ],
    ids=["thread", "connection", "subprocess", "socket", "server"],
)
def test_real_world_waits_are_refused_with_the_reason(forbidden):
    async def attempt():
        await forbidden()

    with pytest.raises(VirtualTimeError, match=r"virtual clock.*clock='wall'"):
        run(attempt())


def test_waiting_for_nothing_is_an_error_instead_of_a_hang():
    async def wait_forever():
        await asyncio.Event().wait()

    with pytest.raises(VirtualTimeError, match="nothing is scheduled"):
        run(wait_forever())


def test_spinning_without_waiting_is_an_error_instead_of_a_hang(monkeypatch):
    monkeypatch.setattr("pytest_voicebench.clock.SPIN_LIMIT", 1000)

    async def spin():
        while True:  # noqa: ASYNC110 - the fault under test
            await asyncio.sleep(0)

    with pytest.raises(VirtualTimeError, match="spins"):
        run(spin())


def test_a_spinning_task_is_ended_with_its_loop(monkeypatch, caplog):
    monkeypatch.setattr("pytest_voicebench.clock.SPIN_LIMIT", 1000)
    ended = []

    async def spin():
        try:
            while True:  # noqa: ASYNC110 - the fault under test
                await asyncio.sleep(0)
        finally:
            ended.append(True)

    with pytest.raises(VirtualTimeError, match="spins"):
        run(spin())
    gc.collect()
    assert ended == [True]
    assert "Task was destroyed" not in caplog.text


def test_a_ticker_wakes_all_of_one_millisecond_together_never_early_and_at_most_a_millisecond_late():
    async def wait(ticker, due_s, seen):
        await ticker.until(due_s)
        seen.append((due_s, asyncio.get_running_loop().time()))

    async def collect():
        ticker, seen = Ticker(), []
        await asyncio.gather(*(wait(ticker, due_s, seen) for due_s in (0.0201, 0.0207, 0.02, 0.0305, 0.021)))
        return seen

    seen = run(collect())
    assert [due_s for due_s, _ in seen] == [0.02, 0.0201, 0.0207, 0.021, 0.0305]
    assert [at_s for _, at_s in seen] == [0.02, 0.021, 0.021, 0.021, 0.031]


def test_ticks_of_clocks_that_share_a_ticker_are_exact_on_whole_milliseconds():
    async def count():
        ticker = Ticker()
        clocks = [Clock(ticker) for _ in range(3)]
        for number, clock in enumerate(clocks):
            clock.start(number * 0.007)
        seen = []
        for block in range(100):
            for clock in clocks:
                await clock.until(block * BLOCK_TICKS)
                seen.append(clock.now_ticks() - block * BLOCK_TICKS)
        return seen

    assert run(count()) == [0] * 300


def test_who_waits_no_longer_is_not_woken():
    async def wait():
        ticker = Ticker()
        waiting = asyncio.create_task(ticker.until(0.02))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await ticker.until(0.02)
        return waiting.cancelled()

    assert run(wait())
