"""Rates of two runs: the exact test, the score interval and the power, against scipy, statsmodels and by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from pytest_voicebench.regression.rates import (
    RatePairs,
    _criticals,
    detectable,
    good_share,
    rate_interval,
    rate_pairs,
    rate_power,
    score_interval,
    sign_flip_p,
)
from pytest_voicebench.stats import Z_95, wilson_interval

drops = st.lists(st.integers(-3, 3), max_size=10)


def single(good: int, lost: int, won: int, bad: int) -> RatePairs:
    """Pairs of a scenario each."""
    values = [(True, True)] * good + [(True, False)] * lost + [(False, True)] * won + [(False, False)] * bad
    return rate_pairs(values, range(len(values)))


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1 / 2),
        (5, 0, 1 / 32),
        (4, 1, 6 / 32),  # C(5,4) + C(5,5)
        (3, 3, 42 / 64),  # 20 + 15 + 6 + 1
        (0, 4, 1.0),
    ],
)
def test_with_one_pair_a_scenario_p_is_that_of_mcnemar_by_hand(lost: int, won: int, p: float) -> None:
    assert sign_flip_p([1] * lost + [-1] * won + [0] * 7) == p


@pytest.mark.parametrize(
    ("moved", "p"),
    [
        ([2], 1 / 2),
        ([2, 1], 1 / 4),
        ([2, -1], 2 / 4),  # sums 3, 1, -1, -3
        ([2, 1, 1], 1 / 8),
        ([2, 1, -1], 3 / 8),  # sums 4, 2, 2, 0, 0, -2, -2, -4
        ([-2, 1, 1], 5 / 8),  # the same sums, 0 reached
    ],
)
def test_scenarios_with_several_pairs_flip_as_one_by_hand(moved: list[int], p: float) -> None:
    assert sign_flip_p(moved) == p


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_agrees_with_statsmodels_and_scipy(lost: int, won: int) -> None:
    p = sign_flip_p([1] * lost + [-1] * won)
    assert p == pytest.approx(stats.binom.sf(lost - 1, lost + won, 0.5))
    two_sided = mcnemar([[3, max(lost, won)], [min(lost, won), 4]], exact=True).pvalue
    assert min(1.0, 2 * sign_flip_p([1] * max(lost, won) + [-1] * min(lost, won))) == pytest.approx(two_sided)


@given(drops)
def test_all_signs_are_counted_as_if_each_choice_were_written_out(moved: list[int]) -> None:
    choices = list(itertools.product((1, -1), repeat=len(moved)))
    reached = sum(sum(s * d for s, d in zip(signs, moved, strict=True)) >= sum(moved) for signs in choices)
    assert sign_flip_p(moved) == reached / len(choices)


@given(drops, st.randoms(use_true_random=False))
def test_the_order_of_scenarios_and_scenarios_that_did_not_move_change_nothing(moved: list[int], rng) -> None:
    shuffled = [*moved, 0, 0]
    rng.shuffle(shuffled)
    assert sign_flip_p(shuffled) == sign_flip_p(moved)


@given(drops)
def test_getting_worse_one_way_is_getting_better_the_other_way(moved: list[int]) -> None:
    there, back = sign_flip_p(moved), sign_flip_p([-d for d in moved])
    assert there + back >= 1.0 - 1e-12  # what is as large counts on both sides
    assert there <= 1.0


def test_a_thousand_scenarios_are_still_counted_exactly() -> None:
    assert sign_flip_p([1] * 300 + [-1] * 240) == pytest.approx(stats.binom.sf(299, 540, 0.5))


def _z(lost: float, won: float, n: float, change: float) -> float:
    """The score statistic by maximising the likelihood under the constraint, as Tango's paper defines it."""

    def unlikely(p: float) -> float:
        cells = ((lost, p), (won, p + change), (n - lost - won, 1 - 2 * p - change))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    least, most = max(0.0, -change), (1 - change) / 2
    p = optimize.minimize_scalar(unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-13}).x
    return (won - lost - n * change) / math.sqrt(n * (2 * p + change - change**2))


@pytest.mark.parametrize(("lost", "won", "n"), [(1, 0, 44), (10, 3, 100), (7, 7, 50), (3, 20, 60), (30, 1, 80)])
def test_the_interval_ends_where_the_score_statistic_is_196(lost: int, won: int, n: int) -> None:
    low, high = score_interval(lost, won, n)
    assert _z(lost, won, n, low) == pytest.approx(Z_95, abs=1e-3)
    assert _z(lost, won, n, high) == pytest.approx(-Z_95, abs=1e-3)


def test_where_no_pair_moved_the_interval_is_that_of_none_in_n() -> None:
    low, high = score_interval(0, 0, 100)
    unseen = wilson_interval(0, 100)
    assert unseen is not None
    assert (low, high) == (pytest.approx(-unseen[1]), pytest.approx(unseen[1]))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 60))
def test_the_interval_holds_the_change_is_mirrored_and_stays_within_one(lost: int, won: int, rest: int) -> None:
    n = lost + won + rest
    low, high = score_interval(lost, won, n)
    assert -1 <= low <= (won - lost) / n <= high <= 1
    assert score_interval(won, lost, n) == (pytest.approx(-high, abs=1e-9), pytest.approx(-low, abs=1e-9))


def test_pairs_of_a_scenario_that_move_together_are_worth_less() -> None:
    values = [(True, False)] * 8 + [(True, True)] * 32
    apart, together = rate_pairs(values, range(40)), rate_pairs(values, [n // 2 for n in range(40)])
    assert (apart.design_effect, together.design_effect) == (1.0, 2.0)
    assert rate_interval(together) == score_interval(4, 0, 20)
    assert rate_interval(together)[0] < rate_interval(apart)[0]
    assert (sign_flip_p(apart.drops), sign_flip_p(together.drops)) == (1 / 256, 1 / 16)


def test_where_no_pair_moved_each_scenario_counts_once() -> None:
    found = rate_pairs([(True, True)] * 30, [n % 10 for n in range(30)])
    assert found.design_effect == 3.0
    assert rate_interval(found) == score_interval(0, 0, 10)


def _power_by_enumeration(n: int, lost: float, won: float, alpha: float, at_least: float) -> float:
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            shown = stats.binom.sf(b - 1, b + c, 0.5) <= alpha if b + c else False
            if shown and (b - c) / n >= at_least - 1e-12:
                total += stats.multinomial.pmf([b, c, n - b - c], n, [lost, won, 1 - lost - won])
    return total


@pytest.mark.parametrize("drop", [0.1, 0.2, 0.35])
@pytest.mark.parametrize(("alpha", "at_least"), [(0.05, 0.0), (0.01, 0.0), (0.05, 0.15)])
def test_the_power_is_that_of_all_tables_written_out(drop: float, alpha: float, at_least: float) -> None:
    found = single(good=20, lost=3, won=3, bad=14)
    share, moving = 23 / 40, 6 / 40
    lose = drop / share
    lost, won = moving / 2 + (share - moving / 2) * lose, moving / 2 * (1 - lose)
    assert lost - won == pytest.approx(drop)
    expected = _power_by_enumeration(40, lost, won, alpha, at_least)
    assert rate_power(found, drop, alpha=alpha, at_least=at_least) == pytest.approx(expected, abs=1e-6)


def test_where_the_second_run_is_worse_the_first_says_what_is_good_and_only_won_pairs_what_moves() -> None:
    worse = single(good=50, lost=20, won=2, bad=28)
    assert good_share(worse) == 0.70
    assert rate_power(worse, 0.1, alpha=0.05) == pytest.approx(
        _power_by_enumeration(100, 0.02 + 0.68 / 7, 0.02 * 6 / 7, 0.05, 0.0), abs=1e-6
    )


@settings(max_examples=40)
@given(st.integers(5, 60), st.integers(0, 10), st.integers(0, 10), st.integers(0, 30))
def test_power_grows_with_the_drop_and_the_detectable_drop_has_the_power_it_says(
    good: int, lost: int, won: int, bad: int
) -> None:
    found = single(good, lost, won, bad)

    def power(drop: float) -> float:
        return rate_power(found, drop, alpha=0.05)

    share = good_share(found)
    grid = [power(share * k / 8) for k in range(9)]
    assert all(a <= b + 1e-6 for a, b in itertools.pairwise(grid))
    seen = detectable(power, share)
    assert (seen is None) == (grid[-1] < 0.8)
    if seen is not None:
        assert 0.8 <= power(seen) < 0.87


def test_four_scenarios_can_show_no_drop_at_the_level_of_five_per_cent() -> None:
    found = single(4, 0, 0, 0)
    assert detectable(lambda drop: rate_power(found, drop, alpha=0.05), 1.0) is None
    assert detectable(lambda drop: rate_power(single(5, 0, 0, 0), drop, alpha=0.05), 1.0) == pytest.approx(
        0.957, abs=0.002
    )


@pytest.mark.parametrize("alpha", [0.05, 0.04, 0.05 / 3, 0.01, 0.5, 0.25, 1e-9, 0.9])
def test_how_many_must_be_lost_is_the_least_number_whose_tail_is_within_the_level(alpha: float) -> None:
    def least(moved: int) -> int:
        tails = (sum(math.comb(moved, k) for k in range(lost, moved + 1)) for lost in range(moved + 2))
        return next(lost for lost, tail in enumerate(tails) if Fraction(tail, 2**moved) <= Fraction(alpha))

    assert list(_criticals(80, alpha)) == [least(moved) for moved in range(81)]


def test_of_thousands_of_pairs_that_moved_the_critical_number_is_that_of_scipy() -> None:
    found = _criticals(3000, 0.05)
    for moved in (1023, 1024, 1100, 2047, 3000):
        assert found[moved] == stats.binom.isf(0.05, moved, 0.5) + 1


def test_thousands_of_pairs_that_moved_have_their_power_and_detectable_drop() -> None:
    found = single(good=800, lost=600, won=600, bad=1000)
    sd = math.sqrt(1200 - 3000 * 0.05**2)
    near_normal = stats.norm.sf((stats.norm.isf(0.05) * math.sqrt(1200) - 150) / sd)
    assert rate_power(found, 0.05, alpha=0.05) == pytest.approx(near_normal, abs=0.01)
    assert detectable(lambda drop: rate_power(found, drop, alpha=0.05), good_share(found)) == pytest.approx(
        0.0287, abs=0.001
    )
