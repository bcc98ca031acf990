"""Faults that others' reports had: missing results, muteness as a number, outputs left unwritten."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from builders import conversation, expected, scenario
from results import a_result, a_run
from strict_junit import strict_errors

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import append_result, save_result
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scoring import score
from pytest_voicebench.summary import Summary
from pytest_voicebench.timeline import RATE_HZ
from pytest_voicebench.writers.junit import write_junit
from pytest_voicebench.writers.summary_json import SCHEMA_PATH, summary_bytes
from pytest_voicebench.writers.terminal import render


def mute(item_id: str = "a") -> Result:
    """One item of an agent that hears everything, calls nothing and never speaks."""
    scorecard = score(scenario(expected("ping")), conversation(speech=(), duration_s=45.84))
    return a_result(item_id, "failed", scorecard=scorecard)


def summary_of(folder: Path, *results: Result, planned: tuple[Result, ...] = ()) -> Summary:
    return load_run(a_run(folder, *results, planned=planned)).summary()


def test_missing_results_stay_in_the_count_of_what_was_planned(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "r", a_result("a"), a_result("b", "failed"), planned=(a_result("c"),))
    text = render(summary, color=False)
    assert text.startswith("voicebench: fdb3, 2/3 scored")
    assert "planned 3 = 1 passed + 1 failed + 0 error + 0 skipped + 1 not run" in text


def test_an_item_that_could_not_be_measured_is_an_error_and_no_score_of_zero(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "r", a_result("a"), a_result("b", "error", cause="quota"))
    (agent,) = summary.agents
    assert (agent.overall.pass_at_1.k, agent.overall.pass_at_1.n) == (1, 1)
    assert summary.counts.error_kinds == {"infrastructure": 1}


def test_two_speakers_of_one_scenario_are_two_items_and_one_scenario(tmp_path: Path) -> None:
    both = [a_result(f"finance_07-{s}", outcome) for s, outcome in (("a", "passed"), ("b", "failed"))]  # type: ignore[arg-type]
    same = [replace(r, facts=replace(r.facts, scenario_id="finance_07", speaker=r.item_id[-1])) for r in both]
    (agent,) = summary_of(tmp_path / "r", *same).agents
    assert (agent.overall.pass_at_1.k, agent.overall.pass_at_1.n) == (1, 2)
    assert (agent.per_scenario.pass_at_1.value, agent.per_scenario.pass_at_1.n) == (0.5, 1)


def test_one_item_written_twice_counts_once(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "r", a_result("a", "failed"))
    append_result(folder, a_result("a", "failed"))
    assert load_run(folder).summary().counts.planned == 1


def test_silence_is_not_a_number(tmp_path: Path) -> None:
    (agent,) = summary_of(tmp_path / "r", mute()).agents
    latency = agent.overall.first_response_latency_s
    assert (latency.mean, latency.p50, latency.n) == (None, None, 0)
    assert agent.overall.latency_causes == {"no_reply": 1}


def test_every_output_is_written_when_nobody_spoke(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "r", mute()))
    summary = run.summary()
    data = json.loads(summary_bytes(summary))
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_bytes()))
    assert data["agents"][0]["overall"]["interruption_rate"]["value"] is None
    write_junit(tmp_path / "junit.xml", run.results, summary)
    assert strict_errors(tmp_path / "junit.xml") == []
    assert "interruption / turns taken         n/a             (n=0)" in render(summary, color=False)


@pytest.mark.parametrize(("rate_hz", "told"), [(16_000, True), (RATE_HZ, False)])
def test_the_rate_to_which_the_users_audio_was_brought_is_in_the_report(
    tmp_path: Path, rate_hz: int, told: bool
) -> None:
    """F11."""
    asked = replace(a_result("a"), agent=AgentInfo(name="narrow", clock="virtual", input_hz=rate_hz))
    summary = summary_of(tmp_path / "r", asked)
    assert json.loads(summary_bytes(summary))["agents"][0]["input_hz"] == rate_hz
    assert (f"sent {rate_hz} Hz" in render(summary, color=False)) is told


def test_no_items_at_all_still_give_every_output(tmp_path: Path) -> None:
    summary = summary_of(tmp_path / "r")
    assert "0/0 scored" in render(summary, color=False)
    jsonschema.validate(json.loads(summary_bytes(summary)), json.loads(SCHEMA_PATH.read_bytes()))
    write_junit(tmp_path / "junit.xml", [], summary)
    assert strict_errors(tmp_path / "junit.xml") == []


def test_the_order_in_which_items_finished_changes_nothing(tmp_path: Path) -> None:
    results = [a_result("a"), a_result("b", "failed"), mute("c"), a_result("d", "error")]
    folder, other = a_run(tmp_path / "1" / "r", *results), a_run(tmp_path / "2" / "r", *results)
    lines = (other / "results.jsonl").read_bytes().splitlines(keepends=True)
    (other / "results.jsonl").write_bytes(b"".join(reversed(lines)))
    assert summary_bytes(load_run(folder).summary()) == summary_bytes(load_run(other).summary())


def test_scores_are_on_disk_before_anything_else_can_fail(tmp_path: Path) -> None:
    result = replace(a_result("a"), folder="items/a")
    save_result(tmp_path, result)
    assert json.loads((tmp_path / "items/a/result.json").read_bytes())["scorecard"]["passed"] is True
    assert load_run(tmp_path).results == (result,)


@pytest.mark.parametrize("text", ["\x00", "]]>", "<script>alert(1)</script>", "a\nb", "\ud800", "\ufffe"])
def test_text_of_an_agent_cannot_break_the_xml(tmp_path: Path, text: str) -> None:
    run = load_run(a_run(tmp_path / "r", a_result("a", "error", cause=text)))
    write_junit(tmp_path / "junit.xml", run.results, run.summary())
    assert strict_errors(tmp_path / "junit.xml") == []
    assert ET.parse(tmp_path / "junit.xml").find(".//error") is not None
