"""What the official scores of a run add up to, as a frozen tree that json can hold.

Values are kept in full precision; the official reports print them with 3 decimals. The names in brackets are the
official reports' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialMean:
    """The mean of n item scores, each rounded to 3 decimals before; None for n = 0."""

    value: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRate:
    """k of n; None for n = 0."""

    value: float | None
    k: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialTimes:
    """Mean, sample deviation (n - 1; None below two values), least and greatest of n values in seconds."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialMeans:
    """Tool selection F1 (tool_selection_acc) and argument accuracy (argument_acc) of a group of items."""

    tool_selection_f1: OfficialMean
    argument_accuracy: OfficialMean


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialAgent:
    """The official scores of one agent; agents stand in the order of the summary's own.

    `items` is the denominator of all that is over all items; `errors_as_empty` of them are errors without a
    conversation, counted as the official scripts count a result file of a failed run: no call, no speech. `left_out`
    counts, by cause, items that have no official scores.

    by_metric (by_metric) is over items whose turn was taken, by_metric_all (*_all) over all. Groups by_domain and
    by_difficulty are over all items, their `_turn_taken` forms beside them. Keys of pass_by: domain, difficulty,
    num_tools, disfluency_feature, state_rollback; an item counts in every feature it carries.

    response_latency_s is over turns taken without interruption, interruption_rate over turns taken with both times. The
    last three fields are the latency script's: its turns are those with recognised words, and its latencies are over
    items whose first response is not before the user's end.
    """

    name: str
    items: int
    errors_as_empty: int
    left_out: Mapping[str, int]
    turn_take_rate: OfficialRate
    by_metric: OfficialMeans
    by_metric_all: OfficialMeans
    by_domain: Mapping[str, OfficialMeans]
    by_domain_turn_taken: Mapping[str, OfficialMeans]
    by_difficulty: Mapping[str, OfficialMeans]
    by_difficulty_turn_taken: Mapping[str, OfficialMeans]
    pass_rate: OfficialRate
    pass_by: Mapping[str, Mapping[str, OfficialRate]]
    failure_breakdown: Mapping[str, int]
    response_latency_s: OfficialTimes
    interruption_rate: OfficialRate
    first_response_latency_s: OfficialTimes
    tool_call_latency_s: OfficialTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialJudgedAgent:
    """The official scores of one agent with a judge's verdicts in place of exact equality.

    `response_quality` is over items whose turn was taken, `response_quality_all` over all. Items with a question that
    is unjudged are left out, and counted in `unjudged`; above 2 % of them everything is withheld, and `scores` is None.
    """

    name: str
    unjudged: int
    withheld: str | None
    scores: OfficialAgent | None
    response_quality: OfficialMean | None
    response_quality_all: OfficialMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialSummary:
    """The official scores of a run. `agents` is empty where no item has any; `notes` then says so.

    `rules` made the numbers; `judged_only` names what exact mode leaves unmeasured, and why.
    """

    score_set: str
    score_version: int
    mode: str
    agents: tuple[OfficialAgent, ...]
    rules: Mapping[str, str]
    judged_only: Mapping[str, str]
    notes: tuple[str, ...] = field(default=())
