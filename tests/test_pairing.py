"""Pairing of expected and actual calls, and the scores that follow from it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from builders import call, expected, parameter, scenario, tool
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.conversation import Call
from pytest_voicebench.metrics.arguments import rules_of
from pytest_voicebench.metrics.assignment import assign
from pytest_voicebench.metrics.calls import CallScores, call_scores, f1, in_order, surplus_calls
from pytest_voicebench.metrics.pairing import pair_calls
from pytest_voicebench.scenario import ExpectedCall
from pytest_voicebench.scorecard import Pair


def pair(wanted: list[ExpectedCall], calls: list[Call]) -> tuple[Pair, ...]:
    return pair_calls(wanted, calls, rules_of(scenario(*wanted)))


def scores(wanted: list[ExpectedCall], calls: list[Call]) -> CallScores:
    return call_scores(pair(wanted, calls), len(calls))


# --- assignment


@given(st.integers(1, 4).flatmap(lambda rows: st.integers(1, 5).flatmap(lambda columns: st.lists(
    st.lists(st.integers(1, 6), min_size=columns, max_size=columns), min_size=rows, max_size=rows))))  # fmt: skip
def test_the_assignment_is_the_first_of_the_best(weights: list[list[int]]) -> None:
    """Against all assignments, tried one by one."""
    rows, columns = len(weights), len(weights[0])
    places: list[int | None] = [*range(columns), *([None] * max(0, rows - columns))]

    def quality(one: tuple[int | None, ...]) -> tuple[int, list[int]]:
        total = sum(weights[i][j] for i, j in enumerate(one) if j is not None)
        return (-total, [columns if j is None else j for j in one])

    assert assign(weights) == min(permutations(places, rows), key=quality)


def test_a_hundred_equal_calls_are_assigned_at_once() -> None:
    assert assign([[1] * 100] * 100) == tuple(range(100))


# --- faults


def test_two_calls_of_one_tool_in_the_other_order_are_both_right() -> None:
    """A1."""
    wanted = [
        expected("get_exchange_rate", amount=50, from_currency="USD", to_currency="EUR"),
        expected("get_exchange_rate", amount=100, from_currency="CAD", to_currency="USD"),
    ]
    calls = [
        call("get_exchange_rate", 11, args={"amount": 100, "from_currency": "CAD", "to_currency": "USD"}),
        call("get_exchange_rate", 12, args={"amount": 50, "from_currency": "USD", "to_currency": "EUR"}),
    ]
    assert [p.actual for p in pair(wanted, calls)] == [1, 0]
    assert scores(wanted, calls).argument_accuracy == 1.0


def test_one_call_satisfies_one_expectation() -> None:
    """A3."""
    wanted = [expected("add_to_cart", product_id="P1"), expected("add_to_cart", product_id="P1")]
    found = scores(wanted, [call("add_to_cart", args={"product_id": "P1"})])
    assert (found.recall, found.precision, found.argument_accuracy) == (0.5, 1.0, 0.5)


def test_equal_calls_are_told_apart_by_their_place() -> None:
    """A4."""
    wanted = [expected("ping"), expected("ping")]
    found = scores(wanted, [call("ping", 11), call("ping", 11)])
    assert (found.f1_names, found.f1_match, found.f1_strict) == (1.0, 1.0, 1.0)


def test_repeating_a_right_call_costs_precision() -> None:
    """A5."""
    calls = [call("weather", at, args={"city": "Oslo"}) for at in (11, 12, 13)]
    found = scores([expected("weather", city="Oslo")], calls)
    assert (found.precision, found.recall, found.f1_names) == (1 / 3, 1.0, 0.5)


def test_no_expected_call_is_right_only_if_none_was_made() -> None:
    assert scores([], []).f1_names == 1.0
    found = scores([], [call("ping")])
    assert (found.f1_names, found.precision, found.argument_accuracy) == (0.0, 0.0, None)


def test_name_f1_and_argument_f1_stand_side_by_side() -> None:
    """A8: right names with invented arguments."""
    wanted = [expected("weather", city="Oslo"), expected("track_order", order_id="A1")]
    calls = [call("weather", args={"city": "Rome"}), call("track_order", 12, args={"order_id": "A1", "speed": "fast"})]
    calls += [call("search_flights", 13 + n, args={}) for n in range(8)]
    found = scores(wanted, calls)
    assert (found.f1_names, found.f1_match, found.f1_strict) == (4 / 12, 2 / 12, 0.0)
    assert surplus_calls(pair(wanted, calls), len(calls)) == tuple(range(2, 10))


def test_a_stale_call_followed_by_the_corrected_one_pairs_with_the_best() -> None:
    wanted = [expected("search_flights", destination="Milan", date="2026-06-03")]
    calls = [
        call("search_flights", 9, args={"destination": "Rome", "date": "June 3"}),
        call("search_flights", 12, args={"destination": "Milan", "date": "June 3"}),
    ]
    found = pair(wanted, calls)
    assert (found[0].actual, found[0].matches) == (1, True)
    assert surplus_calls(found, 2) == (0,)


def test_an_argument_is_right_or_the_whole_call_is_wrong() -> None:
    """Argument accuracy is over calls: 1 of 3 wrong currencies gives 2/3, whatever else was right in that call."""
    wanted = [
        expected("get_exchange_rate", amount=50, from_currency="USD", to_currency="EUR"),
        expected("ping"),
        expected("track_order", order_id="A1"),
    ]
    calls = [
        call("get_exchange_rate", args={"amount": 50, "from_currency": "USD", "to_currency": "NGN"}),
        call("ping", 12),
        call("track_order", 13, args={"order_id": "a-1"}),
    ]
    assert scores(wanted, calls).argument_accuracy == 2 / 3


def test_a_default_may_be_left_out_or_said() -> None:
    """B9."""
    given_default = call("add_to_cart", args={"product_id": "P1", "quantity": 1})
    left_out = call("add_to_cart", args={"product_id": "P1"})
    for wanted in (expected("add_to_cart", product_id="P1", quantity=1), expected("add_to_cart", product_id="P1")):
        for made in (given_default, left_out):
            assert pair([wanted], [made])[0].strict, (wanted, made)


def test_an_extra_argument_is_listed_and_fails_the_strict_comparison_only() -> None:
    """B9; it does not count against Pass, so the pair matches."""
    made = call("search_products", args={"query": "desk", "max_price": 1, "colour": None})
    found = pair([expected("search_products", query="desk")], [made])[0]
    assert (found.matches, found.strict, found.extra) == (True, False, ("max_price",))
    allowed = pair([expected("search_products", query="desk", allow_extra=("max_price",))], [made])[0]
    assert (allowed.strict, allowed.extra) == (True, ())


def test_figures_as_text_match_but_not_strictly() -> None:
    """B1."""
    found = pair(
        [expected("search_products", query="desk", max_price=1200)],
        [call("search_products", args={"query": "desk", "max_price": "1200"})],
    )[0]
    assert (found.matches, found.strict, found.arguments[1].notes) == (True, False, ("type_mismatch",))


def test_close_figures_are_three_mismatches() -> None:
    """B7."""
    wanted = expected("reserve", quantity=20, account=100234, amount=1000)
    found = pair([wanted], [call("reserve", args={"quantity": 21, "account": 104999, "amount": 1050})])[0]
    assert [a.verdict for a in found.arguments] == ["mismatch"] * 3


def test_a_cut_identifier_fails() -> None:
    """B19."""
    assert not pair([expected("track_order", order_id="P52")], [call("track_order", args={"order_id": "P5"})])[
        0
    ].matches


def test_calls_that_broke_are_counted_and_never_match() -> None:
    """H3, H4: broken arguments keep the call in precision; an expectation without arguments is not met by it."""
    broken = call("ping", status="rejected", arguments_text='{"city": "Par')
    assert not pair([expected("ping")], [broken])[0].matches
    assert scores([expected("ping")], [broken]).f1_names == 1.0
    assert scores([expected("ping")], [broken]).argument_accuracy == 0.0
    sound = call("ping", 12)
    assert pair([expected("ping")], [broken, sound])[0].actual == 1  # the sound one is counted for it
    unknown = call("delete_account", status="rejected")
    assert scores([expected("ping")], [sound, unknown]).precision == 0.5


def test_of_calls_that_fit_alike_the_earlier_is_meant_and_of_one_moment_the_first_by_its_arguments() -> None:
    rome = [expected("weather", city="Rome")]
    bern, oslo = (call("weather", 11.0, args={"city": city}) for city in ("Bern", "Oslo"))
    assert pair(rome, [oslo, bern])[0].actual == 1  # Bern, wherever it was logged
    assert pair(rome, [bern, oslo])[0].actual == 0
    later = call("weather", 11.5, args={"city": "Athens"})
    assert pair(rome, [oslo, later])[0].actual == 0
    assert pair(rome, [bern, oslo, later])[0].actual == 0


def test_a_runaway_agent_is_paired_all_the_same() -> None:
    wanted = [expected("weather", city="Oslo"), expected("weather", city="Rome"), expected("weather", city="Bern")]
    calls = [call("weather", 1 + n / 100, args={"city": "Nowhere"}) for n in range(3000)]
    calls += [call("weather", 40, args={"city": c}) for c in ("Bern", "Rome", "Oslo")]
    assert [p.actual for p in pair(wanted, calls)] == [3002, 3001, 3000]


# --- references

SEARCH = expected("search_flights", destination="Oslo")
BOOK = expected("book_flight", passenger_name="Ann", flight_id="$RESULT_0.flights[0].flight_id")
FOUND = {"flights": [{"flight_id": "F10"}, {"flight_id": "F11"}]}


def booked(flight_id: Any, at_s: float = 12.0) -> list[Call]:
    return [
        call("search_flights", 11, args={"destination": "Oslo"}, result=FOUND),
        call("book_flight", at_s, args={"passenger_name": "Ann", "flight_id": flight_id}),
    ]


@pytest.mark.parametrize(
    ("given_id", "matches"), [("F10", True), ("f-10", True), ("F11", False), ("", False), (None, False), ("F1", False)]
)
def test_only_the_referred_value_passes(given_id: Any, matches: bool) -> None:
    """B5."""
    assert pair([SEARCH, BOOK], booked(given_id))[1].matches is matches


def test_any_element_passes_where_the_path_says_so() -> None:
    """B5."""
    wanted = expected("book_flight", passenger_name="Ann", flight_id="$RESULT_0.flights[*].flight_id")
    assert pair([SEARCH, wanted], booked("F11"))[1].matches
    assert not pair([SEARCH, wanted], booked("F12"))[1].matches


def test_a_dollar_amount_is_a_literal() -> None:
    """B5: both arguments fail."""
    wanted = expected("book_flight", flight_id="$RESULT_0.flights[0].flight_id", budget="$500")
    made = [booked("F10")[0], call("book_flight", 12, args={"flight_id": "", "budget": "$9"})]
    assert [a.verdict for a in pair([SEARCH, wanted], made)[1].arguments] == ["mismatch", "mismatch"]


def test_a_reference_to_a_call_never_made_cannot_be_told() -> None:
    """B5: unresolvable is not a pass."""
    found = pair([SEARCH, BOOK], booked("F10")[1:])[1]
    assert (found.arguments[1].verdict, found.arguments[1].notes) == ("cannot_tell", ("unresolved_reference",))
    assert not found.matches


def test_a_reference_is_resolved_against_the_call_paired_with_it() -> None:
    """Two searches in the other order: the booking must use the result of the right one."""
    wanted = [
        expected("search_flights", destination="Oslo"),
        expected("search_flights", destination="Rome"),
        expected("book_flight", flight_id="$RESULT_1.flights[0].flight_id"),
    ]
    calls = [
        call("search_flights", 11, args={"destination": "Rome"}, result={"flights": [{"flight_id": "R1"}]}),
        call("search_flights", 12, args={"destination": "Oslo"}, result={"flights": [{"flight_id": "O1"}]}),
        call("book_flight", 13, args={"flight_id": "R1"}),
    ]
    assert all(p.matches for p in pair(wanted, calls))
    wrong = [*calls[:2], call("book_flight", 13, args={"flight_id": "O1"})]
    assert not pair(wanted, wrong)[2].matches


def test_references_are_followed_through_several_calls_and_into_lists() -> None:
    wanted = [
        expected("a"),
        expected("b", x="$RESULT_0.id"),
        expected("c", y=["$RESULT_1.id", "plain"], z={"w": "$RESULT_0.id"}),
    ]
    calls = [
        call("a", 11, result={"id": "A1"}),
        call("b", 12, args={"x": "A1"}, result={"id": "B1"}),
        call("c", 13, args={"y": ["B1", "plain"], "z": {"w": "A1"}}),
    ]
    assert all(p.matches for p in pair(wanted, calls))


def test_references_in_a_circle_end_unresolved() -> None:
    wanted = [expected("a", x="$RESULT_1.id"), expected("b", x="$RESULT_0.id")]
    calls = [call("a", 11, args={"x": "1"}, result={"id": "1"}), call("b", 12, args={"x": "1"}, result={"id": "1"})]
    assert not any(p.matches for p in pair(wanted, calls))


# --- order


def test_a_call_that_needs_a_result_must_come_after_it() -> None:
    """A9."""
    expect = scenario(SEARCH, BOOK).expect
    late, early = booked("F10"), sorted(booked("F10", at_s=5.0), key=lambda c: c.at_ticks)
    assert in_order(expect, pair([SEARCH, BOOK], late), late) is True
    assert in_order(expect, pair([SEARCH, BOOK], early), early) is False
    too_soon = booked("F10", at_s=11.005)  # the search was made at 11.0 s and answered at 11.01 s
    assert in_order(expect, pair([SEARCH, BOOK], too_soon), too_soon) is False
    at_once = booked("F10", at_s=11.01)
    assert in_order(expect, pair([SEARCH, BOOK], at_once), at_once) is True


def test_calls_may_come_in_any_order_unless_written_otherwise() -> None:
    """A9."""
    wanted = [expected("ping"), expected("weather", city="Oslo")]
    calls = [call("weather", 11, args={"city": "Oslo"}), call("ping", 12)]
    assert in_order(scenario(*wanted).expect, pair(wanted, calls), calls) is None
    assert in_order(scenario(*wanted, ordered=True).expect, pair(wanted, calls), calls) is False
    assert in_order(scenario(*reversed(wanted), ordered=True).expect, pair(wanted[::-1], calls), calls) is True


# --- laws

CITIES = st.sampled_from(["Oslo", "Rome", "Bern"])
WANTED = st.lists(CITIES.map(lambda c: expected("weather", city=c)) | st.just(expected("ping")), max_size=4)
MADE = st.lists(st.tuples(st.sampled_from(["weather", "ping", "other"]), CITIES, st.integers(1, 3)), max_size=6)


def made(items: list[tuple[str, str, int]]) -> list[Call]:
    calls = [call(name, at, args={"city": city} if name == "weather" else {}) for name, city, at in items]
    return sorted(calls, key=lambda c: c.at_ticks)


@given(wanted=WANTED, items=MADE)
def test_scores_lie_between_zero_and_one_and_stricter_ones_are_no_higher(
    wanted: list[ExpectedCall], items: list[tuple[str, str, int]]
) -> None:
    found = scores(wanted, made(items))
    assert 0.0 <= found.f1_strict <= found.f1_match <= found.f1_names <= 1.0
    assert 0.0 <= found.precision <= 1.0
    assert 0.0 <= found.recall <= 1.0
    assert found.argument_accuracy is None or 0.0 <= found.argument_accuracy <= found.recall


@given(wanted=WANTED, items=MADE, data=st.data())
def test_the_order_in_which_simultaneous_calls_were_logged_changes_nothing(
    wanted: list[ExpectedCall], items: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    other = data.draw(st.permutations(items))
    assert scores(wanted, made(items)) == scores(wanted, made(other))

    def paired(calls: list[Call]) -> list[Any]:
        return [
            p.actual is not None and (calls[p.actual].at_ticks, calls[p.actual].arguments) for p in pair(wanted, calls)
        ]

    assert paired(made(items)) == paired(made(other))


@given(wanted=WANTED, items=MADE, data=st.data())
def test_the_order_in_which_calls_are_expected_changes_no_score(
    wanted: list[ExpectedCall], items: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    assert scores(wanted, made(items)) == scores(data.draw(st.permutations(wanted)), made(items))


@given(hits=st.integers(0, 5), more=st.integers(0, 5), other=st.integers(0, 5))
def test_f1_is_symmetric_and_the_harmonic_mean(hits: int, more: int, other: int) -> None:
    a, b = hits + more, hits + other
    assert f1(hits, a, b) == f1(hits, b, a)
    if hits:
        assert f1(hits, a, b) == pytest.approx(2 / (a / hits + b / hits))


# --- rejected calls, extra arguments

ROUTE = {
    "route": tool("route", parameter("mode", default="driving", has_default=True)),
    "search": tool("search"),
    "book": tool("book", parameter("name"), parameter("flight", match="identifier")),
}


def actuals(wanted: list[ExpectedCall], calls: list[Call]) -> list[int | None]:
    found = pair_calls(wanted, calls, rules_of(scenario(*wanted, tools=ROUTE)))
    return [p.actual for p in found]


def test_a_rejected_call_matches_nothing_not_even_by_a_default() -> None:
    calls = [call("route", 10.5, status="rejected"), call("route", 11, args={"mode": "transit"})]
    assert actuals([expected("route", mode="driving")], calls) == [1]


def test_rejected_calls_are_told_apart_by_what_they_asked_for() -> None:
    calls = [call("route", n, args={"mode": m}, status="rejected") for n, m in ((10.5, "transit"), (11, "walking"))]
    assert actuals([expected("route", mode="walking"), expected("route", mode="transit")], calls) == [1, 0]
    sound = call("route", 12, args={"mode": "walking"})
    assert actuals([expected("route", mode="walking"), expected("route", mode="transit")], [*calls, sound]) == [2, 0]


def test_of_calls_that_fit_alike_the_one_with_fewer_extra_arguments_is_meant() -> None:
    wanted = [expected("search"), expected("book", name="Ann"), expected("book", name="Ann", flight="$RESULT_0.id")]
    calls = [
        call("search", 10.5, result={"id": "FL9"}),
        call("book", 11, args={"name": "Ann", "flight": "FL9"}),
        call("book", 11.5, args={"name": "Ann"}),
    ]
    found = pair_calls(wanted, calls, rules_of(scenario(*wanted, tools=ROUTE)))
    assert [p.actual for p in found] == [0, 2, 1]
    assert all(p.strict for p in found)


def test_matching_arguments_weigh_more_than_any_number_of_extra_ones() -> None:
    calls = [call("book", 11), call("book", 12, args={"name": "Ann", **{f"x{n}": n for n in range(9)}})]
    assert actuals([expected("book", name="Ann")], calls) == [1]
