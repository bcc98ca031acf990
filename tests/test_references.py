"""References between calls: the exact grammar, and what they resolve to."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_voicebench.references import Unresolvable, is_reference, parse, resolve

RESULTS = {0: {"flights": [{"flight_id": "F10", "stops": []}, {"flight_id": "F11", "note": None}], "total": 2}}


@pytest.mark.parametrize(
    ("text", "call", "path"),
    [
        ("$RESULT_0.total", 0, ("total",)),
        ("$RESULT_12.flights[0].flight_id", 12, ("flights", 0, "flight_id")),
        ("$RESULT_0.flights[*].flight_id", 0, ("flights", ("*",), "flight_id")),
        ("$RESULT_1.a_b[1][2]", 1, ("a_b", 1, 2)),
    ],
)
def test_a_reference_is_parsed(text: str, call: int, path: tuple[Any, ...]) -> None:
    found = parse(text)
    assert found is not None
    assert (found.text, found.call, found.path) == (text, call, path)
    assert is_reference(text)


@pytest.mark.parametrize(
    "text",
    [
        "$500",
        "$9",
        "$RESULT_0",
        "$RESULT_.a",
        "$RESULT_x.a",
        "$result_0.a",
        " $RESULT_0.a",
        "$RESULT_0.a ",
        "RESULT_0.a",
        "$RESULT_0.",
        "$RESULT_0.a[",
        "$RESULT_0.a[-1]",
        "$RESULT_0.a[x]",
        "$RESULT_0[0]",
        "$RESULT_0.a b",
        "",
    ],
)
def test_other_dollar_texts_are_literals(text: str) -> None:
    """B5: `$500` is an amount, not a reference."""
    assert parse(text) is None
    assert not is_reference(text)


def test_values_that_are_no_text_are_no_references() -> None:
    assert not any(is_reference(v) for v in (None, 5, True, ["$RESULT_0.a"], {"a": 1}))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("$RESULT_0.flights[0].flight_id", ("F10",)),
        ("$RESULT_0.flights[*].flight_id", ("F10", "F11")),
        ("$RESULT_0.total", (2,)),
        ("$RESULT_0.flights[0].stops", ([],)),
    ],
)
def test_a_reference_resolves_to_what_the_result_holds(text: str, values: tuple[Any, ...]) -> None:
    reference = parse(text)
    assert reference is not None
    assert resolve(reference, RESULTS) == values


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("$RESULT_1.flights", "expected call 1 has no recorded result"),
        ("$RESULT_0.hotels", "no key 'hotels'"),
        ("$RESULT_0.flights[2].flight_id", r"no element \[2\]"),
        ("$RESULT_0.flights.flight_id", "no key 'flight_id'"),
        ("$RESULT_0.total[0]", r"no element \[0\]"),
        ("$RESULT_0.total[*]", "needs a list"),
        ("$RESULT_0.flights[0].stops[*]", "holds nothing"),
        ("$RESULT_0.flights[1].note", "holds nothing"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error(text: str, why: str) -> None:
    """B5: unresolvable is never a pass."""
    reference = parse(text)
    assert reference is not None
    with pytest.raises(Unresolvable, match=why):
        resolve(reference, RESULTS)
