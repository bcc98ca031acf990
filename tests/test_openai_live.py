"""The agent `gpt-live`: conversations with a double that OpenAI's SDK accepts, its state by tables, its faults."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import date

import numpy as np
import pytest
import stage
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI
from openai.types.live.connect_server_event import ConnectServerEvent
from patience import patiently
from pydantic import TypeAdapter, ValidationError
from websockets.exceptions import ConnectionClosed

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.naming import AgentNameError, check_hosted, parse_agent
from pytest_voicebench.agents.openai_live import GptLive
from pytest_voicebench.agents.openai_live.speech_runs import LONGEST_PAUSE_S, SpeechRuns
from pytest_voicebench.agents.openai_live.state import LiveState
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    Fault,
    Setup,
    ToolCall,
    ToolCancelled,
    ToolResult,
    TurnEnd,
    Usage,
)
from pytest_voicebench.audio import RATE_HZ, Audio
from tests.omni_stage import Case, hold_all
from tests.servers.live_session import LiveSession, live_server
from tests.servers.openai_script import Call, Say, Script, recite, tone
from tests.servers.openai_server import Double

KEY = "sk-planted-1919"
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome"}')
TURN = ((SEARCH, Say(1.0, "Here it is.")),)
LIMIT = {"max_duration_s": 6.0}
BROKEN = {"type": "server_error", "code": "server_error", "message": f"Failed for {KEY}."}

CASES = {
    "whole": Case(script=Script(key=KEY), turns=TURN),
    "unknown": Case(script=Script(unknown=True), turns=TURN),
    "two_calls": Case(turns=((SEARCH, ROME, Say(1.0, "Here it is.")),)),
    "slow_tool": Case(turns=TURN, tool_latency_s=1.5),
    "no_answer": Case(turns=(), suite=LIMIT),
    "barge_in": Case(
        turns=((Say(20.0, "one two three"),), (Say(0.5, "Go on."),)),
        steps=(("turn",), ("wait", stage.into_agent(1.0))),
    ),
    "failed_task": Case(script=Script(cancels_first_call=True), turns=((SEARCH,),), suite=LIMIT),
    "withdrawn_call": Case(
        script=Script(withdraws_first_call=True),
        turns=((Say(0.5, "One moment. "), SEARCH), (SEARCH, Say(1.0, "Here it is."))),
        steps=(("turn",), ("again", stage.after_agent())),
    ),
    "unauthorized": Case(script=Script(key="sk-another"), turns=TURN),
    "refused": Case(script=Script(refuses_session="No such model."), turns=TURN),
    "drop": Case(script=Script(on_audio=["drop"]), turns=TURN),
    "expired": Case(script=Script(on_turn=[{"event": {"type": "session.closed", "reason": "expired"}}]), turns=TURN),
    "declined": Case(script=Script(on_turn=[{"event": {"type": "session.closed", "reason": "content"}}]), turns=TURN),
    "failing": Case(script=Script(on_turn=[{"error": BROKEN}]), turns=TURN),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield patiently(hold_all(CASES, double_of, agent_of, tmp_path_factory.mktemp))


def double_of(case):
    return Double(script=case.script, open_line=recite(*case.turns), session_type=LiveSession)


def agent_of(_case, double):
    return GptLive(url=double.url.replace("/realtime", "/live/sessions"))


def agent_text(one):
    return "".join(one.texts("agent"))


@pytest.mark.parametrize("name", ["whole", "unknown", "slow_tool"])
def test_a_turn_with_a_tool_is_held_over_one_stream_of_sound(held, name):
    talk = held[name].talk
    assert (held[name].told(), talk.ended) == ([], "settled")
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    played_s = sum(chunk.length_ticks for chunk in talk.chunks) / RATE_HZ
    assert 1.0 <= played_s <= 1.0 + LONGEST_PAUSE_S + 0.02  # and at most a pause after it
    assert agent_text(held[name]) == "Here it is."
    assert held[name].texts("user") == ["words of the user"]
    assert held[name].kinds()[:3] == ["session.start", "response.item.create", "response.create"]
    assert talk.clears_ticks == ()


def test_the_session_tells_both_models_the_same_and_the_second_one_the_tools(held):
    config = held["whole"].session.config
    backend = config["delegation"]["responses"]
    assert backend["instructions"] == config["instructions"] == "Today is Monday, 6 April 2026."
    assert [t["name"] for t in backend["tools"]] == ["search_flights", "book_flight"]
    assert "reasoning" not in backend
    assert held["whole"].session.headers["Authorization"] == f"Bearer {KEY}"
    assert held["whole"].sent()[-1] == {"type": "session.close"}
    shown = held["whole"].talk.agent.settings
    assert (shown["turn_detection"], shown["backend_model"]) == ("the model's own", "gpt-5.6-luna")


def test_two_calls_are_answered_before_one_request_to_go_on(held):
    calls = held["two_calls"].talk.calls
    assert [c.status for c in calls] == ["executed", "failed"]
    assert held["two_calls"].kinds()[1:4] == ["response.item.create", "response.item.create", "response.create"]
    assert held["two_calls"].told() == []


def test_a_task_after_one_whose_call_was_withdrawn_is_asked_to_go_on(held):
    one = held["withdrawn_call"]
    assert agent_text(one) == "One moment. Here it is."
    assert one.kinds()[1:] == ["response.item.create", "response.create"]
    assert one.told() == [("agent", "a task is incomplete: max_output_tokens")]


def test_usage_is_the_growth_of_the_sessions_count_and_the_tokens_of_tasks(held):
    usage = held["whole"].talk.usage
    assert usage["live_seconds"] >= 2
    assert usage["backend_total_tokens"] == 120


def test_what_a_server_counts_only_when_the_session_closes_is_counted(held):
    """The last update came with the last whole second; the rest is told with session.closed alone."""
    talk = held["whole"].talk
    rows = [json.loads(row) for row in talk.wire_events]
    told = [r["event"] for r in rows if r["way"] == "received" and str(r["event"].get("type")).startswith("session.")]
    (closed,) = [event["usage"]["seconds"] for event in told if event["type"] == "session.closed"]
    updates = [event["usage"]["seconds"] for event in told if event["type"] == "session.usage.updated"]
    assert talk.usage["live_seconds"] == pytest.approx(closed)
    assert closed > max(updates)


def test_who_is_spoken_to_stops_by_itself_and_nothing_is_cleared(held):
    talk = held["barge_in"].talk
    assert (held["barge_in"].told(), talk.clears_ticks) == ([], ())
    assert sum(chunk.length_ticks for chunk in talk.chunks) < 20 * RATE_HZ
    assert held["barge_in"].texts("agent")[-1] == "Go on."


def test_silence_of_the_stream_is_no_sound_of_the_agent(held):
    assert (held["no_answer"].told(), held["no_answer"].talk.chunks) == ([], ())


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unauthorized", "agent_absent", "HTTP 401, the key of OPENAI_API_KEY is refused"),
        ("refused", "agent_absent", "the server refused the session: No such model."),
        ("drop", "infrastructure", "the connection broke off without a closing frame"),
        ("expired", "infrastructure", "the server ended the session: expired"),
        ("declined", "agent", "the server ended the session: content"),
        ("failing", "infrastructure", "the server reports server_error: Failed for ***."),
        ("failed_task", "infrastructure", "a task is failed: no reason given"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message in told[0][1]
    assert KEY not in repr(held[name].talk)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("backend_effort=huge", "backend_effort must be default or none or minimal"),
        ("acknowledgement_ms=-1", "acknowledgement_ms must be from 0 to 60000, not -1"),
        ("voice=", "voice must be text, not ''"),
        ("url=http://x", "url must be"),
        ("model=gpt-live-1.1", "OPENAI_API_KEY is not set"),
    ],
)
def test_a_wrong_setting_or_a_missing_key_is_one_line(settings, told, monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"gpt-live,{settings}"))
    assert told in str(refused.value)


def frame(level, seconds=0.02):
    return Audio(samples=np.full(round(seconds * RATE_HZ), level, np.int16), rate_hz=RATE_HZ)


def test_silence_is_played_inside_a_stretch_only_and_parts_stretches_when_it_is_long():
    now = [0.0]
    runs = SpeechRuns(lambda: now[0])
    assert (runs.take(frame(0)), runs.current) == (None, "speech_1")
    assert runs.take(frame(500, 1.0)) == "speech_1"
    assert runs.take(frame(0)) == "speech_1"  # comes while the second before it plays
    assert runs.take(frame(500)) == "speech_1"
    now[0] = 5.0
    assert runs.take(frame(0)) is None
    assert runs.take(frame(0, 1.0)) is None
    assert (runs.current, runs.take(frame(9))) == ("speech_2", "speech_2")
    assert runs.take(Audio(samples=np.zeros(0, np.int16), rate_hz=RATE_HZ)) is None


def inner(kind, **fields):
    return {"type": "response.event", "delegation_id": "d", "event": {"type": kind, **fields}}


def call_item(call_id, status="completed"):
    item = {"type": "function_call", "id": f"i{call_id}", "call_id": call_id, "name": "f", "arguments": "{}"}
    return {"item": {**item, "status": status}, "output_index": 0}


def test_results_wait_for_every_open_call_and_for_the_end_of_the_task():
    state = LiveState(now_s=lambda: 0.0)
    state.take(inner("response.created", response={"id": "r1"}))
    for call_id in ("a", "b"):
        found = state.take(inner("response.output_item.done", **call_item(call_id)))
        assert found == [ToolCall(call_id=call_id, name="f", arguments="{}", response_id="r1")]
    state.answer([ToolResult(call_id="a", name="f", result=1)])
    assert [e["type"] for e in state.take_outgoing()] == ["response.item.create"]
    assert state.take(inner("response.completed", response={"id": "r1", "output": []})) == [TurnEnd(response_id="r1")]
    assert state.take_outgoing() == []
    state.answer([ToolResult(call_id="b", name="f", result=2)])
    assert [e["type"] for e in state.take_outgoing()] == ["response.item.create", "response.create"]


@pytest.mark.parametrize("made", ["completed", "incomplete"])
def test_a_call_that_is_withdrawn_is_not_waited_for(made):
    state = LiveState(now_s=lambda: 0.0)
    state.take(inner("response.created", response={"id": "r1"}))
    state.take(inner("response.output_item.done", **call_item("a", made)))
    output = [call_item("a", "incomplete")["item"]] if made == "completed" else []  # the other was never complete
    found = state.take(inner("response.incomplete", response={"id": "r1", "status": "incomplete", "output": output}))
    assert ToolCancelled(call_ids=("a",)) in found
    state.take(inner("response.created", response={"id": "r2"}))
    state.take(inner("response.output_item.done", **call_item("b")))
    state.take(inner("response.completed", response={"id": "r2", "output": []}))
    state.answer([ToolResult(call_id="b", name="f", result=2)])
    assert [e["type"] for e in state.take_outgoing()] == ["response.item.create", "response.create"]


def test_the_sessions_count_is_cumulative():
    state = LiveState(now_s=lambda: 0.0)
    seconds = [{"type": "session.usage.updated", "usage": {"seconds": n}} for n in (1.0, 3.0, 3.0, 2.0, True)]
    found = [usage for event in seconds for usage in state.take(event)]
    assert found == [Usage(counts={"live_seconds": 1.0}), Usage(counts={"live_seconds": 2.0})]


def test_text_is_put_into_the_context_without_a_request():
    state = LiveState(now_s=lambda: 0.0)
    state.inject("The user is in Rome.")
    (told,) = state.take_outgoing()
    assert told == {"type": "session.thinking.append", "content": "The user is in Rome.", "delegation_id": None}


NAMES = [
    "delta",
    "event",
    "response",
    "item",
    "usage",
    "seconds",
    "id",
    "call_id",
    "name",
    "arguments",
    "status",
    "error",
]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "r1", "AAAA", "function_call", "completed"]),
    lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "type", "output"]), deeper),
    max_leaves=8,
)
INNER = st.sampled_from([f"response.{k}" for k in ("created", "output_item.done", "completed", "failed", "incomplete")])


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(LiveState.HANDLERS)), st.dictionaries(st.sampled_from(NAMES), ODD), INNER),
        max_size=6,
    )
)
def test_whatever_a_server_sends_gives_events_that_keep_to_the_protocol(said):
    state = LiveState(now_s=lambda: 0.0)
    for kind, rest, inside in said:
        event = {**rest, "type": kind}
        if isinstance(rest.get("event"), dict):
            event["event"] = {**rest["event"], "type": inside}
        found = state.take(event)
        assert [event_flaw(e) for e in found if event_flaw(e)] == []
        assert all(isinstance(e, AgentAudio | Fault) for e in found) or kind != "session.output_audio.delta"
        state.take_outgoing()


EVENTS = TypeAdapter(ConnectServerEvent)
SESSION = GptLive(url="ws://127.0.0.1:1/v1").session(
    Setup(conversation_id="c", instructions="Help.", tools=tuple(stage.TOOLS.values()), today=date(2026, 4, 6))
)


def talk(script, line, conversation):
    """Hold a conversation by OpenAI's SDK with the double; every event is also checked strictly against its types."""
    kinds: list[str] = []

    async def held():
        sdk = AsyncOpenAI(api_key="sk-test", websocket_base_url=double.url.removesuffix("/realtime"))
        async with asyncio.timeout(30), sdk.live.connect(max_retries=0) as connection:

            async def until(kind):
                while True:
                    event = EVENTS.validate_json(await connection.recv_bytes(), strict=True)
                    kinds.append(event.type)
                    if event.type == kind:
                        return event

            await connection.session.start(session=SESSION)
            await until("session.started")
            await conversation(connection, until)

    with live_server(script, line) as double:
        asyncio.run(held())
        return kinds, double.sessions[0]


async def speak(connection, seconds=0.4, silence=0.8):
    sound = np.concatenate([tone(seconds), np.zeros(round(silence * RATE_HZ), np.int16)])
    for start in range(0, len(sound), 480):
        block = base64.b64encode(sound[start : start + 480].tobytes()).decode()
        await connection.session.input_audio.append(audio=block)


def test_the_sdk_holds_a_turn_with_a_task_and_gets_all_of_the_sound():
    pcm = bytearray()

    async def conversation(connection, until):
        await speak(connection)
        while (inside := (await until("response.event")).event)["type"] != "response.completed":
            if inside["type"] == "response.output_item.done":
                output = {"type": "function_call_output", "call_id": inside["item"]["call_id"], "output": "{}"}
        await connection.response.item.create(item=output)
        await connection.response.create()
        await until("session.output_transcript.delta")
        await speak(connection, seconds=0.0, silence=0.6)
        while len(pcm) < RATE_HZ:  # half a second of 16 bits, sample for sample, whatever silence is around it
            pcm.extend(base64.b64decode((await until("session.output_audio.delta")).delta).strip(b"\0"))
        await connection.session.close()
        assert (await until("session.closed")).reason == "close_requested"

    kinds, session = talk(Script(), recite([SEARCH, Say(0.52, "Found it.")], heard=["Hi."]), conversation)
    order = ["session.started", "session.input_transcript.delta", "session.delegation.created", "response.event"]
    order += ["session.output_transcript.delta", "session.closed"]
    assert [kind for kind in dict.fromkeys(kinds) if kind in order] == order
    assert session.open_calls == {}


def test_the_sdk_is_refused_a_request_to_go_on_while_a_call_is_open():
    async def conversation(connection, until):
        await speak(connection)
        while (await until("response.event")).event["type"] != "response.completed":
            pass
        await connection.response.create()
        assert (await until("error")).error.code == "response_not_ready"

    talk(Script(), recite([SEARCH]), conversation)


@pytest.mark.parametrize(
    ("script", "raised"),
    [
        (Script(on_turn=["drop"]), ConnectionClosed),
        (Script(on_turn=[{"event": {"type": "session.closed", "reason": "because"}}]), ValidationError),
        (Script(confirms=False), TimeoutError),
    ],
    ids=["drop", "malformed", "silent"],
)
def test_the_same_client_fails_on_a_scripted_fault(script, raised, monkeypatch):
    async def conversation(connection, until):
        await speak(connection)
        await until("session.closed")

    if raised is TimeoutError:
        kept = asyncio.timeout
        monkeypatch.setattr(asyncio, "timeout", lambda _seconds: kept(3))
    with pytest.raises(raised):
        talk(script, recite([Say(0.5)]), conversation)
