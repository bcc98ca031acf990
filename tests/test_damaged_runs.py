"""Runs that cannot be read whole: no decision rests on them, and every command and every file says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from results import a_result, a_run

from pytest_voicebench.__main__ import main
from pytest_voicebench.decisions import GateResult
from pytest_voicebench.regression import compare_with_baseline
from pytest_voicebench.regression.baseline import load_baseline
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RESULTS_NAME, RunUnreadable, drop_torn_end, read_results
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.summary_json import load_summary

ITEMS = 60


def item(number: int, outcome: str = "passed") -> Result:
    result = a_result(f"s{number}", outcome)  # type: ignore[arg-type]
    return replace(result, facts=replace(result.facts, scenario_id=f"s{number}"))


def log_of(folder: Path) -> Path:
    return folder / RESULTS_NAME


def torn(log: Path) -> None:
    """The second line ends in the middle."""
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([lines[0], lines[1][:40], *lines[2:]]))


def changed(log: Path) -> None:
    """The second line names an outcome that there is not; its item is known."""
    first, second, *rest = log.read_text().split("\n")
    log.write_text("\n".join([first, second.replace('"passed"', '"great"'), *rest]))


def besides(log: Path) -> None:
    """A line too many: every item has its result, and nobody knows what the line said."""
    first, *rest = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([first, b'{"item_id":"s0","outco', *rest]))


DAMAGES = [torn, changed, besides]


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`main` and `run`, which both passed everything."""
    monkeypatch.chdir(tmp_path)
    for name in ("main", "run"):
        a_run(tmp_path / "reports" / name, *map(item, range(ITEMS)))
    return tmp_path / "reports"


def gates(folder: Path) -> list[GateResult]:
    return list(load_summary(folder).gates)


# --- a baseline -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("given", ["reports/main", "main", "reports/main/results.jsonl", "kept.jsonl"])
def test_a_damaged_baseline_is_refused_with_its_line(
    reports: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], given: str
) -> None:
    damage(log_of(reports / "main"))
    Path("kept.jsonl").write_bytes(log_of(reports / "main").read_bytes())
    assert main(["report", "run", "--baseline", given, "--gate", "no_regression(pass_at_1)"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("report: ")
    assert f"{'kept' if 'kept' in given else 'results'}.jsonl:2: " in line
    assert line.endswith("give another run, or take that line out")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\x00\xff\xfe" * 400, b"\x89PNG\r\n\x1a\n" * 50, b"no results\n"])
@pytest.mark.parametrize("given", ["reports/main", "main", "kept.jsonl"])
def test_a_baseline_without_results_is_refused_in_a_folder_as_it_is_alone(
    reports: Path, capsys: pytest.CaptureFixture[str], content: bytes, given: str
) -> None:
    log_of(reports / "main").write_bytes(content)
    Path("kept.jsonl").write_bytes(content)
    assert main(["report", "run", "--baseline", given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "main" in line or "kept.jsonl" in line
    assert len(line) < 400


def test_a_baseline_that_measured_nothing_is_refused(reports: Path) -> None:
    a_run(reports / "dead", a_result("s0", "error"), planned=(a_result("s1"),))
    for given in ("dead", "reports/dead/results.jsonl"):
        with pytest.raises(RunUnreadable, match="no item was measured"):
            load_baseline(given, reports)


def test_a_baseline_is_taken_again_once_the_line_is_out(reports: Path) -> None:
    log = log_of(reports / "main")
    torn(log)
    log.write_bytes(b"".join(line for n, line in enumerate(log.read_bytes().splitlines(keepends=True)) if n != 1))
    assert main(["report", "run", "--baseline", "main", "--gate", "no_regression(pass_at_1)"]) == 0
    assert gates(reports / "run")[0].holds is True
    assert load_summary(reports / "run").baseline.unmeasured == ("s1",)  # type: ignore[union-attr]


def test_two_runs_of_which_one_is_damaged_are_not_compared(reports: Path) -> None:
    torn(log_of(reports / "main"))
    runs = load_run(reports / "main"), load_run(reports / "run")
    for before, after in (runs, runs[::-1]):
        found = compare_with_baseline(before, after)
        assert found.refused is not None
        assert found.refused.startswith("main could not be read whole: main/results.jsonl:2: torn")
        assert found.agents == ()


# --- the run itself ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "status", "strict"),
    [(torn, 1, 1), (changed, 1, 1), (besides, 0, 1)],  # an item that is lost fails by itself
)
def test_no_gate_holds_of_a_damaged_run_and_every_output_says_so(
    reports: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], status: int, strict: int
) -> None:
    damage(log_of(reports / "run"))
    asked = ["report", "run", "--baseline", "main", "--gate", "pass_at_1 >= 0.5", "--gate", "no_regression(pass_at_1)"]
    asked += ["--gate", "must_pass(s5)"]
    assert main(asked) == status
    told = capsys.readouterr()
    assert [gate.holds for gate in gates(reports / "run")] == [None, None, None]
    assert "results.jsonl:2: " in (gates(reports / "run")[2].why or "")
    assert "note: " in told.err
    for text in (told.out, *((reports / "run" / name).read_text() for name in ("summary.md", "report.html"))):
        assert "could not be read whole" in " ".join(text.split())
    assert str(reports) not in (reports / "run" / "summary.json").read_text()
    assert main([*asked[:6], "--strict"]) == strict


def test_a_gate_that_fails_of_a_damaged_run_still_fails(reports: Path) -> None:
    besides(log_of(reports / "run"))
    assert main(["report", "run", "--gate", "failed >= 3"]) == 1
    assert [gate.holds for gate in gates(reports / "run")] == [False]


def test_gates_that_were_decided_before_the_damage_do_not_hold_after_it(reports: Path) -> None:
    assert main(["report", "run", "--gate", "pass_at_1 >= 0.5"]) == 0
    besides(log_of(reports / "run"))
    assert main(["report", "run"]) == 0
    assert "could not be read whole" in (reports / "run" / "summary.md").read_text()
    assert "all gates hold" not in (reports / "run" / "summary.md").read_text()


def test_of_very_many_damaged_lines_the_first_are_told_and_how_many_there_are(reports: Path) -> None:
    log_of(reports / "run").write_bytes(b"\x89PNG\n" * 5000)
    run = load_run(reports / "run")
    assert len(run.notes) == 6
    assert run.notes[-1].endswith("results.jsonl: 5000 such lines in all")
    assert (run.damage or "").endswith("(and 4999 more)")
    assert run.summary().counts.not_run == ITEMS


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
def test_compare_never_calls_a_damaged_run_the_same(
    reports: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    assert main(["compare", "main", "run"]) == 0
    damage(log_of(reports / "main"))
    assert main(["compare", "main", "run"]) == 1
    assert "main could not be read whole: main/results.jsonl:2: " in " ".join(capsys.readouterr().out.split())
    assert main(["compare", "main", "run", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["damaged"][0].startswith("main could not be read whole")


@pytest.mark.parametrize("form", [[], ["--html"]])
def test_a_leaderboard_names_a_damaged_run_in_the_table_itself(
    reports: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    torn(log_of(reports / "main"))
    assert main(["leaderboard", "main", "run", *form]) == 0
    assert "main could not be read whole" in capsys.readouterr().out.replace("\\", "")


@pytest.mark.parametrize("kind", ["csv", "ctrf"])
@pytest.mark.parametrize("out", [[], ["--out", "file"]])
def test_an_export_of_a_damaged_run_says_so(
    reports: Path, capsys: pytest.CaptureFixture[str], kind: str, out: list[str]
) -> None:
    log_of(reports / "run").write_bytes(b"\x89PNG\n")
    assert main(["export", kind, "run", *out]) == 0
    assert "note: reports/run/results.jsonl:1: torn line left out" in capsys.readouterr().err


def test_a_case_of_a_damaged_run_says_so(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn(log_of(reports / "run"))
    assert main(["case", "s5", "run", "main"]) == 0
    assert "note: reports/run/results.jsonl:2: torn line left out" in capsys.readouterr().err


def test_a_rerun_laid_over_a_damaged_run_leaves_it_undecided(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn(log_of(reports / "run"))
    a_run(reports / "rerun", item(1))
    assert main(["merge", "run", "--replace", "rerun", "--gate", "pass_at_1 >= 0.5", "--out", "whole"]) == 0
    assert "could not be read whole" in " ".join(capsys.readouterr().out.split())
    assert [gate.holds for gate in gates(Path("whole"))] == [None]
    assert main(["report", "main", "--baseline", "whole"]) == 2
    assert main(["merge", "run", "--replace", "rerun", "--gate", "pass_at_1 >= 0.5", "--out", "again", "--strict"]) == 1


# --- a file in place of a run -----------------------------------------------------------------------------------------


def test_a_results_file_stands_for_a_run_wherever_a_run_is_only_read(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("kept.jsonl").write_bytes(log_of(reports / "main").read_bytes())
    Path("kept.jsonl").chmod(0o444)
    assert main(["compare", "kept.jsonl", "run"]) == 0
    told = capsys.readouterr().out
    assert "60 items compared: 60 are the same." in told
    assert "versions." not in told
    assert main(["compare", "reports/main/results.jsonl", "reports/run/summary.json"]) == 2  # it has none yet
    assert main(["leaderboard", "kept.jsonl", "run"]) == 0
    assert main(["case", "s5", "kept.jsonl"]) == 0
    assert main(["export", "csv", "kept.jsonl"]) == 0
    capsys.readouterr()
    assert main(["export", "parquet", "kept.jsonl"]) == 2
    assert "say where to with --out" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["report"], ["merge"], ["judge", "--judge", "some-model"]])
def test_what_writes_into_a_runs_folder_says_that_a_file_is_none(
    reports: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    Path("kept.jsonl").write_bytes(log_of(reports / "main").read_bytes())
    assert main([*command, "kept.jsonl"]) == 2
    assert capsys.readouterr().err == f"{command[0]}: kept.jsonl: a file; the folder of a run is needed\n"


@pytest.mark.parametrize("command", [["report"], ["compare", "main"], ["leaderboard"], ["export", "csv"]])
def test_an_empty_name_is_no_run(reports: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main([*command, ""]) == 2
    assert "an empty text names no run" in capsys.readouterr().err


# --- other rules ------------------------------------------------------------------------------------------------------


def by_other_rules(folder: Path, **header: object) -> Path:
    rows = [item(n) for n in range(ITEMS)]
    cards = [replace(row.scorecard, version=2) for row in rows if row.scorecard is not None]
    return a_run(folder, *(replace(row, scorecard=one) for row, one in zip(rows, cards, strict=True)), **header)


def test_compare_refuses_scores_by_other_rules_as_a_leaderboard_does(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_other_rules(reports / "newer")
    for command in ("compare", "leaderboard"):
        assert main([command, "main", "newer"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "scores by different rules cannot be " in line
        assert line.endswith(": --voicebench-rescore the older run")


def test_a_run_beside_itself_as_it_was_rescored_shows_what_other_rules_move_and_is_not_the_same(
    reports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_other_rules(reports / "rescored", rescored_from="main")
    for names in (["main", "rescored"], ["rescored", "main"]):
        assert main(["compare", *names]) == 1
        assert "scores: " in capsys.readouterr().out


# --- a run taken up again ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "left"),
    [
        (b'{"item_id":"s1","outc', b""),
        (b'{"item_id":"s1"}', b'{"item_id":"s1"}'),
        (b"torn\n", b"torn\n"),
        (b"", b""),
    ],
)
def test_only_an_end_that_a_killed_process_left_is_cut_off(tmp_path: Path, end: bytes, left: bytes) -> None:
    folder = a_run(tmp_path / "r", item(0))
    whole = log_of(folder).read_bytes()
    log_of(folder).write_bytes(whole + end)
    drop_torn_end(folder)
    assert log_of(folder).read_bytes() == whole + left
    assert [row.item_id for row in read_results(folder).results] == ["s0"]
