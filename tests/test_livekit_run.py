"""`--agent=livekit` and `via=livekit` in runs of pytest: from a wrong setting to the files of a run."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time
import urllib.request

import pytest
from suites_for_pytest import (
    XDIST,
    command,
    environment,
    heed_ctrl_c,
    latest_run,
    outcomes,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)

from pytest_voicebench.agents.livekit import (
    CascadedViaLiveKit,
    Gemini25ViaLiveKit,
    Gemini31ViaLiveKit,
    Gemini38ViaLiveKit,
    GptRealtimeViaLiveKit,
    GrokViaLiveKit,
    LiveKit,
    UltravoxViaLiveKit,
    via,
)
from pytest_voicebench.agents.naming import (
    SHIPPED,
    VIAS,
    AgentNameError,
    build_agent,
    check_hosted,
    parse_agent,
    parse_agents,
)
from tests.servers.console_agent import Console, console_environment, seen

pytest.importorskip("mcp_types", reason="tools over HTTP need the extra 'tools'")

KEY = "sk-planted-88123"
KEYS = ("OPENAI_API_KEY", "XAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "ULTRAVOX_API_KEY")
GEMINI_PATH = "ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent"
CALL = {"host_call": {"name": "search_flights", "arguments": '{"destination": "Milan", "date": "2026-06-03"}'}}
TURN = [CALL, {"voice": "reply"}, {"flush": 0}, {"played": 0}, {"text": "Here it is."}]


@pytest.fixture(autouse=True)
def nobodys_keys(monkeypatch, tmp_path):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    return tmp_path


@pytest.fixture
def entry(tmp_path):
    return Console(turns=[TURN]).write(tmp_path / "agent.json")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("", "missing a required argument: 'entry'"),
        ("entry=none.py", "entry must be the file that defines the agent's AgentServer: no file 'none.py'"),
        ("entry=5", "entry must be the file that defines the agent's AgentServer: no file 5"),
        ("entry=agent.json,python=/no/python", "python must be an interpreter that has livekit-agents: there is no"),
        ('entry=agent.json,args="--x \'"', "args must be arguments as a shell takes them"),
        ("entry=agent.json,tools=mine", "tools must be both or host or session, not 'mine'"),
        ("entry=agent.json,start_timeout_s=0", "start_timeout_s must be from 1 to 600, not 0"),
        ("entry=agent.json,start_timeout_s=soon", "start_timeout_s must be a number, not 'soon'"),
        ("entri=agent.json", "no setting 'entri' (did you mean 'entry'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(entry, settings, told):
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"livekit,{settings}" if settings else "livekit"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_setting_ends_a_run_before_anything_is_read(folder):
    status, text = run_apart(folder, "--agent=livekit,entry=none.py")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert text.strip().splitlines() == [text.strip()]
    assert "no file 'none.py'" in text


def test_the_report_shows_which_file_was_run_and_whose_calls_count(entry):
    info = LiveKit(entry=str(entry), tools="session").info
    assert (info.name, info.transport, info.clock, info.input_hz) == ("livekit", "livekit console", "wall", 48_000)
    assert (info.settings["entry"], info.settings["tools"]) == (str(entry), "session")
    before = info.settings["entry_sha256"]
    entry.write_text("other")
    assert LiveKit(entry=str(entry)).info.settings["entry_sha256"] != before


def test_an_agent_in_a_process_passes_a_scenario(folder, entry):
    status, text = run_apart(folder, f"--agent=livekit,entry={entry}", PYTHONPATH=console_environment())
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    talk = json.loads((item / "conversation.json").read_text())
    assert [(c["name"], c["status"]) for c in talk["calls"]] == [("search_flights", "executed")]
    rows = [json.loads(line) for line in (item / "events.jsonl").read_text().splitlines()]
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    started = next(row["at_s"] for row in rows if "started" in str(row["event"]))
    assert started < 0  # nothing of it is measured


def test_ctrl_c_ends_the_agents_process_too(folder):
    lock = folder / "lock"
    entry = Console(turns=[TURN], lock=str(lock), end="stays").write(folder / "agent.json")
    arguments = command(f"--agent=livekit,entry={entry}", plugins=())
    told = environment(PYTHONPATH=console_environment())
    with subprocess.Popen(arguments, cwd=folder, env=told, stdout=subprocess.PIPE, preexec_fn=heed_ctrl_c) as run:
        while not (folder / "agent.seen.json").exists():
            assert run.poll() is None, run.stdout.read()
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate()
    with lock.open() as file:  # waits for whoever holds it
        fcntl.flock(file, fcntl.LOCK_EX)
    assert run.returncode == pytest.ExitCode.INTERRUPTED


def test_a_missing_livekit_is_told_with_what_to_do(folder, entry):
    empty = folder / "empty"
    empty.mkdir()
    interpreter = folder / "python"
    interpreter.write_text(
        f'#!/bin/sh\nshift; exec "{sys.executable}" -S -c "import runpy; runpy.run_module(\'$1\')"\n'
    )
    interpreter.chmod(0o755)
    _, text = run_apart(folder, f"--agent=livekit,entry={entry},python={interpreter}")
    assert list(outcomes(folder).values()) == [("error", "agent_absent")]
    assert "python= must name an interpreter that has livekit-agents" in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("gpt-realtime,via=livekit", GptRealtimeViaLiveKit, "gpt-realtime"),
        ("gpt_realtime,via=livekit", GptRealtimeViaLiveKit, "gpt-realtime"),
        ("grok,via=livekit", GrokViaLiveKit, "grok"),
        ("gemini-live-2.5,via=livekit", Gemini25ViaLiveKit, "gemini-live-2.5"),
        ("gemini3_1,via=livekit", Gemini31ViaLiveKit, "gemini-live-3.1"),
        ("gemini-live-3.8,via=livekit", Gemini38ViaLiveKit, "gemini-live-3.8"),
        ("cascaded,via=livekit", CascadedViaLiveKit, "cascaded"),
        ("ultravox,via=livekit", UltravoxViaLiveKit, "ultravox"),
    ],
)
def test_via_livekit_is_the_same_system_with_the_same_settings(monkeypatch, text, kind, name):
    for variable in KEYS:
        monkeypatch.setenv(variable, KEY)
    agent = build_agent(parse_agent(f"{text},voice=kim"), None)
    assert type(agent) is kind
    info = agent.info
    assert (info.name, info.transport, info.input_hz) == (name, "livekit console", 48_000)
    assert (info.settings["via"], info.settings["retries"], info.settings["voice"]) == ("livekit", 0, "kim")
    assert info.settings["signed_in_with"] in KEYS
    assert json.loads(json.dumps(agent.asked_of_livekit()))["voice"] == "kim"
    assert KEY not in repr(agent) + repr(info) + json.dumps(agent.asked_of_livekit())
    direct = build_agent(parse_agent(f"{name},voice=kim"), None).info
    assert direct.model == info.model
    changed = {k for k, v in direct.settings.items() if info.settings.get(k) != v}
    assert changed <= set(kind.CANNOT)
    assert info.settings["proxy"] == "off"


def test_the_process_of_via_livekit_uses_no_proxy_whoever_names_one(monkeypatch):
    for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY", "wss_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.com")
    starts = []
    monkeypatch.setattr(via, "open_agent", lambda start, _setup: starts.append(start))
    GptRealtimeViaLiveKit(url="ws://127.0.0.1:1/v1").connect(None)
    for name, value in starts[0].environment.items():
        monkeypatch.setenv(name, value)
    assert not {"http", "https", "all", "wss"} & set(urllib.request.getproxies())
    assert urllib.request.proxy_bypass("api.openai.com")


def test_what_is_asked_of_livekit_holds_turn_detection():
    asked = GptRealtimeViaLiveKit(url="ws://127.0.0.1:1/v1", silence_duration_ms=700).asked_of_livekit()
    assert asked["turn_detection"] == {
        "type": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 700,
    }
    asked = GrokViaLiveKit(url="ws://127.0.0.1:1/v1", transcription="none").asked_of_livekit()
    assert (asked["system"], asked["transcription"]) == ("xai", None)
    asked = Gemini25ViaLiveKit(url=f"wss://127.0.0.1:9/{GEMINI_PATH}", end_sensitivity="low").asked_of_livekit()
    assert (asked["url"], asked["api_version"]) == ("https://127.0.0.1:9", "v1alpha")
    assert asked["detection"]["end_of_speech_sensitivity"] == "END_SENSITIVITY_LOW"
    asked = CascadedViaLiveKit(url="http://127.0.0.1:9/v1", silence_ms=600).asked_of_livekit()
    assert (asked["silence_s"], asked["stt_url"]) == (0.6, "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("urls", "keyed", "told"),
    [
        ({}, ["stt_url", "llm_url", "tts_url"], "OPENAI_API_KEY"),
        ({"tts_url": "http://10.0.0.5:1/v1"}, ["stt_url", "llm_url"], "OPENAI_API_KEY (stt, llm)"),
        ({"url": "http://10.0.0.5:1/v1"}, [], None),
    ],
)
def test_the_key_of_a_cascade_goes_to_the_services_that_may_have_it_as_the_report_says(monkeypatch, urls, keyed, told):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent = CascadedViaLiveKit(**urls)
    assert agent.asked_of_livekit()["keyed"] == keyed
    assert (agent.key() is not None) is bool(keyed)
    assert agent.info.settings["signed_in_with"] == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("grok,via=livekit", "XAI_API_KEY is not set"),
        ("grok,via=pigeon", "no way via=pigeon: known: via=livekit"),
        ("local,via=livekit", "no way via=livekit: local has none"),
        ("livekit,via=livekit", "no way via=livekit: livekit has none"),
        ("gpt-realtime,via=livekit,url=ws://127.0.0.1:1/v1,dialect=beta", "dialect cannot be set with via=livekit"),
        ("gpt-realtime,via=livekit,url=ws://127.0.0.1:1/v1,threshold=7", "threshold must be from 0 to 1, not 7"),
        ("gpt-realtime,via=livekit,url=ws://127.0.0.1:1/v1,voise=kim", "no setting 'voise' (did you mean 'voice'?)"),
        ("cascaded,via=livekit,url=http://127.0.0.1:1/v1,vad=energy", "vad cannot be set with via=livekit"),
        (
            "gemini3_1,via=livekit,url=wss://127.0.0.1:1/proxy",
            "url must be wss://HOST/ws/google.ai.generativelanguage.",
        ),
        (f"gemini3_1,via=livekit,url=ws://127.0.0.1:1/{GEMINI_PATH}", "url must be wss://HOST/ws/google.ai."),
        (f"gemini3_1,via=livekit,url=wss://127.0.0.1:1/{GEMINI_PATH}?key=1", "url must be wss://HOST/ws/google.ai."),
        ("ultravox,via=livekit,url=http://127.0.0.1:1/api,tool_timeout_s=2.5", "tool_timeout_s cannot be set with"),
    ],
)
def test_what_cannot_be_deployed_so_is_refused_on_one_line(text, told):
    with pytest.raises(AgentNameError) as refused:
        build_agent(parse_agent(text), None)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_system_and_the_same_via_livekit_can_be_compared():
    url = "url=ws://127.0.0.1:1/v1"
    labels = [spec.label for spec in parse_agents([f"grok,{url}", f"grok,{url},via=livekit"])]
    assert len(set(labels)) == 2
    assert labels[1].endswith("livekit")


def test_every_way_is_of_a_shipped_agent():
    assert all(set(names) <= set(SHIPPED) for names in VIAS.values())


def test_the_key_reaches_the_process_and_no_artifact_of_a_run(folder):
    script = Console(turns=[[{"tells_key": 0}, {"dies": 4}]]).write(folder / "agent.json")
    told = {"PYTHONPATH": console_environment(), "CONSOLE_AGENT_SCRIPT": str(script), "OPENAI_API_KEY": KEY}
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
    agent = "--agent=gpt-realtime,via=livekit,url=ws://127.0.0.1:1/v1/realtime"
    _, text = run_apart(folder, agent, *options, plugins=XDIST, **told)
    assert list(outcomes(folder).values()) == [("error", "infrastructure")], text
    assert json.loads(seen(script)["environment"]["VOICEBENCH_AGENT"])["system"] == "openai"
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    assert {"events.jsonl", "summary.json", "junit.xml", "conversation.json"} <= {path.name for path in files}
    assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    (events,) = [path.read_text() for path in files if path.name == "events.jsonl"]
    assert "401 for ***" in events
    assert "no quota for ***" in events
