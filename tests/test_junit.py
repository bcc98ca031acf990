"""JUnit XML for strict readers: validity, properties, hostile text, counts."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from failures import card, stale
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from results import a_result
from strict_junit import strict_errors
from summaries import a_mute_agent, a_summary, an_agent

from pytest_voicebench.result import Result
from pytest_voicebench.writers.junit import JunitUnreadable, finish_junit, write_junit
from pytest_voicebench.writers.junit_properties import item_properties, run_properties

HOSTILE = "\x00 ]]> <script>alert(1)</script> & \" ' \x1b[31m \ud800 café"


def properties(path: Path) -> list[tuple[str, str]]:
    return [(p.get("name", ""), p.get("value", "")) for p in ET.parse(path).iter("property")]


def results() -> list[Result]:
    return [
        replace(a_result("a", "passed"), scorecard=card(argument_accuracy=None), folder="items/a", duration_s=12.5),
        replace(a_result("b", "failed"), scorecard=card(), folder="items/b", taken_from="rerun"),
        replace(a_result("c", "error"), error_kind="infrastructure", cause=HOSTILE, attempts=("error",)),
        replace(a_result("d", "skipped"), cause="no recording"),
        a_result("e", "not_run"),
    ]


def test_a_file_made_of_results_is_valid_and_counts_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(path, results(), a_summary())
    assert strict_errors(path) == []
    suite = ET.parse(path).getroot().find("testsuite")
    assert suite is not None
    counted = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counted == {"tests": "5", "failures": "1", "errors": "1", "skipped": "2", "time": "12.500"}
    assert len(suite.findall("testcase")) == 5


def test_properties_of_items_stand_on_the_suite_under_the_items_name(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(path, results(), a_summary())
    found = dict(properties(path))
    assert found["a.audio"] == "items/a/audio.flac"
    assert found["a.pass_at_1"] == "False"
    assert found["b.taken_from"] == "rerun"
    assert found["c.attempts"] == "error"
    assert "a.argument_accuracy" not in found
    assert found["voicebench.local.pass_at_1"] == "0.6"


def test_an_item_with_a_retraction_tells_what_became_of_it() -> None:
    _, _, stale_card = stale()
    found = item_properties(replace(a_result("a", "failed"), scorecard=stale_card))
    assert found["premature_commit"] is True
    assert str(found["rollback"]).startswith('search_flights destination "Rome" -> "Milan": called with')
    assert "rollback_latency_s" not in found  # never repaired
    (entry,) = stale_card.rollback
    repaired = replace(stale_card, rollback=(replace(entry, verdict="repaired", corrected=1, latency_s=1.5),))
    assert item_properties(replace(a_result("a", "failed"), scorecard=repaired))["rollback_latency_s"] == 1.5
    assert not {"premature_commit", "rollback"} & set(
        item_properties(replace(a_result("a", "failed"), scorecard=card()))
    )


def test_a_run_tells_how_often_values_taken_back_were_used_and_repaired() -> None:
    found = run_properties(a_summary(an_agent()))
    assert found["voicebench.local.premature_commit_rate"] == 5 / 17
    assert found["voicebench.local.repaired_rate"] == 0.6
    assert found["voicebench.local.rollback_latency_s.p50"] == 1.75
    assert not any("premature" in name for name in run_properties(a_summary(a_mute_agent())))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text())
def test_whatever_the_text_the_file_is_valid(tmp_path: Path, text: str) -> None:
    path = tmp_path / "junit.xml"
    result = replace(a_result("c", "error"), cause=text, nodeid=f"{text}::{text}", folder=text)
    write_junit(path, [result], a_summary(an_agent(text)))
    finish_junit(path, a_summary(an_agent(text), header={"run": text}))
    assert strict_errors(path) == []


def test_forbidden_characters_are_shown_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(path, results(), a_summary())
    (message,) = [case.get("message") for case in ET.parse(path).iter("error")]
    assert message == "infrastructure: #x00 ]]> <script>alert(1)</script> & \" ' #x1B[31m #xD800 café"


def test_a_run_is_told_by_its_counts_and_scores_in_plain_scalars() -> None:
    found = run_properties(a_summary(a_mute_agent()))
    assert found["voicebench.planned"] == 1
    assert found["voicebench.judge"] == "none"
    assert found["voicebench.mute.turn_take_rate"] == 0.0
    assert "voicebench.mute.interruption_rate" not in found
    assert {type(value) for value in found.values()} <= {str, int, float, bool}


def test_odd_values_become_scalars_that_every_worker_can_send() -> None:
    import numpy as np

    odd = replace(a_result(), scorecard=card(argument_accuracy=np.float64(0.5)), cause=Path("x"))  # type: ignore[arg-type]
    found = item_properties(odd)
    assert (type(found["argument_accuracy"]), type(found["cause"])) == (float, str)


def test_a_file_of_pytest_gets_the_runs_properties_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): pass\ndef test_b(): assert 0")
    pytester.runpytest("--junitxml=junit.xml", "-p", "no:cacheprovider")
    path = pytester.path / "junit.xml"
    finish_junit(path, a_summary())
    once = path.read_bytes()
    finish_junit(path, a_summary())
    assert path.read_bytes() == once
    assert strict_errors(path) == []
    names = [name for name, _ in properties(path)]
    assert len(names) == len(set(names))
    assert dict(properties(path))["voicebench.passed"] == "57"
    assert len(ET.parse(path).findall(".//testcase")) == 2


def test_other_properties_of_the_suite_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(
        '<testsuite name="x" tests="0" failures="0" errors="0">'
        '<properties><property name="mine" value="1"/><property name="voicebench.passed" value="0"/></properties>'
        "</testsuite>"
    )
    finish_junit(path, a_summary())
    found = properties(path)
    assert ("mine", "1") in found
    assert [value for name, value in found if name == "voicebench.passed"] == ["57"]


@pytest.mark.parametrize(
    ("text", "message"), [("<testsuites", "not well-formed XML"), ("<testsuites/>", "holds no testsuite")]
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(text)
    with pytest.raises(JunitUnreadable, match=message):
        finish_junit(path, a_summary())
    with pytest.raises(JunitUnreadable, match="No such file"):
        finish_junit(tmp_path / "none.xml", a_summary())


def test_the_strict_schema_refuses_properties_of_a_test_case(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(path, results(), a_summary())
    tree = ET.parse(path)
    case = tree.find(".//testcase")
    assert case is not None
    ET.SubElement(case, "properties")
    tree.write(path)
    assert strict_errors(path)
