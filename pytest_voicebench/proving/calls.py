"""Mutants of calls: one left out, made twice, taken back, invented, or made in the wrong order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.proving.mutant import Excluded, Made, Mutant, PlannedCall
from pytest_voicebench.proving.oracle import Oracle
from pytest_voicebench.proving.replay import readings, replayed
from pytest_voicebench.proving.showing import shown
from pytest_voicebench.references import referred_calls

Json = Any

EQUAL_CALLS = "the two calls are equal"
NO_GUESS = "no wrong guess of the result can be made"
UNKNOWN_TOOL = "a_tool_that_does_not_exist"


def call_mutants(oracle: Oracle) -> Iterator[Made]:
    """All mutants of all expected calls and their order, in the order written."""
    for index in range(len(oracle.calls)):
        yield _dropped(oracle, index)
        yield _doubled(oracle, index)
    yield _invented(oracle)
    yield from _taken_back(oracle)
    yield from _swapped(oracle)


def _dropped(oracle: Oracle, index: int) -> Mutant:
    """The call left out; calls that need its result are made with the value they would have got."""
    kept = [_literal(oracle, n) if _refers(oracle, n, index) else call for n, call in enumerate(oracle.calls)]
    calls = tuple(call for call in kept if call.expected != index)
    return Mutant(kind="call_dropped", what=f"{oracle.label(index)} left out", calls=calls, expected=index)


def _doubled(oracle: Oracle, index: int) -> Mutant:
    again = replace(_literal(oracle, index), expected=None)
    what = f"{oracle.label(index)} made twice"
    return Mutant(kind="call_doubled", what=what, calls=(*oracle.calls, again), expected=index)


def _invented(oracle: Oracle) -> Mutant:
    """A call that another scenario of the suite expects; of no tool at all where there is none."""
    foreign = oracle.vocabulary.foreign_call(oracle.scenario.expect.calls)
    call = PlannedCall(tool=foreign.tool, args=foreign.args) if foreign else PlannedCall(tool=UNKNOWN_TOOL, args={})
    return Mutant(kind="call_invented", what=f"{call.tool} called, which nobody asked for", calls=(*oracle.calls, call))


def _taken_back(oracle: Oracle) -> Iterator[Mutant]:
    """Retractions of tools that the final request does not need at all."""
    needed = {call.tool for call in oracle.calls}
    for entry in oracle.scenario.retracted:
        if entry.tool not in needed:
            what = f"{entry.tool} called with {shown(dict(entry.args))}, which was taken back"
            call = PlannedCall(tool=entry.tool, args=entry.args)
            yield Mutant(kind="call_retracted", what=what, calls=(*oracle.calls, call))


def _swapped(oracle: Oracle) -> Iterator[Made]:
    """Neighbours in the other order where the scenario says `ordered`; a call before the one whose result it needs.

    Where order is required the early call has the right value all the same; elsewhere it has a wrong guess, as a value
    that is right before it can be known is no fault that scores claim to see.
    """
    expect = oracle.scenario.expect
    ordered = {(n, n + 1) for n in range(len(oracle.calls) - 1)} if expect.ordered else set()
    needs = {(source, n) for n, call in enumerate(oracle.calls) for source in referred_calls(call.args) if source < n}
    required = any(r.name == "order" for r in expect.pass_requires)
    for first, second in sorted(ordered | needs):
        known = expect.ordered or required
        yield _exchanged(oracle, first, second) if known else _guessed(oracle, first, second)


def _exchanged(oracle: Oracle, first: int, second: int) -> Made:
    """All calls as they are, the later one right before the earlier one."""
    what = f"{oracle.label(second)} before {oracle.label(first)}"
    literal = _literals(oracle, {})
    if _equal(literal[first], literal[second]):
        return Excluded(kind="order_swapped", what=what, reason=EQUAL_CALLS)
    return Mutant(kind="order_swapped", what=what, calls=_moved(literal, first, second), expected=second)


def _guessed(oracle: Oracle, first: int, second: int) -> Made:
    """The later call made before the result it needs is there, with a value next to that result."""
    call = oracle.calls[second]
    what = f"{oracle.label(second)} before the result of {oracle.label(first)} that it needs"
    for name, value in call.args.items():
        for wrong in oracle.near(call.tool, name, value) if first in set(referred_calls(value)) else ():
            calls = _moved(_literals(oracle, {second: {name: wrong}}), first, second)
            if not any(json_equal(wrong, one) for one in _readings_after(oracle, calls, value)):
                told = f"{what}, guessing {shown(wrong)}"
                return Mutant(kind="order_swapped", what=told, calls=calls, expected=second, argument=name)
    return Excluded(kind="order_swapped", what=what, reason=NO_GUESS)


def _readings_after(oracle: Oracle, calls: tuple[PlannedCall, ...], value: Json) -> tuple[Json, ...]:
    """What a reference means after these calls: an early call may have changed the later one's answer."""
    made = replayed(oracle.scenario, oracle.held, calls).conversation.calls
    results = {c.expected: m.result for c, m in zip(calls, made, strict=False) if c.expected is not None}
    return readings(value, results)


def _moved(calls: list[PlannedCall], first: int, second: int) -> tuple[PlannedCall, ...]:
    rest = [call for n, call in enumerate(calls) if n != second]
    return (*rest[:first], calls[second], *rest[first:])


def _literal(oracle: Oracle, index: int) -> PlannedCall:
    """The call with the values that its references have."""
    call = oracle.calls[index]
    return replace(call, args={name: oracle.right(value)[0] for name, value in call.args.items()})


def _literals(oracle: Oracle, changes: Mapping[int, Mapping[str, Json]]) -> list[PlannedCall]:
    """All calls with the values that their references have, some arguments changed."""
    literal = [_literal(oracle, n) for n in range(len(oracle.calls))]
    return [replace(call, args={**call.args, **changes.get(n, {})}) for n, call in enumerate(literal)]


def _refers(oracle: Oracle, index: int, source: int) -> bool:
    return source in set(referred_calls(oracle.calls[index].args))


def _equal(a: PlannedCall, b: PlannedCall) -> bool:
    return a.tool == b.tool and json_equal(a.args, b.args)
