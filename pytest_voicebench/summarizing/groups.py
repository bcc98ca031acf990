"""The scores of a group of items, and the groups: domain, difficulty, disfluency, speaker, number of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pytest_voicebench.result import Facts, Result
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.summarizing.figures import counts, distribution, mean_of, rate_of
from pytest_voicebench.summary import ScenarioMeans, Scores

UNSPECIFIED = "unspecified"

_USUAL_ORDER = (
    "easy", "medium", "hard", "filler", "pause", "hesitation", "false_start", "self_correction"
)  # fmt: skip

_GROUPS: Mapping[str, Callable[[Facts], tuple[str, ...]]] = {
    "domain": lambda f: (f.domain or UNSPECIFIED,),
    "difficulty": lambda f: (f.difficulty or UNSPECIFIED,),
    "disfluency": lambda f: f.disfluency or ("none",),
    "speaker": lambda f: (f.speaker or UNSPECIFIED,),
    "expected_calls": lambda f: (str(f.expected_calls),),
}


def scored(results: Sequence[Result]) -> list[tuple[Result, Scorecard]]:
    """The valid items, each with its scorecard."""
    return [(r, r.scorecard) for r in results if r.outcome in ("passed", "failed") and r.scorecard is not None]


def scorecards(results: Sequence[Result]) -> list[Scorecard]:
    """The scorecards of the valid items."""
    return [card for _, card in scored(results)]


def group_scores(results: Sequence[Result]) -> Scores:
    """All scores of these items; every figure carries its own n."""
    valid = scored(results)
    taken = [(r, c) for r, c in valid if c.manners.turn_taken]
    clean = [(r, c) for r, c in taken if c.manners.clean_turn]
    calling = [(r, c) for r, c in valid if c.manners.preemptive is not None]
    cards = [c for _, c in valid]
    tool_latencies = [c.times.tool_call_latency_s for c in cards]
    causes = Counter(c.times.cause for c in cards if c.times.cause is not None)
    return Scores(
        counts=counts(results),
        pass_at_1=rate_of((r, c.passed) for r, c in valid),
        tools_ok=rate_of((r, c.tools_ok) for r, c in valid),
        args_ok=rate_of((r, c.args_ok) for r, c in valid),
        f1=mean_of(c.f1_names for c in cards),
        f1_match=mean_of(c.f1_match for c in cards),
        f1_strict=mean_of(c.f1_strict for c in cards),
        precision=mean_of(c.precision for c in cards),
        recall=mean_of(c.recall for c in cards),
        argument_accuracy=mean_of(c.argument_accuracy for c in cards),
        argument_accuracy_strict=mean_of(c.argument_accuracy_strict for c in cards),
        turn_take_rate=rate_of((r, c.manners.turn_taken) for r, c in valid),
        interruption_rate=rate_of((r, c.manners.interrupted) for r, c in taken),
        filler_rate=rate_of((r, c.manners.filler is True) for r, c in clean),
        preemptive_rate=rate_of((r, c.manners.preemptive is True) for r, c in calling),
        interruption_rate_all=rate_of((r, c.manners.interrupted) for r, c in valid),
        filler_rate_all=rate_of((r, c.manners.filler is True) for r, c in valid),
        preemptive_rate_all=rate_of((r, c.manners.preemptive is True) for r, c in valid),
        pass_at_1_turn_taken=rate_of((r, c.passed) for r, c in taken),
        f1_turn_taken=mean_of(c.f1_names for _, c in taken),
        argument_accuracy_turn_taken=mean_of(c.argument_accuracy for _, c in taken),
        first_response_latency_s=distribution(c.times.first_response_latency_s for c in cards),
        tool_call_latency_s=distribution(tool_latencies),
        tool_call_latency_non_negative_s=distribution(v for v in tool_latencies if v is not None and v >= 0),
        task_completion_latency_s=distribution(c.times.task_completion_latency_s for c in cards),
        interruption_depth_s=distribution(c.times.interruption_depth_s for c in cards),
        latency_causes=dict(sorted(causes.items())),
    )


def breakdowns(results: Sequence[Result]) -> dict[str, dict[str, Scores]]:
    """Scores by every kind of group; groups in the usual order, others by name.

    Items with a known issue are a group apart, where there are any; they count in all others as well.
    """
    kinds = dict(_GROUPS)
    if any(result.facts.known_issue for result in results):
        kinds["known_issue"] = lambda f: ("known issue" if f.known_issue else "none known",)
    return {
        name: {group: group_scores(members) for group, members in split(results, groups_of).items()}
        for name, groups_of in kinds.items()
    }


def groups_of_items(facts: Sequence[Facts]) -> tuple[str, ...]:
    """The names of all groups that these items belong to: `domain=travel`, `disfluency=none`, ..."""
    found = (f"{kind}={group}" for kind, groups_of in _GROUPS.items() for item in facts for group in groups_of(item))
    return tuple(dict.fromkeys(found))


def in_group(facts: Facts, name: str) -> bool:
    """Whether an item belongs to a group, `difficulty=hard`. Raises KeyError for a kind of group that there is not."""
    kind, _, group = name.partition("=")
    return group in _GROUPS[kind](facts)


def split(results: Sequence[Result], groups_of: Callable[[Facts], tuple[str, ...]]) -> dict[str, list[Result]]:
    """Results by group; one that belongs to several is in each."""
    found: dict[str, list[Result]] = {}
    for result in results:
        for group in dict.fromkeys(groups_of(result.facts)):
            found.setdefault(group, []).append(result)
    return {group: found[group] for group in sorted(found, key=_place)}


def _place(group: str) -> tuple[int, str]:
    return (_USUAL_ORDER.index(group) if group in _USUAL_ORDER else len(_USUAL_ORDER), group)


def by_difficulty(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Results by difficulty."""
    return split(results, _GROUPS["difficulty"])


def scenario_means(results: Sequence[Result]) -> ScenarioMeans:
    """The mean over scenarios of the mean over each one's valid recordings, trials among them."""
    cards: dict[tuple[str, str], list[Scorecard]] = {}
    for result in results:
        for card in scorecards([result]):
            cards.setdefault((result.facts.suite, result.facts.scenario_id), []).append(card)
    return ScenarioMeans(
        pass_at_1=mean_of(mean_of(float(c.passed) for c in group).value for group in cards.values()),
        f1=mean_of(mean_of(c.f1_names for c in group).value for group in cards.values()),
        argument_accuracy=mean_of(mean_of(c.argument_accuracy for c in group).value for group in cards.values()),
    )
