"""Mutants in which two right values stand in each other's place: within one call, or between two of one tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from pytest_voicebench.matchers import kind_of
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.proving.forms import form_of
from pytest_voicebench.proving.mutant import Excluded, Made, Mutant
from pytest_voicebench.proving.oracle import Oracle
from pytest_voicebench.proving.wording import folded_words

Json = Any

SAME_TWO_CALLS = "it gives the same two calls"


def exchange_mutants(oracle: Oracle) -> Iterator[Made]:
    """One for every two arguments of one sort in a call, and for every argument of every two calls of one tool.

    Values that are the same but for case and signs are not exchanged, nor those that stand for several.
    """
    expected = oracle.scenario.expect.calls
    for index, call in enumerate(expected):
        for one, other in combinations(call.args, 2):
            if _of_one_sort(oracle, index, one, other) and _differ(oracle, call.args[one], call.args[other]):
                yield _within(oracle, index, one, other)
    for first, second in combinations(range(len(expected)), 2):
        if expected[first].tool == expected[second].tool:
            yield from _between(oracle, first, second)


def _within(oracle: Oracle, index: int, one: str, other: str) -> Mutant:
    args = oracle.scenario.expect.calls[index].args
    changes = {one: _value(oracle, args[other]), other: _value(oracle, args[one])}
    what = f"{oracle.label(index, one)} and {other} exchanged"
    return Mutant(kind="values_exchanged", what=what, calls=_changed(oracle, {index: changes}), expected=index)


def _between(oracle: Oracle, first: int, second: int) -> Iterator[Made]:
    a, b = (oracle.scenario.expect.calls[n].args for n in (first, second))
    differing = [name for name in a if name in b and _differ(oracle, a[name], b[name])]
    others = set(a) ^ set(b)
    for name in differing:
        what = f"{oracle.label(first, name)} and that of calls[{second}] exchanged"
        if len(differing) == 1 and not others:
            yield Excluded(kind="values_exchanged", what=what, reason=SAME_TWO_CALLS)
        elif len(differing) > 1:  # an argument that only one of the calls has may be extra in the other
            changes = {first: {name: _value(oracle, b[name])}, second: {name: _value(oracle, a[name])}}
            calls = _changed(oracle, changes)
            yield Mutant(kind="values_exchanged", what=what, calls=calls, expected=first)


def _of_one_sort(oracle: Oracle, index: int, one: str, other: str) -> bool:
    """Whether two arguments take the same values: one type, one kind, one list of allowed values."""
    call = oracle.scenario.expect.calls[index]
    a, b = (oracle.parameter(call.tool, name) for name in (one, other))
    if a is None or b is None or a.type != b.type or a.enum != b.enum:
        return False
    return kind_of(a, _value(oracle, call.args[one])) == kind_of(b, _value(oracle, call.args[other]))


def _differ(oracle: Oracle, a: Json, b: Json) -> bool:
    """Whether two expected values are different ones for certain, each the only right one of its argument."""
    right, others = oracle.right(a), oracle.right(b)
    if form_of(a)[0] or form_of(b)[0] or len(right) != 1 or len(others) != 1 or None in (*right, *others):
        return False
    if json_equal(right[0], others[0]):
        return False
    return folded_words(str(right[0])) != folded_words(str(others[0]))


def _value(oracle: Oracle, expected: Json) -> Json:
    return oracle.right(expected)[0]


def _changed(oracle: Oracle, changes: Mapping[int, Mapping[str, Json]]) -> tuple[Any, ...]:
    return tuple(replace(c, args={**c.args, **changes.get(n, {})}) for n, c in enumerate(oracle.calls))
