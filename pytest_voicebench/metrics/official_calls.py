"""The official scores of tool use, exact mode: names as multisets, arguments call by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_voicebench.conversation import Call
from pytest_voicebench.official_card import Differing, Json, OfficialCall, ToolSelection
from pytest_voicebench.scenario import ExpectedCall

DECIMALS = 3
"""Every official score of an item is rounded to this many decimals before anything is averaged."""


def tool_selection(expected: Sequence[ExpectedCall], calls: Sequence[Call]) -> ToolSelection:
    """Names against names, order and arguments aside.

    Recall is 1.0 where no call is expected, precision 1.0 where none was made; F1 is 0.0 where both are 0.
    """
    missing, unexpected, matched = [c.tool for c in expected], [c.name for c in calls], 0
    for name in tuple(missing):
        if name in unexpected:
            missing.remove(name)
            unexpected.remove(name)
            matched += 1
    recall = matched / len(expected) if expected else 1.0
    precision = matched / len(calls) if calls else 1.0
    f1 = 2 * recall * precision / (recall + precision) if recall + precision > 0 else 0.0
    return ToolSelection(
        matched=matched,
        expected=len(expected),
        actual=len(calls),
        recall=round(recall, DECIMALS),
        precision=round(precision, DECIMALS),
        f1=round(f1, DECIMALS),
        missing=tuple(missing),
        unexpected=tuple(unexpected),
    )


def judged_calls(expected: Sequence[ExpectedCall], calls: Sequence[Call]) -> tuple[OfficialCall, ...]:
    """Each expected call, in order, against the first call of that name which no earlier one has used."""
    waiting: dict[str, list[Call]] = {}
    for call in calls:
        waiting.setdefault(call.name, []).append(call)
    return tuple(
        _judged(wanted, waiting[wanted.tool].pop(0)) if waiting.get(wanted.tool) else _never_called(wanted.tool)
        for wanted in expected
    )


def _never_called(tool: str) -> OfficialCall:
    return OfficialCall(tool=tool, verdict="never_called", score=0.0, reason="never called")


def _judged(wanted: ExpectedCall, call: Call) -> OfficialCall:
    """Right if every expected argument is there and equal; arguments beyond them are free. The first fault is told."""
    given: Mapping[str, Json] = call.arguments
    lacking = tuple(name for name in wanted.args if name not in given)
    differing = tuple(
        Differing(argument=name, expected=value, actual=given[name])
        for name, value in wanted.args.items()
        if name in given and not is_equal(value, given[name])
    )
    faults = {*lacking, *(one.argument for one in differing)}
    first = next((name for name in wanted.args if name in faults), None)
    if first is None:
        return OfficialCall(tool=wanted.tool, verdict="match", score=1.0, reason="all expected arguments are equal")
    missing, value = first in lacking, wanted.args[first]
    told = "is missing" if missing else f"expected {value!r}, got {given[first]!r}"
    return OfficialCall(
        tool=wanted.tool,
        verdict="missing_argument" if missing else "mismatch",
        score=0.0,
        reason=f"argument {first} {told}" if missing else f"argument {first}: {told}",
        argument=first,
        expected=value,
        actual=None if missing else given[first],
        lacking=lacking,
        differing=differing,
    )


def is_equal(expected: Json, actual: Json) -> bool:
    """Equality of exact mode: an expected text that starts with `$` takes anything, texts are folded, the rest is `==`.

    So 1 equals 1.0 and true, and never "1"; inside lists and objects nothing is folded.
    """
    if isinstance(expected, str) and expected.startswith("$"):
        return True
    return bool(_folded(expected) == _folded(actual))


def _folded(value: Json) -> Json:
    return value.lower().strip().replace("_", " ") if isinstance(value, str) else value


def argument_accuracy(judged: Sequence[OfficialCall]) -> float:
    """The mean score of the expected calls, rounded; 1.0 where none is expected."""
    return round(sum(c.score for c in judged) / len(judged), DECIMALS) if judged else 1.0
