"""Rates of two runs over the same items: an exact test, a score interval, and the power that the pairs have.

Pairs of one scenario are drawn as one. What is counted is how many pairs of each scenario went bad, less those that
became good.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_voicebench.regression.verdicts import LEVELS
from pytest_voicebench.stats import Z_95

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePairs:
    """Pairs by what became of them: `good` and `bad` in both runs, `lost` (good, then bad), `won` (bad, then good).

    `drops` holds for each scenario its lost pairs less its won ones.
    """

    good: int
    lost: int
    won: int
    bad: int
    drops: tuple[int, ...]

    @property
    def pairs(self) -> int:
        """All of them."""
        return self.good + self.lost + self.won + self.bad

    @property
    def single(self) -> bool:
        """Whether every scenario has one pair."""
        return len(self.drops) == self.pairs

    @property
    def design_effect(self) -> float:
        """By how much pairs of one scenario that move together make the pairs worth less; at least 1.

        The variance of the difference with scenarios drawn whole over that with pairs drawn apart, both where nothing
        changed (Obuchowski, Statistics in Medicine 17 (1998) 1495-1507), with one scenario added of which all pairs
        moved together: where none moved nobody knows, each scenario counts once, and a few say little.
        """
        size = self.pairs / len(self.drops) if self.drops else 1.0
        return max(1.0, (sum(d * d for d in self.drops) + size) / (self.lost + self.won + 1))


def rate_pairs(values: Sequence[tuple[bool, bool]], clusters: Sequence[object]) -> RatePairs:
    """Count pairs of (good before, good after), each with its scenario."""
    cells = Counter(values)
    drops: dict[object, int] = {}
    for (before, after), cluster in zip(values, clusters, strict=True):
        drops[cluster] = drops.get(cluster, 0) + before - after
    return RatePairs(
        good=cells[True, True],
        lost=cells[True, False],
        won=cells[False, True],
        bad=cells[False, False],
        drops=tuple(drops.values()),
    )


def sign_flip_p(drops: Sequence[int]) -> float:
    """How often an unchanged agent loses at least as much: one-sided, exact.

    Where nothing changed, each scenario's drop is as likely as its opposite. All signs are counted, not drawn: the
    distribution of the sum is that of binomials, one for each size of drop. With one pair a scenario this is McNemar's
    exact test (Psychometrika 12 (1947) 153-157); 1.0 where nothing moved.
    """
    sizes = Counter(abs(drop) for drop in drops if drop)
    reached = sum(drop for drop in drops if drop > 0)
    tail = sum(_ways(tuple(sorted(sizes.items())))[reached:])
    return float(tail / 2 ** sum(sizes.values()))


@lru_cache(maxsize=4096)
def _ways(sizes: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """In how many of all choices of signs the positive drops add up to 0, 1, 2, ..."""
    ways = [1]
    for size, number in sizes:
        grown = [0] * (len(ways) + size * number)
        for chosen in range(number + 1):
            choices = math.comb(number, chosen)
            for total, count in enumerate(ways):
                grown[total + size * chosen] += count * choices
        ways = grown
    return tuple(ways)


def score_interval(lost: float, won: float, n: float) -> tuple[float, float]:
    """The 95 % score interval of (won - lost) / n, the change of a rate over n pairs; for n > 0.

    Source: Tango, Statistics in Medicine 17 (1998) 891-908. Unlike a bootstrap it knows that something unseen can
    happen: no pair of 100 moved gives -0.037 to +0.037. Counts may be fractions.
    """
    change = (won - lost) / n

    def excess(delta: float) -> float:
        return _tango_z(lost, won, n, delta) ** 2 - Z_95**2

    return _crossing(excess, -1.0, change), _crossing(excess, 1.0, change)


def _tango_z(lost: float, won: float, n: float, delta: float) -> float:
    """The score statistic of the hypothesis that the rate changed by delta."""
    b = -won - lost + (2 * n - won + lost) * delta
    c = -lost * delta * (1 - delta)
    nuisance = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * nuisance + delta * (1 - delta))
    distance = won - lost - n * delta
    if variance <= 0:
        return 0.0 if abs(distance) < 1e-12 * n else math.inf
    return distance / math.sqrt(variance)


def _crossing(excess: Callable[[float], float], outside: float, inside: float) -> float:
    """Where a function that is positive outside and negative inside crosses zero; `outside` where it is not."""
    if excess(outside) <= 0:
        return outside
    for _ in range(60):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if excess(middle) > 0 else (outside, middle)
    return inside


def rate_interval(found: RatePairs) -> tuple[float, float]:
    """The 95 % interval of the change of the good share, pairs of one scenario drawn as one."""
    worth = found.design_effect
    return score_interval(found.lost / worth, found.won / worth, found.pairs / worth)


def rate_power(found: RatePairs, drop: float, *, alpha: float, at_least: float = 0.0) -> float:
    """The probability that these pairs would show a drop of that size: p at most alpha, and a loss of `at_least`.

    As many pairs move by chance as were found to move; then each that is good is lost with one probability, so that the
    good share falls by `drop`. What is good is taken from both runs together. If the second is worse already (p at most
    the level), the first tells what is good, and the pairs won how many move by chance.
    """
    n = max(1, round(found.pairs / found.design_effect))
    share, moving = good_share(found), _moving_by_chance(found)
    lose = min(1.0, drop / share) if share > 0 else 0.0
    lost = moving / 2 + max(0.0, share - moving / 2) * lose
    won = moving / 2 * (1 - lose)
    return _mcnemar_power(n, min(1.0, lost), won, alpha, at_least)


def good_share(found: RatePairs) -> float:
    """The share of good pairs where nothing changed: no larger loss can be asked about."""
    if _is_worse(found):
        return (found.good + found.lost) / found.pairs
    return (2 * found.good + found.lost + found.won) / (2 * found.pairs)


def _moving_by_chance(found: RatePairs) -> float:
    """The share of pairs that change sides where nothing changed."""
    return (2 * found.won if _is_worse(found) else found.lost + found.won) / found.pairs


def _is_worse(found: RatePairs) -> bool:
    return sign_flip_p(found.drops) <= LEVELS["rate"]


def _mcnemar_power(n: int, lost: float, won: float, alpha: float, at_least: float) -> float:
    """The power of McNemar's exact test with n pairs, of which so large shares are lost and won."""
    import numpy as np

    moves = min(1.0, lost + won)
    if moves <= 0:
        return 0.0
    least = math.ceil(at_least * n - 1e-9)
    chances = _binomial(n, moves)
    moved = np.flatnonzero(chances > 1e-9)
    needed = np.maximum(np.array(_criticals(n, alpha))[moved], -(-(moved + least) // 2))
    first = int(needed.min())
    lose = _binomials(moved, lost / moves, first)
    shown = np.where(np.arange(first, first + lose.shape[1]) >= needed[:, None], lose, 0.0).sum(axis=1)
    return min(1.0, float((chances[moved] * shown).sum()))


@lru_cache(maxsize=64)
def _criticals(most: int, alpha: float) -> tuple[int, ...]:
    """For each number of pairs that moved, 0 to `most`: how many of them must be lost, so that p is at most alpha < 1;
    more than all where none suffice. Exact.

    One more pair asks for as many or for one more, so that each tail of the binomial follows from the one before.
    """
    over, under = alpha.as_integer_ratio()
    needed, tail, ways = 1, 0, 1  # in `tail` of all choices so many are lost or more, in `ways` one less
    found = [needed]
    for moved in range(1, most + 1):
        tail, ways = 2 * tail + ways, ways * moved // (moved + 1 - needed)
        if tail * under > over << moved:
            ways = ways * (moved + 1 - needed) // needed
            tail, needed = tail - ways, needed + 1
        found.append(needed)
    return tuple(found)


def _binomial(n: int, p: float) -> Array:
    """The probabilities of 0 to n successes."""
    import numpy as np

    found: Array = _binomials(np.array([n]), p, 0)[0]
    return found


def _binomials(trials: Array, p: float, first: int) -> Array:
    """A row for each number of trials: the probabilities of `first`, `first` + 1, ... successes, 0 for more than there
    are trials."""
    import numpy as np

    n, k = trials[:, None], np.arange(first, int(trials.max()) + 1)
    if p <= 0.0 or p >= 1.0:
        return np.asarray(k == (n if p >= 1.0 else 0), dtype=float)
    logs, left = _log_factorials(int(trials.max())), np.maximum(n - k, 0)
    found = np.exp(logs[n] - logs[k] - logs[left] + k * math.log(p) + left * math.log1p(-p))
    return np.where(k <= n, found, 0.0)


@lru_cache(maxsize=1024)
def _log_factorials(n: int) -> Array:
    import numpy as np

    return np.array([math.lgamma(k + 1) for k in range(n + 1)])


def detectable(power: Callable[[float], float], most: float, *, probability: float = 0.8) -> float | None:
    """The smallest change that is shown with that probability, to a thousandth of `most`; None where none is."""
    if power(most) < probability:
        return None
    low, high = 0.0, most
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= probability else (middle, high)
    return high
