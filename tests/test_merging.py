"""A rerun of some items laid over a run of all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from results import AGENT, a_result, a_run
from strict_junit import strict_errors

from pytest_voicebench.commands import merge as command
from pytest_voicebench.merging import MergeRefused, lay_over, merge_text, write_merge
from pytest_voicebench.result import Outcome, Result
from pytest_voicebench.result_files import find_run
from pytest_voicebench.saved_run import SavedRun, load_run


def laid(tmp_path: Path, old: list[Result], new: list[Result]) -> tuple[SavedRun, SavedRun]:
    return load_run(a_run(tmp_path / "run", *old)), load_run(a_run(tmp_path / "rerun", *new))


def with_evidence(folder: Path, result: Result, text: str) -> Result:
    """The result with a folder that holds `text`."""
    item = folder / "items" / result.item_id
    item.mkdir(parents=True)
    (item / "conversation.json").write_text(text)
    return replace(result, folder=f"items/{result.item_id}")


def test_a_rerun_of_17_over_a_run_of_100_says_where_each_item_comes_from(tmp_path: Path) -> None:
    old = [a_result(f"i{n}", "failed" if n < 20 else "passed") for n in range(100)]
    run, rerun = laid(tmp_path, old, [a_result(f"i{n}", "passed" if n < 5 else "failed") for n in range(17)])
    merge = lay_over(run, rerun)
    assert len(merge.results) == 100
    assert [r.item_id for r in merge.results if r.taken_from == "rerun"] == [f"i{n}" for n in range(17)]
    assert sum(r.taken_from == "run" for r in merge.results) == 83
    assert merge_text(merge, run, rerun) == (
        "17 of 100 items from rerun laid over run: 12 failed -> failed, 5 failed -> passed"
    )


@pytest.mark.parametrize(
    ("before", "after", "counted", "source", "attempts"),
    [
        ("failed", "passed", "passed", "rerun", ("failed", "passed")),
        ("passed", "failed", "failed", "rerun", ("passed", "failed")),
        ("error", "passed", "passed", "rerun", ("error", "passed")),
        ("error", "error", "error", "rerun", ("error", "error")),
        ("failed", "error", "failed", "run", ()),
        ("passed", "skipped", "passed", "run", ()),
        ("error", "skipped", "error", "run", ()),
    ],
)
def test_what_was_measured_replaces_and_what_was_not_does_not(
    tmp_path: Path, before: Outcome, after: Outcome, counted: str, source: str, attempts: tuple[str, ...]
) -> None:
    run, rerun = laid(tmp_path, [a_result("a", before)], [a_result("a", after)])
    (result,) = lay_over(run, rerun).results
    assert (result.outcome, result.taken_from, result.attempts) == (counted, source, attempts)


def test_an_item_that_never_ran_is_filled_by_the_rerun(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "run", a_result("a"), planned=(a_result("b"),)))
    rerun = load_run(a_run(tmp_path / "rerun", a_result("b", "failed")))
    assert [(r.outcome, r.attempts) for r in lay_over(run, rerun).results] == [("passed", ()), ("failed", ())]


@pytest.mark.parametrize("outcome", ["error", "skipped"])
def test_what_never_ran_is_replaced_even_by_an_error_or_a_skip(tmp_path: Path, outcome: Outcome) -> None:
    run = load_run(a_run(tmp_path / "run", a_result("a"), planned=(a_result("b"),)))
    merge = lay_over(run, load_run(a_run(tmp_path / "rerun", a_result("b", outcome))))
    assert [(r.outcome, r.taken_from, r.attempts) for r in merge.results] == [
        ("passed", "run", ()),
        (outcome, "rerun", ()),
    ]


def other(**facts: str) -> Result:
    result = a_result("a")
    return replace(result, facts=replace(result.facts, **facts))  # type: ignore[arg-type]


def scored_by(version: int) -> Result:
    result = a_result("a")
    assert result.scorecard is not None
    return replace(result, scorecard=replace(result.scorecard, version=version))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (a_result("z"), "has items that run lacks: z"),
        (a_result("a", "not_run"), "holds no item that ran"),
        (other(scenario_sha256="9"), r"scenarios changed since run \(their hashes differ or are missing\): a"),
        (other(expect_sha256="9"), r"scenarios changed since run \(their hashes differ or are missing\): a"),
        (scored_by(2), "scores voicebench 2, but run has voicebench 1"),
        (a_result("a", agent=replace(AGENT, model="base.en")), "a: not the agent of run: model 'base.en' instead of"),
        (a_result("a", agent=replace(AGENT, settings={})), "not the agent of run: settings {} instead of"),
    ],
)
def test_results_that_must_not_stand_in_one_table_are_refused(tmp_path: Path, new: Result, message: str) -> None:
    run, rerun = laid(tmp_path, [a_result("a"), a_result("b")], [new])
    with pytest.raises(MergeRefused, match=message):
        lay_over(run, rerun)


def test_a_run_is_not_laid_over_itself(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "run", a_result("a")))
    with pytest.raises(MergeRefused, match="a run of the same name"):
        lay_over(run, run)


def test_a_scenario_without_a_hash_cannot_be_shown_to_be_the_same(tmp_path: Path) -> None:
    run, rerun = laid(tmp_path, [other(scenario_sha256="")], [other(scenario_sha256="")])
    with pytest.raises(MergeRefused, match="are missing"):
        lay_over(run, rerun)


def test_the_merged_folder_stands_alone_with_the_evidence_of_each_source(tmp_path: Path) -> None:
    old = [with_evidence(tmp_path / "run", a_result(name, "failed"), f"run {name}") for name in "ab"]
    new = [with_evidence(tmp_path / "rerun", a_result("b"), "rerun b")]
    run, rerun = laid(tmp_path, old, new)
    merged = write_merge(lay_over(run, rerun), run, rerun, tmp_path / "out")
    out = tmp_path / "out"
    assert (out / "items/a/conversation.json").read_text() == "run a"
    assert (out / "items/b/conversation.json").read_text() == "rerun b"
    assert json.loads((out / "items/b/result.json").read_text())["taken_from"] == "rerun"
    assert [(r.outcome, r.taken_from, r.attempts) for r in merged.results] == [
        ("failed", "run", ()),
        ("passed", "rerun", ("failed", "passed")),
    ]
    assert json.loads((out / "summary.json").read_text())["counts"]["passed"] == 1
    assert strict_errors(out / "junit.xml") == []
    assert not (tmp_path / "rerun/items/b/result.json").exists()


def test_merging_twice_keeps_where_items_came_from_first(tmp_path: Path) -> None:
    run, rerun = laid(tmp_path, [a_result("a", "failed"), a_result("b", "failed")], [a_result("a")])
    first = write_merge(lay_over(run, rerun), run, rerun, tmp_path / "first")
    again = load_run(a_run(tmp_path / "again", a_result("b")))
    second = write_merge(lay_over(first, again), first, again, tmp_path / "second")
    assert [r.taken_from for r in second.results] == ["rerun", "again"]


@pytest.mark.parametrize(("folder", "told"), [("../secret", "lies outside the run"), ("items/\0", "is no path")])
def test_evidence_outside_the_run_is_not_followed(tmp_path: Path, folder: str, told: str) -> None:
    run, rerun = laid(tmp_path, [a_result("a", folder=folder)], [a_result("a", "error")])
    with pytest.raises(MergeRefused, match=told):
        write_merge(lay_over(run, rerun), run, rerun, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_it_took_and_prints_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    laid(tmp_path, [a_result(n, "failed") for n in "abc"], [a_result("a"), a_result("b", "error")])
    assert command.run(["run", "--replace", "rerun", "--reports", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("1 of 3 items from rerun laid over run: 1 failed -> passed\n")
    assert "  a: failed -> passed\n" in out
    assert "  b: failed -> error  (kept that of run: the rerun measured nothing)\n" in out
    assert f"written to {tmp_path / 'run+rerun'}\n" in out
    assert "planned 3 = 1 passed + 2 failed" in out
    assert "merged   1 of 3 items from rerun laid over run" in out
    assert find_run("latest", tmp_path) == tmp_path / "run+rerun"
    assert (
        command.run(["run", "--replace", "rerun", "--reports", str(tmp_path), "--out", str(tmp_path / "x" / "y")]) == 1
    )
    assert not (tmp_path / "x" / "latest").exists()


@pytest.mark.parametrize(
    ("left", "status"), [("passed", 0), ("skipped", 0), ("failed", 1), ("error", 1), ("not_run", 1)]
)
def test_a_run_with_a_rerun_laid_over_it_ends_as_pytest_would(tmp_path: Path, left: Outcome, status: int) -> None:
    rest = a_result("b", left)
    ran, planned = ((), (rest,)) if left == "not_run" else ((rest,), ())
    a_run(tmp_path / "run", a_result("a", "error"), *ran, planned=planned)
    a_run(tmp_path / "rerun", a_result("a"))
    assert command.run(["run", "--replace", "rerun", "--reports", str(tmp_path)]) == status


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("itself", "itself: Too many levels of symbolic links"),
        ("..", "itself: a link to a folder, which is not followed"),
    ],
)
def test_evidence_whose_links_go_in_a_circle_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, told: str
) -> None:
    a_run(tmp_path / "run", a_result("a"), with_evidence(tmp_path / "run", a_result("c"), "{}"))
    a_run(tmp_path / "rerun", a_result("a"))
    (tmp_path / "run" / "items" / "c" / "itself").symlink_to(target)
    assert command.run(["run", "--replace", "rerun", "--reports", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("merge: ")
    assert error.endswith(f"{told}\n")
    assert error.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rerun", "run"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run", "--replace", "gone"], "gone: no such run"),
        (["run", "--replace", "rerun", "--out", "run"], "exists already"),
        (["rerun", "--replace", "run"], "has items that rerun lacks: b"),
    ],
)
def test_the_command_refuses_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: list[str], message: str
) -> None:
    laid(tmp_path, [a_result("a"), a_result("b")], [a_result("a")])
    monkeypatch.chdir(tmp_path)
    assert command.run([*argv, "--reports", "."]) == 2
    error = capsys.readouterr().err
    assert error.startswith("merge: ")
    assert message in error
    assert error.count("\n") == 1
