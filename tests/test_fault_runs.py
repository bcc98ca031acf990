"""Faults of others' runs: workers, crashes, odd values, hostile text, hangs. Each run is a pytest of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from strict_junit import strict_errors
from suites_for_pytest import PASSING, SILENT, latest_run, outcomes, summary_of
from test_plugin_processes import XDIST, environment, run, suite

ALL_PASS = {f"travel_0{n}": ("passed", None) for n in (1, 2, 3, 4)}


def results_of(folder):
    lines = (latest_run(folder) / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["item_id"]: row for row in map(json.loads, lines)}


def refuse(constant):
    raise AssertionError(f"{constant} in JSON")


COUNTING = """
search_flights:
  description: Find flights to a city on a date.
  parameters:
    destination: {type: string, match: place, required: true}
    date: {type: string, format: date, match: date, required: true}
  writes: true
  answer: mock_api:count
"""


def test_two_workers_that_use_one_tool_at_the_same_time_share_nothing(tmp_path):
    """H1."""
    suite(
        tmp_path,
        4,
        """
        @pytest.fixture
        def agent(scenario):
            arguments = {"destination": f"City {scenario.id}", "date": "2026-06-03"}
            return Scripted([(5.0, ToolCall(call_id="same", name="search_flights", arguments=arguments))])
        """,
    )
    (tmp_path / "suites/tools.yaml").write_text(COUNTING)
    (tmp_path / "suites/mock_api.py").write_text(
        "def count(arguments, state):\n"
        "    state.setdefault('asked', []).append(arguments['destination'])\n"
        "    return {'n': len(state['asked'])}\n"
    )
    run(tmp_path, "-n", "2")
    items = latest_run(tmp_path) / "items"
    assert sorted(p.name for p in items.iterdir()) == sorted(ALL_PASS)
    for item in ALL_PASS:
        saved = json.loads((items / item / "conversation.json").read_bytes())
        assert [(c["call_id"], c["arguments"]["destination"]) for c in saved["calls"]] == [("same", f"City {item}")]
        assert (saved["calls"][0]["result"], saved["state"]) == ({"n": 1}, {"asked": [f"City {item}"]})


def test_odd_values_in_properties_do_not_end_a_run_of_workers(tmp_path):
    """M1."""
    odd = """
    import datetime, pathlib, numpy
    @pytest.fixture(autouse=True)
    def odd(request):
        request.node.user_properties += [
            ("half", numpy.float64(0.5)), ("two", numpy.int64(2)), ("many", numpy.zeros(3)), ("no", numpy.bool_(False)),
            ("day", datetime.date(2026, 10, 7)), ("path", pathlib.Path("a/b")), ("lone", chr(0xD800)), (7, None)]
    """
    suite(tmp_path, 4, odd)
    status, text = run(tmp_path, PASSING, "-n", "2", "--junitxml=theirs.xml")
    assert status == 0, text
    assert outcomes(tmp_path) == ALL_PASS
    found = {p.get("name"): p.get("value") for p in ET.parse(tmp_path / "theirs.xml").iterfind(".//testcase//property")}
    plain = {"half": "0.5", "two": "2", "no": "False", "day": "2026-10-07", "path": "a/b", "7": "None"}
    assert {name: found[name] for name in plain} == plain


DIES = """
import os
class Dying(Scripted):
    def connect(self, setup): os._exit(1)
@pytest.fixture
def agent(agent, scenario): return Dying([]) if scenario.id == "travel_02" else agent
"""


def test_an_adapter_that_ends_its_process_costs_no_count_under_any_distribution(tmp_path):
    """M3: four scenarios in one file; `loadfile` is promised an honest count only."""
    suite(tmp_path, 4, DIES)
    status, text = run(tmp_path, PASSING, "-n", "2", "--dist", "loadfile", "--max-worker-restart=1")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    found = outcomes(tmp_path)
    assert list(found) == list(ALL_PASS)
    assert found["travel_02"] == ("error", "infrastructure")
    counts = summary_of(tmp_path)["counts"]
    assert counts["planned"] == counts["passed"] + counts["error"] + counts["not_run"] == 4


def test_a_run_in_one_process_that_dies_keeps_what_was_done_and_can_be_reported(tmp_path):
    """C1, M3."""
    suite(tmp_path, 4, DIES)
    assert run(tmp_path, PASSING, "-p", "no:xdist", plugins=())[0] == 1
    assert [o for o, _ in outcomes(tmp_path).values()] == ["passed", "not_run", "not_run", "not_run"]
    report = subprocess.run(
        [sys.executable, "-m", "pytest_voicebench", "report", "latest"],
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING="cp1252"),
        capture_output=True,
        check=True,
    )
    assert b"1/4 scored, 3 missing" in report.stdout


def test_what_was_scored_before_a_crash_or_an_error_in_teardown_is_kept(tmp_path):
    """M8."""
    late = """
    import os
    @pytest.fixture(autouse=True)
    def late(request):
        yield
        if "travel_02" in request.node.name: os._exit(1)
        if "travel_03" in request.node.name: raise RuntimeError("late")
    """
    suite(tmp_path, 4, late)
    status, _ = run(tmp_path, PASSING, "-n", "2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert outcomes(tmp_path) == ALL_PASS
    saved = json.loads((latest_run(tmp_path) / "items/travel_02/result.json").read_bytes())
    assert saved["scorecard"]["passed"] is True
    assert strict_errors(latest_run(tmp_path) / "junit.xml") == []


HOSTILE = """
from pytest_voicebench.agents.protocol import Transcript
@pytest.fixture
def agent():
    words = "caf\\xe9 \\u2615 \\x00 ]]> <script>alert(1)</script> \\ud800"
    text = Transcript(speaker="agent", text=words, item_id="i")
    return Scripted([(5.0, text), (5.0, SEARCH), (6.0, sound(1.0, "i"))])
"""


def test_what_an_agent_says_breaks_neither_a_file_nor_a_narrow_console(tmp_path):
    """L5, M9."""
    suite(tmp_path, 2, HOSTILE)
    status, text = run(tmp_path, "-n", "2", "--junitxml=theirs.xml", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    assert "INTERNALERROR" not in text
    assert {outcome for outcome, _ in outcomes(tmp_path).values()} == {"failed"}
    assert strict_errors(latest_run(tmp_path) / "junit.xml") == []
    failures = [f.text for f in ET.parse(tmp_path / "theirs.xml").iter("failure")]
    assert all("]]> <script>alert(1)</script>" in failure for failure in failures)
    saved = (latest_run(tmp_path) / "items/travel_01/conversation.json").read_text(encoding="utf-8")
    assert "café ☕" in saved


def test_a_run_without_a_latency_has_null_in_its_json_and_never_nan(tmp_path):
    """L1, C9: nobody spoke."""
    suite(tmp_path, 1)
    run(tmp_path, SILENT, "-n", "0")
    for name in ("summary.json", "items/travel_01/result.json", "items/travel_01/conversation.json"):
        data = json.loads((latest_run(tmp_path) / name).read_bytes(), parse_constant=refuse)
    data = summary_of(tmp_path)
    assert data["agents"][0]["overall"]["first_response_latency_s"] == {
        **dict.fromkeys(("mean", "p50", "p95", "stdev")),
        "n": 0,
    }
    assert data["agents"][0]["overall"]["latency_causes"] == {"no_reply": 1}


STUCK = """
import scripted
class Stuck(scripted.ScriptedLine):
    async def send(self, audio):
        await super().send(audio)
        if len(self.agent.sent) > 100: await asyncio.Event().wait()
@pytest.fixture
def agent(agent, scenario, monkeypatch):
    if scenario.id != "travel_02": return agent
    monkeypatch.setattr(scripted, "ScriptedLine", Stuck)
    return Scripted([])
"""


def test_an_agent_that_hangs_is_an_error_of_its_item_with_a_partial_recording(tmp_path):
    """M12."""
    suite(tmp_path, 4, STUCK)
    status, text = run(tmp_path, PASSING, "-n", "2")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    assert outcomes(tmp_path) == {**ALL_PASS, "travel_02": ("error", "infrastructure")}
    assert "the agent's send() is stuck: it took no audio for 15 s" in results_of(tmp_path)["travel_02"]["cause"]
    assert (latest_run(tmp_path) / "items/travel_02/audio.flac").exists()


def test_an_agent_that_never_answers_ends_at_the_scenarios_own_limit(tmp_path):
    """M12: the design decides that what we cut short is no measurement; with room for an answer it is a failure."""
    suite(tmp_path, 2, "@pytest.fixture\ndef agent(): return Scripted([])\n")
    path = tmp_path / "suites/travel.yaml"
    path.write_text(path.read_text().replace("- id: travel_01", "- id: travel_01\n    max_duration_s: 5"))
    run(tmp_path, "-n", "0")
    assert outcomes(tmp_path) == {"travel_01": ("error", "invalid_measurement"), "travel_02": ("failed", None)}
    assert results_of(tmp_path)["travel_01"]["duration_s"] == 5.0


def test_an_adapter_that_calls_sys_exit_anywhere_is_an_error_with_its_text(tmp_path):
    """M13."""
    suite(
        tmp_path,
        4,
        """
        @pytest.fixture
        def agent(agent, scenario):
            return {
                "travel_01": Scripted([], raises={"connect": SystemExit(3)}),
                "travel_02": Scripted([], raises={"send": SystemExit(3)}),
                "travel_03": Scripted([(1.0, SystemExit(3))]),
            }.get(scenario.id, agent)
        """,
    )
    run(tmp_path, PASSING, "-n", "0")
    rows = results_of(tmp_path)
    assert [rows[f"travel_0{n}"]["outcome"] for n in (1, 2, 3, 4)] == ["error", "error", "error", "passed"]
    assert all("SystemExit: 3" in rows[f"travel_0{n}"]["cause"] for n in (1, 2, 3))


OTHERS = {
    "pytest_rerunfailures": (("pytest_rerunfailures",), "--reruns=1"),
    "pytest_timeout": (("pytest_timeout",), "--timeout=60"),
    "pytest_html": (("pytest_metadata.plugin", "pytest_html.plugin"), "--html=theirs.html"),
}


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_scenarios_run_beside_other_plugins_and_async_tests(tmp_path, mode):
    """M11: those of the plugins that are installed, all at once."""
    found = [OTHERS[name] for name in OTHERS if importlib.util.find_spec(name)]
    plugins, options = [p for plugins, _ in found for p in plugins], [option for _, option in found]
    suite(tmp_path, 1)
    (tmp_path / "test_theirs.py").write_text(
        "import asyncio, pytest\n@pytest.mark.asyncio\nasync def test_async(): await asyncio.sleep(0)\n"
    )
    status, text = run(tmp_path, PASSING, "-o", f"asyncio_mode={mode}", *options, plugins=(*XDIST, *plugins))
    assert status == 0, text
    assert "2 passed" in text
    assert outcomes(tmp_path) == {"travel_01": ("passed", None)}


def test_a_file_that_cannot_be_read_costs_only_its_own_scenarios(tmp_path):
    """K5, K9: also beside YAML that is nobody's."""
    suite(tmp_path, 1)
    (tmp_path / "suites/broken.yaml").write_text("voicebench: 1\n\tscenarios: [\n")
    (tmp_path / "suites/docker-compose.yaml").write_text("services: {web: {image: !custom nginx}}\n")
    status, text = run(tmp_path, PASSING, "--continue-on-collection-errors", "-n", "0")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "broken.yaml:2: yaml: a tab in the indentation; use spaces" in text
    assert "docker-compose" not in text
    assert outcomes(tmp_path) == {"travel_01": ("passed", None)}


def test_a_recording_that_an_agent_can_hardly_hear_is_told_with_the_failure(tmp_path):
    """N11: in the failure's text, in the result, and in junit.xml."""
    import numpy as np
    import soundfile

    from pytest_voicebench.files import file_sha256

    suite(tmp_path, 1)
    audio = tmp_path / "suites/audio/turn.a.flac"
    samples, rate_hz = soundfile.read(audio, dtype="int16")
    soundfile.write(audio, (samples * 0.002).astype(np.int16), rate_hz)
    timing = audio.with_suffix(".json")
    fields = json.loads(timing.read_text(encoding="utf-8")) | {"audio_sha256": file_sha256(audio)}
    timing.write_text(json.dumps(fields), encoding="utf-8")
    _, text = run(tmp_path, SILENT, "-n", "0")
    assert "  recording turn.a.flac: very quiet: its peak is -" in text
    (warning,) = results_of(tmp_path)["travel_01"]["warnings"]
    found = {p.get("name"): p.get("value") for p in ET.parse(latest_run(tmp_path) / "junit.xml").iter("property")}
    assert found["travel_01.warnings"] == warning
