"""Mutants of arguments: the value that was taken back, a near one, or none at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.proving.forms import form_of
from pytest_voicebench.proving.mutant import Excluded, Kind, Made, Mutant
from pytest_voicebench.proving.near import unrelated_value
from pytest_voicebench.proving.oracle import Oracle
from pytest_voicebench.proving.showing import shown

Json = Any

SAME_AS_RETRACTED = "the value that was taken back is the one expected of this call"
IS_DEFAULT = "the expected value is the tool's default"
NULL_EXPECTED = "nothing is expected there"
ANY_VALUE = "any value is right"
NO_NEAR_VALUE = "no near value can be made of it"


def argument_mutants(oracle: Oracle) -> Iterator[Made]:
    """All mutants of all expected arguments, in the order written."""
    for index, call in enumerate(oracle.scenario.expect.calls):
        yield from _retracted(oracle, index)
        for name in call.args:
            yield from _near(oracle, index, name)
            yield _omitted(oracle, index, name)


def _retracted(oracle: Oracle, index: int) -> Iterator[Made]:
    """One for each argument of each retraction that could have been made in this call."""
    expected = oracle.scenario.expect.calls[index]
    for entry in oracle.scenario.retracted:
        for name, value in entry.args.items() if entry.tool == expected.tool else ():
            what = f"{oracle.label(index, name)} as it was taken back, {shown(value)}"
            if name in expected.args and any(json_equal(value, r) for r in oracle.right(expected.args[name])):
                yield Excluded(kind="value_retracted", what=what, reason=SAME_AS_RETRACTED)
            else:
                yield _changed(oracle, "value_retracted", index, name, value, what)


def _near(oracle: Oracle, index: int, name: str) -> Iterator[Made]:
    call = oracle.scenario.expect.calls[index]
    parameter = oracle.parameter(call.tool, name)
    right = oracle.right(call.args[name])
    expected = call.args[name]
    if expected is None and parameter is not None and parameter.has_default:
        expected = parameter.default
    if expected is None:
        found: tuple[Json, ...] = (unrelated_value(*(parameter.type, parameter.enum) if parameter else ("string", ())),)
    else:
        found = oracle.near(call.tool, name, expected)
    if not found:
        reason = ANY_VALUE if form_of(expected)[0] == "$any" else NO_NEAR_VALUE
        yield Excluded(kind="value_near", what=oracle.label(index, name), reason=reason)
    for value in found:
        what = f"{oracle.label(index, name)} changed {shown(right[0])} -> {shown(value)}"
        yield _changed(oracle, "value_near", index, name, value, what)


def _omitted(oracle: Oracle, index: int, name: str) -> Made:
    call = oracle.scenario.expect.calls[index]
    parameter = oracle.parameter(call.tool, name)
    right = oracle.right(call.args[name])
    what = f"{oracle.label(index, name)} left out"
    if parameter is not None and parameter.has_default:
        if any(one is None or json_equal(one, parameter.default) for one in right):
            return Excluded(kind="argument_omitted", what=what, reason=IS_DEFAULT)
    elif None in right:
        return Excluded(kind="argument_omitted", what=what, reason=NULL_EXPECTED)
    args = {key: value for key, value in oracle.calls[index].args.items() if key != name}
    calls = _with(oracle, index, args)
    return Mutant(kind="argument_omitted", what=what, calls=calls, expected=index, argument=name)


def _changed(oracle: Oracle, kind: Kind, index: int, name: str, value: Json, what: str) -> Mutant:
    calls = _with(oracle, index, {**oracle.calls[index].args, name: value})
    return Mutant(kind=kind, what=what, calls=calls, expected=index, argument=name)


def _with(oracle: Oracle, index: int, args: dict[str, Json]) -> tuple[Any, ...]:
    changed = replace(oracle.calls[index], args=args)
    return (*oracle.calls[:index], changed, *oracle.calls[index + 1 :])
