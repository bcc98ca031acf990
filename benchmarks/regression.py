"""How often a comparison cries wolf, and whether its power is what it says: `python benchmarks/regression.py [RUNS]`.

Runs of an agent over a suite like fdb3: 79 scenarios, 21 of them in two voices that often share their luck, each with
a probability of its own to pass, from never to always. First 1,000 pairs of runs of one agent: false alarms, and how
often the interval holds the true change, which is 0. Then agents that lost 5, 10 and 15 points (latencies: per cent):
how often that is seen, beside the chance that the reports of unchanged pairs, and those of the changed ones, print for
it. Nothing here talks; results are made by hand and compared by the code that `--voicebench-baseline` runs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.decisions import MetricComparison as Row
from pytest_voicebench.regression.metrics import DROPS, Question, compared_metrics
from pytest_voicebench.regression.pairs import Pair
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.scorecard import Manners, Scorecard, Times

SCENARIOS, IN_TWO_VOICES = 79, 21
SHARED_LUCK = 0.5
SEED = 2
LATENCY = "first_response_latency_s.mean"
METRICS = ("pass_at_1", "f1", LATENCY)
MIN_EFFECT = {"pass_at_1": 0.15, "f1": 0.10, LATENCY: 0.30}
WRONG = (0.0, 0.5, 0.67, 0.8)
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
        latency_s=rng.lognormal(0.2, 0.3, SCENARIOS)[scenario],
    )


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
    seconds = suite.latency_s * rng.lognormal(0, 0.25, n) * (1 + loss)
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


def print_unchanged(rows: Sequence[Row], question: Question) -> None:
    """A line: how the verdicts on unchanged pairs came out."""
    verdicts = Counter(row.verdict for row in rows)
    shares = [verdicts[v] / len(rows) for v in ("regressed", "no_regression", "inconclusive")]
    size = fmean(row.detectable for row in rows if row.detectable is not None)
    print(
        f"{question.metric:<30} {question.min_effect or 'none':>10} {shares[0]:>12.1%} {shares[1]:>14.1%}"
        f" {shares[2]:>13.1%} {fmean(map(_holds_zero, rows)):>8.1%} {size:>11.3f}"
    )


def print_power(unchanged: Sequence[Row], rows: Sequence[Row], metric: str, number: int) -> None:
    """A line: how often a loss was seen, and the chances that were printed for it."""
    found = fmean(row.verdict == "regressed" for row in rows)
    told = [_told(reports, number) for reports in (unchanged, rows)]
    print(f"{metric:<30} {DROPS[number]:>6.0%} {found:>8.1%} {told[0]:>28} {told[1]:>28}")


def _told(rows: Sequence[Row], number: int) -> str:
    printed = [row.chances[number].probability for row in rows if len(row.chances) > number]
    low, high = np.quantile(printed, [0.05, 0.95])
    return f"{fmean(printed):.1%} ({low:.0%} to {high:.0%})"


def main(runs: int) -> None:
    """Both tables."""
    began, rng = time.perf_counter(), np.random.default_rng(SEED)
    suite = a_suite(rng)
    level = f"Pass@1 {suite.passes.mean():.2f}, F1 {suite.mean_f1:.2f}"
    print(f"{len(suite.items)} items of {SCENARIOS} scenarios, {level}")
    questions = [Question(metric=metric, min_effect=size) for metric in METRICS for size in (None, MIN_EFFECT[metric])]
    unchanged = list(zip(*(rows_of(suite, rng, questions) for _ in range(runs)), strict=True))
    print(f"\n{runs} unchanged pairs: verdicts, intervals that hold 0, detectable change (mean)")
    print("metric                         min_effect  false alarm  no regression  inconclusive  holds 0  detectable")
    for question, rows in zip(questions, unchanged, strict=True):
        print_unchanged(rows, question)
    print(f"\n{runs // 2} changed pairs a line: power found, and printed in reports (mean, and 90 % of them)")
    print("metric                           lost    found     printed in unchanged ones      printed in changed ones")
    plain = questions[::2]
    for number, loss in enumerate(DROPS):
        changed = list(zip(*(rows_of(suite, rng, plain, loss) for _ in range(runs // 2)), strict=True))
        for place, rows in enumerate(changed):
            print_power(unchanged[2 * place], rows, METRICS[place], number)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
