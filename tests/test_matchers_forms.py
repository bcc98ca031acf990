"""Forms of expected values, containers, users' matchers, and rules of a single scenario."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from builders import TODAY, expected, parameter, scenario
from container_tables import CONTAINERS
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.behaviours import wrong_value
from pytest_voicebench.conversation import Call
from pytest_voicebench.loading.fingerprints import expectation_digest
from pytest_voicebench.matchers import KINDS, Context, Match, accept, compare_value, match, overridden, stand_in
from pytest_voicebench.matchers.custom import CustomMatcherError, load
from pytest_voicebench.matchers.forms import SHAPES, form_of, why_malformed
from pytest_voicebench.metrics.arguments import rules_of
from pytest_voicebench.metrics.pairing import pair_calls
from pytest_voicebench.scenario import Expectation
from pytest_voicebench.tools import Parameter, Tool

CASES = [
    (name, verdict, expected, actual)
    for name, (_, table) in CONTAINERS.items()
    for verdict, cases in (
        ("match", table.accepts),
        ("mismatch", [*table.rejects, *table.near]),
        ("cannot_tell", table.open),
    )
    for expected, actual in cases
]


@pytest.mark.parametrize(("name", "verdict", "expected", "actual"), CASES)
def test_a_list_a_set_and_an_object_get_the_verdict_of_their_table(
    name: str, verdict: str, expected: Any, actual: Any
) -> None:
    kind, table = CONTAINERS[name]
    found = match(kind, expected, actual, today=TODAY, options=table.options)
    assert found.verdict == verdict, found.reason


def test_lists_sets_and_objects_have_twenty_accepts_twenty_rejects_and_ten_near_ones() -> None:
    for name, (_, table) in CONTAINERS.items():
        assert (len(table.accepts) >= 20, len(table.rejects) >= 20, len(table.near) >= 10) == (True,) * 3, name


def one_of(*values: Any) -> dict[str, Any]:
    return {"$one_of": list(values)}


def but(*values: Any, such_as: Any = "x") -> dict[str, Any]:
    return {"$not": {"values": list(values), "such_as": such_as}}


def near(value: Any, by: Any) -> dict[str, Any]:
    return {"$approx": {"value": value, "by": by}}


ANY = {"$any": {"such_as": "Oslo"}}

FORMS: list[tuple[str, Any, list[Any], list[Any], list[Any]]] = [
    ("place", one_of("Rome", "Las Vegas"), ["Rome", "rome", "Vegas"], ["Milan", "", 5, None], []),
    ("date", one_of("June 3", "June 5"), ["2026-06-03", "June 5th"], ["June 4", None], ["06/03", "Monday"]),
    ("text", one_of("a", None), ["a", None], ["b"], []),
    ("number", one_of(1, [2, 3]), [1, "one", [2, 3]], [2, [3, 2]], []),
    ("text", ANY, ["Oslo", "x", 5, [], {}, False], [None], []),
    ("place", but("Rome", "Milan"), ["Paris", ""], ["Rome", "milan", None], []),
    ("currency", but("CAD", such_as="EUR"), ["EUR"], ["Canadian dollars", "whatever", ""], ["dollars"]),
    ("date", but("June 3", such_as="June 4"), ["2026-06-04"], ["2026-06-03", "whenever", "", 7], ["06/03"]),
    ("number", but(1, such_as=2), [2, "two", -1], [1, "one", "abc", "", True], []),
    ("number", but([1], 2, such_as=3), [3, [3]], [2, [1]], []),
    ("number", near(1000, 0.05), [1000, 1050, 950, "one thousand"], [1051, 949, "x", None], []),
    ("date", near("2026-06-03", "2 days"), ["June 3", "June 5", "2026-06-01"], ["June 6", "May 31"], []),
    ("time", near("15:30", "15 minutes"), ["3:45 pm", "15:15"], ["15:46", "3:30 am"], ["3:40"]),
    ("duration", near("1 hour", 0.1), ["55 minutes", "66 min"], ["67 min"], []),
    ("duration", near("1 hour", "5 minutes"), ["55 minutes"], ["54 minutes"], []),
    ("quantity", near("5 miles", "100 m"), ["8 km", "5 miles"], ["8.2 km"], ["5"]),
    ("money", near("$100", 0.1), ["$110", 90], ["$111"], []),
    ("text", {"$value": {"$any": {"such_as": "x"}}}, [{"$any": {"such_as": "X"}}], ["x", {"$any": {}}], []),
    ("text", {"city": one_of("a", "b"), "n": 1}, [{"city": "B", "n": 1}], [{"city": "c", "n": 1}, {"n": 1}], []),
    ("text", [ANY, "b"], [["whatever", "b"]], [["whatever", "c"], ["b"]], []),
    ("place", one_of("Rome", but("Milan", "Paris")), ["Rome", "Oslo"], ["Milan"], []),
]
FORM_CASES = [
    (kind, form, actual, verdict)
    for kind, form, right, wrong, unsure in FORMS
    for actuals, verdict in ((right, "match"), (wrong, "mismatch"), (unsure, "cannot_tell"))
    for actual in actuals
]


@pytest.mark.parametrize(("kind", "form", "actual", "verdict"), FORM_CASES)
def test_a_form_is_right_for_what_it_says(kind: str, form: Any, actual: Any, verdict: str) -> None:
    found = match(kind, form, actual, today=TODAY)
    assert found.verdict == verdict, found.reason
    assert found.reason


@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, form, *_ in FORMS])
def test_the_stand_in_of_a_form_matches_it(kind: str, form: Any) -> None:
    assert match(kind, form, stand_in(form), today=TODAY).matches


@given(
    kind=st.sampled_from(sorted(KINDS)),
    expected=st.one_of(st.text(max_size=12), st.integers(), st.floats()),
    actual=st.one_of(st.text(max_size=12), st.integers(), st.floats()),
    by=st.one_of(st.text(max_size=8), st.floats(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)),
)
def test_no_tolerance_makes_a_matcher_raise(kind: str, expected: Any, actual: Any, by: Any) -> None:
    assert match(kind, near(expected, by), actual, today=TODAY).verdict in ("match", "mismatch", "cannot_tell")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_an_integer_of_any_length_is_judged(kind: str) -> None:
    assert not match(kind, "5", 10**6000, today=TODAY).matches
    assert match(kind, 10**6000, 5, today=TODAY).verdict in ("mismatch", "cannot_tell")


@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, form, *_ in FORMS if form_of(form)])
def test_the_argument_swapper_says_what_no_form_takes(kind: str, form: Any) -> None:
    declared = parameter("x", match=kind)
    assert compare_value(declared, form, wrong_value(declared, form), TODAY).verdict == "mismatch"


MALFORMED = [
    {"$oneof": ["a"]},
    {"$one_of": []},
    {"$one_of": "a"},
    {"$any": {}},
    {"$any": True},
    {"$not": {"values": ["a"]}},
    {"$not": {"values": [], "such_as": "b"}},
    {"$approx": {"value": 5}},
    {"$approx": 5},
    {"$value": "x"},
]


@pytest.mark.parametrize("form", MALFORMED)
def test_a_form_written_wrongly_is_told_and_passes_for_nothing(form: Any) -> None:
    assert why_malformed(form)
    assert match("text", form, "a").verdict == "cannot_tell"


@given(st.dictionaries(st.text(max_size=3).filter(lambda key: not key.startswith("$")), st.text(max_size=3)))
def test_no_object_without_a_dollar_key_is_a_form(value: dict[str, str]) -> None:
    assert form_of(value) is None
    assert stand_in(value) == value
    assert match("exact", value, value).matches


def test_an_object_that_looks_like_a_form_can_be_expected() -> None:
    for name in SHAPES:
        assert match("exact", {"$value": {name: 1}}, {name: 1}).matches
    assert form_of({"$any": 1, "b": 2}) is None


def test_a_form_of_the_declared_type_notes_no_mismatch_of_type() -> None:
    amount = parameter("amount", "number")
    assert compare_value(amount, one_of(5, 6), 6, TODAY).notes == ()
    assert compare_value(amount, one_of(5, 6), "6", TODAY).notes == ("type_mismatch",)
    assert compare_value(None, one_of(5, "a"), "a", TODAY).notes == ()


# --- users' matchers


def starts_alike(expected: Any, actual: Any, context: Context) -> Match | bool | None:
    """A matcher as users write them: options come in the context."""
    length = context.options.get("letters", 1)
    if actual == "raise":
        raise RuntimeError("no\nluck")
    if actual == "odd":
        return "yes"  # type: ignore[return-value]
    if actual == "unsure":
        return None
    if actual == "noted":
        return accept("well", "my_note")
    return str(expected)[:length] == str(actual)[:length]


def two_arguments(expected: Any, actual: Any) -> bool:
    return True


OWN = f"{__name__}:starts_alike"


def test_a_users_matcher_decides_and_what_it_cannot_do_is_cannot_tell() -> None:
    found = {actual: match(OWN, "alpha", actual) for actual in ("all", "bee", "raise", "odd", "unsure", "noted")}
    assert [one.verdict for one in found.values()] == [
        *("match", "mismatch", "cannot_tell", "cannot_tell", "cannot_tell", "match")
    ]
    assert found["raise"].reason == f"{OWN} raised RuntimeError: no luck"
    assert found["odd"].reason == f"{OWN} gave 'yes', not a Match, true, false or None"
    assert found["noted"].notes == ("my_note",)


class OddError(Exception):
    """Cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


def leaves(expected: Any, actual: Any, context: Context) -> bool:
    sys.exit(3)


def skips(expected: Any, actual: Any, context: Context) -> bool:
    pytest.skip("not today")


def raises_what_cannot_be_shown(expected: Any, actual: Any, context: Context) -> bool:
    raise OddError


def gives_what_cannot_be_shown(expected: Any, actual: Any, context: Context) -> object:
    return OddError()


def of_no_verdict(expected: Any, actual: Any, context: Context) -> Match:
    return Match(verdict="maybe", reason="")  # type: ignore[arg-type]


def of_no_reason(expected: Any, actual: Any, context: Context) -> Match:
    return Match(verdict="match", reason=5)  # type: ignore[arg-type]


def of_odd_notes(expected: Any, actual: Any, context: Context) -> Match:
    return Match(verdict="match", reason="", notes=[1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "function",
    [
        leaves,
        skips,
        raises_what_cannot_be_shown,
        gives_what_cannot_be_shown,
        of_no_verdict,
        of_no_reason,
        of_odd_notes,
    ],
)
def test_whatever_a_users_matcher_does_scoring_goes_on_and_the_value_is_left_open(function: Any) -> None:
    found = match(f"{__name__}:{function.__name__}", "a", "b")
    assert (found.verdict, found.notes) == ("cannot_tell", ("matcher_failed",))
    assert function.__name__ in found.reason


def takes_all_away(expected: Any, actual: Any, context: Context) -> Match:
    expected.clear()
    actual["list"].append(1)
    context.options.clear()  # type: ignore[attr-defined]
    return Match(verdict="match", reason="x" * 1_000_000)


def test_a_users_matcher_cannot_change_what_is_judged_and_its_reason_is_cut() -> None:
    expected, actual, options = {"a": 1}, {"list": [0]}, {"mine": 1}
    found = match(f"{__name__}:takes_all_away", expected, actual, options=options)
    assert (expected, actual, options) == ({"a": 1}, {"list": [0]}, {"mine": 1})
    assert len(found.reason) < 1000


def test_a_users_matcher_gets_its_options_whole_values_and_no_null() -> None:
    own = parameter("x", match=OWN, options={"letters": 3})
    assert compare_value(own, "alpha", "alkali", TODAY).verdict == "mismatch"
    assert compare_value(own, "alpha", "alphabet", TODAY).matches
    assert compare_value(own, "alpha", None, TODAY).verdict == "mismatch"
    assert compare_value(own, ["a", "b"], ["a", "c"], TODAY).verdict == "match"  # "['a"
    assert compare_value(own, one_of("beta", "alpha"), "alphabet", TODAY).matches


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("no_such_package_here.x:y", "no_such_package_here.x cannot be imported: ModuleNotFoundError: "),
        (f"{__name__}:nothing", f"{__name__} has no nothing"),
        (f"{__name__}:OWN", f"{__name__}:OWN is not a function"),
        (f"{__name__}:two_arguments", "cannot be called with (expected, actual, context)"),
        ("a b:c", "is not of the form package.module:function"),
        ("a:b:c", "is not of the form package.module:function"),
    ],
)
def test_a_users_matcher_that_cannot_be_used_is_one_line(target: str, why: str) -> None:
    with pytest.raises(CustomMatcherError) as told:
        load(target)
    assert why in str(told.value)
    assert "\n" not in str(told.value)
    assert match(target, "a", "a").verdict == "cannot_tell"


# --- rules of one scenario


def test_a_scenario_overrides_how_one_argument_is_compared() -> None:
    city = Parameter(name="city", type="string", match="text", options={"aliases": {"Rome": ["Roma"]}})
    tools = {"find": Tool(name="find", description="d", parameters={"city": city, "other": city})}
    found = overridden(tools, {"find.city": {"kind": "place"}, "find.nothing": {}, "none.x": {}})["find"].parameters
    assert (found["city"].match, found["city"].options) == ("place", {})
    assert found["other"] is city
    kept = overridden(tools, {"find.city": {"set": True}})["find"].parameters["city"]
    assert (kept.match, kept.options) == ("text", {"aliases": {"Rome": ["Roma"]}, "set": True})
    assert overridden(tools, {}) is tools


def test_what_a_scenario_overrides_holds_where_its_calls_are_scored() -> None:
    city = Parameter(name="city", type="string", match="exact")
    tools = {"find": Tool(name="find", description="d", parameters={"city": city})}
    made = Call(call_id="c", name="find", arguments={"city": "vegas"}, status="executed", at_ticks=1)
    one = scenario(expected("find", city={"$one_of": ["Rome", "Las Vegas"]}), tools=tools)
    for compare, matches in (({}, False), ({"find.city": {"kind": "place"}}, True)):
        judged = replace(one, expect=replace(one.expect, compare=compare))
        (pair,) = pair_calls(judged.expect.calls, [made], rules_of(judged))
        assert pair.matches is matches


def test_what_a_scenario_overrides_is_part_of_what_it_is_judged_by() -> None:
    plain = Expectation(calls=())
    hashes = {
        expectation_digest("m", replace(plain, compare=compare), ())
        for compare in ({}, {"a.b": {"kind": "date"}}, {"a.b": {"kind": "text"}}, {"a.c": {"kind": "date"}})
    }
    assert len(hashes) == 4


SUITE = """voicebench: 1
kind: tool_use
suite: mine
tools: tools.yaml
today: 2026-04-06
scenarios:
  - id: one
    user: [{{wait_s: 1}}, {{say: "Hello."}}]
    expect:
      calls:
        - find: {{city: {city}, day: {day}}}
      compare: {compare}
"""
TOOLS = """find:
  description: Find.
  parameters:
    city: {type: string, match: place, required: true}
    day: {type: string, match: text, required: true}
  returns: {status: success}
"""


def mistakes(
    folder: Path, *, city: str = "Rome", day: str = "x", compare: str = "{find.day: {kind: text}}"
) -> list[str]:
    """The loader's lines for a suite with these values."""
    from pytest_voicebench.loading import SuiteError, load_suite

    (folder / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    (folder / "s.yaml").write_text(SUITE.format(city=city, day=day, compare=compare), encoding="utf-8")
    try:
        load_suite(folder / "s.yaml")
    except SuiteError as error:
        lines = [str(problem).partition(".yaml:")[2] for problem in error.problems]
        return [line for line in lines if "audio" not in line]
    return []


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"city": "{$one_of: [Rome, Milan]}"}, None),
        ({"city": "{$any: {such_as: Rome}}"}, None),
        ({"city": "{$one_of: Rome}"}, "expected {$one_of: [VALUE, ...]}"),
        (
            {"city": "{$oneof: [Rome]}"},
            "'$oneof' is no form of a value; there are $one_of, $any, $not, $approx, $value",
        ),
        ({"city": "{$one_of: [Rome, 5]}"}, "expected text, got "),
        ({"city": "{$approx: {value: Rome, by: 0.5}}"}, "$approx: by: values of this kind have no tolerance"),
        ({"day": "{$one_of: [June 3, soon]}", "compare": "{find.day: {kind: date}}"}, "not a day of the calendar"),
        ({"day": "{$approx: {value: June 3, by: 2 days}}", "compare": "{find.day: {kind: date}}"}, None),
        (
            {"day": "{$approx: {value: June 3, by: 2}}", "compare": "{find.day: {kind: date}}"},
            "$approx: by: expected an",
        ),
        ({"day": "June 3", "compare": "{find.day: {kind: date, approx: 2 days}}"}, None),
        ({"day": "soon", "compare": "{find.day: {kind: date}}"}, "not a day of the calendar"),
        ({"compare": "{find.dy: {kind: date}}"}, 'there is no argument "find.dy"; did you mean "find.day"?'),
        ({"compare": "{find.day: {kind: dat}}"}, "did you mean"),
        ({"compare": "{find.day: {kind: text, approx: 0.5}}"}, 'unknown key "approx"'),
        ({"compare": "{find.day: date}"}, "expected a mapping such as {kind: date}"),
        ({"compare": "{find.day: {}}"}, "the mapping is empty"),
        ({"compare": "{find.day: {kind: 'no_such_module_here:f'}}"}, "no_such_module_here cannot be imported"),
        ({"compare": f"{{find.day: {{kind: '{OWN}', letters: 2}}}}"}, None),
    ],
)
def test_forms_and_rules_are_checked_where_they_stand(
    tmp_path: Path, written: dict[str, str], told: str | None
) -> None:
    found = mistakes(tmp_path, **written)
    assert (told is None) == (not found), found
    assert told is None or told in found[0]


@given(kind=st.sampled_from(sorted(KINDS)), values=st.lists(st.text(max_size=6), min_size=1, max_size=3))
def test_any_of_the_right_values_is_right_and_none_of_the_excluded(kind: str, values: list[str]) -> None:
    for value in values:
        assert match(kind, one_of(*values), value, today=date(2026, 4, 6)).matches
        assert not match(kind, but(*values), value, today=date(2026, 4, 6)).matches
