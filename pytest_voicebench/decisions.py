"""What a run decides, as data: how it stands against a baseline, and which gates hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["no_regression", "regressed", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """With which probability these pairs would have shown a change for the worse of that size, in the metric's unit."""

    change: float
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison:
    """One metric of one agent, before and after, over the pairs that both runs measured.

    `metric` is the name of design.md section 9 (`pass_at_1`, `first_response_latency_s.mean`, ...), `group` a part of
    the suite as in the summary's `by` (`disfluency=self_correction`), None for all. `effect` = after - before;
    `low` and `high` bound it at 95 %. `worse` is +1 where a higher value is worse (latencies), -1 where a lower one is.
    `p` is one-sided: how often an unchanged agent would look this much worse; `p_corrected` is Holm's, over all metrics
    asked together. `detectable` is the size of a change for the worse that these pairs would have shown with
    probability 0.8, None where no change would have been; `chances` are those of other sizes. All are None or empty
    where there are too few pairs. `clusters`: the scenarios of the pairs; those of one scenario are drawn as one.
    `min_effect` is the smallest change for the worse that matters, where one was given. What was not `asked` for is a
    further metric: it is shown, and decides nothing.
    """

    metric: str
    verdict: Verdict
    method: str
    worse: Literal[-1, 1]
    pairs: int
    clusters: int
    group: str | None = None
    before: float | None = None
    after: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    detectable: float | None = None
    chances: tuple[Chance, ...] = ()
    min_effect: float | None = None
    seed: int | None = None
    why: str | None = None
    asked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentComparison:
    """One agent against the baseline's (`before`: its name there). The items that changed sides, by item id."""

    name: str
    before: str
    metrics: tuple[MetricComparison, ...]
    newly_failed: tuple[str, ...] = ()
    newly_passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """A run against a baseline. `refused` says in one line why nothing could be compared; `agents` is then empty.

    `compared` counts the pairs: items that both runs measured and that ask the same. `only_before`, `only_after`,
    `changed` (another hash of scenario or expectation) and `unmeasured` (an error, skipped or not run in one of them)
    name the others. `cautions` are one line each: other clocks, versions, judges.
    """

    run: str
    compared: int
    agents: tuple[AgentComparison, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate as asked (`expression`) and how it came out for one agent: `holds` is None where it cannot be told.

    `found` is the value or verdict it was held against, as text; `why` says in one line what made it fail or
    inconclusive. Where it `limits_errors`, it and not each of them decides. `source` is where the gate was written:
    `--voicebench-gate`, or the ini file.
    """

    expression: str
    agent: str
    holds: bool | None
    found: str
    source: str
    why: str | None = None
    items: tuple[str, ...] = field(default=())
    limits_errors: bool = False
