"""The metrics of one agent's pairs, asked together: effect, interval, p, Holm's correction, power, verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_voicebench.decisions import Chance, MetricComparison
from pytest_voicebench.regression.means import (
    SEED,
    bootstrap_spread,
    figure,
    mean_power,
    most_change,
    swap_p,
    value_pairs,
)
from pytest_voicebench.regression.measures import Measure, measure
from pytest_voicebench.regression.pairs import Pair
from pytest_voicebench.regression.rates import (
    detectable,
    good_share,
    rate_interval,
    rate_pairs,
    rate_power,
    sign_flip_p,
)
from pytest_voicebench.regression.verdicts import LEVELS, holm, judged
from pytest_voicebench.summarizing.groups import in_group

DROPS = (0.05, 0.10, 0.15)
"""Losses of which the chance to be shown is given; of latencies, shares of the value before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A metric to compare, in all items or in a group (`disfluency=self_correction`), with what loss would matter."""

    metric: str
    group: str | None = None
    min_effect: float | None = None


def compared_metrics(pairs: Sequence[Pair], questions: Sequence[Question]) -> tuple[MetricComparison, ...]:
    """One comparison for each question, in their order; p is corrected for as many metrics as are asked.

    One metric with two sizes of `min_effect` is one question of p. Raises UnknownMetric.
    """
    asked = list(dict.fromkeys(questions))
    family = len({(q.metric, q.group) for q in asked})
    rows = [_compared(pairs, question, family) for question in asked]
    hypotheses = dict.fromkeys((row.metric, row.group) for row in rows)
    p_of = {(row.metric, row.group): row.p for row in rows}
    corrected = dict(zip(hypotheses, holm([p_of[key] for key in hypotheses]), strict=True))
    return tuple(judged(replace(row, p_corrected=corrected[row.metric, row.group])) for row in rows)


def _compared(pairs: Sequence[Pair], question: Question, family: int) -> MetricComparison:
    """Everything but the correction and the verdict."""
    of = measure(question.metric)
    if question.group is not None:
        pairs = [pair for pair in pairs if in_group(pair.after.facts, question.group)]
    if of.kind == "seconds" and any(pair.before.agent.clock != pair.after.agent.clock for pair in pairs):
        return _nothing(of, question, "latencies on the virtual clock and on the wall clock cannot be compared")
    known, clusters = _values(pairs, of)
    if not known:
        return _nothing(of, question, "no item was measured in both runs")
    alpha = LEVELS[of.kind] / family
    compare = _rates if of.kind == "rate" else _means
    found = compare(of, known, clusters, question, alpha)
    before, after = (figure([pair[side] for pair in known], of.statistic) for side in (0, 1))
    assert before is not None  # there are values
    assert after is not None
    return replace(found, before=before, after=after, effect=after - before)


def _values(pairs: Sequence[Pair], of: Measure) -> tuple[list[tuple[float, float]], list[tuple[str, str]]]:
    """The values of the pairs that have one in both runs, and their scenarios."""
    values, clusters = [], []
    for pair in pairs:
        before, after = (of.value(card) for card in pair.cards)
        if before is not None and after is not None:
            values.append((before, after))
            clusters.append(pair.cluster)
    return values, clusters


def _nothing(of: Measure, question: Question, why: str) -> MetricComparison:
    return MetricComparison(
        metric=of.name,
        group=question.group,
        min_effect=question.min_effect,
        worse=of.worse,
        verdict="inconclusive",
        method="none",
        pairs=0,
        clusters=0,
        why=why,
    )


def _rates(
    of: Measure, values: list[tuple[float, float]], clusters: list[Any], question: Question, alpha: float
) -> MetricComparison:
    good = [(bool(a) == (of.worse < 0), bool(b) == (of.worse < 0)) for a, b in values]
    found = rate_pairs(good, clusters)
    low, high = rate_interval(found)
    power = partial(rate_power, found, alpha=alpha, at_least=question.min_effect or 0.0)
    share = good_share(found)
    return replace(
        _nothing(of, question, ""),
        method="McNemar, exact" if found.single else "sign flips of scenarios, exact",
        pairs=found.pairs,
        clusters=len(found.drops),
        low=low if of.worse < 0 else -high,
        high=high if of.worse < 0 else -low,
        p=sign_flip_p(found.drops),
        detectable=detectable(power, share) if share else None,
        chances=tuple(Chance(change=drop, probability=power(drop)) for drop in DROPS if drop <= share),
        why=None,
    )


def _means(
    of: Measure, values: list[tuple[float, float]], clusters: list[Any], question: Question, alpha: float
) -> MetricComparison:
    found = value_pairs(values, clusters, of.statistic, of.kind)
    spread = bootstrap_spread(found)
    row = replace(
        _nothing(of, question, ""),
        method="swaps and bootstrap of scenarios",
        pairs=len(values),
        clusters=found.clusters,
        p=swap_p(found, of.worse),
        seed=SEED,
        why=None,
    )
    if spread is None:
        return row
    at_least = question.min_effect or 0.0
    unit = abs(figure(found.before, of.statistic) or 0.0) if of.kind == "seconds" else 1.0
    sizes = [drop * unit for drop in DROPS if drop * unit > 0]
    power = partial(mean_power, found, spread, alpha=alpha, at_least=at_least)
    return replace(
        row,
        low=spread.low,
        high=spread.high,
        detectable=detectable(power, at_least + most_change(found, spread)),
        chances=tuple(Chance(change=size, probability=power(size)) for size in sizes),
    )
