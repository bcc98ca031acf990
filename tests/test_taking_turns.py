"""Many conversations on one loop: a heap of messages holds up no block, and each keeps the time at which it came."""

from __future__ import annotations

import asyncio
import gc
import weakref

from pytest_voicebench.agents.turns import Turns, turns_of_this_loop
from pytest_voicebench.clock import VirtualTimeLoop


def on_a_loop(coroutine):
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def test_one_is_let_through_in_each_round_in_the_order_in_which_they_came():
    async def rounds():
        turns, number, done = Turns(), 0, []

        async def reader(name, messages):
            for message in range(messages):
                await turns.take()
                done.append((name, message, number))

        tasks = [asyncio.create_task(reader(name, 3)) for name in "ab"]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            number += 1
        return done

    done = on_a_loop(rounds())
    assert [(name, message) for name, message, _ in done] == [(n, m) for m in range(3) for n in "ab"]
    assert len({at for _, _, at in done}) == len(done)


def test_what_is_due_waits_for_one_message_at_most_however_many_lie_there():
    """Reading a message takes 1 ms here, and each of a hundred conversations has thirty of them to read."""

    async def flood():
        loop, late_s, read = asyncio.get_running_loop(), [], 0
        turns = turns_of_this_loop()

        async def conversation():
            nonlocal read
            for _ in range(30):
                await turns.take()
                loop._jumping.now_s += 0.001
                read += 1

        readers = [asyncio.create_task(conversation()) for _ in range(100)]
        for block in range(1, 150):
            due_s = block * 0.02
            timer = loop.create_future()
            loop.call_at(due_s, timer.set_result, None)
            await timer
            late_s.append(loop.time() - due_s)
        await asyncio.gather(*readers)
        return read, max(late_s)

    read, latest_s = on_a_loop(flood())
    assert read == 3000
    assert latest_s < 0.0031  # the message that was being read, one in the timer's round, one in the sender's


def test_who_was_cancelled_takes_no_turn_from_the_others():
    async def two():
        turns = Turns()
        first, second = (asyncio.create_task(turns.take()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await second
        return first.cancelled() or await asyncio.wait([first])

    assert on_a_loop(two())


def test_conversations_of_one_loop_share_their_turns_and_those_of_another_do_not():
    async def both():
        return turns_of_this_loop(), turns_of_this_loop()

    one, same = on_a_loop(both())
    other, _ = on_a_loop(both())
    assert one is same
    assert one is not other


def test_no_loop_is_kept_for_its_turns():
    async def left_waiting():
        asyncio.ensure_future(turns_of_this_loop().take())  # noqa: RUF006
        return weakref.ref(asyncio.get_running_loop())

    loop = on_a_loop(left_waiting())
    gc.collect()
    assert loop() is None
