"""Lines that are more than one WebSocket: what an agent sends, and calls of its tools, count from when they arrived."""

from __future__ import annotations

import asyncio
import json
import socket
import struct

import numpy as np
import pytest
import stage
from patience import skipping

from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentAudio, Fault, Ready, ToolCall
from pytest_voicebench.agents.tool_host import with_timed_calls
from pytest_voicebench.agents.turns import Turns
from pytest_voicebench.agents.twilio.line import StreamLine
from pytest_voicebench.agents.twilio.messages import TWILIO
from pytest_voicebench.agents.twilio.state import StreamState
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.duplex import converse
from pytest_voicebench.validity import answers_were_late
from tests.bad_stage import DEADLINE_S, VARIABLES, agent_for
from tests.servers.hostile_server import Hostile, listen
from tests.servers.tongues import BY_AGENT
from tests.test_twilio_state import CALL, CLEAR, Stream, mark, media
from tests.turn_stage import said

WAIT_S = 0.25
NAMES = ("gpt-realtime", "gpt-live", "gemini-live-2.5", "ultravox", "nemotron-voicechat", "minicpm-o map", "twilio")


def talk_of(folder, name, wait_s, monkeypatch):
    """A conversation in which each message of the reply waits so long to be read; what is sent is always the same."""
    take, waits_s = Turns.take, [0.0]

    async def slow(turns):
        await asyncio.sleep(waits_s[0])
        await take(turns)

    async def acts(peer):
        waits_s[0] = wait_s
        if name == "ultravox":
            await peer.send({"type": "state", "state": "speaking"})
        await peer.say("the reply", stage.voice("reply").tobytes())

    async def held():
        folder.mkdir()
        scenario = stage.scenario(folder, said(folder, ("turn",)), item_id="talk", settle_s=1.0, max_duration_s=12.0)
        server = Hostile(BY_AGENT[name], pause_s=3.0, acts=acts)
        async with asyncio.timeout(DEADLINE_S), listen(server):
            return await converse(scenario, agent_for(name, f"127.0.0.1:{server.port}"))

    with monkeypatch.context() as patch:
        for variable, value in VARIABLES.items():
            patch.setenv(variable, value)
        patch.setattr(Turns, "take", slow)
        return skipping(held())


@pytest.mark.parametrize("name", NAMES)
def test_sound_that_waited_to_be_read_plays_from_when_it_came(name, tmp_path, monkeypatch):
    quick, slow = (talk_of(tmp_path / str(s), name, s, monkeypatch) for s in (0.0, WAIT_S))
    assert (quick.problems, slow.problems) == ((), ())
    assert slow.delivery.read_late_p99_s >= WAIT_S
    assert quick.delivery.read_late_p99_s < WAIT_S
    first = [talk.chunks[0].start_ticks / RATE_HZ for talk in (quick, slow)]
    assert first[1] == pytest.approx(first[0], abs=0.06)  # not a quarter of a second later


def test_a_clear_of_a_phone_agent_that_was_read_late_costs_the_latencies(tmp_path, monkeypatch):
    async def acts(peer):
        await peer.say("the reply", np.tile(stage.voice("reply"), 4).tobytes())
        await asyncio.sleep(1.0)
        await peer.send({**CLEAR, "streamSid": peer.started["streamSid"]})

    async def slow(_):
        await asyncio.sleep(WAIT_S)

    async def held():
        scenario = stage.scenario(tmp_path, said(tmp_path, ("turn",)), item_id="talk", settle_s=1.0)
        server = Hostile(BY_AGENT["twilio"], pause_s=3.0, acts=acts)
        async with asyncio.timeout(DEADLINE_S), listen(server):
            return await converse(scenario, agent_for("twilio", f"127.0.0.1:{server.port}"))

    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(Turns, "take", slow)
    talk = skipping(held())
    assert len(talk.clears_ticks) == 1
    assert talk.delivery.answer_late_max_s >= WAIT_S
    assert answers_were_late(talk)


class Wire:
    """Messages that had come at these times, by the loop's clock."""

    def __init__(self, *timed):
        self.timed = timed
        self.arrived_s = None
        self.sent = []

    async def receive(self):
        for arrived_s, message in self.timed:
            self.arrived_s = arrived_s
            yield message

    async def send(self, event):
        self.sent.append(event)


def phone_line(wire, now_s=lambda: 50.0):
    present = Present(now_s)
    return StreamLine(wire, StreamState(dialect=TWILIO, call=CALL, now_s=present.now_s), present, None)


async def _timed(line):
    return [(type(event).__name__, line.arrived_s) async for event in line.receive()]


def test_a_phone_agents_marks_are_due_by_when_its_sound_came_and_go_back_by_the_loops_clock():
    """A second of sound and a mark, which both came at 48.0 and are read at 50.0: the mark has been due since 49.0."""
    wire = Wire((48.0, media(bytes(8000))), (48.0, mark("heard")), (49.9, media()))
    line = phone_line(wire)
    assert asyncio.run(_timed(line)) == [("Ready", None), ("AgentAudio", 48.0), ("AgentAudio", 49.9)]
    asyncio.run(line.send(AgentAudioBlock))
    assert [e["mark"]["name"] for e in wire.sent if e["event"] == "mark"] == ["heard"]


class AgentAudioBlock:
    """A block of the user's sound."""

    samples = np.zeros(160, np.int16)


def test_a_state_hears_the_user_at_the_loops_time_also_between_messages():
    stream = Stream()
    present = Present(lambda: 7.0)
    stream._now_s = present.now_s
    with present.of(5.0):
        stream.told(media(bytes(8000)), mark("m"))
    assert stream.echoed(0.0) == ["m"]


class Hoster:
    """A tool host of which one call came at 5.0."""

    async def timed_calls(self):
        yield ToolCall(call_id="http_1", name="x", arguments="{}"), 5.0
        await asyncio.Event().wait()


def test_calls_and_the_lines_own_events_keep_their_times_and_one_is_taken_ahead():
    taken = []

    async def line():
        for number in range(20):
            taken.append(number)
            yield Fault(kind="agent", message=str(number)), float(number)

    async def conversation():
        found, ahead = [], []
        async for event, at_s in with_timed_calls(line(), Hoster()):
            await asyncio.sleep(0.01)  # whoever reads takes his time
            found.append((type(event).__name__, at_s))
            ahead.append(len(taken) - len(found))
        return found, max(ahead)

    found, ahead = asyncio.run(conversation())
    assert ("ToolCall", 5.0) in found
    assert [at_s for name, at_s in found if name == "Fault"] == [float(n) for n in range(20)]
    assert ahead <= 3


def _console_message(number):
    pb = pytest.importorskip("livekit.protocol.agent_pb.agent_session")
    io = pb.AgentSessionMessage.ConsoleIO
    frame = io.AudioFrame(data=bytes(2) * (480 + number), sample_rate=48_000, num_channels=1)
    return pb.AgentSessionMessage(audio_output=frame)


def test_messages_that_lie_in_a_console_connection_keep_the_time_at_which_they_came():
    pytest.importorskip("livekit.protocol")
    from pytest_voicebench.agents.livekit.console import open_console
    from pytest_voicebench.agents.livekit.messages import framed

    messages = [framed(_console_message(n)) for n in range(50)]

    async def talk():
        loop = asyncio.get_running_loop()
        log = WireLog(loop.time)
        async with open_console(log) as (console, address):
            host, _, port = address.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            await console.dialled()
            writer.write(b"".join(messages[:25]) + messages[25][:7])
            await asyncio.sleep(0.05)
            half_s = loop.time()
            writer.write(messages[25][7:] + b"".join(messages[26:]))
            await asyncio.sleep(0.05)
            all_came_s = loop.time()
            await asyncio.sleep(0.05)
            arrivals = []
            for _ in messages:
                assert await console.receive() is not None
                arrivals.append(console.arrived_s)
            writer.close()
            rows = [json.loads(row) for row in log.lines(0.0)]
        return arrivals, half_s, all_came_s, [row["at_s"] for row in rows if row["way"] == "received"]

    arrivals, half_s, all_came_s, logged = asyncio.run(talk())
    assert arrivals == sorted(arrivals)
    assert arrivals[24] <= half_s <= arrivals[25] <= arrivals[-1] <= all_came_s
    assert logged == pytest.approx(arrivals, abs=1e-6)


def test_messages_that_came_before_a_console_connection_was_reset_are_read_all_the_same():
    pytest.importorskip("livekit.protocol")
    from pytest_voicebench.agents.livekit.console import open_console
    from pytest_voicebench.agents.livekit.messages import framed

    async def talk():
        async with open_console(WireLog(asyncio.get_running_loop().time)) as (console, address):
            host, _, port = address.rpartition(":")
            _, writer = await asyncio.open_connection(host, int(port))
            await console.dialled()
            writer.write(framed(_console_message(0)) * 3)
            await asyncio.sleep(0.05)
            linger = struct.pack("ii", 1, 0)  # closing resets
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.close()
            await asyncio.sleep(0.05)
            return [await console.receive() is not None for _ in range(4)]

    assert asyncio.run(talk()) == [True, True, True, False]


def test_what_an_agent_on_a_console_says_happened_when_it_came_and_the_calls_of_its_tools_too():
    pb = pytest.importorskip("livekit.protocol.agent_pb.agent_session")
    from pytest_voicebench.agents.livekit.calls import ReportedCalls
    from pytest_voicebench.agents.livekit.line import ConsoleLine
    from pytest_voicebench.agents.livekit.state import ConsoleState

    flush = pb.AgentSessionMessage(audio_playback_flush=pb.AgentSessionMessage.ConsoleIO.AudioPlaybackFlush())

    told = []

    class Console:
        def __init__(self, *timed):
            self.timed = iter(timed)
            self.arrived_s = None

        async def receive(self):
            await asyncio.sleep(0)
            self.arrived_s, message = next(self.timed, (self.arrived_s, None))
            return message

        def post(self, message):
            told.append(message.WhichOneof("message"))

    class Process:
        async def last_words(self):
            return None

    async def talk():
        now_s = asyncio.get_running_loop().time()
        present = Present(asyncio.get_running_loop().time)
        state = ConsoleState(now_s=present.now_s, calls=ReportedCalls(source="both", now_s=present.now_s))
        console = Console((now_s - 9.0, _console_message(0)), (now_s - 2.0, flush), (now_s - 1.0, _console_message(0)))
        line = ConsoleLine(console, state, present, Process(), Hoster())
        found = [(type(event).__name__, line.arrived_s) async for event in line.receive()]
        line.stop()
        return [(name, at_s if at_s in (None, 5.0) else round(at_s - now_s)) for name, at_s in found]

    found = asyncio.run(talk())
    assert found[0] == ("Ready", None)
    assert ("ToolCall", 5.0) in found
    assert [at for at in found if at[0] == "AgentAudio"] == [("AgentAudio", -9), ("AgentAudio", -1)]
    assert told == ["audio_playback_finished"]  # of what was flushed two seconds ago, and had been heard by then


def test_what_came_to_a_seat_keeps_its_time_until_it_is_read():
    pytest.importorskip("livekit.rtc")
    from pytest_voicebench.agents.livekit_room.arrivals import Heard, States
    from pytest_voicebench.agents.livekit_room.seat import Seat

    async def sits():
        loop = asyncio.get_running_loop()
        seat = Seat(WireLog(loop.time))
        before_s = loop.time()
        seat._arrive(Heard(), "heard")
        await asyncio.sleep(0.05)
        between_s = loop.time()
        seat._put_down(States(name="speaking"))
        await asyncio.sleep(0.05)
        arrived = [await seat.next(), await seat.next()]
        await seat.leave()
        return before_s, between_s, arrived

    before_s, between_s, [(heard, first_s), (states, second_s)] = asyncio.run(sits())
    assert (heard, states) == (Heard(), States(name="speaking"))
    assert before_s <= first_s < between_s <= second_s < between_s + 0.05


def test_a_room_whose_session_sends_more_than_may_wait_is_left_with_a_reason_said_once():
    pytest.importorskip("livekit.rtc")
    from pytest_voicebench.agents.livekit_room.arrivals import Gone
    from pytest_voicebench.agents.livekit_room.seat import MOST_COMING, Seat

    async def sits():
        seat = Seat(WireLog(asyncio.get_running_loop().time))
        for _ in range(3 * MOST_COMING):
            seat._session_opens(object(), "agent")
        first, _ = await seat.next()
        return first, seat._arrived.qsize(), seat._readers.qsize()

    gone, rest, readers = asyncio.run(sits())
    assert gone == Gone(why=f"the agent's session sent over {MOST_COMING} messages before they could be read")
    assert (rest, readers) == (0, MOST_COMING)


def test_sound_in_a_room_that_came_before_the_first_block_is_past_also_where_it_is_read_later():
    pytest.importorskip("livekit.protocol")
    from pytest_voicebench.agents.livekit.calls import ReportedCalls
    from pytest_voicebench.agents.livekit_room.arrivals import Gone, Heard, Sound, States
    from pytest_voicebench.agents.livekit_room.line import RoomLine
    from pytest_voicebench.agents.livekit_room.state import RoomState

    voice = Sound(samples=np.full(480, 3000, np.int16))
    arrivals = [(States(name="listening"), 1.0), (Heard(), 1.0), (voice, 9.9), (voice, 10.1), (Gone(), 10.2)]

    class Seat:
        async def next(self):
            return arrivals.pop(0)

        async def send(self, _):
            pass

    async def talk():
        present = Present(lambda: 10.0)
        state = RoomState(now_s=present.now_s, calls=ReportedCalls(source="both", now_s=present.now_s))
        line = RoomLine(Seat(), state, present, None, [])
        assert await line.until_ready() is None
        await line.send(AgentAudioBlock)
        return [(event, line.arrived_s) async for event in line.receive()]

    (ready, _), (sound, arrived_s) = asyncio.run(talk())
    assert isinstance(ready, Ready)
    assert isinstance(sound, AgentAudio)
    assert arrived_s == 10.1
