"""A value that its own matcher cannot read is a mistake of the suite: no agent could be right."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from good_suites import changed, copy_of_good
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.loading import SuiteError, load_suite
from pytest_voicebench.loading.mistakes import Report
from pytest_voicebench.loading.readable import Readable
from pytest_voicebench.loading.tool_file import read_tools
from pytest_voicebench.matchers import KINDS
from pytest_voicebench.matchers.custom import load
from pytest_voicebench.tools import Parameter


def parameter(match: str | None = None, **changes: Any) -> Parameter:
    """A text parameter."""
    return Parameter(**{"name": "p", "type": "string", "match": match} | changes)


@pytest.mark.parametrize(
    ("match", "value", "reason"),
    [
        ("date", "2026-13-03", "not a day of the calendar"),
        ("date", "2026-02-30", "not a day of the calendar"),
        ("date", "soon", "not a day of the calendar"),
        ("currency", "XQZ", "not a currency"),
        ("money", "abc", "not an amount"),
        ("number", "x", "not a number"),
        ("boolean", "maybe", "not a yes or no"),
        ("number", ["1", "two", "x"], "not a number"),
        ("date", {"from": "2026-06-03", "to": "2026-06-31"}, "not a day of the calendar"),
        ("identifier", True, "not an identifier"),
    ],
)
def test_a_value_that_its_matcher_cannot_read_can_never_match(match: str, value: Any, reason: str) -> None:
    told = Readable().why_not(parameter(match), value)
    assert told is not None
    assert "can never match" in told
    assert reason in told


TAKEN: dict[str, list[Any]] = {
    "date": ["2026-06-03", "June third", "tomorrow", "10/07", "June 3", []],
    "currency": ["USD", "dollars", "euro"],
    "money": ["$1,500", "1.5k", 12, 0.5],
    "number": ["twelve", "1,200", 3, -1.5, ["1", "$RESULT_0.n"]],
    "boolean": ["yes", True, 0],
    "text": ["x", 3, True, ["a"], {}],
    "exact": ["x", 3, True, ["a"], {}, "2026-13-03"],
    "place": ["Nowhere"],
    "identifier": ["-"],
    "enum": ["any"],
}


@pytest.mark.parametrize(("match", "value"), [(match, value) for match, values in TAKEN.items() for value in values])
def test_a_value_that_its_matcher_reads_is_taken(match: str, value: Any) -> None:
    assert Readable().why_not(parameter(match), value) is None


def test_the_matcher_follows_from_format_and_type_as_it_does_when_scored() -> None:
    assert Readable().why_not(parameter(format="date"), "2026-13-03")
    assert Readable().why_not(parameter(type="array", format="date"), ["2026-13-03"])
    assert Readable().why_not(parameter(), "2026-13-03") is None


def test_a_value_can_be_matched_by_its_aliases_and_by_names_of_currencies() -> None:
    readable = Readable()
    assert readable.with_aliases({"the gala": ("2026-06-03",)}).why_not(parameter("date"), "the gala") is None
    assert readable.why_not(parameter("date"), "the gala")
    assert Readable().why_not(parameter("date", options={"aliases": {"the gala": ["2026-06-03"]}}), "the gala") is None
    assert Readable().why_not(parameter("currency", options={"names": {"Clams": "USD"}}), "clams") is None


def test_one_and_true_are_judged_apart() -> None:
    readable, amount = Readable(), parameter("money")
    assert readable.why_not(amount, 1) is None
    assert readable.why_not(amount, True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(KINDS)), JSON)
def test_any_value_is_judged_the_same_each_time_and_none_breaks_the_judge(match: str, value: Any) -> None:
    readable, one = Readable(), parameter(match)
    assert readable.why_not(one, value) == readable.why_not(one, value) == Readable().why_not(one, value)


@pytest.mark.parametrize(
    ("body", "value", "told"),
    [
        ("raise ValueError('x')", "AB 12", "plates:plate raised ValueError: x"),
        ("raise SystemExit(3)", "AB 12", "plates:plate raised SystemExit: 3"),
        ("return 1", "AB 12", "plates:plate gave 1, not a Match, true, false or None"),
        (
            "return False",
            ["AB 12"],
            """"['AB 12']" can never match: expected ['AB 12'], got ['AB 12']: wrong by plates:plate """
            "(expected and actual are the same)",
        ),
        ("return None", 7, '"7" can never match: plates:plate cannot tell (expected and actual are the same)'),
        ("return expected == actual", "AB 12", None),
        ("raise ValueError('x')", ["$RESULT_0.id"], None),
        ("raise ValueError('x')", {"$one_of": ["AB 12"]}, "plates:plate raised ValueError: x"),
    ],
)
def test_a_users_matcher_is_tried_with_each_expected_value_against_itself(
    monkeypatch: pytest.MonkeyPatch, body: str, value: Any, told: str | None
) -> None:
    plates = ModuleType("plates")
    exec(f"def plate(expected, actual, context):\n    {body}", plates.__dict__)
    monkeypatch.setitem(sys.modules, "plates", plates)
    load.cache_clear()
    assert Readable().why_not(parameter("plates:plate"), value) == told


def test_a_users_matcher_that_raises_is_a_mistake_of_the_suite_in_the_line_of_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tripping.py").write_text("def place(expected, actual, context): raise ValueError('x')\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = copy_of_good(tmp_path / "suite") / "travel.yaml"
    changed(path.parent / "tools.yaml", "match: place", "match: tripping:place")
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    lines = str(caught.value).splitlines()
    assert lines
    assert all(
        re.fullmatch(rf"{path}:\d+: \w+\.(expect|retracted).*: tripping:place raised ValueError: x", t) for t in lines
    )


def test_an_allowed_value_of_a_tool_that_can_never_match_is_a_mistake_in_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text("""book:
  description: Book a day.
  parameters:
    day:
      type: string
      match: date
      enum:
        - today
        - 2026-13-03
  returns: {}
""")
    report = Report(path)
    assert read_tools(path, report) is None
    (mistake,) = report.mistakes
    assert str(mistake).startswith(f'{path}:9: book.parameters.day.enum[1]: "2026-13-03" can never match')


def test_expected_and_retracted_values_are_judged_where_they_stand(tmp_path: Path) -> None:
    path = changed(copy_of_good(tmp_path / "suite") / "travel.yaml", "2026-06-01", "2026-06-31")
    changed(path, "2026-06-03", "2026-13-03")
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    why = "can never match a right answer: it is not a day of the calendar that the matcher can read"
    assert str(caught.value).splitlines() == [
        f'{path}:23: two_corrections.retracted[1].args.date: "2026-06-31" {why}',
        f'{path}:26: two_corrections.expect.calls[0].search_flights.date: "2026-13-03" {why}',
    ]
