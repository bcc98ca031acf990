"""Which call was made for which expected call: one to one, most matching arguments, fewest extra ones, then time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_voicebench.conversation import Call, Json
from pytest_voicebench.metrics.arguments import Rules, extra_arguments, judge_arguments
from pytest_voicebench.metrics.assignment import assign
from pytest_voicebench.references import referred_calls
from pytest_voicebench.scenario import ExpectedCall
from pytest_voicebench.scorecard import ArgumentScore, Pair


def pair_calls(expected: Sequence[ExpectedCall], calls: Sequence[Call], rules: Rules) -> tuple[Pair, ...]:
    """One pair for each expected call, in their order; `actual` is an index into `calls`, which are in time order.

    Per tool name, calls without references are assigned first, then those whose references are settled, round by round;
    a reference is resolved against the recorded result of the call paired with expected n. Calls made at the same time
    are told apart by their arguments, so that the order in which they were logged does not matter.
    """
    free = dict.fromkeys(_by_time(calls))  # a set that keeps the order
    pairs: dict[int, Pair] = {}
    results: dict[int, Json] = {}
    for layer in _layers(expected):
        for name in dict.fromkeys(expected[n].tool for n in layer):
            wanted = [n for n in layer if expected[n].tool == name]
            offered = [n for n in free if calls[n].name == name]
            for one in _assign_tool(expected, wanted, calls, offered, results, rules):
                pairs[one.expected] = one
                if one.actual is not None:
                    del free[one.actual]
        for n in layer:  # only now: calls of one layer never refer to each other
            actual = pairs[n].actual
            if actual is not None and calls[actual].result is not None:
                results[n] = calls[actual].result
    return tuple(pairs[n] for n in range(len(expected)))


def _by_time(calls: Sequence[Call]) -> list[int]:
    """Indexes in order of time; only calls of one moment are written down, to be told apart by their arguments."""
    at = Counter(call.at_ticks for call in calls)
    together = {n: _canonical(call) for n, call in enumerate(calls) if at[call.at_ticks] > 1}
    return sorted(range(len(calls)), key=lambda n: (calls[n].at_ticks, together.get(n, ""), n))


def _canonical(call: Call) -> str:
    try:
        return json.dumps([call.name, call.arguments], sort_keys=True, default=str)
    except RecursionError:  # arguments nested too deep to write down keep the order of the log
        return call.name


def _layers(expected: Sequence[ExpectedCall]) -> Iterable[list[int]]:
    """Expected calls in rounds that refer only to earlier rounds; references in a circle come last, unresolved."""
    needs = {n: set(referred_calls(call.args)) for n, call in enumerate(expected)}
    settled: set[int] = set()
    while needs:
        ready = [n for n, refers in needs.items() if refers <= settled] or list(needs)
        yield ready
        settled.update(ready)
        for n in ready:
            del needs[n]


def _assign_tool(
    expected: Sequence[ExpectedCall],
    wanted: Sequence[int],
    calls: Sequence[Call],
    offered: Sequence[int],
    results: dict[int, Json],
    rules: Rules,
) -> list[Pair]:
    if not offered:
        return [Pair(expected=n, actual=None, tool=expected[n].tool) for n in wanted]
    judged = [[judge_arguments(expected[n], calls[a], results, rules) for a in offered] for n in wanted]
    found: Sequence[int | None] = [0]  # one for one: nothing to choose
    if len(wanted) > 1 or len(offered) > 1:
        found = assign(_weights([expected[n] for n in wanted], [calls[a] for a in offered], judged, rules))
    return [
        Pair(expected=n, actual=None, tool=expected[n].tool)
        if column is None
        else _pair(n, expected[n], offered[column], calls[offered[column]], judged[row][column], rules)
        for row, (n, column) in enumerate(zip(wanted, found, strict=True))
    ]


def _weights(
    expected: Sequence[ExpectedCall],
    calls: Sequence[Call],
    judged: Sequence[Sequence[tuple[ArgumentScore, ...]]],
    rules: Rules,
) -> list[list[int]]:
    """How well each call fits each expected one: matching arguments first, then fewer extra ones; at least 1.

    A rejected call matches nothing, whatever it asked for: it is taken where no other call is left, and what its
    arguments match only tells it from other rejected ones.
    """
    right = [[sum(s.verdict == "match" for s in scores) for scores in row] for row in judged]
    extra = [[len(extra_arguments(e, call, rules.tools.get(e.tool))) for call in calls] for e in expected]
    most_extra = max(map(max, extra))
    base = len(expected) * max(most_extra, *map(max, right)) + 1  # more than all lesser reasons together

    def weight(right: int, extra: int, *, rejected: bool) -> int:
        matching, near = (1, right) if rejected else (2 + right, 0)
        return (matching * base + near) * base + most_extra - extra

    return [
        [weight(r, x, rejected=call.status == "rejected") for r, x, call in zip(rights, extras, calls, strict=True)]
        for rights, extras in zip(right, extra, strict=True)
    ]


def _pair(
    n: int, expected: ExpectedCall, actual: int, call: Call, scores: tuple[ArgumentScore, ...], rules: Rules
) -> Pair:
    extra = extra_arguments(expected, call, rules.tools.get(expected.tool))
    # A rejected call never ran, whatever it asked for: it may be counted for an expected one, but it does not match.
    matches = call.status != "rejected" and all(s.verdict == "match" for s in scores)
    return Pair(
        expected=n,
        actual=actual,
        tool=expected.tool,
        arguments=scores,
        extra=extra,
        matches=matches,
        strict=matches and not extra and all(s.strict for s in scores),
    )
