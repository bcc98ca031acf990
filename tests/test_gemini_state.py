"""What messages of Gemini Live mean, in any spelling and any order: small tables, no network."""

from __future__ import annotations

import asyncio
import base64
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.gemini_live import Gemini25, Gemini31, Gemini38
from pytest_voicebench.agents.gemini_live.closing import told_end
from pytest_voicebench.agents.gemini_live.line import LiveLine
from pytest_voicebench.agents.gemini_live.messages import session_setup, tool_response
from pytest_voicebench.agents.gemini_live.spelling import camel_cased, seconds
from pytest_voicebench.agents.gemini_live.state import SessionState
from pytest_voicebench.agents.gemini_live.usage import usage_counts
from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent
from pytest_voicebench.agents.protocol import (
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
from pytest_voicebench.agents.wire import WireBroken
from pytest_voicebench.agents.wire_log import WireLog
from tests.servers.gemini_script import snake
from tests.stage import TOOLS

KEY = "AIza-planted-40417"
LOCAL = "ws://127.0.0.1:9/x"


class Session(SessionState):
    """A session whose clock stands where it is put."""

    def __init__(self, calling="blocking") -> None:
        self.at_s = 0.0
        super().__init__(now_s=lambda: self.at_s, calling=calling)

    def told(self, *messages):
        return [ours for message in messages for ours in self.take(message)]


def content(**fields):
    return {"serverContent": fields}


def audio(data: bytes = b"\0\0" * 24_000, mime_type="audio/pcm;rate=24000"):
    coded = base64.urlsafe_b64encode(data).decode()
    return content(modelTurn={"parts": [{"inlineData": {"mimeType": mime_type, "data": coded}}]})


def user(text, **more):
    return content(inputTranscription={"text": text, **more})


def agent(text):
    return content(outputTranscription={"text": text})


def called(*ids):
    calls = [{"id": i, "name": "search", "args": {"order_id": i}} if i else {"name": "search"} for i in ids]
    return {"toolCall": {"functionCalls": calls}}


def handle(name="h1", resumable=True):
    return {"sessionResumptionUpdate": {"newHandle": name, "resumable": resumable}}


DONE = content(turnComplete=True)
CUT = content(interrupted=True)
STARTED = {"voiceActivity": {"voiceActivityType": "ACTIVITY_START"}}
LATE = 2.0


def items(events, kind=Transcript, speaker=None):
    return [e.item_id for e in events if isinstance(e, kind) and speaker in (None, getattr(e, "speaker", None))]


@pytest.mark.parametrize(
    ("messages", "of"),
    [
        ([audio(), agent("a"), agent("b"), DONE, audio(), agent("c")], [1, 1, 2]),
        ([agent("a"), audio(), DONE, agent("b"), audio()], [1, 2]),
        ([audio(), DONE, agent("late"), audio(), agent("b")], [1, 2]),
        ([audio(), agent("a"), CUT, agent("rest"), DONE, agent("b"), audio()], [1, 1, 2]),
        ([audio(), agent("a"), called("c1"), audio(), agent("b"), DONE], [1, 2]),
        ([content(turnComplete=True, outputTranscription={"text": "a"}), agent("b")], [1, 2]),
    ],
    ids=["in order", "text first", "late text", "cut", "around a call", "with the end"],
)
def test_the_agents_text_belongs_to_the_reply_it_came_with(messages, of):
    session = Session()
    events = session.told(*messages)
    assert items(events) == [f"reply_{n}" for n in of]


def test_a_call_that_does_not_block_does_not_end_a_reply():
    events = Session("async").told(audio(), called("c1"), audio(), DONE)
    assert items(events, AgentAudio) == ["reply_1", "reply_1"]


@pytest.mark.parametrize(
    ("messages", "of"),
    [
        ([user("a"), user("b"), audio(), DONE, user("c")], [1, 1, 2]),
        ([user("a"), audio(), user("late"), DONE, user("b")], [1, 1, 2]),
        ([audio(), DONE, user("late"), user("r"), LATE, user("b"), audio(), DONE, user("c")], [1, 1, 2, 3]),
        ([audio(), DONE, user("late"), LATE, audio(), DONE, user("late")], [1, 2]),
        ([user("a"), audio(), CUT, user("b"), DONE, user("c")], [1, 2, 2]),
        ([user("a", finished=True), user("b")], [1, 2]),
        ([user("a"), STARTED, user("b")], [1, 2]),
        ([user("a"), LATE, user("b")], [1, 1]),
        ([user("a"), called("c1"), user("late"), DONE, user("b")], [1, 1, 2]),
    ],
    ids=["in order", "in the reply", "after it", "twice", "barge-in", "finished", "activity", "a pause", "a call"],
)
def test_the_users_text_belongs_to_his_turn_also_when_it_comes_late(messages, of):
    session, events = Session(), []
    for message in messages:
        if message is LATE:
            session.at_s += LATE
        else:
            events += session.take(message)
    assert items(events, speaker="user") == [f"user_{n}" for n in of]


def test_sound_is_read_in_either_base64_at_its_rate_over_pieces_that_end_anywhere():
    data = np.array([-1, 1000, -32768, 32767, -17], "<i2").tobytes()
    plain = audio(data[:3])
    part = plain["serverContent"]["modelTurn"]["parts"][0]["inlineData"]
    part["data"] = base64.b64encode(data[:3]).decode()
    assert set(base64.urlsafe_b64encode(data).decode()) & set("-_")
    events = Session().told(plain, audio(data[3:], "audio/pcm;rate=16000"))
    assert np.concatenate([e.audio.samples for e in events]).tolist() == [-1, 1000, -32768, 32767, -17]
    assert [e.audio.rate_hz for e in events] == [24_000, 16_000]


@pytest.mark.parametrize(
    ("data", "mime_type", "told"),
    [
        (None, "audio/pcm", "the audio is no text but NoneType"),
        ("*", "audio/pcm", "the audio is not base64"),
        ("AAAA", "audio/pcm;rate=7", "the audio has a rate of 7 Hz"),
    ],
)
def test_sound_that_is_none_is_a_fault_in_one_line(data, mime_type, told):
    part = {"inlineData": {"mimeType": mime_type, "data": data}}
    (fault,) = Session().told(content(modelTurn={"parts": [part]}))
    assert fault == Fault(kind="infrastructure", message=f"serverContent.modelTurn: {told}")


def test_several_parts_and_texts_of_one_message_are_all_read_and_thoughts_are_no_speech():
    both = audio(b"\1\0")["serverContent"]
    both["modelTurn"]["parts"] = [{"text": "Hm.", "thought": True}, *both["modelTurn"]["parts"] * 2, {"text": "x"}]
    both |= {"outputTranscription": {"text": "Hi."}, "inputTranscription": {"text": "Yes"}, "turnComplete": True}
    message = {"serverContent": both, "usageMetadata": {"totalTokenCount": 3}}
    kinds = [type(e) for e in Session().take(message)]
    assert kinds == [Transcript, AgentAudio, AgentAudio, Transcript, TurnEnd, Usage]


@pytest.mark.parametrize(
    ("at_s", "messages", "clears"),
    [(0.5, [audio(), CUT], 1), (0.5, [audio(), CUT, CUT], 1), (1.5, [audio(), CUT], 0), (0.0, [CUT, DONE], 0)],
    ids=["playing", "twice", "heard whole", "before any sound"],
)
def test_an_interruption_clears_what_is_still_to_be_heard(at_s, messages, clears):
    session = Session()
    session.told(*messages[:-1] if CUT not in messages[:-1] else messages[:1])
    session.at_s = at_s
    events = session.told(*[m for m in messages if m is CUT or m is DONE])
    assert sum(isinstance(e, PlaybackClear) for e in events) == clears


def test_calls_of_one_message_are_a_response_of_their_own_and_keep_the_names_of_their_arguments():
    events = Session().told(called("c1", "c2"), called("c3"))
    calls = [(e.call_id, e.arguments, e.response_id) for e in events if isinstance(e, ToolCall)]
    assert calls == [
        ("c1", {"order_id": "c1"}, "calls_1"),
        ("c2", {"order_id": "c2"}, "calls_1"),
        ("c3", {"order_id": "c3"}, "calls_2"),
    ]
    assert [e.response_id for e in events if isinstance(e, TurnEnd)] == ["calls_1", "calls_2"]
    assert isinstance(events[2], TurnEnd)


def test_only_calls_that_are_still_waited_for_are_answered_and_one_without_an_id_gets_none():
    session = Session()
    events = session.told(called("c1", "", "c3"), {"toolCallCancellation": {"ids": ["c1"]}})
    assert events[-1] == ToolCancelled(call_ids=("c1",))
    ids = [e.call_id for e in events if isinstance(e, ToolCall)]
    wanted, unnamed = session.answered([ToolResult(call_id=i, name="search", result=[1]) for i in ids])
    assert tool_response(wanted, unnamed, "silent") == {
        "toolResponse": {
            "functionResponses": [
                {"name": "search", "response": {"output": [1]}, "scheduling": "SILENT"},
                {"id": "c3", "name": "search", "response": {"output": [1]}, "scheduling": "SILENT"},
            ]
        }
    }
    assert session.answered([ToolResult(call_id="c3", name="search", result=1)]) == ([], frozenset())


def test_a_call_that_is_sent_again_is_not_waited_for_again_and_another_with_its_id_is():
    session = Session()
    session.told(called("c1"), DONE)
    session.answered([ToolResult(call_id="c1", name="search", result=1)])
    session.told(called("c1"))
    session.told(DONE)
    assert session.idle
    another = {"toolCall": {"functionCalls": [{"id": "c1", "name": "search", "args": {"order_id": "other"}}]}}
    session.told(another, DONE)
    assert not session.idle
    assert session.answered([ToolResult(call_id="c1", name="search", result=2)])[0]
    session.told(another, {"toolCallCancellation": {"ids": ["c1"]}}, another, DONE)
    assert not session.idle


def test_a_response_is_an_object_and_an_error_says_so():
    results = [
        ToolResult(call_id="a", name="x", result={"n": 1}),
        ToolResult(call_id="b", name="x", result="no", is_error=True),
    ]
    answers = tool_response(results, frozenset(), None)["toolResponse"]["functionResponses"]
    assert [a["response"] for a in answers] == [{"n": 1}, {"error": "no"}]
    assert all("scheduling" not in a for a in answers)


@pytest.mark.parametrize(
    ("messages", "resumable"),
    [
        ([], False),
        ([handle()], True),
        ([handle(), handle("", resumable=False)], False),
        ([handle(), audio()], False),
        ([handle(), audio(), DONE], False),
        ([handle(), audio(), DONE, handle()], True),
        ([handle(), called("c1"), handle()], False),
        (["spoke", handle()], False),
        (["spoke", handle(), audio(), DONE, handle()], True),
        ([audio(), "spoke", CUT, DONE, handle()], False),
    ],
    ids=["none", "fresh", "not now", "reply", "stale", "anew", "call", "waits", "answered", "barge-in"],
)
def test_a_session_moves_by_itself_only_when_its_handle_knows_all(messages, resumable):
    session = Session()
    for message in messages:
        if message == "spoke":
            session.user_spoke()
        else:
            session.take(message)
    assert session.resumable is resumable
    assert session.handle == ("h1" if handle() in messages else None)


def test_a_model_that_thinks_on_is_not_idle_when_a_turn_is_complete():
    session = Session()
    session.told(audio(), content(turnComplete=True, interactionStatus="IN_PROGRESS"))
    assert not session.idle
    session.told(audio(), content(turnComplete=True, interactionStatus="IDLE"))
    assert session.idle


def test_go_away_says_until_when():
    session = Session()
    session.at_s = 10.0
    session.take({"goAway": {"timeLeft": "9.5s"}})
    assert session.leaves_at_s == 19.5
    session.moved()
    assert session.leaves_at_s is None


@pytest.mark.parametrize(("text", "found"), [("50s", 50.0), ("9.5s", 9.5), ("5", None), ("-1s", None), (5, None)])
def test_durations(text, found):
    assert seconds(text) == found


def test_usage_is_flat():
    details = [{"modality": "TEXT", "tokenCount": 60}, {"modality": "AUDIO", "tokenCount": 40}, {"modality": "TEXT"}]
    usage = {"promptTokenCount": 100, "promptTokensDetails": details, "trafficType": "ON_DEMAND", "x": True}
    assert usage_counts(usage) == {"promptTokenCount": 100, "promptTextTokenCount": 60, "promptAudioTokenCount": 40}


COUNTS = {"usageMetadata": {"totalTokenCount": 3}}
DONE = {"serverContent": {"turnComplete": True}}


@pytest.mark.parametrize(
    ("messages", "untold"),
    [
        ([COUNTS], 0),
        ([audio(), {**DONE, **COUNTS}], 0),
        ([audio(), DONE, COUNTS], 0),
        ([audio(), COUNTS, DONE], 0),
        ([audio(), DONE], 1),
        ([audio(), audio()], 1),
        ([called("a"), COUNTS, audio(), COUNTS, DONE], 0),
        ([called("a"), audio(), DONE, audio(), DONE, COUNTS], 1),
        ([audio(), {"serverContent": {"interrupted": True}}, DONE, audio(), DONE], 2),
        ([audio(), DONE, {"usageMetadata": {"trafficType": "ON_DEMAND"}}], 1),
    ],
)
def test_turns_of_which_no_usage_comes_are_counted(messages, untold):
    session = Session()
    session.told(*messages)
    assert session.unreported == ({"answers_without_usage": float(untold)} if untold else {})


MESSAGES = [
    user("words"),
    agent("words"),
    audio(b"\1\0\2"),
    CUT,
    DONE,
    STARTED,
    called("c1", "c2"),
    {"toolCallCancellation": {"ids": ["c1"]}},
    handle(),
    {"goAway": {"timeLeft": "5s"}},
    {"usageMetadata": {"promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 4}]}},
]


@given(st.lists(st.sampled_from(MESSAGES), max_size=12))
def test_snake_case_means_the_same_as_camel_case(messages):
    assert repr(Session().told(*messages)) == repr(Session().told(*[snake(m) for m in messages]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["modelTurn", "inputTranscription", "outputTranscription", "functionCalls", "ids", "newHandle", "timeLeft"]
KINDS = ["serverContent", "toolCall", "toolCallCancellation", "usageMetadata", "sessionResumptionUpdate", "goAway"]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([*KINDS, "voiceActivity"]), JSON | st.dictionaries(st.sampled_from(FIELDS), JSON)
        ),
        max_size=5,
    )
)
def test_whatever_a_server_sends_gives_events_that_keep_to_the_protocol(messages):
    session = Session()
    assert [flaw for event in session.told(*messages) if (flaw := event_flaw(event))] == []


def test_the_arguments_of_a_tool_are_not_respelled():
    assert camel_cased({"tool_call": {"function_calls": [{"args": {"order_id": {"a_b": 1}}}]}}) == {
        "toolCall": {"functionCalls": [{"args": {"order_id": {"a_b": 1}}}]}
    }


@pytest.mark.parametrize(
    ("broken", "announced", "told"),
    [
        (None, False, None),
        (WireBroken("closed (1011)", 1011), False, "closed (1011): its own error, or the session's time is up"),
        (WireBroken("broke off"), False, "broke off"),
        (None, True, "the server closed the connection (1000); it had announced that it goes away, and given nothing"),
    ],
)
def test_an_end_is_told_in_one_line(broken, announced, told):
    found = told_end(broken, announced=announced)
    assert found is told if told is None else found.startswith(told)


def setup():
    return Setup(conversation_id="c", instructions="Help.", tools=tuple(TOOLS.values()), today=date(2026, 4, 6))


def test_the_first_message_names_a_model_the_day_and_the_tools_and_a_next_socket_its_handle():
    asked = Gemini25(url=LOCAL, model="tunedModels/mine").asked()
    message = session_setup(asked, setup(), "h7")["setup"]
    assert message["model"] == "tunedModels/mine"
    assert "Today is Monday, 6 April 2026." in message["systemInstruction"]["parts"][0]["text"]
    declared = message["tools"][0]["functionDeclarations"]
    assert declared[0]["parametersJsonSchema"] == TOOLS["search_flights"].json_schema()
    assert message["sessionResumption"] == {"handle": "h7"}


@pytest.fixture(autouse=True)
def nobodys_keys(monkeypatch, tmp_path):
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["gemini-live-2.5", "gemini-live-3.1", "gemini-live-3.8", "gemini2_5", "gemini3_1"])
def test_a_missing_key_is_one_line_that_names_both_variables(name):
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(name))
    told = "GOOGLE_API_KEY (or GEMINI_API_KEY) is not set: export it, or put it into .env.local or .env"
    assert str(refused.value) == f"agent {name!r}: {told}"


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_either_key_will_do_and_is_shown_nowhere(monkeypatch, variable):
    monkeypatch.setenv(variable, KEY)
    agent = build_agent(parse_agent("gemini3_1"), None)
    assert (agent.info.name, agent.info.settings["signed_in_with"]) == ("gemini-live-3.1", variable)
    assert KEY not in repr(agent) + repr(agent.info) + str(vars(agent))
    assert Gemini38(url="ws://10.0.0.5:1/x").info.settings["signed_in_with"] is None
    assert Gemini38(url=LOCAL).info.settings["signed_in_with"] == variable


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gemini-live-2.5,url=https://x", "url must be the address of a WebSocket"),
        ("gemini-live-2.5,start_sensitivity=off", "start_sensitivity must be low or high, not 'off'"),
        ("gemini-live-2.5,silence_duration_ms=0", "prefix_padding_ms and silence_duration_ms must be from"),
        ("gemini-live-2.5,tool_calling=later", "tool_calling must be blocking or async, not 'later'"),
        ("gemini-live-2.5,scheduling=silent", "scheduling belongs to tool_calling=async"),
        ("gemini-live-2.5,thinking_budget=much", "thinking_budget must be a whole number, not 'much'"),
        ("gemini-live-3.1,tool_calling=async", "no setting 'tool_calling'"),
        ("gemini-live-3.1,thinking_level=max", "thinking_level must be default or minimal or low or medium or high"),
        ("gemini-live-3.8,thinking_budget=0", "no setting 'thinking_budget'"),
        ("gemini-live-3.8,activity_handling=no", "activity_handling must be interrupts or no_interruption"),
        ("gemini-live-3.8,model=", "model must be text, not ''"),
    ],
)
def test_a_wrong_setting_is_one_line(monkeypatch, text, told):
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(text))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_thinking_level_is_sent_where_one_is_set():
    told = [Gemini31(url=LOCAL, thinking_level=level).asked().thinking for level in ("high", "default")]
    assert told == [{"thinkingLevel": "HIGH"}, {}]
    assert Gemini38(url=LOCAL).asked().thinking == {}
    assert Gemini38(url=LOCAL, thinking_level="low").asked().thinking == {"thinkingLevel": "LOW"}


def test_what_is_asked_of_a_model_is_in_the_report():
    shown = Gemini38(url=LOCAL, tool_calling="blocking").info
    assert (shown.model, shown.settings["tool_calling"], shown.settings["scheduling"]) == (
        "gemini-3.8-live",
        "blocking",
        None,
    )
    assert Gemini38(url=LOCAL).info.settings["scheduling"] == "when_idle"
    assert Gemini25(url=LOCAL, thinking_budget=0).info.settings["thinking_budget"] == 0
    settings = Gemini31(url=LOCAL).info.settings
    assert (settings["thinking_level"], settings["tool_calling"], settings["turn_coverage"]) == (
        "minimal",
        "blocking",
        "only_activity",
    )


class LateWire:
    """Messages with the times at which they arrived, all read at once and much later."""

    def __init__(self, *messages):
        self._messages = messages
        self.arrived_s = None

    def now_s(self):
        return self.arrived_s

    async def receive(self):
        for arrived_s, message in self._messages:
            self.arrived_s = arrived_s
            yield message


@pytest.mark.parametrize(("interrupted_s", "cleared"), [(1.5, True), (2.5, False)])
def test_what_plays_is_told_by_when_messages_arrived_and_not_by_when_they_are_read(interrupted_s, cleared):
    """One second of sound arrives at 1.0 s."""
    second = base64.b64encode(bytes(2 * 24_000)).decode()
    part = {"inlineData": {"data": second, "mimeType": "audio/pcm;rate=24000"}}
    sound = {"serverContent": {"modelTurn": {"parts": [part]}}}
    wire = LateWire((1.0, sound), (interrupted_s, {"serverContent": {"interrupted": True}}))

    async def events():
        log = WireLog(lambda: 1000.0)
        line = LiveLine(wire, asked=Gemini25(url=LOCAL).asked(), log=log, reopen=lambda _: None)
        return [event async for event in line.receive()]

    found = asyncio.run(events())
    assert any(isinstance(event, AgentAudio) for event in found)
    assert any(isinstance(event, PlaybackClear) for event in found) is cleared
