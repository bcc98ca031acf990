"""What arrives in a room means, by tables; whatever comes, nothing raises."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livekit.protocol.agent_pb import agent_session as pb
from session_messages import event, heard, ran, said, state

from pytest_voicebench.agents.livekit.calls import ReportedCalls
from pytest_voicebench.agents.livekit_room.arrivals import Gone, Heard, Sound, States, Told
from pytest_voicebench.agents.livekit_room.line import RoomLine
from pytest_voicebench.agents.livekit_room.pace import Pace
from pytest_voicebench.agents.livekit_room.state import RoomState
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentAudio, Fault, Ready, ToolRan, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio

FRAME_S = 0.02


def room(source="both", begun=True):
    state = RoomState(now_s=lambda: 100.0, calls=ReportedCalls(source=source, now_s=lambda: 100.0))
    state.begun_s = 0.0 if begun else None
    return state


def frames(seconds, level):
    samples = np.full(round(FRAME_S * RATE_HZ), level, np.int16)
    return [Sound(samples=samples)] * round(seconds / FRAME_S)


def voice(seconds=1.0):
    return frames(seconds, 3000)


def quiet(seconds, level=0):
    return frames(seconds, level)


def is_now(name):
    return Told(message=state(getattr(pb, f"AS_{name.upper()}")))


def take(state, *arrivals):
    """Events of all arrivals; a list is arrivals one after the other."""
    found = []
    for arrival in arrivals:
        for one in arrival if isinstance(arrival, list) else [arrival]:
            found += state.take_arrival(one)
    return found


def seconds(events):
    """By item, in order, how much of its sound is passed on."""
    found = {}
    for e in events:
        if isinstance(e, AgentAudio):
            found[e.item_id] = found.get(e.item_id, 0.0) + len(e.audio.samples) / e.audio.rate_hz
    return {item: round(length, 2) for item, length in found.items()}


@pytest.mark.parametrize("name", ["listening", "thinking", "speaking"])
@pytest.mark.parametrize("by", ["session", "participant"])
def test_it_is_ready_when_the_session_has_begun_and_somebody_receives_the_user(name, by):
    made = room()
    assert take(made, is_now(name) if by == "session" else States(name=name)) == []
    assert not made.is_ready
    take(made, Heard())
    assert made.is_ready


@pytest.mark.parametrize("name", ["initializing", "idle", "", "else"])
def test_other_states_are_no_beginning(name):
    made = room()
    take(made, Heard(), States(name=name), is_now("initializing"))
    assert not made.is_ready


def test_sound_from_before_the_first_block_is_past_and_does_not_wait_to_be_played():
    made = room(begun=False)
    before = take(made, Heard(), is_now("speaking"), voice(1.0), Told(message=said("Hello, who is there?")))
    made.begun_s = 0.0
    after = take(made, voice(0.5), quiet(1.0), is_now("listening"), is_now("speaking"), voice(0.2))
    assert seconds(before) == {}
    assert [e.text for e in before] == ["Hello, who is there?"]
    assert seconds(after) == {"speech_1": 0.8, "speech_2": 0.2}


class Listening:
    """A seat at which an agent speaks from before the first block on, until it leaves."""

    def __init__(self):
        self.sent = 0
        self.coming = iter([is_now("speaking"), *voice(0.4), Heard(), *voice(0.2), "send", *voice(0.6), Gone()])
        self.send_now = None
        self.arrived_s = 100.0

    async def next(self):
        arrival = next(self.coming)
        if arrival == "send":
            await self.send_now()
            return await self.next()
        return arrival, self.arrived_s

    async def send(self, samples):
        self.sent += 1


def test_a_conversation_begins_with_the_first_block_that_is_sent():
    async def talk():
        seat, state = Listening(), room(begun=False)
        line = RoomLine(seat, state, Present(lambda: 100.0), None, [])
        seat.send_now = lambda: line.send(Audio(samples=np.zeros(960, np.int16), rate_hz=48_000))
        assert await line.until_ready() is None
        return seat.sent, [event async for event in line.receive()]

    sent, events = asyncio.run(talk())
    assert (sent, isinstance(events[0], Ready), seconds(events)) == (0, True, {"speech_1": 0.6})


def test_silence_is_left_out_but_for_a_little_after_speech():
    made = room()
    assert seconds(take(made, quiet(2.0), voice(1.0), quiet(2.0), quiet(1.0, level=5))) == {"speech_1": 1.3}


def test_a_pause_inside_a_speech_parts_nothing():
    made = room()
    events = take(made, is_now("speaking"), voice(1.0), quiet(3.0), voice(1.0))
    assert seconds(events) == {"speech_1": 2.3}


def test_a_speech_ends_when_the_agent_has_stopped_speaking_and_is_silent():
    made = room()
    events = take(made, is_now("speaking"), voice(1.0), is_now("listening"), quiet(1.0), is_now("speaking"), voice(0.5))
    assert seconds(events) == {"speech_1": 1.3, "speech_2": 0.5}


def test_the_rest_of_a_sound_that_comes_after_the_state_still_belongs_to_it():
    made = room()
    events = take(made, is_now("speaking"), voice(1.0), is_now("listening"), voice(0.2), quiet(1.0), voice(0.5))
    assert seconds(events) == {"speech_1": 1.5, "speech_2": 0.5}


def test_states_of_the_participant_count_until_the_session_tells_its_own():
    made = room()
    events = take(made, States(name="speaking"), voice(), States(name="listening"), quiet(1.0), voice())
    assert list(seconds(events)) == ["speech_1", "speech_2"]
    late = take(made, is_now("speaking"), States(name="listening"), quiet(1.0), voice())
    assert list(seconds(late)) == ["speech_2"]


def test_each_text_goes_to_the_speech_that_is_told():
    made = room()
    one = take(made, is_now("speaking"), voice(), is_now("listening"), Told(message=said("One.")), quiet(1.0))
    two = take(made, is_now("speaking"), voice(), is_now("listening"), Told(message=said("Two.")))
    texts = [e for e in one + two if isinstance(e, Transcript)]
    assert [(t.text, t.item_id, t.delta) for t in texts] == [("One.", "speech_1", False), ("Two.", "speech_2", False)]


def test_two_texts_of_one_stretch_of_sound_follow_each_other():
    made = room()
    events = take(made, voice(), Told(message=said("One.")), voice(), Told(message=said("Two.")))
    texts = [(e.text, e.item_id, e.delta) for e in events if isinstance(e, Transcript)]
    assert texts == [("One.", "speech_1", False), (" Two.", "speech_1", True)]


def test_an_interrupted_text_is_as_the_agent_cut_it():
    made = room()
    (text,) = [e for e in take(made, voice(), Told(message=said("One", interrupted=True))) if isinstance(e, Transcript)]
    assert (text.text, text.item_id) == ("One", None)


def test_a_text_without_sound_stands_alone():
    (text,) = take(room(), Told(message=said("Hello.")))
    assert (text.text, text.item_id, text.delta) == ("Hello.", "text_1", False)


def test_the_users_words_replace_each_other_until_one_is_final():
    events = take(room(), *(Told(message=heard(t, final)) for t, final in (("a", False), ("a b", True), ("c", True))))
    assert [(e.text, e.item_id) for e in events] == [("a", "user_1"), ("a b", "user_1"), ("c", "user_2")]


@pytest.mark.parametrize(("source", "recorded"), [("both", 1), ("session", 1), ("host", 0)])
def test_calls_are_taken_from_the_session_as_on_a_console(source, recorded):
    events = take(room(source), Told(message=ran(("c1", "clock", "{}", "12:30"))))
    assert len(events) == recorded
    assert all(isinstance(e, ToolRan) for e in events)


def test_an_error_that_ends_the_session_is_told():
    (fault,) = take(room(), Told(message=event(error=pb.AgentSessionEvent.Error(message="x recoverable=False"))))
    assert fault == Fault(kind="infrastructure", message="the agent's session reports: x recoverable=False")


def sent(levels, times):
    """Which blocks of these levels are sent at these times; 0.5 s of silence went before, in time."""
    pace = Pace(48_000)
    for i in range(25):
        pace.takes(np.zeros(960, np.int16), 0.02 * i)
    return [pace.takes(np.full(960, level, np.int16), at) for level, at in zip(levels, times, strict=True)]


def in_time(blocks):
    return [1.0 + 0.02 * i for i in range(blocks)]


def test_blocks_in_time_are_all_sent():
    assert all(sent([0] * 50 + [3000] * 50 + [0] * 50, in_time(150)))


def test_after_a_stall_silence_is_left_out_while_too_much_waits():
    assert sent([0] * 25, [1.0] * 25) == [True] * 5 + [False] * 20
    assert sent([0] * 26, [1.0] * 25 + [1.04])[-1]


def test_speech_is_sent_however_much_waits_and_the_pause_after_it_catches_up():
    assert sent([3000] * 25 + [0] * 30, [1.0] * 55) == [True] * 35 + [False] * 20


def test_a_short_weak_sound_within_a_word_is_no_pause():
    assert all(sent(([3000] * 3 + [100] * 9) * 5, [1.0] * 60))


@pytest.mark.parametrize(("noise", "kept"), [(250, 10), (400, 30)])
def test_a_pause_with_the_rooms_noise_is_one_where_that_is_far_below_the_voice(noise, kept):
    blocks = sent([3000] * 25 + [noise] * 30, [1.0] * 55)
    assert sum(blocks) == 25 + kept


FRAME = pb.AgentSessionMessage.ConsoleIO.AudioFrame(data=b"\1\0" * 9, sample_rate=48_000, num_channels=1)


def test_a_console_message_in_a_room_means_nothing():
    sent = [pb.AgentSessionMessage(audio_output=FRAME), pb.AgentSessionMessage(), event()]
    assert take(room(), *(Told(message=m) for m in sent)) == []


ARRIVALS = st.one_of(
    st.builds(Sound, samples=st.lists(st.integers(-32768, 32767), max_size=9).map(lambda v: np.array(v, np.int16))),
    st.builds(States, name=st.sampled_from(["speaking", "listening", "", "?"])),
    st.just(Heard()),
    st.just(Gone()),
    st.builds(lambda s: Told(message=state(s)), st.integers(0, 9)),
    st.builds(lambda t, i: Told(message=said(t, interrupted=i)), st.text(max_size=5), st.booleans()),
    st.builds(lambda t, f: Told(message=heard(t, f)), st.text(max_size=5), st.booleans()),
    st.just(Told(message=pb.AgentSessionMessage(audio_output=FRAME))),
    st.binary(max_size=30).map(lambda data: Told(message=_read(data))),
)


def _read(data):
    try:
        return pb.AgentSessionMessage.FromString(data)
    except Exception:  # noqa: BLE001 - the seat leaves such a message out
        return pb.AgentSessionMessage()


@given(st.lists(ARRIVALS, max_size=20))
def test_whatever_arrives_nothing_raises_and_no_loud_sound_is_lost(arrivals):
    made = room()
    for arrival in arrivals:
        events = take(made, arrival)
        if isinstance(arrival, Sound) and np.abs(arrival.samples.astype(int)).max(initial=0) > 30000:
            assert [len(e.audio.samples) for e in events] == [len(arrival.samples)]
