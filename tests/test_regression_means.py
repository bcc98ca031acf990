"""Means and percentiles of two runs: swaps and bootstrap, against scipy, by hand, and as laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_voicebench.regression.means import (
    DRAWS_OF_PERCENTILES,
    ENOUGH_CLUSTERS,
    QUANTILES,
    SEED,
    ValuePairs,
    bootstrap_spread,
    figure,
    mean_power,
    most_change,
    swap_p,
    value_pairs,
)
from pytest_voicebench.regression.rates import detectable, sign_flip_p
from pytest_voicebench.stats import Z_95


def pairs(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[int] | None = None, **more: object
) -> ValuePairs:
    """Pairs of a scenario each, unless told otherwise."""
    values = list(zip(before, after, strict=True))
    settings_ = {"statistic": "mean", "kind": "fraction", **more}
    return value_pairs(values, clusters or range(len(values)), **settings_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([-1.0], 1 / 2),
        ([-1.0, -1.0, -1.0], 1 / 8),
        ([-1.0, -1.0, 0.5], 2 / 8),  # sums -1.5 and, with the last sign turned, -2.5
        ([0.0, 0.0], 1.0),
        ([0.5, 0.5], 1.0),
    ],
)
def test_few_scenarios_are_swapped_in_all_ways_by_hand(differences: list[float], p: float) -> None:
    assert swap_p(pairs([1.0] * len(differences), [1.0 + d for d in differences]), -1) == p


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=12))
def test_swaps_of_passes_are_the_sign_flips_of_scenarios(items: list[tuple[bool, bool, int]]) -> None:
    found = pairs([float(a) for a, _, _ in items], [float(b) for _, b, _ in items], [c for *_, c in items])
    drops: dict[int, int] = {}
    for a, b, c in items:
        drops[c] = drops.get(c, 0) + a - b
    # where a scenario's drop is 0 though its items moved, its swap changes nothing, and both count it alike
    assert swap_p(found, -1) == pytest.approx(sign_flip_p(list(drops.values())))


@pytest.mark.parametrize("statistic", ["mean", "p95"])
@pytest.mark.parametrize("seed", range(4))
def test_p_is_that_of_scipys_permutation_test_in_all_ways(statistic: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.lognormal(0, 0.4, 9)
    after = before * rng.lognormal(0.15, 0.3, 9)

    def change(x, y, axis):
        if statistic == "mean":
            return np.mean(y, axis=axis) - np.mean(x, axis=axis)
        return np.quantile(y, 0.95, axis=axis) - np.quantile(x, 0.95, axis=axis)

    theirs = stats.permutation_test((before, after), change, permutation_type="samples", alternative="greater")
    found = pairs(before.tolist(), after.tolist(), statistic=statistic, kind="seconds")
    assert swap_p(found, 1) == pytest.approx(theirs.pvalue)


def test_many_scenarios_are_swapped_by_chance_and_near_the_exact_value() -> None:
    moved = [1] * 20 + [-1] * 10
    found = pairs([0.0 if d < 0 else 1.0 for d in moved], [1.0 if d < 0 else 0.0 for d in moved])
    assert swap_p(found, -1) == pytest.approx(sign_flip_p(moved), abs=0.01)


def test_p_is_never_0() -> None:
    assert swap_p(pairs([1.0] * 60, [0.0] * 60), -1) == 1 / 10000


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1, width=16), st.floats(0, 1, width=16), st.integers(0, 20)), min_size=1, max_size=40
    ),
    st.sampled_from(["mean", "p50", "p95"]),
)
def test_equal_pairs_give_equal_figures_and_a_change_turned_round_is_its_mirror(
    items: list[tuple[float, float, int]], statistic: str
) -> None:
    before, after, clusters = (list(column) for column in zip(*items, strict=True))
    found = pairs(before, after, clusters, statistic=statistic)
    turned = pairs(after, before, clusters, statistic=statistic)
    assert (swap_p(found, 1), bootstrap_spread(found)) == (swap_p(found, 1), bootstrap_spread(found))
    assert swap_p(found, 1) == swap_p(turned, -1)
    there, back = bootstrap_spread(found), bootstrap_spread(turned)
    if there is not None:
        assert back is not None
        assert (there.low, there.error) == (pytest.approx(-back.high), pytest.approx(back.error))


def test_the_interval_is_that_of_scipys_bootstrap_a_little_wider() -> None:
    rng = np.random.default_rng(3)
    before = rng.lognormal(0, 0.4, 60)
    after = before * rng.lognormal(0.1, 0.3, 60)
    spread = bootstrap_spread(pairs(before.tolist(), after.tolist(), kind="seconds"))
    assert spread is not None
    theirs = stats.bootstrap((after - before,), np.mean, method="percentile", n_resamples=20000, random_state=1)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert spread.low == pytest.approx(theirs.confidence_interval.low, abs=0.06 * width)
    assert spread.high == pytest.approx(theirs.confidence_interval.high, abs=0.06 * width)
    assert spread.high - spread.low > width * 0.98
    assert spread.error == pytest.approx(np.std(after - before, ddof=1) / math.sqrt(60), rel=0.06)


@pytest.mark.parametrize("statistic", ["p50", "p95"])
def test_a_percentiles_interval_is_that_of_numpys_quantiles_of_what_was_drawn(statistic: str) -> None:
    rng = np.random.default_rng(6)
    before, after = rng.lognormal(0, 0.4, 90), rng.lognormal(0, 0.4, 90)
    clusters = np.concatenate([np.arange(70), np.arange(20)])
    found = bootstrap_spread(
        pairs(before.tolist(), after.tolist(), clusters.tolist(), statistic=statistic, kind="seconds")
    )
    drawn = np.random.default_rng(SEED).integers(0, 70, (DRAWS_OF_PERCENTILES, 70))
    rows = [np.concatenate([np.flatnonzero(clusters == c) for c in draw]) for draw in drawn]
    changes = [np.subtract(*(np.quantile(v[row], QUANTILES[statistic]) for v in (after, before))) for row in rows]
    assert found is not None
    assert found.error == pytest.approx(np.std(changes, ddof=1) * math.sqrt(70 / 69))


def test_speakers_of_a_scenario_that_move_together_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    change = np.repeat(rng.normal(0, 0.2, 30), 2)
    apart = bootstrap_spread(pairs([1.0] * 60, (1 + change).tolist(), kind="seconds"))
    together = bootstrap_spread(pairs([1.0] * 60, (1 + change).tolist(), [n // 2 for n in range(60)], kind="seconds"))
    assert apart is not None
    assert together is not None
    assert together.error == pytest.approx(math.sqrt(2) * apart.error, rel=0.1)


def test_scores_that_did_not_move_still_leave_room_for_what_was_not_seen() -> None:
    spread = bootstrap_spread(pairs([1.0] * 100, [1.0] * 100))
    assert spread is not None
    assert spread.high == pytest.approx(Z_95**2 / (100 + Z_95**2))
    assert (spread.low, spread.error) == (-spread.high, 0.01)


def test_latencies_that_did_not_move_have_moved_by_nothing() -> None:
    spread = bootstrap_spread(pairs([0.8] * 100, [0.8] * 100, kind="seconds"))
    assert spread is not None
    assert (spread.low, spread.high, spread.error) == (0.0, 0.0, 0.0)


def test_from_few_scenarios_there_is_no_interval() -> None:
    few = list(range(ENOUGH_CLUSTERS["mean"] - 1))
    assert bootstrap_spread(pairs([0.5] * 18, [0.4] * 18, few * 2)) is None
    assert bootstrap_spread(pairs([0.5] * 10, [0.4] * 10)) is not None


def test_the_power_to_see_a_slower_agent_is_that_of_the_normal_distribution() -> None:
    rng = np.random.default_rng(5)
    found = pairs(rng.normal(2, 0.5, 100).tolist(), rng.normal(2, 0.5, 100).tolist(), kind="seconds")
    spread = bootstrap_spread(found)
    assert spread is not None
    level = figure(found.before, "mean")
    assert level is not None
    for change in (0.05, 0.2):
        # the second run's latencies spread wider as they grow; these grew by chance, and spread wider already
        grown, already = (math.sqrt((1 + (1 + size / level) ** 2) / 2) for size in (change, spread.lost))
        z = change / (spread.error * grown / already) - stats.norm.ppf(0.95)
        assert mean_power(found, spread, change, alpha=0.05) == pytest.approx(stats.norm.cdf(z))
    seen = detectable(lambda change: mean_power(found, spread, change, alpha=0.05), most_change(found, spread))
    assert seen == pytest.approx((stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * spread.error, rel=0.1)


def test_the_power_after_latencies_grew_is_that_from_before_they_did() -> None:
    rng = np.random.default_rng(7)
    before, after = rng.normal(2, 0.5, 200), rng.normal(2, 0.5, 200)
    unchanged, grown = (pairs(before.tolist(), (after * g).tolist(), kind="seconds") for g in (1.0, 1.5))
    told = []
    for found in (unchanged, grown):
        spread = bootstrap_spread(found)
        assert spread is not None
        told.append(mean_power(found, spread, 0.1, alpha=0.05))
    assert told[1] == pytest.approx(told[0], abs=0.03)


def test_a_loss_that_must_be_seen_to_be_large_is_seen_less_often() -> None:
    found = pairs([0.9] * 100, [0.9, 0.8] * 50)
    spread = bootstrap_spread(found)
    assert spread is not None
    losses = [0.02, 0.05, 0.1, 0.2]
    any_size = [mean_power(found, spread, loss, alpha=0.05) for loss in losses]
    large = [mean_power(found, spread, loss, alpha=0.05, at_least=0.1) for loss in losses]
    assert all(a >= b for a, b in zip(any_size, large, strict=True))
    assert large[2] == pytest.approx(0.5)
    assert all(a < b for a, b in itertools.pairwise(any_size))


def test_the_figures_are_those_of_the_summary() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    assert [figure(values, s) for s in ("mean", "p50", "p95")] == [2.5, 2.5, pytest.approx(3.85)]
    assert figure([], "mean") is None
