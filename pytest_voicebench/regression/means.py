"""Means and percentiles of two runs over the same items: swaps for p, a paired cluster bootstrap for the interval.

Pairs of one scenario are drawn, and swapped, as one. Everything random comes from one seed, so that equal pairs give
equal figures to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pytest_voicebench.regression.measures import Kind, Statistic
from pytest_voicebench.stats import Z_95, mean, quantile

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SEED = 5
DRAWS = 1999
DRAWS_OF_PERCENTILES = 999  # each sorts all values
SWAPS = 9999  # from one seed they are always the same, and must hit their level to a fifth of a point
SWAPS_OF_PERCENTILES = 1999
ALL_SWAPS_UP_TO = 12
"""So many scenarios that moved are swapped in all ways, more by chance."""

ENOUGH_CLUSTERS: Mapping[Statistic, int] = {"mean": 10, "p50": 20, "p95": 60}
"""With fewer scenarios a bootstrap's interval and standard error are too narrow to rest a decision on: a percentile of
few values never passes the largest seen. `benchmarks/regression.py` measures how often an interval wrongly excludes a
loss that was there, by its name in 2.5 %: of p95 in 4 % with 20 scenarios, 3 % with 40, 2 % with 60; of p50 in 1 % with
20 and with more."""

QUANTILES = {"p50": 0.50, "p95": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuePairs:
    """Values before and after with the number of each pair's scenario, counted from 0."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    cluster: tuple[int, ...]
    statistic: Statistic
    kind: Kind

    @property
    def clusters(self) -> int:
        """How many scenarios there are."""
        return len(set(self.cluster))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The 95 % interval of a change, and its standard error. `lost`: how much of a score was lost, or by
    how many seconds latencies grew, beyond chance."""

    low: float
    high: float
    error: float
    lost: float = 0.0


def value_pairs(
    values: Sequence[tuple[float, float]], clusters: Sequence[object], statistic: Statistic, kind: Kind
) -> ValuePairs:
    """Pairs of (before, after), each with its scenario."""
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    return ValuePairs(
        before=tuple(before for before, _ in values),
        after=tuple(after for _, after in values),
        cluster=tuple(numbers[cluster] for cluster in clusters),
        statistic=statistic,
        kind=kind,
    )


def figure(values: Sequence[float], statistic: Statistic) -> float | None:
    """The statistic of the values; None for none."""
    return mean(values) if statistic == "mean" else quantile(values, QUANTILES[statistic])


def swap_p(found: ValuePairs, worse: int) -> float:
    """How often an unchanged agent changes at least as much in the direction `worse`: one-sided.

    Where nothing changed, a scenario's values before and after can be swapped: all ways are tried where few scenarios
    moved, else so many drawn ones, the real one among them (Phipson and Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010)
    39), so that p is never 0 and never too small.
    """
    import numpy as np

    before, after, cluster = np.array(found.before), np.array(found.after), np.array(found.cluster)
    moved = np.unique(cluster[before != after])
    if not len(moved):
        return 1.0
    place = np.full(found.clusters, -1)
    place[moved] = np.arange(len(moved))
    every = len(moved) <= ALL_SWAPS_UP_TO
    swaps = _all_swaps(len(moved)) if every else _drawn_swaps(len(moved), _swaps(found))
    changes = worse * _swapped_changes(found, swaps, place[cluster])
    seen = changes[0]  # the first swap is none
    reached = int(np.count_nonzero(changes >= seen - 1e-9 * max(1.0, abs(float(seen)))))
    return reached / len(changes)


def _draws(found: ValuePairs) -> int:
    return DRAWS if found.statistic == "mean" else DRAWS_OF_PERCENTILES


def _swaps(found: ValuePairs) -> int:
    return SWAPS if found.statistic == "mean" else SWAPS_OF_PERCENTILES


def _all_swaps(number: int) -> Array:
    import numpy as np

    swaps: Array = (np.arange(2**number)[:, None] >> np.arange(number)) & 1
    return swaps


def _drawn_swaps(number: int, draws: int) -> Array:
    """No swap at all, then drawn ones: always the same for as many scenarios."""
    return _many_swaps(-(-number // 128) * 128, draws)[:, :number]


@lru_cache(maxsize=4)
def _many_swaps(columns: int, draws: int) -> Array:
    import numpy as np

    drawn = np.random.default_rng(SEED).integers(0, 2, (draws, columns), dtype=np.int8)
    return np.concatenate([np.zeros((1, columns), dtype=np.int8), drawn])


def _swapped_changes(found: ValuePairs, swaps: Array, place: Array) -> Array:
    """The change after each choice of swaps; `place` is each pair's column in them, -1 for one that does not move."""
    import numpy as np

    before, after = np.array(found.before), np.array(found.after)
    if found.statistic == "mean":
        differences = np.zeros(swaps.shape[1])
        np.add.at(differences, place[place >= 0], (after - before)[place >= 0])
        # einsum sums in its own order: a matrix product's would be that of the machine's linear algebra
        changes: Array = np.einsum("ij,j->i", 1.0 - 2.0 * swaps, differences) / len(before)
        return changes
    swapped = np.where(place >= 0, swaps[:, place], 0).astype(bool)
    q = QUANTILES[found.statistic]
    old, new = np.where(swapped, after, before), np.where(swapped, before, after)
    moved: Array = np.quantile(new, q, axis=1) - np.quantile(old, q, axis=1)
    return moved


def bootstrap_spread(found: ValuePairs) -> Spread | None:
    """The percentile interval and standard error of the change; None with fewer than ENOUGH_CLUSTERS scenarios.

    The percentiles are as far out as a t distribution asks for n scenarios, and the error as n - 1 do (Hesterberg, The
    American Statistician 69 (2015) 371-386: the expanded percentile interval). Of values from 0 to 1 neither is
    narrower than what may lie unseen: with n scenarios the interval reaches at least as far as a score interval of none
    in n (Wilson), and the error is at least one scenario's, 1 / n.
    """
    import numpy as np

    n = found.clusters
    if n < ENOUGH_CLUSTERS[found.statistic]:
        return None
    changes = _drawn_changes(found)
    small = math.sqrt(n / (n - 1))
    tail = NormalDist().cdf(-small * (Z_95 + (Z_95**3 + Z_95) / (4 * (n - 1))))  # Student's t, to its second term
    low, high = (float(np.quantile(changes, q)) for q in (tail, 1 - tail))
    error = small * float(np.std(changes, ddof=1))
    change = _change(found)
    if found.kind == "seconds":
        return Spread(low=low, high=high, error=error, lost=change if change > Z_95 * error else 0.0)
    unseen = Z_95**2 / (n + Z_95**2)
    lost = -change if change < Z_95 * -error else 0.0
    return Spread(low=min(low, change - unseen), high=max(high, change + unseen), error=max(error, 1 / n), lost=lost)


def _change(found: ValuePairs) -> float:
    before, after = (figure(values, found.statistic) for values in (found.before, found.after))
    assert before is not None  # a bootstrap has pairs
    assert after is not None
    return after - before


def _drawn_changes(found: ValuePairs) -> Array:
    """The change over scenarios drawn with replacement, as many as there are, again and again."""
    import numpy as np

    n, before, after, cluster = found.clusters, np.array(found.before), np.array(found.after), np.array(found.cluster)
    drawn = np.random.default_rng(SEED).integers(0, n, (_draws(found), n))
    if found.statistic == "mean":
        sums, sizes = np.zeros(n), np.zeros(n)
        np.add.at(sums, cluster, after - before)
        np.add.at(sizes, cluster, 1.0)
        means: Array = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
        return means
    q = QUANTILES[found.statistic]
    times = np.apply_along_axis(np.bincount, 1, drawn, minlength=n)[:, cluster]
    return _repeated_quantiles(after, times, q) - _repeated_quantiles(before, times, q)


def _repeated_quantiles(values: Array, times: Array, q: float) -> Array:
    """A quantile for each row of `times`, which says how often each value is there; as `stats.quantile`."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    ends = np.cumsum(times[:, order], axis=1)
    place = q * (ends[:, -1] - 1)
    below = np.floor(place)
    low, high = (values[order][(ends > rank[:, None]).argmax(axis=1)] for rank in (below, np.ceil(place)))
    found: Array = low + (high - low) * (place - below)
    return found


def mean_power(found: ValuePairs, spread: Spread, change: float, *, alpha: float, at_least: float = 0.0) -> float:
    """The probability that a change for the worse of that size would be shown: p at most alpha, and `at_least`.

    By the normal distribution. A score from 0 to 1 is taken to fall as a pass is lost, whole in some items, which adds
    to the error; latencies grow in proportion, and the error of the second run with them. Where such a loss was found
    its part is in the error already.
    """
    error = spread.error
    if found.kind == "fraction":
        error = math.sqrt(max(error**2 - _lumps(found, spread.lost), 0.0) + _lumps(found, change))
    elif level := abs(figure(found.before, found.statistic) or 0.0):
        error *= _grown(change / level) / _grown(spread.lost / level)
    needed = max(at_least, NormalDist().inv_cdf(1 - alpha) * error)
    if error <= 0:
        return float(change > 0 and change >= needed)
    return NormalDist().cdf((change - needed) / error)


def _grown(share: float) -> float:
    """How much wider a change spreads where the second run's latencies grew so; what doubles is seen anyway."""
    return math.sqrt((1 + (1 + min(share, 1.0)) ** 2) / 2)


def _lumps(found: ValuePairs, loss: float) -> float:
    """The variance that a mean of scores gets where it falls by `loss` because some of them become 0."""
    level = figure(found.before, "mean") or 0.0
    return max(0.0, loss * (level - loss)) / len(found.before)


def most_change(found: ValuePairs, spread: Spread) -> float:
    """The largest change worth asking the power of: all of a score; of seconds, one that could not be missed."""
    if found.kind == "fraction":
        return figure(found.before, "mean") or 0.0
    return 100 * spread.error + abs(figure(found.before, found.statistic) or 0.0)
