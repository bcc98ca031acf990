"""From item values to the figures of a summary: rates, means, distributions, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pytest_voicebench.result import Result
from pytest_voicebench.stats import clustered_interval, mean, quantile, stdev, wilson_interval
from pytest_voicebench.summary import Counts, Distribution, Mean, Rate


def rate(flags: Iterable[bool]) -> Rate:
    """The share of true flags, with its Wilson interval, which takes them for independent."""
    seen = list(flags)
    k, n = sum(seen), len(seen)
    low, high = wilson_interval(k, n) or (None, None)
    return Rate(value=k / n if n else None, k=k, n=n, low=low, high=high)


def rate_of(rows: Iterable[tuple[Result, bool]]) -> Rate:
    """The share of true flags, each of a result. In a run with trials its interval goes by scenario: trials of one are
    alike, and do not count as so many items (see `clustered_interval`)."""
    seen = list(rows)
    plain = rate(flag for _, flag in seen)
    if all(result.trial is None for result, _ in seen):
        return plain
    clusters: dict[tuple[str, str], list[float]] = {}
    for result, flag in seen:
        clusters.setdefault((result.facts.suite, result.facts.scenario_id), []).append(float(flag))
    low, high = clustered_interval(clusters.values()) or (None, None)
    return replace(plain, low=low, high=high)


def mean_of(values: Iterable[float | None]) -> Mean:
    """The mean of the values that exist."""
    known = [v for v in values if v is not None]
    return Mean(value=mean(known), n=len(known))


def distribution(values: Iterable[float | None]) -> Distribution:
    """Mean, median, 95th percentile and deviation of the values that exist."""
    known = [v for v in values if v is not None]
    return Distribution(
        mean=mean(known), p50=quantile(known, 0.50), p95=quantile(known, 0.95), stdev=stdev(known), n=len(known)
    )


def counts(results: Sequence[Result]) -> Counts:
    """Items by outcome, and errors by kind."""
    outcomes = Counter(r.outcome for r in results)
    kinds = Counter(r.error_kind or "unknown" for r in results if r.outcome == "error")
    return Counts(
        planned=len(results),
        passed=outcomes["passed"],
        failed=outcomes["failed"],
        error=outcomes["error"],
        skipped=outcomes["skipped"],
        not_run=outcomes["not_run"],
        error_kinds=dict(sorted(kinds.items())),
    )
