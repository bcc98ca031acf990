"""Values next to a right one: what is made for each kind, and that it is another value whatever it is made from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench.matchers import KINDS, match
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.proving.near import MOST, Surroundings, near_values, unrelated_value
from pytest_voicebench.proving.wording import (
    changed_digit,
    changed_letter,
    have_nothing_in_common,
    last_word_replaced,
    next_word,
    opposite,
    swapped_digits,
)

PLACES = ("Boston", "Bath Spa", "12 Cedar Avenue")
ROOMS = ("single", "double", "family_room")

TABLE: list[tuple[str, Any, dict[str, Any], list[Any]]] = [
    ("date", "2026-06-03", {}, ["2026-06-04", "2027-06-03"]),
    ("date", "2028-02-29", {}, ["2028-03-01", "2029-02-28"]),
    ("date", "9999-12-31", {}, ["9999-12-32", "umbrella"]),
    ("date", "2026-06-03T10:00", {}, ["2026-06-04T10:00", "2027-06-03T10:00"]),
    ("date", "June 3rd", {}, ["July 3rd", "June 4rd"]),
    ("date", "next Friday", {}, ["next Saturday", "next umbrella"]),
    ("time", "14:30", {}, ["03:30", "14:31"]),
    ("time", "3 pm", {}, ["4 pm"]),
    ("time", "14:30", {"approx": "15 minutes"}, ["08:30"]),
    ("time", "noon", {}, ["midnight", "umbrella"]),
    ("duration", "90 minutes", {}, ["91 minutes", "90 hours"]),
    ("duration", "90 minutes", {"approx": "10 minutes"}, ["90000 minutes"]),
    ("quantity", "5 km", {}, ["6 km", "5 umbrella"]),
    ("number", 3, {}, [4, 30]),
    ("number", 0, {}, [1, -1]),
    ("number", 0.5, {}, [0.6, 0.05]),
    ("number", 200, {"approx": 0.05}, [221, 2000]),
    ("number", "1700", {}, ["1701", "17000"]),
    ("number", "five hundred", {}, ["six hundred", "five umbrella"]),
    ("money", "$1,500", {}, ["$1,501", "umbrella"]),
    ("money", 0.1, {}, [0.2, 0.01]),
    ("currency", "EUR", {}, ["JPY", "CHF"]),
    ("currency", "Swiss francs", {}, ["EUR", "JPY"]),
    ("boolean", True, {}, [False]),
    ("boolean", 1, {}, [False]),
    ("boolean", "Yes", {}, ["No", "umbrella"]),
    ("enum", "double", {"enum": ROOMS}, ["family_room", "single"]),
    ("enum", "Family Room", {"enum": ROOMS}, ["single", "double"]),
    ("identifier", "FL629", {}, ["FL620", "GL629"]),
    ("identifier", 629, {}, [630, 6290]),
    ("identifier", "1123", {}, ["1124", "1213"]),
    ("phone", "+1 555 0102", {}, ["+1 555 0103", "+1 555 1002"]),
    ("card", "4111 2222", {}, ["4111 2223", "1411 2222"]),
    ("email", "ada@example.com", {}, ["bda@example.com", "ada@fxample.com"]),
    ("place", "12 Cedar Avenue", {"others": PLACES}, ["13 Cedar Avenue", "Boston"]),
    ("place", "Boston", {"others": PLACES}, ["Bath Spa", "Quillmoor"]),
    ("place", "Quillmoor", {}, ["Wexbury"]),
    ("person", "Emma Wilson", {"others": ("Emma Brown", "Oliver Grant")}, ["Emma Fletcher", "Oliver Grant"]),
    ("text", "wireless headphones", {"others": ("desk lamp",)}, ["wireless umbrella", "desk lamp"]),
    ("text", "umbrella", {}, ["violin"]),
    ("text", "2", {}, ["3", "umbrella"]),
    ("exact", "Abc", {}, ["Bbc"]),
    ("my_shop.rules:colour", "dark red", {}, ["dark umbrella"]),
    ("number", [3, 4], {}, [[30, 4], [4]]),
    ("text", ["a", "a"], {}, []),
    ("number", {"low": 1, "high": 2}, {}, [{"low": 2, "high": 2}, {"low": 1, "high": 3}]),
    ("exact", {"day": "2026-06-03"}, {"fields": {"day": {"kind": "date"}}}, [{"day": "2026-06-04"}]),
    ("place", {"$one_of": ["Boston", "Quillmoor"]}, {"others": PLACES}, ["Bath Spa", "Wexbury"]),
    ("number", {"$approx": {"value": 100, "by": 0.1}}, {}, [121, 1000]),
    ("text", {"$not": {"values": ["Rome"], "such_as": "Milan"}}, {}, ["Rome"]),
    ("text", {"$any": {"such_as": "Milan"}}, {}, []),
    ("number", {"a": {"$any": {"such_as": 1}}, "b": 2}, {}, [{"a": 1, "b": 3}]),
    ("text", None, {}, []),
]


@pytest.mark.parametrize(("kind", "value", "around", "near"), TABLE, ids=lambda v: str(v)[:30])
def test_near_values_of_every_kind(kind: str, value: Any, around: dict[str, Any], near: list[Any]) -> None:
    assert list(near_values(kind, value, Surroundings(**around))) == near


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KIND_NAMES = st.sampled_from([*KINDS, "of_a_user"])


@given(KIND_NAMES, JSON, st.sampled_from([0.0, 0.05, 1.0, "15 minutes"]))
@settings(max_examples=300, deadline=None)
def test_a_near_value_is_another_value_and_the_same_each_time(kind: str, value: Any, approx: float | str) -> None:
    around = Surroundings(approx=approx, others=("Bath Spa",))
    found = near_values(kind, value, around)
    assert len(found) <= MOST
    assert not any(json_equal(value, one) for one in found)
    assert len(found) < 2 or not json_equal(found[0], found[1])
    assert found == near_values(kind, value, around)


@pytest.mark.parametrize("text", ["x7", "7x", "Ö", "O'Hare", "?", "a b", "12:30"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_near_value_for_every_text(kind: str, text: str) -> None:
    assert near_values(kind, text, Surroundings())


@pytest.mark.parametrize(
    ("kind", "value", "around", "near"), [row for row in TABLE if row[0] in KINDS], ids=lambda v: str(v)[:30]
)
def test_the_matchers_tell_near_values_of_the_table_from_the_right_one(
    kind: str, value: Any, around: dict[str, Any], near: list[Any]
) -> None:
    options = {key: around[key] for key in ("approx", "enum", "fields") if key in around}
    assert [match(kind, value, one, options=options).matches for one in near] == [False] * len(near)


@pytest.mark.parametrize(
    ("change", "text", "changed"),
    [
        (changed_digit, "a9b", "a0b"),
        (changed_digit, "ab", None),
        (changed_letter, "9zA", "9aA"),
        (changed_letter, "éa", "éb"),
        (changed_letter, "12", None),
        (swapped_digits, "1121", "1211"),
        (swapped_digits, "11a22", None),
        (next_word, "On SUNDAY", "On MONDAY"),
        (next_word, "twenty first", "thirty first"),
        (next_word, "no wait", None),
        (opposite, " Off ", "On"),
        (opposite, "off it", None),
        (last_word_replaced, "red umbrella", "red violin"),
        (last_word_replaced, "", "umbrella"),
    ],
)
def test_one_change_of_a_text(change: Any, text: str, changed: str | None) -> None:
    assert change(text) == changed


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [
        ("Boston", "Milan", True),
        ("New York", "NYC", False),
        ("LA", "Los Angeles", False),
        ("Vegas", "Las Vegas", False),
        ("Philly", "Philadelphia", False),
        ("Cedar Avenue", "Oak Avenue", False),
        ("", "Milan", False),
    ],
)
def test_names_that_may_be_of_one_thing_are_not_taken_for_two(a: str, b: str, apart: bool) -> None:
    assert have_nothing_in_common(a, b) is apart
    assert have_nothing_in_common(b, a) is apart


def test_a_value_for_an_argument_that_should_have_none_has_its_type() -> None:
    assert unrelated_value("integer", ()) == 7
    assert unrelated_value("string", ("red", "blue")) == "red"
    assert unrelated_value("string", ()) == "umbrella"


def test_of_thousands_of_right_values_only_as_many_are_looked_at_as_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def counted(a: Any, b: Any) -> bool:
        compared.append(a)
        return json_equal(a, b)

    monkeypatch.setattr("pytest_voicebench.proving.near.json_equal", counted)
    many = {"$one_of": ["FL629", *(f"X{n}" for n in range(10_000))]}
    assert len(near_values("identifier", many, Surroundings())) == MOST
    assert len(compared) < 100_000
