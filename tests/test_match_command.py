"""`match KIND EXPECTED ACTUAL`: the verdict, its reason, the exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_voicebench.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["date", "June 3", "2026-06-03"], 0, "match: the same day"),
        (["date", "2027-03-22", "March 22", "--today", "2026-04-06"], 0, "match: the same day"),
        (["date", "2027-03-22", "March 22"], 3, "cannot tell: the year of 'March 22' is unknown"),
        (["date", "June 3", "June 4"], 1, "mismatch: expected 'June 3', got 'June 4': another day"),
        (["number", "1200", "twelve hundred"], 0, "match: equal [type_mismatch]"),
        (["number", "1000", "1050", "--options", '{"approx": 0.05}'], 0, "match: equal"),
        (["number", "-5", "minus five"], 0, "match: equal"),
        (["identifier", "00123", '"00123"'], 0, "match: equal"),
        (["identifier", "0123", "123"], 1, "mismatch: expected '0123', got 123"),
        (["text", '["red", "blue"]', '["blue", "red"]', "--options", '{"set": true}'], 0, "match: the same set"),
        (["text", '{"$one_of": ["a", "b"]}', "B"], 0, "match: the same words"),
        (["exact", "null", "true"], 1, "mismatch: expected None, got True: nothing was expected"),
        (["exact", "NaN", "NaN"], 0, "match: equal"),
        (["text", "a\nb", "c"], 1, "mismatch: expected 'a\\nb', got 'c'"),
    ],
)
def test_it_prints_verdict_and_reason_on_one_line_and_exits_by_the_verdict(
    arguments: list[str], status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", *arguments]) == status
    printed = capsys.readouterr().out
    assert printed.startswith(line)
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("fuzzy", "match: no matcher 'fuzzy'; there are boolean, card"),
        ("no_module_here:f", "match: no_module_here cannot be imported: ModuleNotFoundError"),
        ("a b:c", 'match: "a b:c" is not of the form package.module:function'),
    ],
)
def test_a_kind_that_there_is_not_is_one_line(kind: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", kind, "a", "b"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(told)
    assert error.count("\n") == 1


def test_options_that_no_matcher_reads_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "enum", "a", "b", "--options", '{"enum": 5}']) == 2
    assert capsys.readouterr().err.startswith("match: the options cannot be read: ")


@pytest.mark.parametrize("wrong", [["--today", "soon"], ["--options", "[1]"], ["--options", "{"]])
def test_a_wrong_option_is_told(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["match", "text", "a", "b", *wrong])
    assert left.value.code == 2
    assert "error: argument --" in capsys.readouterr().err


def test_a_users_matcher_is_found_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_own_matchers.py").write_text("def lengths(a, b, context):\n    return len(a) == len(b)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert main(["match", "my_own_matchers:lengths", "abc", "xyz"]) == 0
    assert capsys.readouterr().out == "match: right by my_own_matchers:lengths\n"
