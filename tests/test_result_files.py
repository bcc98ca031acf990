"""A run's folder: appended lines, torn lines, attempts, safe folder names, the newest run."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result

from pytest_voicebench.codec import parse_json
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import (
    RunUnreadable,
    append_result,
    find_run,
    item_folder_name,
    mark_latest,
    read_results,
    save_result,
)


def test_results_come_back_in_the_order_they_were_written(tmp_path: Path) -> None:
    written = [a_result("b"), a_result("a", "error"), a_result("c", "skipped")]
    for result in written:
        append_result(tmp_path / "run", result)
    log = read_results(tmp_path / "run")
    assert (list(log.results), log.notes) == (written, ())


def test_each_result_is_one_line_of_utf8(tmp_path: Path) -> None:
    cause = "first\nsecond \u2028 café ☕"
    append_result(tmp_path, replace(a_result(), cause=cause))
    text = (tmp_path / "results.jsonl").read_bytes()
    assert text.count(b"\n") == 1
    assert "café ☕".encode() in text
    assert read_results(tmp_path).results[0].cause == cause


def _append_many(folder: Path, name: str) -> None:
    for number in range(100):
        append_result(folder, replace(a_result(f"{name}_{number}"), cause="x" * 5000))


def test_processes_may_append_side_by_side(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_append_many, args=(tmp_path, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    log = read_results(tmp_path)
    assert log.notes == ()
    assert sorted(r.item_id for r in log.results) == sorted(f"{n}_{i}" for n in "ab" for i in range(100))


def test_a_line_torn_by_a_killed_process_is_left_out_with_a_note_and_harms_no_later_line(tmp_path: Path) -> None:
    append_result(tmp_path, a_result("a"))
    path = tmp_path / "results.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes()[:50])
    assert [r.item_id for r in read_results(tmp_path).results] == ["a"]
    append_result(tmp_path, a_result("b"))
    log = read_results(tmp_path)
    assert [r.item_id for r in log.results] == ["a", "b"]
    assert log.notes == (f"{path}:2: torn line left out; its item may be missing",)


def test_a_line_that_is_json_but_no_result_is_left_out_with_its_number_and_its_item_named(tmp_path: Path) -> None:
    append_result(tmp_path, a_result("a"))
    path = tmp_path / "results.jsonl"
    whole = path.read_text()
    for line in ('{"item_id": "x"}\n', whole.replace('"duration_s":', '"duration_s":1e999,"was":', 1), "7\n"):
        with path.open("a") as log:
            log.write(line)
    append_result(tmp_path, a_result("b"))
    log = read_results(tmp_path)
    assert [r.item_id for r in log.results] == ["a", "b"]
    assert log.unreadable == {"a", "x"}
    assert log.notes == (
        f"{path}:2: nodeid is missing; line left out",
        f"{path}:3: duration_s: a number too large to read; line left out",
        f"{path}:4: expected an object, found 7; line left out",
    )


def test_a_folder_without_results_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="not the folder of a run"):
        read_results(tmp_path)


@given(st.text())
def test_whatever_the_id_its_folder_is_a_direct_child_of_items(item_id: str) -> None:
    name = item_folder_name(item_id)
    assert name.isascii()
    assert not set(name) & set('/\\:*?"<>|\0 ')
    assert name not in ("", ".", "..")


@given(st.lists(st.text(alphabet="aA./ \0:é", max_size=4), unique=True, max_size=20))
def test_different_ids_have_different_folders(item_ids: list[str]) -> None:
    assert len({item_folder_name(item_id) for item_id in item_ids}) == len(item_ids)


def test_ordinary_ids_are_their_own_folder_names() -> None:
    for item_id in ("travel_19", "travel_19-b-2", "grok-travel_19-b"):
        assert item_folder_name(item_id) == item_id
    assert item_folder_name("../x").startswith("item-x-")
    assert item_folder_name("nul") != "nul"


def test_a_saved_result_is_a_file_of_its_own_and_a_line(tmp_path: Path) -> None:
    result = replace(a_result(), folder="items/travel_01")
    save_result(tmp_path, result)
    written = (tmp_path / "items/travel_01/result.json").read_bytes()
    assert parse_json(Result, written, where="result.json") == result
    assert read_results(tmp_path).results == (result,)


def test_a_run_is_found_by_folder_by_name_and_as_the_latest(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    (reports / "r1").mkdir(parents=True)
    (reports / "r2").mkdir()
    mark_latest(reports / "r2")
    assert find_run(str(reports / "r1"), reports) == reports / "r1"
    assert find_run("r1", reports) == reports / "r1"
    assert find_run("latest", reports) == reports / "r2"
    assert find_run(str(reports / "latest"), reports) == reports / "r2"


def test_a_run_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="no run has been made here yet"):
        find_run("latest", tmp_path)
    with pytest.raises(RunUnreadable, match="r9: no such run"):
        find_run("r9", tmp_path)
    for name in ("gone", "../elsewhere", ""):
        (tmp_path / "latest").write_text(name)
        with pytest.raises(RunUnreadable, match="which is not there"):
            find_run("latest", tmp_path)
