"""`summarize`: the results of a run become its summary; a function of the set of results, not of their order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_voicebench.counted import counted
from pytest_voicebench.judgement import Judgement
from pytest_voicebench.result import Result
from pytest_voicebench.scoring import SCORE_SET, SCORE_VERSION
from pytest_voicebench.summarizing.agents import by_agent, identity
from pytest_voicebench.summarizing.behaviour import behaviour, silence, surplus_calls, wrong_arguments
from pytest_voicebench.summarizing.commits import commits
from pytest_voicebench.summarizing.figures import counts
from pytest_voicebench.summarizing.groups import breakdowns, group_scores, scenario_means
from pytest_voicebench.summarizing.judged import judge_summaries
from pytest_voicebench.summarizing.official import summarize_official
from pytest_voicebench.summarizing.tables import benchmark_tables
from pytest_voicebench.summarizing.trials import trial_summary
from pytest_voicebench.summarizing.words import transcript_sources, words_dropped
from pytest_voicebench.summary import SCHEMA_VERSION, AgentSummary, Cost, Json, Scores, Summary

__all__ = ["summarize"]

SOUND_KEPT = (
    "TEXT WAS REDACTED, SOUND WAS NOT: the recordings still hold all that was said; leave them out with "
    "--voicebench-no-audio"
)
NOT_COMPARABLE = "synthetic speech: not comparable with published figures"


def summarize(
    results: Sequence[Result], header: Mapping[str, Json] | None = None, judgements: Sequence[Judgement] = ()
) -> Summary:
    """The summary of a run, agents in order of name.

    Every planned item is a result, so that none can leave a denominator unseen. `header` is passed through.
    `judgements` become sections of their own, one for each judge.
    """
    ordered = sorted(results, key=_place)
    groups = by_agent(ordered)
    agents = tuple(summarize_agent(group) for group in groups)
    return Summary(
        schema_version=SCHEMA_VERSION,
        header=dict(header or {}),
        score_set=SCORE_SET,
        score_version=SCORE_VERSION,
        suites=tuple(sorted({r.facts.suite for r in ordered})),
        stimulus=_stimulus(ordered),
        notices=(*_notices(ordered), *_kept(header or {})),
        counts=counts(ordered),
        agents=agents,
        tables=benchmark_tables(agents),
        judge=judge_summaries(groups, judgements),
        official=summarize_official([(rows[0].agent.name, rows) for rows in groups]),
    )


def summarize_agent(results: Sequence[Result]) -> AgentSummary:
    """Everything about the one agent of these results."""
    info, overall = results[0].agent, group_scores(results)
    return AgentSummary(
        name=info.name,
        model=info.model,
        transport=info.transport,
        clock=info.clock,
        settings=dict(sorted(info.settings.items())),
        overall=overall,
        by=breakdowns(results),
        per_scenario=scenario_means(results),
        silence=silence(results),
        behaviour=behaviour(results),
        commits=commits(results),
        wrong_arguments=wrong_arguments(results),
        surplus_calls=surplus_calls(results),
        usage=_usage(results),
        warnings=_warnings(overall),
        transcript_sources=transcript_sources(results),
        words_dropped=words_dropped(results),
        input_hz=info.input_hz,
        cost=_cost(results),
        trials=trial_summary(results),
    )


def _place(result: Result) -> tuple[str, str, str, str]:
    return (result.facts.suite, result.item_id, identity(result.agent), result.nodeid)


def _stimulus(results: Sequence[Result]) -> str:
    kinds = {r.facts.stimulus for r in results}
    return kinds.pop() if len(kinds) == 1 else ("mixed" if kinds else "none")


def _notices(results: Sequence[Result]) -> tuple[str, ...]:
    """What must head every output."""
    found = []
    if any(r.facts.stimulus == "synthetic" for r in results):
        found.append(NOT_COMPARABLE)
    total = counts(results)
    if total.valid < total.planned:
        found.append(f"{total.valid}/{total.planned} scored, {total.planned - total.valid} missing")
    found += _known_issues(results)
    if len({r.agent.clock for r in results}) > 1:
        found.append("latencies on the virtual clock and on the wall clock are not comparable with each other")
    return tuple(found)


def _kept(header: Mapping[str, Json]) -> list[str]:
    """That redacted text can still be heard, where it can."""
    withheld = header.get("withheld")
    asked = withheld if isinstance(withheld, Mapping) else {}
    return [SOUND_KEPT] if asked.get("patterns") and not asked.get("sound") else []


def _known_issues(results: Sequence[Result]) -> list[str]:
    """Items whose labels look wrong: how many, and what became of them."""
    known = [r for r in results if r.facts.known_issue]
    if not known:
        return []
    ran = [r for r in known if r.outcome != "skipped"]
    passed = sum(r.outcome == "passed" for r in ran)
    items = counted(len(known), "item")
    if not ran:
        return [f"known issues: {items}, left out"]
    return [f"known issues: {items}, {passed} passed; in every figure (apart: report, by known issue)"]


def _warnings(scores: Scores) -> tuple[str, ...]:
    """Figures that rest on few of the items."""
    measured, valid = scores.first_response_latency_s.n, scores.counts.valid
    if 2 * measured < valid:
        return (f"first_response_latency_s rests on {measured} of {counted(valid, 'item')}",)
    return ()


def _cost(results: Sequence[Result]) -> Cost:
    known = [r.usd for r in results if r.usd is not None]
    unknown = Counter(r.usd_unknown for r in results if r.usd_unknown)
    return Cost(usd=math.fsum(known) if known else None, priced=len(known), unknown=dict(sorted(unknown.items())))


def _usage(results: Sequence[Result]) -> dict[str, float]:
    names = sorted({name for r in results for name in r.usage})
    return {name: math.fsum(r.usage.get(name, 0.0) for r in results) for name in names}
