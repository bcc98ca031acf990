"""`official-judged(ours)`: the official rules with a judge's verdicts, on hand-computed cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_judged import JUDGE, said
from test_saved_run import a_result

from pytest_voicebench.conversation import Call
from pytest_voicebench.judgement import Asked, Judgement, judged_scores, official_arguments, questions_of
from pytest_voicebench.metrics.official_calls import argument_accuracy, judged_calls, tool_selection
from pytest_voicebench.official_card import OfficialCard
from pytest_voicebench.official_summary import OfficialJudgedAgent
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import ExpectedCall
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summarizing.official_judged import judged_card
from pytest_voicebench.writers.terminal import render

RESPONSE, INFORMATION = Asked(question="response"), Asked(question="information")
EXPECTED = (ExpectedCall(tool="t", args={"city": "Rome", "date": "2026-06-03"}),)


def asked(argument: str, actual: Any) -> Asked:
    expected = EXPECTED[0].args[argument]
    return Asked(question="argument", tool="t", argument=argument, expected=expected, actual=actual)


def official(*arguments: dict[str, Any], turn_taken: bool = True, tool: str = "t") -> OfficialCard:
    """The card of these calls against one expected call."""
    calls = [
        Call(call_id=str(n), name=tool, arguments=a, status="executed", at_ticks=n) for n, a in enumerate(arguments)
    ]
    judged, tools = judged_calls(EXPECTED, calls), tool_selection(EXPECTED, calls)
    wrong = bool(tools.missing or tools.unexpected)
    right = all(call.score for call in judged) and not wrong
    return OfficialCard(
        inputs="derived",
        tools=tools,
        calls=judged,
        argument_accuracy=argument_accuracy(judged),
        passed=right,
        failure=None if right else ("wrong_tools" if wrong else "wrong_arguments"),
        turn_taken=turn_taken,
        user_end_s=None,
        agent_start_s=None,
        response_latency_s=None,
        interruption=None,
        first_response_latency_s=None,
        tool_call_latency_s=None,
    )


def item(name: str, card: OfficialCard, **changes: Any) -> Result:
    result = a_result(name, "failed", official=card, **changes)
    assert result.scorecard is not None
    return replace(result, scorecard=replace(result.scorecard, spoke=card.turn_taken))


def only(results: list[Result], judgements: list[Judgement]) -> OfficialJudgedAgent:
    (section,) = summarize(results, None, judgements).judge
    (agent,) = section.official
    return agent


def test_all_that_differs_from_a_call_is_asked_about_unless_an_argument_is_missing() -> None:
    both = item("a", official({"city": "Roma", "date": "June 3"}))
    assert official_arguments(both) == (asked("city", "Roma"), asked("date", "June 3"))
    assert set(official_arguments(both)) < set(questions_of(both))
    assert official_arguments(item("a", official({"city": "Roma"}))) == ()
    assert official_arguments(item("a", official({"city": " ROME ", "date": "2026-06-03"}))) == ()
    (call,) = official({"date": "June 3"}).calls
    assert (call.argument, call.verdict, call.lacking, len(call.differing)) == (
        "city",
        "missing_argument",
        ("city",),
        1,
    )


CARDS = [
    ("both the same", {"city": "Roma", "date": "June 3"}, {"city": True, "date": True}, (1.0, True, None)),
    ("one is not", {"city": "Oslo", "date": "June 3"}, {"city": False, "date": True}, (0.0, False, "wrong_arguments")),
    ("one is not, one unknown", {"city": "Oslo", "date": "June 3"}, {"city": False}, (0.0, False, "wrong_arguments")),
    ("one is unknown", {"city": "Roma", "date": "June 3"}, {"city": True}, None),
    ("equal, nothing asked", {"city": "rome", "date": "2026-06-03"}, {}, (1.0, True, None)),
    ("one is missing", {"city": "Rome"}, {}, (0.0, False, "wrong_arguments")),
    ("one differs, one is missing", {"city": "Roma"}, {"city": True}, (0.0, False, "wrong_arguments")),
]


@pytest.mark.parametrize(("_", "arguments", "verdicts", "expected"), CARDS, ids=[row[0] for row in CARDS])
def test_a_call_is_right_where_every_argument_is_equal_or_means_the_same(
    _: str, arguments: dict[str, Any], verdicts: dict[str, bool], expected: tuple[float, bool, str | None] | None
) -> None:
    result = item("a", official(arguments))
    rows = [said("a", RESPONSE, True)]
    rows += [said("a", asked(name, arguments[name]), answer) for name, answer in verdicts.items()]
    assert result.official is not None
    card = judged_card(result.official, judged_scores(result, rows, JUDGE))
    found = card and (card.argument_accuracy, card.passed, card.failure)
    assert found == expected


def test_wrong_tools_stay_wrong_and_no_transcript_has_no_quality() -> None:
    surplus = item("a", official({"city": "Roma", "date": "2026-06-03"}, {}))
    rows = [said("a", RESPONSE, True), said("a", asked("city", "Roma"), True)]
    assert surplus.official is not None
    card = judged_card(surplus.official, judged_scores(surplus, rows, JUDGE))
    assert card is not None
    assert (card.argument_accuracy, card.passed, card.failure, card.response_quality) == (
        1.0,
        False,
        "wrong_tools",
        1.0,
    )
    mute = official({"city": "Rome", "date": "2026-06-03"}, turn_taken=False)
    silent = judged_card(mute, judged_scores(item("b", mute), [], JUDGE))
    assert silent is not None
    assert (silent.passed, silent.response_quality) == (True, 0.0)


def test_a_card_saved_before_it_told_of_every_difference_cannot_be_judged() -> None:
    old = official({"city": "Roma", "date": "2026-06-03"})
    old = replace(old, calls=(replace(old.calls[0], differing=()),))
    rows = [said("a", RESPONSE, True)]
    assert judged_card(old, judged_scores(item("a", old), rows, JUDGE)) is None


def test_means_keep_the_official_denominators() -> None:
    results = [
        item("a", official({"city": "Roma", "date": "2026-06-03"})),
        item("b", official({"city": "Oslo", "date": "2026-06-03"})),
        item("c", official({"city": "Rome", "date": "2026-06-03"}, turn_taken=False)),
        a_result("d", "error"),
    ]
    rows = [said("a", asked("city", "Roma"), True), said("b", asked("city", "Oslo"), False)]
    rows += [said(name, INFORMATION, 0) for name in "ab"] + [said("a", RESPONSE, True), said("b", RESPONSE, True)]
    agent = only(results, rows)
    assert (agent.withheld, agent.unjudged) == (None, 0)
    assert agent.scores is not None
    assert agent.response_quality is not None
    assert agent.response_quality_all is not None
    assert (agent.scores.by_metric.argument_accuracy.value, agent.scores.by_metric.argument_accuracy.n) == (0.5, 2)
    assert agent.scores.by_metric_all.argument_accuracy.value == 0.5  # 1, 0, 1 and an empty result's 0
    assert (agent.scores.pass_rate.k, agent.scores.pass_rate.n) == (2, 4)
    assert (agent.response_quality.value, agent.response_quality.n) == (1.0, 2)
    assert (agent.response_quality_all.value, agent.response_quality_all.n) == (0.5, 4)
    exact = summarize(results).official
    assert exact is not None
    assert exact.agents[0].by_metric.argument_accuracy.value == 0.0  # the exact set does not move
    text = render(summarize(results, None, rows), color=False)
    assert "official-judged(ours): arguments 0.500, response 1.000 (2 turns taken); Pass 0.500 (2/4)" in text


def test_of_an_error_that_spoke_the_quality_is_unknown_and_of_a_silent_one_0() -> None:
    right = {"city": "Rome", "date": "2026-06-03"}
    spoke, silent = (a_result("d", "error", official=official(right, turn_taken=taken)) for taken in (True, False))
    assert spoke.official is not None
    assert silent.official is not None
    assert judged_card(spoke.official, judged_scores(spoke, [], JUDGE)) is None
    card = judged_card(silent.official, judged_scores(silent, [], JUDGE))
    assert card is not None
    assert card.response_quality == 0.0
    agent = only([item("a", official(right)), spoke], [said("a", RESPONSE, True)])
    assert (agent.withheld, agent.unjudged) == ("1 of 2 unjudged, more than 2%", 1)


def test_items_left_out_as_unjudged_are_counted_beside_the_figure() -> None:
    results = [item(f"i{n}", official({"city": "Rome", "date": "2026-06-03"})) for n in range(50)]
    rows = [said(f"i{n}", RESPONSE, None if n == 0 else True) for n in range(50)]
    text = render(summarize(results, None, rows), color=False)
    assert "official-judged(ours): arguments 1.000, response 1.000 (49 turns taken); Pass 1.000 (49/49, 1 " in text


def test_too_many_unjudged_items_withhold_the_whole_set() -> None:
    results = [item(f"i{n}", official({"city": "Rome", "date": "2026-06-03"})) for n in range(10)]
    rows = [said(f"i{n}", RESPONSE, None if n == 0 else True) for n in range(10)]
    agent = only(results, rows)
    assert (agent.withheld, agent.scores, agent.response_quality) == ("1 of 10 unjudged, more than 2%", None, None)


def test_a_run_without_official_scores_has_no_official_judged_ones() -> None:
    (section,) = summarize([a_result("a", "failed")], None, [said("a", INFORMATION, 0)]).judge
    assert section.official == ()
