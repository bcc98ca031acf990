"""What was decided is the same in every output, from one run, from workers and from shards that were merged."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from suites_for_pytest import PASSING, latest_run, run_apart, scenario_yaml, summary_of, write_suite

from pytest_voicebench.commands import merge

STALE = "--agent=simulated,behaviour=stale_commit"
TAKEN_BACK = "speakers: [a]\n    retracted:\n      - {tool: search_flights, args: {destination: Rome}, until: to Milan}"
GATES = ("pass_at_1 >= 0.9", "no_regression(pass_at_1)", "errors <= 0")
SHARDS = 8


@pytest.fixture
def folder(tmp_path):
    """Twelve scenarios, of which eight have something taken back, and a baseline that passed them all."""
    texts = [scenario_yaml(f"travel_{n:02}", more=TAKEN_BACK if n <= 8 else "speakers: [a]") for n in range(1, 13)]
    write_suite(tmp_path / "suites", *texts)
    status, text = run_apart(tmp_path, PASSING)
    assert status == 0, text
    latest_run(tmp_path).rename(tmp_path / "baseline")
    return tmp_path


def decided(summary):
    """What a summary decides, without where it was asked."""
    gates = [{**gate, "source": ""} for gate in summary["gates"]]
    return summary["baseline"], gates


def in_one_run(folder, *ways):
    status, text = run_apart(
        folder, STALE, "--voicebench-baseline=baseline", *(f"--voicebench-gate={gate}" for gate in GATES), *ways
    )
    assert status == 1, text
    return latest_run(folder), text


def in_shards(folder, monkeypatch, capsys):
    for number in range(1, SHARDS + 1):
        ways = ["-n", "2"] if number == 1 else []
        run_apart(folder, STALE, f"--voicebench-shard={number}/{SHARDS}", "--voicebench-reports=shards", *ways)
    monkeypatch.chdir(folder)
    shards = [str(path) for path in sorted((folder / "shards").iterdir()) if path.is_dir()]
    asked = [word for gate in GATES for word in ("--gate", gate)]
    status = merge.run([*shards, "--out", "whole", "--baseline", "baseline", *asked])
    assert status == 1
    return folder / "whole", capsys.readouterr().out


def test_the_decision_is_the_same_in_workers_and_from_eight_shards(folder, monkeypatch, capsys):
    alone, told_alone = in_one_run(folder, "-p", "no:xdist")
    workers, _ = in_one_run(folder, "-n", "2")
    merged, told_merged = in_shards(folder, monkeypatch, capsys)
    summaries = [json.loads((run / "summary.json").read_bytes()) for run in (alone, workers, merged)]
    assert decided(summaries[0]) == decided(summaries[1]) == decided(summaries[2])
    assert [gate["holds"] for gate in summaries[0]["gates"]] == [False, False, True]
    assert summary_of(folder)["baseline"]["agents"][0]["newly_failed"] == [f"travel_{n:02}" for n in range(1, 9)]
    for run, told in ((alone, told_alone), (merged, told_merged)):
        assert "regressed" in told
        assert "regressed" in (run / "summary.md").read_text()
        assert "regressed" in (run / "report.html").read_text()
        cases = ET.parse(run / "junit.xml").iter("testcase")
        gates = {
            case.get("name"): case.find("failure") is not None for case in cases if "gate" in case.get("classname")
        }
        assert gates == {gate: not holds for gate, holds in zip(GATES, (False, False, True), strict=True)}


INI = """[pytest]
voicebench_baseline = baseline
voicebench_gates =
    pass_at_1 >= 0.99
    no_regression(pass_at_1)
"""


def of_ini(folder, monkeypatch):
    """Two shards, run with gates and a baseline in the ini file; the words of their merge."""
    (folder / "pytest.ini").write_text(INI)
    for number in (1, 2):
        run_apart(folder, STALE, f"--voicebench-shard={number}/2", "--voicebench-reports=shards")
    monkeypatch.chdir(folder)
    return [*(str(path) for path in sorted((folder / "shards").iterdir()) if path.is_dir()), "--out", "whole"]


def test_the_gates_of_the_ini_file_are_asked_of_what_its_shards_make(folder, monkeypatch, capsys):
    shards = of_ini(folder, monkeypatch)
    (folder / "pytest.ini").unlink()  # as on a machine without the repository
    assert merge.run([*shards, "--gate", "errors <= 0"]) == 1
    gates = json.loads((folder / "whole" / "summary.json").read_bytes())["gates"]
    assert [(gate["expression"], gate["holds"], gate["source"]) for gate in gates] == [
        ("pass_at_1 >= 0.99", False, "pytest.ini:4"),
        ("no_regression(pass_at_1)", False, "pytest.ini:5"),
        ("errors <= 0", True, "--gate"),
    ]
    (folder / "baseline").rename(folder / "elsewhere")
    assert merge.run([*shards[:-1], "again"]) == 2
    told = "no such run in reports (voicebench_baseline of the ini file: merge where that file is, or give --baseline)"
    assert told in capsys.readouterr().err
    assert merge.run([*shards[:-1], "again", "--baseline", "elsewhere"]) == 1


def test_shards_with_other_gates_are_not_merged(folder, monkeypatch, capsys):
    shards = of_ini(folder, monkeypatch)
    (folder / "pytest.ini").write_text(INI.replace("0.99", "0.5"))
    run_apart(folder, STALE, "--voicebench-shard=2/2", "--voicebench-reports=others")
    other = next(path for path in (folder / "others").iterdir() if path.is_dir())
    assert merge.run([shards[0], str(other), "--out", "whole"]) == 2
    assert "gates and baseline of the ini file" in capsys.readouterr().err


def test_a_shard_decides_nothing(folder):
    status, text = run_apart(folder, STALE, "--voicebench-shard=1/8", "--voicebench-gate=errors <= 0")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "one shard decides nothing; give --gate to `python -m pytest_voicebench merge`" in text
    (folder / "pytest.ini").write_text("[pytest]\nvoicebench_gates =\n    pass_at_1 >= 0.99\n")
    run_apart(folder, STALE, "--voicebench-shard=1/8")
    assert summary_of(folder)["gates"] == []
