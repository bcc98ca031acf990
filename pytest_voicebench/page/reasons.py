"""Why an item did not pass, in the few words that a list has room for and that items can be gathered by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_voicebench.decisions import BaselineComparison
from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import ArgumentScore, Pair, Scorecard
from pytest_voicebench.writers.plain_text import value_text

LONGEST_VALUE = 60


def labels_of(result: Result, moved: Mapping[str, str]) -> tuple[str, ...]:
    """What the item can be gathered by: each kind of fault once, then how it moved against the baseline.

    `moved` is that of `moved_items`. Empty for what passed and did not move, and for what never ran.
    """
    found = [(result.error_kind or "").replace("_", " ")] if result.error_kind else []
    if result.scorecard is not None and not result.scorecard.passed:
        found += _faults(result.scorecard)
    if result.item_id in moved:
        found.append(moved[result.item_id])
    return tuple(dict.fromkeys(found))


def moved_items(baseline: BaselineComparison | None) -> dict[str, str]:
    """The items that changed sides, by id, each with the side it is on now."""
    if baseline is None:
        return {}
    return {
        name: label
        for agent in baseline.agents
        for label, names in (("newly failed", agent.newly_failed), ("newly passed", agent.newly_passed))
        for name in names
    }


def first_difference(card: Scorecard | None) -> str:
    """`destination "Rome" instead of "Milan": stale` for the first argument that differs; empty where none does."""
    for pair, argument in _wrong_arguments(card.pairs if card else ()):
        if pair.actual is not None:
            got, wanted = (value_text(value, LONGEST_VALUE) for value in (argument.actual, argument.expected))
            told = "" if argument.cause in (None, "other") else f": {argument.cause}"
            return f"{argument.name} {got} instead of {wanted}{told}"
    return ""


def _faults(card: Scorecard) -> Iterator[str]:
    if not card.spoke:
        yield "silent"
    if any(pair.actual is None for pair in card.pairs):
        yield "not called"
    if card.surplus:
        yield "nobody asked for"
    for pair, argument in _wrong_arguments(card.pairs):
        if pair.actual is not None:
            yield "other value" if argument.cause in (None, "other") else str(argument.cause)
    yield from (name.replace("_", " ") for name, met in card.requirements.items() if not met)


def _wrong_arguments(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, ArgumentScore]]:
    return ((pair, one) for pair in pairs for one in pair.arguments if one.verdict != "match")
