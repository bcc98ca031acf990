"""pass^k, pass@k, flaky items, and intervals of items that are not independent: hand-computed values and laws."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result

from pytest_voicebench.result import Outcome, Result
from pytest_voicebench.stats import clustered_interval, pass_at, pass_hat, wilson_interval
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summarizing.trials import trial_summary
from pytest_voicebench.trial_summary import PassOfK, TrialSummary
from pytest_voicebench.writers.junit_properties import item_properties, run_properties
from pytest_voicebench.writers.terminal import render, render_short

OUTCOMES: dict[str, Outcome] = {
    "p": "passed", "f": "failed", "e": "error", "s": "skipped", "n": "not_run",
}  # fmt: skip


def trials_of(**items: str) -> list[Result]:
    """`travel="pfe"`: an item whose three trials passed, failed and had an error."""
    rows = []
    for name, outcomes in items.items():
        for number, letter in enumerate(outcomes, start=1):
            result = a_result(name, OUTCOMES[letter])
            rows.append(replace(result, item_id=f"{name}-{number}", trial=number))
    return rows


def summed(**items: str) -> TrialSummary:
    found = trial_summary(trials_of(**items))
    assert found is not None
    return found


def values(figures: PassOfK) -> tuple[float | None, ...]:
    names = ("pass_hat", "pass_at", "pass_hat_valid", "pass_at_valid")
    return tuple(getattr(figures, name).value for name in names)


@pytest.mark.parametrize(
    ("n", "c", "k", "all_of_k", "one_of_k"),
    [
        (4, 2, 1, 1 / 2, 1 / 2),
        (4, 2, 2, 1 / 6, 5 / 6),
        (4, 2, 3, 0, 1),
        (4, 4, 4, 1, 1),
        (4, 0, 1, 0, 0),
        (8, 6, 2, 15 / 28, 27 / 28),
        (8, 6, 4, 15 / 70, 1),
        (1, 1, 1, 1, 1),
    ],
)
def test_pass_hat_k_and_pass_at_k_by_hand(n: int, c: int, k: int, all_of_k: float, one_of_k: float) -> None:
    assert pass_hat(n, c, k) == pytest.approx(all_of_k)
    assert pass_at(n, c, k) == pytest.approx(one_of_k)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_what_cannot_be_drawn_is_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="not possible"):
        pass_hat(n, c, k)
    with pytest.raises(ValueError, match="not possible"):
        pass_at(n, c, k)


@given(n=st.integers(1, 12), data=st.data())
def test_all_of_k_is_no_more_and_one_of_k_no_less_than_one_trial_and_each_goes_one_way(
    n: int, data: st.DataObject
) -> None:
    c = data.draw(st.integers(0, n))
    hats, ats = ([f(n, c, k) for k in range(1, n + 1)] for f in (pass_hat, pass_at))
    assert hats[0] == pytest.approx(c / n) == pytest.approx(ats[0])
    assert hats == sorted(hats, reverse=True)
    assert ats == sorted(ats)
    assert hats[-1] == (c == n)
    assert ats[-1] == (c > 0)
    assert pass_at(n, c, 1) == pytest.approx(1 - pass_hat(n, n - c, 1))


def test_an_error_counts_as_not_passed_and_is_left_out_beside_it() -> None:
    """I1: of four planned trials two passed, one failed, one had an error."""
    one, two, three, four = summed(travel="ppfe").passes
    assert values(one) == pytest.approx((0.5, 0.5, 2 / 3, 2 / 3))
    assert values(two) == pytest.approx((1 / 6, 5 / 6, 1 / 3, 1))
    assert values(three) == pytest.approx((0, 1, 0, 1))
    assert values(four) == (0, 1, None, None)
    assert [figures.pass_hat_valid.n for figures in (one, two, three, four)] == [1, 1, 1, 0]


def test_the_mean_is_over_items_and_a_trial_that_did_not_run_was_planned() -> None:
    one, two = summed(a="pp", b="pf", c="ff", d="pn").passes
    assert values(one) == pytest.approx((0.5, 0.5, 0.625, 0.625))
    assert values(two) == pytest.approx((0.25, 0.75, 1 / 3, 2 / 3))


def test_skipped_trials_are_in_nothing() -> None:
    found = summed(a="pp", b="ss")
    assert (found.items, found.always, values(found.passes[1])) == (1, 1, (1, 1, 1, 1))
    assert trial_summary(trials_of(b="ss")) is None


def test_a_run_without_trials_has_no_such_section() -> None:
    assert trial_summary([a_result("a"), a_result("b", "failed")]) is None
    (agent,) = summarize([a_result("a")]).agents
    assert agent.trials is None


def test_an_item_with_fewer_trials_is_left_out_where_more_are_drawn() -> None:
    found = summed(a="ppp", b="f")
    assert [figures.pass_hat.n for figures in found.passes] == [2, 1, 1]
    assert [figures.pass_hat.value for figures in found.passes] == [0.5, 1, 1]


def test_flaky_items_are_listed_by_how_split_they_are() -> None:
    found = summed(steady="pppp", never="ffff", rare="pppf", even="pfpf", mostly="fffp", broken="eeee", half="pfee")
    assert [row.item for row in found.flaky] == ["even", "half", "mostly", "rare"]
    assert (found.always, found.never, found.unmeasured, found.items) == (1, 1, 1, 7)
    half = found.flaky[1]
    assert (half.passed, half.failed, half.unmeasured, half.scenario_id, half.speaker) == (1, 1, 2, "half", "a")


def test_a_pass_beside_an_error_is_not_the_agents_flakiness() -> None:
    assert not summed(a="pe").flaky


def test_two_speakers_of_a_scenario_are_two_items_and_one_cluster() -> None:
    rows = trials_of(a="pp", b="ff")
    two = [
        replace(r, item_id=f"travel-{r.facts.scenario_id}-{r.trial}", facts=replace(r.facts, scenario_id="travel"))
        for r in rows
    ]
    found = trial_summary([*two, *trials_of(other="pf")])
    assert found is not None
    assert found.items == 3
    assert [row.item for row in found.flaky] == ["other"]


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_results_changes_nothing(order: int) -> None:
    rows = trials_of(a="pf", b="fp", c="pe")
    assert summarize(rows[::order]) == summarize(rows)


# Intervals


def pooled(clusters: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    flat = [value for cluster in clusters for value in cluster]
    return wilson_interval(int(sum(flat)), len(flat))


def test_values_alike_within_their_clusters_count_once() -> None:
    """Ten scenarios, five trials each, all alike: the variance between clusters is p (1 - p) / 9."""
    clusters = [[1.0] * 5] * 6 + [[0.0] * 5] * 4
    found = clustered_interval(clusters)
    p, n, zz = 0.6, 9, 1.959963984540054**2
    half = math.sqrt(zz) / (1 + zz / n) * math.sqrt(p * (1 - p) / n + zz / (4 * n * n))
    centre = (p + zz / (2 * n)) / (1 + zz / n)
    assert found == pytest.approx((centre - half, centre + half))


def test_values_as_unlike_within_clusters_as_between_them_count_each() -> None:
    assert clustered_interval([[1.0, 0.0]] * 10) == wilson_interval(10, 20)
    assert clustered_interval([[1.0], [0.0], [1.0]]) != wilson_interval(2, 3)  # never wider by luck alone than 3 - 1
    assert clustered_interval([]) is None
    assert clustered_interval([[], []]) is None


def test_where_all_pass_a_scenario_counts_as_one() -> None:
    assert clustered_interval([[1.0] * 5] * 8) == wilson_interval(8, 8)
    assert clustered_interval([[0.0] * 5] * 8) == wilson_interval(0, 8)


def test_of_one_scenario_the_interval_speaks_of_that_scenario() -> None:
    assert clustered_interval([[1.0] * 14 + [0.0] * 6]) == wilson_interval(14, 20)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=5), min_size=2, max_size=30))
def test_the_interval_holds_the_rate_and_is_no_narrower_than_that_of_independent_items(
    clusters: list[list[float]],
) -> None:
    found, free = clustered_interval(clusters), pooled(clusters)
    assert found is not None
    assert free is not None
    flat = [value for cluster in clusters for value in cluster]
    assert 0 <= found[0] <= sum(flat) / len(flat) + 1e-12
    assert sum(flat) / len(flat) - 1e-12 <= found[1] <= 1
    assert found[1] - found[0] >= free[1] - free[0] - 1e-12


def test_it_covers_the_truth_where_wilsons_of_all_trials_does_not() -> None:
    """79 scenarios, 5 trials, each scenario with a chance of its own (beta, intraclass correlation 0.5), seed 5."""
    dice = random.Random(5)
    held = {"clustered": 0, "pooled": 0}
    for _ in range(1000):
        chances = [dice.betavariate(0.6, 0.4) for _ in range(79)]
        clusters = [[float(dice.random() < chance) for _ in range(5)] for chance in chances]
        for name, interval in (("clustered", clustered_interval(clusters)), ("pooled", pooled(clusters))):
            assert interval is not None
            held[name] += interval[0] <= 0.6 <= interval[1]
    assert held["clustered"] >= 935
    assert held["pooled"] < 800


def test_rates_of_a_run_with_trials_go_by_scenario_and_others_as_before() -> None:
    alike = {f"i{n}": "ppp" if n < 6 else "fff" for n in range(10)}
    (agent,) = summarize(trials_of(**alike)).agents
    clusters = [[1.0] * 3] * 6 + [[0.0] * 3] * 4
    rate = agent.overall.pass_at_1
    assert (rate.k, rate.n, (rate.low, rate.high)) == (18, 30, clustered_interval(clusters))
    assert agent.by["domain"]["travel_identity"].pass_at_1 == rate
    assert agent.trials is not None
    first = agent.trials.passes[0].pass_hat
    assert (first.value, first.low, first.high) == pytest.approx((rate.value, rate.low, rate.high))
    (plain,) = summarize([replace(r, trial=None) for r in trials_of(**alike)]).agents
    assert (plain.overall.pass_at_1.low, plain.overall.pass_at_1.high) == wilson_interval(18, 30)
    assert (agent.per_scenario.pass_at_1.value, agent.per_scenario.pass_at_1.n) == (0.6, 10)


# Outputs


def test_the_tables_show_both_ways_and_the_flaky_items() -> None:
    summary = summarize(trials_of(travel="ppfe", finance="pppp", housing="fffe"))
    text = render(summary, color=False)
    assert "Trials: 3 items, up to 4 trials each" in text
    for line in (
        "k  pass^k  95 % int.  pass@k  95 % int.  pass^k*  pass@k*",
        "1   0.500  0.13-0.87   0.500  0.13-0.87    0.556    0.556",
        "4   0.333  0.05-0.84   0.667  0.16-0.95    1.000    1.000",
        "in all trials measured: 1 passed, 1 failed, 1 was flaky",
        "item    passed  failed  unmeasured",
        "travel       2       1           1",
    ):
        assert line in text
    short = render_short(summary, color=False)
    assert "Trials: 3 items" in short
    assert "travel       2       1           1" in short


def test_the_short_tables_show_ten_flaky_items_and_count_the_rest() -> None:
    many = {f"item_{n:02}": "pf" for n in range(14)}
    short = render_short(summarize(trials_of(**many)), color=False)
    assert "item_09" in short
    assert "item_10" not in short
    assert "and 4 more" in short
    assert "item_13" in render(summarize(trials_of(**many)), color=False)


def test_junit_names_the_trial_and_the_figures() -> None:
    rows = trials_of(travel="pf", finance="pp")
    assert item_properties(rows[1])["trial"] == 2
    assert "trial" not in item_properties(a_result("a"))
    found = run_properties(summarize(rows))
    assert found["voicebench.local.trials.pass_hat_2"] == 0.5
    assert found["voicebench.local.trials.pass_at_2"] == 1.0
    assert found["voicebench.local.trials.flaky"] == 1
    assert not [name for name in run_properties(summarize([a_result("a")])) if ".trials." in name]
