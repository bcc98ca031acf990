"""Values of options that cannot be meant: empty ones, and numbers that are none or beyond every use, in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites_for_pytest import PASSING, pytest_in_process, scenario_yaml, write_suite

from pytest_voicebench.__main__ import main
from pytest_voicebench.agents.naming import parse_agent
from pytest_voicebench.gating import GateError, parse_gate
from pytest_voicebench.whole_numbers import whole_number

HUGE = "1" * 5000
"""More digits than Python reads as a number."""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process, on one scenario."""
    run = pytest_in_process(pytester, monkeypatch)
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    return run


EMPTY = [
    "baseline", "concurrency", "judge", "max-usd", "prices", "reports", "rescore", "resume", "retries", "shard",
    "trials", "words",
]  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("value", ["", "  "])
def test_an_option_whose_value_is_empty_is_refused_and_not_left_out(pytester, run, name, value):
    result = run(PASSING, f"--voicebench-{name}={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --voicebench-{name} is empty: give it a value, or drop it"])
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("name", ["agent", "gate", "limit", "redact"])
def test_an_empty_value_of_an_option_that_may_be_repeated_is_refused_too(run, name):
    result = run(f"--voicebench-{name}=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


NO_NUMBERS = ["0", "-1", "nan", "inf", "1e9", "1_000", "1000000000", "٣", HUGE]


@pytest.mark.parametrize("text", ["0", "nan", "1000000000", "٣", HUGE])
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("trials={}", "--voicebench-trials must be a whole number from 1 to 100, not "),
        ("concurrency={}", "--voicebench-concurrency must be a whole number from 1 to 10000, not "),
        ("shard=1/{}", "--voicebench-shard: must be NUMBER/COUNT"),
        ("limit=grok={}", "--voicebench-limit: 'grok="),
        ("limit=grok={}/min", "--voicebench-limit: 'grok="),
        ("retries={}", "--voicebench-retries: "),
        ("retries=5,{}", "--voicebench-retries: "),
    ],
)
def test_a_number_beyond_every_use_is_refused_in_one_line(pytester, run, option, told, text):
    if option == "retries=5,{}" and text == "0":
        return  # try again at once, or not at all
    result = run(PASSING, "--voicebench-" + option.format(text))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.lines if line.strip()]
    assert line.startswith(f"ERROR: {told}")
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf", "1e999", "much"])
def test_an_amount_of_money_that_is_none_is_refused(run, text):
    result = run(PASSING, f"--voicebench-max-usd={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --voicebench-max-usd: must be an amount of USD above 0, not *"])


@pytest.mark.parametrize("ini", ["voicebench_trials", "voicebench_concurrency"])
def test_numbers_of_the_ini_file_have_the_same_bounds(run, ini):
    result = run(PASSING, "-o", f"{ini}=1000000")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {ini} must be a whole number from 1 to 100*, not '1000000'"])


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("arguments", [["self-test", "--most"], ["prove", "x", "-n"]], ids=" ".join)
def test_commands_refuse_such_numbers_too(arguments, text, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*arguments, text])
    assert stop.value.code == 2
    assert "must be a whole number from 1 to " in capsys.readouterr().err


@given(st.integers(-5, 2000))
def test_a_whole_number_is_read_within_its_bound_alone(number):
    if 1 <= number <= 1000:
        assert whole_number(str(number), 1000) == number
    else:
        with pytest.raises(ValueError, match="must be a whole number from 1 to 1000, not"):
            whole_number(str(number), 1000)


@pytest.mark.parametrize("text", [HUGE, "1.0e999", "-.5e400"])
def test_a_number_that_nothing_can_hold_stays_text_in_an_agents_settings(text):
    assert parse_agent(f"mine,x={text}").settings == {"x": text}


@pytest.mark.parametrize("gate", [f"pass_hat_{HUGE} >= 0.5", f"errors <= {HUGE}", "f1 >= 1e999", "errors <= 1e400"])
def test_a_gate_of_a_number_that_nothing_can_hold_is_refused(gate):
    with pytest.raises(GateError):
        parse_gate(gate)
