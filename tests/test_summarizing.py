"""summarize(): denominators, intervals, breakdowns, and that the order of results changes nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
from builders import call, conversation, expected, scenario
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.conversation import AgentInfo, Call
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.scenario import Retraction
from pytest_voicebench.scorecard import Commit, Rollback
from pytest_voicebench.scoring import score
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summary import AgentSummary, Scores

OSLO = call("weather", args={"city": "Oslo"})


def facts(scenario_id: str = "one", **kw: Any) -> Facts:
    given_facts: dict[str, Any] = {
        "suite": "s",
        "kind": "tool_use",
        "stimulus": "human",
        "scenario_id": scenario_id,
        "title": "One",
        "domain": "housing",
        "difficulty": "easy",
        "disfluency": (),
        "tags": (),
        "speaker": None,
        "expected_calls": 1,
        "has_retraction": False,
    }
    return Facts(**(given_facts | kw))


def result(
    item_id: str, *calls: Call, speech: Sequence[tuple[float, float]] = ((12.0, 15.0),), agent: str = "a", **kw: Any
) -> Result:
    """A valid result of an agent that should look up the weather in Oslo."""
    retracted = [Retraction(tool="weather", args={"city": "Rome"}, until="x")] if kw.get("has_retraction") else []
    card = score(scenario(expected("weather", city="Oslo"), retracted=retracted), conversation(*calls, speech=speech))
    return Result(
        item_id=item_id,
        nodeid=f"s.yaml::scenario[{item_id}]",
        agent=AgentInfo(name=agent, clock="virtual"),
        facts=facts(**({"scenario_id": item_id} | kw)),
        outcome="passed" if card.passed else "failed",
        scorecard=card,
    )


def missing(item_id: str, outcome: Any, **kw: Any) -> Result:
    return Result(
        item_id=item_id,
        nodeid=item_id,
        agent=AgentInfo(name="a", clock="virtual"),
        facts=facts(item_id),
        outcome=outcome,
        **kw,
    )


def only(results: Sequence[Result]) -> AgentSummary:
    (agent,) = summarize(results).agents
    return agent


def overall(results: Sequence[Result]) -> Scores:
    return only(results).overall


PERFECT = result("perfect", OSLO)
SILENT = result("silent", speech=[])


def test_the_headline_is_over_all_valid_items_and_the_conditional_figure_has_its_own_n() -> None:
    """A11."""
    found = overall([PERFECT, SILENT])
    assert (found.f1.value, found.f1.n) == (0.5, 2)
    assert (found.f1_turn_taken.value, found.f1_turn_taken.n) == (1.0, 1)
    assert (found.pass_at_1.k, found.pass_at_1.n, found.pass_at_1_turn_taken.n) == (1, 2, 1)


def test_means_keep_full_precision() -> None:
    """A13: 1000 items with F1 = 2/3."""
    one = result("x", OSLO, call("ping", 12))
    found = overall([replace(one, item_id=str(n)) for n in range(1000)])
    assert found.f1.value == pytest.approx(2 / 3, abs=1e-15)
    assert found.f1.value is not None
    assert found.f1.value >= 2 / 3 - 1e-15


def test_what_was_not_measured_is_counted_and_never_shrinks_the_plan() -> None:
    """C1: planned = passed + failed + error + skipped + not_run."""
    results = [
        PERFECT,
        SILENT,
        missing("e1", "error", error_kind="infrastructure"),
        missing("e2", "error", error_kind="infrastructure"),
        missing("e3", "error", error_kind="agent_absent"),
        missing("s", "skipped"),
        missing("n", "not_run"),
    ]
    found = summarize(results)
    counts = found.counts
    assert (counts.planned, counts.passed, counts.failed, counts.valid) == (7, 1, 1, 2)
    assert (counts.error, counts.skipped, counts.not_run) == (3, 1, 1)
    assert counts.error_kinds == {"agent_absent": 1, "infrastructure": 2}
    assert "2/7 scored, 5 missing" in found.notices
    assert found.agents[0].overall.pass_at_1.n == 2


def test_success_is_a_predicate_of_an_item_not_a_sum_of_parts() -> None:
    """C3: two items that are half right are no success."""
    half = [result(str(n), OSLO, call("ping", 12), call("ping", 13)) for n in range(2)]
    assert overall(half).f1.value == 0.5
    assert overall(half).pass_at_1.k == 0


def test_two_speakers_of_a_scenario_are_two_items_and_one_scenario() -> None:
    """C4."""
    results = [
        result("x-a", OSLO, scenario_id="x", speaker="a"),
        result("x-b", scenario_id="x", speaker="b"),
        result("y", OSLO, scenario_id="y"),
    ]
    found = only(results)
    assert (found.overall.pass_at_1.value, found.overall.pass_at_1.n) == (2 / 3, 3)
    assert (found.per_scenario.pass_at_1.value, found.per_scenario.pass_at_1.n) == (0.75, 2)
    assert {name: s.counts.planned for name, s in found.by["speaker"].items()} == {"a": 1, "b": 1, "unspecified": 1}


def test_a_run_in_which_nobody_spoke_has_a_summary() -> None:
    """C9."""
    found = overall([SILENT])
    assert (found.interruption_rate.value, found.interruption_rate.n) == (None, 0)
    assert (found.first_response_latency_s.mean, found.first_response_latency_s.n) == (None, 0)
    assert found.turn_take_rate.value == 0.0
    assert found.latency_causes == {"no_reply": 1}
    assert json.dumps(asdict(summarize([SILENT])))


def test_a_run_without_results_has_a_summary() -> None:
    found = summarize([])
    assert (found.counts.planned, found.agents, found.stimulus) == (0, (), "none")


def test_every_rate_has_its_wilson_interval() -> None:
    """C13: 3/5 is 0.60 [0.23, 0.88]."""
    results = [result(f"r{n}", OSLO) for n in range(3)] + [result(f"w{n}") for n in range(2)]
    found = overall(results).pass_at_1
    assert (found.value, round(found.low or 0, 2), round(found.high or 0, 2)) == (0.6, 0.23, 0.88)


def test_latencies_are_over_clean_responses_and_interruptions_beside_them() -> None:
    """E5: latencies 2.0, an interruption 4.5 s deep, 3.0."""
    found = overall(
        [
            result("a", OSLO, speech=[(12.0, 15.0)]),
            result("b", OSLO, speech=[(5.5, 9.0), (11.0, 12.0)]),
            result("c", OSLO, speech=[(13.0, 15.0)]),
        ]
    )
    assert (found.first_response_latency_s.mean, found.first_response_latency_s.n) == (2.5, 2)
    assert (found.interruption_rate.k, found.interruption_rate.n) == (1, 3)
    assert found.interruption_depth_s.mean == 4.5
    assert found.latency_causes == {"interrupted": 1}


def test_latencies_that_rest_on_less_than_half_of_the_items_are_warned_about() -> None:
    """E5."""
    few = [result("a", OSLO), result("b", OSLO, speech=[(5.0, 9.0)]), result("c", OSLO, speech=[(5.0, 9.0)])]
    assert only(few).warnings == ("first_response_latency_s rests on 1 of 3 items",)
    assert only(few[:2]).warnings == ()


def test_signed_tool_latency_and_the_non_negative_one_both_have_their_n() -> None:
    early = result("early", call("weather", 9.0, args={"city": "Oslo"}))
    found = overall([early, PERFECT, SILENT])
    assert (found.tool_call_latency_s.mean, found.tool_call_latency_s.n) == (0.0, 2)
    assert (found.tool_call_latency_non_negative_s.mean, found.tool_call_latency_non_negative_s.n) == (1.0, 1)
    assert (found.preemptive_rate.k, found.preemptive_rate.n) == (1, 2)
    assert (found.preemptive_rate_all.k, found.preemptive_rate_all.n) == (1, 3)


def test_a_call_at_the_very_end_of_the_turn_has_a_latency_of_zero_that_counts_as_non_negative() -> None:
    at_the_end = call("weather", 10.0, args={"city": "Oslo"})
    found = overall([result("zero", at_the_end), PERFECT]).tool_call_latency_non_negative_s
    assert (found.mean, found.n) == (0.5, 2)


def planted(name: str, n: int) -> Result:
    """An item of one planted behaviour."""
    item_id = f"{name}_{n:03}"
    return {
        "oracle": lambda: result(item_id, OSLO),
        "silent": lambda: result(item_id, speech=[]),
        "silent_worker": lambda: result(item_id, OSLO, speech=[]),
        "filler": lambda: result(item_id, OSLO, speech=[(10.2, 10.9), (12.0, 15.0)]),
        "interrupter": lambda: result(item_id, OSLO, speech=[(8.5, 9.7), (12.0, 15.0)]),
        "early": lambda: result(item_id, call("weather", 9.0, args={"city": "Oslo"})),
        "no_calls": lambda: result(item_id),
    }[name]()


PLAN = {"oracle": 37, "silent": 3, "silent_worker": 2, "filler": 14, "interrupter": 13, "early": 10, "no_calls": 5}


def test_planted_counts_come_back_with_the_promised_denominators() -> None:
    """Turn-take / valid; interruption / turns taken; filler / clean turns; pre-emptive / items with a call."""
    found = overall([planted(name, n) for name, count in PLAN.items() for n in range(count)])
    valid = sum(PLAN.values())
    taken = valid - PLAN["silent"] - PLAN["silent_worker"]
    pairs = {
        name: (getattr(found, name).k, getattr(found, name).n)
        for name in ("turn_take_rate", "interruption_rate", "filler_rate", "preemptive_rate", "pass_at_1")
    }
    assert pairs == {
        "turn_take_rate": (taken, valid),
        "interruption_rate": (13, taken),
        "filler_rate": (14, taken - 13),
        "preemptive_rate": (10, valid - PLAN["silent"] - PLAN["no_calls"]),
        "pass_at_1": (37 + 14 + 13 + 10, valid),
    }
    assert (found.interruption_rate_all.n, found.filler_rate_all.n, found.preemptive_rate_all.n) == (valid,) * 3


def test_silence_is_told_apart_by_what_was_done_in_it() -> None:
    results = [
        result("a", OSLO, speech=[], difficulty="hard"),
        result("b", call("weather", args={"city": "Rome"}), speech=[], difficulty="hard"),
        result("c", speech=[]),
        PERFECT,
    ]
    found = only(results).silence
    row = found.overall
    assert (row.items, row.silent, row.with_calls, row.without_calls, row.with_perfect_calls) == (4, 3, 2, 1, 1)
    assert [(name, r.items, r.silent) for name, r in found.by_difficulty.items()] == [("easy", 2, 1), ("hard", 2, 2)]


def test_silent_items_whose_calls_were_perfect_are_those_with_calls_and_no_other() -> None:
    """Nothing to do and nothing done is no work done in silence; right calls beside a surplus one are not perfect."""
    nothing_to_do = score(scenario(), conversation(speech=[]))
    assert (nothing_to_do.tools_ok, nothing_to_do.args_ok) == (True, True)
    one_too_many = result("b", OSLO, call("ping", 12), speech=[])
    row = only([replace(SILENT, item_id="a", scorecard=nothing_to_do), one_too_many]).silence.overall
    assert (row.silent, row.with_calls, row.without_calls, row.with_perfect_calls) == (2, 1, 1, 0)


def test_the_behaviour_profile_crosses_preemption_with_interruption() -> None:
    early = call("weather", 9.0, args={"city": "Oslo"})
    both = [(8.5, 9.7), (12.0, 15.0)]
    results = [
        result("1", early, speech=both),
        result("2", early),
        result("3", OSLO, speech=both),
        result("4", OSLO),
        result("5"),
    ]
    found = only(results).behaviour
    cells = (found.preemptive_interrupted, found.preemptive_only, found.interrupted_only, found.neither)
    assert cells == (1, 1, 1, 1)
    # 1: spoke at 8.5 s, called at 9 s. 3: spoke at 8.5 s, called at 11 s.
    assert (found.spoke_before_first_call.k, found.spoke_before_first_call.n) == (2, 4)


def test_surplus_calls_are_listed_by_domain_of_scenario_and_tool() -> None:
    """A8: flight searches in a housing scenario."""
    flights = score(scenario(expected("search_flights", destination="Oslo")), conversation())
    results = [
        result("h", OSLO, *(call("search_flights", 12 + n) for n in range(8)), call("ping", 30)),
        replace(SILENT, item_id="t", facts=facts("t", domain="travel"), scorecard=flights),
    ]
    rows = [(r.domain, r.tool, r.tool_domain, r.calls) for r in only(results).surplus_calls]
    assert rows == [("housing", "ping", None, 1), ("housing", "search_flights", "travel", 8)]


def test_premature_commits_are_counted_over_items_with_a_retraction() -> None:
    rome = call("weather", args={"city": "Rome"})
    found = only([result("a", rome, has_retraction=True), result("b", OSLO, has_retraction=True), result("c", rome)])
    assert (found.commits.premature_commit_rate.k, found.commits.premature_commit_rate.n) == (1, 2)
    assert found.commits.calls == 1
    assert found.wrong_arguments == {"invented": 1, "stale": 1}


def rolled_back(item_id: str, **changes: Any) -> Result:
    """A result with one retraction, called with at 5 s; `changes` are of its Rollback."""
    made = Commit(call=0, at_s=5.0, executed=True, after_correction=False)
    values: dict[str, Any] = {"retraction": 0, "tool": "weather", "retracted": {"city": "Rome"}, "verdict": "stale"}
    values |= {"final": {"city": "Oslo"}, "commits": (made,), "heard_s": 6.0}
    entries = tuple(Rollback(**(values | more)) for more in changes.pop("entries", [changes]))
    found = result(item_id, OSLO, has_retraction=True)
    assert found.scorecard is not None
    calls = tuple(sorted({c.call for entry in entries for c in entry.commits}))
    return replace(found, scorecard=replace(found.scorecard, rollback=entries, premature_commits=calls))


def test_repairs_latencies_and_side_effects_are_over_items_with_a_premature_commit() -> None:
    late = (Commit(call=0, at_s=7.0, executed=True, after_correction=True),)
    unplaced = (Commit(call=0, at_s=7.0, executed=True),)
    two = [{"verdict": "repaired", "corrected": 1, "latency_s": seconds} for seconds in (4.0, 1.0)]
    results = [
        rolled_back("repaired", verdict="repaired", corrected=1, latency_s=3.0),
        rolled_back("one call for two corrections", entries=two),
        rolled_back("half repaired", entries=[two[0], {"side_effect_left": True}]),
        rolled_back("late", commits=late),
        rolled_back("unplaced", commits=unplaced, heard_s=None, side_effect_left=None),
        rolled_back("nothing to call", final=None),
        rolled_back("held", verdict="held", commits=()),
        missing("broken", "error"),
    ]
    found = only(results).commits
    shown = {
        name: (getattr(found, name).k, getattr(found, name).n)
        for name in ("premature_commit_rate", "before_correction", "repaired_rate", "side_effects_left")
    }
    assert shown == {
        "premature_commit_rate": (6, 7),
        "before_correction": (4, 5),
        "repaired_rate": (2, 5),
        "side_effects_left": (1, 5),
    }
    latency = found.rollback_latency_s
    assert (latency.n, latency.p50, latency.p95) == (3, 3.0, pytest.approx(3.9))  # 1.0, 3.0, 4.0


def test_results_of_an_earlier_version_keep_their_commits_and_say_nothing_of_repairs() -> None:
    early = result("a", call("weather", args={"city": "Rome"}), has_retraction=True)
    assert early.scorecard is not None
    found = only([replace(early, scorecard=replace(early.scorecard, rollback=()))]).commits
    assert (found.premature_commit_rate.k, found.premature_commit_rate.n, found.repaired_rate.n) == (1, 1, 0)
    assert (found.side_effects_left.value, found.rollback_latency_s.p50) == (None, None)


def test_breakdowns_hold_every_item_once_per_group_it_is_in() -> None:
    results = [
        result("a", OSLO, disfluency=("filler", "pause"), difficulty="hard", domain="travel", expected_calls=3),
        result("b", disfluency=("pause",), difficulty="easy"),
        result("c", OSLO),
        missing("d", "error"),
    ]
    by = only(results).by
    sizes = {kind: {name: s.counts.planned for name, s in groups.items()} for kind, groups in by.items()}
    assert sizes == {
        "domain": {"housing": 3, "travel": 1},
        "difficulty": {"easy": 3, "hard": 1},
        "disfluency": {"filler": 1, "pause": 2, "none": 2},
        "speaker": {"unspecified": 4},
        "expected_calls": {"1": 3, "3": 1},
    }
    assert list(by["difficulty"]) == ["easy", "hard"]
    assert by["disfluency"]["pause"].pass_at_1.value == 0.5


def test_the_benchmarks_tables_have_one_row_per_agent() -> None:
    results = [result("a", OSLO, agent="x"), result("a", agent="y"), result("b", OSLO, agent="y", difficulty="hard")]
    two, three, four, five, six = summarize(results).tables
    assert [t.number for t in (two, three, four, five, six)] == [2, 3, 4, 5, 6]
    assert [name for name, _ in two.rows] == ["x", "y"]
    assert dict(zip(two.columns, two.rows[0][1], strict=True))["task_completion_latency_s"] == 2.0
    assert (three.columns, three.rows) == (("easy", "hard"), (("x", (1.0, None)), ("y", (0.0, 1.0))))
    assert four.columns == ("none",)
    assert five.columns == ("housing",)
    assert dict(zip(six.columns, six.rows[0][1], strict=True))["first_response_latency_s"] == 2.0


def test_one_name_with_two_settings_is_two_agents() -> None:
    other = replace(PERFECT, agent=AgentInfo(name="a", clock="virtual", settings={"voice": "b"}))
    agents = summarize([PERFECT, other]).agents
    assert sorted(len(a.settings) for a in agents) == [0, 1]
    assert [a.overall.counts.planned for a in agents] == [1, 1]


def test_synthetic_speech_and_mixed_clocks_are_said_at_the_head() -> None:
    synthetic = result("a", OSLO, stimulus="synthetic")
    assert summarize([synthetic]).notices == ("synthetic speech: not comparable with published figures",)
    assert summarize([PERFECT]).notices == ()
    wall = replace(PERFECT, item_id="w", agent=AgentInfo(name="w", clock="wall"))
    assert "not comparable with each other" in summarize([PERFECT, wall]).notices[0]
    assert summarize([synthetic, PERFECT]).stimulus == "mixed"


MIX = [planted(name, n) for name in PLAN for n in range(2)] + [
    missing("m1", "error", usage={"tokens": 0.1}),
    missing("m2", "not_run", usage={"tokens": 0.2, "audio": 0.7}),
    result("other", OSLO, agent="b", disfluency=("pause", "filler"), speech=[(10.1 + 1 / 3, 11)]),
]


@given(order=st.permutations(MIX))
def test_the_order_of_results_changes_no_byte(order: list[Result]) -> None:
    def text(results: Sequence[Result]) -> str:
        return json.dumps(asdict(summarize(results, {"run": "x"})))

    assert text(order) == text(MIX)


@given(picked=st.lists(st.sampled_from(MIX), max_size=8))
def test_every_rate_is_k_of_n_within_its_interval(picked: list[Result]) -> None:
    def rates(tree: Any) -> list[dict[str, Any]]:
        if isinstance(tree, dict):
            own = [tree] if {"k", "n", "low", "high"} <= tree.keys() else []
            return own + [r for value in tree.values() for r in rates(value)]
        return [r for value in tree for r in rates(value)] if isinstance(tree, list | tuple) else []

    for one in rates(asdict(summarize(picked))):
        if one["n"] == 0:
            assert one["value"] is one["low"] is one["high"] is None
        else:
            assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1
            assert one["value"] == one["k"] / one["n"]


def test_known_issues_are_told_and_a_group_apart_and_count_in_every_figure() -> None:
    wrong = {"known_issue": "the label is wrong"}
    rows = [result("a", OSLO), result("b", **wrong), result("c", OSLO, **wrong)]
    summary = summarize(rows)
    assert "known issues: 2 items, 1 passed; in every figure (apart: report, by known issue)" in summary.notices
    (agent,) = summary.agents
    assert agent.overall.counts.valid == 3
    assert {name: s.counts.valid for name, s in agent.by["known_issue"].items()} == {"known issue": 2, "none known": 1}


def test_known_issues_that_were_left_out_are_told_and_without_any_there_is_no_group() -> None:
    left_out = replace(missing("b", "skipped"), facts=facts("b", known_issue="the label is wrong"))
    assert "known issues: 1 item, left out" in summarize([result("a", OSLO), left_out]).notices
    summary = summarize([result("a", OSLO)])
    assert summary.notices == ()
    assert "known_issue" not in summary.agents[0].by
