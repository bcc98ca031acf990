"""The doubles of open-weight servers, proved by the vendors' own clients; our events, read by the vendors' own servers.

VOICEBENCH_OMNI_PYTHON names an interpreter of their own: pip install openbmb-realtime numpy pydantic pybase64 msgspec
msgpack; pip install --no-deps vllm-omni sglang-omni (with their dependencies they need torch).
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import stage

from pytest_voicebench.agents.omni import sglang, vllm
from pytest_voicebench.agents.omni.asked import Asked
from pytest_voicebench.agents.omni.reference import reference_wav
from pytest_voicebench.agents.protocol import AgentAudio, Setup, ToolResult
from pytest_voicebench.audio import RATE_HZ, Audio
from tests.servers.omni_server import omni_server
from tests.servers.openai_script import Call, Say, Script, recite

PYTHON = os.environ.get("VOICEBENCH_OMNI_PYTHON")
CLIENTS = Path(__file__).parent / "third_party"
CALL = Call("search_flights", '{"destination": "Milan"}')
TOOLS = tuple(stage.TOOLS.values())
BLOCK = Audio(samples=np.zeros(320, np.int16), rate_hz=16_000)
LOST = (  # read, or met by the next block of the user's speech
    "DuplexSessionClosedError: duplex session closed: connection lost",
    "DuplexConnectionError: send failed",
)

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_OMNI_PYTHON is not set")


def run(client, *arguments, told=""):
    done = subprocess.run(
        [PYTHON, str(CLIENTS / client), *arguments],
        input=told,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def by_vllms_client(kind, script=None, *turns):
    with omni_server("vllm-omni", script, recite(*(turns or [[Say(0.5, "Hello there.")]]))) as double:
        return run("vllm_duplex.py", kind, double.url.removesuffix("/v1/realtime")), double.sessions[0]


def test_vllm_omnis_client_holds_a_turn_and_gets_all_of_its_sound():
    seen, session = by_vllms_client("turn")
    assert (seen["errors"], seen["session"]) == ([], "sess_1")
    assert (seen["texts"], seen["statuses"]) == (["Hello there."], ["completed"])
    assert seen["audio_bytes"] == RATE_HZ  # half a second of 16 bits
    assert (seen["decisions"][-1], set(seen["decisions"]) <= {"listen", "speak"}) == ("speak", True)
    assert seen["events"][:2] == ["session.created", "session.updated"]
    order = [
        "response.created",
        "response.output_item.added",
        "response.speak",
        "response.output_audio.delta",
        "response.output_audio.done",
        "response.done",
    ]
    assert [kind for kind in dict.fromkeys(seen["events"]) if kind in order] == order
    assert "playback.acknowledged" in seen["events"]
    assert [ms for _, ms, _ in session.played][-1] == 500
    assert session.told_seq > 10


def test_vllm_omnis_client_cuts_an_answer():
    turns = [Say(4.0, "One two three four.")], [Say(0.5, "Go on.")]
    seen, _ = by_vllms_client("barge_in", Script(pace=0.3), *turns)
    assert (seen["errors"], seen["statuses"]) == ([], ["cancelled", "completed"])
    assert seen["texts"][-1] == "Go on."
    assert "overlap.decision" in seen["events"]
    assert seen["audio_bytes"] < 9 * RATE_HZ


def test_vllm_omnis_client_sees_a_call_and_answers_it():
    seen, session = by_vllms_client("tool", None, [CALL, Say(0.5, "Found it.")])
    assert (seen["errors"], seen["texts"]) == ([], ["Found it."])
    assert [arguments for _, arguments in seen["calls"]] == ['{"destination": "Milan"}']
    assert session.open_calls == {}


@pytest.mark.parametrize(
    ("kind", "script", "error"),
    [
        ("no_voice", None, "DuplexProtocolError: MiniCPM-o needs ref_audio."),
        ("turn", Script(confirms=False), "TimeoutError"),
        ("turn", Script(on_turn=["drop"]), LOST),
        (
            "turn",
            Script(on_turn=[{"error": {"type": "server_error", "code": "x", "message": "Planted failure."}}]),
            "DuplexProtocolError: Planted failure.",
        ),
    ],
    ids=["no_voice", "silent", "drop", "error"],
)
def test_the_same_client_fails_on_a_scripted_fault(kind, script, error):
    seen, _ = by_vllms_client(kind, script)
    assert any(told.startswith(error) for told in seen["errors"]), seen["errors"]


def by_openbmbs_sdk(kind, script=None, turns=None):
    line = recite(*(turns or [[Say(0.5, "Hello there.")]]), heard=["Hi."])
    with omni_server("map", script, line) as double:
        return run("openbmb_session.py", kind, double.url.replace("ws:", "http:").removesuffix("/realtime")), double


def test_openbmbs_sdk_waits_in_the_queue_and_holds_a_turn():
    seen, double = by_openbmbs_sdk("turn", Script(key="mb-test"))
    assert (seen["errors"], seen["session"], seen["closed"]) == ([], "sess_1", "user_stop")
    assert seen["events"][:3] == ["SessionQueued", "SessionQueued", "WorkerAssigned"]
    assert (seen["texts"], seen["user"]) == (["Hello there."], ["Hi."])
    assert (seen["samples"], round(seen["loudest"], 2)) == (RATE_HZ // 2, 0.18)
    assert seen["total_tokens"] == 240  # the session's count at its end
    assert double.sessions[0].heard_samples == 2 * 16_000


def test_openbmbs_sdk_interrupts_an_answer():
    seen, double = by_openbmbs_sdk("interrupt", Script(pace=0.5), [[Say(6.0, "One two three.")]])
    assert seen["errors"] == []
    assert 0 < seen["samples"] < 6 * RATE_HZ
    assert double.sessions[0].forced == 1


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (Script(key="mb-other"), "RealtimeError: socket_create_failed"),
        (Script(refuses_session="No such model."), "RealtimeError: invalid_request: No such model."),
        (Script(greets=False), "RealtimeError: connect_timeout"),
        (Script(on_audio=["drop"]), "socket_error"),
        (Script(on_turn=[{"event": {"type": "error", "error": {"code": "x", "message": "Planted."}}}]), "x: Planted."),
    ],
    ids=["key", "refused", "silent", "drop", "error"],
)
def test_the_same_sdk_fails_on_a_scripted_fault(script, error):
    seen, _ = by_openbmbs_sdk("turn", script)
    assert any(told.startswith(error) for told in seen["errors"]), seen["errors"]


def asked(**more):
    kept = {
        "setup": Setup(conversation_id="c", instructions="Help.", tools=TOOLS, today=date(2026, 4, 6)),
        "model": "openbmb/MiniCPM-o-4_5",
        "tools": False,
        "detection": None,
        "playback_commit_policy": "ack_only",
        "reference": reference_wav("own"),
    }
    return Asked(**{**kept, **more})


def spoken(state, item_id="item_r1"):
    """A response with half a second of sound in a state."""
    event = {"type": "response.output_audio.delta", "response_id": "r1", "item_id": item_id, "server_event_seq": 1}
    (audio,) = [e for e in state.take({**event, "delta": "AAAA" * 8000}) if isinstance(e, AgentAudio)]
    return audio


def test_vllm_omnis_own_code_reads_what_we_send_it():
    now = [0.0]
    state = vllm.VllmState(now_s=lambda: now[0])
    detection = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}
    events = [vllm.session_update(asked()), vllm.session_update(asked(tools=True, detection=detection))]
    spoken(state)
    now[0] = 0.3
    events += state.block(BLOCK)
    state.answer([ToolResult(call_id="call_1", name="search_flights", result={"n": 1})])
    state.inject("The user is in Rome.")
    state.cut("item_r1", 0.31)
    events += [*state.take_outgoing(), {"type": "session.close"}]
    plain, with_tools, *others = run("omni_readers.py", "vllm", told=json.dumps(events))
    assert plain == {
        "kind": "UpdateSession",
        "model": "openbmb/MiniCPM-o-4_5",
        "voice": True,
        "policies": ["listen_only", "ack_only"],
        "tools": 0,
        "detection": None,
    }
    assert (with_tools["tools"], with_tools["detection"]["silence_duration_ms"]) == (2, 500)
    assert with_tools["policies"] == ["barge_in_on_speech", "ack_only"]
    assert others[:2] == [
        {"kind": "AppendAudio", "audio": others[0]["audio"]},
        {"kind": "AckPlayback", "played": ["r1", "item_r1", 300, 300]},
    ]
    assert others[0]["audio"] > 0
    assert [o if isinstance(o, str) else o["kind"] for o in others[2:]] == [
        "CreateItem",
        "CreateItem",
        "AckPlayback",
        "TruncateItem",
        "EventAck",
        "CloseSession",
    ]
    assert others[4]["played"] == ["r1", "item_r1", 310, 310]


def test_sglang_omnis_own_schema_takes_what_we_send_it():
    state = sglang.SglangState(now_s=lambda: 0.0, granted={"supports_truncate": True})
    audio = spoken(state)
    state.cut(audio.item_id, 0.2)
    events = [sglang.session_update(asked()), *state.block(BLOCK), *state.block(BLOCK), *state.take_outgoing()]
    events.append({"type": "session.close", "event_id": "event_close"})
    session, *others = run("omni_readers.py", "sglang", told=json.dumps(events))
    assert (session["granted"], session["rejections"]) == (["audio"], [])
    assert session["voice"] > 16_000
    assert [o["kind"] for o in others] == [
        "AudioAppendEvent",
        "AudioAppendEvent",
        "ConversationItemTruncateEvent",
        "SessionCommandEvent",
    ]


@pytest.mark.parametrize(
    ("reader", "event", "told"),
    [
        ("sglang", {"type": "input_audio_buffer.append", "audio": ""}, "event_id"),
        ("sglang", {"type": "conversation.item.create", "event_id": "e", "item": {}}, "conversation.item.create"),
        ("vllm", {"type": "session.update", "session": {"turn_detection": {"type": "semantic_vad"}}}, "turn_detection"),
        ("vllm", {"type": "playback.ack", "played_ms": "much"}, "played_ms"),
    ],
)
def test_the_same_code_refuses_what_is_wrong(reader, event, told):
    (verdict,) = run("omni_readers.py", reader, told=json.dumps([event]))
    assert told in verdict["refused"]
