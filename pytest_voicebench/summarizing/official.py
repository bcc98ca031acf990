"""The official scores of a run: items to means and rates, over the denominators of the official reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_voicebench.counted import counted
from pytest_voicebench.official_card import (
    JUDGED_ONLY,
    OFFICIAL_MODE,
    OFFICIAL_RULES,
    OFFICIAL_SET,
    OFFICIAL_VERSION,
    OfficialCard,
    ToolSelection,
)
from pytest_voicebench.official_summary import (
    OfficialAgent,
    OfficialMean,
    OfficialMeans,
    OfficialRate,
    OfficialSummary,
    OfficialTimes,
)
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.stats import mean, stdev
from pytest_voicebench.summarizing.groups import UNSPECIFIED, split

BEFORE = "scored before there were official scores"
"""Why a valid item of an old run is left out."""

NONE_AT_ALL = "no official scores: the run was made before there were any; rescore it with --voicebench-rescore"

GroupsOf = Callable[[Facts], tuple[str, ...]]

_DOMAIN: GroupsOf = lambda f: (f.domain or UNSPECIFIED,)  # noqa: E731 - as short as the group it names
_DIFFICULTY: GroupsOf = lambda f: (f.difficulty or UNSPECIFIED,)  # noqa: E731

_PASS_BY: Mapping[str, GroupsOf] = {
    "domain": _DOMAIN,
    "difficulty": _DIFFICULTY,
    "num_tools": lambda f: (str(f.expected_calls),),
    "disfluency_feature": lambda f: f.disfluency,
}


def summarize_official(agents: Sequence[tuple[str, Sequence[Result]]]) -> OfficialSummary:
    """The official scores of the agents' results, in the order given.

    An error counts by its conversation where there is one, and else as the official scripts count the result file of a
    failed run: no call and no speech. Items that were skipped, did not run or were scored before there were official
    scores are left out, and counted.
    """
    results = [r for _, members in agents for r in members]
    nothing = all(r.official is None for r in results) and any(map(_is_from_before, results))
    found = () if nothing else tuple(_agent(name, members) for name, members in agents)
    return OfficialSummary(
        score_set=OFFICIAL_SET,
        score_version=OFFICIAL_VERSION,
        mode=OFFICIAL_MODE,
        agents=found,
        rules=dict(OFFICIAL_RULES),
        judged_only=dict(JUDGED_ONLY),
        notes=(NONE_AT_ALL,) if nothing else (*_notes(found), *_other_versions(results)),
    )


def _is_from_before(result: Result) -> bool:
    return result.official is None and result.outcome in ("passed", "failed")


def _notes(agents: Sequence[OfficialAgent]) -> tuple[str, ...]:
    """What a reader must know of the denominators."""
    found = []
    for agent in agents:
        if agent.errors_as_empty:
            found.append(f"{agent.name}: {agent.errors_as_empty} of {agent.items} are errors, counted as empty results")
        found += [f"{agent.name}: {counted(number, 'item')} left out: {why}" for why, number in agent.left_out.items()]
    return tuple(found)


def _other_versions(results: Sequence[Result]) -> tuple[str, ...]:
    """Cards are taken as they were saved; those that other rules made are named."""
    others = Counter(r.official.version for r in results if r.official and r.official.version != OFFICIAL_VERSION)
    return tuple(
        f"{counted(n, 'item was', 'items were')} scored by version {version} of these rules"
        for version, n in sorted(others.items())
    )


def _agent(name: str, results: Sequence[Result]) -> OfficialAgent:
    old = any(map(_is_from_before, results))
    filled = [r if r.official or old or r.outcome != "error" else replace(r, official=_empty(r.facts)) for r in results]
    counted = [r for r in filled if r.official is not None]
    taken = [r for r in counted if _card(r).turn_taken]
    cards = [_card(r) for r in counted]
    clean = [c for c in cards if c.first_response_latency_s is not None and c.first_response_latency_s >= 0]
    timed = [c for c in map(_card, taken) if c.interruption is not None]
    return OfficialAgent(
        name=name,
        items=len(counted),
        errors_as_empty=sum(r.official is not before.official for r, before in zip(filled, results, strict=True)),
        left_out=_left_out(filled),
        turn_take_rate=_rate(c.turn_taken for c in cards),
        by_metric=_means(taken),
        by_metric_all=_means(counted),
        by_domain=_means_by(counted, _DOMAIN),
        by_domain_turn_taken=_means_by(taken, _DOMAIN),
        by_difficulty=_means_by(counted, _DIFFICULTY),
        by_difficulty_turn_taken=_means_by(taken, _DIFFICULTY),
        pass_rate=_rate(c.passed for c in cards),
        pass_by={
            **{name: _pass_by(counted, groups_of) for name, groups_of in _PASS_BY.items()},
            "state_rollback": {
                "with_rollback": _rate(_card(r).passed for r in counted if r.facts.state_rollback),
                "without_rollback": _rate(_card(r).passed for r in counted if not r.facts.state_rollback),
            },
        },
        failure_breakdown=_failures(cards),
        response_latency_s=_times(c.response_latency_s for c in timed if not c.interruption),
        interruption_rate=_rate(c.interruption is True for c in timed),
        first_response_latency_s=_times(c.first_response_latency_s for c in clean),
        tool_call_latency_s=_times(c.tool_call_latency_s for c in clean),
    )


def _card(result: Result) -> OfficialCard:
    assert result.official is not None  # asked only of results that have one
    return result.official


def _empty(facts: Facts) -> OfficialCard:
    """What the official scripts make of a result file without calls, words and times."""
    right, n = float(not facts.expected_calls), facts.expected_calls
    return OfficialCard(
        inputs="derived",
        tools=ToolSelection(matched=0, expected=n, actual=0, recall=right, precision=1.0, f1=right),
        calls=(),
        argument_accuracy=right,
        passed=not n,
        failure="wrong_tools" if n else None,
        turn_taken=False,
        user_end_s=None,
        agent_start_s=None,
        response_latency_s=None,
        interruption=None,
        first_response_latency_s=None,
        tool_call_latency_s=None,
    )


def _left_out(results: Sequence[Result]) -> dict[str, int]:
    causes = Counter(BEFORE if _is_from_before(r) else r.outcome for r in results if r.official is None)
    return dict(sorted(causes.items()))


def _means(results: Sequence[Result]) -> OfficialMeans:
    return OfficialMeans(
        tool_selection_f1=_mean(_card(r).tools.f1 for r in results),
        argument_accuracy=_mean(_card(r).argument_accuracy for r in results),
    )


def _means_by(results: Sequence[Result], groups_of: GroupsOf) -> dict[str, OfficialMeans]:
    return {group: _means(members) for group, members in split(results, groups_of).items()}


def _pass_by(results: Sequence[Result], groups_of: GroupsOf) -> dict[str, OfficialRate]:
    return {group: _rate(_card(r).passed for r in members) for group, members in split(results, groups_of).items()}


def _failures(cards: Sequence[OfficialCard]) -> dict[str, int]:
    """Failed items by what was wrong; wrong tools hide wrong arguments."""
    return {kind: sum(c.failure == kind for c in cards) for kind in ("wrong_tools", "wrong_arguments")}


def _mean(values: Iterable[float]) -> OfficialMean:
    seen = list(values)
    return OfficialMean(value=mean(seen), n=len(seen))


def _rate(flags: Iterable[bool]) -> OfficialRate:
    seen = list(flags)
    return OfficialRate(value=sum(seen) / len(seen) if seen else None, k=sum(seen), n=len(seen))


def _times(values: Iterable[float | None]) -> OfficialTimes:
    known = [v for v in values if v is not None]
    return OfficialTimes(
        mean=mean(known), std=stdev(known), min=min(known, default=None), max=max(known, default=None), n=len(known)
    )
