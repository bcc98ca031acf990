"""Small statistics: intervals of a rate, linear quantiles, mean and deviation; None where undefined."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

Z_95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""


def wilson_interval(k: int, n: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of k successes in n trials, within [0, 1]; None for n = 0.

    Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212. Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")
    return _wilson(k / n, n) if n else None


def _wilson(p: float, n: float) -> tuple[float, float]:
    zz = Z_95 * Z_95
    centre = (p + zz / (2 * n)) / (1 + zz / n)
    half = Z_95 / (1 + zz / n) * math.sqrt(p * (1 - p) / n + zz / (4 * n * n))
    # At the ends the exact bounds are 0 and 1; rounding must not move them inside.
    low = 0.0 if p == 0 else max(0.0, centre - half)
    high = 1.0 if p == 1 else min(1.0, centre + half)
    return low, high


def clustered_interval(clusters: Iterable[Sequence[float]], n: int | None = None) -> tuple[float, float] | None:
    """The 95 % interval of the mean of values in [0, 1] that come in clusters, such as trials of one scenario.

    Wilson's interval at the effective number of values: p (1 - p) over the variance of the mean between clusters, by
    linearization, at most `n` (default: the values). Where all values are 0 or all are 1 nothing is seen of that
    variance, and a cluster counts as one value. Of a single cluster the interval speaks of that cluster alone. None
    without values. Wilson's interval of all values pooled would take the values of a cluster for independent, and be
    too narrow where they are alike.

    Sources: the effective sample size, Korn and Graubard, Survey Methodology 24 (1998) 193-201; with Wilson's interval,
    Dean and Pagano, J. Survey Stat. Methodol. 3 (2015) 484-503; the variance, Cochran, Sampling Techniques (1977) 9A.
    """
    groups = [values for values in clusters if values]
    count = sum(map(len, groups))
    if not count:
        return None
    p = math.fsum(value for values in groups for value in values) / count
    spread = math.fsum((math.fsum(values) - p * len(values)) ** 2 for values in groups)
    most = count if n is None else n
    if len(groups) == 1:
        return _wilson(p, most)
    if p in (0, 1):
        return _wilson(p, len(groups))
    variance = len(groups) / (len(groups) - 1) * spread / count**2
    return _wilson(p, most if variance == 0 else min(most, max(1.0, p * (1 - p) / variance)))


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, summed exactly, so that the order of the values does not matter; None for no values."""
    return math.fsum(values) / len(values) if values else None


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile (0 <= q <= 1) by linear interpolation between order statistics; None for no values.

    Hyndman and Fan's type 7, numpy's default: of 1, 2, 3, 4 the median is 2.5.
    """
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"q must lie in [0, 1], not {q}")
    if not values:
        return None
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def stdev(values: Sequence[float]) -> float | None:
    """The sample standard deviation (n - 1); None for fewer than two values."""
    centre = mean(values)
    if centre is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((v - centre) ** 2 for v in values) / (len(values) - 1))


def pass_hat(n: int, passed: int, k: int) -> float:
    """pass^k of one item: the chance that k of its n trials, drawn without replacement, all passed: C(c, k) / C(n, k).

    Source: tau-bench, Yao et al. 2024, arXiv:2406.12045. Raises ValueError unless 0 <= passed <= n and 1 <= k <= n.
    """
    _check_trials(n, passed, k)
    return math.comb(passed, k) / math.comb(n, k)


def pass_at(n: int, passed: int, k: int) -> float:
    """pass@k of one item: the chance that of k of its n trials at least one passed: 1 - C(n - c, k) / C(n, k).

    Source: Chen et al. 2021, arXiv:2107.03374. Raises ValueError as `pass_hat`.
    """
    _check_trials(n, passed, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def _check_trials(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and 1 <= k <= n):
        raise ValueError(f"{passed} of {n} trials passed, of which {k} are drawn: not possible")


class Waits:
    """Counts seconds in bins of 0.1 ms, so that any number of them takes 80 kB; those above 1 s share the last bin."""

    def __init__(self) -> None:
        self._bins = array("L", bytes(array("L").itemsize * (_LONGEST_BIN + 1)))
        self._count = 0
        self._longest_s = 0.0

    def add(self, seconds: float) -> None:
        """Count one; less than nothing is nothing."""
        self._bins[max(0, min(_LONGEST_BIN, round(seconds / _BIN_S)))] += 1
        self._count += 1
        self._longest_s = max(self._longest_s, seconds)

    def at_most(self, share: float) -> float | None:
        """The least time within which that share of them lies (nearest rank, to 0.1 ms); None without any.

        In the last bin that is the longest one.
        """
        if not self._count:
            return None
        wanted = max(1, math.ceil(share * self._count))
        place = next(n for n, seen in enumerate(accumulate(self._bins)) if seen >= wanted)
        return round(self._longest_s, 6) if place == _LONGEST_BIN else round(place * _BIN_S, 4)


_BIN_S = 1e-4
_LONGEST_BIN = 10_000
