"""Matchers: tables of accepts and rejects for every kind, and the laws that they keep."""

from __future__ import annotations

import datetime as dt
import string
from typing import Any

import pytest
from builders import TODAY, parameter
from hypothesis import example, given, settings
from hypothesis import strategies as st
from matcher_tables import TABLES

from pytest_voicebench.matchers import KINDS, compare_value, json_type_fits, kind_of, match

CASES = [
    (kind, verdict, expected, actual)
    for kind, table in TABLES.items()
    for verdict, cases in (
        ("match", table.accepts),
        ("mismatch", [*table.rejects, *table.near]),
        ("cannot_tell", table.open),
    )
    for expected, actual in cases
]


@pytest.mark.parametrize(("kind", "verdict", "expected", "actual"), CASES)
def test_a_value_gets_the_verdict_of_its_table(kind: str, verdict: str, expected: Any, actual: Any) -> None:
    found = match(kind, expected, actual, today=TODAY, options=TABLES[kind].options)
    assert found.verdict == verdict, found.reason
    assert found.reason


def test_every_kind_has_a_table_with_twenty_accepts_twenty_rejects_and_ten_near_ones() -> None:
    assert set(TABLES) == set(KINDS)
    for kind, table in TABLES.items():
        assert len(table.accepts) >= 20, kind
        assert len(table.rejects) >= 20, kind
        assert len(table.near) >= 10, kind


# --- laws

NATO_WORDS = """
    alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo
    sierra tango uniform victor whiskey x-ray yankee zulu
"""


ASCII_IDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=12)
SCALARS = st.one_of(
    st.text(max_size=20), st.integers(-(10**9), 10**9), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(kind=st.sampled_from(sorted(KINDS)), value=VALUES)
def test_every_value_matches_itself_or_is_not_of_the_kind(kind: str, value: Any) -> None:
    """Text always matches itself; figures do where the kind can hold them. Nothing raises, whatever the value."""
    found = match(kind, value, value, today=TODAY)
    if isinstance(value, str) or kind in ("exact", "number", "text"):
        assert found.verdict == "match"


@given(kind=st.sampled_from(sorted(KINDS)), expected=VALUES, actual=VALUES)
def test_no_pair_of_values_makes_a_matcher_raise(kind: str, expected: Any, actual: Any) -> None:
    assert match(kind, expected, actual, today=TODAY).verdict in ("match", "mismatch", "cannot_tell")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"date", "time", "enum"}))
def test_a_match_is_symmetric(kind: str) -> None:
    """Dates and times are not: an expected year, or half of the day, that is missing is free; an actual one is open."""
    for expected, actual in TABLES[kind].accepts:
        if type(expected) is type(actual):
            assert match(kind, actual, expected, today=TODAY).matches, (actual, expected)


@given(a=ASCII_IDS, b=ASCII_IDS, kind=st.sampled_from(sorted(set(KINDS) - {"date", "time", "enum"})))
def test_verdicts_on_words_are_symmetric(a: str, b: str, kind: str) -> None:
    """Only an expected value that is none of its kind is cannot_tell, where an actual one is a mismatch."""
    first, second = match(kind, a, b).verdict, match(kind, b, a).verdict
    assert (first == "match") == (second == "match")


@given(a=ASCII_IDS, b=ASCII_IDS, kind=st.sampled_from(["identifier", "text", "exact", "place", "person"]))
def test_all_three_verdicts_on_words_are_symmetric(a: str, b: str, kind: str) -> None:
    assert match(kind, a, b).verdict == match(kind, b, a).verdict


@given(text=ASCII_IDS, at=st.integers(0, 11), other=st.sampled_from(string.ascii_letters + string.digits))
def test_an_identifier_never_matches_another_with_one_character_changed(text: str, at: int, other: str) -> None:
    at %= len(text)
    if other.lower() == text[at].lower():
        return
    changed = text[:at] + other + text[at + 1 :]
    assert match("identifier", text, changed).verdict == "mismatch"
    assert match("identifier", text, "-".join(changed)).verdict == "mismatch"
    assert match("identifier", text, "-".join(text)).matches


NATO = dict(zip(string.ascii_uppercase, NATO_WORDS.split(), strict=True))
DIGIT_WORDS = "zero one two three four five six seven eight nine"
DIGITS = dict(zip(string.digits, DIGIT_WORDS.split(), strict=True))
CODES = st.text(string.ascii_uppercase + string.digits, min_size=2, max_size=10)


def spoken(code: str) -> str:
    """An independent speller: letters by the NATO alphabet, digits one by one."""
    return " ".join((NATO | DIGITS)[c] for c in code)


@given(code=CODES, at=st.integers(0, 9), other=st.sampled_from(string.ascii_uppercase + string.digits))
def test_a_spoken_identifier_is_its_characters_and_never_those_of_another(code: str, at: int, other: str) -> None:
    at %= len(code)
    assert match("identifier", code, spoken(code)).matches
    assert match("identifier", spoken(code), code).matches
    changed = code[:at] + other + code[at + 1 :]
    if changed != code:
        assert match("identifier", code, spoken(changed)).verdict == "mismatch"
        assert match("identifier", code, spoken(code[:at] + code[at + 1 :])).verdict == "mismatch"


@given(
    digits=st.text(string.digits, min_size=12, max_size=15), at=st.integers(0, 14), other=st.sampled_from(string.digits)
)
def test_a_phone_or_card_number_never_matches_another_with_one_digit_changed(digits: str, at: int, other: str) -> None:
    at %= len(digits)
    changed = digits[:at] + other + digits[at + 1 :]
    for kind in ("phone", "card"):
        assert match(kind, digits, spoken(digits)).matches
        assert match(kind, digits, " ".join(digits)).matches
        for form in (changed, spoken(changed), *([int(changed)] if changed[0] != "0" else [])):
            assert match(kind, digits, form).matches == (digits == changed)


@given(a=st.integers(0, 10**6), b=st.integers(0, 10**6))
def test_numbers_never_match_through_similarity_of_text(a: int, b: int) -> None:
    for kind in ("number", "money", "text", "identifier", "exact", "place", "enum"):
        assert match(kind, a, b).matches == (a == b), kind
        assert match(kind, str(a), str(b)).matches == (a == b), kind
    for kind in set(KINDS) - {"time"} if a != b else ():  # 5 and 17 o'clock may be the same time
        assert not match(kind, a, b).matches, kind
        assert not match(kind, str(a), str(b)).matches, kind


@given(a=st.floats(-1e9, 1e9), error=st.floats(-1e-12, 1e-12))
def test_fractions_match_within_a_billionth(a: float, error: float) -> None:
    """B12."""
    assert match("number", a, a * (1 + error)).matches
    if abs(a) > 1e-6 and not a.is_integer():
        assert not match("number", a, a * 1.0001).matches


@given(n=st.integers(0, 999_999))
def test_a_number_in_words_is_that_number(n: int) -> None:
    assert match("number", n, _words(n)).matches
    assert not match("number", n + 1, _words(n)).matches


@given(
    day=st.dates(dt.date(2000, 1, 1), dt.date(2090, 12, 31)), today=st.dates(dt.date(2020, 1, 1), dt.date(2040, 1, 1))
)
def test_a_date_matches_its_own_forms_and_no_other_day(day: dt.date, today: dt.date) -> None:
    iso, long = day.isoformat(), f"{day:%B} {day.day}, {day.year}"
    assert match("date", iso, long, today=today).matches
    assert match("date", f"{day:%B} {day.day}", iso, today=today).matches
    assert match("date", iso, (day + dt.timedelta(days=1)).isoformat(), today=today).verdict == "mismatch"


def _words(n: int) -> str:
    """An independent speller of numbers below a million."""
    ones = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["", "", *(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"])]
    if n < 20:
        return ones[n]
    if n < 100:
        return tens[n // 10] + (f"-{ones[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{ones[n // 100]} hundred" + (f" and {_words(n % 100)}" if n % 100 else "")
    return f"{_words(n // 1000)} thousand" + (f" {_words(n % 1000)}" if n % 1000 else "")


# --- faults


def test_figures_written_as_text_match_and_are_noted_apart_from_a_wrong_value() -> None:
    """B1."""
    value = parameter("value", "number")
    assert compare_value(value, 1200, "1200", TODAY).notes == ("type_mismatch",)
    assert compare_value(value, 1200, "1200", TODAY).matches
    assert compare_value(value, 1200, "1300", TODAY).verdict == "mismatch"
    assert compare_value(value, 1200, 1200, TODAY).notes == ()


def test_a_text_field_of_figures_is_not_a_number() -> None:
    """B1: an order id keeps its leading zeros, and figures in the declared type are no mismatch of type."""
    order = parameter("order_id", match="identifier")
    assert compare_value(order, "00123", "123", TODAY).verdict == "mismatch"
    assert compare_value(order, "123", 123, TODAY).notes == ("type_mismatch",)
    assert compare_value(parameter("value", "string"), 1800, "1800", TODAY).notes == ()


@pytest.mark.parametrize("kind", ["number", "money"])
def test_large_integers_are_equal_to_the_last_digit(kind: str) -> None:
    assert match(kind, 10**15, str(10**15)).matches
    assert match(kind, 10**15, 10**15 + 1).verdict == "mismatch"
    assert match(kind, 10**15, f"{10**15 + 1:,}").verdict == "mismatch"


@pytest.mark.parametrize(("expected", "actual"), [("A1", "alpha 1"), ("ALPHA 1", "A1"), ("F7", "foxtrot 7")])
def test_one_word_that_may_be_a_letter_or_a_name_is_left_open(expected: str, actual: str) -> None:
    assert match("identifier", expected, actual).verdict == "cannot_tell"


@pytest.mark.parametrize(
    ("kind", "expected", "actual", "verdict"),
    [
        ("identifier", "W5", "double u five", "cannot_tell"),  # or UU5
        ("money", 6.5, "five dollars and 150 cents", "mismatch"),
        ("money", 5.99, "five dollars and 99 cents", "match"),
        ("currency", "dollars", "USD", "cannot_tell"),  # what is expected may be another dollar
        ("currency", "US dollars", "USD", "match"),
    ],
)
def test_what_has_two_readings_is_open_and_what_nobody_says_is_wrong(
    kind: str, expected: Any, actual: Any, verdict: str
) -> None:
    assert match(kind, expected, actual).verdict == verdict


def test_tolerance_holds_only_where_it_was_asked_for() -> None:
    """B7."""
    assert match("number", 1000, 1050).verdict == "mismatch"
    assert match("number", 1000, 1050, options={"approx": 0.05}).matches
    assert match("number", 1000, 1051, options={"approx": 0.05}).verdict == "mismatch"
    assert match("number", 2026, 2028).verdict == "mismatch"


def test_an_ambiguous_date_is_noted_as_such() -> None:
    """B4."""
    found = match("date", "October 7th", "10/07", today=TODAY)
    assert (found.verdict, found.notes) == ("cannot_tell", ("ambiguous_date",))
    assert match("date", "October 8th", "10/07", today=TODAY).verdict == "mismatch"  # both readings are wrong


def test_a_missing_year_needs_a_date_of_today_only_where_the_expected_one_has_a_year() -> None:
    """B4."""
    assert match("date", "2026-10-07", "October 7").notes == ("unknown_year",)
    assert match("date", "October 7", "October 7th").matches
    assert match("date", "2028-02-29", "February 29", today=TODAY).matches


def test_a_shared_currency_name_means_what_the_scenario_says() -> None:
    """B8."""
    assert match("currency", "CAD", "dollars").notes == ("ambiguous_currency",)
    assert match("currency", "CAD", "dollars", options={"names": {"dollars": "CAD"}}).matches
    assert match("currency", "CAD", "dollars", options={"names": {"Dollars": ["USD"]}}).verdict == "mismatch"


def test_lists_are_ordered_unless_declared_sets_and_rules_hold_inside() -> None:
    """B13."""
    assert not match("text", ["1", "2"], ["2", "1"]).matches
    assert match("text", ["1", "2"], ["2", "1"], options={"set": True}).matches
    assert not match("text", ["1", "2"], ["2", "3"], options={"set": True}).matches
    assert not match("text", ["1"], ["1", "2"], options={"set": True}).matches
    assert not match("text", [], ["1"], options={"set": True}).matches
    assert not match("text", ["1"], [], options={"set": True}).matches
    assert match("text", [], [], options={"set": True}).matches
    assert match("text", ["Red"], ["red"]).matches
    assert not match("exact", ["Red"], ["red"]).matches
    assert not match("text", ["1"], ["1", "1"]).matches
    assert match("currency", ["CAD"], ["dollars"], options={"set": True}).verdict == "cannot_tell"


def test_objects_match_by_key_and_null_is_absent() -> None:
    assert match("text", {"a": {"b": "X"}}, {"a": {"b": "x", "c": None}}).matches
    assert not match("text", {"a": 1}, {"a": 1, "b": 2}).matches
    assert match("text", {"a": 1}, {"a": "1"}).matches
    assert match("text", None, None).matches
    assert match("text", "x", None).verdict == "mismatch"
    assert match("text", None, "x").verdict == "mismatch"


def test_a_list_nested_too_deep_is_left_open() -> None:
    deep: list[Any] = []
    for _ in range(60):
        deep = [deep]
    assert match("text", deep, deep).verdict == "cannot_tell"


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("text", ["9" * 100_000, "five " * 50_000, "a b " * 50_000, "(" * 100_000, "1/" * 50_000])
def test_a_very_long_text_is_judged_at_once(kind: str, text: str) -> None:
    for expected in (5, "2026-06-03", "EUR", "words"):
        assert not match(kind, expected, text, today=TODAY).matches


@pytest.mark.parametrize("kind", ["place", "text"])
@pytest.mark.parametrize("text", ["a-", "a, ", " , ", "h ", "st. ", "\u0301", "\u0661"])
def test_a_megabyte_is_the_value_of_nothing_else_and_costs_no_reading(
    kind: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_voicebench.matchers.place._name", None)
    monkeypatch.setattr("pytest_voicebench.matchers.text._spelled", None)
    assert match(kind, "Milan", text * 500_000, today=TODAY).verdict == "mismatch"


def test_a_form_nested_too_deep_is_left_open() -> None:
    form: dict[str, Any] = {"$one_of": ["x"]}
    for _ in range(3000):
        form = {"$one_of": [form]}
    assert match("text", form, "x").verdict == "cannot_tell"


def test_a_tolerance_that_is_no_share_is_none() -> None:
    for approx in (10**400, float("nan"), float("inf"), True, "x"):
        assert match("number", 5, 6, options={"approx": approx}).verdict == "mismatch"


@pytest.mark.parametrize("many", [["x"] * 300_000, [str(n) for n in range(300_000)]])
def test_sets_too_large_to_compare_each_with_each_are_left_open(many: list[str]) -> None:
    assert match("text", ["a", "b", "c"], many, options={"set": True}).verdict == "cannot_tell"
    assert match("text", many, list(many), options={"set": True}).verdict == "match"


@pytest.mark.parametrize("kind", ["date", "time", "duration", "quantity"])
@pytest.mark.parametrize("by", ["99999999999 days", "9999999999999999999999 weeks"])
def test_a_tolerance_beyond_the_calendar_raises_nothing(kind: str, by: str) -> None:
    for value in ("2026-04-06", "15:30", "5 days"):
        assert match(kind, value, value.replace("5", "6"), today=TODAY, options={"approx": by}).verdict


def test_aliases_are_further_right_values() -> None:
    """B16."""
    assert match("place", "Bozeman", "Bozo", options={"aliases": {"Bozeman": ["Bozo"]}}).notes == ("alias",)
    aliases = {"Bozeman": ("Bozo", "BZN")}
    assert compare_value(parameter("city", match="place"), "Bozeman", "bzn", TODAY, aliases).matches
    assert not compare_value(parameter("city", match="place"), "Boston", "bzn", TODAY, aliases).matches
    assert compare_value(parameter("city", options={"aliases": {"Bozeman": ["Bz"]}}), "Bozeman", "bz", TODAY).matches
    assert compare_value(parameter("cities", "array", match="place"), ["Bozeman"], ["BZN"], TODAY, aliases).matches


def test_a_plain_list_of_aliases_makes_nothing_right() -> None:
    city = parameter("city", match="place", options={"aliases": ["Bozo"]})
    for aliases in (None, {"Bozeman": ("BZN",)}, {"Boston": ("Beantown",)}):
        assert not compare_value(city, "Bozeman", "Bozo", TODAY, aliases).matches
        assert not compare_value(city, "Boston", "Bozo", TODAY, aliases).matches


def test_aliases_of_a_scenario_are_added_to_those_of_the_tool() -> None:
    city = parameter("city", match="place", options={"aliases": {"Bozeman": ["Bozo"], "Boston": "Beantown"}})
    aliases = {"Bozeman": ("BZN",)}
    assert compare_value(city, "Bozeman", "bozo", TODAY, aliases).matches
    assert compare_value(city, "Bozeman", "bzn", TODAY, aliases).matches
    assert compare_value(city, "Boston", "beantown", TODAY, aliases).matches
    assert not compare_value(city, "Boston", "bzn", TODAY, aliases).matches


def test_a_leaf_of_another_type_is_noted_inside_lists_sets_and_objects() -> None:
    ids = parameter("ids", "array", match="identifier")
    assert compare_value(ids, [1, 2], ["1", "2"], TODAY).notes == ("type_mismatch",)
    assert compare_value(ids, [1, 2], [1, "2"], TODAY).matches
    assert compare_value(ids, [1, 2], [1, "2"], TODAY).notes == ("type_mismatch",)
    assert compare_value(ids, [1, 2], [1, 2], TODAY).notes == ()
    assert match("number", {"a": {"b": 1}}, {"a": {"b": "1"}}).notes == ("type_mismatch",)
    assert match("number", [1, 2], [2, "1"], options={"set": True}).notes == ("type_mismatch",)
    assert match("number", [1, 2], [2, 1, "1"], options={"set": True}).notes == ("type_mismatch",)
    assert match("number", [1, 2], [2, 1, 1], options={"set": True}).notes == ()


def test_an_integer_of_400_digits_is_an_integer() -> None:
    huge = 10**400
    assert json_type_fits(parameter("n", "integer"), huge)
    assert compare_value(parameter("n", "integer"), 5, huge, TODAY).verdict == "mismatch"
    assert json_type_fits(parameter("n", "integer"), 3.0)
    for other in (3.5, float("inf"), float("nan"), True, "3"):
        assert not json_type_fits(parameter("n", "integer"), other)


def test_a_value_outside_the_enum_is_noted() -> None:
    """B17."""
    name = parameter("filter_name", enum=("min_bedrooms", "max_price"))
    assert compare_value(name, "min_bedrooms", "bedrooms_min", TODAY).notes == ("enum_mismatch",)
    assert compare_value(name, "min_bedrooms", "max_price", TODAY).notes == ()
    assert compare_value(name, "min_bedrooms", "Min Bedrooms", TODAY).matches


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        ("savings", "savings account", "match"),
        ("savings", "Savings_Account", "match"),
        ("checking", "the checking account", "mismatch"),
        ("savings", "checking account", "mismatch"),
        ("savings", "account", "mismatch"),
        ("savings", "savings card", "mismatch"),
        ("joint", "joint savings account", "mismatch"),
    ],
)
def test_an_enum_value_may_carry_the_noun_of_its_parameter(expected: str, actual: str, verdict: str) -> None:
    account = parameter("source_account", match="enum", enum=("checking", "savings", "joint"))
    assert compare_value(account, expected, actual, TODAY).verdict == verdict


def test_a_class_of_a_cabin_may_carry_its_noun() -> None:
    cabin = parameter("cabin_class", match="enum", enum=("economy", "business", "first"))
    assert compare_value(cabin, "economy", "Economy class", TODAY).matches
    assert compare_value(cabin, "economy", "business class", TODAY).verdict == "mismatch"


@pytest.mark.parametrize(
    ("today", "actual", "verdict"),
    [
        (dt.date(2026, 4, 6), "this Friday", "match"),
        (dt.date(2026, 4, 10), "Friday", "cannot_tell"),  # today is one
        (dt.date(2026, 4, 10), "this Friday", "cannot_tell"),
        (dt.date(2026, 4, 4), "Friday", "match"),
        (dt.date(2026, 4, 4), "this Friday", "cannot_tell"),  # of the week that ends, or of the next one
        (dt.date(2026, 4, 6), "next Friday", "cannot_tell"),
        (None, "Friday", "cannot_tell"),
    ],
)
def test_a_weekday_is_the_coming_one_unless_it_can_be_two_days(
    today: dt.date | None, actual: str, verdict: str
) -> None:
    assert match("date", "2026-04-10", actual, today=today).verdict == verdict


def test_an_enum_value_is_never_read_as_another_allowed_one() -> None:
    account = parameter("source_account", match="enum", enum=("savings", "savings_account"))
    assert compare_value(account, "savings", "savings account", TODAY).verdict == "mismatch"


@pytest.mark.parametrize("kind", ["text", "place"])
def test_signs_alone_are_no_words_and_match_themselves_only(kind: str) -> None:
    assert match(kind, "?", "?").matches
    assert [match(kind, a, b).verdict for a, b in (("?", "!"), ("", "..."), ("!", ""))] == ["mismatch"] * 3


def test_case_counts_where_the_scenario_says_exact() -> None:
    """B15."""
    assert match("exact", "aB9", "AB9").verdict == "mismatch"
    assert match("identifier", "aB9", "AB9").matches


@pytest.mark.parametrize(
    ("declared", "expected", "kind"),
    [
        (parameter("x", match="identifier"), 5, "identifier"),
        (parameter("x"), "words", "text"),
        (parameter("x"), 5, "number"),
        (parameter("x"), True, "boolean"),
        (parameter("x", "integer"), "5", "number"),
        (parameter("x", "boolean"), "yes", "boolean"),
        (parameter("x", format="date"), "June 3", "date"),
        (parameter("x", enum=("a",)), "a", "enum"),
        (None, "words", "text"),
        (None, 5.0, "number"),
    ],
)
def test_the_matcher_follows_from_the_declaration(declared: Any, expected: Any, kind: str) -> None:
    assert kind_of(declared, expected) == kind


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no matcher 'fuzzy'; there are boolean, card, currency"):
        match("fuzzy", "a", "a")


TRADE = """
    I II III jr jr. Jr., mr dr van de la o' St. street ave north apt # 12 12th one twenty thirty hundred
    thousand million and a the half quarter dozen double triple zero oh point minus - -- + . , : ; / ( ) ' " $
    \u20ac \xa3 % usd EUR dollars cents kroner grand k m bn june june. third 3rd 31 2026 2026-06-03 06/03 monday
    next this last tomorrow noon midnight am p.m. o'clock past to half-past 10:30 25:61 minutes h s day weeks km
    MB Mg oz ft \xb0 celsius @ at dot com alpha bravo zulu as in for +1 (555) ext 00 \xbd \xb2 \xe9 \xdf \u0130
    \u200b \u0301 yes off true null $0 @@ .com
"""
WORDS_OF_THE_TRADE = TRADE.split()


@given(st.sampled_from(sorted(KINDS)), *[st.lists(st.sampled_from(WORDS_OF_THE_TRADE), max_size=5).map(" ".join)] * 2)
@example("person", "0", "II")
@settings(max_examples=1500)
def test_words_that_matchers_know_never_make_one_raise(kind: str, a: str, b: str) -> None:
    for today in (None, dt.date(2026, 4, 6)):
        assert match(kind, a, b, today=today).verdict in ("match", "mismatch", "cannot_tell")
        assert match(kind, a, a, today=today).verdict in ("match", "cannot_tell")
