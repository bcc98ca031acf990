"""`--voicebench-concurrency` with limits, money and resuming: conversations begun ahead pass the same gates."""

from __future__ import annotations

import pytest
from suites_for_pytest import latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
LINE = recite([CALL, Say(voice="reply")])
AHEAD = "--voicebench-concurrency=4"


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in range(1, 5)))
    price = "- {agent: gpt-realtime, date: 2026-01-31, source: my contract, per_minute: 0.0625, step_s: 3600}\n"
    (tmp_path / "prices.yaml").write_text(price)
    return tmp_path


def test_a_limit_holds_for_conversations_begun_ahead(folder):
    with openai_server(Script(), LINE, most=2) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, AHEAD, "--voicebench-limit=gpt-realtime=2")
    assert status == 0, text
    assert double.refused == 0
    assert len(double.sessions) == 4


def test_money_stops_conversations_begun_ahead_and_a_resumed_run_begins_none_that_is_done(folder):
    with openai_server(Script(), LINE) as double:
        options = (f"--agent=gpt-realtime,url={double.url}", "--voicebench-prices=prices.yaml", AHEAD)
        status, text = run_apart(folder, *options, "--voicebench-max-usd=12")
        assert status == pytest.ExitCode.TESTS_FAILED, text
        assert len(double.sessions) == 3
        assert sorted(outcome for outcome, _ in outcomes(folder).values()) == ["not_run", *["passed"] * 3]
        status, text = run_apart(folder, *options, "--voicebench-max-usd=15", "--voicebench-resume=latest")
    assert status == 0, text
    assert len(double.sessions) == 4
    assert set(outcomes(folder).values()) == {("passed", None)}
    assert sum(r.outcome == "passed" for r in read_results(latest_run(folder)).results) == 4
