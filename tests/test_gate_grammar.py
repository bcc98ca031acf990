"""The language of gates: what can be asked, and for each mistake a message with its place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from summaries import a_summary, an_agent

from pytest_voicebench.gating.figures import FIGURES, figure_of, of_groups
from pytest_voicebench.gating.grammar import GateError, MustPass, NoRegression, Threshold, parse_gate
from pytest_voicebench.summary import Distribution, Mean, Rate, Scores

GOOD = {
    "pass_at_1 >= 0.55": Threshold(metric="pass_at_1", operator=">=", number=0.55),
    "self_correction.pass_at_1>=0.4": Threshold(metric="pass_at_1", operator=">=", number=0.4, group="self_correction"),
    "interruption_rate <= 0.2": Threshold(metric="interruption_rate", operator="<=", number=0.2),
    "first_response_latency_s.p95 <= 2.5": Threshold(metric="first_response_latency_s.p95", operator="<=", number=2.5),
    "hard.tool_call_latency_s.mean > -0.5": Threshold(
        metric="tool_call_latency_s.mean", operator=">", number=-0.5, group="hard"
    ),
    "disfluency=none . f1_match < 1": Threshold(metric="f1_match", operator="<", number=1.0, group="disfluency=none"),
    "expected_calls=2.f1 >= 1e-1": Threshold(metric="f1", operator=">=", number=0.1, group="expected_calls=2"),
    "rollback_latency_s.p50 <= 3": Threshold(metric="rollback_latency_s.p50", operator="<=", number=3.0),
    "errors <= 2": Threshold(metric="errors", operator="<=", number=2.0),
    "errors == 0": Threshold(metric="errors", operator="==", number=0.0),
    "usd <= 5": Threshold(metric="usd", operator="<=", number=5.0),
    "must_pass(travel_19)": MustPass(ids=("travel_19",)),
    "must_pass( travel_19-b , finance_01 )": MustPass(ids=("travel_19-b", "finance_01")),
    "no_regression(pass_at_1)": NoRegression(metric="pass_at_1"),
    "no_regression(pass_at_1, min_effect=0.05)": NoRegression(metric="pass_at_1", min_effect=0.05),
    "no_regression(hard.first_response_latency_s.p95, min_effect = 0.3)": NoRegression(
        metric="first_response_latency_s.p95", min_effect=0.3, group="hard"
    ),
}

LATENCIES = "first_response_latency_s.mean, first_response_latency_s.p50, first_response_latency_s.p95"

BAD = {
    "": (1, "an empty gate; write for example pass_at_1 >= 0.55"),
    "   ": (1, "an empty gate; write for example pass_at_1 >= 0.55"),
    "pass_at_1": (10, "expected one of >= <= > < ==, not the end"),
    "pass_at1 >= 0.5": (1, 'there is no metric pass_at1; did you mean "pass_at_1"?'),
    "hard.f1_mach >= 0.5": (6, 'there is no metric f1_mach; did you mean "f1_match"?'),
    "accuracy >= 0.5": (1, 'there is no metric accuracy; did you mean "argument_accuracy"?'),
    "pass_at_1 => 0.5": (11, '=> is no comparison here; did you mean ">="?'),
    "pass_at_1 =< 0.5": (11, '=< is no comparison here; did you mean "<="?'),
    "pass_at_1 = 0.5": (11, "= is no comparison here; did you mean >= or <=?"),
    "pass_at_1 != 0.5": (11, "!= is no comparison here; did you mean >= or <=?"),
    "pass_at_1 == 0.5": (11, "== is for counts; ask for >= or <="),
    "pass_at_1 >= 55%": (16, "write a share as a fraction: 0.55, not 55%"),
    "pass_at_1 >= 55": (14, "pass_at_1 lies between 0 and 1, not at 55; did you mean 0.55?"),
    "f1 >= -0.5": (7, "f1 lies between 0 and 1, not at -0.5"),
    "f1 >= 1000": (7, "f1 lies between 0 and 1, not at 1000"),
    "f1 >= 1e999": (7, "1e999 is larger than any figure"),
    "f1 >= \u0663": (7, "'\u0663' has no meaning in a gate"),
    "errors <= 2.5": (11, "errors is a whole number of items, not 2.5"),
    "errors <= -1": (11, "errors is a whole number of items, not -1"),
    "f1 >=": (6, "expected a number, not the end"),
    "f1 >= .5": (7, 'expected a number, not "."; write 0.5, not .5'),
    "f1 >= half": (7, 'expected a number, not "half"'),
    "f1 >= >= 0.5": (7, 'expected a number, not ">="'),
    "0.5 <= f1": (1, 'expected the name of a metric, not "0.5"'),
    "f1 >= 0.5 0.6": (11, 'nothing may follow here, but there is "0.6"'),
    "f1 >= 0.5 and errors <= 2": (11, "one gate asks one thing: give a gate for each"),
    "f1 >= 0.5 && errors <= 2": (11, "one gate asks one thing: give a gate for each"),
    "f1 >= 0.5, errors <= 2": (10, "one gate asks one thing: give a gate for each"),
    "f1 >= 0.5; errors <= 2": (10, "';' has no meaning in a gate"),
    "errors <= 2  # at most": (14, "'#' has no meaning in a gate"),
    "'f1' >= 0.5": (1, "names and ids stand without quotes"),
    "f1.p95 >= 0.5": (1, "f1 has no .p95: it is one figure"),
    "first_response_latency_s <= 2": (1, f"first_response_latency_s has several figures: {LATENCIES}"),
    "first_response_latency_s.p99 <= 2": (26, "there is no figure .p99; there are .mean, .p50, .p95"),
    "first_response_latency_s.max <= 2": (26, "there is no figure .max; there are .mean, .p50, .p95"),
    "hard.easy.f1 >= 0.5": (1, "a metric has at most one group: GROUP.METRIC"),
    "hard. >= 0.5": (7, 'expected the name of a metric, not ">="'),
    ".f1 >= 0.5": (1, 'expected the name of a metric, not "."'),
    "disfluency=none >= 0.5": (11, "= is no comparison here; did you mean >= or <=?"),
    "disfluency=.f1 >= 0.5": (12, 'expected the name of a group, not "."'),
    "must_pass": (1, "must_pass takes what it is about in brackets: must_pass(...)"),
    "must_pass()": (11, 'expected the id of a scenario or an item, not ")"'),
    "must_pass(travel_19": (20, 'expected ")", not the end'),
    "must_pass(travel_19,)": (21, 'expected the id of a scenario or an item, not ")"'),
    'must_pass("travel_19")': (11, "names and ids stand without quotes"),
    "mustpass(travel_19)": (1, 'there is no mustpass(); did you mean "must_pass"?'),
    "no_regressions(f1)": (1, 'there is no no_regressions(); did you mean "no_regression"?'),
    "no_regression(pas_at_1)": (15, 'pas_at_1 cannot be compared with a baseline; did you mean "pass_at_1"?'),
    "no_regression(usd)": (15, "usd cannot be compared with a baseline"),
    "no_regression(first_response_latency_s)": (15, f"first_response_latency_s has several figures: {LATENCIES}"),
    "no_regression(f1, 0.05)": (19, 'expected min_effect=NUMBER, not "0.05"'),
    "no_regression(f1, mineffect=0.05)": (19, 'mineffect is no setting; did you mean "min_effect"?'),
    "no_regression(f1, min_effect 0.05)": (30, 'expected "=", not "0.05"'),
    "no_regression(f1, min_effect=0)": (30, "min_effect is the size of a loss: above 0"),
    "no_regression(f1, min_effect=5)": (30, "f1 lies between 0 and 1, not at 5; did you mean 0.05?"),
    "no_regression(f1) >= 0.5": (19, 'nothing may follow here, but there is ">="'),
    "__import__('os').system('true')": (12, "names and ids stand without quotes"),
    "().__class__ >= 1": (1, 'expected the name of a metric, not "("'),
    "f1 >= 0.5\u202e": (10, "'\\u202e' has no meaning in a gate"),
}


@pytest.mark.parametrize("expression", GOOD)
def test_a_gate_asks_what_it_says(expression: str) -> None:
    gate = parse_gate(expression, "here")
    assert gate.asks == GOOD[expression]
    assert (gate.expression, gate.source) == (expression, "here")


@pytest.mark.parametrize("expression", BAD)
def test_a_mistake_is_told_with_its_place(expression: str) -> None:
    with pytest.raises(GateError) as error:
        parse_gate(expression)
    column, message = BAD[expression]
    assert str(error.value) == f"column {column}: {message}"
    assert error.value.column == column


def mistake(text: str) -> GateError | None:
    """What is wrong with a gate; None where nothing is. Any other exception is one of ours."""
    try:
        parse_gate(text)
    except GateError as error:
        return error
    return None


@given(st.one_of(st.text(st.sampled_from("f1.=<>() ,-0.5errorsmust_passhard'%#\n"), max_size=25), st.text(max_size=30)))
def test_whatever_is_written_is_a_gate_or_a_mistake_with_its_place_in_one_line(text: str) -> None:
    found = mistake(text)
    assert found is None or 1 <= found.column <= len(text) + 1
    assert "\n" not in str(found)


def test_every_figure_of_a_summary_has_a_name_and_a_value_or_none() -> None:
    agent = an_agent()
    for name, kind in get_type_hints(Scores).items():
        if kind in (Rate, Mean):
            assert name in FIGURES
        if kind is Distribution:
            assert f"{name}.p95" in FIGURES
    for name in FIGURES:
        found = figure_of(agent, agent.overall, name)
        assert found.value is None or isinstance(found.value, int | float)
        assert found.text
    assert a_summary(agent).agents == (agent,)


def test_passing_in_k_trials_is_a_figure_of_a_whole_run_with_trials() -> None:
    def estimate(value: float) -> SimpleNamespace:
        return SimpleNamespace(value=value, n=20)

    passes = [SimpleNamespace(k=k, pass_hat=estimate(0.5 / k), pass_at=estimate(1 - 0.5 / k)) for k in (1, 2, 3)]
    agent: Any = SimpleNamespace(trials=SimpleNamespace(passes=passes))
    scores = an_agent().overall
    assert figure_of(agent, scores, "pass_hat_2").text == "0.250 (n=20)"
    assert figure_of(agent, scores, "pass_at_2").text == "0.750 (n=20)"
    assert figure_of(agent, scores, "pass_hat_4").value is None
    assert figure_of(an_agent(), scores, "pass_hat_2").text == "n/a (n=0)"
    assert figure_of(agent, scores, "pass_at_1").text == "0.600 (57/95)"
    assert parse_gate("pass_hat_3 >= 0.4").asks == Threshold(metric="pass_hat_3", operator=">=", number=0.4)
    assert (of_groups("pass_hat_3"), of_groups("pass_at_1"), of_groups("rollback_latency_s.p95")) == (
        False,
        True,
        False,
    )


def test_a_line_break_in_a_gate_is_a_space() -> None:
    assert parse_gate("pass_at_1\n   >= 0.5").expression == "pass_at_1 >= 0.5"
