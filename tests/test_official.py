"""The official rules, clause by clause, and all of them written anew from their description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from builders import call, conversation, expected, heard, scenario, span, turn
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.codec import from_json, to_json
from pytest_voicebench.conversation import Call, Conversation, Reported, Transcribed, Word, to_ticks
from pytest_voicebench.metrics.official import official_card
from pytest_voicebench.metrics.official_calls import is_equal
from pytest_voicebench.metrics.official_record import logged_calls, official_record
from pytest_voicebench.official_card import JUDGED_ONLY, OfficialCard
from pytest_voicebench.scenario import Scenario


def card(wanted: Scenario, *calls: Call, **kw: Any) -> OfficialCard:
    return official_card(wanted, conversation(*calls, **kw))


@pytest.mark.parametrize(
    ("wanted", "given_value"),
    [
        ("New York", "new york"),
        ("New York", "  NEW YORK\n"),
        ("credit_card", "credit card"),
        ("credit card", "CREDIT_CARD"),
        ("", "   "),
        ("$RESULT_0.flights[0].flight_id", "F10"),
        ("$RESULT_0.id", ""),
        ("$RESULT_0.id", None),
        ("$500", "$9"),  # taken for a reference
        ("$", 7),
        (25, 25.0),
        (1, True),
        (True, 1.0),
        (0, False),
        (None, None),
        (["a", 1], ["a", 1.0]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_exact_mode_takes_as_equal(wanted: Any, given_value: Any) -> None:
    assert is_equal(wanted, given_value)


@pytest.mark.parametrize(
    ("wanted", "given_value"),
    [
        (1800, "1800"),
        ("1800", 1800),
        (True, "true"),
        ("yes", True),
        ("ABC123", "A B C 1 2 3"),
        ("ABC123", "ABC-123"),
        ("July 15", "2026-07-15"),
        ("keyboards", "keyboard"),
        ("the gym", "gym"),
        ("a b", "a  b"),  # spaces inside are not collapsed
        ("_a", "a"),  # stripped before `_` becomes a space
        (" $RESULT_0.id", "F10"),  # not at its start
        ("F10", "$RESULT_0.id"),  # only an expected text is a reference
        (0.3, 0.1 + 0.2),
        (100, 105),
        (None, ""),
        (None, 0),
        (["Red"], ["red"]),  # no folding inside a list
        ([1, 2], [2, 1]),
        ("café", "cafe\u0301"),
    ],
)
def test_exact_mode_takes_as_different(wanted: Any, given_value: Any) -> None:
    assert not is_equal(wanted, given_value)


PING = expected("ping")
OSLO, BERGEN = expected("weather", city="Oslo"), expected("weather", city="Bergen")


@pytest.mark.parametrize(
    ("wanted", "made", "recall", "precision", "f1"),
    [
        ((), (), 1.0, 1.0, 1.0),
        ((), ("ping",), 1.0, 0.0, 0.0),
        ((PING,), (), 0.0, 1.0, 0.0),
        ((PING,), ("weather",), 0.0, 0.0, 0.0),
        ((PING,), ("Ping",), 0.0, 0.0, 0.0),
        ((PING,), ("ping",) * 3, 1.0, 0.333, 0.5),
        ((PING, PING), ("ping",), 0.5, 1.0, 0.667),
        ((PING, PING), ("ping", "ping"), 1.0, 1.0, 1.0),
        ((PING, OSLO, PING), ("weather", "track_order"), 0.333, 0.5, 0.4),
        ((PING, PING, OSLO), ("ping", "ping", "ping"), 0.667, 0.667, 0.667),
    ],
)
def test_tools_are_compared_as_multisets_of_names(
    wanted: Any, made: Sequence[str], recall: float, precision: float, f1: float
) -> None:
    tools = card(scenario(*wanted), *(call(name, 11.0 + n) for n, name in enumerate(made))).tools
    assert (tools.recall, tools.precision, tools.f1) == (recall, precision, f1)
    assert (tools.expected, tools.actual) == (len(wanted), len(made))
    assert tools.matched + len(tools.missing) == tools.expected
    assert tools.matched + len(tools.unexpected) == tools.actual


def test_left_over_names_keep_their_order() -> None:
    tools = card(scenario(OSLO, PING, BERGEN), call("track_order"), call("weather"), call("add_to_cart")).tools
    assert tools.missing == ("ping", "weather")
    assert tools.unexpected == ("track_order", "add_to_cart")


def made(name: str, **args: Any) -> Call:
    return call(name, args=args)


@pytest.mark.parametrize(
    ("wanted", "calls", "verdicts", "accuracy", "failure"),
    [
        ((), (), [], 1.0, None),
        ((), (made("ping"),), [], 1.0, "wrong_tools"),
        ((OSLO,), (made("weather", city="oslo", unit="C"),), ["match"], 1.0, None),  # extra keys are free
        ((OSLO,), (made("weather"),), ["missing_argument"], 0.0, "wrong_arguments"),
        ((OSLO,), (), ["never_called"], 0.0, "wrong_tools"),
        ((OSLO, BERGEN), (made("weather", city="Oslo"),), ["match", "never_called"], 0.5, "wrong_tools"),
        (  # the first call not yet used is judged, though another would be right
            (OSLO, BERGEN),
            (made("weather", city="Bergen"), made("weather", city="Oslo")),
            ["mismatch", "mismatch"],
            0.0,
            "wrong_arguments",
        ),
        (  # a stale call uses up the expected one
            (OSLO,),
            (made("weather", city="Rome"), made("weather", city="Oslo")),
            ["mismatch"],
            0.0,
            "wrong_tools",
        ),
        (
            (PING, PING, OSLO),
            (made("weather", city="Oslo"), made("ping")),
            ["match", "never_called", "match"],
            0.667,
            "wrong_tools",
        ),
        (  # a reference must be there, whatever its value
            (expected("book_flight", flight_id="$RESULT_0.id"),),
            (made("book_flight"),),
            ["missing_argument"],
            0.0,
            "wrong_arguments",
        ),
        (  # a reference in the wrong place of the log is not asked for
            (OSLO, expected("book_flight", flight_id="$RESULT_0.id")),
            (made("book_flight", flight_id=None), made("weather", city="Oslo")),
            ["match", "match"],
            1.0,
            None,
        ),
    ],
)
def test_arguments_are_judged_call_by_call(
    wanted: Any, calls: Any, verdicts: Any, accuracy: float, failure: str | None
) -> None:
    found = card(scenario(*wanted), *calls)
    assert [c.verdict for c in found.calls] == verdicts
    assert [c.score for c in found.calls] == [float(c.verdict == "match") for c in found.calls]
    assert (found.argument_accuracy, found.failure) == (accuracy, failure)
    assert found.passed == (failure is None)


def test_the_first_fault_in_the_order_written_is_the_reason() -> None:
    wanted = expected("search_products", query="gift", category="toys", max_price=10)
    found = card(scenario(wanted), made("search_products", max_price=10, query="Socks")).calls[0]
    assert (found.verdict, found.argument, found.expected, found.actual) == ("mismatch", "query", "gift", "Socks")
    assert found.reason == "argument query: expected 'gift', got 'Socks'"
    found = card(scenario(wanted), made("search_products", max_price=11, query="Gift")).calls[0]
    assert (found.verdict, found.argument, found.reason) == (
        "missing_argument",
        "category",
        "argument category is missing",
    )


def test_wrong_tools_hide_wrong_arguments() -> None:
    assert card(scenario(OSLO), made("weather", city="Rome"), made("ping")).failure == "wrong_tools"


def test_speech_is_no_condition_of_passing() -> None:
    found = card(scenario(OSLO), made("weather", city="Oslo"), speech=[])
    assert found.passed
    assert not found.turn_taken


def test_only_calls_that_ran_are_in_the_official_log_unless_it_reported_them() -> None:
    calls = [call("ping", 11.0 + n, status=s) for n, s in enumerate(("executed", "failed", "rejected", "cancelled"))]
    assert logged_calls(conversation(*calls)) == tuple(calls[:2])
    reported = [replace(c, self_reported=True) for c in calls]
    assert logged_calls(conversation(*reported)) == tuple(reported)


def test_calls_keep_the_order_of_the_log_whatever_their_times() -> None:
    found = card(scenario(OSLO), call("weather", 14.2, args={"city": "Oslo"}), call("ping", 13.1), turns=[turn(1, 12)])
    assert found.tool_call_latency_s == 2.2


def test_what_only_a_judge_can_say_is_none_with_the_reason() -> None:
    found = card(scenario())
    assert (found.response_quality, found.task_completion_latency_s) == (None, None)
    assert found.unmeasured == {"tool_call_latency_s": "no call", **JUDGED_ONLY}


def words(*times_s: tuple[float, float]) -> tuple[Word, ...]:
    return tuple(Word(text="w", start_ticks=to_ticks(a), end_ticks=to_ticks(b)) for a, b in times_s)


@pytest.mark.parametrize(
    ("turns", "end_s"),
    [
        ([turn(1.0, 10.0)], 10.0),
        ([replace(turn(1.0, 10.0), words=words((1.0, 1.5), (4.0, 9.5)))], 1.5),  # a long pause is taken for the end
        ([replace(turn(1.0, 10.0), words=words((1.0, 1.5), (3.5, 9.5)))], 9.5),  # exactly 2.0 s is no such pause
        ([replace(turn(1.0, 10.0), speech=(span(1.0, 2.0), span(4.5, 10.0)))], 2.0),
        ([turn(1.0, 3.0), turn(4.0, 6.0, step=1)], 6.0),
        ([turn(1.0, 3.0), turn(9.0, 12.0, step=1)], 3.0),
        ([turn(9.0, 12.0, step=1), turn(1.0, 3.0)], 3.0),
    ],
)
def test_the_users_end_lies_before_the_first_gap_of_more_than_two_seconds(turns: Any, end_s: float) -> None:
    assert card(scenario(), turns=turns).user_end_s == end_s


def test_without_a_word_of_the_user_nothing_is_measured() -> None:
    silent = replace(conversation(made("ping")), utterances=())
    found = official_card(scenario(PING), silent)
    assert (found.user_end_s, found.response_latency_s, found.interruption) == (None, None, None)
    assert found.unmeasured["response_latency_s"] == "the user's end is unknown"


@pytest.mark.parametrize(
    ("speech", "said", "taken", "start_s", "first_s"),
    [
        ([(12.0, 15.0)], (), True, 2.0, 2.0),  # heard speech stands for words where there are none
        ([(0.2, 0.9), (12.0, 15.0)], (), True, -9.8, -9.8),  # a greeting counts as the answer
        ([], (heard("Hello"),), False, None, None),  # a text that nobody heard
        (None, (heard("Hello"),), True, None, None),  # nobody listened, so the text stands
        (None, (), False, None, None),
        ([(12.0, 15.0)], (replace(heard("Hi you"), words=words((12.4, 12.6), (12.6, 13.0))),), True, 2.0, 2.4),
    ],
)
def test_turns_and_times_of_our_own_conversations(
    speech: Any, said: Any, taken: bool, start_s: float | None, first_s: float | None
) -> None:
    found = card(scenario(), speech=speech, said=said)
    assert (found.turn_taken, found.response_latency_s, found.first_response_latency_s) == (taken, start_s, first_s)
    assert found.interruption == (None if start_s is None else start_s < 0)
    assert found.inputs == "derived"


def test_speech_without_word_times_stands_beside_words() -> None:
    said = Transcribed(speaker="agent", text="Done.", at_ticks=to_ticks(20.0), words=words((20.1, 20.5)))
    talk = conversation(speech=((12.0, 14.0), (20.0, 21.0)), said=(said,))
    assert [w[1:] for w in official_record(talk).words] == [(12.0, 14.0), (20.1, 20.5)]


def test_words_of_the_user_are_none_of_the_agents() -> None:
    said = Transcribed(speaker="user", text="Hello.", at_ticks=to_ticks(2.0), words=words((2.0, 2.5)))
    talk = conversation(speech=((12.0, 14.0),), said=(said,))
    assert [w[1:] for w in official_record(talk).words] == [(12.0, 14.0)]


def test_the_transcript_is_what_was_heard() -> None:
    said = (heard("Your total is 90", heard_text="Your"), heard("one order", speaker="user"), heard("Sorry"))
    assert official_record(conversation(said=said)).transcript == "Your Sorry"


def reported(**kw: Any) -> Conversation:
    held = conversation(call("ping", 17.91, self_reported=True), speech=((3.0, 4.0),), said=(heard("Hi"),))
    return replace(held, reported=Reported(provider="p", status="completed", **kw))


@pytest.mark.parametrize(
    ("given_values", "response_s", "interruption", "first_s", "tool_s", "taken"),
    [
        ({}, None, None, None, None, False),
        ({"user_end_s": 0.0, "agent_start_s": 3.5}, 3.5, False, None, 17.91, False),
        ({"user_end_s": 9.0, "agent_start_s": 8.9996}, -0.0, False, None, 8.91, False),
        ({"user_end_s": 9.0, "agent_start_s": 8.9994}, -0.001, True, None, 8.91, False),
        ({"user_end_s": 9.0, "agent_start_s": 45.84}, 36.84, False, None, 8.91, False),
        ({"user_end_s": 9.0, "transcript": "Hi"}, None, None, None, 8.91, True),
        ({"user_end_s": 9.0, "transcript": " \n"}, None, None, None, 8.91, False),
        ({"user_end_s": 9.0, "words": (("hi", 8.0, 8.2), ("hi", 7.0, 7.2))}, None, None, -1.0, 8.91, True),
        ({"user_end_s": 9.0, "words": (("hi", None, None), ("you", 9.5, 9.7))}, None, None, None, 8.91, True),
        ({"user_words": (("hi", 1.0, 2.0),)}, None, None, None, None, False),
    ],
)
def test_reported_values_are_taken_raw_and_alone(
    given_values: Any, response_s: Any, interruption: Any, first_s: Any, tool_s: Any, taken: bool
) -> None:
    found = official_card(scenario(PING), reported(**given_values))
    assert (found.response_latency_s, found.interruption) == (response_s, interruption)
    assert (found.first_response_latency_s, found.tool_call_latency_s) == (first_s, tool_s)
    assert (found.turn_taken, found.inputs) == (taken, "reported")


@pytest.mark.parametrize(
    ("starts_s", "latency_s", "why"),
    [
        ((17.9104999,), 8.91, None),
        ((17.9105001,), 8.911, None),  # finer than a tick
        ((None,), None, "a call without a time"),
        ((20.0, 13.1), 11.0, None),
        ((), 8.91, None),
    ],
)
def test_reported_starts_of_calls_go_before_their_ticks(starts_s: Any, latency_s: Any, why: str | None) -> None:
    found = official_card(scenario(PING), reported(user_end_s=9.0, call_starts_s=starts_s))
    assert found.tool_call_latency_s == latency_s
    assert found.unmeasured.get("tool_call_latency_s") == why


def test_a_card_comes_back_from_json() -> None:
    found = card(scenario(OSLO, PING), made("weather", city=["x", {"y": None}]))
    assert from_json(OfficialCard, to_json(found)) == found


# The rules once more, written from their description alone.

NAMES = st.sampled_from(["ping", "weather", "track_order"])
VALUES = st.sampled_from(["Oslo", "oslo ", "os_lo", "os lo", "$R", "1", 1, 1.0, True, False, 0, None, "", "  "])
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), max_size=5)
SECONDS = st.none() | st.integers(0, 400).map(lambda n: n / 8)


def same(wanted: object, value: object) -> bool:
    if isinstance(wanted, str) and wanted[:1] == "$":
        return True
    if isinstance(wanted, str) and isinstance(value, str):
        return wanted.lower().strip().replace("_", " ") == value.lower().strip().replace("_", " ")
    return wanted == value


def right(wanted: Mapping[str, Any], given_arguments: Mapping[str, Any]) -> bool:
    return all(key in given_arguments and same(wanted[key], given_arguments[key]) for key in wanted)


@given(CALLS, CALLS)
def test_tool_use_agrees_with_the_rules_written_anew(wanted: Any, log: Any) -> None:
    found = card(scenario(*(expected(n, **a) for n, a in wanted)), *(call(n, args=a) for n, a in log))

    hits = sum((Counter(n for n, _ in wanted) & Counter(n for n, _ in log)).values())
    recall = hits / len(wanted) if wanted else 1.0
    precision = hits / len(log) if log else 1.0
    f1 = 0.0 if recall == precision == 0 else 2 / (1 / recall + 1 / precision) if recall and precision else 0.0
    assert found.tools.f1 == pytest.approx(f1, abs=0.0005 + 1e-9)
    assert (found.tools.recall, found.tools.precision) == (round(recall, 3), round(precision, 3))

    used: set[int] = set()
    scores = []
    for name, arguments in wanted:
        free = [n for n, (other, _) in enumerate(log) if other == name and n not in used]
        used |= set(free[:1])
        scores.append(1.0 if free and right(arguments, log[free[0]][1]) else 0.0)
    assert [c.score for c in found.calls] == scores
    assert found.argument_accuracy == (round(sum(scores) / len(scores), 3) if scores else 1.0)
    assert found.passed == (hits == len(wanted) == len(log) and all(scores))


@given(SECONDS, SECONDS, st.lists(st.tuples(SECONDS, SECONDS), max_size=3), st.sampled_from(["", " ", "Hi"]))
def test_times_agree_with_the_rules_written_anew(end_s: Any, start_s: Any, heard_words: Any, text: str) -> None:
    told = Reported(
        provider="p",
        status="completed",
        user_end_s=end_s,
        agent_start_s=start_s,
        transcript=text,
        words=tuple(("w", a, b) for a, b in heard_words),
    )
    found = official_card(scenario(), replace(conversation(call("ping", 20.5)), reported=told))
    assert found.turn_taken == (text == "Hi" or len(heard_words) > 0)
    assert found.response_latency_s == (None if None in (end_s, start_s) else start_s - end_s)
    assert found.interruption == (None if None in (end_s, start_s) else start_s < end_s)
    first = heard_words[0][0] if heard_words else None
    assert found.first_response_latency_s == (None if None in (end_s, first) else first - end_s)
    assert found.tool_call_latency_s == (None if end_s is None else 20.5 - end_s)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), min_size=1, max_size=8))
def test_the_users_end_agrees_with_the_rule_written_anew(gaps_and_lengths: Any) -> None:
    now, times = 0.0, []
    for gap, length in gaps_and_lengths:
        times.append((now + gap / 8, now + (gap + length) / 8))
        now = times[-1][1]
    end = times[-1][1]
    for n in range(len(times) - 1):
        if times[n + 1][0] - times[n][1] > 2.0:
            end = times[n][1]
            break
    said = replace(turn(times[0][0], now), words=words(*times))
    assert card(scenario(), turns=[said]).user_end_s == end
