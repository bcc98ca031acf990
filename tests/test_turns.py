"""Turn-taking and latencies: hand-computed timelines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import call, conversation, expected, scenario, span, turn
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.conversation import Conversation, Delivery
from pytest_voicebench.metrics.turns import greetings, turn_scores
from pytest_voicebench.scorecard import Scorecard, TurnScore
from pytest_voicebench.scoring import score

PING = scenario(expected("ping"))


def only_turn(found: Conversation) -> TurnScore:
    (one,) = turn_scores(found)
    return one


def judged(*calls: Any, **kw: Any) -> Scorecard:
    return score(scenario(*(expected(c.name) for c in calls)), conversation(*calls, **kw))


@pytest.mark.parametrize(
    ("speech", "interruptions", "backchannels", "reply", "latency"),
    [
        ([(12.0, 15.0)], 0, 0, 12.0, 2.0),
        ([(10.0, 15.0)], 0, 0, 10.0, 0.0),  # at the very end: a reply
        ([(9.99, 15.0)], 1, 0, None, None),
        ([(5.0, 6.0), (12.0, 13.0)], 1, 0, 12.0, None),  # exactly one second is no backchannel
        ([(5.0, 5.99), (12.0, 13.0)], 0, 1, 12.0, 2.0),
        ([(9.5, 10.0), (12.0, 13.0)], 1, 0, 12.0, None),  # short, but not over before the turn is
        ([(1.0, 1.5), (12.0, 13.0)], 0, 1, 12.0, 2.0),  # starts with the user's first word
        ([(0.5, 3.0), (12.0, 13.0)], 0, 0, 12.0, 2.0),  # before it: a greeting
        ([(0.5, 39.0)], 0, 0, None, None),
        ([(13.0, 14.0), (12.0, 12.5)], 0, 0, 12.0, 2.0),
        ([], 0, 0, None, None),
    ],
)
def test_agent_speech_is_sorted_by_where_it_starts(
    speech: list[tuple[float, float]], interruptions: int, backchannels: int, reply: float | None, latency: float | None
) -> None:
    """The user speaks from 1 s to 10 s."""
    found = only_turn(conversation(speech=speech))
    assert (found.interruptions, found.backchannels, found.reply_start_s) == (interruptions, backchannels, reply)
    assert found.latency_s == (None if latency is None else pytest.approx(latency))


def test_speech_in_a_pause_of_the_request_is_an_interruption() -> None:
    """E1: the turn ends with its last word, at 4.6 s, whatever pauses it holds."""
    found = judged(turns=[turn(0.5, 4.6)], speech=[(2.4, 4.0), (6.0, 7.0)])
    assert (found.times.user_end_s, found.manners.interrupted) == (4.6, True)
    assert (found.times.first_response_latency_s, found.times.cause) == (None, "interrupted")


@pytest.mark.parametrize(("start_s", "in_pause"), [(2.4, 1), (0.9, 0), (1.5, 1), (4.1, 0)])
def test_an_interruption_in_a_pause_is_told_apart(start_s: float, in_pause: int) -> None:
    """E1: the user speaks 0.5 to 1.5 s and 4.1 to 4.6 s."""
    user = replace(turn(0.5, 4.6), speech=(span(0.5, 1.5), span(4.1, 4.6)))
    found = judged(turns=[user], speech=[(start_s, start_s + 2.0)])
    assert (found.turns[0].interruptions, found.turns[0].interruptions_in_pause) == (1, in_pause)
    assert ("interruption_in_pause" in found.notes) == bool(in_pause)


def test_a_mute_agent_has_no_latency() -> None:
    """E4."""
    found = judged(speech=[], ended="no_response", duration_s=45.84)
    assert (found.times.first_response_latency_s, found.times.cause) == (None, "no_reply")
    assert (found.spoke, found.manners.no_response_turns) == (False, 1)


def test_depth_is_counted_from_the_first_interruption() -> None:
    """E5."""
    found = judged(speech=[(5.5, 7.0), (8.0, 9.5), (12.0, 13.0)])
    assert (found.manners.interruptions, found.times.interruption_depth_s) == (2, 4.5)


def test_a_greeting_is_no_answer() -> None:
    """E7."""
    found = judged(turns=[turn(2.0, 9.0)], speech=[(0.2, 1.9), (10.5, 12.0)])
    assert (found.times.first_response_latency_s, found.manners.greetings) == (1.5, 1)
    assert not found.manners.interrupted
    assert greetings(conversation(speech=[(1.0, 1.5)])) == 0  # with the user's first word, not before it
    silent = judged(turns=[turn(2.0, 9.0)], speech=[(0.2, 1.9)])
    assert not silent.spoke


def test_calls_before_the_users_end_are_preemptive_and_signed() -> None:
    """E8."""
    found = judged(call("ping", 5.4), call("ping", 13.1), turns=[turn(1.0, 12.0)], speech=[(14.0, 15.0)])
    assert found.manners.preemptive is True
    assert found.times.tool_call_latency_s == pytest.approx(-6.6)
    later = judged(call("ping", 13.1), turns=[turn(1.0, 12.0)], speech=[(14.0, 15.0)])
    assert later.manners.preemptive is False
    assert later.times.tool_call_latency_s == pytest.approx(1.1)
    at_the_end = judged(call("ping", 12.0), turns=[turn(1.0, 12.0)], speech=[(14.0, 15.0)])
    assert (at_the_end.manners.preemptive, at_the_end.times.tool_call_latency_s) == (False, 0.0)


def test_the_first_call_is_the_earliest_not_the_first_logged() -> None:
    """E9."""
    found = judged(call("ping", 14.2), call("ping", 13.1), turns=[turn(1.0, 12.0)])
    assert found.times.tool_call_latency_s == pytest.approx(1.1)


def test_an_unanswered_turn_counts_unless_the_recording_ends_too_soon() -> None:
    """E15."""
    unanswered = judged(turns=[turn(1.0, 4.0)], speech=[], duration_s=30.0)
    assert (unanswered.manners.no_response_turns, unanswered.times.cause) == (1, "no_reply")
    censored = judged(turns=[turn(1.0, 4.0)], speech=[], duration_s=4.3)
    assert (censored.manners.no_response_turns, censored.times.cause) == (0, "censored")
    assert "censored" in censored.notes


def test_a_turn_is_censored_until_the_whole_time_for_a_reply_was_listened_to() -> None:
    """The user ends at 4 s, and a reply has 10 s."""
    for duration_s, censored in ((13.99, True), (14.0, False)):
        assert only_turn(conversation(turns=[turn(1.0, 4.0)], speech=[], duration_s=duration_s)).censored is censored


def test_speech_inside_one_long_turn_is_an_interruption_even_if_an_answer_follows() -> None:
    """E16. The design decides otherwise than the fault list: no latency after an interruption, no 'mid turn reply'."""
    found = judged(turns=[turn(1.0, 14.0)], speech=[(6.0, 7.0), (16.0, 17.0)])
    assert (found.manners.interruptions, found.times.reply_start_s) == (1, 16.0)
    assert found.times.first_response_latency_s is None


def test_a_backchannel_is_no_answer() -> None:
    """E17."""
    found = judged(turns=[turn(1.0, 5.0)], speech=[(3.0, 3.4), (8.0, 9.0)])
    assert (found.manners.backchannels, found.times.first_response_latency_s) == (1, 3.0)
    assert found.manners.clean_turn


def test_late_blocks_make_latencies_unmeasured_but_not_the_rest() -> None:
    """E13."""
    late = Delivery(planned_blocks=500, sent_blocks=500, late_p50_s=0.001, late_p99_s=0.0201, late_max_s=0.18)
    found = judged(call("ping", 11.0), delivery=late)
    assert (found.times.first_response_latency_s, found.times.tool_call_latency_s) == (None, None)
    assert (found.times.task_completion_latency_s, found.times.cause) == (None, "late_blocks")
    assert found.passed
    on_time = Delivery(planned_blocks=500, sent_blocks=500, late_p99_s=0.020)
    assert judged(call("ping", 11.0), delivery=on_time).times.first_response_latency_s == 2.0


LATE_ANSWER = Delivery(planned_blocks=500, sent_blocks=500, read_late_p99_s=0.001, answer_late_max_s=0.3)


def test_a_late_answer_costs_the_times_of_what_followed_it() -> None:
    """A call at 11.0 s, answered at 11.3 s by our own lateness; the reply is heard from 12.0 s on."""
    found = judged(call("ping", 11.0, answered_s=11.3), delivery=LATE_ANSWER)
    assert (found.times.first_response_latency_s, found.times.task_completion_latency_s) == (None, None)
    assert (found.times.tool_call_latency_s, found.times.cause) == (1.0, "late_answers")
    assert "late_answers" in found.notes
    assert found.passed


def test_a_reply_before_the_late_answer_keeps_its_latency() -> None:
    speech = [(10.5, 11.1), (12.0, 15.0)]
    found = judged(call("ping", 11.0, answered_s=11.3), speech=speech, delivery=LATE_ANSWER)
    assert (found.times.first_response_latency_s, found.times.task_completion_latency_s) == (0.5, None)
    assert found.times.cause is None


def test_turns_without_a_call_keep_their_latencies_beside_a_late_answer() -> None:
    asked = [turn(1.0, 5.0, step=0), turn(10.0, 14.0, step=1)]
    talk = conversation(
        call("ping", 14.5, answered_s=15.0), turns=asked, speech=[(6.0, 9.0), (15.5, 18.0)], delivery=LATE_ANSWER
    )
    assert score(scenario(expected("ping"), turns=2), talk).times.first_response_latency_s == 1.0


def test_task_completion_waits_for_the_last_result() -> None:
    """A filler at 10.2 s, results at 11.0 and 12.5 s: the answer is the onset at 13.0 s."""
    calls = [call("ping", 10.8, answered_s=11.0), call("ping", 11.5, answered_s=12.5)]
    found = judged(*calls, speech=[(10.2, 11.3), (11.9, 12.7), (13.0, 15.0)])
    assert found.times.task_completion_latency_s == 3.0
    assert (found.times.first_response_latency_s, found.manners.filler) == (pytest.approx(0.2), True)


@pytest.mark.parametrize(
    ("speech", "answered_s", "completion", "filler"),
    [
        ([(12.0, 15.0)], 11.5, 2.0, False),
        ([(12.0, 15.0)], 12.0, 2.0, False),  # at that very moment
        ([(12.0, 15.0)], 12.1, None, True),  # speaking on without a new onset
        ([(12.0, 13.0), (14.0, 15.0)], 12.1, 4.0, True),
        ([(12.0, 15.0)], None, None, None),  # never handed over
        ([(9.0, 11.0), (12.0, 15.0)], 11.5, None, None),  # interrupted
        ([], 11.5, None, None),
    ],
)
def test_a_reply_before_the_result_is_a_filler(
    speech: list[tuple[float, float]], answered_s: float | None, completion: float | None, filler: bool | None
) -> None:
    found = judged(call("ping", 11.0, answered_s=answered_s), speech=speech)
    assert (found.times.task_completion_latency_s, found.manners.filler) == (completion, filler)


def test_without_a_pair_for_every_expected_call_the_task_was_never_completed() -> None:
    found = score(scenario(expected("ping"), expected("weather", city="Oslo")), conversation(call("ping", 11.0)))
    assert (found.times.task_completion_latency_s, found.manners.filler) == (None, None)
    assert found.times.first_response_latency_s == 2.0


def test_who_spoke_before_the_first_call() -> None:
    assert judged(call("ping", 13.0)).manners.spoke_before_first_call is True
    assert judged(call("ping", 11.0)).manners.spoke_before_first_call is False
    assert judged(call("ping", 5.0), speech=[(0.2, 0.9), (12.0, 13.0)]).manners.spoke_before_first_call is False
    assert judged().manners.spoke_before_first_call is None


def test_undetected_speech_is_unmeasured_and_never_passes() -> None:
    found = score(PING, conversation(call("ping"), speech=None))
    assert (found.spoke, found.passed, found.times.cause) == (False, False, "no_speech_detection")
    assert (found.times.tool_call_latency_s, found.diagnostics["no_interruption"]) == (None, None)
    assert found.tools_ok
    assert found.args_ok


def test_a_conversation_without_a_user_is_scored_without_times() -> None:
    empty = conversation(call("ping"), turns=[turn(1.0, 2.0, kind="non_directed")])
    found = score(PING, empty)
    assert (found.turns, found.spoke, found.times.cause) == ((), False, "no_user_end")
    assert found.manners.preemptive is None


# --- several turns

THREE = [turn(1.0, 5.0, step=0), turn(10.0, 14.0, step=1), turn(20.0, 25.0, step=2)]


def test_every_turn_has_its_own_reply() -> None:
    found = turn_scores(conversation(turns=THREE, speech=[(6.0, 9.0), (12.0, 13.5), (15.5, 18.0), (27.0, 30.0)]))
    assert [t.reply_start_s for t in found] == [6.0, 15.5, 27.0]
    assert [t.latency_s for t in found] == [1.0, None, 2.0]
    assert [t.interruptions for t in found] == [0, 1, 0]


def test_the_items_response_latency_is_the_mean_over_its_clean_turns() -> None:
    speech = [(6.0, 9.0), (12.0, 13.5), (15.5, 18.0), (27.0, 30.0)]
    found = score(scenario(turns=3), conversation(turns=THREE, speech=speech))
    assert (found.times.first_response_latency_s, found.times.cause) == (1.5, None)
    assert (found.times.user_end_s, found.times.reply_start_s) == (25.0, 27.0)
    assert found.manners.interrupted
    assert found.spoke


def test_times_of_calls_count_from_the_turn_they_were_made_in() -> None:
    calls = [call("ping", 14.5, answered_s=15.0)]
    talk = conversation(*calls, turns=THREE, speech=[(6.0, 9.0), (15.5, 18.0), (27.0, 30.0)])
    found = score(scenario(expected("ping"), turns=3), talk)
    assert (found.times.tool_call_latency_s, found.times.task_completion_latency_s) == (0.5, 1.5)
    assert found.manners.preemptive is False


def test_the_last_turn_must_be_answered_and_every_planned_turn_reached() -> None:
    unanswered = conversation(turns=THREE, speech=[(6.0, 9.0), (15.5, 18.0)])
    assert not score(scenario(turns=3), unanswered).spoke
    broken_off = conversation(turns=THREE[:2], speech=[(6.0, 9.0), (15.5, 18.0)], ended="line_closed")
    assert not score(scenario(turns=3), broken_off).spoke
    assert score(scenario(turns=2), broken_off).spoke
    two_in_a_row = conversation(turns=THREE, speech=[(15.5, 18.0), (27.0, 30.0)])
    assert score(scenario(turns=3), two_in_a_row).spoke


def test_speech_that_a_barge_in_meets_belongs_to_the_turn_before() -> None:
    talk = conversation(turns=THREE[:2], speech=[(6.0, 10.5), (15.0, 17.0)])
    found = score(scenario(turns=2), talk)
    assert (found.manners.interruptions, found.times.first_response_latency_s) == (0, 1.0)


# --- laws

SPANS = st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 400)), max_size=6).map(
    lambda items: [(start / 50, (start + length) / 50) for start, length in items]
)


@given(speech=SPANS)
def test_every_agent_span_is_exactly_one_thing(speech: list[tuple[float, float]]) -> None:
    talk = conversation(speech=speech)
    found = only_turn(talk)
    after = sum(start >= 10.0 for start, _ in speech)
    assert greetings(talk) + found.backchannels + found.interruptions + after == len(speech)
    assert found.latency_s is None or found.latency_s >= 0.0


@given(speech=SPANS, shift=st.integers(0, 10_000))
def test_latencies_do_not_depend_on_when_the_user_began(speech: list[tuple[float, float]], shift: int) -> None:
    by = shift / 24_000
    moved = conversation(
        turns=[turn(1.0 + by, 10.0 + by)], speech=[(a + by, b + by) for a, b in speech], duration_s=40 + by
    )
    assert only_turn(moved).latency_s == only_turn(conversation(speech=speech)).latency_s


def test_the_task_belongs_to_the_turn_that_asked_for_it_even_if_answered_in_a_later_one() -> None:
    found = judged(
        call("ping", 11, answered_s=21.0),
        turns=[turn(1.0, 10.0), turn(20.0, 30.0, step=1)],
        speech=[(11.5, 13.0), (31.0, 33.0)],
    )
    assert found.manners.filler is True
    assert found.times.task_completion_latency_s == 21.0


def test_of_several_results_the_last_handed_over_decides_the_turn() -> None:
    found = judged(
        call("ping", 11, answered_s=32.0),
        call("weather", 31, answered_s=31.5),
        turns=[turn(1.0, 10.0), turn(20.0, 30.0, step=1)],
        speech=[(13.0, 14.0), (33.0, 34.0)],
    )
    assert found.manners.filler is True
    assert found.times.task_completion_latency_s == 23.0
