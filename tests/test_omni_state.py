"""The states of sessions with models that listen and speak at once: tables of events, and laws for any events."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.omni.errors import error_text
from pytest_voicebench.agents.omni.map import MapState
from pytest_voicebench.agents.omni.playing import Playing
from pytest_voicebench.agents.omni.sglang import SglangState
from pytest_voicebench.agents.omni.vllm import VllmState
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    Fault,
    PlaybackClear,
    ToolCall,
    ToolResult,
    Transcript,
    TurnEnd,
    Unsupported,
    Usage,
)
from pytest_voicebench.audio import Audio

HALF_S = base64.b64encode(bytes(24_000)).decode()
BLOCK = Audio(samples=np.zeros(320, np.int16), rate_hz=16_000)


class Clock:
    """A time that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def vllm(clock):
    return VllmState(now_s=clock)


def sound(response="r1", **more):
    kind = "response.output_audio.delta"
    return {"type": kind, "response_id": response, "item_id": f"item_{response}", "delta": HALF_S, **more}


def acks(state):
    return [(e["item_id"], e["played_ms"]) for e in state.block(BLOCK) if e["type"] == "playback.ack"]


def test_one_loudspeaker_plays_items_one_after_the_other():
    playing = Playing(200)
    playing.add("a", 0.5, 0.0)
    playing.add("b", 0.3, 0.1)
    assert playing.news(0.1) == []
    assert playing.news(0.25) == [("a", 250)]
    assert playing.news(0.4) == []
    assert playing.news(0.6) == [("a", 500)]
    assert playing.news(5.0) == [("b", 300)]
    assert playing.news(6.0) == []


def test_what_is_stopped_is_not_told_and_the_next_item_plays_at_once():
    playing = Playing(200)
    playing.add("a", 5.0, 0.0)
    playing.stop("a", 1.0)
    playing.add("b", 0.5, 1.0)
    assert playing.news(2.0) == [("b", 500)]


def test_what_has_been_played_is_not_gone_through_again_in_every_block():
    """A minute of sound would take a millisecond of each block, in each conversation."""
    playing, told = Playing(200), 0
    for n in range(500):
        playing.add("a", 0.08, n * 0.08)
        told = dict(playing.news((n + 1) * 0.08)).get("a", told)
        assert len(playing._items["a"].waiting) <= 1
    assert told == 40_000


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.0, 2.0), st.floats(0.0, 3.0)), max_size=8))
def test_what_is_told_of_an_item_only_grows_and_ends_with_all_of_it(pieces):
    playing, now_s, told, whole = Playing(200), 0.0, {}, {}
    for item, seconds, wait_s in pieces:
        playing.add(item, seconds, now_s)
        whole[item] = whole.get(item, 0.0) + seconds
        now_s += wait_s
        for name, ms in playing.news(now_s):
            assert ms > told.get(name, 0)
            told[name] = ms
    told |= dict(playing.news(now_s + 1000.0))
    assert {k: told.get(k, 0) for k in whole} == {k: pytest.approx(v * 1000, abs=2) for k, v in whole.items()}


def test_vllm_hears_what_was_played_while_it_plays_and_where_it_was_cut(vllm, clock):
    vllm.take(sound())
    vllm.take(sound())
    assert acks(vllm) == []
    clock.now_s = 0.3
    assert acks(vllm) == [("item_r1", 300)]
    vllm.cut("item_r1", 0.42)
    ack, truncate = vllm.take_outgoing()
    assert ack == {
        "type": "playback.ack",
        "item_id": "item_r1",
        "response_id": "r1",
        "played_ms": 420,
        "committed_ms": 420,
    }
    assert (truncate["type"], truncate["audio_end_ms"]) == ("conversation.item.truncate", 420)
    clock.now_s = 9.0
    assert acks(vllm) == []


def test_an_answer_of_which_nothing_was_heard_is_told_as_that_and_not_truncated(vllm):
    vllm.take(sound())
    vllm.cut("item_r1", 0.0)
    assert [(e["type"], e["played_ms"]) for e in vllm.take_outgoing()] == [("playback.ack", 0)]


def test_events_are_taken_once_by_their_number_and_acknowledged_up_to_the_last(vllm):
    first = sound(server_event_seq=4)
    assert len(vllm.take(first)) == 1
    assert vllm.take(first) == []
    assert vllm.take(sound(server_event_seq=3)) == []
    assert vllm.take_outgoing() == [{"type": "session.event_ack", "server_event_seq": 4}]
    assert vllm.take_outgoing() == []


@pytest.mark.parametrize(
    ("event", "cleared"),
    [
        ({"type": "input_audio_buffer.speech_started"}, False),
        ({"type": "overlap.decision", "action": "listen"}, False),
        ({"type": "overlap.decision", "action": "barge_in"}, True),
        ({"type": "output_audio_buffer.cleared", "response_id": "r1"}, True),
        ({"type": "response.done", "response": {"id": "r1", "status": "cancelled"}}, True),
        ({"type": "response.done", "response": {"id": "r1", "status": "completed"}}, False),
        ({"type": "response.listen"}, False),
    ],
)
def test_only_what_the_server_takes_back_stops_the_loudspeaker(vllm, event, cleared):
    vllm.take({"type": "response.created", "response": {"id": "r1"}})
    vllm.take(sound())
    assert (PlaybackClear() in vllm.take(event)) is cleared


@pytest.mark.parametrize("named", [{}, {"response_id": "r1"}])
def test_sound_on_its_way_when_speech_cuts_in_is_not_played(vllm, named):
    vllm.take({"type": "response.created", "response": {"id": "r1"}})
    vllm.take(sound())
    vllm.take({"type": "response.created", "response": {"id": "call"}})
    assert PlaybackClear() in vllm.take({"type": "overlap.decision", "action": "barge_in", **named})
    assert vllm.take(sound()) == []
    assert vllm.take(sound("r2")) != []


def test_speech_after_a_response_was_done_voids_nothing_of_it(vllm):
    vllm.take(sound())
    vllm.take({"type": "response.done", "response": {"id": "r1", "status": "completed"}})
    vllm.take({"type": "overlap.decision", "action": "barge_in"})
    text = {"type": "response.output_audio_transcript.done", "response_id": "r1", "item_id": "item_r1"}
    assert [e.text for e in vllm.take({**text, "transcript": "All of it."})] == ["All of it."]


def test_a_call_beside_speech_leaves_the_speech_and_is_answered_without_asking_for_more(vllm):
    vllm.take({"type": "response.created", "response": {"id": "r1"}})
    item = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"}
    vllm.take({"type": "response.created", "response": {"id": "r2"}})
    found = vllm.take({"type": "response.output_item.done", "response_id": "r2", "item": item})
    assert found == [ToolCall(call_id="c", name="f", arguments="{}", response_id="r2")]
    done = {"type": "response.done", "response": {"id": "r2", "status": "completed", "output": [item]}}
    assert TurnEnd(response_id="r2") in vllm.take(done)
    assert [type(e) for e in vllm.take(sound())] == [AgentAudio]
    vllm.answer([ToolResult(call_id="c", name="f", result={"n": 1})])
    assert [e["type"] for e in vllm.take_outgoing()] == ["conversation.item.create"]


def test_a_decision_to_be_silent_ends_the_response_that_it_names(vllm):
    vllm.take({"type": "response.created", "response": {"id": "r1"}})
    counted = Usage(counts={"listen_decisions": 1})
    assert vllm.take({"type": "response.listen"}) == [counted]
    assert vllm.take({"type": "response.listen", "response_id": "r1"}) == [counted, TurnEnd(response_id="r1")]


@pytest.mark.parametrize("kind", ["closed", "expired", "replaced"])
def test_a_session_that_the_server_ends_is_a_fault_of_the_infrastructure(vllm, kind):
    (fault,) = vllm.take({"type": f"session.{kind}", "reason": "idle\ntimeout"})
    assert fault == Fault(kind="infrastructure", message=f"the server ended the session: {kind} idle timeout")


def test_sglangs_events_have_ids_and_blocks_their_number(clock):
    state = SglangState(now_s=clock, granted={"supports_truncate": True})
    blocks = [event for _ in range(3) for event in state.block(BLOCK)]
    assert [b["sglang"]["seq"] for b in blocks] == [0, 1, 2]
    state.take(sound())
    state.cut("item_r1", 0.2)
    state.cut("item_r1", 0.0)
    (cut,) = state.take_outgoing()
    assert (cut["type"], cut["audio_end_ms"], bool(cut["event_id"])) == ("conversation.item.truncate", 200, True)
    assert len({e["event_id"] for e in [*blocks, cut]}) == 4


def test_sglang_hears_of_no_cut_that_it_cannot_use_and_of_no_text(clock):
    state = SglangState(now_s=clock, granted={"supports_truncate": False})
    state.take(sound())
    state.cut("item_r1", 0.2)
    assert state.take_outgoing() == []
    with pytest.raises(Unsupported):
        state.inject("The user is in Rome.")


def floats(*values):
    return base64.b64encode(np.array(values, "<f4").tobytes()).decode()


def output(kind, **more):
    return {"type": "response.output.delta", "kind": kind, **more}


def test_map_sends_a_second_at_a_time_and_loses_no_sample():
    state, samples = MapState(), np.arange(-20_000, 20_000, dtype=np.int16)
    sent = []
    for start in range(0, len(samples), 320):
        sent += state.block(Audio(samples=samples[start : start + 320], rate_hz=16_000))
    raw = b"".join(base64.b64decode(e["input"]["audio"]) for e in sent)
    assert np.rint(np.frombuffer(raw, "<f4") * 32768).astype(int).tolist() == samples[:32_000].tolist()
    assert len(sent) == 2


def test_maps_outputs_until_the_model_listens_are_one_item():
    state = MapState()
    first = state.take(output("text", text="Hel")) + state.take(output("audio", audio=floats(0.5, -1.0, 2.0)))
    assert first[0] == Transcript(speaker="agent", text="Hel", item_id="turn_1", delta=True)
    assert (first[1].item_id, first[1].audio.samples.tolist(), first[1].audio.rate_hz) == (
        "turn_1",
        [16384, -32768, 32767],
        24_000,
    )
    listened = state.take(output("listen", text=" To Milan. "))
    assert listened == [
        Usage(counts={"listen_decisions": 1}),
        Transcript(speaker="user", text="To Milan."),
        TurnEnd(response_id="turn_1"),
    ]
    assert state.take(output("text", text="Yes."))[0].item_id == "turn_2"
    assert state.take({"type": "response.done"}) == [TurnEnd(response_id="turn_2")]
    assert state.take({"type": "response.done"}) == []


def test_maps_counts_of_the_session_are_not_added_to_those_of_its_responses():
    state, counts = MapState(), {"total_tokens": 100}
    assert state.take({"type": "x", "usage": counts}) == [Usage(counts={"total_tokens": 100})]
    assert state.take({"type": "x", "usage": {"total_tokens": 130}}) == [Usage(counts={"total_tokens": 30})]
    assert state.take({"type": "response.done", "response": {"usage": counts}}) == []
    assert MapState().take({"type": "response.done", "response": {"usage": counts}}) == [Usage(counts=counts)]


@pytest.mark.parametrize("audio", ["(noise)", floats(float("nan")), floats(float("inf"))])
def test_what_is_no_sound_is_a_fault(audio):
    (fault,) = MapState().take(output("audio", audio=audio))
    assert fault.kind == "infrastructure"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"error": {"code": "busy", "message": "No place\nis free."}}, "busy: No place is free."),
        ({"error": "No place.", "code": "busy"}, "busy: No place."),
        ({"message": "No place."}, "No place."),
        ({"error": {}}, "an error without a message"),
        ({"error": 5, "code": []}, "an error without a message"),
    ],
)
def test_errors_are_read_in_every_shape(event, text):
    assert error_text(event) == text


NAMES = [
    *(
        "response_id",
        "item_id",
        "item",
        "response",
        "delta",
        "audio",
        "text",
        "kind",
        "id",
        "call_id",
        "name",
        "status",
    ),
    *(
        "arguments",
        "usage",
        "server_event_seq",
        "sample_rate_hz",
        "action",
        "reason",
        "error",
        "code",
        "sglang",
        "output",
    ),
]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 50_000) | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["r1", "item_r1", "c", "completed", "cancelled", "barge_in", "audio", "text", "listen", HALF_S]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
KINDS = sorted({*VllmState.HANDLERS, *SglangState.HANDLERS, "response.output.delta", "response.listen"})
STATES = [
    lambda: VllmState(now_s=Clock()),
    lambda: SglangState(now_s=Clock(), granted={}),
    MapState,
]


@given(
    st.sampled_from(STATES),
    st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), ODD)), max_size=6),
)
def test_whatever_a_server_sends_gives_events_that_keep_to_the_protocol(make, said):
    state = make()
    for kind, rest in said:
        for event in state.take({**rest, "type": kind}):
            assert event_flaw(event) is None
        state.block(BLOCK)
        state.cut("item_r1", 0.1)
        state.take_outgoing()
