"""Workers, crashes, Ctrl-C, JUnit, and repositories that must not notice the plugin: in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from suites_for_pytest import (
    PASSING,
    XDIST,
    command,
    environment,
    heed_ctrl_c,
    latest_run,
    outcomes,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

run = run_apart


def suite(folder, n=3, conftest=""):
    write_conftest(folder, conftest)
    write_suite(folder / "suites", *(scenario_yaml(f"travel_{i:02}") for i in range(1, n + 1)))
    return folder


def without_header(folder):
    data = json.loads((latest_run(folder) / "summary.json").read_bytes())
    assert data.pop("header")
    return json.dumps(data)


def test_with_and_without_workers_the_summary_is_the_same(tmp_path):
    mixed = """
    @pytest.fixture
    def agent(agent, scenario):
        if scenario.id == "travel_02": return Scripted([(5.0, SEARCH)])
        if scenario.id == "travel_03": raise ConnectionError("nobody")
        return agent
    """
    suite(tmp_path, 4, mixed)
    seen = []
    for way in (["-p", "no:xdist"], ["-n", "0"], ["-n", "2"]):
        plugins = () if "no:xdist" in way else XDIST
        status, text = run(tmp_path, PASSING, *way, plugins=plugins)
        assert status == pytest.ExitCode.TESTS_FAILED, text
        assert "4 of 4 scenarios selected" in text
        assert "planned 4 = 2 passed + 1 failed + 1 error + 0 skipped + 0 not run" in text
        assert len((latest_run(tmp_path) / "results.jsonl").read_text().splitlines()) == 4
        seen.append(without_header(tmp_path))
    assert seen[0] == seen[1] == seen[2]
    assert len(list((tmp_path / "reports").iterdir())) == 4  # three runs and `latest`


def test_a_reports_folder_that_cannot_be_made_is_one_line_from_workers_too(tmp_path):
    suite(tmp_path, 1)
    status, text = run(tmp_path, PASSING, "-n", "2", "--voicebench-reports=pytest.ini")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    assert sum("cannot be made: Not a directory" in line for line in text.splitlines()) == 1


def test_what_workers_cannot_save_is_an_error_of_its_item_in_the_summary(tmp_path):
    full = """
    import errno
    from pytest_voicebench import result_files
    def full(*args): raise OSError(errno.ENOSPC, "No space left on device")
    result_files.append_result = full
    """
    suite(tmp_path, 2, full)
    status, text = run(tmp_path, PASSING, "-n", "2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "INTERNALERROR" not in text
    counts = summary_of(tmp_path)["counts"]
    assert (counts["planned"], counts["error"], counts["error_kinds"]) == (2, 2, {"infrastructure": 2}), text


def test_a_worker_that_dies_is_an_error_of_its_item_alone(tmp_path):
    dies = """
    import os
    @pytest.fixture
    def agent(agent, scenario):
        if scenario.id == "travel_02": os._exit(1)
        return agent
    """
    suite(tmp_path, 4, dies)
    status, text = run(tmp_path, PASSING, "-n", "2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert outcomes(tmp_path) == {
        "travel_01": ("passed", None),
        "travel_02": ("error", "infrastructure"),
        "travel_03": ("passed", None),
        "travel_04": ("passed", None),
    }
    counts = summary_of(tmp_path)["counts"]
    assert (counts["planned"], counts["passed"], counts["error"], counts["not_run"]) == (4, 3, 1, 0), text
    assert "crashed" in (latest_run(tmp_path) / "results.jsonl").read_text()


def test_items_that_no_worker_was_left_to_run_are_not_run(tmp_path):
    dies = "import os\n@pytest.fixture\ndef agent(): os._exit(1)\n"
    suite(tmp_path, 4, dies)
    run(tmp_path, "-n", "1", "--max-worker-restart=0")
    rows = list(outcomes(tmp_path).values())
    assert rows.count(("error", "infrastructure")) == 1
    assert rows.count(("not_run", None)) == 3
    assert summary_of(tmp_path)["counts"]["planned"] == 4


def test_a_usage_error_that_only_workers_can_see_ends_the_run_as_one(tmp_path):
    suite(tmp_path, 2, "@pytest.fixture\ndef agent(): return Scripted([])\n")
    status, text = run(tmp_path, PASSING, "-n", "2")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "overrides the `agent` fixture" in text
    assert not (tmp_path / "reports").exists()


SLOW = """
@pytest.fixture
def agent(agent, scenario):
    return agent if scenario.id in ("travel_01", "travel_02") else Scripted([], clock="wall")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_ctrl_c_leaves_a_summary_of_what_was_done(tmp_path, workers):
    suite(tmp_path, 6, SLOW)
    with subprocess.Popen(
        command(PASSING, *workers),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        lines = _wait_for_lines(tmp_path, 2, process)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[0].decode()
    assert lines == 2, text
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert list(outcomes(tmp_path).values()) == [("passed", None)] * 2 + [("not_run", None)] * 4
    assert summary_of(tmp_path)["counts"]["not_run"] == 4
    assert "4 not run" in text
    assert (latest_run(tmp_path) / "junit.xml").exists()
    assert not (latest_run(tmp_path) / ".stop").exists()


def _wait_for_lines(folder: Path, wanted: int, process) -> int:
    """Until results.jsonl has that many lines; then the other conversations are under way."""
    for _ in range(1200):
        logs = list((folder / "reports").glob("*/results.jsonl"))
        found = len(logs[0].read_text().splitlines()) if logs else 0
        if found >= wanted or process.poll() is not None:
            return found
        time.sleep(0.05)
    return 0


def test_every_run_has_a_junit_file_that_keeps_to_the_strict_schema(tmp_path):
    """What the schema allows, as a table: per element, attributes and children."""
    awful = """
    @pytest.fixture
    def agent(agent, scenario):
        if scenario.id == "travel_02": return Scripted([(5.0, SEARCH)])
        if scenario.id == "travel_03": raise ConnectionError("bad \\x00 \\x1b[31m ]]> <script> \\ud800 caf\\xe9")
        return agent
    """
    suite(tmp_path, 3, awful)
    allowed = {
        "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
        "testsuite": (
            {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname"},
            {"properties", "testcase"},
        ),
        "properties": (set(), {"property"}),
        "property": ({"name", "value"}, set()),
        "testcase": ({"name", "time", "classname"}, {"skipped", "error", "failure", "system-out", "system-err"}),
        "failure": ({"message", "type"}, set()),
        "error": ({"message", "type"}, set()),
        "system-out": (set(), set()),
    }
    status, _ = run(tmp_path, PASSING, "-n", "2", "--junitxml=theirs.xml", PYTHONIOENCODING="cp1252")
    assert status == pytest.ExitCode.TESTS_FAILED
    ours = ET.parse(latest_run(tmp_path) / "junit.xml").getroot()
    for element in ours.iter():
        attributes, children = allowed[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {child.tag for child in element} <= children
    values = {p.get("name"): p.get("value") for p in ours.iter("property")}
    assert values["voicebench.planned"] == "3"
    assert values["travel_01.pass_at_1"] == "True"
    assert values["travel_02.folder"] == "items/travel_02"
    assert values["travel_03.error_kind"] == "agent_absent"
    cases = [c.get("name") for c in ours.iter("testcase")]
    assert sorted(cases) == [f"scenario[travel_0{n}]" for n in (1, 2, 3)]
    theirs = ET.parse(tmp_path / "theirs.xml").getroot()
    run_wide = {p.get("name"): p.get("value") for p in theirs.find("testsuite/properties")}
    assert {k: v for k, v in values.items() if k.startswith("voicebench.")} == run_wide


def test_a_repository_without_suites_does_not_notice_the_plugin(tmp_path):
    (tmp_path / "test_theirs.py").write_text("def test_one(): pass\ndef test_two(): assert 0\n")
    (tmp_path / "docker-compose.yaml").write_text("services: {}\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    heavy = {'numpy', 'pydantic', 'jsonschema', 'soundfile', 'soxr', 'yaml', 'openai', 'livekit'}\n"
        "    print('heavy:', sorted(heavy & set(sys.modules)))\n"
        "    print('ours:', sorted(m for m in sys.modules if m.startswith('pytest_voicebench')))\n"
    )
    before = sorted(p.name for p in tmp_path.iterdir())
    texts = []
    for more in ([], ["-p", "no:pytest_voicebench.plugin"]):
        status, text = run(tmp_path, "-W", "error", "-q", "-p", "no:cacheprovider", *more, PYTHONDONTWRITEBYTECODE="1")
        assert status == pytest.ExitCode.TESTS_FAILED
        texts.append([line for line in text.splitlines() if not line.startswith(("ours:", "1 failed"))])
        assert "heavy: []" in text
    assert texts[0] == texts[1]
    ours = [f"pytest_voicebench.plugin{m}" for m in ("", ".attempt", ".collect", ".options", ".run", ".run_folder")]
    ours = ["pytest_voicebench", *ours, "pytest_voicebench.whole_numbers"]
    assert f"ours: {ours}" in run(tmp_path, "-q", "-p", "no:cacheprovider", "-k", "one")[1]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == before


def test_a_mixed_run_beside_async_tests_in_auto_mode_works(tmp_path):
    suite(tmp_path, 1)
    (tmp_path / "test_theirs.py").write_text(
        "import asyncio\nasync def test_async(): await asyncio.sleep(0)\ndef test_sync(): pass\n"
    )
    status, text = run(tmp_path, PASSING, "-W", "error", "-o", "asyncio_mode=auto", "-n", "0")
    assert status == 0, text
    assert outcomes(tmp_path) == {"travel_01": ("passed", None)}
    assert "3 passed" in text


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_shows_which_conversation_is_held_and_a_file_does_not(tmp_path):
    import pty

    suite(tmp_path, 2)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(PASSING, plugins=()), cwd=tmp_path, env=environment(TERM="xterm"), stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    assert process.returncode == 0, shown
    assert b"\x1b7 1/2 travel_01" in shown
    assert b"\x1b7 2/2 travel_02" in shown
    assert "travel_01" not in run(tmp_path, PASSING, plugins=())[1]
