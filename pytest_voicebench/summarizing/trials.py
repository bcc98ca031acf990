"""From the trials of each item to pass^k, pass@k and the items that pass at times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_voicebench.result import Result
from pytest_voicebench.stats import clustered_interval, mean, pass_at, pass_hat
from pytest_voicebench.trial_summary import Estimate, FlakyItem, PassOfK, TrialSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """The trials of one scenario and speaker that were not skipped: how many, and what became of them."""

    first: Result
    planned: int
    passed: int
    failed: int

    @property
    def valid(self) -> int:
        return self.passed + self.failed


def trial_summary(results: Sequence[Result]) -> TrialSummary | None:
    """What the trials of one agent's results say; None in a run without trials, or where all were skipped."""
    items = _items([r for r in results if r.trial is not None and r.outcome != "skipped"])
    if not items:
        return None
    most = max(item.planned for item in items)
    return TrialSummary(
        trials=most,
        items=len(items),
        always=sum(0 < item.passed == item.valid for item in items),
        never=sum(0 < item.failed == item.valid for item in items),
        unmeasured=sum(not item.valid for item in items),
        passes=tuple(_passes(items, k) for k in range(1, most + 1)),
        flaky=tuple(_flaky(item) for item in sorted(items, key=_evenness) if item.passed and item.failed),
    )


def _items(trials: Sequence[Result]) -> list[_Item]:
    by_item: dict[tuple[str, str], list[Result]] = {}
    for result in trials:
        by_item.setdefault((result.facts.suite, _name(result)), []).append(result)
    return [
        _Item(
            first=rows[0],
            planned=len(rows),
            passed=sum(r.outcome == "passed" for r in rows),
            failed=sum(r.outcome == "failed" for r in rows),
        )
        for rows in by_item.values()
    ]


def _name(result: Result) -> str:
    """The item's id without the trial."""
    return result.item_id.removesuffix(f"-{result.trial}")


def _passes(items: Sequence[_Item], k: int) -> PassOfK:
    def planned(item: _Item) -> int:
        return item.planned

    def valid(item: _Item) -> int:
        return item.valid

    return PassOfK(
        k=k,
        pass_hat=_estimate(items, k, planned, pass_hat),
        pass_at=_estimate(items, k, planned, pass_at),
        pass_hat_valid=_estimate(items, k, valid, pass_hat),
        pass_at_valid=_estimate(items, k, valid, pass_at),
    )


def _estimate(
    items: Sequence[_Item], k: int, trials: Callable[[_Item], int], figure: Callable[[int, int, int], float]
) -> Estimate:
    """The mean of the figure over the items that have k trials; scenarios are drawn as one, whoever speaks."""
    counted = [item for item in items if trials(item) >= k]
    clusters: dict[tuple[str, str], list[float]] = {}
    for item in counted:
        facts = item.first.facts
        clusters.setdefault((facts.suite, facts.scenario_id), []).append(figure(trials(item), item.passed, k))
    low, high = clustered_interval(clusters.values(), sum(map(trials, counted))) or (None, None)
    value = mean([value for values in clusters.values() for value in values])
    return Estimate(value=value, low=low, high=high, n=len(counted))


def _evenness(item: _Item) -> tuple[float, int, str]:
    """The most evenly split first, of those the one seen most often."""
    share = min(item.passed, item.failed) / item.valid if item.valid else 0.0
    return -share, -item.valid, item.first.item_id


def _flaky(item: _Item) -> FlakyItem:
    facts = item.first.facts
    return FlakyItem(
        item=_name(item.first),
        suite=facts.suite,
        scenario_id=facts.scenario_id,
        speaker=facts.speaker,
        passed=item.passed,
        failed=item.failed,
        unmeasured=item.planned - item.valid,
    )
