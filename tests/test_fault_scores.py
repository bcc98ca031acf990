"""Faults of others' scoring, end to end: a YAML scenario, an agent that does one thing, the right score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_voicebench.agents.protocol import ToolCall, ToolCancelled, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import to_seconds
from pytest_voicebench.validity import measurement_problems
from tests.fault_stage import AgentAudio, Judged, call, judged, said, voice
from tests.voice import silence

RATES = """
calls:
  - get_exchange_rate: {amount: 50, from_currency: USD, to_currency: EUR}
  - get_exchange_rate: {amount: 100, from_currency: CAD, to_currency: USD}
"""
TRIP = """
calls:
  - search_flights: {destination: Oslo}
  - book_flight: {flight_id: "$RESULT_0.flights[0].flight_id", budget: "$500"}
"""


@dataclass(frozen=True)
class Case:
    """What is expected, what the agent calls, and the scores that this must have."""

    entry: str
    expect: str
    script: tuple[Any, ...]
    scores: dict[str, Any]


def one(entry: str, name: str, expected: str, given: dict[str, Any], **scores: Any) -> Case:
    """One call."""
    return Case(entry, f"calls: [{name}: {expected}]", (call(3.0, name, **given),), scores)


def rate(at_s: float, amount: int, one: str, other: str) -> Any:
    return call(at_s, "get_exchange_rate", amount=amount, from_currency=one, to_currency=other)


CASES = [
    Case(
        "A1", RATES, (rate(3.0, 100, "CAD", "USD"), rate(3.1, 50, "USD", "EUR")), {"argument_accuracy": 1, "passed": 1}
    ),
    Case(
        "A3",
        "calls: [add_to_cart: {id: P1}, add_to_cart: {id: P1}]",
        (call(3.0, "add_to_cart", id="P1"),),
        {"recall": 0.5, "passed": False},
    ),
    Case("A4", "calls: [ping: {}, ping: {}]", (call(3.0, "ping", "a"), call(3.0, "ping", "b")), {"f1_strict": 1.0}),
    Case(
        "A5",
        "calls: [weather: {city: Oslo}]",
        tuple(call(at, "weather", city="Oslo") for at in (3.0, 3.1, 3.2)),
        {"precision": 1 / 3, "f1_names": 0.5, "passed": False},
    ),
    Case("A7", "calls: []", (), {"f1_names": 1.0, "argument_accuracy": None, "passed": True}),
    Case(
        "A8",
        "calls: [search_apartments: {bedrooms: 3}, calculate_commute: {origin_address: here}]",
        (call(3.0, "search_apartments", bedrooms=3), *(call(3.1 + n / 10, "search_flights") for n in range(8))),
        {"f1_names": 2 / 11, "f1_match": 2 / 11, "f1_strict": 2 / 11, "surplus_tools": ("search_flights",) * 8},
    ),
    Case(
        "A9",
        TRIP,
        (call(3.0, "book_flight", flight_id="F10", budget="$500"), call(3.1, "search_flights", destination="Oslo")),
        {"f1_match": 1.0, "diagnostics": {"no_interruption": True, "order": False}},
    ),
    one(
        "B1",
        "update_search_filter",
        "{filter_name: max_price, value: 1200}",
        {"filter_name": "max_price", "value": "1200"},
        argument_accuracy=1.0,
        argument_accuracy_strict=0.0,
        notes=("type_mismatch", "failed_call"),  # the mock refuses it as the real API would
    ),
    one("B3", "add_to_cart", "{id: ABC123}", {"id": "A B C 1 2 3"}, passed=True),
    one("B3", "add_to_cart", "{id: ABC123}", {"id": "a-b-c-1-2-3"}, passed=True),
    one("B3", "add_to_cart", "{id: ABC123}", {"id": "ABC12"}, passed=False, tools_ok=True),
    one("B4", "search_flights", "{day: October 7th}", {"day": "2026-10-07"}, passed=True),
    one("B4", "search_flights", "{day: October 7th}", {"day": "2026-10-17"}, passed=False),
    one("B4", "search_flights", "{day: October 7th}", {"day": "10/07"}, passed=False, notes=("ambiguous_date",)),
    Case(
        "B5",
        TRIP,
        (call(3.0, "search_flights", destination="Oslo"), call(3.1, "book_flight", flight_id="", budget="$9")),
        {"wrong": ["flight_id", "budget"], "passed": False},
    ),
    Case(
        "B5",
        TRIP,
        (call(3.0, "search_flights", destination="Oslo"), call(3.1, "book_flight", flight_id="F10", budget="$500")),
        {"passed": True},
    ),
    one(
        "B7",
        "transfer",
        "{quantity: 20, account: 100234, amount: 1000}",
        {"quantity": 21, "account": 104999, "amount": 1050},
        wrong=["quantity", "account", "amount"],
    ),
    one("B8", "transfer", "{currency: CAD}", {"currency": "Canadian dollars"}, passed=True),
    one("B8", "transfer", "{currency: CAD}", {"currency": "dollars"}, passed=False, notes=("ambiguous_currency",)),
    one("B8", "transfer", "{amount: 1500}", {"amount": "$1,500"}, argument_accuracy=1.0),
    one("B8", "transfer", "{amount: 1500}", {"amount": "1.5"}, argument_accuracy=0.0),
    one("B9", "add_to_cart", "{id: P1, quantity: 1}", {"id": "P1"}, passed=True, f1_strict=1.0),
    # The design decides otherwise than the list: an extra argument fails the strict comparison, not Pass.
    one("B9", "search_products", "{query: desk}", {"query": "desk", "max_price": 1}, passed=True, f1_strict=0.0),
    one("B11", "transfer", "{amount: 25}", {"amount": 25.0}, passed=True, f1_strict=1.0),
    one("B12", "order", "{share: 0.3}", {"share": 0.1 + 0.2}, passed=True),
    one("B13", "order", '{item_ids: ["1", "2"]}', {"item_ids": ["2", "1"]}, passed=True),
    one("B13", "order", '{colours: ["1", "2"]}', {"colours": ["2", "1"]}, passed=False),
    one("B13", "order", "{colours: [Red]}", {"colours": ["red"]}, passed=True),
    one("B15", "order", "{confirm_code: aB9}", {"confirm_code": "AB9"}, passed=False),
    one("B15", "order", "{what: a b}", {"what": "a_b"}, passed=False),
    one("B16", "order", "{what: café}", {"what": "cafe\u0301"}, passed=True),
    one("B16", "order", "{what: the gym}", {"what": "gym"}, passed=True),
    Case(
        "B16",
        "calls: [order: {place: Las Vegas}]\naliases: {Las Vegas: [Sin City]}",
        (call(3.0, "order", place="Sin City"),),
        {"passed": True},
    ),
    one(
        "B17",
        "update_search_filter",
        "{filter_name: min_bedrooms}",
        {"filter_name": "bedrooms_min"},
        passed=False,
        notes=("enum_mismatch", "failed_call"),
    ),
    one("B19", "add_to_cart", "{id: P52}", {"id": "P5"}, passed=False),
    Case(
        "H3",
        "calls: [weather: {city: Paris}]",
        ((3.0, ToolCall(call_id="c", name="weather", arguments='{"city": "Par')),),
        {"precision": 1.0, "argument_accuracy": 0.0, "passed": False, "notes": ("rejected_call",)},
    ),
    Case(
        "H4",
        "calls: [ping: {}]",
        (call(3.0, "ping"), call(3.1, "delete_account")),
        {"precision": 0.5, "passed": False, "notes": ("rejected_call",)},
    ),
    Case("H9", "calls: [ping: {}]", (call(3.0, "ping", "same"), call(3.1, "ping", "same")), {"passed": True}),
    Case("H9", "calls: [ping: {}]", (call(3.0, "ping", "one"), call(3.1, "ping", "two")), {"precision": 0.5}),
]


def scores_of(found: Judged, names: Any) -> dict[str, Any]:
    wrong = [a.name for p in found.card.pairs for a in p.arguments if a.verdict != "match"]
    return {name: wrong if name == "wrong" else getattr(found.card, name) for name in names}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.entry)
def test_calls_get_the_right_score_end_to_end(tmp_path: Path, case: Case) -> None:
    found = judged(tmp_path, case.expect, *case.script)
    assert measurement_problems(found.scenario, found.conversation) == ()
    assert scores_of(found, case.scores) == case.scores


def test_a_call_told_twice_runs_once_and_is_answered_once(tmp_path: Path) -> None:
    """H9: the second event has the same id."""
    found = judged(tmp_path, "calls: [ping: {}]", call(3.0, "ping", "same"), call(3.1, "ping", "same"))
    assert [c.call_id for c in found.conversation.calls] == ["same"]
    assert [[r.call_id for r in results] for _, results in found.agent.answers] == [["same"]]


# --- silence


def zeros(seconds: float) -> AgentAudio:
    return AgentAudio(item_id="mute", audio=Audio(samples=silence(seconds), rate_hz=RATE_HZ))


def test_an_agent_that_sends_zeros_and_an_empty_text_did_not_speak(tmp_path: Path) -> None:
    """A12, E4: its calls are right, and that is shown; it has no latency, least of all a number of seconds."""
    script = (call(3.0, "ping"), (4.0, zeros(20.0)), (4.0, Transcript(speaker="agent", text="", item_id="mute")))
    card = judged(tmp_path, "calls: [ping: {}]", *script, reply=False).card
    assert (card.passed, card.tools_ok, card.args_ok, card.spoke) == (False, True, True, False)
    assert (card.times.first_response_latency_s, card.times.cause) == (None, "no_reply")
    assert card.manners.no_response_turns == 1


def test_a_silent_agent_is_waited_for_before_silence_counts(tmp_path: Path) -> None:
    """E15: the recording goes on; where we had to cut it short the turn is censored and the item no measurement."""
    whole = judged(tmp_path / "whole", "calls: []", reply=False)
    assert (whole.card.times.cause, whole.card.manners.no_response_turns) == ("no_reply", 1)
    cut = judged(tmp_path / "cut", "calls: []", reply=False, more="max_duration_s: 2.6\n")
    assert (cut.card.times.cause, cut.card.manners.no_response_turns) == ("censored", 0)
    assert [p.kind for p in measurement_problems(cut.scenario, cut.conversation)] == ["invalid_measurement"]


# --- time


def test_an_answer_into_a_long_pause_of_the_request_is_an_interruption(tmp_path: Path) -> None:
    """E1: the request goes on after 2.6 s of silence; the user ends at 4.6 s."""
    user = (("Book", 0.5, 0.8), ("to", 1.4, 1.5), ("Oslo", 4.1, 4.6))
    card = judged(tmp_path, "calls: []", voice(2.4, 4.0), reply=False, user=user).card
    assert card.times.user_end_s == 4.6
    assert (card.manners.interrupted, card.times.first_response_latency_s) == (True, None)
    assert "interruption_in_pause" in card.notes
    waits = judged(tmp_path, "calls: []", voice(5.6, 7.0), reply=False, user=user).card
    assert waits.times.first_response_latency_s == pytest.approx(1.0, abs=0.02)


def test_a_greeting_is_neither_answer_nor_interruption(tmp_path: Path) -> None:
    """E7."""
    user = (("Hello", 2.0, 4.0), ("there", 4.0, 9.0))
    card = judged(tmp_path, "calls: []", voice(0.2, 1.9), voice(10.5, 12.0), reply=False, user=user).card
    assert (card.manners.greetings, card.manners.interrupted) == (1, False)
    assert card.times.first_response_latency_s == pytest.approx(1.5, abs=0.02)


def test_a_call_before_the_users_end_is_counted_and_its_time_is_signed(tmp_path: Path) -> None:
    """E8. The design decides otherwise than the list: the time is signed, and means are given with and without it."""
    user = (("Please", 0.3, 6.0), ("do", 6.0, 11.0), ("it", 11.0, 12.0))
    early = judged(tmp_path, "calls: []", call(5.4, "ping"), call(13.1, "ping"), voice(14, 15), reply=False, user=user)
    assert early.card.manners.preemptive is True
    assert early.card.times.tool_call_latency_s == pytest.approx(-6.6)
    late = judged(tmp_path, "calls: []", call(13.1, "ping"), voice(14, 15), reply=False, user=user).card
    assert (late.manners.preemptive, late.times.tool_call_latency_s) == (False, pytest.approx(1.1))


def test_two_replies_to_one_turn_are_an_interruption_and_a_reply(tmp_path: Path) -> None:
    """E16. The design decides otherwise than the list: after an interruption there is no latency."""
    user = (("Please", 1.0, 8.0), ("wait", 8.0, 14.0))
    card = judged(tmp_path, "calls: []", voice(5.0, 7.0), voice(16.0, 17.0), reply=False, user=user).card
    assert (card.manners.interruptions, card.times.reply_start_s) == (1, pytest.approx(16.0, abs=0.02))
    assert card.times.first_response_latency_s is None


def test_an_agents_backchannel_is_not_the_answer(tmp_path: Path) -> None:
    """E17."""
    user = (("Please", 1.0, 4.0), ("go", 4.0, 5.0))
    card = judged(tmp_path, "calls: []", voice(3.0, 3.4), voice(8.0, 9.0), reply=False, user=user).card
    assert (card.manners.backchannels, card.manners.interrupted) == (1, False)
    assert card.times.first_response_latency_s == pytest.approx(3.0, abs=0.02)


def test_a_users_backchannel_is_no_turn_and_asks_for_no_answer(tmp_path: Path) -> None:
    """E19. Whether an agent yields is another score set's; here a backchannel must not disturb the scores."""
    said(tmp_path / "audio" / "uhhuh.flac", [("uh-huh", 0.0, 0.4)])
    steps = "      - {backchannel: uh-huh, audio: audio/uhhuh.flac, when: {into_agent_s: 2.0}}\n"
    stops = judged(tmp_path, "calls: []", voice(4.0, 6.9), reply=False, steps=steps)
    first, second = stops.conversation.utterances
    assert (first.kind, second.kind, to_seconds(second.start_ticks)) == ("turn", "backchannel", pytest.approx(6.0))
    assert measurement_problems(stops.scenario, stops.conversation) == ()
    assert (len(stops.card.turns), stops.card.spoke, stops.card.manners.interrupted) == (1, True, False)
    assert stops.card.times.first_response_latency_s == pytest.approx(1.7, abs=0.02)


# --- calls as recorded


def test_a_side_effect_before_the_correction_stays_and_a_call_taken_back_in_time_does_not(tmp_path: Path) -> None:
    """H5: who books Rome while the user still speaks has booked Rome."""
    user = (("Please", 0.3, 4.0), ("no", 5.5, 6.0), ("it", 6.0, 7.0))
    expect = "calls: [book_flight: {flight_id: OSL1}]"
    retracted = "    retracted: [{tool: book_flight, args: {flight_id: ROM1}, until: no}]\n"
    booked = (call(5.0, "book_flight", flight_id="ROM1"), call(8.0, "book_flight", flight_id="OSL1"), voice(9.0, 10.0))
    hasty = judged(tmp_path, expect, *booked, reply=False, user=user, steps=retracted).card
    assert (hasty.passed, hasty.surplus_tools, hasty.premature_commits) == (False, ("book_flight",), (0,))
    assert "stale_execution" in hasty.notes


def test_a_call_taken_back_before_it_ran_is_shown_and_does_not_count(tmp_path: Path, monkeypatch: Any) -> None:
    """H5."""
    from tests import fault_stage

    slow = fault_stage.TOOLS.replace("ping: {", "ping: {latency_s: 2.0, ")
    monkeypatch.setattr(fault_stage, "TOOLS", slow)
    script = (call(3.0, "ping", "c1"), (4.0, ToolCancelled(call_ids=("c1",))), call(6.0, "ping", "c2"), voice(9, 10))
    found = judged(tmp_path, "calls: [ping: {}]", *script, reply=False)
    assert [c.status for c in found.conversation.calls] == ["cancelled", "executed"]
    assert (found.card.passed, found.card.notes) == (True, ("cancelled_call",))


@pytest.mark.parametrize(("delay_s", "stalled"), [(0.0, False), (4.9, False), (18.0, True)])
def test_a_result_that_takes_long_to_reach_the_agent_is_recorded_and_noted(
    tmp_path: Path, monkeypatch: Any, delay_s: float, stalled: bool
) -> None:
    """H8: the tool answered at 3 s; the adapter had handed the result on only `delay_s` later."""
    import asyncio

    from tests.scripted import ScriptedLine

    async def answer(_line: Any, _results: Any) -> None:
        await asyncio.sleep(delay_s)

    monkeypatch.setattr(ScriptedLine, "answer", answer)
    found = judged(tmp_path, "calls: [ping: {}]", call(3.0, "ping"), more="settle_s: 1.0\n")
    (made,) = found.conversation.calls
    assert made.acknowledged_ticks is not None
    times = [to_seconds(t or 0) for t in (made.finished_ticks, made.answered_ticks, made.acknowledged_ticks)]
    assert times == pytest.approx([3.0, 3.0, 3.0 + delay_s])
    assert to_seconds(found.conversation.duration_ticks) >= 3.0 + delay_s  # it was still on its way: an open call
    assert ("tool_stall" in found.card.notes) is stalled


def test_no_number_that_a_scorecard_holds_is_beyond_json(tmp_path: Path) -> None:
    """L1: nothing measured is None, and NaN nowhere."""
    card = judged(tmp_path, "calls: []", reply=False).card
    times = [card.times.first_response_latency_s, card.times.tool_call_latency_s, card.times.task_completion_latency_s]
    assert times == [None] * 3
    assert not any(isinstance(v, float) and math.isnan(v) for v in (card.f1_names, card.precision, card.recall))
