"""How commands end: what could not be written is said and is no success; what was cut off leaves nothing half made."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from results import a_result, a_run

from pytest_voicebench.commands import merge, report
from pytest_voicebench.files import written_whole
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.junit import read_cases, write_junit

GATE = "pass_at_1 >= 0.1"


def full(*_args: object, **_kwargs: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "somewhere")


def a_whole_run(folder: Path) -> Path:
    """A run of one item that passed, with its junit.xml."""
    a_run(folder, a_result("a"))
    write_junit(folder / "junit.xml", load_run(folder).results, load_run(folder).summary())
    return folder


# report: a decision that is in no file


@pytest.mark.parametrize("name", ["summary.json", "summary.md", "junit.xml", "report.html"])
def test_a_decision_that_a_file_does_not_hold_is_said_and_is_no_success(tmp_path: Path, name: str, capsys: Any) -> None:
    folder = a_whole_run(tmp_path / "run")
    assert report.run([str(folder), "--gate", GATE]) == 0
    (folder / name).unlink()
    (folder / name).mkdir()
    capsys.readouterr()
    assert report.run([str(folder), "--gate", GATE]) == 1
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("note: ")
    assert str(folder / name) in line
    assert line.endswith("s a directory")
    assert "all gates hold" in shown.out or "holds" in shown.out


def test_the_other_files_hold_a_decision_that_one_cannot(tmp_path: Path) -> None:
    folder = a_whole_run(tmp_path / "run")
    (folder / "summary.json").mkdir()
    assert report.run([str(folder), "--gate", GATE]) == 1
    assert GATE in read_cases(folder / "junit.xml")
    assert "pass" in (folder / "summary.md").read_text()


@pytest.mark.parametrize("text", ["", "<testsuites><testsuite", "<html/>"])
def test_a_damaged_junit_file_is_said_and_left_as_it_is(tmp_path: Path, text: str, capsys: Any) -> None:
    folder = a_whole_run(tmp_path / "run")
    (folder / "junit.xml").write_text(text)
    assert report.run([str(folder), "--gate", GATE]) == 1
    assert f"note: what was decided is not in {folder / 'junit.xml'}: " in capsys.readouterr().err
    assert (folder / "junit.xml").read_text() == text


def test_a_junit_file_that_is_not_there_is_made_of_the_results(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", a_result("a"))
    assert report.run([str(folder), "--gate", GATE]) == 0
    assert len(read_cases(folder / "junit.xml")) == 2


@pytest.mark.parametrize(("more", "status"), [([], 0), (["--voicebench-html-embed"], 1)])
def test_tables_alone_need_no_place_to_write_but_a_page_to_send_does(
    tmp_path: Path, more: list[str], status: int, capsys: Any
) -> None:
    folder = a_whole_run(tmp_path / "run")
    for name in ("summary.md", "report.html"):
        (folder / name).mkdir()
    assert report.run([str(folder), *more]) == status
    shown = capsys.readouterr()
    assert [line.rpartition(": ")[0] for line in shown.err.splitlines()] == [
        f"note: cannot write {folder / 'summary.md'}",
        f"note: cannot write {folder / 'report.html'}",
    ]
    assert "Pass@1" in shown.out


# merge: a folder that is whole, or none


def laid(tmp_path: Path) -> list[str]:
    """Arguments of a merge."""
    a_run(tmp_path / "run", a_result("a", "error"))
    a_run(tmp_path / "rerun", a_result("a"))
    return ["run", "--replace", "rerun", "--reports", str(tmp_path), "--out", str(tmp_path / "out")]


@pytest.mark.parametrize("name", ["write_page", "write_decisions"])
def test_a_merge_that_cannot_be_written_to_its_end_leaves_no_folder(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    arguments = laid(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(merge, name, full)
        assert merge.run(arguments) == 2
    assert capsys.readouterr().err == "merge: somewhere: No space left on device\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rerun", "run"]
    assert merge.run(arguments) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("junit.xml", "manifest.json", "plan.json", "report.html", "results.jsonl", "summary.json", "summary.md")
    ]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_merge_that_is_killed_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    arguments = laid(tmp_path)
    program = (
        "import os, signal; from pytest_voicebench.commands import merge\n"
        "merge.write_page = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"merge.run({arguments!r})\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGTERM
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "latest").exists()
    assert merge.run(arguments) == 0


# Files that another writer opens


def test_a_file_whose_writer_breaks_off_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("old")
    with pytest.raises(OSError, match=r"No space left on device: .*junit\.xml"), written_whole(path) as temporary:  # noqa: PT012
        temporary.write_text("ne")
        full()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
