"""How often a comparison cries wolf, and whether its power is what it says: `python benchmarks/regression.py [RUNS]`.

Runs of an agent over a suite like fdb3: 79 scenarios, 21 of them in two voices that often share their luck, each with
a probability of its own to pass, from never to always. First 1,000 pairs of runs of one agent: false alarms, and how
often the interval holds the true change, which is 0. Then agents that lost 5, 10 and 15 points (latencies: per cent):
how often that is seen, beside the chance that the reports of unchanged pairs, and those of the changed ones, print for
it. Last, percentiles of few scenarios: how often their interval holds the change of an agent that became slower, how
often it excludes a loss as large as was there, which is what `min_effect` rests on, and their false alarms.

Nothing here talks; results are made by hand and compared by the code that `--voicebench-baseline` runs. A share comes
with the standard error that so many pairs leave it. Ends with 1 where false alarms are more than 5 %, or a power that
was printed is more than 5 points from the power found; far fewer RUNS than 1,000 do so by chance. Metrics whose p
reaches its level are tested at 0.04 (LEVELS in `regression/verdicts.py`): at 0.05 every second simulation would find
too many false alarms.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from unittest.mock import patch

import numpy as np

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.decisions import MetricComparison as Row
from pytest_voicebench.regression import means
from pytest_voicebench.regression.means import ENOUGH_CLUSTERS, bootstrap_spread, figure, swap_p, value_pairs
from pytest_voicebench.regression.measures import Statistic
from pytest_voicebench.regression.metrics import DROPS, Question, compared_metrics
from pytest_voicebench.regression.pairs import Pair
from pytest_voicebench.regression.verdicts import LEVELS
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.scorecard import Manners, Scorecard, Times

SCENARIOS, IN_TWO_VOICES = 79, 21
SHARED_LUCK = 0.5
SEED = 2
LATENCY = "first_response_latency_s.mean"
METRICS = ("pass_at_1", "f1", LATENCY)
MIN_EFFECT = {"pass_at_1": 0.15, "f1": 0.10, LATENCY: 0.30}
WRONG = (0.0, 0.5, 0.67, 0.8)
MOST_FALSE_ALARMS, MOST_OFF = 0.05, 0.05
SIZES = (20, 40, 60, 80, 100)
SLOWER = 0.15
MANY = 1_000_000
CARD = Scorecard(
    score_set="voicebench", version=1, passed=True, tools_ok=True, args_ok=True, spoke=True, f1_names=1.0, f1_match=1.0,
    f1_strict=1.0, precision=1.0, recall=1.0, argument_accuracy=1.0, argument_accuracy_strict=1.0,
    manners=Manners(turn_taken=True, interrupted=False),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Items with their scenarios' numbers, and what the unchanged agent does: pass, F1 where it fails, seconds."""

    items: tuple[Result, ...]
    scenario: np.ndarray
    passes: np.ndarray
    partial: np.ndarray
    latency_s: np.ndarray

    @property
    def mean_f1(self) -> float:
        """What the unchanged agent reaches."""
        return float((self.passes + (1 - self.passes) * self.partial).mean())


def a_suite(rng: np.random.Generator) -> Suite:
    """Nearly a third of the scenarios are always passed, a fifth hardly ever, the rest lie between."""
    scenario = np.concatenate([np.arange(SCENARIOS), np.arange(IN_TWO_VOICES)])
    base = np.concatenate([np.full(23, 0.98), np.full(16, 0.03), rng.beta(1.5, 1.2, SCENARIOS - 39)])
    passes = np.clip(base[scenario] + rng.normal(0, 0.08, len(scenario)) * (base[scenario] < 0.98), 0.0, 1.0)
    items = tuple(_item(f"s{number}", f"v{voice}") for voice, number in _voices(scenario))
    return Suite(
        items=items,
        scenario=scenario,
        passes=passes,
        partial=rng.choice(WRONG, SCENARIOS)[scenario],
        latency_s=_levels(rng, SCENARIOS)[scenario],
    )


def _levels(rng: np.random.Generator, scenarios: int) -> np.ndarray:
    """How long the unchanged agent takes for each, in seconds."""
    return rng.lognormal(0.2, 0.3, scenarios)


def _once(rng: np.random.Generator, levels: np.ndarray) -> np.ndarray:
    """How long it took this time."""
    return levels * rng.lognormal(0, 0.25, len(levels))


def _voices(scenario: np.ndarray) -> list[tuple[int, int]]:
    return [(place // SCENARIOS, int(number)) for place, number in enumerate(scenario)]


def _item(scenario: str, voice: str) -> Result:
    facts = Facts(
        suite="fdb3", kind="tool_use", stimulus="synthetic", scenario_id=scenario, title="", domain=None,
        difficulty=None, disfluency=(), tags=(), speaker=voice, expected_calls=1, has_retraction=False,
        scenario_sha256="1", expect_sha256="1",
    )  # fmt: skip
    agent = AgentInfo(name="a", clock="virtual")
    return Result(item_id=f"{scenario}-{voice}", nodeid="", agent=agent, facts=facts, outcome="passed", scorecard=CARD)


def a_run(suite: Suite, rng: np.random.Generator, loss: float = 0.0) -> list[Result]:
    """One run, of an agent that lost so much in every metric: passes and F1 are lost item by item, latencies grow."""
    n = len(suite.items)
    shares = rng.random(SCENARIOS)[suite.scenario] < SHARED_LUCK
    luck = np.where(shares, rng.random(SCENARIOS)[suite.scenario], rng.random(n))
    passed = luck < suite.passes * (1 - loss / suite.passes.mean())
    f1 = np.where(luck < suite.passes, 1.0, suite.partial)  # of its own, so that each metric loses what it should
    f1 = np.where(rng.random(n) < loss / suite.mean_f1, 0.0, f1)
    seconds = _once(rng, suite.latency_s) * (1 + loss)
    measured = rng.random(n) < 0.9
    rows = zip(suite.items, passed.tolist(), f1.tolist(), seconds.tolist(), measured.tolist(), strict=True)
    return [_result(*row) for row in rows]


def _result(item: Result, passed: bool, f1: float, seconds: float, measured: bool) -> Result:
    times = Times(first_response_latency_s=seconds if measured else None)
    return replace(item, scorecard=replace(CARD, passed=passed, f1_names=f1, times=times))


def rows_of(suite: Suite, rng: np.random.Generator, questions: Sequence[Question], loss: float = 0.0) -> list[Row]:
    """What a comparison of two runs says to each question, asked alone; the second run is of an agent that lost."""
    before, after = a_run(suite, rng), a_run(suite, rng, loss)
    pairs = [Pair(before=a, after=b) for a, b in zip(before, after, strict=True)]
    return [compared_metrics(pairs, [question])[0] for question in questions]


def _holds_zero(row: Row) -> bool:
    return row.low is not None and row.high is not None and row.low <= 0.0 <= row.high


def _share(flags: Sequence[bool]) -> str:
    """`2.8% +- 0.5`: the share, and its standard error in points."""
    share = fmean(flags)
    return f"{share:.1%} +-{100 * math.sqrt(share * (1 - share) / len(flags)):.1f}"


def print_unchanged(rows: Sequence[Row], question: Question) -> bool:
    """A line: how the verdicts on unchanged pairs came out. Whether false alarms are as rare as promised."""
    verdicts = Counter(row.verdict for row in rows)
    shares = [verdicts[v] / len(rows) for v in ("no_regression", "inconclusive")]
    alarms = [row.verdict == "regressed" for row in rows]
    size = fmean(row.detectable for row in rows if row.detectable is not None)
    print(
        f"{question.metric:<30} {question.min_effect or 'none':>10} {_share(alarms):>13} {shares[0]:>14.1%}"
        f" {shares[1]:>13.1%} {_share([*map(_holds_zero, rows)]):>13} {size:>11.3f}"
    )
    return fmean(alarms) <= MOST_FALSE_ALARMS


def print_power(unchanged: Sequence[Row], rows: Sequence[Row], metric: str, number: int) -> bool:
    """A line: how often a loss was seen, and the chances printed for it. Whether those are as near as promised."""
    seen = [row.verdict == "regressed" for row in rows]
    printed = [[row.chances[number].probability for row in rs if len(row.chances) > number] for rs in (unchanged, rows)]
    told = [f"{fmean(p):.1%} ({np.quantile(p, 0.05):.0%} to {np.quantile(p, 0.95):.0%})" for p in printed]
    print(f"{metric:<30} {DROPS[number]:>6.0%} {_share(seen):>13} {told[0]:>28} {told[1]:>28}")
    return all(abs(fmean(p) - fmean(seen)) <= MOST_OFF for p in printed)


def print_few(rng: np.random.Generator, statistic: Statistic, scenarios: int, truth: float, runs: int) -> None:
    """A line: what the interval and p of a percentile are worth with so many scenarios, each in one voice."""
    held, excluded, alarms = [], [], []
    for _ in range(runs):
        levels = _levels(rng, scenarios)
        before, after, again = (_once(rng, levels).tolist() for _ in range(3))
        slower = [(a, b * (1 + SLOWER)) for a, b in zip(before, after, strict=True)]
        spread = bootstrap_spread(value_pairs(slower, range(scenarios), statistic, "seconds"))
        assert spread is not None  # any number is enough here
        held.append(spread.low <= truth <= spread.high)
        excluded.append(spread.high < truth)
        unchanged = list(zip(before, again, strict=True))
        p = swap_p(value_pairs(unchanged, range(scenarios), statistic, "seconds"), 1)
        alarms.append(p <= LEVELS["seconds"])
    used = "yes" if scenarios >= ENOUGH_CLUSTERS[statistic] else "no"
    shares = " ".join(f"{_share(flags):>14}" for flags in (held, excluded, alarms))
    print(f"{statistic:<10} {scenarios:>9} {shares} {used:>9}")


def print_percentiles(rng: np.random.Generator, runs: int) -> None:
    """The table of percentiles, of which any number of scenarios counts as enough."""
    print(f"\n{runs} pairs a line, {SLOWER:.0%} slower: interval holds that, excludes so large a loss; false alarms")
    print("percentile scenarios          holds       excludes    false alarm  is given")
    levels = _levels(rng, MANY)
    before, after = _once(rng, levels).tolist(), (_once(rng, levels) * (1 + SLOWER)).tolist()
    enough: dict[Statistic, int] = dict.fromkeys(ENOUGH_CLUSTERS, 2)
    percentiles: tuple[Statistic, ...] = ("p50", "p95")
    for statistic in percentiles:
        truth = (figure(after, statistic) or 0.0) - (figure(before, statistic) or 0.0)
        for scenarios in SIZES:
            with patch.object(means, "ENOUGH_CLUSTERS", enough):
                print_few(rng, statistic, scenarios, truth, runs)


def main(runs: int) -> int:
    """All tables; 1 where a bound is missed."""
    began, rng = time.perf_counter(), np.random.default_rng(SEED)
    suite = a_suite(rng)
    level = f"Pass@1 {suite.passes.mean():.2f}, F1 {suite.mean_f1:.2f}"
    print(f"{len(suite.items)} items of {SCENARIOS} scenarios, {level}")
    questions = [Question(metric=metric, min_effect=size) for metric in METRICS for size in (None, MIN_EFFECT[metric])]
    unchanged = list(zip(*(rows_of(suite, rng, questions) for _ in range(runs)), strict=True))
    print(f"\n{runs} unchanged pairs: verdicts, intervals that hold 0, detectable change (mean)")
    print(f"{'metric':<30} min_effect   false alarm  no regression  inconclusive       holds 0  detectable")
    kept = [print_unchanged(rows, question) for question, rows in zip(questions, unchanged, strict=True)]
    print(f"\n{runs} changed pairs a line: power found, and printed in reports (mean, and 90 % of them)")
    print(f"{'metric':<30}   lost         found     printed in unchanged ones      printed in changed ones")
    plain = questions[::2]
    for number, loss in enumerate(DROPS):
        changed = list(zip(*(rows_of(suite, rng, plain, loss) for _ in range(runs)), strict=True))
        kept += [print_power(unchanged[2 * at], rows, METRICS[at], number) for at, rows in enumerate(changed)]
    print_percentiles(rng, runs // 2)
    print(f"\n{len(kept) - sum(kept)} of {len(kept)} bounds missed; {time.perf_counter() - began:.0f} s")
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
