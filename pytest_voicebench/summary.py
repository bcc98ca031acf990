"""What a run's results add up to, as a frozen tree that json can hold: counts, rates, distributions, tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.decisions import BaselineComparison, GateResult
from pytest_voicebench.judgement import Judge
from pytest_voicebench.official_summary import OfficialJudgedAgent, OfficialSummary
from pytest_voicebench.timeline import RATE_HZ
from pytest_voicebench.trial_summary import TrialSummary

Json = Any

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """k of n, with the 95 % Wilson interval; `value`, `low` and `high` are None for n = 0.

    That interval takes the n for independent. Trials of one scenario are not: in a run with trials it goes by scenario
    (stats.clustered_interval). Two speakers of one scenario count as independent in a run without trials.
    """

    value: float | None
    k: int
    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of n values in full precision; None for n = 0."""

    value: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Mean, linear percentiles and sample deviation of n values (seconds where the name ends in `_s`)."""

    mean: float | None
    p50: float | None
    p95: float | None
    stdev: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """planned = passed + failed + error + skipped + not_run; valid = passed + failed."""

    planned: int
    passed: int
    failed: int
    error: int
    skipped: int
    not_run: int
    error_kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def valid(self) -> int:
        """Items that were measured."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of a group of items. Unless a name says otherwise they are over all valid items of the group.

    Denominators (design: "Denominators are printed"): pass_at_1, turn_take_rate: valid items. interruption_rate: turns
    taken. filler_rate: clean turns (taken, not interrupted). preemptive_rate: items with a call. The `_all` forms of
    these three are over valid items. The `_turn_taken` forms are over items whose turn was taken.
    """

    counts: Counts
    pass_at_1: Rate
    tools_ok: Rate
    args_ok: Rate
    f1: Mean
    f1_match: Mean
    f1_strict: Mean
    precision: Mean
    recall: Mean
    argument_accuracy: Mean
    argument_accuracy_strict: Mean
    turn_take_rate: Rate
    interruption_rate: Rate
    filler_rate: Rate
    preemptive_rate: Rate
    interruption_rate_all: Rate
    filler_rate_all: Rate
    preemptive_rate_all: Rate
    pass_at_1_turn_taken: Rate
    f1_turn_taken: Mean
    argument_accuracy_turn_taken: Mean
    first_response_latency_s: Distribution
    tool_call_latency_s: Distribution
    tool_call_latency_non_negative_s: Distribution
    task_completion_latency_s: Distribution
    interruption_depth_s: Distribution
    latency_causes: Mapping[str, int] = field(default_factory=dict)  # why an item has no first-response latency


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioMeans:
    """Means over scenarios of each scenario's mean over its recordings and trials, so that two speakers do not weigh
    double."""

    pass_at_1: Mean
    f1: Mean
    argument_accuracy: Mean


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceRow:
    """Items whose turn was not taken, and what they did instead. `items` is the group's valid items."""

    items: int
    silent: int
    with_calls: int
    without_calls: int
    with_perfect_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The silence table: all items, and by difficulty."""

    overall: SilenceRow
    by_difficulty: Mapping[str, SilenceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Pre-emptive calls against interruptions, over items with a call; and who spoke before the first call."""

    preemptive_interrupted: int
    preemptive_only: int
    interrupted_only: int
    neither: int
    spoke_before_first_call: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class SurplusRow:
    """Calls that no expected call was paired with: in scenarios of `domain`, of a tool that belongs to `tool_domain`.

    A tool belongs to the domain whose scenarios expect it; `tool_domain` is None where none or several do.
    """

    domain: str | None
    tool: str
    tool_domain: str | None
    calls: int


NOTHING_RATED = Rate(value=None, k=0, n=0, low=None, high=None)
NOTHING_MEASURED = Distribution(mean=None, p50=None, p95=None, stdev=None, n=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """Calls made with values that the user took back: items with at least one, of items with a retraction.

    `before_correction`: such calls made before the correction was heard, of those for which that is known.
    `repaired_rate`: items in which every such call was followed by the corrected one, of items with such calls.
    `rollback_latency_s`: one value for each corrected call that repaired something, from the last correction that it
    answers. `side_effects_left`: items in which a write with a retracted value stayed, of items with such calls.
    """

    premature_commit_rate: Rate
    calls: int
    before_correction: Rate = NOTHING_RATED
    repaired_rate: Rate = NOTHING_RATED
    rollback_latency_s: Distribution = NOTHING_MEASURED
    side_effects_left: Rate = NOTHING_RATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the sessions of an agent cost, all attempts included. `usd` adds up the `priced` items, None for none.

    `unknown` counts the items whose cost nobody knows, by reason; they are not in `usd`. Items without a session are in
    neither.
    """

    usd: float | None = None
    priced: int = 0
    unknown: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """Everything about one agent. Keys of `by`: domain, difficulty, disfluency, speaker, expected_calls; known_issue
    where there are any.

    An item counts in every disfluency it carries, and under "none" where it carries none. `transcript_sources`: of how
    many valid items the agent's words were its own text (provider) or recognised, at least in part; items without words
    are in neither. `words_dropped`: recognised outside detected speech; None where no recogniser listened. `input_hz`:
    the rate to which the user's recordings were brought for this agent. `trials` is None in a run without trials.
    """

    name: str
    model: str | None
    transport: str
    clock: str
    settings: Mapping[str, Json]
    overall: Scores
    by: Mapping[str, Mapping[str, Scores]]
    per_scenario: ScenarioMeans
    silence: Silence
    behaviour: Behaviour
    commits: Commits
    wrong_arguments: Mapping[str, int]
    surplus_calls: tuple[SurplusRow, ...]
    usage: Mapping[str, float]
    warnings: tuple[str, ...] = ()
    transcript_sources: Mapping[str, int] = field(default_factory=dict)
    words_dropped: int | None = None
    input_hz: int = RATE_HZ
    cost: Cost = field(default_factory=Cost)
    trials: TrialSummary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One of the benchmark's tables 2 to 6 for this run: one row per agent, cells in the unit their column names.

    A cell is a fraction (0 to 1), seconds (columns that end in `_s`), or None.
    """

    number: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScore:
    """A figure that rests on a judge: the mean of n judged items, with the Wilson interval where each counts 0 or 1,
    trials as so many items.

    `asked` and `unjudged` count questions. `least` and `most` are the figure over all items were every unjudged
    question answered badly, or well. `withheld` is the reason why there is no figure though some was judged: value, low
    and high are then None.
    """

    value: float | None
    n: int
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    asked: int
    unjudged: int
    withheld: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAgent:
    """What one judge says about one agent; agents in the order of Summary.agents.

    response_quality: items whose speech carried what was asked, of all valid items; a silent agent's counts 0 unasked.
    argument_accuracy: as the exact one, arguments that the judge says mean the same counted as matches;
    argument_accuracy_exact is that of the matchers. same_meaning: of arguments that no matcher accepted.
    information_said: items in which a sentence carries the information, of those in which the agent spoke;
    information_latency_s: from the user's end to that sentence, of clean turns whose words have times.
    """

    name: str
    response_quality: JudgedScore
    argument_accuracy: JudgedScore
    argument_accuracy_exact: Mean
    same_meaning: JudgedScore
    information_said: JudgedScore
    information_latency_s: Distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSummary:
    """One judge's verdicts on a run. They change no outcome and no score beside them.

    asked = judged + unjudged; `cached` are those of the judged that cost nothing this time. Tokens and `cost` are what
    the newest judging took; `cost` is None unless prices were set, and in their unit. `judged_from` and `judged_until`
    bound when the verdicts were given. `output_formats`: how many answers were asked for in which format.
    `official` is the set "official-judged(ours)": the official rules and denominators under our prompts, agents in the
    same order; it is empty where the run has no official scores.
    """

    judge: Judge
    judged_from: str | None
    judged_until: str | None
    asked: int
    judged: int
    unjudged: int
    unjudged_causes: Mapping[str, int]
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    output_formats: Mapping[str, int]
    agents: tuple[JudgedAgent, ...]
    official: tuple[OfficialJudgedAgent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run. `header` is what the caller says about it (name, time, versions, options); all else follows from results.

    `stimulus` is synthetic, human or mixed; `notices` head every output. `official` holds the other score set, with the
    agents in the same order. `judge` has an entry for each judge that was asked about the run, never one for two.
    `baseline` is None where none was given; `gates` has an entry for each gate and agent.
    """

    schema_version: int
    header: Mapping[str, Json]
    score_set: str
    score_version: int
    suites: tuple[str, ...]
    stimulus: str
    notices: tuple[str, ...]
    counts: Counts
    agents: tuple[AgentSummary, ...]
    tables: tuple[Table, ...]
    official: OfficialSummary | None = None
    judge: tuple[JudgeSummary, ...] = ()
    baseline: BaselineComparison | None = None
    gates: tuple[GateResult, ...] = ()
