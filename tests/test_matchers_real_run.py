"""Half of a real run, read by hand: every pair of an expected and an actual argument gets the careful verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared_data import SHARED

from pytest_voicebench.loading import load_suite
from pytest_voicebench.matchers import Match, compare_value
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.references import is_reference

RUN = SHARED / "fdb3" / "real_run_half.jsonl"
SUITE = Path(__file__).parents[1] / "suites" / "fdb3" / "travel.yaml"

pytestmark = pytest.mark.skipif(not RUN.is_file(), reason=f"no real run in {RUN}")

Key = tuple[int, int, str]  # number of the recording, index of the expected call, argument

WRONG: dict[Key, str] = {
    (12, 0, "query"): "something else was looked for",
    (12, 0, "category"): "left out",
    (58, 0, "pets_allowed"): "left out",
    (66, 0, "pets_allowed"): "left out",
    (70, 0, "origin_address"): "an invented address",
    (70, 0, "destination_address"): "an invented address",
    (72, 0, "max_price"): "another amount",
    (76, 0, "filter_name"): "not the filter's name",
    (76, 0, "value"): "neither yes nor no",
    (86, 0, "doc_type"): "another document",
    (88, 0, "date"): "another day",
}
RIGHT_IN_ANOTHER_FORM: dict[Key, str] = {
    (6, 0, "order_id"): "an identifier with a hyphen",
    (8, 0, "query"): "a plural",
    (56, 0, "value"): "a number as text",
    (78, 0, "value"): "a number as text",
    **{(n, 0, "date"): "a date with its year" for n in (80, 82, 84, 90, 92, 94, 96)},
    (96, 0, "destination"): "a short name of a city",
    (98, 1, "doc_type"): "a value of an enum with a space",
}
REFERENCES = {(22, 1, "product_id"), (24, 2, "product_id"), (28, 2, "product_id")}


def test_every_judged_pair_of_the_real_run_gets_the_verdict_of_a_careful_reader() -> None:
    found = dict(_judged())
    assert {key for key, one in found.items() if one.verdict != "match"} == set(WRONG)
    assert not [one for one in found.values() if one.verdict == "cannot_tell"]


def test_every_pair_is_labelled_and_the_labels_say_what_differs() -> None:
    differ = {key for key, wanted, given in _pairs() if not json_equal(wanted, given)}
    assert differ == set(WRONG) | set(RIGHT_IN_ANOTHER_FORM) | REFERENCES
    assert len(list(_pairs())) == 133


def _judged() -> Iterator[tuple[Key, Match]]:
    suite = load_suite(SUITE).info
    for key, wanted, given in _pairs():
        parameter = suite.tools[_tools()[key[:2]]].parameters.get(key[2])
        # The results of the run are not known: a reference takes whatever was given.
        expected = given if is_reference(wanted) else wanted
        yield key, compare_value(parameter, expected, given, suite.today)


def _rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RUN.read_text(encoding="utf-8").splitlines()]


def _tools() -> dict[tuple[int, int], str]:
    return {(row["n"], index): call["f"] for row in _rows() for index, call in enumerate(row["args"])}


def _pairs() -> Iterator[tuple[Key, Any, Any]]:
    """Every expected argument of a call that was made, beside the actual one."""
    for row in _rows():
        for index, call in enumerate(row["args"]):
            for name, wanted in (call["expected"] or {}).items():
                yield (row["n"], index, name), wanted, (call["actual"] or {}).get(name)
