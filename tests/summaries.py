"""Summaries made by hand for the tests of the writers: every figure is planted, none is computed from results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_voicebench.stats import wilson_interval
from pytest_voicebench.summary import (
    AgentSummary,
    Behaviour,
    Commits,
    Counts,
    Distribution,
    Mean,
    Rate,
    ScenarioMeans,
    Scores,
    Silence,
    SilenceRow,
    Summary,
    SurplusRow,
)

HEADER = {
    "run": "2026-11-29_12-00-00",
    "started_at": "2026-11-29T12:00:00+00:00",
    "suites": {"fdb3": "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    "judge": None,
    "workers": 2,
    "versions": {"pytest-voicebench": "0.1.0", "python": "3.11.9", "pytest": "9.2.0", "numpy": "2.3.5"},
}


def rate(k: int, n: int) -> Rate:
    """k of n."""
    interval = wilson_interval(k, n)
    low, high = interval if interval else (None, None)
    return Rate(value=k / n if n else None, k=k, n=n, low=low, high=high)


def seconds(mean: float | None, n: int) -> Distribution:
    """Values that lie around `mean`; none of them where n is 0."""
    if mean is None or n == 0:
        return Distribution(mean=None, p50=None, p95=None, stdev=None, n=0)
    return Distribution(mean=mean, p50=mean - 0.25, p95=mean + 4.5, stdev=1.125, n=n)


def counts(passed: int, failed: int, *, error: int = 0, skipped: int = 0, not_run: int = 0) -> Counts:
    """Counts that add up; errors are of the kind infrastructure."""
    kinds = {"infrastructure": error} if error else {}
    planned = passed + failed + error + skipped + not_run
    return Counts(
        planned=planned, passed=passed, failed=failed, error=error, skipped=skipped, not_run=not_run, error_kinds=kinds
    )


def scores(passed: int, n: int, *, taken: int, interrupted: int, f1: float | None, **outcomes: int) -> Scores:
    """Scores of n valid items of which `passed` passed; latencies are measured in the turns not interrupted."""
    clean = taken - interrupted
    mean = Mean(value=f1, n=n)
    accuracy = Mean(value=None if f1 is None else f1 - 0.2, n=n)
    return Scores(
        counts=counts(passed, n - passed, **outcomes),
        pass_at_1=rate(passed, n),
        tools_ok=rate(min(n, passed + n // 5), n),
        args_ok=rate(passed, n),
        f1=mean,
        f1_match=accuracy,
        f1_strict=accuracy,
        precision=mean,
        recall=mean,
        argument_accuracy=accuracy,
        argument_accuracy_strict=accuracy,
        turn_take_rate=rate(taken, n),
        interruption_rate=rate(interrupted, taken),
        filler_rate=rate(clean // 6, clean),
        preemptive_rate=rate(n // 10, n),
        interruption_rate_all=rate(interrupted, n),
        filler_rate_all=rate(clean // 6, n),
        preemptive_rate_all=rate(n // 10, n),
        pass_at_1_turn_taken=rate(passed, taken),
        f1_turn_taken=Mean(value=f1 if taken else None, n=taken),
        argument_accuracy_turn_taken=Mean(value=accuracy.value if taken else None, n=taken),
        first_response_latency_s=seconds(6.36, clean),
        tool_call_latency_s=seconds(-0.63, clean),
        tool_call_latency_non_negative_s=seconds(3.89, clean // 2),
        task_completion_latency_s=seconds(6.89, clean),
        interruption_depth_s=seconds(1.25, interrupted),
        latency_causes={"interrupted": interrupted, "no_reply": n - taken} if n else {},
    )


def an_agent(name: str = "local", *, shift: int = 0, **changes: Any) -> AgentSummary:
    """The figures of a 100-item run; `shift` more items pass."""

    def group(passed: int, n: int, taken: int, interrupted: int) -> Scores:
        return scores(min(n, passed + shift // 4), n, taken=taken, interrupted=interrupted, f1=0.8125)

    overall = scores(57 + shift, 95, taken=91, interrupted=13, f1=0.876, error=2, skipped=1, not_run=2)
    by: Mapping[str, Mapping[str, Scores]] = {
        "difficulty": {"easy": group(27, 36, 36, 4), "medium": group(19, 33, 31, 3), "hard": group(11, 26, 24, 6)},
        "disfluency": {
            "filler": group(18, 29, 28, 3),
            "pause": group(10, 18, 18, 4),
            "hesitation": group(7, 10, 10, 0),
            "false_start": group(8, 12, 12, 1),
            "self_correction": group(6, 17, 14, 2),
            "none": group(8, 14, 12, 3),
        },
        "domain": {"finance_billing": group(24, 25, 25, 2), "travel_identity": group(12, 20, 18, 4)},
        "speaker": {"a": group(8, 10, 10, 1), "b": group(5, 9, 8, 2)},
        "expected_calls": {"1": group(40, 66, 64, 6), "2": group(10, 17, 15, 4), "3": group(4, 12, 12, 3)},
    }
    rows = {"easy": (36, 0, 0, 0, 0), "medium": (33, 2, 1, 1, 0), "hard": (26, 2, 2, 0, 1)}
    values: dict[str, Any] = {
        "name": name,
        "model": "tiny.en",
        "transport": "process",
        "clock": "virtual",
        "settings": {"end_silence_s": 0.8, "voice": "flite"},
        "overall": overall,
        "by": by,
        "per_scenario": ScenarioMeans(
            pass_at_1=Mean(value=0.61, n=79), f1=Mean(value=0.88, n=79), argument_accuracy=Mean(value=0.69, n=79)
        ),
        "silence": Silence(
            overall=silence(95, 4, 3, 1, 1), by_difficulty={name: silence(*row) for name, row in rows.items()}
        ),
        "behaviour": Behaviour(
            preemptive_interrupted=3,
            preemptive_only=6,
            interrupted_only=9,
            neither=75,
            spoke_before_first_call=rate(14, 93),
        ),
        "commits": Commits(
            premature_commit_rate=rate(5, 17),
            calls=6,
            before_correction=rate(4, 6),
            repaired_rate=rate(3, 5),
            rollback_latency_s=seconds(2.0, 3),
            side_effects_left=rate(1, 5),
        ),
        "wrong_arguments": {"stale": 4, "misheard": 11, "invented": 2, "other": 5},
        "surplus_calls": (
            SurplusRow(domain="housing_location", tool="search_flights", tool_domain="travel_identity", calls=8),
            SurplusRow(domain=None, tool="make_coffee", tool_domain=None, calls=1),
        ),
        "usage": {"audio_s": 1832.5},
    }
    return AgentSummary(**values | changes)


def silence(items: int, silent: int, with_calls: int, without_calls: int, with_perfect_calls: int) -> SilenceRow:
    """A row of the silence table."""
    return SilenceRow(
        items=items,
        silent=silent,
        with_calls=with_calls,
        without_calls=without_calls,
        with_perfect_calls=with_perfect_calls,
    )


def a_mute_agent() -> AgentSummary:
    """One item, never answered, without a call: almost nothing is measured."""
    nothing = scores(0, 1, taken=0, interrupted=0, f1=0.0)
    return an_agent(
        "mute",
        model=None,
        settings={},
        overall=nothing,
        by={"difficulty": {"hard": nothing}},
        silence=Silence(overall=silence(1, 1, 0, 1, 0), by_difficulty={"hard": silence(1, 1, 0, 1, 0)}),
        behaviour=Behaviour(
            preemptive_interrupted=0,
            preemptive_only=0,
            interrupted_only=0,
            neither=0,
            spoke_before_first_call=rate(0, 0),
        ),
        commits=Commits(premature_commit_rate=rate(0, 0), calls=0),
        wrong_arguments={},
        surplus_calls=(),
    )


def a_summary(*agents: AgentSummary, **changes: Any) -> Summary:
    """A summary of these agents, or of one."""
    chosen = agents or (an_agent(),)
    total = [agent.overall.counts for agent in chosen]
    values: dict[str, Any] = {
        "schema_version": 1,
        "header": HEADER,
        "score_set": "voicebench",
        "score_version": 1,
        "suites": ("fdb3",),
        "stimulus": "synthetic",
        "notices": ("synthetic speech: not comparable with published figures",),
        "counts": counts(
            sum(c.passed for c in total),
            sum(c.failed for c in total),
            error=sum(c.error for c in total),
            skipped=sum(c.skipped for c in total),
            not_run=sum(c.not_run for c in total),
        ),
        "agents": chosen,
        "tables": (),
    }
    return Summary(**values | changes)
