"""What frames of an Ultravox call mean, in any order: small tables, no network."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    Fault,
    PlaybackClear,
    Setup,
    ToolCall,
    ToolResult,
    Transcript,
    TurnEnd,
)
from pytest_voicebench.agents.ultravox import Ultravox
from pytest_voicebench.agents.ultravox.creation import call_request
from pytest_voicebench.agents.ultravox.state import CallState
from tests.servers.ultravox_script import message_flaw, request_flaw
from tests.stage import TOOLS

KEY = "uv-planted-40417"
LOCAL = "http://127.0.0.1:9/api"
SECOND = b"\1\0" * 24_000
ZERO = bytes(960)


class Call(CallState):
    """A call whose clock stands where it is put."""

    def __init__(self, tool_timeout_s=2.5) -> None:
        self.at_s = 0.0
        super().__init__(now_s=lambda: self.at_s, tool_timeout_s=tool_timeout_s)

    def told(self, *frames):
        return [ours for frame in frames for ours in self.take(frame)]


def state(name):
    return {"type": "state", "state": name}


def said(role, ordinal=None, *, final=False, **fields):
    number = {} if ordinal is None else {"ordinal": ordinal}
    return {"type": "transcript", "role": role, "medium": "voice", "final": final, **number, **fields}


def agent(delta, ordinal=1):
    return said("agent", ordinal, delta=delta, text=None)


def invoked(call_id="i1", **fields):
    return {"type": "client_tool_invocation", "toolName": "search", "invocationId": call_id, **fields}


LISTENS, THINKS, SPEAKS = state("listening"), state("thinking"), state("speaking")
CLEAR = {"type": "playback_clear_buffer"}


def items(events, kind):
    return [e.item_id for e in events if isinstance(e, kind)]


@pytest.mark.parametrize(
    ("frames", "of_sound", "of_text"),
    [
        ([THINKS, SPEAKS, agent("a"), SECOND, agent("b"), SECOND, LISTENS], [1, 1], [1, 1]),
        ([SPEAKS, SECOND, agent("a"), LISTENS], [1], [1]),
        ([agent("a"), THINKS, SPEAKS, SECOND], [1], [1]),
        ([SPEAKS, SECOND, LISTENS, agent("a"), SPEAKS, SECOND, agent("b", 2)], [1, 2], [1, 2]),
        ([SPEAKS, agent("a"), SECOND, THINKS, SPEAKS, agent("b", 3), SECOND], [1, 2], [1, 2]),
        ([SPEAKS, agent("a"), SECOND, agent("b", 2), SECOND], [1, 2], [1, 2]),
        ([SPEAKS, agent("a"), SECOND, CLEAR, agent("rest"), LISTENS, SPEAKS, SECOND, agent("b", 2)], [1, 2], [1, 1, 2]),
        ([SPEAKS, SECOND, CLEAR, LISTENS, agent("late"), SPEAKS, agent("b", 2), SECOND], [1, 2], [1, 2]),
        ([SPEAKS, agent("a"), CLEAR, LISTENS, SPEAKS, SECOND], [2], [1]),
        ([SECOND, agent("a", None), agent("b", None), LISTENS, agent("c", None), SECOND], [1, 2], [1, 1, 2]),
    ],
    ids=[
        *("in order", "sound first", "text before speaking", "late text", "around a call", "two texts in a row"),
        *("cut", "cut before its text", "cut before its sound", "without numbers"),
    ],
)
def test_sound_and_text_of_one_reply_have_one_name(frames, of_sound, of_text):
    events = Call().told(*frames)
    assert items(events, AgentAudio) == [f"reply_{n}" for n in of_sound]
    assert items(events, Transcript) == [f"reply_{n}" for n in of_text]


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([agent("Hel"), agent("lo")], "Hello"),
        ([agent("Hel"), said("agent", 1, text="Hello", delta=None, final=True)], "Hello"),
        ([said("agent", 1, text="Hel"), said("agent", 1, text="Hello")], "Hello"),
        ([said("agent", 1, text="Hello", final=True), agent("Hel"), said("agent", 1, text="Hel")], "Hello"),
        ([agent("Hel"), said("agent", 1, delta="lo", final=True)], "Hello"),
        ([said("agent", 1, text="Hello", final=True), said("agent", 1, text="Hello!", final=True)], "Hello!"),
        ([said("agent", 1, text=5), said("agent", 1), agent("Hello"), said("judge", 1, text="no")], "Hello"),
    ],
    ids=["deltas", "final", "so far", "after the final", "final delta", "corrected", "no text"],
)
def test_a_text_grows_by_deltas_and_is_replaced_by_a_final_one(frames, text):
    found = ""
    for event in Call().told(*frames):
        assert (event.speaker, event.item_id) == ("agent", "reply_1")
        found = found + event.text if event.delta else event.text
    assert found == text


def test_each_text_of_the_user_is_an_item_and_what_we_wrote_ourselves_is_none():
    first, second, written = (said("user", n, text="Hi.", final=True) for n in (2, 4, 6))
    events = Call().told(first, second, written | {"medium": "text"})
    assert items(events, Transcript) == ["user_2", "user_4"]
    unnumbered = Call().told(*[said("user", text="a"), said("user", text="ab", final=True), said("user", text="c")])
    assert items(unnumbered, Transcript) == ["user_unnumbered_0", "user_unnumbered_0", "user_unnumbered_1"]


@pytest.mark.parametrize(
    ("at_s", "clears"),
    [(0.5, 1), (1.0, 0), (3.0, 0)],
)
def test_a_clear_is_one_only_while_something_plays(at_s, clears):
    call = Call()
    call.told(SPEAKS, SECOND)
    call.at_s = at_s
    assert call.told(CLEAR, CLEAR) == [PlaybackClear()] * clears


def test_a_turn_ends_when_the_agent_listens_again():
    events = Call().told(state("idle"), LISTENS, THINKS, SPEAKS, LISTENS, LISTENS, THINKS, LISTENS)
    assert events == [TurnEnd(), TurnEnd()]


@pytest.mark.parametrize(
    ("pieces", "samples"),
    [
        ([b"\1\0\2\0"], [1, 2]),
        ([b"\1", b"\0\2", b"\0"], [1, 2]),
        ([b"", b"\1\0"], [1]),
        ([b"\1\0\2", LISTENS, SPEAKS, b"\3\0"], [1, 3]),
        ([b"\1\0\2", CLEAR, b"\3\0"], [1, 3]),
    ],
    ids=["whole", "halves", "empty", "half left over", "half cut off"],
)
def test_pieces_that_end_in_the_middle_of_a_sample_are_put_together(pieces, samples):
    events = [e for e in Call().told(SPEAKS, *pieces) if isinstance(e, AgentAudio)]
    assert np.concatenate([e.audio.samples for e in events]).tolist() == samples


def test_digital_silence_is_the_agents_only_while_it_speaks():
    assert Call().told(ZERO, LISTENS, ZERO, THINKS, ZERO) == []
    (event,) = Call().told(SPEAKS, ZERO)
    assert len(event.audio.samples) == 480


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"parameters": {"a": 1}}, {"a": 1}),
        ({}, {}),
        ({"parameters": "not JSON"}, "not JSON"),
        ({"parameters": [1]}, "[1]"),
        ({"parameters": None}, "null"),
    ],
)
def test_a_call_is_made_at_once_with_the_arguments_as_they_came(fields, arguments):
    assert Call().told(invoked(**fields)) == [ToolCall(call_id="i1", name="search", arguments=arguments)]


def test_every_result_is_one_message_and_an_error_is_a_result_that_the_model_sees():
    call = Call()
    fine = ToolResult(call_id="i1", name="search", result={"city": "Zürich"})
    call.answer([fine, ToolResult(call_id="i2", name="search", result={"error": "no"}, is_error=True)])
    sent = call.take_outgoing()
    assert [message_flaw(m) for m in sent] == [None, None]
    assert [(m["invocationId"], m["result"]) for m in sent] == [("i1", '{"city": "Zürich"}'), ("i2", '{"error": "no"}')]
    assert call.take_outgoing() == []


@pytest.mark.parametrize("answered_s", [2.0, None], ids=["in time", "never"])
def test_a_tool_that_had_no_answer_within_its_limit_is_told_once(answered_s):
    call = Call()
    call.told(invoked())
    if answered_s:
        call.at_s = answered_s
        call.answer([ToolResult(call_id="i1", name="search", result={})])
    call.at_s = 2.6
    told = call.told(THINKS, SPEAKS)
    assert [type(e) for e in told] == ([] if answered_s else [Fault])
    if told:
        assert told[0].kind == "agent"
        assert told[0].message.startswith("search had no answer within 2.5s, the limit that was asked for")


def test_a_text_for_the_context_asks_for_no_reply():
    call = Call()
    call.inject("The gate is B4.")
    assert call.take_outgoing() == [{"type": "user_text_message", "text": "The gate is B4.", "urgency": "later"}]


def test_the_call_is_over_when_the_server_says_so():
    call = Call()
    assert not call.over
    assert call.told({"type": "call_ended"}) == []
    assert call.over


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["type", "state", "role", "medium", "text", "delta", "final", "ordinal"]
KINDS = ["state", "transcript", "client_tool_invocation", "playback_clear_buffer", "call_ended", "debug"]
WORDS = st.sampled_from(["listening", "thinking", "speaking", "user", "agent", "voice", "text"]) | JSON
MESSAGES = st.builds(
    lambda kind, more: {"type": kind} | more,
    st.sampled_from(KINDS) | JSON,
    st.dictionaries(st.sampled_from([*NAMES[1:], "toolName", "invocationId", "parameters"]), WORDS, max_size=7),
)


@given(st.lists(MESSAGES | st.binary(max_size=9), max_size=12))
def test_whatever_comes_is_read_without_an_exception_and_gives_proper_events(frames):
    call = Call()
    for event in call.told(*frames):
        assert event_flaw(event) is None
    samples = sum(len(e.audio.samples) for e in Call().told(SPEAKS, *frames) if isinstance(e, AgentAudio))
    assert samples <= sum(len(f) for f in frames if isinstance(f, bytes)) // 2


SETUP = Setup(
    conversation_id="x",
    instructions="Be brief.",
    tools=tuple(TOOLS.values()),
    today=date(2026, 4, 6),
    documents=("D.",),
)


def test_the_request_holds_all_that_is_asked_and_the_double_takes_it(monkeypatch):
    monkeypatch.setenv("ULTRAVOX_API_KEY", KEY)
    agent = Ultravox(voice="Jessica", turn_endpoint_delay_s=0.8, tool_timeout_s=2.5, first_speaker="agent")
    request = call_request(agent.asked(), SETUP)
    assert request_flaw(request) is None
    tools = [selected["temporaryTool"] for selected in request.pop("selectedTools")]
    assert request == {
        "systemPrompt": "Be brief.\n\nToday is Monday, 6 April 2026.\n\nD.",
        "model": "ultravox-v0.7",
        "voice": "Jessica",
        "temperature": 0.0,
        "languageHint": "en",
        "firstSpeakerSettings": {"agent": {}},
        "initialOutputMedium": "MESSAGE_MEDIUM_VOICE",
        "vadSettings": {
            "turnEndpointDelay": "0.8s",
            "minimumTurnDuration": "0s",
            "minimumInterruptionDuration": "0.09s",
            "frameActivationThreshold": 0.1,
        },
        "medium": {
            "serverWebSocket": {"inputSampleRate": 16000, "outputSampleRate": 24000, "clientBufferSizeMs": 30000}
        },
        "joinTimeout": "30s",
        "maxDuration": "3600s",
        "recordingEnabled": False,
    }
    assert [(t["modelToolName"], t["timeout"], t["client"]) for t in tools] == [
        ("search_flights", "2.5s", {}),
        ("book_flight", "2.5s", {}),
    ]
    assert tools[0]["dynamicParameters"][0] == {
        "name": "destination",
        "location": "PARAMETER_LOCATION_BODY",
        "schema": {"type": "string"},
        "required": True,
    }
    assert "languageHint" not in call_request(Ultravox(language_hint="auto").asked(), SETUP)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("url=wss://api.ultravox.ai/api", "url must be the address of Ultravox's API"),
        ("url=http://u:p@host/api", "url must not hold a user, password or query"),
        ("url=5", "url must be the address of Ultravox's API"),
        ("model=", "model must be text, not ''"),
        ("voice=7", "voice must be text, not 7"),
        ("first_speaker=both", "first_speaker must be user or agent, not 'both'"),
        ("temperature=2", "temperature must be from 0 to 1, not 2"),
        ("temperature=hot", "temperature must be a number, not 'hot'"),
        ("tool_timeout_s=41", "tool_timeout_s must be from 0.1 to 40, not 41"),
        ("turn_endpoint_delay_s=-1", "turn_endpoint_delay_s must be from 0 to 10, not -1"),
        ("client_buffer_size_ms=99999", "client_buffer_size_ms must be from 0 to 60000, not 99999"),
        ("max_duration_s=4000", "max_duration_s must be from 10 to 3600, not 4000"),
        ("voise=Mark", "no setting 'voise' (did you mean 'voice'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told, monkeypatch):
    monkeypatch.setenv("ULTRAVOX_API_KEY", KEY)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"ultravox,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_key_goes_to_its_owner_and_to_servers_nobody_can_listen_to(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ULTRAVOX_API_KEY", raising=False)
    with pytest.raises(ValueError, match="ULTRAVOX_API_KEY is not set"):
        Ultravox()
    assert Ultravox(url=LOCAL).info.settings["signed_in_with"] is None
    monkeypatch.setenv("ULTRAVOX_API_KEY", KEY)
    assert Ultravox(url="http://10.0.0.5:80/api").info.settings["signed_in_with"] is None
    for agent in (Ultravox(), Ultravox(url=LOCAL), build_agent(parse_agent("ultravox"), None)):
        assert agent.info.settings["signed_in_with"] == "ULTRAVOX_API_KEY"
        assert KEY not in repr(agent) + repr(agent.info) + str(vars(agent))
