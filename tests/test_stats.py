"""Intervals, quantiles, means: hand-computed values and laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.stats import Waits, mean, quantile, stdev, wilson_interval

FLOATS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (3, 5, 0.2307, 0.8824),
        (60, 100, 0.5020, 0.6906),
        (54, 100, 0.4426, 0.6344),
        (43, 100, 0.3373, 0.5278),
        (0, 10, 0, 0.2775),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_the_wilson_interval_of_known_rates(k: int, n: int, low: float, high: float) -> None:
    """C13: 3/5 is 0.60 [0.23, 0.88]; the others are the published intervals of Pass@1."""
    found = wilson_interval(k, n)
    assert found is not None
    assert found == pytest.approx((low, high), abs=6e-5)


def test_nothing_measured_has_no_interval_no_mean_no_quantile() -> None:
    assert wilson_interval(0, 0) is None
    assert mean([]) is None
    assert quantile([], 0.5) is None


def test_a_proportion_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        wilson_interval(3, 2)
    with pytest.raises(ValueError, match="q must lie"):
        quantile([1.0], 1.5)


def test_the_median_of_four_is_between_the_middle_two_and_the_deviation_of_one_is_unknown() -> None:
    """E21."""
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([1, 2, 3, 4], 0.95) == pytest.approx(3.85)
    assert quantile([7], 0.95) == 7
    assert stdev([5.0]) is None
    assert stdev([1, 2, 3, 4]) == pytest.approx(1.2909944)


@given(n=st.integers(1, 500), data=st.data())
def test_the_interval_holds_the_rate_and_stays_in_bounds(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    found = wilson_interval(k, n)
    assert found is not None
    assert 0.0 <= found[0] <= k / n <= found[1] <= 1.0


@given(values=FLOATS, data=st.data())
def test_order_changes_nothing(values: list[float], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(values))
    assert mean(shuffled) == mean(values)
    assert quantile(shuffled, 0.95) == quantile(values, 0.95)
    assert stdev(shuffled) == stdev(values)


@given(values=FLOATS)
def test_quantiles_grow_from_least_to_greatest(values: list[float]) -> None:
    found = [quantile(values, q / 10) for q in range(11)]
    assert found == sorted(found)  # type: ignore[type-var]
    assert (found[0], found[-1]) == (min(values), max(values))


def waits(*seconds: float) -> Waits:
    found = Waits()
    for one in seconds:
        found.add(one)
    return found


@pytest.mark.parametrize(
    ("seconds", "p99"),
    [
        ([], None),
        ([0.0], 0.0),
        ([-1.0], 0.0),
        ([0.0123], 0.0123),
        ([0.001] * 99 + [0.9], 0.001),
        ([0.001] * 98 + [0.5, 0.9], 0.5),
        ([0.001] * 9 + [7.25], 7.25),  # longer than the bins reach: the longest
    ],
)
def test_waits_know_the_time_within_which_a_share_of_them_lies(seconds: list[float], p99: float | None) -> None:
    assert waits(*seconds).at_most(0.99) == p99


@given(seconds=st.lists(st.floats(0, 0.99), min_size=1, max_size=60), share=st.floats(0.01, 1.0))
def test_waits_are_told_to_a_tenth_of_a_millisecond(seconds: list[float], share: float) -> None:
    rank = max(1, math.ceil(share * len(seconds)))
    assert waits(*seconds).at_most(share) == pytest.approx(sorted(seconds)[rank - 1], abs=0.6e-4)
