"""score(): what makes up Pass, what is only shown, and the profiles of the simulated behaviours."""

from __future__ import annotations

import math
from typing import Any

import pytest
from builders import call, conversation, expected, heard, parameter, scenario, tool, turn
from hypothesis import given
from hypothesis import strategies as st
from odd import ODD_CALLS, ODD_SPEECH, ODD_TURNS

from pytest_voicebench.conversation import NOT_WRITTEN_DOWN, Call, Conversation, Problem, Transcribed, to_ticks
from pytest_voicebench.scenario import Requirement, Retraction, Scenario
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.scoring import score

OSLO = scenario(expected("weather", city="Oslo"))
RIGHT = call("weather", args={"city": "Oslo"})


def test_right_calls_and_a_reply_pass() -> None:
    found = score(OSLO, conversation(RIGHT))
    assert found.passed
    assert (found.tools_ok, found.args_ok, found.spoke) == (True, True, True)
    assert (found.score_set, found.version) == ("voicebench", 1)


def test_right_calls_of_a_mute_agent_do_not_pass_and_one_sees_why() -> None:
    """A12: an agent track of zeros and an empty transcript."""
    found = score(OSLO, conversation(RIGHT, speech=[], said=[heard("")]))
    assert not found.passed
    assert (found.tools_ok, found.args_ok, found.spoke) == (True, True, False)


def test_words_that_were_never_audible_take_no_turn() -> None:
    """G1."""
    assert not score(OSLO, conversation(RIGHT, speech=[], said=[heard("Thank you.")])).spoke


@pytest.mark.parametrize(
    ("calls", "tools_ok", "args_ok"),
    [
        ([], False, False),
        ([call("weather", args={"city": "Rome"})], True, False),
        ([RIGHT, call("ping", 12)], False, True),
        ([RIGHT, call("weather", 12, args={"city": "Oslo"})], False, True),
        ([RIGHT, call("weather", 10.5, args={"city": "Rome"}, status="cancelled", answered_s=None)], True, True),
        ([RIGHT, call("weather", 10.5, args={"city": "Rome"}, status="failed")], False, True),
        ([RIGHT, call("delete_account", 12, status="rejected")], False, True),
        ([call("weather", 12, args={"city": "Oslo"}, status="cancelled", answered_s=None)], False, False),
    ],
)
def test_pass_needs_every_expected_call_and_no_other(calls: list[Call], tools_ok: bool, args_ok: bool) -> None:
    """H4, H5: all calls but the cancelled ones count."""
    found = score(OSLO, conversation(*calls))
    assert (found.tools_ok, found.args_ok, found.passed) == (tools_ok, args_ok, tools_ok and args_ok)


def test_cancelled_and_broken_calls_are_shown() -> None:
    """H3, H5."""
    broken = call("weather", 12, status="rejected", arguments_text='{"city": "Par')
    cancelled = call("ping", 10.5, status="cancelled", answered_s=None)
    assert score(OSLO, conversation(RIGHT, broken, cancelled)).notes == ("rejected_call", "cancelled_call")


def test_a_side_effect_before_the_correction_counts() -> None:
    """H5: `book{Rome}` at 5 s, corrected at 6 s, `book{Oslo}` at 8 s."""
    retracted = [Retraction(tool="weather", args={"city": "Rome"}, until="no, Oslo")]
    calls = [call("weather", 5, args={"city": "Rome"}), call("weather", 8, args={"city": "Oslo"})]
    found = score(scenario(expected("weather", city="Oslo"), retracted=retracted), conversation(*calls))
    assert (found.tools_ok, found.args_ok, found.surplus, found.surplus_tools) == (False, True, (0,), ("weather",))
    assert found.premature_commits == (0,)
    assert "stale_execution" in found.notes


def test_a_retracted_value_that_is_right_elsewhere_is_no_premature_commit() -> None:
    wanted = scenario(
        expected("weather", city="Rome"),
        expected("weather", city="Oslo"),
        retracted=[Retraction(tool="weather", args={"city": "Rome"}, until="x")],
    )
    calls = [call("weather", 11, args={"city": "Rome"}), call("weather", 12, args={"city": "Oslo"})]
    found = score(wanted, conversation(*calls))
    assert found.passed
    assert found.premature_commits == ()


def test_one_id_twice_is_two_entries_only_if_recorded_twice() -> None:
    """H9 is the recorder's; scores go by position in the log."""
    once = conversation(call("ping", call_id="x"))
    assert score(scenario(expected("ping")), once).passed


# --- requirements

FAST = Requirement(name="first_response_s", operator="<=", bound=2.0, text="first_response_s <= 2.0")
STRICTLY = Requirement(name="first_response_s", operator="<", bound=2.0, text="first_response_s < 2.0")


@pytest.mark.parametrize(
    ("requirement", "speech", "verdict"),
    [
        (FAST, [(12.0, 15.0)], True),
        (STRICTLY, [(12.0, 15.0)], False),
        (FAST, [(12.1, 15.0)], False),
        (FAST, [(9.0, 15.0)], None),  # interrupted: no latency, so no pass
        (Requirement(name="no_interruption"), [(9.0, 15.0)], False),
        (Requirement(name="no_interruption"), [(12.0, 15.0)], True),
        (Requirement(name="mentions"), [(12.0, 15.0)], None),  # the scenario names none: nothing to check
        (Requirement(name="order"), [(12.0, 15.0)], None),
    ],
)
def test_what_a_scenario_requires_gates_pass(
    requirement: Requirement, speech: list[tuple[float, float]], verdict: bool | None
) -> None:
    found = score(scenario(expected("ping"), requires=[requirement]), conversation(call("ping"), speech=speech))
    assert found.requirements == {requirement.text or requirement.name: verdict}
    assert found.passed is (verdict is True)


def test_a_failing_check_that_does_not_gate_is_a_diagnostic() -> None:
    """C11."""
    wanted = scenario(expected("ping"), mentions=["Oslo"])
    found = score(wanted, conversation(call("ping"), said=[heard("It rains.")]))
    assert found.passed
    assert found.diagnostics == {"no_interruption": True, "mentions": False}
    gated = scenario(expected("ping"), mentions=["Oslo"], requires=[Requirement(name="mentions")])
    again = score(gated, conversation(call("ping"), said=[heard("It rains.")]))
    assert not again.passed
    assert (again.requirements, again.diagnostics) == ({"mentions": False}, {"no_interruption": True})


def test_order_is_shown_and_gates_only_where_required() -> None:
    """A9."""
    wanted = [expected("ping"), expected("weather", city="Oslo")]
    calls = [call("weather", 11, args={"city": "Oslo"}), call("ping", 12)]
    assert score(scenario(*wanted, ordered=True), conversation(*calls)).diagnostics["order"] is False
    assert score(scenario(*wanted, ordered=True), conversation(*calls)).passed
    required = scenario(*wanted, ordered=True, requires=[Requirement(name="order")])
    assert not score(required, conversation(*calls)).passed


# --- mentions on what was heard


@pytest.mark.parametrize(
    ("said", "clears", "verdict"),
    [
        ([], (), None),
        ([heard("Your flight to Milan is booked.")], (), True),
        ([heard("Your flight to Milan", heard_text="Your flight")], (240_000,), False),  # cut before the word
        ([heard("The user said Milan", speaker="user")], (), None),
        ([Transcribed(speaker="agent", text="Milan", at_ticks=1)], (), True),
        ([Transcribed(speaker="agent", text="Milan", at_ticks=1)], (240_000,), None),  # how much was heard is unknown
    ],
)
def test_a_mention_counts_if_it_was_heard(said: Any, clears: tuple[int, ...], verdict: bool | None) -> None:
    """G3."""
    talk = conversation(said=said, clears_ticks=clears)
    assert score(scenario(mentions=["Milan"]), talk).diagnostics["mentions"] is verdict


# --- causes


TEXT = "Fly me to Rome, no, to Milan on June third with the reference D E L I V and 300 euros"


def cause(tool_name: str, wanted: dict[str, Any], made: dict[str, Any], **kw: Any) -> str | None:
    said = kw.pop("said", ())
    earlier, problems = kw.pop("earlier", ()), kw.pop("problems", ())
    found = score(
        scenario(expected(tool_name, **wanted), text=TEXT, **kw),
        conversation(*earlier, call(tool_name, 11, args=made), said=said, problems=problems),
    )
    causes = [a.cause for p in found.pairs for a in p.arguments if a.verdict != "match"]
    assert sum(found.wrong_causes.values()) == len(causes)
    return causes[0] if causes else None


RETRACTED = [Retraction(tool="weather", args={"city": "Rome"}, until="no, to Milan")]


@pytest.mark.parametrize(
    ("tool_name", "wanted", "made", "kw", "verdict"),
    [
        ("weather", {"city": "Milan"}, {"city": "Milan"}, {}, None),
        ("weather", {"city": "Milan"}, {"city": "Rome"}, {"retracted": RETRACTED}, "stale"),
        ("weather", {"city": "Milan"}, {"city": "Rome"}, {}, "other"),  # said, and not declared as taken back
        ("weather", {"city": "Milan"}, {"city": "Berlin"}, {}, "invented"),
        ("weather", {"city": "Milan"}, {}, {}, "other"),
        (
            "weather",
            {"city": "Milan"},
            {"city": "Meelan"},
            {"said": [heard("fly to Meelan", speaker="user")]},
            "misheard",
        ),
        (
            "weather",
            {"city": "Milan"},
            {"city": "Berlin"},
            {"said": [heard("fly to Milan", speaker="user")]},
            "invented",
        ),
        ("track_order", {"order_id": "DELIV"}, {"order_id": "DELIB"}, {}, "invented"),
        (
            "track_order",
            {"order_id": "DELIV"},
            {"order_id": "B1"},
            {"said": [heard("deli B 1", speaker="user")]},
            "misheard",
        ),
        ("search_flights", {"date": "2026-06-03"}, {"date": "2026-06-01"}, {}, "invented"),
        ("search_flights", {"date": "2026-06-04"}, {"date": "2026-06-03"}, {}, "other"),
        ("get_exchange_rate", {"to_currency": "USD"}, {"to_currency": "EUR"}, {}, "other"),
        ("get_exchange_rate", {"to_currency": "EUR"}, {"to_currency": "NGN"}, {}, "invented"),
        ("get_exchange_rate", {"amount": 30}, {"amount": 300}, {}, "other"),
        ("get_exchange_rate", {"amount": 300}, {"amount": 3000}, {}, "invented"),
        ("search_products", {"query": "x"}, {"query": ["a"]}, {}, "other"),
    ],
)
def test_a_wrong_argument_has_a_cause(
    tool_name: str, wanted: dict[str, Any], made: dict[str, Any], kw: dict[str, Any], verdict: str | None
) -> None:
    assert cause(tool_name, wanted, made, **kw) == verdict


def test_what_the_user_never_said_cannot_have_been_misheard() -> None:
    """Oslo is expected, but nobody said it; that the agent's transcript lacks it tells nothing."""
    said = [heard("fly to Milan", speaker="user")]
    assert cause("weather", {"city": "Oslo"}, {"city": "Berlin"}, said=said) == "invented"


def test_where_a_part_of_the_user_was_not_written_down_nothing_counts_as_misheard() -> None:
    failed = Problem(kind="agent", message=f"{NOT_WRITTEN_DOWN}: audio unclear")
    said = [heard("fly to Meelan", speaker="user")]
    assert cause("weather", {"city": "Milan"}, {"city": "Meelan"}, said=said, problems=(failed,)) == "invented"


def test_a_value_that_an_earlier_result_held_was_not_invented() -> None:
    earlier = [call("ping", 10.5, result={"city": "Berlin"})]
    assert cause("weather", {"city": "Milan"}, {"city": "Berlin"}, earlier=earlier) == "other"
    later = [call("ping", 11.5, result={"city": "Berlin"})]
    assert cause("weather", {"city": "Milan"}, {"city": "Berlin"}, earlier=later) == "invented"


# --- the profiles that the design promises, on hand-made conversations


def behave(name: str, wanted: Scenario) -> Conversation:
    """A conversation in which an agent with this behaviour met a scenario whose user speaks from 1 s to 10 s."""
    calls = [call(c.tool, 10.3 + n / 10, args=c.args) for n, c in enumerate(wanted.expect.calls)]
    early = [call(c.tool, 9.0 + n / 10, args=c.args) for n, c in enumerate(wanted.expect.calls)]
    reply = [(10.8, 13.0)]
    return {
        "oracle": lambda: conversation(*calls, speech=reply),
        "no_op": lambda: conversation(speech=[], ended="no_response"),
        "silent_worker": lambda: conversation(*calls, speech=[]),
        "eager_filler": lambda: conversation(*calls, speech=[(10.2, 10.9), (11.5, 13.0)]),
        "interrupter": lambda: conversation(*calls, speech=[(8.5, 9.6), *reply]),
        "early_caller": lambda: conversation(*early, speech=reply),
        "argument_swapper": lambda: conversation(
            *(call(c.name, 10.3, args=dict.fromkeys(c.arguments, "zzz")) for c in calls), speech=reply
        ),
        "tool_inventor": lambda: conversation(*calls, call("invented", 10.7, status="rejected"), speech=reply),
        "call_dropper": lambda: conversation(*calls[:-1], speech=reply),
        "slow": lambda: conversation(*calls, speech=[(a + 1.25, b + 1.25) for a, b in reply]),
    }[name]()


TWO = scenario(expected("weather", city="Oslo"), expected("track_order", order_id="A1"))


@pytest.mark.parametrize(
    ("name", "expectation"),
    [
        ("oracle", {"passed": True, "first_response": 0.8}),
        ("no_op", {"passed": False, "spoke": False, "f1": 0.0}),
        ("silent_worker", {"passed": False, "tools_ok": True, "args_ok": True, "spoke": False}),
        ("eager_filler", {"passed": True, "filler": True, "first_response": 0.2}),
        ("interrupter", {"passed": True, "interrupted": True, "first_response": None, "depth": 1.5}),
        ("early_caller", {"passed": True, "preemptive": True, "filler": False}),
        ("argument_swapper", {"passed": False, "accuracy": 0.0, "f1": 1.0}),
        ("tool_inventor", {"passed": False, "precision": 2 / 3, "recall": 1.0}),
        ("call_dropper", {"passed": False, "recall": 1 / 2, "precision": 1.0}),
        ("slow", {"passed": True, "first_response": 2.05}),
    ],
)
def test_a_behaviour_has_its_profile(name: str, expectation: dict[str, Any]) -> None:
    found = score(TWO, behave(name, TWO))
    profile = {
        "passed": found.passed,
        "tools_ok": found.tools_ok,
        "args_ok": found.args_ok,
        "spoke": found.spoke,
        "f1": found.f1_names,
        "precision": found.precision,
        "recall": found.recall,
        "accuracy": found.argument_accuracy,
        "filler": found.manners.filler,
        "interrupted": found.manners.interrupted,
        "preemptive": found.manners.preemptive,
        "first_response": found.times.first_response_latency_s,
        "depth": found.times.interruption_depth_s,
    }
    assert {k: profile[k] for k in expectation} == pytest.approx(expectation)


# --- laws


@given(calls=ODD_CALLS, turns=ODD_TURNS, speech=ODD_SPEECH, text=st.text(max_size=20))
def test_no_conversation_makes_score_raise_and_every_score_is_a_fraction(
    calls: list[Call], turns: Any, speech: Any, text: str
) -> None:
    wanted = scenario(
        expected("weather", city="Oslo"),
        expected("search_flights", date="2026-06-03"),
        expected("track_order", order_id="$RESULT_0.x[0]"),
        mentions=["5"],
        text="Oslo",
        retracted=[Retraction(tool="weather", args={"city": "Rome"}, until="x")],
        requires=[FAST, Requirement(name="order")],
    )
    said = [heard(text), heard(text, speaker="user")]
    talk = conversation(*calls, turns=turns, speech=speech, said=said, problems=(Problem(kind="agent", message="x"),))
    _check_ranges(score(wanted, talk))
    assert score(wanted, talk) == score(wanted, talk)


def _check_ranges(found: Scorecard) -> None:
    for value in (found.f1_names, found.f1_match, found.f1_strict, found.precision, found.recall):
        assert 0.0 <= value <= 1.0
        assert not math.isnan(value)
    assert found.passed <= (found.tools_ok and found.args_ok and found.spoke)
    assert found.passed <= (found.f1_match == 1.0)
    first = found.times.first_response_latency_s
    assert first is None or first >= 0.0
    assert (first is None) == (found.times.cause is not None)


def test_a_tool_that_the_suite_lacks_is_still_judged() -> None:
    wanted = scenario(expected("gone", x="a"), tools={"ping": tool("ping", parameter("x"))})
    assert score(wanted, conversation(call("gone", args={"x": "A"}))).passed


def test_times_are_exact_to_the_tick() -> None:
    found = score(OSLO, conversation(RIGHT, turns=[turn(0.0, 1 / 3)], speech=[(2.0, 3.0)]))
    assert found.times.first_response_latency_s == (to_ticks(2.0) - to_ticks(1 / 3)) / 24_000


# --- arguments left out

DRIVE = {"route": tool("route", parameter("mode", default="driving", has_default=True), parameter("to"))}


def test_an_argument_left_out_is_its_default_when_that_was_taken_back() -> None:
    retracted = [Retraction(tool="route", args={"mode": "driving"}, until="no, by train")]
    wanted = scenario(expected("route", mode="transit"), retracted=retracted, tools=DRIVE)
    found = score(wanted, conversation(call("route", 9), call("route", 11, args={"mode": "transit"})))
    assert found.premature_commits == (0,)
    alone = score(wanted, conversation(call("route", 11)))
    assert (alone.premature_commits, alone.wrong_causes) == ((0,), {"stale": 1})


def test_an_argument_left_out_was_not_invented() -> None:
    wanted = scenario(expected("route", mode="transit"), text="Take the train", tools=DRIVE)
    assert score(wanted, conversation(call("route", 11))).wrong_causes == {"other": 1}
    given_by_the_agent = conversation(call("route", 11, args={"mode": "driving"}))
    assert score(wanted, given_by_the_agent).wrong_causes == {"invented": 1}
