"""From p, interval and power to a verdict; several metrics asked together; what each verdict may rest on.

Where a smallest loss that matters is given (`min_effect`), `no_regression` is a test of non-inferiority: the 95 %
interval excludes such a loss, so that it is wrong in at most 2.5 % of runs of an agent that lost that much (Piaggio and
others, JAMA 308 (2012) 2594-2604). `regressed` then takes both: p at most its level and a loss of at least that size.
Where none is given, `no_regression` says that no loss was seen, and that the interval excludes one of a size that
everybody would call a loss (TOLERABLE), or that these pairs would have shown it with probability 0.8. All else is
`inconclusive`: little evidence is no pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.decisions import MetricComparison, Verdict
from pytest_voicebench.regression.measures import MEASURES, Kind

LEVELS: Mapping[Kind, float] = {"rate": 0.05, "fraction": 0.04, "seconds": 0.04}
"""The largest p, corrected, that is a regression: false alarms are to stay below 5 %, also where they are counted.

The exact tests of rates step over 0.05, so that 3 % of unchanged agents are called worse; at 0.04 a hundred items would
be too few to tell in 39 % of comparisons, not in 19 %. Swaps of scores and latencies reach their level: at 0.05 every
second count of false alarms would come out above 5 %.
"""

TOLERABLE = 0.15
"""The largest detectable loss of a rate or a score, without `min_effect`, at which not seeing one means something."""

TOLERABLE_SHARE = 0.25
"""The same of latencies, as a share of the value before; at least TOLERABLE_S."""

TOLERABLE_S = 0.25


def holm(values: Sequence[float | None]) -> list[float | None]:
    """The p values corrected for having been asked together, each at most 1; None stays, and does not count.

    Source: Holm, Scand. J. Statist. 6 (1979) 65-70.
    """
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        found[place] = highest
    return found


def judged(row: MetricComparison) -> MetricComparison:
    """The comparison with its verdict and, where that needs a word, why."""
    verdict, why = _verdict(row)
    return replace(row, verdict=verdict, why=row.why or why)


def _verdict(row: MetricComparison) -> tuple[Verdict, str | None]:
    if row.p_corrected is None or row.effect is None:
        return "inconclusive", row.why or "too few pairs"
    loss = row.worse * row.effect
    seen = row.p_corrected <= LEVELS[MEASURES[row.metric].kind]
    if row.min_effect is None:
        return ("regressed", None) if seen else _not_seen(row)
    if seen and loss >= row.min_effect - 1e-12:
        return "regressed", None
    worst = _largest_loss(row)
    if worst is not None and worst < row.min_effect:
        return "no_regression", "worse, but by less than min_effect" if seen else None
    if worst is None:
        return "inconclusive", "too few scenarios for an interval"
    return "inconclusive", f"a loss of {size_text(row.metric, row.min_effect)} cannot be excluded"


def _largest_loss(row: MetricComparison) -> float | None:
    """The most that may have been lost, by the interval; None without one."""
    if row.worse > 0:
        return row.high
    return None if row.low is None else -row.low


def _not_seen(row: MetricComparison) -> tuple[Verdict, str | None]:
    """Whether not having seen a loss means that there is none."""
    tolerable = TOLERABLE
    if MEASURES[row.metric].kind == "seconds":
        tolerable = max(TOLERABLE_S, TOLERABLE_SHARE * abs(row.before or 0.0))
    if row.worse < 0 and row.before == 0:
        return "inconclusive", "it was 0 before: nothing can be lost"
    worst = _largest_loss(row)
    if worst is not None and worst < tolerable:  # whatever they would have shown: so much was not lost
        return "no_regression", None
    if row.effect is not None and row.worse * row.effect >= tolerable:
        told = size_text(row.metric, row.worse * row.effect)
        return "inconclusive", f"{told} were lost, which these pairs cannot tell from chance"
    if row.detectable is None:
        told = f"{counted(row.pairs, 'pair')} of {counted(row.clusters, 'scenario')}"
        return "inconclusive", f"{told} {noun_for(row.pairs, 'is', 'are')} too few to show any loss"
    if row.detectable > tolerable:
        return "inconclusive", f"these pairs would show a loss only from {size_text(row.metric, row.detectable)} on"
    return "no_regression", None


def size_text(metric: str, size: float) -> str:
    """`0.40 s` for latencies, `11.0 points` for all else."""
    return f"{size:.2f} s" if MEASURES[metric].kind == "seconds" else f"{100 * size:.1f} points"
