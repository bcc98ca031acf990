"""The agents `minicpm-o` and `nemotron-voicechat` with each fault of their servers, and with wrong settings."""

from __future__ import annotations

import pytest

from pytest_voicebench.agents import wire
from pytest_voicebench.agents.naming import AgentNameError, check_hosted, parse_agent
from tests.omni_stage import DIALECTS, KEY, LIMIT, Case, all_held
from tests.servers.openai_script import Script


def trouble(dialect, *what, **more):
    return Case(dialect=dialect, script=Script(on_turn=what), **more)


CASES = {
    **{f"close_{d}": trouble(d, {"close": 1011, "reason": "worker died"}) for d in DIALECTS},
    **{f"drop_{d}": Case(dialect=d, script=Script(on_audio=["drop"])) for d in DIALECTS},
    **{f"garbage_{d}": trouble(d, {"raw": "{garbage"}) for d in DIALECTS},
    **{f"ended_{d}": trouble(d, {"event": {"type": "session.closed", "reason": "idle"}}) for d in DIALECTS},
    **{f"refused_{d}": Case(dialect=d, script=Script(refuses_session="No place is free.")) for d in DIALECTS},
    **{f"silent_{d}": Case(dialect=d, script=Script(greets=False, confirms=False)) for d in DIALECTS},
    **{f"no_answer_{d}": Case(dialect=d, turns=(), suite=LIMIT) for d in DIALECTS},
    "changed": Case(script=Script(changes={"overlap_policy": "barge_in_on_speech"})),
    "rejected": Case(
        dialect="sglang-omni",
        script=Script(changes={"rejections": [{"field": "output_modalities", "reason": "deployment modalities"}]}),
    ),
    "no_sound": Case(settings={"ref_audio": __file__}),
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


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "HANDSHAKE_TIMEOUT_S", 8.0)
        with all_held(CASES, tmp_path_factory.mktemp) as found:
            yield found


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        *((f"close_{d}", "infrastructure", "the server closed the connection (1011 worker died)") for d in DIALECTS),
        *((f"drop_{d}", "infrastructure", "the connection broke off without a closing frame") for d in DIALECTS),
        *((f"garbage_{d}", "infrastructure", "the server sent what is not a JSON object") for d in DIALECTS),
        *((f"refused_{d}", "agent_absent", "No place is free.") for d in DIALECTS),
        *((f"silent_{d}", "agent_absent", "within 8 s") for d in DIALECTS),
        ("ended_vllm-omni", "infrastructure", "the server ended the session: closed idle"),
        ("ended_sglang-omni", "infrastructure", "the server ended the session: idle"),
        ("ended_map", "infrastructure", "the server ended the session: idle"),
        ("no_sound", "agent_absent", "test_omni_faults.py"),
        ("no_voice", "agent_absent", "the server refused the session: ref_audio_required: MiniCPM-o needs ref_audio."),
        ("unauthorized", "agent_absent", "HTTP 401, the key of MODELBEST_API_KEY is refused"),
        ("refused", "agent_absent", "nobody listens there"),
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
