"""Small statistics: the Wilson interval of a rate, linear quantiles, mean and deviation; None where undefined."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z_95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""


def wilson_interval(k: int, n: int) -> tuple[float, float] | None:
    """The 95 % Wilson score interval of k successes in n trials, within [0, 1]; None for n = 0.

    Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209-212. Raises ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")
    if n == 0:
        return None
    p, zz = k / n, Z_95 * Z_95
    centre = (p + zz / (2 * n)) / (1 + zz / n)
    half = Z_95 / (1 + zz / n) * math.sqrt(p * (1 - p) / n + zz / (4 * n * n))
    # At the ends the exact bounds are 0 and 1; rounding must not move them inside.
    low = 0.0 if k == 0 else max(0.0, centre - half)
    high = 1.0 if k == n else min(1.0, centre + half)
    return low, high


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
