"""The official aggregates: ten rows worked out by hand, denominators, items without a result, old runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from official_folders import item, official_result

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.official_card import OFFICIAL_VERSION
from pytest_voicebench.official_summary import OfficialAgent, OfficialSummary
from pytest_voicebench.result import Result
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.writers.official_tables import render_official
from pytest_voicebench.writers.summary_json import SCHEMA_PATH, load_summary, summary_bytes, write_summary

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "official_ten_rows.json").read_bytes())


def ten() -> list[Result]:
    return [official_result(row["metadata"]["id"], *item(row["metadata"], row["result"])) for row in ROWS]


def official(results: list[Result]) -> OfficialSummary:
    found = summarize(results).official
    assert found is not None
    return found


def only(results: list[Result]) -> OfficialAgent:
    (agent,) = official(results).agents
    return agent


AGENT = only(ten())


@pytest.mark.parametrize(
    ("item_id", "f1", "accuracy", "failure", "taken", "latency_s"),
    [
        ("weather_01", 1.0, 1.0, None, True, 1.5),
        ("weather_02", 1.0, 0.0, "wrong_arguments", True, 3.0),
        ("tea_01", 1.0, 1.0, None, False, 34.0),  # silent, and its silence is a number
        ("tea_02", 0.0, 0.0, "wrong_tools", False, None),
        ("tea_03", 1.0, 1.0, None, True, -1.5),  # an interruption
        ("weather_03", 0.667, 0.0, "wrong_tools", True, 2.0),  # stale, then corrected: the first call is judged
        ("tea_04", 1.0, 1.0, None, True, 0.0),
        ("weather_04", 0.8, 0.0, "wrong_tools", True, None),  # the two right calls came in the other order
        ("tea_05", 0.0, 1.0, "wrong_tools", True, 3.0),  # nothing expected; a user end of 0 counts
        ("weather_05", 1.0, 0.667, "wrong_arguments", True, 0.25),
    ],
)
def test_each_of_ten_rows_is_scored_as_by_hand(
    item_id: str, f1: float, accuracy: float, failure: str | None, taken: bool, latency_s: float | None
) -> None:
    card = next(r.official for r in ten() if r.item_id == item_id)
    assert card is not None
    assert (card.tools.f1, card.argument_accuracy, card.failure, card.passed) == (f1, accuracy, failure, not failure)
    assert (card.turn_taken, card.response_latency_s) == (taken, latency_s)


def test_by_metric_is_over_turns_taken_and_all_over_all() -> None:
    assert (AGENT.turn_take_rate.k, AGENT.turn_take_rate.n) == (8, 10)
    assert AGENT.by_metric.tool_selection_f1.value == pytest.approx(6.467 / 8)
    assert AGENT.by_metric.argument_accuracy.value == pytest.approx(4.667 / 8)
    assert AGENT.by_metric.argument_accuracy.n == 8
    assert AGENT.by_metric_all.tool_selection_f1.value == pytest.approx(0.7467)
    assert AGENT.by_metric_all.argument_accuracy.value == pytest.approx(0.5667)
    assert AGENT.by_metric_all.argument_accuracy.n == 10


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("by_domain", {"weather": (0.8934, 0.3334, 5), "tea": (0.6, 0.8, 5)}),
        ("by_domain_turn_taken", {"weather": (0.8934, 0.3334, 5), "tea": (2 / 3, 1.0, 3)}),
        (
            "by_difficulty",
            {"easy": (1.0, 0.66675, 4), "medium": (1.667 / 3, 1 / 3, 3), "hard": (0.6, 2 / 3, 3)},
        ),
        (
            "by_difficulty_turn_taken",
            {"easy": (1.0, 1.667 / 3, 3), "medium": (0.8335, 0.5, 2), "hard": (0.6, 2 / 3, 3)},
        ),
    ],
)
def test_groups_are_over_all_items_with_the_turns_taken_beside_them(field: str, expected: Any) -> None:
    groups = getattr(AGENT, field)
    assert set(groups) == set(expected)
    for name, (f1, accuracy, n) in expected.items():
        means = groups[name]
        assert means.tool_selection_f1.value == pytest.approx(f1), name
        assert means.argument_accuracy.value == pytest.approx(accuracy), name
        assert means.tool_selection_f1.n == means.argument_accuracy.n == n


def test_pass_rates_are_over_all_items_silent_ones_too() -> None:
    assert (AGENT.pass_rate.k, AGENT.pass_rate.n) == (4, 10)
    assert AGENT.failure_breakdown == {"wrong_tools": 4, "wrong_arguments": 2}
    assert {key: {group: (r.k, r.n) for group, r in groups.items()} for key, groups in AGENT.pass_by.items()} == {
        "domain": {"weather": (1, 5), "tea": (3, 5)},
        "difficulty": {"easy": (2, 4), "medium": (1, 3), "hard": (1, 3)},
        "num_tools": {"0": (0, 1), "1": (3, 6), "2": (1, 1), "3": (0, 2)},
        "disfluency_feature": {"filler": (2, 3), "pause": (0, 2), "hesitation": (1, 1), "self_correction": (1, 2)},
        "state_rollback": {"with_rollback": (1, 2), "without_rollback": (3, 8)},
    }


def test_latency_leaves_interruptions_and_silent_items_out() -> None:
    assert (AGENT.interruption_rate.k, AGENT.interruption_rate.n) == (1, 7)  # weather_04 has no start of speech
    times = AGENT.response_latency_s
    assert (times.mean, times.min, times.max, times.n) == (1.625, 0.0, 3.0, 6)
    assert times.std == pytest.approx((8.46875 / 5) ** 0.5)


def test_the_latency_script_goes_by_words_and_by_the_first_call_of_the_log() -> None:
    assert AGENT.first_response_latency_s.n == AGENT.tool_call_latency_s.n == 6
    assert AGENT.first_response_latency_s.mean == pytest.approx(9.05 / 6)
    assert AGENT.tool_call_latency_s.mean == pytest.approx(3.5 / 6)


@pytest.mark.parametrize(("first_s", "n"), [(-0.001, 0), (0.0, 1), (0.001, 1), (None, 0)])
def test_a_first_response_at_the_users_end_counts_and_one_before_it_does_not(first_s: float | None, n: int) -> None:
    result = ten()[0]
    assert result.official is not None
    agent = only([replace(result, official=replace(result.official, first_response_latency_s=first_s))])
    assert (agent.first_response_latency_s.n, agent.tool_call_latency_s.n) == (n, n)


def test_the_order_of_the_results_changes_nothing() -> None:
    assert official(list(reversed(ten()))) == official(ten())


def without_card(result: Result, outcome: Any) -> Result:
    return replace(result, outcome=outcome, official=None)


def test_an_error_without_a_conversation_counts_as_an_empty_result_and_says_so() -> None:
    first, *others = ten()
    summary = official([without_card(first, "error"), *others])
    (agent,) = summary.agents
    assert (agent.items, agent.errors_as_empty, agent.left_out) == (10, 1, {})
    assert agent.by_metric_all.tool_selection_f1.value == pytest.approx(0.6467)
    assert (agent.pass_rate.k, agent.pass_rate.n) == (3, 10)
    assert (agent.turn_take_rate.k, agent.turn_take_rate.n) == (7, 10)
    assert agent.failure_breakdown == {"wrong_tools": 5, "wrong_arguments": 2}
    assert "a: 1 of 10 are errors, counted as empty results" in summary.notes


def test_an_error_with_a_conversation_counts_by_what_was_there() -> None:
    first, *others = ten()
    assert only([replace(first, outcome="error"), *others]) == AGENT


def test_an_error_where_nothing_was_expected_is_right_by_these_rules() -> None:
    results = ten()
    results[8] = without_card(results[8], "error")  # tea_05
    agent = only(results)
    assert agent.pass_rate.k == 5
    assert agent.by_metric_all.tool_selection_f1.value == pytest.approx(0.8467)


@pytest.mark.parametrize("outcome", ["skipped", "not_run"])
def test_items_that_never_ran_are_left_out_and_counted(outcome: str) -> None:
    first, *others = ten()
    summary = official([without_card(first, outcome), *others])
    assert summary.agents[0].items == 9
    assert summary.agents[0].left_out == {outcome: 1}
    assert summary.notes == (f"a: 1 item left out: {outcome}",)


def test_a_run_from_before_has_no_official_scores_and_says_why() -> None:
    old = [without_card(r, r.outcome) for r in ten()]
    summary = official(old)
    assert summary.agents == ()
    assert "made before" in summary.notes[0]
    page = render_official(summarize(old), color=False)
    assert page.splitlines()[-1] == summary.notes[0]


def test_old_items_among_new_ones_are_left_out_and_counted() -> None:
    first, *others = ten()
    agent = only([without_card(first, "passed"), *others])
    assert agent.items == 9
    assert agent.left_out == {"scored before there were official scores": 1}


def test_errors_of_a_run_with_old_items_are_left_out_as_those_are() -> None:
    first, second, *others = ten()
    agent = only([without_card(first, "passed"), without_card(second, "error"), *others])
    assert (agent.items, agent.errors_as_empty) == (8, 0)
    assert agent.left_out == {"error": 1, "scored before there were official scores": 1}


def test_cards_that_other_rules_made_are_named() -> None:
    first, *others = ten()
    assert first.official is not None
    other = replace(first, official=replace(first.official, version=OFFICIAL_VERSION + 1))
    assert official([other, *others]).notes == (f"1 item was scored by version {OFFICIAL_VERSION + 1} of these rules",)


def test_a_run_in_which_nobody_spoke_has_no_latency_and_no_turn_means() -> None:
    agent = only([r for r in ten() if r.item_id in ("tea_01", "tea_02")])
    assert agent.by_metric.tool_selection_f1.value is None
    assert agent.interruption_rate.value is None
    assert (agent.response_latency_s.mean, agent.response_latency_s.n) == (None, 0)
    assert "n/a" in render_official(summarize(ten()[2:4]), color=False)


def test_the_summary_names_set_version_and_mode_and_fits_its_schema(tmp_path: Path) -> None:
    summary = summarize(ten())
    assert summary.official is not None
    found = (summary.official.score_set, summary.official.score_version, summary.official.mode)
    assert found == ("official", OFFICIAL_VERSION, "exact")
    jsonschema.validate(json.loads(summary_bytes(summary)), json.loads(SCHEMA_PATH.read_bytes()))
    write_summary(tmp_path, summary)
    assert load_summary(tmp_path) == summary


def test_a_summary_from_before_is_still_readable(tmp_path: Path) -> None:
    data = json.loads(summary_bytes(summarize(ten())))
    del data["official"]
    (tmp_path / "summary.json").write_text(json.dumps(data), encoding="utf-8")
    assert load_summary(tmp_path).official is None


def test_many_agents_stand_in_blocks_that_fit_the_page() -> None:
    agents = [AgentInfo(name=f"agent_{n}", clock="wall") for n in range(5)]
    results = [replace(r, agent=a) for a in agents for r in (ten() if a.name != "agent_3" else ten()[:2])]
    page = render_official(summarize(results), color=False)
    lines = page.splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert "columns do not fit" not in page
    assert [line.split()[2:] for line in lines if line.startswith("  pass rate")] == [
        ["0.400", "4/10"] * 3,
        ["0.500", "1/2", "0.400", "4/10"],
    ]
    assert [line for line in lines if line.startswith("By domain")] == [f"By domain: {a.name}" for a in agents]


def test_the_tables_show_each_figure_with_its_denominator() -> None:
    page = render_official(summarize(ten()), color=False)
    lines = [" ".join(line.split()) for line in page.splitlines()]
    for line in (
        "pass rate 0.400 4/10",
        "tool selection F1 / turns taken 0.808 (n=8)",
        "argument accuracy / all 0.567 (n=10)",
        "interruption rate 0.143 1/7",
        "response latency, mean s 1.625 (n=6)",
        "response latency, std s 1.301 (n=6)",
        "weather 0.200 1/5 0.893 0.333 (n=5) 0.893 0.333 (n=5)",
        "tea 0.600 3/5 0.600 0.800 (n=5) 0.667 1.000 (n=3)",
        "state rollback: with_rollback 0.500 1/2",
        "failed for: wrong tools 4 /6",
    ):
        assert line in lines
    assert any(line.startswith("scores official 1, exact mode") for line in lines)
    assert all(len(line) <= 100 for line in page.splitlines())
