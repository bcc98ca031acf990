"""A run against a baseline: which items are pairs, what each verdict needs, what is said beside, what is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from failures import card
from hypothesis import given
from hypothesis import strategies as st
from results import AGENT, a_result, a_run
from statsmodels.stats.multitest import multipletests

from pytest_voicebench.decisions import MetricComparison
from pytest_voicebench.regression import Question, compare_with_baseline
from pytest_voicebench.regression.baseline import load_baseline, newest_finished
from pytest_voicebench.regression.measures import MEASURES, USUAL, UnknownMetric, measure
from pytest_voicebench.regression.metrics import compared_metrics
from pytest_voicebench.regression.pairs import pair_up
from pytest_voicebench.regression.verdicts import holm, judged
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RESULTS_NAME, RunUnreadable
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scorecard import Manners, Times
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.writers.summary_json import SUMMARY_NAME, write_summary

TAKEN = Manners(turn_taken=True, interrupted=False, clean_turn=True, filler=False)


def item(n: int, passed: bool = True, *, speaker: str = "a", latency_s: float | None = 1.0, **changes: Any) -> Result:
    """Item n: one scenario in a voice; a failure has F1 0.5."""
    result = a_result(f"s{n}-{speaker}", "passed" if passed else "failed", **changes)
    scores = card(
        passed=passed,
        f1_names=1.0 if passed else 0.5,
        argument_accuracy=float(passed),
        manners=TAKEN,
        times=Times(first_response_latency_s=latency_s, task_completion_latency_s=latency_s),
    )
    facts = replace(result.facts, scenario_id=f"s{n}", speaker=speaker)
    return replace(result, scorecard=scores if result.scorecard is not None else None, facts=facts)


def saved(tmp_path: Path, name: str, rows: list[Result]) -> Any:
    return load_run(a_run(tmp_path / name, *rows))


def compared(tmp_path: Path, before: list[Result], after: list[Result], *questions: Question) -> Any:
    return compare_with_baseline(saved(tmp_path, "before", before), saved(tmp_path, "after", after), questions)


def row_of(found: Any, metric: str) -> MetricComparison:
    return next(row for row in found.agents[0].metrics if row.metric == metric)


def changed(row: Result, **facts: str) -> Result:
    return replace(row, facts=replace(row.facts, **facts))


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_items_pair_by_scenario_and_speaker_whatever_their_ids_are() -> None:
    before = [replace(item(1), item_id="s1"), item(2), item(2, speaker="b")]
    after = [item(2, speaker="b"), item(1), item(2)]
    found = pair_up(before, after)
    assert [(p.before.item_id, p.after.item_id) for p in found.pairs] == [
        ("s1", "s1-a"),
        ("s2-a", "s2-a"),
        ("s2-b", "s2-b"),
    ]
    assert found.only_before == found.only_after == found.changed == found.unmeasured == ()


def test_what_is_no_pair_is_named_by_kind() -> None:
    before = [item(1), item(2), item(3), item(4), a_result("s5-a", "error"), item(6)]
    before[4] = changed(before[4], scenario_id="s5")
    after = [
        changed(item(2), scenario_sha256="9" * 64),
        changed(item(3), expect_sha256="9" * 64),
        changed(a_result("s4-a", "skipped"), scenario_id="s4"),
        item(5),
        item(6),
        item(7),
    ]
    found = pair_up(before, after)
    assert [pair.after.item_id for pair in found.pairs] == ["s6-a"]
    assert (found.only_before, found.only_after) == (("s1-a",), ("s7-a",))
    assert (found.changed, found.unmeasured) == (("s2-a", "s3-a"), ("s4-a", "s5-a"))


def test_items_without_hashes_are_no_pairs() -> None:
    bare = changed(item(1), scenario_sha256="", expect_sha256="")
    assert pair_up([bare], [bare]).changed == ("s1-a",)


def test_an_item_that_a_run_has_twice_is_met_by_none() -> None:
    found = pair_up([item(1), item(1)], [item(1)])
    assert (found.pairs, found.only_after) == ((), ("s1-a",))


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_twenty_newly_failed_of_a_hundred_are_a_regression_with_all_its_figures(tmp_path: Path) -> None:
    before = [item(n) for n in range(100)]
    after = [item(n, n >= 20) for n in range(100)]
    found = compared(tmp_path, before, after, Question(metric="pass_at_1"))
    row = row_of(found, "pass_at_1")
    assert (row.verdict, row.method, row.pairs, row.clusters) == ("regressed", "McNemar, exact", 100, 100)
    assert (row.before, row.after, row.effect) == (1.0, 0.8, pytest.approx(-0.2))
    assert (row.p, row.p_corrected) == (2**-20, 2**-20)
    assert row.low is not None
    assert row.high is not None
    assert row.low < -0.2 < row.high < 0
    assert found.agents[0].newly_failed == tuple(sorted(f"s{n}-a" for n in range(20)))
    assert found.compared == 100


def test_two_voices_of_a_scenario_are_one_cluster(tmp_path: Path) -> None:
    before = [item(n, speaker=s) for n in range(20) for s in "ab"]
    after = [item(n, n >= 3, speaker=s) for n in range(20) for s in "ab"]
    row = row_of(compared(tmp_path, before, after, Question(metric="pass_at_1")), "pass_at_1")
    assert (row.pairs, row.clusters, row.p) == (40, 20, 1 / 8)  # three scenarios, not six items
    assert row.method == "sign flips of scenarios, exact"


def test_slower_is_worse_and_faster_is_not(tmp_path: Path) -> None:
    before = [item(n, latency_s=1.0 + 0.01 * (n % 7)) for n in range(40)]
    slow = [item(n, latency_s=1.4 + 0.01 * (n % 5)) for n in range(40)]
    metric = "first_response_latency_s.mean"
    worse = row_of(compared(tmp_path / "1", before, slow), metric)
    better = row_of(compared(tmp_path / "2", slow, before), metric)
    assert (worse.verdict, better.verdict) == ("regressed", "no_regression")
    assert worse.effect == pytest.approx(-(better.effect or 0))
    assert (worse.worse, worse.seed, worse.method) == (1, 5, "swaps and bootstrap of scenarios")


def test_pairs_are_those_that_have_a_value_in_both_runs(tmp_path: Path) -> None:
    before = [item(n, latency_s=None if n < 10 else 1.0) for n in range(40)]
    after = [item(n, latency_s=None if n >= 30 else 1.0) for n in range(40)]
    found = compared(tmp_path, before, after)
    assert row_of(found, "first_response_latency_s.mean").pairs == 20
    assert row_of(found, "pass_at_1").pairs == 40


def test_nothing_in_common_is_inconclusive_and_not_a_pass(tmp_path: Path) -> None:
    found = compared(tmp_path, [item(1)], [item(2)], Question(metric="pass_at_1"))
    row = row_of(found, "pass_at_1")
    assert (row.verdict, row.p, row.effect, row.pairs) == ("inconclusive", None, None, 0)
    assert row.why == "no item was measured in both runs"


@pytest.mark.parametrize("min_effect", [None, 0.05, 0.3])
def test_a_handful_of_pairs_without_a_change_is_inconclusive(tmp_path: Path, min_effect: float | None) -> None:
    rows = [item(n) for n in range(4)]
    found = compared(tmp_path, rows, rows, *(Question(metric=m, min_effect=min_effect) for m in USUAL))
    assert {row.verdict for row in found.agents[0].metrics} == {"inconclusive"}
    assert all(row.why for row in found.agents[0].metrics)


def test_a_hundred_pairs_without_a_change_say_which_drop_they_would_have_shown(tmp_path: Path) -> None:
    rows = [item(n, n % 3 > 0) for n in range(100)]
    row = row_of(compared(tmp_path, rows, rows, Question(metric="pass_at_1")), "pass_at_1")
    assert row.verdict == "no_regression"
    assert row.detectable == pytest.approx(0.067, abs=0.002)  # of 100, five newly failed give p 0.03
    assert [chance.change for chance in row.chances] == [0.05, 0.10, 0.15]
    assert [round(chance.probability, 2) for chance in row.chances] == [0.56, 0.98, 1.0]


def test_several_metrics_are_corrected_together_and_the_usual_ones_apart(tmp_path: Path) -> None:
    before, after = [item(n) for n in range(40)], [item(n, n >= 6) for n in range(40)]
    asked = [Question(metric=m) for m in ("pass_at_1", "f1", "turn_take_rate")]
    found = compared(tmp_path, before, after, *asked)
    rows = {row.metric: row for row in found.agents[0].metrics}
    assert (rows["pass_at_1"].p, rows["pass_at_1"].p_corrected) == (1 / 64, 3 / 64)
    assert (rows["f1"].p, rows["f1"].p_corrected) == (1 / 64, 3 / 64)
    assert rows["argument_accuracy"].p_corrected == 5 / 64  # of the five others, the only one that moved
    assert [row.metric for row in found.agents[0].metrics][:3] == ["pass_at_1", "f1", "turn_take_rate"]


def test_one_metric_with_two_sizes_of_loss_is_asked_once(tmp_path: Path) -> None:
    before, after = [item(n) for n in range(40)], [item(n, n >= 5) for n in range(40)]
    sizes = [Question(metric="pass_at_1", min_effect=size) for size in (0.05, 0.5)]
    rows = compared(tmp_path, before, after, *sizes).agents[0].metrics[:2]
    assert [row.p_corrected for row in rows] == [1 / 32, 1 / 32]
    assert [row.verdict for row in rows] == ["regressed", "no_regression"]


def test_a_group_is_compared_on_its_own_items(tmp_path: Path) -> None:
    before = [changed(item(n), difficulty="hard" if n < 10 else "easy") for n in range(40)]
    after = [changed(item(n, n >= 6), difficulty="hard" if n < 10 else "easy") for n in range(40)]
    found = compared(tmp_path, before, after, Question(metric="pass_at_1", group="difficulty=easy"))
    row = found.agents[0].metrics[0]
    assert (row.group, row.pairs, row.verdict) == ("difficulty=easy", 30, "no_regression")
    hard = compared_metrics(pair_up(before, after).pairs, [Question(metric="pass_at_1", group="difficulty=hard")])[0]
    assert (hard.pairs, hard.effect, hard.verdict) == (10, pytest.approx(-0.6), "regressed")


def test_equal_runs_give_equal_comparisons_in_any_order(tmp_path: Path) -> None:
    before = [item(n, n % 4 > 0, speaker=s, latency_s=1 + n / 50) for n in range(30) for s in "ab"]
    after = [item(n, n % 5 > 0, speaker=s, latency_s=1 + n % 7 / 9) for n in range(30) for s in "ab"]
    found = compared(tmp_path / "1", before, after)
    again = compared(tmp_path / "2", before[::-1], after[::-1])
    assert found.agents[0].metrics == again.agents[0].metrics


def test_where_nothing_is_asked_pass_at_1_is_asked_alone_and_comes_first(tmp_path: Path) -> None:
    found = compared(tmp_path, [item(n) for n in range(40)], [item(n, n >= 5) for n in range(40)])
    first, *others = found.agents[0].metrics
    assert (first.metric, first.p, first.p_corrected) == ("pass_at_1", 1 / 32, 1 / 32)
    assert [row.metric for row in others] == [name for name in USUAL if name != "pass_at_1"]
    assert row_of(found, "f1").p_corrected == 7 / 32


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_holms_correction_is_that_of_statsmodels(values: list[float | None]) -> None:
    known = [p for p in values if p is not None]
    theirs = list(multipletests(known, method="holm")[1]) if known else []
    assert [p for p in holm(values) if p is not None] == pytest.approx(theirs)
    assert [p is None for p in holm(values)] == [p is None for p in values]


def a_row(**changes: Any) -> MetricComparison:
    values: dict[str, Any] = {
        "metric": "pass_at_1", "verdict": "inconclusive", "method": "", "worse": -1, "pairs": 100, "clusters": 100,
        "before": 0.8, "after": 0.78, "effect": -0.02, "low": -0.08, "high": 0.04, "p_corrected": 0.3,
        "detectable": 0.1,
    }  # fmt: skip
    return MetricComparison(**values | changes)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "no_regression"),
        ({"p_corrected": 0.05}, "regressed"),
        ({"p_corrected": 0.0501}, "no_regression"),
        ({"metric": "f1", "p_corrected": 0.05}, "no_regression"),  # what reaches its level is tested at 0.04
        ({"metric": "f1", "p_corrected": 0.04}, "regressed"),
        ({"metric": "first_response_latency_s.p95", "worse": 1, "p_corrected": 0.04}, "regressed"),
        ({"p_corrected": None}, "inconclusive"),
        ({"detectable": 0.2}, "no_regression"),  # the interval excludes 15 points
        ({"detectable": None}, "no_regression"),
        ({"detectable": 0.2, "low": -0.15}, "inconclusive"),
        ({"detectable": None, "low": -0.15}, "inconclusive"),
        ({"detectable": 0.1, "low": -0.15}, "no_regression"),  # it would have been seen
        ({"detectable": 0.2, "effect": 0.3, "low": 0.2, "high": 0.4, "p_corrected": 1.0}, "no_regression"),
        ({"min_effect": 0.10}, "no_regression"),
        ({"min_effect": 0.08}, "inconclusive"),  # the interval reaches it
        ({"min_effect": 0.05}, "inconclusive"),
        ({"min_effect": 0.10, "detectable": None}, "no_regression"),  # the interval alone decides
        ({"min_effect": 0.01, "p_corrected": 0.01, "low": -0.04, "high": -0.01}, "regressed"),
        ({"min_effect": 0.05, "p_corrected": 0.01, "low": -0.04, "high": -0.01}, "no_regression"),
        ({"min_effect": 0.03, "p_corrected": 0.01, "low": -0.04, "high": -0.01}, "inconclusive"),
        ({"min_effect": 0.10, "low": None, "high": None}, "inconclusive"),
        (  # so much slower is no "no regression", however little would have been seen
            {
                "metric": "first_response_latency_s.p95",
                "worse": 1,
                "effect": 1.5,
                "low": 1.5,
                "high": 1.5,
                "p_corrected": 0.08,
                "detectable": 0.051,
            },
            "inconclusive",
        ),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "detectable": 0.24}, "no_regression"),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "detectable": 0.26}, "no_regression"),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "detectable": 0.26, "high": 0.25}, "inconclusive"),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "before": 4.0, "detectable": 0.9}, "no_regression"),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "min_effect": 0.05}, "no_regression"),
        ({"metric": "first_response_latency_s.mean", "worse": 1, "min_effect": 0.04}, "inconclusive"),
    ],
)
def test_what_each_verdict_rests_on(changes: dict[str, Any], verdict: str) -> None:
    found = judged(a_row(**changes))
    assert found.verdict == verdict
    assert (found.why is not None) or verdict != "inconclusive"


@pytest.mark.parametrize("name", ["pass_at1", "first_response_latency_s", "usd"])
def test_a_metric_that_cannot_be_compared_is_told(name: str) -> None:
    with pytest.raises(UnknownMetric):
        measure(name)


@pytest.mark.parametrize("name", ["response_quality", "information_latency_s.p50"])
def test_what_a_judge_says_decides_nothing(name: str) -> None:
    with pytest.raises(UnknownMetric, match=f"{name} is what a judge says, which is shown and decides nothing"):
        measure(name)


def test_every_metric_knows_its_items_and_none_is_measured_where_nothing_was() -> None:
    scores = card(manners=TAKEN, times=Times())
    values = {name: one.value(scores) for name, one in MEASURES.items()}
    assert all(value is None for name, value in values.items() if "latency" in name)
    assert values["premature_commit_rate"] is None
    assert values["preemptive_rate"] is None
    assert (values["interruption_rate"], values["turn_take_rate"]) == (0.0, 1.0)


# --- around -----------------------------------------------------------------------------------------------------------


def test_latencies_of_two_clocks_are_never_compared(tmp_path: Path) -> None:
    before = [item(n) for n in range(60)]
    after = [item(n, agent=replace(AGENT, clock="wall")) for n in range(60)]
    found = compared(tmp_path, before, after)
    row = row_of(found, "first_response_latency_s.mean")
    assert (row.verdict, row.pairs) == ("inconclusive", 0)
    assert row.why == "latencies on the virtual clock and on the wall clock cannot be compared"
    assert any("the clock of all items is not the same" in caution for caution in found.cautions)
    assert row_of(found, "pass_at_1").verdict == "no_regression"


def test_scores_of_other_versions_are_refused(tmp_path: Path) -> None:
    after = [item(n) for n in range(3)]
    before = [replace(row, scorecard=replace(row.scorecard, version=0)) for row in after]
    found = compared(tmp_path, before, after)
    assert found.agents == ()
    assert found.refused == (
        "before has the scores voicebench 0, this run voicebench 1; judge it again: --voicebench-rescore before"
    )


def test_a_baseline_in_which_nothing_was_measured_is_refused(tmp_path: Path) -> None:
    found = compared(tmp_path, [a_result("s1-a", "error")], [item(1)])
    assert found.refused == "before: no item was measured"


def test_agents_meet_by_name_and_one_meets_one_whatever_they_are_called(tmp_path: Path) -> None:
    renamed = [replace(item(n), agent=replace(AGENT, name="grok")) for n in range(5)]
    alone = compared(tmp_path / "1", [item(n) for n in range(5)], renamed)
    assert [(a.before, a.name) for a in alone.agents] == [("local", "grok")]
    both = [*(item(n) for n in range(5)), *(replace(row, item_id=f"grok-{row.item_id}") for row in renamed)]
    found = compared(tmp_path / "2", [item(n) for n in range(5)], both)
    assert [(a.before, a.name) for a in found.agents] == [("local", "local")]


def test_settings_that_changed_are_said(tmp_path: Path) -> None:
    after = [replace(item(n), agent=replace(AGENT, settings={"end_silence_s": 0.5})) for n in range(3)]
    found = compared(tmp_path, [item(n) for n in range(3)], after)
    assert "agent.settings.end_silence_s: 0.8 -> 0.5" in found.cautions


# --- what a baseline is -----------------------------------------------------------------------------------------------


def finished(folder: Path, *rows: Result, **more: Any) -> Path:
    a_run(folder, *rows, **more)
    write_summary(folder, load_run(folder).summary())
    return folder


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    finished(tmp_path / "reports" / "first", item(1), item(2, False))
    return tmp_path / "reports"


def test_a_results_file_alone_is_a_baseline_under_any_name(reports: Path, tmp_path: Path) -> None:
    shutil.copy(reports / "first" / RESULTS_NAME, tmp_path / "main.jsonl")
    found = load_baseline("main.jsonl", reports, here=tmp_path)
    assert (found.name, [row.outcome for row in found.results]) == ("main.jsonl", ["passed", "failed"])
    against = compare_with_baseline(found, load_run(reports / "first"))
    assert against.compared == 2
    assert against.cautions[0] == "main.jsonl does not say by which versions and rules it was made"


@pytest.mark.parametrize(
    "given_", ["first", "reports/first", f"reports/first/{SUMMARY_NAME}", f"reports/first/{RESULTS_NAME}"]
)
def test_a_run_is_given_by_name_folder_or_file(reports: Path, tmp_path: Path, given_: str) -> None:
    found = load_baseline(given_, reports, here=tmp_path)
    assert (found.name, len(found.results), found.plan.collected) == ("first", 2, 2)


def test_latest_is_the_newest_finished_run_other_than_this_one(reports: Path) -> None:
    finished(reports / "second", item(1))
    finished(reports / "stopped", item(1), planned=(item(2),))
    (reports / "begun").mkdir()
    assert newest_finished(reports).name == "second"
    finished(reports / "dead", replace(item(1), outcome="error"))  # nothing was measured
    finished(reports / "part", item(1), shard="shard 3 of 8: 1 of 9 items")
    assert newest_finished(reports).name == "second"
    assert newest_finished(reports, [reports / "second"]).name == "first"
    assert load_baseline("latest", reports).name == "second"


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("nothing", "nothing: no such file, and no such run in "),
        ("summary.json", "summary.json: holds no items; keep the run's results.jsonl as a baseline"),
        ("empty.jsonl", "empty.jsonl: holds no results; a run's results.jsonl does"),
        ("text.jsonl", "text.jsonl: holds no results; a run's results.jsonl does"),
    ],
)
def test_what_is_no_baseline_is_told_in_one_line(reports: Path, tmp_path: Path, given_: str, message: str) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({"schema_version": 1}))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "text.jsonl").write_text("# a note\n")
    with pytest.raises(RunUnreadable) as error:
        load_baseline(given_, reports, here=tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_without_another_run_there_is_no_latest(reports: Path) -> None:
    with pytest.raises(RunUnreadable, match="latest: no other finished run in"):
        newest_finished(reports, [reports / "first"])


def test_the_figures_of_a_comparison_are_those_of_the_summaries_where_all_items_pair(tmp_path: Path) -> None:
    before, after = [item(n, n % 3 > 0) for n in range(30)], [item(n, n % 4 > 0) for n in range(30)]
    found = compared(tmp_path, before, after)
    for metric in ("pass_at_1", "f1", "argument_accuracy", "turn_take_rate", "interruption_rate"):
        row = row_of(found, metric)
        assert (row.before, row.after) == tuple(
            pytest.approx(getattr(summarize(rows).agents[0].overall, metric).value) for rows in (before, after)
        )


def test_a_rerun_that_passed_laid_over_a_failure_is_said(tmp_path: Path) -> None:
    before = [item(n, n != 3) for n in range(60)]
    after = [item(n, n != 4) for n in range(60)]
    after[3] = replace(item(3), attempts=("failed", "passed"))
    after[4] = replace(after[4], attempts=("failed", "passed"))  # the first valid attempt counts: nothing was picked
    after[5] = replace(item(5), attempts=("error", "passed"))
    (caution,) = compared(tmp_path, before, after).cautions[-1:]
    assert caution == f"after: 1 item failed before a rerun that passed was laid over: {after[3].item_id}"


def test_where_nothing_passed_before_nothing_can_be_lost_and_more_pairs_are_not_asked_for(tmp_path: Path) -> None:
    rows = [item(n, False) for n in range(60)]
    assert row_of(compared(tmp_path, rows, rows), "pass_at_1").why == "it was 0 before: nothing can be lost"


def test_what_could_not_be_read_of_a_baseline_is_said(tmp_path: Path) -> None:
    before = saved(tmp_path, "before", [item(n) for n in range(60)])
    damaged = replace(before, notes=("before.jsonl:2: not JSON: line left out",))
    found = compare_with_baseline(damaged, saved(tmp_path, "after", [item(n) for n in range(60)]))
    assert found.cautions[0] == "before.jsonl:2: not JSON: line left out"
