"""What waited to be read keeps the time at which it came, from the socket to the timeline."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from websockets.asyncio.server import serve

from pytest_voicebench.agents.arriving import MOST_BYTES, MOST_FRAMES
from pytest_voicebench.agents.protocol import Fault, PlaybackClear, ToolCall, Transcript, TurnEnd
from pytest_voicebench.agents.wire import open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import to_ticks
from pytest_voicebench.validity import answers_were_late
from tests import stage
from tests.scripted import Scripted, ScriptedLine, sound
from tests.stage import hold

MESSAGES = 200


class Delayed(Scripted):
    """Events reach whoever receives them a quarter of a second after they arrived."""

    @asynccontextmanager
    async def connect(self, setup):
        yield DelayedLine(self)


class DelayedLine(ScriptedLine):
    arrived_s = None

    async def receive(self):
        async for event in super().receive():
            self.arrived_s = self.loop.time()
            await asyncio.sleep(0.25)
            yield event


def test_events_that_waited_happened_when_they_arrived(tmp_path):
    call = ToolCall(call_id="c1", name="search_flights", arguments={"destination": "Milan", "date": "2026-06-03"})
    text = Transcript(speaker="agent", text="Here you are.", item_id="item")
    talk = hold(stage.scenario(tmp_path), Delayed([(6.0, call), (7.0, sound(1.0)), (9.0, text)]))
    (made,), (chunk,), (said,) = talk.calls, talk.chunks, talk.transcripts
    assert (made.at_ticks, made.finished_ticks) == (to_ticks(6.0), to_ticks(6.25))
    assert (chunk.received_ticks, chunk.start_ticks, chunk.heard_ticks) == (to_ticks(7.0), to_ticks(7.0), RATE_HZ)
    assert said.at_ticks == to_ticks(9.0)
    heard = np.flatnonzero(talk.recording.agent)
    assert (heard[0], heard[-1] + 1) == (to_ticks(7.0), to_ticks(8.0))


def test_a_clear_that_waited_cuts_what_was_to_play_after_it_arrived(tmp_path):
    agent = Delayed([(6.0, sound(2.0)), (7.0, PlaybackClear()), (7.5, sound(1.0, "second"))])
    talk = hold(stage.scenario(tmp_path), agent)
    assert talk.clears_ticks == (to_ticks(7.0),)
    assert [(c.start_ticks, c.heard_ticks) for c in talk.chunks] == [
        (to_ticks(6.0), to_ticks(1.0)),
        (to_ticks(7.5), to_ticks(1.0)),
    ]
    assert agent.cuts == [("item", 1.0)]


CALL = ToolCall(call_id="c1", name="search_flights", arguments={"destination": "Milan", "date": "2026-06-03"})


def test_how_long_messages_waited_to_be_read_is_kept(tmp_path):
    talk = hold(stage.scenario(tmp_path), Delayed([(6.0, CALL), (7.0, sound(1.0))]))
    assert (talk.delivery.read_late_p99_s, talk.delivery.answer_late_max_s) == (0.25, 0.25)
    assert answers_were_late(talk)


def test_what_nobody_answered_makes_no_answer_late(tmp_path):
    talk = hold(stage.scenario(tmp_path), Delayed([(6.0, sound(1.0)), (7.5, PlaybackClear())]))  # nothing to drop
    assert (talk.delivery.read_late_p99_s, talk.delivery.answer_late_max_s) == (0.25, None)


@pytest.mark.parametrize(
    "script",
    [
        [(6.0, sound(2.0)), (7.0, PlaybackClear())],  # a played position
        [(6.0, replace(CALL, response_id="r1")), (6.5, TurnEnd(response_id="r1"))],  # results, when all are there
    ],
)
def test_an_answer_leaves_as_late_as_what_it_answers_was_read(tmp_path, script):
    talk = hold(stage.scenario(tmp_path), Delayed(script))
    assert talk.delivery.answer_late_max_s == 0.25


def test_a_line_that_says_nothing_of_arrivals_has_no_waits(tmp_path):
    talk = hold(stage.scenario(tmp_path), Scripted([(6.0, CALL), (7.0, sound(1.0))]))
    assert (talk.delivery.read_late_p99_s, talk.delivery.answer_late_max_s) == (None, None)


def test_a_line_that_breaks_off_long_after_its_last_message_left_nothing_unread(tmp_path):
    class Breaks(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            line = ScriptedLine(self)
            line.arrived_s = line.loop.time()
            yield line

    talk = hold(stage.scenario(tmp_path), Breaks([(6.0, Fault(kind="infrastructure", message="broken"))]))
    assert talk.delivery.read_late_p99_s is None


def test_no_event_happens_before_the_conversation_or_after_now(tmp_path):
    class Odd(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            line = ScriptedLine(self)
            line.arrived_s = self.says(line.loop.time())
            yield line

    for says, expected in ((lambda now_s: now_s - 5.0, 0), (lambda now_s: now_s + 500.0, to_ticks(6.0))):
        agent = Odd([(6.0, sound(1.0))])
        agent.says = says
        assert hold(stage.scenario(tmp_path), agent).chunks[0].received_ticks == expected


@asynccontextmanager
async def _server_that_says_all_at_once():
    """A server on this loop, and what is set when everything it said has reached the client's connection."""
    there = asyncio.Event()

    async def say(socket):
        for number in range(MESSAGES):
            await socket.send(json.dumps({"type": "said", "number": number, "voice": "x" * 2000}))
        await (await socket.ping())  # answered by the connection, in the order of what came
        there.set()
        await socket.wait_closed()

    async with serve(say, "127.0.0.1", 0, compression=None) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", there


async def _all_read():
    """What the messages and the log say, read a while after the last one had come; and when that was."""
    loop = asyncio.get_running_loop()
    log = WireLog(loop.time)
    async with _server_that_says_all_at_once() as (url, there), open_wire(url, log=log) as wire:
        await there.wait()
        all_came_s = loop.time()
        await asyncio.sleep(0.01)
        messages = wire.receive()
        read = [((await anext(messages))["number"], wire.arrived_s, wire.now_s()) for _ in range(MESSAGES)]
    rows = [json.loads(row) for row in log.lines(0.0)]
    return read, [row["at_s"] for row in rows if row["way"] == "received"], all_came_s


def test_messages_that_lie_in_a_connection_are_read_in_order_and_at_the_time_at_which_they_came():
    read, logged_s, all_came_s = asyncio.run(_all_read())
    numbers, arrivals_s, presents_s = zip(*read, strict=True)
    assert numbers == tuple(range(MESSAGES))
    assert list(arrivals_s) == sorted(arrivals_s)
    assert arrivals_s[-1] <= all_came_s
    assert presents_s == arrivals_s
    assert logged_s == pytest.approx(arrivals_s, abs=1e-6)


def test_an_answer_that_comes_at_once_has_room():
    """Ten seconds of voice in pieces of 20 ms."""
    assert MOST_FRAMES > 10 / 0.02


def test_a_server_that_sends_more_than_is_read_is_held_back_and_loses_nothing():
    """Forty messages of 1 MiB, and one that is larger than all that may wait."""
    sizes = [2**20] * 40 + [MOST_BYTES + 2**20] + [2**20] * 4

    async def read():
        async def say(socket):
            for size in sizes:
                await socket.send(json.dumps({"voice": "x" * size}))
            await socket.wait_closed()

        async with serve(say, "127.0.0.1", 0, compression=None) as server:
            url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with open_wire(url, log=WireLog(asyncio.get_running_loop().time)) as wire:
                await asyncio.sleep(0.5)
                waited = [wire._connection._waiting_bytes]
                messages, found = wire.receive(), []
                while len(found) < len(sizes):
                    found.append(len((await anext(messages))["voice"]))
                    waited.append(wire._connection._waiting_bytes)
                return found, max(waited)

    found, waited = asyncio.run(read())
    assert found == sizes
    assert waited <= 2 * MOST_BYTES + 2**21


def test_an_agent_that_sends_an_hour_at_once_is_kept_until_the_end_and_told_of(tmp_path):
    stretches = [(5.0, sound(60.0)) for _ in range(60)]
    talk = hold(stage.scenario(tmp_path, max_duration_s=20.0), Scripted(stretches))
    assert (talk.ended, talk.truncated) == ("max_duration", True)
    assert (
        talk.warnings[-1] == "3585.0 s of the agent's sound would have played after max_duration_s, and were not kept"
    )
    assert sum(c.heard_ticks for c in talk.chunks) == to_ticks(15.0)
