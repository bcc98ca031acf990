"""`report --scores`: which set is shown, which rules made it, and runs that have only one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from official_folders import item, official_result

from pytest_voicebench.commands import report
from pytest_voicebench.plan import Plan, write_plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import append_result, read_results
from pytest_voicebench.scoring import score

ROWS = json.loads((Path(__file__).parent / "data" / "official_ten_rows.json").read_bytes())


def a_run(folder: Path, *, official: bool = True) -> Path:
    """The ten rows as a run, scored by both sets or, as before there was a second, by ours alone."""
    results = []
    for row in ROWS:
        wanted, held = item(row["metadata"], row["result"])
        result = official_result(row["metadata"]["id"], wanted, held)
        ours = score(wanted, held)
        result = replace(result, outcome="passed" if ours.passed else "failed", scorecard=ours)
        results.append(result if official else replace(result, official=None))
    planned = tuple(replace(r, outcome="not_run", scorecard=None, official=None) for r in results)
    header = {"run": folder.name, "rules": {"pass": "ours"}}
    write_plan(folder, Plan(collected=len(planned), items=planned, header=header))
    for result in results:
        append_result(folder, result)
    return folder


def test_each_set_is_shown_under_the_rules_that_made_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(a_run(tmp_path / "r"))
    assert report.run([run, "--scores", "official"]) == 0
    official = capsys.readouterr().out
    assert "scores   official 1, exact mode" in official
    assert "Table 2" not in official
    assert "pass rate" in official
    assert report.run([run, "--scores", "voicebench"]) == 0
    ours = capsys.readouterr().out
    assert "scores   voicebench 1" in ours
    assert "official 1 beside them: report RUN --scores official" in ours
    assert report.run([run]) == 0
    assert capsys.readouterr().out == ours


def test_json_has_both_sets_or_the_one_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = str(a_run(tmp_path / "r"))

    def shown(*options: str) -> dict[str, object]:
        assert report.run([run, "--json", *options]) == 0
        data: dict[str, object] = json.loads(capfd.readouterr().out)
        return data

    both, official, ours = shown(), shown("--scores", "official"), shown("--scores", "voicebench")
    assert both["official"] == official["official"]
    assert isinstance(both["official"], dict)
    assert both["official"]["score_set"] == "official"
    assert both["official"]["rules"]
    assert both["score_set"] == "voicebench"
    assert ours == {**both, "official": None}
    assert "agents" not in official
    assert official["header"] == {"run": "r", "mode": "live"}  # without the rules of the other set


def test_a_run_without_official_scores_says_so_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(a_run(tmp_path / "r", official=False))
    assert report.run([run, "--scores", "official"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("no official scores: the run was made before")
    assert report.run([run]) == 0
    out = capsys.readouterr().out
    assert "Table 2" in out
    assert "--scores official" not in out


def test_an_unknown_set_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        report.run([str(tmp_path), "--scores", "mine"])
    assert ended.value.code == 2
    assert "choose from" in capsys.readouterr().err


def test_official_cards_come_back_from_results_jsonl(tmp_path: Path) -> None:
    rows: tuple[Result, ...] = read_results(a_run(tmp_path / "r")).results
    assert [r.official for r in rows] == [
        official_result(row["metadata"]["id"], *item(row["metadata"], row["result"])).official for row in ROWS
    ]


def test_a_result_line_from_before_is_still_readable(tmp_path: Path) -> None:
    run = a_run(tmp_path / "r")
    log = run / "results.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        del line["official"]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = read_results(run)
    assert found.notes == ()
    assert [r.official for r in found.results] == [None] * 10
