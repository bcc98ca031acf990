"""`--voicebench-concurrency` with limits, money and resuming: conversations begun ahead pass the same gates."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest
from suites_for_pytest import latest_run, outcomes, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.plugin.admission import Waited, waited_key, without_waiting
from pytest_voicebench.plugin.ahead import Begun
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


def test_what_a_conversation_waits_for_a_place_is_not_its_items_time(folder):
    with openai_server(Script(), LINE, most=1) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        _, text = run_apart(folder, agent, AHEAD, "--voicebench-limit=gpt-realtime=1", "--junitxml=theirs.xml")
    for path in (folder / "theirs.xml", latest_run(folder) / "junit.xml"):
        times = sorted(float(case.get("time", "")) for case in ET.parse(path).iter("testcase"))
        held = sorted(row.duration_s or 0.0 for row in read_results(latest_run(folder)).results)
        assert len(times) == 4, text
        assert times[-2] < sum(held[:3])  # the third of them waited for two others before it


def test_waiting_is_from_the_beginning_until_it_is_admitted_and_while_it_is_told(monkeypatch):
    clock = iter([13.0, 14.0, 15.5, 20.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    waited = Waited(since_s=10.0)
    waited.tell("")
    waited.tell("refused: try again in 1 s")
    waited.tell("starting")  # which is the same wait
    assert waited.within(0.0, 12.0) == 2.0
    assert waited.within(11.0, 16.0) == 2.0 + 2.0
    waited.tell("")
    assert waited.within(0.0, 100.0) == 3.0 + 6.0
    assert waited.within(13.0, 14.0) == 0.0


def test_waiting_before_and_after_an_item_asks_is_taken_off_once(monkeypatch):
    begun = Begun(begun_s=10.0, asked_s=14.0, over_s=30.0)
    waited = Waited(since_s=None, spans=[(10.0, 20.0)])
    assert begun.unwaited_s(waited) == 0.0  # it waited from 10 to 14, and does so when it is asked for
    assert begun.unwaited_s(None) == 4.0
    item = SimpleNamespace(stash={waited_key: waited})
    monkeypatch.setattr(time, "perf_counter", lambda: 30.0)
    assert without_waiting(item, 16.0) == 10.0
    assert without_waiting(SimpleNamespace(stash={}), 16.0) == 16.0
