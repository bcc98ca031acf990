"""Keys and patterns that were typed in the wrong place: no usage error, and no message of a command, repeats them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites_for_pytest import PASSING, XDIST, pytest_in_process, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.__main__ import main
from pytest_voicebench.hidden import HIDDEN, without_key_shapes
from pytest_voicebench.redacting import PatternRefused, redactor_of

KEY = "of-no-known-shape-8282"
SHAPED = "sk-proj-4f7AbC9planted0000"
USAGE = pytest.ExitCode.USAGE_ERROR


OPTIONS = [
    "--voicebench-baseline={}",
    "--voicebench-gate={}",
    "--voicebench-gate=must_pass({})",
    "--voicebench-trials={}",
    "--voicebench-concurrency={}",
    "--voicebench-shard={}",
    "--voicebench-limit={}",
    "--voicebench-retries={}",
    "--voicebench-max-usd={}",
    "--voicebench-prices={}",
    "--voicebench-judge=model,{}=1",
    "--voicebench-rescore={}",
    "--voicebench-resume={}",
    "--voicebench-words={}",
    "--agent={}",
    "--agent=simulated,{}=1",
]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("key", [KEY, SHAPED])
def test_a_key_typed_as_the_value_of_an_option_is_not_repeated(pytester, monkeypatch, option, key):
    monkeypatch.setenv("OWN_API_KEY", KEY)
    run = pytest_in_process(pytester, monkeypatch)
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    result = run("suites", option.format(key))
    told = result.stderr.str() + result.stdout.str()
    assert result.ret == USAGE, told
    assert "ERROR: " in told
    assert HIDDEN in told
    assert key not in told


@pytest.mark.parametrize("way", [("-p", "no:xdist"), ("-n", "2")], ids=" ".join)
def test_a_key_in_a_gate_is_not_repeated_by_workers_either(tmp_path, way):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    plugins = () if "no:xdist" in way else XDIST
    _, text = run_apart(
        tmp_path, PASSING, *way, f"--voicebench-gate=must_pass({KEY})", OWN_API_KEY=KEY, plugins=plugins
    )
    assert "there is no scenario ***" in text
    assert KEY not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "{}"],
        ["report", "--baseline", "{}"],
        ["report", "{}", "--gate", "{} >= 1"],
        ["compare", "{}", "b"],
        ["merge", "{}"],
        ["leaderboard", "{}"],
        ["export", "csv", "{}"],
        ["export", "{}"],
        ["case", "{}", "{}"],
        ["judge", "{}", "--judge", "{}"],
        ["check-agent", "{}"],
        ["prove", "-n", "{}", "x"],
        ["prove", "{}"],
        ["self-test", "--most", "{}"],
        ["suites", "copy", "{}", "x"],
        ["match", "{}", "1", "2"],
        ["validate", "{}"],
        ["{}"],
    ],
    ids=" ".join,
)
def test_a_key_typed_as_an_argument_of_a_command_is_not_repeated(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OWN_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for key in (KEY, SHAPED):
        try:
            status = main([part.format(key) for part in arguments])
        except SystemExit as stop:
            status = stop.code
        told = "".join(capsys.readouterr())
        assert status in (1, 2)
        assert key not in told


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{SHAPED}: no such run", "***: no such run"),
        ("xai-4f7AbC9planted0000", "***"),
        ("AIzaSyA1234567890abcdefghijklmnop", "***"),
        ("sk-learn-results", "sk-learn-results"),
        ("sk-learn-of-many-regressions", "sk-learn-of-many-regressions"),
        ("sk-proj-ABCDEFGHIJKLMNOP", HIDDEN),
        ("ghr_abcdef123456", HIDDEN),
        ("task-2026-04-06-nightly", "task-2026-04-06-nightly"),
        ("reports/2026-04-06_1200/results.jsonl", "reports/2026-04-06_1200/results.jsonl"),
        ("must_pass(travel_19)", "must_pass(travel_19)"),
    ],
)
def test_what_looks_like_a_key_is_hidden_and_names_of_runs_stay(text, shown):
    assert without_key_shapes(text) == shown


SECRET = "hunter2secret"
BROKEN = [
    f"{SECRET}(", f"{SECRET})", f"[{SECRET}", f"*{SECRET}", rf"\q{SECRET}", f"(?P<{SECRET}", f"(?P<{SECRET}!>x)",
    f"(?P={SECRET})", f"(?P<{SECRET}>a)(?P<{SECRET}>b)", f"(?<=a*){SECRET}", f"[z-a]{SECRET}", f"a{{9,1}}{SECRET}",
    rf"\N{{{SECRET}}}", f"(?{SECRET})", f"{SECRET}(?i)", f"a**{SECRET}", f"(?P<a'{SECRET}\\\\'>x)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", BROKEN)
def test_a_pattern_that_is_refused_is_told_by_its_number_and_not_repeated(pattern):
    with pytest.raises(PatternRefused) as refused:
        redactor_of(["fine", pattern])
    assert refused.value.number == 2
    assert str(refused.value).startswith("is no regular expression: ")
    assert SECRET not in str(refused.value)


def refusal(pattern):
    try:
        redactor_of([pattern])
    except PatternRefused as refused:
        return str(refused)
    return ""


@given(st.text(max_size=12))
def test_no_refusal_holds_anything_of_a_pattern(text):
    for form in ("(?P<ZQX{}", "\\q ZQX{}", "[ZQX{}", "(ZQX{}", "(?P=ZQX{})", "(?<ZQX{})", "{}(?ZQX)", "ZQX{}*{{9,1}}"):
        assert "ZQX" not in refusal(form.format(text))


@pytest.mark.parametrize(
    ("option", "ini", "told"),
    [
        ((f"{SECRET}(",), "", "--voicebench-redact: pattern 1 is no regular expression: missing ), at character 14"),
        (("ok", ""), "", "--voicebench-redact: pattern 2 is empty and would match nothing"),
        (("ok",), f"    fine\n    {SECRET}(", "voicebench_redact: pattern 2 is no regular expression: missing )"),
        (("(a+)+$",), "", "--voicebench-redact: pattern 1 takes more than "),
    ],
)
def test_a_refused_pattern_is_named_by_where_it_was_given(tmp_path: Path, option, ini, told):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    if ini:
        with (tmp_path / "pytest.ini").open("a") as file:
            file.write(f"voicebench_redact =\n{ini}\n")
    status, text = run_apart(tmp_path, PASSING, *(f"--voicebench-redact={one}" for one in option), plugins=())
    assert status == USAGE
    assert f"ERROR: {told}" in text
    assert SECRET not in text
    assert "(a+)+$" not in text


def test_a_fault_of_a_command_is_told_in_full_without_a_key_in_its_message(monkeypatch, capsys):
    def broken(arguments):
        raise RuntimeError(f"no such run: {SHAPED}")

    monkeypatch.setattr("pytest_voicebench.commands.match.run", broken)
    assert main(["match"]) == 1
    told = capsys.readouterr().err
    assert "RuntimeError: no such run: ***" in told
    assert SHAPED not in told
