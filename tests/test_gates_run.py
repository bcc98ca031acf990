"""Gates and a baseline in whole runs: exit statuses, JUnit files, usage errors; with and without workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from strict_junit import strict_errors
from suites_for_pytest import (
    PASSING,
    SILENT,
    XDIST,
    command,
    environment,
    heed_ctrl_c,
    latest_run,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

OK, FAILED, INTERRUPTED, USAGE = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.USAGE_ERROR,
)
GATE = "--voicebench-gate"
WAYS = (["-p", "no:xdist"], ["-n", "0"], ["-n", "2"])

STALE = "--agent=simulated,behaviour=stale_commit"
"""Misses travel_02, which has something taken back, and passes the others."""

TAKEN_BACK = "speakers: [a]\n    retracted:\n      - {tool: search_flights, args: {destination: Rome}, until: to Milan}"

DEAD = """
@pytest.fixture
def agent(agent, scenario):
    if scenario.id == "travel_03": raise ConnectionError("nobody")
    return agent
"""
"""travel_03 is an error."""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process."""
    return pytest_in_process(pytester, monkeypatch)


def suite(folder: Path, n: int = 4, conftest: str = "") -> Path:
    write_conftest(folder, conftest)
    missed = {2: {"more": TAKEN_BACK}}
    write_suite(folder / "suites", *(scenario_yaml(f"travel_{i:02}", **missed.get(i, {})) for i in range(1, n + 1)))
    return folder


def gates_of(folder: Path) -> list[tuple[str, bool | None]]:
    return [(gate["expression"], gate["holds"]) for gate in summary_of(folder)["gates"]]


def cases(path: Path) -> dict[str, str]:
    """The gates among the test cases: name -> passed, or the tag of what else."""
    found = [case for case in ET.parse(path).iter("testcase") if case.get("classname") == "voicebench.gates"]
    return {str(case.get("name")): case[0].tag if len(case) else "passed" for case in found}


@pytest.mark.parametrize(
    ("conftest", "gates", "more", "status"),
    [
        ("", [], [], FAILED),
        ("", [], ["-k", "travel_01"], OK),
        ("", ["pass_at_1 >= 0.7"], [], OK),
        ("", ["pass_at_1 >= 0.8"], [], FAILED),
        ("", ["pass_at_1 >= 0.7", "must_pass(travel_02)"], [], FAILED),
        ("", ["pass_at_1 >= 0.7", "usd <= 1"], [], OK),
        ("", ["pass_at_1 >= 0.7", "usd <= 1"], ["--voicebench-strict"], FAILED),
        (DEAD, ["pass_at_1 >= 0.5"], [], FAILED),  # the error is no miss
        (DEAD, ["pass_at_1 >= 0.5", "errors <= 1"], [], OK),
        (DEAD, ["pass_at_1 >= 0.5", "errors <= 0"], [], FAILED),
        (DEAD, ["pass_at_1 >= 0.5", "easy.errors <= 1"], [], FAILED),  # says nothing of all items
        ("", ["pass_at_1 >= 0.1"], ["-x"], FAILED),
        ("", ["pass_at_1 >= 0.1"], ["--maxfail=1"], FAILED),
        ("", ["pass_at_1 >= 0.1"], ["-k", "travel_01"], OK),
        ("", ["must_pass(travel_02)"], ["-k", "travel_01"], OK),
        ("", ["must_pass(travel_02)"], ["-k", "travel_01", "--voicebench-strict"], FAILED),
        ("", ["pass_at_1 >= 0.9"], ["--collect-only"], OK),
    ],
)
def test_gates_decide_the_exit_status(pytester, run, conftest, gates, more, status):
    suite(pytester.path, conftest=conftest)
    result = run(STALE, *(word for gate in gates for word in (GATE, gate)), *more)
    assert result.ret == status


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test_own.py", "def test_own(): assert False"),
        ("test_own.py", "import nothing_of_that_name"),
        ("test_own.py", "import pytest\n@pytest.fixture\ndef bad(): 1 / 0\ndef test_own(bad): pass"),
    ],
)
def test_what_else_fails_still_fails(pytester, run, name, text):
    suite(pytester.path)
    (pytester.path / name).write_text(text)
    gate = (STALE, GATE, "pass_at_1 >= 0.7", "--continue-on-collection-errors")
    assert run(*gate).ret == FAILED
    assert run(*gate, "suites").ret == OK


def test_a_fixture_of_a_missed_scenario_that_fails_afterwards_still_fails(pytester, run):
    after = (
        "\n@pytest.fixture(autouse=True)\ndef cleanup(scenario):\n    yield\n    assert scenario.id != 'travel_02'\n"
    )
    suite(pytester.path, conftest=after)
    assert run(STALE, GATE, "pass_at_1 >= 0.7").ret == FAILED


def test_gates_without_a_scenario_have_not_held(pytester, run):
    write_conftest(pytester.path)
    (pytester.path / "test_own.py").write_text("def test_own(): pass")
    result = run(GATE, "pass_at_1 >= 0.7")
    assert result.ret == FAILED
    result.stdout.fnmatch_lines(["voicebench: --voicebench-gate: no scenario ran, so no gate holds"])
    (pytester.path / "pytest.ini").write_text("[pytest]\nvoicebench_gates =\n    pass_at_1 >= 0.7\n")
    assert run().ret == OK  # tests of other things in a project that has gates


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_missed_scenarios_stay_red_and_gates_stand_everywhere_alike(tmp_path, way):
    suite(tmp_path)
    plugins = () if "no:xdist" in way else XDIST
    gates = ["pass_at_1 >= 0.7", "must_pass(travel_02)", "usd <= 1"]
    status, text = run_apart(
        tmp_path, STALE, *way, *(word for gate in gates for word in (GATE, gate)), "--junitxml=own.xml", plugins=plugins
    )
    assert status == FAILED
    assert "1 failed, 3 passed" in text
    assert "Gates: 1 holds, 1 fails, 1 cannot be told" in text
    assert "voicebench: gate FAILS: must_pass(travel_02): 0 of 1 passed; travel_02 failed" in text
    assert gates_of(tmp_path) == [(gates[0], True), (gates[1], False), (gates[2], None)]
    for path in (tmp_path / "own.xml", latest_run(tmp_path) / "junit.xml"):
        assert cases(path) == {gates[0]: "passed", gates[1]: "failure", gates[2]: "skipped"}
        assert ET.parse(path).find("testsuite").get("tests") == "7"
    assert strict_errors(latest_run(tmp_path) / "junit.xml") == []


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_gates_decide_with_and_without_workers(tmp_path, way):
    suite(tmp_path, conftest=DEAD)
    plugins = () if "no:xdist" in way else XDIST
    holds = [GATE, "pass_at_1 >= 0.6", GATE, "errors <= 1"]
    status, text = run_apart(tmp_path, STALE, *way, *holds, plugins=plugins)
    assert status == OK, text
    assert "1 failed, 2 passed, 1 error" in text
    status, text = run_apart(tmp_path, STALE, *way, GATE, "pass_at_1 >= 0.6", plugins=plugins)
    assert status == FAILED, text


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_stale_commit_against_the_oracle_is_told_alike_everywhere(tmp_path, way):
    write_conftest(tmp_path)
    write_suite(
        tmp_path / "suites",
        *(scenario_yaml(f"travel_{i:02}", more=TAKEN_BACK if i > 3 else "speakers: [a]") for i in range(1, 11)),
    )
    plugins = () if "no:xdist" in way else XDIST
    assert run_apart(tmp_path, *way, PASSING, plugins=plugins)[0] == OK
    shutil.copy(latest_run(tmp_path) / "results.jsonl", tmp_path / "main.jsonl")
    gate = "no_regression(pass_at_1)"
    status, text = run_apart(
        tmp_path, *way, STALE, "--voicebench-baseline=main.jsonl", GATE, gate, "--junitxml=own.xml", plugins=plugins
    )
    assert status == FAILED
    row = summary_of(tmp_path)["baseline"]["agents"][0]["metrics"][0]
    assert (row["metric"], row["verdict"], row["effect"], row["p"]) == ("pass_at_1", "regressed", -0.7, 1 / 128)
    assert gates_of(tmp_path) == [(gate, False)]
    (line,) = [line for line in text.splitlines() if line.startswith("  pass_at_1 ")]
    assert line.split()[:6] == ["pass_at_1", "regressed", "1.000", "0.300", "-0.700", f"{row['low']:+.2f},"]
    assert "newly failed (7): travel_04, " in text
    for path in (tmp_path / "own.xml", latest_run(tmp_path) / "junit.xml"):
        assert cases(path) == {gate: "failure"}
        assert "regressed: -0.700" in path.read_text()


def test_the_summary_is_the_same_in_every_way(tmp_path):
    suite(tmp_path, 6)
    run_apart(tmp_path, PASSING, "-p", "no:xdist", plugins=())
    shutil.copy(latest_run(tmp_path) / "results.jsonl", tmp_path / "main.jsonl")
    seen = set()
    for way in WAYS:
        plugins = () if "no:xdist" in way else XDIST
        run_apart(tmp_path, STALE, *way, "--voicebench-baseline=main.jsonl", GATE, "no_regression(f1)", plugins=plugins)
        data = summary_of(tmp_path)
        seen.add(json.dumps({"baseline": data["baseline"], "gates": data["gates"]}))
    assert len(seen) == 1


def test_latest_is_the_run_before_this_one(pytester, run):
    suite(pytester.path, 2)
    run(PASSING)
    first = latest_run(pytester.path).name
    run(SILENT, "--voicebench-baseline=latest")
    assert summary_of(pytester.path)["baseline"]["run"] == first
    assert summary_of(pytester.path)["baseline"]["agents"][0]["newly_failed"] == ["travel_01", "travel_02"]


def test_a_baseline_alone_leaves_the_exit_status_to_pytest(pytester, run):
    suite(pytester.path, 2)
    run(SILENT)
    assert run(PASSING, "--voicebench-baseline=latest").ret == OK
    assert run(SILENT, "--voicebench-baseline=latest").ret == FAILED


def test_ctrl_c_stays_an_interruption_and_what_is_not_settled_cannot_be_told(tmp_path):
    hang = """
    import time, pathlib
    def pytest_runtest_setup(item):
        if "travel_03" in item.name:
            pathlib.Path("hangs").touch()
            time.sleep(600)
    """
    suite(tmp_path, 4, hang)
    gates = [GATE, "pass_at_1 >= 0.1", GATE, "must_pass(travel_01)"]
    process = subprocess.Popen(
        command(PASSING, *gates, plugins=()), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    while not (tmp_path / "hangs").exists() and process.poll() is None:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    output = process.communicate(timeout=120)[0].decode()
    assert process.returncode == INTERRUPTED, output
    assert gates_of(tmp_path) == [("pass_at_1 >= 0.1", None), ("must_pass(travel_01)", True)]
    assert "2 of 4 items never ran" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [GATE, "pass_at1 >= 0.5"],
            "--voicebench-gate 'pass_at1 >= 0.5': column 1: there is no metric pass_at1; did you",
        ),
        ([GATE, "no_regression(f1)"], "--voicebench-gate 'no_regression(f1)': needs --voicebench-baseline FILE|RUN"),
        ([GATE, "must_pass(travel_09)"], "column 11: there is no scenario travel_09; did you mean"),
        ([GATE, "eazy.f1 >= 0.5"], 'column 1: there is no group eazy; did you mean "easy"?'),
        ([GATE, "pass_hat_3 >= 0.9"], "column 1: the run holds each item once: --voicebench-trials=3"),
        (
            ["-o", "voicebench_gates=pass_hat_5 >= 0.9", "--voicebench-trials=3"],
            "voicebench_gates: 'pass_hat_5 >= 0.9': column 1: the run holds 3 trials of each item",
        ),
        (["--voicebench-baseline=gone"], "--voicebench-baseline: gone: no such file, and no such run in "),
        (["--voicebench-baseline=latest"], "--voicebench-baseline: latest: no other finished run in "),
    ],
)
def test_a_mistake_is_a_usage_error_before_anything_runs(pytester, run, arguments, message):
    suite(pytester.path, 1)
    result = run(PASSING, *arguments)
    assert result.ret == USAGE
    printed = result.stderr.str() + result.stdout.str()
    (line,) = [line for line in printed.splitlines() if "column" in line or "voicebench-baseline" in line]
    assert message in line
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_a_damaged_baseline_is_a_usage_error_before_anything_runs(tmp_path, way):
    suite(tmp_path, 2)
    plugins = () if "no:xdist" in way else XDIST
    run_apart(tmp_path, PASSING, plugins=plugins)
    log = latest_run(tmp_path) / "results.jsonl"
    log.write_text(log.read_text().replace('"passed"', '"great"', 1))
    shutil.copy(log, tmp_path / "main.jsonl")
    for given in (latest_run(tmp_path).name, "main.jsonl", "latest"):
        status, text = run_apart(tmp_path, *way, PASSING, f"--voicebench-baseline={given}", plugins=plugins)
        assert status == USAGE
        assert "ERROR: --voicebench-baseline: " in text
        assert "l:1: outcome: expected one of" in text
    with (tmp_path / "pytest.ini").open("a") as ini:
        ini.write("voicebench_baseline = latest\n")
    assert run_apart(tmp_path, *way, PASSING, plugins=plugins)[0] == USAGE  # no run yet is another thing
    assert len([path for path in (tmp_path / "reports").iterdir() if path.is_dir()]) == 1


def test_a_name_that_no_scenario_has_is_one_usage_error_from_workers_too(tmp_path):
    suite(tmp_path, 2)
    status, text = run_apart(tmp_path, PASSING, "-n", "2", GATE, "must_pass(travel_09)")
    assert status == USAGE
    assert text.count("there is no scenario travel_09") == 1
    assert "INTERNALERROR" not in text


def gated_by_ini(folder, *gates):
    """Two suite files and gates in the ini file, the first on line 4."""
    suite(folder, 3)
    write_suite(folder / "suites", scenario_yaml("finance_01", difficulty="hard"), name="finance.yaml")
    head = "[pytest]\nasyncio_default_fixture_loop_scope = session\nvoicebench_gates =\n"
    (folder / "pytest.ini").write_text(head + "".join(f"    {gate}\n" for gate in gates))


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("must_pass(travel_91)", "column 11: there is no scenario travel_91; did you mean"),
        ("must_pass(travel_01, finance_10)", "column 22: there is no scenario finance_10; did you mean"),
        ("must_pass(travel_01-x)", "column 11: there is no scenario travel_01-x"),
        ("hrad.pass_at_1 >= 0.5", 'column 1: there is no group hrad; did you mean "hard"?'),
        ("no_regression(hrad.f1)", 'column 15: there is no group hrad; did you mean "hard"?'),
    ],
)
@pytest.mark.parametrize(
    "more", [["suites/travel.yaml"], ["suites"], ["-k", "travel_01"], ["--voicebench-shard=1/2"]], ids=" ".join
)
def test_a_name_in_the_ini_file_that_no_suite_has_is_a_usage_error(pytester, run, gate, told, more):
    gated_by_ini(pytester.path, gate)
    result = run(PASSING, *more)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"ERROR: pytest.ini:4: '{gate}': {told.replace('?', '[?]')}*"])
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize(
    "gate",
    ["must_pass(finance_01)", "must_pass(grok-finance_01-2)", "hard.pass_at_1 >= 0.5"],
)
@pytest.mark.parametrize("more", [["suites/travel.yaml"], ["-k", "travel_01"]], ids=" ".join)
def test_a_name_of_another_suite_is_not_in_this_run_and_neither_holds_nor_fails(pytester, run, gate, more):
    gated_by_ini(pytester.path, gate)
    result = run(PASSING, *more)
    assert result.ret == OK
    assert gates_of(pytester.path) == [(gate, None)]
    result.stdout.fnmatch_lines(["*in this run: *", "voicebench: inconclusive: 1 of 1 gate cannot be told"])
    assert run(PASSING, *more, "--voicebench-strict").ret == FAILED


def test_where_another_suite_cannot_be_read_nobody_knows_its_names(pytester, run):
    gated_by_ini(pytester.path, "must_pass(finance_10)")
    (pytester.path / "suites" / "finance.yaml").write_text("voicebench: 1\nnonsense: [\n")
    assert run(PASSING, "suites/travel.yaml").ret == OK
    assert gates_of(pytester.path) == [("must_pass(finance_10)", None)]


def test_a_typed_gate_may_name_what_was_collected_and_is_not_selected(pytester, run):
    gated_by_ini(pytester.path, "pass_at_1 >= 0.1")
    assert run(PASSING, "-k", "travel_01", GATE, "must_pass(finance_01)").ret == OK
    result = run(PASSING, "suites/travel.yaml", GATE, "must_pass(finance_01)")
    assert result.ret == USAGE  # it cannot be meant for this command


def test_gates_of_the_ini_file_count_and_their_mistakes_have_a_line(pytester, run):
    suite(pytester.path)
    ini = pytester.path / "pytest.ini"
    head = "[pytest]\nasyncio_default_fixture_loop_scope = session\nvoicebench_gates =\n"
    ini.write_text(head + "    pass_at_1 >= 0.7\n    must_pass(travel_02)\n")
    assert run(STALE).ret == FAILED
    assert summary_of(pytester.path)["gates"][1]["source"] == "pytest.ini:5"
    assert run(STALE, "-k", "travel_01").ret == OK  # of what is not in this run nothing is told
    assert run(STALE, GATE, "argument_accuracy >= 0.99", "-o", "voicebench_gates=pass_at_1 >= 0.7").ret == FAILED
    ini.write_text(head + "    pass_at_1 >= 0.7\n    hard.pass_at_1 > 40%\n")
    result = run(STALE)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(
        ["*pytest.ini:5: 'hard.pass_at_1 > 40%': column 20: write a share as a fraction: 0.55, not 55%"]
    )


def test_the_baseline_of_the_ini_file_lies_beside_it(pytester, run):
    suite(pytester.path, 2)
    run(PASSING)
    shutil.copy(latest_run(pytester.path) / "results.jsonl", pytester.path / "main.jsonl")
    with (pytester.path / "pytest.ini").open("a") as ini:
        ini.write("voicebench_baseline = main.jsonl\nvoicebench_gates = no_regression(pass_at_1)\n")
    assert run(PASSING).ret == OK
    (gate,) = summary_of(pytester.path)["gates"]
    assert (gate["holds"], gate["source"]) == (None, "pytest.ini:4")  # two pairs tell nothing
    assert run(PASSING, "--voicebench-strict").ret == FAILED


def test_a_rescored_run_is_held_against_its_baseline(pytester, run):
    suite(pytester.path, 6)
    run(PASSING)
    good = latest_run(pytester.path).name
    run(SILENT)
    result = run("--voicebench-rescore=latest", f"--voicebench-baseline={good}", GATE, "no_regression(pass_at_1)")
    assert result.ret == FAILED
    assert gates_of(pytester.path) == [("no_regression(pass_at_1)", False)]


@pytest.mark.parametrize("gate", [[GATE, "pass_at_1 >= 0.1"], []])
def test_deciding_that_breaks_off_leaves_every_file_and_an_exit_status_of_one(pytester, run, monkeypatch, gate):
    suite(pytester.path, 2)
    run(PASSING)

    def broken(*_):
        raise OverflowError("too large")

    monkeypatch.setattr("pytest_voicebench.gating.compare_with_baseline", broken)
    result = run(PASSING, "--voicebench-baseline=latest", *gate)
    assert result.ret == FAILED
    told = "voicebench: gate FAILS: *: n/a; deciding broke off, please report it: OverflowError: too large"
    result.stdout.fnmatch_lines([told])
    assert summary_of(pytester.path)["counts"]["passed"] == 2
    assert (latest_run(pytester.path) / "junit.xml").is_file()


@pytest.mark.parametrize("name", ["summary.json", "summary.md", "manifest.json", "junit.xml", "report.html"])
@pytest.mark.parametrize(("gates", "status"), [([GATE, "pass_at_1 >= 0.1"], FAILED), ([], OK)])
def test_a_decision_that_a_file_cannot_hold_is_no_success(pytester, run, name, gates, status):
    in_the_way = f"""
        def pytest_runtest_logstart():
            import pathlib
            (folder,) = (path for path in pathlib.Path("reports").iterdir() if path.is_dir())
            (folder / {name!r}).unlink(missing_ok=True)
            (folder / {name!r}).mkdir()
        """
    suite(pytester.path, n=1, conftest=in_the_way)
    result = run("--agent=simulated", *gates)
    assert result.ret == status
    text = result.stdout.str()
    assert "Traceback" not in text
    assert f"{name}: Is a directory" in text
    assert ("what was decided is not in all files of the run" in text) == (status == FAILED)
    whole = {"summary.json", "summary.md", "manifest.json", "junit.xml", "report.html"} - {name}
    assert whole <= {path.name for path in latest_run(pytester.path).iterdir() if path.is_file()}
