"""What messages of a phone agent mean, and what is sent because of them: small tables, no network."""

from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.protocol import AgentAudio, Fault, PlaybackClear
from pytest_voicebench.agents.twilio.messages import DIALECTS, TELNYX, TWILIO, Call, without_sound
from pytest_voicebench.agents.twilio.mulaw import encode_mulaw
from pytest_voicebench.agents.twilio.playout import Playout
from pytest_voicebench.agents.twilio.state import StreamState
from pytest_voicebench.agents.wire_log import WireLog

SID = "MZ1"
CALL = Call(
    account_sid="AC1",
    call_sid="CA1",
    stream_sid=SID,
    caller="+15005550006",
    called="+15005550001",
    parameters={"language": "en"},
)
BLOCK = np.zeros(160, np.int16)


class Stream(StreamState):
    """A stream whose clock stands where it is put."""

    def __init__(self, dialect=TWILIO) -> None:
        self.at_s = 0.0
        super().__init__(dialect=dialect, call=CALL, now_s=lambda: self.at_s)
        self.opening = self.take_outgoing()

    def told(self, *events):
        return [ours for event in events for ours in self.take(event)]

    def echoed(self, at_s):
        """Names of the marks that go back with a block at that time."""
        self.at_s = at_s
        self.hear(BLOCK)
        return [event["mark"]["name"] for event in self.take_outgoing() if event["event"] == "mark"]


def media(data: bytes = bytes(160), sid=SID):
    return {"event": "media", "streamSid": sid, "media": {"payload": base64.b64encode(data).decode()}}


def mark(name: str, sid=SID):
    return {"event": "mark", "streamSid": sid, "mark": {"name": name}}


CLEAR = {"event": "clear", "streamSid": SID}


def test_twilio_says_these_things_first_then_blocks_and_in_the_end_stop():
    stream = Stream()
    stream.hear(BLOCK)
    stream.hear(BLOCK)
    stream.stop()
    assert [*stream.opening, *stream.take_outgoing()] == [
        {"event": "connected", "protocol": "Call", "version": "1.0.0"},
        {
            "event": "start",
            "sequenceNumber": "1",
            "streamSid": "MZ1",
            "start": {
                "accountSid": "AC1",
                "streamSid": "MZ1",
                "callSid": "CA1",
                "tracks": ["inbound"],
                "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
                "customParameters": {"language": "en"},
            },
        },
        *(
            {
                "event": "media",
                "sequenceNumber": number,
                "streamSid": "MZ1",
                "media": {
                    "track": "inbound",
                    "chunk": chunk,
                    "timestamp": ms,
                    "payload": base64.b64encode(b"\xff" * 160).decode(),
                },
            }
            for number, chunk, ms in (("2", "1", "0"), ("3", "2", "20"))
        ),
        {"event": "stop", "sequenceNumber": "4", "streamSid": "MZ1", "stop": {"accountSid": "AC1", "callSid": "CA1"}},
    ]


def test_telnyx_says_the_same_in_its_own_names():
    stream = Stream(TELNYX)
    stream.hear(BLOCK)
    stream.take({"event": "mark", "mark": {"name": "m"}})
    stream.stop()
    opening, sent = stream.opening, stream.take_outgoing()
    assert opening[0] == {"event": "connected", "version": "1.0.0"}
    assert opening[1] == {
        "event": "start",
        "sequence_number": "1",
        "stream_id": "MZ1",
        "start": {
            "user_id": "AC1",
            "call_control_id": "CA1",
            "from": "+15005550006",
            "to": "+15005550001",
            "custom_parameters": {"language": "en"},
            "media_format": {"encoding": "PCMU", "sample_rate": 8000, "channels": 1},
        },
    }
    assert [{k: v for k, v in event.items() if k != "media"} for event in sent] == [
        {"event": "media", "sequence_number": "2", "stream_id": "MZ1"},
        {"event": "mark", "sequence_number": "3", "stream_id": "MZ1", "mark": {"name": "m"}},
        {
            "event": "stop",
            "sequence_number": "4",
            "stream_id": "MZ1",
            "stop": {"user_id": "AC1", "call_control_id": "CA1"},
        },
    ]
    assert stream.told({"event": "clear"}) == [PlaybackClear()]
    assert isinstance(stream.told({"event": "clear", "stream_id": "other"})[0], Fault)


@pytest.mark.parametrize("size", [1, 7, 160, 161, 320, 8000])
def test_media_of_any_size_is_heard_sample_by_sample(size):
    data = encode_mulaw(np.arange(size).astype(np.int16) * 4)
    (heard,) = Stream().told(media(data))
    assert (heard.audio.rate_hz, len(heard.audio.samples)) == (8000, size)
    assert encode_mulaw(heard.audio.samples) == data


def test_sound_after_a_pause_or_a_clear_begins_a_new_reply_and_other_sound_goes_on_with_one():
    stream = Stream()
    items = []
    for at_s, events in [
        (0.0, [media(), media()]),  # heard until 0.04
        (0.03, [media()]),  # until 0.06
        (0.1, [media()]),  # late: until 0.12
        (0.43, [media()]),  # until 0.45
        (0.44, [CLEAR]),
        (0.441, [media()]),
    ]:
        stream.at_s = at_s
        items += [e.item_id for e in stream.told(*events) if isinstance(e, AgentAudio)]
    assert items == [*["reply_1"] * 4, "reply_2", "reply_3"]


def test_a_mark_comes_back_with_the_first_block_after_its_sound_was_heard():
    stream = Stream()
    stream.told(media(bytes(320)), mark("a"), media(bytes(160)), mark("b"))
    assert stream.echoed(0.02) == []
    assert stream.echoed(0.039) == []
    assert stream.echoed(0.04) == ["a"]
    assert stream.echoed(0.1) == ["b"]
    assert stream.echoed(0.2) == []


def test_a_mark_with_nothing_before_it_comes_back_at_once():
    stream = Stream()
    stream.told(mark("early"))
    assert [event["mark"]["name"] for event in stream.take_outgoing()] == ["early"]


def test_after_clear_all_marks_come_back_at_once_and_in_order_and_their_sound_is_forgotten():
    stream = Stream()
    told = stream.told(media(bytes(8000)), mark("a"), mark("b"), mark("a"), CLEAR)
    assert [type(event) for event in told] == [AgentAudio, PlaybackClear]
    assert [event["mark"]["name"] for event in stream.take_outgoing()] == ["a", "b", "a"]
    stream.told(media(bytes(160)), mark("c"))
    assert stream.echoed(0.01) == []
    assert stream.echoed(0.02) == ["c"]


def test_clear_with_nothing_to_be_heard_is_told_all_the_same():
    assert Stream().told(CLEAR, CLEAR) == [PlaybackClear(), PlaybackClear()]


@pytest.mark.parametrize(
    ("event", "told"),
    [
        (media(sid="MZ2"), "a media message has not the streamSid of this stream"),
        ({"event": "clear"}, "a clear message has not the streamSid of this stream"),
        ({"event": "media", "streamSid": SID}, "a media message has no media.payload"),
        ({"event": "media", "streamSid": SID, "media": {"payload": 7}}, "a media message has no media.payload"),
        ({"event": "media", "streamSid": SID, "media": {"payload": "%%%"}}, "is not base64"),
        ({"event": "media", "streamSid": SID, "media": {"payload": "abc"}}, "is not base64"),
        ({"event": "media", "streamSid": SID, "media": {"payload": "ä"}}, "is not base64"),
        ({"event": "mark", "streamSid": SID, "mark": {"name": None}}, "a mark message has no mark.name"),
        ({"event": "mark", "streamSid": SID, "mark": "m"}, "a mark message has no mark.name"),
    ],
)
def test_what_twilio_would_ignore_is_ignored_and_remarked_on_once(event, told):
    stream = Stream()
    (fault,) = stream.told(event, event, event)
    assert fault.kind == "agent"
    assert told in fault.message
    assert stream.take_outgoing() == []


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "stop", "streamSid": SID},
        {"event": ["media"]},
        {"event": "dtmf", "streamSid": SID, "dtmf": {"digit": "1"}},
        media(b""),
    ],
)
def test_what_is_unknown_or_holds_nothing_means_nothing(event):
    assert Stream().told(event) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELD = st.sampled_from(["event", "streamSid", "stream_id", "media", "mark", "clear", "payload", "name"])
KNOWN = st.sampled_from(["media", "mark", "clear", "start", SID, "AAAA", "A", "m"])
VALUE = JSON | KNOWN | st.dictionaries(FIELD, JSON | KNOWN, max_size=3)


@given(st.sampled_from(sorted(DIALECTS)), st.lists(st.dictionaries(FIELD, VALUE, max_size=5), max_size=8))
def test_no_message_whatever_breaks_a_stream_and_all_it_gives_keeps_to_the_protocol(dialect, events):
    stream = Stream(DIALECTS[dialect])
    for event in events:
        stream.at_s += 0.01
        assert [event_flaw(ours) for ours in stream.take(event) if event_flaw(ours)] == []
        json.dumps(without_sound(event))
    stream.hear(BLOCK)
    numbers = [event[DIALECTS[dialect].number] for event in stream.take_outgoing()]
    assert numbers == [str(n) for n in range(2, 2 + len(numbers))]


STEPS = st.lists(
    st.tuples(st.sampled_from(["sound", "mark", "clear", "wait"]), st.floats(0.001, 1.0)), min_size=1, max_size=30
)


@given(STEPS)
def test_every_mark_comes_back_once_in_order_and_never_before_its_sound_was_heard(steps):
    playout, now_s, end_s, heard, sent, back = Playout(), 0.0, 0.0, False, [], []
    due: dict[str, float] = {}
    for kind, size in steps:
        if kind == "sound":
            playout.queue(size, now_s)
            end_s, heard = max(now_s, end_s) + size, True
        elif kind == "mark":
            sent.append(f"m{len(sent)}")
            due[sent[-1]] = end_s
            playout.mark(sent[-1], now_s)
        elif kind == "clear":
            playout.clear(now_s)
            end_s = min(end_s, now_s)
            due = {name: min(at_s, now_s) for name, at_s in due.items()}
        else:
            now_s += size
        for name in playout.due(now_s):
            back.append(name)
            assert due[name] <= now_s
        assert playout.silent_for_s(now_s) == (now_s - end_s if heard else math.inf)
    back += playout.due(now_s + 100.0)
    assert back == sent


def test_the_log_keeps_no_sound_and_equal_blocks_share_a_row():
    log = WireLog(lambda: 1.0)
    stream = Stream()
    for _ in range(5):
        stream.hear(BLOCK)
    for event in stream.take_outgoing():
        log.sent(without_sound(event))
    log.received(without_sound(media(b"\x01")))
    sent, received = (json.loads(line) for line in log.lines(0.0))
    assert (sent["times"], sent["event"]["media"]) == (5, {"track": "inbound", "payload": "<216 characters>"})
    assert received["event"]["media"]["payload"] == "<4 characters>"
