"""report.html as runs leave it: with and without workers, embedded, after a merge, and where it cannot be written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from suites_for_pytest import PASSING, XDIST, latest_run, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.commands import merge, report

PAGE = "report.html"


def suite(folder: Path) -> None:
    write_conftest(folder, "")
    write_suite(folder / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))


def data_of(page: str) -> str:
    """What the page knows of its items."""
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]


def test_with_and_without_workers_a_run_leaves_the_same_items_on_its_page(tmp_path):
    suite(tmp_path)
    seen = []
    for way, plugins in ((["-p", "no:xdist"], ()), (["-n", "0"], XDIST), (["-n", "2"], XDIST)):
        status, text = run_apart(tmp_path, PASSING, *way, plugins=plugins)
        assert status == pytest.ExitCode.OK, text
        page = (latest_run(tmp_path) / PAGE).read_text()
        assert "<dd>live</dd>" in page
        assert "<dd>off (exact match)</dd>" in page
        seen.append(data_of(page))
    assert seen[0] == seen[1] == seen[2]
    assert "./items/travel_01/audio.flac" in seen[0]


def test_recordings_are_embedded_on_request_and_report_and_merge_write_the_page_again(tmp_path):
    suite(tmp_path)
    assert run_apart(tmp_path, PASSING, "-p", "no:xdist", "--voicebench-html-embed")[0] == pytest.ExitCode.OK
    first = latest_run(tmp_path)
    assert data_of((first / PAGE).read_text()).count("data:audio/flac;base64,") == 2
    assert run_apart(tmp_path, PASSING, "-p", "no:xdist", "-k", "travel_01")[0] == pytest.ExitCode.OK
    rerun = latest_run(tmp_path)
    assert merge.run([str(first), "--replace", str(rerun), "--reports", str(tmp_path / "reports")]) == 0
    merged = (latest_run(tmp_path) / PAGE).read_text()
    assert f"1 of 2 items from {rerun.name} laid over {first.name}" in merged
    assert data_of(merged).count("/audio.flac") == 2
    assert report.run([str(first)]) == 0
    assert "data:audio" not in (first / PAGE).read_text()


def test_a_rescored_run_says_so_on_its_page(tmp_path):
    suite(tmp_path)
    assert run_apart(tmp_path, PASSING, "-p", "no:xdist")[0] == pytest.ExitCode.OK
    held = latest_run(tmp_path).name
    assert run_apart(tmp_path, "--voicebench-rescore=latest", "-p", "no:xdist")[0] == pytest.ExitCode.OK
    assert f"<dd>rescored: conversations of {held}, held " in (latest_run(tmp_path) / PAGE).read_text()


def test_a_page_that_cannot_be_written_is_a_line_and_nothing_else(tmp_path):
    suite(tmp_path)
    write_conftest(
        tmp_path,
        """
        import pytest_voicebench.page.write as write

        def broken(*_):
            raise ValueError("a fault of the page")

        write.page_html = broken
        """,
    )
    status, text = run_apart(tmp_path, PASSING, "-p", "no:xdist")
    assert status == pytest.ExitCode.OK
    assert "report.html: a fault of the page" in text
    assert "Traceback" not in text
    assert (latest_run(tmp_path) / "summary.json").exists()
    assert not (latest_run(tmp_path) / PAGE).exists()
