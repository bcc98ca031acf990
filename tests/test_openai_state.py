"""What server events of a realtime session mean, and what must be sent because of them: small tables, no network."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.openai_realtime.dialects import Asked, differences, session_update
from pytest_voicebench.agents.openai_realtime.state import SessionState
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.protocol import (
    UNREPORTED,
    AgentAudio,
    Fault,
    PlaybackClear,
    Setup,
    ToolCall,
    ToolCancelled,
    ToolResult,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import NOT_WRITTEN_DOWN
from tests.stage import TOOLS


class Session(SessionState):
    """A session whose clock stands where it is put."""

    def __init__(self) -> None:
        self.at_s = 0.0
        super().__init__(now_s=lambda: self.at_s)

    def told(self, *events):
        """What comes of the events, but for answers whose usage is not told: few of these tests tell any."""
        untold = Usage(counts={UNREPORTED: 1.0})
        return [ours for event in events for ours in self.take(event) if ours != untold]


def pcm(*samples: int) -> bytes:
    return np.array(samples, "<i2").tobytes()


def audio(data: bytes, response="r1", item="i1"):
    delta = base64.b64encode(data).decode()
    return {"type": "response.output_audio.delta", "response_id": response, "item_id": item, "delta": delta}


def created(response="r1"):
    return {"type": "response.created", "response": {"id": response}}


def done(response="r1", status="completed", output=(), **more):
    return {"type": "response.done", "response": {"id": response, "status": status, "output": list(output), **more}}


def call_item(call_id="c1", status="completed", item="f1", name="search", arguments="{}"):
    said = {"id": item, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
    return said | ({"status": status} if status else {})


def item_done(response="r1", **more):
    return {"type": "response.output_item.done", "response_id": response, "item": call_item(**more)}


def result(call_id="c1"):
    return ToolResult(call_id=call_id, name="search", result={"n": 1})


def kinds(events: Iterable[dict]):
    return [event["type"] for event in events]


SPEECH_STARTED = {"type": "input_audio_buffer.speech_started", "item_id": "u1"}
SPEECH_STOPPED = {"type": "input_audio_buffer.speech_stopped", "item_id": "u1"}
CALL = ToolCall(call_id="c1", name="search", arguments="{}", response_id="r1")
CANCELLED = ToolCancelled(call_ids=("c1",))
END = TurnEnd(response_id="r1")


@pytest.mark.parametrize(
    ("events", "ours"),
    [
        ([item_done(), done(output=[call_item()])], [CALL, END]),
        ([item_done(status=None), done()], [CALL, END]),
        ([done(output=[call_item()])], [CALL, END]),
        ([item_done(), item_done(), done(output=[call_item()])], [CALL, END]),
        ([item_done(status="incomplete"), done(status="cancelled")], [CALL, CANCELLED, END]),
        ([done(status="cancelled", output=[call_item(status="incomplete")])], [CALL, CANCELLED, END]),
        ([item_done(), done(status="cancelled", output=[call_item()])], [CALL, END]),
        ([item_done(), done(status="cancelled", output=[call_item(status="incomplete")])], [CALL, CANCELLED, END]),
        ([item_done(), created("r2")], [END]),
    ],
    ids=[
        "an item that is done, confirmed",
        "a server that gives no status",
        "only in the response's list",
        "the same item twice",
        "an item that is incomplete",
        "cut before its item was done",
        "complete before its response was cut: the model made it",
        "taken back by the response",
        "nothing",
    ],
)
def test_a_call_is_made_when_its_item_is_complete_and_else_recorded_as_cancelled(events, ours):
    session = Session()
    session.take(created())
    found = session.told(*events)
    assert found == (ours if events[-1]["type"] == "response.done" else [CALL, *ours])


def test_finished_arguments_alone_make_no_call_and_a_response_left_without_an_end_cancels_them():
    session = Session()
    added = {"type": "response.output_item.added", "response_id": "r1", "item": call_item(status="in_progress")}
    written = {"type": "response.function_call_arguments.done", "response_id": "r1", "item_id": "f1", "call_id": "c1"}
    assert session.told(created(), added, {**written, "arguments": "{}"}) == []
    assert session.told(created("r2")) == [CALL, CANCELLED, END]


def test_calls_known_by_their_finished_arguments_are_made_when_the_response_is_complete():
    written = {"type": "response.function_call_arguments.done", "response_id": "r1", "call_id": "c1", "name": "search"}
    assert Session().told(created(), {**written, "arguments": "{}"}, done()) == [CALL, END]


def test_one_id_for_two_calls_of_a_response_makes_two_calls():
    session = Session()
    found = session.told(created(), item_done(), item_done(item="f2", arguments='{"x":1}'), done())
    assert [call.arguments for call in found[:2]] == ["{}", '{"x":1}']


def test_all_results_go_together_followed_by_one_request_to_go_on():
    session = Session()
    session.told(created(), item_done(), item_done(call_id="c2", item="f2"), done())
    session.answer([result(), result("c2")])
    sent = session.take_outgoing()
    assert kinds(sent) == ["conversation.item.create", "conversation.item.create", "response.create"]
    assert sent[1]["item"] == {"type": "function_call_output", "call_id": "c2", "output": '{"n": 1}'}
    assert session.take_outgoing() == []


def test_while_a_response_is_active_the_request_to_go_on_waits_for_its_end():
    session = Session()
    session.told(created(), item_done(), done(), created("r2"))
    session.answer([result()])
    assert kinds(session.take_outgoing()) == ["conversation.item.create"]
    session.take(done("r2"))
    assert kinds(session.take_outgoing()) == ["response.create"]
    session.answer([result()])  # the request is on its way: another one would collide with it
    assert kinds(session.take_outgoing()) == ["conversation.item.create"]


def test_a_request_that_collided_is_made_again_after_the_response_that_was_in_its_way():
    session = Session()
    session.told(created(), item_done(), done())
    session.answer([result()])
    session.take_outgoing()
    session.take({"type": "error", "error": {"code": "conversation_already_has_active_response"}})
    assert session.take_outgoing() == []
    session.told(created("r2"), done("r2"))
    assert kinds(session.take_outgoing()) == ["response.create"]


def test_a_response_that_was_cancelled_is_not_followed_by_a_request_since_the_users_turn_will_be():
    session = Session()
    session.told(created(), item_done(), done(), created("r2"))
    session.answer([result()])
    session.take(done("r2", status="cancelled"))
    assert kinds(session.take_outgoing()) == ["conversation.item.create"]


def test_while_the_user_speaks_results_are_handed_over_and_nothing_is_asked_for():
    session = Session()
    session.told(created(), item_done(), done(), SPEECH_STARTED)
    session.answer([result()])
    assert kinds(session.take_outgoing()) == ["conversation.item.create"]
    session.take(SPEECH_STOPPED)
    assert session.take_outgoing() == []


def test_speech_clears_what_plays_and_what_still_comes_of_the_cut_response_is_dropped():
    session = Session()
    second = pcm(*[100] * RATE_HZ)
    session.told(created(), audio(second))
    session.at_s = 0.4
    assert session.told(SPEECH_STARTED, audio(second), done(status="cancelled")) == [PlaybackClear(), END]
    assert session.told(audio(second)) == []
    assert [type(e) for e in session.told(created("r2"), audio(second, "r2", "i2"))] == [AgentAudio]


def test_a_server_that_goes_on_after_speech_is_not_listened_to_and_that_is_said():
    session = Session()
    second = pcm(*[100] * RATE_HZ)
    session.told(created(), audio(second))
    session.at_s = 0.4
    assert session.told(SPEECH_STARTED, audio(second), audio(second)) == [PlaybackClear()]
    end, remark = session.told(done())
    assert (end, remark.kind) == (END, "agent")
    assert remark.message.startswith("the server went on with a response that the user had interrupted")
    assert session.told(created("r2"), SPEECH_STARTED, done("r2")) == [TurnEnd(response_id="r2")]  # nothing was lost


def test_speech_after_the_reply_was_heard_clears_nothing():
    session = Session()
    session.told(created(), audio(pcm(*[100] * RATE_HZ)), done())
    session.at_s = 1.0
    assert session.told(SPEECH_STARTED) == []


def test_a_completed_response_that_still_plays_is_cleared_and_truncated_to_what_was_heard():
    session = Session()
    session.told(created(), audio(pcm(*[100] * RATE_HZ)), done())
    session.at_s = 0.5
    assert session.told(SPEECH_STARTED) == [PlaybackClear()]
    session.cut("i1", 0.5)
    session.cut("i1", 7.0)
    session.cut("i1", 0.0)
    session.cut("unknown", 1.0)
    cut, clamped, deleted, unknown = session.take_outgoing()
    assert cut == {
        "type": "conversation.item.truncate",
        "item_id": "i1",
        "content_index": 0,
        "audio_end_ms": 500,
    }
    assert clamped["audio_end_ms"] == 1000
    assert deleted == {"type": "conversation.item.delete", "item_id": "i1"}
    assert unknown["type"] == "conversation.item.delete"


def test_sound_that_is_split_inside_a_sample_is_put_together():
    data = pcm(1, -2, 300)
    events = [audio(data[:3]), audio(data[3:4]), audio(data[4:])]
    found = Session().told(*events)
    assert np.concatenate([e.audio.samples for e in found]).tolist() == [1, -2, 300]


@pytest.mark.parametrize("delta", ["%%%", "abc", 7, None, ["AAAA"]])
def test_sound_that_is_no_base64_is_a_fault(delta):
    found = Session().told({**audio(b""), "delta": delta})
    assert [f.kind for f in found] == ["infrastructure"]


def test_an_event_with_a_known_id_means_nothing_and_so_does_an_unknown_event():
    session = Session()
    event = {**audio(pcm(1, 2)), "event_id": "e1"}
    assert len(session.told(event, event, {"type": "response.mood.delta"}, {"type": 7}, {}, {"type": None})) == 1
    odd = [{"type": kind} for kind in ("response.created", "response.done", "error", "response.output_item.done")]
    assert [type(e) for e in session.told(*odd)] == [TurnEnd, Fault]


NAMES = [
    "type",
    "event_id",
    "item_id",
    "response_id",
    "delta",
    "transcript",
    "text",
    "item",
    "response",
    "error",
    "usage",
    "output",
    "status",
    "status_details",
    "content_index",
    "call_id",
    "name",
    "arguments",
    "id",
    "code",
    "message",
]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "r1", "i1", "completed", "function_call", "AAA="]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SessionState.HANDLERS)), st.dictionaries(st.sampled_from(NAMES), ODD)),
        max_size=6,
    )
)
def test_whatever_a_server_sends_gives_events_that_keep_to_the_protocol(said):
    session = Session()
    for kind, rest in said:
        assert [event_flaw(event) for event in session.take({**rest, "type": kind}) if event_flaw(event)] == []
        session.take_outgoing()


def test_the_users_text_is_kept_by_item_whenever_it_comes_and_a_final_text_stands():
    heard = "conversation.item.input_audio_transcription"
    session = Session()
    found = session.told(
        {"type": f"{heard}.delta", "item_id": "u1", "delta": "Fly "},
        created(),
        done(),
        {"type": f"{heard}.completed", "item_id": "u1", "transcript": "Fly to Milan.", "usage": {"seconds": 2.5}},
        {"type": f"{heard}.delta", "item_id": "u1", "delta": "late"},
        {"type": f"{heard}.updated", "item_id": "u2", "transcript": "and"},
        {"type": f"{heard}.updated", "item_id": "u2", "transcript": "and back"},
    )
    texts = [(e.item_id, e.text, e.delta) for e in found if isinstance(e, Transcript)]
    assert texts == [
        ("u1", "Fly ", True),
        ("u1", "Fly to Milan.", False),
        ("u2", "and", False),
        ("u2", "and back", False),
    ]
    assert Usage(counts={"transcription_seconds": 2.5}) in found


def test_what_the_server_could_not_write_down_of_the_user_is_a_remark():
    failed = {"type": "conversation.item.input_audio_transcription.failed", "item_id": "u1", "error": {"code": "x"}}
    (remark,) = Session().told({**failed, "error": {"code": "x", "message": "Audio\nunclear."}})
    assert (remark.kind, remark.message) == ("agent", f"{NOT_WRITTEN_DOWN}: Audio unclear.")
    assert Session().told({**failed, "error": None})[0].message == f"{NOT_WRITTEN_DOWN}: no reason given"


@pytest.mark.parametrize("prefix", ["response.output_audio", "response.audio"])
def test_old_and_new_names_of_events_mean_the_same(prefix):
    text = {"response_id": "r1", "item_id": "i1", "delta": "Hi", "transcript": "Hi."}
    events = [{**audio(pcm(1)), "type": f"{prefix}.delta"}]
    events += [{**text, "type": f"{prefix}_transcript.{end}"} for end in ("delta", "done")]
    found = Session().told(*events)
    assert [type(e) for e in found] == [AgentAudio, Transcript, Transcript]
    assert [(e.text, e.delta) for e in found[1:]] == [("Hi", True), ("Hi.", False)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "session_expired", "type": "invalid_request_error"}, "infrastructure"),
        ({"code": None, "type": "server_error"}, "infrastructure"),
        ({"code": "insufficient_quota"}, "infrastructure"),
        ({"type": "invalid_api_key"}, "infrastructure"),
        ({"code": "invalid_value", "type": "invalid_request_error"}, "agent"),
        ({"code": ["odd"]}, "agent"),
    ],
)
def test_an_error_event_is_a_fault_where_nothing_after_it_says_anything_about_the_agent(error, kind):
    (fault,) = Session().told({"type": "error", "error": {**error, "message": "told\nso"}})
    assert (fault.kind, fault.message.endswith(": told so")) == (kind, True)


def test_an_error_that_answers_a_late_request_of_ours_is_none():
    assert Session().told({"type": "error", "error": {"code": "response_cancel_not_active"}}) == []


@pytest.mark.parametrize(
    ("status", "details", "fault"),
    [
        ("failed", {"error": {"code": "x", "message": "no room"}}, ("infrastructure", "a response failed: no room")),
        ("failed", {"error": {"type": "server_error"}}, ("infrastructure", "a response failed: server_error")),
        (
            "failed",
            {"error": {"code": "rate_limit_exceeded"}},
            ("infrastructure", "a response failed: rate_limit_exceeded"),
        ),
        ("failed", None, ("infrastructure", "a response failed: no reason given")),
        ("failed", {"error": {"code": "content_filter"}}, ("agent", "a response failed: content_filter")),
        ("incomplete", {"reason": "max_output_tokens"}, ("agent", "a response is incomplete: max_output_tokens")),
    ],
)
def test_a_response_that_failed_is_a_fault(status, details, fault):
    found = Session().told(done(status=status, status_details=details))[-1]
    assert (found.kind, found.message) == fault


def test_a_response_that_ends_without_its_usage_is_counted_as_one():
    assert Usage(counts={UNREPORTED: 1.0}) in Session().take(done())
    assert Usage(counts={"total_tokens": 7.0}) in Session().take(done(usage={"total_tokens": 7}))


def test_usage_is_flat_and_cancelled_responses_cost_too():
    usage = {
        "total_tokens": 30,
        "input_tokens": 20,
        "input_token_details": {"audio_tokens": 5, "cached_tokens_details": {"text_tokens": 3}},
        "output_token_details": {"audio_tokens": 7},
        "type": "tokens",
    }
    counts = {
        "total_tokens": 30,
        "input_tokens": 20,
        "input_audio_tokens": 5,
        "input_cached_text_tokens": 3,
        "output_audio_tokens": 7,
    }
    assert usage_counts(usage) == counts
    assert Usage(counts=counts) in Session().told(done(status="cancelled", usage=usage))
    assert usage_counts(None) == usage_counts([1]) == {}
    assert usage_counts({"a": math.inf, "b": 10**400, "c": True, "d": 1.5}) == {"d": 1.5}


def setup():
    return Setup(
        conversation_id="c",
        instructions="Help the caller.",
        tools=tuple(TOOLS.values()),
        today=date(2026, 4, 6),
        documents=("Doc one.",),
    )


ASKED = Asked(
    voice="marin",
    turn_detection={
        "turn_detection": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
    },
    transcription="whisper-1",
)
DETECTION = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}
RESPONDS = {"create_response": True, "interrupt_response": True}


@pytest.mark.parametrize(
    ("dialect", "paths"),
    [
        (
            "ga",
            {
                "type": "realtime",
                "output_modalities": ["audio"],
                "audio.input.turn_detection": DETECTION | RESPONDS,
                "audio.output.voice": "marin",
                "audio.input.format": {"type": "audio/pcm", "rate": RATE_HZ},
            },
        ),
        (
            "beta",
            {
                "modalities": ["text", "audio"],
                "turn_detection": DETECTION | RESPONDS,
                "voice": "marin",
                "input_audio_format": "pcm16",
            },
        ),
        (
            "grok",
            {
                "voice": "marin",
                "turn_detection": DETECTION,
                "audio.input.transport": "json",
                "audio.input.transcription": {"model": "whisper-1"},
            },
        ),
    ],
)
def test_each_dialect_asks_for_the_session_in_its_own_shape(dialect, paths):
    update = session_update(dialect, ASKED, setup())
    assert update["type"] == "session.update"
    session = update["session"]
    for path, value in paths.items():
        found = session
        for part in path.split("."):
            found = found[part]
        assert found == value, path
    assert session["instructions"] == "Help the caller.\n\nToday is Monday, 6 April 2026.\n\nDoc one."
    assert session["tools"][1]["parameters"]["required"] == ["flight_id"]
    assert ("type" in session) == (dialect == "ga")


def test_what_the_server_changed_is_named_and_what_it_does_not_say_is_not():
    asked = session_update("ga", ASKED, setup())["session"]
    told = session_update("ga", ASKED, setup())["session"]
    assert differences(asked, told) == differences(asked, {}) == differences(asked, None) == []
    told["audio"]["input"]["turn_detection"]["silence_duration_ms"] = 200
    told["tools"] = told["tools"][:1]
    told["instructions"] += " And be funny."
    assert sorted(differences(asked, told)) == [
        "audio.input.turn_detection.silence_duration_ms 200 instead of 500",
        "instructions was changed",
        "tools: 1 instead of 2",
    ]


@pytest.mark.parametrize(
    ("place", "echo", "told"),
    [
        ("audio.input.turn_detection", None, "audio.input.turn_detection None instead of {'type': 'server_vad'"),
        ("audio.input.turn_detection", {"type": None}, "audio.input.turn_detection {'type': None} instead of"),
        ("audio.input.transcription", None, "audio.input.transcription None instead of {'model': 'whisper-1'}"),
        (
            "audio.input.noise_reduction",
            {"type": "near_field"},
            "audio.input.noise_reduction {'type': 'near_field'} instead of None",
        ),
        ("output_modalities", ["text"], "output_modalities ['text'] instead of ['audio']"),
        ("tools", None, "tools None instead of ["),
        ("instructions", None, "instructions was changed"),
        ("audio", None, "audio None instead of {"),
    ],
)
def test_a_setting_that_is_off_against_what_was_asked_is_a_difference_and_so_is_another_list(place, echo, told):
    asked = session_update("ga", ASKED, setup())["session"]
    echoed = session_update("ga", ASKED, setup())["session"]
    *way, last = place.split(".")
    at = echoed
    for part in way:
        at = at[part]
    at[last] = echo
    (found,) = differences(asked, echoed)
    assert found.startswith(told)


@pytest.mark.parametrize(
    ("asked", "echoed"),
    [
        ({"modalities": ["text", "audio"]}, {"modalities": ["audio", "text"]}),
        ({"turn_detection": None}, {"turn_detection": {"type": None}}),
        ({"tools": []}, {"tools": None}),
        ({"transcription": {"model": "m"}}, {"transcription": {"model": "m", "prompt": None}}),
        ({"transcription": {"model": "m"}}, {}),
    ],
)
def test_what_means_the_same_is_no_difference(asked, echoed):
    assert differences(asked, echoed) == []
