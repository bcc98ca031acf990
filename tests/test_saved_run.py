"""A run read back from its folder, and the command that prints its tables again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from failures import card, hostile, silent, stale
from golden import FOLDER, check_golden
from results import AGENT, a_result, a_run

from pytest_voicebench.commands import report
from pytest_voicebench.result import Outcome
from pytest_voicebench.result_files import RunUnreadable, append_result
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scorecard import Scorecard, Times
from pytest_voicebench.scoring import score
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.writers.summary_json import SCHEMA_PATH, summary_bytes
from pytest_voicebench.writers.terminal import render


def outcome_of(scorecard: Scorecard) -> Outcome:
    """An item's outcome is its Pass."""
    return "passed" if scorecard.passed else "failed"


def test_planned_items_without_a_result_are_not_run(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "r", a_result("a"), a_result("b", "failed"), planned=(a_result("c"),)))
    assert [(r.item_id, r.outcome) for r in run.results] == [("a", "passed"), ("b", "failed"), ("c", "not_run")]
    counts = run.summary().counts
    assert (counts.planned, counts.valid, counts.not_run) == (3, 2, 1)


def test_an_item_whose_line_is_damaged_is_an_error_and_takes_no_other_with_it(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "r", a_result("a", "error"), a_result("b"), planned=(a_result("c"),))
    path = folder / "results.jsonl"
    path.write_text(path.read_text().replace('"error_kind":"infrastructure"', '"error_kind":"nonsense"', 1))
    run = load_run(folder)
    assert [(r.item_id, r.outcome, r.error_kind) for r in run.results] == [
        ("a", "error", "infrastructure"),
        ("b", "passed", None),
        ("c", "not_run", None),
    ]
    assert run.results[0].cause == "its result could not be read"
    assert len(run.notes) == 1
    assert "results.jsonl:1: error_kind: expected one of" in run.notes[0]


def test_figures_too_large_to_sum_up_are_one_line_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = Times(first_response_latency_s=1.7e308)
    huge = [replace(a_result(name), scorecard=replace(card(), times=times)) for name in ("a", "b")]
    folder = a_run(tmp_path / "r", *huge)
    for arguments in ([str(folder)], [str(folder), "--json"]):
        assert report.run(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["plan.json", "results.jsonl"])
@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (os.mkdir, "Is a directory"),
        (os.mkfifo, "not an ordinary file"),
        (lambda path: path.symlink_to("/dev/zero"), "not an ordinary file"),
        (lambda path: path.symlink_to(path.name), "symbolic links"),
    ],
)
def test_what_is_no_file_is_neither_waited_for_nor_taken_for_a_run(
    tmp_path: Path, name: str, odd: Callable[[Path], object], told: str
) -> None:
    folder = a_run(tmp_path / "r", a_result("a"))
    (folder / name).unlink()
    odd(folder / name)
    with pytest.raises(RunUnreadable, match=f"{name}: .*{told}"):
        load_run(folder)


def test_without_a_plan_all_that_is_there_counts_and_a_note_says_so(tmp_path: Path) -> None:
    for result in (a_result("b", "error"), a_result("a"), a_result("b", "failed")):
        append_result(tmp_path, result)
    run = load_run(tmp_path)
    assert [(r.item_id, r.outcome, r.attempts) for r in run.results] == [
        ("b", "failed", ("error", "failed")),
        ("a", "passed", ()),
    ]
    assert run.notes == (f"{tmp_path}: no plan.json, so items that never ran are not counted",)
    assert run.header == {"run": tmp_path.name}


def test_a_run_that_ended_before_its_first_result_has_only_items_that_never_ran(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "r", planned=(a_result("a"), a_result("b"))))
    assert [r.outcome for r in run.results] == ["not_run", "not_run"]
    assert "0/2 scored" in render(run.summary(), color=False)


def test_tables_of_real_results_look_as_they_did(tmp_path: Path) -> None:
    cards = [score(scenario, conversation) for scenario, conversation, _ in (stale(), silent(), hostile())]
    grok = replace(AGENT, name="grok", clock="wall", settings={})
    run = a_run(
        tmp_path / "r",
        a_result("local-a", outcome_of(cards[0]), scorecard=cards[0]),
        a_result("local-b", outcome_of(cards[1]), scorecard=cards[1]),
        a_result("local-c", "error", cause="line dropped"),
        a_result("local-d", "skipped", cause="no recording"),
        a_result("grok-a", outcome_of(cards[2]), agent=grok, scorecard=cards[2]),
        a_result("grok-b", "failed", agent=grok),
        planned=(a_result("grok-c", agent=grok), a_result("grok-d", agent=grok)),
    )
    check_golden(FOLDER / "terminal_of_results.txt", render(load_run(run).summary(), color=False).encode())


def test_report_prints_what_the_console_can_show(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "r", a_result("a", agent=replace(AGENT, name="café ☕")))
    command = [sys.executable, "-m", "pytest_voicebench", "report", str(folder)]
    done = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, capture_output=True, check=True)
    assert "café \\u2615" in done.stdout.decode("cp1252")


def test_a_damaged_plan_is_refused_in_one_line(tmp_path: Path) -> None:
    append_result(tmp_path, a_result("a"))
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(RunUnreadable, match=r"plan\.json: not JSON"):
        load_run(tmp_path)


def test_report_prints_the_tables_of_a_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_run(tmp_path / "r", a_result("a"), a_result("b", "failed"), planned=(a_result("c"),))
    assert report.run(["r", "--reports", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "planned 3 = 1 passed + 1 failed + 0 error + 0 skipped + 1 not run" in out
    assert "Table 2. Overall (virtual clock)" in out
    assert "\x1b" not in out


def test_report_json_is_the_runs_summary_json(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = a_run(tmp_path / "r", a_result("b", "failed"), a_result("a"))
    assert report.run([str(folder), "--json"]) == 0
    out = capfdbinary.readouterr().out
    run = load_run(folder)
    assert out == summary_bytes(summarize(run.results, run.header))
    jsonschema.validate(json.loads(out), json.loads(SCHEMA_PATH.read_bytes()))


@pytest.mark.parametrize("run", ["latest", "gone", "empty"])
def test_report_refuses_what_is_no_run_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], run: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert report.run([run, "--reports", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("report: ")
    assert captured.err.count("\n") == 1


def test_a_torn_line_is_noted_and_its_item_counts_as_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run(tmp_path / "r", a_result("a"), a_result("b"))
    log = folder / "results.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    assert report.run([str(folder)]) == 0
    captured = capsys.readouterr()
    assert "1 not run" in captured.out
    assert "torn line left out" in captured.err


def test_real_scorecards_give_tables_that_fit_the_schema(tmp_path: Path) -> None:
    cards = [score(scenario, conversation) for scenario, conversation, _ in (stale(), silent())]
    results = [a_result(f"s{i}", "failed", scorecard=judged) for i, judged in enumerate(cards)]
    run = load_run(a_run(tmp_path / "r", *results))
    jsonschema.validate(json.loads(summary_bytes(run.summary())), json.loads(SCHEMA_PATH.read_bytes()))
