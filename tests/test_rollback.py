"""Self-correction over time: premature commits, when they were made, what repaired them and what they left behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from builders import TOOLS, call, conversation, expected, heard, parameter, scenario, tool, turn
from hypothesis import given
from hypothesis import strategies as st
from odd import ODD_CALLS, ODD_SPEECH

from pytest_voicebench.conversation import Call, Conversation, Delivery, Utterance, Word, to_ticks
from pytest_voicebench.scenario import Retraction, Scenario
from pytest_voicebench.scorecard import Rollback, Scorecard
from pytest_voicebench.scoring import score
from pytest_voicebench.writers.rollback_text import UNPLACED, rollback_sentence

ROME = Retraction(tool="weather", args={"city": "Rome"}, until="no Oslo")
OSLO = scenario(expected("weather", city="Oslo"), retracted=[ROME])
WORDS = (("Weather", 1.0, 2.0), ("in", 2.0, 3.0), ("Rome,", 3.0, 4.0), ("no,", 5.0, 5.5), ("Oslo.", 5.5, 6.0))
HEARD_S = 6.0


def says(*words: tuple[str, float, float], end_s: float | None = None) -> Utterance:
    """A turn with words in time."""
    placed = tuple(Word(text=w, start_ticks=to_ticks(a), end_ticks=to_ticks(b)) for w, a, b in words)
    spoken = turn(words[0][1], end_s or words[-1][2], text=" ".join(w for w, _, _ in words))
    return Utterance(
        step=0, kind="turn", text=spoken.text, start_ticks=spoken.start_ticks, end_ticks=spoken.end_ticks, words=placed
    )


def weather(at_s: float, city: str, **kw: Any) -> Call:
    return call("weather", at_s, args={"city": city}, **kw)


def card(*calls: Call, wanted: Scenario = OSLO, words: Sequence[Any] = WORDS, **kw: Any) -> Scorecard:
    return score(wanted, conversation(*calls, turns=[says(*words)] if words else [turn(1.0, 6.0)], **kw))


def only(*calls: Call, **kw: Any) -> Rollback:
    (found,) = card(*calls, **kw).rollback
    return found


def story(found: Rollback) -> tuple[Any, ...]:
    """Verdict, which calls were premature and whether after the correction, which repaired, how fast."""
    made = tuple((c.call, c.after_correction) for c in found.commits)
    return found.verdict, made, found.corrected, found.latency_s


@pytest.mark.parametrize(
    ("calls", "expected_story"),
    [
        ((), ("no_call", (), None, None)),
        ((weather(8, "Paris"),), ("no_call", (), None, None)),
        ((weather(8, "Oslo"),), ("held", (), 0, None)),
        ((weather(8, "Oslo", status="failed"),), ("held", (), 0, None)),
        ((weather(8, "Oslo", status="rejected"),), ("no_call", (), None, None)),
        ((weather(5, "Rome"),), ("stale", ((0, False),), None, None)),
        ((weather(8, "Rome"),), ("stale", ((0, True),), None, None)),
        # heard at 6.0: to the tick
        ((weather(HEARD_S - 1 / 24_000, "Rome"),), ("stale", ((0, False),), None, None)),
        ((weather(HEARD_S, "Rome"),), ("stale", ((0, True),), None, None)),
        # repaired: from the correction, or from the commit where that came later
        ((weather(5, "Rome"), weather(8, "Oslo")), ("repaired", ((0, False),), 1, 2.0)),
        ((weather(7, "Rome"), weather(8, "Oslo")), ("repaired", ((0, True),), 1, 1.0)),
        ((weather(4, "Rome"), weather(5.5, "Oslo")), ("repaired", ((0, False),), 1, -0.5)),
        # the same stale call twice
        ((weather(5, "Rome"), weather(7, "Rome")), ("stale", ((0, False), (1, True)), None, None)),
        ((weather(5, "Rome"), weather(7, "Rome"), weather(9, "Oslo")), ("repaired", ((0, False), (1, True)), 2, 3.0)),
        # back to the stale value after the right one; and right again
        ((weather(5, "Rome"), weather(7, "Oslo"), weather(8, "Rome")), ("stale", ((0, False), (2, True)), None, None)),
        (
            (weather(5, "Rome"), weather(7, "Oslo"), weather(8, "Rome"), weather(9, "Oslo")),
            ("repaired", ((0, False), (2, True)), 3, 3.0),
        ),
        # both at once: none is later than the other
        ((weather(7, "Rome"), weather(7, "Oslo")), ("stale", ((0, True),), None, None)),
        # a repair must have run
        ((weather(5, "Rome"), weather(8, "Oslo", status="failed")), ("stale", ((0, False),), None, None)),
        ((weather(5, "Rome"), weather(8, "Oslo", status="rejected")), ("stale", ((0, False),), None, None)),
        (
            (weather(5, "Rome"), weather(8, "Oslo", status="failed"), weather(9, "Oslo")),
            ("repaired", ((0, False),), 2, 3.0),
        ),
        # what was cancelled was never made; what failed or was refused was
        ((weather(5, "Rome", status="cancelled"), weather(8, "Oslo")), ("held", (), 0, None)),
        ((weather(5, "Rome", status="failed"), weather(8, "Oslo")), ("repaired", ((0, False),), 1, 2.0)),
        ((weather(5, "Rome", status="rejected"), weather(8, "Oslo")), ("repaired", ((0, False),), 1, 2.0)),
        # other tools say nothing
        ((call("ping", 5, args={"city": "Rome"}), weather(8, "Oslo")), ("held", (), 1, None)),
    ],
)
def test_each_retraction_has_one_story(calls: tuple[Call, ...], expected_story: tuple[Any, ...]) -> None:
    found = card(*calls)
    assert story(found.rollback[0]) == expected_story
    assert found.rollback[0].heard_s == HEARD_S
    assert found.premature_commits == tuple(n for n, _ in expected_story[1])


@pytest.mark.parametrize("repaired", [False, True])
def test_a_commit_that_was_repaired_is_still_a_call_that_nobody_asked_for(repaired: bool) -> None:
    """H5: what ran before the correction counts."""
    found = card(weather(5, "Rome"), *([weather(8, "Oslo")] if repaired else []))
    assert not found.passed
    assert "stale_execution" in found.notes
    assert found.rollback[0].repaired is repaired


def test_a_refused_call_whose_arguments_nobody_could_read_is_no_commit_of_the_default() -> None:
    route = {"route": tool("route", parameter("mode", default="driving", has_default=True))}
    retracted = [Retraction(tool="route", args={"mode": "driving"}, until="no Oslo")]
    wanted = scenario(expected("route", mode="transit"), retracted=retracted, tools=route)
    assert only(call("route", 5, status="rejected", arguments_text='{"mo'), wanted=wanted).commits == ()
    assert only(call("route", 5), wanted=wanted).verdict == "stale"


# --- when the correction was heard

NO_PLACE = {
    "no words in time": (),
    "the phrase is not there": WORDS[:4],
    "the phrase is there twice": (*WORDS, ("no", 6.5, 7.0), ("Oslo", 7.0, 7.5)),
    "cut before the phrase was over": (*WORDS[:4], ("Oslo.", 5.5, 41.0)),
}


@pytest.mark.parametrize("words", NO_PLACE.values(), ids=NO_PLACE)
@pytest.mark.parametrize("after", [(), (weather(8, "Oslo"),)])
def test_without_a_place_for_the_correction_nothing_is_said_about_time(words: Any, after: tuple[Call, ...]) -> None:
    found = only(weather(5, "Rome"), *after, words=words)
    assert (found.heard_s, found.latency_s) == (None, None)
    assert [c.after_correction for c in found.commits] == [None]
    assert found.verdict == ("repaired" if after else "stale")
    assert UNPLACED in rollback_sentence(found)
    assert "the correction was heard," not in rollback_sentence(found).replace(UNPLACED, "")


def test_late_blocks_and_late_answers_take_the_latency_and_leave_the_rest() -> None:
    late = Delivery(planned_blocks=9, sent_blocks=9, late_p99_s=0.5)
    late_answer = Delivery(planned_blocks=9, sent_blocks=9, late_p99_s=0.0, answer_late_max_s=0.5)
    for delivery in (late, late_answer):
        found = only(weather(5, "Rome"), weather(8, "Oslo"), delivery=delivery)
        assert story(found) == ("repaired", ((0, False),), 1, None)


def test_the_correction_may_come_in_a_later_turn() -> None:
    turns = [says(*WORDS[:3]), says(("No,", 20.0, 20.5), ("Oslo.", 20.5, 21.0))]
    calls = [weather(6, "Rome"), weather(23, "Oslo")]
    found = score(OSLO, conversation(*calls, turns=turns, speech=[(8.0, 10.0), (24.0, 25.0)])).rollback
    assert [story(r) for r in found] == [("repaired", ((0, False),), 1, 2.0)]
    backchannel = Utterance(
        step=1, kind="backchannel", text="no Oslo", start_ticks=0, end_ticks=1, words=turns[1].words
    )
    assert score(OSLO, conversation(*calls, turns=[turns[0], backchannel])).rollback[0].heard_s is None


# --- several values


def test_a_value_corrected_twice_has_two_retractions() -> None:
    """Rome, no, Milan, no, Naples: Milan repairs nothing."""
    words = (("Rome", 1, 2), ("no", 2, 3), ("Milan", 3, 4), ("no", 6, 7), ("Naples", 7, 8))
    retracted = [
        Retraction(tool="weather", args={"city": "Rome"}, until="no Milan"),
        Retraction(tool="weather", args={"city": "Milan"}, until="no Naples"),
    ]
    wanted = scenario(expected("weather", city="Naples"), retracted=retracted)
    calls = [weather(3, "Rome"), weather(5, "Milan"), weather(9, "Naples")]
    assert [story(r) for r in card(*calls, wanted=wanted, words=words).rollback] == [
        ("repaired", ((0, False),), 2, 5.0),
        ("repaired", ((1, False),), 2, 1.0),
    ]
    stuck = card(*calls[:2], wanted=wanted, words=words)
    assert [r.verdict for r in stuck.rollback] == ["stale", "stale"]
    # one call repaired both: it is one rollback, from the last correction it answers
    assert card(*calls, wanted=wanted, words=words).rollback_latencies_s == [1.0]


BOTH = scenario(
    expected("weather", city="Rome"),
    expected("weather", city="Bergen"),
    expected("weather", city="Oslo"),
    retracted=[ROME],
)


@pytest.mark.parametrize(
    ("calls", "expected_story"),
    [
        ([(5, "Rome"), (8, "Bergen"), (9, "Oslo")], ("held", (), 2, None)),
        # Rome once too often: the second call is nobody's
        ([(5, "Rome"), (6, "Rome"), (8, "Bergen"), (9, "Oslo")], ("repaired", ((1, True),), 3, 3.0)),
        # Bergen is right, and no repair
        ([(4, "Rome"), (5, "Rome"), (8, "Bergen")], ("stale", ((1, False),), None, None)),
    ],
)
def test_a_value_that_is_right_in_another_call_is_a_commit_only_where_nobody_wants_it(
    calls: list[tuple[float, str]], expected_story: tuple[Any, ...]
) -> None:
    assert story(only(*(weather(at_s, city) for at_s, city in calls), wanted=BOTH)) == expected_story


def test_a_right_value_beside_a_wrong_one_is_no_commit() -> None:
    wanted = scenario(
        expected("search_flights", destination="Rome", date="2026-06-03"),
        expected("search_flights", destination="Oslo", date="2026-06-03"),
        retracted=[Retraction(tool="search_flights", args={"destination": "Rome"}, until="no Oslo")],
    )
    wrong_day = call("search_flights", 8, args={"destination": "Rome", "date": "2026-06-04"})
    assert only(wrong_day, wanted=wanted).commits == ()


def test_where_the_phrase_names_no_value_the_expected_call_is_the_one_that_the_commit_was_counted_for() -> None:
    sorry = Retraction(tool="weather", args={"city": "Rome"}, until="no")
    wanted = scenario(expected("weather", city="Bergen"), expected("weather", city="Oslo"), retracted=[sorry])
    assert only(weather(4, "Bergen"), weather(5, "Rome"), wanted=wanted).final == {"city": "Oslo"}
    assert only(weather(4, "Oslo"), weather(5, "Rome"), wanted=wanted).final == {"city": "Bergen"}
    assert only(wanted=wanted).final == {"city": "Bergen"}  # nothing tells: the first


def test_an_extra_argument_that_does_not_count_against_pass_is_no_commit() -> None:
    cheap = Retraction(tool="search_products", args={"max_price": 100}, until="no Oslo")
    wanted = scenario(expected("search_products", query="tent"), retracted=[cheap])
    found = card(call("search_products", 8, args={"query": "tent", "max_price": 100}), wanted=wanted)
    assert (found.passed, found.premature_commits) == (True, ())


def test_a_call_that_is_taken_back_altogether_is_held_by_not_making_it() -> None:
    wanted = scenario(expected("ping"), retracted=[ROME])
    assert (only(wanted=wanted).verdict, only(wanted=wanted).final) == ("held", None)
    made = only(weather(5, "Rome"), wanted=wanted)
    assert (made.verdict, made.repaired, made.final) == ("stale", None, None)
    assert rollback_sentence(only(wanted=wanted)) == 'weather city "Rome" -> nothing: rightly never called'


# --- side effects

BANK = {
    name: tool(name, parameter("kind"), parameter("account"), writes=name != "look", answer=answer)
    for name, answer in (("pay", "mock:pay"), ("undo", "mock:undo"), ("look", "mock:look"), ("print", None))
}
SAVINGS = {"kind": "water", "account": "savings"}
JOINT = {"kind": "water", "account": "joint"}


def banked(*calls: Call, name: str = "pay", final: Any = "joint", old: Any = "savings", **states: Any) -> Rollback:
    retracted = [Retraction(tool=name, args={"account": old}, until="no Oslo")]
    wanted = [expected(name, kind="water", account=final)] if final is not None else []
    return only(*calls, wanted=scenario(*wanted, retracted=retracted, tools=BANK), **states)


SAME = {"state_sha256_before": "a", "state_sha256_after": "a", "state": {}}
OTHER = {"state_sha256_before": "a", "state_sha256_after": "b"}
STALE, FIXED, UNDONE = call("pay", 5, args=SAVINGS), call("pay", 8, args=JOINT), call("undo", 9)


@pytest.mark.parametrize(
    ("calls", "more", "left"),
    [
        ((FIXED,), {}, False),
        ((STALE,), SAME, True),  # a mock that keeps nothing
        ((STALE,), OTHER, True),
        ((call("pay", 5, args=SAVINGS, status="failed"),), OTHER, False),
        ((call("pay", 5, args=SAVINGS, status="rejected"),), OTHER, False),
        ((call("pay", 5, args=SAVINGS, status="cancelled"),), SAME, False),
        # corrected: overwritten, beside the old one, nowhere recorded, not recorded by this mock
        ((STALE, FIXED), {**OTHER, "state": {"water": "joint"}}, False),
        ((STALE, FIXED), {**OTHER, "state": [["savings"], ["Joint"]]}, True),
        ((STALE, FIXED), {**OTHER, "state": {"savings": 1, "joint": 1}}, True),
        ((STALE, FIXED), {**OTHER, "state": {"savings": "joint"}}, True),
        ((STALE, FIXED), {**OTHER, "state": {"paid": 2}}, True),
        ((STALE, FIXED), {}, True),
        ((STALE, FIXED), SAME, True),
        # undone by another tool; an undo that came too early, or that failed, undoes nothing
        ((STALE, UNDONE), SAME, False),
        ((STALE, UNDONE), OTHER, True),
        ((STALE, UNDONE), {}, True),  # imported: nobody hashed the state
        ((call("undo", 4), STALE), SAME, True),
        ((STALE, call("undo", 9, status="failed")), SAME, True),
        ((STALE, call("look", 9)), SAME, True),
        ((STALE, UNDONE, call("pay", 12, args=SAVINGS)), SAME, True),
        ((STALE, UNDONE, call("pay", 12, args=JOINT)), {**OTHER, "state": {"water": "joint"}}, False),
    ],
)
def test_a_write_with_the_old_value_stays_unless_the_state_shows_that_it_went(
    calls: tuple[Call, ...], more: dict[str, Any], left: bool
) -> None:
    found = banked(*calls, **more)
    assert found.side_effect_left is left
    assert ("its side effect stays" in rollback_sentence(found)) is left


def test_a_mock_without_state_and_a_reading_tool_are_told_apart() -> None:
    printed = call("print", 5, args=SAVINGS)
    assert banked(printed, call("undo", 9), name="print", **SAME).side_effect_left is True
    assert banked(call("look", 5, args=SAVINGS), name="look").side_effect_left is False


def test_numbers_in_a_state_may_be_sums_and_prove_nothing() -> None:
    calls = [
        call("pay", 5, args={"kind": "water", "account": "2"}),
        call("pay", 8, args={"kind": "water", "account": 3}),
    ]
    assert banked(*calls, old="2", final=3, **OTHER, state={"a": 5, "b": 3}).side_effect_left is True
    numbered = [call("pay", 5, args={"kind": "water", "account": 2}), FIXED]
    assert banked(*numbered, old=2, **OTHER, state={"a": "joint", "b": 4}).side_effect_left is True


def test_a_call_taken_back_altogether_can_be_undone() -> None:
    assert banked(STALE, UNDONE, final=None, **SAME).side_effect_left is False
    assert banked(STALE, final=None, **SAME).side_effect_left is True


def test_nobody_knows_whether_a_tool_that_the_suite_lacks_writes() -> None:
    retracted = [Retraction(tool="gone", args={"x": "a"}, until="no Oslo")]
    found = only(call("gone", 5, args={"x": "a"}), wanted=scenario(retracted=retracted))
    assert found.side_effect_left is None
    assert "whether a side effect stays cannot be told" in rollback_sentence(found)


# --- what was said


@pytest.mark.parametrize(
    ("said", "speech", "old", "new", "end"),
    [
        ([], [(8.0, 9.0)], None, None, ", repaired 2.00 s after the correction was heard"),
        (["It rains in Rome."], [(8.0, 9.0)], True, False, "; the agent said the old value"),
        (["It rains in Oslo."], [(8.0, 9.0)], False, True, "; the agent said the new value"),
        (["Not Rome,", "Oslo."], [(8.0, 9.0)], True, True, "; the agent said the old value and the new value"),
        (["Done."], [(8.0, 9.0)], False, False, "; the agent said neither"),
        (["It rains in Rome."], [], False, False, "; the agent said neither"),  # never audible
    ],
)
def test_what_the_agent_was_heard_to_say_is_told(said: list[str], speech: Any, old: Any, new: Any, end: str) -> None:
    found = only(weather(5, "Rome"), weather(8, "Oslo"), said=[heard(text) for text in said], speech=speech)
    assert (found.said_retracted, found.said_final) == (old, new)
    assert rollback_sentence(found).endswith(end)


@pytest.mark.parametrize(
    ("times_s", "told"),
    [
        (
            (5, 7, 8.5),
            "called with the old value 2 times, first 1.00 s before the correction was heard, "
            "repaired 2.50 s after the correction was heard, its side effect stays; the agent said the old value",
        ),
        (
            (7, 8.5),
            "called with the old value 1.00 s after the correction was heard, repaired 1.50 s later, "
            "its side effect stays; the agent said the old value",
        ),
    ],
)
def test_a_sentence_tells_the_whole_story(times_s: tuple[float, ...], told: str) -> None:
    *stale, right = times_s
    calls = [*(call("pay", at_s, args=SAVINGS) for at_s in stale), call("pay", right, args=JOINT)]
    found = rollback_sentence(banked(*calls, said=[heard("From savings.")]))
    assert found == f'pay account "savings" -> "joint": {told}'


@given(st.text(), st.text())
def test_nothing_that_others_wrote_acts_on_the_terminal(name: str, value: str) -> None:
    retracted = [Retraction(tool=name, args={name: value}, until="no Oslo")]
    found = rollback_sentence(only(call(name, 5, args={name: value}), wanted=scenario(retracted=retracted)))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", found)


# --- laws

ODD_WORDS = st.lists(
    st.tuples(st.sampled_from(["no", "Oslo", "no,", "--", "", "x"]), st.integers(-10, 10**6), st.integers(-10, 10**6)),
    max_size=5,
)
ODD_RETRACTIONS = st.lists(
    st.builds(
        Retraction,
        tool=st.sampled_from([*TOOLS, "nobody"]),
        args=st.dictionaries(
            st.sampled_from(["city", "date", "quantity", "x"]),
            st.sampled_from(["Rome", "2026-06-01", 1, None, [1]]),
            max_size=2,
        ),
        until=st.sampled_from(["no Oslo", "", "--", "x"]),
    ),
    max_size=3,
)


def odd_conversation(calls: list[Call], words: list[Any], speech: Any) -> Conversation:
    placed = tuple(Word(text=t, start_ticks=a, end_ticks=b) for t, a, b in words)
    spoken = Utterance(step=0, kind="turn", text="x", start_ticks=0, end_ticks=9, words=placed)
    return conversation(*calls, turns=[spoken], speech=speech, said=[heard("Rome")], state={"a": [1, None, "Rome"]})


@given(calls=ODD_CALLS, words=ODD_WORDS, retracted=ODD_RETRACTIONS, speech=ODD_SPEECH)
def test_no_conversation_makes_it_raise_and_what_has_no_place_in_time_has_no_time(
    calls: list[Call], words: list[Any], retracted: list[Retraction], speech: Any
) -> None:
    wanted = scenario(expected("weather", city="Oslo"), expected("add_to_cart", product_id="P1"), retracted=retracted)
    found = score(wanted, odd_conversation(calls, words, speech))
    assert [r.retraction for r in found.rollback] == list(range(len(retracted)))
    for entry in found.rollback:
        assert (entry.verdict in ("repaired", "stale")) == bool(entry.commits)
        assert (entry.heard_s is None) == (UNPLACED in rollback_sentence(entry))
        if entry.heard_s is None:
            assert entry.latency_s is None
            assert all(c.after_correction is None for c in entry.commits)
        assert "\n" not in rollback_sentence(entry)
    assert found == score(wanted, odd_conversation(calls, words, speech))


@given(st.permutations([weather(5, "Rome"), weather(7, "Rome"), weather(7, "Oslo"), weather(9, "Oslo")]))
def test_the_order_of_the_log_changes_nothing(calls: list[Call]) -> None:
    found = only(*calls)
    assert (found.verdict, found.latency_s, len(found.commits)) == ("repaired", 3.0, 2)


def test_a_final_value_that_is_a_reference_has_no_words_of_its_own() -> None:
    taken_back = Retraction(tool="book_flight", args={"flight_id": "FL1"}, until="no Oslo")
    wanted = scenario(
        expected("weather", city="Oslo"),
        expected("book_flight", passenger_name="Ada", flight_id="$RESULT_0.id"),
        retracted=[taken_back],
    )
    calls = (
        weather(7, "Oslo", result={"id": "FL2"}),
        call("book_flight", 8, args={"passenger_name": "Ada", "flight_id": "FL2"}),
    )
    found = only(*calls, wanted=wanted, said=(heard("Booked."),))
    assert (found.final, found.verdict, found.corrected, found.said_final) == ({}, "held", 1, None)
    assert '"FL1" -> another value' in rollback_sentence(found)


@pytest.mark.parametrize(("duration_s", "heard_s"), [(HEARD_S, HEARD_S), (HEARD_S - 1 / 24_000, None)])
def test_a_correction_that_ends_with_the_conversation_was_heard(duration_s: float, heard_s: float | None) -> None:
    assert only(weather(5, "Rome"), duration_s=duration_s).heard_s == heard_s
