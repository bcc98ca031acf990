"""On the suite itself: every behaviour's profile in the printed denominators, and the planted mix to the digit."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from pytest_voicebench.agents.behaviours import BEHAVIOURS, MIX_DELAY_S, mixed_behaviour
from pytest_voicebench.agents.simulated import build
from pytest_voicebench.loading import is_suite_file, load_suite
from pytest_voicebench.plugin.attempt import facts_of
from pytest_voicebench.result import Result
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.writers.terminal import render
from tests.stage import hold

SUITE = Path(__file__).parent.parent / "suites" / "fdb3"
PASSES = {"oracle", "eager_filler", "interrupter", "early_caller", "slow"}
SILENT = {"no_op", "silent_worker"}


@cache
def all_scenarios():
    return tuple(s for path in sorted(SUITE.glob("*.yaml")) if is_suite_file(path) for s in load_suite(path).scenarios)


def quick():
    return tuple(s for s in all_scenarios() if "quick" in s.tags)


def results_of(scenarios, behaviour, delay_s=0.0):
    results = []
    for scenario in scenarios:
        agent = build(scenario, behaviour=behaviour, delay_s=delay_s)
        card = score(scenario, detect_speech(hold(scenario, agent)))
        results.append(
            Result(
                item_id=scenario.item_id,
                nodeid=scenario.item_id,
                agent=agent.info,
                facts=facts_of(scenario),
                outcome="passed" if card.passed else "failed",
                scorecard=card,
            )
        )
    return results


def calls_made(behaviour, scenario):
    """How many calls a behaviour makes."""
    n = len(scenario.expect.calls)
    return {"no_op": 0, "call_dropper": n - 1, "tool_inventor": n + 1}.get(behaviour, n)


def passes(behaviour, scenario):
    return behaviour in PASSES or (behaviour == "stale_commit" and not scenario.retracted)


def k_of_n(rate):
    return (rate.k, rate.n)


def planted(pairs):
    """What (behaviour, scenario) pairs must add up to: design section 8 counted by hand, not by the code under test."""
    pairs = list(pairs)
    taken = [b for b, _ in pairs if b not in SILENT]
    with_calls = [b for b, s in pairs if calls_made(b, s)]
    clean = [b for b in taken if b != "interrupter"]
    return {
        "pass_at_1": (sum(passes(b, s) for b, s in pairs), len(pairs)),
        "turn_take_rate": (len(taken), len(pairs)),
        "interruption_rate": (taken.count("interrupter"), len(taken)),
        "filler_rate": (clean.count("eager_filler"), len(clean)),
        "preemptive_rate": (with_calls.count("early_caller"), len(with_calls)),
    }


def found(scores):
    return {name: k_of_n(getattr(scores, name)) for name in planted([])}


@pytest.mark.parametrize("behaviour", [*BEHAVIOURS, "slow"])
def test_a_behaviour_has_its_profile_on_the_quick_part_of_the_suite(behaviour):
    scenarios = quick()
    summary = summarize(results_of(scenarios, behaviour, MIX_DELAY_S if behaviour == "slow" else 0.0))
    overall = summary.agents[0].overall
    assert found(overall) == planted((behaviour, s) for s in scenarios)
    n = [len(s.expect.calls) for s in scenarios]
    recall = {"no_op": [0] * len(n), "call_dropper": [(k - 1) / k for k in n]}.get(behaviour, [1] * len(n))
    assert overall.recall.value == pytest.approx(sum(recall) / len(n))
    delay_s = MIX_DELAY_S if behaviour == "slow" else 0.0
    response = {"eager_filler": 0.2, "interrupter": None, "no_op": None, "silent_worker": None}
    expected_s = response.get(behaviour, 0.8 + delay_s)
    measured = overall.first_response_latency_s
    assert measured.p50 == (None if expected_s is None else pytest.approx(expected_s, abs=1e-4))
    assert measured.p95 == (None if expected_s is None else pytest.approx(expected_s, abs=1e-4))


def test_the_planted_mix_comes_back_to_the_digit_over_the_whole_suite():
    scenarios = all_scenarios()
    assert len(scenarios) == 100
    summary = summarize(results_of(scenarios, "mix"))
    pairs = [(mixed_behaviour(s.item_id), s) for s in scenarios]
    assert set(Counter(b for b, _ in pairs)) == {*BEHAVIOURS, "slow"}, "every behaviour is planted somewhere"
    overall = summary.agents[0].overall
    expected = planted(pairs)
    assert found(overall) == expected
    for difficulty in ("easy", "medium", "hard"):
        group = summary.agents[0].by["difficulty"][difficulty]
        assert found(group) == planted((b, s) for b, s in pairs if s.difficulty == difficulty)
    silence = summary.agents[0].silence.overall
    workers = sum(b == "silent_worker" for b, _ in pairs)
    assert (silence.silent, silence.with_calls, silence.with_perfect_calls) == (
        workers + sum(b == "no_op" for b, _ in pairs),
        workers,
        workers,
    )
    stale = sum(b == "stale_commit" and bool(s.retracted) for b, s in pairs)
    assert k_of_n(summary.agents[0].commits.premature_commit_rate) == (stale, sum(bool(s.retracted) for _, s in pairs))
    printed = render(summary, width=100, color=False)
    for label, name in PRINTED.items():
        [line] = [line for line in printed.splitlines() if line.strip().startswith(label)][:1]
        k, n = expected[name]
        assert line.rstrip().endswith(f"{k}/{n}"), line


PRINTED = {
    "Pass@1": "pass_at_1",
    "turn-take / items": "turn_take_rate",
    "interruption / turns taken": "interruption_rate",
    "filler / clean turns": "filler_rate",
    "pre-emptive / items with a call": "preemptive_rate",
}
