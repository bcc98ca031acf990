"""What a console session's messages mean, by tables; whatever comes, nothing raises."""

from __future__ import annotations

import asyncio
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livekit.protocol.agent_pb import agent_session as pb
from session_messages import begins, event, heard, ran, said, state, used

from pytest_voicebench.agents.livekit.calls import ReportedCalls, read_output
from pytest_voicebench.agents.livekit.messages import ConsoleBroken, framed, next_message, sound
from pytest_voicebench.agents.livekit.state import ConsoleState
from pytest_voicebench.agents.protocol import AgentAudio, Fault, PlaybackClear, ToolRan, Transcript, Usage

IO = pb.AgentSessionMessage.ConsoleIO
FLUSH = pb.AgentSessionMessage(audio_playback_flush=IO.AudioPlaybackFlush())
CLEAR = pb.AgentSessionMessage(audio_playback_clear=IO.AudioPlaybackClear())


class Session:
    """A state, and the time it sees."""

    def __init__(self, source="both") -> None:
        self.now_s = 100.0
        self.calls = ReportedCalls(source=source, now_s=lambda: self.now_s)
        self.state = ConsoleState(now_s=lambda: self.now_s, calls=self.calls)

    def take(self, *messages):
        return [event for message in messages for event in self.state.take(message)]

    def after(self, seconds):
        self.now_s += seconds
        return self

    def sounds(self):
        """The ids of three stretches of sound: a flush and a clear end one."""
        return [event.item_id for event in self.take(audio(), FLUSH, audio(), CLEAR, audio()) if _is_audio(event)]


def _is_audio(event):
    return isinstance(event, AgentAudio)


def audio(seconds=1.0, rate_hz=48_000, channels=1, data=None):
    data = bytes([1, 0]) * round(seconds * rate_hz * channels) if data is None else data
    frame = IO.AudioFrame(data=data, sample_rate=rate_hz, num_channels=channels, samples_per_channel=0)
    return pb.AgentSessionMessage(audio_output=frame)


def test_the_agent_listens_when_it_says_so_and_no_other_state_will_do():
    session = Session()
    for new in (pb.AS_INITIALIZING, pb.AS_THINKING, pb.AS_SPEAKING):
        session.take(state(new))
        assert not session.state.listening
    session.take(state(pb.AS_LISTENING), state(pb.AS_SPEAKING))
    assert session.state.listening


def test_sound_has_one_item_until_a_flush_or_a_clear():
    assert Session().sounds() == ["speech_1", "speech_2", "speech_3"]
    session = Session()
    assert [e.item_id for e in session.take(audio(), audio())] == ["speech_1", "speech_1"]


@pytest.mark.parametrize(
    ("message", "samples"),
    [
        (audio(data=struct.pack("<2h", 5, -7)), [5, -7]),
        (audio(data=struct.pack("<4h", 10, 20, -10, -30), channels=2), [15, -20]),
        (audio(data=struct.pack("<3h", 10, 20, 7), channels=2), [15]),
        (audio(data=b""), None),
        (audio(data=b"\x01"), None),
    ],
    ids=["mono", "stereo", "stereo and a half", "nothing", "half a sample"],
)
def test_sound_is_mono_pcm16(message, samples):
    events = Session().take(message)
    assert [e.audio.samples.tolist() for e in events] == ([] if samples is None else [samples])
    assert all(e.audio.samples.dtype == np.int16 and e.audio.rate_hz == 48_000 for e in events)


def test_half_a_sample_waits_for_its_other_half():
    events = Session().take(audio(data=b"\x01\x02\x03"), audio(data=b"\x04"))
    assert [e.audio.samples.tolist() for e in events] == [[0x0201], [0x0403]]


def test_playback_is_finished_when_what_was_flushed_has_been_heard():
    session = Session()
    session.take(audio(2.0), FLUSH)
    assert session.state.next_due_s == 102.0
    assert session.after(1.5).state.take_due() == 0
    assert session.after(0.5).state.take_due() == 1
    assert session.state.next_due_s is None


def test_sound_that_comes_while_other_sound_plays_is_heard_after_it():
    session = Session()
    session.take(audio(2.0), FLUSH)
    session.after(0.5).take(audio(1.0), FLUSH)
    assert session.after(1.5).state.take_due() == 1
    assert session.state.next_due_s == 103.0
    session.after(10).take(audio(1.0), FLUSH)
    assert session.state.take_due() == 1
    assert session.state.next_due_s == 113.0


def test_a_flush_without_sound_finishes_nothing():
    session = Session()
    session.take(FLUSH, audio(1.0), FLUSH, FLUSH)
    assert session.after(5).state.take_due() == 1


def test_a_flush_after_a_clear_is_finished_at_once():
    session = Session()
    session.take(audio(2.0), CLEAR, FLUSH)
    assert session.state.take_due() == 1


def test_nothing_is_due_for_what_was_cleared():
    session = Session()
    assert session.take(audio(2.0), FLUSH, CLEAR)[1:] == [PlaybackClear()]
    assert session.after(5).state.take_due() == 0


@pytest.mark.parametrize(("after_s", "clears"), [(0.5, 1), (1.0, 0), (9.0, 0)])
def test_a_clear_cuts_only_where_something_plays(after_s, clears):
    session = Session()
    session.take(audio(1.0), FLUSH)
    assert session.after(after_s).take(CLEAR, CLEAR) == [PlaybackClear()] * clears


def test_the_users_texts_replace_each_other_until_one_is_final():
    events = Session().take(heard("", False), heard("Find", False), heard("Find me", True), heard("Now", False))
    assert [(e.item_id, e.text) for e in events] == [("user_1", "Find"), ("user_1", "Find me"), ("user_2", "Now")]
    assert {e.speaker for e in events} == {"user"}


@pytest.mark.parametrize(
    ("messages", "texts"),
    [
        ((audio(), FLUSH, said("A")), [("speech_1", "A")]),
        ((audio(), FLUSH, said("A"), audio(), FLUSH, said("B")), [("speech_1", "A"), ("speech_2", "B")]),
        ((audio(), said("A"), audio(), FLUSH), [("speech_1", "A")]),
        ((audio(), FLUSH, audio(), said("A")), [("speech_1", "A")]),
        ((audio(), FLUSH, audio(), FLUSH, said("B")), [("speech_2", "B")]),
        ((audio(), CLEAR, said("A", interrupted=True)), [(None, "A")]),
        ((said("A"), said("B")), [("text_1", "A"), ("text_2", "B")]),
        ((said("U", role=pb.USER), said("S", role=pb.SYSTEM), said("")), []),
    ],
)
def test_a_text_of_the_agent_belongs_to_the_latest_speech_that_has_ended(messages, texts):
    events = [e for e in Session().take(*messages) if isinstance(e, Transcript)]
    assert [(e.item_id, e.text) for e in events] == texts


def test_usage_is_what_was_added_to_the_totals():
    session = Session()
    first = used(llm=pb.LLMModelUsage(input_tokens=100, output_tokens=10), stt=pb.STTModelUsage(audio_duration=1.5))
    second = used(llm=pb.LLMModelUsage(input_tokens=150, output_tokens=10), tts=pb.TTSModelUsage(characters_count=7))
    told = session.take(first, first, second)
    assert told == [
        Usage(counts={"input_tokens": 100, "output_tokens": 10, "stt_audio_duration": 1.5, "total_tokens": 110}),
        Usage(counts={"input_tokens": 50, "tts_characters_count": 7, "total_tokens": 50}),
    ]


@pytest.mark.parametrize(
    ("message", "kind"), [("x recoverable=True", "agent"), ("x recoverable=False", "infrastructure"), ("", "agent")]
)
def test_an_error_that_ends_the_session_is_infrastructure(message, kind):
    (fault,) = Session().take(event(error=pb.AgentSessionEvent.Error(message=message)))
    assert (type(fault), fault.kind) == (Fault, kind)
    assert "\n" not in fault.message


def test_a_call_of_its_own_took_as_long_as_from_its_begin_to_its_report():
    session = Session()
    session.take(begins("1", "own"))
    (call,) = session.after(0.7).take(ran(("1", "own", "{}", '{"n": 1}')))
    assert (call.took_s, call.result) == (pytest.approx(0.7), {"n": 1})
    (other,) = session.take(ran(("2", "own", "{}", None)))
    assert (other.took_s, other.result) == (None, None)  # nobody said when it began


def test_outputs_of_one_id_belong_to_its_calls_in_order():
    calls = Session().take(ran(("1", "own", '{"a": 1}', "one"), ("1", "own", '{"a": 2}', "two")))
    assert [(c.arguments, c.result) for c in calls] == [('{"a": 1}', "one"), ('{"a": 2}', "two")]


@pytest.mark.parametrize(
    ("messages", "recorded"),
    [
        ([ran(("1", "f", '{"n": 2}', "own"), ("2", "f", '{"n": 1}', "ok"))], ["1"]),
        ([ran(("1", "f", '{"n": 1}', "ok"), ("2", "f", '{"n": 2}', "own"))], ["2"]),
        ([begins("2", "f", '{"n": 1}'), ran(("1", "f", '{"n": 2}', "own")), ran(("2", "f", '{"n": 1}', "ok"))], ["1"]),
        ([ran(("1", "f", '{"n": 1, "limit": 5}', "ok"))], []),
    ],
    ids=["in one report", "in the other order", "one is still under way", "arguments that the function completes"],
)
def test_a_report_takes_no_call_of_the_host_that_another_one_names_exactly(messages, recorded):
    session = Session()
    session.calls.came_to_host("f", {"n": 1})
    assert [e.call_id for e in session.take(*messages) if isinstance(e, ToolRan)] == recorded


SEARCH = ("1", "search", '{"to": "Milan", "n": 1}', "ok")


@pytest.mark.parametrize(
    ("source", "at_host", "reports", "recorded"),
    [
        ("both", [("search", '{"n":1,"to":"Milan"}')], [SEARCH], []),
        ("both", [("search", {"n": 1, "to": "Milan"})], [SEARCH], []),
        ("both", [("search", '{"to": "Milan", "n": 1, "limit": 5}')], [SEARCH], []),
        ("both", [("book", '{"to": "Milan", "n": 1}')], [SEARCH], ["1"]),
        ("both", [], [SEARCH, SEARCH], ["1"]),
        ("both", [("search", SEARCH[2])], [SEARCH, ("2", *SEARCH[1:])], ["2"]),
        ("both", [("search", "{}"), ("search", SEARCH[2])], [SEARCH, ("2", "search", "{}", "ok")], []),
        ("both", [("search", "{")], [("1", "search", "{", "ok")], []),
        ("both", [], [("1", "", "{}", "ok")], []),
        ("host", [], [SEARCH], []),
        ("session", [("search", SEARCH[2])], [SEARCH], ["1"]),
    ],
)
def test_a_report_is_recorded_where_no_call_of_the_host_stands_for_it(source, at_host, reports, recorded):
    session = Session(source)
    for name, arguments in at_host:
        session.calls.came_to_host(name, arguments)
    events = session.take(*(ran(report) for report in reports))
    assert [e.call_id for e in events if isinstance(e, ToolRan)] == recorded


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("['x']", ["x"]),
        ("7", 7),
        ("NaN", "NaN"),
        ("{'a': {1, 2}}", "{'a': {1, 2}}"),
        ("{'a': open('x')}", "{'a': open('x')}"),
        ("Found two flights.", "Found two flights."),
        ("", ""),
        ("[" * 5000, "[" * 5000),
    ],
)
def test_an_output_is_read_as_json_or_as_python_writes_it_and_else_stays_text(output, result):
    assert read_output(output) == result


MESSAGES = st.one_of(
    st.builds(
        audio,
        data=st.binary(max_size=9),
        rate_hz=st.integers(0, 2**31),
        channels=st.integers(0, 5),
    ),
    st.sampled_from([FLUSH, CLEAR, state(pb.AS_LISTENING), pb.AgentSessionMessage(), event()]),
    st.builds(heard, st.text(max_size=5), st.booleans()),
    st.builds(said, st.text(max_size=5), st.sampled_from([pb.USER, pb.ASSISTANT]), st.booleans()),
    st.builds(begins, st.text(max_size=2), st.text(max_size=2), st.text(max_size=5)),
    st.builds(
        lambda *call: ran(call),
        st.text(max_size=2),
        st.text(max_size=2),
        st.text(max_size=5),
        st.none() | st.text(max_size=8),
    ),
    st.builds(lambda n: used(llm=pb.LLMModelUsage(input_tokens=n)), st.integers(-5, 5)),
)


@given(st.lists(MESSAGES, max_size=12))
def test_whatever_comes_nothing_raises_and_time_due_never_lies_before_now(messages):
    session = Session()
    for message in messages:
        session.take(message)
        assert session.state.next_due_s is None or session.state.next_due_s >= session.now_s


@given(st.binary(max_size=200))
def test_whatever_bytes_come_are_a_message_an_end_or_one_line(data):
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        try:
            while await next_message(reader) is not None:
                pass
        except ConsoleBroken as broken:
            return str(broken)
        return ""

    assert "\n" not in asyncio.run(read())


def test_a_message_is_read_as_it_was_written():
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(framed(sound(b"\x01\x00" * 960)) + framed(FLUSH))
        reader.feed_eof()
        return [await next_message(reader) for _ in range(3)]

    first, second, none = asyncio.run(read())
    assert (first.audio_input.sample_rate, first.audio_input.samples_per_channel) == (48_000, 960)
    assert (second, none) == (FLUSH, None)
    assert first.audio_input.num_channels == 1
