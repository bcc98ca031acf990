"""The command line: one table of commands, and what validate and suites print."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from good_suites import GOOD, copy_of_good

from pytest_voicebench import shipped_suites
from pytest_voicebench.__main__ import COMMANDS, main

BAD = Path(__file__).parent / "data" / "bad" / "scenarios"


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert main([]) == 2
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)


def test_a_misspelled_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validat"]) == 2
    assert 'there is no command "validat"; did you mean "validate"?' in capsys.readouterr().err


def test_a_command_whose_module_is_missing_says_so_and_hurts_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "merge", ("pytest_voicebench.commands.no_such_module:run", ""))
    assert main(["merge"]) == 2
    assert "no_such_module is not installed" in capsys.readouterr().err
    assert main(["validate", str(GOOD / "minimal.yaml")]) == 0


def test_the_dispatcher_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_voicebench.__main__ import main; main(['--help']);"
        "assert not {'numpy', 'yaml', 'pytest', 'jsonschema', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("where", ["while the command is imported", "while it runs", "and what follows from it"])
def test_ctrl_c_is_one_line_whenever_it_comes(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = {
        "while the command is imported": "raise KeyboardInterrupt",
        "while it runs": "def run(argv): raise KeyboardInterrupt",
        "and what follows from it": "try: raise KeyboardInterrupt\nexcept nothing: pass",
    }
    (tmp_path / "cut_off.py").write_text(code[where])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cut_off", raising=False)
    monkeypatch.setitem(COMMANDS, "merge", ("cut_off:run", ""))
    assert main(["merge"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_validate_counts_scenarios_and_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(GOOD)]) == 0
    assert capsys.readouterr().out == "OK: 19 scenarios, 37 recordings\n"
    assert main(["validate", str(GOOD / "travel.yaml")]) == 0
    assert capsys.readouterr().out == "OK: 2 scenarios, 3 recordings\n"
    assert main(["validate", str(GOOD / "minimal.yaml")]) == 0
    assert capsys.readouterr().out == "OK: 1 scenario, 1 recording\n"


@pytest.mark.parametrize("name", ["tools.yaml", "tools_openai.yaml", "tools_mcp.json"])
def test_validate_given_a_file_of_tools_says_so_in_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(GOOD / name)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{GOOD / name}:")
    assert line.endswith(": suite: this is a file of tools; give the suite that names it under `tools:`")


def test_a_colon_in_unquoted_text_is_answered_with_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text("voicebench: 1\nscenarios:\n  - id: one: two\n", encoding="utf-8")
    assert main(["validate", str(tmp_path / "a.yaml")]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{tmp_path / 'a.yaml'}:3: yaml: ")
    assert line.endswith('quote the text if it contains a colon: "..."')


def test_validate_prints_the_mistakes_of_all_files_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(BAD / "tool_unknown.yaml"), str(BAD / "many_mistakes.yaml"), str(GOOD / "minimal.yaml")]
    assert main(["validate", *paths, paths[0]]) == 1
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 5
    assert out[0] == (
        f'{BAD / "tool_unknown.yaml"}:12: one.expect.calls[0]: there is no tool "fnd"; did you mean "find"?'
    )


def test_validate_passes_over_other_yaml_and_says_where_there_is_no_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docker-compose.yaml").write_text("services: {}\n", encoding="utf-8")
    assert main(["validate", str(tmp_path)]) == 2
    assert "no suite there" in capsys.readouterr().err
    copy_of_good(tmp_path / "good")
    assert main(["validate", str(tmp_path)]) == 0


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one suite, and an empty folder to work in."""
    (copy_of_good(tmp_path / "package" / "_suites" / "good") / "__pycache__").mkdir()
    monkeypatch.setattr(shipped_suites, "_PACKAGE", tmp_path / "package")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_a_packaged_suite_is_copied_once_and_never_over_another(
    packaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["suites", "list"]) == 0
    assert capsys.readouterr().out.startswith("good  ")
    assert main(["suites", "copy", "good", "."]) == 0
    assert capsys.readouterr().out.splitlines() == ["copied good to suites/good", "run it: pytest suites/good"]
    copy = packaged / "suites" / "good"
    assert (copy / "audio" / "hello.flac").is_file()
    assert not (copy / "__pycache__").exists()
    (copy / "minimal.yaml").write_text("changed", encoding="utf-8")
    assert main(["suites", "copy", "good", "."]) == 1
    assert "is there already; nothing was copied" in capsys.readouterr().err
    assert (copy / "minimal.yaml").read_text(encoding="utf-8") == "changed"


def test_the_next_command_leads_to_another_folder(packaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suites", "copy", "good", "new"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "run it: cd new && pytest suites/good"
    assert main(["validate", "new/suites/good"]) == 0


def test_an_unknown_suite_is_told(packaged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suites", "copy", "god", "."]) == 1
    assert capsys.readouterr().err == 'there is no suite "god"; did you mean "good"?\n'


def test_a_console_without_utf_8_still_gets_every_line(tmp_path: Path) -> None:
    path = tmp_path / "caf\u00e9.yaml"
    path.write_text("voicebench: 1\nkind: \u2615\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest_voicebench", "validate", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 1
    assert r'expected tool_use, got "\u2615"' in result.stdout
    assert "Traceback" not in result.stderr


def test_validate_remarks_on_recordings_that_no_scenario_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_of_good(tmp_path / "good")
    shutil.copy(folder / "audio" / "hello.flac", folder / "audio" / "orphan.flac")
    assert main(["validate", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err == f"note: {folder / 'audio' / 'orphan.flac'}: no scenario names this recording\n"
    assert main(["validate", str(folder / "travel.yaml")]) == 0
    assert capsys.readouterr().err == ""
